//! Ringforge plans number-theoretic transforms and polynomial products over any ring, and runs them on a CPU or a GPU.

mod arithmetic;
mod backend;
pub mod block;
mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
mod error;
mod field;
mod job;
mod kernel;
pub mod kernels;
mod limits;
mod mark;
mod memory;
mod modulus;
#[cfg(any(test, feature = "testkit"))]
pub mod naive;
mod pinned;
mod plan;
mod planner;
mod program;
mod residues;
mod ring;
mod simd;
#[cfg(feature = "testkit")]
pub mod testkit;
mod transfer;

pub use crypto_bigint::U256;

pub use arithmetic::Arithmetic;
pub use device::{Buffer, Device, Reason, Stream};
pub use error::{Error, NoDevice, Result};
pub use job::{Bounds, Job, Op, Order};
pub use kernel::{Args, Built, Kernel, Launch, Per, Port, Role, Values};
pub use limits::Limits;
pub use mark::Mark;
pub use modulus::{Modulus, Width};
pub use pinned::PinnedBuffer;
pub use plan::{Content, Plan, PlanArg, Slot, Step, Table, Temp};
pub use planner::Planner;
pub use planner::split::{self, Layer, Roots, Split};
pub use program::{Arg, HostArg, Program};
pub use ring::{MAX_DEGREE, Quotient, Ring};
pub use ringforge_kernels::Header;
