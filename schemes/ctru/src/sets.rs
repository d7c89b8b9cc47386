//! The parameter sets as types.

use hybrid_array::ArraySize;
use hybrid_array::sizes::{U32, U640, U768, U960, U1056, U1120, U1152, U1280, U1408, U1536, U1568, U2080};

use ringforge::{Limits, Result};
use ringforge_batch::{KemScheme, Sizes, Steps};
use ringforge_e8::KeyError;

use crate::params::{Parameters, SETS};
use crate::rustcrypto::{DecapsulationKey, EncapsulationKey};

/// A parameter set of this crate, as a type.
pub trait ParameterSet: sealed::Sealed
    + KemScheme<Error = KeyError>
    + kem::Kem<EncapsulationKey = EncapsulationKey<Self>, DecapsulationKey = DecapsulationKey<Self>, SharedKeySize = U32>
{
    /// The numbers of the set: degree, moduli, noise.
    const PARAMETERS: Parameters;
    /// The size of a public key in bytes, as a type.
    type PublicKeySize: ArraySize;
    /// The size of a secret key in bytes, as a type.
    type SecretKeySize: ArraySize;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! sets {
    ($($(#[$doc:meta])* $set:ident = $number:literal, sizes: $public_key:ident, $secret_key:ident, $ciphertext:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $set;

            impl sealed::Sealed for $set {}

            impl ParameterSet for $set {
                const PARAMETERS: Parameters = SETS[$number];
                type PublicKeySize = $public_key;
                type SecretKeySize = $secret_key;
            }

            impl KemScheme for $set {
                const NAME: &'static str = Self::PARAMETERS.name;
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
    };
}

sets! {
    /// CTRU-512: public keys of 768 bytes, secret keys of 1056, ciphertexts of 640.
    Ctru512 = 0, sizes: U768, U1056, U640;
    /// CTRU-768: public keys of 1152 bytes, secret keys of 1568, ciphertexts of 960.
    Ctru768 = 1, sizes: U1152, U1568, U960;
    /// CTRU-1024: public keys of 1536 bytes, secret keys of 2080, ciphertexts of 1408.
    Ctru1024 = 2, sizes: U1536, U2080, U1408;
    /// CNTR-512: public keys of 768 bytes, secret keys of 1120, ciphertexts of 640.
    Cntr512 = 3, sizes: U768, U1120, U640;
    /// CNTR-768: public keys of 1152 bytes, secret keys of 1568, ciphertexts of 960.
    Cntr768 = 4, sizes: U1152, U1568, U960;
    /// CNTR-1024: public keys of 1536 bytes, secret keys of 2080, ciphertexts of 1280.
    Cntr1024 = 5, sizes: U1536, U2080, U1280;
}
