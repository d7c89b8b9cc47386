//! Streams, and points in their work that other streams can wait for (events).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use cudarc::driver::sys::{CUevent_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaEvent, CudaStream, result};

use crate::cuda::driver::{Gpu, failed};
use crate::cuda::graph::{Bytes, CudaRecording, Recorder};
use crate::cuda::memory::{Access, CudaMemory};
use ringforge_math::error::{Error, Result};

/// The first driver version with `cuCtxRecordEvent`, which records an event of all work of a context.
pub(crate) const CONTEXT_EVENTS: i32 = 12_050;
/// The first driver version that lets a capture choose the dependencies of its nodes.
pub(super) const CHOOSES_DEPENDENCIES: i32 = 12_030;
/// The first driver version with the function by which cudarc measures the time between events.
pub(super) const TELLS_TIME: i32 = 12_080;

/// A CUDA stream that is in use. On drop it returns to the pool, unless it captures a graph.
pub struct GpuStream {
    line: Arc<PooledStream>,
    gpu: Arc<Gpu>,
    /// The work received so far, if the stream is capturing a graph.
    recorder: Option<Mutex<Recorder>>,
}

/// The CUDA stream itself. Memory may still refer to it after the drop of the last `GpuStream` that could add work to
/// it.
struct PooledStream {
    stream: Arc<CudaStream>,
    /// Differs from that of every other stream of the process, also of other GPUs.
    number: u64,
    priority: Priority,
}

/// The priority of a stream. If work of several streams is ready to start, the GPU starts the work of urgent streams
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    Normal,
    /// Higher priority than `Normal`.
    Urgent,
}

/// A pool of streams that are not in use. It exists because creating a stream costs more than a small run.
#[derive(Default)]
pub(crate) struct StreamPool(Mutex<VecDeque<Arc<PooledStream>>>);

impl StreamPool {
    /// Takes the least recently used idle stream of this priority, because it has the least work left. Returns `None`
    /// if no stream of this priority is idle.
    fn take(&self, priority: Priority) -> Option<Arc<PooledStream>> {
        let mut lines = self.lines();
        let oldest = lines.iter().position(|line| line.priority == priority)?;
        lines.remove(oldest)
    }

    fn give(&self, line: Arc<PooledStream>) {
        let mut lines = self.lines();
        if lines.len() < 16 {
            lines.push_back(line);
        }
    }

    fn lines(&self) -> MutexGuard<'_, VecDeque<Arc<PooledStream>>> {
        lock(&self.0)
    }
}

impl PooledStream {
    fn new(gpu: &Gpu, priority: Priority) -> Result<Arc<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        gpu.bind()?;
        let stream = match priority {
            Priority::Normal => gpu.context.new_stream(),
            Priority::Urgent => result::stream::get_priority_range()
                .and_then(|(_, greatest)| gpu.context.new_stream_with_priority(greatest)),
        };
        let stream = stream.map_err(failed("cuStreamCreate"))?;
        Ok(Arc::new(Self { stream, number: NEXT.fetch_add(1, Ordering::Relaxed), priority }))
    }
}

/// A lock that graph captures hold shared, and calls of `cuCtxRecordEvent` and `cuCtxSynchronize` hold exclusively.
/// While a stream of the context captures, the driver rejects these two calls, and they would invalidate the capture.
/// One lock serves the whole process, because all of the engine's devices on one GPU share the GPU's primary context.
static RECORDING: RwLock<()> = RwLock::new(());

