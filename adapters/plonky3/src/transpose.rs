//! Matrix transposition on the device.

use ringforge::kernels::{Args, Built, CustomKernel, Launch, Port};
use ringforge::{Buffer, Engine, Plan, Planner, Result, Stream};

use crate::field::EngineField;

/// The side of a thread block's tile in elements, as in `kernels/transpose.cu`.
const SIDE: usize = 32;
/// Threads per block.
const THREADS: u32 = 256;

/// Returns the first `wanted` rows of the transpose of a row-major matrix of `rows` by `columns`, row-major.
///
/// # Errors
/// Errors of the device.
pub(crate) fn transpose<F: EngineField>(
    engine: &Engine,
    stream: &Stream,
    from: &Buffer,
    rows: usize,
    columns: usize,
    wanted: usize,
) -> Result<Buffer> {
    let key = ("transpose", size_of::<F>(), rows, columns);
    let program = engine.program_of(&key, |planner| plan::<F>(planner, rows, columns))?;
    let mut to = engine.device().buffer(rows * wanted * size_of::<F>())?;
    program.on(stream, wanted).input("from", from).output("to", &mut to).run()?;
    Ok(to)
}

/// The plan that writes rows of the transpose of a matrix to the port `to`. An item is a row. All items share the
/// matrix, at the port `from`.
pub(crate) fn plan<F: EngineField>(planner: &Planner, rows: usize, columns: usize) -> Result<Plan> {
    let word = size_of::<F>();
    let on_cpu = move |items, args: &mut Args<'_>| {
        args.each(items, |item, (from, to): (&[F::Word], &mut [F::Word])| {
            for (to, row) in to.iter_mut().zip(from.chunks_exact(columns)) {
                *to = row[item % columns];
            }
            Ok(())
        })
    };
    let blocks_per_item = rows.div_ceil(SIDE);
    let prelude = format!(
        "#pragma once\n#include \"word.cuh\"\nusing Word = rf::u{};\nRF_CONST rf::u32 threads = {THREADS};\n",
        8 * word
    );
    let launch = Launch {
        items_per_block: SIDE as u32,
        blocks_per_item: blocks_per_item as u32,
        shared_bytes: (SIDE * (SIDE + 1) * word) as u32,
        ..Launch::thread_per_item(THREADS)
    };
    let build = move |_: &ringforge::Limits| Ok(Built { prelude: prelude.clone(), launch });
    let text = ("transpose", include_str!("kernels/transpose.cu"), &[][..]);
    let ports = [Port::shared(rows * columns * word), Port::output(rows * word)];
    // SAFETY: a block reads within the matrix, and writes its share of the rows of its own items; shared memory holds
    // its tile.
    #[allow(unsafe_code)]
    let kernel = unsafe {
        let numbers = [rows, columns, blocks_per_item].map(|number| number as u64);
        CustomKernel::new(text, ports, build, on_cpu).with_numbers(numbers)
    };
    let p = planner.pipeline(format!("transpose of {rows} by {columns}"));
    let from = p.input("from");
    let [to] = p.step(kernel.described(format!("{rows} by {columns} words of {word} bytes")), &[from]);
    p.output("to", to);
    p.build()
}
