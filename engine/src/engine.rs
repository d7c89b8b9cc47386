//! The main entry point: one device or several, a planner and a program cache.

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
use ringforge_runtime::launch::Rank;
use ringforge_runtime::limits::Limits;
use ringforge_runtime::plan::Plan;
use ringforge_runtime::program::Program;

pub use elements::Elements;
pub use long::{LongNtt, LongVector, Span};
pub use ntt::Ntt;

use long::Links;
use programs::Programs;

/// One device, or a [group](Engine::group) of devices, with a planner and a program cache. A clone is the same engine,
/// and threads may share it.
///
/// ```
/// let ring: ringforge::Ring = "3457:x^768-x^384+1".parse()?;
/// let engine = ringforge::Engine::best(); // a GPU if there is one, else the CPU
/// let (a, b) = (vec![1u16; 1000 * 768], vec![2u16; 1000 * 768]);
/// let products = engine.mul(&ring, &a, &b)?; // a batch of 1000
/// # assert_eq!(products.len(), a.len());
/// # Ok::<(), ringforge::Error>(())
/// ```
///
/// Each program is planned and compiled once, even if two threads ask for it at the same time. Rayon threads are an
/// exception: they do not wait for one another, so two of them may compile the same program. Beyond
/// [`Engine::MOST_PROGRAMS`] programs, or the limit of [`Engine::with_cache_limit`], the least recently used program is
/// dropped.
#[derive(Clone)]
pub struct Engine(Arc<Parts>);

struct Parts {
    device: Device,
    /// The first device as a single device. `device` is a handle to the same device that also knows the size of the
    /// group.
    first: Device,
    /// Why [`Engine::best`] or [`Engine::all`] fell back to the CPU.
    no_gpu: Option<Error>,
    planner: Planner,
    programs: Programs,
    stream: OnceLock<Stream>,
    /// The devices of a group after the first.
    others: Vec<Other>,
    /// This process's rank, if the engine was made by [`Engine::join`].
    launch: Option<Rank>,
    /// The longest time that devices wait for one another in [transforms of one vector](Engine::long_ntt).
    timeout: Duration,
    /// The connections between the devices, made at first use.
    links: Mutex<Option<Arc<Links>>>,
}

/// A device of a group other than the first.
#[derive(Clone)]
struct Other {
    engine: Engine,
    /// Throughput in items, relative to that of the first device.
    rate: f64,
}

impl Parts {
    /// The parts of an engine with a single device.
    fn new(device: Device, no_gpu: Option<Error>, planner: Planner, programs: Programs) -> Self {
        let (stream, links) = (OnceLock::new(), Mutex::default());
        let (others, launch, timeout) = (Vec::new(), None, Rank::TIMEOUT);
        let device = device.of_group(1);
        let first = device.clone();
        Self { device, first, no_gpu, planner, programs, stream, others, launch, timeout, links }
    }
}

impl Engine {
    /// The default limit on the number of cached programs.
    pub const MOST_PROGRAMS: usize = 256;

    /// An engine on the first CUDA GPU if it is usable, else on the CPU. [`Engine::no_gpu`] returns the reason for
    /// falling back to the CPU.
    #[must_use]
    pub fn best() -> Self {
        match Self::cuda(0) {
            Ok(engine) => engine,
            Err(error) => Self::new(Device::cpu(), Some(error)),
        }
    }

    /// An engine on the CPU, using rayon's threads.
    #[must_use]
    pub fn cpu() -> Self {
        Self::on(Device::cpu())
    }

