//! How a vector in natural order is distributed over devices.

use core::ops::Deref;

use bytemuck::Pod;
use rayon::prelude::*;
use ringforge_cpu::wipe::Wiped;

use crate::long::{LongPlan, Placement};

use super::Holds;

/// How a vector in natural order is cut into equal parts, one for each device or buffer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cut {
    /// For coefficients. The vector is a row-major matrix of `rows` rows, and each part has contiguous columns of this
    /// matrix.
    Columns { rows: usize, parts: usize },
    /// For evaluations of `base` residues each. Row k has the evaluations k, k + `rows`, k + 2·`rows`, …, and each part
    /// has consecutive rows.
    Strided { rows: usize, parts: usize, base: usize },
    /// Each part is a contiguous block.
    Blocks { parts: usize },
}

/// A part of a vector: borrowed if it is contiguous in the vector, else a copy that is wiped on drop.
pub(super) enum Piece<'t, T: Pod> {
    Borrowed(&'t [T]),
    Own(Wiped<T>),
}

impl<T: Pod> Deref for Piece<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Borrowed(part) => part,
            Self::Own(part) => part,
        }
    }
}

impl Cut {
    pub(super) fn of(plan: &LongPlan, holds: Holds, parts: usize) -> Self {
        let rows = plan.rows();
        match (holds, plan.coefficients(), plan.values()) {
            (Holds::Coefficients, Placement::Native, _) => Self::Columns { rows, parts },
            (Holds::Values, _, Placement::Native) => Self::Strided { rows, parts, base: plan.leaf_degree() },
            _ => Self::Blocks { parts },
        }
    }

    /// How one part of this cut is cut into `parts` smaller parts.
    pub(super) fn within(self, parts: usize) -> Self {
        match self {
            Self::Columns { rows, .. } => Self::Columns { rows, parts },
            _ => Self::Blocks { parts },
        }
    }

    /// Part `number` of the whole vector `all`.
    pub(super) fn part<T: Pod + Send + Sync>(self, all: &[T], number: usize) -> Piece<'_, T> {
        match self {
            Self::Columns { rows, parts } => {
                let (row, piece) = (all.len() / rows, all.len() / rows / parts);
                let mut part = Wiped::zeros(all.len() / parts);
                let places = part.chunks_exact_mut(piece).zip(all.chunks_exact(row));
                places.for_each(|(place, row)| place.copy_from_slice(&row[number * piece..][..piece]));
                Piece::Own(part)
            }
            Self::Strided { rows, parts, base } => {
                let (own, length) = (rows / parts, all.len() / rows);
                let mut part = Wiped::zeros(all.len() / parts);
                ringforge_cpu::threads::start();
                part.par_chunks_exact_mut(base).enumerate().with_min_len(1 << 10).for_each(|(i, value)| {
                    let place = i % (length / base) * rows + number * own + i / (length / base);
                    value.copy_from_slice(&all[place * base..][..base]);
                });
                Piece::Own(part)
            }
            Self::Blocks { parts } => {
                let length = all.len() / parts;
                Piece::Borrowed(&all[number * length..][..length])
            }
        }
    }

    /// Assembles the whole vector from all its parts, which `all` contains one after another.
    pub(super) fn whole<T: Pod + Send + Sync>(self, all: &[T], whole: &mut [T]) {
        match self {
            Self::Columns { rows, parts } => {
                let piece = all.len() / rows / parts;
                let pieces = (0..rows).flat_map(|row| (0..parts).map(move |part| part * rows + row));
                let places = whole.chunks_exact_mut(piece).zip(pieces);
                places.for_each(|(place, i)| place.copy_from_slice(&all[i * piece..][..piece]));
            }
            Self::Strided { rows, base, .. } => {
                let row = all.len() / rows;
                ringforge_cpu::threads::start();
                whole.par_chunks_exact_mut(rows * base).enumerate().for_each(|(place, values)| {
                    let values = values.chunks_exact_mut(base).enumerate();
                    values.for_each(|(k, value)| value.copy_from_slice(&all[k * row + place * base..][..base]));
                });
            }
            Self::Blocks { .. } => whole.copy_from_slice(all),
        }
    }
}
