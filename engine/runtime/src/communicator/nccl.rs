//! Communication between GPUs through NCCL.

#![allow(unsafe_code)]

use core::ffi::c_void;
use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::backend::{Backend, BackendStream};
use crate::communicator::{Communicator, Control};
use crate::cuda::copy::start_between;
use crate::cuda::driver::failed;
use crate::cuda::memory::Access;
use crate::cuda::nccl::library::{BYTE, Code, Config, Handle, IN_PROGRESS, Nccl, SUCCESS};
use crate::cuda::nccl::{Raw, Shared, UniqueId};
use crate::cuda::pool::Stay;
use crate::cuda::queue::Priority;
use crate::cuda::{CudaMemory, Gpu, GpuStream, Part};
use crate::memory::{Memory, Read, Write};
use crate::threads;
use ringforge_math::error::{Error, Result};

/// How long a thread polls eagerly before it sleeps between polls.
const EAGER: Duration = Duration::from_millis(20);

/// One GPU's end of the connections.
pub(crate) struct NcclCommunicator {
    nccl: &'static Nccl,
    gpu: Arc<Gpu>,
    rank: usize,
    timeout: Duration,
    /// `None` once a call failed: the communicator was aborted, so nothing can be sent and no memory is in use.
    handle: Arc<Mutex<Option<Raw>>>,
    others: Arc<Others>,
    /// The stream for copies that the GPU sends to itself, concurrent with sends to others.
    aside: GpuStream,
}

/// Allocates the place for a handle. The library may write to it even after a call that was given up; such a place is
/// never freed.
fn place() -> *mut Handle {
    Box::into_raw(Box::new(core::ptr::null_mut()))
}

fn aborted(call: &'static str) -> Error {
    Error::Nccl { call, why: "the connection was aborted".into() }
}

/// Connects a device with the others of its group.
pub fn connect(backend: &dyn Backend, to: &Connection) -> Result<Box<dyn Communicator>> {
    let Some(gpu) = backend.gpu() else {
        let why = "a group must consist of GPUs only, or only of devices that use host memory".into();
        return Err(Error::Unsupported { job: format!("a connection from {} to others", backend.limits().name), why });
    };
    Ok(Box::new(NcclCommunicator::new(gpu, to)?))
}

/// The data with which a rank finds the others.
#[derive(Clone, Debug)]
pub struct Connection {
    #[doc(hidden)]
    pub id: UniqueId,
    #[doc(hidden)]
    pub rank: usize,
    #[doc(hidden)]
    pub size: usize,
    /// How long to wait for others.
    #[doc(hidden)]
    pub timeout: Duration,
    #[doc(hidden)]
    pub others: Arc<Others>,
}

/// The state of the other ranks, which NCCL does not report.
#[derive(Debug, Default)]
pub struct Others {
    /// Whether a rank of this process has stopped.
    abandoned: AtomicBool,
    /// Connections to the other processes, if there are any.
    control: Option<Control>,
}

impl Others {
    /// The ranks of other processes, reached over these connections.
    #[doc(hidden)]
    pub fn of(control: Control) -> Self {
        Self { control: Some(control), ..Self::default() }
    }

    fn check(&self, call: &'static str) -> Result<()> {
        if self.abandoned.load(Ordering::Acquire) {
            return Err(Error::Nccl { call, why: "another rank of this process has failed".into() });
        }
        self.control.as_ref().map_or(Ok(()), Control::check)
    }

    fn agree(&self, what: &str) -> Result<()> {
        // ranks of one process need no check: the value that they belong to gives all of them the same
        self.control.as_ref().map_or(Ok(()), |control| control.agree(what))
    }

    fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.control.iter().for_each(Control::abandon);
    }
}

