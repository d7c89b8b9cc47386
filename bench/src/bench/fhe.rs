//! Lines about transforms as FHE has them: x^n + 1 modulo 32 primes, a gigabyte in one run, or one polynomial.
//!
//! Inputs are drawn anew for every task, the first two items full of edges. Every output that the timed runs leave is
//! checked. Values: on a GPU all of them are compared with those of the CPU, bit for bit; on any device the first and
//! the last item of each run are compared with the definition, in random places of each row. Then the inverse runs on
//! these values, into memory that was zeroed, and must give back all inputs, bit for bit. A captured run works in place,
//! again and again on what it left; then once more on the inputs, and that result is checked the same way.

use anyhow::{Context, Result, ensure};
use ringforge::testkit::Random;
use ringforge::testkit::naive;
use ringforge::{Buffer, Device, Job, Modulus, Op, Order, Pipeline, Ring};
use serde::Serialize;

use super::{Bench, Options, What, is_reference};
use crate::floor::Floor;
use crate::measure::{self, Effort, Times};
use crate::work::Work;
use crate::{oracle, sample, show};

/// Moduli of a polynomial.
const MODULI: usize = 32;
/// Bytes of a batch on a GPU.
const BYTES: usize = 1 << 30;
/// The same on a CPU.
const CPU_BYTES: usize = 16 << 20;
/// Items with edges.
const EDGES: usize = 2;
/// Values of each row that are compared with their definition.
const PLACES: usize = 2;
/// How much a run does, and how it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// As many polynomials as make a gigabyte.
    Batch,
    /// One polynomial.
    One,
    /// One polynomial in place, captured: on a GPU, a graph that is replayed.
    OneCaptured,
}

/// What is measured, both ways.
#[derive(Debug)]
struct Shape {
    name: &'static str,
    how: How,
    log_n: u32,
    /// Of each prime.
    bits: u32,
    /// Nanoseconds that the best open library takes forward and back, and those that are wanted at most: for a limb of
    /// a batch, or for one polynomial.
    peers: Option<[f64; 2]>,
    bar: Option<f64>,
    /// Whether it is measured with `--quick` too.
    quick: bool,
}

const fn batch(name: &'static str, log_n: u32, peers: Option<[f64; 2]>, bar: Option<f64>) -> Shape {
    Shape { name, how: How::Batch, log_n, bits: 60, peers, bar, quick: log_n == 16 }
}

const fn one(name: &'static str, how: How) -> Shape {
    Shape { name, how, log_n: 16, bits: 60, peers: Some([52_700.0, 54_900.0]), bar: Some(35_000.0), quick: true }
}

const SHAPES: &[Shape] = &[
    batch("FHE 2^12, 60 bits", 12, Some([93.0, 82.0]), Some(60.0)),
    batch("FHE 2^13, 60 bits", 13, None, None),
    batch("FHE 2^14, 60 bits", 14, Some([328.0, 355.0]), Some(230.0)),
    batch("FHE 2^15, 60 bits", 15, None, None),
    batch("FHE 2^16, 60 bits", 16, Some([1387.0, 1396.0]), Some(950.0)),
    batch("FHE 2^17, 60 bits", 17, Some([3031.0, 3156.0]), Some(2100.0)),
    Shape { bits: 49, ..batch("FHE 2^16, 49 bits", 16, None, Some(700.0)) },
    one("FHE 2^16, one polynomial", How::One),
    one("FHE 2^16, one polynomial, bound", How::OneCaptured),
];

/// A shape and a batch.
pub(super) struct Task {
    shape: &'static Shape,
    ring: Ring,
    batch: usize,
    /// The directions whose lines are wanted; both are run, for the inverse needs values.
    wanted: Vec<Op>,
}

/// One measurement, beside what it is to be compared with.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    #[serde(flatten)]
    pub(super) line: super::Line,
    /// Rows of an item.
    limbs: usize,
    per_limb_ns: f64,
    /// Whether a captured run was replayed.
    #[serde(rename = "bound")]
    captured: bool,
    /// What the next three are the nanoseconds of: a limb, or one polynomial.
    unit: &'static str,
    unit_ns: f64,
    /// The best open library on an H200; on an H200 only.
    peer: Option<f64>,
    /// What is wanted at most; on an H200 only.
    bar: Option<f64>,
}

