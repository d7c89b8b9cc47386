//! Integers from their residues, and remainders by any modulus of up to 64 bits: constants and CPU twin of `crt.cuh`.

use bytemuck::Pod;
use crypto_bigint::U256;

use crate::error::{Error, Result};
use crate::modulus::{Modulus, Width, low_u64};

/// The most primes of an auxiliary basis.
pub(crate) const MAX_PRIMES: usize = 8;

/// A residue as it is stored.
pub(super) trait Stored: Pod + Send + Sync {
    fn get(self) -> u64;
    /// x, which fits the width.
    fn put(x: u64) -> Self;
}

macro_rules! stored {
    ($($word:ty),*) => {$(
        impl Stored for $word {
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
            fn get(self) -> u64 {
                self as u64
            }
            #[allow(clippy::cast_possible_truncation)]
            fn put(x: u64) -> Self {
                x as Self
            }
        }
    )*};
}
stored!(u16, u32, u64);

/// Gives what an expression says for the type of a width of up to 64 bits; for a kernel that is given none, its error.
macro_rules! with_stored {
    ($kernel:expr, $width:expr, $word:ident => $body:expr) => {
        match $width {
            crate::modulus::Width::W16 => {
                type $word = u16;
                $body
            }
            crate::modulus::Width::W32 => {
                type $word = u32;
                $body
            }
            crate::modulus::Width::W64 => {
                type $word = u64;
                $body
            }
            crate::modulus::Width::W256 => {
                Err(crate::error::Error::Kernel { kernel: $kernel.name().into(), why: "residues of 256 bits".into() })
            }
        }
    };
}
pub(super) use with_stored;

/// The C++ type of a stored residue of up to 64 bits.
pub(super) fn store_type(width: Width) -> &'static str {
    match width {
        Width::W16 => "rf::u16",
        Width::W32 => "rf::u32",
        Width::W64 | Width::W256 => "rf::u64",
    }
}

