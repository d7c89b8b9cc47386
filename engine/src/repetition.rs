//! [`Repetition`]: a plan that runs again for the items of a batch that are not done.

use core::fmt;

use crate::engine::Engine;
use crate::kernels::repeat::Repeat;
use crate::pipeline::Pipeline;
use crate::planner::Planner;
#[cfg(doc)]
use crate::run::AGAIN;
use ringforge_math::error::{Error, Result};
use ringforge_runtime::kernel::{Role, Sharing};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::plan::{Plan, PlanArg};
use ringforge_runtime::program::Program;
use ringforge_runtime::{Buffer, Call, Stream};

/// Names of the arguments that every repeated plan has.
const ATTEMPT: &str = "attempt";
const STATUSES: &str = "statuses";
const WORD: usize = size_of::<u32>();
/// The most items of a run. Items and attempts are counted in 32 bits.
const MOST_ITEMS: usize = 1 << 30;
/// The most attempts that one item gets in a round.
const MOST_PER_ROUND: usize = 16;
/// On a GPU, a round makes up to this many attempts, several for each item if few are left: fewer would not keep the
/// GPU busy.
const BUSY: usize = 1 << 15;

/// A plan that is repeated for each item of a batch until the item is done: rejection sampling of whole signatures, for
/// example.
///
/// A run of the plan is a round, and an item of a round is an attempt. After each round, the unfinished items are listed
/// on the device, and the next round runs for these items only. When few are left, a GPU makes several attempts for each
/// of them at once, and the one with the lowest number counts. So results depend on neither the device nor the batch.
///
/// Every plan that is repeated has an input `attempt`, the number of the attempt from 0 (one 32-bit word per item), and
/// an output `statuses`. An attempt with the status [`AGAIN`] did not succeed. Every other status is final, also that of
/// an item which no kernel reached. Made by [`Engine::repeat`].
///
/// A repetition cannot be captured, because the host reads the number of unfinished items after each round. That number
/// and the number of attempts are not secret.
#[derive(Clone)]
pub struct Repetition {
    engine: Engine,
    attempt: Program,
    most: u32,
}

