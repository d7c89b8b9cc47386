//! What GPUs send one another, through NCCL.

#![allow(unsafe_code)]

use core::ffi::c_void;
use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::backend::{Backend, Queue};
use crate::communicator::{Communicator, Control};
use crate::cuda::copy::start_between;
use crate::cuda::driver::failed;
use crate::cuda::memory::Access;
use crate::cuda::nccl::library::{BYTE, Code, Config, Handle, IN_PROGRESS, Nccl, SUCCESS};
use crate::cuda::nccl::{Raw, Shared, UniqueId};
use crate::cuda::pool::Stay;
use crate::cuda::queue::Haste;
use crate::cuda::{CudaMemory, CudaQueue, Gpu, Part};
use crate::memory::{Memory, Read, Write};
use crate::threads;
use ringforge_math::error::{Error, Result};

/// How long a thread looks again and again before it sleeps between looks.
const EAGER: Duration = Duration::from_millis(20);

/// The end of one GPU.
pub(crate) struct NcclCommunicator {
    nccl: &'static Nccl,
    gpu: Arc<Gpu>,
    rank: usize,
    timeout: Duration,
    /// None once something failed: nothing can be sent any more, and no memory is in use.
    handle: Arc<Mutex<Option<Raw>>>,
    others: Arc<Others>,
    /// For what the GPU sends itself, beside what it sends others.
    aside: CudaQueue,
}

/// Where the library writes a handle; it may do so after a call that was given up, which leaves the place to it for ever.
fn place() -> *mut Handle {
    Box::into_raw(Box::new(core::ptr::null_mut()))
}

fn aborted(call: &'static str) -> Error {
    Error::Nccl { call, why: "the connection was aborted".into() }
}

/// Connects a device with others.
pub fn connect(backend: &dyn Backend, to: &Connection) -> Result<Box<dyn Communicator>> {
    let Some(gpu) = backend.gpu() else {
        let why = "devices of a group are all GPUs, or have all the host's memory".into();
        return Err(Error::Unsupported { job: format!("a connection from {} to others", backend.limits().name), why });
    };
    Ok(Box::new(NcclCommunicator::new(gpu, to)?))
}

/// What ranks need to find one another.
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

/// What is known of the other ranks, which NCCL does not tell.
#[derive(Debug, Default)]
pub struct Others {
    /// Whether one of this process' ranks goes no further.
    abandoned: AtomicBool,
    /// To the other processes, where there are any.
    control: Option<Control>,
}

impl Others {
    /// Those of other processes.
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
        // ranks of one process are given the same by the one value that they belong to
        self.control.as_ref().map_or(Ok(()), |control| control.agree(what))
    }

    fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.control.iter().for_each(Control::abandon);
    }
}

impl NcclCommunicator {
    /// The end of a GPU; returns when all ranks are there.
    pub(crate) fn new(gpu: &Arc<Gpu>, to: &Connection) -> Result<Self> {
        let Connection { id, rank, size, timeout, others } = to.clone();
        gpu.bind()?;
        let (nccl, aside) = (Nccl::get()?, CudaQueue::new(gpu, Haste::Urgent)?);
        let (handle, mut config) = (place(), Config::new(false));
        // SAFETY: the GPU's context is current; `place` says why the handle may be written later.
        nccl.check("ncclCommInitRankConfig", unsafe {
            (nccl.init)(handle, size as i32, id, rank as i32, &raw mut config)
        })?;
        // SAFETY: a communicator that is not blocking is written before the call returns.
        let connection = Arc::new(Mutex::new(Some(Raw(unsafe { handle.read() }))));
        let this = Self { nccl, gpu: gpu.clone(), rank, timeout, handle: connection, others, aside };
        this.with("ncclCommInitRankConfig", |handle| this.settle("ncclCommInitRankConfig", handle))?;
        // SAFETY: nobody writes it any more.
        drop(unsafe { Box::from_raw(handle) });
        let parent = this.hasten()?;
        let met = this.connect(size);
        // SAFETY: it is used no more, and no rank needs it for the other, with which all have met.
        unsafe { (nccl.abort)(parent.0) };
        met.map(|()| this)
    }

    /// Has calls do their work before they return, where the library would start a thread for each of them; what they wait
    /// for is over with [`NcclCommunicator::connect`].
    ///
    /// Returns what the connection was, which others may still need.
    fn hasten(&self) -> Result<Raw> {
        let call = "ncclCommSplit";
        let (child, mut config) = (place(), Config::new(true));
        self.with(call, |parent| {
            // SAFETY: the GPU's context is current; `place` says why the handle may be written later.
            self.nccl.check(call, unsafe { (self.nccl.split)(parent, 0, self.rank as i32, child, &raw mut config) })?;
            self.settle(call, parent)
        })?;
        // SAFETY: nobody writes it any more.
        let child = unsafe { *Box::from_raw(child) };
        self.handle().replace(Raw(child)).ok_or_else(|| aborted(call))
    }

