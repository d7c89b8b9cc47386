//! SIMD vectors of eight 256-bit residues, each in five 52-bit limbs: AVX-512 with 52-bit products (IFMA).
//!
//! Words are in Montgomery form with R = 2^256, and a twiddle factor w is stored as w·R mod q. Montgomery
//! multiplication of 52-bit limbs divides by 2^260. So a twiddle factor is first multiplied by 16, to 16·w·R mod q,
//! below 2q. Its product with x < 8q is then below x·2q / 2^260 + q < 3q/2.
//!
//! Reducing a sum compares only its top limb. So *relaxed* means below 2q + e, where e starts as 2^212. Inverse
//! transforms add relaxed residues and relax the sum again, so each layer at most doubles e. After 31 layers e is
//! 2^243, and relaxed residues are still below 2^256. *Loose* means below 6q + e, with limbs that may be negative.

use core::arch::x86_64::*;

use super::vectors::{Lanes, Modulus, VectorKind, by_nodes, zipped};
use super::zmm::{self, order};

/// Number of 52-bit limbs of a residue.
const LIMBS: usize = 5;

/// Bits per limb.
const BITS: u32 = 52;

/// Mask of the bits of a limb.
const MASK: u64 = (1 << BITS) - 1;

/// Permutation of two registers of words. For four residues of four 64-bit words each, it collects words 0 and 1 of
/// every residue. It is also part of the inverse: on registers sorted by word, it collects the first two residues.
const FIRST: [u64; 8] = [0, 4, 8, 12, 1, 5, 9, 13];

/// Like [`FIRST`], but collects words 2 and 3, or the last two residues.
const SECOND: [u64; 8] = [2, 6, 10, 14, 3, 7, 11, 15];

/// Eight residues, one per lane. Register i holds limb i of every residue.
type Vector = [__m512i; LIMBS];

/// The kind of vectors of eight 256-bit residues. A value exists only if the CPU has the AVX-512 instructions used
/// here.
#[derive(Clone, Copy)]
struct Limbs(());

/// Returns the kind of vectors for an odd q if 2^250 < q < 2^255 − 2^243 and the CPU has the instructions; else none.
pub(super) fn kinds(q: &Modulus) -> impl Iterator<Item = &'static dyn VectorKind> + use<> {
    let has_all = detected!("avx512f", "avx512dq", "avx512ifma", "avx512vbmi2");
    let serves = (1 << 58..0xfff << 51).contains(&q[3]);
    (has_all && serves).then_some(&Limbs(()) as &dyn VectorKind).into_iter()
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi2")]
fn with_limbs(run: impl FnOnce()) {
    run();
}

/// Constants derived from q, broadcast to all lanes.
#[derive(Clone, Copy)]
struct Multiples {
    q: Vector,
    twice: Vector,
    four_times: Vector,
    /// −q^-1 mod 2^52
    inverse: __m512i,
    /// Threshold for the top limb of a sum: if the top limb exceeds it, the sum is above 2q, for any lower limbs.
    most: __m512i,
    /// Slightly less than 2^208 / q, to estimate quotients from the top limb.
    reciprocal: __m512d,
}

/// Returns the 52-bit limbs of x·2^SHIFT, which must have at most 260 bits.
#[inline(always)]
fn split<const SHIFT: u32>(x: &Modulus) -> [u64; LIMBS] {
    let [a, b, c, d] = *x;
    let across = |low: u64, high: u64, bits: u32| (low >> (bits - SHIFT) | high << (64 + SHIFT - bits)) & MASK;
    [(a << SHIFT) & MASK, across(a, b, 52), across(b, c, 40), across(c, d, 28), d >> (16 - SHIFT)]
}

/// Returns slightly less than 1/x, by Newton iteration from an estimate with a relative error below 0.1. Division
/// instructions are not constant-time, so they are avoided on values that may be secret.
#[inline(always)]
#[allow(clippy::cast_precision_loss)] // 47 bits
fn reciprocal(x: u64) -> f64 {
    let x = x as f64;
    let mut y = f64::from_bits(0x7fde_6238_22fc_16e6 - x.to_bits());
    for _ in 0..5 {
        y *= 2.0 - x * y;
    }
    y * (1.0 - 1024.0 * f64::EPSILON)
}

