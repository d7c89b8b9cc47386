//! Lines about what schemes on RNS elements do between transforms, and about a key switch: 24 + 6 primes, N = 2^16.
//!
//! Inputs are drawn anew; the first item that the timed runs leave is compared with the CPU's, bit for bit.

use core::ops::Range;

use anyhow::Result;
use ringforge::kernels::{Role, Sharing};
use ringforge::run::CapturedArg;
use ringforge::testkit::{Named, Random};
use ringforge::tuning::Tuning;
use ringforge::{Content, Device, Job, Modulus, Op, Order, Pipeline, Plan, Planner, Ring, U256, Value};

use super::{Bench, Line, Options, What};
use crate::floor::Floor;
use crate::measure::{self, Times};
use crate::sample;
use crate::work::{Work, slices};

/// Of polynomials on a GPU and on a CPU.
const LOG_N: [u32; 2] = [16, 14];
/// Primes of Q, and of a digit of it; P has as many.
const CHAINS: [(usize, usize); 2] = [(24, 6), (6, 2)];
/// Bits of a prime: most of the chain has fewer than 60 in practice, and these are what 64-bit words are worst at.
const BITS: u32 = 60;
/// Items of a run.
const BATCHES: [usize; 2] = [1, 8];

/// What is also measured without fusion.
const FUSED: [&str; 3] = ["quotient by P", "key switch", "product of ciphertexts, relinearised"];

/// The rings of a chain of moduli.
struct Chain {
    q: Ring,
    qp: Ring,
    alpha: usize,
}

/// An operation: what it gives out.
type Operation = for<'p> fn(&'p Pipeline, &Chain) -> ringforge::Result<Vec<Value<'p>>>;

const OPERATIONS: [(&str, Operation); 12] = [
    ("sum", |p, chain| Ok(vec![chain.input(p, "a") + chain.input(p, "b")])),
    ("multiple", |p, chain| Ok(vec![chain.input(p, "a").scale(&[U256::MAX])])),
    ("product", |p, chain| Ok(vec![chain.input(p, "a") * chain.input(p, "b")])),
    ("product with a shared element", |p, chain| Ok(vec![chain.input(p, "a") * chain.shared(p, &chain.q)])),
    ("product with a shared element, added", |p, chain| {
        Ok(vec![chain.input(p, "a").mul_add(chain.shared(p, &chain.q), chain.input(p, OUTPUTS[0]))])
    }),
    ("inner products with shared keys", |p, chain| {
        let digits = p.elements("digits", values(&chain.qp.side_by_side(chain.digits())?));
        Ok(vec![digits.inner_product(&chain.qp, chain.keys(p)?)])
    }),
    ("automorphism of coefficients", |p, chain| Ok(vec![p.coefficients("a", &chain.q).automorphism(5)])),
    ("automorphism of values", |p, chain| Ok(vec![chain.input(p, "a").automorphism(5)])),
    ("quotient by a modulus", |p, chain| Ok(vec![chain.input(p, "a").divide_round(1)])),
    ("quotient by P", |p, chain| Ok(vec![p.elements("a", values(&chain.qp)).divide_round(chain.alpha)])),
    ("key switch", |p, chain| Ok(chain.key_switch(p, chain.input(p, "d"))?.into())),
    ("product of ciphertexts, relinearised", |p, chain| {
        let [a0, a1, b0, b1] = ["a0", "a1", "b0", "b1"].map(|name| chain.input(p, name));
        let [c0, c1] = chain.key_switch(p, a1 * b1)?;
        Ok(vec![a0 * b0 + c0, a0.mul_add(b1, a1 * b0) + c1])
    }),
];

/// Names of what is given out.
const OUTPUTS: [&str; 2] = ["to", "to1"];

fn values(ring: &Ring) -> Content {
    Content::Evaluations { ring: ring.clone(), depth: ring.degree().ilog2(), order: Order::Tree }
}

impl Chain {
    fn new(device: &Device) -> Result<Self> {
        let which = usize::from(device.limits().is_cpu());
        let (n, (limbs, alpha)) = (1 << LOG_N[which], CHAINS[which]);
        let primes = Modulus::ntt_primes(2 * n as u64, BITS, limbs + alpha)?;
        Ok(Self { q: Ring::rns(n, &primes[..limbs])?, qp: Ring::rns(n, &primes)?, alpha })
    }

    fn digits(&self) -> usize {
        self.q.basis().len() / self.alpha
    }

    fn input<'p>(&self, p: &'p Pipeline, name: &str) -> Value<'p> {
        p.elements(name, values(&self.q))
    }

    fn shared<'p>(&self, p: &'p Pipeline, ring: &Ring) -> Value<'p> {
        p.shared("key", ring.bytes()).holding(values(ring))
    }

    fn keys<'p>(&self, p: &'p Pipeline) -> ringforge::Result<Value<'p>> {
        Ok(self.shared(p, &self.qp.side_by_side(2 * self.digits())?))
    }

    /// Hybrid key switching, as example `06-key-switch` has it.
    fn key_switch<'p>(&self, p: &'p Pipeline, d: Value<'p>) -> ringforge::Result<[Value<'p>; 2]> {
        let Self { q, qp, alpha } = self;
        let all = qp.basis().len();
        let coefficients = d.inverse();
        let mut digits = Vec::new();
        for j in 0..self.digits() {
            let own = alpha * j..alpha * (j + 1);
            let raised = |to: Range<usize>| {
                let raise = Job::new(&q.limbs(own.clone())?, Op::ConvertFast).to(&qp.limbs(to)?);
                Ok(p.job(&raise, &[coefficients.limbs(own.clone())]).forward())
            };
            if j > 0 {
                digits.push(raised(0..own.start)?);
            }
            digits.extend([d.limbs(own.clone()), raised(own.end..all)?]);
        }
        let digits = p.join(values(&qp.side_by_side(self.digits())?), &digits);
        let sums = digits.inner_product(qp, self.keys(p)?);
        Ok([0, 1].map(|i| sums.limbs(i * all..(i + 1) * all).divide_round(*alpha)))
    }
}

