//! Transforms of one vector that all devices of a group compute together.

mod cut;
mod links;
#[cfg(test)]
mod tests;
mod timeline;
mod turn;
mod worker;

use std::sync::{Arc, PoisonError};

use bytemuck::Pod;
use ringforge_cpu::wipe::Wiped;

use crate::long::LongPlan;
use ringforge_math::error::{Error, Result, same_length};
use ringforge_math::poly::PolyType;
use ringforge_runtime::threads;

use super::{Engine, checked, elements_of, of};
use cut::{Cut, Piece};
use links::Member;
use timeline::Watch;
use turn::Turn;
use worker::{Part, Worker};

pub(super) use links::Links;
pub use timeline::Span;

/// Number-theoretic transforms of one vector that is too long or too slow for one device, on all devices of an
/// engine's [group](Engine::group). [`LongPlan`] describes the algorithm. Made by [`Engine::long_ntt`].
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
    /// For each row of evaluations (see [`LongPlan`]), its position in the output of the column transform.
    places: Vec<usize>,
    links: Arc<Links>,
    workers: Vec<Worker>,
}

/// A vector distributed over the devices of a group, as coefficients or evaluations. Its memory is wiped on drop.
/// Made by [`LongNtt::upload`].
#[derive(Debug)]
pub struct LongVector {
    /// The plan, which decides the layout.
    plan: LongPlan,
    holds: Holds,
    /// One part of the vector for each device of this process.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Coefficients,
    Values,
    /// Undefined contents, left by a transform that failed.
    Nothing,
}

impl Engine {
    /// Transforms of one vector on all devices of the group, for rings modulo x^n − c with one modulus. The group may
    /// consist of one device.
    ///
    /// # Errors
    /// The errors of [`LongPlan::new`] and [`LongNtt::of`].
    pub fn long_ntt(&self, of: impl Into<PolyType>) -> Result<LongNtt> {
        let links = self.links()?;
        LongNtt::of(self, &LongPlan::new(self.planner(), of, links.ranks)?)
    }
}

impl LongNtt {
    /// The transforms of a plan. The plan must be for as many devices as the engine's group has in all processes.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the numbers of devices of the plan and of the group differ; [`Error::Rank`] if the plans
    /// of two ranks differ or a rank does not answer. [`Error::Unsupported`] if the devices cannot be connected, for
    /// example CPUs of several processes; [`Error::Nccl`] if NCCL fails. Also the errors of [`Engine::program`].
    pub fn of(engine: &Engine, plan: &LongPlan) -> Result<Self> {
        let links = engine.links()?;
        if plan.devices() != links.ranks {
            let (expected, got) = (links.ranks.to_string(), plan.devices().to_string());
            return Err(Error::Mismatch { what: "devices of a plan".into(), expected, got });
        }
        // on an error, closes the connections, which tells the other processes of the failure
        Self::on(engine, plan, &links).inspect_err(|_| engine.disconnect(&links))
    }