impl Engine {
    /// Compiles a pipeline that is to be repeated, with at most `most` attempts per item. An item without success then
    /// keeps the status [`AGAIN`].
    ///
    /// ```
    /// use ringforge::kernels::{Built, CustomKernel, Port};
    /// use ringforge::run::AGAIN;
    ///
    /// // tries the numbers 0, 1, 2, … until one is a square root of the item modulo 251
    /// const SOURCE: &str = r#"
    /// #include "prelude.cuh"
    /// extern "C" __global__ void root(const rf::u32* squares, const rf::u32* attempt, rf::u32* roots, rf::u32* statuses,
    ///                                 rf::u64 first, rf::u64 end) {
    ///     rf::u64 item = first + blockIdx.x * (rf::u64)blockDim.x + threadIdx.x;
    ///     if (item >= end) return;
    ///     roots[item] = attempt[item];
    ///     statuses[item] = attempt[item] * attempt[item] % 251 == squares[item] ? 1 : Task::again;
    /// }"#;
    /// // SAFETY: each thread accesses the words of its own item.
    /// # #[allow(unsafe_code)]
    /// let root = unsafe {
    ///     CustomKernel::new(
    ///         ("root", SOURCE, &[]),
    ///         [Port::input(4), Port::input(4), Port::output(4), Port::status()],
    ///         |_| Ok(Built::thread_per_item(128).constants("Task", &[("again", &AGAIN)])),
    ///         |items, args| {
    ///             args.each(items, |_, (square, attempt, root, status): (&u32, &u32, &mut u32, &mut u32)| {
    ///                 *root = *attempt;
    ///                 *status = if attempt * attempt % 251 == *square { 1 } else { AGAIN };
    ///                 Ok(())
    ///             })
    ///         },
    ///     )
    /// };
    /// let engine = ringforge::Engine::best();
    /// let p = engine.pipeline("square root");
    /// let [roots, statuses] = p.step(root, &[p.input("squares"), p.input("attempt")]);
    /// p.output("roots", roots);
    /// p.output("statuses", statuses);
    /// let repetition = engine.repeat(p, 126)?; // 126 of the 251 residues are squares or 0
    ///
    /// let stream = engine.stream()?;
    /// let squares = stream.upload(&[0u32, 49, 2, 100])?;
    /// let [mut roots, mut statuses] = [stream.zeros(16)?, stream.zeros(16)?];
    /// let call = repetition.on(stream, 4).input("squares", &squares);
    /// call.output("roots", &mut roots).output("statuses", &mut statuses).run()?;
    /// assert_eq!(stream.download::<u32>(&statuses)?, [1, 1, AGAIN, 1]); // 2 is no square modulo 251
    /// let roots = stream.download::<u32>(&roots)?;
    /// assert_eq!((roots[0], roots[1], roots[3]), (0, 7, 10));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Engine::compile`], and [`Error::Unsupported`] in these cases:
    /// - The plan lacks an argument that [`Repetition`] names, or has no other input with a value for each item.
    /// - It reads and writes one argument, shares an output between items, or takes a [`RandomKey`](crate::RandomKey).
    /// - An item's size at an argument is not a multiple of 4 bytes.
    pub fn repeat(&self, pipeline: Pipeline, most: u32) -> Result<Repetition> {
        let attempt = self.compile(pipeline)?;
        check(attempt.plan())?;
        let repetition = Repetition { engine: self.clone(), attempt, most };
        if repetition.args(Role::In).next().is_none() {
            let why = "a plan that is repeated must have an input with a value for each item".into();
            return Err(Error::Unsupported { job: repetition.plan().title().into(), why });
        }
        Ok(repetition)
    }
}

impl Repetition {
    /// The plan of an attempt.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.attempt.plan()
    }

    /// Prepares a run for `batch` items on a stream. Add the arguments of the plan by name to the returned [`Rounds`],
    /// except `attempt`.
    pub fn on<'a>(&'a self, stream: &'a Stream, batch: usize) -> Rounds<'a> {
        Rounds { repetition: self, stream, batch, inputs: Vec::new(), outputs: Vec::new() }
    }

    /// The number of attempts in the largest round for this many items.
    fn capacity(&self, batch: usize) -> usize {
        capacity(self.engine.device().limits(), batch)
    }

    /// Attempts for each of `unfinished` items in the next round, of at most `left`.
    fn per_item(&self, batch: usize, unfinished: usize, left: u32) -> u32 {
        let fit = self.capacity(batch).min(BUSY) / unfinished;
        (fit.clamp(1, MOST_PER_ROUND) as u32).min(left)
    }

    /// The arguments with one value per item, by role, except `attempt`.
    fn args(&self, role: Role) -> impl Iterator<Item = &PlanArg> {
        let args = self.plan().args().iter().filter(move |arg| arg.sharing == Sharing::PerItem && arg.role == role);
        args.filter(|arg| arg.name != ATTEMPT)
    }

    /// The programs between rounds, for this number of items.
    fn between(&self, batch: usize) -> Result<Between> {
        let args = |role| self.args(role).map(|arg| (arg.name.clone(), arg.bytes, arg.secret)).collect();
        let jobs = Job::all(self.engine.device().limits(), batch, [args(Role::In), args(Role::Out)]);
        let [list, take, put] = jobs.map(|job| self.engine.program_of(&job, |planner| job.plan(planner)));
        Ok(Between { list: list?, take: take?, put: put? })
    }
}

/// The plans between the rounds of a repetition for `batch` items, whose plan has these inputs and outputs: name, bytes per
/// item, and whether it is secret. For tests.
///
/// # Errors
/// The errors of [`Pipeline::build`].
#[doc(hidden)]
pub fn plans_between_rounds(planner: &Planner, batch: usize, args: [Args; 2]) -> Result<[Plan; 3]> {
    let [list, take, put] = Job::all(planner.limits(), batch, args).map(|job| job.plan(planner));
    Ok([list?, take?, put?])
}

