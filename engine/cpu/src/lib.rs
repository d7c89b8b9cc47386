//! Ringforge's arithmetic and transforms on a CPU.
//!
//! A *row* is one residue polynomial (an RNS limb): n residues modulo one q. The crate `ringforge` maps rings and
//! kernel arguments to rows, which this crate transforms and multiplies. It is a separate crate, so a change of that
//! crate's planner or kernels does not recompile it.
//!
//! The interface is not generic over arithmetic. A static such as [`MOD31`] stands for one arithmetic with one storage
//! type, as a `dyn` [`Arithmetic`]. This trait computes twiddle factors, and creates [`Kernels`] for rows of many
//! elements or a [`Transform`] of one row. The crate knows moduli, factorisation trees ([`Shape`]) and twiddle tables
//! ([`Layout`]), but no rings.
//!
//! - Numbers are [`Limbs`]. A *word* is a residue below q in the form that an arithmetic computes with: plain, or for
//!   256 bits in Montgomery form, x·2^256 mod q.
//! - Rows are bytes: residues stored as `u16`, `u32`, `u64` or [`Limbs`], aligned like that type. Twiddle factors in
//!   tables are also bytes, aligned to 16. A wrong alignment or length panics.
//! - A word that is not below q makes the result meaningless but has no other effect: no panic, no access outside a
//!   row.
//! - Neither branches nor addresses depend on residues; words are selected with [`choice`].
//!
//! To add an arithmetic, implement `Field` in a file in `field/` and add an entry to `arithmetics!` below.

mod base;
pub mod choice;
mod field;
mod fill;
mod inverses;
mod keccak;
mod kernels;
mod layout;
#[doc(hidden)]
pub mod level;
mod limbs;
mod montgomery;
mod order;
mod shape;
mod simd;
#[cfg(test)]
mod testing;
pub mod threads;
mod transform;
mod tree;
pub mod wipe;

use core::marker::PhantomData;
use core::ops::Range;

use bytemuck::Zeroable;

use field::{Field, Goldilocks, Mod14, Mod16, Mod31, Mod32, Mod64, Mod64Full, Mod256, Store, limbs, word};
use fill::Fill;

pub use keccak::shake;
pub use kernels::{ElementLayout, Factors, Kernels, Keys, Turn};
pub use layout::{HEADER, Layout};
pub use limbs::{Wide, add_limbs, add_mod, mul_limbs, square_limbs, sub_limbs, sub_limbs_once, sub_mod};
pub use montgomery::Montgomery256;
pub use shape::{Layer, MAX_LEAF_DEGREE, Shape};
pub use simd::wide;
pub use transform::Transform;

/// A number of up to 256 bits, least significant limb first.
pub type Limbs = [u64; 4];

/// A modulus q.
#[derive(Debug, Clone, Copy)]
pub struct Modulus {
    /// The value q.
    pub q: Limbs,
    /// The residue 1 in the form of a word: 1, or 2^256 mod q in 256-bit Montgomery form.
    pub one: Limbs,
}

/// The roots of a transform modulo one q, and the header of its twiddle table. All are words of the arithmetic.
#[derive(Debug, Clone)]
pub struct Roots {
    /// γ, the root with which the tree starts: its top node is x^k − γ^t, where t is its number of leaves.
    pub start: Limbs,
    /// The inverse of `start`.
    pub start_inverse: Limbs,
    /// ρ, a root of unity whose order is the number of leaves of a tree. Leaf constants are γ (in the right one of two
    /// trees, γ^5) times powers of ρ.
    pub step: Limbs,
    /// The header entries listed in [`Layout`].
    pub header: [Limbs; HEADER],
}

/// A modular arithmetic with a storage type for its residues.
pub trait Arithmetic: Sync {
    /// Computes the twiddle table's entries in the range `entries`, as words.
    fn table(
        &self,
        modulus: &Modulus,
        roots: &Roots,
        shape: Shape<'_>,
        layout: &Layout,
        entries: Range<usize>,
    ) -> Vec<Limbs>;

    /// Precomputes a multiplier for each word and returns them in the byte format of a twiddle table.
    fn factors(&self, modulus: &Modulus, words: &[Limbs]) -> Vec<u8>;

