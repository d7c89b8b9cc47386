//! The hash functions: one that stretches a seed, and one that gives two times 32 bytes.

use ctr::cipher::{KeyIvInit, StreamCipher};
use ringforge_e8::{Seed, digest};
use sha2::Sha512;
use sha3::Sha3_512;
use zeroize::Zeroizing;

/// Which hash functions a parameter set uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// SHAKE-256 and SHA3-512.
    S,
    /// AES-256 in counter mode and SHA-512.
    R,
}

impl Profile {
    /// Stretches a seed over `out`.
    pub(crate) fn xof(self, seed: &Seed, out: &mut [u8]) {
        match self {
            Self::S => ringforge_e8::xof(seed, [out]),
            Self::R => {
                out.fill(0);
                ctr::Ctr128BE::<aes::Aes256>::new(seed.into(), &[0; 16].into()).apply_keystream(out);
            }
        }
    }

    /// The hash of these parts, one after another, in two halves.
    pub(crate) fn hash(self, parts: &[&[u8]]) -> Zeroizing<[Seed; 2]> {
        match self {
            Self::S => digest::<Sha3_512>(parts),
            Self::R => digest::<Sha512>(parts),
        }
    }
}
