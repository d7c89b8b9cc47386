//! Operations that RNS schemes need between transforms, and a key switch, for 24 + 6 primes and N = 2^16. Also
//! samplers, for N = 2^15.
//!
//! Inputs are random. The first item of the timed runs is compared bit for bit with the CPU's result for that item
//! alone.

use anyhow::Result;
use ringforge::kernels::{Distribution, Role, Sharing};
use ringforge::tuning::Tuning;
use ringforge::{Device, Modulus, Order, Pipeline, Plan, Planner, PolyType, RandomKey, Ring, U256, Value};
use ringforge_testkit::{Named, Random};

use ringforge_cli::record::Measurement;
use ringforge_cli::roofline::{Roofline, Words};
use ringforge_cli::runs::Runs;
use ringforge_cli::sample;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Scope, Suite};
use ringforge_cli::work::{Work, slices};

pub(crate) static SUITE: Suite = Suite {
    name: "operations",
    title: "Operations between transforms",
    about: "Operations of RNS schemes between transforms: 24 + 6 primes of 60 bits, four digits, N = 2^16, elements as \
            evaluations. Samplers run at N = 2^15. All data and keys are on the device. One item or eight are launched \
            kernel by kernel, or replayed from a CUDA graph. The roofline bound moves arguments once and leaves out the \
            arithmetic of transforms.",
    figure: Figure::Item,
    headline: Some(("key switch", "")),
    cases,
    ..Suite::NONE
};

/// log2 of the degree N, on a GPU and on a CPU.
const LOG_N: [u32; 2] = [16, 14];
const LOG_N_OF_SAMPLES: [u32; 2] = [15, 14];
/// Nonzero coefficients of a sample of fixed weight.
const WEIGHT: usize = 192;
/// Number of primes of the ciphertext modulus Q, and per digit of a key switch, on a GPU and on a CPU. The special
/// modulus P has as many primes as a digit.
const CHAINS: [(usize, usize); 2] = [(24, 6), (6, 2)];
/// Bits of a prime. In practice most primes of a chain have fewer, but 60 bits are the worst case for 64-bit words.
const BITS: u32 = 60;
/// Items per run.
const BATCHES: [usize; 2] = [1, 8];

/// Operations that are also measured without fusion.
const FUSED: [&str; 3] = ["quotient by P", "key switch", "product of ciphertexts, relinearised"];

/// The rings of a chain of moduli.
struct Chain {
    /// Elements modulo Q, as evaluations. `qp` is the type of such elements modulo Q·P, and `alpha` is the number of
    /// primes per digit.
    q: PolyType,
    qp: PolyType,
    alpha: usize,
}

/// Builds the outputs of an operation in a pipeline.
type Make = for<'p> fn(&'p Pipeline, &Chain) -> ringforge::Result<Vec<Value<'p>>>;

/// An operation, and the arithmetic that its roofline bound counts in addition to memory traffic.
struct Operation {
    name: &'static str,
    log_n: [u32; 2],
    make: Make,
    words: fn(&Chain) -> Words,
}

impl Operation {
    const fn new(name: &'static str, make: Make) -> Self {
        Self { name, log_n: LOG_N, make, words: |_| Words::default() }
    }

    const fn with(self, words: fn(&Chain) -> Words) -> Self {
        Self { words, ..self }
    }

    const fn at(self, log_n: [u32; 2]) -> Self {
        Self { log_n, ..self }
    }
}

