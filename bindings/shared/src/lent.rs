//! Operations on device memory of the engine or of the caller, in the order of the caller's stream.

#![allow(unsafe_code)]

use core::borrow::Borrow;
use core::ffi::c_void;

use ringforge::{Buffer, Device, Engine, Error, PolyType, Result, Stream};

use crate::operation::Operation;
use crate::process::may_work;

/// GPU memory that belongs to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lent {
    /// The device address.
    pub address: u64,
    /// The size in bytes.
    pub bytes: usize,
}

impl Lent {
    fn overlaps(self, other: Self) -> bool {
        let end = |lent: Self| lent.address.saturating_add(lent.bytes as u64);
        self.address < end(other) && other.address < end(self)
    }

    /// Wraps the memory as a buffer of the device.
    ///
    /// # Safety
    /// The conditions of [`Device::buffer_from_raw`] must hold.
    unsafe fn buffer(self, device: &Device) -> Result<Buffer> {
        // SAFETY: the caller of this function guarantees the conditions of `buffer_from_raw`.
        unsafe { device.buffer_from_raw(self.address, self.bytes) }
    }
}

/// An input of an operation on device memory.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// A buffer of the engine.
    Own(&'a Buffer),
    /// Memory of the caller.
    Lent(Lent),
}

impl Operand<'_> {
    fn bytes(self) -> usize {
        match self {
            Self::Own(buffer) => buffer.len(),
            Self::Lent(lent) => lent.bytes,
        }
    }

    /// Returns true if this input overlaps memory of the caller. A buffer of the engine may overlap it if the caller
    /// exported the buffer before.
    fn overlaps(self, other: Lent) -> bool {
        match self {
            Self::Own(buffer) => {
                buffer.device_pointer().is_some_and(|address| Lent { address, bytes: buffer.len() }.overlaps(other))
            }
            Self::Lent(lent) => lent.overlaps(other),
        }
    }
}

/// An input for [`run`]: a buffer of the engine, or the caller's memory wrapped as a buffer.
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

/// Runs an operation on elements in the caller's memory on the engine's GPU. The work runs after all earlier and before
/// all later work on the caller's stream `handle`. Returns once the work is enqueued.
///
/// Residues are not checked: they must be reduced, unless the ring accepts any word. A transform may be in place, and
/// both inputs of a product may be the same; otherwise memory must not overlap.
///
/// # Errors
/// [`Error::Unsupported`] on a CPU, in a forked process (see [`may_work`]), and for an incomplete transform without a
/// depth; [`Error::Arguments`] for a wrong number of inputs and for overlapping memory; [`Error::ArgumentSize`] unless
/// inputs and output hold the same whole number of elements; [`Error::Alignment`] if an address is misaligned; also the
/// errors of [`Device::buffer_from_raw`], [`Engine::program`] and [`Call::run`](ringforge::run::Call::run).
///
/// # Safety
/// The conditions of [`Device::buffer_from_raw`] must hold for all memory of the caller, and those of
/// [`Stream::wait_for_raw`] for the handle. The memory must stay valid until the caller's stream has finished the work.
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
    // SAFETY: the caller guarantees that the memory is valid; no input overlaps the output, unless the operation is in
    // place.
    let mut to = unsafe { output.buffer(engine.device()) }?;
    // SAFETY: the caller guarantees that the handle is a valid stream.
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

/// Like [`run_lent`], but writes to a new buffer of the engine. Returns the buffer and the engine's stream that the
/// work runs on; other streams must wait for this stream before they use the buffer. Without a handle, only the
/// engine's stream orders the work.
///
/// # Errors
/// The errors of [`run_lent`]. A call on a CPU succeeds if it has a buffer of the engine for each input, and no handle.
///
/// # Safety
/// The conditions of [`run_lent`] must hold.
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
    // SAFETY: the caller guarantees that the handle is a valid stream and that its own memory is valid.
    unsafe { in_order(stream, handle, || run(engine, ring, operation, stream, inputs, &mut to)) }?;
    Ok((to, stream.clone()))
}

