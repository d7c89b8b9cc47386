//! Plans for three named devices must equal those stored in `tests/golden/`. `RINGFORGE_BLESS=1` rewrites these files.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ringforge::kernels::Launch;
use ringforge::{Job, Limits, Modulus, Op, Order, Planner, PolyType, Quotient, Result, Ring};

fn jobs() -> Result<Vec<Job>> {
    let q = |q: u64| Modulus::new(q);
    let bls = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")?;
    let trinomial = PolyType::from(Ring::trinomial(768, q(3457)?)?);
    let kyber = PolyType::from(Ring::negacyclic(256, q(3329)?)?);
    let large = PolyType::from(Ring::negacyclic(1 << 16, q(1_152_921_504_606_584_833)?)?);
    let rns = PolyType::from(Ring::rns(4096, &[q(1_152_921_504_606_830_593)?, q(1_152_921_504_606_748_673)?])?);
    let other = PolyType::from(Ring::rns(4096, &Modulus::ntt_primes(8192, 50, 20)?)?);
    let ntru = PolyType::from(Ring::new(&[q(2048)?], Quotient::Sparse { n: 509, terms: vec![(0, -1)] })?);
    Ok(vec![
        Job::new(&kyber, Op::Forward),
        Job::new(&kyber, Op::Inverse).order(Order::Natural).in_place(),
        Job::new(&kyber, Op::MulAdd),
        Job::new(&trinomial, Op::Mul),
        Job::new(&trinomial, Op::Forward).depth(7),
        Job::new(&large, Op::Forward),
        Job::new(&large, Op::Mul),
        Job::new(&rns, Op::Mul),
        Job::new(&rns, Op::Compose),
        Job::new(&rns, Op::Decompose),
        Job::new(&rns, Op::ConvertCentred).to(&other),
        Job::new(&other, Op::ConvertFast).to(&rns),
        Job::new(Ring::cyclic(1 << 20, bls)?, Op::Forward).order(Order::Natural),
        Job::new(&ntru, Op::Mul),
        Job::new(Ring::prime_trinomial(761, q(4591)?)?, Op::Mul).bounds(2295, 1),
        Job::new(Ring::negacyclic(1024, q(1 << 32)?)?, Op::Mul).bounds(1 << 31, 1 << 8),
    ])
}

/// The text of the plans of all jobs, each with the launches of its steps, separated by empty lines.
fn plans(limits: &Limits) -> Result<String> {
    let planner = Planner::new(limits.clone());
    let mut text = String::new();
    for job in jobs()? {
        let plan = planner.plan(&job)?;
        let _ = writeln!(text, "{plan}");
        for kernel in plan.kernels().filter(|_| !limits.is_cpu()) {
            let name = kernel.name();
            let launch = match kernel.source(limits).map(|source| source.launch()) {
                Ok(Launch { threads, items_per_block, blocks_per_item, shared_bytes, cluster, together }) => {
                    let items = if together > 1 { format!(", {together} items a block") } else { String::new() };
                    let clusters = if cluster > 1 { format!(", clusters of {cluster}") } else { String::new() };
                    format!(
                        "{threads} threads, items/block {items_per_block}, blocks/item {blocks_per_item}, \
                     {shared_bytes} bytes shared{clusters}{items}"
                    )
                }
                Err(error) => error.to_string(),
            };
            let _ = writeln!(text, "  launch {name}: {launch}");
        }
        text.push('\n');
    }
    Ok(text)
}

/// The plans that differ between two texts; lines of the old text are marked − and lines of the new one +.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split("\n\n").collect(), new.split("\n\n").collect());
    let marked = |mark, text: &str| text.lines().fold(String::new(), |all, line| all + &format!("{mark} {line}\n"));
    let mut text = String::new();
    for plan in old.iter().filter(|plan| !new.contains(plan)) {
        text += &marked('-', plan);
    }
    for plan in new.iter().filter(|plan| !old.contains(plan)) {
        text += &marked('+', plan);
    }
    text
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name).with_extension("txt")
}

fn check(name: &str, limits: &Limits) {
    compare(name, &plans(limits).unwrap_or_else(|e| panic!("{name}: {e}")));
}

fn compare(name: &str, new: &str) {
    let file = file(name);
    if std::env::var_os("RINGFORGE_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&file, new).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        return;
    }
    let old = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    assert!(
        old == new,
        "plans for {name} have changed (set RINGFORGE_BLESS=1 to accept them):\n{}",
        difference(&old, new)
    );
}

#[test]
fn plans_for_a_cpu() {
    check("cpu", &Limits::cpu());
}

#[test]
fn plans_for_an_h200() {
    check("h200", &Limits::h200());
}

#[test]
fn plans_for_other_gpus() {
    let [first, others @ ..] = [75, 89, 120].map(|capability| plans(&Limits::of_capability(capability)));
    let first = first.unwrap_or_else(|e| panic!("sm_75: {e}"));
    compare("gpu", &first);
    for plans in others {
        let plans = plans.unwrap_or_else(|e| panic!("{e}"));
        assert!(plans == first, "plans differ between GPUs:\n{}", difference(&first, &plans));
    }
}