/// Names of arguments, bytes per item, and whether they are secret.
pub(crate) type Args = Vec<(String, usize, bool)>;

/// The number of attempts in the largest round for this many items, on devices with these limits.
fn capacity(limits: &Limits, batch: usize) -> usize {
    match limits.is_cpu() {
        true => batch,
        false => batch.max(batch.saturating_mul(MOST_PER_ROUND).min(BUSY)),
    }
}

/// The programs between rounds.
struct Between {
    list: Program,
    take: Program,
    put: Program,
}

/// The job of a program between rounds.
#[derive(Clone, PartialEq)]
enum Job {
    List { items: usize },
    Take { items: usize, args: Args },
    Put { attempts: usize, args: Args },
}

impl Job {
    fn all(limits: &Limits, batch: usize, [inputs, outputs]: [Args; 2]) -> [Self; 3] {
        let (take, attempts) = (Self::Take { items: batch, args: inputs }, capacity(limits, batch));
        [Self::List { items: batch }, take, Self::Put { attempts, args: outputs }]
    }

    fn plan(&self, planner: &Planner) -> Result<Plan> {
        let p = planner.pipeline(match self {
            Self::List { items } => format!("unfinished of {items} items"),
            Self::Take { items, .. } => format!("inputs of attempts, from {items} items"),
            Self::Put { attempts, .. } => format!("outputs of at most {attempts} attempts"),
        });
        match self {
            Self::List { items } => {
                let [list, places, count] = p.step(Repeat::list(*items), &[p.input(STATUSES)]);
                p.output("list", list);
                p.output("places", places);
                p.output("count", count);
            }
            Self::Take { items, args } => {
                let [list, round] = ["list", "round"].map(|name| p.input(name));
                let [number] = p.step(Repeat::number(), &[round]);
                p.output(ATTEMPT, number);
                for (name, bytes, secret) in args {
                    let [taken] = p.step(Repeat::take(*items, *bytes, *secret), &[list, round, p.input(name)]);
                    p.output(&of_attempts(name), taken);
                }
            }
            Self::Put { attempts, args } => {
                let [places, round] = ["places", "round"].map(|name| p.input(name));
                let statuses = p.input(&of_attempts(STATUSES));
                for (name, bytes, secret) in args {
                    let from = if name == STATUSES { statuses } else { p.input(&of_attempts(name)) };
                    let put = Repeat::put(*attempts, *bytes, *secret);
                    let [to] = p.step(put, &[places, round, statuses, from, p.input(name)]);
                    p.output(name, to);
                }
            }
        }
        p.build()
    }
}

/// Checks that a plan can be repeated.
fn check(plan: &Plan) -> Result<()> {
    let refuse = |why: String| Err(Error::Unsupported { job: plan.title().into(), why });
    for (name, role) in [(ATTEMPT, Role::In), (STATUSES, Role::Out)] {
        let wanted =
            |arg: &&PlanArg| arg.role == role && arg.sharing == Sharing::PerItem && arg.bytes == size_of::<u32>();
        if plan.arg(name).filter(wanted).is_none() {
            let way = if role == Role::In { "input" } else { "output" };
            return refuse(format!("a plan that is repeated must have the {way} {name}, 4 bytes per item"));
        }
    }
    for arg in plan.args() {
        let name = &arg.name;
        if arg.role == Role::InOut || (arg.role == Role::Out && arg.sharing == Sharing::Shared) {
            return refuse(format!("{name} must be an input, or an output with a value for each item"));
        }
        if arg.random_key {
            return refuse(format!("{name} is a random key, which would give each attempt the same randomness"));
        }
        if arg.sharing == Sharing::PerItem && arg.bytes % size_of::<u32>() != 0 {
            return refuse(format!("{name} has {} bytes per item, which must be a multiple of 4", arg.bytes));
        }
    }
    Ok(())
}

