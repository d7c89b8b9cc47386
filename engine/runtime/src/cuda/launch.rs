//! Kernel launches: checks the memory that a kernel's ports (pointer parameters) are bound to, waits for earlier users
//! of that memory, and passes the memory's addresses to the kernel.

use core::ops::Range;

use crate::cuda::code::CudaCode;
use crate::cuda::graph::Bytes;
use crate::cuda::memory::{Access, CudaMemory, GpuSlice};
use crate::cuda::queue::GpuStream;
use crate::kernel::{Port, Role, Sharing};
use ringforge_math::error::{Error, Result};

/// The memory that a port is bound to. The memory begins with item `skipped` of the batch, and the data of that item
/// begins at byte `first`.
#[derive(Clone, Copy)]
pub(crate) struct PortBinding<'a> {
    pub(crate) to: PortMemory<'a>,
    pub(crate) first: usize,
    pub(crate) skipped: usize,
}

/// The memory of a port, and how the kernel accesses it.
#[derive(Clone, Copy)]
pub(crate) enum PortMemory<'a> {
    Read(GpuSlice<'a>),
    Write(GpuSlice<'a>),
    /// The memory that the port with this index writes.
    SameAs(usize),
}

impl<'a> PortBinding<'a> {
    /// The port's memory. `None` if the port shares the memory of another port.
    pub(crate) fn part(&self) -> Option<GpuSlice<'a>> {
        match self.to {
            PortMemory::Read(part) | PortMemory::Write(part) => Some(part),
            PortMemory::SameAs(_) => None,
        }
    }
}

/// Starts a kernel on a range of items, after all work that it must wait for. Does nothing if the range is empty.
pub(crate) fn launch(
    queue: &GpuStream,
    code: &CudaCode,
    ports: &[Port],
    items: Range<usize>,
    targets: &[PortBinding<'_>],
) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let work = Work::new(code, ports, items, targets)?;
    work.before(queue)?;
    // SAFETY: `work.before` made the stream wait for all earlier users of the memory.
    let outcome = queue.add(|| work.bytes(), |early| unsafe { work.start(queue, None, early) });
    if !queue.is_recorder() {
        work.after(queue, outcome.is_ok());
    }
    outcome
}

/// A kernel bound to memory, which was checked to hold all of the items.
pub(crate) struct Work<'a> {
    code: &'a CudaCode,
    ports: &'a [Port],
    items: Range<usize>,
    addresses: Vec<u64>,
    used: Vec<(&'a CudaMemory, Access)>,
}

impl<'a> Work<'a> {
    pub(crate) fn new(
        code: &'a CudaCode,
        ports: &'a [Port],
        items: Range<usize>,
        targets: &[PortBinding<'a>],
    ) -> Result<Self> {
        let broken = |why: &str| Error::Kernel { kernel: code.name().into(), why: why.into() };
        if ports.len() != targets.len() {
            return Err(broken("must have as many ports as are bound"));
        }
        let mut addresses = Vec::with_capacity(ports.len());
        let mut used: Vec<(&CudaMemory, Access)> = Vec::with_capacity(ports.len());
        for (number, (port, target)) in ports.iter().zip(targets).enumerate() {
            let part =
                part_of(targets, number).ok_or_else(|| broken("shares memory with a port that is not written"))?;
            match target.to {
                PortMemory::Read(_) if port.role != Role::In => return Err(broken("writes to read-only memory")),
                PortMemory::Read(_) => used.push((part.memory, Access::Read)),
                PortMemory::Write(_) => {
                    let shared =
                        targets.iter().any(|other| matches!(other.to, PortMemory::SameAs(same) if same == number));
                    let whole = port.role == Role::Out && !shared && fills(port, target, &items, part);
                    used.push((part.memory, if whole { part.overwrite() } else { Access::Write }));
                }
                PortMemory::SameAs(_) => {}
            }
            let address = address(port, target, &items, part);
            addresses.push(address.ok_or_else(|| broken("the memory of a port is too short for its items"))?);
        }
        Ok(Self { code, ports, items, addresses, used })
    }

    /// The address ranges that the ports use, from the first item to the last. With a stride, they include the bytes
    /// between items.
    fn bytes(&self) -> Vec<Bytes> {
        let bytes = |(port, &address): (&Port, &u64)| {
            let [first, last] = [self.items.start, self.items.end - 1].map(|item| port.bytes_of(item, 0));
            let at = |byte: usize| address.wrapping_add(byte as u64);
            (at(first.start)..at(last.end), port.role != Role::In)
        };
        self.ports.iter().zip(&self.addresses).map(bytes).collect()
    }

    /// Makes the stream wait for all earlier users of the memory.
    pub(crate) fn before(&self, queue: &GpuStream) -> Result<()> {
        queue.gpu().bind()?;
        self.used.iter().try_for_each(|(memory, access)| memory.before(queue, *access))
    }

    /// Starts the kernel, or, with `part`, only these blocks of its single item. If `early`, the kernel may begin
    /// before the previous launch ends (programmatic dependent launch).
    ///
    /// # Safety
    /// The stream must have waited for all earlier users of the memory that these blocks use.
    pub(crate) unsafe fn start(&self, queue: &GpuStream, part: Option<&Range<usize>>, early: bool) -> Result<()> {
        // SAFETY: the memory at every address was checked to hold the items; the caller has made the stream wait.
        unsafe { self.code.start(queue, &self.items, part, &self.addresses, early) }
    }

    /// Records that the stream's work so far uses the memory, so that later users wait for it. Must be called even if
    /// the launch failed; `started` is then false.
    pub(crate) fn after(&self, queue: &GpuStream, started: bool) {
        let point = queue.point();
        for (memory, access) in &self.used {
            memory.after(point.clone(), *access, started);
        }
    }
}

/// The memory that the port with index `port` is bound to. `None` if there is no such port, or if the port shares the
/// memory of a port that does not write.
pub(crate) fn part_of<'a>(targets: &[PortBinding<'a>], port: usize) -> Option<GpuSlice<'a>> {
    match targets.get(port)?.to {
        PortMemory::Read(part) | PortMemory::Write(part) => Some(part),
        PortMemory::SameAs(same) => match targets.get(same)?.to {
            PortMemory::Write(part) => Some(part),
            _ => None,
        },
    }
}

/// The address of item 0 at a port, which kernels expect even if the memory begins with a later item. `None` if the
/// memory does not hold all of the items.
fn address(port: &Port, target: &PortBinding<'_>, items: &Range<usize>, part: GpuSlice<'_>) -> Option<u64> {
    let PortBinding { first, skipped, .. } = *target;
    let last = port.bytes_of((items.end - 1).checked_sub(skipped)?, first);
    // if the memory begins with a later item, the address is outside of it: kernels compute with the address, but do
    // not access it
    let before = (skipped as u64).wrapping_mul(port.stride() as u64);
    (items.start >= skipped && last.end <= part.len)
        .then(|| part.memory.address(part.first).wrapping_add(first as u64).wrapping_sub(before))
}

/// Whether a launch on these items writes all bytes of `part`.
fn fills(port: &Port, target: &PortBinding<'_>, items: &Range<usize>, part: GpuSlice<'_>) -> bool {
    match port.sharing {
        Sharing::PerItem => items.start == target.skipped && items.len() * port.bytes == part.len,
        Sharing::Shared => port.bytes == part.len,
    }
}
