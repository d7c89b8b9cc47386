//! The choice of a device on the command line, and `ringforge devices`, which lists this machine's devices.

use std::collections::BTreeMap;
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::Args;
use ringforge::{Device, Engine, Limits};

use crate::environment;
use crate::show;

/// Options of `ringforge devices`.
#[derive(Debug, Args)]
pub struct Options {
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

/// A device as named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
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
                _ => Err("expected best, cpu, cuda or cuda:N".into()),
            },
        }
    }
}

/// A device that was opened for a command.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) device: Device,
    /// Why this device was chosen, for display.
    pub(crate) reason: String,
}

impl Choice {
    /// Opens the device.
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

/// The properties of a device, each with its column heading; `None` if it does not apply.
fn facts(choice: String, limits: &Limits) -> [(&'static str, Option<String>); 7] {
    let of_gpu = |text: String| (!limits.is_cpu()).then_some(text);
    let (name, multiprocessors) = match limits.is_cpu() {
        true => (environment::cpu_name(), environment::threads()),
        false => (limits.name.clone(), limits.multiprocessors as usize),
    };
    [
        ("device", Some(choice)),
        ("name", Some(name)),
        ("capability", of_gpu(format!("{}.{}", limits.capability / 10, limits.capability % 10))),
        ("multiprocessors", Some(multiprocessors.to_string())),
        ("threads/block", limits.block_threads.map(|threads| threads.to_string())),
        ("shared/block", of_gpu(format!("{} KiB", limits.block_shared_bytes >> 10))),
        ("memory", of_gpu(format!("{} GiB", limits.memory_bytes >> 30))),
    ]
}

/// Runs `ringforge devices`: prints the devices of this machine, or why there is no GPU.
pub(crate) fn main(options: &Options) -> Result<()> {
    let mut found = vec![facts("cpu".into(), Device::cpu().limits())];
    let mut reason = None;
    for ordinal in 0.. {
        match Device::cuda(ordinal) {
            Ok(device) => found.push(facts(format!("cuda:{ordinal}"), device.limits())),
            Err(error) => {
                reason = (ordinal == 0).then(|| error.to_string());
                break;
            }
        }
    }
    if options.json {
        let devices: Vec<BTreeMap<_, _>> = found.into_iter().map(BTreeMap::from).collect();
        return show::print_json(&serde_json::json!({ "devices": devices, "no_gpu_because": reason }));
    }
    let mut table = show::table(&found[0].each_ref().map(|(heading, _)| *heading), &[2, 3, 4, 5, 6]);
    for facts in found {
        table.add_row(facts.map(|(_, fact)| fact.unwrap_or_else(|| "–".into())));
    }
    show::print(&table.to_string())?;
    reason.map_or(Ok(()), |reason| show::print(&reason))
}
