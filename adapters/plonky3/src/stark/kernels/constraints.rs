//! The kernel that evaluates constraints, compiled or interpreted.

use p3_field::ExtensionField;
use ringforge::kernels::{Args, Port};
use ringforge::{Limits, Plan, Planner, Result};

use super::{Grid, Kernels, Shape, THREADS, Words, WordsMut, shared};
use crate::field::{EngineField, elements, elements_mut};
use crate::stark::dag::Node;
use crate::stark::part::{Part, Rows};
use crate::stark::unsupported;

/// Blocks of constraints that are resident on a multiprocessor at once, which limits their registers to 128.
const RESIDENT: usize = 4;
/// The same for words of 64 bits: 168 registers.
const RESIDENT_OF_LONG: usize = 3;
/// Rows of a thread that interprets constraints, which share the decoding of instructions.
const INTERPRETED: usize = 2;

/// The domain on which constraints are evaluated: the first 2^(log_n + log_chunks) rows of the trace's extension, or for
/// constraints that are stored the 2^log_n rows of the trace itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::stark) struct Domain {
    /// The main columns, the preprocessed ones and those of the permutation. The others than the main ones are
    /// column-major, and perhaps have no columns.
    pub(in crate::stark) matrices: [Shape; 3],
    pub(in crate::stark) log_n: usize,
    pub(in crate::stark) log_chunks: usize,
    /// Periodic columns, and the values of each: its longest period on the domain, a power of two.
    pub(in crate::stark) periodic: usize,
    pub(in crate::stark) periods: usize,
}

impl<F: EngineField, EF: ExtensionField<F>> Kernels<F, EF> {
    /// The plan that adds constraints times their weights, in the rows of a domain. A part that stores them has a column for
    /// each constraint instead.
    pub(in crate::stark) fn constraints(self, planner: &Planner, part: &Part<F>, domain: Domain) -> Result<Plan> {
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
        let text = ("stark_constraints", include_str!("../../kernels/stark_constraints.cu"));
        let [[to_row, to_column], [_, to_preprocessed], [_, to_permutation]] = strides;
        let instructions = code.instructions.len();
        let numbers = [
            log_n,
            bits,
            to_row,
            to_column,
            to_preprocessed,
            to_permutation,
            periods,
            instructions,
            columns,
            grid.blocks,
        ];
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
}

impl Grid {
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
