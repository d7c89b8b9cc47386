//! Test tools for kernels, plans and schemes, in Ringforge and in third-party crates: devices to test on, samples,
//! comparisons, and the macro `suite!`.
//!
//! A crate with its own kernels or plans implements [`Scheme`] and writes `ringforge_testkit::suite!(MyScheme);` in a
//! test. Functions of this crate named `check…` panic on failure, as assertions do. All other functions return what
//! they find.
//!
//! The guide `docs/guides/scheme.md` in the repository shows its use, and `docs/how/testing.md` explains the tests.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `RINGFORGE_SEED` | The seed of all samples. Without it, one is drawn and printed. |
//! | `RINGFORGE_REQUIRE_EMULATOR=1` | A missing C++ compiler is a failure, not a skip. |
//! | `RINGFORGE_REQUIRE_GPU=1` | A missing GPU is a failure, not a skip. |
//! | `RINGFORGE_REQUIRE_NVRTC=1` | A missing NVRTC is a failure, not a skip. |
//! | `CXX` | The C++ compiler. |
//! | `RINGFORGE_CACHE_DIR` | Parent of the cache folder `text`. Default: `ringforge` in the user's cache folder. |

use ringforge_math::error::Result;
use ringforge_runtime::device::Device;

mod check;
mod compare;
pub mod distributions;
pub mod emulator;
pub mod failing;
pub mod inject;
pub mod naive;
pub mod rehearsal;
mod samples;
mod scheme;
mod single;
mod stages;
mod target;
mod watched;

#[cfg(feature = "cuda")]
pub use check::check_registers;
pub use check::{check_plan, check_scheme};
pub use compare::{Compiled, difference};
pub use samples::{Random, bytes, residues, seed};
pub use scheme::{Named, NamedPlan, Scheme};
pub use single::{one_step, run};
pub use target::{Target, devices};

/// The contents of freed memory that a device keeps for reuse, one vector per allocation. The call waits for the work
/// that used the memory. Tests search the contents for secrets that were not wiped. Empty if the device uses host
/// memory.
///
/// # Errors
/// [`Error::Driver`](ringforge::Error::Driver) if a driver call fails.
pub fn kept_memory(device: &Device) -> Result<Vec<Vec<u8>>> {
    device.backend().kept()
}
