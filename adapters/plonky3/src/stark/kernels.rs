//! The kernels of a prover, with their CPU references. Elements of the extension are D words each, lowest coefficient
//! first.

use core::marker::PhantomData;
use core::ops::Range;
use std::fmt::Write;

use p3_field::{ExtensionField, batch_multiplicative_inverse};
use rayon::prelude::*;
use ringforge::kernels::{Args, Built, CustomKernel, Header, Launch, Port, Table};
use ringforge::{Buffer, Limits, Plan, Planner, Result, Stream};

use super::dag::Node;
use super::part::{Part, Rows};
use super::unsupported;
use crate::field::{EngineField, elements, elements_mut, inverse_of_modulus, words};
use crate::layout::Layout;
use crate::resident::Matrix;

const HEADERS: &[Header] = &[
    Header { name: "stark.cuh", text: include_str!("../stark.cuh") },
    Header { name: "stark_interpreter.cuh", text: include_str!("../stark_interpreter.cuh") },
];
const THREADS: u32 = 128;
/// Elements that share an inversion.
const INVERTED: usize = 8;
/// Columns that a block sums at once, and rows of a chunk.
const COLUMNS: usize = 4;
const CHUNK: usize = 2048;
/// Rows of a permutation trace that a block sums.
pub(super) const SUMMED: usize = 512;
/// Blocks of constraints that are resident on a multiprocessor at once, which limits their registers to 128.
const RESIDENT: usize = 4;
/// The same for words of 64 bits: 168 registers.
const RESIDENT_OF_LONG: usize = 3;
/// Rows of a thread that interprets constraints, which share the decoding of instructions.
const INTERPRETED: usize = 2;
/// log2 of the most elements that are folded to one.
pub(super) const MOST_LOG_ARITY: usize = 4;

/// The kernels over a field and its extension F\[x\]/(x^D − W).
#[derive(Debug)]
pub(super) struct Kernels<F, EF> {
    /// W of the extension F\[x\]/(x^D − W).
    pub(super) nonresidue: F,
    extension: PhantomData<fn() -> EF>,
}

impl<F: Copy, EF> Copy for Kernels<F, EF> {}
impl<F: Copy, EF> Clone for Kernels<F, EF> {
    fn clone(&self) -> Self {
        *self
    }
}

/// The size and the layout of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) layout: Layout,
}

impl Shape {
    pub(super) fn of<F: EngineField>(matrix: &Matrix<F>) -> Self {
        Self { rows: matrix.height(), columns: matrix.width(), layout: matrix.layout() }
    }

    /// That of a matrix without columns.
    pub(super) fn none(rows: usize) -> Self {
        Self { rows, columns: 0, layout: Layout::Columns { stride: rows } }
    }

    fn elements(self) -> usize {
        self.layout.elements(self.rows, self.columns)
    }

    fn strides(self) -> [usize; 2] {
        self.layout.strides(self.columns)
    }
}

type Words<'a, F> = &'a [<F as EngineField>::Word];
type WordsMut<'a, F> = &'a mut [<F as EngineField>::Word];

impl<F: EngineField, EF: ExtensionField<F>> Kernels<F, EF> {
    /// # Errors
    /// [`Error::Unsupported`] unless the extension is by a root of x^D − W with D = 2 or 4.
    pub(super) fn new() -> Result<Self> {
        let power = EF::ith_basis_element(1).map(|x| x.exp_u64(EF::DIMENSION as u64)).unwrap_or_default();
        match power.as_basis_coefficients_slice() {
            [nonresidue, rest @ ..] if matches!(EF::DIMENSION, 2 | 4) && rest.iter().all(F::is_zero) => {
                Ok(Self { nonresidue: *nonresidue, extension: PhantomData })
            }
            _ => {
                let why = format!("its extension of degree {} is not by a root of x^2 − W or x^4 − W", EF::DIMENSION);
                Err(unsupported(why))
            }
        }
    }

