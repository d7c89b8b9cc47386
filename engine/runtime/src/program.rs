//! Programs: plans compiled for a device, and their execution.

pub(crate) mod call;

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use crate::backend::{Binding, Loaded, To};
#[cfg(feature = "cuda")]
use crate::cuda::code::CudaCode;
use crate::device::{Device, MadeTable, Stream};
use crate::guarded::Guarded;
use crate::kernel::{Role, Sharing};
use crate::memory::{Memory, Read, Write};
use crate::plan::{Plan, PlanArg, Slot, Step, Temp};
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::PolyType;

use call::{Arg, Call};

/// A plan compiled for a device. It is immutable, shareable between threads, and cheap to clone.
#[derive(Clone)]
pub struct Program(Arc<Parts>);

struct Parts {
    device: Device,
    plan: Plan,
    steps: Vec<LoadedStep>,
    others: Vec<Other>,
}

/// The same plan, compiled for another device of a group.
#[derive(Debug)]
pub struct Other {
    #[doc(hidden)]
    pub program: Program,
    /// The number of items that this device gets for each item that the first device of the group gets.
    #[doc(hidden)]
    pub rate: f64,
}

struct LoadedStep {
    loaded: Loaded,
    /// For each port, the table that it reads, if any.
    tables: Vec<Option<Arc<MadeTable>>>,
}

/// The memory of an argument or temporary during a run. Ports of the run's steps are bound to it.
pub(crate) struct Place<'a> {
    pub(crate) memory: Lent<'a>,
    /// The index of the item with which the memory begins. Earlier items of the batch are not in it.
    pub(crate) skipped: usize,
}

/// A reference to memory of a run, for reading or for writing.
pub(crate) enum Lent<'a> {
    Read(Read<'a>),
    Write(Write<'a>),
}

impl<'a> Place<'a> {
    pub(crate) fn read(memory: Read<'a>) -> Self {
        Self { memory: Lent::Read(memory), skipped: 0 }
    }

    pub(crate) fn write(memory: Write<'a>) -> Self {
        Self { memory: Lent::Write(memory), skipped: 0 }
    }

    /// The same memory, but it begins with this item of the batch, unless all items share it.
    pub(crate) fn beginning_with(self, item: usize, sharing: Sharing) -> Self {
        Self { skipped: if sharing == Sharing::PerItem { item } else { 0 }, ..self }
    }

    pub(crate) fn as_read(&self) -> Read<'_> {
        match &self.memory {
            Lent::Read(memory) => *memory,
            Lent::Write(memory) => memory.as_read(),
        }
    }

    fn reborrow(&mut self) -> Place<'_> {
        let memory = match &mut self.memory {
            Lent::Read(memory) => Lent::Read(*memory),
            Lent::Write(memory) => Lent::Write(memory.reborrow()),
        };
        Place { memory, skipped: self.skipped }
    }
}

impl Device {
    /// Compiles a plan: loads its kernels, compiled in parallel if they are not cached, and computes its tables.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a kernel does not fit the device, or if the device is from an engine with several
    /// devices, for which `Engine::compile` must be used; [`Error::NoCompiler`] if a kernel must be compiled without
    /// NVRTC; [`Error::Compile`] if NVRTC rejects a source; [`Error::Kernel`] if a kernel's source is malformed or was
    /// made for another kernel; [`Error::Bundle`] if the bundle that `RINGFORGE_BUNDLE` names is unusable;
    /// [`Error::OutOfMemory`] if the tables do not fit in memory; [`Error::Driver`] if a driver call fails.
    pub fn compile(&self, plan: &Plan) -> Result<Program> {
        if self.group() > 1 {
            let why = format!(
                "the engine has {} devices, but this would use only the first: use `Engine::compile` for all, or \
                 one of `Engine::devices`",
                self.group()
            );
            return Err(Error::Unsupported { job: plan.title().into(), why });
        }
        Program::new(self, plan, Vec::new())
    }
}

