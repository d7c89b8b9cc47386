//! The front door: a device or several, a planner and the programs made so far, in one value.

mod elements;
mod group;
mod long;
mod ntt;
mod programs;

use core::any::Any;
use core::fmt;
use core::time::Duration;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytemuck::Pod;

use crate::job::{Job, Op};
use crate::pipeline::Pipeline;
use crate::planner::Planner;
use crate::tuning::Tuning;
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::PolyType;
use ringforge_runtime::device::{Device, Stream};
use ringforge_runtime::launch::Launch;
use ringforge_runtime::limits::Limits;
use ringforge_runtime::plan::Plan;
use ringforge_runtime::program::Program;

pub use elements::Elements;
pub use long::{LongNtt, LongVector, Span};
pub use ntt::Ntt;

use long::Links;
use programs::Programs;

/// A device, or a [group](Engine::group) of them, with a planner and a cache of programs. Cloning is cheap and gives the same engine; threads may share it.
///
/// ```
/// let ring: ringforge::Ring = "3457:x^768-x^384+1".parse()?;
/// let engine = ringforge::Engine::best(); // a GPU where there is one, else the CPU
/// let (a, b) = (vec![1u16; 1000 * 768], vec![2u16; 1000 * 768]);
/// let products = engine.mul(&ring, &a, &b)?; // a batch of 1000
/// # assert_eq!(products.len(), a.len());
/// # Ok::<(), ringforge::Error>(())
/// ```
///
/// What is asked for twice is planned and compiled once, also when two threads ask at the same time (rayon's own threads do
/// not wait for one another, so they may do it twice). Programs that were not used for longest go when there are more than
/// [`Engine::MOST_PROGRAMS`], or as [`Engine::keeping`] says.
#[derive(Clone)]
pub struct Engine(Arc<Parts>);

struct Parts {
    device: Device,
    /// The device as it was given, which of a group is the first alone.
    first: Device,
    /// Why the device is no GPU, where one was looked for.
    no_gpu: Option<Error>,
    planner: Planner,
    programs: Programs,
    stream: OnceLock<Stream>,
    /// Of a group, the other devices' own.
    others: Vec<Other>,
    /// Of a device that works with those of other processes.
    launch: Option<Launch>,
    /// How long its devices wait for one another.
    timeout: Duration,
    /// How its devices reach one another, once they did.
    links: Mutex<Option<Arc<Links>>>,
}

/// Another device of a group.
#[derive(Clone)]
struct Other {
    engine: Engine,
    /// How many items it takes for one of the first device.
    rate: f64,
}

impl Parts {
    /// Of a device alone.
    fn new(device: Device, no_gpu: Option<Error>, planner: Planner, programs: Programs) -> Self {
        let (stream, links) = (OnceLock::new(), Mutex::default());
        let (others, launch, timeout) = (Vec::new(), None, Launch::TIMEOUT);
        let device = device.of_group(1);
        let first = device.clone();
        Self { device, first, no_gpu, planner, programs, stream, others, launch, timeout, links }
    }
}

impl Engine {
    /// Programs that are kept at most.
    pub const MOST_PROGRAMS: usize = 256;

    /// On the first CUDA GPU if it is usable, else on the CPU; [`Engine::no_gpu`] says why.
    #[must_use]
    pub fn best() -> Self {
        match Self::cuda(0) {
            Ok(engine) => engine,
            Err(error) => Self::new(Device::cpu(), Some(error)),
        }
    }

    /// On the CPU, with rayon's threads.
    #[must_use]
    pub fn cpu() -> Self {
        Self::on(Device::cpu())
    }

