//! Roofline bound of SM2, from SM3 and the field products that its point arithmetic cannot avoid.

use crate::peaks::Peaks;
use crate::roofline::Roofline;

/// Multiply-add slots of a product and of a square modulo the field prime p, from wide products of 32-bit limbs. The
/// reduction modulo p needs no multiplications.
const PRODUCT: usize = 2 * 64;
const SQUARE: usize = 2 * 36;
/// Multiply-add slots of a product modulo the group order n with a Montgomery reduction, limb by limb.
const SCALAR_PRODUCT: usize = 2 * 132;

/// Multiply-add slots of an addition of an affine point, and of a point doubling.
const ADDITION: usize = 8 * PRODUCT + 3 * SQUARE;
const DOUBLING: usize = 4 * PRODUCT + 4 * SQUARE;

/// Windows per scalar: of 16 bits for the base point, of 8 bits for cached keys, of 5 bits for other keys.
const BASE_ROWS: usize = 16;
const CACHED_ROWS: usize = 32;
const ROWS: usize = 52;
/// Points in the table of an uncached key: its odd multiples.
const TABLE: usize = 16;
/// Multiply-add slots of adding two points with the same Z. `AFFINE` is for making a point affine with the inverse of
/// its Z, and updating this inverse for the next point.
const SAME_Z: usize = 5 * PRODUCT + 2 * SQUARE;
const AFFINE: usize = 4 * PRODUCT + SQUARE;
/// Products per item of a batch inversion (Montgomery's trick, 1987).
const SHARED_INVERSE: usize = 3;

/// Instructions per block of SM3 (GB/T 32905): 64 rounds, each with six rotations and ten additions and selections, and
/// 52 expanded words with seven each.
const SM3_BLOCK: usize = 64 * 16 + 52 * 7;

/// Operations with different roofline bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Sign,
    Verify,
    VerifyCached,
}

impl Roofline {
    /// Roofline bound of an operation that first hashes `hashed_blocks` blocks and moves `bytes_per_item` bytes.
    pub(crate) fn of_sm2(operation: Operation, hashed_blocks: usize, bytes_per_item: usize, peaks: &Peaks) -> Self {
        let slots = match operation {
            // k·G and its x-coordinate; then (1 + d)^-1 (k + r), with base point G, private key d, nonce k and
            // signature part r
            Operation::Sign => (BASE_ROWS - 1) * ADDITION + (SHARED_INVERSE + 1) * PRODUCT + SQUARE + SCALAR_PRODUCT,
            Operation::Verify => {
                let table = DOUBLING + (TABLE - 1) * SAME_Z + TABLE * AFFINE + SHARED_INVERSE * PRODUCT;
                table + (ROWS - 1) * 5 * DOUBLING + (ROWS - 1 + BASE_ROWS) * ADDITION
            }
            Operation::VerifyCached => (CACHED_ROWS - 1 + BASE_ROWS) * ADDITION,
        };
        let logic = (hashed_blocks > 0).then_some((hashed_blocks * SM3_BLOCK) as f64);
        Self::new(Some(slots as f64), logic, bytes_per_item, peaks)
    }
}
