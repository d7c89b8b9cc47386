//! The kernels of lookups: their fractions and running sums.

use p3_field::ExtensionField;
use ringforge::kernels::Args;
use ringforge::{Plan, Planner, Result};

use super::{Grid, INVERTED, Kernels, THREADS, Words, WordsMut, in_out, input, one_step, output};
use crate::field::{EngineField, elements, elements_mut};
use crate::stark::elements::{canonical, ext};

/// Rows of a permutation trace that a block sums.
pub(in crate::stark) const SUMMED: usize = 512;

impl<F: EngineField, EF: ExtensionField<F>> Kernels<F, EF> {
    /// The plan of the fractions of lookups, from D columns of numerators and D columns of denominators for each. The first D
    /// columns of the result are the sums of all fractions of a row, and D columns follow for each lookup. A denominator
    /// of 0 counts as 1. Also returns the sums over [`SUMMED`] rows: of each of the first D columns, one after another.
    pub(in crate::stark) fn fractions(self, planner: &Planner, log_n: usize, lookups: usize) -> Result<Plan> {
        let (degree, n) = (EF::DIMENSION, 1usize << log_n);
        let chunks = n.div_ceil(SUMMED);
        let ports = [
            input::<F>((2 * lookups * degree) << log_n),
            output::<F>(((lookups + 1) * degree) << log_n),
            output::<F>(degree * chunks),
        ];
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (from, to, totals): (Words<'_, F>, WordsMut<'_, F>, WordsMut<'_, F>)| {
                let (from, to, totals) = (elements::<F>(from), elements_mut::<F>(to), elements_mut::<F>(totals));
                let at = |column: usize, r: usize| -> EF {
                    let coefficients: Vec<F> =
                        (0..degree).map(|d| from[((column * degree + d) << log_n) + r]).collect();
                    ext(&coefficients)
                };
                totals.fill(F::ZERO);
                for r in 0..n {
                    let mut put = |column: usize, x: EF| {
                        let coefficients = x.as_basis_coefficients_slice().iter().enumerate();
                        coefficients.for_each(|(d, x)| to[((column * degree + d) << log_n) + r] = canonical(*x));
                    };
                    let mut sum = EF::ZERO;
                    for lookup in 0..lookups {
                        let inverse = at(2 * lookup + 1, r).try_inverse().unwrap_or(EF::ONE);
                        let fraction = at(2 * lookup, r) * inverse;
                        put(1 + lookup, fraction);
                        sum += fraction;
                    }
                    put(0, sum);
                    for (d, x) in sum.as_basis_coefficients_slice().iter().enumerate() {
                        let total = &mut totals[d * chunks + r / SUMMED];
                        *total = canonical(*total + *x);
                    }
                }
                Ok(())
            })
        };
        let grid = Grid { shared_bytes: degree * THREADS as usize / 32 * size_of::<F>(), ..Grid::of(chunks) };
        let text = ("stark_fractions", include_str!("../../kernels/stark_fractions.cu"));
        let task = [("rows", SUMMED), ("most", INVERTED)];
        let kernel = self.kernel(text, ports, &task, "", grid, [log_n, lookups, chunks], on_cpu);
        let p = planner.pipeline(format!("fractions of {lookups} lookups, 2^{log_n} rows"));
        let [columns, totals] = p.step(kernel, &[p.input("terms")]);
        p.output("columns", columns);
        p.output("totals", totals);
        p.build()
    }

    /// The plan that replaces the first D of some columns by their running sums: those of the rows before. `before` are the
    /// sums before each [`SUMMED`] rows.
    pub(in crate::stark) fn accumulated(self, planner: &Planner, log_n: usize, columns: usize) -> Result<Plan> {
        let (degree, n) = (EF::DIMENSION, 1usize << log_n);
        let chunks = n.div_ceil(SUMMED);
        let ports = [input::<F>(degree * chunks), in_out::<F>(columns << log_n)];
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (before, columns): (Words<'_, F>, WordsMut<'_, F>)| {
                let (before, columns) = (elements::<F>(before), elements_mut::<F>(columns));
                for (d, column) in columns.chunks_exact_mut(n).take(degree).enumerate() {
                    for (chunk, rows) in column.chunks_mut(SUMMED).enumerate() {
                        let mut sum = before[d * chunks + chunk];
                        for row in rows {
                            let own = core::mem::replace(row, canonical(sum));
                            sum += own;
                        }
                    }
                }
                Ok(())
            })
        };
        let grid = Grid { shared_bytes: THREADS as usize * size_of::<F>(), ..Grid::of(chunks * degree) };
        let text = ("stark_accumulated", include_str!("../../kernels/stark_accumulated.cu"));
        let kernel = self.kernel(text, ports, &[("rows", SUMMED)], "", grid, [log_n, columns, chunks], on_cpu);
        one_step(planner, format!("running sums of 2^{log_n} rows"), &["before", "columns"], kernel, "columns")
    }
}
