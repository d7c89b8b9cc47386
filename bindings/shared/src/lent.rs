//! Operations on device memory, the engine's or the caller's, in the order of a stream of the caller's.

#![allow(unsafe_code)]

use core::borrow::Borrow;
use core::ffi::c_void;

use ringforge::{Buffer, Device, Engine, Error, PolyType, Result, Stream};

use crate::operation::Operation;
use crate::process::may_work;

/// Memory of a GPU that belongs to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lent {
    /// Where it begins.
    pub address: u64,
    /// Its size.
    pub bytes: usize,
}

impl Lent {
    fn overlaps(self, other: Self) -> bool {
        let end = |lent: Self| lent.address.saturating_add(lent.bytes as u64);
        self.address < end(other) && other.address < end(self)
    }

    /// As a buffer of a device.
    ///
    /// # Safety
    /// As [`Device::buffer_from_raw`].
    unsafe fn buffer(self, device: &Device) -> Result<Buffer> {
        // SAFETY: the caller answers for the memory.
        unsafe { device.buffer_from_raw(self.address, self.bytes) }
    }
}

/// An input of an operation on the device.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// The engine's.
    Own(&'a Buffer),
    /// The caller's.
    Lent(Lent),
}

impl Operand<'_> {
    fn bytes(self) -> usize {
        match self {
            Self::Own(buffer) => buffer.len(),
            Self::Lent(lent) => lent.bytes,
        }
    }

    /// Whether it shares bytes with memory of the caller's, as it does where that was given out by the engine before.
    fn overlaps(self, other: Lent) -> bool {
        match self {
            Self::Own(buffer) => {
                buffer.device_pointer().is_some_and(|address| Lent { address, bytes: buffer.len() }.overlaps(other))
            }
            Self::Lent(lent) => lent.overlaps(other),
        }
    }
}

/// An input that a run can take.
enum Ready<'a> {
    Own(&'a Buffer),
    Lent(Buffer),
}

impl Borrow<Buffer> for Ready<'_> {
    fn borrow(&self) -> &Buffer {
        match self {
            Self::Own(buffer) => buffer,
            Self::Lent(buffer) => buffer,
        }
    }
}

