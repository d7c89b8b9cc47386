//! Products and transforms in rings: fused and not, against the batch, against the size.

use anyhow::{Context, Result};
use ark_bls12_381::Fr;
use ark_ff::Field;
use ringforge::testkit::{Named, Random};
use ringforge::tuning::{Choice, Exchange, Tuning};
use ringforge::{Device, Job, Op, Pipeline, Planner, Ring};

use super::{LARGE, batches, large, sizes};
use crate::bench::jobs::{Task, floor};
use crate::bench::runs::Runs;
use crate::bench::suites::{Case, Figure, Kind, Quoted, Scope, Suite};
use crate::bench::{Bench, fhe, zk};
use crate::kems::SETS;
use crate::memory;
use crate::oracle;
use crate::record::Measurement;
use crate::sample;
use crate::work::{Work, slices};

pub(in crate::bench) static CTRU_FUSION: Suite = Suite {
    name: "ctru fusion",
    kind: Kind::Paper,
    title: "CTRU paper, sections 4.3.2 and 4.3.3",
    about: "Fusion of a product gives the source 7.80 %, padding of shared memory 8.83 %. The engine has products both ways, \
            and one way of padding: it leaves gaps only where threads would meet on one bank, which at 24 coefficients a \
            thread they do not.",
    cases: |scope| {
        let case = |(variant, fused)| {
            Case::of_batches(CTRU.0, Op::Mul, large(scope, LARGE), move |bench, batch| {
                Ok(product(&bench.with_steps(), fused, batch)?.varied(variant))
            })
        };
        Ok([("one kernel", true), ("four kernels", false)].map(case).into())
    },
    ..Suite::NONE
};

pub(in crate::bench) static PRIME_PRODUCTS: Suite = Suite {
    name: "prime products",
    kind: Kind::Paper,
    title: "CTRU-Prime paper, table 4 and the figures about NTT products",
    about: "Products against the batch, in the way that is fastest on the device, on tensor cores where it has them. The \
            source's rates are the best of its NTT on CUDA cores of an RTX 3060, from its gain over C code.",
    quoted: PRIME_TABLE_4,
    cases: |scope| {
        let names = PRIME_TABLE_4.iter().map(|quoted| quoted.case);
        let case =
            |name| Case::of_batches(name, Op::Mul, batches(scope), move |bench, batch| prime(bench, name, batch));
        Ok(names.map(case).collect())
    },
    ..Suite::NONE
};

pub(in crate::bench) static FHE_TRANSFORMS: Suite = Suite {
    name: "fhe transforms",
    kind: Kind::Paper,
    title: "FHE patent, kernels and exchange between lanes",
    about: "The patent gives no figures; those beside ours are of the code that it compares itself with. Shuffles here swap \
            half of the registers, so no butterfly is computed twice, as it is in the patent; lengths and places where they do \
            not serve go through shared memory either way.",
    figure: Figure::Limb,
    quoted: OVER_100X,
    cases: fhe_cases,
    ..Suite::NONE
};

pub(in crate::bench) static ZK_TRANSFORMS: Suite = Suite {
    name: "zk transforms",
    kind: Kind::Paper,
    title: "PreNTT paper, speed against size",
    about: "The source is 1.7 to 9 times as fast as Bellperson split near to a square, and its milliseconds are lost; those \
            beside ours are Bellperson's.",
    figure: Figure::Item,
    quoted: BELLPERSON,
    cases: zk_cases,
    ..Suite::NONE
};

/// The ring of the CTRU paper's products.
const CTRU: (&str, &str) = ("CTRU-768", "3457:x^768-x^384+1");

/// Microseconds of C code over how many times as many products its NTT makes.
const PRIME_TABLE_4: &[Quoted] = {
    const fn paper(case: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
        const SOURCE: &str = "CTRU-Prime paper, table 4 and text: RTX 3060, the best of its batches";
        Quoted { case, peer: "the paper's", source: SOURCE, device: None, seconds }
    }
    &[
        paper("CTRU-Prime-653", &[("mul", 13.98e-6 / 10.96)]),
        paper("CTRU-Prime-761", &[("mul", 14.53e-6 / 256.13)]),
        paper("CTRU-Prime-1277", &[("mul", 26.32e-6 / 256.98)]),
    ]
};

const fn on_an_h200(case: &'static str, peer: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
    Quoted { case, peer, source: "run by us on an H200", device: Some("H200"), seconds }
}

const LIMBS: f64 = fhe::MODULI as f64 * 1e-9;
const OVER_100X: &[Quoted] = &[
    on_an_h200("2^14", "Over 100x", &[("forward", 328.0 * LIMBS), ("inverse", 355.0 * LIMBS)]),
    on_an_h200("2^16", "Over 100x", &[("forward", 1387.0 * LIMBS), ("inverse", 1518.0 * LIMBS)]),
    on_an_h200("2^17", "Over 100x", &[("forward", 3031.0 * LIMBS), ("inverse", 3284.0 * LIMBS)]),
];
const BELLPERSON: &[Quoted] = &[
    on_an_h200("BLS12-381 Fr 2^16", "Bellperson", &[("forward", 0.075e-3), ("inverse", 0.079e-3)]),
    on_an_h200("BLS12-381 Fr 2^18", "Bellperson", &[("forward", 0.215e-3), ("inverse", 0.226e-3)]),
    on_an_h200("BLS12-381 Fr 2^20", "Bellperson", &[("forward", 0.913e-3), ("inverse", 0.943e-3)]),
    on_an_h200("BLS12-381 Fr 2^22", "Bellperson", &[("forward", 3.83e-3), ("inverse", 3.92e-3)]),
    on_an_h200("BLS12-381 Fr 2^24", "Bellperson", &[("forward", 15.70e-3), ("inverse", 16.08e-3)]),
];

