//! The parameter sets, and the sizes derived from them.

use ringforge_e8::EncryptionSizes;

/// Bytes of a seed, of the rejection secret z, and of a shared key.
pub(crate) const SEED_BYTES: usize = 32;

/// A parameter set over the field `Z_q[x]/(x^n − x − 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Parameters {
    /// The name, for example `CTRU-Prime-761`.
    pub name: &'static str,
    /// The degree n, a prime.
    pub n: usize,
    /// The modulus q, a prime modulo which x^n − x − 1 is irreducible.
    pub q: u32,
    /// log2 of the modulus q2 of a ciphertext's coefficients.
    pub q2_bits: u32,
    /// The parameter η of the centred binomial distribution of all small polynomials, with coefficients from −η to η.
    pub eta: u32,
}

impl Parameters {
    /// The modulus q2 of a ciphertext's coefficients.
    #[must_use]
    pub const fn q2(&self) -> u32 {
        1 << self.q2_bits
    }

    /// The offset of packed secret keys: a coefficient f is stored as `key_offset − f`.
    pub(crate) const fn key_offset(&self) -> u32 {
        2 * self.eta + 1
    }

    /// Sizes in bytes of the underlying public-key encryption, from which all other sizes follow. Each byte of a
    /// message takes sixteen coefficients; the last n mod 16 are unused. An encryption takes the coins (pseudorandom
    /// bytes) of one polynomial.
    #[must_use]
    pub const fn sizes(&self) -> EncryptionSizes {
        let polynomial_coins = (2 * self.eta as usize * self.n).div_ceil(8);
        EncryptionSizes {
            public_key: crate::radix::encoded_bytes(self.n, self.q),
            pke_key: self.n.div_ceil(2),
            message: self.n / 16,
            ciphertext: (self.n * self.q2_bits as usize).div_ceil(8),
            polynomial_coins,
            encryption_coins: polynomial_coins,
        }
    }
}

/// All sets, in the order of their types in `sets.rs`.
pub(crate) const SETS: [Parameters; 3] = [
    Parameters { name: "CTRU-Prime-653", n: 653, q: 4621, q2_bits: 11, eta: 3 },
    Parameters { name: "CTRU-Prime-761", n: 761, q: 4591, q2_bits: 10, eta: 2 },
    Parameters { name: "CTRU-Prime-1277", n: 1277, q: 7879, q2_bits: 10, eta: 2 },
];
