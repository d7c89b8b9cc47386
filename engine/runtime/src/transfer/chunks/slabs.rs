//! Runs one large item slab by slab. A slab is some thread blocks of a step, with their copies. The first steps compute
//! some slabs while others are copied in, and the last steps compute some while others are copied out.

use core::ops::Range;
use std::collections::VecDeque;

use crate::backend::cuda::{code, target};
use crate::cuda::copy::{gather, scatter, start_download_shape, start_upload_shape};
use crate::cuda::launch::{PortBinding, Work, part_of};
use crate::cuda::memory::{Access, CudaMemory};
use crate::cuda::queue::{GpuStream, StreamPoint};
use crate::cuda::staging::Staged;
use crate::device::Stream;
use crate::program::Program;
use crate::program::call::HostArg;
use crate::transfer::chunks::flow::{Flow, Moved, Slab};
use crate::transfer::chunks::{Lane, LaneArg, Shared, bytes_of, cuda_memory, cuda_queue, places};
use ringforge_math::error::{Error, Result};

/// Maximum size in bytes of a piece, which is copied through staging memory at once.
const PIECE: usize = 8 << 20;
/// Maximum number of pieces in flight.
const PIECES: usize = 4;

/// The streams and staging memory with which a lane (a stream with memory for one item) copies in both directions while
/// kernels run.
pub(super) struct Beside {
    up: Stream,
    down: Stream,
    /// Staging memory, the least recently used piece first.
    pieces: VecDeque<Staged>,
    /// Copies out that go through staging memory, each with the point in the work of the lane's stream after which the
    /// slab is ready.
    leaving: Vec<(Moved, StreamPoint)>,
}

impl Beside {
    pub(super) fn new(program: &Program) -> Result<Self> {
        let device = program.device();
        Ok(Self { up: device.stream()?, down: device.stream()?, pieces: VecDeque::new(), leaving: Vec::new() })
    }

    /// Waits for all copies on both streams.
    pub(super) fn synchronize(&self) -> Result<()> {
        let up = cuda_queue(&self.up)?.synchronize();
        cuda_queue(&self.down)?.synchronize().and(up)
    }

    /// Takes staging memory for a piece. An earlier copy may still be using it.
    fn piece(&mut self, program: &Program) -> Result<Staged> {
        if self.pieces.len() == PIECES
            && let Some(oldest) = self.pieces.pop_front()
        {
            return Ok(oldest);
        }
        let secret = program.plan().args().iter().any(|arg| arg.secret);
        Staged::new(cuda_queue(&self.up)?.gpu(), PIECE, secret)
    }
}

impl Lane<'_> {
    /// Starts to copy and compute an item. The lane must be idle, and its memory begins with this item.
    pub(super) fn start_slabs(
        &mut self,
        program: &Program,
        args: &mut [HostArg<'_>],
        shared: &mut Shared,
        once: bool,
    ) -> Result<()> {
        let Self { stream, args: lane_args, temps, items, first, slabs: Some((Flow(steps), beside)), .. } = self else {
            return Ok(());
        };
        let direct: Vec<bool> = lane_args.iter().map(|arg| arg.as_ref().is_some_and(|arg| arg.direct)).collect();
        let mut places = places(program, items.start, lane_args, shared)?;
        places.extend(program.temporary_places(temps, items.start));
        program.clear_statuses(stream, items.start, once, &mut places)?;
        for (number, slabs) in steps.iter().enumerate() {
            let (kernel, ports) = program.step(number, &mut places)?;
            let targets = ports.into_iter().map(target).collect::<Result<Vec<_>>>()?;
            let step_items = program.plan().steps[number].items_of(items, once);
            if step_items.is_empty() {
                continue;
            }
            let work = Work::new(code(kernel)?, &kernel.ports, step_items, &targets)?;
            let mut step = StepRun {
                program,
                queue: cuda_queue(stream)?,
                beside,
                items,
                first: *first,
                targets: &targets,
                direct: &direct,
            };
            step.run(work, slabs, args)?;
        }
        Ok(())
    }

    /// Copies out the slabs that `start_slabs` left because they go through staging memory. Returns when all copies out
    /// of the item are done.
    pub(super) fn land_slabs(
        &mut self,
        program: &Program,
        items: &Range<usize>,
        args: &mut [HostArg<'_>],
    ) -> Result<()> {
        let first = self.first;
        let Some((_, beside)) = &mut self.slabs else { return Ok(()) };
        let down = beside.down.clone();
        let down = cuda_queue(&down)?;
        let mut under_way: VecDeque<(Staged, Moved)> = VecDeque::new();
        let mut land = |beside: &mut Beside, (mut staged, Moved { arg, shape, .. }): (Staged, Moved)| -> Result<()> {
            if let HostArg::Out(host) = &mut args[arg] {
                let to = &mut host[bytes_of(&program.plan().args()[arg], items, first)];
                scatter(staged.bytes_mut(shape.bytes())?, to, &shape);
            }
            beside.pieces.push_back(staged);
            Ok(())
        };
        for (moved, mut done) in std::mem::take(&mut beside.leaving) {
            let Some(LaneArg { memory, .. }) = &mut self.args[moved.arg] else { continue };
            let memory = &*cuda_memory(memory)?;
            down.wait(&mut done)?;
            for shape in moved.shape.pieces(PIECE) {
                if under_way.len() == PIECES
                    && let Some(oldest) = under_way.pop_front()
                {
                    land(beside, oldest)?;
                }
                let mut staged = beside.pieces.pop_front().map_or_else(|| beside.piece(program), Ok)?;
                staged.start_download_shape(down, memory, &shape)?;
                under_way.push_back((staged, Moved { shape, ..moved }));
            }
            memory.after(down.point(), Access::Read, true);
        }
        under_way.into_iter().try_for_each(|piece| land(beside, piece))?;
        down.synchronize()
    }
}

/// A step of the item in flight.
struct StepRun<'a> {
    program: &'a Program,
    queue: &'a GpuStream,
    beside: &'a mut Beside,
    items: &'a Range<usize>,
    first: usize,
    targets: &'a [PortBinding<'a>],
    /// For each argument, whether the GPU copies from and to the caller's memory directly.
    direct: &'a [bool],
}