impl NcclCommunicator {
    /// Creates the end of a GPU. Returns when all ranks have connected.
    pub(crate) fn new(gpu: &Arc<Gpu>, to: &Connection) -> Result<Self> {
        let Connection { id, rank, size, timeout, others } = to.clone();
        gpu.bind()?;
        let (nccl, aside) = (Nccl::get()?, GpuStream::new(gpu, Priority::Urgent)?);
        let (handle, mut config) = (place(), Config::new(false));
        // SAFETY: the GPU's context is current; `place` says why the handle may be written later.
        nccl.check("ncclCommInitRankConfig", unsafe {
            (nccl.init)(handle, size as i32, id, rank as i32, &raw mut config)
        })?;
        // SAFETY: a communicator that is not blocking is written before the call returns.
        let connection = Arc::new(Mutex::new(Some(Raw(unsafe { handle.read() }))));
        let this = Self { nccl, gpu: gpu.clone(), rank, timeout, handle: connection, others, aside };
        this.with("ncclCommInitRankConfig", |handle| this.settle("ncclCommInitRankConfig", handle))?;
        // SAFETY: the library does not write to it any more.
        drop(unsafe { Box::from_raw(handle) });
        let parent = this.hasten()?;
        let met = this.connect(size);
        // SAFETY: it is not used any more, and no rank needs it for the new one, over which all have met.
        unsafe { (nccl.abort)(parent.0) };
        met.map(|()| this)
    }

    /// Replaces the non-blocking communicator by a blocking one. The library starts a thread for every non-blocking
    /// call. Blocking calls wait for other ranks only at first contact, which [`NcclCommunicator::connect`] makes.
    ///
    /// Returns the old communicator, which other ranks may still need.
    fn hasten(&self) -> Result<Raw> {
        let call = "ncclCommSplit";
        let (child, mut config) = (place(), Config::new(true));
        self.with(call, |parent| {
            // SAFETY: the GPU's context is current; `place` says why the handle may be written later.
            self.nccl.check(call, unsafe { (self.nccl.split)(parent, 0, self.rank as i32, child, &raw mut config) })?;
            self.settle(call, parent)
        })?;
        // SAFETY: the library does not write to it any more.
        let child = unsafe { *Box::from_raw(child) };
        self.handle().replace(Raw(child)).ok_or_else(|| aborted(call))
    }

    /// Sends a byte to every other rank and receives one, so that all have been in contact.
    fn connect(&self, size: usize) -> Result<()> {
        let memory = CudaMemory::new(&self.gpu, 2 * size, Stay::Run)?;
        let part = |first| Part { memory: &memory, first, len: 1 };
        let others = || (0..size).filter(|rank| *rank != self.rank);
        let sends: Vec<_> = others().map(|rank| (rank, part(rank))).collect();
        let receives: Vec<_> = others().map(|rank| (rank, part(size + rank))).collect();
        memory.before(&self.aside, Access::Write)?;
        let met = self.meet(&self.aside, &sends, &receives).and_then(|()| self.finished(&self.aside));
        memory.after(self.aside.point(), Access::Write, met.is_ok());
        met
    }

    fn handle(&self) -> MutexGuard<'_, Option<Raw>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the communicator, and aborts it if that fails.
    fn with(&self, call: &'static str, work: impl FnOnce(Handle) -> Result<()>) -> Result<()> {
        let connection = self.handle();
        let outcome = match *connection {
            Some(Raw(handle)) => work(handle),
            None => return Err(aborted(call)),
        };
        drop(connection);
        outcome.inspect_err(|_| self.abort())
    }

    /// Aborts the communicator and all its pending work.
    fn abort(&self) {
        self.others.abandon();
        if let Some(Raw(handle)) = self.handle().take() {
            // SAFETY: it is not used any more.
            unsafe { (self.nccl.abort)(handle) };
        }
    }

    /// Waits until a non-blocking call is done.
    fn settle(&self, call: &'static str, handle: Handle) -> Result<()> {
        self.wait(call, || Ok(self.state(call, handle)? != IN_PROGRESS))
    }

    /// The status of a non-blocking call.
    fn state(&self, call: &'static str, handle: Handle) -> Result<Code> {
        let mut code = SUCCESS;
        // SAFETY: writes one integer.
        self.nccl.check("ncclCommGetAsyncError", unsafe { (self.nccl.async_error)(handle, &raw mut code) })?;
        self.nccl.check(call, code).map(|()| code)
    }