impl Limbs {
    #[inline(always)]
    fn splat(self, x: u64) -> __m512i {
        has!(_mm512_set1_epi64(x.cast_signed()))
    }

    #[inline(always)]
    fn pick(self, pair: [__m512i; 2], places: &[u64; 8]) -> __m512i {
        has!(zmm::pick(pair, places))
    }

    /// Applies two permutations to the lanes of a pair of vectors. Each permutation lists the positions among the 16
    /// lanes of both vectors from which one result is taken.
    #[inline(always)]
    fn pick_limbs(self, [a, b]: [Vector; 2], [left, right]: [[u64; 8]; 2]) -> [Vector; 2] {
        let mut picked = [a, b];
        for i in 0..LIMBS {
            picked[0][i] = self.pick([a[i], b[i]], &left);
            picked[1][i] = self.pick([a[i], b[i]], &right);
        }
        picked
    }

    /// Propagates carries.
    ///
    /// in: limbs of either sign whose sum is not negative   out: the same sum with limbs in [0, 2^52), except for the
    /// top limb
    #[inline(always)]
    fn carry(self, mut x: Vector) -> Vector {
        let mask = self.splat(MASK);
        for i in 1..LIMBS {
            has!({
                x[i] = _mm512_add_epi64(x[i], _mm512_srai_epi64::<BITS>(x[i - 1]));
                x[i - 1] = _mm512_and_si512(x[i - 1], mask);
            });
        }
        x
    }

    /// Returns x − m, or x if the difference is negative. in, out: limbs of 52 bits
    #[inline(always)]
    fn reduce(self, x: Vector, m: &Vector) -> Vector {
        let mut less = x;
        for i in 0..LIMBS {
            less[i] = has!(_mm512_sub_epi64(x[i], m[i]));
        }
        let mut less = self.carry(less);
        let negative = has!(_mm512_movepi64_mask(less[LIMBS - 1]));
        for i in 0..LIMBS {
            less[i] = has!(_mm512_mask_blend_epi64(negative, less[i], x[i]));
        }
        less
    }

    /// Returns two registers: the lower halves of x and y, and the upper halves of x and y.
    #[inline(always)]
    fn quarters(self, [x, y]: [__m512i; 2]) -> [__m512i; 2] {
        has!([_mm512_shuffle_i64x2::<0x44>(x, y), _mm512_shuffle_i64x2::<0xee>(x, y)])
    }

    /// Loads eight residues x and returns the limbs of x·2^SHIFT, as [`split`] computes them for one residue.
    #[inline(always)]
    fn limbs<const SHIFT: u32>(self, words: &[[u64; 4]; 8]) -> Vector {
        let registers = words.as_flattened().as_ptr().cast::<__m512i>();
        let [x, y] = has!([
            [_mm512_loadu_si512(registers), _mm512_loadu_si512(registers.add(1))],
            [_mm512_loadu_si512(registers.add(2)), _mm512_loadu_si512(registers.add(3))],
        ]);
        let [a, b] = self.quarters([self.pick(x, &FIRST), self.pick(y, &FIRST)]);
        let [c, d] = self.quarters([self.pick(x, &SECOND), self.pick(y, &SECOND)]);
        let mask = self.splat(MASK);
        has!(match SHIFT {
            0 => [
                _mm512_and_si512(a, mask),
                _mm512_and_si512(_mm512_shrdi_epi64::<52>(a, b), mask),
                _mm512_and_si512(_mm512_shrdi_epi64::<40>(b, c), mask),
                _mm512_and_si512(_mm512_shrdi_epi64::<28>(c, d), mask),
                _mm512_srli_epi64::<16>(d),
            ],
            _ => [
                _mm512_and_si512(_mm512_slli_epi64::<4>(a), mask),
                _mm512_and_si512(_mm512_shrdi_epi64::<48>(a, b), mask),
                _mm512_and_si512(_mm512_shrdi_epi64::<36>(b, c), mask),
                _mm512_and_si512(_mm512_shrdi_epi64::<24>(c, d), mask),
                _mm512_srli_epi64::<12>(d),
            ],
        })
    }

