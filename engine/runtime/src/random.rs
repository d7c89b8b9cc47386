//! Randomness for programs: a key per run, from which each device computes the random blocks of its items.

use core::fmt;

use chacha20::cipher::StreamCipherCore;
use chacha20::{ChaCha20LegacyCore, KeyIvInit};
use zeroize::Zeroizing;

use ringforge_math::error::{Error, Result, same_length};

/// The randomness of one run: a ChaCha20 key. ChaCha20 serves as a counter-based random generator in its original form,
/// which maps a 64-bit counter and a 64-bit nonce to a block of 64 bytes.
///
/// A kernel reads the key at a port made by [`Port::random_key`](crate::kernel::Port::random_key) and calls `draw(item,
/// attempt)` of `random.cuh`, which computes the same block as [`RandomKey::block`]. The counter is the item's index,
/// and the nonce is the number of the attempt; rejection sampling goes on to the next attempt. Item indices continue
/// across the chunks and launches of a run, so all blocks of a run are different.
///
/// ChaCha20 needs only additions, rotations and exclusive ors. It is therefore constant-time and fast on every device,
/// without tables or special instructions. Any block can be computed without the blocks before it.
///
/// # Security
///
/// Blocks are indistinguishable from random as long as the key is secret and ChaCha20 is a pseudorandom function.
///
/// [`RandomKey::from_os`] asks the operating system for a new key each time. No key outlives its run: its memory is
/// wiped on the host, in staging memory and on the device. The library thus keeps no state that a `fork` or a machine
/// snapshot could repeat.
///
/// Two risks remain. If a machine is copied in the middle of a run, each copy continues with the same random blocks. If
/// a snapshot is restored twice and the operating system's kernel is not told, both copies may get the same keys until
/// that kernel gathers new entropy. The consequences of equal blocks depend on the scheme. If they would reveal a
/// secret key, as with nonces of signatures, use [`RandomKey::hedged_block`].
pub struct RandomKey(Zeroizing<[u8; RandomKey::BYTES]>);

impl RandomKey {
    /// Size in bytes of a ChaCha20 key.
    pub const BYTES: usize = 32;

    /// A new key for one run, from the operating system. One key serves any number of items.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the system provides no randomness.
    pub fn from_os() -> Result<Self> {
        let mut random_key = Self(Zeroizing::new([0; Self::BYTES]));
        getrandom::fill(&mut *random_key.0).map_err(|e| Error::Unsupported {
            job: "randomness from the operating system".into(),
            why: e.to_string(),
        })?;
        Ok(random_key)
    }

