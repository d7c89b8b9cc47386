//! Radix-2 layers in SIMD vectors: the loops over vectors, generic over the kind of vectors.

use core::slice;

use bytemuck::{cast_slice, cast_slice_mut};

use super::vectors::{Lanes, MOST_WITHIN, Modulus, Step, VectorKind};

/// Number of pairs of vectors processed at once, so that independent butterflies hide each other's latency.
const TOGETHER: usize = 4;

/// Number of words in a vector.
const fn count<L: Lanes>() -> usize {
    size_of::<L::Words>() / size_of::<L::Word>()
}

impl<L: Lanes> VectorKind for L {
    fn pair(&self) -> usize {
        2 * count::<L>()
    }

    fn take_quarters(&self) -> bool {
        L::FAST
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
                for (words, z) in words.chunks_exact_mut(2 * part).zip(z) {
                    let (lo, hi) = words.split_at_mut(part);
                    residues.halves(step, lo, hi, slice::from_ref(z));
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

    fn within(&self, q: &Modulus, step: Step, words: &mut [u8], z: &[&[u8]]) {
        self.enter(
            #[inline(always)]
            || {
                let residues = Residues::new(*self, q);
                let (pairs, _) = cast_slice_mut(words).as_chunks_mut();
                let mut lists = [&[][..]; MOST_WITHIN];
                for (list, z) in lists.iter_mut().zip(z) {
                    *list = cast_slice(z);
                }
                let is_back = matches!(step, Step::Inverse | Step::InverseLast);
                let size = if is_back { count::<L>() } else { 2 * count::<L>() };
                match (is_back, size >> z.len()) {
                    (false, 1) => residues.each_within::<1, false>(pairs, &lists),
                    (false, 2) => residues.each_within::<2, false>(pairs, &lists),
                    (false, 4) => residues.each_within::<4, false>(pairs, &lists),
                    (false, _) => residues.each_within::<8, false>(pairs, &lists),
                    (true, 1) => residues.each_within::<1, true>(pairs, &lists),
                    (true, 2) => residues.each_within::<2, true>(pairs, &lists),
                    (true, 4) => residues.each_within::<4, true>(pairs, &lists),
                    (true, _) => residues.each_within::<8, true>(pairs, &lists),
                }
            },
        );
    }
}

/// A kind of vectors with its constants for one q.
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

    /// Computes one layer on a slice of the lower half of a node and the matching slice of the upper half.
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

    /// Computes the lowest layers, whose nodes fit into a pair of vectors. Leaves have K words.
    #[inline(always)]
    fn each_within<const K: usize, const BACK: bool>(
        self,
        pairs: &mut [[L::Words; 2]],
        z: &[&[L::Factor]; MOST_WITHIN],
    ) {
        let (groups, rest) = pairs.as_chunks_mut::<TOGETHER>();
        // Leaves of more than one word are rare, so pairs of vectors are not grouped for them.
        if L::SHORT && K == 1 {
            for (i, group) in groups.iter_mut().enumerate() {
                self.group_within::<K, BACK, TOGETHER>(i * TOGETHER, group, z);
            }
        } else {
            self.one_by_one::<K, BACK>(0, groups.as_flattened_mut(), z);
        }
        self.one_by_one::<K, BACK>(groups.len() * TOGETHER, rest, z);
    }

    #[inline(always)]
    fn one_by_one<const K: usize, const BACK: bool>(
        self,
        first: usize,
        pairs: &mut [[L::Words; 2]],
        z: &[&[L::Factor]; MOST_WITHIN],
    ) {
        for (i, pair) in pairs.as_chunks_mut::<1>().0.iter_mut().enumerate() {
            self.group_within::<K, BACK, 1>(first + i, pair, z);
        }
    }

    /// Computes the lowest layers on N pairs of vectors; `first` is the index of the first of these pairs among all
    /// pairs of the call.
    #[inline(always)]
    fn group_within<const K: usize, const BACK: bool, const N: usize>(
        self,
        first: usize,
        words: &mut [[L::Words; 2]; N],
        z: &[&[L::Factor]; MOST_WITHIN],
    ) {
        let lanes = self.lanes;
        let mut pairs = [[lanes.load(&words[0][0]); 2]; N];
        for (pair, [lo, hi]) in pairs.iter_mut().zip(&*words) {
            *pair = [lanes.load(lo), lanes.load(hi)];
            if BACK {
                *pair = lanes.spread::<K>(*pair);
            }
        }
        if BACK {
            self.layer_within::<1, K, BACK, N>(first, &mut pairs, z);
            self.layer_within::<2, K, BACK, N>(first, &mut pairs, z);
            self.layer_within::<4, K, BACK, N>(first, &mut pairs, z);
            self.layer_within::<8, K, BACK, N>(first, &mut pairs, z);
        } else {
            self.layer_within::<16, K, BACK, N>(first, &mut pairs, z);
            self.layer_within::<8, K, BACK, N>(first, &mut pairs, z);
            self.layer_within::<4, K, BACK, N>(first, &mut pairs, z);
            self.layer_within::<2, K, BACK, N>(first, &mut pairs, z);
            self.layer_within::<1, K, BACK, N>(first, &mut pairs, z);
        }
        for (pair, [lo, hi]) in pairs.iter().zip(words) {
            let [a, b] = if BACK { *pair } else { lanes.gather::<K>(*pair) };
            lanes.store(a, lo);
            lanes.store(b, hi);
        }
    }

    /// Computes the layer whose nodes have halves of H words. Does nothing if such nodes do not fit into a pair of
    /// vectors, or lie below the leaves of K words.
    #[inline(always)]
    fn layer_within<const H: usize, const K: usize, const BACK: bool, const N: usize>(
        self,
        first: usize,
        pairs: &mut [[L::Vector; 2]; N],
        z: &[&[L::Factor]; MOST_WITHIN],
    ) {
        let (lanes, nodes) = (self.lanes, count::<L>() / H);
        if nodes == 0 || BACK && nodes == 1 || H < K {
            return;
        }
        let layer = nodes.ilog2() as usize - usize::from(BACK);
        let z = &z[layer][first * nodes..][..N * nodes];
        for (pair, z) in pairs.iter_mut().zip(z.chunks_exact(nodes)) {
            if nodes == 1 {
                let z = self.factor(&z[0]);
                *pair = self.butterfly::<BACK, false>(*pair, z, z);
                continue;
            }
            let z = lanes.factors::<H>(z, &self.q);
            *pair = match BACK {
                true => lanes.zip::<H>(self.butterfly::<BACK, false>(*pair, z, z)),
                false if H == K => self.butterfly::<BACK, true>(lanes.unzip::<H>(*pair), z, z),
                false => self.butterfly::<BACK, false>(lanes.unzip::<H>(*pair), z, z),
            };
        }
    }

    /// A radix-2^2 pass: two layers of a node and its children in one pass over memory. Only the lower layer may be the
    /// last of a forward transform. Neither may be the last of an inverse transform.
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

    /// One butterfly, Cooley–Tukey or (with `BACK`) Gentleman–Sande, with the input and output ranges of [`Step`].
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
