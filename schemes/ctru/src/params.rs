//! The parameter sets, and every size that follows from one.

use hybrid_array::ArraySize;
use hybrid_array::sizes::{U32, U640, U768, U960, U1056, U1120, U1152, U1280, U1408, U1536, U1568, U2080};

use ringforge::{Limits, Result};
use ringforge_batch::{KemScheme, Sizes, Steps};
use ringforge_e8::{EncryptionSizes, KeyError};

use crate::rustcrypto::{DecapsulationKey, EncapsulationKey};
use crate::symmetric::Profile;

/// The modulus of the ring, in every set.
pub(crate) const Q: u32 = 3457;

/// Bytes of a seed, of z, and of a shared key.
pub(crate) const SEED_BYTES: usize = 32;

/// The numbers of a parameter set, over the ring `Z_3457[x]/(x^n − x^(n/2) + 1)`; all sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Parameters {
    /// The name.
    pub name: &'static str,
    /// The degree n.
    pub n: usize,
    /// log2 of the modulus q2 of a ciphertext's coefficients.
    pub q2_bits: u32,
    /// The bound of the centred binomial distribution from which all small polynomials come.
    pub eta: u32,
    /// Whether encryption adds an error polynomial of its own (CTRU), or leaves the error to rounding (CNTR).
    pub noise: bool,
    /// The hash functions.
    pub profile: Profile,
}

impl Parameters {
    /// Sizes of the encryption inside, from which all others follow.
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

    /// Bits in which a coefficient of the secret key f is packed, as 2·eta + 1 − f, which is at most
    /// [`largest_field`](Self::largest_field).
    #[must_use]
    pub const fn key_width(&self) -> u32 {
        u32::BITS - self.largest_field().leading_zeros()
    }

    /// The largest packed coefficient of a secret key.
    #[must_use]
    pub const fn largest_field(&self) -> u32 {
        4 * self.eta + 1
    }
}

/// One of the parameter sets of this crate, as a type.
pub trait ParameterSet: sealed::Sealed
    + KemScheme<Error = KeyError>
    + kem::Kem<EncapsulationKey = EncapsulationKey<Self>, DecapsulationKey = DecapsulationKey<Self>, SharedKeySize = U32>
{
    /// Its numbers.
    const PARAMETERS: Parameters;
    /// Bytes of a public key, as a type.
    type PublicKeySize: ArraySize;
    /// Bytes of a secret key, as a type.
    type SecretKeySize: ArraySize;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! sets {
    ($($(#[$doc:meta])* $set:ident {
        $name:literal, n: $n:literal, q2_bits: $q2_bits:literal, eta: $eta:literal, noise: $noise:literal, $profile:ident,
        $public_key:ident, $secret_key:ident, $ciphertext:ident
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $set;

            impl sealed::Sealed for $set {}

            impl ParameterSet for $set {
                const PARAMETERS: Parameters = Parameters {
                    name: $name, n: $n, q2_bits: $q2_bits, eta: $eta, noise: $noise, profile: Profile::$profile,
                };
                type PublicKeySize = $public_key;
                type SecretKeySize = $secret_key;
            }

            impl KemScheme for $set {
                const NAME: &'static str = $name;
                const SIZES: Sizes = Self::PARAMETERS.sizes().kem();
                type Error = KeyError;

                fn steps(_: &Limits) -> Result<impl Steps> {
                    Ok(Self::PARAMETERS)
                }
            }

            impl kem::Kem for $set {
                type EncapsulationKey = EncapsulationKey<Self>;
                type DecapsulationKey = DecapsulationKey<Self>;
                type SharedKeySize = U32;
                type CiphertextSize = $ciphertext;
            }

            const _: () = {
                use hybrid_array::typenum::Unsigned;
                assert!($set::SIZES.public_key == $public_key::USIZE);
                assert!($set::SIZES.secret_key == $secret_key::USIZE);
                assert!($set::SIZES.ciphertext == $ciphertext::USIZE);
            };
        )*

        /// All sets.
        pub(crate) const SETS: &[Parameters] = &[$($set::PARAMETERS),*];
    };
}

sets! {
    /// CTRU-512: public keys of 768 bytes, secret keys of 1056, ciphertexts of 640.
    Ctru512 { "CTRU-512", n: 512, q2_bits: 10, eta: 3, noise: true, S, U768, U1056, U640 }
    /// CTRU-768: public keys of 1152 bytes, secret keys of 1568, ciphertexts of 960.
    Ctru768 { "CTRU-768", n: 768, q2_bits: 10, eta: 2, noise: true, S, U1152, U1568, U960 }
    /// CTRU-1024: public keys of 1536 bytes, secret keys of 2080, ciphertexts of 1408.
    Ctru1024 { "CTRU-1024", n: 1024, q2_bits: 11, eta: 2, noise: true, S, U1536, U2080, U1408 }
    /// CNTR-512: public keys of 768 bytes, secret keys of 1120, ciphertexts of 640.
    Cntr512 { "CNTR-512", n: 512, q2_bits: 10, eta: 5, noise: false, S, U768, U1120, U640 }
    /// CNTR-768: public keys of 1152 bytes, secret keys of 1568, ciphertexts of 960.
    Cntr768 { "CNTR-768", n: 768, q2_bits: 10, eta: 3, noise: false, S, U1152, U1568, U960 }
    /// CNTR-1024: public keys of 1536 bytes, secret keys of 2080, ciphertexts of 1280.
    Cntr1024 { "CNTR-1024", n: 1024, q2_bits: 10, eta: 2, noise: false, S, U1536, U2080, U1280 }
    /// CTRU-768 with the hash functions of the public C code of 2022, and its bytes wherever nothing is rejected.
    Ctru768R { "CTRU-768R", n: 768, q2_bits: 10, eta: 2, noise: true, R, U1152, U1568, U960 }
}
