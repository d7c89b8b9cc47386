//! Slices of the limbs of an element, for CPU threads that write different columns.

use core::mem::take;

use crate::kernels::rns::MAX_MODULI;

/// A range of coefficients (columns), in all limbs of an element.
pub(super) struct ColumnRange<'a, T> {
    /// Index of the first column.
    pub(super) first: usize,
    /// Number of columns.
    pub(super) columns: usize,
    /// One slice for each limb, followed by empty slices.
    pub(super) rows: [&'a mut [T]; MAX_MODULI],
}

impl<'a, T> ColumnRange<'a, T> {
    pub(super) fn new(mut rows: impl Iterator<Item = &'a mut [T]>, columns: usize) -> Self {
        Self { first: 0, columns, rows: core::array::from_fn(|_| rows.next().unwrap_or_default()) }
    }

    /// Splits the range into its first `columns` columns and the others.
    pub(super) fn split_at(mut self, columns: usize) -> [Self; 2] {
        let mut right = core::array::from_fn(|_| Default::default());
        for (row, right) in self.rows.iter_mut().zip(&mut right) {
            let columns = columns.min(row.len());
            (*row, *right) = take(row).split_at_mut(columns);
        }
        let right = Self { first: self.first + columns, columns: self.columns - columns, rows: right };
        [Self { columns, ..self }, right]
    }
}
