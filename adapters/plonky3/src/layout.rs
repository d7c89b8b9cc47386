//! How matrices lie in memory.

/// How a matrix lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row by row.
    Rows,
    /// Column by column.
    Columns {
        /// Elements from the beginning of a column to that of the next: the height, or more.
        apart: usize,
    },
}

impl Layout {
    /// Elements from a row to the next, and from a column to the next, in a matrix of so many columns.
    pub(crate) fn distances(self, columns: usize) -> [usize; 2] {
        match self {
            Self::Rows => [columns, 1],
            Self::Columns { apart } => [1, apart],
        }
    }

    /// Elements that a matrix takes.
    pub(crate) fn elements(self, rows: usize, columns: usize) -> usize {
        match self {
            Self::Rows => rows * columns,
            Self::Columns { apart } => apart * columns,
        }
    }
}
