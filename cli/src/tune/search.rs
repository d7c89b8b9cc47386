//! Searches the alternatives of a job by changing one parameter after another.

use anyhow::{Result, ensure};
use ringforge::kernels::Arithmetic;
use ringforge::tuning::{Choice, Tuning};
use ringforge::{Job, Limits, Plan, Planner};
use ringforge_testkit::{Named, Random};

use crate::record::Measurement;
use crate::runs::Runs;
use crate::sample;
use crate::session::Bench;
use crate::show;
use crate::work::slices;

/// Name of the alternative without changes: the planner's own choice.
pub(super) const USUAL: &str = "usual";
/// Minimum speed-up of an alternative that is preferred; a smaller speed-up may be noise.
const LEAST_GAIN: f64 = 1.02;
/// Maximum number of kernels that share the layers of a transform.
const MOST_KERNELS: usize = 4;
/// Numbers of coefficients per thread.
const PER_THREAD: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// Returns the choices that differ from a given choice in one parameter.
type Thing = fn(Choice, &Job, &Limits) -> Vec<Choice>;

/// The parameters that can be changed, the most important first. Each is varied on top of the best choice found so far.
const THINGS: [Thing; 5] = [
    |base, job, limits| {
        let others = Arithmetic::all_of_device(&job.poly, limits).skip(1);
        others.map(|arithmetic| with(base, |choice| choice.arithmetic = Some(arithmetic))).collect()
    },
    |base, _, _| (1..=MOST_KERNELS).map(|kernels| with(base, |choice| choice.kernels = Some(kernels))).collect(),
    |base, _, limits| {
        let clusters = (1..=limits.cluster_blocks.ilog2()).map(|log| 1 << log);
        clusters.map(|blocks| with(base, |choice| choice.cluster = Some(blocks))).collect()
    },
    |base, _, _| PER_THREAD.map(|per_thread| with(base, |choice| choice.per_thread = Some(per_thread))).to_vec(),
    |base, _, _| vec![with(base, |choice| choice.shuffles = true)],
];

fn with(mut choice: Choice, change: impl FnOnce(&mut Choice)) -> Choice {
    change(&mut choice);
    choice
}

/// Measures plans of one job on one device, with the same arguments. Each plan must give the same results as the first.
pub(super) struct Contest<'a> {
    bench: &'a Bench,
    job: &'a Job,
    batch: usize,
    inputs: Named,
    /// Results of the first plan, and its seconds per item.
    usual: Option<(Named, f64)>,
}

impl<'a> Contest<'a> {
    pub(super) fn new(bench: &'a Bench, job: &'a Job, batch: usize) -> Result<Self> {
        let inputs = sample::operands(job, &mut Random::new(bench.seed), 2, batch)?;
        Ok(Self { bench, job, batch, inputs, usual: None })
    }

    /// Measures a plan and compares its speed with the first plan's. Returns an error if their results differ.
    pub(super) fn enter(&mut self, name: &str, plan: &Plan) -> Result<Measurement> {
        let Self { bench, job, batch, .. } = *self;
        let outcome = Runs::new(plan, batch, &slices(&self.inputs)).measure(bench, bench.effort)?;
        let line =
            outcome.line(show::ring(&job.poly.to_string()), job.op, batch).in_ring(&job.poly).by(plan).varied(name);
        let line = line.checked("all bytes with those of the usual plan", true);
        let Some((expected, seconds)) = &self.usual else {
            self.usual = Some((outcome.results, 1.0 / line.items_per_second));
            return Ok(line);
        };
        ensure!(
            outcome.alike && outcome.results == *expected,
            "{name}: the result differs from that of the usual plan\n{plan}"
        );
        Ok(line.beside(USUAL, *seconds))
    }
}

/// Searches for the fastest choice for a job. Also returns the measurements of all choices, the planner's own first.
pub(super) fn fastest(job: &Job, mut contest: Contest<'_>) -> Result<(Choice, Vec<Measurement>)> {
    let limits = contest.bench.device.limits();
    let mut best = Choice::default();
    let usual = plan(job, best, limits)?;
    let mut lines = vec![contest.enter(USUAL, &usual)?];
    let mut most = lines[0].items_per_second;
    let mut seen = vec![texts(&usual, limits)?];
    for thing in THINGS {
        for (choice, plan) in others(job, best, thing, limits, &mut seen)? {
            let line = contest.enter(&name(choice), &plan)?;
            if line.items_per_second > LEAST_GAIN * most {
                (best, most) = (choice, line.items_per_second);
            }
            lines.push(line);
        }
    }
    Ok((best, lines))
}

