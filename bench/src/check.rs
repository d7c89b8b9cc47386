//! `ringforge check`: rings of every kind, key encapsulation and signatures, compared with slow and obvious arithmetic.

mod kems;
mod rings;
mod sm2;

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;

use crate::devices::Choice;
use crate::environment;
use crate::kems::SETS;
use crate::rings::CHECKED;
use crate::show;
use crate::tune::TuningFile;

/// Options of `ringforge check`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only rings and schemes whose name or text contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Small batches only: enough to run every kernel, not to measure it.
    #[arg(long)]
    quick: bool,
    /// Seed of the random polynomials and keys; without it, a new one is drawn.
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    tuning: TuningFile,
}

/// `ringforge check`: whether every line agrees.
pub(crate) fn main(options: &Options, choice: Choice, json: bool) -> Result<bool> {
    let start = Instant::now();
    let chosen = choice.open()?;
    let device = &chosen.device;
    let planner = options.tuning.planner(device.limits())?;
    let Options { filter, quick, .. } = options;
    let seed = options.seed.unwrap_or_else(drawn);
    let wanted: Vec<_> = CHECKED.iter().filter(|(name, ring)| name.contains(filter) || ring.contains(filter)).collect();
    let wanted_kems: Vec<_> = SETS.iter().filter(|set| set.parameters.name().contains(filter)).collect();
    let wants_sm2 = sm2::NAME.contains(filter.as_str());
    ensure!(!(wanted.is_empty() && wanted_kems.is_empty()) || wants_sm2, "no ring or scheme contains {filter:?}");
    let bar = show::progress(wanted.len() + wanted_kems.len());
    let (mut rings, mut kems) = (Vec::new(), Vec::new());
    for (name, ring) in wanted {
        bar.set_message(*name);
        rings.push(rings::check(name, ring, (device, &planner), seed, *quick)?);
        bar.inc(1);
    }
    for set in wanted_kems {
        bar.set_message(set.parameters.name());
        kems.push(kems::check(set, device, seed, *quick)?);
        bar.inc(1);
    }
    let signatures = if wants_sm2 { sm2::check(device, seed, *quick)? } else { Vec::new() };
    bar.finish_and_clear();
    let good_rings = rings.iter().filter(|line| line.agrees).count();
    let good_kems = kems.iter().filter(|line| line.agrees).count();
    let good_signatures = signatures.iter().all(|line| line.agrees);
    let good = good_rings == rings.len() && good_kems == kems.len() && good_signatures;
    if json {
        show::print_json(&serde_json::json!({
            "device": device.to_string(), "reason": &chosen.reason, "seed": seed, "agrees": good,
            "rings": rings, "kems": kems, "signatures": signatures,
        }))?;
        return Ok(good);
    }
    let name = match device.limits().is_cpu() {
        true => format!("{}, {} threads", environment::cpu_name(), environment::threads()),
        false => device.to_string(),
    };
    show::print(&format!("device: {name} ({})", chosen.reason))?;
    let mut counts = Vec::new();
    if !rings.is_empty() {
        show::print(&rings::table(&rings))?;
        counts.push(format!("{good_rings} of {} rings agree with the oracle", rings.len()));
    }
    if !kems.is_empty() {
        show::print(&kems::table(&kems))?;
        counts.push(format!("{good_kems} of {} schemes agree at both ends", kems.len()));
    }
    if !signatures.is_empty() {
        show::print(&sm2::table(&signatures))?;
        counts.push(format!("SM2 {}", if good_signatures { "agrees" } else { "DISAGREES" }));
    }
    let seconds = start.elapsed().as_secs_f64();
    show::print(&format!("{}; seed {seed}, {seconds:.1} s", counts.join(", ")))?;
    Ok(good)
}

fn drawn() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) >> 16
}
