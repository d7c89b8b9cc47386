//! Keys on the device, and the automorphisms for which there are keys.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ringforge::Buffer;

use crate::error::{Error, Result};
use crate::params::Parameters;

/// Secret key on the device, wiped on drop.
pub struct SecretKey {
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) buffer: Buffer,
}

/// Public key, for encryption.
#[derive(Debug)]
pub struct PublicKey {
    pub(crate) parameters: Arc<Parameters>,
    /// Seed of the uniform half of the key.
    pub(crate) seed: [u8; 32],
    pub(crate) buffer: Buffer,
}

/// Relinearisation key, for products of ciphertexts.
#[derive(Debug)]
pub struct RelinearisationKey(pub(crate) SwitchingKey);

/// Keys for rotations and conjugation of ciphertexts.
#[derive(Debug)]
pub struct GaloisKeys {
    pub(crate) parameters: Arc<Parameters>,
    /// Switching keys by k, where x → x^k is the automorphism of the key.
    pub(crate) keys: BTreeMap<u64, SwitchingKey>,
}

/// Key for hybrid key switching from one secret to another.
#[derive(Debug)]
pub struct SwitchingKey {
    pub(crate) parameters: Arc<Parameters>,
    /// The most primes of Q with which the key can be used. It has no limbs and digits of others.
    pub(crate) limbs: usize,
    /// Seed of the uniform half of the key.
    pub(crate) seed: [u8; 32],
    pub(crate) buffer: Buffer,
}

/// Source and target secrets of a switching key, where s is the secret key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Switch {
    /// From s² to s, for relinearisation.
    Square,
    /// From σ(s) to s, where σ is the automorphism x → x^k for this k. Key switching takes σ(c_1) of a ciphertext under
    /// s.
    Automorphism(u64),
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").finish_non_exhaustive()
    }
}

macro_rules! keys {
    ($($name:ident, $key:ident $(.$field:tt)?;)*) => {$(
        impl $name {
            /// Device memory of the key, for custom pipelines.
            #[must_use]
            pub fn buffer(&$key) -> &Buffer {
                &$key$(.$field)?.buffer
            }

            /// The parameters for which the key was made.
            #[must_use]
            pub fn parameters(&$key) -> &Arc<Parameters> {
                &$key$(.$field)?.parameters
            }
        }
    )*};
}

keys! {
    SecretKey, self;
    PublicKey, self;
    SwitchingKey, self;
    RelinearisationKey, self.0;
}

impl SwitchingKey {
    /// The most primes of Q with which the key can be used.
    #[must_use]
    pub fn limbs(&self) -> usize {
        self.limbs
    }

    /// Returns [`Error::Trimmed`] unless the key can be used with this number of primes of Q.
    ///
    /// # Errors
    /// [`Error::Trimmed`].
    pub fn serves(&self, limbs: usize) -> Result<()> {
        if limbs <= self.limbs { Ok(()) } else { Err(Error::Trimmed { limbs: self.limbs }) }
    }
}

impl GaloisKeys {
    /// The parameters for which the keys were made.
    #[must_use]
    pub fn parameters(&self) -> &Arc<Parameters> {
        &self.parameters
    }

    /// Returns true if rotations by `steps` to the left (right if negative) are possible: there is a key, or the
    /// rotation is by 0 and needs none.
    #[must_use]
    pub fn rotates_by(&self, steps: i64) -> bool {
        self.rotation(steps).is_ok()
    }

    /// Bytes of all keys on the device.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.keys.values().map(|key| key.buffer.len()).sum()
    }

    /// Returns the k of the automorphism x → x^k for a rotation, and its switching key; `None` for a rotation by 0.
    ///
    /// # Errors
    /// [`Error::NoRotationKey`] if there is no key.
    pub fn rotation(&self, steps: i64) -> Result<Option<(u64, &SwitchingKey)>> {
        let (steps, k) = rotation(&self.parameters, steps);
        if steps == 0 {
            return Ok(None);
        }
        self.keys.get(&k).map(|key| Some((k, key))).ok_or(Error::NoRotationKey { steps })
    }

    /// Returns the k of the automorphism x → x^-1, and its switching key.
    ///
    /// # Errors
    /// [`Error::NoConjugationKey`] if there is no key.
    pub fn conjugation(&self) -> Result<(u64, &SwitchingKey)> {
        let k = conjugation(&self.parameters);
        self.keys.get(&k).map(|key| (k, key)).ok_or(Error::NoConjugationKey)
    }
}

/// Returns the steps of a rotation reduced to 0..N/2, and k = 5^steps mod 2N for its automorphism x → x^k.
#[must_use]
pub fn rotation(parameters: &Parameters, steps: i64) -> (usize, u64) {
    let steps = steps.rem_euclid(parameters.degree() as i64 / 2) as usize;
    let order = 2 * parameters.degree() as u64;
    (steps, (0..steps).fold(1, |k, _| k * 5 % order))
}

/// Returns the k of the automorphisms x → x^k for these rotations (and for conjugation, if `conjugates`). Each k occurs
/// once; rotations by 0 are omitted.
#[must_use]
pub fn automorphisms(parameters: &Parameters, steps: &[i64], conjugates: bool) -> BTreeSet<u64> {
    let rotations = steps.iter().map(|&steps| rotation(parameters, steps).1).filter(|&k| k != 1);
    rotations.chain(conjugates.then(|| conjugation(parameters))).collect()
}

/// Returns true if x → x^k is conjugation, or a rotation by a number other than 0.
pub(crate) fn is_automorphism(parameters: &Parameters, k: u64) -> bool {
    // Modulo 2N, the powers of 5 are exactly the numbers that are 1 mod 4.
    k == conjugation(parameters) || k % 4 == 1 && (2..2 * parameters.degree() as u64).contains(&k)
}

/// Returns −1 modulo 2N, the k of the automorphism x → x^k that conjugates slots of CKKS and exchanges rows of BFV.
#[must_use]
pub fn conjugation(parameters: &Parameters) -> u64 {
    2 * parameters.degree() as u64 - 1
}