/// What is to be measured.
pub(super) fn tasks(options: &Options, device: &Device) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for shape in SHAPES.iter().filter(|shape| shape.quick || !options.quick) {
        let ring = shape.ring()?;
        let is_wanted = |op: &Op| format!("{} {ring} {op}", shape.name).contains(&options.filter);
        let wanted: Vec<_> = [Op::Forward, Op::Inverse].into_iter().filter(is_wanted).collect();
        if !wanted.is_empty() {
            let bytes = if device.limits().is_cpu() { CPU_BYTES } else { BYTES };
            let batches = match shape.how {
                How::Batch => options.batches(|| vec![(bytes / ring.bytes()).max(1)]),
                How::One | How::OneCaptured => vec![1],
            };
            let task = |batch| Task { shape, ring: ring.clone(), batch, wanted: wanted.clone() };
            tasks.extend(batches.into_iter().map(task));
        }
    }
    Ok(tasks)
}

impl Shape {
    fn ring(&self) -> Result<Ring> {
        let n = 1 << self.log_n;
        Ok(Ring::rns(n, &Modulus::ntt_primes(2 * n as u64, self.bits, MODULI)?)?)
    }
}

impl Task {
    pub(super) fn title(&self) -> String {
        self.shape.name.into()
    }

    /// Measures both directions.
    pub(super) fn lines(&self, bench: &Bench) -> Result<Vec<Line>> {
        if self.shape.how == How::OneCaptured {
            return self.captured_lines(bench);
        }
        let Self { ring, batch, .. } = self;
        let [forward, inverse] = [Op::Forward, Op::Inverse].map(|op| Job::new(ring, op).batch_hint(*batch));
        let (forward_work, inverse_work) = (bench.work(&forward)?, bench.work(&inverse)?);
        let mut random = Random::new(std::process::id().into());
        // peers ran one polynomial again and again
        let sets = if self.shape.how == How::One { 1 } else { measure::sets(&forward_work, *batch) };
        let inputs = sample::elements(ring, random.bits(), EDGES, batch.saturating_mul(sets))?;
        let buffers =
            inputs.chunks_exact(batch * ring.bytes()).map(|set| forward_work.buffers(*batch, &[("from", set)]));
        let mut buffers = buffers.collect::<Result<Vec<_>>>()?;

        let times = measure::measure(&forward_work, *batch, &mut buffers, self.effort(Op::Forward, bench))?;
        let right = self.values_are_right(&forward_work, &buffers, &inputs, &mut random)?;
        let mut lines = vec![self.line(&forward, &forward_work, times, bench, right)];

        for set in &mut buffers {
            set.reverse();
            inverse_work.stream.wipe(&mut set[1])?;
        }
        let times = measure::measure(&inverse_work, *batch, &mut buffers, self.effort(Op::Inverse, bench))?;
        let right = right && self.inputs_are_back(&inverse_work, &buffers, &inputs)?;
        lines.push(self.line(&inverse, &inverse_work, times, bench, right));
        lines.retain(|line| self.wanted.iter().any(|op| op.to_string() == line.line.what.op));
        Ok(lines)
    }

    fn effort(&self, op: Op, bench: &Bench) -> Effort {
        if self.wanted.contains(&op) { bench.effort } else { Effort::LEAST }
    }

