//! `ringforge bench seeds`: the experiments of the five documents that the engine came from, a suite for each of their
//! tables and figures, with their sizes and batches and their own figures beside ours.

mod kems;
mod print;
mod probe;
mod rings;
mod sm2;
mod streams;
mod tables;

use core::fmt::Display;

use anyhow::{Result, ensure};
use ringforge::Error;
use serde::Serialize;

use super::{Bench, Options, write};
use crate::devices::Choice;
use crate::environment::Environment;
use crate::floor::Floor;
use crate::measure::{Effort, Times};
use crate::show;
use probe::{Launch, Probe};

/// Batches of the sources: 1 to 1024, and those of their rates and of their kernels' times.
const BATCHES: [usize; 13] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1024, 10_000];
/// Fewer of them, in a hurry.
const QUICK_BATCHES: [usize; 4] = [1, 32, 1024, 10_000];
/// The same on a CPU.
const CPU_BATCHES: [usize; 5] = [1, 4, 16, 64, 256];
const CPU_QUICK_BATCHES: [usize; 2] = [1, 16];
/// The batch of the sources' kernels, and what stands for it on a CPU.
const LARGE: usize = 10_000;
const CPU_LARGE: usize = 32;
/// A batch that fills any GPU.
const FILLING: usize = 1 << 16;

/// One table or figure of a source.
#[derive(Debug, Clone, Copy, Serialize)]
struct Suite {
    name: &'static str,
    source: &'static str,
    /// What the source says or did, and what is not the same here.
    note: &'static str,
    #[serde(skip)]
    measure: fn(&Seeds) -> Result<Measured>,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "ctru launches",
        source: "CTRU paper, table 3",
        note: "The source's three kernels take 800 to 1000 µs for 10 000 items on an RTX 4090, with 78, 40 and 53 \
               registers, 3168, 1632 and 4704 bytes of shared memory, and occupancies of 50, 100 and 75 %. Ours are cut \
               elsewhere: see the launches of each operation. Occupancies are theoretical, and how busy memory and \
               arithmetic are takes a profiler to tell.",
        measure: kems::ctru_launches,
    },
    Suite {
        name: "ctru throughput",
        source: "CTRU paper, table 4",
        note: "The source's rates are those of batches of 1000 on an RTX 4090.",
        measure: kems::ctru_throughput,
    },
    Suite {
        name: "ctru fusion",
        source: "CTRU paper, sections 4.3.2 and 4.3.3",
        note: "Fusion of a product gives the source 7.80 %, padding of shared memory 8.83 %. The engine has products both \
               ways, and one way of padding: it leaves gaps only where threads would meet on one bank, which at 24 \
               coefficients a thread they do not.",
        measure: rings::ctru_fusion,
    },
    Suite {
        name: "schemes",
        source: "CTRU paper, table 5; CTRU-Prime paper, table 7",
        note: "The CTRU paper's ratios are over Kyber-768 on the same GPU; the CTRU-Prime paper's are its own on an RTX \
               3060 over others' Kyber-768 on an RTX 3080. Ratios here are over ML-KEM-768 by the same engine, on the \
               same device, in the same run.",
        measure: kems::compared,
    },
    Suite {
        name: "prime products",
        source: "CTRU-Prime paper, table 4 and the figures about NTT products",
        note: "The source's rates are its NTT on CUDA cores of an RTX 3060, from its gain over C code: for n = 653 by \
               batch, else the best, at 1024. Ours are in the way that is fastest on the device, on tensor cores where it \
               has them; `ringforge bench --filter ways` has both ways side by side.",
        measure: rings::prime_products,
    },
    Suite {
        name: "prime encoding",
        source: "CTRU-Prime paper, table 5",
        note: "The source fuses rounding, encoding and packing, and saves 24 to 73 % of three kernels' time. The engine \
               has one way, which fuses unpacking, sampling and the product as well: ctru_prime_encrypt, beside the \
               source's fused kernel without these.",
        measure: kems::prime_encoding,
    },
    Suite {
        name: "prime streams",
        source: "CTRU-Prime paper, figure 7",
        note: "768 operations (32 on a CPU) shared out among streams with a host thread each, copies included. The \
               source's changes, −25.5 to +72.8 % of the time saved, are not told apart by operation in its text.",
        measure: kems::prime_streams,
    },
    Suite {
        name: "prime launches",
        source: "CTRU-Prime paper, table 6",
        note: "The source, on an RTX 3060: 80 to 82 W, 144 to 156 MiB, 40 registers a thread, and 15.75, 18 and 30 KB of \
               shared memory for n = 653, 761 and 1277.",
        measure: kems::prime_launches,
    },
    Suite {
        name: "prime throughput",
        source: "CTRU-Prime paper, table 7",
        note: "The source's rates are those of an RTX 3060, its batch is not told, and copies are in its time.",
        measure: kems::prime_throughput,
    },
    Suite {
        name: "sm2 throughput",
        source: "SM2 paper, table 4",
        note: "The source's rates are those of a Hygon DCU with 480 blocks of 512 threads, an item each; that batch is the \
               last one here.",
        measure: sm2::throughput,
    },
    Suite {
        name: "sm2 blocks",
        source: "SM2 paper, the tuning of blocks",
        note: "The source is fastest with blocks of 512 threads, and slower from 640 on, by spilled registers. Up to 512, \
               as many blocks are resident as make 512 threads. A thread signs 16 items with one inversion, so large blocks \
               are few. A CPU has no blocks.",
        measure: sm2::blocks,
    },
    Suite {
        name: "fhe transforms",
        source: "FHE patent, kernels and exchange between lanes",
        note: "The patent gives no figures; the rates beside ours are those of the code that it compares itself with \
               (Over 100x), as measured on an H200. Shuffles here swap half of the registers, so no butterfly is \
               computed twice, as it is in the patent; lengths and places where they do not serve go through shared \
               memory either way.",
        measure: rings::fhe_transforms,
    },
    Suite {
        name: "zk transforms",
        source: "PreNTT paper, speed against size",
        note: "The source is 1.7 to 9 times as fast as Bellperson split near to a square, and its milliseconds are lost; \
               the rates beside ours are Bellperson's, as measured on an H200.",
        measure: rings::zk_transforms,
    },
    Suite {
        name: "zk tables",
        source: "PreNTT paper, figure 17",
        note: "The source makes its factors anew for each proof and hides that behind the copy of the inputs. The engine \
               makes them once for each size and keeps them on the device, so the share is that of a first transform or \
               proof.",
        measure: tables::zk_tables,
    },
];

