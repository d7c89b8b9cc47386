//! Matrices on the device.

use core::marker::PhantomData;

use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use ringforge::{Buffer, Engine, Error, Result, Stream};

use crate::field::{EngineField, words, words_mut};
use crate::gather::gather;
use crate::layout::Layout;
use crate::transform::Transform;
use crate::transpose::transpose;

/// A matrix in memory of an engine's device, of elements as Plonky3 stores them.
#[derive(Debug)]
pub struct Matrix<F> {
    engine: Engine,
    elements: Buffer,
    layout: Layout,
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
        Self::of_columns_apart(engine, columns, height, height)
    }

    /// Of columns of this height, each of which begins so many elements behind the one before it; the last one, too, has as many
    /// behind its beginning. What lies between columns is neither read nor written. If that distance is no multiple of the height,
    /// transforms copy the columns first.
    ///
    /// # Errors
    /// As [`Matrix::new`], and [`Error::Length`] for a distance below the height.
    pub fn of_columns_apart(engine: &Engine, columns: Buffer, height: usize, apart: usize) -> Result<Self> {
        if apart < height {
            let what = "elements from a column to the next, at least as many as rows,";
            return Err(Error::Length { what, expected: height, got: apart });
        }
        whole::<F>("bytes of whole columns", &columns, if height == 0 { 0 } else { apart })?;
        Ok(Self {
            engine: engine.clone(),
            elements: columns,
            layout: Layout::Columns { apart },
            height,
            field: PhantomData,
        })
    }

    /// Of rows of this width, one after another.
    ///
    /// # Errors
    /// As [`Matrix::new`], for rows.
    pub fn of_rows(engine: &Engine, rows: Buffer, width: usize) -> Result<Self> {
        let height = whole::<F>("bytes of whole rows", &rows, width)?;
        Ok(Self { engine: engine.clone(), elements: rows, layout: Layout::Rows, height, field: PhantomData })
    }

    /// A matrix of the host's, in rows as it is. The copy is fastest from [pinned memory](ringforge::Device::pinned).
    ///
    /// # Errors
    /// As [`Matrix::of_rows`]; [`Error::OutOfMemory`].
    pub fn upload(engine: &Engine, stream: &Stream, matrix: &RowMajorMatrix<F>) -> Result<Self> {
        Self::of_rows(engine, stream.upload(words(&matrix.values))?, matrix.width())
    }

    /// Rows.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    #[must_use]
    pub fn width(&self) -> usize {
        let elements = self.elements.len() / size_of::<F>();
        match self.layout {
            Layout::Rows => elements / self.height,
            Layout::Columns { apart } => elements / apart,
        }
    }

    /// How the elements lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The elements, as the [layout](Matrix::layout) says.
    #[must_use]
    pub fn elements(&self) -> &Buffer {
        &self.elements
    }

    /// The elements, to be written.
    #[must_use]
    pub fn into_elements(self) -> Buffer {
        self.elements
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
        let (width, height) = (self.width(), self.height << transform.added_bits());
        let program = match transform.program(&self.engine, self.height.ilog2() as usize, self.layout, width) {
            Err(Error::TooLarge { .. }) if self.layout == Layout::Rows => {
                return self.transposed(stream)?.transformed(stream, transform)?.into_rows(stream);
            }
            program => program?,
        };
        let bytes = extended_bytes(self.height * width * size_of::<F>(), transform.added_bits())?;
        let mut to = self.engine.device().buffer(bytes)?;
        let items = if self.layout == Layout::Rows { 1 } else { width };
        program.on(stream, items).input("from", &self.elements).output("to", &mut to).run()?;
        match self.layout {
            Layout::Rows => Self::of_rows(&self.engine, to, width),
            Layout::Columns { .. } => Self::new(&self.engine, to, height),
        }
    }

    /// These rows, in any order and as often as one likes, on the host: the matrix stays where it is.
    ///
    /// # Errors
    /// [`Error::Length`] for a row that is not there; what the device says.
    pub fn rows(&self, stream: &Stream, numbers: &[usize]) -> Result<Vec<Vec<F>>> {
        if let Some(&got) = numbers.iter().find(|&&number| number >= self.height) {
            return Err(Error::Length { what: "rows, more than the number of each,", expected: self.height, got });
        }
        let shape = (self.layout, self.height, self.width());
        let rows: Vec<F> = gather(&self.engine, stream, &self.elements, shape, numbers)?;
        Ok(rows.chunks_exact(self.width()).map(<[F]>::to_vec).collect())
    }

    /// The same matrix, row by row.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and what else the device says.
    pub fn into_rows(self, stream: &Stream) -> Result<Self> {
        if self.layout == Layout::Rows { Ok(self) } else { self.transposed(stream) }
    }

    /// The same matrix, its columns one after another.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and what else the device says.
    pub fn into_columns(self, stream: &Stream) -> Result<Self> {
        match self.layout {
            Layout::Columns { apart } if apart == self.height => Ok(self),
            Layout::Columns { .. } => self.transposed(stream)?.transposed(stream),
            Layout::Rows => self.transposed(stream),
        }
    }

    /// The same matrix in the other layout.
    fn transposed(&self, stream: &Stream) -> Result<Self> {
        let (Self { engine, elements, height, .. }, width) = (self, self.width());
        match self.layout {
            Layout::Rows => {
                Self::new(engine, transpose::<F>(engine, stream, elements, *height, width, width)?, *height)
            }
            Layout::Columns { apart } => {
                Self::of_rows(engine, transpose::<F>(engine, stream, elements, width, apart, *height)?, width)
            }
        }
    }

    /// All of it, on the host; columns are transposed on the device.
    ///
    /// # Errors
    /// As [`Matrix::into_rows`].
    pub fn download(&self, stream: &Stream) -> Result<RowMajorMatrix<F>> {
        let transposed = if self.layout == Layout::Rows { None } else { Some(self.transposed(stream)?) };
        let mut values = F::zero_vec(self.height * self.width());
        stream.read(&transposed.as_ref().unwrap_or(self).elements, words_mut(&mut values))?;
        Ok(RowMajorMatrix::new(values, self.width()))
    }
}

/// How many rows or columns of so many elements a buffer has.
fn whole<F>(what: &'static str, elements: &Buffer, of: usize) -> Result<usize> {
    let (expected, got) = (of.saturating_mul(size_of::<F>()), elements.len());
    match got.checked_div(expected) {
        Some(count) if count > 0 && count * expected == got => Ok(count),
        _ => Err(Error::Length { what, expected, got }),
    }
}

/// Bytes of an extension by so many bits.
pub(super) fn extended_bytes(bytes: usize, added_bits: usize) -> Result<usize> {
    let factor = u32::try_from(added_bits).ok().and_then(|bits| 1usize.checked_shl(bits));
    factor.and_then(|factor| bytes.checked_mul(factor)).ok_or(Error::OutOfMemory { bytes: usize::MAX })
}
