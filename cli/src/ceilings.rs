//! What a device can do at best, from which floors come.

use ringforge::Limits;

/// Instructions that a pipe of a multiprocessor does in a second: 64 a clock at 1.94 GHz, as measured on an H200. Of
/// such pipes there is one for 32-bit multiply-adds and one for logic and shifts.
const PIPE: f64 = 16.4e12 / 132.0;

/// What a device does in a second at best.
#[derive(Debug, Clone, Copy)]
pub struct Ceilings {
    /// Bytes that copying memory on the device reads and writes.
    pub copy: f64,
    /// What its pipes do; known of GPUs.
    pub pipes: Option<Pipes>,
}

/// What the pipes of a GPU do in a second, all multiprocessors together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pipes {
    /// 32-bit multiply-adds.
    pub multiply: f64,
    /// Instructions of logic and shifts.
    pub logic: f64,
}

impl Pipes {
    /// Those of an H200, by the number of multiprocessors; none of a CPU.
    pub fn of(limits: &Limits) -> Option<Self> {
        let all = PIPE * f64::from(limits.multiprocessors);
        (!limits.is_cpu()).then_some(Self { multiply: all, logic: all })
    }
}
