//! Merkle trees over the rows of matrices.

use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_symmetric::MerkleCap;
use ringforge::{Engine, Error, Result};

use crate::field::{words, words_mut};
use crate::poseidon2::{DIGEST, HashField, Poseidon2};

/// The hash of a row or of two digests.
pub type Digest<F> = [F; DIGEST];

/// A binary Merkle tree over the rows of matrices of one height, a power of two: caps and paths are those of Plonky3's
/// `MerkleTreeMmcs`, which verifies them.
#[derive(Debug, Clone)]
pub struct MerkleTree<F> {
    /// From the digests of rows to the root.
    layers: Vec<Vec<Digest<F>>>,
}

impl<F: HashField> MerkleTree<F> {
    /// The tree over the rows of these matrices, those of one index one after another.
    ///
    /// # Errors
    /// [`Error::Length`] for no matrices, matrices of different heights, and a height that is no power of two;
    /// [`Error::OutOfMemory`] and what else the device says.
    pub fn new(engine: &Engine, hash: &Poseidon2<F>, matrices: &[&RowMajorMatrix<F>]) -> Result<Self> {
        let (rows, height) = joined(matrices)?;
        let columns = rows.len() / height;
        let of_rows = engine.program_of(&(hash.key(), columns), |planner| hash.rows(planner, columns))?;
        let of_pairs = engine.program_of(&hash.key(), |planner| hash.pairs(planner))?;

        let stream = engine.device().stream()?;
        let digests = |count: usize| engine.device().buffer(count * size_of::<Digest<F>>());
        let mut below = digests(height)?;
        of_rows.on(&stream, height).input("rows", &stream.upload(words(&rows))?).output("digests", &mut below).run()?;
        let mut buffers = vec![below];
        let mut count = height;
        while let (Some(below), 2..) = (buffers.last(), count) {
            count /= 2;
            let mut above = digests(count)?;
            of_pairs.on(&stream, count).input("pairs", below).output("digests", &mut above).run()?;
            buffers.push(above);
        }
        let layers = buffers.iter().map(|buffer| {
            let mut layer = vec![[F::ZERO; DIGEST]; buffer.len() / size_of::<Digest<F>>()];
            stream.read(buffer, words_mut(layer.as_flattened_mut()))?;
            Ok(layer)
        });
        Ok(Self { layers: layers.collect::<Result<_>>()? })
    }

    /// The 2^height digests that stand so many layers below the root; the root for a height of 0. `None` where the tree is not
    /// as high.
    #[must_use]
    pub fn cap(&self, height: usize) -> Option<MerkleCap<F, Digest<F>>> {
        let layer = self.layers.len().checked_sub(height.checked_add(1)?)?;
        self.layers.get(layer).map(|digests| MerkleCap::new(digests.clone()))
    }

    /// The path from the row of this index to a cap: siblings, from the bottom. `None` where there is no such row or cap.
    #[must_use]
    pub fn path(&self, row: usize, cap_height: usize) -> Option<Vec<Digest<F>>> {
        let below_cap = self.layers.len().checked_sub(cap_height.checked_add(1)?)?;
        let rows = self.layers.first()?.len();
        (row < rows).then(|| (0..below_cap).map(|layer| self.layers[layer][(row >> layer) ^ 1]).collect())
    }
}

/// The rows of all matrices side by side, and how many.
fn joined<F: HashField>(matrices: &[&RowMajorMatrix<F>]) -> Result<(Vec<F>, usize)> {
    let refuse = |what, expected, got| Err(Error::Length { what, expected, got });
    let Some(height) = matrices.first().map(|first| first.height()) else {
        return refuse("matrices, at least", 1, 0);
    };
    if !height.is_power_of_two() {
        return refuse("rows, a power of two", height.checked_next_power_of_two().unwrap_or(0), height);
    }
    if let Some(other) = matrices.iter().find(|other| other.height() != height) {
        return refuse("rows, as the first matrix has", height, other.height());
    }
    let rows = (0..height).flat_map(|row| {
        matrices.iter().flat_map(move |matrix| {
            let width = matrix.width();
            matrix.values[row * width..][..width].iter().copied()
        })
    });
    Ok((rows.collect(), height))
}
