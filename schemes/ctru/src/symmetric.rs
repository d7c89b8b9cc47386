//! The hash functions: one that stretches a seed, and one that gives two times 32 bytes.

use bytemuck::cast_mut;
use ctr::cipher::{KeyIvInit, StreamCipher};
use hybrid_array::sizes::U64;
use sha2::Sha512;
use sha2::digest::Digest;
use sha3::Sha3_512;
use shake::{ExtendableOutput, Shake256, Update, XofReader};
use zeroize::Zeroizing;

use crate::params::SEED_BYTES;

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
    pub(crate) fn xof(self, seed: &[u8; SEED_BYTES], out: &mut [u8]) {
        match self {
            Self::S => {
                let mut shake = Shake256::default();
                shake.update(seed);
                shake.finalize_xof().read(out);
            }
            Self::R => {
                out.fill(0);
                ctr::Ctr128BE::<aes::Aes256>::new(seed.into(), &[0; 16].into()).apply_keystream(out);
            }
        }
    }

    /// The hash of these parts, one after another, in two halves.
    pub(crate) fn hash(self, parts: &[&[u8]]) -> Zeroizing<[[u8; 32]; 2]> {
        match self {
            Self::S => digest::<Sha3_512>(parts),
            Self::R => digest::<Sha512>(parts),
        }
    }
}

fn digest<D: Digest<OutputSize = U64>>(parts: &[&[u8]]) -> Zeroizing<[[u8; 32]; 2]> {
    let mut out = Zeroizing::new([[0; 32]; 2]);
    let digest = parts.iter().fold(D::new(), |digest, part| digest.chain_update(part));
    digest.finalize_into(cast_mut::<[[u8; 32]; 2], [u8; 64]>(&mut out).into());
    out
}
