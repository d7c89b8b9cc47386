//! Communication between the GPUs of a group through NCCL. Each GPU is a rank of the group.

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
use crate::cuda::{CudaMemory, Gpu, GpuSlice, GpuStream};
use crate::memory::{Memory, Read, Write};
use crate::threads;
use ringforge_math::error::{Error, Result};

/// How long a thread polls without sleeping. Afterwards it sleeps between polls.
const EAGER: Duration = Duration::from_millis(20);

/// One GPU's end of the connections to the other ranks.
pub(crate) struct NcclCommunicator {
    nccl: &'static Nccl,
    gpu: Arc<Gpu>,
    rank: usize,
    timeout: Duration,
    /// `None` after a call failed: the communicator was then aborted, so nothing can be sent and no pending work uses
    /// memory.
    handle: Arc<Mutex<Option<Raw>>>,
    others: Arc<Others>,
    /// The stream that copies messages from the GPU to itself, while sends to other ranks are under way.
    aside: GpuStream,
}

/// Allocates memory for NCCL's handle of a communicator. NCCL may still write to it after a call that timed out; the
/// memory is then never freed.
fn place() -> *mut Handle {
    Box::into_raw(Box::new(core::ptr::null_mut()))
}

fn aborted(call: &'static str) -> Error {
    Error::Nccl { call, why: "the connection was aborted".into() }
}

/// Connects a GPU with the other ranks of its group, and returns once all ranks have connected. Fails if the backend is
/// not a GPU, or if the connection fails.
pub fn connect(backend: &dyn Backend, to: &Connection) -> Result<Box<dyn Communicator>> {
    let Some(gpu) = backend.gpu() else {
        let why = "a group must consist of GPUs only, or only of devices that use host memory".into();
        return Err(Error::Unsupported { job: format!("a connection from {} to others", backend.limits().name), why });
    };
    Ok(Box::new(NcclCommunicator::new(gpu, to)?))
}

/// The data with which a rank connects to the other ranks.
#[derive(Clone, Debug)]
pub struct Connection {
    #[doc(hidden)]
    pub id: UniqueId,
    #[doc(hidden)]
    pub rank: usize,
    #[doc(hidden)]
    pub size: usize,
    /// Time limit for waiting on other ranks.
    #[doc(hidden)]
    pub timeout: Duration,
    #[doc(hidden)]
    pub others: Arc<Others>,
}

/// Tells whether other ranks have stopped, which NCCL does not report.
#[derive(Debug, Default)]
pub struct Others {
    /// Whether a rank of this process has stopped.
    abandoned: AtomicBool,
    /// Control connections to the other processes, if the group has several processes.
    control: Option<Control>,
}

impl Others {
    /// Watches the ranks of other processes over these control connections.
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
        // ranks of one process need no check, because one object of this process passes the same `what` to all of them
        self.control.as_ref().map_or(Ok(()), |control| control.agree(what))
    }

    fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.control.iter().for_each(Control::abandon);
    }
}

impl NcclCommunicator {
    /// Creates a GPU's communicator. Returns when all ranks have connected.
    pub(crate) fn new(gpu: &Arc<Gpu>, to: &Connection) -> Result<Self> {
        let Connection { id, rank, size, timeout, others } = to.clone();
        gpu.bind()?;
        let (nccl, aside) = (Nccl::get()?, GpuStream::new(gpu, Priority::Urgent)?);
        let (handle, mut config) = (place(), Config::new(false));
        // SAFETY: the GPU's context is current; memory from `place` is not freed while NCCL may write to it.
        nccl.check("ncclCommInitRankConfig", unsafe {
            (nccl.init)(handle, size as i32, id, rank as i32, &raw mut config)
        })?;
        // SAFETY: NCCL writes the handle of a non-blocking communicator before the call returns.
        let connection = Arc::new(Mutex::new(Some(Raw(unsafe { handle.read() }))));
        let this = Self { nccl, gpu: gpu.clone(), rank, timeout, handle: connection, others, aside };
        this.with("ncclCommInitRankConfig", |handle| this.settle("ncclCommInitRankConfig", handle))?;
        // SAFETY: NCCL does not write to the handle's memory any more.
        drop(unsafe { Box::from_raw(handle) });
        let parent = this.hasten()?;
        let met = this.connect(size);
        // SAFETY: `parent` is not used any more. No rank needs it: either all ranks have met over the communicator that
        // replaces it, or the connection has failed.
        unsafe { (nccl.abort)(parent.0) };
        met.map(|()| this)
    }

