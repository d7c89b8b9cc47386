//! A small kernel for tests of the tests.

use core::ops::Range;
use std::sync::Arc;

use ringforge::testkit::NamedPlan;
use ringforge::testkit::inject::Altered;
use ringforge::{Args, Built, Kernel, Launch, Limits, Plan, Port, Result, Slot, Step, Table};

/// Words of an item, and threads of a block.
pub const N: usize = 128;

/// Scales words, moves them across the block, and adds three times the neighbour's.
#[derive(Debug)]
pub struct Mix;

impl Kernel for Mix {
    fn name(&self) -> &'static str {
        "mix"
    }

    fn source(&self) -> &'static str {
        include_str!("mix.cu")
    }

    fn ports(&self) -> &[Port] {
        const PORTS: &[Port] = &[Port::shared(4 * N), Port::input(4 * N), Port::output(4 * N)];
        PORTS
    }

    fn build(&self, _: &Limits) -> Result<Built> {
        let launch = Launch { threads: N as u32, items_per_block: 1, blocks_per_item: 1, shared_bytes: 4 * N as u32 };
        Ok(Built { prelude: format!("#pragma once\nconstexpr unsigned N = {N};\n"), launch })
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        (input, output) == (1, 2)
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let factors = args.input::<u32>(0)?;
        let from = args.input::<u32>(1)?;
        let to = args.output::<u32>(2)?;
        let across = |row: &[u32], t: usize| {
            let source = (t + N / 2 + 5) % N;
            row[source].wrapping_mul(factors[source])
        };
        for (from, to) in from.chunks_exact(N).zip(to.chunks_exact_mut(N)) {
            for (t, word) in to.iter_mut().enumerate() {
                *word = across(from, t).wrapping_add(across(from, t ^ 1).wrapping_mul(3));
            }
        }
        Ok(())
    }
}

/// The plan of one kernel that takes the place of [`Mix`].
///
/// # Errors
/// What makes the plan fail.
pub fn plan(kernel: Arc<dyn Kernel>) -> Result<NamedPlan> {
    bound(kernel, Slot::Arg(1))
}

/// The same plan, overwriting its input.
///
/// # Errors
/// What makes the plan fail.
pub fn in_place(kernel: Arc<dyn Kernel>) -> Result<NamedPlan> {
    bound(kernel, Slot::Arg(0))
}

fn bound(kernel: Arc<dyn Kernel>, output: Slot) -> Result<NamedPlan> {
    let factors: Vec<u8> = (1..=N as u32).flat_map(|i| (i * i + 1).to_le_bytes()).collect();
    let slots = vec![Slot::Table(Table::Bytes(factors.into())), Slot::Arg(0), output];
    Ok(NamedPlan::new("mix", Plan::new("mix", vec![Step { kernel, slots }])?))
}

/// The plan of [`Mix`] with one piece of its text replaced.
///
/// # Errors
/// What makes the plan fail.
pub fn edited(from: &str, to: &str) -> Result<NamedPlan> {
    let kernel: Arc<dyn Kernel> = Arc::new(Mix);
    assert!(kernel.source().contains(from), "mix.cu has no {from:?}");
    let text = kernel.source().replacen(from, to, 1);
    plan(Arc::new(Altered::new(&kernel).with_text("mix.cu", text)))
}
