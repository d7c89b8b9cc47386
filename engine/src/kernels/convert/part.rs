//! Parts of rows, which threads write side by side.

use core::mem::take;

use crate::kernels::rns::MAX_MODULI;

/// The same columns of all rows of an element.
pub(super) struct Part<'a, T> {
    /// The number of the first one.
    pub(super) first: usize,
    /// How many they are.
    pub(super) columns: usize,
    /// As many rows as there are, then empty ones.
    pub(super) rows: [&'a mut [T]; MAX_MODULI],
}

impl<'a, T> Part<'a, T> {
    pub(super) fn new(element: &'a mut [T], columns: usize) -> Self {
        let mut words = element.chunks_exact_mut(columns);
        Self { first: 0, columns, rows: core::array::from_fn(|_| words.next().unwrap_or_default()) }
    }

    /// Cut after so many columns.
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
