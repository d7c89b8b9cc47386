//! The parameter sets, and every size that follows from one.

use ringforge::{Limits, Result};
use ringforge_batch::{KemScheme, Sizes, Steps};
use ringforge_e8::{EncryptionSizes, KeyError};

use crate::plans::PrimeSteps;

/// Bytes of a seed, of z, and of a shared key.
pub(crate) const SEED_BYTES: usize = 32;

/// The numbers of a parameter set, over the field `Z_q[x]/(x^n − x − 1)`; all sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Parameters {
    /// The name.
    pub name: &'static str,
    /// The degree n, a prime.
    pub n: usize,
    /// The modulus q, a prime modulo which x^n − x − 1 is irreducible.
    pub q: u32,
    /// log2 of the modulus q2 of a ciphertext's coefficients.
    pub q2_bits: u32,
    /// The bound of the centred binomial distribution from which all small polynomials come.
    pub eta: u32,
}

impl Parameters {
    /// The modulus q2 of a ciphertext's coefficients.
    #[must_use]
    pub const fn q2(&self) -> u32 {
        1 << self.q2_bits
    }

    /// What a coefficient f of a secret key is packed as is this less f.
    pub(crate) const fn key_offset(&self) -> u32 {
        2 * self.eta + 1
    }

    /// Sizes of the encryption inside, from which all others follow. Each byte of a message takes sixteen coefficients, and a
    /// few are left over; an encryption takes the coins of one polynomial.
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

/// One of the parameter sets of this crate, as a type.
pub trait ParameterSet: sealed::Sealed + KemScheme<Error = KeyError> + Send + Sync {
    /// Its numbers.
    const PARAMETERS: Parameters;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! sets {
    ($($(#[$doc:meta])* $set:ident {
        $name:literal, n: $n:literal, q: $q:literal, q2_bits: $q2_bits:literal, eta: $eta:literal,
        sizes: $public_key:literal, $secret_key:literal, $ciphertext:literal
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $set;

            impl sealed::Sealed for $set {}

            impl ParameterSet for $set {
                const PARAMETERS: Parameters =
                    Parameters { name: $name, n: $n, q: $q, q2_bits: $q2_bits, eta: $eta };
            }

            impl KemScheme for $set {
                const NAME: &'static str = $name;
                const SIZES: Sizes = Self::PARAMETERS.sizes().kem();
                type Error = KeyError;

                fn steps(limits: &Limits) -> Result<impl Steps> {
                    PrimeSteps::new(&Self::PARAMETERS, limits)
                }
            }

            const _: () = {
                assert!($set::SIZES.public_key == $public_key);
                assert!($set::SIZES.secret_key == $secret_key);
                assert!($set::SIZES.ciphertext == $ciphertext);
            };
        )*

        /// All sets.
        pub(crate) const SETS: &[Parameters] = &[$($set::PARAMETERS),*];
    };
}

sets! {
    /// CTRU-Prime-653: public keys of 994 bytes, secret keys of 1353, ciphertexts of 898.
    CtruPrime653 { "CTRU-Prime-653", n: 653, q: 4621, q2_bits: 11, eta: 3, sizes: 994, 1353, 898 }
    /// CTRU-Prime-761: public keys of 1158 bytes, secret keys of 1571, ciphertexts of 952.
    CtruPrime761 { "CTRU-Prime-761", n: 761, q: 4591, q2_bits: 10, eta: 2, sizes: 1158, 1571, 952 }
    /// CTRU-Prime-1277: public keys of 2067 bytes, secret keys of 2738, ciphertexts of 1597.
    CtruPrime1277 { "CTRU-Prime-1277", n: 1277, q: 7879, q2_bits: 10, eta: 2, sizes: 2067, 2738, 1597 }
}