    /// Sends to every rank and receives from it for the first time.
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

    /// Uses the connection; where that fails it is aborted.
    fn with(&self, call: &'static str, work: impl FnOnce(Handle) -> Result<()>) -> Result<()> {
        let connection = self.handle();
        let outcome = match *connection {
            Some(Raw(handle)) => work(handle),
            None => return Err(aborted(call)),
        };
        drop(connection);
        outcome.inspect_err(|_| self.abort())
    }

    /// Ends all that was started.
    fn abort(&self) {
        self.others.abandon();
        if let Some(Raw(handle)) = self.handle().take() {
            // SAFETY: it is used no more.
            unsafe { (self.nccl.abort)(handle) };
        }
    }

    /// Waits until what was called is done.
    fn settle(&self, call: &'static str, handle: Handle) -> Result<()> {
        self.wait(call, || Ok(self.state(call, handle)? != IN_PROGRESS))
    }

    /// What has become of a call.
    fn state(&self, call: &'static str, handle: Handle) -> Result<Code> {
        let mut code = SUCCESS;
        // SAFETY: writes one integer.
        self.nccl.check("ncclCommGetAsyncError", unsafe { (self.nccl.async_error)(handle, &raw mut code) })?;
        self.nccl.check(call, code).map(|()| code)
    }

    /// Looks until it is done, too late, or of no more use.
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

    fn queue<'q>(&self, queue: &'q Queue) -> Result<&'q CudaQueue> {
        match queue {
            Queue::Cuda(queue) if Arc::ptr_eq(queue.gpu(), &self.gpu) => Ok(queue),
            _ => Err(self.foreign("the queue")),
        }
    }

    fn foreign(&self, what: &str) -> Error {
        Error::ForeignDevice { what: what.into(), expected: self.gpu.limits.name.clone(), got: "another".into() }
    }

    /// Starts sends and receives, and beside them copies of what the GPU sends itself; the queue goes on after all of them.
    fn start_all<'p>(
        &self,
        queue: &CudaQueue,
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
            // SAFETY: both queues wait for earlier users, and the other for this one.
            unsafe { start_between(&self.aside, *from, *to) }
        });
        let outcome = copies.and_then(|()| self.start(queue, &sends, &receives));
        // also where something failed: what was started uses the memory
        let joined = queue.wait(&mut self.aside.point());
        outcome.and(joined)
    }

    /// Starts sends and receives as one group.
    fn start(&self, queue: &CudaQueue, sends: &[(usize, Part<'_>)], receives: &[(usize, Part<'_>)]) -> Result<()> {
        // all are asked
        let new = sends.iter().chain(receives).filter(|(_, part)| part.memory.meets()).count();
        if new > 0 {
            return self.meet(queue, sends, receives);
        }
        self.with("ncclGroupEnd", |handle| self.group(handle, queue, sends, receives, || ()))
    }

    /// The same where ranks, or memory and ranks, meet for the first time. For that a rank waits for the others, which is
    /// watched from another thread; later it does not.
    fn meet(&self, queue: &CudaQueue, sends: &[(usize, Part<'_>)], receives: &[(usize, Part<'_>)]) -> Result<()> {
        let call = "ncclGroupEnd";
        let [begun, done] = &[const { AtomicBool::new(false) }; 2];
        let start = move || {
            self.gpu.bind()?;
            // under the lock until the library waits for others, which an abort may end
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
        // whichever of the two fails ends the other
        let tasks = tasks.map(|task| move || task().inspect_err(|_| self.abort()));
        threads::each_on_its_own(tasks.into())?.into_iter().collect()
    }

    /// Starts sends and receives; `noted` is called when the library knows them all and begins to work.
    fn group(
        &self,
        handle: Handle,
        queue: &CudaQueue,
        sends: &[(usize, Part<'_>)],
        receives: &[(usize, Part<'_>)],
        noted: impl FnOnce(),
    ) -> Result<()> {
        let (nccl, stream) = (self.nccl, queue.stream().cu_stream().cast::<c_void>());
        let address = |part: &Part<'_>| part.memory.address(part.first) as *mut c_void;
        // SAFETY: all memory is of this GPU and holds the bytes; the queue waits for its earlier users, and it is not freed
        // before `finished`, or an abort, has ended this work.
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

    /// Waits until all work on the queue is done.
    fn finished(&self, queue: &CudaQueue) -> Result<()> {
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

    fn exchange(&self, queue: &Queue, sends: &[(usize, Read<'_>)], receives: Vec<(usize, Write<'_>)>) -> Result<()> {
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

    fn finish(&self, queue: &Queue) -> Result<()> {
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
            // nothing of this rank is under way, as `finish` has waited for it; other processes may still read what it sent
            drop(self.others.agree("this is the end"));
            // SAFETY: it is used no more.
            unsafe { (self.nccl.abort)(handle) };
        }
    }
}

impl core::fmt::Debug for NcclCommunicator {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "NcclCommunicator({} on {})", self.rank, self.gpu.limits.name)
    }
}
