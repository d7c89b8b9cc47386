//! Scalar multiplication k P by windows of signed odd digits, which are never zero. n is the order of the group.
//!
//! An odd k below 2^L is the sum of ±2^j over all j < L. The sign of 2^j is + if bit j + 1 of k is set or j = L − 1. A
//! window of w terms is an odd digit d with |d| < 2^w. Row i of a table of P has the points |d| 2^(w i) P. If k is
//! even, n − k is odd, and the result is negated.
//!
//! The points of the rows are added from the lowest row up, so that only the last addition can have equal or opposite
//! points. Before row i, the sum is m P with odd |m| < 2^(w i), and the next term is ±d 2^(w i) P. So m ± d 2^(w i) is
//! not zero, and its absolute value is below n in all rows but the last. The last sum is k P, which is not infinity.
//! The two points added last may be equal, for one k per window width (w = 16: k = 2 · 0xffff · 2^240 − n). So only the
//! last addition must be complete.

use rayon::prelude::*;
use ringforge::words::{Limbs, sub_limbs};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use crate::field::{Fp, Scalar};
use crate::params::N;
use crate::point::{Affine, Jacobian};

/// How points are read from a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Reads a point directly, at an address that depends on a secret scalar. Use this mode only on a device that no
    /// attacker shares. On a GPU, windows have 16 bits, so a multiplication takes 15 additions.
    Throughput,
    /// Reads all points of a row, so that no address depends on a secret. Windows have 5 bits, so a multiplication
    /// takes 51 additions.
    Scan,
}

/// The shape of a table: `rows` rows of 2^(`width` − 1) points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Windows {
    pub(crate) width: u32,
    pub(crate) rows: usize,
}

impl Windows {
    /// Windows of `width` bits, with enough rows for all scalars.
    pub(crate) const fn of_width(width: u32) -> Self {
        Self { width, rows: 256usize.div_ceil(width as usize) }
    }

    /// These windows with only the lowest row, for multiplication with doublings between the windows.
    pub(crate) const fn lowest_row(self) -> Self {
        Self { rows: 1, ..self }
    }

    /// The number of points per row.
    pub(crate) const fn row(&self) -> usize {
        1 << (self.width - 1)
    }

    /// The number of points in the table.
    pub(crate) const fn points(&self) -> usize {
        self.rows << (self.width - 1)
    }

    /// Returns the digit of an odd k in row i: the index of its point in the row, and whether to negate the point.
    /// `last` is the index of the last row.
    pub(crate) fn digit(&self, k: &Limbs, i: usize, last: usize) -> (usize, Choice) {
        let (from, mask) = (i * self.width as usize + 1, (1usize << self.width) - 1);
        let limb = |at: usize| k.get(at).copied().unwrap_or(0);
        let wide = u128::from(limb(from / 64 + 1)) << 64 | u128::from(limb(from / 64));
        let bits = (wide >> (from % 64)) as usize & mask | usize::from(i == last) << (self.width - 1);
        let positive = bits >> (self.width - 1);
        ((bits ^ positive.wrapping_sub(1)) & (mask >> 1), Choice::from(1 - positive as u8))
    }

    /// Computes the table of a point P. Row i has odd multiples of 2^(`width` i) P.
    pub(crate) fn table(&self, point: Affine) -> Vec<Affine> {
        let mut base = Jacobian::from(point);
        let mut bases = Vec::new();
        for _ in 0..self.rows {
            bases.extend([base, base.double()]);
            (0..self.width).for_each(|_| base = base.double());
        }
        let bases = to_affine_all(&bases);
        match bases.as_chunks().0 {
            // computing a single row is too little work to use other threads
            [bases] => self.one_row(bases),
            rows => {
                ringforge_cpu::threads::start();
                rows.par_iter().flat_map_iter(|bases| self.one_row(bases)).collect()
            }
        }
    }

    /// Computes a row, the odd multiples of a point, from the point and its double.
    fn one_row(&self, [base, twice]: &[Affine; 2]) -> Vec<Affine> {
        let sums = core::iter::successors(Some(Jacobian::from(*base)), |sum| Some(sum.add_different(twice)));
        to_affine_all(&sums.take(self.row()).collect::<Vec<_>>())
    }

    /// Returns k P for k from 1 to n − 1, from a table of P with all rows. With [`Mode::Scan`], no address depends on
    /// k.
    pub(crate) fn multiply(&self, table: &[Affine], k: &Scalar, mode: Mode) -> Jacobian {
        let (k, flip) = odd(k);
        let last = self.rows - 1;
        let term = |i: usize| {
            let (place, opposite) = self.digit(&k, i, last);
            let row = &table[i * self.row()..][..self.row()];
            let point = match mode {
                Mode::Throughput => row[place],
                Mode::Scan => scan(row, place),
            };
            point.negate_if(opposite ^ flip)
        };
        let sum = (1..last).fold(Jacobian::from(term(0)), |sum, i| sum.add_different(&term(i)));
        sum.add_masked(&term(last))
    }

    /// Returns `sum` + k P for a public k from 1 to n − 1, from a table of P with all rows.
    pub(crate) fn add_public(&self, sum: Jacobian, table: &[Affine], k: &Scalar) -> Jacobian {
        let (k, flip) = odd(k);
        (0..self.rows).fold(sum, |sum, i| {
            let (place, opposite) = self.digit(&k, i, self.rows - 1);
            sum.add(&table[i * self.row() + place].negate_if(opposite ^ flip))
        })
    }

    /// Returns k P for a public k from 1 to n − 1, from the lowest row of a table of P.
    pub(crate) fn multiply_public(&self, row: &[Affine], k: &Scalar) -> Jacobian {
        let (k, flip) = odd(k);
        let rows = Self::of_width(self.width).rows;
        (0..rows).rev().fold(Jacobian::INFINITY, |mut sum, i| {
            (0..self.width).for_each(|_| sum = sum.double());
            let (place, opposite) = self.digit(&k, i, rows - 1);
            sum.add(&row[place].negate_if(opposite ^ flip))
        })
    }
}

/// Returns k if it is odd, else n − k. The choice is true if k is even.
fn odd(k: &Scalar) -> (Zeroizing<Limbs>, Choice) {
    let k = Zeroizing::new(k.plain());
    let even = Choice::from(1 - (k[0] & 1) as u8);
    let other = sub_limbs(N, *k).0;
    (Zeroizing::new(core::array::from_fn(|i| u64::conditional_select(&k[i], &other[i], even))), even)
}

/// Returns the point at index `place`, which is secret. Reads all points of the row.
fn scan(row: &[Affine], place: usize) -> Affine {
    let mut found = row[0];
    for (i, point) in row.iter().enumerate().skip(1) {
        found = Affine::conditional_select(&found, point, (i as u64).ct_eq(&(place as u64)));
    }
    found
}

/// Converts points to affine coordinates with one inversion (Montgomery's trick). Infinity gives (0, 0).
pub(crate) fn to_affine_all(points: &[Jacobian]) -> Vec<Affine> {
    let mut inverses: Vec<Fp> = points.iter().map(|point| point.z).collect();
    Fp::invert_all(&mut inverses);
    let affine = points.iter().zip(&inverses).map(|(point, inverse)| point.to_affine_by(*inverse)).collect();
    inverses.iter_mut().for_each(Zeroize::zeroize);
    affine
}
