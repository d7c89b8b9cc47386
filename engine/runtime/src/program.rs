//! Programs: plans made ready on a device, and how they run.

pub(crate) mod call;

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use crate::backend::{Bound, Loaded, To};
#[cfg(feature = "cuda")]
use crate::cuda::code::CudaCode;
use crate::device::{Device, MadeTable, Stream};
use crate::guarded::Guarded;
use crate::kernel::{Role, Sharing};
use crate::memory::{Memory, Read, Write};
use crate::plan::{Plan, PlanArg, Slot, Temp};
use ringforge_math::error::{Error, Result};

use call::{Arg, Call};

/// A plan made ready on a device: immutable, shareable between threads, cheap to clone.
#[derive(Clone)]
pub struct Program(Arc<Parts>);

struct Parts {
    device: Device,
    plan: Plan,
    steps: Vec<LoadedStep>,
    others: Vec<Other>,
}

/// The same on another device of a group.
#[derive(Debug)]
pub struct Other {
    #[doc(hidden)]
    pub program: Program,
    /// How many items it takes for one of the first device.
    #[doc(hidden)]
    pub rate: f64,
}

struct LoadedStep {
    loaded: Loaded,
    /// The table of each port that reads one.
    tables: Vec<Option<Arc<MadeTable>>>,
}

/// Memory that the steps of one run share out among their ports.
pub(crate) struct Place<'a> {
    pub(crate) memory: Lent<'a>,
    /// Items that are not there: the memory begins with the one after them.
    pub(crate) skipped: usize,
}

/// Memory of a run, to read or to write.
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

    /// The same memory, which begins with this item where each has its own.
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
    /// Makes a plan ready to run: compiles its kernels (in parallel, or takes them from a cache) and makes its tables.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where a kernel does not fit the device, and for the device of a group's
    /// engine, because the others would do nothing: `Engine::compile`
    /// compiles for all. [`Error::NoCompiler`], [`Error::Compile`], [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn compile(&self, plan: &Plan) -> Result<Program> {
        if self.group() > 1 {
            let why = format!(
                "the engine has {} devices, and this would use the first alone: `Engine::compile` compiles for all, and \
                 `Engine::devices` gives each",
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
        // the tables' kernels go along, so that all are compiled side by side
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

    /// The same on the other devices of the engine's group.
    pub(crate) fn others(&self) -> &[Other] {
        &self.0.others
    }

    /// The same on this device, if that is one of the group's.
    pub(crate) fn of_device(&self, device: &Device) -> &Self {
        let other = self.0.others.iter().find(|other| other.program.device().is(device));
        other.map_or(self, |other| &other.program)
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.0.plan
    }

    /// The device; of a program of a group, the first.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// A run on `batch` items in buffers of the device, in a stream's order: to be given its arguments by name. A batch of 0
    /// does nothing. Programs of a group run on streams of any of its devices.
    pub fn on<'a>(&'a self, stream: &'a Stream, batch: usize) -> Call<'a> {
        Call::new(self.of_device(stream.device()), stream, batch)
    }

    /// Runs all items, as many at a time as `budget` bytes of temporaries are enough for, but at least one.
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

    /// Checks arguments, and if `ready` also whether they hold what the plan reads.
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

    /// Checks arguments, has `work` done on them, and notes what they hold then.
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
        // not written while a panic may leave it half done
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
                // the failure is what the caller must hear of, whether or not the device still answers
                let _ = device.backend().wipe(stream.queue(), slice.buffer.memory.write());
                slice.buffer.content = None;
            }
        }
        outcome
    }

    /// Runs all steps on items, and wipes what held secrets.
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

    /// The memory of all tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = Read<'_>> {
        self.0.steps.iter().flat_map(|step| &step.tables).flatten().map(|table| table.memory())
    }

    /// New temporaries for this many items, to be used in the order of the stream.
    pub(crate) fn temporaries(&self, stream: &Stream, items: usize) -> Result<Vec<Guarded>> {
        self.temporaries_from(stream, items, Device::allocate)
    }

    /// The same for one run.
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
            // a step reads only what earlier steps of the run wrote, and statuses, which are set before the first step
            memory.skip_zeroing();
            Ok(stream.guard(memory, temp.secret))
        };
        // the largest first, which fewer of the kept blocks suit
        let mut order: Vec<usize> = (0..plan.temps.len()).collect();
        order.sort_by_key(|&temp| core::cmp::Reverse(plan.temps[temp].bytes));
        let mut made: Vec<_> =
            order.into_iter().map(|temp| Ok((temp, new(&plan.temps[temp])?))).collect::<Result<_>>()?;
        made.sort_by_key(|(temp, _)| *temp);
        Ok(made.into_iter().map(|(_, memory)| memory).collect())
    }

    /// Temporaries that begin with this item.
    pub(crate) fn temporary_places<'p>(
        &self,
        temps: &'p mut [Guarded],
        item: usize,
    ) -> impl Iterator<Item = Place<'p>> {
        let places = temps.iter_mut().zip(&self.plan().temps);
        places.map(move |(memory, temp)| Place::write(memory.write()).beginning_with(item, temp.sharing))
    }

    /// Has statuses say that no item was reached, before the first step, in memory that begins with the first item; those that
    /// all items share only if the steps that run once are to come. The places are those of arguments and temporaries.
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

    /// Runs all steps on a range of items, and before them those that run once, unless what they write is there.
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

    /// The items that a step runs for, of these; none for one that runs once and has done so.
    pub(crate) fn items_of(&self, step: usize, items: &Range<usize>, once: bool) -> Range<usize> {
        match self.plan().steps[step].once {
            true => 0..usize::from(once),
            false => items.clone(),
        }
    }

    /// The same, with something to do behind each step.
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
            let items = self.items_of(step, &items, once);
            if items.is_empty() {
                return behind();
            }
            self.device().backend().launch(stream.queue(), kernel, items, ports)?;
            behind()
        })
    }

    /// What each step's ports are bound to, and its kernel.
    #[cfg(feature = "cuda")]
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&[Slot], &Loaded)> {
        self.plan().steps.iter().zip(&self.0.steps).map(|(step, LoadedStep { loaded, .. })| (&step.slots[..], loaded))
    }

    /// The kernel of a step, and what its ports are bound to among the places of arguments and temporaries.
    pub(crate) fn step<'p>(
        &'p self,
        number: usize,
        places: &'p mut [Place<'_>],
    ) -> Result<(&'p Loaded, Vec<Bound<'p>>)> {
        let (step, LoadedStep { loaded, tables }) = (&self.plan().steps[number], &self.0.steps[number]);
        Ok((loaded, bind(loaded, &step.slots, tables, self.plan().args().len(), places)?))
    }

    /// What each step takes of a multiprocessor of the GPU, in the plan's order; nothing on a CPU.
    ///
    /// # Errors
    /// [`Error::Driver`].
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

