//! Runs of programs, with arguments given by name.

use core::fmt;

use bytemuck::Pod;

use crate::device::{BufferSlice, BufferSliceMut, Stream};
use crate::kernel::{Role, Sharing};
use crate::plan::PlanArg;
use crate::program::{Place, Program, check_size, mismatch};
use ringforge_math::error::{Error, Result};

/// A run of a [`Program`] on buffers of its device, made by [`Program::on`].
///
/// ```
/// # use ringforge::{Engine, Job, Op, PolyType};
/// # let (engine, poly) = (Engine::cpu(), "17:x^4+1".parse::<PolyType>()?);
/// let (program, stream) = (engine.program(&Job::new(&poly, Op::Mul))?, engine.stream()?);
/// let a = stream.upload_elements(&poly, &[1u16, 2, 3, 4])?;
/// let mut square = engine.device().buffer(poly.bytes())?;
/// program.on(stream, 1).input("a", &a).input("b", &a).output("product", &mut square).run()?;
/// # assert_eq!(stream.download::<u16>(&square)?, [10, 14, 11, 3]);
/// # Ok::<(), ringforge::Error>(())
/// ```
#[must_use = "a call does nothing until it is run"]
pub struct Call<'a> {
    program: &'a Program,
    stream: &'a Stream,
    batch: usize,
    args: Args<'a, Arg<'a>>,
    budget: usize,
}

/// A run of a [`Program`] over host memory, made by [`Program::on_host`].
#[must_use = "a call does nothing until it is run"]
pub struct HostCall<'a> {
    program: &'a Program,
    batch: usize,
    args: Args<'a, HostArg<'a>>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(program: &'a Program, stream: &'a Stream, batch: usize) -> Self {
        Self { program, stream, batch, args: Args::new(program), budget: usize::MAX }
    }

    /// Limits the run's [temporary memory](crate::Plan::temporary_bytes) to this many bytes. The batch is cut into
    /// chunks of at least one item, which run one after another.
    pub fn within(self, bytes: usize) -> Self {
        Self { budget: bytes, ..self }
    }

    /// Adds a buffer that the run reads, or a [slice](crate::Buffer::slice) of one.
    pub fn input(mut self, name: &str, from: impl Into<BufferSlice<'a>>) -> Self {
        self.args.put(name, Arg::In(from.into()));
        self
    }

    /// Adds a buffer that the run writes, or reads and writes, or a [slice](crate::Buffer::slice_mut) of one.
    pub fn output(mut self, name: &str, to: impl Into<BufferSliceMut<'a>>) -> Self {
        self.args.put(name, Arg::Out(to.into()));
        self
    }

    /// Starts the run. On a GPU, returns before the run is done. Each argument must hold exactly `batch` items, or one
    /// value that all items share. If the run fails, the buffers that it should have written are zeroed and count as
    /// unwritten. This affects whole buffers, even if the arguments were slices of them.
    ///
    /// # Errors
    /// [`Error::Arguments`] for an argument that is missing, unknown or given twice; [`Error::ArgumentSize`] for an
    /// argument of the wrong size; [`Error::Mismatch`] for a read-only buffer that the plan writes, and for contents of
    /// another ring, domain or order than the plan reads; [`Error::Unwritten`] for an unwritten buffer that the plan
    /// reads, and for an output that is a slice of an unwritten buffer; [`Error::Alignment`] for a slice that does not
    /// begin at a multiple of 16 bytes; [`Error::ForeignDevice`] for a buffer or stream of another device;
    /// [`Error::TooLarge`] if `batch` items exceed the address space or the blocks of a launch; [`Error::OutOfMemory`]
    /// if the temporaries do not fit in memory; [`Error::Driver`] if a driver call fails; [`Error::Kernel`] if a kernel
    /// does not fit its arguments.
    pub fn run(self) -> Result<()> {
        let Self { program, stream, batch, args, budget } = self;
        program.run(stream, batch, &mut args.all()?, budget)
    }

    /// Like [`Call::run`], but waits for the run, and returns the seconds that each step took by the device's own
    /// clock. Ignores the limit of [`Call::within`]. On a GPU, a step that takes less time than its launch is reported
    /// with the time of the launch. To avoid this, start the run while earlier work of the stream keeps the GPU busy
    /// until all launches are made.
    ///
    /// # Errors
    /// The errors of [`Call::run`] and [`Event::seconds_since`](crate::Event::seconds_since).
    pub fn run_timed(self) -> Result<Vec<f64>> {
        let Self { program, stream, batch, args, .. } = self;
        program.run_timed(stream, batch, &mut args.all()?)
    }
}

impl<'a> HostCall<'a> {
    pub(crate) fn new(program: &'a Program, batch: usize) -> Self {
        Self { program, batch, args: Args::new(program) }
    }

    /// Adds host memory that the run reads.
    pub fn input<T: Pod>(mut self, name: &str, from: &'a [T]) -> Self {
        self.args.put(name, HostArg::In(bytemuck::cast_slice(from)));
        self
    }

    /// Adds host memory that the run writes, or reads and writes.
    pub fn output<T: Pod>(mut self, name: &str, to: &'a mut [T]) -> Self {
        self.args.put(name, HostArg::Out(bytemuck::cast_slice_mut(to)));
        self
    }

