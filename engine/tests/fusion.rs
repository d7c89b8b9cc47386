//! Kernel fusion: which steps are fused, which are not, and that fused and unfused plans give bit-identical results.

use std::collections::HashSet;

use ringforge::factorization::Factorization;
use ringforge::kernels::{Arithmetic, Role, Sharing};
use ringforge::tuning::Tuning;
use ringforge::{
    Device, Limits, Modulus, Order, Pipeline, Plan, Planner, PolyType, Quotient, Result, Ring, U256, Value,
};
use ringforge_testkit::{Compiled, Named, NamedPlan, Target, difference, residues};

use crate::rings;

/// A name, a pipeline of elements a, b and c, and the pipeline's number of kernels without and with fusion.
type Rule = (&'static str, for<'p> fn(&'p Pipeline, &PolyType), usize, usize);

fn coefficients<'p>(p: &'p Pipeline, ring: &PolyType) -> [Value<'p>; 3] {
    ["a", "b", "c"].map(|name| p.coefficients(name, ring))
}

fn evaluations<'p>(p: &'p Pipeline, ring: &PolyType, order: Order) -> [Value<'p>; 3] {
    ["a", "b", "c"].map(|name| p.evaluations(name, ring, order))
}

fn both<'p>(p: &'p Pipeline, ring: &PolyType, order: Order) -> (Value<'p>, [Value<'p>; 2]) {
    (p.coefficients("a", ring), ["b", "c"].map(|name| p.evaluations(name, ring, order)))
}

const FIVE: [U256; 1] = [U256::from_u8(5)];

/// Pipelines in which steps are fused.
const RULES: &[Rule] = &[
    (
        "forward",
        |p, ring| {
            let (a, [b, c]) = both(p, ring, Order::DigitReversed);
            p.output("to", (b - a.forward()).scale(&FIVE) + c);
        },
        4,
        1,
    ),
    (
        "forward, natural order",
        |p, ring| {
            let (a, [b, c]) = both(p, ring, Order::Natural);
            p.output("to", a.forward_to(Order::Natural) - b);
            p.output("other", c.scale(&FIVE));
        },
        3,
        2,
    ),
    (
        "inverse",
        |p, ring| {
            let [a, b, c] = evaluations(p, ring, Order::DigitReversed);
            p.output("to", -(a.inverse() + b.inverse()) + c.inverse());
        },
        6,
        3,
    ),
    (
        "product",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            p.output("to", a * b + c);
        },
        2,
        1,
    ),
    (
        "products of values",
        |p, ring| {
            let [a, b, c] = evaluations(p, ring, Order::Natural);
            p.output("to", a * b - b * c);
        },
        3,
        2,
    ),
    (
        "inverse of a product",
        |p, ring| {
            let [a, b, c] = evaluations(p, ring, Order::DigitReversed);
            p.output("to", (a * b).inverse() - c.inverse());
        },
        4,
        2,
    ),
    (
        "inverse of a product, natural order",
        |p, ring| {
            let [a, b, c] = evaluations(p, ring, Order::Natural);
            p.output("to", (a * b).inverse());
            p.output("other", (c * c).inverse());
        },
        4,
        2,
    ),
    (
        "automorphism",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            p.output("to", (a.automorphism(5) - b).scale(&FIVE) - c);
        },
        4,
        1,
    ),
    (
        "sums",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            p.output("to", -(a - b) + c);
        },
        3,
        1,
    ),
    (
        "inner product",
        |p, ring| {
            let [a, b, c] = evaluations(p, ring, Order::DigitReversed);
            p.output("to", a.inner_product(ring, b, 1) - c);
        },
        2,
        1,
    ),
    (
        "quotient",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            p.output("other", b + c);
            match ring.basis().len() {
                1 => p.output("to", a.scale(&FIVE)),
                count => p.output("to", a.divide_round(1) - b.limbs(0..count - 1)),
            }
        },
        0,
        0,
    ),
    (
        "operand of all items",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            let all = p.shared("all", ring.bytes()).holding(ring);
            p.output("to", all - a * b);
            p.output("other", c.forward().inverse() - all);
        },
        5,
        3,
    ),
    (
        "parts of what was joined",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            let (both, limbs) = (ring.vector(2).expect("a ring"), ring.basis().len());
            let joined = p.join(both, &[a * b, b * c]);
            p.output("to", joined.limbs(0..limbs) - c);
            p.output("other", a + joined.limbs(limbs..2 * limbs));
        },
        4,
        2,
    ),
    // views of single limbs of the elements
    (
        "views",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            let last = ring.basis().len() - 1;
            let part = a.limbs(last..last + 1) * b.limbs(last..last + 1) - c.limbs(last..last + 1);
            match last {
                0 => p.output("to", part),
                _ => p.output("to", p.join(ring, &[b.limbs(0..last), part])),
            }
        },
        0,
        0,
    ),
];

/// Pipelines in which some steps cannot be fused. The result of such a step is read twice, is an output, or is an
/// operand of a product; or the kernel would need too many operands; or another step overwrites an operand first.
const OTHERS: &[Rule] = &[
    (
        "read twice",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            let product = a * b;
            p.output("to", product + product);
            p.output("other", c.scale(&FIVE));
        },
        3,
        3,
    ),
    (
        "read by another step",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            let product = a * b;
            p.output("to", product + c);
            p.output("other", product.scale(&FIVE));
        },
        3,
        3,
    ),
    (
        "given out",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            let product = a * b;
            p.output("to", product + c);
            p.output("other", product);
        },
        2,
        2,
    ),
    (
        "operands of a product",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            p.output("to", (a + b) * c);
        },
        2,
        2,
    ),
    (
        "an operand too many",
        |p, ring| {
            let [a, b, c] = coefficients(p, ring);
            p.output("to", a * b + c - a + b);
        },
        4,
        2,
    ),
    // `mul_add` overwrites an input of the product, which would still be needed if the product were computed later
    (
        "written over",
        |p, ring| {
            let [a, b, c] = evaluations(p, ring, Order::DigitReversed);
            let product = a * b;
            p.output("a", c.mul_add(b, a));
            p.output("to", product - b);
        },
        3,
        3,
    ),
];

