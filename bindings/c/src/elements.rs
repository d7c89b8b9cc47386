//! Transforms and products in host memory.

use core::ffi::c_void;

use ringforge::{Order, PolyType};
use ringforge_bindings::{Evaluations, Operation};

use crate::code::{Failure, RingforgeCode, guarded};
use crate::engine::RingforgeEngine;
use crate::pointer::{Memory, reference, refused};
use crate::ring::RingforgeRing;

/// Value of `order`: evaluations in digit-reversed order, which is bit-reversed if every radix is 2. This is the
/// fastest order.
pub const RINGFORGE_DIGIT_REVERSED_ORDER: i32 = 0;
/// Value of `order`: evaluations by ascending powers of the root of unity.
pub const RINGFORGE_NATURAL_ORDER: i32 = 1;

/// Value of `depth`: all layers of a complete transform, whose evaluations are numbers. The call fails if the ring has
/// only an incomplete transform, whose evaluations are polynomials.
pub const RINGFORGE_TO_NUMBERS: i32 = -1;

pub(crate) fn evaluations(order: i32, depth: i32) -> Result<Evaluations, Failure> {
    let order = match order {
        RINGFORGE_DIGIT_REVERSED_ORDER => Order::DigitReversed,
        RINGFORGE_NATURAL_ORDER => Order::Natural,
        _ => {
            return Err(refused(
                "order",
                &format!("expected RINGFORGE_DIGIT_REVERSED_ORDER or RINGFORGE_NATURAL_ORDER, got {order}"),
            ));
        }
    };
    let depth = match depth {
        RINGFORGE_TO_NUMBERS => None,
        _ => Some(
            u32::try_from(depth)
                .map_err(|_| refused("depth", &format!("expected RINGFORGE_TO_NUMBERS or at least 0, got {depth}")))?,
        ),
    };
    Ok(Evaluations { order, depth })
}

fn elements<'a>(ring: &PolyType, name: &'a str, place: *const c_void, batch: usize) -> Memory<'a, u8> {
    Memory::new(name, place.cast(), batch, ring.bytes())
}

unsafe fn transform(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    operation: impl FnOnce(Evaluations) -> Operation,
    [order, depth]: [i32; 2],
    [from, to]: [*mut c_void; 2],
    batch: usize,
) -> RingforgeCode {
    guarded(|| {
        let (engine, ring) = (&reference("engine", engine)?.engine, &reference("ring", ring)?.ring);
        let operation = operation(evaluations(order, depth)?);
        let [read, write] = [("from", from), ("to", to)].map(|(name, place)| elements(ring, name, place, batch));
        if from == to {
            return Ok(operation.run_in_place(engine, ring, write.write()?)?);
        }
        Ok(operation.run(engine, ring, &[read.read()?], write.apart_from([read])?.write()?)?)
    })
}

unsafe fn product(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    operation: impl FnOnce() -> Result<Operation, Failure>,
    [a, b]: [*const c_void; 2],
    product: *mut c_void,
    batch: usize,
) -> RingforgeCode {
    guarded(|| {
        let (engine, ring) = (&reference("engine", engine)?.engine, &reference("ring", ring)?.ring);
        let (a, b) = (elements(ring, "a", a, batch), elements(ring, "b", b, batch));
        let product = elements(ring, "product", product, batch).apart_from([a, b])?;
        Ok(operation()?.run(engine, ring, &[a.read()?, b.read()?], product.write()?)?)
    })
}

/// Transforms `batch` elements in host memory from coefficients to evaluations in this order (forward NTT). `depth` is
/// `RINGFORGE_TO_NUMBERS` or a number of layers, at most `ringforge_ring_depth`. `to` may be equal to `from`, but must
/// not overlap it otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_forward(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    order: i32,
    depth: i32,
    from: *const c_void,
    to: *mut c_void,
    batch: usize,
) -> RingforgeCode {
    transform(engine, ring, Operation::Forward, [order, depth], [from.cast_mut(), to], batch)
}

/// Transforms `batch` elements in host memory from evaluations of this order and depth to coefficients: the inverse of
/// `ringforge_forward`. `to` may be equal to `from`, but must not overlap it otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_inverse(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    order: i32,
    depth: i32,
    from: *const c_void,
    to: *mut c_void,
    batch: usize,
) -> RingforgeCode {
    transform(engine, ring, Operation::Inverse, [order, depth], [from.cast_mut(), to], batch)
}

/// Multiplies `batch` pairs of elements in host memory. Inputs and products are coefficients. Works in every ring,
/// including a ring without a transform. `product` must not overlap `a` or `b`; `a` and `b` may be equal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_mul(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    a: *const c_void,
    b: *const c_void,
    product: *mut c_void,
    batch: usize,
) -> RingforgeCode {
    self::product(engine, ring, || Ok(Operation::Mul), [a, b], product, batch)
}

/// Multiplies `batch` pairs of elements in host memory pointwise. Inputs and products are evaluations of this order and
/// depth. `product` must not overlap `a` or `b`; `a` and `b` may be equal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_point_mul(
    engine: *const RingforgeEngine,
    ring: *const RingforgeRing,
    order: i32,
    depth: i32,
    a: *const c_void,
    b: *const c_void,
    product: *mut c_void,
    batch: usize,
) -> RingforgeCode {
    self::product(engine, ring, || Ok(Operation::PointMul(evaluations(order, depth)?)), [a, b], product, batch)
}