    /// Returns the operations of kernels on ring elements of the given layout.
    fn kernels<'a>(&self, rows: ElementLayout<'a>) -> Box<dyn Kernels + 'a>;

    /// Returns the transform of one residue polynomial. `unit` is the residue 1 in the form in which residues are
    /// stored, plain or Montgomery. Set `restore` if reduced products of two words must be multiplied by F, the last
    /// entry of the table's header.
    fn transform(
        &self,
        modulus: &Modulus,
        roots: &Roots,
        shape: Shape<'_>,
        unit: &Limbs,
        restore: bool,
    ) -> Box<dyn Transform>;
}

/// Defines one static per arithmetic, from its `Field` type and the storage type of its residues.
macro_rules! arithmetics {
    ($($(#[$about:meta])* $name:ident = $field:ty, $store:ty;)*) => {$(
        $(#[$about])*
        pub static $name: &dyn Arithmetic = &Of::<$field, $store>(PhantomData);
    )*};
}

arithmetics! {
    /// Any q below 2^14; residues are `u16`. Barrett reduction, so the product factor F is 1.
    MOD14 = Mod14, u16;
    /// Any q below 2^16; residues are `u16`. Barrett reduction, so the product factor F is 1.
    MOD16 = Mod16, u16;
    /// Odd q below 2^30; residues are `u32`. Montgomery reduction divides products of two words by F = 2^32.
    MOD32 = Mod32, u32;
    /// Odd q below 2^31; residues are `u32`. Montgomery reduction divides products of two words by F = 2^32.
    MOD31 = Mod31, u32;
    /// Odd q below 2^62; residues are `u64`. Montgomery reduction divides products of two words by F = 2^64.
    MOD64 = Mod64, u64;
    /// Odd q below 2^32; residues are `u32`, and words 64 bits wide. Montgomery reduction divides products by F = 2^64.
    MOD64_IN_32 = Mod64, u32;
    /// q = 2^64 − 2^32 + 1; residues are `u64`. Products of two words are reduced exactly, so the product factor F is
    /// 1.
    GOLDILOCKS = Goldilocks, u64;
    /// Odd q below 2^64; residues are `u64`. Montgomery reduction divides products of two words by F = 2^64.
    MOD64_FULL = Mod64Full, u64;
    /// Odd q below 2^255 − 2^192; residues are four limbs. Montgomery reduction divides products of two words by
    /// F = 2^256.
    MOD256_SPARE = Mod256<true>, Limbs;
    /// Odd q below 2^256; residues are four limbs. Montgomery reduction divides products of two words by F = 2^256.
    MOD256 = Mod256<false>, Limbs;
}

/// Implements [`Arithmetic`] for the field `F` with residues stored as `S`.
struct Of<F, S>(PhantomData<(F, S)>);

impl<F: Field, S: Store<F::Word>> Arithmetic for Of<F, S> {
    fn table(
        &self,
        modulus: &Modulus,
        roots: &Roots,
        shape: Shape<'_>,
        layout: &Layout,
        entries: Range<usize>,
    ) -> Vec<Limbs> {
        let mut words = vec![F::Word::zeroed(); entries.len()];
        Fill::<F>::new(modulus, roots, shape, layout).fill(entries.start, &mut words);
        words.iter().map(limbs).collect()
    }

    fn factors(&self, modulus: &Modulus, words: &[Limbs]) -> Vec<u8> {
        let field = F::new(&modulus.q);
        let factors: Vec<F::Twiddle> = words.iter().map(|x| field.twiddle(word(x))).collect();
        bytemuck::cast_slice(&factors).to_vec()
    }

    fn kernels<'a>(&self, rows: ElementLayout<'a>) -> Box<dyn Kernels + 'a> {
        kernels::of::<F, S>(rows)
    }

    fn transform(
        &self,
        modulus: &Modulus,
        roots: &Roots,
        shape: Shape<'_>,
        unit: &Limbs,
        restore: bool,
    ) -> Box<dyn Transform> {
        transform::of::<F>(modulus, roots, shape, unit, restore)
    }
}
