//! The loops of steps by radix 2, the same for every kind of vectors.

use core::slice;

use bytemuck::cast_slice_mut;

use super::vectors::{Factor, Kind, Lanes, Step};

/// Words in a vector.
const fn count<L: Lanes>() -> usize {
    size_of::<L::Words>() / size_of::<u64>()
}

impl<L: Lanes> Kind for L {
    fn pair(&self) -> usize {
        2 * count::<L>()
    }

    fn take_quarters(&self, part: usize) -> bool {
        L::FAST && part >= count::<L>()
    }

    fn halves(&self, q: u64, step: Step, lo: &mut [u64], hi: &mut [u64], z: &[Factor]) {
        self.enter(
            #[inline(always)]
            || Residues::new(*self, q).halves(step, lo, hi, z),
        );
    }

    fn nodes(&self, q: u64, step: Step, part: usize, words: &mut [u64], z: &[Factor]) {
        self.enter(
            #[inline(always)]
            || {
                let residues = Residues::new(*self, q);
                match part {
                    _ if part >= count::<L>() => {
                        for (words, z) in words.chunks_exact_mut(2 * part).zip(z) {
                            let (lo, hi) = words.split_at_mut(part);
                            residues.halves(step, lo, hi, slice::from_ref(z));
                        }
                    }
                    1 => residues.small::<1>(step, words, z),
                    2 => residues.small::<2>(step, words, z),
                    _ => residues.small::<4>(step, words, z),
                }
            },
        );
    }

    fn quarters(&self, q: u64, step: Step, part: usize, words: &mut [u64], z: [&[Factor]; 2]) {
        self.enter(
            #[inline(always)]
            || {
                let residues = Residues::new(*self, q);
                let (children, _) = z[1].as_chunks::<2>();
                for ((words, z), children) in words.chunks_exact_mut(4 * part).zip(z[0]).zip(children) {
                    match step {
                        Step::Forward => residues.each_quarter::<false, false>(part, words, z, children),
                        Step::ForwardLast => residues.each_quarter::<false, true>(part, words, z, children),
                        Step::Inverse | Step::InverseLast => {
                            residues.each_quarter::<true, false>(part, words, z, children);
                        }
                    }
                }
            },
        );
    }
}

/// Vectors modulo q.
#[derive(Clone, Copy)]
struct Residues<L: Lanes> {
    lanes: L,
    q: L::Vector,
    twice: L::Vector,
    /// The bound of what is relaxed.
    bound: L::Vector,
}

impl<L: Lanes> Residues<L> {
    #[inline(always)]
    fn new(lanes: L, q: u64) -> Self {
        Self { lanes, q: lanes.splat(q), twice: lanes.splat(2 * q), bound: lanes.splat(L::RELAXED * q) }
    }

    /// Parts of both halves of a node.
    #[inline(always)]
    fn halves(self, step: Step, lo: &mut [u64], hi: &mut [u64], z: &[Factor]) {
        let pairs = cast_slice_mut(lo).iter_mut().zip(cast_slice_mut(hi));
        match step {
            Step::Forward => self.each::<false, false>(pairs, z),
            Step::ForwardLast => self.each::<false, true>(pairs, z),
            Step::Inverse => self.each::<true, false>(pairs, z),
            Step::InverseLast => self.each::<true, true>(pairs, z),
        }
    }

