//! Radix-2^k passes modulo 2^64 − 2^32 + 1, where roots of unity are powers of two. For many factorizations, roots and
//! thread layouts, the CUDA source must give the result of the CPU, which computes radix-2 layers one by one.

use rayon::prelude::*;
use ringforge::factorization::Factorization;
use ringforge::tuning::{Choice, Tuning};
use ringforge::{Device, Error, Job, Limits, Modulus, Op, Order, Planner, PolyType, Result, Ring, U256};
use ringforge_testkit::{NamedPlan, Target, check_plan, naive, seed};

const Q: u64 = 0xffff_ffff_0000_0001;

/// A tuning choice: the number of kernels, the residues per thread, and the blocks per cluster.
fn choice(kernels: usize, per_thread: usize, cluster: Option<usize>) -> Choice {
    let mut choice = Choice::default();
    (choice.kernels, choice.per_thread, choice.cluster) = (Some(kernels), Some(per_thread), cluster);
    choice
}

/// The plan of an operation with this tuning choice. For short limbs it includes the expected evaluations, computed by
/// direct summation.
fn plan(
    ring: &PolyType,
    op: Op,
    order: Order,
    depth: Option<u32>,
    choice: Choice,
    limits: &Limits,
) -> Result<NamedPlan> {
    let job = Job::new(ring, op).order(order);
    let job = depth.map_or(job.clone(), |depth| job.depth(depth));
    let mut tuning = Tuning::default();
    tuning.choose(&job, choice);
    let plan = Planner::new(limits.clone()).tuned(tuning).plan(&job)?;
    let named = NamedPlan::new(format!("{job} {choice:?}"), plan).few_emulated();
    if op != Op::Forward || ring.degree() > 64 || ring.columns() > 1 {
        return Ok(named);
    }
    let (factorization, ring) = (Factorization::of(ring, depth)?, ring.clone());
    Ok(named.expecting(move |_, inputs| {
        let values = naive::forward(&ring, &factorization, order, &naive::to_plain(&ring, &inputs["from"]));
        vec![("to", naive::to_stored(&ring, &values))]
    }))
}

fn ring(f: &str) -> Result<PolyType> {
    format!("{Q} : {f}").parse()
}

fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let mut plans = Vec::new();
    let usual = Choice::default();
    let mut add = |ring: &PolyType, op, order, depth, choice| {
        plans.push(plan(ring, op, order, depth, choice, limits)?);
        Ok::<_, Error>(())
    };
    let q = Modulus::new(Q)?;
    let transforms = [Op::Forward, Op::Inverse];
    // all lengths up to 2^12, with each number of layers per pass
    for log_n in 1..=12 {
        let n = 1 << log_n;
        let coset = PolyType::from(Ring::coset(n, q, 7u32, q.root(n as u64).unwrap_or_default())?);
        let rings =
            [PolyType::from(Ring::cyclic(n, q)?).accepting_any_word(), PolyType::from(Ring::negacyclic(n, q)?), coset];
        let [ring, other, third] = [0, 1, 2].map(|i| &rings[(log_n + i) % 3]);
        let chosen = choice([1, 2, 3][log_n % 3], [4, 8, 16, 32][log_n / 2 % 4], None);
        for op in transforms {
            add(ring, op, Order::DigitReversed, None, usual)?;
            add(other, op, Order::Natural, None, chosen)?;
        }
        add(third, Op::Mul, Order::DigitReversed, None, usual)?;
    }
    // roots of unity of order 16 other than the default
    let root = q.root(64).unwrap_or_default();
    for exponent in [3u32, 5, 9, 31] {
        let ring = PolyType::from(Ring::negacyclic(32, q)?.with_root(q.pow(&root, &U256::from(exponent)))?);
        transforms.iter().try_for_each(|op| add(&ring, *op, Order::DigitReversed, None, usual))?;
    }
    // radix-2^k passes combined with layers of other radices, and with fewer layers than such a pass can have
    for f in [
        "x^12 - 1",
        "x^48 - 1",
        "x^96 + 1",
        "x^320 - 1",
        "x^96 - x^48 + 1",
        "x^64 + 1 : 3 columns",
        "x^256 - 1 : 33 columns",
    ] {
        for (op, kernels, per_thread) in
            [(Op::Forward, 1, 8), (Op::Inverse, 1, 16), (Op::Forward, 2, 16), (Op::Inverse, 2, 24)]
        {
            add(&ring(f)?, op, Order::DigitReversed, None, choice(kernels, per_thread, None))?;
        }
    }
    for text in ["#0,0 : x^64 + 1", ",12289#1,0 : x^64 + 1"] {
        for op in [Op::Forward, Op::Inverse, Op::Mul] {
            add(&format!("{Q}{text}").parse()?, op, Order::DigitReversed, None, usual)?;
        }
    }
    // limbs shared by a cluster of blocks, and incomplete NTTs
    for op in transforms {
        add(&ring("x^512 - 1")?, op, Order::DigitReversed, None, choice(1, 8, Some(2)))?;
        add(&ring("x^4096 + 1")?, op, Order::DigitReversed, None, choice(1, 16, Some(4)))?;
        for depth in [2, 5, 7] {
            add(&ring("x^256 - 1")?, op, Order::DigitReversed, Some(depth), choice(2, 8, None))?;
        }
    }
    Ok(plans)
}

