//! CUDA graphs: launches captured once, and replayed by one call.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr;
use std::collections::BTreeSet;
use std::sync::Arc;

use cudarc::driver::sys::{
    self, CUgraph, CUgraphExec, CUgraphInstantiate_flags, CUgraphNode, CUgraphNodeType, CUstreamCaptureStatus,
    CUstreamUpdateCaptureDependencies_flags,
};
use cudarc::driver::{CudaStream, result};

use crate::cuda::driver::failed;
use crate::cuda::memory::{Access, CudaMemory};
use crate::cuda::queue::{GpuStream, StreamPoint};
use ringforge_math::error::{Error, Result};

/// How captured work uses each memory: the memory's address and the kind of access, in the order of first use.
#[derive(Debug, Default)]
pub(crate) struct Uses(Vec<(u64, Access)>);

impl Uses {
    /// Adds an access, merged with earlier accesses to the same memory. The merged access is an overwrite only if the
    /// first one is.
    pub(crate) fn note(&mut self, memory: &CudaMemory, access: Access) {
        let address = memory.address(0);
        match self.0.iter_mut().find(|(known, _)| *known == address) {
            Some((_, before @ Access::Read)) if access != Access::Read => *before = Access::Write,
            Some(_) => {}
            None => self.0.push((address, access)),
        }
    }
}

/// A range of addresses that a launch uses, and whether the launch writes it.
pub(crate) type Bytes = (Range<u64>, bool);

/// The work that a capturing stream has received so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) uses: Uses,
    nodes: Vec<Recorded>,
}

/// A captured launch with its graph node, the bytes that it uses, and the indices of all launches that it depends on,
/// directly or indirectly (`behind`).
#[derive(Debug)]
struct Recorded {
    node: Node,
    bytes: Vec<Bytes>,
    behind: BTreeSet<usize>,
}

/// A node of a CUDA graph.
#[derive(Debug, Clone, Copy)]
struct Node(CUgraphNode);

// SAFETY: a node is only a handle, which is not bound to a thread.
unsafe impl Send for Node {}

impl Recorder {
    /// Captures the work that `launch` puts on the stream. In the graph, it depends only on earlier launches that use
    /// some of the same bytes, where at least one of the two launches writes them. All other launches may run
    /// concurrently. The argument of `launch` is true if the work depends on exactly one node, and that is a kernel.
    pub(crate) fn add(
        &mut self,
        stream: &CudaStream,
        bytes: Vec<Bytes>,
        launch: impl FnOnce(bool) -> Result<()>,
    ) -> Result<()> {
        let conflicts = |(before, wrote): &Bytes| {
            let meets =
                |(own, writes): &Bytes| before.start.max(own.start) < before.end.min(own.end) && *wrote | writes;
            bytes.iter().any(meets)
        };
        let (mut behind, mut direct) = (BTreeSet::new(), Vec::new());
        for (number, before) in self.nodes.iter().enumerate().rev() {
            // an earlier launch needs no edge if a launch found before already depends on it
            if !behind.contains(&number) && before.bytes.iter().any(conflicts) {
                direct.push(before.node);
                behind.insert(number);
                behind.extend(&before.behind);
            }
        }
        let follows = matches!(direct[..], [node] if node.is_kernel());
        depend(stream, direct.into_iter())?;
        launch(follows)?;
        self.nodes.push(Recorded { node: last(stream)?, bytes, behind });
        Ok(())
    }

    /// Makes the end of the capture depend on all captured launches.
    fn join(&self, stream: &CudaStream) -> Result<()> {
        // `nodes` is empty with drivers that cannot set dependencies: their launches keep the order of the stream
        if self.nodes.is_empty() { Ok(()) } else { depend(stream, self.nodes.iter().map(|before| before.node)) }
    }
}

impl Node {
    fn is_kernel(self) -> bool {
        let mut kind = MaybeUninit::uninit();
        // SAFETY: the node belongs to a graph that is being captured; if the call succeeds, it has written `kind`.
        unsafe {
            sys::cuGraphNodeGetType(self.0, kind.as_mut_ptr()).result().is_ok()
                && kind.assume_init() == CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL
        }
    }
}

/// Makes the next work on a capturing stream depend on exactly these nodes.
fn depend(stream: &CudaStream, nodes: impl Iterator<Item = Node>) -> Result<()> {
    let mut nodes: Vec<CUgraphNode> = nodes.map(|Node(node)| node).collect();
    let flags = CUstreamUpdateCaptureDependencies_flags::CU_STREAM_SET_CAPTURE_DEPENDENCIES as u32;
    // SAFETY: the stream is capturing, and the nodes are of its graph; they are only read.
    let outcome = unsafe {
        sys::cuStreamUpdateCaptureDependencies_v2(
            stream.cu_stream(),
            nodes.as_mut_ptr(),
            ptr::null(),
            nodes.len(),
            flags,
        )
    };
    outcome.result().map_err(failed("cuStreamUpdateCaptureDependencies"))
}

