//! Key encapsulation against the batch, kernel by kernel, and of all schemes in one table.

use anyhow::{Context, Result, bail};

use super::{BATCHES, LARGE, batches, large};
use crate::bench::Bench;
#[cfg(feature = "peers")]
use crate::bench::cpu;
use crate::bench::kems::{CTRU_QUOTED, resident};
use crate::bench::suites::{Case, Kind, Quoted, Scope, Suite, Wanted};
use crate::kems::{ML_KEM, Operation, SETS, Set};
use crate::record::Measurement;

pub(in crate::bench) static CTRU_KERNELS: Suite = Suite {
    name: "ctru kernels",
    title: "CTRU paper, table 3",
    about: "The source's three kernels take 800 to 1000 µs for 10 000 items on an RTX 4090, with 78, 40 and 53 registers, \
            3168, 1632 and 4704 bytes of shared memory, and occupancies of 50, 100 and 75 %. Ours are cut elsewhere: see the \
            kernels of each operation. Occupancies are theoretical.",
    cases: |scope| kernels(&["CTRU-768", "CNTR-768"], &Operation::EACH, &large(scope, LARGE)),
    kind: Kind::Paper,
    ..Suite::NONE
};

pub(in crate::bench) static CTRU_THROUGHPUT: Suite = Suite {
    name: "ctru throughput",
    title: "CTRU paper, table 4",
    about: "Throughput and latency against the batch. The source's rates are those of batches of 1000 on an RTX 4090.",
    quoted: CTRU_QUOTED,
    cases: |scope| throughput(scope, &["CTRU-768", "CNTR-768"]),
    kind: Kind::Paper,
    ..Suite::NONE
};

pub(in crate::bench) static SCHEMES: Suite = Suite {
    name: "schemes",
    title: "CTRU paper, table 5; CTRU-Prime paper, table 7",
    about: "All schemes beside ML-KEM-768 by the same engine in the same run; that beside the crate that people know, on one \
            thread of the CPU. Over Kyber-768 on the same GPU the CTRU paper has CTRU-768 11.4, 9.5 and 5.1 times as fast; \
            over others' Kyber-768 on an RTX 3080 the CTRU-Prime paper has CTRU-Prime-761 on an RTX 3060 0.027, 1.46 and \
            1.75 times as fast.",
    cases: |scope| {
        let batches = scope.batches(scope.either(&[LARGE, 1 << 16], &[32]));
        let run = move |bench: &Bench, wanted: &Wanted| {
            Ok(batches.iter().map(|&batch| compared(bench, wanted, batch)).collect::<Result<Vec<_>>>()?.concat())
        };
        Ok(vec![Case::new("all", &Operation::EACH, run)])
    },
    kind: Kind::Paper,
    ..Suite::NONE
};

pub(in crate::bench) static PRIME_ENCODING: Suite = Suite {
    name: "prime encoding",
    title: "CTRU-Prime paper, table 5",
    about: "The source fuses rounding, encoding and packing, and saves 24 to 73 % of three kernels' time: 4.93, 5.09, 5.47, \
            5.34, 5.41, 5.34, 4.19, 5.12, 6.14, 7.74 and 11.26 µs for batches of 1, 2, 4, … 1024. The engine has one way, \
            which fuses unpacking, sampling and the product as well: the kernel ctru_prime_encrypt.",
    cases: |scope| kernels(&["CTRU-Prime-653"], &[Operation::Encaps], &encoded(scope)),
    kind: Kind::Paper,
    ..Suite::NONE
};

pub(in crate::bench) static PRIME_KERNELS: Suite = Suite {
    name: "prime kernels",
    title: "CTRU-Prime paper, table 6",
    about: "The source, on an RTX 3060: 40 registers a thread, and 15.75, 18 and 30 KB of shared memory for n = 653, 761 and \
            1277.",
    cases: |scope| kernels(&PRIME, &Operation::EACH, &large(scope, LARGE)),
    kind: Kind::Paper,
    ..Suite::NONE
};