impl Program {
    #[doc(hidden)]
    pub fn new(device: &Device, plan: &Plan, others: Vec<Other>) -> Result<Self> {
        // the kernels include those of the tables, so that all are compiled in parallel
        let loaded = device.load(&plan.kernels_with_tables())?;
        let steps = loaded
            .into_iter()
            .zip(&plan.steps)
            .map(|(loaded, step)| {
                let tables = step.slots.iter().map(|slot| match slot {
                    Slot::Table(table) => device.table(table).map(Some),
                    _ => Ok(None),
                });
                Ok(LoadedStep { loaded, tables: tables.collect::<Result<_>>()? })
            })
            .collect::<Result<_>>()?;
        Ok(Self(Arc::new(Parts { device: device.clone(), plan: plan.clone(), steps, others })))
    }

    /// The same plan, compiled for the other devices of the engine's group.
    pub(crate) fn others(&self) -> &[Other] {
        &self.0.others
    }

    /// The program for `device`, if that is another device of the program's group; otherwise this program.
    pub(crate) fn of_device(&self, device: &Device) -> &Self {
        let other = self.0.others.iter().find(|other| other.program.device().is(device));
        other.map_or(self, |other| &other.program)
    }

    /// The plan that was compiled.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.0.plan
    }

    /// The device. If the program is for a group of devices, this is the first one.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Prepares a run on `batch` items in buffers of the device, on a stream. Add the arguments by name to the returned
    /// [`Call`]. A run with a batch of 0 does nothing. A program for a group of devices can run on streams of any of
    /// them.
    pub fn on<'a>(&'a self, stream: &'a Stream, batch: usize) -> Call<'a> {
        Call::new(self.of_device(stream.device()), stream, batch)
    }

    /// Runs all items in chunks. The temporaries of a chunk fit in `budget` bytes, unless it is a single item.
    pub(crate) fn run(&self, stream: &Stream, batch: usize, args: &mut [Arg<'_>], budget: usize) -> Result<()> {
        let chunk = self.plan().items_within(budget).min(batch);
        self.run_by(stream, batch, args, |mut places| {
            let temps = &mut self.temporaries_for_run(stream, chunk)?;
            let chunks = (0..batch).step_by(chunk.max(1)).map(|start| start..batch.min(start + chunk));
            let outcome = chunks.into_iter().try_for_each(|items| {
                let places = places.iter_mut().map(Place::reborrow).collect();
                self.execute(stream, items.clone(), items.start == 0, places, temps)
            });
            let wiped = wipe(stream, temps);
            outcome.and(wiped)
        })
    }

    pub(crate) fn run_timed(&self, stream: &Stream, batch: usize, args: &mut [Arg<'_>]) -> Result<Vec<f64>> {
        let mut marks = Vec::with_capacity(self.0.steps.len() + 1);
        self.run_by(stream, batch, args, |places| {
            let temps = &mut self.temporaries_for_run(stream, batch)?;
            stream.mark().and_then(|mark| {
                marks.push(mark);
                self.execute_each(stream, 0..batch, true, places, temps, || {
                    marks.push(stream.mark()?);
                    Ok(())
                })
            })?;
            wipe(stream, temps)
        })?;
        stream.synchronize()?;
        marks.windows(2).map(|pair| pair[1].seconds_since(&pair[0])).collect()
    }

    /// Checks the stream and the arguments for this program and batch. If `ready`, also checks that the arguments hold
    /// what the plan reads.
    pub(crate) fn check(&self, stream: &Stream, batch: usize, args: &[Arg<'_>], ready: bool) -> Result<()> {
        let Parts { device, plan, .. } = &*self.0;
        if !stream.device().is(device) {
            return Err(Error::ForeignDevice {
                what: "the stream".into(),
                expected: device.to_string(),
                got: stream.device().to_string(),
            });
        }
        for (arg, wanted) in args.iter().zip(plan.args()) {
            check_arg(device, arg, wanted, batch)?;
            if ready {
                check_content(arg, wanted)?;
            }
        }
        Ok(())
    }

    /// Checks the arguments, calls `work` with their memory, and records the types of their new contents. If `work`
    /// fails, the buffers that the plan writes are zeroed. With a batch of 0, `work` is not called.
    pub(crate) fn run_by(
        &self,
        stream: &Stream,
        batch: usize,
        args: &mut [Arg<'_>],
        work: impl FnOnce(Vec<Place<'_>>) -> Result<()>,
    ) -> Result<()> {
        let Parts { device, plan, .. } = &*self.0;
        self.check(stream, batch, args, true)?;
        if batch == 0 {
            return Ok(());
        }
        // written buffers count as unwritten until `work` has succeeded, because a panic may leave them incomplete
        for (arg, wanted) in args.iter_mut().zip(plan.args()) {
            if let (Arg::Out(slice), true) = (arg, wanted.role != Role::In) {
                slice.buffer.written = false;
            }
        }
        let outcome = work(args.iter_mut().map(Arg::place).collect());
        for (arg, wanted) in args.iter_mut().zip(plan.args()) {
            let (Arg::Out(slice), true) = (arg, wanted.role != Role::In) else { continue };
            if outcome.is_ok() {
                slice.holds(wanted.after.as_ref());
            } else {
                // the caller gets the original error, whether or not this wipe succeeds
                let _ = device.backend().wipe(stream.queue(), slice.buffer.memory.write());
                slice.buffer.content = None;
            }
        }
        outcome
    }

    /// Runs all steps on a range of items, then wipes the temporaries that held secrets.
    pub(crate) fn execute_and_wipe(
        &self,
        stream: &Stream,
        items: Range<usize>,
        places: Vec<Place<'_>>,
        temps: &mut [Guarded],
    ) -> Result<()> {
        let outcome = self.execute(stream, items, true, places, temps);
        let wiped = wipe(stream, temps);
        outcome.and(wiped)
    }

    /// The memory of all tables that the steps read.
    pub(crate) fn tables(&self) -> impl Iterator<Item = Read<'_>> {
        self.0.steps.iter().flat_map(|step| &step.tables).flatten().map(|table| table.memory())
    }

    /// Allocates the plan's temporaries for this many items. Those for secrets are wiped on drop, on this stream.
    pub(crate) fn temporaries(&self, stream: &Stream, items: usize) -> Result<Vec<Guarded>> {
        self.temporaries_from(stream, items, Device::allocate)
    }

    /// Like `temporaries`, but for memory that is used for one run only.
    fn temporaries_for_run(&self, stream: &Stream, items: usize) -> Result<Vec<Guarded>> {
        self.temporaries_from(stream, items, Device::allocate_for_run)
    }

    fn temporaries_from(
        &self,
        stream: &Stream,
        items: usize,
        allocate: impl Fn(&Device, usize) -> Result<Memory>,
    ) -> Result<Vec<Guarded>> {
        let Parts { device, plan, .. } = &*self.0;
        let new = |temp: &Temp| {
            let items = if temp.sharing == Sharing::PerItem { items } else { 1 };
            let mut memory = allocate(device, product(temp.bytes, items)?)?;
            // zeroing is not needed: a step reads only what earlier steps of the run wrote, and statuses, which are
            // zeroed before the first step
            memory.skip_zeroing();
            Ok(stream.guard(memory, temp.secret))
        };
        // allocate the largest temporaries first, because fewer of the pooled blocks fit them
        let mut order: Vec<usize> = (0..plan.temps.len()).collect();
        order.sort_by_key(|&temp| core::cmp::Reverse(plan.temps[temp].bytes));
        let mut made: Vec<_> =
            order.into_iter().map(|temp| Ok((temp, new(&plan.temps[temp])?))).collect::<Result<_>>()?;
        made.sort_by_key(|(temp, _)| *temp);
        Ok(made.into_iter().map(|(_, memory)| memory).collect())
    }

    /// The memory of the temporaries. It begins with item `item`, unless all items share it.
    pub(crate) fn temporary_places<'p>(
        &self,
        temps: &'p mut [Guarded],
        item: usize,
    ) -> impl Iterator<Item = Place<'p>> {
        let places = temps.iter_mut().zip(&self.plan().temps);
        places.map(move |(memory, temp)| Place::write(memory.write()).beginning_with(item, temp.sharing))
    }

    /// Zeroes statuses before the first step, so that an item that no kernel reaches has status 0. Per-item statuses
    /// are zeroed if their memory begins with item `first`, and shared ones if `once`. `places` holds the memory of the
    /// arguments, then that of the temporaries.
    pub(crate) fn clear_statuses(
        &self,
        stream: &Stream,
        first: usize,
        once: bool,
        places: &mut [Place<'_>],
    ) -> Result<()> {
        let Parts { device, plan, .. } = &*self.0;
        let args = plan.args.iter().map(|arg| (arg.status, arg.sharing));
        let statuses = args.chain(plan.temps.iter().map(|temp| (temp.status, temp.sharing)));
        let is_new =
            |place: &Place<'_>, sharing| if sharing == Sharing::PerItem { place.skipped == first } else { once };
        let mut places = places.iter_mut().zip(statuses);
        places.try_for_each(|(place, (status, sharing))| match is_new(place, sharing).then_some(&mut place.memory) {
            Some(Lent::Write(memory)) if status => device.backend().wipe(stream.queue(), memory.reborrow()),
            _ => Ok(()),
        })
    }

    /// Runs all steps on a range of items. Steps that run once per batch are included if `once`; otherwise an earlier
    /// call has run them.
    pub(crate) fn execute<'p>(
        &self,
        stream: &Stream,
        items: Range<usize>,
        once: bool,
        places: Vec<Place<'p>>,
        temps: &'p mut [Guarded],
    ) -> Result<()> {
        self.execute_each(stream, items, once, places, temps, || Ok(()))
    }

    /// Like `execute`, but also calls `behind` after each step.
    fn execute_each<'p>(
        &self,
        stream: &Stream,
        items: Range<usize>,
        once: bool,
        mut places: Vec<Place<'p>>,
        temps: &'p mut [Guarded],
        mut behind: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        places.extend(self.temporary_places(temps, items.start));
        self.clear_statuses(stream, items.start, once, &mut places)?;
        (0..self.0.steps.len()).try_for_each(|step| {
            let (kernel, ports) = self.step(step, &mut places)?;
            let items = self.plan().steps[step].items_of(&items, once);
            if items.is_empty() {
                return behind();
            }
            self.device().backend().launch(stream.queue(), kernel, items, ports)?;
            behind()
        })
    }

    /// For each step, the slots that its kernel's ports are bound to, and the loaded kernel.
    #[cfg(feature = "cuda")]
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&[Slot], &Loaded)> {
        self.plan().steps.iter().zip(&self.0.steps).map(|(step, LoadedStep { loaded, .. })| (&step.slots[..], loaded))
    }

    /// The kernel of a step, and the bindings of its ports to `places`, the memory of the arguments and temporaries.
    pub(crate) fn step<'p>(
        &'p self,
        number: usize,
        places: &'p mut [Place<'_>],
    ) -> Result<(&'p Loaded, Vec<Binding<'p>>)> {
        let (step, LoadedStep { loaded, tables }) = (&self.plan().steps[number], &self.0.steps[number]);
        Ok((loaded, bind(loaded, step, tables, self.plan().args().len(), places)?))
    }

    /// The occupancy of a multiprocessor by the kernel of each step, in the plan's order. Empty on a CPU.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver cannot report the occupancy.
    #[cfg(feature = "cuda")]
    pub fn occupancy(&self) -> Result<Vec<crate::cuda::Occupancy>> {
        let codes = self.0.steps.iter().filter_map(|step| step.loaded.code.downcast_ref::<CudaCode>());
        codes.map(CudaCode::occupancy).collect()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({} on {})", self.plan().title(), self.device())
    }
}