    /// Reduces z, which is 16 times a twiddle factor, to below 2q, with a quotient estimated from the top limb.
    #[inline(always)]
    fn settle(self, z: Vector, q: &Multiples) -> Vector {
        let zero = self.splat(0);
        let times = has!(_mm512_cvttpd_epu64(_mm512_mul_pd(_mm512_cvtepu64_pd(z[LIMBS - 1]), q.reciprocal)));
        let mut carried = zero;
        let mut less = z;
        for i in 0..LIMBS {
            less[i] = has!(_mm512_sub_epi64(z[i], _mm512_madd52lo_epu64(carried, times, q.q[i])));
            carried = has!(_mm512_madd52hi_epu64(zero, times, q.q[i]));
        }
        self.carry(less)
    }
}

impl Lanes for Limbs {
    type Word = [u64; 4];
    type Words = [[u64; 4]; 8];
    type Vector = Vector;
    type Factor = [u64; 4];
    type Factors = Vector;
    type Multiples = Multiples;

    const FAST: bool = true;
    const EAGER: bool = true;
    const SHORT: bool = false;

    #[inline(always)]
    fn enter(self, run: impl FnOnce()) {
        has!(with_limbs(run));
    }

    #[inline(always)]
    fn multiples(self, q: &Modulus) -> Multiples {
        let limbs = split::<0>(q);
        let times = |k: u64| {
            let mut carry = 0;
            let limbs = limbs.map(|limb| {
                let sum = k * limb + carry;
                carry = sum >> BITS;
                sum & MASK
            });
            limbs.map(|limb| self.splat(limb))
        };
        // q^-1 modulo 2^64 by Newton iteration: each step doubles the number of correct bits.
        let inverse = (0..6).fold(1u64, |x, _| x.wrapping_mul(2u64.wrapping_sub(q[0].wrapping_mul(x))));
        let [q, twice, four_times] = [1, 2, 4].map(times);
        let top = limbs[LIMBS - 1];
        // The 5 covers the carry from the lower limbs of 2q, and the borrow from the lower limbs of the sum, each of
        // which is above −3·2^52.
        let most = 2 * top + 5;
        Multiples {
            q,
            twice,
            four_times,
            inverse: self.splat(inverse.wrapping_neg() & MASK),
            most: self.splat(most),
            reciprocal: has!(_mm512_set1_pd(reciprocal(top + 1))),
        }
    }

    #[inline(always)]
    fn load(self, words: &[[u64; 4]; 8]) -> Vector {
        self.limbs::<0>(words)
    }

    #[inline(always)]
    fn store(self, [a, b, c, d, e]: Vector, words: &mut [[u64; 4]; 8]) {
        let [a, b, c, d] = has!([
            _mm512_or_si512(a, _mm512_slli_epi64::<52>(b)),
            _mm512_shldi_epi64::<40>(c, _mm512_slli_epi64::<12>(b)),
            _mm512_shldi_epi64::<28>(d, _mm512_slli_epi64::<12>(c)),
            _mm512_shldi_epi64::<16>(e, _mm512_slli_epi64::<12>(d)),
        ]);
        let ([a, b], [c, d]) = (self.quarters([a, b]), self.quarters([c, d]));
        let registers = words.as_flattened_mut().as_mut_ptr().cast::<__m512i>();
        has!({
            _mm512_storeu_si512(registers, self.pick([a, c], &FIRST));
            _mm512_storeu_si512(registers.add(1), self.pick([a, c], &SECOND));
            _mm512_storeu_si512(registers.add(2), self.pick([b, d], &FIRST));
            _mm512_storeu_si512(registers.add(3), self.pick([b, d], &SECOND));
        });
    }

    #[inline(always)]
    fn add(self, a: Vector, b: Vector) -> Vector {
        let mut sum = a;
        for i in 0..LIMBS {
            sum[i] = has!(_mm512_add_epi64(a[i], b[i]));
        }
        sum
    }

    #[inline(always)]
    fn sub(self, a: Vector, b: Vector, q: &Multiples) -> Vector {
        let mut difference = a;
        for i in 0..LIMBS {
            difference[i] = has!(_mm512_add_epi64(a[i], _mm512_sub_epi64(q.four_times[i], b[i])));
        }
        difference
    }

