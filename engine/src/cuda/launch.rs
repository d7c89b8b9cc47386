//! Launches: what a kernel's ports are bound to is checked, waited for, and passed by address.

use core::ops::Range;

use crate::backend::{Code, Loaded};
use crate::cuda::memory::{Access, CudaMemory};
use crate::cuda::queue::CudaQueue;
use crate::error::{Error, Result};
use crate::kernel::{Per, Port, Role};

/// What a port is bound to.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    Read(&'a CudaMemory),
    Write(&'a CudaMemory),
    /// What the port with this index writes.
    SameAs(usize),
}

/// Starts a kernel on a range of items, after all work that it must wait for.
pub(crate) fn launch(queue: &CudaQueue, kernel: &Loaded, items: Range<usize>, targets: &[Target<'_>]) -> Result<()> {
    let broken = |why: &str| Error::Kernel { kernel: kernel.kernel.name().into(), why: why.into() };
    let ports = kernel.kernel.ports();
    let Code::Cuda(code) = &kernel.code else { return Err(broken("was loaded for another device")) };
    if ports.len() != targets.len() {
        return Err(broken("has another number of ports than are bound"));
    }
    if items.is_empty() {
        return Ok(());
    }
    let mut addresses = Vec::with_capacity(ports.len());
    let mut used: Vec<(&CudaMemory, Access)> = Vec::with_capacity(ports.len());
    for (number, (port, target)) in ports.iter().zip(targets).enumerate() {
        let memory = match *target {
            Target::Read(memory) => {
                used.push((memory, Access::Read));
                memory
            }
            Target::Write(memory) => {
                let in_place = targets.iter().any(|other| matches!(other, Target::SameAs(same) if *same == number));
                let whole = port.role == Role::Out && !in_place && fills(port, &items, memory);
                used.push((memory, if whole { Access::Overwrite } else { Access::Write }));
                memory
            }
            Target::SameAs(same) => match targets.get(same) {
                Some(Target::Write(memory)) => memory,
                _ => return Err(broken("runs in place with a port that is not written")),
            },
        };
        addresses.push(address(port, &items, memory).ok_or_else(|| broken("a port is shorter than its items"))?);
    }
    queue.gpu().bind()?;
    for (memory, access) in &used {
        memory.before(queue, *access)?;
    }
    // SAFETY: every address was checked to hold the items; the queue waits for all earlier users.
    let outcome = unsafe { code.start(queue, items, &mut addresses) };
    if queue.is_recorder() {
        return outcome;
    }
    let point = queue.point();
    for (memory, access) in used {
        memory.after(point.clone(), access, outcome.is_ok());
    }
    outcome
}

/// Where item 0 of a port would lie, which a kernel counts from; none where the memory does not hold the items.
fn address(port: &Port, items: &Range<usize>, memory: &CudaMemory) -> Option<u64> {
    let first = if port.per == Per::Item { memory.first() } else { 0 };
    let needed = match port.per {
        Per::Item if items.start < first => return None,
        Per::Item => (items.end - first).checked_mul(port.bytes)?,
        Per::Shared => port.bytes,
    };
    // the bytes before the first item are counted, but never reached
    (needed <= memory.len()).then(|| memory.address(0).wrapping_sub((first as u64).wrapping_mul(port.bytes as u64)))
}

/// Whether a launch on these items writes all of the memory.
fn fills(port: &Port, items: &Range<usize>, memory: &CudaMemory) -> bool {
    match port.per {
        Per::Item => items.start == memory.first() && items.len() * port.bytes == memory.len(),
        Per::Shared => port.bytes == memory.len(),
    }
}
