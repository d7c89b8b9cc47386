//! Merkle trees over matrices in host memory.

use core::cmp::Reverse;

use p3_matrix::Matrix;
use rayon::prelude::*;
use ringforge::{Buffer, Engine, Result, Stream};

use crate::field::words;
use crate::hash::HashField;
use crate::layers::{Layers, length};
use crate::merkle::{Digest, MerkleTree};
use crate::poseidon2::Poseidon2;
use crate::resident;

impl<F: HashField> MerkleTree<F> {
    /// The tree over the rows of these matrices. Rows are copied to the device and hashed there in parts, so the device
    /// must have room for all digests, but not for the matrices.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) if there are no matrices, no rows or no columns, or if Plonky3 has no
    /// tree for the heights; [`Error::OutOfMemory`](crate::Error::OutOfMemory) and other errors of the device.
    pub fn new<'a, M: Matrix<F> + 'a>(
        engine: &Engine,
        hash: &Poseidon2<F>,
        matrices: impl IntoIterator<Item = &'a M>,
    ) -> Result<Self> {
        let groups = by_height(matrices);
        let layers = Layers::new(groups.iter().map(|group| group[0].height()), hash.arity())?;
        let stream = engine.device().stream()?;
        let digests = groups.iter().map(|group| digests_of_rows(engine, &stream, hash, group));
        resident::MerkleTree::of_digests(engine, &stream, hash, layers, digests)?.download(&stream)
    }
}

/// Bytes of rows per copy to the device. Each copy overlaps the hashing of the previous rows.
const ROWS_AT_ONCE: usize = 64 << 20;

/// Hashes the concatenation of row i of all matrices to digest i, on the device. All matrices have the same height.
fn digests_of_rows<F: HashField, M: Matrix<F>>(
    engine: &Engine,
    stream: &Stream,
    hash: &Poseidon2<F>,
    group: &[&M],
) -> Result<Buffer> {
    let (rows, columns) = (group[0].height(), group.iter().map(|matrix| matrix.width()).sum());
    if columns == 0 {
        return Err(length("number of columns (must be at least 1)", 1, 0));
    }
    let program = engine.program_of(&(hash.key_of_rows(), columns), |planner| hash.rows(planner, columns))?;
    let copies = engine.device().stream()?;
    let mut digests = stream.zeros(rows * size_of::<Digest<F>>())?;
    let at_once = (ROWS_AT_ONCE / (columns * size_of::<F>())).clamp(1, rows.max(1));
    let mut part = F::zero_vec(at_once * columns);
    for first in (0..rows).step_by(at_once) {
        let count = at_once.min(rows - first);
        let part = &mut part[..count * columns];
        ringforge_cpu::threads::start();
        part.par_chunks_exact_mut(columns).enumerate().for_each(|(i, row)| {
            let values = group.iter().filter_map(|matrix| matrix.row(first + i)).flatten();
            row.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        });
        let from = copies.upload(words(part))?;
        let to = digests.slice_mut(first * size_of::<Digest<F>>()..(first + count) * size_of::<Digest<F>>())?;
        program.on(stream, count).input("rows", &from).output("digests", to).run()?;
    }
    Ok(digests)
}

/// Groups matrices by height, the highest first.
fn by_height<'a, F: HashField, M: Matrix<F> + 'a>(matrices: impl IntoIterator<Item = &'a M>) -> Vec<Vec<&'a M>> {
    let mut matrices: Vec<&M> = matrices.into_iter().collect();
    matrices.sort_by_key(|matrix| Reverse(matrix.height()));
    matrices.chunk_by(|a, b| a.height() == b.height()).map(<[_]>::to_vec).collect()
}
