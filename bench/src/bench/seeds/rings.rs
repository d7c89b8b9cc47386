//! Products and transforms in rings: fused and not, against the batch, against the size.

use anyhow::{Context, Result, ensure};
use ark_bls12_381::Fr;
use ark_ff::Field;
use ringforge::testkit::naive;
use ringforge::testkit::{Named, Random};
use ringforge::tuning::{Choice, Exchange, Tuning};
use ringforge::{Device, Job, Limits, Modulus, Op, Order, Pipeline, Plan, Planner, Ring};

use super::probe::{Ask, probe};
use super::{LaunchLine, Line, Measured, Seeds};
use crate::bench::{is_reference, rings, zk};
use crate::floor::Floor;
use crate::kems::{Parameters, SETS};
use crate::work::slices;
use crate::{memory, oracle, sample};

/// The ring of the CTRU paper's products.
const CTRU: (&str, &str) = ("CTRU-768", "3457:x^768-x^384+1");

/// The CTRU-Prime paper's products: microseconds of its C code, and how many times as many products its NTT on CUDA
/// cores makes a second, for batches 1, 2, 4, … (table 4), or the best of all batches (text).
const PRIME: [(&str, f64, &[f64]); 3] = [
    ("CTRU-Prime-653", 13.98, &[0.57, 1.09, 2.18, 4.09, 7.27, 9.30, 10.04, 10.04, 10.82, 10.96]),
    ("CTRU-Prime-761", 14.53, &[256.13]),
    ("CTRU-Prime-1277", 26.32, &[256.98]),
];
/// Items of a product that are compared with the oracle.
const CHECKED: usize = 4;

/// Moduli of a polynomial of the patent's, and their bits.
const MODULI: (usize, u32) = (32, 60);
/// Bytes of its largest batch on a GPU, and on a CPU.
const BYTES: usize = 1 << 30;
const CPU_BYTES: usize = 8 << 20;
/// Nanoseconds of a row, forward and back, of the code that the patent compares itself with, as we measured it on an H200.
const OVER_100X: [(u32, [f64; 2]); 3] = [(14, [328.0, 355.0]), (16, [1387.0, 1518.0]), (17, [3031.0, 3284.0])];
/// Values of each row that are compared with their definition.
const PLACES: usize = 2;

/// Milliseconds of the code that PreNTT compares itself with, Bellperson split near to a square, forward and back, as we
/// measured it on an H200.
const BELLPERSON: [(u32, [f64; 2]); 6] = [
    (16, [0.075, 0.079]),
    (18, [0.215, 0.226]),
    (20, [0.913, 0.943]),
    (22, [3.83, 3.92]),
    (24, [15.70, 16.08]),
    (26, [59.8, 61.3]),
];

/// A product in one kernel, and the same in four.
pub(super) fn ctru_fusion(seeds: &Seeds) -> Result<Measured> {
    let (name, text) = CTRU;
    let ring: Ring = text.parse()?;
    let (device, job) = (&seeds.bench.device, Job::new(&ring, Op::Mul));
    let limits = device.limits();
    let fused = Planner::new(limits.clone()).plan(&job)?;
    ensure!(fused.kernels().len() == 1, "the product is in one kernel");
    let plans = [("one kernel", fused), ("four kernels", unfused(&ring, limits)?)];
    let mut measured = Measured::default();
    for batch in seeds.large() {
        let inputs = sample::operands(&job, &mut Random::new(1), 4, batch)?;
        for (variant, plan) in &plans {
            let probe = probe(seeds, plan, batch, &slices(&inputs), Ask::Power)?;
            let right = rings::is_right(&job, device, batch, &inputs, &probe.results["product"])?;
            let floor = floor(seeds, &job, &plans[0].1);
            measured.lines.push(Line::new(name, job.op, batch, &probe, right).varied(*variant).above(floor));
            measured.launches.extend(LaunchLine::all(name, job.op, batch, &probe).map(|line| line.varied(variant)));
        }
    }
    Ok(measured)
}

