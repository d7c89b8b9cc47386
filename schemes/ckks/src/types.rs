//! Plaintexts, ciphertexts and keys on the device.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ringforge::Buffer;

use crate::error::{Error, Result};
use crate::params::Parameters;

/// The fields that batches of plaintexts and of ciphertexts have in common.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) buffer: Buffer,
    pub(crate) level: usize,
    pub(crate) scale: f64,
    pub(crate) batch: usize,
}

/// A batch of plaintexts of one level and scale, on the device, as evaluations.
#[derive(Debug)]
pub struct Plaintext(pub(crate) Items);

/// A batch of ciphertexts of one level and scale, on the device. Each ciphertext has two parts, c_0 and c_1, as
/// evaluations modulo the primes of Q at this level.
#[derive(Debug)]
pub struct Ciphertext(pub(crate) Items);

macro_rules! items {
    ($($name:ident),*) => {$(
        impl $name {
            /// Level of the batch: how many more times it can be rescaled.
            #[must_use]
            pub fn level(&self) -> usize {
                self.0.level
            }

            /// Scale: the factor by which the encoded numbers are multiplied. Products of scales, and quotients of
            /// scales by primes, are rounded to the nearest double.
            #[must_use]
            pub fn scale(&self) -> f64 {
                self.0.scale
            }

            /// Number of items in the batch.
            #[must_use]
            pub fn batch(&self) -> usize {
                self.0.batch
            }

            /// Device memory of the batch. It is ordered by item, then by part (of a ciphertext), then by limb (the
            /// evaluations modulo one prime). The evaluations of a limb are in bit-reversed order.
            #[must_use]
            pub fn buffer(&self) -> &Buffer {
                &self.0.buffer
            }
        }
    )*};
}

items!(Plaintext, Ciphertext);

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
pub(crate) struct SwitchingKey {
    pub(crate) parameters: Arc<Parameters>,
    /// The highest level at which the key can be used. It has no limbs and digits of higher ones.
    pub(crate) level: usize,
    /// Seed of the uniform half of the key.
    pub(crate) seed: [u8; 32],
    pub(crate) buffer: Buffer,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").finish_non_exhaustive()
    }
}

impl RelinearisationKey {
    /// Device memory of the key, for custom pipelines.
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.0.buffer
    }
}

impl GaloisKeys {
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

    /// Returns the k of the automorphism x → x^k for a rotation, and its switching key. Returns `None` for a rotation
    /// by 0, and [`Error::NoRotationKey`] if there is no key.
    pub(crate) fn rotation(&self, steps: i64) -> Result<Option<(u64, &SwitchingKey)>> {
        let (steps, k) = rotation(&self.parameters, steps);
        if steps == 0 {
            return Ok(None);
        }
        self.keys.get(&k).map(|key| Some((k, key))).ok_or(Error::NoRotationKey { steps })
    }

    pub(crate) fn conjugation(&self) -> Result<(u64, &SwitchingKey)> {
        let k = conjugation(&self.parameters);
        self.keys.get(&k).map(|key| (k, key)).ok_or(Error::NoConjugationKey)
    }
}

/// Returns the steps of a rotation reduced to 0..slots, and k = 5^steps mod 2N for its automorphism x → x^k.
pub(crate) fn rotation(parameters: &Parameters, steps: i64) -> (usize, u64) {
    let steps = steps.rem_euclid(parameters.slots() as i64) as usize;
    let order = 2 * parameters.degree() as u64;
    (steps, (0..steps).fold(1, |k, _| k * 5 % order))
}

/// Returns the k of the automorphisms x → x^k for these rotations (and for conjugation, if `conjugates`). Each k occurs
/// once; rotations by 0 are omitted.
pub(crate) fn automorphisms(parameters: &Parameters, steps: &[i64], conjugates: bool) -> BTreeSet<u64> {
    let rotations = steps.iter().map(|&steps| rotation(parameters, steps).1).filter(|&k| k != 1);
    rotations.chain(conjugates.then(|| conjugation(parameters))).collect()
}

/// Returns true if x → x^k is conjugation, or a rotation by a number other than 0.
pub(crate) fn is_automorphism(parameters: &Parameters, k: u64) -> bool {
    // Modulo 2N, the powers of 5 are exactly the numbers that are 1 mod 4.
    k == conjugation(parameters) || k % 4 == 1 && (2..2 * parameters.degree() as u64).contains(&k)
}

/// Returns the k of the automorphism x → x^k that conjugates all slots: −1 modulo 2N.
pub(crate) fn conjugation(parameters: &Parameters) -> u64 {
    2 * parameters.degree() as u64 - 1
}
