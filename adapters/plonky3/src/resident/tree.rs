//! Merkle trees on the device.

use core::cmp::Reverse;
use core::marker::PhantomData;

use p3_symmetric::MerkleCap;
use ringforge::{Buffer, Engine, Error, Result, Stream};

use crate::field::elements;
use crate::gather::gather_digests;
use crate::hash::HashField;
use crate::layers::{Layers, length};
use crate::merkle::Digest;
use crate::poseidon2::Poseidon2;
use crate::resident::Matrix;
use crate::sponge::Sponges;

/// A [Merkle tree](crate::MerkleTree) whose digests stay on the device.
#[derive(Debug)]
pub struct MerkleTree<F: HashField> {
    engine: Engine,
    /// The digests of each layer, from the leaves to the root.
    digests: Vec<Buffer>,
    layers: Layers,
    field: PhantomData<F>,
}

impl<F: HashField> MerkleTree<F> {
    /// The tree over the rows of these matrices. Rows of matrices of the same height are concatenated.
    ///
    /// # Errors
    /// [`Error::Length`] if there are no matrices, or if Plonky3 has no tree for their heights;
    /// [`Error::ForeignDevice`] if a matrix or the stream belongs to another device; [`Error::OutOfMemory`] and other
    /// errors of the device.
    pub fn new(engine: &Engine, stream: &Stream, hash: &Poseidon2<F>, matrices: &[&Matrix<F>]) -> Result<Self> {
        let mut sorted = matrices.to_vec();
        sorted.sort_by_key(|matrix| Reverse(matrix.height()));
        let groups: Vec<_> = sorted.chunk_by(|a, b| a.height() == b.height()).collect();
        let layers = Layers::new(groups.iter().map(|group| group[0].height()), hash.arity())?;
        let digests = groups.into_iter().map(|group| {
            let height = group[0].height();
            let mut sponges = Sponges::new(engine, hash, height, group.iter().map(|matrix| matrix.width()).sum());
            for matrix in group {
                sponges.absorb(stream, matrix.elements().into(), matrix.layout(), matrix.width())?;
            }
            sponges.digests()
        });
        Self::of_digests(engine, stream, hash, layers, digests)
    }

    /// The tree with these layers. `groups` yields the digests of the rows of each height, the highest first.
    pub(crate) fn of_digests(
        engine: &Engine,
        stream: &Stream,
        hash: &Poseidon2<F>,
        layers: Layers,
        mut groups: impl Iterator<Item = Result<Buffer>>,
    ) -> Result<Self> {
        let missing = || length("matrices of a height that joins the tree (must be at least 1)", 1, 0);
        let mut digests = vec![padded::<F>(stream, groups.next().ok_or_else(missing)??, layers.count(0))?];
        let mut last = None;
        for (layer, step) in layers.steps().iter().enumerate() {
            // the last digests of a layer may be padding that completes nodes
            let (count, padded_count) = (step.nodes, layers.count(layer + 1));
            let below = &digests[layer];
            let mut above = match count == padded_count {
                true => engine.device().buffer(padded_count * size_of::<Digest<F>>())?,
                false => stream.zeros(padded_count * size_of::<Digest<F>>())?,
            };
            let to = above.slice_mut(0..count * size_of::<Digest<F>>())?;
            // nearly all layers have the same program
            let program = match last.take() {
                Some((kind, program)) if kind == (step.children, step.joined) => program,
                _ => {
                    let key = (hash.key_of_digests(), step.children, step.joined);
                    engine.program_of(&key, |planner| match step.joined {
                        true => hash.injected(planner, step.children),
                        false => hash.nodes(planner, step.children),
                    })?
                }
            };
            let call = program.on(stream, count).input("children", below).output("digests", to);
            match step.joined {
                true => {
                    let rows = padded::<F>(stream, groups.next().ok_or_else(missing)??, count)?;
                    call.input("rows", &rows).run()?;
                }
                false => call.run()?,
            }
            last = Some(((step.children, step.joined), program));
            digests.push(above);
        }
        Ok(Self { engine: engine.clone(), digests, layers, field: PhantomData })
    }

    /// The number of layers above the leaves, which is the height of the highest cap.
    #[must_use]
    pub fn height(&self) -> usize {
        self.layers.height()
    }

