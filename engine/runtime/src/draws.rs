//! Randomness for programs: a key for each run, under which any device draws blocks for itself.

use core::fmt;

use chacha20::cipher::StreamCipherCore;
use chacha20::{ChaCha20LegacyCore, KeyIvInit};
use zeroize::Zeroizing;

use ringforge_math::error::{Error, Result, same_length};

/// The randomness of one run: a key, and the ChaCha20 stream cipher as a function from a counter and a nonce to blocks
/// of 64 bytes.
///
/// A kernel reads the key from memory, at a port made by [`Port::draws`](crate::kernel::Port::draws), and computes
/// `draw(item, attempt)` of `draws.cuh`, the same block as [`Draws::block`]: the counter is the item, the nonce the
/// attempt. The items of a run are counted across chunks and launches, so no two draws of a run are the same block.
/// Rejection sampling takes the next attempt.
///
/// ChaCha20 needs additions, rotations and exclusive ors, so it is constant-time and fast on every device without a
/// table or an instruction of its own, and any block can be had without those before it.
///
/// # Security
///
/// Blocks are indistinguishable from random as long as the key is secret and ChaCha20 is a pseudorandom function.
///
/// [`Draws::from_os`] asks the system for a key each time, and none outlives its run: memory that held it is wiped on the
/// host, in staging and on the device. So there is no state of ours that a `fork` or a snapshot of the machine could
/// repeat. Two things are left. A machine that is copied in the middle of a run goes on with the same draws in each copy.
/// And a system may repeat itself: where a snapshot is restored twice and the kernel is not told, both copies may get the
/// same keys until it has gathered something new. What follows from equal draws is for a scheme to say; where a key would
/// be lost, as with nonces of signatures, take [`Draws::hedged_block`].
pub struct Draws(Zeroizing<[u8; Draws::BYTES]>);

impl Draws {
    /// Size in bytes: a key of ChaCha20.
    pub const BYTES: usize = 32;

    /// Draws for one run, with a key from the operating system: one call for any number of items.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the system gives none.
    pub fn from_os() -> Result<Self> {
        let mut draws = Self(Zeroizing::new([0; Self::BYTES]));
        getrandom::fill(&mut *draws.0).map_err(|e| Error::Unsupported {
            job: "randomness from the operating system".into(),
            why: e.to_string(),
        })?;
        Ok(draws)
    }

    /// Draws as a kernel reads them: for what a kernel means on the CPU, for tests, and from a seed that is kept, whose runs
    /// can be repeated: a secret key that is stored as its seed, say. A seed that is uniform and secret is as good as
    /// [`Draws::from_os`], for one batch of one program: others would draw the same blocks.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are [`Draws::BYTES`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        same_length("bytes of draws", Self::BYTES, bytes.len())?;
        let mut draws = Self(Zeroizing::new([0; Self::BYTES]));
        draws.0.copy_from_slice(bytes);
        Ok(draws)
    }

    /// What a kernel reads: the key.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &*self.0
    }

    /// The block of this item and attempt: 64 bytes, uniform and independent of every other block. Secret, and the
    /// caller's to wipe.
    #[must_use]
    pub fn block(&self, item: u64, attempt: u32) -> [u8; 64] {
        self.block_of_series(0, item, attempt)
    }

    /// Block `number` of an item in one of 2^32 series, all independent: attempts are series 0, and each sampler of a
    /// pipeline takes another. The series is the upper half of the nonce.
    #[must_use]
    pub fn block_of_series(&self, series: u32, item: u64, number: u32) -> [u8; 64] {
        let nonce = u64::from(series) << 32 | u64::from(number);
        let mut cipher = ChaCha20LegacyCore::new((&*self.0).into(), &nonce.to_le_bytes().into());
        cipher.set_block_pos(item);
        let mut block = [0; 64];
        cipher.write_keystream_block((&mut block).into());
        block
    }

    /// As [`Draws::block`], and where the same draws serve again by accident, blocks for different contexts are still
    /// independent of each other. A context is a secret and what the block is for: a private key and a digest, say.
    ///
    /// The block is π(draw ⊕ context), π the permutation inside ChaCha20: its twenty rounds, without the addition of the
    /// input at the end. This is a keyed sponge that absorbs and gives its whole state. π is a bijection, so blocks are
    /// as uniform and independent as the draws, whatever the contexts. If draws are repeated, but secret, or known, but
    /// the context has 256 bits that are secret, then an input to π is as hard to guess as these, different contexts are
    /// different inputs, and blocks look random and independent, as far as π behaves like a random permutation and
    /// nobody sees more than half of one.
    ///
    /// ```
    /// let draws = ringforge::Draws::from_os()?;
    /// assert_eq!(draws.hedged_block(3, 0, &[1; 64]), draws.hedged_block(3, 0, &[1; 64]));
    /// assert_ne!(draws.hedged_block(3, 0, &[1; 64]), draws.hedged_block(3, 0, &[2; 64]));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    pub fn hedged_block(&self, item: u64, attempt: u32, context: &[u8; 64]) -> [u8; 64] {
        let mut block = self.block(item, attempt);
        block.iter_mut().zip(context).for_each(|(byte, context)| *byte ^= context);
        let mut state = Zeroizing::new([0; 16]);
        let words = block.as_chunks_mut().0;
        state.iter_mut().zip(&*words).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
        permute(&mut state);
        words.iter_mut().zip(*state).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        block
    }
}

/// The permutation inside ChaCha20, which the crate does not give by itself.
fn permute(x: &mut [u32; 16]) {
    for _ in 0..10 {
        for i in 0..4 {
            quarter_round(x, [i, 4 + i, 8 + i, 12 + i]);
        }
        for i in 0..4 {
            quarter_round(x, [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4]);
        }
    }
}

fn quarter_round(x: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    for (to, from, turned, by) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        x[to] = x[to].wrapping_add(x[from]);
        x[turned] = (x[turned] ^ x[to]).rotate_left(by);
    }
}

// it is a key
impl fmt::Debug for Draws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Draws(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of the cipher is its input, permuted, plus its input.
    #[test]
    fn the_permutation_is_the_ciphers() -> Result<()> {
        let draws = Draws::from_bytes(&[0x35; Draws::BYTES])?;
        let (item, attempt) = (0x0123_4567_89ab_cdef_u64, 0x7654_3210);
        let mut input = [0x3535_3535; 16];
        input[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
        input[12..].copy_from_slice(&[item as u32, (item >> 32) as u32, attempt, 0]);
        let mut permuted = input;
        permute(&mut permuted);
        let sums = permuted.iter().zip(input).flat_map(|(a, b)| a.wrapping_add(b).to_le_bytes());
        assert!(sums.eq(draws.block(item, attempt)));
        Ok(())
    }
}
