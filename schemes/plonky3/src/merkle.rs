//! Merkle trees over the rows of matrices.

use core::cmp::Reverse;

use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::PrunedMerklePaths;
use p3_symmetric::MerkleCap;
use ringforge::{Buffer, Engine, Error, Result, Stream};

use crate::field::{words, words_mut};
use crate::poseidon2::{DIGEST, HashField, Poseidon2};

/// The hash of a row or of two digests.
pub type Digest<F> = [F; DIGEST];

/// A binary Merkle tree over the rows of matrices: caps, paths and pruned paths are those of Plonky3's `MerkleTreeMmcs` of arity
/// 2, which verifies them.
///
/// The digests of the highest matrices' rows are its leaves. The rows of a lower one join at the layer of so many nodes, with
/// heights of ⌈highest / 2^k⌉; matrices of one height are read side by side.
#[derive(Debug, Clone)]
pub struct MerkleTree<F> {
    /// From the digests of rows to the root; an odd number of them, but for the root, is made even by a digest of zeros.
    layers: Vec<Vec<Digest<F>>>,
    /// The height of the highest matrix.
    rows: usize,
}

impl<F: HashField> MerkleTree<F> {
    /// The tree over the rows of these matrices.
    ///
    /// # Errors
    /// [`Error::Length`] for no matrices, no rows, and heights other than those that Plonky3 has trees for;
    /// [`Error::OutOfMemory`] and what else the device says.
    pub fn new<'a, M: Matrix<F> + 'a>(
        engine: &Engine,
        hash: &Poseidon2<F>,
        matrices: impl IntoIterator<Item = &'a M>,
    ) -> Result<Self> {
        let groups = by_height(matrices);
        check_heights(&groups)?;
        let stream = engine.device().stream()?;
        Self::of_digests(
            engine,
            &stream,
            hash,
            groups.iter().map(|group| Ok((group.height(), digests_of_rows(engine, &stream, hash, group)?))),
        )
    }

    /// The tree over digests of rows, of so many each, the most first.
    pub(crate) fn of_digests(
        engine: &Engine,
        stream: &Stream,
        hash: &Poseidon2<F>,
        groups: impl Iterator<Item = Result<(usize, Buffer)>>,
    ) -> Result<Self> {
        let mut groups = groups.peekable();
        let Some(leaves) = groups.next() else { return Err(length("matrices, at least", 1, 0)) };
        let (rows, leaves) = leaves?;
        let of_pairs = engine.program_of(&hash.key(), |planner| hash.pairs(planner))?;

        let mut layers = Vec::new();
        let mut below = padded(stream, leaves, rows, even(rows))?;
        let mut count = even(rows);
        while count > 1 {
            layers.push(read(stream, &below)?);
            count /= 2;
            let mut above = engine.device().buffer(count * size_of::<Digest<F>>())?;
            let joins = |group: &Result<(usize, Buffer)>| {
                !group.as_ref().is_ok_and(|(rows, _)| rows.next_power_of_two() != count.next_power_of_two())
            };
            match groups.next_if(joins) {
                None => of_pairs.on(stream, count).input("pairs", &below).output("digests", &mut above).run()?,
                Some(group) => {
                    let (rows, digests) = group?;
                    let digests = padded(stream, digests, rows, count)?;
                    let program = engine.program_of(&(hash.key(), "injected"), |planner| hash.injected(planner))?;
                    let call = program.on(stream, count).input("pairs", &below).input("rows", &digests);
                    call.output("digests", &mut above).run()?;
                }
            }
            below = padded(stream, above, count, even(count))?;
            count = even(count);
        }
        layers.push(read(stream, &below)?);
        Ok(Self { layers, rows })
    }

    /// The layer that stands so many below the root; the root for a height of 0. `None` where the tree is not as high, or
    /// has no 2^height digests there.
    #[must_use]
    pub fn cap(&self, height: usize) -> Option<MerkleCap<F, Digest<F>>> {
        let layer = self.layers.get(self.height().checked_sub(height)?)?;
        layer.len().is_power_of_two().then(|| MerkleCap::new(layer.clone()))
    }

    /// Layers between the leaves and the root, both among them, but for one: the height of the highest cap.
    #[must_use]
    pub fn height(&self) -> usize {
        self.layers.len().saturating_sub(1)
    }

    /// The path from the leaf of this index to a cap: siblings, from the bottom. `None` where there is no such row or cap.
    #[must_use]
    pub fn path(&self, row: usize, cap_height: usize) -> Option<Vec<Digest<F>>> {
        let below_cap = self.height().checked_sub(cap_height)?;
        (row < self.rows).then(|| (0..below_cap).map(|layer| self.layers[layer][(row >> layer) ^ 1]).collect())
    }

