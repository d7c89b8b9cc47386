//! What arithmetic of transforms is on the CPU: the same residues, factors and ranges as in the CUDA headers `mod*.cuh`.

use bytemuck::Pod;
use crypto_bigint::U256;

use crate::modulus::Modulus;
use crate::simd::Vectors;

/// Arithmetic modulo one q.
///
/// Ranges are named: *canonical* is below q, *relaxed* below 2q, *loose* below 4q. Strict arithmetic keeps every residue
/// canonical. A wide product lacks the factor F = [`Arithmetic::product_factor`](crate::arithmetic::Arithmetic::product_factor) of the ring.
///
/// Words come from callers' memory as they are: out of range, they give words of no meaning, and nothing else. So sums wrap.
/// Where a ring accepts any word, [`Field::reduce_any`] stands before all else.
pub(crate) trait Field: Copy + Send + Sync + 'static {
    /// A residue in a register.
    type Word: Store<Self::Word>;
    /// A known factor: the same bytes as the device's.
    type Twiddle: Pod + Send + Sync;
    /// A sum of products.
    type Wide: Copy;

    fn new(q: &Modulus) -> Self;
    /// A plain value below q as a canonical word that makes a factor (in Montgomery form for 256 bits).
    fn word(&self, q: &Modulus, x: &U256) -> Self::Word;
    /// A canonical word as a factor.
    fn twiddle(&self, w: Self::Word) -> Self::Twiddle;

    /// in: any x (of 256 bits, canonical)   out: x w, relaxed
    fn mul(&self, x: Self::Word, w: &Self::Twiddle) -> Self::Word;
    /// in: any x, the factor 1   out: x, canonical
    #[inline(always)]
    fn reduce_any(&self, x: Self::Word, one: &Self::Twiddle) -> Self::Word {
        self.canonical(self.mul(x, one))
    }
    /// in: relaxed   out: loose
    fn add(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// in: relaxed   out: loose
    fn sub(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// in: loose   out: relaxed   (strict arithmetic has nothing to do)
    #[inline(always)]
    fn relax(&self, x: Self::Word) -> Self::Word {
        x
    }
    /// in: loose   out: canonical   (strict arithmetic has nothing to do)
    #[inline(always)]
    fn canonical(&self, x: Self::Word) -> Self::Word {
        x
    }

    fn wide_zero(&self) -> Self::Wide;
    /// in: canonical a and b, a sum of at most seven products   out: acc + a b
    fn wide_mad(&self, acc: Self::Wide, a: Self::Word, b: Self::Word) -> Self::Wide;
    /// in: a sum of at most eight products   out: acc / F, relaxed
    fn wide_reduce(&self, acc: Self::Wide) -> Self::Word;

    /// The fastest vectors of words that this CPU has for steps by radix 2, if any.
    fn vectors(&self) -> Option<Vectors> {
        None
    }
}

/// How a word lies in memory.
pub(crate) trait Store<W>: Pod + Send + Sync {
    fn load(self) -> W;
    /// in: canonical
    fn store(word: W) -> Self;
}

macro_rules! stores {
    ($($store:ty => $word:ty),*) => {$(
        impl Store<$word> for $store {
            #[inline(always)]
            fn load(self) -> $word {
                self.into()
            }
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)] // a canonical word is below a q that fits its storage
            fn store(word: $word) -> Self {
                word as $store
            }
        }
    )*};
}
stores!(u16 => u32, u32 => u32, u32 => u64, u64 => u64, [u64; 4] => [u64; 4]);

/// Code that is generic over arithmetic and storage.
pub(crate) trait Visit {
    type Out;
    fn visit<F: Field, S: Store<F::Word>>(self) -> Self::Out;
}