/// Calls `work`, which enqueues work on a stream of the engine, so that this work runs in the order of the caller's
/// stream.
unsafe fn in_order(stream: &Stream, handle: Option<*mut c_void>, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let Some(handle) = handle else { return work() };
    // SAFETY: the caller guarantees that the handle is a valid stream.
    unsafe { stream.wait_for_raw(handle) }?;
    let worked = work();
    // the caller's stream waits after a failure too, because part of the work may be running
    // SAFETY: the caller guarantees that the handle is a valid stream.
    let waits = unsafe { stream.raw_waits(handle) };
    worked.and(waits)
}

/// Runs an operation out of place. The caller must guarantee that its own memory is valid.
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
        // SAFETY: the caller guarantees that the memory is valid; no two buffers overlap, as checked above.
        Operand::Lent(lent) => unsafe { lent.buffer(engine.device()) }.map(Ready::Lent),
    });
    let ready = ready.collect::<Result<Vec<_>>>()?;
    // the caller's memory has no type: it holds coefficients, unless the other input says more
    let own = inputs.iter().filter_map(|input| if let Operand::Own(buffer) = input { buffer.content() } else { None });
    // elements of another ring are refused by the program
    let of = own.into_iter().find(|content| content.coefficients() == ring.coefficients()).unwrap_or(ring);
    let program = operation.program(engine, of, false)?;
    let named = operation.inputs().iter().zip(ready.iter().cycle().take(inputs.len()));
    let call = named.fold(program.on(stream, to.len() / ring.bytes()), |call, (name, input)| call.input(name, input));
    call.output(operation.output(), to).run()
}

fn lent<'a>(inputs: &'a [Operand<'_>]) -> impl Iterator<Item = Lent> + 'a {
    inputs.iter().filter_map(|input| if let Operand::Lent(lent) = input { Some(*lent) } else { None })
}

fn overlap() -> Error {
    let why = "was given overlapping memory: only in-place transforms and equal inputs of products may share it".into();
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
    fn overlaps_and_cpu_engines_are_rejected() {
        let engine = Engine::cpu();
        let at = |address| Lent { address, bytes: 8 };
        let refused = |inputs: [Lent; 2], output| {
            let inputs = inputs.map(Operand::Lent);
            // SAFETY: the call is rejected before any address is used.
            unsafe { run_lent(&engine, &ring(), Operation::Mul, core::ptr::null_mut(), &inputs, output) }.unwrap_err()
        };
        assert!(matches!(refused([at(256), at(512)], at(260)), Error::Arguments { .. }));
        assert!(matches!(refused([at(256), at(256)], at(512)), Error::Unsupported { .. }));
        let inputs = [at(256), at(260)].map(Operand::Lent);
        // SAFETY: the call is rejected before any address is used.
        let refused = unsafe { run_new(&engine, &ring(), Operation::Mul, None, &inputs) };
        assert!(matches!(refused, Err(Error::Arguments { .. })));
    }

    #[test]
    fn engine_buffers_stay_on_the_device() {
        let (engine, ring) = (Engine::cpu(), ring());
        let a = engine.upload(&ring, &[1u16, 2, 3, 4]).unwrap();
        let run = |operation, inputs: &[Operand<'_>]| {
            // SAFETY: there is no memory and no stream of the caller.
            unsafe { run_new(&engine, &ring, operation, None, inputs) }
        };
        let (values, _) =
            run(Operation::Forward(Order::DigitReversed.into()), &[Operand::Own(&a.buffers()[0])]).unwrap();
        let square = [Operand::Own(&values), Operand::Own(&values)];
        let (squares, _) = run(Operation::PointMul(Order::DigitReversed.into()), &square).unwrap();
        let (square, stream) = run(Operation::Inverse(Order::DigitReversed.into()), &[Operand::Own(&squares)]).unwrap();
        assert_eq!(stream.download::<u16>(&square).unwrap(), [10, 14, 11, 3]);
        // buffers record the order of their evaluations, so the wrong order is rejected
        let other: PolyType = "97 : x^4 + 1".parse().unwrap();
        for operation in [Operation::Mul, Operation::Add, Operation::Sub] {
            // SAFETY: no memory is the caller's.
            let foreign = unsafe { run_new(&engine, &other, operation, None, &[Operand::Own(&a.buffers()[0]); 2]) };
            assert!(matches!(foreign, Err(Error::Mismatch { .. })), "{operation:?}: {foreign:?}");
        }
        let refused = run(Operation::Inverse(Order::Natural.into()), &[Operand::Own(&squares)]);
        assert!(matches!(refused, Err(Error::Mismatch { .. })));
    }
}
