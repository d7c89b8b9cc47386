//! Matrices on the device.

use core::marker::PhantomData;
use core::ops::Range;

use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use ringforge::{Buffer, Engine, Error, Result, Stream};

use crate::field::{EngineField, words, words_mut};
use crate::gather::Gathering;
use crate::layout::Layout;
use crate::transform::Transform;
use crate::transpose::transpose;

/// Bytes of temporary memory that a transform uses at once, unless a column needs more.
pub(crate) const TEMPORARY: usize = 256 << 20;

/// A matrix in the memory of an engine's device, with elements as Plonky3 stores them.
#[derive(Debug)]
pub struct Matrix<F> {
    engine: Engine,
    elements: Buffer,
    layout: Layout,
    height: usize,
    field: PhantomData<F>,
}

impl<F: EngineField> Matrix<F> {
    /// A column-major matrix of contiguous columns of this height. Words must be below the modulus, except for
    /// Goldilocks, which accepts every word.
    ///
    /// # Errors
    /// [`Error::Length`] unless the height is at least 1 and the buffer has one or more whole columns.
    pub fn new(engine: &Engine, columns: Buffer, height: usize) -> Result<Self> {
        Self::of_strided_columns(engine, columns, height, height)
    }

    /// A column-major matrix of columns of this height, with a stride of `stride` elements. The buffer must also have
    /// `stride` elements for the last column. Elements between columns are neither read nor written. Unless the stride
    /// is a multiple of the height, transforms first copy the columns.
    ///
    /// # Errors
    /// The errors of [`Matrix::new`]; also [`Error::Length`] if the stride is less than the height, or if the last
    /// column has fewer than `stride` elements.
    pub fn of_strided_columns(engine: &Engine, columns: Buffer, height: usize, stride: usize) -> Result<Self> {
        if stride < height {
            let what = "stride between columns in elements (must be at least the number of rows)";
            return Err(Error::Length { what, expected: height, got: stride });
        }
        whole::<F>(
            "bytes of the columns (must be a positive multiple of one column's)",
            &columns,
            if height == 0 { 0 } else { stride },
        )?;
        Ok(Self {
            engine: engine.clone(),
            elements: columns,
            layout: Layout::Columns { stride },
            height,
            field: PhantomData,
        })
    }

    /// A row-major matrix of contiguous rows of this width.
    ///
    /// # Errors
    /// [`Error::Length`] unless the width is at least 1 and the buffer has one or more whole rows.
    pub fn of_rows(engine: &Engine, rows: Buffer, width: usize) -> Result<Self> {
        let height = whole::<F>("bytes of the rows (must be a positive multiple of one row's)", &rows, width)?;
        Ok(Self { engine: engine.clone(), elements: rows, layout: Layout::Rows, height, field: PhantomData })
    }

    /// Copies a row-major matrix from the host. The copy is fastest from [pinned memory](ringforge::Device::pinned).
    ///
    /// # Errors
    /// The errors of [`Matrix::of_rows`]; [`Error::OutOfMemory`] if the device has too little memory; other errors of
    /// the device.
    pub fn upload(engine: &Engine, stream: &Stream, matrix: &RowMajorMatrix<F>) -> Result<Self> {
        Self::of_rows(engine, stream.upload(words(&matrix.values))?, matrix.width())
    }

