//! Transforms that the devices of a group do together.

use core::ops::Range;
use core::time::Duration;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytemuck::Pod;
use rayon::prelude::*;

#[cfg(feature = "cuda")]
use crate::communicator::Control;
use crate::communicator::{Communicator, Loopback};
#[cfg(feature = "cuda")]
use crate::cuda::{Connection, Others, UniqueId};
use crate::device::{Buffer, Device, Stream};
use crate::error::{Error, Result, same_length};
use crate::event::Event;
use crate::job::Op;
use crate::launch::Launch;
use crate::long::{LongPlan, Placement};
use crate::memory::{Read, Write};
use crate::program::Program;
use crate::ring::Ring;
use crate::threads;

use super::{Engine, checked, elements_of, of};

/// Number-theoretic transforms of one vector too long or too slow for a device, on all devices of an engine's
/// [group](Engine::group). Made by [`Engine::long_ntt`].
///
/// ```
/// use ringforge::{Device, Engine, Ring};
///
/// let engine = Engine::group(&[Device::cpu(), Device::cpu()])?;
/// let ring: Ring = "998244353 : x^1024 - 1".parse()?;
/// let ntt = engine.long_ntt(&ring)?;
/// let coefficients: Vec<u32> = (0..1024).collect();
/// let mut vector = ntt.upload(&coefficients)?;
/// ntt.forward(&mut vector)?;
/// assert_eq!(ntt.download::<u32>(&vector)?, engine.ntt(&ring)?.evaluate(&coefficients)?);
/// ntt.inverse(&mut vector)?;
/// assert_eq!(ntt.download::<u32>(&vector)?, coefficients);
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug)]
pub struct LongNtt {
    engine: Engine,
    plan: LongPlan,
    /// For each row of values, its place among the rows of the columns.
    places: Vec<usize>,
    links: Arc<Links>,
    workers: Vec<Worker>,
}

/// The devices of a group, and how they reach one another.
#[derive(Debug)]
pub(super) struct Links {
    /// This process' devices, ranks one after another.
    members: Vec<Member>,
    /// The ranks of all processes.
    ranks: usize,
    /// Held while they work together: ranks must agree on the order of what they do.
    turn: Mutex<()>,
}

/// A device of a group.
#[derive(Debug)]
struct Member {
    engine: Engine,
    rank: usize,
    /// To the others; a group of one has none.
    communicator: Option<Box<dyn Communicator>>,
}

/// What a member needs for its part.
#[derive(Debug)]
struct Worker {
    /// On a part of its columns, and on each of its rows: forward and inverse.
    columns: [Option<Program>; 2],
    rows: Vec<[Program; 2]>,
    /// From values of all rows to a part of a block of the vector, and back.
    blocks: [Option<Program>; 2],
    work: Stream,
    /// Whose work begins before that of the other where both could: the other's is long, and would keep it from its place.
    exchange: Stream,
}

/// A vector on the devices of a group, as coefficients or values. Made by [`LongNtt::upload`].
#[derive(Debug)]
pub struct LongVector {
    /// What decides how it lies there.
    plan: LongPlan,
    holds: Holds,
    /// Of each device.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Coefficients,
    Values,
    /// What a transform that failed has left.
    Nothing,
}

/// A device's part of a vector, as columns of all rows or as rows of its own: one of the two is in use. There are as many
/// parts of the columns as rows, all of one size; rows are those of a block too.
#[derive(Debug)]
struct Part {
    columns: Vec<Buffer>,
    rows: Vec<Buffer>,
}

impl Links {
    fn of(engine: &Engine) -> Result<Self> {
        // rows have rings of their own: the group's own programs would be made on every device
        let first = Engine::on(engine.device().clone()).tuned(engine.planner().tuning().clone());
        let engines = core::iter::once(first).chain(engine.0.others.iter().map(|other| other.engine.clone()));
        let (ranks, ends) = match &engine.0.launch {
            Some(launch) => (launch.size(), vec![join(engine.device(), launch)?]),
            None => connect(&engine.devices().collect::<Vec<_>>(), engine.0.timeout).map(|ends| (ends.len(), ends))?,
        };
        let rank = engine.0.launch.as_ref().map_or(0, Launch::rank);
        let member = |(rank, (engine, communicator))| Member { engine, rank, communicator };
        Ok(Self { members: (rank..).zip(engines.zip(ends)).map(member).collect(), ranks, turn: Mutex::default() })
    }
}

/// The end of a device's connections; a device alone has none.
type End = Option<Box<dyn Communicator>>;

/// Connects the devices of this process, which wait so long for one another.
fn connect(devices: &[&Device], timeout: Duration) -> Result<Vec<End>> {
    if devices.len() == 1 {
        return Ok(vec![None]);
    }
    if devices.iter().all(|device| device.backend().is_host()) {
        let ends = Loopback::ends(devices.len(), timeout);
        return Ok(ends.into_iter().map(|end| Some(Box::new(end) as Box<dyn Communicator>)).collect());
    }
    connect_gpus(devices, timeout)
}

#[cfg(feature = "cuda")]
fn connect_gpus(devices: &[&Device], timeout: Duration) -> Result<Vec<End>> {
    let (id, others, size) = (UniqueId::new()?, Arc::<Others>::default(), devices.len());
    let connection = |rank| Connection { id, rank, size, timeout, others: Arc::clone(&others) };
    let ends = devices.iter().enumerate().map(|(rank, device)| (device, connection(rank)));
    let tasks = ends.map(|(device, connection)| move || device.backend().connect(&connection).map(Some));
    threads::each_on_its_own(tasks.collect())?.into_iter().collect()
}