    /// Polls `done` until it returns true, the timeout has passed, or another rank has failed.
    fn wait(&self, call: &'static str, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
        let start = Instant::now();
        while !done()? {
            match start.elapsed() {
                late if late > self.timeout => {
                    let why = format!("rank {} waited {:?} for the others", self.rank, self.timeout);
                    return Err(Error::Nccl { call, why });
                }
                eager if eager < EAGER => std::thread::yield_now(),
                _ => {
                    self.others.check(call)?;
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        }
        Ok(())
    }

    fn queue<'q>(&self, queue: &'q BackendStream) -> Result<&'q GpuStream> {
        match queue {
            BackendStream::Cuda(queue) if Arc::ptr_eq(queue.gpu(), &self.gpu) => Ok(queue),
            _ => Err(self.foreign("the stream")),
        }
    }

    fn foreign(&self, what: &str) -> Error {
        Error::ForeignDevice { what: what.into(), expected: self.gpu.limits.name.clone(), got: "another".into() }
    }

    /// Starts sends and receives, and concurrently copies of what the GPU sends to itself. Later work on `queue` waits
    /// for all of them.
    fn start_all<'p>(
        &self,
        queue: &GpuStream,
        sends: &[(usize, Part<'p>)],
        receives: &[(usize, Part<'p>)],
    ) -> Result<()> {
        let apart = |all: &[(usize, Part<'p>)]| -> [Vec<(usize, Part<'p>)>; 2] {
            let (own, others) = all.iter().copied().partition(|(rank, _)| *rank == self.rank);
            [own, others]
        };
        let ([kept, sends], [places, receives]) = (apart(sends), apart(receives));
        self.aside.wait(&mut queue.point())?;
        let copies = kept.iter().zip(&places).try_for_each(|((_, from), (_, to))| {
            // SAFETY: both streams wait for earlier users, and `queue` waits for `aside` below.
            unsafe { start_between(&self.aside, *from, *to) }
        });
        let outcome = copies.and_then(|()| self.start(queue, &sends, &receives));
        // also after a failure, because work that was started uses the memory
        let joined = queue.wait(&mut self.aside.point());
        outcome.and(joined)
    }

    /// Starts sends and receives as one NCCL group.
    fn start(&self, queue: &GpuStream, sends: &[(usize, Part<'_>)], receives: &[(usize, Part<'_>)]) -> Result<()> {
        // `meets` has an effect, so it is called for all
        let new = sends.iter().chain(receives).filter(|(_, part)| part.memory.meets()).count();
        if new > 0 {
            return self.meet(queue, sends, receives);
        }
        self.with("ncclGroupEnd", |handle| self.group(handle, queue, sends, receives, || ()))
    }

    /// Starts a group at first contact between ranks, or between memory and ranks. The call then waits for other ranks,
    /// so another thread watches it. Later calls do not wait.
    fn meet(&self, queue: &GpuStream, sends: &[(usize, Part<'_>)], receives: &[(usize, Part<'_>)]) -> Result<()> {
        let call = "ncclGroupEnd";
        let [begun, done] = &[const { AtomicBool::new(false) }; 2];
        let start = move || {
            self.gpu.bind()?;
            // hold the lock until the library waits for other ranks; an abort may end that wait
            let connection = self.handle();
            let Some(Raw(handle)) = *connection else { return Err(aborted(call)) };
            let outcome = self.group(handle, queue, sends, receives, || {
                drop(connection);
                begun.store(true, Ordering::Release);
            });
            done.store(true, Ordering::Release);
            outcome
        };
        let until = move |flag: &AtomicBool| self.wait(call, || Ok(flag.load(Ordering::Acquire)));
        let watch = move || until(begun).and_then(|()| until(done));
        let tasks: [Box<dyn FnOnce() -> Result<()> + Send + '_>; 2] = [Box::new(watch), Box::new(start)];
        // the task that fails ends the other one
        let tasks = tasks.map(|task| move || task().inspect_err(|_| self.abort()));
        threads::each_on_its_own(tasks.into())?.into_iter().collect()
    }

    /// Starts sends and receives. `noted` is called before `ncclGroupEnd`, when the library knows all of them and
    /// begins to work.
    fn group(
        &self,
        handle: Handle,
        queue: &GpuStream,
        sends: &[(usize, Part<'_>)],
        receives: &[(usize, Part<'_>)],
        noted: impl FnOnce(),
    ) -> Result<()> {
        let (nccl, stream) = (self.nccl, queue.stream().cu_stream().cast::<c_void>());
        let address = |part: &Part<'_>| part.memory.address(part.first) as *mut c_void;
        // SAFETY: all memory is of this GPU and holds the bytes; the stream waits for its earlier users. It is not
        // freed before `finished`, or an abort, has ended this work.
        unsafe {
            nccl.check("ncclGroupStart", (nccl.group_start)())?;
            let sent = sends.iter().try_for_each(|(to, part)| {
                let code = (nccl.send)(address(part), part.len, BYTE, *to as i32, handle, stream);
                nccl.check("ncclSend", code)
            });
            let received = receives.iter().try_for_each(|(from, part)| {
                let code = (nccl.receive)(address(part), part.len, BYTE, *from as i32, handle, stream);
                nccl.check("ncclRecv", code)
            });
            noted();
            let ended = nccl.check("ncclGroupEnd", (nccl.group_end)());
            sent.and(received).and(ended)
        }
    }

    /// Waits until all work on the stream is done.
    fn finished(&self, queue: &GpuStream) -> Result<()> {
        let event = queue.stream().record_event(None).map_err(failed("cuEventRecord"))?;
        self.with("ncclRecv", |handle| {
            self.wait("ncclRecv", || self.state("ncclRecv", handle).map(|_| event.is_complete()))
        })
    }
}

impl Communicator for NcclCommunicator {
    fn memory(&self, bytes: usize) -> Result<Option<Memory>> {
        let shared = Shared::new(self.nccl, &self.gpu, &self.handle, bytes)?;
        Ok(Some(Memory::Cuda(CudaMemory::shared(shared, bytes))))
    }

    fn exchange(
        &self,
        queue: &BackendStream,
        sends: &[(usize, Read<'_>)],
        receives: Vec<(usize, Write<'_>)>,
    ) -> Result<()> {
        let queue = self.queue(queue)?;
        self.gpu.bind()?;
        let mine = |part: Part<'_>| match part.memory.is_on(&self.gpu) {
            true => part.memory.check(part.first, part.len),
            false => Err(self.foreign("memory")),
        };
        let sends = sends.iter().map(|(to, memory)| match memory {
            Read::Cuda(part) => mine(*part).map(|()| (*to, *part)),
            Read::Host(_) => Err(self.foreign("memory")),
        });
        let receives = receives.into_iter().map(|(from, memory)| match memory {
            Write::Cuda(part) => mine(part).map(|()| (from, part)),
            Write::Host(_) => Err(self.foreign("memory")),
        });
        let (sends, receives) = (sends.collect::<Result<Vec<_>>>()?, receives.collect::<Result<Vec<_>>>()?);
        sends.iter().try_for_each(|(_, part)| part.memory.before(queue, Access::Read))?;
        receives.iter().try_for_each(|(_, part)| part.memory.before(queue, Access::Write))?;
        let outcome = self.start_all(queue, &sends, &receives);
        let point = queue.point();
        sends.iter().for_each(|(_, part)| part.memory.after(point.clone(), Access::Read, outcome.is_ok()));
        receives.iter().for_each(|(_, part)| part.memory.after(point.clone(), Access::Write, outcome.is_ok()));
        outcome
    }

    fn finish(&self, queue: &BackendStream) -> Result<()> {
        let queue = self.queue(queue)?;
        self.gpu.bind()?;
        self.finished(queue)
    }

    fn agree(&self, what: &str) -> Result<()> {
        self.others.agree(what)
    }

    fn abandon(&self) {
        self.others.abandon();
    }
}

impl Drop for NcclCommunicator {
    fn drop(&mut self) {
        if let Some(Raw(handle)) = self.handle().take() {
            // `finish` has waited for all work of this rank, but other processes may still read what it sent
            drop(self.others.agree("this is the end"));
            // SAFETY: it is not used any more.
            unsafe { (self.nccl.abort)(handle) };
        }
    }
}

impl core::fmt::Debug for NcclCommunicator {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "NcclCommunicator({} on {})", self.rank, self.gpu.limits.name)
    }
}
