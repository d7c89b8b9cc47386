//! The parameter sets of FIPS 203, section 8.

use der::oid::{AssociatedOid, ObjectIdentifier};
use ringforge::kernels::KernelLayout;
use ringforge::{Limits, Modulus, Result, Ring};
use ringforge_batch::keys::EncodedKeys;
use ringforge_batch::{KemScheme, Sizes, Steps};

use crate::error::KeyError;

/// Number of coefficients of a polynomial.
pub(crate) const N: usize = 256;
/// The modulus q.
pub(crate) const Q: u32 = 3329;
/// The root of unity of order 256 that FIPS 203 fixes.
const ROOT: u32 = 17;
/// Bytes of a packed polynomial, 12 bits per coefficient.
pub(crate) const ROW: usize = 12 * N / 8;
/// Bytes of a seed, a hash, a message, or a shared key.
pub(crate) const SEED: usize = 32;
/// Noise bound of the error terms in ciphertexts, in every set.
pub(crate) const ETA2: usize = 2;

/// The numbers that define a parameter set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Name of the set.
    pub name: &'static str,
    /// Rank of the module: number of polynomials per vector.
    pub k: usize,
    /// Noise bound of key pairs, and of the secret vector in ciphertexts.
    pub eta1: usize,
    /// Bits per coefficient of the ciphertext's vector u.
    pub du: usize,
    /// Bits per coefficient of the ciphertext's polynomial v.
    pub dv: usize,
}

impl Parameters {
    /// Sizes of keys, ciphertexts and shared keys.
    #[must_use]
    pub const fn sizes(&self) -> Sizes {
        Sizes {
            public_key: ROW * self.k + SEED,
            secret_key: 2 * ROW * self.k + 3 * SEED,
            ciphertext: N / 8 * (self.du * self.k + self.dv),
            shared_key: SEED,
        }
    }

    /// Bytes of random stream from which the noise of a key pair is sampled.
    pub(crate) const fn key_noise(&self) -> usize {
        2 * self.k * stream(self.eta1)
    }

    /// Bytes of random stream from which the noise of a ciphertext is sampled.
    pub(crate) const fn noise(&self) -> usize {
        self.k * stream(self.eta1) + (self.k + 1) * stream(ETA2)
    }

    /// Bytes of the k × k matrix, 16 bits per coefficient.
    pub(crate) const fn matrix(&self) -> usize {
        self.k * self.k * 2 * N
    }
}

/// Bytes of random stream from which a polynomial with noise bound `eta` is sampled.
pub(crate) const fn stream(eta: usize) -> usize {
    2 * eta * N / 8
}

/// Kernel layout of the ring Z_q[x]/(x^256 + 1): incomplete NTT with leaves of degree 2, in the order of FIPS 203.
pub(crate) fn rows(limits: &Limits) -> Result<KernelLayout> {
    let ring = Ring::negacyclic(N, Modulus::new(Q)?)?.with_root(ROOT)?;
    // two polynomials at once: 16 threads per polynomial and 16 coefficients per thread, as the CUDA source requires
    Ok(KernelLayout::of(&ring, limits)?.holding(2))
}

macro_rules! sets {
    ($($(#[$doc:meta])* $set:ident: $name:literal, $identifier:literal, $k:literal, $eta1:literal, $du:literal, $dv:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $set;

        impl $set {
            /// The numbers that define this parameter set.
            pub const PARAMETERS: Parameters = Parameters { name: $name, k: $k, eta1: $eta1, du: $du, dv: $dv };
        }

        impl AssociatedOid for $set {
            const OID: ObjectIdentifier = ObjectIdentifier::new_unwrap(concat!("2.16.840.1.101.3.4.4.", $identifier));
        }

        impl EncodedKeys for $set {
            const PUBLIC_KEY: usize = Self::PARAMETERS.sizes().public_key;
            const SEED: usize = 2 * SEED;
            const SECRET_KEY: usize = Self::PARAMETERS.sizes().secret_key;
        }

        impl KemScheme for $set {
            const NAME: &'static str = $name;
            const SIZES: Sizes = Self::PARAMETERS.sizes();
            type Error = KeyError;

            fn steps(_: &Limits) -> Result<impl Steps> {
                Ok(Self::PARAMETERS)
            }
        }
    )*};
}

sets! {
    /// ML-KEM-512: security category 1 (as hard to break as AES-128).
    MlKem512: "ML-KEM-512", 1, 2, 3, 10, 4;
    /// ML-KEM-768: security category 3 (as hard to break as AES-192).
    MlKem768: "ML-KEM-768", 2, 3, 2, 10, 4;
    /// ML-KEM-1024: security category 5 (as hard to break as AES-256).
    MlKem1024: "ML-KEM-1024", 3, 4, 2, 11, 5;
}
