//! Merkle trees over the rows of matrices.

use p3_symmetric::MerkleCap;

use crate::hash::HashField;
use crate::layers::Layers;

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
