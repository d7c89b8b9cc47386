//! Sums over slots.

use ringforge_rlwe::GaloisKeys;

use crate::error::Result;
use crate::scheme::Ckks;
use crate::types::Ciphertext;

impl Ckks {
    /// Sums of slots: slot j of the result is the sum of the slots j + i·`stride` for i below `count`. All slots are in
    /// a circle. Takes about log2(`count`) rotations.
    ///
    /// # Errors
    /// [`NoRotationKey`](crate::rlwe::Error::NoRotationKey) if `keys` lacks one of [`Ckks::sum_rotations`];
    /// [`Foreign`](crate::rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`](crate::Error::Engine) if the engine fails.
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

    /// Steps of all rotations that [`Ckks::sum_slots`] needs, to be passed to
    /// [`KeyGenerator::galois_keys`](crate::KeyGenerator::galois_keys).
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