    /// A key with these bytes, as a kernel reads them. This serves CPU references, tests, and repeatable runs from a
    /// stored seed, such as a secret key that is stored as its seed. A uniform, secret seed is as good as
    /// [`RandomKey::from_os`], but for one batch of one program only: other runs would generate the same blocks.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are exactly [`RandomKey::BYTES`] bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        same_length("bytes of a random key", Self::BYTES, bytes.len())?;
        let mut random_key = Self(Zeroizing::new([0; Self::BYTES]));
        random_key.0.copy_from_slice(bytes);
        Ok(random_key)
    }

    /// The key's bytes, as a kernel reads them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &*self.0
    }

    /// The 64-byte block of this item and attempt (of rejection sampling). It is uniform and independent of every other
    /// block. It is secret, and the caller must wipe it.
    #[must_use]
    pub fn block(&self, item: u64, attempt: u32) -> [u8; 64] {
        self.block_of_stream(0, item, attempt)
    }

    /// Block `number` of an item in one of 2^32 independent random streams. `stream_id` is the upper half of the nonce,
    /// and `number` is the lower half. Stream 0 has the blocks of [`RandomKey::block`]. Each sampler of a pipeline uses
    /// a different stream.
    #[must_use]
    pub fn block_of_stream(&self, stream_id: u32, item: u64, number: u32) -> [u8; 64] {
        let nonce = u64::from(stream_id) << 32 | u64::from(number);
        let mut cipher = ChaCha20LegacyCore::new((&*self.0).into(), &nonce.to_le_bytes().into());
        cipher.set_block_pos(item);
        let mut block = [0; 64];
        cipher.write_keystream_block((&mut block).into());
        block
    }

    /// Writes the blocks of [`RandomKey::block_of_stream`] with consecutive numbers, from `first` on. Several blocks at
    /// once are faster than one after another.
    pub fn blocks_of_stream(&self, stream_id: u32, item: u64, first: u32, blocks: &mut [[u8; 64]]) {
        let mut key = Zeroizing::new([0; 8]);
        key.iter_mut().zip(self.0.as_chunks().0).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
        let mut memory = Zeroizing::new([[[0; LANES]; 16]; 2]);
        ringforge_cpu::wide(
            #[inline(always)]
            || {
                let [input, state] = &mut *memory;
                for (i, some) in blocks.chunks_mut(LANES).enumerate() {
                    let number = first.wrapping_add((i * LANES) as u32);
                    let last = [item as u32, (item >> 32) as u32, number, stream_id];
                    let words = CONSTANTS.iter().chain(&*key).chain(&last);
                    input.iter_mut().zip(words).for_each(|(lanes, word)| *lanes = [*word; LANES]);
                    input[14].iter_mut().zip(0..).for_each(|(number, lane)| *number = number.wrapping_add(lane));
                    *state = *input;
                    permute(state);
                    for (lane, block) in some.iter_mut().enumerate() {
                        for (bytes, (word, input)) in block.as_chunks_mut().0.iter_mut().zip(state.iter().zip(&*input))
                        {
                            *bytes = word[lane].wrapping_add(input[lane]).to_le_bytes();
                        }
                    }
                }
            },
        );
    }

    /// Like [`RandomKey::block`], but blocks for different contexts are independent of each other even if a key is used
    /// again by accident. A context combines a secret with the purpose of the block, such as a private key and a
    /// digest.
    ///
    /// The result is π(block ⊕ context), where block is that of [`RandomKey::block`], and π is the permutation inside
    /// ChaCha20: its twenty rounds, without the final addition of the input. This is a keyed sponge that absorbs and
    /// outputs its whole state. π is a bijection, so for any fixed contexts, the results are as uniform and independent
    /// as the blocks.
    ///
    /// Suppose that the same key is used again. If the key is secret, or the context has 256 secret bits, the input of
    /// π is as hard to guess as that secret, and different contexts give different inputs. The results look random and
    /// independent, provided that π behaves like a random permutation and an observer sees at most half of each result.
    ///
    /// ```
    /// let random_key = ringforge::RandomKey::from_os()?;
    /// assert_eq!(random_key.hedged_block(3, 0, &[1; 64]), random_key.hedged_block(3, 0, &[1; 64]));
    /// assert_ne!(random_key.hedged_block(3, 0, &[1; 64]), random_key.hedged_block(3, 0, &[2; 64]));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    pub fn hedged_block(&self, item: u64, attempt: u32, context: &[u8; 64]) -> [u8; 64] {
        let mut block = self.block(item, attempt);
        block.iter_mut().zip(context).for_each(|(byte, context)| *byte ^= context);
        let mut state = Zeroizing::new([[0]; 16]);
        let words = block.as_chunks_mut().0;
        state.iter_mut().zip(&*words).for_each(|(word, bytes)| *word = [u32::from_le_bytes(*bytes)]);
        permute(&mut state);
        words.iter_mut().zip(*state).for_each(|(bytes, [word])| *bytes = word.to_le_bytes());
        block
    }
}

/// Number of blocks that are computed at once, one in each lane of a SIMD vector.
const LANES: usize = 8;

/// The first words of ChaCha20's input: "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The permutation inside ChaCha20 (its 20 rounds), which the crate `chacha20` does not export, in each of `L` lanes.
#[inline(always)]
fn permute<const L: usize>(x: &mut [[u32; L]; 16]) {
    for _ in 0..10 {
        for i in 0..4 {
            quarter_round(x, [i, 4 + i, 8 + i, 12 + i]);
        }
        for i in 0..4 {
            quarter_round(x, [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4]);
        }
    }
}

