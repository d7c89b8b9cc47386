//! What a prover asks of columns, as programs of an engine.

use core::any::TypeId;

use ringforge::{Engine, Error, Order, Plan, Planner, PolyType, Program, Result};

use crate::field::{EngineField, coset};
use crate::layout::Layout;

/// Something to do with each column of a matrix. Values on a coset go in in natural order and come out in bit-reversed order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Transform<F> {
    /// From coefficients to values on the coset of this shift.
    Forward(F),
    /// From values on the coset of this shift to coefficients.
    Inverse(F),
    /// From values on the subgroup to those on a coset of this shift, which is 2^bits times as long.
    Extend(usize, F),
}

impl<F: EngineField> Transform<F> {
    /// Whether columns of this height have the transform, and it does something: the rest is left to Plonky3.
    pub(crate) fn serves(self, height: usize) -> bool {
        let room = F::TWO_ADICITY.checked_sub(self.added_bits());
        height > 1 && height.is_power_of_two() && room.is_some_and(|bits| height.ilog2() as usize <= bits)
    }

    /// Refuses what it does not [serve](Self::serves).
    ///
    /// # Errors
    /// [`Error::Length`].
    pub(crate) fn check(self, height: usize) -> Result<()> {
        if self.serves(height) {
            return Ok(());
        }
        let most = 1 << F::TWO_ADICITY.saturating_sub(self.added_bits()).max(1);
        let expected = height.checked_next_power_of_two().unwrap_or(most).clamp(2, most);
        Err(Error::Length { what: "rows, a power of two that the field has roots for,", expected, got: height })
    }

    /// The program for columns of height 2^bits that lie like this, each of them an item; or for rows of so many as one.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more rows than the engine takes in columns.
    pub(crate) fn program(self, engine: &Engine, bits: usize, layout: Layout, width: usize) -> Result<Program> {
        let columns = if layout == Layout::Rows { width } else { 1 };
        let key = (TypeId::of::<F>(), bits, layout, columns, self);
        engine.program_of(&key, |planner| self.plan(planner, bits, layout, columns))
    }

    pub(crate) fn added_bits(self) -> usize {
        if let Self::Extend(bits, _) = self { bits } else { 0 }
    }

    fn plan(self, planner: &Planner, bits: usize, layout: Layout, columns: usize) -> Result<Plan> {
        let p = planner.pipeline(format!("{self:?} of 2^{bits}"));
        let poly = |bits, shift| coset(bits, shift)?.in_columns(columns);
        let from = |content: PolyType| match layout {
            Layout::Columns { apart } if apart > 1 << bits => {
                p.bytes("from", apart * size_of::<F>()).part(0..size_of::<F>() << bits).holding(content)
            }
            _ => p.elements("from", content),
        };
        let values = |poly: PolyType| Ok::<_, Error>(from(poly.evaluations(Order::Natural)?));
        let to = match self {
            Self::Forward(shift) => from(poly(bits, shift)?).forward_to(Order::Tree),
            Self::Inverse(shift) => values(poly(bits, shift)?)?.inverse(),
            Self::Extend(added, shift) => {
                let coefficients = values(poly(bits, F::ONE)?)?.inverse();
                coefficients.extend(poly(bits + added, shift)?).forward_to(Order::Tree)
            }
        };
        p.output("to", to);
        p.build()
    }
}
