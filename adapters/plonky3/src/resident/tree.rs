//! Merkle trees on the device.

use core::cmp::Reverse;
use core::marker::PhantomData;
use core::ops::Range;

use p3_symmetric::MerkleCap;
use ringforge::run::BufferSlice;
use ringforge::{Buffer, Engine, Error, Result, Stream};

use crate::field::elements;
use crate::gather::Gathering;
use crate::hash::HashField;
use crate::layers::{Layers, Step, length};
use crate::layout::Layout;
use crate::merkle::Digest;
use crate::poseidon2::Poseidon2;
use crate::resident::{Matrix, Rows};
use crate::sponge::Sponges;

/// A [Merkle tree](crate::MerkleTree) whose digests stay on the device.
#[derive(Debug)]
pub struct MerkleTree<F: HashField> {
    engine: Engine,
    /// The digests, in pieces of one layer or several that follow each other.
    pieces: Vec<Buffer>,
    /// For each layer from the leaves to the root, its piece, and the number of digests in the piece before it.
    places: Vec<(usize, usize)>,
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
        let pieces = vec![padded::<F>(stream, groups.next().ok_or_else(missing)??, layers.count(0))?];
        Self::climb(engine, stream, hash, layers, pieces, groups)
    }

    /// The tree whose leaves are those of these trees, one after another. The trees may be on other devices of the same kind.
    /// They have the same number of rows, a power of two and a multiple of the arity. The first one is on this device. The
    /// lower layers are copied, those of other devices on `copies`; the layers above all trees are made on `stream`.
    ///
    /// # Errors
    /// Errors of the devices.
    pub(crate) fn joined(
        engine: &Engine,
        [stream, copies]: [&Stream; 2],
        hash: &Poseidon2<F>,
        trees: &[Self],
    ) -> Result<Self> {
        let each = &trees[0].layers;
        let layers = Layers::new(core::iter::once(trees.len() * each.rows()), hash.arity())?;
        let is_joined = |layer: &usize| {
            let children = |layers: &Layers| layers.steps()[layer - 1].children;
            layers.count(*layer) == trees.len() * each.count(*layer)
                && (*layer == 0 || children(&layers) == children(each))
        };
        let joined = (0..=each.height()).take_while(is_joined).count();
        let mut pieces = Vec::with_capacity(joined);
        // the highest first, because the layers above wait for it
        for layer in (0..joined).rev() {
            let bytes = each.count(layer) * size_of::<Digest<F>>();
            let mut piece = engine.device().buffer_of_parts(trees.len() * bytes)?;
            for (i, tree) in trees.iter().enumerate() {
                // a copy within the device is a kernel: on `copies` it could wait behind other kernels, and with it the
                // copies from other devices, whose memory then stays in use
                let on = if i == 0 { stream } else { copies };
                on.copy(tree.layer(layer)?, piece.slice_mut(i * bytes..(i + 1) * bytes)?)?;
            }
            pieces.insert(0, piece);
        }
        Self::climb(engine, stream, hash, layers, pieces, core::iter::empty())
    }

    /// The tree of these lowest layers, one in each piece, with the layers above them.
    fn climb(
        engine: &Engine,
        stream: &Stream,
        hash: &Poseidon2<F>,
        layers: Layers,
        mut pieces: Vec<Buffer>,
        mut groups: impl Iterator<Item = Result<Buffer>>,
    ) -> Result<Self> {
        let of_digest = size_of::<Digest<F>>();
        let mut places: Vec<_> = (0..pieces.len()).map(|piece| (piece, 0)).collect();
        while places.len() <= layers.steps().len() {
            let (layer, piece) = (places.len() - 1, pieces.len());
            let (from, before) = places[layer];
            let count = layers.count(layer);
            let below = pieces[from].slice(before * of_digest..(before + count) * of_digest)?;
            let (step, climbed) = (layers.steps()[layer], layers.climbed(layer));
            // the last digests of a layer may be padding that completes nodes
            let total = (1..=climbed).map(|above| layers.count(layer + above)).sum::<usize>();
            let above = match step.nodes == layers.count(layer + 1) {
                true => engine.device().buffer(total * of_digest)?,
                false => stream.zeros(total * of_digest)?,
            };
            pieces.push(compress(engine, stream, hash, (step, climbed, count), below, above, || {
                padded::<F>(stream, groups.next().ok_or_else(missing)??, step.nodes)
            })?);
            let mut begin = 0;
            for above in 1..=climbed {
                places.push((piece, begin));
                begin += layers.count(layer + above);
            }
        }
        Ok(Self { engine: engine.clone(), pieces, places, layers, field: PhantomData })
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
        let mut gathering = Gathering::default();
        let paths = self.gather(&mut gathering, rows, cap_height)?;
        Ok(Self::found(&gathering.finish(&self.engine, stream)?, paths))
    }

    /// Gathers the digests of [`paths`](Self::paths). Returns the ranges of their elements.
    ///
    /// # Errors
    /// As [`MerkleTree::path`].
    pub(crate) fn gather<'a>(
        &'a self,
        to: &mut Gathering<'a>,
        rows: &[usize],
        cap_height: usize,
    ) -> Result<Vec<Range<usize>>> {
        let siblings = self.layers.paths(rows, cap_height).ok_or_else(|| self.no_path(rows, cap_height))?;
        Ok(self.gather_siblings(to, &siblings))
    }

    /// Gathers the rows of a matrix that belong to the leaves with these indices.
    ///
    /// # Errors
    /// [`Error::Length`] if a leaf does not exist.
    pub(crate) fn gather_rows<'a>(
        &self,
        to: &mut Gathering<'a>,
        matrix: &'a Matrix<F>,
        leaves: &[usize],
    ) -> Result<Rows<F>> {
        let numbers: Vec<_> = leaves.iter().map(|&leaf| self.row_of(leaf, matrix.height())).collect();
        Ok(Rows::Gathered(matrix.gather(to, &numbers)?, matrix.width()))
    }

    /// The paths whose digests were gathered.
    pub(crate) fn found(elements: &[F], paths: Vec<Range<usize>>) -> F::Paths {
        F::paths(paths.into_iter().flat_map(|range| of_elements::<F>(&elements[range])).collect())
    }

    /// Copies the tree to the host.
    ///
    /// # Errors
    /// [`Error::ForeignDevice`] for a stream of another device; other errors of the device.
    pub fn download(&self, stream: &Stream) -> Result<crate::MerkleTree<F>> {
        let digests = (0..self.places.len()).map(|layer| self.read(stream, layer)).collect::<Result<_>>()?;
        Ok(crate::MerkleTree::of_layers(digests, self.layers.clone()))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The row of a matrix of this height that belongs to the leaf of this index.
    pub(crate) fn row_of(&self, leaf: usize, height: usize) -> usize {
        self.layers.row_of(leaf, height)
    }

    /// Copies the digests at these (layer, index) pairs to the host. They are ordered by layer.
    fn siblings(&self, stream: &Stream, siblings: &[(usize, usize)]) -> Result<Vec<Digest<F>>> {
        let mut gathering = Gathering::default();
        let ranges = self.gather_siblings(&mut gathering, siblings);
        let found = gathering.finish::<F>(&self.engine, stream)?;
        Ok(ranges.into_iter().flat_map(|range| of_elements::<F>(&found[range])).collect())
    }

    fn gather_siblings<'a>(&'a self, to: &mut Gathering<'a>, siblings: &[(usize, usize)]) -> Vec<Range<usize>> {
        let piece = |layer: usize| self.places[layer].0;
        let groups = siblings.chunk_by(|(a, _), (b, _)| piece(*a) == piece(*b));
        let gather = |group: &[(usize, usize)]| {
            let from = &self.pieces[piece(group[0].0)];
            let shape = (Layout::Rows, from.len() / size_of::<Digest<F>>(), F::DIGEST);
            to.rows::<F>(from, shape, group.iter().map(|(layer, index)| self.places[*layer].1 + index))
        };
        groups.map(gather).collect()
    }

    /// The digests of a layer.
    fn layer(&self, layer: usize) -> Result<BufferSlice<'_>> {
        let ((piece, before), of_digest) = (self.places[layer], size_of::<Digest<F>>());
        self.pieces[piece].slice(before * of_digest..(before + self.layers.count(layer)) * of_digest)
    }

    fn read(&self, stream: &Stream, layer: usize) -> Result<Vec<Digest<F>>> {
        let digests = stream.download::<F::Word>(self.layer(layer)?)?;
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

/// Enqueues one step from the `count` digests of a layer, or several steps that are climbed at once, and returns the digests
/// of the layers above.
fn compress<F: HashField>(
    engine: &Engine,
    stream: &Stream,
    hash: &Poseidon2<F>,
    (step, climbed, count): (Step, usize, usize),
    below: BufferSlice<'_>,
    mut above: Buffer,
    rows: impl FnOnce() -> Result<Buffer>,
) -> Result<Buffer> {
    if climbed > 1 {
        let key = (hash.key_of_digests(), "climbed", step.children, count, climbed);
        let program = engine.program_of(&key, |planner| hash.climbed(planner, step.children, count, climbed))?;
        program.on(stream, 1).input("children", below).output("digests", &mut above).run()?;
        return Ok(above);
    }
    let key = (hash.key_of_digests(), step.children, step.joined);
    let program = engine.program_of(&key, |planner| match step.joined {
        true => hash.injected(planner, step.children),
        false => hash.nodes(planner, step.children),
    })?;
    let bytes = step.nodes * size_of::<Digest<F>>();
    let joined = step.joined.then(rows).transpose()?;
    let call = program.on(stream, step.nodes).input("children", below);
    let call = match &joined {
        Some(rows) => call.input("rows", rows),
        None => call,
    };
    call.output("digests", above.slice_mut(0..bytes)?).run()?;
    Ok(above)
}

fn missing() -> Error {
    length("matrices of a height that joins the tree (must be at least 1)", 1, 0)
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
