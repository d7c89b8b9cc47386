//! The loops of steps by radix 2, the same for every kind of vectors.

use core::slice;

use bytemuck::{cast_slice, cast_slice_mut};

use super::vectors::{Kind, Lanes, Modulus, Step};

/// Words in a vector.
const fn count<L: Lanes>() -> usize {
    size_of::<L::Words>() / size_of::<L::Word>()
}

impl<L: Lanes> Kind for L {
    fn pair(&self) -> usize {
        2 * count::<L>()
    }

    fn take_quarters(&self, part: usize) -> bool {
        L::FAST && part >= count::<L>()
    }

    fn halves(&self, q: &Modulus, step: Step, lo: &mut [u8], hi: &mut [u8], z: &[u8]) {
        self.enter(
            #[inline(always)]
            || Residues::new(*self, q).halves(step, cast_slice_mut(lo), cast_slice_mut(hi), cast_slice(z)),
        );
    }

    fn nodes(&self, q: &Modulus, step: Step, part: usize, words: &mut [u8], z: &[u8]) {
        self.enter(
            #[inline(always)]
            || {
                let residues = Residues::new(*self, q);
                let (words, z) = (cast_slice_mut::<_, L::Word>(words), cast_slice(z));
                match part {
                    _ if part >= count::<L>() => {
                        for (words, z) in words.chunks_exact_mut(2 * part).zip(z) {
                            let (lo, hi) = words.split_at_mut(part);
                            residues.halves(step, lo, hi, slice::from_ref(z));
                        }
                    }
                    1 => residues.small::<1>(step, words, z),
                    2 => residues.small::<2>(step, words, z),
                    4 => residues.small::<4>(step, words, z),
                    _ => residues.small::<8>(step, words, z),
                }
            },
        );
    }

    fn quarters(&self, q: &Modulus, step: Step, part: usize, words: &mut [u8], z: [&[u8]; 2]) {
        self.enter(
            #[inline(always)]
            || {
                let residues = Residues::new(*self, q);
                let words = cast_slice_mut::<_, L::Word>(words);
                let [z, children] = z.map(cast_slice::<_, L::Factor>);
                let (children, _) = children.as_chunks::<2>();
                for ((words, z), children) in words.chunks_exact_mut(4 * part).zip(z).zip(children) {
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
    q: L::Multiples,
}

impl<L: Lanes> Residues<L> {
    #[inline(always)]
    fn new(lanes: L, q: &Modulus) -> Self {
        Self { lanes, q: lanes.multiples(q) }
    }

    /// Parts of both halves of a node.
    #[inline(always)]
    fn halves(self, step: Step, lo: &mut [L::Word], hi: &mut [L::Word], z: &[L::Factor]) {
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
        z: &[L::Factor],
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
    fn small<const K: usize>(self, step: Step, words: &mut [L::Word], z: &[L::Factor]) {
        let (pairs, _) = cast_slice_mut::<_, L::Words>(words).as_chunks_mut::<2>();
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
        pairs: impl Iterator<Item = (&'a mut [L::Words; 2], &'a [L::Factor])>,
    ) where
        L::Words: 'a,
        L::Factor: 'a,
    {
        for ([lo, hi], z) in pairs {
            let pair = self.lanes.unzip::<K>([self.lanes.load(lo), self.lanes.load(hi)]);
            let z = self.lanes.factors::<K>(z, &self.q);
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
        words: &mut [L::Word],
        z: &L::Factor,
        children: &[L::Factor; 2],
    ) {
        let (z, [left, right]) = (self.factor(z), [self.factor(&children[0]), self.factor(&children[1])]);
        let (ab, cd) = words.split_at_mut(2 * part);
        let ((a, b), (c, d)) = (ab.split_at_mut(part), cd.split_at_mut(part));
        let ab = cast_slice_mut::<_, L::Words>(a).iter_mut().zip(cast_slice_mut::<_, L::Words>(b));
        let cd = cast_slice_mut::<_, L::Words>(c).iter_mut().zip(cast_slice_mut::<_, L::Words>(d));
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
    fn factor(self, z: &L::Factor) -> L::Factors {
        self.lanes.factor(z, &self.q)
    }

    /// One step down or back up, in the ranges of [`Step`].
    #[inline(always)]
    fn butterfly<const BACK: bool, const LAST: bool>(
        self,
        [a, b]: [L::Vector; 2],
        z: L::Factors,
        second: L::Factors,
    ) -> [L::Vector; 2] {
        let Self { lanes, q } = self;
        if BACK {
            let [sum, difference] = [lanes.add(a, b), lanes.mul(lanes.sub(a, b, &q), second, &q)];
            return match LAST {
                true => [lanes.canonical(lanes.mul(sum, z, &q), &q), lanes.canonical(difference, &q)],
                false => [lanes.relax(sum, &q), difference],
            };
        }
        let (a, t) = (if L::EAGER { a } else { lanes.relax(a, &q) }, lanes.mul(b, z, &q));
        let (mut a, mut b) = (lanes.add(a, t), lanes.sub(a, t, &q));
        if L::EAGER {
            (a, b) = (lanes.relax(a, &q), lanes.relax(b, &q));
        }
        if LAST { [lanes.canonical(a, &q), lanes.canonical(b, &q)] } else { [a, b] }
    }
}
