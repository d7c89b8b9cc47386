//! The ways in which a job can be done, one thing changed after another.

use anyhow::Result;
use ringforge::kernels::Arithmetic;
use ringforge::tuning::{Choice, Exchange, Tuning};
use ringforge::{Job, Limits, Plan, Planner};
use serde::Serialize;

use super::contest::Contest;
use crate::measure::Times;

/// How many times as fast a way must be to be preferred: less may be noise.
const LEAST_GAIN: f64 = 1.02;
/// Most kernels that a transform is shared out among.
const MOST_KERNELS: usize = 4;
/// Coefficients of a thread.
const PER_THREAD: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// A way, and what it takes.
#[derive(Debug, Serialize)]
pub(super) struct Alternative {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) times: Times,
}

/// The ways that differ from one in a thing.
type Thing = fn(Choice, &Job, &Limits) -> Vec<Choice>;

/// What can be changed: first what weighs most. Each is tried with the best of those before it.
const THINGS: [Thing; 4] = [
    |base, job, limits| {
        let others = Arithmetic::all_of_device(&job.ring, limits).skip(1);
        others.map(|arithmetic| with(base, |choice| choice.arithmetic = Some(arithmetic))).collect()
    },
    |base, _, _| (1..=MOST_KERNELS).map(|kernels| with(base, |choice| choice.kernels = Some(kernels))).collect(),
    |base, _, _| PER_THREAD.map(|per_thread| with(base, |choice| choice.per_thread = Some(per_thread))).to_vec(),
    |base, _, _| vec![with(base, |choice| choice.exchange = Exchange::Shuffle)],
];

fn with(mut choice: Choice, change: impl FnOnce(&mut Choice)) -> Choice {
    change(&mut choice);
    choice
}

/// The fastest way of a job, and all that were measured, the usual one first.
pub(super) fn fastest(job: &Job, contest: &mut Contest<'_>) -> Result<(Choice, Vec<Alternative>)> {
    let limits = contest.device().limits();
    let mut best = Choice::default();
    let usual = plan(job, best, limits)?;
    let mut times = contest.enter(&name(best), &usual)?;
    let mut alternatives = vec![Alternative { name: name(best), times }];
    let mut seen = vec![texts(&usual, limits)?];
    for thing in THINGS {
        for (choice, plan) in others(job, best, thing, limits, &mut seen)? {
            let name = name(choice);
            let found = contest.enter(&name, &plan)?;
            alternatives.push(Alternative { name, times: found });
            if found.median_seconds * LEAST_GAIN < times.median_seconds {
                (best, times) = (choice, found);
            }
        }
    }
    Ok((best, alternatives))
}

/// The ways that differ from one in a thing and lead to plans that were not seen yet.
fn others(
    job: &Job,
    base: Choice,
    thing: Thing,
    limits: &Limits,
    seen: &mut Vec<String>,
) -> Result<Vec<(Choice, Plan)>> {
    let mut others = Vec::new();
    for choice in thing(base, job, limits) {
        let plan = plan(job, choice, limits)?;
        let texts = texts(&plan, limits)?;
        if !seen.contains(&texts) {
            seen.push(texts);
            others.push((choice, plan));
        }
    }
    Ok(others)
}

fn plan(job: &Job, choice: Choice, limits: &Limits) -> Result<Plan> {
    let mut tuning = Tuning::default();
    tuning.choose(job, choice);
    Ok(Planner::new(limits.clone()).tuned(tuning).plan(job)?)
}

/// What distinguishes plans: the text of their kernels on a GPU, what they say of themselves on the CPU.
fn texts(plan: &Plan, limits: &Limits) -> Result<String> {
    if limits.is_cpu() {
        return Ok(plan.to_string());
    }
    let sources = plan.kernels().map(|kernel| Ok(format!("{} {:?}", kernel.name(), kernel.source(limits)?)));
    Ok(sources.collect::<ringforge::Result<Vec<_>>>()?.concat())
}