/// A run of a [`Repetition`] on buffers of its device, made by [`Repetition::on`].
#[must_use = "a repetition does nothing until it is run"]
pub struct Rounds<'a> {
    repetition: &'a Repetition,
    stream: &'a Stream,
    batch: usize,
    inputs: Vec<(&'a str, &'a Buffer)>,
    outputs: Vec<(&'a str, &'a mut Buffer)>,
}

impl<'a> Rounds<'a> {
    /// Adds a buffer that the run reads.
    pub fn input(mut self, name: &'a str, from: &'a Buffer) -> Self {
        self.inputs.push((name, from));
        self
    }

    /// Adds a buffer that the run writes.
    pub fn output(mut self, name: &'a str, to: &'a mut Buffer) -> Self {
        self.outputs.push((name, to));
        self
    }

    /// Runs rounds until each item is done or has had all its attempts, and returns the number of rounds. After a
    /// failure, all outputs are zeroed and count as unwritten.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more than 2^30 items; the errors of [`Call::run`](crate::run::Call::run).
    pub fn run(mut self) -> Result<usize> {
        let outcome = self.rounds();
        if outcome.is_err() {
            for (_, buffer) in &mut self.outputs {
                // the caller gets the first error, whether or not this wipe succeeds
                let _ = self.stream.wipe(buffer);
            }
        }
        outcome
    }

    fn rounds(&mut self) -> Result<usize> {
        let Self { repetition, stream, batch, inputs, outputs } = self;
        let (stream, batch) = (*stream, *batch);
        if batch > MOST_ITEMS {
            return Err(Error::TooLarge { what: "the batch", limit: MOST_ITEMS, got: batch });
        }
        // the first attempts read and write the caller's buffers
        let zeros = stream.zeros(WORD * batch)?;
        let call = repetition.attempt.on(stream, batch).input(ATTEMPT, &zeros);
        let call = inputs.iter().fold(call, |call, (name, from)| call.input(name, *from));
        outputs.iter_mut().fold(call, |call, (name, to)| call.output(name, &mut **to)).run()?;
        if batch == 0 {
            return Ok(0);
        }
        let between = repetition.between(batch)?;
        let words = |count: usize| stream.device().buffer(WORD * count);
        let (mut list, mut places, mut count) = (words(batch)?, words(batch)?, words(1)?);
        let mut held = None;
        let (mut first, mut rounds) = (1, 1);
        loop {
            let call = between.list.on(stream, 1).output("list", &mut list).output("places", &mut places);
            let statuses = outputs.iter().filter(|(name, _)| *name == STATUSES);
            let call = statuses.fold(call, |call, (name, buffer)| call.input(name, &**buffer));
            call.output("count", &mut count).run()?;
            let unfinished = stream.download::<u32>(&count)?.first().map_or(0, |&count| count as usize);
            if unfinished == 0 || first >= repetition.most {
                return Ok(rounds);
            }
            let held = match &mut held {
                Some(held) => held,
                None => held.insert(Held::new(repetition, stream, batch)?),
            };
            let per_item = repetition.per_item(batch, unfinished, repetition.most - first);
            let (round, attempts) = (stream.upload(&[first, per_item])?, unfinished * per_item as usize);

            let call = between.take.on(stream, attempts).input("list", &list).input("round", &round);
            let call = held.taken(inputs).fold(call, |call, (name, from)| call.input(name, from));
            let call = call.output(ATTEMPT, held.number.slice_mut(0..WORD * attempts)?);
            held.inputs.iter_mut().try_fold(call, |call, held| held.taken(call, attempts))?.run()?;

            let call = repetition.attempt.on(stream, attempts).input(ATTEMPT, held.number.slice(0..WORD * attempts)?);
            let call = held.shared(inputs).fold(call, |call, (name, from)| call.input(name, from));
            let call = held.inputs.iter().try_fold(call, |call, held| held.read(call, attempts))?;
            held.outputs.iter_mut().try_fold(call, |call, held| held.made(call, attempts))?.run()?;

            let call = between.put.on(stream, batch).input("places", &places).input("round", &round);
            let call = held.outputs.iter().fold(call, |call, held| call.input(&held.of_attempts, &held.buffer));
            outputs.iter_mut().fold(call, |call, (name, to)| call.output(name, &mut **to)).run()?;
            (first, rounds) = (first + per_item, rounds + 1);
        }
    }
}

