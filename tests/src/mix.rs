//! A small kernel for tests of the test kit (the crate `ringforge-testkit`), with its CPU reference.

use core::ops::Range;
use std::sync::Arc;

use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Source, Table};
use ringforge::{Limits, Result};
use ringforge_testkit::NamedPlan;
use ringforge_testkit::inject::Altered;

use ringforge_testkit::one_step;

const SOURCE: &str = include_str!("mix.cu");

/// Number of words per item, and of threads per block.
pub const N: usize = 128;

/// Scales the words of an item, moves them across the thread block, and adds three times the neighbouring word.
#[derive(Debug)]
pub struct Mix;

impl Kernel for Mix {
    fn name(&self) -> &'static str {
        "mix"
    }

    fn ports(&self) -> &[Port] {
        const PORTS: &[Port] = &[Port::shared(4 * N), Port::input(4 * N), Port::output(4 * N)];
        PORTS
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let launch = Launch { items_per_block: 1, shared_bytes: 4 * N as u32, ..Launch::thread_per_item(N as u32) };
        let built = Built::new(launch).constants("Mix", &[("n", &N)]);
        // SAFETY: the threads of mix.cu access only the table, words of their own item, and one word of shared memory
        // per thread, all within bounds.
        Ok(unsafe { Source::new(self, SOURCE, &[], built) })
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        (input, output) == (1, 2)
    }

    fn table(&self, port: usize) -> Option<Table> {
        let factors = || (1..=N as u32).flat_map(|i| (i * i + 1).to_le_bytes()).collect::<Vec<_>>();
        (port == 0).then(|| Table::Bytes(factors().into()))
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        args.each(items, |_, (factors, from, to): (&[u32; N], &[u32; N], &mut [u32; N])| {
            let across = |t: usize| {
                let source = (t + N / 2 + 5) % N;
                from[source].wrapping_mul(factors[source])
            };
            *to = core::array::from_fn(|t| across(t).wrapping_add(across(t ^ 1).wrapping_mul(3)));
            Ok(())
        })
    }
}

/// Returns a plan with a single kernel that has the ports of [`Mix`].
///
/// # Errors
/// Any planning error.
pub fn plan(kernel: impl Kernel + 'static) -> Result<NamedPlan> {
    Ok(NamedPlan::new("mix", one_step(kernel, &["words", "mixed"])?))
}

/// Like [`plan`], but the output overwrites the input.
///
/// # Errors
/// Any planning error.
pub fn in_place(kernel: impl Kernel + 'static) -> Result<NamedPlan> {
    Ok(NamedPlan::new("mix", one_step(kernel, &["words", "words"])?))
}

/// Returns [`Mix`] with the first occurrence of `from` in its CUDA source replaced by `to`.
#[must_use]
pub fn with(from: &str, to: &str) -> Altered {
    assert!(SOURCE.contains(from), "mix.cu has no {from:?}");
    let kernel: Arc<dyn Kernel> = Arc::new(Mix);
    Altered::new(&kernel).with_text("mix.cu", SOURCE.replacen(from, to, 1))
}

/// Returns the plan of [`Mix`] with the first occurrence of `from` in its CUDA source replaced by `to`.
///
/// # Errors
/// Any planning error.
pub fn edited(from: &str, to: &str) -> Result<NamedPlan> {
    plan(with(from, to))
}