/// What suites are measured with.
struct Seeds {
    bench: Bench,
    quick: bool,
    /// Instead of the sources' batches.
    batches: Vec<usize>,
    /// Whether the power is read where a suite asks for it.
    reads_power: bool,
}

impl Seeds {
    fn is_cpu(&self) -> bool {
        self.bench.device.limits().is_cpu()
    }

    fn or_asked(&self, usual: &[usize]) -> Vec<usize> {
        if self.batches.is_empty() { usual.to_vec() } else { self.batches.clone() }
    }

    /// Batches from one item on.
    fn batches(&self) -> Vec<usize> {
        self.or_asked(match (self.is_cpu(), self.quick) {
            (true, true) => &CPU_QUICK_BATCHES,
            (true, false) => &CPU_BATCHES,
            (false, true) => &QUICK_BATCHES,
            (false, false) => &BATCHES,
        })
    }

    /// The batch of the sources' kernels.
    fn large(&self) -> Vec<usize> {
        self.large_or(LARGE)
    }

    /// A batch of this size, and a small one on a CPU.
    fn large_or(&self, batch: usize) -> Vec<usize> {
        self.or_asked(&[if self.is_cpu() { CPU_LARGE } else { batch }])
    }

    /// The same, and one that fills the device.
    fn filling(&self) -> Vec<usize> {
        self.or_asked(if self.is_cpu() { &[CPU_LARGE] } else { &[LARGE, FILLING] })
    }