/// Runs `work`, which captures a graph. Until `work` returns, [`while_nothing_records`] waits.
pub(crate) fn while_recording<T>(work: impl FnOnce() -> T) -> T {
    let _shared = RECORDING.read().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Runs a call that the driver rejects while a stream of the context captures. Waits first until no capture is under
/// way.
pub(crate) fn while_nothing_records<T>(work: impl FnOnce() -> T) -> T {
    let _alone = RECORDING.write().unwrap_or_else(PoisonError::into_inner);
    work()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GpuStream {
    pub(crate) fn new(gpu: &Arc<Gpu>, priority: Priority) -> Result<Self> {
        let line = match gpu.idle.take(priority) {
            Some(line) => line,
            None => PooledStream::new(gpu, priority)?,
        };
        gpu.queues.fetch_add(1, Ordering::Relaxed);
        Ok(Self { line, gpu: gpu.clone(), recorder: None })
    }

    /// A stream that captures launches and wipes instead of running them, until [`GpuStream::recorded`] is called.
    ///
    /// The CUDA stream is not taken from the pool, so no other thread can add work to the capture, or wait for a point
    /// in it.
    pub(crate) fn recorder(gpu: &Arc<Gpu>) -> Result<Self> {
        let line = PooledStream::new(gpu, Priority::Normal)?;
        // relaxed mode suffices, because no other code has access to this new stream
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        line.stream.begin_capture(mode).map_err(failed("cuStreamBeginCapture"))?;
        gpu.queues.fetch_add(1, Ordering::Relaxed);
        Ok(Self { line, gpu: gpu.clone(), recorder: Some(Mutex::default()) })
    }

    /// Ends the capture and returns the graph. `old`, an earlier graph, is updated in place if possible and otherwise
    /// dropped.
    pub(crate) fn recorded(&self, old: Option<CudaRecording>) -> Result<CudaRecording> {
        self.gpu.bind()?;
        let recorder = self.recorder.as_ref().map(|recorder| std::mem::take(&mut *lock(recorder)));
        CudaRecording::end(&self.line.stream, recorder.unwrap_or_default(), old)
    }

    /// Adds this access to the graph's list of memory uses and returns true if the stream is capturing; the caller then
    /// must not wait for earlier users of the memory. Otherwise returns false.
    pub(crate) fn records(&self, memory: &CudaMemory, access: Access) -> bool {
        self.recorder.as_ref().map(|recorder| lock(recorder).uses.note(memory, access)).is_some()
    }

    /// Whether this stream is capturing a graph, so that its work has not been done yet.
    pub(crate) fn is_recorder(&self) -> bool {
        self.recorder.is_some()
    }

    /// Puts `work` on the stream. The work uses only the bytes that `bytes` returns; in a captured graph, it depends
    /// only on earlier work that conflicts with them. The argument of `work` is true if the work may begin before the
    /// previous launch ends. In a graph, this holds only if the work depends on a single kernel.
    pub(crate) fn add(&self, bytes: impl FnOnce() -> Vec<Bytes>, work: impl FnOnce(bool) -> Result<()>) -> Result<()> {
        match &self.recorder {
            Some(recorder) if self.gpu.driver >= CHOOSES_DEPENDENCIES => {
                lock(recorder).add(&self.line.stream, bytes(), work)
            }
            recorder => work(recorder.is_none()),
        }
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.line.stream
    }

    /// The point in the stream's work after all work so far.
    ///
    /// An event is recorded only if another stream exists that could wait for it. A stream that is created later waits
    /// for an event recorded at that later time. Such an event covers more work than necessary, but is correct.
    pub(crate) fn point(&self) -> StreamPoint {
        let others = self.gpu.queues.load(Ordering::Relaxed) > 1;
        let event = others.then(|| self.line.stream.record_event(None).ok()).flatten();
        StreamPoint { line: self.line.clone(), event: event.map(Arc::new) }
    }

    /// Makes later work on this stream wait for a point of any stream.
    pub(crate) fn wait(&self, point: &mut StreamPoint) -> Result<()> {
        if point.line.number == self.line.number {
            return Ok(());
        }
        self.line.stream.wait(&*point.event()?).map_err(failed("cuStreamWaitEvent"))
    }

    /// Waits on this thread until all work on the stream so far is done.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.line.stream.synchronize().map_err(failed("cuStreamSynchronize"))
    }

    /// Records a timed event after all work on the stream so far.
    pub(crate) fn mark(&self) -> Result<TimedEvent> {
        let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
        let event = self.line.stream.record_event(flags).map_err(failed("cuEventRecord"))?;
        Ok(TimedEvent { event, gpu: self.gpu.clone() })
    }
}

impl Drop for GpuStream {
    fn drop(&mut self) {
        self.gpu.queues.fetch_sub(1, Ordering::Relaxed);
        if !self.is_recorder() {
            self.gpu.idle.give(self.line.clone());
        }
    }
}

impl core::fmt::Debug for GpuStream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "CudaQueue({} on {})", self.line.number, self.gpu.limits.name)
    }
}

/// A point in the work of a stream. It has an event once one was recorded.
#[derive(Clone)]
pub(crate) struct StreamPoint {
    line: Arc<PooledStream>,
    event: Option<Arc<CudaEvent>>,
}

impl StreamPoint {
    /// Whether both points are of the same stream.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.line.number == other.line.number
    }

    /// Whether the work up to this point is known to be done. False without an event.
    pub(crate) fn is_done(&self) -> bool {
        self.event.as_ref().is_some_and(|event| event.is_complete())
    }

    /// Waits on this thread until the work up to this point is done.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.event()?.synchronize().map_err(failed("cuEventSynchronize"))
    }

    fn event(&mut self) -> Result<Arc<CudaEvent>> {
        if let Some(event) = &self.event {
            return Ok(event.clone());
        }
        let event = Arc::new(self.line.stream.record_event(None).map_err(failed("cuEventRecord"))?);
        self.event = Some(event.clone());
        Ok(event)
    }
}

/// A timed event in the work of a stream.
pub(crate) struct TimedEvent {
    event: CudaEvent,
    gpu: Arc<Gpu>,
}

impl TimedEvent {
    /// Waits for both events and returns the seconds between them by the GPU's clock. Returns an error if the driver is
    /// too old or a driver call fails.
    pub(crate) fn seconds_since(&self, earlier: &Self) -> Result<f64> {
        if self.gpu.driver < TELLS_TIME {
            let why = format!("the driver supports CUDA {}, but timing needs {TELLS_TIME} or later", self.gpu.driver);
            return Err(Error::Unsupported { job: "timing".into(), why });
        }
        let milliseconds = earlier.event.elapsed_ms(&self.event).map_err(failed("cuEventElapsedTime"))?;
        Ok(f64::from(milliseconds) / 1000.0)
    }
}
