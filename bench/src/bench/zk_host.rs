//! Lines about transforms as provers have them, one large polynomial from host memory to host memory, in natural order.
//!
//! Every output that the timed runs leave is compared with the CPU's, bit for bit.

use anyhow::Result;
use ringforge::testkit::Random;
use ringforge::{Device, Job, Op, Order, Ring};
use serde::Serialize;

use super::{Bench, Options, What, is_reference};
use crate::measure::{self, Times};
use crate::work::Work;
use crate::{rings, sample, show};

/// Points of a transform on a GPU, with `--quick` and on a CPU, as powers of two.
const LOG_N: u32 = 24;
const LOG_N_QUICK: u32 = 20;
const LOG_N_CPU: u32 = 16;
/// Items with edges.
const EDGES: usize = 1;

/// Where the data is, and how much of it.
struct Shape {
    name: &'static str,
    batch: usize,
    pinned: bool,
    /// Milliseconds of a transform that are wanted at most on an H200, at 2^24 points.
    bar: f64,
}

const SHAPES: [Shape; 3] = [
    Shape { name: "zk host pinned", batch: 1, pinned: true, bar: 22.5 },
    Shape { name: "zk host pageable", batch: 1, pinned: false, bar: 50.0 },
    Shape { name: "zk host stream", batch: 8, pinned: true, bar: 15.0 },
];

/// A shape to be measured.
pub(super) struct Task {
    shape: &'static Shape,
    batch: usize,
    log_n: u32,
    wanted: Vec<Op>,
}

/// One measurement, by the wall's clock.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    #[serde(flatten)]
    what: What,
    batch: usize,
    log_n: u32,
    pinned: bool,
    #[serde(flatten)]
    times: Times,
    milliseconds_per_transform: f64,
    /// What is wanted at most; on an H200 only.
    bar_milliseconds: Option<f64>,
    pub(super) right: bool,
}

/// What is to be measured.
pub(super) fn tasks(options: &Options, device: &Device) -> Vec<Task> {
    let log_n = match (device.limits().is_cpu(), options.quick) {
        (true, _) => LOG_N_CPU,
        (_, true) => LOG_N_QUICK,
        _ => LOG_N,
    };
    let tasks = SHAPES.iter().flat_map(|shape| {
        let is_wanted = |op: &Op| format!("{} {op}", shape.name).contains(&options.filter);
        let wanted: Vec<Op> = [Op::Forward, Op::Inverse].into_iter().filter(is_wanted).collect();
        let batches = if shape.batch == 1 { vec![1] } else { options.batches(|| vec![shape.batch]) };
        batches.into_iter().map(move |batch| Task { shape, batch, log_n, wanted: wanted.clone() })
    });
    tasks.filter(|task| !task.wanted.is_empty()).collect()
}

impl Task {
    pub(super) fn title(&self) -> String {
        self.shape.name.into()
    }

    /// Measures both directions.
    pub(super) fn lines(&self, bench: &Bench) -> Result<Vec<Line>> {
        let Self { shape, batch, log_n, wanted } = self;
        let ring: Ring = format!("{}:x^{}-1", rings::BLS12_381, 1u64 << log_n).parse()?;
        let mut random = Random::new(std::process::id().into());
        let inputs = sample::elements(&ring, random.bits(), EDGES, *batch)?;
        let job = |op| Job::new(&ring, op).order(Order::Natural).batch_hint(*batch);
        let mut values = vec![0; inputs.len()];
        let cpu = Work::new(&Device::cpu(), &job(Op::Forward))?.program;
        cpu.on_host(*batch).input("from", &inputs).output("to", &mut values).run()?;

        let mut lines = Vec::new();
        for (op, from, expected) in [(Op::Forward, &inputs, &values), (Op::Inverse, &values, &inputs)] {
            if !wanted.contains(&op) {
                continue;
            }
            let program = bench.work(&job(op))?.program;
            let mut out = vec![0; from.len()];
            let run = |from: &[u8], out: &mut [u8]| -> Result<(Times, bool)> {
                let call = |out: &mut [u8]| Ok(program.on_host(*batch).input("from", from).output("to", out).run()?);
                let times = measure::wall(bench.effort, || call(out))?;
                // once more over other bytes, so that none of these is left from before
                out.fill(0xa5);
                call(out)?;
                Ok((times, out == &expected[..]))
            };
            let (times, right) = if shape.pinned {
                let (mut pinned_from, mut pinned_out) =
                    (bench.device.pinned(from.len())?, bench.device.pinned(from.len())?);
                pinned_from.copy_from_slice(from);
                run(&pinned_from, &mut pinned_out)?
            } else {
                run(from, &mut out)?
            };
            let has_bar = is_reference(bench.device.limits()) && *log_n == LOG_N;
            lines.push(Line {
                what: What { name: shape.name, ring: ring.to_string(), op: op.to_string() },
                batch: *batch,
                log_n: *log_n,
                pinned: shape.pinned,
                times,
                milliseconds_per_transform: 1e3 * times.median_seconds / *batch as f64,
                bar_milliseconds: has_bar.then_some(shape.bar),
                right,
            });
        }
        Ok(lines)
    }
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let headings = ["name", "operation", "points", "batch", "a transform", "p95 of all", "bar", "right"];
    let mut table = show::table(&headings, &[2, 3, 4, 5, 6]);
    for line in lines {
        table.add_row([
            line.what.name.into(),
            line.what.op.clone(),
            format!("2^{}", line.log_n),
            line.batch.to_string(),
            show::time(line.milliseconds_per_transform / 1e3),
            show::time(line.times.p95_seconds),
            line.bar_milliseconds.map_or("–".into(), |bar| format!("{bar} ms")),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}
