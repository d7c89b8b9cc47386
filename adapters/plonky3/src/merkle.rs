//! Merkle trees over the rows of matrices.

use core::cmp::Reverse;

use p3_matrix::Matrix;
use p3_symmetric::MerkleCap;
use rayon::prelude::*;
use ringforge::{Buffer, Engine, Error, Result, Stream};

use crate::field::words;
use crate::hash::HashField;
use crate::poseidon2::Poseidon2;
use crate::resident;

/// The hash of a row or of other digests.
pub type Digest<F> = <F as HashField>::Digest;

/// A Merkle tree over the rows of matrices: caps, paths and pruned paths are those of Plonky3's `MerkleTreeMmcs` of the hash's
/// arity, which verifies them.
///
/// The digests of the highest matrices' rows are its leaves. The rows of a lower one join at the layer of so many nodes, with
/// heights of ⌈highest / 2^k⌉; matrices of one height are read side by side. Of four children a node has two where rows join
/// at the layer between.
#[derive(Debug, Clone)]
pub struct MerkleTree<F: HashField> {
    /// As the layers say, from the digests of rows to the root.
    digests: Vec<Vec<Digest<F>>>,
    layers: Layers,
}

impl<F: HashField> MerkleTree<F> {
    /// The tree over the rows of these matrices, which are hashed on the device in parts: it needs room for digests.
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
        let layers = Layers::new(groups.iter().map(|group| group[0].height()), hash.arity())?;
        let stream = engine.device().stream()?;
        let digests = groups.iter().map(|group| digests_of_rows(engine, &stream, hash, group));
        resident::MerkleTree::of_digests(engine, &stream, hash, layers, digests)?.download(&stream)
    }

    /// The tree of these digests.
    pub(crate) fn of_layers(digests: Vec<Vec<Digest<F>>>, layers: Layers) -> Self {
        Self { digests, layers }
    }

    /// The layer that stands so many below the root; the root for a height of 0. `None` where the tree is not as high, or
    /// has no 2^height digests there.
    #[must_use]
    pub fn cap(&self, height: usize) -> Option<MerkleCap<F, Digest<F>>> {
        self.layers.cap(height).map(|layer| MerkleCap::new(self.digests[layer].clone()))
    }

    /// Layers above the leaves: the height of the highest cap.
    #[must_use]
    pub fn height(&self) -> usize {
        self.layers.height()
    }

    /// The path from the leaf of this index to a cap: siblings, from the bottom. `None` where there is no such row or cap.
    #[must_use]
    pub fn path(&self, row: usize, cap_height: usize) -> Option<Vec<Digest<F>>> {
        self.layers.path(row, cap_height).map(|siblings| self.siblings(&siblings))
    }

    /// The paths from the leaves of these indices, in any order and as often as one likes, to a cap: of each layer, from the
    /// bottom, the siblings that the paths do not make themselves. `None` where there is no such row or cap.
    #[must_use]
    pub fn paths(&self, rows: &[usize], cap_height: usize) -> Option<F::Paths> {
        let siblings = self.layers.paths(rows, cap_height)?;
        Some(F::paths(self.siblings(&siblings)))
    }

    /// Where digests stand.
    pub(crate) fn layers(&self) -> &Layers {
        &self.layers
    }

    fn siblings(&self, siblings: &[(usize, usize)]) -> Vec<Digest<F>> {
        siblings.iter().map(|&(layer, number)| self.digests[layer][number]).collect()
    }
}

/// Where the digests of a tree stand, from the leaves to the root: as many of a layer, but for the root, as make whole nodes of the
/// tree's arity, digests of zeros behind the others.
#[derive(Debug, Clone)]
pub(crate) struct Layers {
    counts: Vec<usize>,
    /// What lies between a layer and the next.
    steps: Vec<Step>,
    /// Leaves that are rows.
    rows: usize,
}

/// From the digests of a layer to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Digests below a node: the arity, or 2 where rows join between.
    pub(crate) children: usize,
    /// Nodes that have children.
    pub(crate) nodes: usize,
    /// Whether rows join at these nodes.
    pub(crate) joined: bool,
}