    /// On the CUDA GPU with this ordinal.
    ///
    /// # Errors
    /// [`Error::NoDevice`] where there is none.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        Device::cuda(ordinal).map(Self::on)
    }

    /// On this device.
    #[must_use]
    pub fn on(device: Device) -> Self {
        Self::new(device, None)
    }

    /// The same device with other choices where only speed depends on them; no program is made yet.
    #[must_use]
    pub fn tuned(&self, tuning: Tuning) -> Self {
        let others = self.map_others(|engine| engine.tuned(tuning.clone()));
        let planner = self.planner().clone().tuned(tuning);
        self.with(planner, self.0.programs.most(), others)
    }

    /// The same device and tuning with a cache of its own, for at most so many programs; no program is made yet.
    #[must_use]
    pub fn keeping(&self, most: usize) -> Self {
        let others = self.map_others(|engine| engine.keeping(most));
        self.with(self.planner().clone(), most, others)
    }

    /// The same devices, which wait so long at most for one another, and for other processes, in [transforms of one
    /// vector](Engine::long_ntt): a minute if this is not called. No program is made yet.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        let others = self.map_others(Self::clone);
        let parts = self.parts(self.planner().clone(), self.0.programs.most(), others);
        let launch = parts.launch.map(|launch| launch.with_timeout(timeout));
        Self(Arc::new(Parts { launch, timeout, ..parts }))
    }

    fn new(device: Device, no_gpu: Option<Error>) -> Self {
        let planner = Planner::new(device.limits().clone());
        Self(Arc::new(Parts::new(device, no_gpu, planner, Programs::new(Self::MOST_PROGRAMS))))
    }

    /// The same devices with this planner, keeping so many programs.
    fn with(&self, planner: Planner, most: usize, others: Vec<Other>) -> Self {
        Self(Arc::new(self.parts(planner, most, others)))
    }

    fn parts(&self, planner: Planner, most: usize, others: Vec<Other>) -> Parts {
        let (launch, timeout) = (self.0.launch.clone(), self.0.timeout);
        let parts = Parts::new(self.0.first.clone(), self.0.no_gpu.clone(), planner, Programs::new(most));
        let device = parts.first.of_group(1 + others.len());
        Parts { device, others, launch, timeout, ..parts }
    }

    /// The device; of a [group](Engine::group), the first.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Why [`Engine::best`] found no GPU.
    #[must_use]
    pub fn no_gpu(&self) -> Option<&Error> {
        self.0.no_gpu.as_ref()
    }

    /// The planner.
    #[must_use]
    pub fn planner(&self) -> &Planner {
        &self.0.planner
    }

    /// The program for a job, planned and compiled the first time.
    ///
    /// # Errors
    /// As [`Planner::plan`] and [`Device::compile`].
    pub fn program(&self, job: &Job) -> Result<Program> {
        self.program_of(job, |planner| planner.plan(job))
    }

    /// The program of a plan of one's own, planned and compiled the first time that this key is asked for, of a group for each
    /// device. The key says what
    /// decides the plan; a key of a crate's own type is never another crate's.
    ///
    /// # Errors
    /// As `plan` and [`Device::compile`].
    pub fn program_of<K: Any + Clone + PartialEq + Send + Sync>(
        &self,
        key: &K,
        plan: impl Fn(&Planner) -> Result<Plan>,
    ) -> Result<Program> {
        self.0.programs.get(key, || self.make(&plan))
    }

    /// The program of a [pipeline of this engine](Engine::pipeline), compiled anew for its device; of a group, for each.
    ///
    /// # Errors
    /// As [`Pipeline::build`] and [`Device::compile`]; [`Error::Unsupported`] for a group whose devices differ in their
    /// [limits](crate::Limits), because each wants a plan of its own: [`Engine::program_of`] plans for each.
    pub fn compile(&self, pipeline: Pipeline) -> Result<Program> {
        let differs = |limits: &Limits| limits != pipeline.limits();
        if let Some(other) = self.devices().map(Device::limits).find(|limits| differs(limits)) {
            let why = format!(
                "it is planned for {}, and the engine has {}, which wants a plan of its own: `Engine::program_of` plans for each",
                pipeline.limits().name,
                other.name
            );
            return Err(Error::Unsupported { job: pipeline.title().into(), why });
        }
        let plan = pipeline.build()?;
        self.make(&|_| Ok(plan.clone()))
    }

    /// The program of a plan, on every device.
    fn make(&self, plan: &dyn Fn(&Planner) -> Result<Plan>) -> Result<Program> {
        let others = self.0.others.iter().map(|Other { engine, rate }| {
            Ok(ringforge_runtime::program::Other { program: engine.make(plan)?, rate: *rate })
        });
        Program::new(self.device(), &plan(self.planner())?, others.collect::<Result<_>>()?)
    }

    /// Drops all programs that are kept, and gives back what the devices keep for later.
    pub fn trim(&self) {
        self.0.programs.clear();
        // with what its members keep
        self.0.links.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.0.others.iter().for_each(|other| other.engine.trim());
        self.device().trim();
    }

    /// An empty pipeline, planned for the engine's device and tuning.
    #[must_use]
    pub fn pipeline(&self, title: impl Into<String>) -> Pipeline {
        self.planner().pipeline(title)
    }

    /// Transforms of a ring: between coefficients and evaluations.
    ///
    /// # Errors
    /// As [`Split::of`](ringforge_math::split::Split::of) where the ring has no transform.
    pub fn ntt(&self, of: impl Into<PolyType>) -> Result<Ntt> {
        Ntt::new(self, &of.into().coefficients())
    }

    /// Products of ring elements, coefficients in and out, in host memory: as many as there are elements, one after another,
    /// in `a` and `b`, with residues in the ring's [form](PolyType::form).
    ///
    /// # Errors
    /// [`Error::Argument`] with the argument's name: [`Error::Mismatch`] for numbers of another width than the ring's residues,
    /// [`Error::Length`] for other than whole elements and for batches of different lengths, [`Error::NotReduced`]. As
    /// [`Engine::program`] and [`HostCall::run`](crate::run::HostCall::run).
    pub fn mul<T: Pod>(&self, of: impl Into<PolyType>, a: &[T], b: &[T]) -> Result<Vec<T>> {
        let poly = of.into();
        checked(&poly, "a", a)?;
        checked(&poly, "b", b)?;
        self.mul_unchecked(poly, a, b)
    }

    /// The same for residues that are known to be below their moduli: where one is not, its product means nothing (unless the
    /// ring [accepts any word](PolyType::accepts_any_word)).
    ///
    /// # Errors
    /// As [`Engine::mul`], but for [`Error::NotReduced`].
    pub fn mul_unchecked<T: Pod>(&self, poly: impl Into<PolyType>, a: &[T], b: &[T]) -> Result<Vec<T>> {
        let poly = poly.into();
        let batch = elements_of(&poly, "a", a)?;
        if b.len() != a.len() {
            return Err(of("b", Error::Length { what: "numbers, as many as a has", expected: a.len(), got: b.len() }));
        }
        let mut product = vec![T::zeroed(); a.len()];
        let program = self.program(&Job::new(poly, Op::Mul))?;
        program.on_host(batch).input("a", a).input("b", b).output("product", &mut product).run()?;
        Ok(product)
    }

    /// Ring elements on the device, from their coefficients in host memory.
    ///
    /// ```
    /// # use ringforge::{Engine, Ring};
    /// # let ring: Ring = "17:x^4+1".parse()?;
    /// # let engine = Engine::cpu();
    /// let a = engine.upload(&ring, &[1u16, 2, 3, 4])?.forward()?;
    /// let square = a.mul(&a)?.inverse()?;
    /// assert_eq!(square.download::<u16>()?, [10, 14, 11, 3]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] as [`Engine::mul`]; [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn upload<T: Pod>(&self, of: impl Into<PolyType>, coefficients: &[T]) -> Result<Elements> {
        Elements::upload(self, of.into().coefficients(), coefficients)
    }

    /// The stream on which [`Elements`] are worked on.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn stream(&self) -> Result<&Stream> {
        if let Some(stream) = self.0.stream.get() {
            return Ok(stream);
        }
        let new = self.device().stream()?;
        Ok(self.0.stream.get_or_init(|| new))
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine(")?;
        for (i, device) in self.devices().enumerate() {
            write!(f, "{}{device}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

/// An error of a named argument.
fn of(name: &'static str, error: Error) -> Error {
    Error::Argument { name, error: Box::new(error) }
}

/// How many elements of a ring an argument has, all of whose words are such as the ring accepts.
fn checked<T: Pod>(poly: &PolyType, name: &'static str, numbers: &[T]) -> Result<usize> {
    let batch = elements_of(poly, name, numbers)?;
    poly.check(numbers).map_err(|error| of(name, error)).map(|()| batch)
}

/// How many elements of a ring an argument has.
fn elements_of<T: Pod>(poly: &PolyType, name: &'static str, numbers: &[T]) -> Result<usize> {
    let (width, size) = (poly.width().bytes(), poly.bytes());
    if size_of::<T>() != width {
        let expected = format!("{width} bytes for {poly}");
        let got = format!("{} bytes", size_of::<T>());
        return Err(of(name, Error::Mismatch { what: "a residue".into(), expected, got }));
    }
    let per_element = size / width;
    if !numbers.len().is_multiple_of(per_element) {
        let expected = numbers.len().next_multiple_of(per_element);
        return Err(of(name, Error::Length { what: "numbers, in whole elements", expected, got: numbers.len() }));
    }
    Ok(numbers.len() / per_element)
}