/// Returns the choices that differ from `base` in one parameter and whose plans are not in `seen`. Adds these plans to
/// `seen`.
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

/// Returns text that distinguishes plans: the CUDA sources on a GPU, the printed plan on the CPU.
fn texts(plan: &Plan, limits: &Limits) -> Result<String> {
    if limits.is_cpu() {
        return Ok(plan.to_string());
    }
    let sources = plan.kernels().map(|kernel| Ok(format!("{} {:?}", kernel.name(), kernel.source(limits)?)));
    Ok(sources.collect::<ringforge::Result<Vec<_>>>()?.concat())
}

/// The name of a choice, for display.
pub(super) fn name(choice: Choice) -> String {
    let parts = [
        choice.arithmetic.map(|arithmetic| arithmetic.name().to_string()),
        choice.kernels.map(|kernels| format!("{kernels} kernels")),
        choice.cluster.map(|blocks| format!("clusters of {blocks}")),
        choice.per_thread.map(|per_thread| format!("{per_thread} a thread")),
        choice.shuffles.then(|| "shuffles".to_string()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { USUAL.into() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use ringforge::{Op, Order, PolyType};
    use ringforge_testkit::Target;

    use super::*;

    #[test]
    fn cpu_alternatives_differ_only_in_arithmetic() -> Result<()> {
        for (text, ways) in [("3329:x^256+1", &["usual"][..]), ("562949953408001:x^64+1", &["usual", "Mod50"])] {
            let job = Job::new(text.parse::<PolyType>()?, Op::Forward);
            let (_, found) = fastest(&job, Contest::new(&Bench::of_cpu(), &job, 2)?)?;
            assert_eq!(found.iter().map(|way| way.variant.as_str()).collect::<Vec<_>>(), ways);
        }
        Ok(())
    }

    #[test]
    fn a_plan_with_another_result_is_rejected() -> Result<()> {
        let (ring, bench): (PolyType, _) = ("3329:x^256+1".parse()?, Bench::of_cpu());
        let [forward, inverse] = [Op::Forward, Op::Inverse].map(|op| Job::new(&ring, op));
        let mut contest = Contest::new(&bench, &forward, 3)?;
        let plan = |job| Planner::default().plan(job);
        contest.enter("usual", &plan(&forward)?)?;
        contest.enter("again", &plan(&forward)?)?;
        let error = contest.enter("another", &plan(&inverse)?);
        assert!(error.is_err_and(|error| error.to_string().starts_with("another: the result differs")));
        Ok(())
    }

    /// Returns plans for an H200, each with one parameter changed.
    fn ways_on_a_gpu(job: &Job) -> Result<Vec<(Choice, Plan)>> {
        let limits = Limits::h200();
        let mut seen = vec![texts(&plan(job, Choice::default(), &limits)?, &limits)?];
        let ways = THINGS.map(|thing| others(job, Choice::default(), thing, &limits, &mut seen));
        Ok(ways.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    #[test]
    fn gpu_alternatives_give_the_same_results() -> Result<()> {
        let names = |text: &str| -> Result<Vec<String>> {
            let job = Job::new(&text.parse::<PolyType>()?, Op::Forward);
            Ok(ways_on_a_gpu(&job)?.into_iter().map(|(choice, _)| name(choice)).collect())
        };
        let doubles = names("562949953408001:x^512+1")?;
        for way in ["Mod64", "2 kernels", "4 a thread"] {
            assert!(doubles.iter().any(|name| name == way), "{way} is not among {doubles:?}");
        }
        assert!(names("1073479681:x^1024+1")?.contains(&"shuffles".to_string()));
        for device in [Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device) {
            let job = Job::new("562949953408001:x^64+1".parse::<PolyType>()?, Op::Inverse).order(Order::Natural);
            let bench = Bench { device, ..Bench::of_cpu() };
            let (_, found) = fastest(&job, Contest::new(&bench, &job, 2)?)?;
            assert!(found.len() > 5, "{found:?}");
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn sources_of_all_alternatives_compile() -> Result<()> {
        use rayon::prelude::*;

        if !crate::copy::tests::has_compiler() {
            return Ok(());
        }
        for (job, _) in crate::tune::jobs("forward", true, &Limits::h200())? {
            ways_on_a_gpu(&job)?.par_iter().try_for_each(|(_, plan)| {
                let compile = |kernel| ringforge::cuda::compile_check(kernel, &Limits::h200(), false).map(drop);
                plan.kernels().try_for_each(|kernel| compile(&**kernel))
            })?;
        }
        Ok(())
    }
}
