//! Recordings: launches that were captured once into a CUDA graph, and are started by one call.

use cudarc::driver::{CudaGraph, result};

use crate::cuda::driver::failed;
use crate::cuda::memory::{Access, CudaMemory};
use crate::cuda::queue::{CudaQueue, Point};
use crate::error::{Error, Result};

/// What is done to memory, by address, in the order of first use.
#[derive(Debug, Default)]
pub(crate) struct Uses(Vec<(u64, Access)>);

impl Uses {
    /// Adds a use to those before it: together they overwrite what the first one overwrites.
    pub(crate) fn note(&mut self, memory: &CudaMemory, access: Access) {
        let address = memory.address(0);
        match self.0.iter_mut().find(|(known, _)| *known == address) {
            Some((_, before @ Access::Read)) if access != Access::Read => *before = Access::Write,
            Some(_) => {}
            None => self.0.push((address, access)),
        }
    }
}

/// Launches on memory whose addresses they hold.
pub(crate) struct CudaRecording {
    graph: CudaGraph,
    uses: Uses,
    /// After the last replay.
    last: Option<Point>,
}

// SAFETY: CUDA's graphs belong to no thread and must not be used by two at once; `&CudaRecording` gives no access.
unsafe impl Send for CudaRecording {}
// SAFETY: as above.
unsafe impl Sync for CudaRecording {}

impl CudaRecording {
    pub(crate) fn new(graph: CudaGraph, uses: Uses) -> Self {
        Self { graph, uses, last: None }
    }

    /// Does all of it once more, after all work that it must wait for. The memory must be that which was recorded.
    pub(crate) fn replay(&mut self, queue: &CudaQueue, memories: &[&CudaMemory]) -> Result<()> {
        let Self { graph, uses: Uses(uses), last } = self;
        let memory = |address: u64| memories.iter().find(|memory| memory.address(0) == address);
        let used = uses.iter().map(|&(address, access)| memory(address).map(|&memory| (memory, access)));
        let used: Vec<(&CudaMemory, Access)> = used.collect::<Option<_>>().ok_or_else(|| Error::Kernel {
            kernel: "a recording".into(),
            why: "is replayed without memory that it uses".into(),
        })?;
        queue.gpu().bind()?;
        for (memory, access) in &used {
            memory.before(queue, *access)?;
        }
        // SAFETY: all memory that the graph uses is there, and the queue waits for its earlier users; the program that
        // owns the code outlives the recording; `&mut self` keeps others from the graph.
        let outcome = unsafe { result::graph::launch(graph.cu_graph_exec(), queue.stream().cu_stream()) };
        let point = queue.point();
        for (memory, access) in used {
            memory.after(point.clone(), access, outcome.is_ok());
        }
        *last = Some(point);
        outcome.map_err(failed("cuGraphLaunch"))
    }
}

impl Drop for CudaRecording {
    fn drop(&mut self) {
        // a graph must not go while it runs; if the GPU no longer answers, there is nobody to tell
        let _ = self.last.take().map(|mut point| point.finish());
    }
}

impl core::fmt::Debug for CudaRecording {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "CudaRecording({} buffers)", self.uses.0.len())
    }
}