    /// An engine on the CUDA GPU with this ordinal.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no such GPU or no usable driver, or if the crate was built without the feature
    /// `cuda`.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        Device::cuda(ordinal).map(Self::on)
    }

    /// An engine on this device.
    #[must_use]
    pub fn on(device: Device) -> Self {
        Self::new(device, None)
    }

    /// An engine on the same devices with this tuning, which affects speed only. Its program cache starts empty.
    #[must_use]
    pub fn tuned(&self, tuning: Tuning) -> Self {
        let others = self.map_others(|engine| engine.tuned(tuning.clone()));
        let planner = self.planner().clone().tuned(tuning);
        self.with(planner, self.0.programs.most(), others)
    }

    /// An engine on the same devices with the same tuning, and its own cache of at most `most` programs (at least 1),
    /// initially empty.
    #[must_use]
    pub fn with_cache_limit(&self, most: usize) -> Self {
        let others = self.map_others(|engine| engine.with_cache_limit(most));
        self.with(self.planner().clone(), most, others)
    }

    /// An engine on the same devices with this timeout for [transforms of one vector](Engine::long_ntt): the longest
    /// time that devices and processes wait for one another. The default is one minute. The new engine's program cache
    /// starts empty.
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

    /// An engine on the same devices with this planner and at most `most` cached programs.
    fn with(&self, planner: Planner, most: usize, others: Vec<Other>) -> Self {
        Self(Arc::new(self.parts(planner, most, others)))
    }

    fn parts(&self, planner: Planner, most: usize, others: Vec<Other>) -> Parts {
        let (launch, timeout) = (self.0.launch.clone(), self.0.timeout);
        let parts = Parts::new(self.0.first.clone(), self.0.no_gpu.clone(), planner, Programs::new(most));
        let device = parts.first.of_group(1 + others.len());
        Parts { device, others, launch, timeout, ..parts }
    }

    /// The engine's device; in a [group](Engine::group), the first device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Why [`Engine::best`] or [`Engine::all`] fell back to the CPU; `None` if it uses a GPU, or if the caller chose
    /// the device.
    #[must_use]
    pub fn no_gpu(&self) -> Option<&Error> {
        self.0.no_gpu.as_ref()
    }

    /// The planner, with the device's limits and the engine's tuning.
    #[must_use]
    pub fn planner(&self) -> &Planner {
        &self.0.planner
    }

    /// The program for a job. It is planned and compiled at the first call, and cached.
    ///
    /// # Errors
    /// The errors of [`Planner::plan`] and [`Device::compile`].
    pub fn program(&self, job: &Job) -> Result<Program> {
        self.program_of(job, |planner| planner.plan(job))
    }

    /// The program of your own plan, cached under `key`. It is planned and compiled at the first call with this key; in
    /// a group, once for each device. The key must contain everything that the plan depends on. Keys of different types
    /// never collide, so a crate that uses its own key type shares no programs with other crates.
    ///
    /// # Errors
    /// The errors of `plan` and [`Device::compile`].
    pub fn program_of<K: Any + Clone + PartialEq + Send + Sync>(
        &self,
        key: &K,
        plan: impl Fn(&Planner) -> Result<Plan>,
    ) -> Result<Program> {
        self.0.programs.get(key, || self.make(&plan))
    }

    /// Compiles a [pipeline of this engine](Engine::pipeline) for its device, or for each device of a group. The
    /// program is not cached.
    ///
    /// # Errors
    /// The errors of [`Pipeline::build`] and [`Device::compile`]. [`Error::Unsupported`] if the [limits](crate::Limits)
    /// of a device differ from those of the pipeline, as in a group of different devices: use [`Engine::program_of`]
    /// instead, which plans for each device.
    pub fn compile(&self, pipeline: Pipeline) -> Result<Program> {
        let differs = |limits: &Limits| limits != pipeline.limits();
        if let Some(other) = self.devices().map(Device::limits).find(|limits| differs(limits)) {
            let why = format!(
                "it is planned for {}, but the engine has {}: use `Engine::program_of`, which plans for each device",
                pipeline.limits().name,
                other.name
            );
            return Err(Error::Unsupported { job: pipeline.title().into(), why });
        }
        let plan = pipeline.build()?;
        self.make(&|_| Ok(plan.clone()))
    }

    /// Compiles the program of a plan on every device.
    fn make(&self, plan: &dyn Fn(&Planner) -> Result<Plan>) -> Result<Program> {
        let others = self.0.others.iter().map(|Other { engine, rate }| {
            Ok(ringforge_runtime::program::Other { program: engine.make(plan)?, rate: *rate })
        });
        Program::new(self.device(), &plan(self.planner())?, others.collect::<Result<_>>()?)
    }

    /// Drops all cached programs and the connections between devices, and releases the memory that the devices cache.
    pub fn trim(&self) {
        self.0.programs.clear();
        // the connections hold engines with cached programs, so dropping them drops those programs too
        self.0.links.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.0.others.iter().for_each(|other| other.engine.trim());
        self.device().trim();
    }

    /// An empty pipeline, planned for the engine's device and tuning.
    #[must_use]
    pub fn pipeline(&self, title: impl Into<String>) -> Pipeline {
        self.planner().pipeline(title)
    }

    /// Number-theoretic transforms of a ring, between coefficients and evaluations.
    ///
    /// # Errors
    /// The errors of [`Factorization::of`](ringforge_math::factorization::Factorization::of), if the ring has no
    /// transform.
    pub fn ntt(&self, of: impl Into<PolyType>) -> Result<Ntt> {
        Ntt::new(self, &of.into().coefficients())
    }

    /// The products a_i·b_i of two batches of ring elements in host memory. Operands and products are coefficients.
    /// Elements are contiguous, with residues in the ring's [form](PolyType::form).
    ///
    /// # Errors
    /// [`Error::Argument`] with the argument's name and one of these errors: [`Error::Mismatch`] if the integer type is
    /// not as wide as the ring's residues; [`Error::Length`] for incomplete elements or batches of different lengths;
    /// [`Error::NotReduced`] for a residue that is not below its modulus. Also the errors of [`Engine::program`] and
    /// [`HostCall::run`](crate::run::HostCall::run).
    pub fn mul<T: Pod>(&self, of: impl Into<PolyType>, a: &[T], b: &[T]) -> Result<Vec<T>> {
        let poly = of.into();
        checked(&poly, "a", a)?;
        checked(&poly, "b", b)?;
        self.mul_unchecked(poly, a, b)
    }

    /// Like [`Engine::mul`], without checking that residues are below their moduli. An element with a larger residue
    /// has a meaningless product, unless the ring [accepts any word](PolyType::accepts_any_word).
    ///
    /// # Errors
    /// The errors of [`Engine::mul`], except [`Error::NotReduced`].
    pub fn mul_unchecked<T: Pod>(&self, poly: impl Into<PolyType>, a: &[T], b: &[T]) -> Result<Vec<T>> {
        let poly = poly.into();
        let batch = elements_of(&poly, "a", a)?;
        if b.len() != a.len() {
            return Err(of("b", Error::Length { what: "residues, as many as in a", expected: a.len(), got: b.len() }));
        }
        let mut product = vec![T::zeroed(); a.len()];
        let program = self.program(&Job::new(poly, Op::Mul))?;
        program.on_host(batch).input("a", a).input("b", b).output("product", &mut product).run()?;
        Ok(product)
    }

    /// Copies coefficients from host memory to the device, as ring elements.
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
    /// [`Error::Argument`] as for [`Engine::mul`]; [`Error::OutOfMemory`] if the elements do not fit in device memory;
    /// [`Error::Driver`] if a driver call fails.
    pub fn upload<T: Pod>(&self, of: impl Into<PolyType>, coefficients: &[T]) -> Result<Elements> {
        Elements::upload(self, of.into().coefficients(), coefficients)
    }

    /// The stream on which operations on [`Elements`] run.
    ///
    /// # Errors
    /// [`Error::Driver`] if the stream cannot be created.
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