/// Wipes the temporaries that held secrets.
fn wipe(stream: &Stream, temps: &mut [Guarded]) -> Result<()> {
    temps.iter_mut().map(|temp| temp.wipe(stream.queue())).fold(Ok(()), Result::and)
}

/// Binds the ports of one step to the memory of arguments and temporaries. If a port writes a memory, the other ports
/// with that memory refer to this port. Otherwise any number of ports read the memory.
fn bind<'p>(
    Loaded { kernel, ports, .. }: &Loaded,
    Step { slots, elements, .. }: &Step,
    tables: &'p [Option<Arc<MadeTable>>],
    arg_count: usize,
    places: &'p mut [Place<'_>],
) -> Result<Vec<Binding<'p>>> {
    let broken = |why: &str| Error::Kernel { kernel: kernel.name().into(), why: why.into() };
    if slots.len() != ports.len() {
        return Err(broken("changed its ports after it was planned"));
    }
    let place_of = |slot: &Slot| slot.number(arg_count);
    let written: Vec<Option<usize>> = (0..places.len())
        .map(|place| (0..ports.len()).find(|&p| ports[p].role != Role::In && place_of(&slots[p]) == Some(place)))
        .collect();
    let mut writes: Vec<Option<Write<'p>>> = ports.iter().map(|_| None).collect();
    let mut reads: Vec<Option<Read<'p>>> = Vec::with_capacity(places.len());
    let mut skipped = Vec::with_capacity(places.len());
    for (place, port) in places.iter_mut().zip(&written) {
        skipped.push(place.skipped * elements);
        reads.push(match (&mut place.memory, port) {
            (Lent::Write(memory), Some(port)) => {
                writes[*port] = Some(memory.reborrow());
                None
            }
            (Lent::Read(_), Some(_)) => return Err(broken("writes to a read-only argument")),
            (Lent::Write(memory), None) => Some(memory.as_read()),
            (Lent::Read(memory), None) => Some(*memory),
        });
    }
    let mut bound = Vec::with_capacity(ports.len());
    for (p, slot) in slots.iter().enumerate() {
        bound.push(match (slot, place_of(slot), &tables[p]) {
            (Slot::Table(_), _, Some(table)) => table.bound(),
            (Slot::Memory(_, first), Some(place), _) => {
                let to = match (writes[p].take(), reads[place], written[place]) {
                    (Some(memory), ..) => To::Write(memory),
                    (None, Some(memory), _) => To::Read(memory),
                    (None, None, Some(port)) => To::SameAs(port),
                    (None, None, None) => return Err(broken("has a port without memory")),
                };
                Binding { to, first: *first, skipped: skipped[place] }
            }
            _ => return Err(broken("has a table that was not computed")),
        });
    }
    Ok(bound)
}

