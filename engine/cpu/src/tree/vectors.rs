//! Transforms of nodes that fit the nearest cache, in SIMD vectors. Only for residue polynomials of 2^k words whose
//! layers all have radix 2.

use super::Tree;
use crate::field::Field;
use crate::shape::{Layer, Shape};
use crate::simd::{Step, Vectors};

impl<F: Field> Tree<'_, F> {
    /// Returns the fastest kind of vectors that supports this tree, if there is one.
    pub(super) fn vectors(&self) -> Option<Vectors> {
        self.field.vectors().filter(|vectors| self.fits(vectors))
    }

    fn fits(&self, vectors: &Vectors) -> bool {
        let Shape { n, layers, .. } = self.shape;
        let all_twos = !layers.is_empty() && layers.iter().all(|&layer| layer == Layer::Two);
        all_twos && n.is_power_of_two() && vectors.fit(n)
    }

    /// Forward transform in vectors, from consecutive nodes above `layer` down to their leaves. `first` is the index of
    /// the first node.
    ///
    /// in: loose, as defined in [`Step`]   out: below q
    pub(super) fn forward_in_vectors(&self, layer: usize, first: usize, words: &mut [F::Word], vectors: Vectors) {
        let (layers, n) = (self.shape.layers.len(), self.shape.n);
        let factors = |l: usize| &self.table[self.layout.forward[l] + (first << (l - layer))..];
        let pairs = (n.ilog2() - vectors.pair().ilog2()) as usize;
        let end = if pairs + 1 < layers { pairs } else { layers };
        let mut l = layer;
        while l < end {
            // If the number of remaining layers is odd, the first one has a separate pass, because its halves are the
            // longest.
            let quarters = vectors.take_quarters() && (end - l).is_multiple_of(2);
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

    /// Inverse transform in vectors, from leaves up to consecutive nodes above `layer`. `first` is the index of the
    /// first node; `layer` must not be 0.
    ///
    /// in, out: relaxed, as defined in [`Step`]
    pub(super) fn inverse_in_vectors(&self, layer: usize, first: usize, words: &mut [F::Word], vectors: Vectors) {
        let (layers, n) = (self.shape.layers.len(), self.shape.n);
        let factors = |l: usize| &self.table[self.layout.inverse[l] + (first << (l - layer))..];
        let mut l = layers.min((n.ilog2() + 1 - vectors.pair().ilog2()) as usize);
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
    use num_bigint::BigUint;

    use crate::Limbs;
    use crate::field::{Field, Mod31, Mod32, Mod64, Mod256, word};
    use crate::fill::factors;
    use crate::layout::{Layout, header_of};
    use crate::shape::{Layer, Shape};
    use crate::simd::Vectors;
    use crate::testing::{from, is_prime, modulus, negacyclic, of};
    use crate::tree::{Origin, Tree};

    /// Returns the first prime that is 1 modulo `step`, searching upwards or downwards from about `from`.
    fn prime(from: BigUint, step: &BigUint, down: bool) -> BigUint {
        let first = from / step * step + 1u32;
        let next = |q: &BigUint| Some(if down { q - step } else { q + step });
        core::iter::successors(Some(first), next).find(is_prime).expect("a prime")
    }

    /// Checks that transforms with each of these kinds of vectors give the same result as scalar code, in both
    /// directions. Inputs are extreme values and pseudorandom values below k·q, for k from 1 to `most`. Returns how
    /// many kinds support the tree.
    fn agree<F: Field>(q: &BigUint, kinds: Vec<Vectors>, most: u32, [log, layers]: [usize; 2], form: u32) -> usize {
        let layers = vec![Layer::Two; layers];
        let shape = Shape { n: 1 << log, base: 1 << (log - layers.len()), layers: &layers };
        let (modulus, roots) = (modulus(q, form), negacyclic(q, layers.len(), form));
        let layout = &Layout::of(shape, layers.len());
        let table = factors::<F>(&modulus, &roots, shape, layout);
        let tree =
            Tree { field: F::new(&of(q)), shape, layout, header: header_of(&table), table: table.as_slice().into() };
        let fill =
            |x: &dyn Fn(u64) -> BigUint| -> Vec<F::Word> { (0..shape.n as u64).map(|i| word(&of(&x(i)))).collect() };
        let spread = |i: u64| from(&[1, 2, 3, 4].map(|j| (4 * i + j).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let rows = (1..=most).flat_map(|times| {
            let bound = q * times;
            let largest = |is: bool| if is { &bound - 1u32 } else { BigUint::ZERO };
            [
                fill(&|_| largest(true)),
                fill(&|i| largest(i & 1 == 1)),
                fill(&|i| largest(i >> 3 & 1 == 1)),
                fill(&|i| spread(i) % &bound),
            ]
        });
        let same =
            |a: Vec<F::Word>, b: Vec<F::Word>| bytemuck::cast_slice::<_, u8>(&a) == bytemuck::cast_slice::<_, u8>(&b);
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
                assert!(same(forward(Some(kind)), forward(None)), "{q} {shape:?} kind {number}");
                for origin in [Origin::Values, Origin::Products] {
                    let (found, wanted) = (inverse(origin, Some(kind)), inverse(origin, None));
                    assert!(same(found, wanted), "{q} {shape:?} kind {number} {origin:?}");
                }
            }
        }
        kinds.len()
    }

    fn kinds_that_agree(q: &BigUint, shape: [usize; 2]) -> usize {
        let limbs: Limbs = of(q);
        match q.bits() {
            ..=30 => agree::<Mod32>(q, Vectors::of_32_bits(limbs[0] as u32).collect(), 2, shape, 0),
            31 => agree::<Mod31>(q, Vectors::of_32_bits(limbs[0] as u32).collect(), 1, shape, 0),
            32..=62 => agree::<Mod64>(q, Vectors::of_64_bits(limbs[0]).collect(), 2, shape, 0),
            _ => agree::<Mod256<false>>(q, Vectors::of_256_bits(limbs).collect(), 1, shape, 256),
        }
    }

    #[test]
    fn every_kind_of_vectors_matches_scalar_code() {
        for bits in [25, 30, 31, 33, 50, 51, 60, 61, 62] {
            for log in [3, 4, 5, 8, 12, 15] {
                let order = BigUint::from(2u32) << log;
                let q = prime((BigUint::from(1u32) << bits) - 1u32 - &order, &order, true);
                for dropped in 0..4 {
                    let kinds = kinds_that_agree(&q, [log, log - dropped]);
                    #[cfg(target_arch = "x86_64")]
                    assert!(kinds > 0 || log < 5 || !is_x86_feature_detected!("avx2"), "{q} {log}");
                    #[cfg(not(target_arch = "x86_64"))]
                    assert_eq!(kinds, 0);
                }
            }
        }
    }

    /// Checks 256-bit vectors modulo the largest and smallest supported primes that are 1 modulo 2^20, and modulo
    /// scalar-field primes of two curves. Also checks that moduli outside the range have no vectors.
    #[test]
    fn vectors_of_256_bit_words_match_scalar_code() {
        let power = |e: u32| BigUint::from(1u32) << e;
        let known = |q: &str| BigUint::parse_bytes(q.as_bytes(), 16).expect("a number");
        let from = |start: BigUint, down| prime(start, &power(20), down);
        let served = [
            from(power(255) - power(243) - power(20), true),
            from(power(250), false),
            known("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"),
            known("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001"),
        ];
        let others = [from(power(255), true), from(power(249), true), from(power(256) - power(20), true)];
        for (q, is_served) in served.into_iter().map(|q| (q, true)).chain(others.into_iter().map(|q| (q, false))) {
            for log in [3, 4, 5, 6, 9, 12] {
                for dropped in 0..4 {
                    let kinds = kinds_that_agree(&q, [log, log - dropped]);
                    assert!(kinds == 0 || is_served, "{q}");
                    #[cfg(target_arch = "x86_64")]
                    if is_x86_feature_detected!("avx512ifma") && is_x86_feature_detected!("avx512vbmi2") {
                        assert_eq!(kinds > 0, is_served && log > 3, "{q}");
                    }
                }
            }
        }
    }

    #[test]
    fn other_trees_have_no_vectors() {
        let q: BigUint = prime(BigUint::from(1u32) << 60, &(9u32 << 10).into(), true);
        let (modulus, roots) = (modulus(&q, 0), negacyclic(&q, 4, 0));
        for (n, base, layers) in [
            (96, 1, [vec![Layer::Two; 5], vec![Layer::Three]].concat()),
            (96, 1, [vec![Layer::Sixth], vec![Layer::Two; 4], vec![Layer::Three]].concat()),
            (4, 1, vec![Layer::Two; 2]),
            (80, 5, vec![Layer::Two; 4]),
        ] {
            let shape = Shape { n, base, layers: &layers };
            let layout = &Layout::of(shape, layers.len());
            let table = factors::<Mod64>(&modulus, &roots, shape, layout);
            let field = Mod64::new(&of(&q));
            let tree = Tree { field, shape, layout, header: header_of(&table), table: table.into() };
            assert!(tree.vectors().is_none(), "{shape:?}");
        }
    }
}