    /// Measures both directions in place, captured.
    fn captured_lines(&self, bench: &Bench) -> Result<Vec<Line>> {
        let mut random = Random::new(std::process::id().into());
        let inputs = sample::elements(&self.ring, random.bits(), EDGES, 1)?;
        let mut data = inputs.clone();
        let mut lines = Vec::new();
        for op in [Op::Forward, Op::Inverse] {
            let job = Job::new(&self.ring, op).batch_hint(1).in_place();
            let plan = bench.planner.plan(&job)?;
            let content = plan.arg("data").and_then(|arg| arg.before.clone()).context("a transform knows its input")?;
            let p = Pipeline::new(plan.title(), &bench.planner);
            let [left] = p.plan(&plan, &[p.elements("data", content.clone())]);
            // so that it may run on what it left
            p.output("data", left.holding(content));
            let work = Work::of_plan(&bench.device, &p.build()?)?;
            let args = vec![("data", work.stream.upload(&data)?.into())];
            let mut sets = [work.program.capture(&work.stream, 1, args)?];
            let times = measure::runs(&work.stream, &mut sets, self.effort(op, bench), |captured| Ok(captured.run()?))?;
            let [mut captured] = sets;
            captured.write("data", &data)?;
            captured.run()?;
            data = work.stream.download(captured.buffer("data").context("the argument stays")?)?;
            let right = match op {
                Op::Forward => {
                    let sets = [vec![work.stream.upload(&inputs)?, work.stream.upload(&data)?]];
                    self.values_are_right(&work, &sets, &inputs, &mut random)?
                }
                _ => data == inputs,
            };
            lines.push(self.line(&job, &work, times, bench, right));
        }
        lines.retain(|line| self.wanted.iter().any(|op| op.to_string() == line.line.what.op));
        Ok(lines)
    }

    fn line(&self, job: &Job, work: &Work, times: Times, bench: &Bench, right: bool) -> Line {
        let Self { shape, ring, batch, .. } = self;
        let plan = work.program.plan();
        let limits = bench.device.limits();
        let floor = Floor::of(job, plan.floor_bytes_per_item(), &bench.ceilings, limits);
        let what = What { name: shape.name, ring: ring.to_string(), op: job.op.to_string() };
        let item_ns = 1e9 * times.median_seconds / *batch as f64;
        let limbs = ring.basis().len();
        let per_limb_ns = item_ns / limbs as f64;
        let (unit, unit_ns) = match shape.how {
            How::Batch => ("limb", per_limb_ns),
            How::One | How::OneCaptured => ("polynomial", item_ns),
        };
        let peer = shape.peers.map(|peers| peers[usize::from(job.op == Op::Inverse)]);
        let compared = |ns: Option<f64>| ns.filter(|_| is_reference(limits));
        Line {
            line: super::Line::new(what, *batch, plan, times, floor, right),
            limbs,
            per_limb_ns,
            captured: shape.how == How::OneCaptured,
            unit,
            unit_ns,
            peer: compared(peer),
            bar: compared(shape.bar),
        }
    }