/// Wraps an error in [`Error::Argument`] with the name of the argument that caused it.
fn of(name: &'static str, error: Error) -> Error {
    Error::Argument { name, error: Box::new(error) }
}

/// Checks that an argument has whole ring elements with valid residues, and returns the number of elements.
fn checked<T: Pod>(poly: &PolyType, name: &'static str, numbers: &[T]) -> Result<usize> {
    let batch = elements_of(poly, name, numbers)?;
    poly.check(numbers).map_err(|error| of(name, error)).map(|()| batch)
}

/// Checks that an argument has whole ring elements, and returns their number.
fn elements_of<T: Pod>(poly: &PolyType, name: &'static str, numbers: &[T]) -> Result<usize> {
    let (width, size) = (poly.width().bytes(), poly.bytes());
    if size_of::<T>() != width {
        let expected = format!("{width} bytes for {poly}");
        let got = format!("{} bytes", size_of::<T>());
        return Err(of(name, Error::Mismatch { what: "the integer type".into(), expected, got }));
    }
    let per_element = size / width;
    if !numbers.len().is_multiple_of(per_element) {
        let expected = numbers.len().next_multiple_of(per_element);
        return Err(of(name, Error::Length { what: "residues, in whole elements", expected, got: numbers.len() }));
    }
    Ok(numbers.len() / per_element)
}