    /// Runs the program and waits for it.
    ///
    /// # Errors
    /// [`Error::Arguments`] for an argument that is missing, unknown or given twice; [`Error::ArgumentSize`] for an
    /// argument of the wrong size; [`Error::Mismatch`] for read-only memory that the program writes;
    /// [`Error::TooLarge`] if `batch` items exceed the address space or the blocks of a launch; [`Error::Kernel`] if a
    /// kernel does not fit its arguments; [`Error::Unsupported`] if a thread for a device cannot be started;
    /// [`Error::OutOfMemory`] if the device has too little memory; [`Error::Driver`] if a driver call fails;
    /// [`Error::Alignment`] on the CPU for memory that kernels access directly and that is not aligned for its
    /// elements. Memory that is copied first, such as the input of a transform, needs no alignment.
    ///
    /// After a failure, memory that the run writes holds zeros on a GPU, and has unspecified contents on the CPU.
    pub fn run(self) -> Result<()> {
        let Self { program, batch, args } = self;
        program.run_host(batch, &mut args.all()?)
    }
}

/// Arguments that were given by name, in the plan's order.
pub(crate) struct Args<'a, A> {
    program: &'a Program,
    args: Vec<Option<A>>,
    /// The first error.
    error: Option<Error>,
}

impl<'a, A> Args<'a, A> {
    pub(crate) fn new(program: &'a Program) -> Self {
        let args = program.plan().args().iter().map(|_| None).collect();
        Self { program, args, error: None }
    }

    pub(crate) fn put(&mut self, name: &str, arg: A) {
        let place = self.program.plan().args().iter().position(|arg| arg.name == name);
        match place.and_then(|i| self.args.get_mut(i)) {
            Some(place @ None) => *place = Some(arg),
            Some(Some(_)) => self.refuse(format!("was given argument {name} twice")),
            None => {
                let names: Vec<&str> = self.program.plan().args().iter().map(|arg| &*arg.name).collect();
                self.refuse(format!("has no argument {name}: its arguments are {}", names.join(", ")));
            }
        }
    }

    /// Returns all arguments in the plan's order, or the first error.
    pub(crate) fn all(mut self) -> Result<Vec<A>> {
        if let Some(i) = self.args.iter().position(Option::is_none) {
            let name = self.program.plan().args().get(i).map_or("", |arg| &arg.name);
            self.refuse(format!("is missing argument {name}"));
        }
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.args.into_iter().flatten().collect()),
        }
    }

    fn refuse(&mut self, why: String) {
        let plan = self.program.plan().title().into();
        self.error.get_or_insert(Error::Arguments { plan, why });
    }
}

/// An argument on the program's device.
#[derive(Debug)]
pub(crate) enum Arg<'a> {
    /// Read only.
    In(BufferSlice<'a>),
    /// Written, or read and written.
    Out(BufferSliceMut<'a>),
}

impl Arg<'_> {
    pub(crate) fn as_read(&self) -> BufferSlice<'_> {
        match self {
            Self::In(slice) => slice.clone(),
            Self::Out(slice) => slice.as_read(),
        }
    }

    pub(crate) fn place(&mut self) -> Place<'_> {
        match self {
            Self::In(slice) => Place::read(slice.memory()),
            Self::Out(slice) => Place::write(slice.memory()),
        }
    }
}

/// An argument in host memory.
pub(crate) enum HostArg<'a> {
    /// Read only.
    In(&'a [u8]),
    /// Written, or read and written.
    Out(&'a mut [u8]),
}

impl<'a> HostArg<'a> {
    /// The argument for a run on a part of the items. It is read-only if all items share it, and otherwise unchanged.
    pub(crate) fn of_part(&mut self, sharing: Sharing) -> HostArg<'_> {
        match (self, sharing) {
            (Self::Out(bytes), Sharing::PerItem) => HostArg::Out(bytes),
            (arg, _) => HostArg::In(arg.bytes()),
        }
    }

    /// Splits off the memory of the first `items` items; the argument keeps the rest. A shared argument is returned
    /// whole.
    pub(crate) fn take(&mut self, wanted: &PlanArg, items: usize) -> Self {
        let bytes = wanted.bytes * items;
        match self {
            Self::In(all) if wanted.sharing == Sharing::Shared => Self::In(all),
            Self::In(rest) => {
                let (first, behind) = rest.split_at(bytes);
                *rest = behind;
                Self::In(first)
            }
            Self::Out(rest) => {
                let (first, behind) = core::mem::take(rest).split_at_mut(bytes);
                *rest = behind;
                Self::Out(first)
            }
        }
    }
}

impl HostArg<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::In(bytes) => bytes,
            Self::Out(bytes) => bytes,
        }
    }
}

/// Checks that each argument in host memory has the size that the plan requires, and is writable if the plan writes it.
pub(crate) fn check_host(program: &Program, batch: usize, args: &[HostArg<'_>]) -> Result<()> {
    for (arg, wanted) in args.iter().zip(program.plan().args()) {
        check_size(wanted, batch, arg.bytes().len())?;
        if wanted.role != Role::In && matches!(arg, HostArg::In(_)) {
            return Err(mismatch(format!("argument {}", wanted.name), "writable memory", "read-only memory"));
        }
    }
    Ok(())
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({:?}, batch {})", self.program, self.batch)
    }
}

impl fmt::Debug for HostCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostCall({:?}, batch {})", self.program, self.batch)
    }
}