/// Connects a device with those of other processes.
#[cfg(feature = "cuda")]
fn join(device: &Device, launch: &Launch) -> Result<End> {
    let (rank, size, timeout) = (launch.rank(), launch.size(), launch.timeout());
    if size == 1 {
        return Ok(None);
    }
    if device.backend().is_host() {
        let why = "their devices are no GPUs".into();
        return Err(Error::Unsupported { job: "a transform over several processes".into(), why });
    }
    let control = Control::join(launch)?;
    let mut id = if rank == 0 { UniqueId::new()? } else { UniqueId([0; 128]) };
    control.share(&mut id.0)?;
    device.backend().connect(&Connection { id, rank, size, timeout, others: Arc::new(Others::of(control)) }).map(Some)
}

#[cfg(not(feature = "cuda"))]
fn connect_gpus(_: &[&Device], _: Duration) -> Result<Vec<End>> {
    Err(Error::Unsupported {
        job: "a transform over a group".into(),
        why: "its devices have memory of their own".into(),
    })
}

#[cfg(not(feature = "cuda"))]
fn join(_: &Device, launch: &Launch) -> Result<End> {
    match launch.size() {
        1 => Ok(None),
        _ => Err(Error::Unsupported {
            job: "a transform over several processes".into(),
            why: "their devices are no GPUs".into(),
        }),
    }
}

impl Engine {
    /// Transforms of one vector on all devices of the group: of rings modulo x^n − c with one modulus. A group of one does
    /// them as well.
    ///
    /// # Errors
    /// As [`LongPlan::new`] and [`LongNtt::of`].
    pub fn long_ntt(&self, ring: &Ring) -> Result<LongNtt> {
        let links = self.links()?;
        LongNtt::of(self, &LongPlan::new(self.planner(), ring, links.ranks)?)
    }

    /// The connections between the group's devices, made the first time and once more after a failure.
    fn links(&self) -> Result<Arc<Links>> {
        let mut links = self.0.links.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(links) = &*links {
            return Ok(links.clone());
        }
        Ok(links.insert(Arc::new(Links::of(self)?)).clone())
    }

    /// Has these connections, in which something failed, made anew when they are needed.
    fn disconnect(&self, failed: &Arc<Links>) {
        let mut links = self.0.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.take_if(|links| Arc::ptr_eq(links, failed));
    }
}

impl LongNtt {
    /// The transforms of a plan, for as many devices as the engine's group has.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a plan for another number; [`Error::Rank`] where another rank has another plan; as
    /// [`Engine::program`].
    pub fn of(engine: &Engine, plan: &LongPlan) -> Result<Self> {
        let links = engine.links()?;
        if plan.devices() != links.ranks {
            let (expected, got) = (links.ranks.to_string(), plan.devices().to_string());
            return Err(Error::Mismatch { what: "devices of a plan".into(), expected, got });
        }
        // other processes hear of a failure as their connections end
        Self::on(engine, plan, &links).inspect_err(|_| engine.disconnect(&links))
    }

