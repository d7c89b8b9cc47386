//! Ringforge's arithmetic and transforms on a CPU: rows in, rows out.
//!
//! A *row* is one residue polynomial (an RNS limb): n residues modulo one q. It is a separate crate so that the planner
//! and the kernels compile separately from it. Its interface is not generic over arithmetic: a static such as [`MOD31`]
//! is one arithmetic with one storage type, as a `dyn` [`Arithmetic`]. That trait makes twiddle factors, [`Kernels`] on
//! rows of many elements, and a [`Transform`] of one row. The crate knows moduli, factorisation trees ([`Shape`]) and
//! twiddle tables ([`Layout`]). The crate `ringforge` maps rings and kernel arguments to rows.
//!
//! - Numbers are [`Limbs`]. A *word* is a residue below q in the form that an arithmetic computes with: plain, or for
//!   256 bits in Montgomery form, x·2^256 mod q.
//! - Rows are bytes: residues as they are stored, `u16` to `u64` or [`Limbs`], with that type's alignment. Factors in
//!   tables are also bytes, aligned to 16. A wrong alignment or length panics.
//! - A word out of range makes the result meaningless but has no other effect: no panic, no access outside a row.
//! - Neither branches nor addresses depend on residues; words are selected with [`choice`].
//!
//! To add an arithmetic, implement `Field` in a file in `field/` and add a static below.

mod base;
pub mod choice;
mod field;
mod fill;
mod inverses;
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

pub use kernels::{ElementLayout, Factors, Kernels, Keys};
pub use layout::{HEADER, Layout};
pub use limbs::{Wide, add_limbs, add_mod, mul_limbs, square_limbs, sub_limbs, sub_limbs_once, sub_mod};
pub use montgomery::Montgomery256;
pub use shape::{Layer, MAX_LEAF_DEGREE, Shape};
pub use simd::wide;
pub use transform::Transform;

/// A number of up to 256 bits, least significant limb first.
pub type Limbs = [u64; 4];

/// A modulus.
#[derive(Debug, Clone, Copy)]
pub struct Modulus {
    /// q.
    pub q: Limbs,
    /// The residue 1 as a word.
    pub one: Limbs,
}

/// The roots of a transform modulo one q and the header of its table, all as words.
#[derive(Debug, Clone)]
pub struct Roots {
    /// γ, the root at which the tree starts.
    pub start: Limbs,
    /// γ^-1.
    pub start_inverse: Limbs,
    /// ρ; the roots of the leaves differ by powers of it.
    pub step: Limbs,
    /// The header entries of [`Layout`].
    pub header: [Limbs; HEADER],
}

/// An arithmetic with a storage type for its residues.
pub trait Arithmetic: Sync {
    /// The given range of a twiddle table's entries, as words.
    fn table(
        &self,
        modulus: &Modulus,
        roots: &Roots,
        shape: Shape<'_>,
        layout: &Layout,
        entries: Range<usize>,
    ) -> Vec<Limbs>;

    /// Words as multipliers in the byte format of a table.
    fn factors(&self, modulus: &Modulus, words: &[Limbs]) -> Vec<u8>;

    /// The kernels' operations on such rows.
    fn kernels<'a>(&self, rows: ElementLayout<'a>) -> Box<dyn Kernels + 'a>;

    /// The transform of one row of words. `unit` is 1 as a residue is stored. `restore` says whether reduced products
    /// of two words must be multiplied by F, the last entry of the header.
    fn transform(
        &self,
        modulus: &Modulus,
        roots: &Roots,
        shape: Shape<'_>,
        unit: &Limbs,
        restore: bool,
    ) -> Box<dyn Transform>;
}

/// Registers arithmetics: one static each, with its field and the storage type of its residues.
macro_rules! arithmetics {
    ($($(#[$about:meta])* $name:ident = $field:ty, $store:ty;)*) => {$(
        $(#[$about])*
        pub static $name: &dyn Arithmetic = &Of::<$field, $store>(PhantomData);
    )*};
}

arithmetics! {
    /// Any q below 2^14, residues in 16 bits. Barrett reduction, so F = 1.
    MOD14 = Mod14, u16;
    /// Any q below 2^16, residues in 16 bits. Barrett reduction, so F = 1.
    MOD16 = Mod16, u16;
    /// Odd q below 2^30, residues in 32 bits. Montgomery reduction divides products of two words by F = 2^32.
    MOD32 = Mod32, u32;
    /// Odd q below 2^31, residues in 32 bits. Montgomery reduction divides products of two words by F = 2^32.
    MOD31 = Mod31, u32;
    /// Odd q below 2^62, residues in 64 bits. Montgomery reduction divides products of two words by F = 2^64.
    MOD64 = Mod64, u64;
    /// As [`MOD64`], residues in 32 bits.
    MOD64_IN_32 = Mod64, u32;
    /// q = 2^64 − 2^32 + 1, residues in 64 bits. Products of two words are reduced exactly, so F = 1.
    GOLDILOCKS = Goldilocks, u64;
    /// Odd q below 2^64, residues in 64 bits. Montgomery reduction divides products of two words by F = 2^64.
    MOD64_FULL = Mod64Full, u64;
    /// Odd q below 2^255 − 2^192, residues in four limbs. Montgomery reduction divides products of two words by F =
    /// 2^256.
    MOD256_SPARE = Mod256<true>, Limbs;
    /// Odd q below 2^256, residues in four limbs. Montgomery reduction divides products of two words by F = 2^256.
    MOD256 = Mod256<false>, Limbs;
}

/// The arithmetic of a field on residues stored as `S`.
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