/// Does an operation to elements in memory of the caller's, which the engine's GPU has: after all that is on the caller's stream
/// so far, and before what is put there later. Returns when the work is started. Residues must be reduced, unless the ring
/// accepts any word: nobody checks. A transform may be in place, and a product may be that of an input with itself; else memory
/// must not overlap.
///
/// # Errors
/// [`Error::Unsupported`] on a CPU; [`Error::Arguments`] for another number of inputs and for memory that overlaps;
/// [`Error::ArgumentSize`], [`Error::Alignment`]; as [`Engine::program`] and [`Call::run`](ringforge::run::Call::run).
///
/// # Safety
/// As [`Device::buffer_from_raw`] for all memory, and [`Stream::wait_for_raw`] for the handle; the memory must stay until the
/// caller's stream is past this point.
pub unsafe fn run_lent(
    engine: &Engine,
    ring: &PolyType,
    operation: Operation,
    handle: *mut c_void,
    inputs: &[Operand<'_>],
    output: Lent,
) -> Result<()> {
    may_work()?;
    operation.takes(ring, inputs.len())?;
    let lent: Vec<Lent> = lent(inputs).collect();
    let in_place = lent == [output] && inputs.len() == 1;
    if !in_place && inputs.iter().any(|input| input.overlaps(output)) {
        return Err(overlap());
    }
    let stream = engine.device().stream()?;
    // SAFETY: the caller answers for the memory; no input shares bytes with it, but for the same one.
    let mut to = unsafe { output.buffer(engine.device()) }?;
    // SAFETY: the caller answers for the stream.
    unsafe {
        in_order(&stream, Some(handle), || {
            if in_place {
                let program = operation.program(engine, ring, true)?;
                return program.on(&stream, output.bytes / ring.bytes()).output("data", &mut to).run();
            }
            run(engine, ring, operation, &stream, inputs, &mut to)
        })
    }
}

/// The same into new memory of the engine's, on a stream of the engine's, which comes with it: what uses the memory elsewhere
/// has to wait for that. Without a handle the order is that of the engine's stream alone.
///
/// # Errors
/// As [`run_lent`].
///
/// # Safety
/// As [`run_lent`].
pub unsafe fn run_new(
    engine: &Engine,
    ring: &PolyType,
    operation: Operation,
    handle: Option<*mut c_void>,
    inputs: &[Operand<'_>],
) -> Result<(Buffer, Stream)> {
    may_work()?;
    operation.takes(ring, inputs.len())?;
    let stream = engine.stream()?;
    let mut to = engine.device().buffer(inputs.first().map_or(0, |input| input.bytes()))?;
    // SAFETY: the caller answers for the stream and for memory of its own.
    unsafe { in_order(stream, handle, || run(engine, ring, operation, stream, inputs, &mut to)) }?;
    Ok((to, stream.clone()))
}

/// Puts work on a stream of the engine's, in the order of the caller's.
unsafe fn in_order(stream: &Stream, handle: Option<*mut c_void>, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let Some(handle) = handle else { return work() };
    // SAFETY: the caller answers for the handle.
    unsafe { stream.wait_for_raw(handle) }?;
    let worked = work();
    // after a failure too: what was started may still be at work
    // SAFETY: the caller answers for the handle.
    let waits = unsafe { stream.raw_waits(handle) };
    worked.and(waits)
}

/// Out of place, where the caller answers for lent memory.
unsafe fn run(
    engine: &Engine,
    ring: &PolyType,
    operation: Operation,
    stream: &Stream,
    inputs: &[Operand<'_>],
    to: &mut Buffer,
) -> Result<()> {
    let all: Vec<Lent> = lent(inputs).collect();
    let twice = matches!(all[..], [a, b] if a == b);
    if !twice && matches!(all[..], [a, b] if a.overlaps(b)) {
        return Err(overlap());
    }
    let distinct = if twice { &inputs[..1] } else { inputs };
    let ready = distinct.iter().map(|input| match input {
        Operand::Own(buffer) => Ok(Ready::Own(buffer)),
        // SAFETY: the caller answers for the memory; no two buffers share bytes, as was just seen to.
        Operand::Lent(lent) => unsafe { lent.buffer(engine.device()) }.map(Ready::Lent),
    });
    let ready = ready.collect::<Result<Vec<_>>>()?;
    let program = operation.program(engine, ring, false)?;
    let named = operation.inputs().iter().zip(ready.iter().cycle().take(inputs.len()));
    let call = named.fold(program.on(stream, to.len() / ring.bytes()), |call, (name, input)| call.input(name, input));
    call.output(operation.output(), to).run()
}

fn lent<'a>(inputs: &'a [Operand<'_>]) -> impl Iterator<Item = Lent> + 'a {
    inputs.iter().filter_map(|input| if let Operand::Lent(lent) = input { Some(*lent) } else { None })
}

fn overlap() -> Error {
    let why = "was given memory that overlaps and is not the same".into();
    Error::Arguments { plan: "an operation on device memory".into(), why }
}

#[cfg(test)]
mod tests {
    use ringforge::Order;

    use super::*;

    fn ring() -> PolyType {
        "17 : x^4 + 1".parse().unwrap()
    }

    #[test]
    fn what_no_device_should_see_is_refused() {
        let engine = Engine::cpu();
        let at = |address| Lent { address, bytes: 8 };
        let refused = |inputs: [Lent; 2], output| {
            let inputs = inputs.map(Operand::Lent);
            // SAFETY: refused before anything is done with the addresses.
            unsafe { run_lent(&engine, &ring(), Operation::Mul, core::ptr::null_mut(), &inputs, output) }.unwrap_err()
        };
        assert!(matches!(refused([at(256), at(512)], at(260)), Error::Arguments { .. }));
        assert!(matches!(refused([at(256), at(256)], at(512)), Error::Unsupported { .. }));
        let inputs = [at(256), at(260)].map(Operand::Lent);
        // SAFETY: as above.
        let refused = unsafe { run_new(&engine, &ring(), Operation::Mul, None, &inputs) };
        assert!(matches!(refused, Err(Error::Arguments { .. })));
    }

    #[test]
    fn what_is_the_engines_stays_there() {
        let (engine, ring) = (Engine::cpu(), ring());
        let a = engine.upload(&ring, &[1u16, 2, 3, 4]).unwrap();
        let run = |operation, inputs: &[Operand<'_>]| {
            // SAFETY: no memory is lent, and no stream.
            unsafe { run_new(&engine, &ring, operation, None, inputs) }
        };
        let (values, _) = run(Operation::Forward(Order::Tree.into()), &[Operand::Own(&a.buffers()[0])]).unwrap();
        let square = [Operand::Own(&values), Operand::Own(&values)];
        let (squares, _) = run(Operation::PointMul(Order::Tree.into()), &square).unwrap();
        let (square, stream) = run(Operation::Inverse(Order::Tree.into()), &[Operand::Own(&squares)]).unwrap();
        assert_eq!(stream.download::<u16>(&square).unwrap(), [10, 14, 11, 3]);
        // values know what they are
        let refused = run(Operation::Inverse(Order::Natural.into()), &[Operand::Own(&squares)]);
        assert!(matches!(refused, Err(Error::Mismatch { .. })));
    }
}
