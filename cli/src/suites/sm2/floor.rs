//! The floor of SM2: products of the field that its points cannot do without, and SM3.

use crate::ceilings::Ceilings;
use crate::floor::Floor;

/// Slots of a product and of a square modulo p, whose reduction takes none: wide products of 32-bit limbs.
const PRODUCT: usize = 2 * 64;
const SQUARE: usize = 2 * 36;
/// Slots of a product modulo n, with Montgomery's step limb by limb.
const SCALAR_PRODUCT: usize = 2 * 136;

/// Adding an affine point, and doubling.
const ADDITION: usize = 8 * PRODUCT + 3 * SQUARE;
const DOUBLING: usize = 4 * PRODUCT + 4 * SQUARE;

/// Windows of a scalar: of 16 bits for the base point, of 8 bits for cached keys, of 5 bits for others.
const BASE_ROWS: usize = 16;
const CACHED_ROWS: usize = 32;
const ROWS: usize = 52;
/// Points of an unknown key's table: its odd multiples.
const TABLE: usize = 16;
/// Adding two points with the same Z, and with one's inverse making a point affine and going on to the next.
const SAME_Z: usize = 5 * PRODUCT + 2 * SQUARE;
const AFFINE: usize = 4 * PRODUCT + SQUARE;
/// Products of an inversion's share, and of what it is for.
const SHARED_INVERSE: usize = 3;

/// Instructions of a block of SM3: 64 rounds with six rotations and ten sums and selections, 52 words expanded with
/// seven.
const SM3_BLOCK: usize = 64 * 16 + 52 * 7;

/// What an item of an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Sign,
    Verify,
    VerifyCached,
}

impl Floor {
    /// The floor of an operation, hashing so many blocks first, that moves so many bytes for an item.
    pub(crate) fn of_sm2(
        operation: Operation,
        hashed_blocks: usize,
        bytes_per_item: usize,
        ceilings: &Ceilings,
    ) -> Self {
        let slots = match operation {
            // k G and its abscissa; then (1 + d)^-1 (k + r)
            Operation::Sign => (BASE_ROWS - 1) * ADDITION + (SHARED_INVERSE + 1) * PRODUCT + SQUARE + SCALAR_PRODUCT,
            Operation::Verify => {
                let table = DOUBLING + (TABLE - 1) * SAME_Z + TABLE * AFFINE + SHARED_INVERSE * PRODUCT;
                table + (ROWS - 1) * 5 * DOUBLING + (ROWS - 1 + BASE_ROWS) * ADDITION
            }
            Operation::VerifyCached => (CACHED_ROWS - 1 + BASE_ROWS) * ADDITION,
        };
        let logic = (hashed_blocks > 0).then_some((hashed_blocks * SM3_BLOCK) as f64);
        Self::new(Some(slots as f64), logic, bytes_per_item, ceilings)
    }
}
