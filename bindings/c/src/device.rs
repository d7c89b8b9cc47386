//! Transforms and products in the caller's device memory, in the order of the caller's stream.

use core::ffi::c_void;

use ringforge_bindings::{Lent, Operand, Operation, run_lent};

use crate::code::{Failure, RingforgeCode, guarded};
use crate::elements::evaluations;
use crate::engine::RingforgeEngine;
use crate::pointer::{reference, refused};
use crate::ring::RingforgeRing;

unsafe fn run<const N: usize>(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    operation: impl FnOnce() -> Result<Operation, Failure>,
    stream: *mut c_void,
    inputs: [*const c_void; N],
    output: *mut c_void,
    batch: usize,
) -> RingforgeCode {
    guarded(|| {
        let (engine, ring) = (&reference("engine", engine)?.engine, &reference("ring", ring)?.ring);
        let bytes = batch.checked_mul(ring.bytes());
        let bytes = bytes.ok_or_else(|| refused("batch", "is too large to address"))?;
        let lent = |pointer: *const c_void| Lent { address: pointer.addr() as u64, bytes };
        Ok(run_lent(engine, ring, operation()?, stream, &inputs.map(|input| Operand::Lent(lent(input))), lent(output))?)
    })
}

/// Like `ringforge_forward`, on memory of the engine's GPU. The work runs after all earlier and before all later work
/// on `stream`, a `CUstream` or `cudaStream_t` of the GPU's primary context; null is the legacy default stream. Returns
/// once the work is enqueued. Addresses must be multiples of 16. Residues are not checked: they must be below their
/// moduli, unless the ring's text ends in `: any word`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_forward_on(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    order: i32,
    depth: i32,
    stream: *mut c_void,
    from: *const c_void,
    to: *mut c_void,
    batch: usize,
) -> RingforgeCode {
    run(engine, ring, || Ok(Operation::Forward(evaluations(order, depth)?)), stream, [from], to, batch)
}

/// Like `ringforge_inverse`, on memory of the engine's GPU and on `stream`, with the conditions of
/// `ringforge_forward_on`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_inverse_on(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    order: i32,
    depth: i32,
    stream: *mut c_void,
    from: *const c_void,
    to: *mut c_void,
    batch: usize,
) -> RingforgeCode {
    run(engine, ring, || Ok(Operation::Inverse(evaluations(order, depth)?)), stream, [from], to, batch)
}

/// Like `ringforge_mul`, on memory of the engine's GPU and on `stream`, with the conditions of `ringforge_forward_on`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_mul_on(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    stream: *mut c_void,
    a: *const c_void,
    b: *const c_void,
    product: *mut c_void,
    batch: usize,
) -> RingforgeCode {
    run(engine, ring, || Ok(Operation::Mul), stream, [a, b], product, batch)
}

/// Like `ringforge_point_mul`, on memory of the engine's GPU and on `stream`, with the conditions of
/// `ringforge_forward_on`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_point_mul_on(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    order: i32,
    depth: i32,
    stream: *mut c_void,
    a: *const c_void,
    b: *const c_void,
    product: *mut c_void,
    batch: usize,
) -> RingforgeCode {
    run(engine, ring, || Ok(Operation::PointMul(evaluations(order, depth)?)), stream, [a, b], product, batch)
}
