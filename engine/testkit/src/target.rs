//! The devices that tests run on, as far as this machine has them.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use ringforge_math::error::Result;
use ringforge_runtime::device::Device;

use super::emulator;

/// A kind of device to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// Kernels' Rust meaning.
    Cpu,
    /// Kernels' text, run on the CPU.
    Emulator,
    /// Kernels' text, run on the CPU under sanitizers.
    EmulatorSanitized,
    /// A GPU.
    Cuda,
}

impl Target {
    /// The device, or `None` where this machine has none: then a line says why, once a process.
    ///
    /// # Panics
    /// If the environment requires a device that is not there.
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

/// The devices to test on: the CPU, its run of kernels' text if there is a C++ compiler, the first GPU if there is one.
///
/// # Panics
/// If the environment requires a device that is not there.
#[must_use]
pub fn devices() -> Vec<Device> {
    [Target::Cpu, Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device).collect()
}

/// Says why a device is skipped, past the capture of a test's output, so that a test that says `ok` is not taken for one that ran.
fn say_once(why: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(why.into()) {
        // whoever closed it hears nothing
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
