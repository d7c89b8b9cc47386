//! The devices that tests run on, if this machine has them.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use ringforge_math::error::Result;
use ringforge_runtime::device::Device;

use super::emulator;

/// A kind of device to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// The CPU, which runs the CPU references of kernels.
    Cpu,
    /// The emulator: kernels' CUDA source, run on the CPU.
    Emulator,
    /// The emulator under sanitizers.
    EmulatorSanitized,
    /// A GPU.
    Cuda,
}

impl Target {
    /// Returns the device. If this machine has none, prints the reason, once per process, and returns `None`.
    ///
    /// # Panics
    /// If the environment requires a device that is missing (with `RINGFORGE_REQUIRE_GPU=1`, for example).
    #[must_use]
    pub fn device(self) -> Option<Device> {
        let sanitized = emulator::Options { sanitize: true, ..emulator::Options::default() };
        match self {
            Self::Cpu => Some(Device::cpu()),
            Self::Emulator => found(emulator::device(emulator::Options::default()), "RINGFORGE_REQUIRE_EMULATOR"),
            Self::EmulatorSanitized => found(emulator::device(sanitized), "RINGFORGE_REQUIRE_EMULATOR"),
            Self::Cuda => found(Device::cuda(0), "RINGFORGE_REQUIRE_GPU"),
        }
    }
}

/// The devices to test on: the CPU, the emulator if there is a C++ compiler, the first GPU if there is one.
///
/// # Panics
/// If the environment requires a device that is missing (with `RINGFORGE_REQUIRE_GPU=1`, for example).
#[must_use]
pub fn devices() -> Vec<Device> {
    [Target::Cpu, Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device).collect()
}

/// Prints why a device is skipped, each reason once per process. The message bypasses the capture of tests' output,
/// because a test that was skipped reports `ok` like one that ran.
fn say_once(why: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(why.into()) {
        // ignore an error: standard error may be closed
        let _ = writeln!(std::io::stderr(), "skipped on this machine: {why}");
    }
}

fn found(device: Result<Device>, variable: &str) -> Option<Device> {
    let required = std::env::var_os(variable).is_some_and(|value| value == "1");
    match device {
        Err(why) if required => panic!("{variable}=1: {why}"),
        Err(why) => {
            say_once(&why.to_string());
            None
        }
        Ok(device) => Some(device),
    }
}