/// x^e for a canonical x, canonical.
pub(crate) fn power<F: Field>(field: &F, one: F::Word, x: F::Word, e: u64) -> F::Word {
    let factor = field.twiddle(x);
    (0..64 - e.leading_zeros()).rev().fold(one, |power, bit| {
        // a power's own factor is needed once only, so the square is made through it
        let square = field.canonical(field.mul(power, &field.twiddle(power)));
        if e >> bit & 1 == 1 { field.canonical(field.mul(square, &factor)) } else { square }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{Arithmetic, dispatch};
    use crate::ring::Ring;

    /// Every function at the edges of its range, compared with set-up arithmetic.
    struct Edges<'a>(&'a Ring, Arithmetic);

    impl Visit for Edges<'_> {
        type Out = ();

        fn visit<F: Field, S: Store<F::Word>>(self) {
            let Self(ring, arithmetic) = self;
            let q = &ring.basis()[0];
            let field = F::new(q);
            let plain = |word: F::Word| {
                let mut bytes = bytemuck::bytes_of(&S::store(field.canonical(word))).to_vec();
                bytes.resize(32, 0);
                let value = U256::from_le_slice(&bytes);
                if arithmetic.is_montgomery() { q.from_montgomery(&value).expect("q is odd") } else { value }
            };
            let one = field.twiddle(field.word(q, &q.reduce(&U256::ONE)));
            let largest = U256::MAX.shr_vartime(256 - 8 * size_of::<S>() as u32);
            let multiples = [q.value(), q.value().wrapping_add(&q.value())].into_iter();
            let multiples = multiples.flat_map(|x| [x.wrapping_sub(&U256::ONE), x, x.wrapping_add(&U256::ONE)]);
            for x in multiples.chain([U256::ZERO, largest, largest.shr_vartime(1)]).filter(|x| *x <= largest) {
                let bytes = &x.to_le_bytes()[..size_of::<S>()];
                let word = bytemuck::pod_read_unaligned::<S>(bytes).load();
                let reduced = S::store(field.reduce_any(word, &one));
                let wanted = &q.reduce(&x).to_le_bytes()[..size_of::<S>()];
                assert_eq!(bytemuck::bytes_of(&reduced), wanted, "{x} modulo {q}");
            }
            let zero = U256::ZERO;
            let edges = [zero, q.reduce(&U256::ONE), q.reduce(&q.value().shr_vartime(1)), q.neg(&q.reduce(&U256::ONE))];
            let factor_inverse = q.inverse(&arithmetic.product_factor(ring, q)).expect("a unit");
            for a in edges {
                let x = field.word(q, &a);
                assert_eq!(plain(x), a);
                for b in edges {
                    let y = field.word(q, &b);
                    // loose: up to 4q − 2 in lazy arithmetic
                    let loose = field.add(field.relax(field.add(x, y)), field.relax(field.add(x, y)));
                    let sum = q.add(&a, &b);
                    assert_eq!(plain(loose), q.add(&sum, &sum), "{q}");
                    assert_eq!(plain(field.relax(loose)), q.add(&sum, &sum), "{q}");
                    assert_eq!(plain(field.sub(x, field.relax(loose))), q.sub(&a, &q.add(&sum, &sum)), "{q}");
                    let product = field.mul(loose, &field.twiddle(y));
                    assert_eq!(plain(product), q.mul(&q.add(&sum, &sum), &b), "{q}");
                    let mut wide = field.wide_zero();
                    let mut wanted = U256::ZERO;
                    for _ in 0..8 {
                        wide = field.wide_mad(wide, x, y);
                        wanted = q.add(&wanted, &q.mul(&q.mul(&a, &b), &factor_inverse));
                        assert_eq!(plain(field.wide_reduce(wide)), wanted, "{q}");
                    }
                }
                let one = field.word(q, &q.reduce(&U256::ONE));
                assert_eq!(plain(power(&field, one, x, 11)), q.pow(&a, &U256::from(11u32)));
            }
        }
    }

    #[test]
    fn every_arithmetic_holds_at_its_edges() {
        let below = |bits: u32, less: u64| U256::MAX.shr_vartime(256 - bits).wrapping_sub(&U256::from(less));
        let small = [2u64, 3, 17, 3329, 16383, 16385, 65535, 65521].map(U256::from);
        // the largest odd numbers of these bits, prime or not
        let large = [17, 30, 31, 32, 33, 49, 50, 61, 62, 63, 64, 65, 254, 255, 256].map(|bits| below(bits, 0));
        let of_forms = [below(255, 1 << 40), below(256, 188), U256::from(0xffff_ffff_0000_0001u64)];
        for q in small.into_iter().chain(large).chain(of_forms) {
            let q = Modulus::new(q).expect("a modulus");
            let ring = Ring::cyclic(1, q).expect("a ring");
            let arithmetic = Arithmetic::of(&ring);
            dispatch(&ring, arithmetic, Edges(&ring, arithmetic));
        }
    }
}
