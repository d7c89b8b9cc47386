//! Randomness for programs: a generator seeded by the operating system, whose blocks any device draws for itself.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

use chacha20::cipher::StreamCipherCore;
use chacha20::{ChaCha20LegacyCore, KeyIvInit};
use zeroize::Zeroizing;

use crate::error::{Error, Result, same_length};

/// A deterministic random bit generator: the ChaCha20 stream cipher as a function from a key, a counter and a nonce to
/// blocks of 64 bytes.
///
/// The host hands out ranges of counters, the [`Draws`]. A kernel reads one from memory and computes
/// `draw(item, attempt)` of `drbg.cuh`, the same block as [`Draws::block`]: the counter is the range's first plus the item,
/// the nonce is the attempt. No two ranges overlap, and the items of a run are counted across chunks and launches, so no
/// two draws of a generator are the same block. Rejection sampling takes the next attempt.
///
/// ChaCha20 needs additions, rotations and exclusive ors, so it is constant-time and fast on every device without a
/// table or an instruction of its own, and any block can be had without those before it.
///
/// # Security
///
/// Blocks are indistinguishable from random as long as the key is secret and ChaCha20 is a pseudorandom function. The key
/// is drawn once, so there is no prediction resistance beyond that seed: who learns the key knows all draws, also
/// later ones. Past draws are safe once the generator and its ranges are dropped: their memory is wiped then. A range holds the
/// key, so it is as secret as the generator; [`Drbg::with_draws`] wipes the device's copy. Two processes after a
/// `fork` would draw the same blocks: make a generator in each.
pub struct Drbg {
    key: Zeroizing<[u8; 32]>,
    /// The first counter that no range has.
    next: AtomicU64,
}

impl Drbg {
    /// A generator with a key from the operating system.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the system gives none.
    pub fn from_os() -> Result<Self> {
        let mut drbg = Self::from_key([0; 32]);
        getrandom::fill(&mut *drbg.key)
            .map_err(|e| Error::Unsupported { job: "seeding from the operating system".into(), why: e.to_string() })?;
        Ok(drbg)
    }

    /// The generator with this key, counting from 0: the same draws each time, so for tests and replays only.
    #[must_use]
    pub fn from_key(key: [u8; 32]) -> Self {
        Self { key: Zeroizing::new(key), next: AtomicU64::new(0) }
    }

    /// Draws for items 0 to `items` of one run, which no other call gets. A run on more items repeats draws of others.
    ///
    /// # Errors
    /// [`Error::TooLarge`] where fewer than `items` of the 2^64 - 1 counters are left.
    pub fn reserve(&self, items: u64) -> Result<Draws> {
        let taken = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| next.checked_add(items));
        let first = taken.map_err(|next| Error::TooLarge {
            what: "items to draw for",
            limit: usize::try_from(u64::MAX - next).unwrap_or(usize::MAX),
            got: usize::try_from(items).unwrap_or(usize::MAX),
        })?;
        let mut draws = Draws(Zeroizing::new([0; Draws::BYTES]));
        draws.0[..32].copy_from_slice(&*self.key);
        draws.0[32..40].copy_from_slice(&first.to_le_bytes());
        Ok(draws)
    }
}

/// Draws for the items of one run: what a kernel reads at a port made by [`Port::draws`](crate::Port::draws). Used once,
/// and wiped when dropped.
pub struct Draws(Zeroizing<[u8; Draws::BYTES]>);

impl Draws {
    /// Size in bytes: the key, the counter of item 0 as a little-endian word of 64 bits, and 8 zero bytes.
    pub const BYTES: usize = 48;

    /// Draws as a kernel reads them.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are [`Draws::BYTES`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        same_length("bytes of draws", Self::BYTES, bytes.len())?;
        let mut draws = Self(Zeroizing::new([0; Self::BYTES]));
        draws.0.copy_from_slice(bytes);
        Ok(draws)
    }

    /// What a kernel reads; it holds the generator's key.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &*self.0
    }

    /// The block of this item and attempt: 64 bytes, uniform and independent of every other block. Secret, and the
    /// caller's to wipe.
    #[must_use]
    pub fn block(&self, item: u64, attempt: u32) -> [u8; 64] {
        let mut key = Zeroizing::new([0; 32]);
        key.copy_from_slice(&self.0[..32]);
        let mut cipher = ChaCha20LegacyCore::new((&*key).into(), &u64::from(attempt).to_le_bytes().into());
        cipher.set_block_pos(self.first().wrapping_add(item));
        let mut block = [0; 64];
        cipher.write_keystream_block((&mut block).into());
        block
    }

    /// The counter of item 0.
    fn first(&self) -> u64 {
        self.0[32..40].iter().rev().fold(0, |counter, &byte| counter << 8 | u64::from(byte))
    }
}

// both hold a key
impl fmt::Debug for Drbg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Drbg(..)")
    }
}

impl fmt::Debug for Draws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Draws(..)")
    }
}