    /// The cap of this height: the layer `height` steps below the root, which is the root for 0.
    ///
    /// # Errors
    /// [`Error::Length`] if the tree is lower, or if the number of digests in that layer is not a power of two;
    /// [`Error::ForeignDevice`] for a stream of another device; other errors of the device.
    pub fn cap(&self, stream: &Stream, height: usize) -> Result<MerkleCap<F, Digest<F>>> {
        let layer = self.layers.cap(height).ok_or_else(|| self.no_cap(height))?;
        Ok(MerkleCap::new(self.read(stream, layer)?))
    }

    /// The path from the leaf of this index to a cap: the sibling of each node on the path, from the leaf upwards.
    ///
    /// # Errors
    /// [`Error::Length`] if the leaf or the cap does not exist; [`Error::ForeignDevice`] for a stream of another
    /// device; other errors of the device.
    pub fn path(&self, stream: &Stream, row: usize, cap_height: usize) -> Result<Vec<Digest<F>>> {
        let siblings = self.layers.path(row, cap_height).ok_or_else(|| self.no_path(&[row], cap_height))?;
        self.siblings(stream, &siblings)
    }

    /// The pruned paths from the leaves of these indices to a cap, like [those of a tree on the
    /// host](crate::MerkleTree::paths).
    ///
    /// # Errors
    /// The errors of [`MerkleTree::path`].
    pub fn paths(&self, stream: &Stream, rows: &[usize], cap_height: usize) -> Result<F::Paths> {
        let siblings = self.layers.paths(rows, cap_height).ok_or_else(|| self.no_path(rows, cap_height))?;
        Ok(F::paths(self.siblings(stream, &siblings)?))
    }

    /// Copies the tree to the host.
    ///
    /// # Errors
    /// [`Error::ForeignDevice`] for a stream of another device; other errors of the device.
    pub fn download(&self, stream: &Stream) -> Result<crate::MerkleTree<F>> {
        let digests = (0..self.digests.len()).map(|layer| self.read(stream, layer)).collect::<Result<_>>()?;
        Ok(crate::MerkleTree::of_layers(digests, self.layers.clone()))
    }

    /// The row of a matrix of this height that belongs to the leaf of this index.
    pub(crate) fn row_of(&self, leaf: usize, height: usize) -> usize {
        self.layers.row_of(leaf, height)
    }

    /// Copies the digests at these (layer, index) pairs to the host.
    fn siblings(&self, stream: &Stream, siblings: &[(usize, usize)]) -> Result<Vec<Digest<F>>> {
        let digests: Vec<F> = gather_digests(&self.engine, stream, &self.digests, F::DIGEST, siblings)?;
        Ok(of_elements::<F>(&digests).collect())
    }

    fn read(&self, stream: &Stream, layer: usize) -> Result<Vec<Digest<F>>> {
        let digests = stream.download::<F::Word>(&self.digests[layer])?;
        Ok(of_elements::<F>(elements(&digests)).collect())
    }

    fn no_cap(&self, height: usize) -> Error {
        length("height of the cap (must be at most the tree's, at a layer of 2^k digests)", self.height(), height)
    }

    fn no_path(&self, rows: &[usize], cap_height: usize) -> Error {
        match rows.iter().find(|&&row| row >= self.layers.rows()) {
            Some(&row) => length("index of a leaf (must be below the number of rows)", self.layers.rows(), row),
            None => self.no_cap(cap_height),
        }
    }
}

/// Splits contiguous elements into digests.
fn of_elements<F: HashField>(elements: &[F]) -> impl Iterator<Item = Digest<F>> {
    elements.chunks_exact(F::DIGEST).map(|elements| {
        let mut digest = Digest::<F>::default();
        digest.as_mut().copy_from_slice(elements);
        digest
    })
}

/// Pads digests with zero digests to `wanted` digests.
fn padded<F: HashField>(stream: &Stream, digests: Buffer, wanted: usize) -> Result<Buffer> {
    let bytes = wanted * size_of::<Digest<F>>();
    if digests.len() == bytes {
        return Ok(digests);
    }
    let mut all = stream.zeros(bytes)?;
    stream.copy(&digests, all.slice_mut(0..digests.len())?)?;
    Ok(all)
}