    fn on(engine: &Engine, plan: &LongPlan, links: &Arc<Links>) -> Result<Self> {
        let make = |member: &Member| {
            let rows = (0..plan.own_rows()).map(|slot| {
                let row = member.rank * plan.own_rows() + slot;
                both(|op| member.engine.program(&plan.of_row(op, row)?))
            });
            let device = member.engine.device();
            Ok(Worker {
                columns: both(|op| plan.of_columns(op)?.map(|job| member.engine.program(&job)).transpose())?,
                rows: rows.collect::<Result<_>>()?,
                blocks: both(|op| match plan.values() {
                    Placement::Blocks => plan.between_rows(op).and_then(|plan| device.compile(&plan)).map(Some),
                    Placement::Native => Ok(None),
                })?,
                work: device.stream()?,
                exchange: device.urgent_stream()?,
            })
        };
        let workers = links.members.iter().map(make).collect::<Result<Vec<_>>>()?;
        let this =
            Self { engine: engine.clone(), plan: plan.clone(), places: plan.places()?, links: links.clone(), workers };
        this.together(vec![(); this.workers.len()], |member, _, ()| match &member.communicator {
            Some(communicator) => communicator.agree(&plan.describe()),
            None => Ok(()),
        })?;
        Ok(this)
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &LongPlan {
        &self.plan
    }

    /// Where a row of values lies in what it is exchanged with.
    fn place(&self, side: Side, row: usize) -> usize {
        match side {
            Side::Columns => self.places[row],
            Side::Order => row,
        }
    }

    /// The coefficients of a polynomial to the devices; of several processes, each gives all of them.
    ///
    /// # Errors
    /// [`Error::Argument`] as [`Engine::mul`]; [`Error::Length`] for other than one element; [`Error::OutOfMemory`],
    /// [`Error::Driver`].
    pub fn upload<T: Pod + Send + Sync>(&self, coefficients: &[T]) -> Result<LongVector> {
        self.upload_whole(Holds::Coefficients, "coefficients", coefficients)
    }

    /// The values of a polynomial, in natural order, likewise.
    ///
    /// # Errors
    /// As [`LongNtt::upload`].
    pub fn upload_values<T: Pod + Send + Sync>(&self, values: &[T]) -> Result<LongVector> {
        self.upload_whole(Holds::Values, "values", values)
    }

    /// Of the coefficients, what lies on this process' devices, one device after another, as the plan's [`Placement`] says.
    ///
    /// # Errors
    /// As [`LongNtt::upload`], with [`Error::Length`] for other than these devices' parts.
    pub fn upload_part<T: Pod + Send + Sync>(&self, coefficients: &[T]) -> Result<LongVector> {
        self.upload_own(Holds::Coefficients, "coefficients", coefficients)
    }

    /// Of the values, likewise.
    ///
    /// # Errors
    /// As [`LongNtt::upload_part`].
    pub fn upload_values_part<T: Pod + Send + Sync>(&self, values: &[T]) -> Result<LongVector> {
        self.upload_own(Holds::Values, "values", values)
    }

    fn upload_whole<T: Pod + Send + Sync>(&self, holds: Holds, name: &'static str, all: &[T]) -> Result<LongVector> {
        checked(self.plan.ring(), name, all)?;
        same_length("residues of one element", self.plan.ring().degree(), all.len())?;
        let (cut, own) = (Cut::of(&self.plan, holds, self.plan.rows()), self.plan.own_rows());
        self.upload_with(holds, |member, number| cut.part(all, self.links.members[member].rank * own + number))
    }

    fn upload_own<T: Pod + Send + Sync>(&self, holds: Holds, name: &'static str, own: &[T]) -> Result<LongVector> {
        let ring = self.plan.ring();
        elements_of::<T>(ring, name, &[])?;
        let share = ring.degree() / self.plan.devices();
        same_length("residues of these devices' parts", share * self.workers.len(), own.len())?;
        // whose elements are as long as a device's part
        self.plan.column_ring()?.check(own).map_err(|error| of(name, error))?;
        let cut = Cut::of(&self.plan, holds, self.plan.devices()).within(self.plan.own_rows());
        self.upload_with(holds, |member, number| cut.part(&own[member * share..][..share], number))
    }

    /// A vector, of what each of its buffers holds: by the number of the member, and the buffer's.
    fn upload_with<'t, T: Pod + Send + Sync>(
        &self,
        holds: Holds,
        of: impl Fn(usize, usize) -> Cow<'t, [T]> + Sync,
    ) -> Result<LongVector> {
        let plan = &self.plan;
        let parts = self.together((0..self.workers.len()).collect(), |_, worker, member| {
            let mut part = worker.part(plan)?;
            let mut buffers = part.in_use(plan, holds).iter_mut().enumerate();
            buffers.try_for_each(|(number, buffer)| worker.work.write(buffer, &of(member, number)))?;
            Ok(part)
        })?;
        Ok(LongVector { plan: plan.clone(), holds, parts })
    }

    /// The whole vector, coefficients or values in natural order.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a vector of another plan; [`Error::Argument`] for numbers of another width than the ring's
    /// residues; [`Error::Unwritten`] after a transform that failed; [`Error::Unsupported`] where other processes have parts
    /// of it; [`Error::Driver`].
    pub fn download<T: Pod + Send + Sync>(&self, vector: &LongVector) -> Result<Vec<T>> {
        if self.workers.len() < self.links.ranks {
            let why = "other processes have parts of it, and each downloads its own".into();
            return Err(Error::Unsupported { job: "downloading a whole vector".into(), why });
        }
        let cut = Cut::of(&self.plan, self.check(vector, None)?, self.plan.devices());
        Ok(cut.whole(self.download_part(vector)?))
    }