    /// Whether each set's second buffer holds the values of its share of the inputs.
    fn values_are_right(&self, work: &Work, sets: &[Vec<Buffer>], inputs: &[u8], random: &mut Random) -> Result<bool> {
        let Self { ring, batch, .. } = self;
        let size = ring.bytes();
        let cpu = Device::cpu();
        let cpu =
            (!work.device().limits().is_cpu()).then(|| Work::new(&cpu, &Job::new(ring, Op::Forward))).transpose()?;
        let mut values = vec![0; batch * size];
        let mut expected = vec![0; if cpu.is_some() { batch * size } else { 0 }];
        for (set, inputs) in sets.iter().zip(inputs.chunks_exact(batch * size)) {
            work.stream.read(&set[1], &mut values)?;
            if let Some(cpu) = &cpu {
                cpu.program.on_host(*batch).input("from", inputs).output("to", &mut expected).run()?;
                if values != expected {
                    return Ok(false);
                }
            }
            for from in [0, (batch - 1) * size] {
                let [a, values] = [inputs, &values].map(|bytes| naive::to_plain(ring, &bytes[from..][..size]));
                if !oracle::values_agree(ring, Order::Tree, [&a, &values], PLACES, random)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether each set's second buffer holds its share of the inputs.
    fn inputs_are_back(&self, work: &Work, sets: &[Vec<Buffer>], inputs: &[u8]) -> Result<bool> {
        let share = self.batch * self.ring.bytes();
        ensure!(sets.len() * share == inputs.len(), "buffers were lost");
        let mut back = vec![0; share];
        for (set, inputs) in sets.iter().zip(inputs.chunks_exact(share)) {
            work.stream.read(&set[1], &mut back)?;
            if back != inputs {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let headings = [
        "name",
        "operation",
        "batch",
        "median",
        "p95",
        "ns/limb",
        "time of a",
        "",
        "peer",
        "bar",
        "% of floor",
        "right",
    ];
    let mut table = show::table(&headings, &[2, 3, 4, 5, 7, 8, 9, 10]);
    let time = |ns: f64| show::time(ns * 1e-9);
    for Line { line, per_limb_ns, unit, unit_ns, peer, bar, .. } in lines {
        let compared = |ns: &Option<f64>| ns.map_or("–".into(), time);
        table.add_row([
            line.what.name.into(),
            line.what.op.clone(),
            line.batch.to_string(),
            show::time(line.times.median_seconds),
            show::time(line.times.p95_seconds),
            format!("{per_limb_ns:.0}"),
            (*unit).into(),
            time(*unit_ns),
            compared(peer),
            compared(bar),
            format!("{:.0}", line.percent_of_floor),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small task of this kind on the CPU.
    fn task(how: How) -> Result<Task> {
        let shape: &'static Shape = SHAPES.iter().find(|shape| shape.how == how).unwrap_or(&SHAPES[0]);
        let ring = Shape { log_n: 6, ..batch("", 6, None, None) }.ring()?;
        let polynomials = if how == How::Batch { 3 } else { 1 };
        Ok(Task { shape, ring, batch: polynomials, wanted: vec![Op::Forward, Op::Inverse] })
    }

    #[test]
    fn lines_are_right() -> Result<()> {
        for how in [How::Batch, How::One, How::OneCaptured] {
            let lines = task(how)?.lines(&Bench::of_cpu())?;
            assert_eq!(lines.iter().map(|line| line.line.what.op.as_str()).collect::<Vec<_>>(), ["forward", "inverse"]);
            assert!(lines.iter().all(|line| line.line.right && line.peer.is_none() && line.limbs == MODULI));
            let rows = if how == How::Batch { 3.0 * 32.0 } else { 32.0 };
            let ns = 1e9 * lines[0].line.times.median_seconds;
            assert!((lines[0].per_limb_ns * rows / ns - 1.0).abs() < 1e-9);
        }
        let inverse = Task { wanted: vec![Op::Inverse], ..task(How::Batch)? };
        assert_eq!(
            inverse.lines(&Bench::of_cpu())?.iter().map(|line| line.line.what.op.as_str()).collect::<Vec<_>>(),
            ["inverse"]
        );
        Ok(())
    }

    #[test]
    fn wrong_outputs_are_noticed() -> Result<()> {
        let task = task(How::Batch)?;
        let work = Work::new(&Device::cpu(), &Job::new(&task.ring, Op::Forward))?;
        let inputs = sample::elements(&task.ring, 1, EDGES, task.batch)?;
        let mut random = Random::new(2);
        let mut set = work.buffers(task.batch, &[("from", &inputs)])?;
        work.start(task.batch, &mut set)?;
        let values = work.result(&set)?;
        let sets = &mut [set];
        assert!(task.values_are_right(&work, sets, &inputs, &mut random)?);
        // the last row of the last item
        let mut wrong = values.clone();
        let last = wrong.len() - (8 << 6);
        wrong[last..].chunks_exact_mut(8).for_each(|x| x[0] ^= 1);
        work.stream.write(&mut sets[0][1], &wrong)?;
        assert!(!task.values_are_right(&work, sets, &inputs, &mut random)?);
        // a single bit, anywhere
        let mut wrong = inputs.clone();
        work.stream.write(&mut sets[0][1], &wrong)?;
        assert!(task.inputs_are_back(&work, sets, &inputs)?);
        wrong[values.len() / 2] ^= 1;
        work.stream.write(&mut sets[0][1], &wrong)?;
        assert!(!task.inputs_are_back(&work, sets, &inputs)?);
        assert!(task.inputs_are_back(&work, &[], &inputs).is_err());
        Ok(())
    }

    #[test]
    fn a_gigabyte_is_what_it_says() -> Result<()> {
        for shape in SHAPES {
            let ring = shape.ring()?;
            assert_eq!(BYTES % ring.bytes(), 0);
            assert!(ring.basis().iter().all(|q| q.bits() == shape.bits) && ring.basis().len() == MODULI);
        }
        Ok(())
    }
}
