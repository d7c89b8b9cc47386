//! Transforms that the devices of a group do together.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use rayon::prelude::*;

#[cfg(feature = "cuda")]
use crate::communicator::Control;
use crate::communicator::{Communicator, Loopback};
#[cfg(feature = "cuda")]
use crate::cuda::{Connection, Others, UniqueId};
use crate::device::{Buffer, Device, Stream};
use crate::error::{Error, Result, same_length};
use crate::job::Op;
use crate::launch::Launch;
use crate::long::{LongPlan, Placement};
use crate::memory::{Read, Write};
use crate::program::{Place, Program};
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
    /// On its columns, and on each of its rows: forward and inverse.
    columns: [Option<Program>; 2],
    rows: Vec<[Program; 2]>,
    /// From values of all rows to a block of the vector, and back.
    blocks: [Option<Program>; 2],
    work: Stream,
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

/// A device's part of a vector, as columns of all rows or as rows of its own: one of the two is in use.
#[derive(Debug)]
struct Part {
    columns: Buffer,
    rows: Vec<Buffer>,
}

impl Links {
    fn of(engine: &Engine) -> Result<Self> {
        // rows have rings of their own: the group's own programs would be made on every device
        let first = Engine::on(engine.device().clone()).tuned(engine.planner().tuning().clone());
        let engines = core::iter::once(first).chain(engine.0.others.iter().map(|other| other.engine.clone()));
        let (ranks, ends) = match &engine.0.launch {
            Some(launch) => (launch.size(), vec![join(engine.device(), launch)?]),
            None => connect(&engine.devices().collect::<Vec<_>>()).map(|ends| (ends.len(), ends))?,
        };
        let rank = engine.0.launch.as_ref().map_or(0, Launch::rank);
        let member = |(rank, (engine, communicator))| Member { engine, rank, communicator };
        Ok(Self { members: (rank..).zip(engines.zip(ends)).map(member).collect(), ranks, turn: Mutex::default() })
    }
}

/// The end of a device's connections; a device alone has none.
type End = Option<Box<dyn Communicator>>;

/// Connects the devices of this process.
fn connect(devices: &[&Device]) -> Result<Vec<End>> {
    if devices.len() == 1 {
        return Ok(vec![None]);
    }
    if devices.iter().all(|device| device.backend().is_host()) {
        let ends = Loopback::ends(devices.len(), Launch::TIMEOUT);
        return Ok(ends.into_iter().map(|end| Some(Box::new(end) as Box<dyn Communicator>)).collect());
    }
    connect_gpus(devices)
}