/// A product in one kernel, or as two transforms, a product of values and a transform back.
fn product(bench: &Bench, fused: bool, batch: usize) -> Result<Measurement> {
    let (name, text) = CTRU;
    let ring: Ring = text.parse()?;
    let job = Job::new(&ring, Op::Mul);
    if fused {
        return Task::new(&job, batch).line(bench, name, bench.effort);
    }
    let p = Pipeline::new(format!("mul {ring}, not fused"), &bench.planner);
    let [a, b] = ["a", "b"].map(|name| p.coefficients(name, &ring).forward());
    p.output("product", (a * b).inverse());
    let plan = p.build()?;
    let inputs = sample::operands(&job, &mut Random::new(1), 4, batch)?;
    let outcome = Runs::new(&plan, batch, &slices(&inputs)).measure(bench, bench.effort)?;
    let found = &outcome.results["product"];
    let mut right = outcome.alike && Work::new(&Device::cpu(), &job)?.run(batch, &slices(&inputs))? == *found;
    let first: Vec<&[u8]> = inputs.values().map(|input| &input[..ring.bytes()]).collect();
    right &= oracle::agrees(&job, &first, &found[..ring.bytes()], &mut Random::new(1))?;
    let line = outcome.line(name, job.op, batch).in_ring(&ring).by(&plan).above(floor(bench, &job, &plan));
    Ok(line.checked("all items bit for bit with one kernel's on the CPU, the first with the definition", right))
}

/// Items of a product that are compared with the scheme's own oracle.
const CHECKED: usize = 4;

fn prime(bench: &Bench, name: &str, batch: usize) -> Result<Measurement> {
    let set = SETS.iter().map(|set| set.parameters).find(|set| set.name() == name);
    let plans = set.with_context(|| format!("no parameter set is called {name}"))?;
    let plans = plans.one_key_plans(bench.device.limits())?;
    let product = plans.into_iter().rfind(|plan| plan.name.starts_with(&format!("{name} multiply")));
    let product = product.with_context(|| format!("{name} has no product"))?;
    memory::fits(batch, product.plan.floor_bytes_per_item())?;
    let inputs = product.sample(1, batch);
    let outcome = Runs::new(&product.plan, batch, &slices(&inputs)).measure(&bench.with_steps(), bench.effort)?;
    let few = CHECKED.min(batch);
    let first = |(name, bytes): (&String, &Vec<u8>)| (name.clone(), bytes[..bytes.len() / batch * few].to_vec());
    let first = |all: &Named| all.iter().map(first).collect::<Named>();
    let right = outcome.alike && product.expected(few, &first(&inputs)) == Some(first(&outcome.results));
    let line = outcome.line(name, Op::Mul, batch).by(&product.plan);
    Ok(line.checked("the first items with the scheme's oracle; all sets of buffers alike", right))
}

/// Transforms modulo 32 primes against the size and the batch, through shared memory and by shuffles.
fn fhe_cases(scope: &Scope) -> Result<Vec<Case>> {
    const WAYS: [(Exchange, &str); 2] = [(Exchange::Shared, "shared memory"), (Exchange::Shuffle, "shuffles")];
    // on a CPU nothing is exchanged
    let ways = scope.either(&WAYS[..], &[(Exchange::Shared, "one thread a limb")]);
    let mut cases = Vec::new();
    for log_n in sizes(scope, [&[12, 13, 14, 15, 16, 17], &[14, 16], &[12]]) {
        let ring = fhe::ring(scope.log_n(log_n), 60)?;
        let most = fhe::filling(&ring, scope);
        let mut batches = if scope.quick { vec![most] } else { vec![1, most.min(16), most] };
        batches.dedup();
        for (&(exchange, variant), op) in ways.iter().flat_map(|way| [(way, Op::Forward), (way, Op::Inverse)]) {
            let ring = ring.clone();
            let run = move |bench: &Bench, batch: usize| {
                let job = Job::new(&ring, op).batch_hint(batch);
                let (mut choice, mut tuning) = (Choice::default(), Tuning::default());
                choice.exchange = exchange;
                tuning.choose(&job, choice);
                let planner = Planner::new(bench.device.limits().clone()).tuned(tuning);
                let task = Task { planner: Some(&planner), ..Task::new(&job, batch) };
                Ok(task.line(&bench.with_steps(), format!("2^{log_n}"), bench.effort)?.varied(variant))
            };
            cases.push(Case::of_batches(format!("2^{log_n}"), op, scope.batches(&batches), run));
        }
    }
    Ok(cases)
}

/// Transforms of BLS12-381's scalar field against the size.
fn zk_cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for log_n in sizes(scope, [&[16, 17, 18, 19, 20, 21, 22, 23, 24], &[16, 20], &[12, 14]]) {
        for op in [Op::Forward, Op::Inverse] {
            let (name, n) = (format!("BLS12-381 Fr 2^{log_n}"), 1 << scope.log_n(log_n));
            cases.push(Case::of_batches(name.clone(), op, vec![1], move |bench, _| {
                zk::transform(&bench.with_steps(), &name, n, Fr::ONE, op, false)
            }));
        }
    }
    Ok(cases)
}