    /// Sizes as powers of two: all of them, some in a hurry, and those of a CPU.
    fn sizes(&self, all: &[u32], quick: &[u32], cpu: &[u32]) -> Vec<u32> {
        if self.is_cpu() {
            cpu
        } else if self.quick {
            quick
        } else {
            all
        }
        .to_vec()
    }
}

/// The times of an operation for a batch.
#[derive(Debug, Serialize)]
struct Line {
    name: String,
    op: String,
    /// What the suite varies, other than size and batch.
    variant: Option<String>,
    batch: usize,
    /// The time of the whole batch is its latency.
    #[serde(flatten)]
    times: Times,
    items_per_second: f64,
    floor: Option<Floor>,
    percent_of_floor: Option<f64>,
    /// Memory of a GPU for one run: arguments, tables and temporaries.
    memory_bytes: Option<usize>,
    /// Of a GPU that does nothing else, where it was asked for.
    watts: Option<f64>,
    /// What the source gives, on its device.
    source_items_per_second: Option<f64>,
    right: bool,
}

impl Line {
    fn new(name: &str, op: impl Display, batch: usize, probe: &Probe, right: bool) -> Self {
        let line = Self::timed(name, op, batch, probe.times, right);
        Self { memory_bytes: probe.memory_bytes, watts: probe.watts, ..line }
    }

    fn timed(name: &str, op: impl Display, batch: usize, times: Times, right: bool) -> Self {
        Self {
            name: name.into(),
            op: op.to_string(),
            variant: None,
            batch,
            times,
            items_per_second: batch as f64 / times.median_seconds,
            floor: None,
            percent_of_floor: None,
            memory_bytes: None,
            watts: None,
            source_items_per_second: None,
            right,
        }
    }

    fn varied(self, variant: impl Into<String>) -> Self {
        Self { variant: Some(variant.into()), ..self }
    }

    fn above(self, floor: Floor) -> Self {
        let percent = 100.0 * floor.limit().0 * self.items_per_second;
        Self { floor: Some(floor), percent_of_floor: Some(percent), ..self }
    }
}

/// One launch of an operation for a batch.
#[derive(Debug, Serialize)]
struct LaunchLine {
    name: String,
    op: String,
    /// As in the line of the operation.
    variant: Option<String>,
    batch: usize,
    #[serde(flatten)]
    launch: Launch,
    /// What the source gives for such a kernel, on its device.
    source_seconds: Option<f64>,
}

impl LaunchLine {
    /// All launches of an operation, in order.
    fn all(name: &str, op: impl Display, batch: usize, probe: &Probe) -> impl Iterator<Item = Self> {
        probe.launches.iter().map(move |launch| Self {
            name: name.into(),
            op: op.to_string(),
            variant: None,
            batch,
            launch: launch.clone(),
            source_seconds: None,
        })
    }

    fn varied(self, variant: &str) -> Self {
        Self { variant: Some(variant.into()), ..self }
    }
}

/// What a suite measured.
#[derive(Debug, Default)]
struct Measured {
    lines: Vec<Line>,
    launches: Vec<LaunchLine>,
    tables: Vec<tables::TableLine>,
    schemes: Vec<kems::SchemeLine>,
}

/// A line and the suite that it belongs to.
#[derive(Debug, Serialize)]
struct Of<T> {
    suite: &'static str,
    #[serde(flatten)]
    line: T,
}

fn of<T>(suite: &Suite, lines: Vec<T>) -> impl Iterator<Item = Of<T>> {
    let suite = suite.name;
    lines.into_iter().map(move |line| Of { suite, line })
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    environment: Environment,
    /// The file of choices that plans were made by.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuning: Option<String>,
    copy_bytes_per_second: f64,
    /// The suites that were measured.
    seed_suites: Vec<Suite>,
    seed_lines: Vec<Of<Line>>,
    /// Launch by launch, where a suite asks for it.
    seed_launches: Vec<Of<LaunchLine>>,
    /// What tables of factors take.
    seed_tables: Vec<Of<tables::TableLine>>,
    /// Schemes beside one another.
    seed_schemes: Vec<Of<kems::SchemeLine>>,
    /// Suites that this device does not support, and why.
    unsupported: Vec<String>,
}

