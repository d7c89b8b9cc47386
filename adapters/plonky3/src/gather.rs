//! Gathers rows of matrices, and digests of trees, on the device.

use core::ops::Range;

use ringforge::kernels::{Args, Built, CustomKernel, Launch, Port};
use ringforge::{Buffer, Engine, Plan, Planner, Result, Stream};

use crate::field::{EngineField, elements};
use crate::layout::Layout;

/// Rows of several matrices that are copied to the host at once.
#[derive(Debug, Default)]
pub(crate) struct Gathering<'a> {
    jobs: Vec<Job<'a>>,
    numbers: Vec<u64>,
    /// Bytes of all rows.
    bytes: usize,
}

/// Rows of one matrix, with the numbers in this range.
#[derive(Debug)]
struct Job<'a> {
    from: &'a Buffer,
    shape: (Layout, usize, usize),
    numbers: Range<usize>,
    /// The first byte of the rows.
    to: usize,
}

/// The alignment of slices of buffers in bytes.
const ALIGNMENT: usize = 16;

impl<'a> Gathering<'a> {
    /// Adds the rows with these indices of a matrix of this layout, height and width, one after another. Each index must be
    /// below the height. Returns the range of their elements in what [`finish`](Self::finish) returns.
    pub(crate) fn rows<F: EngineField>(
        &mut self,
        from: &'a Buffer,
        shape: (Layout, usize, usize),
        numbers: impl IntoIterator<Item = usize>,
    ) -> Range<usize> {
        let begin = self.numbers.len();
        self.numbers.extend(numbers.into_iter().map(|number| number as u64));
        let (numbers, to) = (begin..self.numbers.len(), self.bytes);
        self.numbers.resize(self.numbers.len().next_multiple_of(ALIGNMENT / size_of::<u64>()), 0);
        let bytes = numbers.len() * shape.2 * size_of::<F>();
        self.bytes += bytes.next_multiple_of(ALIGNMENT);
        if !numbers.is_empty() {
            self.jobs.push(Job { from, shape, numbers, to });
        }
        to / size_of::<F>()..(to + bytes) / size_of::<F>()
    }

    /// Copies all rows to the host.
    ///
    /// # Errors
    /// Errors of the device.
    pub(crate) fn finish<F: EngineField>(self, engine: &Engine, stream: &Stream) -> Result<Vec<F>> {
        if self.jobs.is_empty() {
            return Ok(Vec::new());
        }
        let numbers = stream.upload(&self.numbers)?;
        let mut to = stream.zeros(self.bytes)?;
        for Job { from, shape: (layout, rows, columns), numbers: own, to: begin } in self.jobs {
            let key = ("gather", size_of::<F>(), layout, rows, columns);
            let program = engine.program_of(&key, |planner| plan::<F>(planner, layout, rows, columns))?;
            let bytes = own.len() * columns * size_of::<F>();
            let call = program.on(stream, own.len()).input("from", from);
            let call = call.input("numbers", numbers.slice(own.start * size_of::<u64>()..own.end * size_of::<u64>())?);
            call.output("to", to.slice_mut(begin..begin + bytes)?).run()?;
        }
        Ok(elements(&stream.download::<F::Word>(&to)?).to_vec())
    }
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