/// A way as people read it.
pub(super) fn name(choice: Choice) -> String {
    let parts = [
        choice.arithmetic.map(|arithmetic| arithmetic.name().to_string()),
        choice.kernels.map(|kernels| format!("{kernels} kernels")),
        choice.per_thread.map(|per_thread| format!("{per_thread} a thread")),
        (choice.exchange == Exchange::Shuffle).then(|| "shuffles".to_string()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "usual".into() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use ringforge::testkit::{Random, Target};
    use ringforge::{Device, Op, Order, Ring};

    use super::*;
    use crate::measure::Effort;
    use crate::sample;

    #[test]
    fn ways_on_a_cpu_differ_in_arithmetic_alone() -> Result<()> {
        for (text, ways) in [
            ("3329:x^256+1", &["usual"][..]),
            ("562949953408001:x^64+1", &["usual", "Mod50"]),
            (
                concat!("0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001", ":x^64-1"),
                &["usual", "Mod255"],
            ),
        ] {
            let ring: Ring = text.parse()?;
            let device = Device::cpu();
            let job = Job::new(&ring, Op::Forward);
            let inputs = sample::operands(&job, &mut Random::new(1), 0, 2)?;
            let (_, found) = fastest(&job, &mut Contest::new(&device, 2, inputs, Effort::LEAST))?;
            assert_eq!(found.iter().map(|way| way.name.as_str()).collect::<Vec<_>>(), ways);
        }
        Ok(())
    }

    /// Plans for an H200, one thing changed in each.
    fn ways_on_a_gpu(job: &Job) -> Result<Vec<(Choice, Plan)>> {
        let limits = Limits::h200();
        let mut seen = vec![texts(&plan(job, Choice::default(), &limits)?, &limits)?];
        let ways = THINGS.map(|thing| others(job, Choice::default(), thing, &limits, &mut seen));
        Ok(ways.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    #[test]
    fn there_are_ways_on_a_gpu() -> Result<()> {
        let job = |text: &str| anyhow::Ok(Job::new(&text.parse::<Ring>()?, Op::Forward));
        let names = |job: &Job| -> Result<Vec<String>> {
            Ok(ways_on_a_gpu(job)?.into_iter().map(|(choice, _)| name(choice)).collect())
        };
        let doubles = names(&job("562949953408001:x^512+1")?)?;
        for way in ["Mod64", "2 kernels", "4 a thread"] {
            assert!(doubles.iter().any(|name| name == way), "{way} is not among {doubles:?}");
        }
        assert!(names(&job("1073479681:x^1024+1")?)?.contains(&"shuffles".to_string()));
        Ok(())
    }

    #[test]
    fn all_ways_of_a_gpu_leave_the_same() -> Result<()> {
        let ring: Ring = "562949953408001:x^64+1".parse()?;
        for device in [Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device) {
            let job = Job::new(&ring, Op::Inverse).order(Order::Natural);
            let inputs = sample::operands(&job, &mut Random::new(1), 0, 2)?;
            let (_, found) = fastest(&job, &mut Contest::new(&device, 2, inputs, Effort::LEAST))?;
            assert!(found.len() > 5, "{found:?}");
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn the_text_of_every_way_compiles() -> Result<()> {
        use rayon::prelude::*;

        let is_required = std::env::var_os("RINGFORGE_REQUIRE_NVRTC").is_some_and(|value| value == "1");
        if !ringforge::cuda::is_compiler_present() {
            assert!(!is_required, "NVRTC is not on this machine");
            eprintln!("skipped: NVRTC is not on this machine");
            return Ok(());
        }
        for subject in super::super::subjects::all("forward", true, &Limits::h200())? {
            ways_on_a_gpu(&subject.job)?.par_iter().try_for_each(|(choice, plan)| {
                plan.kernels().try_for_each(|kernel| {
                    let compiled = ringforge::cuda::compile_check(&**kernel, &Limits::h200(), false);
                    compiled.map(|used| println!("{}, {}: {used:?}", subject.job, name(*choice)))
                })
            })?;
        }
        Ok(())
    }
}