/// Wipes those temporaries that held secrets.
fn wipe(stream: &Stream, temps: &mut [Guarded]) -> Result<()> {
    temps.iter_mut().map(|temp| temp.wipe(stream.queue())).fold(Ok(()), Result::and)
}

/// Shares out places among the ports of one step: a written place goes to one port, a read one to any number.
fn bind<'p>(
    Loaded { kernel, ports, .. }: &Loaded,
    slots: &[Slot],
    tables: &'p [Option<Arc<MadeTable>>],
    arg_count: usize,
    places: &'p mut [Place<'_>],
) -> Result<Vec<Bound<'p>>> {
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
        skipped.push(place.skipped);
        reads.push(match (&mut place.memory, port) {
            (Lent::Write(memory), Some(port)) => {
                writes[*port] = Some(memory.reborrow());
                None
            }
            (Lent::Read(_), Some(_)) => return Err(broken("writes to an argument that is read only")),
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
                    (None, None, None) => return Err(broken("has a port that is bound to nothing")),
                };
                Bound { to, first: *first, skipped: skipped[place] }
            }
            _ => return Err(broken("has a table that was not made")),
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
    bytes.checked_mul(items).ok_or(Error::TooLarge { what: "the batch", limit, got: items })
}

pub(crate) fn mismatch(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Error {
    Error::Mismatch { what: what.into(), expected: expected.to_string(), got: got.to_string() }
}

/// Whether an argument of so many bytes holds a batch.
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
        return Err(mismatch(what, "a buffer to write", "a buffer to read"));
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
        if let (Some(wanted), Some(got)) = (&wanted.before, slice.content())
            && wanted != got
        {
            return Err(mismatch(what, wanted.described(), got.described()));
        }
    }
    Ok(())
}