    /// The number of rows.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// The number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        let elements = self.elements.len() / size_of::<F>();
        match self.layout {
            Layout::Rows => elements / self.height,
            Layout::Columns { stride } => elements / stride,
        }
    }

    /// The memory layout of the elements.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The elements, in the order of the [layout](Matrix::layout).
    #[must_use]
    pub fn elements(&self) -> &Buffer {
        &self.elements
    }

    /// Returns the buffer of the elements. The caller may then write to it.
    #[must_use]
    pub fn into_elements(self) -> Buffer {
        self.elements
    }

    /// Extends each column to 2^`added_bits` times its length: from evaluations on the subgroup of as many
    /// points, in natural order, to evaluations on the coset of this shift. The output's rows are in bit-reversed
    /// order.
    ///
    /// # Errors
    /// [`Error::Length`] if the height is 1, not a power of two, or too large to extend in the field;
    /// [`Error::ForeignDevice`] for a buffer or stream of another device than the engine's; [`Error::OutOfMemory`] and
    /// other errors of the device.
    pub fn extended(&self, stream: &Stream, added_bits: usize, shift: F) -> Result<Self> {
        let transform = Transform::Extend(added_bits, shift);
        transform.check(self.height)?;
        self.transformed(stream, transform)
    }

    /// Transforms each column. The transform must support this height ([`Transform::serves`]).
    pub(crate) fn transformed(&self, stream: &Stream, transform: Transform<F>) -> Result<Self> {
        self.first_transformed(stream, self.height, transform)
    }

    /// Transforms the first `rows` elements of each column, a number that the transform must support.
    pub(crate) fn first_transformed(&self, stream: &Stream, rows: usize, transform: Transform<F>) -> Result<Self> {
        let width = self.width();
        let program = match transform.program(&self.engine, rows.ilog2() as usize, self.layout, width) {
            Err(Error::TooLarge { .. }) if self.layout == Layout::Rows => {
                return self.transposed(stream)?.first_transformed(stream, rows, transform)?.into_rows(stream);
            }
            program => program?,
        };
        let bytes = rows * width * size_of::<F>();
        let mut to = self.engine.device().buffer(extended_bytes(bytes, transform.added_bits())?)?;
        let (items, from) = match self.layout {
            Layout::Rows => (1, self.elements.slice(0..bytes)?),
            Layout::Columns { .. } => (width, (&self.elements).into()),
        };
        program.on(stream, items).input("from", from).output("to", &mut to).within(TEMPORARY).run()?;
        match self.layout {
            Layout::Rows => Self::of_rows(&self.engine, to, width),
            Layout::Columns { .. } => Self::new(&self.engine, to, rows << transform.added_bits()),
        }
    }

    /// Copies the rows with these indices to the host. Indices may repeat and be in any order.
    ///
    /// # Errors
    /// [`Error::Length`] if a row does not exist; [`Error::ForeignDevice`] for a buffer or stream of another device
    /// than the engine's; other errors of the device.
    pub fn rows(&self, stream: &Stream, numbers: &[usize]) -> Result<Vec<Vec<F>>> {
        let mut gathering = Gathering::default();
        let rows = self.gather(&mut gathering, numbers)?;
        let found = gathering.finish::<F>(&self.engine, stream)?;
        Ok(found[rows].chunks_exact(self.width()).map(<[F]>::to_vec).collect())
    }

    /// Gathers the rows with these indices. Returns the range of their elements.
    ///
    /// # Errors
    /// [`Error::Length`] if a row does not exist.
    pub(crate) fn gather<'a>(&'a self, to: &mut Gathering<'a>, numbers: &[usize]) -> Result<Range<usize>> {
        if let Some(&got) = numbers.iter().find(|&&number| number >= self.height) {
            return Err(Error::Length {
                what: "index of a row (must be below the number of rows)",
                expected: self.height,
                got,
            });
        }
        let shape = (self.layout, self.height, self.width());
        Ok(to.rows::<F>(&self.elements, shape, numbers.iter().copied()))
    }

    /// Converts the matrix to row-major order.
    ///
    /// # Errors
    /// [`Error::ForeignDevice`] for a buffer or stream of another device than the engine's; [`Error::OutOfMemory`] and
    /// other errors of the device.
    pub fn into_rows(self, stream: &Stream) -> Result<Self> {
        if self.layout == Layout::Rows { Ok(self) } else { self.transposed(stream) }
    }

    /// Converts the matrix to contiguous columns.
    ///
    /// # Errors
    /// [`Error::ForeignDevice`] for a buffer or stream of another device than the engine's; [`Error::OutOfMemory`] and
    /// other errors of the device.
    pub fn into_columns(self, stream: &Stream) -> Result<Self> {
        if self.is_columns() { Ok(self) } else { self.to_columns(stream) }
    }

    /// Whether the matrix is column-major, without elements between columns.
    pub(crate) fn is_columns(&self) -> bool {
        self.layout == Layout::Columns { stride: self.height }
    }

    /// Copies the matrix to contiguous columns.
    pub(crate) fn to_columns(&self, stream: &Stream) -> Result<Self> {
        let copy = self.transposed(stream)?;
        if copy.layout == Layout::Rows { copy.transposed(stream) } else { Ok(copy) }
    }

    /// Copies the matrix to the other layout.
    fn transposed(&self, stream: &Stream) -> Result<Self> {
        let (Self { engine, elements, height, .. }, width) = (self, self.width());
        match self.layout {
            Layout::Rows => {
                Self::new(engine, transpose::<F>(engine, stream, elements, *height, width, width)?, *height)
            }
            Layout::Columns { stride } => {
                Self::of_rows(engine, transpose::<F>(engine, stream, elements, width, stride, *height)?, width)
            }
        }
    }

    /// Copies the matrix to the host. A column-major matrix is first transposed on the device.
    ///
    /// # Errors
    /// The errors of [`Matrix::into_rows`].
    pub fn download(&self, stream: &Stream) -> Result<RowMajorMatrix<F>> {
        let transposed = if self.layout == Layout::Rows { None } else { Some(self.transposed(stream)?) };
        let mut values = F::zero_vec(self.height * self.width());
        stream.read(&transposed.as_ref().unwrap_or(self).elements, words_mut(&mut values))?;
        Ok(RowMajorMatrix::new(values, self.width()))
    }
}

/// Returns the number of rows or columns of `of` elements in a buffer, or [`Error::Length`] unless there is at least
/// one and all are whole.
fn whole<F>(what: &'static str, elements: &Buffer, of: usize) -> Result<usize> {
    let (expected, got) = (of.saturating_mul(size_of::<F>()), elements.len());
    match got.checked_div(expected) {
        Some(count) if count > 0 && count * expected == got => Ok(count),
        _ => Err(Error::Length { what, expected, got }),
    }
}

/// The size in bytes of an extension by a factor of 2^`added_bits`.
pub(super) fn extended_bytes(bytes: usize, added_bits: usize) -> Result<usize> {
    let factor = u32::try_from(added_bits).ok().and_then(|bits| 1usize.checked_shl(bits));
    factor.and_then(|factor| bytes.checked_mul(factor)).ok_or(Error::OutOfMemory { bytes: usize::MAX })
}
