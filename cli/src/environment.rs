//! What a measurement ran on: processor, driver, commit, date.

use std::process::Command;
use std::time::SystemTime;

use ringforge::Device;
use serde::{Deserialize, Serialize};

/// Where and when something was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The name of the device.
    pub device: String,
    /// The CPU's model.
    pub cpu: String,
    /// Threads of the CPU.
    pub cpu_threads: usize,
    /// Version of the GPU driver.
    pub driver: Option<String>,
    /// The GPU's clock under load is not known before; this is the highest it may take, in MHz.
    pub most_clock_mhz: Option<u32>,
    /// The commit that the command was built from.
    pub commit: Option<String>,
    /// The day, as year-month-day.
    pub date: String,
    /// The command's version.
    pub version: String,
}

impl Environment {
    /// That of a measurement on a device, now.
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

/// The CPU's model name.
pub fn cpu_name() -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    name.unwrap_or_else(|| format!("CPU ({})", std::env::consts::ARCH))
}

/// Threads that the CPU backend uses.
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// The commit that this was built from: `RINGFORGE_COMMIT` as it was then. The folder that it runs in may be any.
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
