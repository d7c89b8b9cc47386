//! Residues in vectors of 64-bit words, whatever the instructions: sums are reduced before the next step, not after their own.

use super::vectors::{Lanes, Modulus};

/// A known factor w < q and floor(2^64 w / q).
pub(super) type Factor = [u64; 2];

/// A kind of vectors of 64-bit words and its products modulo q. All sums wrap.
pub(super) trait Narrow: Copy + Sync {
    type Vector: Copy;
    /// The words of a vector.
    type Words: bytemuck::Pod;
    /// Products are below this multiple of q, which bounds what is relaxed; twice as much bounds what is loose.
    const RELAXED: u64;
    /// As [`Lanes::FAST`].
    const FAST: bool;

    /// As [`Lanes::enter`].
    fn enter(self, run: impl FnOnce());
    fn splat(self, x: u64) -> Self::Vector;
    fn load(self, words: &Self::Words) -> Self::Vector;
    fn store(self, x: Self::Vector, words: &mut Self::Words);
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// in: x < 2m, m < 2^63   out: x mod m
    fn reduce(self, x: Self::Vector, m: Self::Vector) -> Self::Vector;
    /// in: loose x   out: x w, relaxed
    fn mul(self, x: Self::Vector, z: [Self::Vector; 2], q: Self::Vector) -> Self::Vector;
    /// As [`Lanes::unzip`].
    fn unzip<const K: usize>(self, pair: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// As [`Lanes::zip`].
    fn zip<const K: usize>(self, halves: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// As [`Lanes::factors`].
    fn factors<const K: usize>(self, z: &[Factor]) -> [Self::Vector; 2];
}

/// What steps on residues are in such vectors.
#[derive(Clone, Copy)]
pub(super) struct Words64<N>(pub(super) N);

/// q in all lanes, twice q, and the bound of what is relaxed.
#[derive(Clone, Copy)]
pub(super) struct Multiples<V> {
    q: V,
    twice: V,
    bound: V,
}

impl<N: Narrow> Lanes for Words64<N> {
    type Word = u64;
    type Words = N::Words;
    type Vector = N::Vector;
    type Factor = Factor;
    type Factors = [N::Vector; 2];
    type Multiples = Multiples<N::Vector>;

    const FAST: bool = N::FAST;
    const EAGER: bool = false;

    #[inline(always)]
    fn enter(self, run: impl FnOnce()) {
        self.0.enter(run);
    }

    #[inline(always)]
    fn multiples(self, q: &Modulus) -> Self::Multiples {
        let splat = |x| self.0.splat(x);
        Multiples { q: splat(q[0]), twice: splat(2 * q[0]), bound: splat(N::RELAXED * q[0]) }
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
    fn factor(self, z: &Factor, _: &Self::Multiples) -> [N::Vector; 2] {
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
    fn factors<const K: usize>(self, z: &[Factor], _: &Self::Multiples) -> [N::Vector; 2] {
        self.0.factors::<K>(z)
    }
}
