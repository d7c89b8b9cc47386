//! Key encapsulation against the batch, launch by launch, over several streams, and of all schemes in one table.

use anyhow::{Context, Result};
use ringforge_batch::{KemScheme, Sizes};
use ringforge_example_ml_kem::MlKem768;
use serde::Serialize;

use super::probe::{Ask, Probe, probe};
use super::{LaunchLine, Line, Measured, Seeds, streams};
use crate::bench::kems::round_trip;
use crate::floor::Floor;
use crate::kems::{Operation, Parameters, PlanOf, SETS, plan};

/// Operations a second.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Rates {
    pub(super) key_generation: f64,
    pub(super) encapsulation: f64,
    pub(super) decapsulation: f64,
}

impl Rates {
    pub(super) const fn new([key_generation, encapsulation, decapsulation]: [f64; 3]) -> Self {
        Self { key_generation, encapsulation, decapsulation }
    }

    fn of(self, operation: Operation) -> Option<f64> {
        match operation {
            Operation::KeyGen => Some(self.key_generation),
            Operation::Encaps => Some(self.encapsulation),
            Operation::Decaps => Some(self.decapsulation),
            Operation::EncapsOne | Operation::DecapsOne => None,
        }
    }

    /// How many times as many as others.
    fn over(self, others: Self) -> Self {
        Self {
            key_generation: self.key_generation / others.key_generation,
            encapsulation: self.encapsulation / others.encapsulation,
            decapsulation: self.decapsulation / others.decapsulation,
        }
    }
}

/// Table 4 of the CTRU paper: batches of 1000 on an RTX 4090.
const CTRU_TABLE_4: [(&str, Rates); 2] =
    [("CTRU-768", Rates::new([11.71e6, 9.27e6, 3.15e6])), ("CNTR-768", Rates::new([11.17e6, 9.72e6, 3.22e6]))];
/// Table 7 of the CTRU-Prime paper: an RTX 3060.
const PRIME_TABLE_7: [(&str, Rates); 3] = [
    ("CTRU-Prime-653", Rates::new([63.639e3, 635.590e3, 351.532e3])),
    ("CTRU-Prime-761", Rates::new([54.359e3, 2745.392e3, 2622.441e3])),
    ("CTRU-Prime-1277", Rates::new([16.236e3, 1601.174e3, 1524.825e3])),
];
/// Table 5 of the CTRU-Prime paper: microseconds of its kernel that rounds, encodes and packs, for batches 1, 2, 4, …
const PRIME_TABLE_5: [f64; 11] = [4.93, 5.09, 5.47, 5.34, 5.41, 5.34, 4.19, 5.12, 6.14, 7.74, 11.26];
/// The parameter set of that table.
const ENCODED: &str = "CTRU-Prime-653";
/// What figure 7 of the CTRU-Prime paper splits.
const STREAMED: (&str, usize) = ("CTRU-Prime-761", 768);
/// The same on a CPU.
const CPU_STREAMED: usize = 32;
/// Over how many streams.
const STREAMS: [usize; 4] = [1, 2, 4, 8];

/// A scheme by its plans.
struct Scheme {
    name: &'static str,
    sizes: Sizes,
    plan: PlanOf,
    /// Those that have a floor.
    parameters: Option<Parameters>,
}

impl Scheme {
    /// The parameter set of this name.
    fn named(name: &str) -> Result<Self> {
        if name == MlKem768::NAME {
            let (name, sizes) = (MlKem768::NAME, MlKem768::SIZES);
            return Ok(Self { name, sizes, plan: plan::<MlKem768>, parameters: None });
        }
        let set = SETS.iter().find(|set| set.parameters.name() == name);
        let set = set.with_context(|| format!("no parameter set is called {name}"))?;
        Ok(Self { name: set.parameters.name(), sizes: set.sizes, plan: set.plan, parameters: Some(set.parameters) })
    }

