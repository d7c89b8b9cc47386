//! Ringforge's arithmetic and transforms on a CPU: rows in, rows out.
//!
//! A crate of its own, so that what plans and runs kernels compiles without it. Nothing of its interface is generic over
//! arithmetic: a static such as [`MOD31`] is one arithmetic with one way to store residues, behind [`Arithmetic`]. It makes
//! factors, [`Kernels`] on rows of many elements, and a [`Transform`] of one row. The crate knows of moduli, of trees of
//! layers ([`Shape`]) and of tables ([`Layout`]); which ring they come from, and how a kernel's arguments become rows, is
//! for the crate `ringforge` to know, which is its user and decides what it has.
//!
//! - Numbers are [`Limbs`]. A *word* is a residue below q as an arithmetic computes with it: plain, or for 256 bits in
//!   Montgomery form, x·2^256 mod q.
//! - Rows are bytes: residues as they are stored, `u16` to `u64` or [`Limbs`], aligned so. Factors in tables are bytes too,
//!   aligned to 16. What is not so, or has another length than is said, panics.
//! - Words that are out of range give words of no meaning, and nothing else: no panic, no access beyond a row.
//! - Neither branches nor addresses depend on residues: what chooses between words is in [`choice`].
//!
//! A new arithmetic is a file in `field/` that implements `Field`, and a static below.

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

pub use kernels::{Factors, Kernels, Keys, Rows};
pub use layout::{HEADER, Layout};
pub use limbs::{Wide, add_limbs, add_mod, mul_limbs, square_limbs, sub_limbs, sub_limbs_once, sub_mod};
pub use montgomery::Montgomery256;
pub use shape::{Layer, MAX_BASE, Shape};
pub use simd::wide;
pub use transform::Transform;

/// A number of up to 256 bits, least significant limb first.
pub type Limbs = [u64; 4];

/// A modulus.
#[derive(Debug, Clone, Copy)]
pub struct Modulus {
    /// q.
    pub q: Limbs,
    /// 1 as a word.
    pub one: Limbs,
}

/// The roots of a transform modulo one q, as words, and what its table begins with.
#[derive(Debug, Clone)]
pub struct Roots {
    /// γ, with which the tree starts.
    pub start: Limbs,
    /// γ^-1.
    pub start_inverse: Limbs,
    /// ρ, by powers of which leaves differ.
    pub step: Limbs,
    /// The entries of [`Layout`] before its sections.
    pub header: [Limbs; HEADER],
}

/// An arithmetic, and how residues are stored.
pub trait Arithmetic: Sync {
    /// These entries of a table, as words.
    fn table(
        &self,
        modulus: &Modulus,
        roots: &Roots,
        shape: Shape<'_>,
        layout: &Layout,
        entries: Range<usize>,
    ) -> Vec<Limbs>;

    /// Words as known factors, one after another as in a table.
    fn factors(&self, modulus: &Modulus, words: &[Limbs]) -> Vec<u8>;

    /// What kernels do on such rows.
    fn kernels<'a>(&self, rows: Rows<'a>) -> Box<dyn Kernels + 'a>;

    /// The transform of one row, on words: `unit` is 1 as a residue is stored, and `restore` whether reduced products of two
    /// words lack a factor, the last entry of the header.
    fn transform(
        &self,
        modulus: &Modulus,
        roots: &Roots,
        shape: Shape<'_>,
        unit: &Limbs,
        restore: bool,
    ) -> Box<dyn Transform>;
}

/// Registers arithmetics: a static for each, with its field and the type of its residues in memory.
macro_rules! arithmetics {
    ($($(#[$about:meta])* $name:ident = $field:ty, $store:ty;)*) => {$(
        $(#[$about])*
        pub static $name: &dyn Arithmetic = &Of::<$field, $store>(PhantomData);
    )*};
}

arithmetics! {
    /// Any q below 2^14, residues in 16 bits. Products of two words are reduced by Barrett, and lack nothing.
    MOD14 = Mod14, u16;
    /// The same below 2^16.
    MOD16 = Mod16, u16;
    /// Odd q below 2^30, residues in 32 bits. Reduced products of two words lack 2^32 (Montgomery).
    MOD32 = Mod32, u32;
    /// The same below 2^31.
    MOD31 = Mod31, u32;
    /// Odd q below 2^62, residues in 64 bits. Reduced products of two words lack 2^64.
    MOD64 = Mod64, u64;
    /// The same, residues in 32 bits.
    MOD64_IN_32 = Mod64, u32;
    /// q = 2^64 − 2^32 + 1, residues in 64 bits. Products of two words lack nothing.
    GOLDILOCKS = Goldilocks, u64;
    /// Odd q below 2^64, residues in 64 bits. Reduced products of two words lack 2^64.
    MOD64_FULL = Mod64Full, u64;
    /// Odd q below 2^255 − 2^192, residues in four limbs. Reduced products of two words lack 2^256.
    MOD256_SPARE = Mod256<true>, Limbs;
    /// The same below 2^256.
    MOD256 = Mod256<false>, Limbs;
}

/// The arithmetic of a field on residues that are stored as S.
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

    fn kernels<'a>(&self, rows: Rows<'a>) -> Box<dyn Kernels + 'a> {
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