static OPERATIONS: [Operation; 21] = [
    Operation::new("sum", |p, chain| Ok(vec![chain.input(p, "a") + chain.input(p, "b")])),
    Operation::new("multiple", |p, chain| Ok(vec![chain.input(p, "a").scale(&[U256::MAX])])),
    Operation::new("product", |p, chain| Ok(vec![chain.input(p, "a") * chain.input(p, "b")])),
    Operation::new("product with a shared element", |p, chain| {
        Ok(vec![chain.input(p, "a") * chain.shared(p, &chain.q)])
    }),
    Operation::new("product with a shared element, added", |p, chain| {
        Ok(vec![chain.input(p, "a").mul_add(chain.shared(p, &chain.q), chain.input(p, OUTPUTS[0]))])
    }),
    Operation::new("inner products with shared keys", |p, chain| {
        let digits = p.elements("digits", chain.qp.vector(chain.digits())?);
        Ok(vec![digits.inner_product(&chain.qp, chain.keys(p)?, 2)])
    }),
    Operation::new("automorphism of coefficients", |p, chain| Ok(vec![p.coefficients("a", &chain.q).automorphism(5)])),
    Operation::new("automorphism of values", |p, chain| Ok(vec![chain.input(p, "a").automorphism(5)])),
    Operation::new("extension to twice the length", |p, chain| {
        let longer = PolyType::from(Ring::rns(2 * chain.q.degree(), chain.q.basis())?);
        Ok(vec![p.coefficients("a", &chain.q).extend(&longer)])
    }),
    Operation::new("digits of 20 bits of a limb", |p, chain| {
        Ok(vec![p.coefficients("a", &chain.q.limbs(0..1)?).digits(20, &chain.q)])
    })
    .with(|chain| {
        let words = chain.q.degree() * (1 + 3 * chain.q.basis().len());
        Words { products: words, remainders: words, ..Words::default() }
    }),
    Operation::new("limbs raised to Q P", |p, chain| {
        Ok(vec![chain.input(p, "a").raise(chain.alpha, &chain.qp).vector()])
    }),
    Operation::new("quotient by a modulus", |p, chain| Ok(vec![chain.input(p, "a").divide_round(1)])),
    Operation::new("quotient by P", |p, chain| Ok(vec![p.elements("a", &chain.qp).divide_round(chain.alpha)])),
    Operation::new("two quotients by P", |p, chain| {
        Ok(vec![p.elements("a", chain.qp.vector(2)?).divide_round(chain.alpha)])
    }),
    Operation::new("key switch", |p, chain| Ok(vec![chain.key_switch(p, chain.input(p, "d"))?])),
    Operation::new("product of ciphertexts, relinearised", |p, chain| {
        let [a0, a1, b0, b1] = ["a0", "a1", "b0", "b1"].map(|name| chain.input(p, name));
        let (c, limbs) = (chain.key_switch(p, a1 * b1)?, chain.q.basis().len());
        let [c0, c1] = [0..limbs, limbs..2 * limbs].map(|limbs| c.limbs(limbs));
        Ok(vec![a0 * b0 + c0, a0.mul_add(b1, a1 * b0) + c1])
    }),
    Operation::new("uniform samples", |p, chain| Ok(vec![chain.sample(p, Distribution::Uniform)]))
        .with(|chain| {
            let residues = chain.q.degree() * chain.q.basis().len();
            Words { products: 3 * residues, remainders: 2 * residues, blocks: residues / 2, ..Words::default() }
        })
        .at(LOG_N_OF_SAMPLES),
    Operation::new("ternary samples", |p, chain| Ok(vec![chain.sample(p, Distribution::Ternary)]))
        .with(Chain::small)
        .at(LOG_N_OF_SAMPLES),
    Operation::new("ternary samples of weight 192", |p, chain| {
        Ok(vec![chain.sample(p, Distribution::FixedWeight { weight: WEIGHT })])
    })
    // one random block gives four positions, or the signs of 512 coefficients
    .with(|chain| Words { blocks: WEIGHT.div_ceil(4) + chain.q.degree().div_ceil(512), ..chain.small() })
    .at(LOG_N_OF_SAMPLES),
    Operation::new("binomial samples of 21", |p, chain| Ok(vec![chain.sample(p, Distribution::Binomial { eta: 21 })]))
        .with(Chain::small)
        .at(LOG_N_OF_SAMPLES),
    Operation::new("Gaussian samples of 3.2", |p, chain| {
        Ok(vec![chain.sample(p, Distribution::Gaussian { sigma: 3.2 })])
    })
    .with(Chain::small)
    .at(LOG_N_OF_SAMPLES),
];

/// Names of the outputs of an operation.
const OUTPUTS: [&str; 2] = ["to", "to1"];

impl Chain {
    fn new(scope: &Scope, log_n: [u32; 2]) -> Result<Self> {
        let which = usize::from(scope.cpu);
        let (n, (limbs, alpha)) = (1 << scope.log_n(log_n[which]), CHAINS[which]);
        let primes = Modulus::ntt_primes(2 * n as u64, BITS, limbs + alpha)?;
        let values = |basis| PolyType::from(Ring::rns(n, basis)?).evaluations(Order::DigitReversed);
        Ok(Self { q: values(&primes[..limbs])?, qp: values(&primes)?, alpha })
    }

    fn digits(&self) -> usize {
        self.q.basis().len() / self.alpha
    }

