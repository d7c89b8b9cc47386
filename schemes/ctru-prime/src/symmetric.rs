//! The hash functions: one that stretches a seed, and one that gives two times 32 bytes.

use bytemuck::cast_mut;
use sha3::{Digest, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};
use zeroize::Zeroizing;

use crate::params::SEED_BYTES;

/// Stretches a seed over these parts, one after another.
pub(crate) fn xof<'a>(seed: &[u8; SEED_BYTES], parts: impl IntoIterator<Item = &'a mut [u8]>) {
    let mut shake = Shake256::default();
    Update::update(&mut shake, seed);
    let mut stream = shake.finalize_xof();
    parts.into_iter().for_each(|part| stream.read(part));
}

/// The hash of these parts, one after another, in two halves.
pub(crate) fn hash(parts: &[&[u8]]) -> Zeroizing<[[u8; 32]; 2]> {
    let mut out = Zeroizing::new([[0; 32]; 2]);
    let digest = parts.iter().fold(Sha3_512::new(), |digest, part| digest.chain_update(part));
    digest.finalize_into(cast_mut::<[[u8; 32]; 2], [u8; 64]>(&mut out).into());
    out
}