impl Layers {
    /// Of a tree of this arity over the rows of matrices of these heights, each once, the largest first.
    ///
    /// # Errors
    /// [`Error::Length`] for no heights, heights of 0, and others than those that Plonky3 has trees for.
    pub(crate) fn new(heights: impl Iterator<Item = usize> + Clone, arity: usize) -> Result<Self> {
        check_heights(heights.clone())?;
        let mut heights = heights.peekable();
        let rows = heights.next().unwrap_or(1);
        let padded = |count: usize| if count > 1 { count.next_multiple_of(arity) } else { count };
        let (mut count, mut counts, mut steps) = (padded(rows), Vec::new(), Vec::new());
        while count > 1 {
            counts.push(count);
            let of_all = (count / arity).next_power_of_two();
            let between = heights.peek().is_some_and(|height| height.next_power_of_two() > of_all);
            let children = if between { 2 } else { arity };
            let nodes = count / children;
            let joins = |height: &usize| height.next_power_of_two() == nodes.next_power_of_two();
            steps.push(Step { children, nodes, joined: heights.next_if(joins).is_some() });
            count = padded(nodes);
        }
        counts.push(count);
        Ok(Self { counts, steps, rows })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Layers above the leaves.
    pub(crate) fn height(&self) -> usize {
        self.steps.len()
    }

    /// Digests of a layer.
    pub(crate) fn count(&self, layer: usize) -> usize {
        self.counts[layer]
    }

    /// From the leaves to the root.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The layer that stands so many below the root, if it has as many digests as a cap.
    pub(crate) fn cap(&self, height: usize) -> Option<usize> {
        let layer = self.height().checked_sub(height)?;
        self.counts[layer].is_power_of_two().then_some(layer)
    }

    /// The layers and numbers of the siblings from a leaf to a cap.
    pub(crate) fn path(&self, row: usize, cap_height: usize) -> Option<Vec<(usize, usize)>> {
        self.paths(&[row], cap_height)
    }

    /// The same from some leaves, without what they make themselves, layer by layer.
    pub(crate) fn paths(&self, rows: &[usize], cap_height: usize) -> Option<Vec<(usize, usize)>> {
        let below_cap = self.height().checked_sub(cap_height)?;
        let mut nodes = rows.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.last().is_some_and(|&last| last >= self.rows) {
            return None;
        }
        let mut all = Vec::new();
        for (layer, &Step { children, .. }) in self.steps[..below_cap].iter().enumerate() {
            for known in nodes.chunk_by(|a, b| a / children == b / children) {
                let first = known[0] / children * children;
                all.extend(
                    (first..first + children).filter(|child| !known.contains(child)).map(|child| (layer, child)),
                );
            }
            nodes.iter_mut().for_each(|node| *node /= children);
            nodes.dedup();
        }
        Some(all)
    }

    /// Of a matrix of this height the row that the leaf of this index stands above.
    pub(crate) fn row_of(&self, leaf: usize, height: usize) -> usize {
        leaf >> (self.rows.next_power_of_two().ilog2() - height.next_power_of_two().ilog2())
    }
}

/// Bytes of rows that go to the device at once, beside the hashing of those before them.
const ROWS_AT_ONCE: usize = 64 << 20;

/// A digest of each row of matrices side by side, on the device.
fn digests_of_rows<F: HashField, M: Matrix<F>>(
    engine: &Engine,
    stream: &Stream,
    hash: &Poseidon2<F>,
    group: &[&M],
) -> Result<Buffer> {
    let (rows, columns) = (group[0].height(), group.iter().map(|matrix| matrix.width()).sum());
    if columns == 0 {
        return Err(length("columns, at least", 1, 0));
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

/// Matrices of one height together, the highest first.
fn by_height<'a, F: HashField, M: Matrix<F> + 'a>(matrices: impl IntoIterator<Item = &'a M>) -> Vec<Vec<&'a M>> {
    let mut matrices: Vec<&M> = matrices.into_iter().collect();
    matrices.sort_by_key(|matrix| Reverse(matrix.height()));
    matrices.chunk_by(|a, b| a.height() == b.height()).map(<[_]>::to_vec).collect()
}

/// Whether Plonky3 has a tree for matrices of these heights, the largest first.
fn check_heights(heights: impl Iterator<Item = usize>) -> Result<()> {
    let mut heights = heights.peekable();
    let Some(&most) = heights.peek() else { return Err(length("matrices, at least", 1, 0)) };
    for height in heights {
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

pub(crate) fn length(what: &'static str, expected: usize, got: usize) -> Error {
    Error::Length { what, expected, got }
}