impl<'a> StepRun<'a> {
    fn run(&mut self, work: Work<'a>, slabs: &[Slab], args: &mut [HostArg<'_>]) -> Result<()> {
        let (ins, outs) = slabs.first().map_or((&[][..], &[][..]), |slab| (&slab.ins[..], &slab.outs[..]));
        let Beside { up, down, .. } = &*self.beside;
        let (up, down) = (up.clone(), down.clone());
        let (up, down) = (cuda_queue(&up)?, cuda_queue(&down)?);
        for moved in ins {
            // the copies wait for earlier users and overwrite the whole memory, so the kernel need not wait for these
            // users
            let memory = self.memory(moved)?;
            memory.before(up, Access::Overwrite)?;
            memory.after(up.point(), Access::Overwrite, true);
        }
        work.before(self.queue)?;
        let outcome = slabs.iter().try_for_each(|slab| {
            slab.ins.iter().try_for_each(|moved| self.upload(up, moved, args))?;
            if !slab.ins.is_empty() {
                self.queue.wait(&mut up.point())?;
            }
            // SAFETY: `before` made the stream wait for the earlier users of all memory, and the stream also waits for
            // the copies in since then. Other blocks and copies in flight access other bytes, as the tiles that the
            // kernel's source declares guarantee.
            unsafe { work.start(self.queue, slab.blocks.as_ref(), true) }?;
            slab.outs.iter().try_for_each(|moved| self.download(down, moved, args))
        });
        // after a failure, `chunks::run` waits for all streams before the memory is used again
        work.after(self.queue, outcome.is_ok());
        for moved in outs {
            self.memory(moved)?.after(down.point(), Access::Read, outcome.is_ok());
        }
        outcome
    }

    fn upload(&mut self, up: &GpuStream, moved: &Moved, args: &[HostArg<'_>]) -> Result<()> {
        let Moved { arg, shape, .. } = *moved;
        let from = &args[arg].bytes()[bytes_of(&self.program.plan().args()[arg], self.items, self.first)];
        let to = self.memory(moved)?;
        if self.direct[arg] {
            // SAFETY: `chunks::run` borrows the caller's memory and waits for the stream before it returns.
            return unsafe { start_upload_shape(up, &from[shape.offset..], shape.pitch, to, &shape) };
        }
        shape.pieces(PIECE).try_for_each(|shape| {
            let mut staged = self.beside.piece(self.program)?;
            gather(from, &shape, staged.bytes_mut(shape.bytes())?);
            let outcome = staged.start_upload_shape(up, to, &shape);
            self.beside.pieces.push_back(staged);
            outcome
        })
    }

    fn download(&mut self, down: &GpuStream, moved: &Moved, args: &mut [HostArg<'_>]) -> Result<()> {
        let mut done = self.queue.point();
        if !self.direct[moved.arg] {
            self.beside.leaving.push((moved.clone(), done));
            return Ok(());
        }
        let Moved { arg, shape, .. } = *moved;
        let HostArg::Out(to) = &mut args[arg] else { return Ok(()) };
        let to = &mut to[bytes_of(&self.program.plan().args()[arg], self.items, self.first)];
        down.wait(&mut done)?;
        // SAFETY: `chunks::run` borrows the caller's memory mutably, and waits for the stream before it returns.
        unsafe { start_download_shape(down, self.memory(moved)?, &shape, &mut to[shape.offset..], shape.pitch) }
    }

    fn memory(&self, moved: &Moved) -> Result<&'a CudaMemory> {
        part_of(self.targets, moved.port).map(|part| part.memory).ok_or(Error::OutOfMemory { bytes: 0 })
    }
}