    #[inline(always)]
    fn relax(self, x: Vector, q: &Multiples) -> Vector {
        let mut x = x;
        for _ in 0..2 {
            let above = has!(_mm512_cmpgt_epi64_mask(x[LIMBS - 1], q.most));
            for (x, twice) in x.iter_mut().zip(&q.twice) {
                *x = has!(_mm512_mask_sub_epi64(*x, above, *x, *twice));
            }
        }
        self.carry(x)
    }

    #[inline(always)]
    fn canonical(self, x: Vector, q: &Multiples) -> Vector {
        self.reduce(self.reduce(x, &q.q), &q.q)
    }

    /// Montgomery multiplication with interleaved reduction: after each limb of x, the intermediate sum is divided by
    /// 2^52.
    #[inline(always)]
    fn mul(self, x: Vector, z: Vector, q: &Multiples) -> Vector {
        let x = self.carry(x);
        let zero = self.splat(0);
        let mut t = [zero; LIMBS];
        for x in x {
            for (t, z) in t.iter_mut().zip(&z) {
                *t = has!(_mm512_madd52lo_epu64(*t, x, *z));
            }
            let m = has!(_mm512_madd52lo_epu64(zero, t[0], q.inverse));
            for (t, q) in t.iter_mut().zip(&q.q) {
                *t = has!(_mm512_madd52lo_epu64(*t, m, *q));
            }
            let carried = has!(_mm512_srli_epi64::<BITS>(t[0]));
            let lower = [has!(_mm512_add_epi64(t[1], carried)), t[2], t[3], t[4], zero];
            for j in 0..LIMBS {
                t[j] = has!(_mm512_madd52hi_epu64(_mm512_madd52hi_epu64(lower[j], x, z[j]), m, q.q[j]));
            }
        }
        self.carry(t)
    }

    #[inline(always)]
    fn factor(self, z: &[u64; 4], q: &Multiples) -> Vector {
        let [a, b, c, d, e] = split::<4>(z);
        self.settle([self.splat(a), self.splat(b), self.splat(c), self.splat(d), self.splat(e)], q)
    }

    #[inline(always)]
    fn unzip<const K: usize>(self, [mut a, mut b]: [Vector; 2]) -> [Vector; 2] {
        for (a, b) in a.iter_mut().zip(&mut b) {
            [*a, *b] = has!(zmm::unzip::<K>([*a, *b]));
        }
        [a, b]
    }

    #[inline(always)]
    fn zip<const K: usize>(self, [mut a, mut b]: [Vector; 2]) -> [Vector; 2] {
        for (a, b) in a.iter_mut().zip(&mut b) {
            [*a, *b] = has!(zmm::zip::<K>([*a, *b]));
        }
        [a, b]
    }

    #[inline(always)]
    fn spread<const K: usize>(self, pair: [Vector; 2]) -> [Vector; 2] {
        self.pick_limbs(pair, const { [by_nodes(order(K), K, 2 * K, 1, 0), by_nodes(order(K), K, 2 * K, 1, K)] })
    }

    #[inline(always)]
    fn gather<const K: usize>(self, halves: [Vector; 2]) -> [Vector; 2] {
        self.pick_limbs(halves, const { [zipped(order(K), K, 0), zipped(order(K), K, 8)] })
    }

    #[inline(always)]
    fn factors<const K: usize>(self, z: &[[u64; 4]], q: &Multiples) -> Vector {
        let mut words = [[0; 4]; 8];
        for (words, node) in words.iter_mut().zip(const { order(K) }) {
            *words = z[node];
        }
        self.settle(self.limbs::<4>(&words), q)
    }
}

#[cfg(test)]
mod tests {
    use super::reciprocal;

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn reciprocals_are_slightly_too_small() {
        for x in (42..48).flat_map(|bits| [1u64 << bits, (1 << bits) + 1, (3 << bits) / 2, (2 << bits) - 1]) {
            let less = 1.0 - reciprocal(x) * x as f64;
            assert!(less > 0.0 && less < 1e-11, "{x}: {less}");
        }
    }
}