/// The graph node of the work that a capturing stream received last. Returns an error unless the next work on the
/// stream would depend on exactly this node.
fn last(stream: &CudaStream) -> Result<Node> {
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut nodes, mut count) = (ptr::null(), 0);
    // SAFETY: the stream is capturing; the call writes only its outputs, and the nodes stay valid until the next call
    // on the stream.
    let node = unsafe {
        sys::cuStreamGetCaptureInfo_v3(
            stream.cu_stream(),
            &raw mut status,
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut nodes,
            ptr::null_mut(),
            &raw mut count,
        )
        .result()
        .map_err(failed("cuStreamGetCaptureInfo"))?;
        (count == 1).then(|| *nodes)
    };
    let lost = || Error::Kernel { kernel: "recording".into(), why: "contains work other than its own launches".into() };
    node.map(Node).ok_or_else(lost)
}

/// A captured graph that is not executable yet. It is destroyed on drop.
struct Captured(CUgraph);

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: nothing else uses the graph. If it cannot be destroyed, the error cannot be reported.
        let _ = unsafe { result::graph::destroy(self.0) };
    }
}

/// An executable graph. One call starts all its launches.
struct Launches(CUgraphExec);

impl Launches {
    fn of(graph: &Captured) -> Result<Self> {
        // SAFETY: the capture of the graph has ended, and nothing else uses it.
        let launches = unsafe { result::graph::instantiate(graph.0, CUgraphInstantiate_flags(0)) };
        launches.map(Self).map_err(failed("cuGraphInstantiate"))
    }

    /// Updates the executable graph to the kernel arguments of `graph`, which must have the same kernels. Returns true
    /// if the update succeeded. Replays that have started are not affected.
    fn patch(&mut self, graph: &Captured) -> bool {
        let mut info = MaybeUninit::uninit();
        // SAFETY: both graphs are complete and owned here, `&mut self` excludes other uses, and `info` is only written.
        unsafe { sys::cuGraphExecUpdate_v2(self.0, graph.0, info.as_mut_ptr()) }.result().is_ok()
    }
}

impl Drop for Launches {
    fn drop(&mut self) {
        // SAFETY: nothing else uses the graph, and it is not running (see `CudaRecording`).
        let _ = unsafe { result::graph::exec_destroy(self.0) };
    }
}

/// An executable graph of captured launches, which contain the addresses of the memory that they use.
pub struct CudaRecording {
    launches: Launches,
    uses: Uses,
    /// The point in a stream's work after the last replay.
    last: Option<StreamPoint>,
}

// SAFETY: CUDA graphs are not bound to a thread, but two threads must not use one at once; `&CudaRecording` gives no
// access to the graph.
unsafe impl Send for CudaRecording {}
// SAFETY: the same as for `Send`.
unsafe impl Sync for CudaRecording {}

impl CudaRecording {
    /// Ends the capture of a stream and returns the executable graph. `old`, an earlier graph, is updated in place if
    /// possible and otherwise dropped.
    pub(crate) fn end(stream: &Arc<CudaStream>, recorder: Recorder, old: Option<Self>) -> Result<Self> {
        recorder.join(stream)?;
        let uses = recorder.uses;
        // SAFETY: the stream is valid and capturing.
        let graph = unsafe { result::stream::end_capture(stream.cu_stream()) }.map_err(failed("cuStreamEndCapture"))?;
        if graph.is_null() {
            return Err(Error::Kernel { kernel: "recording".into(), why: "contains no work".into() });
        }
        let graph = Captured(graph);
        if let Some(mut old) = old
            && old.launches.patch(&graph)
        {
            old.uses = uses;
            return Ok(old);
        }
        Ok(Self { launches: Launches::of(&graph)?, uses, last: None })
    }

    /// Starts all launches of the graph on the stream, after all work that they must wait for. `memories` must include
    /// all memory that the graph uses.
    pub(crate) fn replay(&mut self, queue: &GpuStream, memories: &[&CudaMemory]) -> Result<()> {
        let Self { launches, uses: Uses(uses), last } = self;
        let memory = |address: u64| memories.iter().find(|memory| memory.address(0) == address);
        let used = uses.iter().map(|&(address, access)| memory(address).map(|&memory| (memory, access)));
        let used: Vec<(&CudaMemory, Access)> = used.collect::<Option<_>>().ok_or_else(|| Error::Kernel {
            kernel: "recording".into(),
            why: "must be replayed with all memory that it was recorded with".into(),
        })?;
        queue.gpu().bind()?;
        for (memory, access) in &used {
            memory.before(queue, *access)?;
        }
        // SAFETY: `memories` holds all memory that the graph uses, and the stream waits for its earlier users. The
        // program that owns the code outlives the graph. `&mut self` excludes other uses of the graph.
        let outcome = unsafe { result::graph::launch(launches.0, queue.stream().cu_stream()) };
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
        // wait for the last replay, because a graph must not be destroyed while it runs; if the GPU no longer answers,
        // the error cannot be reported
        let _ = self.last.take().map(|mut point| point.finish());
    }
}

impl core::fmt::Debug for CudaRecording {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "CudaRecording({} buffers)", self.uses.0.len())
    }
}