    /// What lies on this process' devices, one device after another, as the plan's [`Placement`] says.
    ///
    /// # Errors
    /// As [`LongNtt::download`], but for other processes' parts.
    pub fn download_part<T: Pod + Send + Sync>(&self, vector: &LongVector) -> Result<Vec<T>> {
        elements_of::<T>(self.plan.ring(), "the vector", &[])?;
        let holds = self.check(vector, None)?;
        let (share, own) = (self.plan.ring().degree() / self.plan.devices(), self.plan.own_rows());
        let cut = Cut::of(&self.plan, holds, self.plan.devices()).within(own);
        let mut all = vec![T::zeroed(); share * self.workers.len()];
        let places = vector.parts.iter().zip(all.chunks_exact_mut(share)).collect();
        self.together(places, |_, worker, (part, to): (&Part, &mut [T])| {
            let mut buffers = part.holding(&self.plan, holds).iter().zip(to.chunks_exact_mut(share / own));
            buffers.try_for_each(|(buffer, to)| worker.work.read(buffer, to))?;
            if let Cut::Columns { .. } = cut {
                to.copy_from_slice(&cut.whole(to.to_vec()));
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// From coefficients to values; returns when it is done.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for values and for a vector of another plan; [`Error::Rank`] or [`Error::Nccl`] where a device does
    /// not answer another; as [`Call::run`](crate::run::Call::run). The vector is unreadable then, and so is it where another
    /// transform was under way; a new [`Engine::long_ntt`] connects the devices anew.
    pub fn forward(&self, vector: &mut LongVector) -> Result<()> {
        self.run(vector, [Holds::Coefficients, Holds::Values], false, |turn| turn.forward()).map(drop)
    }

    /// From values to coefficients; returns when it is done.
    ///
    /// # Errors
    /// As [`LongNtt::forward`].
    pub fn inverse(&self, vector: &mut LongVector) -> Result<()> {
        self.run(vector, [Holds::Values, Holds::Coefficients], false, |turn| turn.inverse()).map(drop)
    }

    /// The transform that the vector is ready for, forward or inverse, and when this process' devices did what: for those who
    /// want to know where time goes.
    ///
    /// # Errors
    /// As [`LongNtt::forward`].
    pub fn timeline(&self, vector: &mut LongVector) -> Result<Vec<Span>> {
        match self.check(vector, None)? {
            Holds::Coefficients => self.run(vector, [Holds::Coefficients, Holds::Values], true, |turn| turn.forward()),
            _ => self.run(vector, [Holds::Values, Holds::Coefficients], true, |turn| turn.inverse()),
        }
    }

    /// A transform on every device, watched or not.
    fn run(
        &self,
        vector: &mut LongVector,
        [from, to]: [Holds; 2],
        watched: bool,
        work: impl Fn(&mut Turn<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<Span>> {
        self.check(vector, Some(from))?;
        // unreadable while it may be half done
        vector.holds = Holds::Nothing;
        let spans = self
            .together(vector.parts.iter_mut().collect(), |member, worker, part| {
                let watch = watched.then(|| Watch::new(worker)).transpose()?;
                let mut turn = Turn { ntt: self, member, worker, part, watch };
                let outcome = work(&mut turn).inspect_err(|_| member.abandon());
                // also where something failed: what was started uses the memory
                let ended = member.finish(worker);
                outcome.and(ended)?;
                turn.watch.map_or(Ok(Vec::new()), |watch| watch.spans(member.rank))
            })
            .inspect_err(|_| self.engine.disconnect(&self.links))?;
        vector.holds = to;
        Ok(spans.concat())
    }

    /// What a vector holds, which is of this plan.
    fn check(&self, vector: &LongVector, wanted: Option<Holds>) -> Result<Holds> {
        let holds = vector.holds;
        let mismatch =
            |expected: String, got: String| Err(Error::Mismatch { what: "the vector".into(), expected, got });
        if holds == Holds::Nothing {
            return Err(Error::Unwritten { what: "a vector whose transform failed".into() });
        }
        if !vector.plan.is_alike(&self.plan) || vector.parts.len() != self.workers.len() {
            return mismatch(self.plan.describe(), vector.plan.describe());
        }
        match wanted.filter(|wanted| *wanted != holds) {
            Some(wanted) => mismatch(format!("{wanted:?}"), format!("{holds:?}")),
            None => Ok(holds),
        }
    }

    /// Work for each device, on a thread for each.
    fn together<A: Send, T: Send>(
        &self,
        args: Vec<A>,
        work: impl Fn(&Member, &Worker, A) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let _turn = self.links.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let work = &work;
        let tasks = self.links.members.iter().zip(&self.workers).zip(args);
        let tasks = tasks.map(|((member, worker), arg)| move || work(member, worker, arg));
        let outcomes = threads::each_on_its_own(tasks.collect())?;
        let mut errors = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        // what failed first, rather than who heard of it
        let cause = errors.clone().find(|error| !matches!(error, Error::Rank { .. })).or_else(|| errors.next());
        match cause.cloned() {
            Some(cause) => Err(cause),
            None => outcomes.into_iter().collect(),
        }
    }
}

fn both<T>(make: impl Fn(Op) -> Result<T>) -> Result<[T; 2]> {
    Ok([make(Op::Forward)?, make(Op::Inverse)?])
}

impl Member {
    fn abandon(&self) {
        self.communicator.iter().for_each(|communicator| communicator.abandon());
    }

    /// Waits for all work, or for its end where another rank fails.
    fn finish(&self, worker: &Worker) -> Result<()> {
        let exchanged = match &self.communicator {
            Some(communicator) => communicator.finish(worker.exchange.queue()),
            None => worker.exchange.synchronize(),
        };
        exchanged.and(worker.work.synchronize())
    }
}

/// What one device does of a transform.
struct Turn<'a> {
    ntt: &'a LongNtt,
    member: &'a Member,
    worker: &'a Worker,
    part: &'a mut Part,
    watch: Option<Watch>,
}

/// What rows are exchanged with.
#[derive(Debug, Clone, Copy)]
enum Side {
    /// Columns that are transformed, in which rows lie as that leaves or takes them.
    Columns,
    /// A block of the vector, or columns before and after all work: rows lie in ascending order.
    Order,
}

impl Turn<'_> {
    fn forward(&mut self) -> Result<()> {
        let [coefficients, values] = [self.ntt.plan.coefficients(), self.ntt.plan.values()];
        if coefficients == Placement::Blocks {
            self.all().try_for_each(|part| self.make_columns(Side::Order, self.all(), part..part + 1))?;
        }
        let order = (values == Placement::Blocks).then_some(Side::Order);
        self.transform_rows(Op::Forward, [Some(Side::Columns), order])
    }

    fn inverse(&mut self) -> Result<()> {
        let [coefficients, values] = [self.ntt.plan.coefficients(), self.ntt.plan.values()];
        let order = (values == Placement::Blocks).then_some(Side::Order);
        self.transform_rows(Op::Inverse, [order, Some(Side::Columns)])?;
        if coefficients == Placement::Blocks {
            self.all().try_for_each(|part| self.make_rows(Side::Order, self.all(), part..part + 1))?;
        }
        Ok(())
    }

    /// The numbers of rows, and of parts of columns.
    fn all(&self) -> Range<usize> {
        0..self.part.rows.len()
    }

    /// Transforms every row, made of columns before, where there is something to be made of, and made into columns after.
    fn transform_rows(&mut self, op: Op, [from, to]: [Option<Side>; 2]) -> Result<()> {
        if let Some(from) = from {
            // the first row arrives part by part, under the work on the next parts, and the others under work on rows
            for part in self.all() {
                self.work_on(from, op, part)?;
                self.make_rows(from, 0..1, part..part + 1)?;
            }
        }
        let last = self.all().end - 1;
        for row in self.all() {
            self.transform_row(row, op)?;
            if let (Some(from), 0) = (from, row) {
                self.all().skip(1).try_for_each(|later| self.make_rows(from, later..later + 1, self.all()))?;
            }
            match to {
                Some(to) if row < last => self.make_columns(to, row..row + 1, self.all())?,
                Some(to) => {
                    for part in self.all() {
                        self.make_columns(to, row..row + 1, part..part + 1)?;
                        self.work_on(to, op, part)?;
                    }
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Starts to make these parts of columns of the rows with these numbers on each device, or the pieces of them.
    fn make_columns(&mut self, side: Side, numbers: Range<usize>, parts: Range<usize>) -> Result<()> {
        let what = || format!("exchange: rows {numbers:?} into parts {parts:?}");
        self.watched(
            what,
            |worker| &worker.exchange,
            |turn| {
                let Part { columns, rows } = &mut *turn.part;
                let (piece, own, devices) = (turn.ntt.plan.piece_bytes(), rows.len(), turn.ntt.plan.devices());
                let (mut sends, mut receives) = (Vec::new(), Vec::new());
                for (part, column) in (parts.start..).zip(&mut columns[parts.clone()]) {
                    let mut places: Vec<_> = column.memory.write().pieces(piece).into_iter().map(Some).collect();
                    for number in numbers.clone() {
                        let row = rows[number].memory.read();
                        for rank in 0..devices {
                            let first = (rank * own + part) * piece;
                            sends.push((rank, row.part(&(first..first + piece))));
                            receives
                                .extend(places[turn.ntt.place(side, rank * own + number)].take().map(|to| (rank, to)));
                        }
                    }
                }
                exchange(turn.member, turn.worker, &sends, receives)?;
                columns[parts.clone()].iter_mut().for_each(Buffer::holds_anything);
                Ok(())
            },
        )
    }

    /// Starts to make the rows with these numbers on each device of these parts of columns, or the pieces of them.
    fn make_rows(&mut self, side: Side, numbers: Range<usize>, parts: Range<usize>) -> Result<()> {
        let what = || format!("exchange: parts {parts:?} into rows {numbers:?}");
        self.watched(
            what,
            |worker| &worker.exchange,
            |turn| {
                let Part { columns, rows } = &mut *turn.part;
                let (piece, own, devices) = (turn.ntt.plan.piece_bytes(), rows.len(), turn.ntt.plan.devices());
                let (mut sends, mut receives) = (Vec::new(), Vec::new());
                for (number, row) in (numbers.start..).zip(&mut rows[numbers.clone()]) {
                    let mut places: Vec<_> = row.memory.write().pieces(piece).into_iter().map(Some).collect();
                    for part in parts.clone() {
                        let column = columns[part].memory.read();
                        for rank in 0..devices {
                            let first = turn.ntt.place(side, rank * own + number) * piece;
                            sends.push((rank, column.part(&(first..first + piece))));
                            receives.extend(places[rank * own + part].take().map(|to| (rank, to)));
                        }
                    }
                }
                exchange(turn.member, turn.worker, &sends, receives)?;
                rows[numbers.clone()].iter_mut().for_each(Buffer::holds_anything);
                Ok(())
            },
        )
    }

    /// Transforms a part of the columns, or makes it a part of a block, or the other way round.
    fn work_on(&mut self, side: Side, op: Op, part: usize) -> Result<()> {
        let which = usize::from(op == Op::Inverse);
        let what = || match side {
            Side::Columns => format!("columns, part {part}"),
            Side::Order => format!("block, part {part}"),
        };
        self.watched(
            what,
            |worker| &worker.work,
            |turn| {
                let (work, Part { columns, rows }) = (&turn.worker.work, &mut *turn.part);
                let (columns, rows) = (&mut columns[part], &mut rows[part]);
                match (side, &turn.worker.columns[which], &turn.worker.blocks[which]) {
                    (Side::Columns, Some(program), _) => transform(program, work, columns),
                    (Side::Order, _, Some(program)) => {
                        let (from, to) =
                            if op == Op::Forward { (&*columns, &mut *rows) } else { (&*rows, &mut *columns) };
                        program.on(work, 1).input("from", from).output("to", &mut *to).run()?;
                        to.holds_anything();
                        Ok(())
                    }
                    _ => Ok(()),
                }
            },
        )
    }

    fn transform_row(&mut self, row: usize, op: Op) -> Result<()> {
        self.watched(
            || format!("row {row}"),
            |worker| &worker.work,
            |turn| {
                let program = &turn.worker.rows[row][usize::from(op == Op::Inverse)];
                transform(program, &turn.worker.work, &mut turn.part.rows[row])
            },
        )
    }

    /// Starts work on a stream, and notes when it is done, if that is asked for.
    fn watched(
        &mut self,
        what: impl FnOnce() -> String,
        stream: fn(&Worker) -> &Stream,
        work: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if self.watch.is_none() {
            return work(self);
        }
        let before = stream(self.worker).mark()?;
        work(self)?;
        let after = stream(self.worker).mark()?;
        if let Some(watch) = &mut self.watch {
            watch.note(what(), before, after);
        }
        Ok(())
    }
}

/// A piece of a transform's work on one device. Times are seconds since the device began, by its own clock; one stream has the
/// exchanges, another all else, and a piece that waits for the other stream has begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The device's number among all.
    pub rank: usize,
    /// In words.
    pub what: String,
    /// When the host had it started.
    pub asked: f64,
    /// When the stream was done with what was before it.
    pub start: f64,
    /// When it was done.
    pub end: f64,
}

/// What was started when.
struct Watch {
    began: (Instant, Event),
    noted: Vec<(String, f64, [Event; 2])>,
}

impl Watch {
    fn new(worker: &Worker) -> Result<Self> {
        Ok(Self { began: (Instant::now(), worker.work.mark()?), noted: Vec::new() })
    }

    fn note(&mut self, what: String, before: Event, after: Event) {
        self.noted.push((what, self.began.0.elapsed().as_secs_f64(), [before, after]));
    }

    fn spans(self, rank: usize) -> Result<Vec<Span>> {
        let seconds = |event: &Event| event.seconds_since(&self.began.1);
        let span = |(what, asked, [before, after]): &(String, f64, [Event; 2])| {
            Ok(Span { rank, what: what.clone(), asked: *asked, start: seconds(before)?, end: seconds(after)? })
        };
        self.noted.iter().map(span).collect()
    }
}

/// Starts an exchange; a device alone copies what it sends itself.
fn exchange(
    member: &Member,
    worker: &Worker,
    sends: &[(usize, Read<'_>)],
    receives: Vec<(usize, Write<'_>)>,
) -> Result<()> {
    let queue = worker.exchange.queue();
    match &member.communicator {
        Some(communicator) => communicator.exchange(queue, sends, receives),
        None => sends
            .iter()
            .zip(receives)
            .try_for_each(|((_, from), (_, to))| member.engine.device().backend().copy(queue, *from, to)),
    }
}

/// Transforms columns or a row in place.
fn transform(program: &Program, stream: &Stream, data: &mut Buffer) -> Result<()> {
    program.on(stream, 1).output("data", &mut *data).run()?;
    data.holds_anything();
    Ok(())
}

impl Worker {
    /// Memory for a part of a vector.
    fn part(&self, plan: &LongPlan) -> Result<Part> {
        let buffers = || {
            let each = (0..plan.own_rows()).map(|_| self.work.device().buffer(plan.row_bytes()));
            let mut buffers = each.collect::<Result<Vec<_>>>()?;
            // slices of them are written before the whole
            buffers.iter_mut().for_each(Buffer::holds_anything);
            Ok(buffers)
        };
        Ok(Part { columns: buffers()?, rows: buffers()? })
    }
}

impl Part {
    /// What holds the vector.
    fn holding(&self, plan: &LongPlan, holds: Holds) -> &[Buffer] {
        if Self::is_columns(plan, holds) { &self.columns } else { &self.rows }
    }

    /// The same, to be written.
    fn in_use(&mut self, plan: &LongPlan, holds: Holds) -> &mut [Buffer] {
        if Self::is_columns(plan, holds) { &mut self.columns } else { &mut self.rows }
    }

    fn is_columns(plan: &LongPlan, holds: Holds) -> bool {
        (holds, plan.coefficients()) == (Holds::Coefficients, Placement::Native)
    }
}

/// How a vector in natural order is cut into equal parts, those of devices or of their buffers.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// Each has neighbouring columns of all rows.
    Columns { rows: usize, parts: usize },
    /// Each has rows of which each is every so manieth number of the vector.
    Strided { rows: usize, parts: usize, base: usize },
    /// Each has neighbours.
    Blocks { parts: usize },
}

impl Cut {
    fn of(plan: &LongPlan, holds: Holds, parts: usize) -> Self {
        let rows = plan.rows();
        match (holds, plan.coefficients(), plan.values()) {
            (Holds::Coefficients, Placement::Native, _) => Self::Columns { rows, parts },
            (Holds::Values, _, Placement::Native) => Self::Strided { rows, parts, base: plan.base() },
            _ => Self::Blocks { parts },
        }
    }

    /// How a part is cut further.
    fn within(self, parts: usize) -> Self {
        match self {
            Self::Columns { rows, .. } => Self::Columns { rows, parts },
            _ => Self::Blocks { parts },
        }
    }

    /// A part of the whole.
    fn part<T: Pod + Send + Sync>(self, all: &[T], number: usize) -> Cow<'_, [T]> {
        match self {
            Self::Columns { rows, parts } => {
                let (row, piece) = (all.len() / rows, all.len() / rows / parts);
                let pieces = all.chunks_exact(row).map(|row| &row[number * piece..][..piece]);
                Cow::Owned(pieces.collect::<Vec<_>>().concat())
            }
            Self::Strided { rows, parts, base } => {
                let (own, length) = (rows / parts, all.len() / rows);
                let mut part = vec![T::zeroed(); all.len() / parts];
                part.par_chunks_exact_mut(base).enumerate().with_min_len(1 << 10).for_each(|(i, value)| {
                    let place = i % (length / base) * rows + number * own + i / (length / base);
                    value.copy_from_slice(&all[place * base..][..base]);
                });
                Cow::Owned(part)
            }
            Self::Blocks { parts } => {
                let length = all.len() / parts;
                Cow::Borrowed(&all[number * length..][..length])
            }
        }
    }

    /// The whole, of all parts one after another.
    fn whole<T: Pod + Send + Sync>(self, all: Vec<T>) -> Vec<T> {
        match self {
            Self::Columns { rows, parts } => {
                let piece = all.len() / rows / parts;
                let pieces = (0..rows).flat_map(|row| (0..parts).map(move |part| part * rows + row));
                pieces.map(|i| &all[i * piece..][..piece]).collect::<Vec<_>>().concat()
            }
            Self::Strided { rows, base, .. } => {
                let row = all.len() / rows;
                let mut whole = vec![T::zeroed(); all.len()];
                whole.par_chunks_exact_mut(rows * base).enumerate().for_each(|(place, values)| {
                    let values = values.chunks_exact_mut(base).enumerate();
                    values.for_each(|(k, value)| value.copy_from_slice(&all[k * row + place * base..][..base]));
                });
                whole
            }
            Self::Blocks { .. } => all,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::backend::{Backend, Bound, Loaded, Queue};
    use crate::columns::Shape;
    use crate::cpu::Cpu;
    use crate::kernel::Kernel;
    use crate::limits::Limits;
    use crate::memory::Memory;

    /// A device that fails in the middle, before it sends or after, ends the others at once; the vector cannot be read, and
    /// the next transforms connect the devices anew.
    #[test]
    fn a_device_that_fails_ends_the_others() -> Result<()> {
        let ring: Ring = "998244353 : x^4096 - 1".parse()?;
        let engine = Engine::group(&[Device::cpu(), Device::cpu(), Device::cpu(), Device::cpu()])?;
        let coefficients: Vec<u32> = (0..4096).collect();
        let failure = || Error::OutOfMemory { bytes: 7 };
        for after in [0, 1] {
            let (ntt, start) =
                (LongNtt::of(&engine, &LongPlan::new(engine.planner(), &ring, 4)?.rows_each(2)?)?, Instant::now());
            let mut vector = ntt.upload(&coefficients)?;
            let outcome = ntt.run(&mut vector, [Holds::Coefficients, Holds::Values], false, |turn| {
                turn.all().try_for_each(|part| turn.work_on(Side::Columns, Op::Forward, part))?;
                turn.all().try_for_each(|row| match (turn.member.rank, row >= after) {
                    (2, true) => Err(failure()),
                    _ => turn.make_rows(Side::Columns, row..row + 1, turn.all()),
                })
            });
            assert_eq!(outcome, Err(failure()), "the cause, not that it was heard of");
            assert!(start.elapsed() < Launch::TIMEOUT / 2, "nobody waited");
            assert!(matches!(ntt.download::<u32>(&vector), Err(Error::Unwritten { .. })));
            assert!(matches!(ntt.forward(&mut vector), Err(Error::Unwritten { .. })));
            let mut vector = ntt.upload(&coefficients)?;
            assert!(
                matches!(ntt.forward(&mut vector), Err(Error::Rank { .. })),
                "these connections are of no more use"
            );
            let ntt = engine.long_ntt(&ring)?;
            let mut vector = ntt.upload(&coefficients)?;
            ntt.forward(&mut vector)?;
            assert!(ntt.download::<u32>(&vector)? == engine.ntt(&ring)?.evaluate(&coefficients)?);
        }
        Ok(())
    }

    /// A device that comes late by more than the group waits: an error on all, none of which waits for longer, also the late
    /// one, and the threads end.
    #[test]
    fn a_link_that_stalls_ends_the_transform_in_time() -> Result<()> {
        let ring: Ring = "998244353 : x^4096 - 1".parse()?;
        let timeout = Duration::from_millis(300);
        let engine = Engine::group(&[Device::cpu(), Device::cpu(), Device::cpu(), Device::cpu()])?;
        let engine = engine.with_timeout(timeout);
        let plan = LongPlan::new(engine.planner(), &ring, 4)?.rows_each(2)?;
        let (ntt, start) = (LongNtt::of(&engine, &plan)?, Instant::now());
        let mut vector = ntt.upload(&[1u32; 4096])?;
        let outcome = ntt.run(&mut vector, [Holds::Coefficients, Holds::Values], false, |turn| {
            if turn.member.rank == 1 {
                std::thread::sleep(2 * timeout);
            }
            let waited = Instant::now();
            let outcome = turn.forward();
            assert!(outcome.is_err() && waited.elapsed() < 2 * timeout, "{outcome:?}");
            outcome
        });
        assert!(matches!(outcome, Err(Error::Rank { .. })), "{outcome:?}");
        assert!(start.elapsed() < 4 * timeout);
        assert!(matches!(ntt.download::<u32>(&vector), Err(Error::Unwritten { .. })));
        Ok(())
    }

    /// A CPU that has memory for so many pieces more.
    #[derive(Debug)]
    struct Tight(Cpu, AtomicUsize);

    impl Backend for Tight {
        fn limits(&self) -> &Limits {
            self.0.limits()
        }

        fn allocate(&self, bytes: usize) -> Result<Memory> {
            let less = |left: usize| left.checked_sub(1);
            match self.1.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
                Ok(_) => self.0.allocate(bytes),
                Err(_) => Err(Error::OutOfMemory { bytes }),
            }
        }

        fn queue(&self) -> Result<Queue> {
            self.0.queue()
        }

        fn upload_shape(&self, queue: &Queue, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()> {
            self.0.upload_shape(queue, from, shape, to)
        }

        fn download(&self, queue: &Queue, from: Read<'_>, to: &mut [u8]) -> Result<()> {
            self.0.download(queue, from, to)
        }

        fn copy(&self, queue: &Queue, from: Read<'_>, to: Write<'_>) -> Result<()> {
            self.0.copy(queue, from, to)
        }

        fn wipe(&self, queue: &Queue, memory: Write<'_>) -> Result<()> {
            self.0.wipe(queue, memory)
        }

        fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>> {
            self.0.load(kernels)
        }

        fn launch(&self, queue: &Queue, kernel: &Loaded, items: Range<usize>, ports: Vec<Bound<'_>>) -> Result<()> {
            self.0.launch(queue, kernel, items, ports)
        }

        fn synchronize(&self, queue: &Queue) -> Result<()> {
            self.0.synchronize(queue)
        }

        fn is_host(&self) -> bool {
            true
        }
    }

    /// Wherever one device runs out of memory, all end with just that error, and nobody waits.
    #[test]
    fn a_device_without_memory_ends_the_others() -> Result<()> {
        let ring: Ring = "998244353 : x^4096 - 1".parse()?;
        let coefficients: Vec<u32> = (0..4096).collect();
        let wanted = Engine::cpu().ntt(&ring)?.evaluate(&coefficients)?;
        let start = Instant::now();
        for pieces in 0.. {
            let tight = Device::new(Tight(Cpu::default(), AtomicUsize::new(pieces)));
            let engine = Engine::group(&[Device::cpu(), tight])?;
            let outcome = engine.long_ntt(&ring).and_then(|ntt| {
                let mut vector = ntt.upload(&coefficients)?;
                let done = ntt.forward(&mut vector);
                assert_eq!(ntt.download::<u32>(&vector).is_ok(), done.is_ok());
                done.and_then(|()| ntt.download::<u32>(&vector))
            });
            match outcome {
                Ok(values) => {
                    assert!(pieces > 2 && values == wanted, "{pieces}");
                    break;
                }
                Err(error) => assert!(matches!(error, Error::OutOfMemory { .. }), "{pieces}: {error}"),
            }
        }
        assert!(start.elapsed() < Launch::TIMEOUT / 2, "nobody waited");
        Ok(())
    }

    /// Engines that have one rank each, as processes have, and only their own parts.
    #[test]
    fn ranks_with_their_own_parts_are_one_device() -> Result<()> {
        let ring: Ring = "998244353 : x^4096 + 1".parse()?;
        let coefficients: Vec<u32> = (0..4096).map(|i| i * 7919).collect();
        let values: Vec<u32> = Engine::cpu().ntt(&ring)?.evaluate(&coefficients)?;
        for (size, placement) in [(1, Placement::Native), (2, Placement::Native), (4, Placement::Blocks)] {
            let plan = LongPlan::new(Engine::cpu().planner(), &ring, size)?.rows_each(2)?.placed(placement, placement);
            let run = |rank: usize, end: Loopback| -> Result<()> {
                let engine = Engine::join(&Device::cpu(), Launch::new(rank, size, "")?);
                let member = Member { engine: Engine::cpu(), rank, communicator: Some(Box::new(end)) };
                let links = Links { members: vec![member], ranks: size, turn: Mutex::default() };
                *engine.0.links.lock().unwrap() = Some(Arc::new(links));
                let ntt = LongNtt::of(&engine, &plan)?;
                let cut = |holds, all: &[u32]| Cut::of(&plan, holds, size).part(all, rank).into_owned();
                let own = [cut(Holds::Coefficients, &coefficients), cut(Holds::Values, &values)];
                let mut vector = ntt.upload_part(&own[0])?;
                ntt.forward(&mut vector)?;
                assert!(ntt.download_part::<u32>(&vector)? == own[1], "{rank} of {size}");
                let mut vector = ntt.upload_values_part(&own[1])?;
                ntt.inverse(&mut vector)?;
                assert!(ntt.download_part::<u32>(&vector)? == own[0], "{rank} of {size}");
                assert_eq!(ntt.download::<u32>(&ntt.upload(&coefficients)?).is_ok(), size == 1);
                assert!(matches!(ntt.upload_part(&coefficients[1..]), Err(Error::Length { .. })));
                assert!(matches!(ntt.upload_part(&vec![u32::MAX; 4096 / size]), Err(Error::Argument { .. })));
                Ok(())
            };
            let (run, ends) = (&run, Loopback::ends(size, Launch::TIMEOUT).into_iter().enumerate());
            let outcomes = threads::each_on_its_own(ends.map(|(rank, end)| move || run(rank, end)).collect())?;
            outcomes.into_iter().collect::<Result<Vec<_>>>()?;
        }
        Ok(())
    }

    /// The CPU has nothing to send through.
    #[test]
    fn processes_want_gpus() -> Result<()> {
        let ring: Ring = "998244353 : x^4096 + 1".parse()?;
        let alone = Engine::join(&Device::cpu(), Launch::new(0, 1, "")?);
        let ntt = alone.long_ntt(&ring)?;
        assert_eq!(ntt.download::<u32>(&ntt.upload(&[1u32; 4096])?)?, [1; 4096]);
        let two = Engine::join(&Device::cpu(), Launch::new(0, 2, "127.0.0.1:1")?);
        assert!(matches!(two.long_ntt(&ring), Err(Error::Unsupported { .. })));
        Ok(())
    }
}
