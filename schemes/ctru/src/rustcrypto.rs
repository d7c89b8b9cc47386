//! Single keys on the CPU, with the traits of the crate [`kem`].
//!
//! Every parameter set implements these traits, because `hybrid_array` has types for the sizes of every set.

use core::fmt;

use hybrid_array::Array;
use kem::{
    Ciphertext, Decapsulate, Decapsulator, Encapsulate, Generate, InvalidKey, Key, KeyExport, KeySizeUser, SharedKey,
    TryKeyInit,
};
use rand_core::{CryptoRng, TryCryptoRng};
use ringforge_e8::{KeyError, STACK, Seed};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing, zeroize_stack};

use crate::kem::{self as one, Kem};
use crate::params::SEED_BYTES;
use crate::sets::ParameterSet;

/// The panic message of calls that cannot fail, because rings and lengths match the parameter set.
const FIXED: &str = "rings and lengths match the parameter set";

/// A public key whose evaluations are all below q.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncapsulationKey<P: ParameterSet>(Array<u8, P::PublicKeySize>);

/// A secret key whose coefficients are all in range: the decryption key, the public key, and the rejection secret z. It
/// is wiped when dropped.
///
/// ```
/// use kem::{Decapsulate, Encapsulate, Kem, KeyExport, TryKeyInit};
/// use ringforge_ctru::{Ctru768, EncapsulationKey};
/// # use rand::{SeedableRng, rngs::StdRng};
/// # let mut rng = StdRng::seed_from_u64(1);
///
/// let (secret_key, public_key) = Ctru768::generate_keypair_from_rng(&mut rng);
/// let sent = public_key.to_bytes(); // 1152 bytes
///
/// // at the sender's end
/// let public_key = EncapsulationKey::<Ctru768>::new_from_slice(&sent)?;
/// let (ciphertext, shared_key) = public_key.encapsulate_with_rng(&mut rng);
///
/// assert_eq!(secret_key.decapsulate(&ciphertext), shared_key);
/// # Ok::<(), kem::InvalidKey>(())
/// ```
#[derive(Clone)]
pub struct DecapsulationKey<P: ParameterSet> {
    bytes: Array<u8, P::SecretKeySize>,
    public_key: EncapsulationKey<P>,
}

impl<P: ParameterSet> EncapsulationKey<P> {
    /// Decodes and checks a public key.
    ///
    /// # Errors
    /// [`KeyError::InvalidPublicKey`] if an evaluation is not below q; the error holds the index of the first such
    /// evaluation.
    pub fn from_bytes(bytes: &Key<Self>) -> Result<Self, KeyError> {
        let mut memory = kem::<P>().memory();
        match kem::<P>().pke.bad_value(bytes, &mut memory.polynomials).expect(FIXED) {
            Some(coefficient) => Err(KeyError::InvalidPublicKey { coefficient }),
            None => Ok(Self(bytes.clone())),
        }
    }

    /// Returns the ciphertext and shared key that follow from this seed, which must be random, secret and used only
    /// once.
    #[cfg(feature = "hazmat")]
    #[must_use]
    pub fn encapsulate_from(&self, seed: &[u8; 32]) -> (Ciphertext<P>, SharedKey<P>) {
        self.encapsulate_seed(seed)
    }

    fn encapsulate_seed(&self, seed: &Seed) -> (Ciphertext<P>, SharedKey<P>) {
        let (mut ciphertext, mut shared_key) = (Ciphertext::<P>::default(), Zeroizing::new(Seed::default()));
        let mut memory = kem::<P>().memory();
        kem::<P>().encapsulate(&self.0, seed, &mut ciphertext, &mut shared_key, &mut memory).expect(FIXED);
        zeroize_stack::<STACK>();
        (ciphertext, (*shared_key).into())
    }
}

impl<P: ParameterSet> DecapsulationKey<P> {
    /// Decodes and checks a secret key.
    ///
    /// # Errors
    /// [`KeyError::InvalidSecretKey`] if a coefficient is out of range; the error holds the index of the first such
    /// coefficient. [`KeyError::InvalidPublicKey`] if the public key within is invalid, as for
    /// [`EncapsulationKey::from_bytes`].
    pub fn from_bytes(bytes: &Key<Self>) -> Result<Self, KeyError> {
        let mut memory = kem::<P>().memory();
        let [pke_key, public_key, _] = P::PARAMETERS.sizes().parts(bytes);
        let public_key = EncapsulationKey::from_bytes(public_key.try_into().expect(FIXED))?;
        match kem::<P>().pke.bad_field(pke_key, &mut memory.polynomials).expect(FIXED) {
            Some(coefficient) => Err(KeyError::InvalidSecretKey { coefficient }),
            None => Ok(Self { bytes: bytes.clone(), public_key }),
        }
    }

