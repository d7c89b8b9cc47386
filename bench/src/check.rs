//! `ringforge check`: rings of every kind, key encapsulation and signatures, compared with slow and obvious arithmetic.

mod kems;
mod rings;
mod sm2;

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use ringforge::{Device, Planner, Ring};
use ringforge_sm2::Mode;
use serde::Serialize;

use crate::devices::Choice;
use crate::environment;
use crate::kems::{SETS, Set};
use crate::rings::CHECKED;
use crate::show;
use crate::tune::TuningFile;

/// Options of `ringforge check`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only rings and schemes whose name or text contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Large batches, which fill the device, in place of small ones, which run every kernel.
    #[arg(long)]
    all: bool,
    /// Seed of the random polynomials and keys; without it, a new one is drawn.
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    tuning: TuningFile,
}

/// What is checked by itself.
enum Subject {
    /// By its name and its text.
    Ring(&'static str, &'static str),
    Kem(&'static Set),
    Sm2(Mode),
}

/// With what it is checked.
struct Means {
    device: Device,
    planner: Planner,
    seed: u64,
    all: bool,
}

/// What was found.
#[derive(Debug, Serialize)]
struct Found {
    /// Why the CPU served where a GPU was wanted.
    note: Option<String>,
    batch: usize,
    /// Items compared with slow arithmetic, or with the CPU's.
    compared: usize,
    /// What disagrees.
    wrong: Vec<&'static str>,
}

/// The same with its name.
#[derive(Debug, Serialize)]
struct Line {
    name: String,
    /// The ring, or of what kind the scheme is.
    what: String,
    #[serde(flatten)]
    found: Found,
    seconds: f64,
}

/// `ringforge check`: whether every line agrees.
pub(crate) fn main(options: &Options, choice: Choice, json: bool) -> Result<bool> {
    let start = Instant::now();
    let Options { filter, all, .. } = options;
    let chosen = choice.open()?;
    let (device, seed) = (chosen.device.clone(), options.seed.unwrap_or_else(drawn));
    let planner = options.tuning.planner(device.limits())?;
    let wanted: Vec<Subject> = subjects().filter(|subject| subject.is_named(filter)).collect();
    ensure!(!wanted.is_empty(), "no ring or scheme contains {filter:?}");
    if !json {
        let name = match device.limits().is_cpu() {
            true => format!("{}, {} threads", environment::cpu_name(), environment::threads()),
            false => device.to_string(),
        };
        show::print(&format!("{name} ({}), seed {seed}", chosen.reason))?;
    }
    let bar = show::progress(wanted.len());
    let means = Means { device, planner, seed, all: *all };
    let mut lines = Vec::new();
    means.check(&wanted, |line| {
        bar.inc(1);
        if !json {
            bar.suspend(|| show::print(&line.to_string()))?;
        }
        lines.push(line);
        Ok(())
    })?;
    bar.finish_and_clear();
    let agreeing = lines.iter().filter(|line| line.found.wrong.is_empty()).count();
    let agrees = agreeing == lines.len();
    if json {
        show::print_json(&serde_json::json!({
            "device": means.device.to_string(), "reason": &chosen.reason, "seed": seed, "agrees": agrees, "lines": lines,
        }))?;
    } else {
        let seconds = start.elapsed().as_secs_f64();
        show::print(&format!("{agreeing} of {} agree with slow arithmetic, {seconds:.1} s", lines.len()))?;
    }
    Ok(agrees)
}

/// All that there is.
fn subjects() -> impl Iterator<Item = Subject> {
    let rings = CHECKED.iter().map(|(name, ring)| Subject::Ring(name, ring));
    let signatures = [Mode::Throughput, Mode::Scan].into_iter().map(Subject::Sm2);
    rings.chain(SETS.iter().map(Subject::Kem)).chain(signatures)
}

fn drawn() -> u64 {
    RandomState::new().hash_one(0) >> 16
}

impl Subject {
    fn name(&self) -> String {
        match self {
            Self::Ring(name, _) => (*name).into(),
            Self::Kem(set) => set.parameters.name().into(),
            Self::Sm2(mode) => format!("SM2, {mode:?}"),
        }
    }

    fn what(&self) -> String {
        match self {
            Self::Ring(_, text) => match text.parse::<Ring>() {
                Ok(ring) => show::ring(&ring.to_string()),
                Err(_) => (*text).into(),
            },
            Self::Kem(_) => "key encapsulation".into(),
            Self::Sm2(_) => "signatures".into(),
        }
    }

    fn is_named(&self, filter: &str) -> bool {
        let in_text = matches!(self, Self::Ring(_, text) if text.contains(filter));
        in_text || self.name().contains(filter) || self.what().contains(filter)
    }
}

impl Means {
    /// Hands each line to `take` as it comes. A GPU's checks run side by side, so that compilers do; a CPU's use all
    /// threads one after another.
    fn check(&self, subjects: &[Subject], mut take: impl FnMut(Line) -> Result<()>) -> Result<()> {
        let workers = if self.device.limits().is_cpu() { 1 } else { environment::threads().min(subjects.len()) };
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let (sender, lines) = mpsc::channel();
            for _ in 0..workers {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while let Some(subject) = subjects.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // nobody listens after an error
                        if sender.send(self.line(subject)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            lines.into_iter().try_for_each(|line| take(line?))
        })
    }

    fn line(&self, subject: &Subject) -> Result<Line> {
        let start = Instant::now();
        let found = match subject {
            Subject::Ring(_, ring) => rings::check(ring, self),
            Subject::Kem(set) => kems::check(set, self),
            Subject::Sm2(mode) => sm2::check(*mode, self),
        };
        let name = subject.name();
        let found = found.with_context(|| format!("{name}, seed {}", self.seed))?;
        Ok(Line { name, what: subject.what(), found, seconds: start.elapsed().as_secs_f64() })
    }

    /// Items of a scheme's batch: few and odd, so that the last block is not full, or many.
    fn items(&self) -> usize {
        match (self.all, self.device.limits().is_cpu()) {
            (false, _) => 37,
            (true, true) => 1024,
            (true, false) => 1 << 16,
        }
    }

    /// Items of a GPU's that the CPU makes too.
    fn compared(&self) -> usize {
        if self.device.limits().is_cpu() { 0 } else { self.items().min(1000) }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, what, found: Found { note, batch, compared, wrong }, seconds } = self;
        let verdict = if wrong.is_empty() { "agrees" } else { "WRONG" };
        write!(f, "{verdict:6}  {name:30}  {what:44}  {batch} items, {compared} compared, {seconds:.2} s")?;
        if !wrong.is_empty() {
            write!(f, ": {}", wrong.join(", "))?;
        }
        note.as_ref().map_or(Ok(()), |note| write!(f, " (on the CPU: {note})"))
    }
}
