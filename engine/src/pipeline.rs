//! Pipelines: a graph of named values and of the steps between them, which becomes a plan.

mod automorphism;
mod fusion;
mod graph;
mod memory;
mod raise;
mod rings;
mod value;

use core::cell::{Cell, RefCell};
use core::fmt;
use core::panic::Location;
use std::sync::Arc;

use crate::job::Job;
use crate::kernels::{Distribution, sample};
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::{Order, PolyType};
use ringforge_runtime::kernel::{Kernel, Port, Role};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::plan::Plan;

use graph::{Graph, Id, Refused};

pub use raise::Digits;

/// A graph of values that becomes a [`Plan`]: inputs, kernel steps and other plans, connected by the values they
/// share.
///
/// Every operation returns a new value. Errors are deferred: [`Pipeline::build`] returns the first one, with its
/// source location.
///
/// ```
/// use ringforge::{Engine, Ring};
///
/// let engine = Engine::best();
/// let ring: Ring = "17:x^4+1".parse()?;
/// let p = engine.pipeline("square of a product");
/// let [a, b] = ["a", "b"].map(|name| p.coefficients(name, &ring));
/// let product = a.forward() * b.forward();
/// p.output("square", (product * product).inverse());
/// let program = engine.compile(p)?;
/// let mut square = [0u16; 4];
/// program.on_host(1).input("a", &[1u16, 2, 0, 0]).input("b", &[0u16, 3, 0, 0]).output("square", &mut square).run()?;
/// assert_eq!(square, [15, 0, 9, 2]); // (3x + 6x²)² = 9x² + 36x³ + 36x^4, where x^4 = −1
/// # Ok::<(), ringforge::Error>(())
/// ```
///
/// # Fusion
/// On a GPU, a sum, difference or multiple of elements is fused into the kernel that writes one of its terms, if
/// nothing else reads that term. Transforms, products, automorphisms and other kernels allow this. The term then needs
/// no separate pass over memory. A printed plan shows what was fused.
/// [`Tuning::unfused`](crate::tuning::Tuning::unfused) turns fusion off; results are bit-identical.
///
/// # Memory
/// Temporaries are reused once their value is no longer needed. A kernel that can run [in place](Kernel::in_place) does
/// so if no other step reads the value that it overwrites.
///
/// An output with the name of an input overwrites that input: the caller passes one argument for both. A port that is
/// both read and written destroys the value it reads. If that value is an input, the new value must be output under
/// the same name.
pub struct Pipeline {
    title: String,
    target: Target,
    graph: RefCell<Graph>,
    error: Cell<Option<Error>>,
}

/// A function that plans a job.
pub(crate) type PlanJob = Box<dyn Fn(&Job) -> Result<Plan> + Send + Sync>;

/// The device limits and options that a pipeline is planned for.
pub(crate) struct Target {
    pub(crate) limits: Limits,
    /// Whether linear combinations are fused into the kernels that write their terms.
    pub(crate) fuses: bool,
    /// The expected number of items per run.
    pub(crate) items: usize,
    pub(crate) plan: PlanJob,
}

/// A value of a [`Pipeline`]: an input, or the output of a step.
///
/// A value that holds ring elements has their type: the ring, whether they are coefficients or evaluations, and the
/// order of evaluations. `+`, `-` and `*` of two such values are their sum, difference and product. Other values are
/// plain bytes. Each item has its own value, or all items share one.
#[derive(Clone, Copy)]
pub struct Value<'p> {
    pipeline: &'p Pipeline,
    /// `None` if an error occurred.
    id: Option<Id>,
}

impl Pipeline {
    /// An empty pipeline.
    pub(crate) fn new(title: String, target: Target) -> Self {
        Self { title, target, graph: RefCell::default(), error: Cell::default() }
    }