    /// Measures the three operations; `see` is shown each of them.
    fn measure(
        &self,
        seeds: &Seeds,
        batch: usize,
        ask: Ask,
        mut see: impl FnMut(Operation, &Probe),
    ) -> Result<Vec<(Operation, Line)>> {
        let mut lines = Vec::new();
        let (_, right) = round_trip(batch, |operation, inputs| {
            let limits = seeds.bench.device.limits();
            let plan = (self.plan)(operation, limits)?;
            let probe = probe(seeds, &plan, batch, inputs, ask)?;
            see(operation, &probe);
            let mut line = Line::new(self.name, operation, batch, &probe, false);
            if let Some(parameters) = &self.parameters {
                let (bytes, ceilings) = (plan.floor_bytes_per_item(), &seeds.bench.ceilings);
                line = line.above(Floor::of_kem(parameters, operation, bytes, ceilings, limits)?);
            }
            lines.push((operation, line));
            Ok(probe.results)
        })?;
        lines.iter_mut().for_each(|(_, line)| line.right = right);
        Ok(lines)
    }
}

/// Throughput and latency against the batch, beside the source's rates.
fn throughput(seeds: &Seeds, sets: &[(&str, Rates)]) -> Result<Measured> {
    let mut measured = Measured::default();
    for (name, rates) in sets {
        let scheme = Scheme::named(name)?;
        for batch in seeds.batches() {
            let lines = scheme.measure(seeds, batch, Ask::Times, |_, _| ())?;
            let lines = lines
                .into_iter()
                .map(|(operation, line)| Line { source_items_per_second: rates.of(operation), ..line });
            measured.lines.extend(lines);
        }
    }
    Ok(measured)
}

/// Each launch for a batch that fills the device, with its resources, and memory and power of the operation.
fn launches(seeds: &Seeds, names: impl Iterator<Item = &'static str>) -> Result<Measured> {
    let mut measured = Measured::default();
    for name in names {
        let scheme = Scheme::named(name)?;
        for batch in seeds.large() {
            let lines = scheme.measure(seeds, batch, Ask::Power, |operation, probe| {
                measured.launches.extend(LaunchLine::all(name, operation, batch, probe));
            })?;
            measured.lines.extend(lines.into_iter().map(|(_, line)| line));
        }
    }
    Ok(measured)
}

pub(super) fn ctru_launches(seeds: &Seeds) -> Result<Measured> {
    launches(seeds, CTRU_TABLE_4.iter().map(|(name, _)| *name))
}

pub(super) fn ctru_throughput(seeds: &Seeds) -> Result<Measured> {
    throughput(seeds, &CTRU_TABLE_4)
}

pub(super) fn prime_launches(seeds: &Seeds) -> Result<Measured> {
    launches(seeds, PRIME_TABLE_7.iter().map(|(name, _)| *name))
}

pub(super) fn prime_throughput(seeds: &Seeds) -> Result<Measured> {
    throughput(seeds, &PRIME_TABLE_7)
}

/// The launches of encapsulation against the batch.
pub(super) fn prime_encoding(seeds: &Seeds) -> Result<Measured> {
    let mut measured = Measured::default();
    let scheme = Scheme::named(ENCODED)?;
    for (batch, microseconds) in (0..).map(|log| 1 << log).zip(PRIME_TABLE_5) {
        if !seeds.batches().contains(&batch) {
            continue;
        }
        let lines = scheme.measure(seeds, batch, Ask::Launches, |operation, probe| {
            if operation == Operation::Encaps {
                let lines = LaunchLine::all(ENCODED, operation, batch, probe);
                measured.launches.extend(lines.map(|line| match line.launch.kernel {
                    "ctru_prime_encrypt" => LaunchLine { source_seconds: Some(1e-6 * microseconds), ..line },
                    _ => line,
                }));
            }
        })?;
        measured
            .lines
            .extend(lines.into_iter().filter(|(operation, _)| *operation == Operation::Encaps).map(|(_, line)| line));
    }
    Ok(measured)
}

