//! Memory layouts of matrices.

/// The memory layout of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row-major, with contiguous rows.
    Rows,
    /// Column-major.
    Columns {
        /// The column stride in elements, at least the height.
        stride: usize,
    },
}

impl Layout {
    /// The row stride and the column stride, in elements, of a matrix with this many columns.
    pub(crate) fn strides(self, columns: usize) -> [usize; 2] {
        match self {
            Self::Rows => [columns, 1],
            Self::Columns { stride } => [1, stride],
        }
    }

    /// Number of elements that a matrix occupies.
    pub(crate) fn elements(self, rows: usize, columns: usize) -> usize {
        match self {
            Self::Rows => rows * columns,
            Self::Columns { stride } => stride * columns,
        }
    }
}
