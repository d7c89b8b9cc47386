//! Operations on device memory that belongs to the caller, in the order of a stream of the caller's.

#![allow(unsafe_code)]

use core::ffi::c_void;

use ringforge::{Engine, Error, Result, Ring};

use crate::operation::Operation;

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
}

/// Does an operation to elements on the engine's GPU: after all that is on the caller's stream so far, and before what is put
/// there later. Returns when the work is started. Residues must be reduced, unless the ring accepts any word: nobody checks.
/// A transform may be in place, and a product may be that of an input with itself; else memory must not overlap.
///
/// # Errors
/// [`Error::Unsupported`] on a CPU; [`Error::Arguments`] for another number of inputs and for memory that overlaps;
/// [`Error::ArgumentSize`], [`Error::Alignment`]; as [`Engine::program`] and [`Call::run`](ringforge::run::Call::run).
///
/// # Safety
/// As [`Device::buffer_from_raw`](ringforge::Device::buffer_from_raw) for all memory, and
/// [`Stream::wait_for_raw`](ringforge::Stream::wait_for_raw) for the handle; the memory must stay until the caller's stream
/// is past this point.
pub unsafe fn run_lent(
    engine: &Engine,
    ring: &Ring,
    operation: Operation,
    handle: *mut c_void,
    inputs: &[Lent],
    output: Lent,
) -> Result<()> {
    let in_place = inputs == [output];
    if !in_place && inputs.iter().any(|input| input.overlaps(output)) {
        return Err(overlap());
    }
    if let [a, b] = inputs
        && a != b
        && a.overlaps(*b)
    {
        return Err(overlap());
    }
    let (device, batch) = (engine.device(), output.bytes / ring.bytes());
    let program = operation.program(engine, ring, in_place)?;
    // SAFETY: the caller answers for the memory; no two buffers share bytes, as was just seen to.
    let lend = |lent: &Lent| unsafe { device.buffer_from_raw(lent.address, lent.bytes) };
    let mut to = lend(&output)?;
    let stream = device.stream()?;
    // SAFETY: the caller answers for the stream.
    unsafe { stream.wait_for_raw(handle) }?;
    let ran = if in_place {
        program.on(&stream, batch).output("data", &mut to).run()
    } else {
        let distinct = if matches!(inputs, [a, b] if a == b) { &inputs[..1] } else { inputs };
        let buffers = distinct.iter().map(lend).collect::<Result<Vec<_>>>()?;
        let named = operation.inputs().iter().zip(buffers.iter().cycle().take(inputs.len()));
        let call = named.fold(program.on(&stream, batch), |call, (name, buffer)| call.input(name, buffer));
        call.output(operation.output(), &mut to).run()
    };
    // after a failure too: what was started may still be at work
    // SAFETY: the caller answers for the stream.
    let order = unsafe { stream.raw_waits(handle) };
    ran.and(order)
}

fn overlap() -> Error {
    let why = "was given memory that overlaps and is not the same".into();
    Error::Arguments { plan: "an operation on device memory".into(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_device_should_see_is_refused() {
        let (engine, ring) = (Engine::cpu(), "17 : x^4 + 1".parse::<Ring>().unwrap());
        let at = |address| Lent { address, bytes: 8 };
        let refused = |inputs: &[Lent], output| {
            // SAFETY: refused before anything is done with the addresses.
            unsafe { run_lent(&engine, &ring, Operation::Mul, core::ptr::null_mut(), inputs, output) }.unwrap_err()
        };
        assert!(matches!(refused(&[at(256), at(512)], at(260)), Error::Arguments { .. }));
        assert!(matches!(refused(&[at(256), at(260)], at(512)), Error::Arguments { .. }));
        assert!(matches!(refused(&[at(256), at(256)], at(512)), Error::Unsupported { .. }));
    }
}