/// From host memory to host memory over 1, 2, 4 and 8 streams, each with a thread and a share of the items.
pub(super) fn prime_streams(seeds: &Seeds) -> Result<Measured> {
    let mut measured = Measured::default();
    let (name, items) = STREAMED;
    let items = if seeds.is_cpu() { CPU_STREAMED } else { items };
    let scheme = Scheme::named(name)?;
    let mut right = true;
    let (_, agree) = round_trip(items, |operation, inputs| {
        let plan = (scheme.plan)(operation, seeds.bench.device.limits())?;
        let mut first = None;
        for streams in STREAMS {
            let (times, results) = streams::measure(seeds, &plan, items, streams, inputs)?;
            let variant = format!("{streams} stream{}", if streams == 1 { "" } else { "s" });
            let line = Line::timed(name, operation, items, times, true).varied(variant);
            measured.lines.push(line);
            right &= *first.get_or_insert_with(|| results.clone()) == results;
        }
        first.context("one stream at least")
    })?;
    measured.lines.iter_mut().for_each(|line| line.right = right && agree);
    Ok(measured)
}

/// A scheme's rates beside those of ML-KEM-768.
#[derive(Debug, Serialize)]
pub(super) struct SchemeLine {
    pub(super) name: &'static str,
    /// Whose code it is, and what it ran on.
    pub(super) by: String,
    pub(super) batch: usize,
    pub(super) public_key_bytes: usize,
    pub(super) secret_key_bytes: usize,
    pub(super) ciphertext_bytes: usize,
    pub(super) rates: Rates,
    /// Over ML-KEM-768 by this engine for the same batch.
    pub(super) ratios: Rates,
    /// The ratios over Kyber-768 that the source gives.
    pub(super) source_ratios: Option<Rates>,
    pub(super) right: bool,
}

/// The schemes of the one table, with the ratios of table 5 of the CTRU paper (one GPU) and table 7 of the CTRU-Prime
/// paper (its RTX 3060 over an RTX 3080 of others). All others are compared with the first.
const COMPARED: [(&str, Option<Rates>); 4] = [
    ("ML-KEM-768", None),
    ("CTRU-768", Some(Rates::new([11.4, 9.5, 5.1]))),
    ("CNTR-768", None),
    ("CTRU-Prime-761", Some(Rates::new([54.359 / 2036.0, 2745.392 / 1880.0, 2622.441 / 1501.0]))),
];

/// One table in one run: all schemes on this device, and the crate that people know on one thread of the CPU.
pub(super) fn compared(seeds: &Seeds) -> Result<Measured> {
    let mut measured = Measured::default();
    for batch in seeds.filling() {
        let mut base = None;
        for (name, source_ratios) in COMPARED {
            let scheme = Scheme::named(name)?;
            let lines = scheme.measure(seeds, batch, Ask::Power, |operation, probe| {
                measured.launches.extend(LaunchLine::all(name, operation, batch, probe));
            })?;
            let right = lines.iter().all(|(_, line)| line.right);
            let [generated, sent, received] = &lines[..] else { anyhow::bail!("{name} has three operations") };
            let rates = Rates::new([generated, sent, received].map(|(_, line)| line.items_per_second));
            let ratios = rates.over(*base.get_or_insert(rates));
            let by = format!("Ringforge, {}", seeds.bench.device);
            measured.schemes.push(scheme.line(by, batch, rates, ratios, source_ratios, right));
            measured.lines.extend(lines.into_iter().map(|(_, line)| line));
        }
        #[cfg(feature = "peers")]
        if let Some(base) = base {
            let seconds = crate::bench::peers::ml_kem_768(seeds.bench.effort)?;
            let rates = Rates::new(seconds.map(|seconds| 1.0 / seconds));
            let by = "ml-kem 0.3, one CPU thread".into();
            // both ends agreed, or there would be no times
            measured.schemes.push(Scheme::named("ML-KEM-768")?.line(by, 1, rates, rates.over(base), None, true));
        }
    }
    Ok(measured)
}

impl Scheme {
    fn line(
        &self,
        by: String,
        batch: usize,
        rates: Rates,
        ratios: Rates,
        source_ratios: Option<Rates>,
        right: bool,
    ) -> SchemeLine {
        SchemeLine {
            name: self.name,
            by,
            batch,
            public_key_bytes: self.sizes.public_key,
            secret_key_bytes: self.sizes.secret_key,
            ciphertext_bytes: self.sizes.ciphertext,
            rates,
            ratios,
            source_ratios,
            right,
        }
    }
}