impl Report {
    fn add(&mut self, suite: &Suite, measured: Measured) {
        self.seed_suites.push(*suite);
        self.seed_lines.extend(of(suite, measured.lines));
        self.seed_launches.extend(of(suite, measured.launches));
        self.seed_tables.extend(of(suite, measured.tables));
        self.seed_schemes.extend(of(suite, measured.schemes));
    }

    fn is_right(&self) -> bool {
        self.seed_lines.iter().all(|of| of.line.right)
            && self.seed_tables.iter().all(|of| of.line.right)
            && self.seed_schemes.iter().all(|of| of.line.right)
    }
}

/// `ringforge bench seeds`: whether every result is right.
pub(super) fn main(options: &Options, choice: Choice, json: bool) -> Result<bool> {
    let suites: Vec<&Suite> = SUITES.iter().filter(|suite| suite.title().contains(&options.filter)).collect();
    let names = || SUITES.iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ");
    ensure!(!suites.is_empty(), "no suite contains {:?}; there are {}", options.filter, names());
    let device = choice.open()?.device;
    let (samples, total_seconds) = if options.quick { (7, 0.02) } else { (30, 0.25) };
    let effort = Effort { samples, sample_seconds: 0.002, total_seconds };
    // the driver's tool is asked about the first GPU
    let reads_power = !options.quick && matches!(choice, Choice::Best | Choice::Cuda(0)) && !device.limits().is_cpu();
    let bench = Bench::open(options, device, effort)?;
    let seeds = Seeds { bench, quick: options.quick, batches: options.batch.clone(), reads_power };
    let mut report = Report {
        environment: Environment::of(&seeds.bench.device),
        tuning: options.tuning.name(),
        copy_bytes_per_second: seeds.bench.ceilings.copy,
        seed_suites: Vec::new(),
        seed_lines: Vec::new(),
        seed_launches: Vec::new(),
        seed_tables: Vec::new(),
        seed_schemes: Vec::new(),
        unsupported: Vec::new(),
    };
    write(options, &report)?;
    let bar = show::progress(suites.len());
    for suite in suites {
        bar.set_message(suite.name);
        match (suite.measure)(&seeds) {
            Ok(measured) => report.add(suite, measured),
            Err(error) => match error.downcast_ref::<Error>() {
                Some(Error::Unsupported { .. }) => report.unsupported.push(format!("{}: {error}", suite.name)),
                _ => return Err(error.context(suite.name)),
            },
        }
        bar.inc(1);
        // what is done stays, whatever happens to the rest
        write(options, &report)?;
    }
    bar.finish_and_clear();
    if json {
        show::print_json(&report)?;
    } else {
        print::report(&report)?;
    }
    Ok(report.is_right())
}

impl Suite {
    fn title(&self) -> String {
        format!("{} ({})", self.name, self.source)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anyhow::Context;

    use super::*;

    #[test]
    fn every_suite_is_right_on_a_cpu() -> Result<()> {
        let seeds = Seeds { bench: Bench::of_cpu(), quick: true, batches: vec![2], reads_power: false };
        for suite in SUITES {
            let measured = (suite.measure)(&seeds).with_context(|| suite.title())?;
            let count = measured.lines.len() + measured.tables.len() + measured.schemes.len();
            assert!(count > 0, "{}", suite.name);
            let rights = measured.lines.iter().map(|line| line.right);
            let rights = rights.chain(measured.tables.iter().map(|line| line.right));
            assert!(rights.chain(measured.schemes.iter().map(|line| line.right)).all(|right| right), "{}", suite.name);
            // a CPU has neither
            assert!(measured.lines.iter().all(|line| line.memory_bytes.is_none() && line.watts.is_none()));
            assert!(measured.launches.iter().all(|line| line.launch.resources.is_none()));
        }
        Ok(())
    }

    #[test]
    fn suites_have_names_of_their_own() {
        let names: BTreeSet<_> = SUITES.iter().map(|suite| suite.name).collect();
        assert_eq!(names.len(), SUITES.len());
    }
}
