//! The ways in which a job can be done, one thing changed after another.

use anyhow::Result;
use ringforge::{Arithmetic, Choice, Exchange, Job, Limits, Plan, Planner, Tuning};
use serde::Serialize;

use super::contest::Contest;
use crate::measure::Times;

/// How many times as fast a way must be to be preferred: less may be noise.
const LEAST_GAIN: f64 = 1.02;
/// Most kernels that a transform is shared out among.
const MOST_KERNELS: usize = 6;
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
    let mut seen = vec![kernels(&usual, limits)?];
    for thing in THINGS {
        for choice in thing(best, job, limits) {
            let plan = plan(job, choice, limits)?;
            let kernels = kernels(&plan, limits)?;
            if seen.contains(&kernels) {
                continue;
            }
            seen.push(kernels);
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

fn plan(job: &Job, choice: Choice, limits: &Limits) -> Result<Plan> {
    let mut tuning = Tuning::default();
    tuning.choose(job, choice);
    Ok(Planner::new(limits.clone()).tuned(tuning).plan(job)?)
}

/// What distinguishes plans: the text of their kernels on a GPU, what they say of themselves on the CPU.
fn kernels(plan: &Plan, limits: &Limits) -> Result<String> {
    if limits.is_cpu() {
        return Ok(plan.to_string());
    }
    let built = plan.steps().iter().map(|step| Ok(format!("{} {:?}", step.kernel.name(), step.kernel.build(limits)?)));
    Ok(built.collect::<ringforge::Result<Vec<_>>>()?.concat())
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
    use ringforge::{Device, Op, Ring};

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
            let mut contest = Contest::new(&device, 2, vec![sample::elements(&ring, 1, 0, 2)], Effort::LEAST);
            let (_, found) = fastest(&Job::new(&ring, Op::Forward), &mut contest)?;
            assert_eq!(found.iter().map(|way| way.name.as_str()).collect::<Vec<_>>(), ways);
        }
        Ok(())
    }

    #[test]
    fn ways_on_a_gpu_lead_to_different_kernels() -> Result<()> {
        let (limits, ring) = (Limits::h200(), "562949953408001:x^512+1".parse::<Ring>()?);
        let job = Job::new(&ring, Op::Forward);
        let ways = |thing: Thing| {
            let choices = thing(Choice::default(), &job, &limits);
            let mut kernels: Vec<_> = choices
                .into_iter()
                .map(|choice| kernels(&plan(&job, choice, &limits)?, &limits))
                .collect::<Result<_>>()?;
            kernels.sort();
            kernels.dedup();
            anyhow::Ok(kernels.len())
        };
        for thing in THINGS {
            assert!(ways(thing)? >= 1);
        }
        assert!(ways(THINGS[1])? > 1 && ways(THINGS[2])? > 2);
        Ok(())
    }
}
