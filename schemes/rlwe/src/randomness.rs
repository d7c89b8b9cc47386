//! Source of the keys for the device's random generator.

use ringforge::RandomKey;
use shake::{ExtendableOutput, Shake256, Update, XofReader};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::error::Result;

/// Asserts at compile time that the hash state is wiped on drop, which needs the feature `zeroize` of the crate
/// `shake`.
const _: () = {
    const fn is_wiped<T: ZeroizeOnDrop>() {}
    is_wiped::<Shake256>();
};

/// Source of the randomness of keys and encryptions. It provides 32-byte keys, from which the device samples.
#[derive(ZeroizeOnDrop)]
pub struct Randomness {
    seed: Option<[u8; 32]>,
    #[zeroize(skip)]
    used: u64,
}

impl Randomness {
    /// Takes randomness from the operating system: a new key for each use.
    #[must_use]
    pub fn system() -> Self {
        Self { seed: None, used: 0 }
    }

    /// Deterministic randomness: the same calls in the same order give the same keys and ciphertexts on every device.
    /// For tests, and for keys that are stored as their seed. Two encryptions with the same randomness reveal the
    /// difference of their plaintexts.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self { seed: Some(seed), used: 0 }
    }

    /// Returns a new key for the device's random generator: from the operating system, or the next one that SHAKE-256
    /// derives from the seed.
    pub fn random_key(&mut self) -> Result<RandomKey> {
        let Some(seed) = &self.seed else { return Ok(RandomKey::from_os()?) };
        let mut hash = Shake256::default();
        hash.update(b"ringforge-rlwe draws");
        hash.update(seed);
        hash.update(&self.used.to_le_bytes());
        self.used += 1;
        let mut key = [0; 32];
        hash.finalize_xof().read(&mut key);
        let random_key = RandomKey::from_bytes(&key);
        key.zeroize();
        Ok(random_key?)
    }
}

impl core::fmt::Debug for Randomness {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(if self.seed.is_some() { "Randomness(seed)" } else { "Randomness(system)" })
    }
}
