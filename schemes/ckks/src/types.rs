//! What a scheme's operations take and give: plaintexts, ciphertexts, keys, on the device.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ringforge::Buffer;

use crate::error::{Error, Result};
use crate::params::Parameters;

/// A batch of plaintexts or ciphertexts on the device: what the two have in common.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) buffer: Buffer,
    pub(crate) level: usize,
    pub(crate) scale: f64,
    pub(crate) batch: usize,
}

/// Encoded numbers: a batch of plaintexts of one level and scale, as evaluations on the device.
#[derive(Debug)]
pub struct Plaintext(pub(crate) Items);

/// A batch of ciphertexts of one level and scale, on the device. Each has two parts, evaluations modulo the primes that are
/// left of Q.
#[derive(Debug)]
pub struct Ciphertext(pub(crate) Items);

macro_rules! items {
    ($($name:ident),*) => {$(
        impl $name {
            /// How often it can still be rescaled.
            #[must_use]
            pub fn level(&self) -> usize {
                self.0.level
            }

            /// By how much its numbers are multiplied. Products of scales and quotients by primes are rounded to the nearest
            /// double.
            #[must_use]
            pub fn scale(&self) -> f64 {
                self.0.scale
            }

            /// Items of the batch.
            #[must_use]
            pub fn batch(&self) -> usize {
                self.0.batch
            }

            /// Its memory: item after item, evaluations in tree order, limb after limb.
            #[must_use]
            pub fn buffer(&self) -> &Buffer {
                &self.0.buffer
            }
        }
    )*};
}

items!(Plaintext, Ciphertext);

/// A secret key, on the device; its memory is wiped when it goes.
pub struct SecretKey {
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) buffer: Buffer,
}

/// A key for encryption.
#[derive(Debug)]
pub struct PublicKey {
    pub(crate) parameters: Arc<Parameters>,
    /// What its second half is expanded from.
    pub(crate) seed: [u8; 32],
    pub(crate) buffer: Buffer,
}

/// A key for relinearisation.
#[derive(Debug)]
pub struct RelinearisationKey(pub(crate) SwitchingKey);

/// Keys for rotations, and for conjugation.
#[derive(Debug)]
pub struct GaloisKeys {
    pub(crate) parameters: Arc<Parameters>,
    /// By the k of x → x^k.
    pub(crate) keys: BTreeMap<u64, SwitchingKey>,
}

/// A key for one switch, which serves all levels.
#[derive(Debug)]
pub(crate) struct SwitchingKey {
    pub(crate) parameters: Arc<Parameters>,
    /// What its second half is expanded from.
    pub(crate) seed: [u8; 32],
    pub(crate) buffer: Buffer,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").finish_non_exhaustive()
    }
}

impl RelinearisationKey {
    /// Its memory, for pipelines of one's own.
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.0.buffer
    }
}

impl GaloisKeys {
    /// Whether there is a key for a rotation by so many steps to the left (to the right where negative). None is needed for 0.
    #[must_use]
    pub fn rotates_by(&self, steps: i64) -> bool {
        self.rotation(steps).is_ok()
    }

    /// Bytes of all keys on the device.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.keys.len() * self.parameters.switching_key_bytes()
    }

    /// The k of a rotation, with its key; nothing for the rotation by 0.
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

/// The steps of a rotation from 0 to the number of slots, and its automorphism x → x^k: k = 5^steps.
pub(crate) fn rotation(parameters: &Parameters, steps: i64) -> (usize, u64) {
    let steps = steps.rem_euclid(parameters.slots() as i64) as usize;
    let order = 2 * parameters.degree() as u64;
    (steps, (0..steps).fold(1, |k, _| k * 5 % order))
}

/// The automorphisms of these rotations, and of conjugation if that is wanted, each once.
pub(crate) fn automorphisms(parameters: &Parameters, steps: &[i64], conjugates: bool) -> BTreeSet<u64> {
    let rotations = steps.iter().map(|&steps| rotation(parameters, steps).1).filter(|&k| k != 1);
    rotations.chain(conjugates.then(|| conjugation(parameters))).collect()
}

/// Whether x → x^k is a rotation, by other steps than 0, or conjugation.
pub(crate) fn is_automorphism(parameters: &Parameters, k: u64) -> bool {
    // powers of 5 are what is 1 modulo 4
    k == conjugation(parameters) || k % 4 == 1 && (2..2 * parameters.degree() as u64).contains(&k)
}

/// The automorphism that conjugates all slots: x → x^-1.
pub(crate) fn conjugation(parameters: &Parameters) -> u64 {
    2 * parameters.degree() as u64 - 1
}
