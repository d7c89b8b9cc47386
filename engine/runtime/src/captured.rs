//! Captured runs: programs bound to their arguments, to be run repeatedly. On a GPU, a captured run is a CUDA graph.

use core::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use crate::backend::{BackendStream, Recording};
use crate::device::{Buffer, Stream};
use crate::guarded::Guarded;
use crate::kernel::Role;
use crate::program::call::{Arg, Args};
use crate::program::{Place, Program, check_arg, mismatch};
use crate::random::RandomKey;
use ringforge_math::error::{Error, Result};

/// An argument of a [`Captured`] run.
#[derive(Debug)]
pub enum CapturedArg {
    /// A buffer that the captured run owns. The program may write to it.
    Own(Buffer),
    /// A shared buffer. The program only reads it.
    Shared(Arc<Buffer>),
}

impl From<Buffer> for CapturedArg {
    fn from(buffer: Buffer) -> Self {
        Self::Own(buffer)
    }
}

impl From<Arc<Buffer>> for CapturedArg {
    fn from(buffer: Arc<Buffer>) -> Self {
        Self::Shared(buffer)
    }
}

impl CapturedArg {
    /// The buffer that holds the argument.
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        match self {
            Self::Own(buffer) => buffer,
            Self::Shared(buffer) => buffer,
        }
    }

    fn as_arg(&mut self, role: Role) -> Arg<'_> {
        match (self, role) {
            (Self::Own(buffer), Role::Out | Role::InOut) => Arg::Out(buffer.into()),
            (Self::Own(buffer), Role::In) => Arg::In(buffer.into()),
            (Self::Shared(buffer), _) => Arg::In((&*buffer).into()),
        }
    }
}

/// A program with its stream, batch and arguments, made by [`Program::capture`], to be run repeatedly. On a GPU it is a
/// CUDA graph, and one call starts all its launches.
///
/// A captured run keeps its arguments, because the graph contains their addresses. Write inputs with
/// [`Captured::write`], read outputs from [`Captured::buffer`], and take all arguments back with
/// [`Captured::into_args`]. The program's temporary memory lives as long as the captured run.
///
/// ```
/// # use ringforge::{Device, Job, Op, Planner, PolyType};
/// let device = Device::cpu();
/// let poly: PolyType = "17:x^4+1".parse()?;
/// let program = device.compile(&Planner::new(device.limits().clone()).plan(&Job::new(&poly, Op::Forward))?)?;
/// let stream = device.stream()?;
/// let args = vec![("from", device.buffer(poly.bytes())?.into()), ("to", device.buffer(poly.bytes())?.into())];
/// let mut captured = program.capture(&stream, 1, args)?;
/// for x in 0..3u16 {
///     captured.write("from", &[x, 0, 0, 0])?;
///     captured.run()?;
///     assert_eq!(stream.download::<u16>(captured.buffer("to").expect("an output"))?, [x; 4]);
/// }
/// # Ok::<(), ringforge::Error>(())
/// ```
pub struct Captured {
    // dropped first, because the graph refers to code of the program and to memory of the other fields
    recording: Option<Recording>,
    program: Program,
    stream: Stream,
    batch: usize,
    args: Vec<CapturedArg>,
    temps: Vec<Guarded>,
}

impl Program {
    /// Captures a run on `batch` items with arguments given by name, so that the run can be replayed. On a GPU, a
    /// replay is the cheapest way to run a program. Inputs need not be written before the capture. Omit arguments for a
    /// [`RandomKey`], because each replay generates its own key. If the capture fails, the arguments are dropped.
    ///
    /// # Errors
    /// The errors of [`Call::run`](crate::Call::run), except those for contents of arguments, which are not checked.
    pub fn capture(&self, stream: &Stream, batch: usize, args: Vec<(&str, CapturedArg)>) -> Result<Captured> {
        let this = self.of_device(stream.device());
        let mut named = Args::new(this);
        for arg in this.plan().args().iter().filter(|arg| arg.random_key) {
            named.put(&arg.name, stream.secret_buffer(arg.bytes)?.into());
        }
        args.into_iter().for_each(|(name, arg)| named.put(name, arg));
        let mut args = named.all()?;
        this.check(stream, batch, &arguments(this, &mut args), false)?;
        let temps = this.temporaries(stream, batch)?;
        let (program, stream) = (this.clone(), stream.clone());
        let mut captured = Captured { recording: None, program, stream, batch, args, temps };
        captured.record()?;
        Ok(captured)
    }
}

impl Captured {
    /// Captures the launches with the present arguments, and replaces the earlier graph. There is no graph if the batch
    /// is 0 or the backend cannot capture.
    fn record(&mut self) -> Result<()> {
        let Self { recording, program, batch, args, temps, .. } = self;
        if *batch == 0 {
            return Ok(());
        }
        let mut call_args = arguments(program, args);
        let mut work = |queue: &BackendStream| {
            let recorder = Stream::on(program.device(), queue.clone());
            program.execute_and_wipe(&recorder, 0..*batch, call_args.iter_mut().map(Arg::place).collect(), temps)
        };
        let old = recording.take();
        *recording = program.device().backend().record(&mut work, old)?;
        Ok(())
    }