fn plans(rule: &Rule, ring: &PolyType, limits: &Limits) -> Result<[Plan; 2]> {
    let plan = |tuning| {
        let p = Planner::new(limits.clone()).tuned(tuning).pipeline(rule.0);
        rule.1(&p, ring);
        p.build()
    };
    Ok([plan(Tuning::default().unfused())?, plan(Tuning::default())?])
}

#[test]
fn plans_say_what_was_fused() -> Result<()> {
    let ring: PolyType = "998244353:x^64+1".parse()?;
    for rule @ (name, _, before, after) in RULES.iter().chain(OTHERS).filter(|rule| rule.2 > 0) {
        let [unfused, fused] = plans(rule, &ring, &Limits::h200())?;
        assert_eq!((unfused.kernels().len(), fused.kernels().len()), (*before, *after), "{name}:\n{unfused}\n{fused}");
        assert!(!unfused.to_string().contains("fused:"));
        assert_eq!(fused.to_string().contains("fused:"), after < before, "{fused}");
    }
    // a ring with several limbs; some pipelines take views of fewer limbs
    let ring: PolyType = "97,193:x^16+1".parse()?;
    for rule in RULES {
        let [unfused, fused] = plans(rule, &ring, &Limits::h200())?;
        assert!(fused.kernels().len() < unfused.kernels().len(), "{}:\n{unfused}\n{fused}", rule.0);
    }
    // nothing is fused on a CPU
    let [unfused, same] = plans(&RULES[0], &ring, &Limits::cpu())?;
    assert_eq!(unfused.to_string(), same.to_string());
    Ok(())
}

/// The outputs of a plan on a device, for random elements as inputs.
fn run(plan: &Plan, ring: &PolyType, batch: usize, device: &Device) -> Named {
    let mut inputs = Named::new();
    for (arg, seed) in plan.args().iter().filter(|arg| arg.role != Role::Out).zip(1..) {
        let items = if arg.sharing == Sharing::Shared { 1 } else { batch };
        inputs.insert(arg.name.clone(), residues(ring, seed, items));
    }
    let compiled = Compiled::new(&NamedPlan::new("fusion", plan.clone()), device).expect("a program");
    compiled.run(batch, &inputs).expect("a run")
}

fn check(device: &Device, limits: &Limits, rings: &[PolyType]) -> Result<()> {
    for ring in rings {
        for rule in RULES.iter().chain(OTHERS) {
            let [unfused, fused] = plans(rule, ring, limits)?;
            for batch in [1, 3] {
                let wanted = run(&unfused, ring, batch, &Device::cpu());
                let wrong = difference(&fused, &wanted, &run(&fused, ring, batch, device));
                assert!(wrong.is_none(), "{} in {ring}, {batch} items: {}", rule.0, wrong.unwrap_or_default());
            }
        }
    }
    Ok(())
}

/// Rings in many arithmetics and stored forms, with leaf degree 1 and the automorphism that the pipelines use.
fn all_rings() -> Vec<PolyType> {
    let suits = |ring: &PolyType| {
        let n = ring.degree();
        let cyclic = matches!(ring.ring().quotient(), Quotient::Cyclic { .. } | Quotient::Negacyclic { .. });
        let one_length = ring.basis().len() == 1 || ring.basis().iter().all(|q| q.bits() <= 64);
        let splits = Factorization::of(ring, None).is_ok_and(|factorization| factorization.leaf_degree() == 1);
        let has_limbs = ring.moduli().len() == ring.basis().len()
            && (0..ring.basis().len()).all(|limb| ring.limbs(limb..limb + 1).is_ok());
        cyclic && n.is_power_of_two() && n > 3 && one_length && splits && has_limbs
    };
    rings::rings().into_iter().filter(suits).collect()
}

/// Compares the CPU references of fused kernels with unfused plans.
#[test]
fn bits_are_the_same_on_the_cpu() -> Result<()> {
    let rings = all_rings();
    assert!(rings.len() > 20, "{}", rings.len());
    check(&Device::cpu(), &Limits::h200(), &rings)
}

#[test]
fn bits_are_the_same_on_the_emulator() -> Result<()> {
    let Some(device) = Target::Emulator.device() else { return Ok(()) };
    let q = |q: u64| Modulus::new(q);
    let rings = [
        PolyType::from(Ring::rns(16, &[q(97)?, q(193)?])?),
        PolyType::from(Ring::negacyclic(8, q(1_152_921_504_606_830_593)?)?),
    ];
    check(&device, device.limits(), &rings)
}

#[test]
fn bits_are_the_same_on_a_gpu() -> Result<()> {
    let Some(device) = Target::Cuda.device() else { return Ok(()) };
    // only one ring for each arithmetic, because kernels are compiled for each ring
    let mut seen = HashSet::new();
    let rings: Vec<PolyType> = all_rings().into_iter().filter(|ring| seen.insert(Arithmetic::of(ring))).collect();
    assert!(rings.len() > 4, "{}", rings.len());
    check(&device, device.limits(), &rings)
}
