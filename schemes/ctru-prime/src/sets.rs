//! The parameter sets as types.

use ringforge::{Limits, Result};
use ringforge_batch::{KemScheme, Sizes, Steps};
use ringforge_e8::KeyError;

use crate::kernels::PrimeSteps;
use crate::params::{Parameters, SETS};

/// A parameter set of this crate, as a type.
pub trait ParameterSet: sealed::Sealed + KemScheme<Error = KeyError> + Send + Sync {
    /// The numbers of the set: degree, moduli, noise.
    const PARAMETERS: Parameters;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! sets {
    ($($(#[$doc:meta])* $set:ident = $number:literal, sizes: $public_key:literal, $secret_key:literal, $ciphertext:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $set;

            impl sealed::Sealed for $set {}

            impl ParameterSet for $set {
                const PARAMETERS: Parameters = SETS[$number];
            }

            impl KemScheme for $set {
                const NAME: &'static str = Self::PARAMETERS.name;
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
    };
}

sets! {
    /// CTRU-Prime-653: public keys of 994 bytes, secret keys of 1353, ciphertexts of 898.
    CtruPrime653 = 0, sizes: 994, 1353, 898;
    /// CTRU-Prime-761: public keys of 1158 bytes, secret keys of 1571, ciphertexts of 952.
    CtruPrime761 = 1, sizes: 1158, 1571, 952;
    /// CTRU-Prime-1277: public keys of 2067 bytes, secret keys of 2738, ciphertexts of 1597.
    CtruPrime1277 = 2, sizes: 2067, 2738, 1597;
}
