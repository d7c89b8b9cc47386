//! Random bytes and ring elements for batches of up to a gigabyte, generated in parallel. The functions return an error
//! if a batch would not fit into memory.

use rayon::prelude::*;
use ringforge::{Job, Modulus, Op, PolyType, Result, U256, Width};
use ringforge_testkit::{self, Named, Random};

use crate::memory;

/// Bytes per parallel task.
const SHARE_BYTES: usize = 1 << 20;

/// Returns `batch` elements of a ring. The first `edges` elements mix random residues with edge cases of reductions;
/// the others are uniformly random.
pub fn elements(ring: &PolyType, seed: u64, edges: usize, batch: usize) -> Result<Vec<u8>> {
    memory::fits(batch, ring.bytes())?;
    let row_bytes = ring.degree() * ring.width().bytes();
    let mut bytes = vec![0; batch * ring.bytes()];
    bytes.par_chunks_mut(row_bytes).enumerate().for_each(|(row, bytes)| {
        let q = &ring.basis()[row % ring.basis().len()];
        bytes.par_chunks_mut(SHARE_BYTES).enumerate().for_each(|(share, bytes)| {
            let number = (row as u64) << 32 | share as u64;
            fill(bytes, q, ring.width(), &mut Random::new(seed ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93)));
        });
    });
    let edges = ringforge_testkit::residues(ring, seed, edges.min(batch));
    bytes[..edges.len()].copy_from_slice(&edges);
    Ok(bytes)
}

/// Returns the operands of a transform or a product, by name. Evaluations are random residues, like coefficients.
pub fn operands(job: &Job, random: &mut Random, edges: usize, batch: usize) -> Result<Named> {
    let names = if job.op == Op::Mul { &["a", "b"][..] } else { &["from"] };
    names.iter().map(|name| Ok(((*name).into(), elements(&job.poly, random.bits(), edges, batch)?))).collect()
}

/// Returns `batch` items of `size` random bytes.
pub fn bytes(seed: u64, size: usize, batch: usize) -> Result<Vec<u8>> {
    memory::fits(batch, size)?;
    Ok(ringforge_testkit::bytes(seed, size * batch))
}

/// Fills the bytes with uniform residues in [0, q), in the memory format of this width.
fn fill(bytes: &mut [u8], q: &Modulus, width: Width, random: &mut Random) {
    let scale = q.value_u64().unwrap_or(0);
    let mut word = || ((u128::from(random.bits()) * u128::from(scale)) >> 64) as u64;
    match width {
        Width::W16 => bytes.chunks_exact_mut(2).for_each(|b| b.copy_from_slice(&(word() as u16).to_le_bytes())),
        Width::W32 => bytes.chunks_exact_mut(4).for_each(|b| b.copy_from_slice(&(word() as u32).to_le_bytes())),
        Width::W64 => bytes.chunks_exact_mut(8).for_each(|b| b.copy_from_slice(&word().to_le_bytes())),
        Width::W256 => {
            bytes.chunks_exact_mut(32).for_each(|b| b.copy_from_slice(wide(q, random).to_le_bytes().as_ref()));
        }
    }
}

/// Returns a uniform residue modulo a wide q, by rejection sampling.
fn wide(q: &Modulus, random: &mut Random) -> U256 {
    loop {
        let words: [u64; 4] = core::array::from_fn(|_| random.bits());
        let mut bytes = [0; 32];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
        let x = U256::from_le_slice(&bytes).shr_vartime(256 - q.bits());
        if x < q.value() {
            return x;
        }
    }
}
