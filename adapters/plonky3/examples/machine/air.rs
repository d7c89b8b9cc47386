//! The AIRs of a machine with three tables.

use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_lookup::{Count, InteractionBuilder};
use p3_matrix::dense::RowMajorMatrix;

/// The tables: steps of a machine that adds or multiplies bytes, products, and all bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    /// The operation (1 for a product), its two operands, its result and a counter.
    Steps,
    /// Two factors, their product, and how often it is used.
    Products,
    /// How often a byte is used. The byte is preprocessed.
    Bytes,
}

impl Machine {
    pub(crate) const ALL: [Self; 3] = [Self::Steps, Self::Products, Self::Bytes];
}

impl<F: Field> BaseAir<F> for Machine {
    fn width(&self) -> usize {
        match self {
            Self::Steps => 5,
            Self::Products => 4,
            Self::Bytes => 1,
        }
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        if *self == Self::Steps { vec![4] } else { vec![] }
    }

    fn preprocessed_width(&self) -> usize {
        usize::from(*self == Self::Bytes)
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<F>> {
        (*self == Self::Bytes).then(|| RowMajorMatrix::new((0..256).map(F::from_u64).collect(), 1))
    }

    fn preprocessed_next_row_columns(&self) -> Vec<usize> {
        vec![]
    }
}

impl<AB: InteractionBuilder<F: Field>> Air<AB> for Machine {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let (row, next): (&[AB::Var], &[AB::Var]) = (main.current_slice(), main.next_slice());
        match (self, row) {
            (Self::Steps, &[multiplies, x, y, z, clock]) => {
                builder.assert_bool(multiplies);
                builder.assert_zero((AB::Expr::ONE - multiplies) * (z - x - y));
                builder.when_first_row().assert_zero(clock);
                builder.when_transition().assert_eq(next[4], clock + AB::Expr::ONE);
                builder.push_interaction("products", [x, y, z], Count::bounded(multiplies.into(), 1));
                builder.push_interaction("bytes", [x], 1);
                builder.push_interaction("bytes", [y], 1);
            }
            (Self::Products, &[x, y, z, used]) => {
                builder.assert_eq(x * y, z);
                builder.push_interaction("products", [x, y, z], Count::provided(-used.into()));
            }
            (_, &[used, ..]) => {
                let byte = builder.preprocessed().current_slice()[0];
                builder.push_interaction("bytes", [byte], Count::provided(-used.into()));
            }
            _ => {}
        }
    }
}
