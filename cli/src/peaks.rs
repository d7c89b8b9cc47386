//! Peak throughput of a device, from which roofline bounds are computed.

use ringforge::Limits;

/// Peak throughput of one execution pipe of one multiprocessor in instructions per second: 64 per clock at 1.94 GHz, as
/// measured on an H200. Each multiprocessor has one such pipe for 32-bit multiply-adds and one for logic and shifts.
const PIPE: f64 = 16.4e12 / 132.0;

/// Peak throughput of a device, in units per second.
#[derive(Debug, Clone, Copy)]
pub struct Peaks {
    /// Bytes read and written per second by copying device memory.
    pub copy: f64,
    /// Peak throughput of the execution pipes; known for GPUs only.
    pub pipes: Option<Pipes>,
}

/// Peak throughput of a GPU's execution pipes per second, of all multiprocessors together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pipes {
    /// 32-bit multiply-adds.
    pub multiply: f64,
    /// Logic and shift instructions.
    pub logic: f64,
}

impl Pipes {
    /// The peak throughput of an H200, scaled by the number of multiprocessors; `None` for a CPU.
    pub fn of(limits: &Limits) -> Option<Self> {
        let all = PIPE * f64::from(limits.multiprocessors);
        (!limits.is_cpu()).then_some(Self { multiply: all, logic: all })
    }
}
