//! The environment of a measurement: processor, driver, commit and date.

use std::process::Command;
use std::time::SystemTime;

use ringforge::Device;
use serde::{Deserialize, Serialize};

/// The machine, the build and the date of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Name of the device.
    pub device: String,
    /// Model name of the CPU.
    pub cpu: String,
    /// Number of CPU threads.
    pub cpu_threads: usize,
    /// Version of the GPU driver; `None` on a CPU or if nvidia-smi does not report it.
    pub driver: Option<String>,
    /// Highest clock of the GPU in MHz; `None` like the driver's version. The clock under load is not known in advance.
    pub most_clock_mhz: Option<u32>,
    /// The commit that the command was built from, if known.
    pub commit: Option<String>,
    /// Date and time of the measurement in RFC 3339 format.
    pub date: String,
    /// Version of the command.
    pub version: String,
}

impl Environment {
    /// The environment of a measurement made now on this device.
    pub fn of(device: &Device) -> Self {
        let gpu = !device.limits().is_cpu();
        let asked = |what: &str| if gpu { nvidia_smi(what) } else { None };
        Self {
            device: device.to_string(),
            cpu: cpu_name(),
            cpu_threads: threads(),
            driver: asked("driver_version"),
            most_clock_mhz: asked("clocks.max.sm").and_then(|text| text.split(' ').next()?.parse().ok()),
            commit: commit(),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

/// Model name of the CPU.
pub fn cpu_name() -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    name.unwrap_or_else(|| format!("CPU ({})", std::env::consts::ARCH))
}

/// Number of threads that the CPU backend uses.
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// The commit that this program was built from: the value of `RINGFORGE_COMMIT` at build time. The git checkout in the
/// working directory is not read.
fn commit() -> Option<String> {
    option_env!("RINGFORGE_COMMIT").filter(|commit| !commit.is_empty()).map(Into::into)
}

fn nvidia_smi(what: &str) -> Option<String> {
    first_line(Command::new("nvidia-smi").args([&format!("--query-gpu={what}"), "--format=csv,noheader"]))
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(|line| line.trim().to_string()).filter(|line| !line.is_empty())
}