pub(in crate::bench) static PRIME_THROUGHPUT: Suite = Suite {
    name: "prime throughput",
    title: "CTRU-Prime paper, table 7",
    about: "Throughput and latency against the batch. The source's rates are those of an RTX 3060, its batch is not told, and \
            copies are in its time.",
    quoted: PRIME_TABLE_7,
    cases: |scope| throughput(scope, &PRIME),
    kind: Kind::Paper,
    ..Suite::NONE
};

const PRIME: [&str; 3] = ["CTRU-Prime-653", "CTRU-Prime-761", "CTRU-Prime-1277"];

const PRIME_TABLE_7: &[Quoted] = {
    const fn paper(case: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
        const SOURCE: &str = "CTRU-Prime paper, table 7: RTX 3060";
        Quoted { case, peer: "the paper's", source: SOURCE, device: None, seconds }
    }
    &[
        paper(
            "CTRU-Prime-653",
            &[("KeyGen", 1.0 / 63.639e3), ("Encaps", 1.0 / 635.590e3), ("Decaps", 1.0 / 351.532e3)],
        ),
        paper(
            "CTRU-Prime-761",
            &[("KeyGen", 1.0 / 54.359e3), ("Encaps", 1.0 / 2745.392e3), ("Decaps", 1.0 / 2622.441e3)],
        ),
        paper(
            "CTRU-Prime-1277",
            &[("KeyGen", 1.0 / 16.236e3), ("Encaps", 1.0 / 1601.174e3), ("Decaps", 1.0 / 1524.825e3)],
        ),
    ]
};

/// The parameter set of this name.
fn named(name: &str) -> Result<&'static Set> {
    let set = SETS.iter().chain(ML_KEM).find(|set| set.parameters.name() == name);
    set.with_context(|| format!("no parameter set is called {name}"))
}

/// Batches up to 1024 that are powers of two.
fn encoded(scope: &Scope) -> Vec<usize> {
    let batches = batches(scope).into_iter().filter(|batch| batch.is_power_of_two() && *batch <= BATCHES[0][11]);
    batches.collect()
}

fn throughput(scope: &Scope, names: &[&'static str]) -> Result<Vec<Case>> {
    let batches = batches(scope);
    let case = |name: &&'static str| {
        let (set, batches) = (named(name)?, batches.clone());
        Ok(Case::new(*name, &Operation::EACH, move |bench, wanted| {
            Ok(batches.iter().map(|&batch| resident(bench, wanted, set, batch)).collect::<Result<Vec<_>>>()?.concat())
        }))
    };
    names.iter().map(case).collect()
}

/// Each kernel of these operations, with its resources.
fn kernels(names: &[&'static str], operations: &[Operation], batches: &[usize]) -> Result<Vec<Case>> {
    let case = |name: &&'static str| {
        let (set, batches) = (named(name)?, batches.to_vec());
        Ok(Case::new(*name, operations, move |bench, wanted| {
            let bench = &bench.with_steps();
            Ok(batches.iter().map(|&batch| resident(bench, wanted, set, batch)).collect::<Result<Vec<_>>>()?.concat())
        }))
    };
    names.iter().map(case).collect()
}

/// All schemes on this device, beside the first.
fn compared(bench: &Bench, wanted: &Wanted, batch: usize) -> Result<Vec<Measurement>> {
    let seconds = |lines: &[Measurement]| lines.iter().map(|line| 1.0 / line.items_per_second).collect::<Vec<_>>();
    let mut all = resident(bench, wanted, named("ML-KEM-768")?, batch)?;
    let base = seconds(&all);
    #[cfg(feature = "peers")]
    for (line, times) in all.iter_mut().zip(cpu::ml_kem_768(bench.effort)?) {
        *line = line.clone().beside(format!("{}, one CPU thread", cpu::ML_KEM), times.median_seconds);
    }
    for name in ["CTRU-768", "CNTR-768", "CTRU-Prime-761"] {
        let lines = resident(bench, wanted, named(name)?, batch)?;
        if lines.len() != base.len() {
            bail!("{name} has other operations");
        }
        let beside =
            lines.into_iter().zip(&base).map(|(line, seconds)| line.beside("ML-KEM-768, this engine", *seconds));
        all.extend(beside);
    }
    Ok(all)
}
