//! Arithmetic modulo any q of up to 256 bits, including even and composite q: constants and CPU reference of
//! `divisor256.cuh`.

use crypto_bigint::{NonZero, U256, U768};
use ringforge_cpu::{Limbs, add_mod, sub_limbs_once, sub_mod};

use ringforge_math::modulus::{Modulus, limbs, low_u64};

/// Number of digits into which [`Divisor256::mul`] splits an operand, and bits per digit.
const PARTS: usize = 5;
const PART_BITS: u32 = 52;

/// A known factor c, as c·2^(52 i) mod q for each index i of a 52-bit digit of the other operand.
pub(super) type Factor = [Limbs; PARTS];

/// A modulus q of up to 256 bits, with the constants for Barrett reduction of small multiples of residues.
#[derive(Debug, Clone, Copy)]
pub(super) struct Divisor256 {
    pub(super) q: Limbs,
    pub(super) bits: u32,
    /// floor(2^(63 + bits) / q), at most 2^64 − 1.
    pub(super) ratio: u64,
}

impl Divisor256 {
    pub(super) fn new(q: &Modulus) -> Self {
        let power = U768::ONE.wrapping_shl_vartime(63 + q.bits());
        let ratio = NonZero::new(q.value()).into_option().map(|q| power.div_rem_vartime(&q).0);
        let ratio = ratio.filter(|ratio| ratio.bits_vartime() <= 64).map_or(u64::MAX, |ratio| low_u64(&ratio.resize()));
        Self { q: limbs(&q.value()), bits: q.bits(), ratio }
    }

    pub(super) fn factor(q: &Modulus, c: &U256) -> Factor {
        let two = q.reduce(&U256::from(2u32));
        core::array::from_fn(|i| limbs(&q.mul(c, &q.pow(&two, &U256::from(PART_BITS * i as u32)))))
    }

    /// acc + digit·a mod q, for acc, a < q and a digit below 2^62.
    pub(super) fn mad(&self, acc: &Limbs, digit: u64, a: &Limbs) -> Limbs {
        let mut x = [acc[0], acc[1], acc[2], acc[3], 0];
        x[4] = add_multiple(&mut x, digit, a);
        // x < 2^62 q, so the estimated quotient is exact or one too small
        let quotient = ((u128::from(bits_from(&x, self.bits - 2)) * u128::from(self.ratio)) >> 65) as u64;
        let mut multiple = [0; 5];
        multiple[4] = add_multiple(&mut multiple, quotient, &self.q);
        let mut borrow = false;
        for (x, multiple) in x.iter_mut().zip(multiple) {
            (*x, borrow) = x.borrowing_sub(multiple, borrow);
        }
        sub_limbs_once([x[0], x[1], x[2], x[3]], x[4] != 0, &self.q)
    }

    /// a + b mod q, for a, b < q.
    pub(super) fn add(&self, a: &Limbs, b: &Limbs) -> Limbs {
        add_mod(*a, *b, &self.q)
    }

    /// The words of q, then the ratio.
    pub(super) fn words(&self) -> Vec<u64> {
        [&self.q[..], &[self.ratio]].concat()
    }

    /// a·c mod q, for any 256-bit number a, which is split into five digits of 52 bits.
    pub(super) fn mul(&self, a: &Limbs, c: &Factor) -> Limbs {
        let digit = |i: usize| bits_from(a, PART_BITS * i as u32) & ((1 << PART_BITS) - 1);
        c.iter().enumerate().fold([0; 4], |sum, (i, part)| self.mad(&sum, digit(i), part))
    }

    /// −a mod q, for a < q.
    pub(super) fn negate(&self, a: &Limbs) -> Limbs {
        sub_mod([0; 4], *a, &self.q)
    }

    pub(super) fn initializer(&self) -> String {
        format!("{}{{{{{}}}, {}ull}}", self.type_name(), words(&self.q), self.ratio)
    }

    pub(super) fn type_name(&self) -> String {
        format!("rf::Divisor256<{}>", self.bits)
    }
}

/// A residue as a C++ literal.
pub(super) fn literal(x: &Limbs) -> String {
    format!("rf::u256{{{{{}}}}}", words(x))
}

fn words(x: &Limbs) -> String {
    let halves = x.iter().flat_map(|limb| [*limb as u32, (limb >> 32) as u32]);
    halves.map(|half| format!("{half}u")).collect::<Vec<_>>().join(", ")
}

/// Adds digit·a to the lower four limbs of x. Returns the carry, to be added to the limb above them.
fn add_multiple(x: &mut [u64; 5], digit: u64, a: &Limbs) -> u64 {
    let mut carry = 0;
    for (x, a) in x.iter_mut().zip(a) {
        (*x, carry) = digit.carrying_mul_add(*a, *x, carry);
    }
    carry
}

/// The 64 bits of x from bit `bit` on. Bits beyond the end of x count as zero.
pub(super) fn bits_from(x: &[u64], bit: u32) -> u64 {
    let (at, by) = (bit as usize / 64, bit % 64);
    let limb = |i: usize| x.get(i).copied().unwrap_or(0);
    limb(at) >> by | limb(at + 1) << 1 << (63 - by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_are_exact() {
        let moduli = ["2", "3", "10001", "10000000000000000", "1000000000000000d", "fffffffffffffffffffffffffffffffe"];
        let wide = ["8", "f"]
            .map(|digit| format!("{digit:f<64}"))
            .into_iter()
            .chain([format!("8{:0>63}", 0), format!("8{:0>63}", 1)]);
        for q in moduli.map(String::from).into_iter().chain(wide) {
            let q = Modulus::from_hex(&q).unwrap();
            let divisor = Divisor256::new(&q);
            let edges = [U256::ZERO, q.reduce(&U256::ONE), q.value().shr_vartime(1), q.reduce_i64(-1)];
            for a in edges {
                assert_eq!(divisor.negate(&limbs(&a)), limbs(&q.neg(&a)), "-{a} mod {q}");
                for b in edges {
                    assert_eq!(divisor.add(&limbs(&a), &limbs(&b)), limbs(&q.add(&a, &b)), "{a} + {b} mod {q}");
                    assert_eq!(
                        divisor.mul(&limbs(&a), &Divisor256::factor(&q, &b)),
                        limbs(&q.mul(&a, &b)),
                        "{a} {b} mod {q}"
                    );
                    for digit in [0, 1, 1 << 61, (1 << 62) - 1] {
                        let wanted = q.add(&a, &q.mul(&q.reduce(&U256::from(digit)), &b));
                        assert_eq!(
                            divisor.mad(&limbs(&a), digit, &limbs(&b)),
                            limbs(&wanted),
                            "{a} + {digit} {b} mod {q}"
                        );
                    }
                }
            }
        }
    }
}
