//! Tests that encoding and decoding have the same bits on every device, at numbers of every kind.

use ringforge::{Limits, Plan, Planner, Result};
use ringforge_ckks::{Complex64, Level, Parameters};
use ringforge_testkit::{NamedPlan, Random, Scheme};

/// Encoding and decoding as a scheme for the engine's test kit.
#[derive(Debug)]
pub(crate) struct Encoding;

/// Numbers for the slots of one item. The first kinds encode, the last ones are too large.
fn numbers(kind: u64, slots: usize, random: &mut Random) -> Vec<Complex64> {
    let mut part = || match kind % 6 {
        0 => (random.below(1 << 20) as f64 - 524_288.0) / 524_288.0,
        1 => 0.0,
        2 => [0.0, -0.0, 1.0, -1.0, f64::MIN_POSITIVE / 8.0, 0.5][random.below(6)],
        3 => random.below(1 << 40) as f64,
        4 => [0.0, f64::MAX, -f64::MAX][random.below(3)],
        _ => [0.5, f64::NAN, f64::INFINITY][random.below(3)],
    };
    (0..slots).map(|_| Complex64::new(part(), part())).collect()
}

fn bytes(numbers: &[Complex64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| [number.re, number.im]).flat_map(f64::to_le_bytes).collect()
}

/// A degree as its log2, the bits of the primes of Q, and a scale.
type Shape = (u32, &'static [u32], f64);

/// The fewest slots, one tile, and two tiles; integers of one word and of several words; residues of 32 and 64 bits.
const SHAPES: [Shape; 5] = [
    (4, &[61, 30, 20], (1u64 << 40) as f64),
    (4, &[61, 61, 61], 1e32),
    (5, &[30], 1000.5),
    (12, &[30, 31, 28, 29], (1u64 << 57) as f64),
    (13, &[50, 40], (1u64 << 20) as f64),
];

/// The most tiles, and the largest tile.
const LARGE: [Shape; 2] = [(16, &[50; 24], 1e15), (17, &[30; 3], 1e9)];

impl Scheme for Encoding {
    const NAME: &'static str = "encoding";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        plans_of(limits, &SHAPES)
    }
}

/// The plans of all shapes, for compile checks.
#[cfg(feature = "cuda")]
pub(crate) fn all_plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
    plans_of(limits, &[&SHAPES[..], &LARGE].concat())
}

fn plans_of(limits: &Limits, shapes: &[Shape]) -> Result<Vec<NamedPlan>> {
    let mut plans = Vec::new();
    for &(log_n, q, scale) in shapes {
        let most = *q.iter().max().expect("a prime");
        let parameters = Parameters::insecure(log_n, q, &[most]).expect("parameters");
        let level = Level::new(&parameters, parameters.top_level()).expect("a level");
        let (planner, slots) = (Planner::new(limits.clone()), parameters.slots());
        let mut add = |plan: Plan, encodes: bool| {
            let named = NamedPlan::new(plan.title().to_owned(), plan).sampled(move |seed, batch| {
                let mut random = Random::new(seed);
                let items = (0..batch as u64).flat_map(|item| bytes(&numbers(item, slots, &mut random)));
                let mut inputs = vec![("scale", scale.to_le_bytes().to_vec())];
                inputs.extend(encodes.then(|| ("numbers", items.collect())));
                inputs
            });
            plans.push(if log_n > 11 { named.few_emulated() } else { named });
        };
        let p = planner.pipeline(format!("encode, N = 2^{log_n}, {q:?}"));
        let [plaintext, statuses] = level.encode(&p, level.numbers(&p, "numbers"), level.scale(&p, "scale"));
        p.output("plaintext", plaintext);
        p.output("statuses", statuses);
        add(p.build()?, true);
        let p = planner.pipeline(format!("decode, N = 2^{log_n}, {q:?}"));
        let coefficients = p.elements("coefficients", level.plaintext_type().coefficients());
        p.output("numbers", level.decode(&p, coefficients, level.scale(&p, "scale")));
        add(p.build()?, false);
    }
    Ok(plans)
}

ringforge_testkit::suite!(Encoding);
