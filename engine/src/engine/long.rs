//! Transforms that the devices of a group do together.

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

/// A vector on the devices of a group, as coefficients or values. Its memory is wiped when it is dropped. Made by
/// [`LongNtt::upload`].
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

impl Engine {
    /// Transforms of one vector on all devices of the group: of rings modulo x^n − c with one modulus. A group of one does
    /// them as well.
    ///
    /// # Errors
    /// As [`LongPlan::new`] and [`LongNtt::of`].
    pub fn long_ntt(&self, of: impl Into<PolyType>) -> Result<LongNtt> {
        let links = self.links()?;
        LongNtt::of(self, &LongPlan::new(self.planner(), of, links.ranks)?)
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

    /// Of the coefficients, what lies on this process' devices, one device after another, as the plan's
    /// [`Placement`](crate::run::Placement) says.
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
        // whose elements are as long as a device's part
        self.plan.column_type()?.check(own).map_err(|error| of(name, error))?;
        let cut = Cut::of(&self.plan, holds, self.plan.devices()).within(self.plan.own_rows());
        self.upload_with(holds, |member, number| cut.part(&own[member * share..][..share], number))
    }

    /// A vector, of what each of its buffers holds: by the number of the member, and the buffer's.
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
        let parts = self.download_part(vector)?;
        if let Cut::Blocks { .. } = cut {
            return Ok(parts);
        }
        let mut whole = vec![T::zeroed(); parts.len()];
        cut.whole(&Wiped::from(parts), &mut whole);
        Ok(whole)
    }

    /// What lies on this process' devices, one device after another, as the plan's [`Placement`](crate::run::Placement) says.
    ///
    /// # Errors
    /// As [`LongNtt::download`], but for other processes' parts.
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
