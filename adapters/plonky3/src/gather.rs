//! Gathers rows of a matrix on the device.

use ringforge::kernels::{Args, Built, CustomKernel, Launch, Port};
use ringforge::{Buffer, Engine, Plan, Planner, Result, Stream};

use crate::field::{EngineField, elements};
use crate::layout::Layout;

/// Copies the rows with the indices `numbers` to the host, contiguously and in this order. Each index must be below
/// `rows`.
///
/// # Errors
/// Errors of the device.
pub(crate) fn gather<F: EngineField>(
    engine: &Engine,
    stream: &Stream,
    from: &Buffer,
    (layout, rows, columns): (Layout, usize, usize),
    numbers: &[usize],
) -> Result<Vec<F>> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let key = ("gather", size_of::<F>(), layout, rows, columns);
    let program = engine.program_of(&key, |planner| plan::<F>(planner, layout, rows, columns))?;
    let numbers: Vec<u64> = numbers.iter().map(|&number| number as u64).collect();
    let mut to = engine.device().buffer(numbers.len() * columns * size_of::<F>())?;
    let call = program.on(stream, numbers.len()).input("from", from);
    let numbers = stream.upload(&numbers)?;
    call.input("numbers", &numbers).output("to", &mut to).run()?;
    Ok(elements(&stream.download::<F::Word>(&to)?).to_vec())
}

/// The plan that copies rows of the matrix at the port `from`, which all items share, to the port `to`. Each item is
/// one row. Its index, at the port `numbers`, is taken modulo `rows`.
pub(crate) fn plan<F: EngineField>(planner: &Planner, layout: Layout, rows: usize, columns: usize) -> Result<Plan> {
    let word = size_of::<F>();
    let [to_row, to_column] = layout.strides(columns);
    let on_cpu = move |items, args: &mut Args<'_>| {
        args.each(items, |_, (from, number, to): (&[F::Word], &u64, &mut [F::Word])| {
            let row = (number % rows as u64) as usize;
            for (column, to) in to.iter_mut().enumerate() {
                *to = from[row * to_row + column * to_column];
            }
            Ok(())
        })
    };
    // the elements of a row may be strided, so all threads of a block read one row in parallel
    let threads = columns.next_multiple_of(32).min(256) as u32;
    let prelude = format!("#pragma once\n#include \"word.cuh\"\nusing Word = rf::u{};\n", 8 * word);
    let launch = Launch { items_per_block: 1, ..Launch::thread_per_item(threads) };
    let build = move |_: &ringforge::Limits| Ok(Built { prelude: prelude.clone(), launch });
    let text = ("gather", include_str!("kernels/gather.cu"), &[][..]);
    let ports = [
        Port::shared(layout.elements(rows, columns) * word),
        Port::input(size_of::<u64>()),
        Port::output(columns * word),
    ];
    // SAFETY: a block reads a row within the matrix, and writes the output row of its own item.
    #[allow(unsafe_code)]
    let kernel = unsafe {
        let numbers = [rows, columns, to_row, to_column].map(|number| number as u64);
        CustomKernel::new(text, ports, build, on_cpu).with_numbers(numbers)
    };
    let p = planner.pipeline(format!("rows of a matrix of {rows} by {columns}"));
    let inputs = [p.input("from"), p.input("numbers")];
    let [to] = p.step(kernel.described(format!("{rows} by {columns} words of {word} bytes, {layout:?}")), &inputs);
    p.output("to", to);
    p.build()
}