#[inline(always)]
fn quarter_round<const L: usize>(x: &mut [[u32; L]; 16], [a, b, c, d]: [usize; 4]) {
    // copies, which the compiler keeps in vector registers
    let (mut xa, mut xb, mut xc, mut xd) = (x[a], x[b], x[c], x[d]);
    for [first, second] in [[16, 12], [8, 7]] {
        step(&mut xa, xb, &mut xd, first);
        step(&mut xc, xd, &mut xb, second);
    }
    (x[a], x[b], x[c], x[d]) = (xa, xb, xc, xd);
}

/// Adds `from` to `to`, and the sum to `turned` by exclusive or, which is then rotated.
#[inline(always)]
fn step<const L: usize>(to: &mut [u32; L], from: [u32; L], turned: &mut [u32; L], by: u32) {
    for lane in 0..L {
        to[lane] = to[lane].wrapping_add(from[lane]);
        turned[lane] = (turned[lane] ^ to[lane]).rotate_left(by);
    }
}

// prints no bytes, because they are secret
impl fmt::Debug for RandomKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RandomKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks [`permute`] (π) against the cipher, whose block is π(input) + input.
    #[test]
    fn the_permutation_matches_the_cipher() -> Result<()> {
        let random_key = RandomKey::from_bytes(&[0x35; RandomKey::BYTES])?;
        let (item, attempt) = (0x0123_4567_89ab_cdef_u64, 0x7654_3210);
        let mut input = [[0x3535_3535]; 16];
        input[..4].copy_from_slice(&CONSTANTS.map(|word| [word]));
        input[12..].copy_from_slice(&[item as u32, (item >> 32) as u32, attempt, 0].map(|word| [word]));
        let mut permuted = input;
        permute(&mut permuted);
        let sums = permuted.iter().zip(input).flat_map(|([a], [b])| a.wrapping_add(b).to_le_bytes());
        assert!(sums.eq(random_key.block(item, attempt)));
        Ok(())
    }

    /// A hedged block is π of the exclusive or of block and context. So different items have different blocks, even if
    /// the context consists of zeros or of ones.
    #[test]
    fn contexts_are_combined_by_exclusive_or() -> Result<()> {
        let random_key = RandomKey::from_bytes(&[0x35; RandomKey::BYTES])?;
        let mut seen = std::collections::BTreeSet::new();
        for context in [[0; 64], [0xff; 64], core::array::from_fn(|i| i as u8)] {
            for item in 0..4 {
                let mut words = [[0]; 16];
                let block = random_key.block(item, 1);
                for (i, word) in words.iter_mut().enumerate() {
                    let bytes = core::array::from_fn(|j| block[4 * i + j] ^ context[4 * i + j]);
                    *word = [u32::from_le_bytes(bytes)];
                }
                permute(&mut words);
                let hedged = random_key.hedged_block(item, 1, &context);
                assert!(words.iter().flat_map(|[word]| word.to_le_bytes()).eq(hedged));
                assert!(seen.insert(hedged));
            }
        }
        Ok(())
    }

    #[test]
    fn several_blocks_are_those_of_the_cipher() -> Result<()> {
        let random_key = RandomKey::from_bytes(&core::array::from_fn::<u8, 32, _>(|i| i as u8))?;
        let (stream_id, item, first) = (0x89ab_cdef, 0x0123_4567_89ab_cdef, u32::MAX - 20);
        for count in 0..20 {
            let mut blocks = vec![[0; 64]; count];
            random_key.blocks_of_stream(stream_id, item, first, &mut blocks);
            let single = (first..).take(count).map(|number| random_key.block_of_stream(stream_id, item, number));
            assert!(blocks.into_iter().eq(single), "{count}");
        }
        Ok(())
    }
}
