//! Checks that stored residues are reduced.

use crypto_bigint::U256;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::modulus::{Modulus, Width};
use crate::ring::Ring;

/// Whether `bytes` holds whole elements of the ring with every residue below its modulus.
pub(crate) fn check(ring: &Ring, bytes: &[u8]) -> Result<()> {
    let size = ring.bytes();
    if !bytes.len().is_multiple_of(size) {
        return Err(Error::Length {
            what: "bytes of ring elements",
            expected: bytes.len().next_multiple_of(size),
            got: bytes.len(),
        });
    }
    let width = ring.width();
    let n = ring.degree();
    let moduli = ring.basis();
    let bad = bytes.par_chunks(n * width.bytes()).enumerate().find_map_first(|(row, chunk)| {
        let q = &moduli[row % moduli.len()];
        first_not_reduced(width, q, chunk).map(|index| (row * n + index, q.value()))
    });
    bad.map_or(Ok(()), |(index, q)| Err(Error::NotReduced { index, q }))
}

fn first_not_reduced(width: Width, q: &Modulus, row: &[u8]) -> Option<usize> {
    let small = q.value_u64();
    row.chunks_exact(width.bytes()).position(|residue| match (width, small) {
        (Width::W256, _) => U256::from_le_slice(residue) >= q.value(),
        (_, None) => false, // every residue of a narrower width is below a q of more than 64 bits
        (_, Some(q)) => {
            let mut value = [0u8; 8];
            value[..residue.len()].copy_from_slice(residue);
            u64::from_le_bytes(value) >= q
        }
    })
}