    #[inline(always)]
    fn each<'a, const BACK: bool, const LAST: bool>(
        self,
        pairs: impl Iterator<Item = (&'a mut L::Words, &'a mut L::Words)>,
        z: &[Factor],
    ) where
        L::Words: 'a,
    {
        let (first, last) = (self.factor(&z[0]), self.factor(&z[z.len() - 1]));
        for (lo, hi) in pairs {
            let pair = [self.lanes.load(lo), self.lanes.load(hi)];
            let [a, b] = self.butterfly::<BACK, LAST>(pair, first, last);
            self.lanes.store(a, lo);
            self.lanes.store(b, hi);
        }
    }

    /// Nodes with halves of K words, fewer than a vector has. There is no last step of these on the way back.
    #[inline(always)]
    fn small<const K: usize>(self, step: Step, words: &mut [u64], z: &[Factor]) {
        let (pairs, _) = cast_slice_mut::<u64, L::Words>(words).as_chunks_mut::<2>();
        let pairs = pairs.iter_mut().zip(z.chunks_exact(count::<L>() / K));
        match step {
            Step::Forward => self.each_small::<K, false, false>(pairs),
            Step::ForwardLast => self.each_small::<K, false, true>(pairs),
            Step::Inverse | Step::InverseLast => self.each_small::<K, true, false>(pairs),
        }
    }

    #[inline(always)]
    fn each_small<'a, const K: usize, const BACK: bool, const LAST: bool>(
        self,
        pairs: impl Iterator<Item = (&'a mut [L::Words; 2], &'a [Factor])>,
    ) where
        L::Words: 'a,
    {
        for ([lo, hi], z) in pairs {
            let pair = self.lanes.unzip::<K>([self.lanes.load(lo), self.lanes.load(hi)]);
            let z = self.lanes.factors::<K>(z);
            let [a, b] = self.lanes.zip::<K>(self.butterfly::<BACK, LAST>(pair, z, z));
            self.lanes.store(a, lo);
            self.lanes.store(b, hi);
        }
    }

    /// The two layers of a node; the first step down is never a last one, and none is on the way back.
    #[inline(always)]
    fn each_quarter<const BACK: bool, const LAST: bool>(
        self,
        part: usize,
        words: &mut [u64],
        z: &Factor,
        children: &[Factor; 2],
    ) {
        let (z, [left, right]) = (self.factor(z), [self.factor(&children[0]), self.factor(&children[1])]);
        let (ab, cd) = words.split_at_mut(2 * part);
        let ((a, b), (c, d)) = (ab.split_at_mut(part), cd.split_at_mut(part));
        let ab = cast_slice_mut::<u64, L::Words>(a).iter_mut().zip(cast_slice_mut::<u64, L::Words>(b));
        let cd = cast_slice_mut::<u64, L::Words>(c).iter_mut().zip(cast_slice_mut::<u64, L::Words>(d));
        for ((pa, pb), (pc, pd)) in ab.zip(cd) {
            let [mut a, mut b] = [self.lanes.load(pa), self.lanes.load(pb)];
            let [mut c, mut d] = [self.lanes.load(pc), self.lanes.load(pd)];
            if !BACK {
                [a, c] = self.butterfly::<BACK, false>([a, c], z, z);
                [b, d] = self.butterfly::<BACK, false>([b, d], z, z);
            }
            [a, b] = self.butterfly::<BACK, LAST>([a, b], left, left);
            [c, d] = self.butterfly::<BACK, LAST>([c, d], right, right);
            if BACK {
                [a, c] = self.butterfly::<BACK, false>([a, c], z, z);
                [b, d] = self.butterfly::<BACK, false>([b, d], z, z);
            }
            self.lanes.store(a, pa);
            self.lanes.store(b, pb);
            self.lanes.store(c, pc);
            self.lanes.store(d, pd);
        }
    }

    #[inline(always)]
    fn factor(self, z: &Factor) -> [L::Vector; 2] {
        [self.lanes.splat(z[0]), self.lanes.splat(z[1])]
    }

    /// One step down or back up, in the ranges of [`Step`].
    #[inline(always)]
    fn butterfly<const BACK: bool, const LAST: bool>(
        self,
        [a, b]: [L::Vector; 2],
        z: [L::Vector; 2],
        second: [L::Vector; 2],
    ) -> [L::Vector; 2] {
        match (BACK, LAST) {
            (false, false) => self.two(a, b, z),
            (false, true) => self.canonical(self.two(a, b, z)),
            (true, false) => [self.relax(self.lanes.add(a, b)), self.mul(self.sub(a, b), z)],
            (true, true) => self.canonical([self.mul(self.lanes.add(a, b), z), self.mul(self.sub(a, b), second)]),
        }
    }

    /// in, out: loose
    #[inline(always)]
    fn two(self, a: L::Vector, b: L::Vector, z: [L::Vector; 2]) -> [L::Vector; 2] {
        let (a, t) = (self.relax(a), self.mul(b, z));
        [self.lanes.add(a, t), self.sub(a, t)]
    }

    /// in: loose   out: relaxed
    #[inline(always)]
    fn mul(self, x: L::Vector, z: [L::Vector; 2]) -> L::Vector {
        self.lanes.mul(x, z, self.q)
    }

    /// in: loose   out: relaxed
    #[inline(always)]
    fn relax(self, x: L::Vector) -> L::Vector {
        self.lanes.reduce(x, self.bound)
    }

    /// in: relaxed   out: loose
    #[inline(always)]
    fn sub(self, a: L::Vector, b: L::Vector) -> L::Vector {
        self.lanes.add(a, self.lanes.sub(self.bound, b))
    }

    /// in: loose   out: canonical
    #[inline(always)]
    fn canonical(self, [a, b]: [L::Vector; 2]) -> [L::Vector; 2] {
        [self.canonical_one(a), self.canonical_one(b)]
    }

    #[inline(always)]
    fn canonical_one(self, x: L::Vector) -> L::Vector {
        let relaxed = self.relax(x);
        let relaxed = if L::RELAXED > 2 { self.lanes.reduce(relaxed, self.twice) } else { relaxed };
        self.lanes.reduce(relaxed, self.q)
    }
}
