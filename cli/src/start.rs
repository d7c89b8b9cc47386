//! `ringforge start`: measures the time from the start of the process to the first result.

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;
use ringforge_testkit::{NamedPlan, difference};
use serde_json::json;

use crate::devices::Choice;
use crate::job::Asked;
use crate::show;
use crate::work::{Work, slices};

/// Options of `ringforge start`.
#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    asked: Asked,
    /// Number of items in the run.
    #[arg(long, default_value_t = 1)]
    batch: usize,
}

/// Runs `ringforge start` in a process that started at `began`. Returns true if the result equals the CPU's.
pub(crate) fn main(options: &Options, choice: Choice, json: bool, began: Instant) -> Result<bool> {
    ensure!(options.batch > 0, "--batch must be at least 1");
    let mut times = vec![("command line", began.elapsed().as_secs_f64())];
    let mut done = |what| times.push((what, began.elapsed().as_secs_f64()));
    let device = choice.open()?.device;
    done("device open");
    let job = options.asked.job();
    let named = NamedPlan::of_job(&job, device.limits())?;
    let inputs = named.sample(0, options.batch);
    done("planned, inputs made");
    let work = Work::of_plan(&device, &named.plan)?;
    done("kernels loaded, tables made");
    let found = work.run_all(options.batch, &slices(&inputs))?;
    done("first result in host memory");
    let cpu = ringforge::Device::cpu();
    let expected = NamedPlan::of_job(&job, cpu.limits())?;
    let expected = Work::of_plan(&cpu, &expected.plan)?.run_all(options.batch, &slices(&inputs))?;
    let wrong = difference(&named.plan, &expected, &found);
    if json {
        let times: serde_json::Map<_, _> = times.into_iter().map(|(what, at)| (what.into(), at.into())).collect();
        show::print_json(&json!({
            "job": job.to_string(), "device": device.to_string(), "batch": options.batch, "seconds_to": times,
            "right": wrong.is_none(),
        }))?;
    } else {
        show::print(&format!("{job} on {device}, {} items: seconds since the start", options.batch))?;
        times.iter().try_for_each(|(what, at)| show::print(&format!("{at:8.3}  {what}")))?;
        show::print(wrong.as_deref().unwrap_or("the result is that of the CPU"))?;
    }
    Ok(wrong.is_none())
}
