//! The parameter sets, and the sizes derived from them.

use ringforge_e8::EncryptionSizes;

/// The modulus of the ring, in every set.
pub(crate) const Q: u32 = 3457;

/// Bytes of a seed, of the rejection secret z, and of a shared key.
pub(crate) const SEED_BYTES: usize = 32;

/// A parameter set over the ring `Z_3457[x]/(x^n − x^(n/2) + 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Parameters {
    /// The name, for example `CTRU-768`.
    pub name: &'static str,
    /// The degree n of x^n − x^(n/2) + 1.
    pub n: usize,
    /// log2 of the modulus q2 of a ciphertext's coefficients.
    pub q2_bits: u32,
    /// The parameter η of the centred binomial distribution of all small polynomials, with coefficients from −η to η.
    pub eta: u32,
    /// True if encryption adds an error polynomial (CTRU); false if only rounding contributes an error (CNTR).
    pub noise: bool,
}

impl Parameters {
    /// Sizes in bytes of the underlying public-key encryption, from which all other sizes follow.
    #[must_use]
    pub const fn sizes(&self) -> EncryptionSizes {
        let polynomial_coins = self.n * self.eta as usize / 4;
        EncryptionSizes {
            public_key: 12 * self.n / 8,
            pke_key: self.key_width() as usize * self.n / 8,
            message: self.n / 16,
            ciphertext: self.q2_bits as usize * self.n / 8,
            polynomial_coins,
            encryption_coins: (1 + self.noise as usize) * polynomial_coins,
        }
    }

    /// The modulus q2 of a ciphertext's coefficients.
    #[must_use]
    pub const fn q2(&self) -> u32 {
        1 << self.q2_bits
    }

    /// The number of bits of a packed coefficient of a secret key. Coefficient f is stored as 2·eta + 1 − f, which is
    /// at most [`largest_field`](Self::largest_field).
    #[must_use]
    pub const fn key_width(&self) -> u32 {
        u32::BITS - self.largest_field().leading_zeros()
    }

    /// The largest valid packed coefficient of a secret key, 4·eta + 1.
    #[must_use]
    pub const fn largest_field(&self) -> u32 {
        4 * self.eta + 1
    }
}

/// All sets, in the order of their types in `sets.rs`.
pub(crate) const SETS: [Parameters; 6] = [
    Parameters { name: "CTRU-512", n: 512, q2_bits: 10, eta: 3, noise: true },
    Parameters { name: "CTRU-768", n: 768, q2_bits: 10, eta: 2, noise: true },
    Parameters { name: "CTRU-1024", n: 1024, q2_bits: 11, eta: 2, noise: true },
    Parameters { name: "CNTR-512", n: 512, q2_bits: 10, eta: 5, noise: false },
    Parameters { name: "CNTR-768", n: 768, q2_bits: 10, eta: 3, noise: false },
    Parameters { name: "CNTR-1024", n: 1024, q2_bits: 10, eta: 2, noise: false },
];