    fn on(engine: &Engine, plan: &LongPlan, links: &Arc<Links>) -> Result<Self> {
        let workers = links.members.iter().map(|member| Worker::new(member, plan)).collect::<Result<Vec<_>>>()?;
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

    /// Copies the coefficients of a polynomial to the devices. With several processes, each process passes the whole
    /// vector.
    ///
    /// # Errors
    /// [`Error::Argument`] as for [`Engine::mul`]; [`Error::Length`] unless there is exactly one element;
    /// [`Error::OutOfMemory`] if the vector does not fit in device memory; [`Error::Driver`] or [`Error::Nccl`] if a
    /// call of the driver or of NCCL fails.
    pub fn upload<T: Pod + Send + Sync>(&self, coefficients: &[T]) -> Result<LongVector> {
        self.upload_whole(Holds::Coefficients, "coefficients", coefficients)
    }

    /// Copies the evaluations of a polynomial, in natural order, to the devices. With several processes, each process
    /// passes the whole vector.
    ///
    /// # Errors
    /// The errors of [`LongNtt::upload`].
    pub fn upload_evaluations<T: Pod + Send + Sync>(&self, values: &[T]) -> Result<LongVector> {
        self.upload_whole(Holds::Values, "values", values)
    }

    /// Copies the coefficients that belong to this process to its devices. The slice contains the parts of the devices,
    /// one after another, in the layout of the plan's [`Placement`](crate::run::Placement) of coefficients.
    ///
    /// # Errors
    /// The errors of [`LongNtt::upload`], with [`Error::Length`] unless the slice has the total length of the parts of
    /// this process's devices.
    pub fn upload_part<T: Pod + Send + Sync>(&self, coefficients: &[T]) -> Result<LongVector> {
        self.upload_own(Holds::Coefficients, "coefficients", coefficients)
    }

    /// Copies the evaluations that belong to this process to its devices. The slice contains the parts of the devices,
    /// one after another, in the layout of the plan's [`Placement`](crate::run::Placement) of evaluations.
    ///
    /// # Errors
    /// The errors of [`LongNtt::upload_part`].
    pub fn upload_evaluations_part<T: Pod + Send + Sync>(&self, values: &[T]) -> Result<LongVector> {
        self.upload_own(Holds::Values, "values", values)
    }

    fn upload_whole<T: Pod + Send + Sync>(&self, holds: Holds, name: &'static str, all: &[T]) -> Result<LongVector> {
        checked(self.plan.poly(), name, all)?;
        same_length("residues of one element", self.plan.poly().degree(), all.len())?;
        let (cut, own) = (Cut::of(&self.plan, holds, self.plan.rows()), self.plan.own_rows());
        self.upload_with(holds, |member, number| cut.part(all, self.links.members[member].rank * own + number))
    }

    fn upload_own<T: Pod + Send + Sync>(&self, holds: Holds, name: &'static str, own: &[T]) -> Result<LongVector> {
        let poly = self.plan.poly();
        elements_of::<T>(poly, name, &[])?;
        let share = poly.degree() / self.plan.devices();
        same_length("residues of these devices' parts", share * self.workers.len(), own.len())?;
        // checks the residues with the type of a part of the columns; a device's part has the length of several such
        // elements
        self.plan.column_type()?.check(own).map_err(|error| of(name, error))?;
        let cut = Cut::of(&self.plan, holds, self.plan.devices()).within(self.plan.own_rows());
        self.upload_with(holds, |member, number| cut.part(&own[member * share..][..share], number))
    }

    /// Uploads a vector. `of(i, j)` returns the contents of buffer j of this process's device i.
    fn upload_with<'t, T: Pod + Send + Sync>(
        &self,
        holds: Holds,
        of: impl Fn(usize, usize) -> Piece<'t, T> + Sync,
    ) -> Result<LongVector> {
        let plan = &self.plan;
        let parts = self.together((0..self.workers.len()).collect(), |member, worker, place| {
            let mut part = Part::new(member, worker, plan)?;
            let mut buffers = part.in_use(plan, holds).iter_mut().enumerate();
            buffers.try_for_each(|(number, buffer)| worker.work.write(buffer, &of(place, number)))?;
            Ok(part)
        })?;
        Ok(LongVector { plan: plan.clone(), holds, parts })
    }

    /// Copies the whole vector into host memory: coefficients or evaluations, in natural order.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the vector belongs to a different plan; [`Error::Argument`] if the integer type is not as
    /// wide as the ring's residues; [`Error::Unwritten`] if a transform of the vector failed; [`Error::Unsupported`] if
    /// other processes hold parts of it; [`Error::Driver`] if a driver call fails.
    pub fn download<T: Pod + Send + Sync>(&self, vector: &LongVector) -> Result<Vec<T>> {
        if self.workers.len() < self.links.ranks {
            let why = "other processes hold parts of it: use `download_part` in each process".into();
            return Err(Error::Unsupported { job: "downloading a whole vector".into(), why });
        }
        let cut = Cut::of(&self.plan, self.check(vector, None)?, self.plan.devices());
        let parts = self.download_part(vector)?;
        if let Cut::Blocks { .. } = cut {
            return Ok(parts);
        }
        let mut whole = vec![T::zeroed(); parts.len()];
        cut.whole(&Wiped::from(parts), &mut whole);
        Ok(whole)
    }