/// A product as two transforms, a product of values and a transform back.
fn unfused(ring: &Ring, limits: &Limits) -> Result<Plan> {
    let p = Pipeline::new(format!("mul {ring}, not fused"), &Planner::new(limits.clone()));
    let [a, b] = ["a", "b"].map(|name| p.coefficients(name, ring).forward());
    p.output("product", (a * b).inverse());
    Ok(p.build()?)
}

/// Products of CTRU-Prime against the batch, each in one kernel.
pub(super) fn prime_products(seeds: &Seeds) -> Result<Measured> {
    let mut measured = Measured::default();
    for (name, microseconds, gains) in PRIME {
        let set = SETS.iter().map(|set| set.parameters).find(|set| set.name() == name);
        let plans = set.with_context(|| format!("no parameter set is called {name}"))?;
        let Parameters::Prime(_) = plans else { anyhow::bail!("{name} is no set of CTRU-Prime") };
        let plans = plans.one_key_plans(seeds.bench.device.limits())?;
        let product = plans.into_iter().rfind(|plan| plan.name.starts_with(&format!("{name} multiply")));
        let product = product.with_context(|| format!("{name} has no product"))?;
        for batch in seeds.batches() {
            memory::fits(batch, product.plan.floor_bytes_per_item())?;
            let inputs = product.sample(1, batch);
            let probe = probe(seeds, &product.plan, batch, &slices(&inputs), Ask::Launches)?;
            let few = CHECKED.min(batch);
            let first =
                |(name, bytes): (&String, &Vec<u8>)| (name.clone(), bytes[..bytes.len() / batch * few].to_vec());
            let first = |all: &Named| all.iter().map(first).collect::<Named>();
            let right = product.expected(few, &first(&inputs)) == Some(first(&probe.results));
            measured.launches.extend(LaunchLine::all(name, Op::Mul, batch, &probe));
            let gain = match gains {
                [best] => Some(*best).filter(|_| batch == 1024),
                gains => gains.get(batch.ilog2() as usize).copied().filter(|_| batch.is_power_of_two()),
            };
            let source = gain.map(|gain| gain / (1e-6 * microseconds));
            measured
                .lines
                .push(Line { source_items_per_second: source, ..Line::new(name, Op::Mul, batch, &probe, right) });
        }
    }
    Ok(measured)
}

/// Transforms of polynomials modulo 32 primes against the size and the batch, through shared memory and by shuffles.
pub(super) fn fhe_transforms(seeds: &Seeds) -> Result<Measured> {
    let mut measured = Measured::default();
    let (count, bits) = MODULI;
    for log_n in seeds.sizes(&[12, 13, 14, 15, 16, 17], &[14, 16], &[12]) {
        let n = 1 << log_n;
        let ring = Ring::rns(n, &Modulus::ntt_primes(2 * n as u64, bits, count)?)?;
        let bytes = if seeds.is_cpu() { CPU_BYTES } else { BYTES };
        let most = (bytes / ring.bytes()).max(1);
        let mut batches = if seeds.quick { vec![most] } else { vec![1, most.min(16), most] };
        batches.dedup();
        for batch in batches {
            let peers = OVER_100X.iter().find(|(log, _)| *log == log_n && batch == most).map(|(_, peers)| *peers);
            let peers = peers.filter(|_| is_reference(seeds.bench.device.limits()));
            let rates = peers.map(|peers| peers.map(|ns| 1e9 / (ns * count as f64)));
            let ask = if batch == most { Ask::Power } else { Ask::Times };
            fhe_size(seeds, &ring, batch, ask, rates, &mut measured)?;
        }
    }
    Ok(measured)
}

