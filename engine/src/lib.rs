//! Ringforge plans number-theoretic transforms and polynomial products over any ring, and runs them on a CPU or a GPU.
//!
//! A [`Ring`] is `Z_Q[x]/(f)`: one [`Modulus`] or an RNS basis of them, and a [`Quotient`]. A [`Job`] is an operation on
//! it. A [`Planner`] turns a job into a [`Plan`], which is data: it prints itself. A [`Device`] compiles a plan into a
//! [`Program`], which runs on batches, on buffers of the device in the order of a [`Stream`] or on host memory.
//!
//! ```
//! use ringforge::{Device, Job, Modulus, Op, Planner, Ring};
//!
//! // the ring of ML-KEM, and a product in it
//! let ring = Ring::negacyclic(256, Modulus::new(3329u32)?)?;
//! let (device, _why) = Device::best(); // a CUDA GPU where there is one, else the CPU
//! let plan = Planner::new(device.limits().clone()).plan(&Job::new(&ring, Op::Mul))?;
//! let program = device.compile(&plan)?;
//!
//! // two products at once: x^255 · x = -1, and 2 · 3 = 6
//! let (mut a, mut b, mut product) = ([0u16; 512], [0u16; 512], [0u16; 512]);
//! (a[255], b[1]) = (1, 1);
//! (a[256], b[256]) = (2, 3);
//! program.run_host(2, &mut [a.as_slice().into(), b.as_slice().into(), product.as_mut_slice().into()])?;
//! assert_eq!((product[0], product[256]), (3328, 6));
//! # Ok::<(), ringforge::Error>(())
//! ```
//!
//! # From here to a kernel
//!
//! | file | what it decides |
//! | --- | --- |
//! | `planner.rs` | which strategy does a job: the ring's own transform, or the lift through a longer product |
//! | `ring/split.rs` | the tree by which f factors: layers, roots, leaves |
//! | `kernels/forward.rs` | a step: its ports, its meaning on the CPU |
//! | `rows.rs`, `rows/block.rs` | how rows lie in thread blocks: what the generated `prelude.cuh` says |
//! | `forward.cu`, `ntt.cuh` | the text that a GPU runs, in the crate `ringforge-kernels` |
//!
//! For homomorphic encryption and for zero-knowledge proofs, `docs/fhe.md` and `docs/zk.md` in the repository say what
//! there is and how to use it.
//!
//! A [`Kernel`] of your own is a step like any other: examples `03-own-kernel`, and `testkit` for its tests.
//!
//! # Features
//!
//! `cuda` (default) loads the NVIDIA driver and NVRTC at run time where they are there; nothing is needed to build.
//! `testkit` adds the oracle and the tests that kernels, plans and schemes are held to.

mod arithmetic;
mod backend;
mod bound;
#[cfg(any(feature = "cuda", feature = "testkit"))]
mod cache;
mod columns;
mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod decimal;
mod device;
mod draws;
mod error;
mod field;
mod guarded;
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
mod primes;
mod program;
mod residues;
mod ring;
mod rows;
mod simd;
mod source;
#[cfg(feature = "testkit")]
pub mod testkit;
mod transfer;
mod transform;
mod tuning;
mod wipe;

pub use crypto_bigint::U256;

pub use arithmetic::Arithmetic;
pub use bound::{Bound, Held};
#[cfg(any(feature = "cuda", feature = "testkit"))]
pub use cache::{Cache, Usage};
pub use columns::Columns;
pub use device::{Buffer, Device, Reason, Stream};
pub use draws::Draws;
pub use error::{Error, NoDevice, Result};
pub use job::{Bounds, Job, Op, Order};
pub use kernel::{Args, Kernel, Launch, Per, Port, Role, Values};
pub use limits::Limits;
pub use mark::Mark;
pub use modulus::{Modulus, Width};
pub use pinned::PinnedBuffer;
pub use plan::{Content, Plan, PlanArg, Slot, Step, Table, Temp};
pub use planner::Planner;
pub use program::{Arg, HostArg, Program};
pub use ring::split::{self, Layer, Roots, Split};
pub use ring::{MAX_DEGREE, Quotient, Ring};
pub use ringforge_kernels::Header;
pub use rows::Rows;
pub use source::{Built, Source};
pub use transform::{Transform, Word};
pub use tuning::{Choice, Exchange, Tuning};

/// The pages' examples, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/fhe.md")]
#[doc = include_str!("../../docs/zk.md")]
struct Pages;
