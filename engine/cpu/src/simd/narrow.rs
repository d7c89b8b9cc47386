//! SIMD vectors of one-word residues, generic over the instruction set. A forward butterfly leaves its sums unreduced,
//! and the next butterfly reduces them, as in Harvey's lazy butterflies (arXiv:1205.2926). An inverse butterfly reduces
//! its sum at once.

use bytemuck::Pod;

use super::vectors::{Lanes, Modulus};

/// A kind of vectors of B-bit words, with multiplication modulo q. A multiplier is w < q with its Shoup quotient
/// floor(2^B·w / q). All sums wrap.
///
/// Residues are *relaxed* if they are below [`RELAXED`](Self::RELAXED)·q, and *loose* if they are below twice this
/// bound.
pub(super) trait Narrow: Copy + Sync {
    type Word: Pod;
    /// A vector in memory, as an array of words.
    type Words: Pod;
    type Vector: Copy;
    /// Products are below `RELAXED`·q.
    const RELAXED: u64;
    /// See [`Lanes::FAST`].
    const FAST: bool;

    /// See [`Lanes::enter`].
    fn enter(self, run: impl FnOnce());
    fn splat(self, x: Self::Word) -> Self::Vector;
    /// Converts x < 2^B to a word.
    fn word(x: u64) -> Self::Word;
    fn load(self, words: &Self::Words) -> Self::Vector;
    fn store(self, x: Self::Vector, words: &mut Self::Words);
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns x mod m, for x < 2m.
    fn reduce(self, x: Self::Vector, m: Self::Vector) -> Self::Vector;
    /// Shoup multiplication of x by the multiplier z. in: x below 2·`RELAXED`·q   out: below `RELAXED`·q
    fn mul(self, x: Self::Vector, z: [Self::Vector; 2], q: Self::Vector) -> Self::Vector;
    /// See [`Lanes::unzip`].
    fn unzip<const K: usize>(self, pair: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// See [`Lanes::zip`].
    fn zip<const K: usize>(self, halves: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// See [`Lanes::spread`].
    #[inline(always)]
    fn spread<const K: usize>(self, pair: [Self::Vector; 2]) -> [Self::Vector; 2] {
        let lanes = size_of::<Self::Words>() / size_of::<Self::Word>();
        let pair = if K <= 4 && 4 < lanes { self.unzip::<4>(pair) } else { pair };
        let pair = if K <= 2 && 2 < lanes { self.unzip::<2>(pair) } else { pair };
        if K == 1 { self.unzip::<1>(pair) } else { pair }
    }
    /// See [`Lanes::gather`].
    #[inline(always)]
    fn gather<const K: usize>(self, halves: [Self::Vector; 2]) -> [Self::Vector; 2] {
        let lanes = size_of::<Self::Words>() / size_of::<Self::Word>();
        let halves = if K == 1 { self.zip::<1>(halves) } else { halves };
        let halves = if K <= 2 && 2 < lanes { self.zip::<2>(halves) } else { halves };
        if K <= 4 && 4 < lanes { self.zip::<4>(halves) } else { halves }
    }
    /// See [`Lanes::factors`].
    fn factors<const K: usize>(self, z: &[[Self::Word; 2]]) -> [Self::Vector; 2];
}

/// Implements [`Lanes`] for a [`Narrow`] kind of vectors.
#[derive(Clone, Copy)]
pub(super) struct Words<N>(pub(super) N);

/// The constants q, 2q and `RELAXED`·q, the bound of products, broadcast to all lanes.
#[derive(Clone, Copy)]
pub(super) struct Multiples<V> {
    q: V,
    twice: V,
    bound: V,
}

impl<N: Narrow> Lanes for Words<N> {
    type Word = N::Word;
    type Words = N::Words;
    type Vector = N::Vector;
    type Factor = [N::Word; 2];
    type Factors = [N::Vector; 2];
    type Multiples = Multiples<N::Vector>;

    const FAST: bool = N::FAST;
    const EAGER: bool = false;
    const SHORT: bool = true;

    #[inline(always)]
    fn enter(self, run: impl FnOnce()) {
        self.0.enter(run);
    }

    #[inline(always)]
    fn multiples(self, q: &Modulus) -> Self::Multiples {
        Multiples {
            q: self.0.splat(N::word(q[0])),
            twice: self.0.splat(N::word(2 * q[0])),
            bound: self.0.splat(N::word(N::RELAXED * q[0])),
        }
    }

    #[inline(always)]
    fn load(self, words: &N::Words) -> N::Vector {
        self.0.load(words)
    }

    #[inline(always)]
    fn store(self, x: N::Vector, words: &mut N::Words) {
        self.0.store(x, words);
    }

    #[inline(always)]
    fn add(self, a: N::Vector, b: N::Vector) -> N::Vector {
        self.0.add(a, b)
    }

    #[inline(always)]
    fn sub(self, a: N::Vector, b: N::Vector, q: &Self::Multiples) -> N::Vector {
        self.0.add(a, self.0.sub(q.bound, b))
    }

    #[inline(always)]
    fn relax(self, x: N::Vector, q: &Self::Multiples) -> N::Vector {
        self.0.reduce(x, q.bound)
    }

    #[inline(always)]
    fn canonical(self, x: N::Vector, q: &Self::Multiples) -> N::Vector {
        let relaxed = self.relax(x, q);
        let relaxed = if N::RELAXED > 2 { self.0.reduce(relaxed, q.twice) } else { relaxed };
        self.0.reduce(relaxed, q.q)
    }

    #[inline(always)]
    fn mul(self, x: N::Vector, z: [N::Vector; 2], q: &Self::Multiples) -> N::Vector {
        self.0.mul(x, z, q.q)
    }

    #[inline(always)]
    fn factor(self, z: &[N::Word; 2], _: &Self::Multiples) -> [N::Vector; 2] {
        [self.0.splat(z[0]), self.0.splat(z[1])]
    }

    #[inline(always)]
    fn unzip<const K: usize>(self, pair: [N::Vector; 2]) -> [N::Vector; 2] {
        self.0.unzip::<K>(pair)
    }

    #[inline(always)]
    fn zip<const K: usize>(self, halves: [N::Vector; 2]) -> [N::Vector; 2] {
        self.0.zip::<K>(halves)
    }

    #[inline(always)]
    fn spread<const K: usize>(self, pair: [N::Vector; 2]) -> [N::Vector; 2] {
        self.0.spread::<K>(pair)
    }

    #[inline(always)]
    fn gather<const K: usize>(self, halves: [N::Vector; 2]) -> [N::Vector; 2] {
        self.0.gather::<K>(halves)
    }

    #[inline(always)]
    fn factors<const K: usize>(self, z: &[[N::Word; 2]], _: &Self::Multiples) -> [N::Vector; 2] {
        self.0.factors::<K>(z)
    }
}