    /// The paths from the leaves of these indices, in any order and as often as one likes, to a cap: of each layer, from the
    /// bottom, the siblings that the paths do not make themselves. `None` where there is no such row or cap.
    #[must_use]
    pub fn paths(&self, rows: &[usize], cap_height: usize) -> Option<PrunedMerklePaths<F, DIGEST>> {
        let below_cap = self.height().checked_sub(cap_height)?;
        let mut nodes = rows.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.last().is_some_and(|&last| last >= self.rows) {
            return None;
        }
        let mut sibling_hashes = Vec::new();
        for layer in &self.layers[..below_cap] {
            let siblings = nodes.iter().map(|node| node ^ 1).filter(|sibling| nodes.binary_search(sibling).is_err());
            sibling_hashes.extend(siblings.map(|sibling| layer[sibling]));
            nodes.iter_mut().for_each(|node| *node /= 2);
            nodes.dedup();
        }
        Some(PrunedMerklePaths { sibling_hashes })
    }

    /// Of a matrix of this height the row that the leaf of this index stands above.
    pub(crate) fn row_of(&self, leaf: usize, height: usize) -> usize {
        leaf >> (self.rows.next_power_of_two().ilog2() - height.next_power_of_two().ilog2())
    }

    /// Leaves that are rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }
}

/// The number of digests that a layer of so many has.
fn even(count: usize) -> usize {
    if count > 1 { count.next_multiple_of(2) } else { count }
}

/// As many digests, of which those that are not there are zeros.
fn padded(stream: &Stream, digests: Buffer, has: usize, wanted: usize) -> Result<Buffer> {
    if has == wanted {
        return Ok(digests);
    }
    let mut all = stream.upload(&vec![0u32; wanted * DIGEST])?;
    stream.copy(&digests, all.slice_mut(0..digests.len())?)?;
    Ok(all)
}

fn read<F: HashField>(stream: &Stream, digests: &Buffer) -> Result<Vec<Digest<F>>> {
    let mut layer = vec![[F::ZERO; DIGEST]; digests.len() / size_of::<Digest<F>>()];
    stream.read(digests, words_mut(layer.as_flattened_mut()))?;
    Ok(layer)
}

/// A digest of each row, on the device.
fn digests_of_rows<F: HashField>(
    engine: &Engine,
    stream: &Stream,
    hash: &Poseidon2<F>,
    matrix: &RowMajorMatrix<F>,
) -> Result<Buffer> {
    let (rows, columns) = (matrix.height(), matrix.width());
    let program = engine.program_of(&(hash.key(), columns), |planner| hash.rows(planner, columns))?;
    let mut digests = engine.device().buffer(rows * size_of::<Digest<F>>())?;
    let from = stream.upload(words(&matrix.values))?;
    program.on(stream, rows).input("rows", &from).output("digests", &mut digests).run()?;
    Ok(digests)
}

/// The rows of matrices of one height side by side, the highest first.
fn by_height<'a, F: HashField, M: Matrix<F> + 'a>(matrices: impl IntoIterator<Item = &'a M>) -> Vec<RowMajorMatrix<F>> {
    let mut matrices: Vec<&M> = matrices.into_iter().collect();
    matrices.sort_by_key(|matrix| Reverse(matrix.height()));
    let groups = matrices.chunk_by(|a, b| a.height() == b.height()).map(|group| {
        let (height, width) = (group[0].height(), group.iter().map(|matrix| matrix.width()).sum());
        let mut rows = Vec::with_capacity(height * width);
        for row in 0..height {
            rows.extend(group.iter().filter_map(|matrix| matrix.row(row)).flatten());
        }
        RowMajorMatrix::new(rows, width)
    });
    groups.collect()
}

/// Whether Plonky3 has a tree for matrices of these heights, the largest first.
fn check_heights<F: HashField>(groups: &[RowMajorMatrix<F>]) -> Result<()> {
    let Some(most) = groups.first().map(Matrix::height) else { return Err(length("matrices, at least", 1, 0)) };
    for height in groups.iter().map(Matrix::height) {
        if height == 0 {
            return Err(length("rows, at least", 1, 0));
        }
        let halvings = most.next_power_of_two().ilog2() - height.next_power_of_two().ilog2();
        let expected = most.div_ceil(1 << halvings);
        if height != expected {
            return Err(length("rows, the highest matrix's halved and rounded up some times,", expected, height));
        }
    }
    Ok(())
}

fn length(what: &'static str, expected: usize, got: usize) -> Error {
    Error::Length { what, expected, got }
}