/// Measures one size and batch, on a GPU with both ways of exchange, forward and back.
fn fhe_size(
    seeds: &Seeds,
    ring: &Ring,
    batch: usize,
    ask: Ask,
    rates: Option<[f64; 2]>,
    measured: &mut Measured,
) -> Result<()> {
    let name = format!("2^{}, 32 moduli of 60 bits", ring.degree().ilog2());
    let mut random = Random::new(1);
    let inputs = sample::elements(ring, 2, 2, batch)?;
    const WAYS: [(Exchange, &str); 2] = [(Exchange::Shared, "shared memory"), (Exchange::Shuffle, "shuffles")];
    // on a CPU nothing is exchanged
    let ways = if seeds.is_cpu() { &[(Exchange::Shared, "one thread a row")] } else { &WAYS[..] };
    for &(exchange, variant) in ways {
        let mut values = Vec::new();
        for op in [Op::Forward, Op::Inverse] {
            let job = Job::new(ring, op).batch_hint(batch);
            let from = if op == Op::Forward { &inputs } else { &values };
            let mut choice = Choice::default();
            choice.exchange = exchange;
            let mut tuning = Tuning::default();
            tuning.choose(&job, choice);
            let plan = Planner::new(seeds.bench.device.limits().clone()).tuned(tuning).plan(&job)?;
            let mut probe = probe(seeds, &plan, batch, &[("from", from)], ask)?;
            let result = probe.results.remove("to").context("a transform writes")?;
            let right = match op {
                Op::Forward => {
                    let last = (batch - 1) * ring.bytes();
                    let plain = [&inputs, &result].map(|bytes| naive::to_plain(ring, &bytes[last..]));
                    oracle::values_agree(ring, Order::Tree, [&plain[0], &plain[1]], PLACES, &mut random)?
                }
                _ => result == inputs,
            };
            let source = rates.map(|rates| rates[usize::from(op == Op::Inverse)]);
            measured.launches.extend(LaunchLine::all(&name, op, batch, &probe).map(|line| line.varied(variant)));
            measured.lines.push(Line {
                source_items_per_second: source,
                ..Line::new(&name, op, batch, &probe, right).varied(variant).above(floor(seeds, &job, &plan))
            });
            values = result;
        }
    }
    Ok(())
}

/// Transforms of BLS12-381's scalar field against the size.
pub(super) fn zk_transforms(seeds: &Seeds) -> Result<Measured> {
    let mut measured = Measured::default();
    for log_n in zk_sizes(seeds) {
        let ring = zk::cyclic(1 << log_n)?;
        let name = zk_name(log_n);
        let inputs = sample::elements(&ring, 1, 0, 1)?;
        let mut values = Vec::new();
        for op in [Op::Forward, Op::Inverse] {
            let job = zk_job(&ring, op);
            let plan = seeds.bench.planner.plan(&job)?;
            let from = if op == Op::Forward { &inputs } else { &values };
            let mut probe = probe(seeds, &plan, 1, &[("from", from)], Ask::Launches)?;
            let result = probe.results.remove("to").context("a transform writes")?;
            let right = match op {
                Op::Forward => zk::some_are_right(&result, &inputs, Fr::ONE, &mut Random::new(2))?,
                _ => result == inputs,
            };
            let peers = BELLPERSON.iter().find(|(log, _)| *log == log_n).map(|(_, ms)| *ms);
            let peers = peers.filter(|_| is_reference(seeds.bench.device.limits()));
            let source = peers.map(|ms| 1e3 / ms[usize::from(op == Op::Inverse)]);
            measured.launches.extend(LaunchLine::all(&name, op, 1, &probe));
            measured.lines.push(Line {
                source_items_per_second: source,
                ..Line::new(&name, op, 1, &probe, right).above(floor(seeds, &job, &plan))
            });
            values = result;
        }
    }
    Ok(measured)
}

/// Sizes of PreNTT's transforms, as powers of two.
pub(super) fn zk_sizes(seeds: &Seeds) -> Vec<u32> {
    seeds.sizes(&[16, 17, 18, 19, 20, 21, 22, 23, 24], &[16, 20], &[12, 14])
}

pub(super) fn zk_name(log_n: u32) -> String {
    format!("BLS12-381 Fr 2^{log_n}")
}

pub(super) fn zk_job(ring: &Ring, op: Op) -> Job {
    Job::new(ring, op).order(Order::Natural).batch_hint(1)
}

fn floor(seeds: &Seeds, job: &Job, plan: &Plan) -> Floor {
    let device: &Device = &seeds.bench.device;
    Floor::of(job, plan.floor_bytes_per_item(), &seeds.bench.ceilings, device.limits())
}
