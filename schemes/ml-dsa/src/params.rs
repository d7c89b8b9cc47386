//! The parameter sets of FIPS 204, section 4.

use der::oid::{AssociatedOid, ObjectIdentifier};
use ringforge::kernels::KernelLayout;
use ringforge::{Limits, Modulus, Result, Ring};
use ringforge_batch::keys::EncodedKeys;
use ringforge_batch::{SignatureScheme, SignatureSizes, SignatureSteps};

use crate::error::SignatureError;

/// Number of coefficients of a polynomial.
pub(crate) const N: usize = 256;
/// The modulus q.
pub(crate) const Q: u32 = 8_380_417;
/// The root of unity of order 512 that FIPS 204 fixes.
const ROOT: u32 = 1753;
/// Bits of a coefficient of t that the public key drops (d).
pub(crate) const DROPPED: usize = 13;
/// Bytes of the seeds rho and K, and of randomness.
pub(crate) const SEED: usize = 32;
/// Bytes of tr, mu, rho' and rho''.
pub(crate) const HASH: usize = 64;
/// Bytes of a secret key before its vectors: rho, K and tr.
pub(crate) const HEAD: usize = 2 * SEED + HASH;
/// Bytes of a polynomial of residues.
pub(crate) const ROW: usize = 4 * N;
/// Bytes of a challenge: two masks of the coefficients, those that are not 0 and those that are −1.
pub(crate) const CHALLENGE: usize = 2 * N / 8;

/// The numbers that define a parameter set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Name of the set.
    pub name: &'static str,
    /// Number of rows of the matrix A.
    pub k: usize,
    /// Number of columns of the matrix A.
    pub l: usize,
    /// Bound of the coefficients of the secret vectors s1 and s2.
    pub eta: u32,
    /// Number of coefficients of a challenge that are not 0.
    pub tau: u32,
    /// log2 of γ1, the bound of masks.
    pub log_gamma1: usize,
    /// γ2, half of the distance between numbers with the same low bits.
    pub gamma2: u32,
    /// The most hints of a signature.
    pub omega: usize,
    /// Security strength of a challenge in bits (λ).
    pub lambda: usize,
}

impl Parameters {
    /// Sizes of keys and signatures.
    #[must_use]
    pub const fn sizes(&self) -> SignatureSizes {
        SignatureSizes {
            public_key: SEED + self.k * packed(10),
            secret_key: HEAD + (self.k + self.l) * packed(self.small_bits()) + self.k * packed(DROPPED),
            signature: self.hints() + self.omega + self.k,
            seed: SEED,
        }
    }

    /// Bits of a packed coefficient of s1 or s2.
    pub(crate) const fn small_bits(&self) -> usize {
        if self.eta == 2 { 3 } else { 4 }
    }

    /// Bits of a packed coefficient of a mask or of z.
    pub(crate) const fn mask_bits(&self) -> usize {
        self.log_gamma1 + 1
    }

    /// Number of values of the high bits of a residue, (q − 1) / (2 γ2). Not by a division, because it is asked for each
    /// coefficient.
    pub(crate) const fn high_values(&self) -> u32 {
        if self.gamma2 == (Q - 1) / 88 { 44 } else { 16 }
    }

    /// Bits of a packed coefficient of w1.
    pub(crate) const fn high_bits(&self) -> usize {
        self.high_values().next_power_of_two().ilog2() as usize
    }

    /// β, the largest coefficient of c s1 and c s2.
    pub(crate) const fn beta(&self) -> u32 {
        self.tau * self.eta
    }

    /// Bytes of the hash from which a challenge is made.
    pub(crate) const fn challenge(&self) -> usize {
        self.lambda / 4
    }

    /// Bytes of a signature before its hints.
    const fn hints(&self) -> usize {
        self.challenge() + self.l * packed(self.mask_bits())
    }

    /// Bytes of a signature between kernels: whole words.
    pub(crate) const fn slot(&self) -> usize {
        self.sizes().signature.next_multiple_of(4)
    }
}

/// Bytes of a packed polynomial.
pub(crate) const fn packed(bits: usize) -> usize {
    bits * N / 8
}

/// Kernel layout of the ring Z_q[x]/(x^256 + 1), with evaluations in the order of FIPS 204.
pub(crate) fn rows(limits: &Limits) -> Result<KernelLayout> {
    let ring = Ring::negacyclic(N, Modulus::new(Q)?)?.with_root(ROOT)?;
    // two polynomials at once: 16 threads per polynomial and 16 coefficients per thread, as the CUDA source requires
    Ok(KernelLayout::of(&ring, limits)?.holding(2))
}

macro_rules! sets {
    ($($(#[$doc:meta])* $set:ident: $name:literal, $identifier:literal, $k:literal, $l:literal, $eta:literal, $tau:literal, $log_gamma1:literal, $parts:literal, $omega:literal, $lambda:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $set;

        impl $set {
            /// The numbers that define this parameter set.
            pub const PARAMETERS: Parameters = Parameters {
                name: $name,
                k: $k,
                l: $l,
                eta: $eta,
                tau: $tau,
                log_gamma1: $log_gamma1,
                gamma2: (Q - 1) / $parts,
                omega: $omega,
                lambda: $lambda,
            };
        }

        impl AssociatedOid for $set {
            const OID: ObjectIdentifier = ObjectIdentifier::new_unwrap(concat!("2.16.840.1.101.3.4.3.", $identifier));
        }

        impl EncodedKeys for $set {
            const PUBLIC_KEY: usize = Self::PARAMETERS.sizes().public_key;
            const SEED: usize = SEED;
            const SECRET_KEY: usize = Self::PARAMETERS.sizes().secret_key;
        }

        impl SignatureScheme for $set {
            const NAME: &'static str = $name;
            const SIZES: SignatureSizes = Self::PARAMETERS.sizes();
            /// FIPS 204, appendix C: more attempts are needed with probability below 2^-256.
            const ATTEMPTS: u32 = 814;
            type Error = SignatureError;

            fn steps(_: &Limits) -> Result<impl SignatureSteps> {
                Ok(Self::PARAMETERS)
            }
        }
    )*};
}

sets! {
    /// ML-DSA-44: security category 2 (as hard to break as SHA-256 collisions).
    MlDsa44: "ML-DSA-44", 17, 4, 4, 2, 39, 17, 88, 80, 128;
    /// ML-DSA-65: security category 3 (as hard to break as AES-192).
    MlDsa65: "ML-DSA-65", 18, 6, 5, 4, 49, 19, 32, 55, 192;
    /// ML-DSA-87: security category 5 (as hard to break as AES-256).
    MlDsa87: "ML-DSA-87", 19, 8, 7, 2, 60, 19, 32, 75, 256;
}
