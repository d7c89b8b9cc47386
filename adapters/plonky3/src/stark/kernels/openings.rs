//! The kernels of opened values, and of the function that FRI tests.

use p3_field::{ExtensionField, batch_multiplicative_inverse};
use rayon::prelude::*;
use ringforge::kernels::{Args, CustomKernel};
use ringforge::{Plan, Planner, Result};

use super::{Grid, INVERTED, Kernels, Shape, THREADS, Words, WordsMut, in_out, input, one_step, output, shared};
use crate::field::{EngineField, elements, elements_mut};
use crate::stark::elements::{canonical, ext, exts, put};

/// Columns that a block sums at once, and rows of a chunk.
const COLUMNS: usize = 4;
const CHUNK: usize = 2048;

impl<F: EngineField, EF: ExtensionField<F>> Kernels<F, EF> {
    /// The plan of the values 1 / (z − x) at the points of a coset of 2^bits elements in bit-reversed order.
    pub(in crate::stark) fn denominators(self, planner: &Planner, bits: usize) -> Result<Plan> {
        let rows = 1usize << bits;
        let blocks = rows.div_ceil(THREADS as usize * INVERTED);
        let ports = [shared::<F>(3 + bits), input::<F>(EF::DIMENSION), output::<F>(rows * EF::DIMENSION)];
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (points, z, to): (Words<'_, F>, Words<'_, F>, WordsMut<'_, F>)| {
                let (points, z) = (elements::<F>(points), ext::<F, EF>(elements(z)));
                let differences: Vec<EF> = (0..rows).map(|r| z - point_of(points, r)).collect();
                put(elements_mut(to), batch_multiplicative_inverse(&differences));
                Ok(())
            })
        };
        let task = [("elements", INVERTED)];
        let text = ("stark_denominators", include_str!("../../kernels/stark_denominators.cu"));
        let kernel = self.kernel(text, ports, &task, "", Grid::of(blocks), [bits, blocks], on_cpu);
        one_step(planner, format!("1 / (z − x), 2^{bits}"), &["points", "z"], kernel, "inverses")
    }

    /// The plan of Σ T_c(r) (1 / (z − x_r) − 1 / z) for each column, over the first rows of a matrix. With `both`, there is a
    /// second point, and the two sums of a column follow each other.
    pub(in crate::stark) fn opened(self, planner: &Planner, matrix: Shape, rows: usize, both: bool) -> Result<Plan> {
        let (degree, columns, [to_row, to_column]) = (EF::DIMENSION, matrix.columns, matrix.strides());
        let (chunks, points) = (rows.div_ceil(CHUNK), 1 + usize::from(both));
        // long words need more registers
        let at_once = if both && size_of::<F>() == 8 { COLUMNS / 2 } else { COLUMNS };
        let groups = columns.div_ceil(at_once);
        let ports = [
            shared::<F>(matrix.elements()),
            shared::<F>(rows * degree),
            shared::<F>(if both { rows * degree } else { degree }),
            input::<F>(2 * degree),
            output::<F>(chunks * columns * points * degree),
        ];
        let on_cpu = move |items, args: &mut Args<'_>| {
            type In<'a, F> = Words<'a, F>;
            type Ports<'a, F> = (In<'a, F>, In<'a, F>, In<'a, F>, In<'a, F>, WordsMut<'a, F>);
            args.each(items, |_, (matrix, here, next, at, to): Ports<'_, F>| {
                let (matrix, inverses, at) =
                    (elements::<F>(matrix), [here, next].map(elements::<F>), exts::<F, EF>(at));
                let chunk = |chunk: usize, c: usize, point: usize| -> EF {
                    let rows = chunk * CHUNK..rows.min((chunk + 1) * CHUNK);
                    let weight = |r: usize| ext::<F, EF>(&inverses[point][r * degree..(r + 1) * degree]) - at[point];
                    rows.map(|r| weight(r) * matrix[r * to_row + c * to_column]).sum()
                };
                ringforge_cpu::threads::start();
                let all = (0..chunks * columns * points).into_par_iter();
                let all = all.map(|i| chunk(i / (columns * points), i / points % columns, i % points));
                put(elements_mut(to), all.collect::<Vec<EF>>());
                Ok(())
            })
        };
        let task = [("columns", at_once), ("rows", CHUNK), ("points", points)];
        let text = ("stark_opened", include_str!("../../kernels/stark_opened.cu"));
        let shared_bytes = at_once * points * degree * THREADS as usize / 32 * size_of::<F>();
        let numbers = [rows, columns, to_row, to_column, chunks, groups];
        let grid = Grid { shared_bytes, ..Grid::of(chunks * groups) };
        let of_chunks = self.kernel(text, ports, &task, "", grid, numbers, on_cpu);
        let p = planner.pipeline(format!("values of {columns} columns of {rows}"));
        let inputs = ["matrix", "here", "next", "at"].map(|name| p.input(name));
        let [sums] = p.step(of_chunks, &inputs);
        let [sums] = p.step(self.summed(chunks, columns * points * degree), &[sums]);
        p.output("sums", sums);
        p.build()
    }

    /// Words of chunks → their sums.
    fn summed(self, chunks: usize, count: usize) -> CustomKernel {
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (from, to): (Words<'_, F>, WordsMut<'_, F>)| {
                let from = elements::<F>(from);
                for (i, to) in elements_mut::<F>(to).iter_mut().enumerate() {
                    *to = canonical(from[i..].iter().step_by(count).copied().sum());
                }
                Ok(())
            })
        };
        let blocks = count.div_ceil(THREADS as usize);
        let text = ("stark_summed", include_str!("../../kernels/stark_summed.cu"));
        let ports = [input::<F>(chunks * count), output::<F>(count)];
        self.kernel(text, ports, &[], "", Grid::of(blocks), [chunks, count, blocks], on_cpu)
    }

    /// The plan that adds the combination of a matrix's columns with powers of a challenge, in the first 2^log_n rows, to D
    /// columns. With `both`, there are D more columns for a second point, to which the combination is added times a factor if
    /// the matrix is opened at the `next` row. Unless it `continues`, it begins with this matrix.
    pub(in crate::stark) fn combined(
        self,
        planner: &Planner,
        of: Shape,
        log_n: usize,
        [next, both, continues]: [bool; 3],
    ) -> Result<Plan> {
        let (degree, n, [to_row, to_column]) = (EF::DIMENSION, 1usize << log_n, of.strides());
        let columns = if both { 2 * degree } else { degree };
        let ports = [
            shared::<F>(of.elements()),
            shared::<F>(of.columns * degree),
            shared::<F>(degree),
            if continues { in_out::<F>(columns << log_n) } else { output::<F>(columns << log_n) },
        ];
        let on_cpu = move |items, args: &mut Args<'_>| {
            type Ports<'a, F> = (Words<'a, F>, Words<'a, F>, Words<'a, F>, WordsMut<'a, F>);
            args.each(items, |_, (matrix, powers, factor, to): Ports<'_, F>| {
                let (matrix, to) = (elements::<F>(matrix), elements_mut::<F>(to));
                let (powers, factor) = (exts::<F, EF>(powers), ext::<F, EF>(elements(factor)));
                let row = |r: usize| -> EF {
                    let columns = powers.iter().enumerate();
                    columns.map(|(c, power)| *power * matrix[r * to_row + c * to_column]).sum()
                };
                ringforge_cpu::threads::start();
                let sums = (0..n).into_par_iter().map(row).collect::<Vec<EF>>();
                for (r, sum) in sums.into_iter().enumerate() {
                    let at_next = if next { factor * sum } else { EF::ZERO };
                    let pair = [sum, at_next];
                    let coefficients = pair.iter().flat_map(|x| x.as_basis_coefficients_slice()).take(columns);
                    for (column, x) in coefficients.enumerate() {
                        let to = &mut to[(column << log_n) + r];
                        *to = canonical(if continues { *to + *x } else { *x });
                    }
                }
                Ok(())
            })
        };
        let grid = Grid::of_rows(n);
        let numbers = [log_n, of.columns, to_row, to_column, grid.blocks];
        let task = [("next", next.into()), ("both", both.into()), ("continues", continues.into())];
        let text = ("stark_combined", include_str!("../../kernels/stark_combined.cu"));
        let kernel = self.kernel(text, ports, &task, "", grid, numbers, on_cpu);
        let inputs = ["matrix", "powers", "factor", "combined"];
        let inputs = &inputs[..if continues { 4 } else { 3 }];
        one_step(planner, format!("combination of columns of 2^{log_n}"), inputs, kernel, "combined")
    }

    /// The plan of a function that FRI tests: (Y − p) / (z − x), and with `both` also (Y' − p') / (z' − x). The D columns of
    /// p, and then those of p', are in the rows of an extension.
    pub(in crate::stark) fn reduced(self, planner: &Planner, rows: usize, both: bool) -> Result<Plan> {
        let degree = EF::DIMENSION;
        let columns = if both { 2 * degree } else { degree };
        let ports = [
            shared::<F>(columns * rows),
            shared::<F>(2 * degree),
            shared::<F>(rows * degree),
            shared::<F>(if both { rows * degree } else { degree }),
            output::<F>(rows * degree),
        ];
        let on_cpu = move |items, args: &mut Args<'_>| {
            type In<'a, F> = Words<'a, F>;
            type Ports<'a, F> = (In<'a, F>, In<'a, F>, In<'a, F>, In<'a, F>, WordsMut<'a, F>);
            args.each(items, |_, (combined, constants, here, after, to): Ports<'_, F>| {
                let combined = elements::<F>(combined);
                let [constants, here, after] = [constants, here, after].map(exts::<F, EF>);
                let at = |first: usize, r: usize| -> EF {
                    let coefficients: Vec<F> =
                        (first..first + degree).map(|column| combined[column * rows + r]).collect();
                    ext(&coefficients)
                };
                let row = |r: usize| {
                    let sum = (constants[0] - at(0, r)) * here[r];
                    if both { sum + (constants[1] - at(degree, r)) * after[r] } else { sum }
                };
                ringforge_cpu::threads::start();
                put(elements_mut(to), (0..rows).into_par_iter().map(row).collect::<Vec<EF>>());
                Ok(())
            })
        };
        let grid = Grid::of_rows(rows);
        let text = ("stark_reduced", include_str!("../../kernels/stark_reduced.cu"));
        let kernel = self.kernel(text, ports, &[("both", both.into())], "", grid, [rows, grid.blocks], on_cpu);
        let inputs = ["combined", "constants", "here", "next"];
        one_step(planner, format!("reduced openings of {rows} rows"), &inputs, kernel, "reduced")
    }
}

/// The point of row r of a coset in bit-reversed order. `points` are the shift, two others, and for each bit of r its
/// factor.
pub(in crate::stark) fn point_of<F: EngineField>(points: &[F], r: usize) -> F {
    let bits = points[3..].iter().enumerate().filter(|(bit, _)| r >> bit & 1 == 1);
    bits.fold(points[0], |x, (_, factor)| x * *factor)
}