    /// Starts the program on the captured arguments, after earlier work on the captured stream. Like
    /// [`Call::run`](crate::Call::run), it may return before the work is done.
    ///
    /// # Errors
    /// The errors of [`Call::run`](crate::Call::run); for a program that needs randomness, also those of
    /// [`RandomKey::from_os`].
    pub fn run(&mut self) -> Result<()> {
        let random_keys = |captured: &Self| {
            let args = captured.program.plan().args().iter().enumerate();
            args.filter(|(_, arg)| arg.random_key).map(|(i, _)| i).collect::<Vec<_>>()
        };
        for i in random_keys(self) {
            if let Some(CapturedArg::Own(buffer)) = self.args.get_mut(i) {
                self.stream.write(buffer, RandomKey::from_os()?.as_bytes())?;
            }
        }
        let outcome = self.replay();
        let wiped = random_keys(self).into_iter().map(|i| match self.args.get_mut(i) {
            Some(CapturedArg::Own(buffer)) => self.stream.wipe(buffer),
            _ => Ok(()),
        });
        wiped.fold(outcome, Result::and)
    }

    fn replay(&mut self) -> Result<()> {
        let Self { recording, program, stream, batch, args, temps } = self;
        program.run_by(stream, *batch, &mut arguments(program, args), |places| match recording {
            Some(recording) => {
                let temps = temps.iter().map(|memory| memory.read());
                let memories = places.iter().map(Place::as_read).chain(temps).chain(program.tables());
                recording.replay(stream.queue(), &memories.collect::<Vec<_>>())
            }
            None => program.execute_and_wipe(stream, 0..*batch, places, temps),
        })
    }

    /// Replaces the buffer of an argument and returns the old one. On a GPU, the graph's launches are updated in place
    /// if possible. Replays that have started still use the old buffer.
    ///
    /// # Errors
    /// [`Error::Arguments`] if there is no argument of this name; [`Error::ForeignDevice`] for a buffer of another
    /// device; [`Error::ArgumentSize`] for a buffer of another size; [`Error::Mismatch`] for a shared buffer that the
    /// plan writes; [`Error::Driver`] if the graph cannot be captured again. After an error, the old argument is kept.
    pub fn exchange(&mut self, name: &str, arg: impl Into<CapturedArg>) -> Result<CapturedArg> {
        let i = self.place(name)?;
        let mut new = arg.into();
        let wanted = &self.program.plan().args()[i];
        check_arg(self.program.device(), &new.as_arg(wanted.role), wanted, self.batch)?;
        core::mem::swap(&mut self.args[i], &mut new);
        match self.record() {
            Ok(()) => Ok(new),
            Err(error) => {
                // without a graph, later runs start the launches one by one, with the old argument
                self.args[i] = new;
                Err(error)
            }
        }
    }

    /// The buffer of the argument with this name. `None` if there is no such argument.
    #[must_use]
    pub fn buffer(&self, name: &str) -> Option<&Buffer> {
        self.place(name).ok().and_then(|i| self.args.get(i)).map(CapturedArg::buffer)
    }

    /// Overwrites the buffer of an argument that the captured run owns, after earlier work on the captured stream.
    ///
    /// # Errors
    /// The errors of [`Stream::write`]; [`Error::Mismatch`] for a shared argument; [`Error::Arguments`] if there is no
    /// argument of this name.
    pub fn write<T: Pod>(&mut self, name: &str, from: &[T]) -> Result<()> {
        let i = self.place(name)?;
        match &mut self.args[i] {
            CapturedArg::Own(buffer) => self.stream.write(buffer, from),
            CapturedArg::Shared(_) => {
                Err(mismatch(format!("argument {name}"), "a buffer that the captured run owns", "a shared buffer"))
            }
        }
    }

    /// Ends the captured run and returns its arguments with their names, except those for a [`RandomKey`].
    #[must_use]
    pub fn into_args(self) -> Vec<(String, CapturedArg)> {
        let args = self.program.plan().args().iter().zip(self.args);
        args.filter(|(wanted, _)| !wanted.random_key).map(|(wanted, arg)| (wanted.name.clone(), arg)).collect()
    }

    /// The index of the argument with this name among the plan's arguments. Returns an error if there is none, or if
    /// the argument is for a [`RandomKey`].
    fn place(&self, name: &str) -> Result<usize> {
        let plan = self.program.plan();
        plan.args()
            .iter()
            .position(|arg| arg.name == name && !arg.random_key)
            .ok_or_else(|| Error::Arguments { plan: plan.title().into(), why: format!("has no argument {name}") })
    }
}

fn arguments<'a>(program: &Program, args: &'a mut [CapturedArg]) -> Vec<Arg<'a>> {
    let roles = program.plan().args().iter().map(|arg| arg.role);
    args.iter_mut().zip(roles).map(|(arg, role)| arg.as_arg(role)).collect()
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Captured({:?}, batch {})", self.program, self.batch)
    }
}
