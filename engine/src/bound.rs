//! Programs bound to their arguments, to be run over and over.

use core::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use crate::backend::{Queue, Recording};
use crate::device::{Buffer, Stream};
use crate::error::{Error, Result, same_length};
use crate::guarded::Guarded;
use crate::kernel::Role;
use crate::program::{Arg, Place, Program};

/// An argument that a [`Bound`] program keeps.
#[derive(Debug)]
pub enum Held {
    /// A buffer of its own, which the program may write.
    Own(Buffer),
    /// A buffer that others use as well, read only.
    Shared(Arc<Buffer>),
}

impl From<Buffer> for Held {
    fn from(buffer: Buffer) -> Self {
        Self::Own(buffer)
    }
}

impl From<Arc<Buffer>> for Held {
    fn from(buffer: Arc<Buffer>) -> Self {
        Self::Shared(buffer)
    }
}

impl Held {
    /// The buffer.
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        match self {
            Self::Own(buffer) => buffer,
            Self::Shared(buffer) => buffer,
        }
    }

    fn as_arg(&mut self, role: Role) -> Arg<'_> {
        match (self, role) {
            (Self::Own(buffer), Role::Out | Role::InOut) => Arg::Out(buffer),
            (Self::Own(buffer), Role::In) => Arg::In(buffer),
            (Self::Shared(buffer), _) => Arg::In(buffer),
        }
    }
}

/// A program with its stream, batch and arguments, made by [`Program::bind`]: on a GPU all launches of a run are recorded
/// once and started by one call.
///
/// It keeps the arguments, since a recording knows where they lie: write inputs by [`Bound::write`], read outputs from
/// [`Bound::buffer`], take all back by [`Bound::into_args`]. Temporaries live as long as it does.
///
/// ```
/// # use ringforge::{Device, Job, Modulus, Op, Planner, Ring};
/// let device = Device::cpu();
/// let ring = Ring::negacyclic(4, Modulus::new(17u32)?)?;
/// let program = device.compile(&Planner::new(device.limits().clone()).plan(&Job::new(&ring, Op::Forward))?)?;
/// let stream = device.stream()?;
/// let args = vec![device.buffer(ring.bytes())?.into(), device.buffer(ring.bytes())?.into()];
/// let mut bound = program.bind(&stream, 1, args)?;
/// for x in 0..3u16 {
///     bound.write(0, &[x, 0, 0, 0])?;
///     bound.run()?;
///     assert_eq!(stream.download::<u16>(bound.buffer(1).expect("an output"))?, [x; 4]);
/// }
/// # Ok::<(), ringforge::Error>(())
/// ```
pub struct Bound {
    // dropped first: it names code of the program and memory of the rest
    recording: Option<Recording>,
    program: Program,
    stream: Stream,
    batch: usize,
    args: Vec<Held>,
    temps: Vec<Guarded>,
}

impl Program {
    /// Binds the program to its arguments, to run it on them over and over: on a GPU with the least that a run can cost.
    /// Inputs need not be written yet. The arguments are lost where this fails.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a program that reads [`Draws`](crate::Draws), which serve one run only; else as
    /// [`Program::run`].
    pub fn bind(&self, stream: &Stream, batch: usize, args: Vec<Held>) -> Result<Bound> {
        let ports = self.plan().steps().iter().flat_map(|step| step.kernel.ports());
        if ports.into_iter().any(|port| port.draws) {
            return Err(Error::Unsupported {
                job: format!("binding of {}", self.plan().title()),
                why: "it draws randomness, which is new for each run".into(),
            });
        }
        Bound::new(self, stream, batch, args)
    }
}

impl Bound {
    pub(crate) fn new(program: &Program, stream: &Stream, batch: usize, mut args: Vec<Held>) -> Result<Self> {
        let mut bound_args = arguments(program, &mut args);
        program.check(stream, batch, &bound_args, false)?;
        let mut temps = program.temporaries(stream, batch)?;
        let mut work = |queue: &Queue| {
            let recorder = Stream::on(program.device(), queue.clone());
            program.execute_and_wipe(&recorder, batch, bound_args.iter_mut().map(Arg::place).collect(), &mut temps)
        };
        let recording = if batch > 0 { program.device().backend().record(&mut work)? } else { None };
        Ok(Self { recording, program: program.clone(), stream: stream.clone(), batch, args, temps })
    }

    /// Starts the program on its arguments and returns, as [`Program::run`] does, in the order of its stream.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run(&mut self) -> Result<()> {
        let Self { recording, program, stream, batch, args, temps } = self;
        program.run_by(stream, *batch, &mut arguments(program, args), |places| match recording {
            Some(recording) => {
                let temps = temps.iter().map(|memory| memory.read());
                let memories = places.iter().map(Place::as_read).chain(temps).chain(program.tables());
                recording.replay(stream.queue(), &memories.collect::<Vec<_>>())
            }
            None => program.execute_and_wipe(stream, *batch, places, temps),
        })
    }

    /// The buffer of an argument; none where the plan has no such argument.
    #[must_use]
    pub fn buffer(&self, arg: usize) -> Option<&Buffer> {
        self.args.get(arg).map(Held::buffer)
    }

    /// Overwrites an argument of its own, in the order of its stream.
    ///
    /// # Errors
    /// As [`Stream::write`]; [`Error::Mismatch`] for an argument that is shared, [`Error::Length`] if there is none.
    pub fn write<T: Pod>(&mut self, arg: usize, from: &[T]) -> Result<()> {
        let count = self.args.len();
        match self.args.get_mut(arg) {
            Some(Held::Own(buffer)) => self.stream.write(buffer, from),
            Some(Held::Shared(_)) => Err(Error::Mismatch {
                what: format!("argument {arg}"),
                expected: "a buffer of the bound program's own".into(),
                got: "a shared buffer".into(),
            }),
            None => same_length("arguments of the program", count, arg + 1),
        }
    }

    /// The arguments, in the plan's order.
    #[must_use]
    pub fn into_args(self) -> Vec<Held> {
        self.args
    }
}

fn arguments<'a>(program: &Program, args: &'a mut [Held]) -> Vec<Arg<'a>> {
    // those beyond the plan's are counted, and refused for it
    let roles = program.plan().args().iter().map(|arg| arg.role).chain(core::iter::repeat(Role::In));
    args.iter_mut().zip(roles).map(|(arg, role)| arg.as_arg(role)).collect()
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bound({:?}, batch {})", self.program, self.batch)
    }
}
