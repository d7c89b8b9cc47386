//! Ringforge plans number-theoretic transforms and polynomial products over any ring, and runs them on a CPU or a GPU.
//!
//! ```
//! # fn main() -> ringforge::Result<()> {
//! let ring: ringforge::Ring = "3329 : x^256 + 1".parse()?; // ML-KEM's
//! let engine = ringforge::Engine::best(); // a CUDA GPU where there is one, else the CPU
//! let (mut a, mut b) = (vec![0u16; 512], vec![0u16; 512]); // two elements each, one after another
//! (a[255], b[1], a[256], b[256]) = (1, 1, 2, 3);
//! let product = engine.mul(&ring, &a, &b)?; // x^255 · x = -1, and 2 · 3 = 6
//! assert_eq!((product[0], product[256]), (3328, 6));
//! # Ok(())
//! # }
//! ```
//!
//! On the device, between coefficients and evaluations:
//!
//! ```
//! # fn main() -> ringforge::Result<()> {
//! # let ring: ringforge::Ring = "3329 : x^256 + 1".parse()?;
//! # let (a, b) = (vec![1u16; 512], vec![2u16; 512]);
//! let engine = ringforge::Engine::best();
//! let a = engine.upload(&ring, &a)?.forward()?;
//! let b = engine.upload(&ring, &b)?.forward()?;
//! let product: Vec<u16> = a.mul(&b)?.inverse()?.download()?;
//! # assert_eq!(product[255], 512);
//! # Ok(())
//! # }
//! ```
//!
//! # Who it is for
//!
//! | you want | begin with |
//! | --- | --- |
//! | a scheme of your own, with kernels of its own | [`Pipeline`], [`Kernel`](kernels::Kernel), `docs/own-scheme.md`, example `03-own-kernel` |
//! | homomorphic encryption: RNS bases, long rows | [`Ring::rns`], [`Op::Convert`], `docs/fhe.md`, example `05-fhe-multiply` |
//! | zero-knowledge proofs: cosets, 256-bit fields | [`Ring::coset`], [`Engine::ntt`], `docs/zk.md`, the crate `ringforge-arkworks` |
//! | several GPUs | [`Engine::all`], [`Engine::long_ntt`], `docs/scale.md` |
//! | batches of key exchanges and signatures | the crates `ringforge-ctru`, `ringforge-ctru-prime`, `ringforge-sm2` |
//!
//! # What stands behind it
//!
//! A [`Ring`] is `Z_Q[x]/(f)`: one [`Modulus`] or an RNS basis of them, and a [`Quotient`]. A [`PolyType`] says how its elements
//! are stored. A [`Job`] is an operation on them. A [`Planner`] turns a job into a [`Plan`], which is data: it prints itself; a [`Pipeline`] makes one of operations and
//! kernels of your own, joined by the values between them. A [`Device`] compiles a plan into a [`Program`], which runs on
//! batches, on buffers of the device in the order of a [`Stream`] or on host memory. An [`Engine`] is a device with a
//! planner, and keeps programs.
//!
//! # From here to a kernel
//!
//! | file | what it decides |
//! | --- | --- |
//! | `planner.rs` | which strategy does a job: the ring's own transform, or the lift through a longer product |
//! | `math/src/ring/factors.rs` | the tree by which f factors: layers, roots, leaves |
//! | `kernels/forward.rs` | a step: its ports, its meaning on the CPU |
//! | `rows.rs`, `rows/block.rs` | how rows lie in thread blocks: what the generated `prelude.cuh` says |
//! | `forward.cu`, `ntt.cuh` | the text that a GPU runs, in the crate `ringforge-kernels` |
//!
//! For homomorphic encryption and for zero-knowledge proofs, `docs/fhe.md` and `docs/zk.md` in the repository say what
//! there is and how to use it.
//!
//! A [`Kernel`](kernels::Kernel) of your own is a step like any other: examples `03-own-kernel`, and the crate `ringforge-testkit` for its tests.
//!
//! # Features
//!
//! `cuda` (default) loads the NVIDIA driver and NVRTC at run time where they are there; nothing is needed to build.

mod arithmetic;
#[cfg(feature = "cuda")]
pub mod cuda {
    //! NVIDIA GPUs: kernel bundles, and what kernels take of a multiprocessor.

    pub use ringforge_runtime::cuda::{Bundle, BundleFault, Occupancy, Resources, compile_check, is_compiler_present};
}
mod engine;
mod job;
pub mod kernels;
mod long;
mod pipeline;
mod planner;
mod rows;
mod source;
mod transform;
pub mod tuning;
pub mod words;

pub use ringforge_math::{Error, Form, Modulus, NoDevice, Order, PolyType, Quotient, Result, Ring, U256, Width, split};
#[cfg(feature = "cuda")]
pub use ringforge_runtime::raw;
pub use ringforge_runtime::{Buffer, Device, Draws, Event, Limits, PinnedBuffer, Plan, Program, Stream};

pub use engine::{Elements, Engine};
pub use job::{Job, Op};
pub use pipeline::{Pipeline, Value};
pub use planner::Planner;

/// Runs: what [`Program`] and [`Engine`] give out to be called.
pub mod run {
    pub use ringforge_runtime::{BufferSlice, BufferSliceMut, Call, Captured, CapturedArg, HostCall, Launch, PlanArg};

    pub use crate::engine::{LongNtt, LongVector, Ntt, Span};
    pub use crate::long::{LongPlan, Placement};
}

/// The page's examples, as tests. (Those of `docs/` are tests of `ringforge-tests`, which is not packaged.)
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
