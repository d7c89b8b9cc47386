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
        let pairs = (n / vectors.pair()).ilog2() as usize;
        let end = if pairs + 1 < layers { pairs } else { layers };
        let mut l = layer;
        while l < end {
            // an odd one comes first, where it works on long halves
            let quarters = vectors.take_quarters() && (end - l) % 2 == 0;
            let next = l + if quarters { 2 } else { 1 };
            let step = if next < layers { Step::Forward } else { Step::ForwardLast };
            if quarters {
                vectors.quarters(step, n >> next, words, [factors(l), factors(l + 1)]);
            } else {
                vectors.nodes(step, n >> next, words, factors(l));
            }
            l = next;
        }
        if l < layers {
            vectors.within(Step::ForwardLast, words, (l..layers).map(factors));
        }
    }

    /// From leaves up to consecutive nodes above `layer`, which is not the first layer. in, out: relaxed, as vectors have it
    pub(super) fn inverse_in_vectors(&self, layer: usize, first: usize, words: &mut [F::Word], vectors: Vectors) {
        let (layers, n) = (self.split.layers.len(), self.split.n);
        let factors = |l: usize| &self.table[self.layout.inverse[l] + (first << (l - layer))..];
        let mut l = layers.min((2 * n / vectors.pair()).ilog2() as usize);
        if l < layers {
            vectors.within(Step::Inverse, words, (l..layers).map(factors));
        }
        while l > layer {
            if l > layer + 1 && vectors.take_quarters() {
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
    use crypto_bigint::U256;

    use crate::arithmetic::{Arithmetic, dispatch};
    use crate::field::{Field, Store, Visit};
    use crate::kernels::tree::{Origin, Tree};
    use crate::modulus::Modulus;
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

    /// Both ways with these vectors and with none, from words at the edges and from any, below q or twice q. Says how many fit.
    struct Agree<'a> {
        ring: &'a Ring,
        split: &'a Split,
        kinds: Vec<Vectors>,
        is_lazy: bool,
    }

    impl Visit for Agree<'_> {
        type Out = usize;

        fn visit<F: Field, S: Store<F::Word>>(self) -> usize {
            let Self { ring, split, kinds, is_lazy } = self;
            let q = ring.basis()[0];
            let layout = &Layout::of(split, split.layers.len());
            let table = factors_of::<F>(split, 0);
            let tree =
                Tree { field: F::new(&q), split, layout, header: header_of(&table), table: table.as_slice().into() };
            let fill = |word: &dyn Fn(u64) -> U256| -> Vec<F::Word> {
                let bytes = |i| word(i).to_le_bytes().as_ref()[..size_of::<F::Word>()].to_vec();
                (0..split.n as u64).map(|i| bytemuck::pod_read_unaligned(&bytes(i))).collect()
            };
            let bounds = if is_lazy { vec![q.value(), q.value().shl_vartime(1)] } else { vec![q.value()] };
            let largest = |bound: &U256| bound.wrapping_sub(&U256::ONE);
            let spread = |i: u64| {
                let words = [1, 2, 3, 4].map(|j| (4 * i + j).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                U256::from_le_slice(bytemuck::cast_slice(&words))
            };
            let rows = bounds.iter().flat_map(|bound| {
                let divisor = bound.to_nz().expect("not zero");
                [
                    fill(&|_| largest(bound)),
                    fill(&|i| if i & 1 == 1 { largest(bound) } else { U256::ZERO }),
                    fill(&|i| if i >> 3 & 1 == 1 { largest(bound) } else { U256::ZERO }),
                    fill(&|i| spread(i).rem_vartime(&divisor)),
                ]
            });
            let same = |a: Vec<F::Word>, b: Vec<F::Word>| {
                bytemuck::cast_slice::<_, u8>(&a) == bytemuck::cast_slice::<_, u8>(&b)
            };
            let kinds: Vec<Vectors> = kinds.into_iter().filter(|vectors| tree.fits(vectors)).collect();
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

    fn kinds_that_agree(ring: &Ring, split: &Split) -> usize {
        let (q, arithmetic) = (ring.basis()[0].value(), Arithmetic::of(ring));
        let mut words = [0; 4];
        bytemuck::cast_slice_mut(&mut words).copy_from_slice(q.to_le_bytes().as_ref());
        let (kinds, is_lazy) = match arithmetic {
            Arithmetic::Mod31 | Arithmetic::Mod32 => {
                let q = words[0].try_into().expect("32 bits");
                (Vectors::of_32_bits(q).collect(), arithmetic == Arithmetic::Mod32)
            }
            Arithmetic::Mod64 => (Vectors::of_64_bits(words[0]).collect(), true),
            _ => (Vectors::of_256_bits(words).collect(), false),
        };
        dispatch(ring, arithmetic, Agree { ring, split, kinds, is_lazy })
    }

    #[test]
    fn every_kind_of_vectors_gives_the_words_of_plain_code() {
        for bits in [25, 30, 31, 33, 50, 51, 60, 61, 62] {
            for log in [3, 4, 5, 8, 12, 15] {
                let n = 1 << log;
                let ring = Ring::negacyclic(n, prime(bits, 2 * n as u64)).expect("a ring");
                for dropped in 0..4 {
                    let split = Split::of(&ring, Some(log - dropped)).expect("a split");
                    let kinds = kinds_that_agree(&ring, &split);
                    #[cfg(target_arch = "x86_64")]
                    assert!(kinds > 0 || n < 32 || !is_x86_feature_detected!("avx2"), "{ring}");
                    #[cfg(not(target_arch = "x86_64"))]
                    assert_eq!(kinds, 0);
                }
            }
        }
    }

    /// The largest prime below 2^bits − 2^less that is 1 modulo 2^20, the smallest above 2^250, and those of curves.
    #[test]
    fn words_of_256_bits_in_limbs_are_those_of_plain_code() {
        let step = U256::ONE.shl_vartime(20);
        let prime_from = |start: U256, down: bool| {
            let first = start.shr_vartime(20).shl_vartime(20).wrapping_add(&U256::ONE);
            let next = |q: &U256| Some(if down { q.wrapping_sub(&step) } else { q.wrapping_add(&step) });
            let mut all = core::iter::successors(Some(first), next).filter_map(|q| Modulus::new(q).ok());
            all.find(Modulus::is_prime).expect("a prime")
        };
        let power = |e: u32| U256::ONE.shl_vartime(e);
        let most = power(255).wrapping_sub(&power(243)).wrapping_sub(&step);
        let known = |q: &str| Modulus::new(U256::from_be_hex(q)).expect("a modulus");
        let served = [
            prime_from(most, true),
            prime_from(power(250), false),
            known("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"),
            known("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001"),
        ];
        let others = [prime_from(power(255), true), prime_from(power(249), true), prime_from(U256::MAX, true)];
        for (q, is_served) in served.into_iter().map(|q| (q, true)).chain(others.into_iter().map(|q| (q, false))) {
            for log in [3, 4, 5, 6, 9, 12] {
                let ring = Ring::negacyclic(1 << log, q).expect("a ring");
                for dropped in 0..4 {
                    let split = Split::of(&ring, Some(log - dropped)).expect("a split");
                    let kinds = kinds_that_agree(&ring, &split);
                    assert!(kinds == 0 || is_served, "{ring}");
                    #[cfg(target_arch = "x86_64")]
                    if is_x86_feature_detected!("avx512ifma") && is_x86_feature_detected!("avx512vbmi2") {
                        assert_eq!(kinds > 0, is_served && log > 3, "{ring}");
                    }
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
            assert_eq!(kinds_that_agree(&ring, &split), 0, "{ring}");
        }
    }
}