fn check(target: Target) -> Result<()> {
    let Some(device) = target.device() else { return Ok(()) };
    let devices = [Device::cpu(), device];
    let seed = seed();
    plans(devices[1].limits())?.par_iter().for_each(|plan| check_plan(plan, &devices, seed));
    Ok(())
}

#[test]
fn emulator() -> Result<()> {
    check(Target::Emulator)
}

#[test]
fn cuda() -> Result<()> {
    check(Target::Cuda)
}

/// Each kernel groups its layers into radix-2^k passes separately, with k as large as possible.
#[test]
fn groups_follow_passes() -> Result<()> {
    let limits = Limits::h200();
    let prelude = |n: usize, op| -> Result<Vec<String>> {
        let job = Job::new(Ring::cyclic(n, Modulus::new(Q)?)?, op);
        let plan = Planner::new(limits.clone()).plan(&job)?;
        plan.kernels().map(|kernel| Ok(kernel.source(&limits)?.prelude().into())).collect()
    };
    for op in [Op::Forward, Op::Inverse] {
        for text in prelude(1 << 24, op)? {
            assert!(text.contains("group[] = {0, 0, 0, 0, 4, 4, 4, 4, 8, "), "{text}");
        }
        for text in prelude(1 << 20, op)? {
            assert!(text.contains("group[] = {0, 1, 1, 1, 1, 5, 6, 6, 6, 6, 10, "), "{text}");
        }
    }
    Ok(())
}

/// The smallest and the largest value that an integer may have.
type Range = (i128, i128);

/// The range of the results of `Rotations::shifted` for inputs in this range, by the formulas of `fold_signed` and its
/// variants in `word.cuh`. Returns `None` if an input shifted by `by` mod 32 bits needs more than 96 bits.
fn shifted((least, most): Range, by: u32, folded: bool) -> Option<Range> {
    let [least, most] = [least, most].map(|x| x << (by % 32));
    let (word, less, fits) = (1i128 << 32, (1i128 << 32) - 1, -(1i128 << 95)..1i128 << 95);
    let (top, whole) = ([least >> 64, most >> 64], (1i128 << 64) - 1);
    let left = match by {
        0 => (least, most),
        1..32 if !folded => (least, most),
        1..32 => (less * top[0].min(0), whole + less * top[1].max(0)),
        32..64 => (-top[1], less * word + less * less - top[0]),
        _ => (-(most >> 32), less * less - (least >> 32)),
    };
    (fits.contains(&least) && fits.contains(&most)).then_some(left)
}

/// For every root, no intermediate result of `rotations.cuh` needs more than 96 bits, and no final result is below
/// 2^32 − 1.
#[test]
fn values_of_groups_fit() {
    let (unit, q) = (1i128 << 64, i128::from(Q));
    let lifted = (q << 29) + (1 << 32) - 1;
    for sixteenth in (12..192u32).step_by(24) {
        let exponent =
            |node: usize| (0..3).map(|bit| (node as u32 >> bit & 1) * (4 >> bit)).sum::<u32>() * sixteenth % 192;
        for (layers, back) in (1..=4).flat_map(|layers| [(layers, false), (layers, true)]) {
            let mut x: Vec<Range> = vec![if back { (0, unit - 1) } else { (-2 * unit, unit) }; 1 << layers];
            x[0] = (lifted, unit - 1 + lifted);
            for layer in 0..layers {
                let layer = if back { layers - 1 - layer } else { layer };
                for (node, x) in x.chunks_exact_mut((1 << layers) >> layer).enumerate() {
                    let (left, right) = x.split_at_mut(((1 << layers) >> layer) / 2);
                    for (a, b) in left.iter_mut().zip(right) {
                        let (e, sum) = (exponent(node), |a: Range, b: Range| (a.0 + b.0, a.1 + b.1));
                        let minus = |(least, most): Range| (-most, -least);
                        if back {
                            let e = (192 - e) % 192;
                            let difference = sum(*a, minus(*b));
                            let difference = if e < 96 { difference } else { minus(difference) };
                            *a = sum(*a, *b);
                            *b = shifted(difference, e % 96, true).expect("no more than 96 bits");
                        } else {
                            let turned = shifted(*b, e % 96, layer + 1 < layers).expect("no more than 96 bits");
                            let turned = if e < 96 { turned } else { minus(turned) };
                            (*a, *b) = (sum(*a, turned), sum(*a, minus(turned)));
                        }
                    }
                }
            }
            assert!(x.iter().all(|(least, most)| *least >= (1 << 32) - 1 && *most < 1 << 96), "{sixteenth} {x:?}");
        }
    }
}