/// What one line is about.
pub(super) struct Task {
    name: &'static str,
    operation: Operation,
    batch: usize,
    /// Whether launches are recorded once and replayed.
    captured: bool,
    /// Whether every step has a kernel of its own.
    unfused: bool,
}

/// What is to be measured.
pub(super) fn tasks(options: &Options) -> Vec<Task> {
    let wanted = OPERATIONS.iter().filter(|(name, _)| format!("operations {name}").contains(&options.filter));
    let batches = options.batches(|| BATCHES.to_vec());
    let mut tasks = Vec::new();
    for &(name, operation) in wanted {
        for unfused in [false, true].into_iter().take(if FUSED.contains(&name) { 2 } else { 1 }) {
            let task = |batch, captured| Task { name, operation, batch, captured, unfused };
            tasks.extend(batches.iter().map(|&batch| task(batch, false)));
            // one item is where launches count
            tasks.extend(batches.contains(&1).then(|| task(1, true)));
        }
    }
    tasks
}

impl Task {
    pub(super) fn title(&self) -> String {
        format!("operations {}", self.about())
    }

    fn about(&self) -> String {
        let with = |wanted: bool, text| if wanted { text } else { "" };
        format!("{}{}{}", self.name, with(self.unfused, ", unfused"), with(self.captured, ", captured"))
    }

    fn plan(&self, chain: &Chain, planner: &Planner) -> Result<Plan> {
        let p = Pipeline::new(self.name, planner);
        (self.operation)(&p, chain)?.into_iter().zip(OUTPUTS).for_each(|(value, name)| p.output(name, value));
        Ok(p.build()?)
    }

    pub(super) fn line(&self, bench: &Bench) -> Result<Line> {
        let batch = self.batch;
        let chain = Chain::new(&bench.device)?;
        let plan = match self.unfused {
            true => self.plan(&chain, &bench.planner.clone().tuned(Tuning::default().unfused()))?,
            false => self.plan(&chain, &bench.planner)?,
        };
        let (mut inputs, mut first, mut shared) = (Named::new(), Named::new(), 0);
        let mut random = Random::new(std::process::id().into());
        for arg in plan.args() {
            let Some(content) = &arg.before else { continue };
            let items = if arg.sharing == Sharing::PerItem { batch } else { 1 };
            shared += if arg.sharing == Sharing::PerItem { 0 } else { arg.bytes };
            let bytes = sample::elements(content.ring(), random.bits(), 0, items)?;
            first.insert(arg.name.clone(), bytes[..arg.bytes].to_vec());
            inputs.insert(arg.name.clone(), bytes);
        }
        let (times, mut found) = match self.captured {
            true => captured(bench, &plan, &inputs)?,
            false => measure::plan(&bench.device, &plan, batch, &slices(&inputs), bench.effort)?,
        };
        if plan.args().iter().any(|arg| arg.role == Role::InOut) {
            // what was added up in every run, once
            found = run(&bench.device, &plan, batch, &inputs)?;
        }
        let right = bench.device.limits().is_cpu() || self.is_right(&chain, &first, &found)?;
        let floor = Floor::of_bytes(plan.floor_bytes_per_item() + shared / batch, &bench.ceilings);
        let what = What { name: "operations", ring: chain.qp.to_string(), op: self.about() };
        Ok(Line::new(what, batch, &plan, times, floor, right))
    }

    /// Whether the first item is the CPU's.
    fn is_right(&self, chain: &Chain, first: &Named, found: &Named) -> Result<bool> {
        let cpu = Device::cpu();
        let plan = self.plan(chain, &Planner::new(cpu.limits().clone()))?;
        let wanted = run(&cpu, &plan, 1, first)?;
        Ok(wanted.iter().all(|(name, bytes)| found[name][..bytes.len()] == bytes[..]))
    }
}

/// Measures replays of one item, and what the last of them left.
fn captured(bench: &Bench, plan: &Plan, inputs: &Named) -> Result<(Times, Named)> {
    let work = Work::of_plan(&bench.device, plan)?;
    let capture = || {
        let buffers = work.buffers(1, &slices(inputs))?.into_iter().map(CapturedArg::from);
        let args = plan.args().iter().map(|arg| arg.name.as_str()).zip(buffers);
        anyhow::Ok(work.program.capture(&work.stream, 1, args.collect())?)
    };
    let mut sets = (0..measure::sets(&work, 1)).map(|_| capture()).collect::<Result<Vec<_>>>()?;
    let times = measure::runs(&work.stream, &mut sets, bench.effort, |captured| Ok(captured.run()?))?;
    let mut found = Named::new();
    for arg in plan.args().iter().filter(|arg| arg.role != Role::In) {
        if let Some(buffer) = sets.last().and_then(|captured| captured.buffer(&arg.name)) {
            found.insert(arg.name.clone(), work.stream.download(buffer)?);
        }
    }
    Ok((times, found))
}

/// What one run leaves.
fn run(device: &Device, plan: &Plan, batch: usize, inputs: &Named) -> Result<Named> {
    let work = Work::of_plan(device, plan)?;
    let mut buffers = work.buffers(batch, &slices(inputs))?;
    work.start(batch, &mut buffers)?;
    work.results(&buffers)
}
