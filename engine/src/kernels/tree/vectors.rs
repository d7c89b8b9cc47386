//! The layers of nodes that are near, in vectors: rows of a power of two, by radix 2 alone.

use super::Tree;
use crate::field::Field;
use crate::ring::split::{Layer, Split};
use crate::simd::{Step, Vectors};

impl<F: Field> Tree<'_, F> {
    /// The vectors for this tree, if it is one for them.
    pub(super) fn vectors(&self) -> Option<Vectors> {
        self.field.vectors().filter(|vectors| self.fits(vectors))
    }

    fn fits(&self, vectors: &Vectors) -> bool {
        let Split { n, layers, .. } = self.split;
        let all_twos = !layers.is_empty() && layers.iter().all(|&layer| layer == Layer::Two);
        all_twos && n.is_power_of_two() && vectors.fit(*n)
    }

    /// From consecutive nodes above `layer`, the first of them number `first`, down to their leaves.
    ///
    /// in: loose, as vectors have it   out: canonical
    pub(super) fn forward_in_vectors(&self, layer: usize, first: usize, words: &mut [F::Word], vectors: Vectors) {
        let (layers, n) = (self.split.layers.len(), self.split.n);
        let factors = |l: usize| &self.table[self.layout.forward[l] + (first << (l - layer))..];
        let mut l = layer;
        while l < layers {
            let quarters = l + 1 < layers && vectors.take_quarters(n >> (l + 2));
            let next = l + if quarters { 2 } else { 1 };
            let step = if next < layers { Step::Forward } else { Step::ForwardLast };
            if quarters {
                vectors.quarters(step, n >> next, words, [factors(l), factors(l + 1)]);
            } else {
                vectors.nodes(step, n >> next, words, factors(l));
            }
            l = next;
        }
    }

    /// From leaves up to consecutive nodes above `layer`, which is not the first layer. in, out: relaxed, as vectors have it
    pub(super) fn inverse_in_vectors(&self, layer: usize, first: usize, words: &mut [F::Word], vectors: Vectors) {
        let n = self.split.n;
        let factors = |l: usize| &self.table[self.layout.inverse[l] + (first << (l - layer))..];
        let mut l = self.split.layers.len();
        while l > layer {
            if l > layer + 1 && vectors.take_quarters(n >> l) {
                vectors.quarters(Step::Inverse, n >> l, words, [factors(l - 2), factors(l - 1)]);
                l -= 2;
            } else {
                vectors.nodes(Step::Inverse, n >> l, words, factors(l - 1));
                l -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::arithmetic::Arithmetic;
    use crate::arithmetic::dispatch;
    use crate::field::{Field, Store, Visit};
    use crate::kernels::tree::{Origin, Tree};
    use crate::modulus::{Modulus, low_u64};
    use crate::ring::Ring;
    use crate::ring::split::Split;
    use crate::rows::twiddles::{Layout, factors_of, header_of};
    use crate::simd::Vectors;

    /// The largest prime of this many bits that is 1 modulo `order`.
    fn prime(bits: u32, order: u64) -> Modulus {
        let top = (1 << bits) / order;
        let mut candidates = (1..top).rev().filter_map(|k| Modulus::new(k * order + 1).ok());
        candidates.find(Modulus::is_prime).expect("a prime")
    }

    /// Both ways with every kind of vectors and with none, from words at the edges and from any.
    struct Agree<'a>(&'a Ring, &'a Split);

    impl Visit for Agree<'_> {
        type Out = usize;

        fn visit<F: Field, S: Store<F::Word>>(self) -> usize {
            let Self(ring, split) = self;
            let q = ring.basis()[0];
            let (value, layout) = (low_u64(&q.value()), &Layout::of(split, split.layers.len()));
            let table = factors_of::<F>(split, 0);
            let tree =
                Tree { field: F::new(&q), split, layout, header: header_of(&table), table: table.as_slice().into() };
            let fill = |word: &dyn Fn(u64) -> u64| -> Vec<F::Word> {
                let words: Vec<u64> = (0..split.n as u64).map(word).collect();
                bytemuck::cast_slice(&words).to_vec()
            };
            let spread = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let rows = [
                fill(&|_| value - 1),
                fill(&|_| 2 * value - 1),
                fill(&|i| (value - 1) * (i & 1)),
                fill(&|i| (2 * value - 1) * (i >> 3 & 1)),
                fill(&|i| spread(i) % value),
                fill(&|i| spread(i) % (2 * value)),
            ];
            let same = |a: Vec<F::Word>, b: Vec<F::Word>| {
                bytemuck::cast_slice::<_, u8>(&a) == bytemuck::cast_slice::<_, u8>(&b)
            };
            let kinds: Vec<Vectors> = Vectors::all(value).filter(|vectors| tree.fits(vectors)).collect();
            for row in rows {
                let forward = |vectors| {
                    let mut row = row.clone();
                    tree.forward_node(0, 0, &mut row, vectors);
                    row
                };
                let inverse = |origin, vectors| {
                    let mut row = row.clone();
                    tree.inverse_with(&mut row, origin, vectors);
                    row
                };
                for (number, &kind) in kinds.iter().enumerate() {
                    assert!(same(forward(Some(kind)), forward(None)), "{q} {split} kind {number}");
                    for origin in [Origin::Values, Origin::Products] {
                        assert!(
                            same(inverse(origin, Some(kind)), inverse(origin, None)),
                            "{q} {split} kind {number} {origin:?}"
                        );
                    }
                }
            }
            kinds.len()
        }
    }

    #[test]
    fn every_kind_of_vectors_gives_the_words_of_plain_code() {
        for bits in [33, 50, 51, 60, 61, 62] {
            for log in [3, 4, 5, 8, 12, 15] {
                let n = 1 << log;
                let ring = Ring::negacyclic(n, prime(bits, 2 * n as u64)).expect("a ring");
                assert_eq!(Arithmetic::of(&ring), Arithmetic::Mod64);
                for dropped in 0..4 {
                    let split = Split::of(&ring, Some(log - dropped)).expect("a split");
                    let kinds = dispatch(&ring, Arithmetic::of(&ring), Agree(&ring, &split));
                    #[cfg(target_arch = "x86_64")]
                    assert!(kinds > 0 || n < 16 || !is_x86_feature_detected!("avx2"), "{ring}");
                    #[cfg(not(target_arch = "x86_64"))]
                    assert_eq!(kinds, 0);
                }
            }
        }
    }

    #[test]
    fn other_trees_have_no_vectors() {
        let q = prime(60, 9 << 10);
        for ring in
            [Ring::cyclic(96, q), Ring::trinomial(96, q), Ring::cyclic(4, q), Ring::negacyclic(80, prime(60, 32))]
        {
            let ring = ring.expect("a ring");
            let split = Split::of(&ring, None).expect("a split");
            assert_eq!(dispatch(&ring, Arithmetic::of(&ring), Agree(&ring, &split)), 0, "{ring}");
        }
    }
}
