//! Matrices on the device.

use core::marker::PhantomData;

use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use ringforge::{Buffer, Engine, Error, Result, Stream};

use crate::field::{EngineField, words, words_mut};
use crate::gather::{Layout, gather};
use crate::transform::Transform;
use crate::transpose::transpose;

/// A matrix in memory of an engine's device, column by column, of elements as Plonky3 stores them.
#[derive(Debug)]
pub struct Matrix<F> {
    engine: Engine,
    columns: Buffer,
    height: usize,
    field: PhantomData<F>,
}

impl<F: EngineField> Matrix<F> {
    /// Of columns of this height, one after another. Words that are not below the modulus mean nothing, but for Goldilocks, which
    /// takes any.
    ///
    /// # Errors
    /// [`Error::Length`] unless they are whole columns, at least one, of at least one row.
    pub fn new(engine: &Engine, columns: Buffer, height: usize) -> Result<Self> {
        let (column, got) = (height.saturating_mul(size_of::<F>()), columns.len());
        if column == 0 || got < column || !got.is_multiple_of(column) {
            return Err(Error::Length { what: "bytes of whole columns", expected: column, got });
        }
        Ok(Self { engine: engine.clone(), columns, height, field: PhantomData })
    }

    /// Of rows of this width, one after another: they are transposed.
    ///
    /// # Errors
    /// As [`Matrix::new`], for rows; what the device says.
    pub fn of_rows(engine: &Engine, stream: &Stream, rows: &Buffer, width: usize) -> Result<Self> {
        let (row, got) = (width.saturating_mul(size_of::<F>()), rows.len());
        if row == 0 || got < row || !got.is_multiple_of(row) {
            return Err(Error::Length { what: "bytes of whole rows", expected: row, got });
        }
        let height = got / row;
        Self::new(engine, transpose::<F>(engine, stream, rows, height, width)?, height)
    }

    /// A matrix of the host's. The copy is fastest from [pinned memory](ringforge::Device::pinned).
    ///
    /// # Errors
    /// As [`Matrix::of_rows`]; [`Error::OutOfMemory`].
    pub fn upload(engine: &Engine, stream: &Stream, matrix: &RowMajorMatrix<F>) -> Result<Self> {
        Self::of_rows(engine, stream, &stream.upload(words(&matrix.values))?, matrix.width())
    }

    /// Rows.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.columns.len() / (self.height * size_of::<F>())
    }

    /// The columns, one after another.
    #[must_use]
    pub fn columns(&self) -> &Buffer {
        &self.columns
    }

    /// The columns, one after another, to be written.
    #[must_use]
    pub fn into_columns(self) -> Buffer {
        self.columns
    }

    /// The values of each column on the coset of this shift, 2^bits times as many, with rows in bit-reversed order: the
    /// column's own values belong to the subgroup of their number, in natural order.
    ///
    /// # Errors
    /// [`Error::Length`] for a height that is no power of two, is 1, or is so large that the field has no subgroup for the extension;
    /// [`Error::OutOfMemory`] and what else the device says.
    pub fn extended(&self, stream: &Stream, added_bits: usize, shift: F) -> Result<Self> {
        let transform = Transform::Extend(added_bits, shift);
        transform.check(self.height)?;
        self.transformed(stream, transform)
    }

    /// What a transform that serves this height makes of the columns.
    pub(crate) fn transformed(&self, stream: &Stream, transform: Transform<F>) -> Result<Self> {
        let program = transform.program(&self.engine, self.height.ilog2() as usize)?;
        let mut to = self.engine.device().buffer(extended_bytes(self.columns.len(), transform.added_bits())?)?;
        program.on(stream, self.width()).input("from", &self.columns).output("to", &mut to).run()?;
        Self::new(&self.engine, to, self.height << transform.added_bits())
    }

    /// These rows, in any order and as often as one likes, on the host: the matrix stays where it is.
    ///
    /// # Errors
    /// [`Error::Length`] for a row that is not there; what the device says.
    pub fn rows(&self, stream: &Stream, numbers: &[usize]) -> Result<Vec<Vec<F>>> {
        if let Some(&got) = numbers.iter().find(|&&number| number >= self.height) {
            return Err(Error::Length { what: "rows, more than the number of each,", expected: self.height, got });
        }
        let shape = (Layout::Columns, self.height, self.width());
        let rows: Vec<F> = gather(&self.engine, stream, &self.columns, shape, numbers)?;
        Ok(rows.chunks_exact(self.width()).map(<[F]>::to_vec).collect())
    }

    /// The rows, one after another.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and what else the device says.
    pub fn to_rows(&self, stream: &Stream) -> Result<Buffer> {
        transpose::<F>(&self.engine, stream, &self.columns, self.width(), self.height)
    }

    /// All of it, on the host; it is transposed on the device.
    ///
    /// # Errors
    /// As [`Matrix::to_rows`].
    pub fn download(&self, stream: &Stream) -> Result<RowMajorMatrix<F>> {
        let rows = self.to_rows(stream)?;
        let mut values = F::zero_vec(self.height * self.width());
        stream.read(&rows, words_mut(&mut values))?;
        Ok(RowMajorMatrix::new(values, self.width()))
    }
}

/// Bytes of an extension by so many bits.
pub(super) fn extended_bytes(bytes: usize, added_bits: usize) -> Result<usize> {
    let factor = u32::try_from(added_bits).ok().and_then(|bits| 1usize.checked_shl(bits));
    factor.and_then(|factor| bytes.checked_mul(factor)).ok_or(Error::OutOfMemory { bytes: usize::MAX })
}
