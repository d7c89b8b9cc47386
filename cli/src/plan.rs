//! `ringforge plan`: prints the plan of an operation on a ring.

use anyhow::{Context, Result, bail};
use clap::Args;
use ringforge::{Job, Limits};
use serde_json::json;

use crate::devices::Choice;
use crate::job::Asked;
use crate::show;
use crate::tuning_file::TuningFile;

/// Options of `ringforge plan`.
#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    asked: Asked,
    /// Bounds on the absolute values of the centred operands of a product, such as 1,2295.
    #[arg(long, value_name = "LEFT,RIGHT", value_parser = bounds)]
    bounds: Option<(u64, u64)>,
    /// Approximate number of items per run.
    #[arg(long, default_value_t = 1 << 16)]
    batch: usize,
    /// Plan for another device: cpu, h200, or a GPU's compute capability such as sm_90.
    #[arg(long, value_parser = target)]
    target: Option<Limits>,
    #[command(flatten)]
    tuning: TuningFile,
}

fn bounds(text: &str) -> Result<(u64, u64), String> {
    let pair = text.split_once(',').and_then(|(l, r)| Some((l.trim().parse().ok()?, r.trim().parse().ok()?)));
    pair.ok_or_else(|| "expected two numbers, such as 1,2295".into())
}

fn target(text: &str) -> Result<Limits, String> {
    match text {
        "cpu" => Ok(Limits::cpu()),
        "h200" => Ok(Limits::h200()),
        _ => match text.strip_prefix("sm_").unwrap_or(text).parse() {
            Ok(capability @ 50..200) => Ok(Limits::of_capability(capability)),
            _ => Err("expected cpu, h200 or a compute capability from sm_50 on, such as sm_90".into()),
        },
    }
}

impl Options {
    fn job(&self) -> Job {
        let job = self.asked.job().batch_hint(self.batch);
        match self.bounds {
            Some((left, right)) => job.bounds(left, right),
            None => job,
        }
    }
}

/// Runs `ringforge plan`.
pub(crate) fn main(options: &Options, choice: Choice, json: bool) -> Result<()> {
    if options.target.is_some() && choice != Choice::Best {
        bail!("--target and --device cannot be used together");
    }
    let limits = match &options.target {
        Some(limits) => limits.clone(),
        None => choice.open()?.device.limits().clone(),
    };
    let job = options.job();
    let plan = options.tuning.planner(&limits)?.plan(&job)?;
    let mut launches = Vec::new();
    for kernel in plan.kernels() {
        let source = (!limits.is_cpu()).then(|| kernel.source(&limits)).transpose();
        let source = source.with_context(|| format!("{} on {}", kernel.name(), limits.name))?;
        launches.push(source.map(|source| source.launch()));
    }
    if json {
        let steps = plan.kernels().zip(&launches).map(|(kernel, launch)| {
            let launch = launch.map(|l| {
                json!({
                    "threads": l.threads, "items_per_block": l.items_per_block,
                    "blocks_per_item": l.blocks_per_item, "shared_bytes": l.shared_bytes, "cluster": l.cluster,
                })
            });
            json!({ "kernel": kernel.name(), "about": kernel.describe(), "launch": launch })
        });
        let args = plan.args().iter().map(|arg| {
            let content = arg.before.as_ref().or(arg.after.as_ref()).map(ToString::to_string);
            json!({ "name": arg.name, "role": format!("{:?}", arg.role), "bytes": arg.bytes, "content": content })
        });
        return show::print_json(&json!({
            "job": job.to_string(), "target": limits.name, "text": plan.to_string(),
            "steps": steps.collect::<Vec<_>>(), "args": args.collect::<Vec<_>>(),
            "temporary_bytes_per_item": plan.temporary_bytes(1),
            "floor_bytes_per_item": plan.bytes_moved_per_item(),
        }));
    }
    show::print(&format!("for {}", limits.name))?;
    show::print(&plan.to_string())?;
    for (kernel, launch) in plan.kernels().zip(launches) {
        if let Some(l) = launch {
            let share = match (l.items_per_block, l.blocks_per_item) {
                (1, 1) => "an item a block".into(),
                (1, blocks) => format!("{blocks} blocks an item"),
                (items, _) => format!("{items} items a block"),
            };
            let (name, threads, shared) = (kernel.name(), l.threads, l.shared_bytes);
            show::print(&format!("  {name:<12} {threads} threads, {share}, {shared} bytes of shared memory"))?;
        }
    }
    show::print(&format!("at least {} bytes to move for each item", plan.bytes_moved_per_item()))
}