    /// The title of the plan.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// The limits of the devices that the plan is for.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.target.limits
    }

    /// Declares an input. The first step that reads it determines its size, whether each item has a value of its own or
    /// all items share one, and whether it is secret.
    #[track_caller]
    pub fn input(&self, name: &str) -> Value<'_> {
        self.value(self.graph.borrow_mut().input(name, None))
    }

    /// Declares an input of this many bytes per item. [Views](Value::part) of it can be taken before a step reads it.
    #[track_caller]
    pub fn bytes(&self, name: &str, bytes: usize) -> Value<'_> {
        self.value(self.graph.borrow_mut().sized_input(name, &Port::input(bytes)))
    }

    /// Declares an input of this many bytes that all items share. A step that reads only shared inputs runs once. A
    /// kernel that otherwise reads one value per item reads the shared one for every item.
    #[track_caller]
    pub fn shared(&self, name: &str, bytes: usize) -> Value<'_> {
        self.value(self.graph.borrow_mut().sized_input(name, &Port::shared(bytes)))
    }

    /// Declares an input of one ring element per item, as coefficients.
    #[track_caller]
    pub fn coefficients(&self, name: &str, of: impl Into<PolyType>) -> Value<'_> {
        self.elements(name, of.into().coefficients())
    }

    /// Declares an input of one ring element per item, as evaluations in this order.
    #[track_caller]
    pub fn evaluations(&self, name: &str, of: impl Into<PolyType>, order: Order) -> Value<'_> {
        match of.into().evaluations(order) {
            Ok(poly) => self.elements(name, poly),
            Err(error) => self.fail(error),
        }
    }

    /// Declares an input of one ring element per item, of this type.
    #[track_caller]
    pub fn elements(&self, name: &str, of: impl Into<PolyType>) -> Value<'_> {
        self.value(self.graph.borrow_mut().input(name, Some(of.into())))
    }

    /// Adds a kernel step. `inputs` are the values for the ports that it reads, in port order, except ports bound to
    /// the kernel's own [tables](Kernel::table). Returns the values that it writes, in port order. An in-out port takes
    /// an input and returns a value.
    ///
    /// ```ignore
    /// let [signatures, statuses] = p.step(Sign::new(), &[keys, digests, random_key]);
    /// ```
    /// A step runs once if all its inputs are shared and none of them is a [`RandomKey`](crate::RandomKey): before the
    /// other steps, and before a batch is divided into chunks. Its outputs are shared as well.
    #[track_caller]
    pub fn step<const N: usize>(&self, kernel: impl Kernel + 'static, inputs: &[Value<'_>]) -> [Value<'_>; N] {
        self.outputs(self.dynamic_step(Arc::new(kernel), inputs))
    }

    /// Adds the steps of a plan. `inputs` are the values for the arguments that the plan reads, in their order. Returns
    /// the values of the arguments that it writes, in their order.
    #[track_caller]
    pub fn plan<const N: usize>(&self, plan: &Plan, inputs: &[Value<'_>]) -> [Value<'_>; N] {
        self.outputs(self.steps_of(plan, inputs))
    }

    /// Adds the steps of a job, and returns its result. `inputs` are the job's operands, in the order of the table at
    /// [`Op`](crate::Op).
    #[track_caller]
    pub fn job(&self, job: &Job, inputs: &[Value<'_>]) -> Value<'_> {
        match (self.target.plan)(job) {
            Ok(plan) => self.plan::<1>(&plan, inputs)[0],
            Err(error) => self.fail(error),
        }
    }

    /// Samples random ring elements, as coefficients, from a random key or a seed of
    /// [`RandomKey::BYTES`](crate::RandomKey::BYTES) bytes.
    ///
    /// If `from` is an [input](Pipeline::input) whose size is not yet known, it becomes an input for a
    /// [`RandomKey`](crate::RandomKey), and each item gets its own random element. The caller passes a fresh key for
    /// each run ([`Stream::with_random_key`](crate::Stream::with_random_key)), or one from
    /// [`RandomKey::from_bytes`](crate::RandomKey::from_bytes) if the run must be repeatable.
    ///
    /// Any other value is a seed ([`Pipeline::bytes`], [`Pipeline::shared`], or the output of a step). The element of
    /// an item then depends only on the item's seed. A seed that all items share gives one element that all items
    /// share.
    ///
    /// Each sampler that reads a key uses its own [stream id](crate::RandomKey::block_of_stream), counted from 1, so no
    /// random block is used twice. Once a pipeline has samplers of a key, adding a plan that samples from the same key
    /// is an error. Samples are secret, except uniform elements from public seeds.
    ///
    /// ```
    /// use ringforge::kernels::Distribution;
    /// use ringforge::{RandomKey, Engine, Ring};
    ///
    /// let engine = Engine::best();
    /// let ring: Ring = "97,193:x^4+1".parse()?;
    /// let p = engine.pipeline("a public polynomial, and a secret with an error");
    /// let random_key = p.input("random_key");
    /// let a = p.sample(&ring, Distribution::Uniform, p.shared("seed", RandomKey::BYTES));
    /// let secret = p.sample(&ring, Distribution::Ternary, random_key).forward();
    /// let error = p.sample(&ring, Distribution::Gaussian { sigma: 3.2 }, random_key).forward();
    /// p.output("key", a.forward().mul_add(secret, error).inverse());
    /// p.output("secret", secret.inverse());
    /// let program = engine.compile(p)?;
    /// let [mut key, mut secret] = [[0u16; 8]; 2];
    /// let (seed, random_key) = ([7u8; 32], RandomKey::from_os()?);
    /// let call = program.on_host(1).input("seed", &seed).input("random_key", random_key.as_bytes());
    /// call.output("key", &mut key).output("secret", &mut secret).run()?;
    /// assert!(secret[..4].iter().all(|x| [0, 1, 96].contains(x)));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// [`Pipeline::build`] returns [`Error::Unsupported`] for parameters of a [`Distribution`] that are out of range,
    /// and an error for keys of the wrong size.
    #[track_caller]
    pub fn sample(&self, of: impl Into<PolyType>, distribution: Distribution, from: Value<'_>) -> Value<'_> {
        let poly = of.into().coefficients();
        let Some(&[key]) = self.ids(&[from]).as_deref() else { return Value { pipeline: self, id: None } };
        let port = self.graph.borrow().key_port(key);
        match sample::steps(&poly, distribution, port) {
            Ok(steps) => {
                let from = Value { pipeline: self, id: Some(key) };
                let then = |value, kernel| self.outputs::<1>(self.dynamic_step(kernel, &[value]))[0];
                steps.into_iter().fold(from, then).holding(poly)
            }
            Err(error) => self.fail(error),
        }
    }

    /// Concatenates limbs of ring elements to elements of type `whole`: each part must hold the corresponding limbs. If
    /// possible, the step that computes a part writes it directly to its position. Views of other values are copied,
    /// and so are values that a later step must read contiguously.
    #[track_caller]
    pub fn join(&self, whole: impl Into<PolyType>, parts: &[Value<'_>]) -> Value<'_> {
        let whole = whole.into();
        let Some(ids) = self.ids(parts) else { return Value { pipeline: self, id: None } };
        let mut graph = self.graph.borrow_mut();
        let mut at = 0;
        for &id in &ids {
            let limbs = graph.content(id).map_or(0, |content| content.basis().len());
            let wanted = whole.limbs(at..at + limbs);
            at += limbs;
            if graph.content(id).is_none() || graph.content(id) != wanted.as_ref().ok() {
                let wanted = wanted.map_or_else(|error| error.to_string(), |wanted| wanted.described());
                return self.fail(self.refused(format!(
                    "cannot join {}: expected {wanted} as a part of {}",
                    graph.name(id),
                    whole.described()
                )));
            }
        }
        if at != whole.basis().len() {
            return self
                .fail(self.refused(format!("the joined parts have {at} limbs, too few for {}", whole.described())));
        }
        let joined = graph.side_by_side(&ids, Some(whole));
        drop(graph);
        self.value(joined)
    }

    /// Makes a value an output of the plan. An output with the name of an input overwrites that input.
    #[track_caller]
    pub fn output(&self, name: &str, value: Value<'_>) {
        if let Some([id]) = self.ids(&[value]).as_deref() {
            self.keep(self.graph.borrow_mut().output(name, *id));
        }
    }

    /// Builds the plan.
    ///
    /// # Errors
    /// [`Error::Plan`] with the first error and its source location: values that do not fit a kernel's ports or a
    /// plan's arguments, that belong to another pipeline, or that were overwritten; duplicate names; inputs that no
    /// step reads; outputs that no step writes. Other errors, for example from planning a job or for invalid sampling
    /// parameters, are returned unchanged.
    pub fn build(self) -> Result<Plan> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let Target { limits, fuses, .. } = &self.target;
        let mut graph = self.graph.into_inner();
        graph.once_first();
        graph.keep_secrets();
        let plan = |mut graph: Graph| {
            if !limits.is_cpu() {
                graph.work_where_joined();
            }
            memory::plan(&self.title, &graph, limits)
        };
        let fused = fuses.then(|| {
            let mut fused = graph.clone();
            fused.fuse();
            plan(fused).ok()
        });
        // fusion can make it impossible to place a value in memory; then the plan is made without it
        match fused.flatten() {
            Some(fused) => Ok(fused),
            None => plan(graph).map_err(|why| Error::Plan { plan: self.title.clone(), why }),
        }
    }

    /// [`Pipeline::step`] for a kernel in an [`Arc`], with any number of outputs.
    #[doc(hidden)]
    #[track_caller]
    pub fn dynamic_step(&self, kernel: Arc<dyn Kernel>, inputs: &[Value<'_>]) -> Vec<Value<'_>> {
        let Some(ids) = self.ids(inputs) else { return Vec::new() };
        let outputs = self.graph.borrow_mut().step(kernel, &ids);
        self.values(outputs)
    }

    /// Adds the steps of a plan, and returns the values that it writes in the order of its arguments.
    #[track_caller]
    pub(crate) fn steps_of(&self, plan: &Plan, inputs: &[Value<'_>]) -> Vec<Value<'_>> {
        let Some(mut ids) = self.ids(inputs) else { return Vec::new() };
        let reads = plan.args.iter().filter(|arg| arg.role != Role::Out).count();
        if reads != ids.len() {
            let names = plan.args.iter().filter(|arg| arg.role != Role::Out).map(|arg| &*arg.name);
            let names = names.collect::<Vec<_>>().join(", ");
            self.fail(self.refused(format!("{} takes {names}, but got {} values", plan.title, ids.len())));
            return Vec::new();
        }
        ids.reverse();
        let outputs = self.graph.borrow_mut().steps_of(plan, ids);
        self.values(outputs)
    }

    #[track_caller]
    fn values(&self, ids: Result<Vec<Id>, Refused>) -> Vec<Value<'_>> {
        self.keep(ids).unwrap_or_default().into_iter().map(|id| Value { pipeline: self, id: Some(id) }).collect()
    }

    /// Converts the outputs to an array of the length that the caller expects.
    #[track_caller]
    fn outputs<'p, const N: usize>(&'p self, values: Vec<Value<'p>>) -> [Value<'p>; N] {
        let count = values.len();
        match values.try_into() {
            Ok(values) => values,
            Err(_) => [self.fail(self.refused(format!("expected {N} output values, but there are {count}"))); N],
        }
    }

    #[track_caller]
    fn value(&self, id: Result<Id, Refused>) -> Value<'_> {
        Value { pipeline: self, id: self.keep(id) }
    }

    /// The ids of values. `None` if one of them is the placeholder after an error; `None` and a recorded error if one
    /// belongs to another pipeline.
    #[track_caller]
    fn ids(&self, values: &[Value<'_>]) -> Option<Vec<Id>> {
        if let Some(value) = values.iter().find(|value| !core::ptr::eq(value.pipeline, self)) {
            self.fail(self.refused(format!("a value belongs to another pipeline, {}", value.pipeline.title)));
            return None;
        }
        values.iter().map(|value| value.id).collect()
    }

    /// Returns the value of `outcome`, or records its error and returns `None`.
    #[track_caller]
    fn keep<T>(&self, outcome: Result<T, Refused>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(why) => {
                self.fail(self.refused(why));
                None
            }
        }
    }

    /// An error with the source location of the caller.
    #[track_caller]
    fn refused(&self, why: String) -> Error {
        Error::Plan { plan: self.title.clone(), why: format!("{why} (at {})", Location::caller()) }
    }

    /// Records an error if it is the first, and returns the placeholder for a value.
    fn fail(&self, error: Error) -> Value<'_> {
        let first = self.error.take().unwrap_or(error);
        self.error.set(Some(first));
        Value { pipeline: self, id: None }
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pipeline({}, {:?})", self.title, self.graph.borrow())
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.id.map_or_else(|| "a mistake".into(), |id| self.pipeline.graph.borrow().name(id));
        write!(f, "Value({name})")
    }
}
