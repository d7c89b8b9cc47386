//! Ringforge plans number-theoretic transforms and polynomial products over any ring, and runs them on a CPU or a GPU.
//!
//! ```
//! # fn main() -> ringforge::Result<()> {
//! let ring: ringforge::Ring = "3329 : x^256 + 1".parse()?; // the ring of ML-KEM
//! let engine = ringforge::Engine::best(); // a CUDA GPU where there is one, else the CPU
//! let (mut a, mut b) = (vec![0u16; 512], vec![0u16; 512]); // two elements each, stored contiguously
//! (a[255], b[1], a[256], b[256]) = (1, 1, 2, 3);
//! let product = engine.mul(&ring, &a, &b)?; // x^255 · x = -1, and 2 · 3 = 6
//! assert_eq!((product[0], product[256]), (3328, 6));
//! # Ok(())
//! # }
//! ```
//!
//! Elements can stay on the device and change between coefficients and evaluations:
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
//! # Where to start
//!
//! | you want | begin with |
//! | --- | --- |
//! | your own scheme: kernels | [`Pipeline`], [`Kernel`](kernels::Kernel), `docs/guides/scheme.md`, example `03-own-kernel` |
//! | homomorphic encryption: RNS bases, long limbs | [`Ring::rns`], [`Op::Convert`], `docs/guides/encrypted.md`, example `05-fhe-multiply` |
//! | zero-knowledge proofs: cosets, 256-bit fields | [`Ring::coset`], [`Engine::ntt`], `docs/guides/groth16.md`, the crate `ringforge-arkworks` |
//! | several GPUs: large batches, or one long vector | [`Engine::all`], [`Engine::long_ntt`], `docs/guides/gpus.md` |
//! | batches: key exchanges and signatures | `docs/guides/batches.md`, the crates `ringforge-ctru`, `ringforge-ctru-prime`, `ringforge-ml-dsa`, `ringforge-sm2` |
//!
//! # Overview
//!
//! A [`Ring`] is `Z_Q[x]/(f)`: one [`Modulus`] or an RNS basis of them, and a [`Quotient`]. A [`PolyType`] says how
//! its elements are stored. A [`Job`] is an operation on them.
//!
//! A [`Planner`] turns a job into a [`Plan`], a plain data structure that can be printed. A [`Pipeline`] builds a
//! plan from operations and your own kernels, connected by the values that they read and write.
//!
//! A [`Device`] compiles a plan into a [`Program`]. A program runs on batches, either on device buffers in the order
//! of a [`Stream`] or on host memory. An [`Engine`] is a device with a planner and a program cache.
//!
//! # Where to find things in the source
//!
//! | file | what it decides |
//! | --- | --- |
//! | `planner.rs` | the strategy for a job: the ring's own transform, or a product via a larger NTT |
//! | `math/src/ring/factors.rs` | the factorisation of f: layers, roots of unity, leaf degree |
//! | `kernels/forward.rs` | one step: its ports and its CPU reference |
//! | `layout.rs`, `layout/block.rs` | how limbs map to thread blocks; this generates `prelude.cuh` |
//! | `forward.cu`, `ntt.cuh` | the CUDA source, in the crate `ringforge-kernels` |
//!
//! The book of the repository begins with `docs/index.md`. Its guides `docs/guides/encrypted.md`,
//! `docs/guides/groth16.md` and `docs/guides/plonky3.md` describe the support for homomorphic encryption and for
//! zero-knowledge proofs.
//!
//! Your own [`Kernel`](kernels::Kernel) is a step like any other: see example `03-own-kernel`, and the crate
//! `ringforge-testkit` for tests.
//!
//! # Features
//!
//! `cuda` (default) supports NVIDIA GPUs. It loads the driver and NVRTC at run time if they are present, and needs
//! nothing at build time.

mod arithmetic;
#[cfg(feature = "cuda")]
pub mod cuda {
    //! NVIDIA GPUs: kernel bundles, and the registers, shared memory and occupancy of kernels.

    pub use ringforge_runtime::cuda::{Bundle, BundleFault, Occupancy, Resources, compile_check, is_compiler_present};
}
mod engine;
mod job;
pub mod kernels;
mod layout;
mod long;
mod pipeline;
mod planner;
mod repetition;
mod source;
mod transform;
pub mod tuning;
pub mod words;

pub use ringforge_math::{
    Error, Form, Modulus, NoDevice, Order, PolyType, Quotient, Result, Ring, U256, Width, factorization,
};
#[cfg(feature = "cuda")]
pub use ringforge_runtime::raw;
pub use ringforge_runtime::{Buffer, Device, Event, Limits, PinnedBuffer, Plan, Program, RandomKey, Stream};

pub use engine::{Elements, Engine};
pub use job::{Job, Op};
pub use pipeline::{Digits, Pipeline, Value};
pub use planner::Planner;

/// Types for running work: calls and captured runs of a [`Program`], and the transforms that an [`Engine`] returns.
pub mod run {
    pub use ringforge_runtime::{BufferSlice, BufferSliceMut, Call, Captured, CapturedArg, HostCall, PlanArg, Rank};

    pub use crate::engine::{LongNtt, LongVector, Ntt, Span};
    pub use crate::kernels::repeat::AGAIN;
    pub use crate::long::{LongPlan, Placement};
    #[doc(hidden)]
    pub use crate::repetition::plans_between_rounds;
    pub use crate::repetition::{Repetition, Rounds};
}

/// Runs the examples of the README as tests. (Those of `docs/` are tests of `ringforge-tests`, which is not
/// packaged.)
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
