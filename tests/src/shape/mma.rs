//! A tile of a matrix product of 8-bit integers, an item a warp.

use core::ops::Range;

use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Source};
use ringforge::testkit::NamedPlan;
use ringforge::{Limits, Result};

use crate::one_step;

const DEPTH: usize = 96;
const PORTS: &[Port] = &[Port::input(16 * DEPTH), Port::input(8 * DEPTH), Port::output(16 * 8 * 4)];

/// 16 rows in, 8 columns in, 16 × 8 words out.
#[derive(Debug)]
pub struct Mma;

impl Kernel for Mma {
    fn name(&self) -> &'static str {
        "mma"
    }

    fn ports(&self) -> &[Port] {
        PORTS
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let prelude = format!("#pragma once\nstruct Task {{ static constexpr unsigned depth = {DEPTH}; }};\n");
        let built = Built { prelude, launch: Launch { items_per_block: 4, ..Launch::thread_per_item(128) } };
        // SAFETY: mma.cu reads and writes the matrices of its own items, which have the sizes of the ports.
        Ok(unsafe { Source::new(self, include_str!("mma.cu"), &[], built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        args.each(items, |_, (left, right, out): (&[i8], &[i8], &mut [i32])| {
            for (cells, row) in out.chunks_exact_mut(8).zip(left.chunks_exact(DEPTH)) {
                for (cell, column) in cells.iter_mut().zip(right.chunks_exact(DEPTH)) {
                    *cell = row.iter().zip(column).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum();
                }
            }
            Ok(())
        })
    }
}

/// The plan, with an oracle that sums products by index.
///
/// # Errors
/// What makes the plan fail.
pub fn plan() -> Result<NamedPlan> {
    let plan = one_step(Mma, &["rows", "columns", "products"])?;
    Ok(NamedPlan::new("mma", plan).expecting(|batch, inputs| {
        let byte = |input: &str, at: usize| i64::from(inputs[input][at] as i8);
        let cell = |cell: usize| {
            let (item, row, column) = (cell / 128, cell / 8 % 16, cell % 8);
            let (row, column) = ((item * 16 + row) * DEPTH, (item * 8 + column) * DEPTH);
            let products = (0..DEPTH).map(|k| byte("rows", row + k) * byte("columns", column + k));
            (products.sum::<i64>() as i32).to_le_bytes()
        };
        vec![("products", (0..batch * 128).flat_map(cell).collect())]
    }))
}