    /// Replaces the non-blocking communicator by a blocking one, because NCCL starts a thread for every non-blocking
    /// call. Blocking calls wait for other ranks only at the first contact with them, which
    /// [`NcclCommunicator::connect`] makes.
    ///
    /// Returns the old communicator, which other ranks may still need.
    fn hasten(&self) -> Result<Raw> {
        let call = "ncclCommSplit";
        let (child, mut config) = (place(), Config::new(true));
        self.with(call, |parent| {
            // SAFETY: the GPU's context is current; memory from `place` is not freed while NCCL may write to it.
            self.nccl.check(call, unsafe { (self.nccl.split)(parent, 0, self.rank as i32, child, &raw mut config) })?;
            self.settle(call, parent)
        })?;
        // SAFETY: NCCL does not write to the handle's memory any more.
        let child = unsafe { *Box::from_raw(child) };
        self.handle().replace(Raw(child)).ok_or_else(|| aborted(call))
    }

    /// Exchanges one byte with every other rank, so that later calls are not the first contact with any rank.
    fn connect(&self, size: usize) -> Result<()> {
        let memory = CudaMemory::new(&self.gpu, 2 * size, Stay::Run)?;
        let part = |first| GpuSlice { memory: &memory, first, len: 1 };
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

    /// Calls `work` with the communicator's handle, and aborts the communicator if `work` fails.
    fn with(&self, call: &'static str, work: impl FnOnce(Handle) -> Result<()>) -> Result<()> {
        let connection = self.handle();
        let outcome = match *connection {
            Some(Raw(handle)) => work(handle),
            None => return Err(aborted(call)),
        };
        drop(connection);
        outcome.inspect_err(|_| self.abort())
    }

    /// Aborts the communicator with all its pending work, and tells the other ranks that this one has stopped.
    fn abort(&self) {
        self.others.abandon();
        if let Some(Raw(handle)) = self.handle().take() {
            // SAFETY: the communicator is not used any more.
            unsafe { (self.nccl.abort)(handle) };
        }
    }

    /// Waits until a non-blocking call on the communicator is done.
    fn settle(&self, call: &'static str, handle: Handle) -> Result<()> {
        self.wait(call, || Ok(self.state(call, handle)? != IN_PROGRESS))
    }

    /// Queries the status of the last non-blocking call. Returns an error if that call failed.
    fn state(&self, call: &'static str, handle: Handle) -> Result<Code> {
        let mut code = SUCCESS;
        // SAFETY: the call only writes one integer.
        self.nccl.check("ncclCommGetAsyncError", unsafe { (self.nccl.async_error)(handle, &raw mut code) })?;
        self.nccl.check(call, code).map(|()| code)
    }

    /// Polls `done` until it returns true. Returns an error if `done` fails, if the timeout has passed, or if another
    /// rank has failed.
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

    /// Starts sends and receives on `queue`, and at the same time copies messages of the GPU to itself on another
    /// stream. Later work on `queue` waits for all of them.
    fn start_all<'p>(
        &self,
        queue: &GpuStream,
        sends: &[(usize, GpuSlice<'p>)],
        receives: &[(usize, GpuSlice<'p>)],
    ) -> Result<()> {
        let apart = |all: &[(usize, GpuSlice<'p>)]| -> [Vec<(usize, GpuSlice<'p>)>; 2] {
            let (own, others) = all.iter().copied().partition(|(rank, _)| *rank == self.rank);
            [own, others]
        };
        let ([kept, sends], [places, receives]) = (apart(sends), apart(receives));
        self.aside.wait(&mut queue.point())?;
        let copies = kept.iter().zip(&places).try_for_each(|((_, from), (_, to))| {
            // SAFETY: both streams wait for earlier users of the memory, and `queue` waits for `aside` below.
            unsafe { start_between(&self.aside, *from, *to) }
        });
        let outcome = copies.and_then(|()| self.start(queue, &sends, &receives));
        // wait even after a failure, because copies that were started use the memory
        let joined = queue.wait(&mut self.aside.point());
        outcome.and(joined)
    }

    /// Starts sends and receives as one NCCL group.
    fn start(
        &self,
        queue: &GpuStream,
        sends: &[(usize, GpuSlice<'_>)],
        receives: &[(usize, GpuSlice<'_>)],
    ) -> Result<()> {
        // `meets` records the first contact, so it must be called for all memory (`any` would stop early)
        let new = sends.iter().chain(receives).filter(|(_, part)| part.memory.meets()).count();
        if new > 0 {
            return self.meet(queue, sends, receives);
        }
        self.with("ncclGroupEnd", |handle| self.group(handle, queue, sends, receives, || ()))
    }

    /// Starts sends and receives as one NCCL group, at the first contact of two ranks or the first use of some memory.
    /// NCCL's call then waits for other ranks, so another thread enforces the time limit. Later calls do not wait.
    fn meet(
        &self,
        queue: &GpuStream,
        sends: &[(usize, GpuSlice<'_>)],
        receives: &[(usize, GpuSlice<'_>)],
    ) -> Result<()> {
        let call = "ncclGroupEnd";
        let [begun, done] = &[const { AtomicBool::new(false) }; 2];
        let start = move || {
            self.gpu.bind()?;
            // hold the lock until NCCL begins to wait for other ranks, so that an abort can end that wait
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
        // if one task fails, it aborts the communicator, which ends the other task
        let tasks = tasks.map(|task| move || task().inspect_err(|_| self.abort()));
        threads::each_on_its_own(tasks.into())?.into_iter().collect()
    }

    /// Starts sends and receives as one NCCL group. Calls `noted` just before `ncclGroupEnd`, which starts the work and
    /// may wait for other ranks.
    fn group(
        &self,
        handle: Handle,
        queue: &GpuStream,
        sends: &[(usize, GpuSlice<'_>)],
        receives: &[(usize, GpuSlice<'_>)],
        noted: impl FnOnce(),
    ) -> Result<()> {
        let (nccl, stream) = (self.nccl, queue.stream().cu_stream().cast::<c_void>());
        let address = |part: &GpuSlice<'_>| part.memory.address(part.first) as *mut c_void;
        // SAFETY: all memory is on this GPU and holds the bytes; the stream waits for the memory's earlier users. The
        // memory is not freed before `finished`, or an abort, has ended this work.
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

    /// Waits on this thread until all work on the stream is done. Fails after the timeout, or if another rank has
    /// failed.
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
        // what a rank sent before it stopped might still arrive
        self.others.check("ncclSend")?;
        self.gpu.bind()?;
        let mine = |part: GpuSlice<'_>| match part.memory.is_on(&self.gpu) {
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
            // `finish` has waited for this rank's own work, but other processes may still receive its messages:
            // agreeing waits for them
            drop(self.others.agree("this is the end"));
            // SAFETY: the communicator is not used any more.
            unsafe { (self.nccl.abort)(handle) };
        }
    }
}

impl core::fmt::Debug for NcclCommunicator {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "NcclCommunicator({} on {})", self.rank, self.gpu.limits.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;

    /// Both ends of a connection between two GPUs.
    fn ends(gpus: &[Device]) -> Vec<NcclCommunicator> {
        let (id, others, timeout) =
            (UniqueId::new().expect("an id"), Arc::<Others>::default(), Duration::from_secs(20));
        let end = |(rank, device): (usize, &Device)| {
            let to = Connection { id, rank, size: 2, timeout, others: others.clone() };
            let gpu = device.backend().gpu().expect("a GPU").clone();
            move || NcclCommunicator::new(&gpu, &to)
        };
        let tasks = gpus.iter().enumerate().map(end).collect();
        threads::each_on_its_own(tasks).expect("threads").into_iter().collect::<Result<_>>().expect("a connection")
    }

    /// Sends the first half of new memory to the other rank, and receives the second half.
    fn exchange(end: &NcclCommunicator) -> Result<()> {
        let bytes = 1 << 16;
        let queue = BackendStream::Cuda(Arc::new(GpuStream::new(&end.gpu, Priority::Normal)?));
        let Some(Memory::Cuda(memory)) = end.memory(2 * bytes)? else { unreachable!("NCCL has memory of its own") };
        let half = |first| GpuSlice { memory: &memory, first, len: bytes };
        let other = 1 - end.rank;
        end.exchange(&queue, &[(other, Read::Cuda(half(0)))], vec![(other, Write::Cuda(half(bytes)))])?;
        end.finish(&queue)
    }

    /// A rank is aborted by another thread, a little later in each turn, while its first messages wait for a rank that
    /// never sends any.
    #[test]
    fn groups_of_messages_can_be_aborted() {
        let gpus: Vec<Device> = (0..2).map_while(|ordinal| Device::cuda(ordinal).ok()).collect();
        if gpus.len() < 2 {
            assert!(std::env::var_os("RINGFORGE_REQUIRE_GPUS").is_none(), "there are {} GPUs", gpus.len());
            eprintln!("skipped: there are {} GPUs", gpus.len());
            return;
        }
        for turn in 0..16 {
            let (ends, start) = (ends(&gpus), Instant::now());
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| exchange(&ends[0]));
                std::thread::sleep(Duration::from_micros(100 * turn));
                ends[0].abort();
                let outcome = waiting.join().expect("no panic");
                assert!(matches!(outcome, Err(Error::Nccl { .. })), "turn {turn}: {outcome:?}");
            });
            assert!(start.elapsed() < Duration::from_secs(10), "turn {turn} took {:?}", start.elapsed());
            // the other rank learns of it
            assert!(matches!(exchange(&ends[1]), Err(Error::Nccl { .. })), "turn {turn}");
        }
        let ends = ends(&gpus);
        let tasks = ends.iter().map(|end| || exchange(end)).collect();
        let met = threads::each_on_its_own(tasks).expect("threads").into_iter().collect::<Result<Vec<()>>>();
        met.expect("messages after aborted ones");
    }
}
