//! Devices: which one to use, and what this machine has.

use std::str::FromStr;

use anyhow::{Context, Result};
use clap::Args;
use ringforge::{Device, Engine, Limits};
use serde::Serialize;

use crate::environment;
use crate::show;

/// Options of `ringforge devices`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

/// A device as the user names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Best,
    Cpu,
    Cuda(usize),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "best" => Ok(Self::Best),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => match text.strip_prefix("cuda:").map(str::parse) {
                Some(Ok(ordinal)) => Ok(Self::Cuda(ordinal)),
                _ => Err("best, cpu, cuda or cuda:N is wanted".into()),
            },
        }
    }
}

/// A device in use.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) device: Device,
    /// Why this one.
    pub(crate) reason: String,
}

impl Choice {
    /// The device.
    pub(crate) fn open(self) -> Result<Chosen> {
        let chosen = |device, reason: String| Chosen { device, reason };
        Ok(match self {
            Self::Best => {
                let engine = Engine::best();
                let reason = engine.no_gpu().map_or("a CUDA GPU is usable".into(), ToString::to_string);
                chosen(engine.device().clone(), reason)
            }
            Self::Cpu => chosen(Device::cpu(), "asked for".into()),
            Self::Cuda(ordinal) => {
                let device = Device::cuda(ordinal).with_context(|| format!("--device cuda:{ordinal}"))?;
                chosen(device, "asked for".into())
            }
        })
    }
}

#[derive(Debug, Serialize)]
struct Found {
    name: String,
    choice: String,
    capability: Option<u32>,
    multiprocessors: u32,
    block_threads: Option<u32>,
    block_shared_bytes: Option<u32>,
    memory_bytes: Option<u64>,
}

impl Found {
    fn new(choice: String, limits: &Limits) -> Self {
        let gpu = !limits.is_cpu();
        Self {
            name: if gpu { limits.name.clone() } else { environment::cpu_name() },
            choice,
            capability: gpu.then_some(limits.capability),
            multiprocessors: if gpu { limits.multiprocessors } else { environment::threads() as u32 },
            block_threads: limits.block_threads,
            block_shared_bytes: gpu.then_some(limits.block_shared_bytes),
            memory_bytes: gpu.then_some(limits.memory_bytes),
        }
    }
}

/// `ringforge devices`.
pub(crate) fn main(options: &Options) -> Result<()> {
    let mut found = vec![Found::new("cpu".into(), Device::cpu().limits())];
    let mut reason = None;
    for ordinal in 0.. {
        match Device::cuda(ordinal) {
            Ok(device) => found.push(Found::new(format!("cuda:{ordinal}"), device.limits())),
            Err(error) => {
                reason = (ordinal == 0).then(|| error.to_string());
                break;
            }
        }
    }
    if options.json {
        return show::print_json(&serde_json::json!({ "devices": found, "no_gpu_because": reason }));
    }
    let headings = ["device", "name", "capability", "multiprocessors", "threads/block", "shared/block", "memory"];
    let mut table = show::table(&headings, &[2, 3, 4, 5, 6]);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    for device in &found {
        table.add_row([
            device.choice.clone(),
            device.name.clone(),
            or_dash(device.capability.map(|c| format!("{}.{}", c / 10, c % 10))),
            device.multiprocessors.to_string(),
            or_dash(device.block_threads.map(|threads| threads.to_string())),
            or_dash(device.block_shared_bytes.map(|bytes| format!("{} KiB", bytes >> 10))),
            or_dash(device.memory_bytes.map(|bytes| format!("{} GiB", bytes >> 30))),
        ]);
    }
    show::print(&table.to_string())?;
    reason.map_or(Ok(()), |reason| show::print(&reason))
}
