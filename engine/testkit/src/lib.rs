//! What tests need, here and in third parties' crates: devices to test on, samples, comparisons, and one macro.
//!
//! A crate with kernels or plans of its own implements [`Scheme`] and writes `ringforge_testkit::suite!(MyScheme);` in a test.
//! Functions here named `check…` fail by panicking, as a test's assertions do; all others return what they find.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `RINGFORGE_SEED` | the seed of all samples; without it, one is drawn and printed |
//! | `RINGFORGE_REQUIRE_EMULATOR=1` | a missing C++ compiler is a failure, not a skip |
//! | `RINGFORGE_REQUIRE_GPU=1` | a missing GPU is a failure, not a skip |
//! | `CXX` | the C++ compiler |
//! | `RINGFORGE_CACHE_DIR` | compiled kernel texts are kept in `text` there; else in `ringforge/text` in the user's cache folder |

use ringforge_math::error::Result;
use ringforge_runtime::device::Device;

mod check;
mod compare;
pub mod emulator;
pub mod inject;
pub mod naive;
mod samples;
mod scheme;
mod single;
mod stages;
mod target;

pub use check::{check_plan, check_scheme};
pub use compare::{Compiled, difference};
pub use samples::{Random, bytes, residues, seed};
pub use scheme::{Named, NamedPlan, Scheme};
pub use single::{one_step, run};
pub use target::{Target, devices};

/// What a device's memory holds that went back and is kept for later, a vector for each piece, after the work that used it:
/// to look for secrets that were not wiped. Nothing where memory is the host's.
///
/// # Errors
/// [`Error::Driver`](ringforge::Error::Driver).
pub fn kept_memory(device: &Device) -> Result<Vec<Vec<u8>>> {
    device.backend().kept()
}