    /// The plan of the values 1 / (z − x) at the points of a coset of 2^bits elements in bit-reversed order.
    pub(super) fn denominators(self, planner: &Planner, bits: usize) -> Result<Plan> {
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
        let text = ("stark_denominators", include_str!("../kernels/stark_denominators.cu"));
        let kernel = self.kernel(text, ports, &task, "", Grid::of(blocks), [bits, blocks], on_cpu);
        one_step(planner, format!("1 / (z − x), 2^{bits}"), &["points", "z"], kernel, "inverses")
    }

    /// The plan that adds constraints times their weights, in the rows of a domain. A part that stores them has a column for
    /// each constraint instead.
    pub(super) fn constraints(self, planner: &Planner, part: &Part<F>, domain: Domain) -> Result<Plan> {
        let Domain { matrices, log_n, log_chunks, periodic, periods } = domain;
        let (bits, degree, strides) = (log_n + log_chunks, EF::DIMENSION, matrices.map(Shape::strides));
        let (dag, code) = (&part.dag, part.code.clone());
        // all parts read the same memory
        let selects = !part.stores && (part.interpreted || dag.has(Node::First) || dag.has(Node::Last));
        let columns = if part.stores { dag.constraints.len() } else { degree };
        let sums = (columns << bits) * size_of::<F>();
        let [main, preprocessed, permutation] = matrices.map(|shape| shared::<F>(shape.elements().max(1)));
        let ports = [
            main,
            preprocessed,
            permutation,
            shared::<F>(part.publics + dag.constants().len()),
            shared::<F>(if part.stores { degree } else { dag.constraints.len().max(1) * degree }),
            shared::<F>(2 << log_chunks),
            shared::<F>(3 + bits),
            shared::<F>(if selects { degree << bits } else { degree }),
            shared::<F>((periodic * periods).max(1)),
            Port::shared(size_of_val(part.port_of_code())),
            if part.continues { Port::in_out(sums) } else { Port::output(sums) },
        ];
        let (rows, slots) = if part.interpreted { (INTERPRETED, code.slots) } else { (1, 0) };
        let grid = Grid::of_slots::<F>(1 << bits, rows, slots, planner.limits())?;
        let task = [
            ("first", part.has(Node::First).into()),
            ("last", part.has(Node::Last).into()),
            ("transition", part.has(Node::Transition).into()),
            ("continues", part.continues.into()),
            ("ends", part.ends.into()),
            ("stores", part.stores.into()),
            ("columns", columns),
            ("resident", if size_of::<F>() == 8 { RESIDENT_OF_LONG } else { RESIDENT }),
            ("rows", rows),
        ];
        let (text_of_part, of_rows) = (part.text::<EF>(), part.clone());
        let on_cpu = move |items, args: &mut Args<'_>| {
            type In<'a, F> = Words<'a, F>;
            type Ports<'a, F> = (
                In<'a, F>,
                In<'a, F>,
                In<'a, F>,
                In<'a, F>,
                In<'a, F>,
                In<'a, F>,
                In<'a, F>,
                In<'a, F>,
                In<'a, F>,
                &'a [u64],
                WordsMut<'a, F>,
            );
            args.each(items, |_, ports: Ports<'_, F>| {
                let (main, preprocessed, permutation, publics, weights, blocks, points, inverses, periodic, _, to) =
                    ports;
                let rows = Rows {
                    matrices: [main, preprocessed, permutation].map(elements),
                    publics: elements(publics),
                    weights: elements(weights),
                    blocks: elements(blocks),
                    points: elements(points),
                    inverses: elements(inverses),
                    periodic: elements(periodic),
                    strides,
                    periods,
                    log_n,
                    bits,
                };
                of_rows.on_cpu::<EF>(&rows, elements_mut(to));
                Ok(())
            })
        };
        let text = ("stark_constraints", include_str!("../kernels/stark_constraints.cu"));
        let [[to_row, to_column], [_, to_preprocessed], [_, to_permutation]] = strides;
        let instructions = code.instructions.len();
        let numbers =
            [log_n, bits, to_row, to_column, to_preprocessed, to_permutation, periods, instructions, grid.blocks];
        let kernel = self.kernel(text, ports, &task, &text_of_part, grid, numbers, on_cpu);
        let how = if part.interpreted { "interpreted" } else { "compiled" };
        let about = format!("modulo {}, constraints {:?}, {how}", F::ORDER_U64, part.constraints());
        let kernel = kernel.described(about);
        let p = planner.pipeline(format!("constraints of 2^{bits} rows"));
        let inputs = [
            "main",
            "preprocessed",
            "permutation",
            "publics",
            "weights",
            "blocks",
            "points",
            "inverses",
            "periodic",
            "code",
            "sums",
        ];
        let inputs = &inputs[..if part.continues { 11 } else { 10 }];
        let [sums] = p.step(kernel, &inputs.iter().map(|name| p.input(name)).collect::<Vec<_>>());
        p.output("sums", sums);
        p.build()
    }

    /// The plan of Σ T_c(r) (1 / (z − x_r) − 1 / z) for each column, over the first rows of a matrix. With `both`, there is a
    /// second point, and the two sums of a column follow each other.
    pub(super) fn opened(self, planner: &Planner, matrix: Shape, rows: usize, both: bool) -> Result<Plan> {
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
        let text = ("stark_opened", include_str!("../kernels/stark_opened.cu"));
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
        let text = ("stark_summed", include_str!("../kernels/stark_summed.cu"));
        let ports = [input::<F>(chunks * count), output::<F>(count)];
        self.kernel(text, ports, &[], "", Grid::of(blocks), [chunks, count, blocks], on_cpu)
    }

    /// The plan that adds the combination of a matrix's columns with powers of a challenge, in the first 2^log_n rows, to D
    /// columns. With `both`, there are D more columns for a second point, to which the combination is added times a factor if
    /// the matrix is opened at the `next` row. Unless it `continues`, it begins with this matrix.
    pub(super) fn combined(
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
        let text = ("stark_combined", include_str!("../kernels/stark_combined.cu"));
        let kernel = self.kernel(text, ports, &task, "", grid, numbers, on_cpu);
        let inputs = ["matrix", "powers", "factor", "combined"];
        let inputs = &inputs[..if continues { 4 } else { 3 }];
        one_step(planner, format!("combination of columns of 2^{log_n}"), inputs, kernel, "combined")
    }

    /// The plan of a function that FRI tests: (Y − p) / (z − x), and with `both` also (Y' − p') / (z' − x). The D columns of
    /// p, and then those of p', are in the rows of an extension.
    pub(super) fn reduced(self, planner: &Planner, rows: usize, both: bool) -> Result<Plan> {
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
        let text = ("stark_reduced", include_str!("../kernels/stark_reduced.cu"));
        let kernel = self.kernel(text, ports, &[("both", both.into())], "", grid, [rows, grid.blocks], on_cpu);
        let inputs = ["combined", "constants", "here", "next"];
        one_step(planner, format!("reduced openings of {rows} rows"), &inputs, kernel, "reduced")
    }

    /// The plan that folds 2^log_rows rows of 2^log_arity elements to one element each. If a function `joins`, it is added
    /// to the result, times the last challenge.
    pub(super) fn folded(self, planner: &Planner, log_rows: usize, log_arity: usize, joins: bool) -> Result<Plan> {
        let (degree, rows) = (EF::DIMENSION, 1usize << log_rows);
        let factors = fold_factors::<F>(log_rows + log_arity - 1);
        let ports = [
            input::<F>((rows << log_arity) * degree),
            shared::<F>((log_arity + 1) * degree),
            shared::<F>(factors.len()),
            input::<F>(if joins { rows * degree } else { degree }),
            output::<F>(rows * degree),
        ];
        let bytes = words(&factors).iter().flat_map(bytemuck::bytes_of).copied().collect::<Vec<u8>>();
        let on_cpu = move |items, args: &mut Args<'_>| {
            type Ports<'a, F> = (Words<'a, F>, Words<'a, F>, Words<'a, F>, Words<'a, F>, WordsMut<'a, F>);
            args.each(items, |_, (from, challenges, factors, joined, to): Ports<'_, F>| {
                let [from, challenges, joined] = [from, challenges, joined].map(exts::<F, EF>);
                let joined = joins.then_some(&joined[..]);
                put(elements_mut(to), fold_rows(&from, rows, &challenges, elements::<F>(factors), joined));
                Ok(())
            })
        };
        let blocks = rows.div_ceil(THREADS as usize);
        let text = ("stark_folded", include_str!("../kernels/stark_folded.cu"));
        let task = [("most", MOST_LOG_ARITY), ("joins", joins.into())];
        let kernel = self.kernel(text, ports, &task, "", Grid::of(blocks), [rows, log_arity, blocks], on_cpu);
        let kernel = kernel.with_table(2, Table::Bytes(bytes.into())).described(format!(
            "modulo {}, {} factors",
            F::ORDER_U64,
            factors.len()
        ));
        one_step(
            planner,
            format!("folding of 2^{log_rows} rows of 2^{log_arity}"),
            &["elements", "challenges", "joined"],
            kernel,
            "folded",
        )
    }

    /// The plan of the fractions of lookups, from D columns of numerators and D columns of denominators for each. The first D
    /// columns of the result are the sums of all fractions of a row, and D columns follow for each lookup. A denominator
    /// of 0 counts as 1. Also returns the sums over [`SUMMED`] rows: of each of the first D columns, one after another.
    pub(super) fn fractions(self, planner: &Planner, log_n: usize, lookups: usize) -> Result<Plan> {
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
        let text = ("stark_fractions", include_str!("../kernels/stark_fractions.cu"));
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
    pub(super) fn accumulated(self, planner: &Planner, log_n: usize, columns: usize) -> Result<Plan> {
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
        let text = ("stark_accumulated", include_str!("../kernels/stark_accumulated.cu"));
        let kernel = self.kernel(text, ports, &[("rows", SUMMED)], "", grid, [log_n, columns, chunks], on_cpu);
        one_step(planner, format!("running sums of 2^{log_n} rows"), &["before", "columns"], kernel, "columns")
    }

    #[allow(clippy::too_many_arguments)]
    fn kernel<const N: usize>(
        self,
        (name, text): (&'static str, &'static str),
        ports: impl Into<Vec<Port>>,
        task: &[(&str, usize)],
        code: &str,
        grid: Grid,
        numbers: [usize; N],
        on_cpu: impl Fn(Range<usize>, &mut Args<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> CustomKernel {
        let q = F::ORDER_U64;
        let [one, nonresidue] = [F::ONE, self.nonresidue].map(word);
        let field = match size_of::<F>() {
            4 => format!("stark::Field31<{q}u, {}u, {one}u>", inverse_of_modulus::<F>()),
            _ => "stark::Goldilocks64".into(),
        };
        let mut prelude = format!(
            "#pragma once\n#include \"stark.cuh\"\nusing namespace rf;\nusing F = {field};\nusing Word = F::Word;\n\
             constexpr u32 E_DEGREE = {};\nusing E = stark::Extension<F, E_DEGREE, {nonresidue}ull>;\n\
             struct Task {{\n    static constexpr u32 threads = {THREADS}",
            EF::DIMENSION
        );
        for (name, value) in task {
            let _ = write!(prelude, ", {name} = {value}");
        }
        prelude += ";\n};\n";
        prelude += code;
        let launch = Launch {
            items_per_block: 1,
            blocks_per_item: u32::try_from(grid.blocks).unwrap_or(u32::MAX),
            shared_bytes: grid.shared_bytes as u32,
            ..Launch::thread_per_item(grid.threads)
        };
        let build = move |_: &Limits| Ok(Built { prelude: prelude.clone(), launch });
        let numbers = numbers.map(|number| number as u64);
        // SAFETY: a thread reads its own row of the inputs, or those that a block shares, and writes its own elements. The
        // numbers of columns in generated code are below the matrix's, as `Prover` checks.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new((name, text, HEADERS), ports, build, on_cpu).with_numbers(numbers) };
        kernel
    }
}

/// The blocks of a launch for one item.
#[derive(Debug, Clone, Copy)]
struct Grid {
    blocks: usize,
    threads: u32,
    shared_bytes: usize,
}

impl Grid {
    fn of(blocks: usize) -> Self {
        Self { blocks, threads: THREADS, shared_bytes: 0 }
    }

    /// A thread for each row.
    fn of_rows(rows: usize) -> Self {
        Self::of(rows.div_ceil(THREADS as usize))
    }

    /// A thread for `each` rows, with `slots` words of shared memory for every row.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a warp's words do not fit.
    fn of_slots<F>(rows: usize, each: usize, slots: usize, limits: &Limits) -> Result<Self> {
        let limit = if limits.is_cpu() { usize::MAX } else { limits.block_shared_bytes as usize };
        let of = |threads: u32| slots * each * threads as usize * size_of::<F>();
        let threads = [THREADS, THREADS / 2, THREADS / 4].into_iter().find(|threads| of(*threads) <= limit);
        let threads = threads.ok_or_else(|| {
            unsupported(format!("constraints need {slots} values of a row at once, more than the interpreter holds"))
        })?;
        Ok(Self { blocks: rows.div_ceil(each * threads as usize), threads, shared_bytes: of(threads) })
    }
}

/// The domain on which constraints are evaluated: the first 2^(log_n + log_chunks) rows of the trace's extension, or for
/// constraints that are stored the 2^log_n rows of the trace itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Domain {
    /// The main columns, the preprocessed ones and those of the permutation. The others than the main ones are
    /// column-major, and perhaps have no columns.
    pub(super) matrices: [Shape; 3],
    pub(super) log_n: usize,
    pub(super) log_chunks: usize,
    /// Periodic columns, and the values of each: its longest period on the domain, a power of two.
    pub(super) periodic: usize,
    pub(super) periods: usize,
}

/// For each bit of the index of a pair, its factor of 1 / x, where x is the first point of the pair.
pub(super) fn fold_factors<F: EngineField>(bits: usize) -> Vec<F> {
    // ports have no size 0
    (0..bits.max(1)).map(|bit| canonical(F::two_adic_generator(bit + 2).inverse())).collect()
}

/// Folds rows by challenges, one for each halving, to one element each. A function that joins is added, times a last
/// challenge.
pub(super) fn fold_rows<F: EngineField, EF: ExtensionField<F>>(
    values: &[EF],
    rows: usize,
    challenges: &[EF],
    factors: &[F],
    joined: Option<&[EF]>,
) -> Vec<EF> {
    let Some((last, challenges)) = challenges.split_last() else { return Vec::new() };
    let row = |r: usize| {
        let mut x = values[r << challenges.len()..(r + 1) << challenges.len()].to_vec();
        for challenge in challenges {
            let width = x.len() / 2;
            let pair = |i: usize| {
                let bits = factors.iter().enumerate().filter(|(bit, _)| (r * width + i) >> bit & 1 == 1);
                let factor = bits.fold(F::ONE.halve(), |product, (_, factor)| product * *factor);
                let (low, high) = (x[2 * i], x[2 * i + 1]);
                (low + high).halve() + (low - high) * *challenge * factor
            };
            x = (0..width).map(pair).collect();
        }
        joined.map_or(x[0], |joined| x[0] + *last * joined[r])
    };
    ringforge_cpu::threads::start();
    // to wake other threads for few rows takes longer than to fold them
    (0..rows).into_par_iter().with_min_len(1 << 9).map(row).collect()
}

/// The point of row r of a coset in bit-reversed order. `points` are the shift, two others, and for each bit of r its
/// factor.
pub(super) fn point_of<F: EngineField>(points: &[F], r: usize) -> F {
    let bits = points[3..].iter().enumerate().filter(|(bit, _)| r >> bit & 1 == 1);
    bits.fold(points[0], |x, (_, factor)| x * *factor)
}

/// The number whose lowest bits are those of x in reverse.
pub(super) fn reversed(x: usize, bits: usize) -> usize {
    if bits == 0 { 0 } else { x.reverse_bits() >> (usize::BITS as usize - bits) }
}

fn one_step(planner: &Planner, title: String, inputs: &[&str], kernel: CustomKernel, output: &str) -> Result<Plan> {
    let p = planner.pipeline(title);
    let [value] = p.step(kernel, &inputs.iter().map(|name| p.input(name)).collect::<Vec<_>>());
    p.output(output, value);
    p.build()
}

fn shared<F>(elements: usize) -> Port {
    Port::shared(elements * size_of::<F>())
}

fn input<F>(elements: usize) -> Port {
    Port::input(elements * size_of::<F>())
}

fn in_out<F>(elements: usize) -> Port {
    Port::in_out(elements * size_of::<F>())
}

fn output<F>(elements: usize) -> Port {
    Port::output(elements * size_of::<F>())
}

/// The word that stores an element.
pub(super) fn word<F: EngineField>(x: F) -> u64 {
    let x = canonical(x);
    let words = words(core::slice::from_ref(&x));
    bytemuck::bytes_of(&words[0]).iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The element of the extension with these coefficients.
pub(super) fn ext<F: EngineField, EF: ExtensionField<F>>(coefficients: &[F]) -> EF {
    EF::from_basis_coefficients_slice(coefficients).unwrap_or_default()
}

pub(super) fn exts<F: EngineField, EF: ExtensionField<F>>(words: &[F::Word]) -> Vec<EF> {
    elements::<F>(words).chunks_exact(EF::DIMENSION).map(ext).collect()
}

/// Copies elements to the device, as words below the modulus. Plonky3 may store others for Goldilocks.
pub(super) fn upload<F: EngineField>(stream: &Stream, elements: &[F]) -> Result<Buffer> {
    let elements: Vec<F> = elements.iter().copied().map(canonical).collect();
    stream.upload(words(&elements))
}

/// Small inputs of launches that are copied to the device at once, because each copy takes a while.
pub(super) struct Pack<F>(Vec<F>);

impl<F: EngineField> Pack<F> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds elements. Returns their bytes.
    pub(super) fn add(&mut self, elements: &[F]) -> Range<usize> {
        // slices of buffers begin at multiples of 16 bytes
        self.0.resize(self.0.len().next_multiple_of(16 / size_of::<F>()), F::ZERO);
        let begin = self.0.len();
        self.0.extend_from_slice(elements);
        begin * size_of::<F>()..self.0.len() * size_of::<F>()
    }

    pub(super) fn upload(self, stream: &Stream) -> Result<Buffer> {
        upload(stream, &self.0)
    }
}

/// The same element, stored as a word below the modulus.
pub(super) fn canonical<F: EngineField>(x: F) -> F {
    F::from_u64(x.as_canonical_u64())
}

/// Writes the coefficients of elements, as words below the modulus.
fn put<F: EngineField, EF: ExtensionField<F>>(to: &mut [F], from: Vec<EF>) {
    for (to, from) in to.chunks_exact_mut(EF::DIMENSION).zip(from) {
        to.iter_mut().zip(from.as_basis_coefficients_slice()).for_each(|(to, x)| *to = canonical(*x));
    }
}
