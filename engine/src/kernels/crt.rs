//! CRT reconstruction, and remainders by any modulus of up to 64 bits: constants and CPU reference of `crt.cuh`.

use bytemuck::Pod;
use crypto_bigint::U768;
use ringforge_cpu::choice::{mask, sub_once};
use zeroize::Zeroize;

use ringforge_math::modulus::{Modulus, Width};

/// Maximum number of primes of an auxiliary basis: enough 62-bit primes for products of 256-bit residues in rings of
/// any degree.
pub(crate) const MAX_PRIMES: usize = 9;

/// An integer type in which residues of up to 64 bits are stored.
pub(super) trait Stored: Pod + Zeroize + Send + Sync {
    fn get(self) -> u64;
    /// Converts x, which must fit the width.
    fn put(x: u64) -> Self;
}

macro_rules! stored {
    ($($word:ty),*) => {$(
        impl Stored for $word {
            #[inline(always)]
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
            fn get(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)]
            fn put(x: u64) -> Self {
                x as Self
            }
        }
    )*};
}
stored!(u16, u32, u64);

/// Evaluates an expression with `$word` as the integer type for a residue width of up to 64 bits. For 256 bits the
/// result is `Error::Kernel`.
macro_rules! with_stored {
    ($kernel:expr, $width:expr, $word:ident => $body:expr) => {
        match $width {
            ringforge_math::modulus::Width::W16 => {
                type $word = u16;
                $body
            }
            ringforge_math::modulus::Width::W32 => {
                type $word = u32;
                $body
            }
            ringforge_math::modulus::Width::W64 => {
                type $word = u64;
                $body
            }
            ringforge_math::modulus::Width::W256 => Err(ringforge_math::error::Error::Kernel {
                kernel: $kernel.name().into(),
                why: "residues of 256 bits are not supported".into(),
            }),
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

/// The upper 64 bits of a product.
pub(super) fn mul_hi(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// a + b mod q, for a, b < q; unspecified otherwise.
pub(super) fn add_mod(a: u64, b: u64, q: u64) -> u64 {
    let rest = q.wrapping_sub(b);
    a.wrapping_sub(rest).wrapping_add(q & mask(a < rest))
}

/// a − b mod q, for a, b < q; for larger a, a number congruent to a − b modulo q.
pub(super) fn sub_mod(a: u64, b: u64, q: u64) -> u64 {
    a.wrapping_sub(b).wrapping_add(q & mask(a < b))
}

/// Barrett reduction (CRYPTO '86) of 64-bit values by q ≤ 2^63.
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
        sub_once(x.wrapping_sub(mul_hi(x, self.ratio).wrapping_mul(self.q)), self.q)
    }

    pub(super) fn initializer(&self) -> String {
        format!("rf::Barrett{{{}ull, {}ull}}", self.q, self.ratio)
    }
}

/// Remainders of 128-bit values by any q ≥ 2, by multiplication with a reciprocal (Möller and Granlund, "Improved
/// division by invariant integers").
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
        // (2^128 - 1) / d is 2^64 + reciprocal, and the cast drops 2^64
        Self { d, reciprocal: (u128::MAX / u128::from(d)) as u64, shift }
    }

    /// x mod q, for x < 2^64·q.
    pub(super) fn rem(&self, x: u128) -> u64 {
        let x = x << self.shift;
        let (hi, lo) = ((x >> 64) as u64, x as u64);
        let quotient = (u128::from(self.reciprocal) * u128::from(hi)).wrapping_add(x);
        let mut r = lo.wrapping_sub(((quotient >> 64) as u64).wrapping_add(1).wrapping_mul(self.d));
        r = r.wrapping_add(self.d & mask(r > quotient as u64));
        sub_once(r, self.d) >> self.shift
    }

    /// −a mod q, for a < q.
    pub(super) fn negate(&self, a: u64) -> u64 {
        sub_mod(0, a, self.d >> self.shift)
    }

    /// a·b mod q, for any a, and b < q.
    pub(super) fn mul(&self, a: u64, b: u64) -> u64 {
        self.rem(u128::from(a) * u128::from(b))
    }

    pub(super) fn initializer(&self) -> String {
        format!("rf::Divisor{{{}ull, {}ull, {}u}}", self.d, self.reciprocal, self.shift)
    }
}

/// Generates a C++ member function that returns the element of `values` with the index `number`. With a single value,
/// the function returns that compile-time constant.
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

/// The product of the moduli, or `None` if it has more than 768 bits.
pub(crate) fn product(moduli: &[Modulus]) -> Option<U768> {
    moduli.iter().try_fold(U768::ONE, |product, p| product.checked_mul(&p.value()).into_option())
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