    /// Copies this process's part of the vector into host memory. The parts of the devices follow one another, in the
    /// layout of the plan's [`Placement`](crate::run::Placement).
    ///
    /// # Errors
    /// The errors of [`LongNtt::download`], except that other processes may hold parts of the vector.
    pub fn download_part<T: Pod + Send + Sync>(&self, vector: &LongVector) -> Result<Vec<T>> {
        elements_of::<T>(self.plan.poly(), "the vector", &[])?;
        let holds = self.check(vector, None)?;
        let (share, own) = (self.plan.poly().degree() / self.plan.devices(), self.plan.own_rows());
        let cut = Cut::of(&self.plan, holds, self.plan.devices()).within(own);
        let mut all = vec![T::zeroed(); share * self.workers.len()];
        let places = vector.parts.iter().zip(all.chunks_exact_mut(share)).collect();
        self.together(places, |_, worker, (part, to): (&Part, &mut [T])| {
            let mut buffers = part.holding(&self.plan, holds).iter().zip(to.chunks_exact_mut(share / own));
            buffers.try_for_each(|(buffer, to)| worker.work.read(buffer, to))?;
            if let Cut::Columns { .. } = cut {
                cut.whole(&Wiped::from(to.to_vec()), to);
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Transforms a vector of coefficients to evaluations (forward NTT). Blocks until the transform is done.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the vector holds evaluations or belongs to a different plan. [`Error::Unwritten`] if an
    /// earlier transform of the vector failed. [`Error::Rank`] or [`Error::Nccl`] if a device does not answer the
    /// others. Also the errors of [`Call::run`](crate::run::Call::run).
    ///
    /// After an error the vector is unreadable, and so is every other vector whose transform was in progress. A new
    /// [`Engine::long_ntt`] reconnects the devices.
    pub fn forward(&self, vector: &mut LongVector) -> Result<()> {
        self.run(vector, [Holds::Coefficients, Holds::Values], false, |turn| turn.forward()).map(drop)
    }

    /// Transforms a vector of evaluations to coefficients (inverse NTT). Blocks until the transform is done.
    ///
    /// # Errors
    /// The errors of [`LongNtt::forward`], but with [`Error::Mismatch`] if the vector holds coefficients instead of
    /// evaluations.
    pub fn inverse(&self, vector: &mut LongVector) -> Result<()> {
        self.run(vector, [Holds::Values, Holds::Coefficients], false, |turn| turn.inverse()).map(drop)
    }

    /// Runs the forward transform on a vector of coefficients, or the inverse transform on evaluations. Returns a
    /// profile: one [`Span`] for each piece of work on each device of this process.
    ///
    /// # Errors
    /// The errors of [`LongNtt::forward`].
    pub fn timeline(&self, vector: &mut LongVector) -> Result<Vec<Span>> {
        match self.check(vector, None)? {
            Holds::Coefficients => self.run(vector, [Holds::Coefficients, Holds::Values], true, |turn| turn.forward()),
            _ => self.run(vector, [Holds::Values, Holds::Coefficients], true, |turn| turn.inverse()),
        }
    }

    /// Runs a transform on every device of this process. Returns its profile if `watched` is true, else an empty
    /// vector.
    fn run(
        &self,
        vector: &mut LongVector,
        [from, to]: [Holds; 2],
        watched: bool,
        work: impl Fn(&mut Turn<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<Span>> {
        self.check(vector, Some(from))?;
        // the vector is unreadable until its transform has succeeded
        vector.holds = Holds::Nothing;
        let spans = self
            .together(vector.parts.iter_mut().collect(), |member, worker, part| {
                let watch = watched.then(|| Watch::new(worker)).transpose()?;
                let mut turn = Turn { ntt: self, member, worker, part, watch };
                let outcome = work(&mut turn).inspect_err(|_| member.abandon());
                // waits even after an error, because work in progress still uses the vector's memory
                let ended = member.finish(worker);
                outcome.and(ended)?;
                turn.watch.map_or(Ok(Vec::new()), |watch| watch.spans(member.rank))
            })
            .inspect_err(|_| self.engine.disconnect(&self.links))?;
        vector.holds = to;
        Ok(spans.concat())
    }

    /// Returns what a vector holds. Returns an error if the vector belongs to a different plan, is unreadable, or does
    /// not hold `wanted`; `None` stands for either coefficients or evaluations.
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

    /// Runs `work` once for each device of this process, on one thread per device. Returns the results in the order of
    /// the devices, or the error of a device.
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
        // prefers the original error to `Error::Rank`, with which the other ranks report the same failure
        let cause = errors.clone().find(|error| !matches!(error, Error::Rank { .. })).or_else(|| errors.next());
        match cause.cloned() {
            Some(cause) => Err(cause),
            None => outcomes.into_iter().collect(),
        }
    }
}
