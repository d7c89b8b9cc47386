//! Transforms of columns, as programs of an engine.

use core::any::TypeId;

use ringforge::{Engine, Error, Order, Plan, Planner, PolyType, Program, Result};

use crate::field::{EngineField, coset};
use crate::layout::Layout;

/// A transform of each column of a matrix. Unless it says otherwise, evaluations on a coset are in natural order in the
/// input and in bit-reversed order in the output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Transform<F> {
    /// From coefficients to evaluations on the coset of this shift.
    Forward(F),
    /// From evaluations on the coset of this shift to coefficients.
    Inverse(F),
    /// From evaluations on the coset of this shift, in bit-reversed order, to coefficients.
    InverseReversed(F),
    /// From the coefficients that an inverse transform from the coset of the first shift leaves to evaluations on the coset
    /// of the second one, extended by a factor of 2^bits. The fields are `bits` and the shifts.
    Evaluate(usize, F, F),
    /// From evaluations on the subgroup to evaluations on the coset of this shift, extended by a factor of 2^bits. The
    /// fields are `bits` and the shift.
    Extend(usize, F),
    /// From evaluations on the coset of the first shift, in bit-reversed order, to evaluations on the coset of the second
    /// one, extended by a factor of 2^bits. The fields are `bits` and the shifts.
    ExtendReversed(usize, F, F),
}

impl<F: EngineField> Transform<F> {
    /// Returns true if the engine transforms columns of this height. Plonky3's code transforms all others.
    pub(crate) fn serves(self, height: usize) -> bool {
        let room = F::TWO_ADICITY.checked_sub(self.added_bits());
        height > 1 && height.is_power_of_two() && room.is_some_and(|bits| height.ilog2() as usize <= bits)
    }

    /// Checks that the transform [serves](Self::serves) this height.
    ///
    /// # Errors
    /// [`Error::Length`] if it does not.
    pub(crate) fn check(self, height: usize) -> Result<()> {
        if self.serves(height) {
            return Ok(());
        }
        let most = 1 << F::TWO_ADICITY.saturating_sub(self.added_bits()).max(1);
        let expected = height.checked_next_power_of_two().unwrap_or(most).clamp(2, most);
        Err(Error::Length {
            what: "number of rows (must be a power of two for which the field has roots of unity)",
            expected,
            got: height,
        })
    }

    /// The program for columns of height 2^bits in this layout. An item is a column, or in [`Layout::Rows`] the whole
    /// matrix of `width` columns.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if a row-major matrix has more rows than the engine can transform in this layout; other
    /// errors of [`Engine::program_of`].
    pub(crate) fn program(self, engine: &Engine, bits: usize, layout: Layout, width: usize) -> Result<Program> {
        let columns = if layout == Layout::Rows { width } else { 1 };
        let key = (TypeId::of::<F>(), bits, layout, columns, self);
        engine.program_of(&key, |planner| self.plan(planner, bits, layout, columns))
    }

    pub(crate) fn added_bits(self) -> usize {
        match self {
            Self::Evaluate(bits, ..) | Self::Extend(bits, _) | Self::ExtendReversed(bits, ..) => bits,
            Self::Forward(_) | Self::Inverse(_) | Self::InverseReversed(_) => 0,
        }
    }

    pub(crate) fn plan(self, planner: &Planner, bits: usize, layout: Layout, columns: usize) -> Result<Plan> {
        let p = planner.pipeline(format!("{self:?} of 2^{bits}"));
        let poly = |bits, shift| coset(bits, shift)?.strided_batch(columns);
        let from = |content: PolyType| match layout {
            Layout::Columns { stride } if stride > 1 << bits => {
                p.bytes("from", stride * size_of::<F>()).part(0..size_of::<F>() << bits).holding(content)
            }
            _ => p.elements("from", content),
        };
        let values = |poly: PolyType| Ok::<_, Error>(from(poly.evaluations(Order::Natural)?));
        let to = match self {
            Self::Forward(shift) => from(poly(bits, shift)?).forward_to(Order::DigitReversed),
            Self::Inverse(shift) => values(poly(bits, shift)?)?.inverse(),
            Self::InverseReversed(shift) => from(poly(bits, shift)?.evaluations(Order::DigitReversed)?).inverse(),
            Self::Evaluate(added, shift, to) => {
                from(poly(bits, shift)?).extend(poly(bits + added, to)?).forward_to(Order::DigitReversed)
            }
            Self::Extend(added, shift) => {
                let coefficients = values(poly(bits, F::ONE)?)?.inverse();
                coefficients.extend(poly(bits + added, shift)?).forward_to(Order::DigitReversed)
            }
            Self::ExtendReversed(added, shift, to) => {
                let coefficients = from(poly(bits, shift)?.evaluations(Order::DigitReversed)?).inverse();
                coefficients.extend(poly(bits + added, to)?).forward_to(Order::DigitReversed)
            }
        };
        p.output("to", to);
        p.build()
    }
}