/// The upper half of a product.
pub(super) fn mul_hi(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// a + b mod q, for a, b < q; of others, some number.
pub(super) fn add_mod(a: u64, b: u64, q: u64) -> u64 {
    let rest = q.wrapping_sub(b);
    if a >= rest { a - rest } else { a.wrapping_add(b) }
}

/// a − b mod q, for a, b < q; of others, some number.
pub(super) fn sub_mod(a: u64, b: u64, q: u64) -> u64 {
    if a >= b { a - b } else { a.wrapping_add(q.wrapping_sub(b)) }
}

/// Remainders of 64-bit values by q ≤ 2^63.
#[derive(Debug, Clone, Copy)]
pub(super) struct Barrett {
    q: u64,
    ratio: u64,
}

impl Barrett {
    pub(super) fn new(q: u64) -> Self {
        Self { q, ratio: ((1u128 << 64) / u128::from(q)) as u64 }
    }

    pub(super) fn rem(&self, x: u64) -> u64 {
        let r = x.wrapping_sub(mul_hi(x, self.ratio).wrapping_mul(self.q));
        if r >= self.q { r - self.q } else { r }
    }

    pub(super) fn initializer(&self) -> String {
        format!("rf::Barrett{{{}ull, {}ull}}", self.q, self.ratio)
    }
}

/// Remainders of 128-bit values by any q ≥ 2 (Möller and Granlund, "Improved division by invariant integers").
#[derive(Debug, Clone, Copy)]
pub(super) struct Divisor {
    pub(super) d: u64,
    pub(super) reciprocal: u64,
    pub(super) shift: u32,
}

impl Divisor {
    pub(super) fn new(q: u64) -> Self {
        let shift = q.leading_zeros();
        let d = q << shift;
        // the quotient is 2^64 + reciprocal, and the cast drops 2^64
        Self { d, reciprocal: (u128::MAX / u128::from(d)) as u64, shift }
    }

    /// x mod q, for x < 2^64·q.
    pub(super) fn rem(&self, x: u128) -> u64 {
        let x = x << self.shift;
        let (hi, lo) = ((x >> 64) as u64, x as u64);
        let quotient = (u128::from(self.reciprocal) * u128::from(hi)).wrapping_add(x);
        let mut r = lo.wrapping_sub(((quotient >> 64) as u64).wrapping_add(1).wrapping_mul(self.d));
        if r > quotient as u64 {
            r = r.wrapping_add(self.d);
        }
        if r >= self.d {
            r -= self.d;
        }
        r >> self.shift
    }

    pub(super) fn mul(&self, a: u64, b: u64) -> u64 {
        self.rem(u128::from(a) * u128::from(b))
    }

    pub(super) fn initializer(&self) -> String {
        format!("rf::Divisor{{{}ull, {}ull, {}u}}", self.d, self.reciprocal, self.shift)
    }
}

/// A prime of an auxiliary basis and its part in [`Rebuild`].
#[derive(Debug, Clone)]
struct Digit {
    p: u64,
    /// H mod p.
    offset: u64,
    /// The product of the primes before it, mod q.
    weight: u64,
    /// The inverses of the primes before it, mod p, and floor(2^64·inverse / p) for each.
    inverses: Vec<(u64, u64)>,
}

/// From an integer x with |x| ≤ H, given by residues modulo ascending primes with product P = 2H + 1, to x mod q.
#[derive(Debug, Clone)]
pub(super) struct Rebuild {
    digits: Vec<Digit>,
    /// −H mod q.
    correction: u64,
    /// Whether the weighted sum of digits fits 64 bits.
    narrow: bool,
    barrett: Barrett,
    divisor: Divisor,
}

impl Rebuild {
    /// The constants for primes in ascending order, each below 2^62, at most [`MAX_PRIMES`] of them.
    pub(super) fn new(primes: &[Modulus], q: u64) -> Result<Self> {
        let refuse = |why: &str| Error::Unsupported { job: format!("rebuilding from {primes:?}"), why: why.into() };
        if primes.is_empty() || primes.len() > MAX_PRIMES || primes.iter().any(|p| p.bits() > 62) {
            return Err(refuse("1 to 8 primes below 2^62 are wanted"));
        }
        let product = product(primes).ok_or_else(|| refuse("their product has more than 256 bits"))?;
        let half = product.shr_vartime(1);
        let modulus = Modulus::new(q)?;
        let half_mod_q = low_u64(&modulus.reduce(&half));
        let correction = if half_mod_q == 0 { 0 } else { q - half_mod_q };
        let mut weight = modulus.reduce(&U256::ONE);
        let mut most = u128::from(correction);
        let mut digits = Vec::with_capacity(primes.len());
        for (j, p) in primes.iter().enumerate() {
            let value = low_u64(&p.value());
            let inverse = |other: &Modulus| {
                let inverse = low_u64(&p.inverse(&p.reduce(&other.value()))?);
                Some((inverse, ((u128::from(inverse) << 64) / u128::from(value)) as u64))
            };
            let inverses: Option<Vec<_>> = primes[..j].iter().map(inverse).collect();
            digits.push(Digit {
                p: value,
                offset: low_u64(&p.reduce(&half)),
                weight: low_u64(&weight),
                inverses: inverses.ok_or_else(|| refuse("they have a common factor"))?,
            });
            most = most.saturating_add(u128::from(value - 1) * u128::from(low_u64(&weight)));
            weight = modulus.mul(&weight, &modulus.reduce(&p.value()));
        }
        if most >> 64 >= u128::from(q) {
            return Err(refuse("the sum of their digits has more than 64 bits above q"));
        }
        let narrow = most >> 64 == 0 && q <= 1 << 63;
        Ok(Self { digits, correction, narrow, barrett: Barrett::new(q), divisor: Divisor::new(q) })
    }

    /// x mod q from its residue modulo prime number j for each j.
    pub(super) fn rebuild(&self, residue: impl Fn(usize) -> u64) -> u64 {
        let mut digits = [0u64; MAX_PRIMES];
        let mut narrow = self.correction;
        let mut wide = u128::from(self.correction);
        for (j, digit) in self.digits.iter().enumerate() {
            let p = digit.p;
            let mut x = add_mod(residue(j), digit.offset, p);
            for (lower, &(inverse, quotient)) in digits.iter().zip(&digit.inverses) {
                let difference = x.wrapping_add(p.wrapping_sub(*lower));
                x = difference.wrapping_mul(inverse).wrapping_sub(mul_hi(difference, quotient).wrapping_mul(p));
            }
            x = if x >= p { x - p } else { x };
            digits[j] = x;
            if self.narrow {
                narrow = narrow.wrapping_add(x.wrapping_mul(digit.weight));
            } else {
                wide = wide.wrapping_add(u128::from(x) * u128::from(digit.weight));
            }
        }
        if self.narrow { self.barrett.rem(narrow) } else { self.divisor.rem(wide) }
    }

    pub(super) fn divisor(&self) -> &Divisor {
        &self.divisor
    }

    /// The lines of a generated struct that `rebuild` of `crt.cuh` reads, beside `prime`.
    pub(super) fn prelude(&self, word_bits: u32) -> String {
        let twiddle = |p: u64, inverse: u64| {
            let quotient = (u128::from(inverse) << word_bits) / u128::from(p);
            format!("M::Twiddle{{{inverse}ull, {quotient}ull}}")
                .replace("ull", if word_bits == 32 { "u" } else { "ull" })
        };
        let count = self.digits.len();
        let of_pairs = self.digits.iter().flat_map(|digit| {
            let missing = (digit.inverses.len()..count).map(|_| "M::Twiddle{0, 0}".to_string());
            digit.inverses.iter().map(|&(inverse, _)| twiddle(digit.p, inverse)).chain(missing)
        });
        let inverses = choice("M::Twiddle inverse(rf::u32 i, rf::u32 j)", &format!("j * {count} + i"), of_pairs);
        let offsets =
            choice("Word offset(rf::u32 j)", "j", self.digits.iter().map(|digit| format!("{}ull", digit.offset)));
        let weights =
            choice("rf::u64 weight(rf::u32 j)", "j", self.digits.iter().map(|digit| format!("{}ull", digit.weight)));
        let barrett = choice("rf::Barrett barrett()", "0", [self.barrett.initializer()]);
        let divisor = choice("rf::Divisor divisor()", "0", [self.divisor.initializer()]);
        format!(
            "    static constexpr rf::u64 correction = {}ull;\n    static constexpr bool narrow = {};\n\
             {inverses}{offsets}{weights}{barrett}{divisor}",
            self.correction, self.narrow
        )
    }
}

/// A generated member function that gives the value with this number: known at compile time where the number is.
pub(super) fn choice(signature: &str, number: &str, values: impl IntoIterator<Item = String>) -> String {
    let values: Vec<String> = values.into_iter().collect();
    match values.as_slice() {
        [only] => format!("    static RF_METHOD {signature} {{ return {only}; }}\n"),
        values => {
            let cases: String =
                values.iter().enumerate().map(|(i, value)| format!("        case {i}: return {value};\n")).collect();
            let last = values.last().map_or("{}", String::as_str);
            format!(
                "    static RF_METHOD {signature} {{\n        switch ({number}) {{\n{cases}        default: return {last};\n        }}\n    }}\n"
            )
        }
    }
}

/// The product of moduli, unless it has more than 256 bits.
pub(crate) fn product(moduli: &[Modulus]) -> Option<U256> {
    moduli.iter().try_fold(U256::ONE, |product, p| product.checked_mul(&p.value()).into_option())
}

#[cfg(test)]
mod tests {
    use super::{Barrett, Divisor};

    const EDGES: [u64; 9] = [2, 3, 1024, 4591, 1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX - 58, u64::MAX];

    #[test]
    fn remainders_are_exact() {
        for q in EDGES {
            let divisor = Divisor::new(q);
            for hi in [0, 1, q / 2, q - 1].into_iter().filter(|&hi| hi < q) {
                for lo in [0, 1, q - 1, q, u64::MAX - 1, u64::MAX] {
                    let x = u128::from(hi) << 64 | u128::from(lo);
                    assert_eq!(u128::from(divisor.rem(x)), x % u128::from(q), "{x} mod {q}");
                    if q <= 1 << 63 {
                        assert_eq!(Barrett::new(q).rem(lo), lo % q, "{lo} mod {q}");
                    }
                }
            }
        }
    }
}
