//! The sponges of `keccak.cuh`, for comparison with the crates `shake` and `sha3`.

use core::ops::Range;

use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Source};
use ringforge::{Limits, Result};
use ringforge_testkit::{NamedPlan, Scheme};
use sha3::{Digest, Sha3_256, Sha3_512};
use shake::{ExtendableOutput, Shake128, Shake256, XofReader};

use crate::one_step;

/// Bytes of the messages: none, within a word, at its end, and around the end of a block of SHAKE-256; several blocks.
const LENGTHS: [usize; 10] = [0, 1, 32, 33, 65, 81, 135, 136, 137, 1025];
/// Words that hold the longest of them.
const MESSAGE_WORDS: usize = LENGTHS[LENGTHS.len() - 1].div_ceil(8);
const THREADS: u32 = 32;

/// A hash function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Shake128,
    Shake256,
    Sha3_256,
    Sha3_512,
}

impl Hash {
    /// Fills `out` with as much of the hash of a message.
    fn fill(self, message: &[u8], out: &mut [u8]) {
        match self {
            Self::Shake128 => extend(Shake128::default(), message, out),
            Self::Shake256 => extend(Shake256::default(), message, out),
            Self::Sha3_256 => out.copy_from_slice(&Sha3_256::digest(message)),
            Self::Sha3_512 => out.copy_from_slice(&Sha3_512::digest(message)),
        }
    }
}

fn extend(mut hash: impl ExtendableOutput, message: &[u8], out: &mut [u8]) {
    hash.update(message);
    hash.finalize_xof().read(out);
}

/// Hashes of the beginnings of a message, one for each of the lengths.
#[derive(Debug)]
struct Sponge {
    hash: Hash,
    /// Bytes of each hash.
    bytes: usize,
    ports: [Port; 2],
}

impl Sponge {
    fn plan(hash: Hash, words: usize) -> Result<NamedPlan> {
        let bytes = 8 * words;
        let ports = [Port::input(8 * MESSAGE_WORDS), Port::output(LENGTHS.len() * bytes)];
        let plan = one_step(Self { hash, bytes, ports }, &["messages", "hashes"])?;
        Ok(NamedPlan::new(format!("{bytes} bytes of {hash:?}"), plan))
    }
}

impl Kernel for Sponge {
    fn name(&self) -> &'static str {
        "sponge"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let words = self.bytes / 8;
        let item_words = words * LENGTHS.len();
        let lengths = LENGTHS.map(|length| length.to_string()).join(", ");
        let hash = format!("{:?}", self.hash);
        let prelude = format!(
            "#pragma once\n\
             template <rf::u32... Bytes>\n\
             struct Lengths {{}};\n\
             struct Task {{\n\
             \x20   using Hash = rf::{hash};\n\
             \x20   using lengths = Lengths<{lengths}>;\n\
             \x20   static constexpr rf::u32 threads = {THREADS}, words = {words};\n\
             \x20   static constexpr rf::u32 message_words = {MESSAGE_WORDS}, item_words = {item_words};\n\
             }};\n"
        );
        let built = Built { prelude, launch: Launch::thread_per_item(THREADS) };
        // SAFETY: sponge.cu reads the words of its item and writes the hashes of each length, as the ports say.
        Ok(unsafe { Source::new(self, include_str!("sponge.cu"), &[], built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        args.each(items, |_, (message, out): (&[u8], &mut [u8])| {
            let hashes = LENGTHS.iter().zip(out.chunks_exact_mut(self.bytes));
            hashes.for_each(|(length, out)| self.hash.fill(&message[..*length], out));
            Ok(())
        })
    }
}

/// Every sponge, with outputs within a block, of one block, and of many.
#[derive(Debug)]
pub struct Sponges;

impl Scheme for Sponges {
    const NAME: &'static str = "sponges";

    fn plans(_: &Limits) -> Result<Vec<NamedPlan>> {
        let outputs = [
            (Hash::Shake128, 188),
            (Hash::Shake128, 21),
            (Hash::Shake256, 188),
            (Hash::Shake256, 17),
            (Hash::Shake256, 4),
            (Hash::Sha3_256, 4),
            (Hash::Sha3_512, 8),
        ];
        outputs.into_iter().map(|(hash, words)| Sponge::plan(hash, words)).collect()
    }
}