pub fn arg_bytes(arg: &PlanArg, batch: usize) -> Result<usize> {
    match arg.sharing {
        Sharing::PerItem => product(arg.bytes, batch),
        Sharing::Shared => Ok(arg.bytes),
    }
}

fn product(bytes: usize, items: usize) -> Result<usize> {
    let limit = usize::MAX / bytes.max(1);
    bytes.checked_mul(items).ok_or(Error::TooLarge { what: "the batch size", limit, got: items })
}

pub(crate) fn mismatch(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Error {
    Error::Mismatch { what: what.into(), expected: expected.to_string(), got: got.to_string() }
}

/// Checks that an argument of `got` bytes holds exactly `batch` items, or exactly one value if all items share it.
pub(crate) fn check_size(wanted: &PlanArg, batch: usize, got: usize) -> Result<()> {
    let expected = arg_bytes(wanted, batch)?;
    if got == expected {
        return Ok(());
    }
    let batch = if wanted.sharing == Sharing::PerItem { batch } else { 1 };
    Err(Error::ArgumentSize { argument: wanted.name.clone(), batch, expected, got })
}

pub(crate) fn check_arg(device: &Device, arg: &Arg<'_>, wanted: &PlanArg, batch: usize) -> Result<()> {
    let what = format!("argument {}", wanted.name);
    let slice = arg.as_read();
    slice.buffer.on(device, &what)?;
    check_size(wanted, batch, slice.len())?;
    slice.aligned()?;
    if wanted.role != Role::In && matches!(arg, Arg::In(_)) {
        return Err(mismatch(what, "a writable buffer", "a read-only buffer"));
    }
    Ok(())
}

fn check_content(arg: &Arg<'_>, wanted: &PlanArg) -> Result<()> {
    let what = format!("argument {}", wanted.name);
    if let Arg::Out(slice) = arg {
        slice.writable(&what)?;
    }
    if wanted.role != Role::Out {
        let slice = arg.as_read();
        slice.readable(&what)?;
        // a vector is stored as its elements, one after another
        let element = |poly: &PolyType| poly.of_vector().map_or_else(|| poly.clone(), |(element, _)| element);
        if let (Some(wanted), Some(got)) = (&wanted.before, slice.content())
            && wanted != got
            && element(wanted) != element(got)
        {
            return Err(mismatch(what, wanted.described(), got.described()));
        }
    }
    Ok(())
}