#[cfg(feature = "cuda")]
fn connect_gpus(devices: &[&Device]) -> Result<Vec<End>> {
    let (id, others, size, timeout) = (UniqueId::new()?, Arc::<Others>::default(), devices.len(), Launch::TIMEOUT);
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
fn connect_gpus(_: &[&Device]) -> Result<Vec<End>> {
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
                exchange: device.stream()?,
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
        let cut = Cut::of(&self.plan, holds);
        self.upload_with(holds, |rank| Cow::Owned(cut.part(all, rank)))
    }

    fn upload_own<T: Pod + Send + Sync>(&self, holds: Holds, name: &'static str, own: &[T]) -> Result<LongVector> {
        let ring = self.plan.ring();
        elements_of::<T>(ring, name, &[])?;
        let share = ring.degree() / self.plan.devices();
        same_length("residues of these devices' parts", share * self.workers.len(), own.len())?;
        // whose elements are as long as a device's part
        self.plan.column_ring()?.check(own).map_err(|error| of(name, error))?;
        let first = self.links.members[0].rank;
        self.upload_with(holds, |rank| Cow::Borrowed(&own[(rank - first) * share..][..share]))
    }

    fn upload_with<'t, T: Pod + Send + Sync>(
        &self,
        holds: Holds,
        part_of: impl Fn(usize) -> Cow<'t, [T]> + Sync,
    ) -> Result<LongVector> {
        let plan = &self.plan;
        let parts = self.together(vec![(); self.workers.len()], |member, worker, ()| {
            let (mut part, own) = (worker.part(plan)?, part_of(member.rank));
            match Cut::of(plan, holds) {
                Cut::Columns { .. } => worker.work.write(&mut part.columns, &own)?,
                _ => part
                    .rows
                    .iter_mut()
                    .zip(own.chunks_exact(own.len() / plan.own_rows()))
                    .try_for_each(|(row, own)| worker.work.write(row, own))?,
            }
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
        let cut = Cut::of(&self.plan, self.check(vector, None)?);
        Ok(cut.whole(self.download_part(vector)?))
    }

    /// What lies on this process' devices, one device after another, as the plan's [`Placement`] says.
    ///
    /// # Errors
    /// As [`LongNtt::download`], but for other processes' parts.
    pub fn download_part<T: Pod + Send + Sync>(&self, vector: &LongVector) -> Result<Vec<T>> {
        elements_of::<T>(self.plan.ring(), "the vector", &[])?;
        let cut = Cut::of(&self.plan, self.check(vector, None)?);
        let parts = self.together(vector.parts.iter().collect(), |_, worker, part: &Part| match cut {
            Cut::Columns { .. } => worker.work.download::<T>(&part.columns),
            _ => Ok(part.rows.iter().map(|row| worker.work.download(row)).collect::<Result<Vec<_>>>()?.concat()),
        })?;
        Ok(parts.concat())
    }

    /// From coefficients to values; returns when it is done.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for values and for a vector of another plan; [`Error::Rank`] or [`Error::Nccl`] where a device does
    /// not answer another; as [`Call::run`](crate::run::Call::run). The vector is unreadable then, and so is it where another
    /// transform was under way; a new [`Engine::long_ntt`] connects the devices anew.
    pub fn forward(&self, vector: &mut LongVector) -> Result<()> {
        self.run(vector, [Holds::Coefficients, Holds::Values], |turn| {
            if self.plan.coefficients() == Placement::Blocks {
                turn.each_slot(|turn, slot| turn.make_columns(slot, &|row| row))?;
            }
            turn.transform_columns(Op::Forward)?;
            turn.each_slot(|turn, slot| turn.make_rows(slot, &|row| self.places[row]))?;
            turn.each_slot(|turn, slot| {
                turn.transform_row(slot, Op::Forward)?;
                match self.plan.values() {
                    Placement::Blocks => turn.make_columns(slot, &|row| row),
                    Placement::Native => Ok(()),
                }
            })?;
            turn.reorder(Op::Forward)
        })
    }

    /// From values to coefficients; returns when it is done.
    ///
    /// # Errors
    /// As [`LongNtt::forward`].
    pub fn inverse(&self, vector: &mut LongVector) -> Result<()> {
        self.run(vector, [Holds::Values, Holds::Coefficients], |turn| {
            turn.reorder(Op::Inverse)?;
            if self.plan.values() == Placement::Blocks {
                turn.each_slot(|turn, slot| turn.make_rows(slot, &|row| row))?;
            }
            // a row leaves while the next is worked on
            turn.each_slot(|turn, slot| {
                turn.transform_row(slot, Op::Inverse)?;
                turn.make_columns(slot, &|row| self.places[row])
            })?;
            turn.transform_columns(Op::Inverse)?;
            if self.plan.coefficients() == Placement::Blocks {
                turn.each_slot(|turn, slot| turn.make_rows(slot, &|row| row))?;
            }
            Ok(())
        })
    }

    /// A transform on every device.
    fn run(
        &self,
        vector: &mut LongVector,
        [from, to]: [Holds; 2],
        work: impl Fn(&mut Turn<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        self.check(vector, Some(from))?;
        // unreadable while it may be half done
        vector.holds = Holds::Nothing;
        let plan = &self.plan;
        self.together(vector.parts.iter_mut().collect(), |member, worker, part| {
            let outcome = work(&mut Turn { plan, member, worker, part }).inspect_err(|_| member.abandon());
            // also where something failed: what was started uses the memory
            let ended = member.finish(worker);
            outcome.and(ended)
        })
        .inspect_err(|_| self.engine.disconnect(&self.links))?;
        vector.holds = to;
        Ok(())
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
    plan: &'a LongPlan,
    member: &'a Member,
    worker: &'a Worker,
    part: &'a mut Part,
}

impl Turn<'_> {
    /// For the rows that each device has, one after another.
    fn each_slot(&mut self, work: impl Fn(&mut Self, usize) -> Result<()>) -> Result<()> {
        (0..self.part.rows.len()).try_for_each(|slot| work(self, slot))
    }

    /// Starts to make columns of the rows with this number on each device; `place` says where rows lie in them.
    fn make_columns(&mut self, slot: usize, place: &dyn Fn(usize) -> usize) -> Result<()> {
        let Part { columns, rows } = &mut *self.part;
        let (piece, devices, own) = (self.plan.piece_bytes(), self.plan.devices(), self.plan.own_rows());
        let row = rows[slot].memory.read();
        let sends: Vec<_> = (0..devices).map(|to| (to, row.part(&(to * piece..(to + 1) * piece)))).collect();
        let mut places: Vec<_> = columns.memory.write().pieces(piece).into_iter().map(Some).collect();
        let receives = (0..devices).filter_map(|from| Some((from, places[place(from * own + slot)].take()?))).collect();
        exchange(self.member, self.worker, sends, receives)?;
        columns.holds_anything();
        Ok(())
    }

    /// Starts to make the rows with this number on each device of columns.
    fn make_rows(&mut self, slot: usize, place: &dyn Fn(usize) -> usize) -> Result<()> {
        let Part { columns, rows } = &mut *self.part;
        let (piece, devices, own) = (self.plan.piece_bytes(), self.plan.devices(), self.plan.own_rows());
        let column = columns.memory.read();
        let of = |to: usize| place(to * own + slot) * piece;
        let sends: Vec<_> = (0..devices).map(|to| (to, column.part(&(of(to)..of(to) + piece)))).collect();
        let receives = rows[slot].memory.write().pieces(piece).into_iter().enumerate().collect();
        exchange(self.member, self.worker, sends, receives)?;
        rows[slot].holds_anything();
        Ok(())
    }

    /// Where values are in blocks, makes one of the columns of all rows, or the other way round.
    fn reorder(&mut self, op: Op) -> Result<()> {
        let Some(program) = &self.worker.blocks[usize::from(op == Op::Inverse)] else { return Ok(()) };
        let (work, Part { columns, rows }) = (&self.worker.work, &mut *self.part);
        let (args, own) = (program.plan().args(), rows.len());
        let bytes = columns.len() / (args.len() - 1) / own;
        for (slot, block) in rows.iter_mut().enumerate() {
            let mut pieces: Vec<_> = columns.memory.write().pieces(bytes).into_iter().map(Some).collect();
            let mut block = Some(block.memory.write());
            let places = args.iter().filter_map(|arg| match arg.name.parse::<usize>() {
                Ok(row) => pieces[row * own + slot].take(),
                Err(_) => block.take(),
            });
            let (places, items) = (places.map(Place::write).collect(), bytes / self.plan.value_bytes());
            program.execute(work, 0..items, true, places, &mut program.temporaries(work, items)?)?;
        }
        rows.iter_mut().chain([columns]).for_each(Buffer::holds_anything);
        Ok(())
    }

    fn transform_columns(&mut self, op: Op) -> Result<()> {
        match &self.worker.columns[usize::from(op == Op::Inverse)] {
            Some(program) => transform(program, &self.worker.work, &mut self.part.columns),
            None => Ok(()),
        }
    }

    fn transform_row(&mut self, slot: usize, op: Op) -> Result<()> {
        let program = &self.worker.rows[slot][usize::from(op == Op::Inverse)];
        transform(program, &self.worker.work, &mut self.part.rows[slot])
    }
}

/// Starts an exchange; what a device sends itself is copied.
fn exchange(
    member: &Member,
    worker: &Worker,
    mut sends: Vec<(usize, Read<'_>)>,
    mut receives: Vec<(usize, Write<'_>)>,
) -> Result<()> {
    let queue = worker.exchange.queue();
    let own = |rank: usize| rank == member.rank;
    let kept = sends.extract_if(.., |(rank, _)| own(*rank)).zip(receives.extract_if(.., |(rank, _)| own(*rank)));
    for ((_, from), (_, to)) in kept {
        member.engine.device().backend().copy(queue, from, to)?;
    }
    match &member.communicator {
        Some(communicator) => communicator.exchange(queue, &sends, receives),
        None => Ok(()),
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
        let device = self.work.device();
        let rows = (0..plan.own_rows()).map(|_| device.buffer(plan.row_bytes()));
        let (mut columns, mut rows) = (device.buffer(plan.share_bytes())?, rows.collect::<Result<Vec<_>>>()?);
        // slices of them are written before the whole
        columns.holds_anything();
        rows.iter_mut().for_each(Buffer::holds_anything);
        Ok(Part { columns, rows })
    }
}

/// How a vector in natural order is cut into the parts of devices.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// Each device has neighbouring columns of all rows.
    Columns { rows: usize, devices: usize },
    /// Each device has rows of which each is every so manieth number of the vector.
    Strided { rows: usize, devices: usize, base: usize },
    /// Each device has neighbours.
    Blocks { devices: usize },
}

impl Cut {
    fn of(plan: &LongPlan, holds: Holds) -> Self {
        let (rows, devices) = (plan.rows(), plan.devices());
        match (holds, plan.coefficients(), plan.values()) {
            (Holds::Coefficients, Placement::Native, _) => Self::Columns { rows, devices },
            (Holds::Values, _, Placement::Native) => Self::Strided { rows, devices, base: plan.base() },
            _ => Self::Blocks { devices },
        }
    }

    /// A device's part of the whole.
    fn part<T: Pod>(self, all: &[T], rank: usize) -> Vec<T> {
        match self {
            Self::Columns { rows, devices } => {
                let (row, piece) = (all.len() / rows, all.len() / rows / devices);
                all.chunks_exact(row).flat_map(|row| &row[rank * piece..][..piece]).copied().collect()
            }
            Self::Strided { rows, devices, base } => {
                let own = rows / devices;
                let values = |row| all.chunks_exact(base).skip(row).step_by(rows);
                (rank * own..(rank + 1) * own).flat_map(values).flatten().copied().collect()
            }
            Self::Blocks { devices } => all[rank * (all.len() / devices)..][..all.len() / devices].to_vec(),
        }
    }

    /// The whole, of all parts one after another.
    fn whole<T: Pod + Send + Sync>(self, parts: Vec<T>) -> Vec<T> {
        match self {
            Self::Columns { rows, devices } => {
                let piece = parts.len() / rows / devices;
                let pieces = (0..rows).flat_map(|row| (0..devices).map(move |device| device * rows + row));
                pieces.flat_map(|i| &parts[i * piece..][..piece]).copied().collect()
            }
            Self::Strided { rows, base, .. } => {
                let row = parts.len() / rows;
                let mut all = vec![T::zeroed(); parts.len()];
                all.par_chunks_exact_mut(rows * base).enumerate().for_each(|(place, values)| {
                    let values = values.chunks_exact_mut(base).enumerate();
                    values.for_each(|(k, value)| value.copy_from_slice(&parts[k * row + place * base..][..base]));
                });
                all
            }
            Self::Blocks { .. } => parts,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

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
            let outcome = ntt.run(&mut vector, [Holds::Coefficients, Holds::Values], |turn| {
                turn.transform_columns(Op::Forward)?;
                turn.each_slot(|turn, slot| match (turn.member.rank, slot >= after) {
                    (2, true) => Err(failure()),
                    _ => turn.make_rows(slot, &|row| ntt.places[row]),
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
                let cut = |holds, all: &[u32]| Cut::of(&plan, holds).part(all, rank);
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
