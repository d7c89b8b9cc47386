//! Commitments to traces whose extensions stay on the device.

mod divided;

use core::cmp::Reverse;
use core::ops::Range;

use p3_matrix::dense::{RowMajorMatrix, RowMajorMatrixView};
use ringforge::{Buffer, Engine, Error, Result, Stream};

use crate::field::words;
use crate::gather::Gathering;
use crate::hash::HashField;
use crate::layers::Layers;
use crate::layout::Layout;
use crate::poseidon2::Poseidon2;
use crate::resident::matrix::extended_bytes;
use crate::resident::{Matrix, MerkleTree};
use crate::sponge::Sponges;
use crate::transform::Transform;
use crate::transpose::transpose;

pub(crate) use divided::{Divided, Division, Member, commit_chunks, commit_divided};

/// Bytes of an extension that are computed and hashed at once, while the next columns are copied to the device.
/// Smaller parts are slower, and larger ones overlap less.
const AT_ONCE: usize = 256 << 20;
/// Minimum bytes of each row in a copy of some columns of a row-major trace; shorter pieces copy slowly.
const OF_A_ROW: usize = 256;

/// A trace and the shift of the coset that it is extended to.
#[derive(Debug, Clone, Copy)]
pub struct Trace<'a, F> {
    values: Values<'a, F>,
    shift: F,
}

