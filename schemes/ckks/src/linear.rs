//! Products of encrypted vectors with plaintext matrices, and sums over slots.

use num_complex::Complex64;

use crate::error::{Error, Result};
use crate::scheme::Ckks;
use crate::types::{Ciphertext, GaloisKeys, Plaintext};

/// A square plaintext d × d matrix, encoded for products with encrypted vectors of one level. Each vector has d numbers
/// that repeat in the slots of its ciphertext.
///
/// Uses the diagonal method with baby steps and giant steps (Halevi–Shoup, eprint 2018/244). A product takes about
/// √(2d) hoisted rotations of the ciphertext (baby steps), which share one ModUp, and rotates about √(d/2) sums of
/// products (giant steps).
#[derive(Debug)]
pub struct Matrix {
    /// For each giant step: its rotation, and its encoded diagonals, each with the rotation of its baby step.
    giants: Vec<(i64, Vec<(i64, Plaintext)>)>,
}

impl Ckks {
    /// Encodes a d × d matrix for ciphertexts of this level; d must divide the number of slots. A product takes vectors
    /// of d numbers that repeat across all slots, and its result repeats in the same way.
    ///
    /// Diagonals that are zero are omitted. The matrix has the scale of the parameters.
    ///
    /// # Errors
    /// [`Error::Matrix`] unless the matrix is square and d divides the number of slots; the errors of [`Ckks::encode`].
    pub fn matrix(&self, rows: &[impl AsRef<[Complex64]>], level: usize) -> Result<Matrix> {
        let (slots, size) = (self.parameters().slots(), rows.len());
        let rows: Vec<&[Complex64]> = rows.iter().map(AsRef::as_ref).collect();
        let columns = rows.iter().map(|row| row.len()).find(|&columns| columns != size);
        if size == 0 || slots % size != 0 || columns.is_some() {
            return Err(Error::Matrix { rows: size, columns: columns.unwrap_or(size), slots });
        }
        let babies = baby_steps(size);
        let mut giants = Vec::new();
        for giant in (0..size).step_by(babies) {
            let mut diagonals = Vec::new();
            for baby in 0..babies.min(size - giant) {
                // Entry of the diagonal in this slot. The diagonal is rotated right by the giant step, because the sum
                // of its products is later rotated left by the same number of steps.
                let entry = |slot: usize| {
                    let row = (slot + size - giant % size) % size;
                    rows[row][(row + giant + baby) % size]
                };
                let diagonal: Vec<Complex64> = (0..slots).map(entry).collect();
                if diagonal.iter().any(|number| *number != Complex64::ZERO) {
                    diagonals.push((baby as i64, self.encode(&[diagonal], level)?));
                }
            }
            if !diagonals.is_empty() {
                giants.push((giant as i64, diagonals));
            }
        }
        Ok(Matrix { giants })
    }

    /// Multiplies a matrix with encrypted vectors. The scale of the result is the scale of the matrix times that of the
    /// vectors.
    ///
    /// # Errors
    /// [`Error::NoRotationKey`] if `keys` lacks one of [`Matrix::rotations`]; [`Error::Levels`] if the vectors are not
    /// at the level of the matrix; the errors of [`Ckks::multiply_plain`].
    pub fn multiply_matrix(&self, matrix: &Matrix, vectors: &Ciphertext, keys: &GaloisKeys) -> Result<Ciphertext> {
        let babies = matrix.babies();
        let rotated = self.rotations(vectors, &babies, keys)?;
        let mut sum: Option<Ciphertext> = None;
        for (giant, diagonals) in &matrix.giants {
            let of = |step: &i64| babies.binary_search(step).ok().and_then(|i| rotated.get(i));
            let (c, plain): (Vec<_>, Vec<_>) =
                diagonals.iter().filter_map(|(baby, diagonal)| Some((of(baby)?, diagonal))).unzip();
            let part = self.rotate(&self.inner_product_plain(&c, &plain)?, *giant, keys)?;
            sum = Some(match sum {
                Some(sum) => self.add(&sum, &part)?,
                None => part,
            });
        }
        match sum {
            Some(sum) => Ok(sum),
            None => self.multiply_number(vectors, 0.0),
        }
    }
}

impl Ckks {
    /// Sums of slots: slot j of the result is the sum of the slots j + i·`stride` for i below `count`. All slots are in
    /// a circle. Takes about log2(`count`) rotations.
    ///
    /// # Errors
    /// [`Error::NoRotationKey`] if `keys` lacks one of [`Ckks::sum_rotations`]; [`Error::Foreign`] if an argument was
    /// made for parameters other than this scheme's; [`Error::Engine`] if the engine fails.
    pub fn sum_slots(&self, a: &Ciphertext, stride: i64, count: usize, keys: &GaloisKeys) -> Result<Ciphertext> {
        let mut sum = self.rotate(a, 0, keys)?;
        for step in sum_steps(count) {
            let next = match step {
                SumStep::Double(turn) => self.rotate(&sum, stride.wrapping_mul(turn), keys)?,
                SumStep::Append(turn) => self.rotate(a, stride.wrapping_mul(turn), keys)?,
            };
            sum = self.add(&sum, &next)?;
        }
        Ok(sum)
    }

    /// Steps of all rotations that [`Ckks::sum_slots`] needs, to be passed to [`Ckks::galois_keys`].
    #[must_use]
    pub fn sum_rotations(stride: i64, count: usize) -> Vec<i64> {
        sum_steps(count).map(|(SumStep::Double(turn) | SumStep::Append(turn))| stride.wrapping_mul(turn)).collect()
    }
}

/// A step of a sum of slots: a rotation by this many strides, whose result is added.
#[derive(Debug, Clone, Copy)]
enum SumStep {
    /// A rotation of the sum so far.
    Double(i64),
    /// A rotation of the summed ciphertext.
    Append(i64),
}

/// The steps of a sum of `count` slots, by the binary digits of `count` from the second one on.
fn sum_steps(count: usize) -> impl Iterator<Item = SumStep> {
    (0..count.max(1).ilog2()).rev().flat_map(move |digit| {
        // slots that are summed so far
        let summed = (count >> (digit + 1)) as i64;
        let append = (count >> digit & 1 == 1).then_some(SumStep::Append(2 * summed));
        [Some(SumStep::Double(summed)), append].into_iter().flatten()
    })
}

impl Matrix {
    /// Steps of all rotations that a product needs, to be passed to [`Ckks::galois_keys`].
    #[must_use]
    pub fn rotations(&self) -> Vec<i64> {
        let giants = self.giants.iter().map(|(giant, _)| *giant).filter(|giant| *giant != 0);
        self.babies().into_iter().filter(|baby| *baby != 0).chain(giants).collect()
    }

    /// Baby steps of all diagonals, in ascending order and without duplicates.
    fn babies(&self) -> Vec<i64> {
        let mut babies: Vec<i64> = self.giants.iter().flat_map(|(_, all)| all.iter().map(|(baby, _)| *baby)).collect();
        babies.sort_unstable();
        babies.dedup();
        babies
    }
}

/// Number of baby steps for d diagonals: √(2d) rather than √d, because baby steps are hoisted rotations, which are
/// cheaper than other rotations.
fn baby_steps(diagonals: usize) -> usize {
    (2 * diagonals).isqrt().max(1)
}
