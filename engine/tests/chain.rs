//! Modulus chains, as in homomorphic encryption. Q is the product of the moduli of a level, and P that of the special
//! moduli. A digit of Q is the product of up to `SPECIAL` consecutive moduli. The rings modulo Q of all levels, modulo
//! Q·P and modulo digits share kernels and tables.

use std::collections::{BTreeMap, BTreeSet};

use ringforge::kernels::Table;
use ringforge::{Job, Limits, Modulus, Op, Plan, Planner, PolyType, Result, Ring};
use ringforge_testkit::Target;

const DEGREE: usize = 1 << 16;
/// The number of levels, which is also the number of moduli of Q at the highest level.
const LEVELS: usize = 24;
/// The number of moduli of P, and of each digit of Q except the last.
const SPECIAL: usize = 3;

/// The plans of a scheme at all levels: transforms and products modulo Q and modulo Q·P, ModUp of digits to Q·P (fast
/// base conversion), and the base conversion from P to Q in ModDown.
fn plans(limits: &Limits) -> Result<Vec<Plan>> {
    let primes = Modulus::ntt_primes(2 * DEGREE as u64, 60, LEVELS + SPECIAL)?;
    let (q, p) = primes.split_at(LEVELS);
    let planner = Planner::new(limits.clone());
    let special = PolyType::from(Ring::rns(DEGREE, p)?);
    let mut plans = Vec::new();
    for level in 1..=LEVELS {
        let ring = PolyType::from(Ring::rns(DEGREE, &q[..level])?);
        let extended = PolyType::from(Ring::rns(DEGREE, &[&q[..level], p].concat())?);
        let mut plan = |job: Job| planner.plan(&job).map(|plan| plans.push(plan));
        for ring in [&ring, &extended] {
            [Op::Forward, Op::Inverse, Op::PointMul, Op::MulAdd].iter().try_for_each(|&op| plan(Job::new(ring, op)))?;
        }
        for digit in q[..level].chunks(SPECIAL) {
            plan(Job::new(Ring::rns(DEGREE, digit)?, Op::ConvertFast).to(&extended))?;
        }
        plan(Job::new(&special, Op::ConvertCentred).to(&ring))?;
    }
    [Op::Forward, Op::Inverse]
        .iter()
        .try_for_each(|&op| planner.plan(&Job::new(&special, op)).map(|p| plans.push(p)))?;
    Ok(plans)
}

/// Limit for the bytes of all tables, about 1.6 times the size of 2 · 2^16 twiddle factors of 16 bytes for each of the
/// 27 primes.
const MOST_BYTES: usize = 90_000_000;
/// Limit for the number of compiled kernels.
const MOST_KERNELS: usize = 12;

#[test]
fn kernels_and_tables_are_shared() -> Result<()> {
    let limits = Limits::h200();
    let (mut sources, mut tables) = (BTreeSet::new(), BTreeMap::new());
    for plan in plans(&limits)? {
        for kernel in plan.kernels() {
            let source = kernel.source(&limits)?;
            sources.insert((source.cuda_source().to_owned(), source.prelude().to_owned()));
        }
        for table in plan.tables() {
            count(table, &limits, &mut tables, &mut sources)?;
        }
    }
    let bytes: usize = tables.values().sum();
    println!("{} kernels, {bytes} bytes of tables", sources.len());
    assert!(sources.len() <= MOST_KERNELS, "{} kernels", sources.len());
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
    Ok(())
}

/// Adds the size of a table and of all tables it is computed from, each once, and the sources of the kernels that
/// compute them.
fn count(
    table: &Table,
    limits: &Limits,
    tables: &mut BTreeMap<String, usize>,
    sources: &mut BTreeSet<(String, String)>,
) -> Result<()> {
    if tables.insert(format!("{table:?}"), table.bytes()).is_some() {
        return Ok(());
    }
    match table {
        Table::Made { kernel, inputs, .. } => {
            let source = kernel.source(limits)?;
            sources.insert((source.cuda_source().to_owned(), source.prelude().to_owned()));
            inputs.iter().try_for_each(|input| count(input, limits, tables, sources))
        }
        Table::List(all) => all.iter().try_for_each(|table| count(table, limits, tables, sources)),
        Table::Bytes(_) => Ok(()),
    }
}

#[test]
fn tables_on_a_gpu() -> Result<()> {
    let Some(device) = Target::Cuda.device() else { return Ok(()) };
    let programs = plans(device.limits())?.iter().map(|plan| device.compile(plan)).collect::<Result<Vec<_>>>()?;
    let bytes = device.held_bytes().unwrap_or(0);
    println!("{} programs hold {bytes} bytes", programs.len());
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
    Ok(())
}