#[derive(Debug, Clone, Copy)]
enum Values<'a, F> {
    Columns(&'a [F], usize),
    Rows(&'a [F], usize),
    Resident(&'a Matrix<F>),
}

impl<'a, F: HashField> Trace<'a, F> {
    /// A trace of contiguous columns of this height in host memory. They are copied while earlier columns are
    /// extended and hashed, fastest from [pinned memory](super::Pinned).
    #[must_use]
    pub fn columns(columns: &'a [F], height: usize, shift: F) -> Self {
        Self { values: Values::Columns(columns, height), shift }
    }

    /// A trace of contiguous rows of this width in host memory. It is copied in parts like [columns](Self::columns)
    /// and transposed on the device, so its extension is column-major.
    #[must_use]
    pub fn rows(rows: &'a [F], width: usize, shift: F) -> Self {
        Self { values: Values::Rows(rows, width), shift }
    }

    /// A trace on the device, which stays unchanged. Its extension is row-major or column-major as the matrix is.
    #[must_use]
    pub fn resident(matrix: &'a Matrix<F>, shift: F) -> Self {
        Self { values: Values::Resident(matrix), shift }
    }

    /// The same trace, to be extended to the coset of this shift.
    pub(crate) fn on_coset(self, shift: F) -> Self {
        Self { shift, ..self }
    }

    /// The trace if it is on the device.
    pub(crate) fn matrix(&self) -> Option<&'a Matrix<F>> {
        if let Values::Resident(matrix) = self.values { Some(matrix) } else { None }
    }

    /// Copies a trace to contiguous columns on the device; `None` if it is there as such.
    pub(crate) fn as_columns(&self, engine: &Engine, stream: &Stream) -> Result<Option<Matrix<F>>> {
        match (self.on_device(engine, stream)?, self.matrix()) {
            (Some(copy), _) => copy.into_columns(stream).map(Some),
            (None, Some(matrix)) if matrix.is_columns() => Ok(None),
            (None, Some(matrix)) => matrix.to_columns(stream).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Copies a trace from the host to the device; `None` if it is there.
    pub(crate) fn on_device(&self, engine: &Engine, stream: &Stream) -> Result<Option<Matrix<F>>> {
        Ok(match self.values {
            Values::Resident(_) => None,
            Values::Columns(values, height) => Some(Matrix::new(engine, stream.upload(words(values))?, height)?),
            Values::Rows(values, width) => Some(Matrix::of_rows(engine, stream.upload(words(values))?, width)?),
        })
    }

    /// Copies the trace to the host as rows.
    pub(crate) fn on_host(&self) -> Result<RowMajorMatrix<F>> {
        Ok(match self.values {
            Values::Resident(matrix) => matrix.download(&matrix.elements().device().stream()?)?,
            Values::Columns(values, height) => RowMajorMatrixView::new(values, height).transpose(),
            Values::Rows(values, width) => RowMajorMatrix::new(values.to_vec(), width),
        })
    }

    /// Checks that the trace has this width and a height that can be extended.
    ///
    /// # Errors
    /// [`Error::Length`] if it has not.
    pub(crate) fn check(&self, width: usize, added_bits: usize) -> Result<()> {
        let got = self.width()?;
        if got != width {
            return Err(Error::Length { what: "columns of the trace", expected: width, got });
        }
        Transform::Extend(added_bits, self.shift).check(self.height())
    }

    pub(crate) fn height(&self) -> usize {
        match self.values {
            Values::Columns(_, height) => height,
            Values::Rows(rows, width) => rows.len().checked_div(width).unwrap_or(0),
            Values::Resident(matrix) => matrix.height(),
        }
    }

    /// Returns the number of columns, or [`Error::Length`] unless there is at least one and all rows or columns are
    /// whole.
    fn width(&self) -> Result<usize> {
        let (what, whole, got) = match self.values {
            Values::Resident(matrix) => return Ok(matrix.width()),
            Values::Columns(values, height) => {
                ("elements of the columns (must be a positive multiple of the height)", height, values.len())
            }
            Values::Rows(values, width) => {
                ("elements of the rows (must be a positive multiple of the width)", width, values.len())
            }
        };
        if got == 0 || whole == 0 || !got.is_multiple_of(whole) {
            return Err(Error::Length { what, expected: whole.max(1), got });
        }
        Ok(got / self.height())
    }

    /// Extends the trace, and lets the sponges absorb the columns of the extension as they are computed.
    fn extended(&self, at: &Place<'_>, sponges: &mut Sponges<'_, F>) -> Result<Matrix<F>> {
        match self.values {
            Values::Resident(matrix) => {
                let extension = matrix.extended(at.stream, at.added_bits, self.shift)?;
                sponges.absorb(at.stream, extension.elements().into(), extension.layout(), extension.width())?;
                Ok(extension)
            }
            Values::Columns(values, height) => {
                let copy = |to: &mut Buffer, columns: &Range<usize>| {
                    at.copies.write(to, words(&values[columns.start * height..columns.end * height]))
                };
                self.in_parts(at, sponges, self.at_once(at.added_bits), copy)
            }
            Values::Rows(values, width) => {
                let copy = |to: &mut Buffer, columns: &Range<usize>| {
                    at.copies.write_columns(to, words(values), width, columns.clone())
                };
                self.in_parts(at, sponges, self.at_once(at.added_bits), copy)
            }
        }
    }

    /// Makes the extension of a trace of contiguous columns on the device in parts, and passes each with its columns to
    /// `work`.
    fn each_part(&self, at: &Place<'_>, mut work: impl FnMut(Range<usize>, Buffer) -> Result<()>) -> Result<()> {
        let Values::Resident(matrix) = self.values else { return Err(self.not_columns()) };
        let (height, width, at_once) = (matrix.height(), matrix.width(), self.at_once(at.added_bits));
        if !matrix.is_columns() {
            return Err(self.not_columns());
        }
        let (transform, of_column) = (Transform::Extend(at.added_bits, self.shift), height * size_of::<F>());
        let program = transform.program(at.engine, height.ilog2() as usize, matrix.layout(), at_once)?;
        for start in (0..width).step_by(at_once) {
            let columns = start..width.min(start + at_once);
            let mut part = at.engine.device().buffer(extended_bytes(columns.len() * of_column, at.added_bits)?)?;
            let from = matrix.elements().slice(start * of_column..columns.end * of_column)?;
            program.on(at.stream, columns.len()).input("from", from).output("to", &mut part).run()?;
            work(columns, part)?;
        }
        Ok(())
    }

    fn not_columns(&self) -> Error {
        Error::Mismatch {
            what: "the trace".into(),
            expected: "contiguous columns on the device".into(),
            got: "another layout".into(),
        }
    }

    /// The rows of the extension with these indices, each made from a trace of contiguous columns on the device.
    pub(crate) fn rows_of_extension(
        &self,
        engine: &Engine,
        stream: &Stream,
        added_bits: usize,
        rows: &[usize],
    ) -> Result<Vec<Vec<F>>> {
        let at = Place { engine, stream, copies: stream, added_bits };
        let mut whole = vec![Vec::with_capacity(self.width()?); rows.len()];
        self.each_part(&at, |_, part| {
            let part = Matrix::<F>::new(engine, part, self.height() << added_bits)?;
            let parts = part.rows(stream, rows)?;
            whole.iter_mut().zip(parts).for_each(|(row, part)| row.extend(part));
            Ok(())
        })?;
        Ok(whole)
    }

    /// Number of columns of 2^`added_bits` times the height that are extended and hashed at a time.
    fn at_once(&self, added_bits: usize) -> usize {
        at_once::<F>(self.height().ilog2() as usize + added_bits).max(self.least())
    }

    /// The fewest columns that are copied from the host at a time, unless there are fewer.
    pub(crate) fn least(&self) -> usize {
        if let Values::Rows(..) = self.values { OF_A_ROW / size_of::<F>() } else { 0 }
    }

    /// How a trace from the host is copied: the columns of a part, and the buffers of this size that each part uses beside
    /// the part before. `None` for a trace on the device.
    pub(crate) fn copied(&self, added_bits: usize) -> Option<(usize, usize)> {
        match self.values {
            Values::Resident(_) => None,
            Values::Columns(..) => Some((self.at_once(added_bits), 1)),
            // rows are transposed
            Values::Rows(..) => Some((self.at_once(added_bits), 2)),
        }
    }

    /// Extends a trace from the host in parts of `at_once` columns. `at_once` must be a multiple of the sponges' rate,
    /// which also aligns the parts as kernels require. Copies use double buffering, so a copy waits only for the work
    /// on the part before the previous one.
    fn in_parts(
        &self,
        at: &Place<'_>,
        sponges: &mut Sponges<'_, F>,
        at_once: usize,
        copy: impl Fn(&mut Buffer, &Range<usize>) -> Result<()>,
    ) -> Result<Matrix<F>> {
        let (height, width) = (self.height(), self.width()?);
        let [short, long] = [0, at.added_bits].map(|bits| Layout::Columns { stride: height << bits });
        let transform = Transform::Extend(at.added_bits, self.shift);
        let program = transform.program(at.engine, height.ilog2() as usize, short, at_once)?;
        let column = extended_bytes(height * size_of::<F>(), at.added_bits)?;
        let bytes = extended_bytes(width * height * size_of::<F>(), at.added_bits)?;
        let mut extension = at.engine.device().buffer_of_parts(bytes)?;
        let [mut next, mut last]: [Option<Buffer>; 2] = [None, None];
        for start in (0..width).step_by(at_once) {
            let columns = start..width.min(start + at_once);
            let of_part = height * columns.len() * size_of::<F>();
            let mut copied = match next.filter(|buffer| buffer.len() == of_part) {
                Some(buffer) => buffer,
                None => at.engine.device().buffer(of_part)?,
            };
            copy(&mut copied, &columns)?;
            let transposed = match self.values {
                Values::Rows(..) => {
                    let width = columns.len();
                    Some(transpose::<F>(at.engine, at.stream, &copied, height, width, width)?)
                }
                _ => None,
            };
            let bytes = columns.start * column..columns.end * column;
            let call = program.on(at.stream, columns.len()).input("from", transposed.as_ref().unwrap_or(&copied));
            call.output("to", extension.slice_mut(bytes.clone())?).run()?;
            sponges.absorb(at.stream, extension.slice(bytes)?, long, columns.len())?;
            next = last.replace(copied);
        }
        Matrix::new(at.engine, extension, height << at.added_bits)
    }
}

/// Number of columns of 2^log_rows elements that are extended and hashed at a time: whole blocks of a sponge.
pub(crate) fn at_once<F: HashField>(log_rows: usize) -> usize {
    (AT_ONCE / (size_of::<F>() << log_rows) / F::DIGEST * F::DIGEST).max(F::DIGEST)
}

/// The engine, the streams and the blow-up factor for extending and hashing traces.
struct Place<'a> {
    engine: &'a Engine,
    stream: &'a Stream,
    copies: &'a Stream,
    added_bits: usize,
}

/// Extensions and the tree over their rows, on the device.
#[derive(Debug)]
pub struct Committed<F: HashField> {
    /// The extensions, in the order of the traces, with rows in bit-reversed order.
    pub matrices: Vec<Matrix<F>>,
    /// The tree over the rows of the extensions.
    pub tree: MerkleTree<F>,
}

impl<F: HashField> Committed<F> {
    /// Opens the leaves with these indices, which may repeat and be in any order. Returns the row of each matrix for
    /// each leaf, and the paths to a cap `cap_height` layers below the root.
    ///
    /// # Errors
    /// [`Error::Length`] for a leaf or a cap that does not exist; [`Error::ForeignDevice`] for a stream of another
    /// device; other errors of the device.
    pub fn open(&self, stream: &Stream, leaves: &[usize], cap_height: usize) -> Result<Opening<F>> {
        let mut gathering = Gathering::default();
        let rows = self.matrices.iter().map(|matrix| self.tree.gather_rows(&mut gathering, matrix, leaves));
        let rows = rows.collect::<Result<_>>()?;
        let paths = self.tree.gather(&mut gathering, leaves, cap_height)?;
        let gathered = Gathered { leaves: leaves.len(), rows, paths };
        Ok(gathered.open(&gathering.finish(self.tree.engine(), stream)?))
    }
}

/// The places of opened rows and paths among elements that are gathered.
pub(crate) struct Gathered<F> {
    pub(crate) leaves: usize,
    /// For each matrix, its rows.
    pub(crate) rows: Vec<Rows<F>>,
    pub(crate) paths: Vec<Range<usize>>,
}

/// Rows of a matrix.
pub(crate) enum Rows<F> {
    /// The range of their elements, and how many a row has.
    Gathered(Range<usize>, usize),
    OnHost(Vec<Vec<F>>),
}

impl<F: HashField> Gathered<F> {
    /// The opening, from the elements that were gathered.
    pub(crate) fn open(self, found: &[F]) -> Opening<F> {
        let row = |leaf: usize, rows: &Rows<F>| match rows {
            Rows::Gathered(range, width) => found[range.clone()][leaf * width..(leaf + 1) * width].to_vec(),
            Rows::OnHost(rows) => rows[leaf].clone(),
        };
        let opened = (0..self.leaves).map(|leaf| self.rows.iter().map(|rows| row(leaf, rows)).collect()).collect();
        (opened, MerkleTree::found(found, self.paths))
    }
}

/// For each leaf the rows of all matrices, then the pruned paths of all leaves.
pub(crate) type Opening<F> = (Vec<Vec<Vec<F>>>, <F as HashField>::Paths);

/// Extends each trace by a factor of 2^`added_bits` to the coset of its shift, with rows in bit-reversed order, and
/// builds the Merkle tree over the rows of the extensions. All data stays on the device. The call returns when all work
/// is enqueued on `stream`.
///
/// The commitment is that of Plonky3's `TwoAdicFriPcs` if each shift is the field's generator divided by the shift of
/// the trace's own domain.
///
/// # Errors
/// [`Error::Length`] if there are no traces, or if a trace is empty or has incomplete rows or columns; also if a height
/// is 1, not a power of two, or too large to extend in the field; [`Error::ForeignDevice`] if a trace or the stream
/// belongs to another device; [`Error::OutOfMemory`] and other errors of the device.
pub fn commit<F: HashField>(
    engine: &Engine,
    stream: &Stream,
    hash: &Poseidon2<F>,
    traces: &[Trace<'_, F>],
    added_bits: usize,
) -> Result<Committed<F>> {
    let copies = engine.device().stream()?;
    let at = Place { engine, stream, copies: &copies, added_bits };
    let mut matrices: Vec<Option<Matrix<F>>> = traces.iter().map(|_| None).collect();
    let tree = tree_over(&at, hash, traces, |i, sponges| {
        matrices[i] = Some(traces[i].extended(&at, sponges)?);
        Ok(())
    })?;
    Ok(Committed { matrices: matrices.into_iter().flatten().collect(), tree })
}

/// The tree of [`commit`], without the extensions: each is made in parts, which are dropped once they are hashed. Traces must
/// be contiguous columns on the device.
///
/// # Errors
/// As [`commit`].
pub(crate) fn commit_in_parts<F: HashField>(
    engine: &Engine,
    stream: &Stream,
    hash: &Poseidon2<F>,
    traces: &[Trace<'_, F>],
    added_bits: usize,
) -> Result<MerkleTree<F>> {
    let at = Place { engine, stream, copies: stream, added_bits };
    tree_over(&at, hash, traces, |i, sponges| {
        let height = traces[i].height() << added_bits;
        traces[i].each_part(&at, |columns, part| {
            sponges.absorb(stream, (&part).into(), Layout::Columns { stride: height }, columns.len())
        })
    })
}

/// The tree over the rows of extensions, whose columns `absorb` passes to the sponges of their height.
fn tree_over<F: HashField>(
    at: &Place<'_>,
    hash: &Poseidon2<F>,
    traces: &[Trace<'_, F>],
    mut absorb: impl FnMut(usize, &mut Sponges<'_, F>) -> Result<()>,
) -> Result<MerkleTree<F>> {
    let Place { engine, stream, added_bits, .. } = *at;
    for trace in traces {
        trace.width()?;
        Transform::Extend(added_bits, trace.shift).check(trace.height())?;
    }
    let mut order: Vec<usize> = (0..traces.len()).collect();
    order.sort_by_key(|&i| Reverse(traces[i].height()));
    let groups: Vec<_> = order.chunk_by(|&a, &b| traces[a].height() == traces[b].height()).collect();
    let layers = Layers::new(groups.iter().map(|group| traces[group[0]].height() << added_bits), hash.arity())?;
    let mut digests = Vec::new();
    for group in groups {
        let width = group.iter().map(|&i| traces[i].width()).sum::<Result<usize>>()?;
        let height = traces[group[0]].height() << added_bits;
        let mut sponges = Sponges::new(engine, hash, height, width);
        for &i in group {
            absorb(i, &mut sponges)?;
        }
        digests.push(sponges.digests());
    }
    MerkleTree::of_digests(engine, stream, hash, layers, digests.into_iter())
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use p3_field::{Field, PrimeCharacteristicRing};
    use p3_koala_bear::KoalaBear;
    use ringforge_testkit::{Random, devices, seed};

    use super::*;
    use crate::testkit;

    #[test]
    fn parts_match_the_whole() {
        let mut random = Random::new(seed());
        let hash = testkit::random::<KoalaBear, 16>(&mut random, 20).expect("a hash");
        let values: Vec<_> = (0..16 * 37).map(|_| KoalaBear::from_u64(random.bits())).collect();
        let trace = Trace::columns(&values, 16, KoalaBear::GENERATOR);
        for device in devices() {
            let engine = Engine::on(device);
            let stream = engine.device().stream().expect("a stream");
            let at = Place { engine: &engine, stream: &stream, copies: &stream, added_bits: 1 };
            let made = |at_once: usize| {
                let mut sponges = Sponges::new(&engine, &hash, 32, 37);
                let copy = |to: &mut Buffer, columns: &Range<usize>| {
                    stream.write(to, words(&values[columns.start * 16..columns.end * 16]))
                };
                let extension = trace.in_parts(&at, &mut sponges, at_once, copy).expect("an extension");
                let digests = stream.download::<u32>(&sponges.digests().expect("digests")).expect("words");
                (digests, extension.download(&stream).expect("values"))
            };
            let whole = made(40);
            for at_once in [8, 16, 24, 32] {
                assert!(made(at_once) == whole, "{at_once} at once");
            }
        }
    }
}