    /// Returns the key that follows from the seeds d and z, which must be random and secret. Returns `None` if the
    /// polynomial f sampled from d has no inverse: for n = 768 for one d in 31 000, for other n almost never.
    #[cfg(feature = "hazmat")]
    #[must_use]
    pub fn generate_from(d: &[u8; 32], z: &[u8; 32]) -> Option<Self> {
        let mut key = Self::attempt(d)?;
        key.z().copy_from_slice(z);
        Some(key)
    }

    /// Returns the key that follows from the seed d, with z still zero. Returns `None` if the polynomial f sampled from
    /// d has no inverse.
    fn attempt(d: &Seed) -> Option<Self> {
        let mut key = Self { bytes: Array::default(), public_key: EncapsulationKey(Array::default()) };
        let mut memory = kem::<P>().memory();
        let there = kem::<P>().key_pair(d, &mut key.public_key.0, &mut key.bytes, &mut memory).expect(FIXED);
        zeroize_stack::<STACK>();
        there.then_some(key)
    }

    fn z(&mut self) -> &mut [u8] {
        let place = self.bytes.len() - SEED_BYTES;
        &mut self.bytes[place..]
    }
}

/// Returns the KEM of a parameter set. The first call creates it.
fn kem<P: ParameterSet>() -> &'static Kem {
    one::kem(&P::PARAMETERS).expect(FIXED)
}

impl<P: ParameterSet> KeySizeUser for EncapsulationKey<P> {
    type KeySize = P::PublicKeySize;
}

impl<P: ParameterSet> TryKeyInit for EncapsulationKey<P> {
    fn new(bytes: &Key<Self>) -> Result<Self, InvalidKey> {
        Self::from_bytes(bytes).map_err(|_| InvalidKey)
    }
}

impl<P: ParameterSet> KeyExport for EncapsulationKey<P> {
    fn to_bytes(&self) -> Key<Self> {
        self.0.clone()
    }
}

impl<P: ParameterSet> Encapsulate for EncapsulationKey<P> {
    type Kem = P;

    fn encapsulate_with_rng<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> (Ciphertext<P>, SharedKey<P>) {
        let mut seed = Zeroizing::new(Seed::default());
        rng.fill_bytes(&mut *seed);
        self.encapsulate_seed(&seed)
    }
}

impl<P: ParameterSet> KeySizeUser for DecapsulationKey<P> {
    type KeySize = P::SecretKeySize;
}

impl<P: ParameterSet> TryKeyInit for DecapsulationKey<P> {
    fn new(bytes: &Key<Self>) -> Result<Self, InvalidKey> {
        Self::from_bytes(bytes).map_err(|_| InvalidKey)
    }
}

impl<P: ParameterSet> KeyExport for DecapsulationKey<P> {
    fn to_bytes(&self) -> Key<Self> {
        self.bytes.clone()
    }
}

impl<P: ParameterSet> Generate for DecapsulationKey<P> {
    fn try_generate_from_rng<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        let mut seed = Zeroizing::new(Seed::default());
        loop {
            rng.try_fill_bytes(&mut *seed)?;
            if let Some(mut key) = Self::attempt(&seed) {
                rng.try_fill_bytes(key.z())?;
                return Ok(key);
            }
        }
    }
}

impl<P: ParameterSet> Decapsulator for DecapsulationKey<P> {
    type Kem = P;

    fn encapsulation_key(&self) -> &EncapsulationKey<P> {
        &self.public_key
    }
}

impl<P: ParameterSet> Decapsulate for DecapsulationKey<P> {
    fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedKey<P> {
        let mut shared_key = Zeroizing::new(Seed::default());
        let mut memory = kem::<P>().memory();
        kem::<P>().decapsulate(&self.bytes, ciphertext, &mut shared_key, &mut memory).expect(FIXED);
        zeroize_stack::<STACK>();
        (*shared_key).into()
    }
}

impl<P: ParameterSet> Drop for DecapsulationKey<P> {
    fn drop(&mut self) {
        self.bytes.as_mut_slice().zeroize();
    }
}

impl<P: ParameterSet> ZeroizeOnDrop for DecapsulationKey<P> {}

impl<P: ParameterSet> fmt::Debug for DecapsulationKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecapsulationKey({})", P::PARAMETERS.name)
    }
}
