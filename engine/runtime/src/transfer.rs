//! Runs programs over host memory. On a CPU, programs use host memory directly. Otherwise the items are processed in
//! chunks, whose copies overlap with kernels.

#[cfg(feature = "cuda")]
pub mod chunks;

use core::ops::Range;

use crate::backend::BackendStream;
use crate::kernel::{Role, Sharing};
use crate::memory::{Read, Write};
use crate::plan::{Plan, PlanArg};
use crate::program::call::{HostArg, HostCall, check_host};
use crate::program::{Place, Program};
use crate::threads;
use ringforge_math::error::{Error, Result};

/// Approximate maximum number of bytes that a chunk copies in one direction: enough for full transfer speed, and few
/// enough that copies of several chunks overlap with kernels.
const MOST_BYTES: usize = 16 << 20;
/// Minimum number of bytes of a chunk for each step of the plan: smaller chunks are copied in less time than their steps
/// take to launch.
const LEAST_BYTES: usize = 1 << 20;
/// Number of chunks of a batch, if each chunk then has from `LEAST_BYTES` to `MOST_BYTES` bytes.
const CHUNKS: usize = 8;

impl Program {
    /// Prepares a run on `batch` items in host memory. Add the arguments by name to the returned [`HostCall`]. On a
    /// GPU, the batch is cut into chunks whose copies overlap with kernels. A large item is cut into
    /// [columns](crate::kernel::Source::with_tiles) for the same purpose. Copies are fastest from and to
    /// [`Device::pinned`](crate::Device::pinned) memory.
    ///
    /// Residues are not checked. If one is not below its modulus, the results of its item are meaningless.
    /// [`PolyType::check`](ringforge_math::PolyType::check) finds such residues.
    ///
    /// ```
    /// use ringforge::{Engine, Job, Modulus, Op, Order, Ring};
    ///
    /// // the scalar field of BLS12-381; elements are [u64; 4] in Montgomery form, as arkworks has them
    /// let r = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")?;
    /// let job = Job::new(&Ring::cyclic(1 << 10, r)?, Op::Forward).order(Order::Natural).in_place();
    /// let program = Engine::best().program(&job)?;
    /// let mut polynomial = vec![[0u64; 4]; 1 << 10];
    /// polynomial[0] = [5, 0, 0, 0];
    /// program.on_host(1).output("data", &mut polynomial).run()?;
    /// assert!(polynomial.iter().all(|value| *value == [5, 0, 0, 0]), "a constant");
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    pub fn on_host(&self, batch: usize) -> HostCall<'_> {
        HostCall::new(self, batch)
    }

    pub(crate) fn run_host(&self, batch: usize, args: &mut [HostArg<'_>]) -> Result<()> {
        check_host(self, batch, args)?;
        if batch == 0 {
            return Ok(());
        }
        match self.others() {
            [] => self.run_host_here(0..batch, args),
            _ => run_on_all(self, batch, args),
        }
    }

    /// Runs a range of items on this program's own device. The arguments are already checked, and begin with the first
    /// of these items.
    fn run_host_here(&self, items: Range<usize>, args: &mut [HostArg<'_>]) -> Result<()> {
        let device = self.device();
        if device.backend().is_host() {
            let stream = device.stream()?;
            let places = args.iter_mut().zip(self.plan().args()).map(|(arg, wanted)| {
                let place = match arg {
                    HostArg::In(bytes) => Place::read(Read::Host(bytes)),
                    HostArg::Out(bytes) => Place::write(Write::Host(bytes)),
                };
                place.beginning_with(items.start, wanted.sharing)
            });
            let (places, temps) = (places.collect(), &mut self.temporaries(&stream, items.len())?);
            return self.execute_and_wipe(&stream, items, places, temps);
        }
        run_chunked(self, items, args)
    }
}

/// Runs a program for a group of devices on `batch` > 0 items. Each device gets a part of the items, and all run at the
/// same time. The arguments are already checked. If a device fails, all outputs are zeroed. If the plan writes to
/// memory that all items share, the first device runs all items.
fn run_on_all(program: &Program, batch: usize, args: &mut [HostArg<'_>]) -> Result<()> {
    let plan = program.plan();
    if writes_shared(plan) {
        return program.run_host_here(0..batch, args);
    }
    let rates = core::iter::once(1.0).chain(program.others().iter().map(|other| other.rate));
    let parts = cut_by_rate(batch, &rates.collect::<Vec<_>>());
    let programs = core::iter::once(program).chain(program.others().iter().map(|other| &other.program));
    let of_part = |(arg, wanted): (_, &PlanArg)| HostArg::of_part(arg, wanted.sharing);
    let mut rest: Vec<HostArg<'_>> = args.iter_mut().zip(plan.args()).map(of_part).collect();
    let mut start = 0;
    let mut tasks = Vec::new();
    for (program, count) in programs.zip(parts) {
        let own = rest.iter_mut().zip(plan.args()).map(|(arg, wanted)| arg.take(wanted, count));
        let mut own: Vec<HostArg<'_>> = own.collect();
        // items keep their indices, which are the counters of their random blocks
        let items = start..start + count;
        start = items.end;
        if count > 0 {
            tasks.push(move || program.run_host_here(items, &mut own));
        }
    }
    let outcome = threads::each_on_its_own(tasks).and_then(|outcomes| outcomes.into_iter().collect());
    if outcome.is_err() {
        zero_outputs(plan, args);
    }
    outcome
}

/// Whether the plan writes to memory that all items share.
fn writes_shared(plan: &Plan) -> bool {
    plan.args().iter().any(|arg| arg.sharing == Sharing::Shared && arg.role != Role::In)
}

/// Divides `batch` items among devices in proportion to their rates. Returns the number of items for each device.
pub fn cut_by_rate(batch: usize, rates: &[f64]) -> Vec<usize> {
    let total: f64 = rates.iter().sum();
    let (mut sum, mut start) = (0.0, 0);
    let parts = rates.iter().enumerate().map(|(i, rate)| {
        sum += rate;
        let end = if i + 1 == rates.len() { batch } else { (batch as f64 * (sum / total)).round() as usize };
        let end = end.clamp(start, batch);
        end - std::mem::replace(&mut start, end)
    });
    parts.collect()
}

/// Runs a program on a range of items, in chunks. The arguments are already checked. If the run fails, all outputs are
/// zeroed.
fn run_chunked(program: &Program, items: Range<usize>, args: &mut [HostArg<'_>]) -> Result<()> {
    let outcome = start(program, items, args);
    if outcome.is_err() {
        zero_outputs(program.plan(), args);
    }
    outcome
}

fn zero_outputs(plan: &Plan, args: &mut [HostArg<'_>]) {
    for (arg, wanted) in args.iter_mut().zip(plan.args()) {
        if let (HostArg::Out(bytes), true) = (arg, wanted.role != Role::In) {
            bytes.fill(0);
        }
    }
}

#[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
fn start(program: &Program, items: Range<usize>, args: &mut [HostArg<'_>]) -> Result<()> {
    let chunk = chunk_items(program.plan(), items.len());
    let stream = program.device().stream()?;
    match stream.queue() {
        #[cfg(feature = "cuda")]
        BackendStream::Cuda(_) => chunks::run(program, stream, items, chunk, args),
        BackendStream::Immediate => Err(Error::Unsupported {
            job: program.plan().title().into(),
            why: format!("{} has separate memory, but cannot copy to it in chunks", program.device()),
        }),
    }
}

/// The number of items of a chunk of this plan.
fn chunk_items(plan: &Plan, batch: usize) -> usize {
    // each chunk would overwrite outputs that all items share, so there must be a single chunk
    if writes_shared(plan) {
        return batch;
    }
    let bytes = |skipped| {
        let moved = plan.args().iter().filter(|arg| arg.sharing == Sharing::PerItem && arg.role != skipped);
        moved.fold(0usize, |sum, arg| sum.saturating_add(arg.bytes))
    };
    // temporaries cost memory but no copies, so they count for a sixteenth of their size
    let temps = plan.temps.iter().fold(0usize, |sum, temp| sum.saturating_add(temp.bytes)) / 16;
    cut(batch, bytes(Role::In).max(bytes(Role::Out)).max(temps), plan.steps.len())
}

/// The number of items of a chunk, if an item has this many bytes and the plan this many steps. Numbers from 1024 on are rounded up to a multiple of
/// 1024, so that thread blocks are full, but never exceed `batch`.
fn cut(batch: usize, bytes: usize, steps: usize) -> usize {
    let bytes = bytes.max(1);
    let least = LEAST_BYTES.saturating_mul(steps.max(1)).min(MOST_BYTES).div_ceil(bytes);
    // as many chunks as are worth it, of equal sizes
    let chunks = (batch / least).clamp(1, CHUNKS);
    let wanted = batch.div_ceil(chunks).min(MOST_BYTES.div_ceil(bytes));
    let whole = if wanted < 1024 { wanted } else { wanted.next_multiple_of(1024) };
    whole.clamp(1, batch.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_goes_to_one_device() {
        assert_eq!(cut_by_rate(10, &[1.0, 1.0]), [5, 5]);
        assert_eq!(cut_by_rate(3, &[1.0; 4]).iter().sum::<usize>(), 3);
        assert_eq!(cut_by_rate(1000, &[1.0, 3.0]), [250, 750]);
        assert_eq!(cut_by_rate(0, &[1.0, 0.5, 2.0]), [0, 0, 0]);
        assert_eq!(cut_by_rate(7, &[1e300, 1e-300]), [7, 0]);
        assert_eq!(cut_by_rate(usize::MAX, &[1.0; 3]).iter().sum::<usize>(), usize::MAX);
    }

    #[test]
    fn chunks_are_of_good_size() {
        // a small batch is a single chunk
        assert_eq!(cut(1, 1 << 30, 1), 1);
        assert_eq!(cut(100, 1000, 3), 100);
        // large items are chunks of their own
        assert_eq!(cut(10, 1 << 30, 2), 1);
        for (batch, bytes) in [(1 << 20, 1536), (1 << 16, 1 << 14), (123_457, 48), (1 << 24, 2), (77, 1 << 20)] {
            for steps in [1, 3, 12, 100] {
                let chunk = cut(batch, bytes, steps);
                assert!((1..=batch).contains(&chunk));
                let least = (steps * LEAST_BYTES).min(MOST_BYTES);
                assert!(chunk * bytes >= least.min(batch * bytes), "{batch} {bytes} {steps}: {chunk}");
                assert!(chunk * bytes <= MOST_BYTES + 1024 * bytes, "{batch} {bytes} {steps}: {chunk}");
            }
        }
        // chunks are equal
        assert_eq!([1, 4, 8].map(|steps| cut(8192, 1184, steps)), [1024, 4096, 8192]);
    }
}