/// Memory of all attempts of a round.
struct Held {
    number: Buffer,
    inputs: Vec<OfAttempts>,
    /// With the statuses.
    outputs: Vec<OfAttempts>,
}

/// An argument with a value for each attempt of a round.
struct OfAttempts {
    name: String,
    /// The argument's name in the programs between rounds.
    of_attempts: String,
    bytes: usize,
    buffer: Buffer,
}

impl Held {
    fn new(repetition: &Repetition, stream: &Stream, batch: usize) -> Result<Self> {
        let capacity = repetition.capacity(batch);
        let of_attempts = |arg: &PlanArg| {
            let bytes = arg.bytes.saturating_mul(capacity);
            let mut buffer = if arg.secret { stream.secret_buffer(bytes) } else { stream.device().buffer(bytes) }?;
            // a round writes the parts that it reads
            buffer.holds_anything();
            Ok(OfAttempts { name: arg.name.clone(), of_attempts: of_attempts(&arg.name), bytes: arg.bytes, buffer })
        };
        Ok(Self {
            number: stream.zeros(WORD * capacity)?,
            inputs: repetition.args(Role::In).map(of_attempts).collect::<Result<_>>()?,
            outputs: repetition.args(Role::Out).map(of_attempts).collect::<Result<_>>()?,
        })
    }

    /// The caller's inputs that have a value for each item.
    fn taken<'a>(&self, inputs: &[(&'a str, &'a Buffer)]) -> impl Iterator<Item = (&'a str, &'a Buffer)> {
        inputs.iter().copied().filter(|(name, _)| self.inputs.iter().any(|held| held.name == *name))
    }

    /// The caller's inputs that all items share.
    fn shared<'a>(&self, inputs: &[(&'a str, &'a Buffer)]) -> impl Iterator<Item = (&'a str, &'a Buffer)> {
        inputs.iter().copied().filter(|(name, _)| self.inputs.iter().all(|held| held.name != *name))
    }
}

impl OfAttempts {
    /// Makes the first `attempts` values an input of the repeated plan.
    fn read<'a>(&'a self, call: Call<'a>, attempts: usize) -> Result<Call<'a>> {
        Ok(call.input(&self.name, self.buffer.slice(0..self.bytes * attempts)?))
    }

    /// Makes them an output of the repeated plan.
    fn made<'a>(&'a mut self, call: Call<'a>, attempts: usize) -> Result<Call<'a>> {
        Ok(call.output(&self.name, self.buffer.slice_mut(0..self.bytes * attempts)?))
    }

    /// Makes them an output of the program that gathers inputs.
    fn taken<'a>(&'a mut self, call: Call<'a>, attempts: usize) -> Result<Call<'a>> {
        Ok(call.output(&self.of_attempts, self.buffer.slice_mut(0..self.bytes * attempts)?))
    }
}

/// The name of an argument in the programs between rounds, if it has a value for each attempt.
fn of_attempts(name: &str) -> String {
    format!("{name} of attempts")
}

impl fmt::Display for Repetition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} times, until each item is done: {}", self.most, self.plan())
    }
}

impl fmt::Debug for Repetition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Repetition({self})")
    }
}

impl fmt::Debug for Rounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rounds({:?}, batch {})", self.repetition, self.batch)
    }
}
