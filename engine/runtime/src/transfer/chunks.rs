//! Runs programs over host memory on a GPU. Chunks of items are processed on several lanes, so that copies and kernels
//! overlap. A lane is a stream with device memory for one chunk.

#![allow(unsafe_code)]

pub mod flow;
mod slabs;

use core::ops::Range;
use std::sync::Arc;

use crate::backend::BackendStream;
use crate::cuda::CudaMemory;
use crate::cuda::copy::{copy, start_download, start_upload};
use crate::cuda::memory::Access;
use crate::cuda::pinned;
use crate::cuda::queue::GpuStream;
use crate::cuda::staging::Staged;
use crate::device::Stream;
use crate::guarded::Guarded;
use crate::kernel::{Role, Sharing};
use crate::memory::Memory;
use crate::plan::PlanArg;
use crate::program::call::HostArg;
use crate::program::{Place, Program};
use ringforge_math::error::{Error, Result};

use flow::Flow;
use slabs::Beside;

/// Number of chunks in flight: one is copied in, one computed, one copied out.
const LANES: usize = 3;

/// Runs a program on a range of items, `chunk` items at a time. The arguments begin with the first of these items.
/// After an error, the contents of the outputs are unspecified.
pub(crate) fn run(
    program: &Program,
    stream: Stream,
    items: Range<usize>,
    chunk: usize,
    args: &mut [HostArg<'_>],
) -> Result<()> {
    let mut shared = Shared::new(program, stream, args)?;
    let flow = if chunk == 1 { flow_of(program) } else { None };
    let (chunk, mut lanes) = lanes(program, &items, chunk, args, flow.as_ref())?;
    let outcome = work(program, items, chunk, args, &mut shared, &mut lanes);
    // copies from and to the caller's memory must end before this function returns, even with an error
    let ended = lanes.iter().map(Lane::synchronize).fold(Ok(()), Result::and);
    drop(lanes);
    outcome.and(ended).and_then(|()| shared.finish(program, args))
}

/// Divides the program's steps into slabs (some blocks of a step, with their copies), for chunks of one large item.
/// Returns `None` if no step can be divided.
fn flow_of(program: &Program) -> Option<Flow> {
    // slabs are blocks of a kernel's items, which are not the plan's if a step divides them
    if program.plan().steps.iter().any(|step| step.elements > 1) {
        return None;
    }
    let steps =
        program.steps().map(|(slots, loaded)| flow::Binding { slots, ports: &loaded.ports, shares: &loaded.shares });
    Flow::of(program.plan().args(), &steps.collect::<Vec<_>>())
}

/// Allocates up to [`LANES`] lanes for chunks of this size. Whenever memory runs out, the chunk size is divided by
/// four. Returns the chunk size and the lanes.
fn lanes<'f>(
    program: &Program,
    items: &Range<usize>,
    mut chunk: usize,
    args: &[HostArg<'_>],
    flow: Option<&'f Flow>,
) -> Result<(usize, Vec<Lane<'f>>)> {
    loop {
        let count = LANES.min(items.len().div_ceil(chunk));
        match (0..count).map(|_| Lane::new(program, (items.start, chunk), args, flow)).collect() {
            Ok(lanes) => return Ok((chunk, lanes)),
            Err(Error::OutOfMemory { .. }) if chunk > 1 => chunk = chunk.div_ceil(4),
            Err(error) => return Err(error),
        }
    }
}

fn work(
    program: &Program,
    items: Range<usize>,
    chunk: usize,
    args: &mut [HostArg<'_>],
    shared: &mut Shared,
    lanes: &mut [Lane<'_>],
) -> Result<()> {
    let count = lanes.len().max(1);
    for (number, start) in items.clone().step_by(chunk).enumerate() {
        let lane = lanes.get_mut(number % count).ok_or(Error::OutOfMemory { bytes: 0 })?;
        lane.land(program, args)?;
        lane.start(program, start..items.end.min(start + chunk), args, shared)?;
    }
    // wait for the last chunks in the order in which they were started
    let started = items.len().div_ceil(chunk);
    for number in started.saturating_sub(count)..started {
        if let Some(lane) = lanes.get_mut(number % count) {
            lane.land(program, args)?;
        }
    }
    Ok(())
}

/// The arguments that all items share. They are uploaded once and read by all lanes.
///
/// Each call that copies from or to the caller's memory returns only when the copy is done, so a `Shared` may be
/// dropped at any time. On drop, memory for secrets is wiped after the work of the lanes.
struct Shared {
    stream: Stream,
    memories: Vec<Option<Guarded>>,
}

impl Shared {
    fn new(program: &Program, stream: Stream, args: &[HostArg<'_>]) -> Result<Self> {
        let backend = program.device().backend();
        let mut memories = Vec::new();
        for (arg, host) in program.plan().args().iter().zip(args) {
            memories.push(if arg.sharing == Sharing::Shared {
                let mut memory = stream.guard(program.device().allocate(arg.bytes)?, arg.secret);
                if arg.role != Role::Out {
                    backend.upload(stream.queue(), host.bytes(), memory.write())?;
                }
                Some(memory)
            } else {
                None
            });
        }
        Ok(Self { stream, memories })
    }

    /// Copies the shared arguments that the program wrote to the caller's memory.
    fn finish(&self, program: &Program, args: &mut [HostArg<'_>]) -> Result<()> {
        let backend = program.device().backend();
        let queue = self.stream.queue();
        for ((arg, host), memory) in program.plan().args().iter().zip(args).zip(&self.memories) {
            if let (Some(memory), HostArg::Out(host), true) = (memory, host, arg.role != Role::In) {
                backend.download(queue, memory.read(), host)?;
            }
        }
        backend.synchronize(queue)
    }
}

/// A stream, with device memory for all arguments and temporaries of one chunk.
struct Lane<'f> {
    stream: Stream,
    args: Vec<Option<LaneArg>>,
    temps: Vec<Guarded>,
    /// Whether the steps that run once per batch must still run on this lane.
    once: bool,
    /// The items of the chunk in flight.
    items: Range<usize>,
    /// The index of the first item in the caller's memory.
    first: usize,
    /// Set if a chunk is a single item that is copied and computed slab by slab.
    slabs: Option<(&'f Flow, Beside)>,
}

struct LaneArg {
    memory: Guarded,
    /// Whether the caller's memory is page-locked.
    direct: bool,
    /// Staging memory for copies of whole chunks, if the caller's memory is not page-locked.
    staged: Option<Staged>,
}

impl<'f> Lane<'f> {
    fn new(
        program: &Program,
        (first, chunk): (usize, usize),
        args: &[HostArg<'_>],
        flow: Option<&'f Flow>,
    ) -> Result<Self> {
        let stream = program.device().stream()?;
        let gpu = cuda_queue(&stream)?.gpu().clone();
        let lane_arg = |(arg, host): (&PlanArg, &HostArg<'_>)| {
            if arg.sharing == Sharing::Shared {
                return Ok(None);
            }
            let bytes = arg.bytes * chunk;
            let memory = stream.guard(program.device().allocate(bytes)?, arg.secret);
            let direct = bytes == 0 || pinned::is_pinned(host.bytes());
            let staged = !direct && flow.is_none();
            let staged = if staged { Some(Staged::new(&gpu, bytes, arg.secret)?) } else { None };
            Ok(Some(LaneArg { memory, direct, staged }))
        };
        let args = program.plan().args().iter().zip(args).map(lane_arg).collect::<Result<_>>()?;
        let slabs = flow.map(|flow| Ok((flow, Beside::new(program)?))).transpose()?;
        Ok(Self { args, temps: program.temporaries(&stream, chunk)?, once: true, items: 0..0, first, stream, slabs })
    }

    /// Starts a chunk: copies to the GPU, all steps, and copies from the GPU. The lane must be idle.
    fn start(
        &mut self,
        program: &Program,
        items: Range<usize>,
        args: &mut [HostArg<'_>],
        shared: &mut Shared,
    ) -> Result<()> {
        self.items = items.clone();
        let once = core::mem::take(&mut self.once);
        if self.slabs.is_some() {
            return self.start_slabs(program, args, shared, once);
        }
        let queue = cuda_queue(&self.stream)?;
        let plan = program.plan();
        for ((arg, host), lane) in plan.args().iter().zip(args.iter()).zip(&mut self.args) {
            if let (Some(lane), true) = (lane, arg.role != Role::Out) {
                lane.upload(queue, &host.bytes()[bytes_of(arg, &items, self.first)])?;
            }
        }
        let places = places(program, items.start, &mut self.args, shared)?;
        program.execute(&self.stream, items.clone(), once, places, &mut self.temps)?;
        for ((arg, host), lane) in plan.args().iter().zip(args.iter_mut()).zip(&mut self.args) {
            if let (Some(lane), HostArg::Out(host), true) = (lane, host, arg.role != Role::In) {
                lane.download(queue, &mut host[bytes_of(arg, &items, self.first)])?;
            }
        }
        Ok(())
    }

    /// Waits for the chunk in flight, if there is one, and copies its results to the caller's memory.
    fn land(&mut self, program: &Program, args: &mut [HostArg<'_>]) -> Result<()> {
        let items = std::mem::take(&mut self.items);
        if items.is_empty() {
            return Ok(());
        }
        self.land_slabs(program, &items, args)?;
        for ((arg, host), lane) in program.plan().args().iter().zip(args).zip(&mut self.args) {
            let (Some(LaneArg { staged: Some(staged), .. }), HostArg::Out(host)) = (lane, host) else { continue };
            if arg.role != Role::In {
                let to = &mut host[bytes_of(arg, &items, self.first)];
                copy(staged.bytes_mut(to.len())?, to);
            }
        }
        // copies that bypass the staging memory must have ended as well
        self.synchronize()
    }

    /// Waits for all copies and kernels.
    fn synchronize(&self) -> Result<()> {
        let beside = self.slabs.as_ref().map(|(_, beside)| beside.synchronize());
        cuda_queue(&self.stream)?.synchronize().and(beside.unwrap_or(Ok(())))
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        // work is in flight here only after a panic. Copies from and to the caller's memory must still end, before the
        // lane's secret memory is wiped and the staging memory is returned
        let _ = self.synchronize();
    }
}

/// The memory of all arguments: the lane's own memory, which begins with item `item`, or memory that all items share.
fn places<'p>(
    program: &Program,
    item: usize,
    args: &'p mut [Option<LaneArg>],
    shared: &'p mut Shared,
) -> Result<Vec<Place<'p>>> {
    let memories = args.iter_mut().zip(&mut shared.memories);
    let places = program.plan().args().iter().zip(memories).map(|(arg, (lane, shared))| {
        let memory = lane.as_mut().map(|lane| &mut lane.memory).or(shared.as_mut());
        let memory = memory.ok_or(Error::OutOfMemory { bytes: 0 })?;
        let place = if arg.role == Role::In { Place::read(memory.read()) } else { Place::write(memory.write()) };
        Ok(place.beginning_with(item, arg.sharing))
    });
    places.collect()
}

impl LaneArg {
    fn upload(&mut self, queue: &GpuStream, from: &[u8]) -> Result<()> {
        let memory = &*cuda_memory(&mut self.memory)?;
        // `Overwrite` is right even for a short last chunk: the older items after it belong to this run, and no step
        // reads them
        memory.before(queue, Access::Overwrite)?;
        let outcome = match &mut self.staged {
            Some(staged) => {
                let filled = staged.bytes_mut(from.len()).map(|to| copy(from, to));
                filled.and_then(|()| staged.start_upload(queue, from.len(), memory, 0))
            }
            // SAFETY: `run` borrows the caller's memory and waits for the stream before it returns, even after an error
            // or a panic.
            None => unsafe { start_upload(queue, from, memory, 0) },
        };
        memory.after(queue.point(), Access::Overwrite, outcome.is_ok());
        outcome
    }

    fn download(&mut self, queue: &GpuStream, to: &mut [u8]) -> Result<()> {
        let memory = &*cuda_memory(&mut self.memory)?;
        memory.before(queue, Access::Read)?;
        let outcome = match &mut self.staged {
            Some(staged) => staged.start_download(queue, memory, 0, to.len()),
            // SAFETY: `run` borrows the caller's memory mutably, and touches it only after `land` has waited for the
            // stream. `run` waits for the stream before it returns, even after an error or a panic.
            None => unsafe { start_download(queue, memory, 0, to) },
        };
        memory.after(queue.point(), Access::Read, outcome.is_ok());
        outcome
    }
}

/// The byte range of a range of items, in memory that begins with item `first`.
fn bytes_of(arg: &PlanArg, items: &Range<usize>, first: usize) -> Range<usize> {
    (items.start - first) * arg.bytes..(items.end - first) * arg.bytes
}

fn cuda_queue(stream: &Stream) -> Result<&Arc<GpuStream>> {
    match stream.queue() {
        BackendStream::Cuda(queue) => Ok(queue),
        BackendStream::Immediate => Err(foreign()),
    }
}

fn cuda_memory(memory: &mut Memory) -> Result<&mut CudaMemory> {
    match memory {
        Memory::Cuda(memory) => Ok(memory),
        Memory::Host(_) => Err(foreign()),
    }
}

fn foreign() -> Error {
    Error::ForeignDevice { what: "memory".into(), expected: "a GPU".into(), got: "CPU".into() }
}