    fn input<'p>(&self, p: &'p Pipeline, name: &str) -> Value<'p> {
        p.elements(name, &self.q)
    }

    fn shared<'p>(&self, p: &'p Pipeline, poly: &PolyType) -> Value<'p> {
        p.shared("key", poly.bytes()).holding(poly)
    }

    fn keys<'p>(&self, p: &'p Pipeline) -> ringforge::Result<Value<'p>> {
        Ok(self.shared(p, &self.qp.vector(2 * self.digits())?))
    }

    /// Hybrid key switching (eprint 2019/688), as in example `06-key-switch`. Returns a vector of two elements.
    fn key_switch<'p>(&self, p: &'p Pipeline, d: Value<'p>) -> ringforge::Result<Value<'p>> {
        let digits = d.raise(self.alpha, &self.qp);
        Ok(digits.inner_product(self.keys(p)?, 2).divide_round(self.alpha))
    }

    /// Samples an element from the input `seeds`. The result is the same on every device.
    fn sample<'p>(&self, p: &'p Pipeline, distribution: Distribution) -> Value<'p> {
        p.sample(&self.q, distribution, p.bytes("seeds", RandomKey::BYTES))
    }

    /// Work of sampling small integers modulo all primes of Q, without the samplers' comparisons with thresholds and
    /// positions.
    fn small(&self) -> Words {
        let residues = self.q.degree() * self.q.basis().len();
        Words { products: residues, remainders: residues, blocks: self.q.degree() / 4, ..Words::default() }
    }
}

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for operation in &OPERATIONS {
        for unfused in [false, true].into_iter().take(if FUSED.contains(&operation.name) { 2 } else { 1 }) {
            for captured in [false, true] {
                // captured runs have one item, because launches cost most with one item
                let batches = if captured { vec![1] } else { scope.batches(&BATCHES) };
                let variant = ["", "captured", "unfused", "unfused, captured"];
                let variant = variant[2 * usize::from(unfused) + usize::from(captured)];
                let parts = [operation.sizes(scope), variant.into()].into_iter().filter(|part| !part.is_empty());
                let (variant, scope) = (parts.collect::<Vec<_>>().join(", "), scope.clone());
                cases.push(Case::of_batches(operation.name, "", batches, move |bench, batch| {
                    let chain = Chain::new(&scope, operation.log_n)?;
                    Ok(operation.line(bench, &chain, unfused, captured, batch)?.varied(&variant))
                }));
            }
        }
    }
    Ok(cases)
}

impl Operation {
    /// The sizes, if they differ from those in the suite's description.
    fn sizes(&self, scope: &Scope) -> String {
        let (log_n, (limbs, alpha)) = (scope.log_n(self.log_n[usize::from(scope.cpu)]), CHAINS[usize::from(scope.cpu)]);
        if scope.cpu { format!("2^{log_n}, {limbs} + {alpha} primes") } else { String::new() }
    }

    fn plan(&self, chain: &Chain, planner: &Planner, unfused: bool) -> Result<Plan> {
        let planner = if unfused { planner.clone().tuned(Tuning::default().unfused()) } else { planner.clone() };
        let p = planner.pipeline(self.name);
        (self.make)(&p, chain)?.into_iter().zip(OUTPUTS).for_each(|(value, name)| p.output(name, value));
        Ok(p.build()?)
    }

    /// Measures the operation, captured or launched kernel by kernel, with or without fusion.
    fn line(&self, bench: &Bench, chain: &Chain, unfused: bool, captured: bool, batch: usize) -> Result<Measurement> {
        let plan = |planner: &Planner| self.plan(chain, planner, unfused);
        let (line, floor) = line(bench, &plan, &(self.words)(chain), |_, _, _| None, captured, batch)?;
        Ok(Measurement { case: self.name.into(), ..line.in_ring(&chain.qp) }.above(floor))
    }
}

/// Measures a pipeline on random inputs and compares its first item with the CPU's. `special` returns the contents of an
/// argument of this name and size, if it is neither ring elements nor random bytes. Returns the measurement and the
/// roofline bound.
pub(super) fn line(
    bench: &Bench,
    plan_for: &dyn Fn(&Planner) -> Result<Plan>,
    words: &Words,
    special: fn(&str, usize, &mut Random) -> Option<Vec<u8>>,
    captured: bool,
    batch: usize,
) -> Result<(Measurement, Roofline)> {
    let plan = plan_for(&bench.planner.clone().for_batch(batch))?;
    let (mut inputs, mut first, mut shared) = (Named::new(), Named::new(), 0);
    let mut random = Random::new(bench.seed);
    for arg in plan.args().iter().filter(|arg| arg.role != Role::Out) {
        let items = if arg.sharing == Sharing::PerItem { batch } else { 1 };
        shared += if arg.sharing == Sharing::PerItem { 0 } else { arg.bytes };
        let bytes = match &arg.before {
            Some(content) => sample::elements(content, random.bits(), 0, items)?,
            None => match special(&arg.name, arg.bytes * items, &mut random) {
                Some(bytes) => bytes,
                None => sample::bytes(random.bits(), arg.bytes, items)?,
            },
        };
        first.insert(arg.name.clone(), bytes[..arg.bytes].to_vec());
        inputs.insert(arg.name.clone(), bytes);
    }
    let outcome = Runs { captured, ..Runs::new(&plan, batch, &slices(&inputs)) }.measure(bench, bench.effort)?;
    let cpu = Device::cpu();
    let work = Work::of_plan(&cpu, &plan_for(&Planner::new(cpu.limits().clone()))?)?;
    let wanted = work.run_all(1, &slices(&first))?;
    let right = wanted.iter().all(|(name, bytes)| outcome.results[name][..bytes.len()] == bytes[..]);
    let bytes = plan.bytes_moved_per_item() + shared / batch;
    let floor = Roofline::of_words(words, bytes, &bench.peaks);
    let line = outcome.line("", "", batch).by(&plan);
    Ok((
        line.checked("the first item bit for bit with the CPU's; all sets of buffers alike", right && outcome.alike),
        floor,
    ))
}
