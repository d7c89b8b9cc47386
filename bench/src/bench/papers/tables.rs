//! What making a transform's tables takes beside the transform, and beside a copy of the inputs, which can hide it.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use ark_bls12_381::Fr;
use ark_ff::Field;
use ringforge::kernels::{Args, Kernel, Port, Source, Table};
use ringforge::testkit::Random;
use ringforge::{Job, Limits, Op, Order, Pipeline};

use super::sizes;
use crate::bench::suites::{Case, Figure, Kind, Suite};
use crate::bench::{Bench, zk};
use crate::measure::{self, Times};
use crate::record::{Measurement, Memory};
use crate::sample;
use crate::work::Work;

pub(in crate::bench) static ZK_TABLES: Suite = Suite {
    name: "zk tables",
    kind: Kind::Paper,
    title: "PreNTT paper, figure 17",
    about: "The source makes its factors anew for each proof, of seven transforms, and hides that behind the copy of the \
            inputs. The engine makes them once for each size and keeps them on the device.",
    figure: Figure::Item,
    headline: None,
    quoted: &[],
    cases: |scope| {
        let sizes = sizes(scope, [&[16, 17, 18, 19, 20, 21, 22, 23, 24], &[16, 20], &[12, 14]]);
        let case = |log_n: u32| {
            let (name, n) = (format!("BLS12-381 Fr 2^{log_n}"), 1 << scope.log_n(log_n));
            Case::new(name.clone(), &OPERATIONS, move |bench, _| lines(bench, &name, n))
        };
        Ok(sizes.into_iter().map(case).collect())
    },
};

const OPERATIONS: [&str; 3] = ["tables", "forward", "copy of the inputs"];

fn lines(bench: &Bench, name: &str, n: usize) -> Result<Vec<Measurement>> {
    let ring = zk::coset(n, Fr::ONE)?;
    let plan = bench.planner.plan(&Job::new(&ring, Op::Forward).order(Order::Natural).batch_hint(1))?;
    // each once
    let tables: BTreeMap<String, &Table> = plan.tables().map(|table| (format!("{table:?}"), table)).collect();
    let mut making = Times { samples: 1, runs_per_sample: 1, buffer_sets: 1, ..Times::default() };
    for table in tables.values() {
        let times = made(bench, table)?;
        making.median_seconds += times.median_seconds;
        making.p95_seconds += times.p95_seconds;
    }
    making.buffer_bytes = tables.values().map(|table| table.bytes()).sum();

    let inputs = sample::elements(&ring, 1, 0, 1)?;
    let work = Work::of_plan(&bench.device, &plan)?;
    let mut sets = [work.buffers(1, &[("from", &inputs)])?];
    let transform = measure::measure(&work, 1, &mut sets, bench.effort)?;
    let right = zk::values_agree(&work.result(&sets[0])?, &inputs, Fr::ONE, &mut Random::new(2))?;
    let copy = upload(bench, &work, &inputs)?;
    let line = |(operation, times): (&str, Times)| {
        let line = Measurement::new(name, operation, 1, times).in_ring(&ring);
        line.checked("values by these tables with arkworks'", right)
    };
    let [tables, transform, copy] =
        [(OPERATIONS[0], making), (OPERATIONS[1], transform), (OPERATIONS[2], copy)].map(line);
    Ok(vec![tables, transform, Measurement { memory: Memory::Pinned, ..copy }])
}

/// What it takes to copy these bytes to a device, from page-locked memory.
fn upload(bench: &Bench, work: &Work, bytes: &[u8]) -> Result<Times> {
    let (mut host, mut to) = (work.device().pinned(bytes.len())?, work.device().buffer(bytes.len())?);
    host.copy_from_slice(bytes);
    measure::wall(bench.effort, || {
        work.stream.write::<u8>(&mut to, &host)?;
        Ok(work.stream.synchronize()?)
    })
}

/// A kernel that makes a table, and the tables that it makes it from.
#[derive(Debug)]
struct Maker(Arc<dyn Kernel>, Vec<Table>);

impl Kernel for Maker {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn ports(&self) -> &[Port] {
        self.0.ports()
    }

    fn source(&self, limits: &Limits) -> ringforge::Result<Source> {
        self.0.source(limits)
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.1.get(port).cloned()
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> ringforge::Result<()> {
        self.0.on_cpu(items, args)
    }
}

/// What a device takes to make a table, those that it is made from included.
fn made(bench: &Bench, table: &Table) -> Result<Times> {
    let Table::Made { kernel, items, inputs } = table else { return Ok(Times::default()) };
    let p = Pipeline::new("table", &bench.planner);
    let [written] = p.step(Maker(kernel.clone(), inputs.clone()), &[]);
    p.output("table", written);
    let work = Work::of_plan(&bench.device, &p.build()?)?;
    let mut sets = [work.buffers(*items, &[])?];
    let mut times = measure::measure(&work, *items, &mut sets, bench.effort)?;
    for input in inputs {
        let before = made(bench, input)?;
        times.median_seconds += before.median_seconds;
        times.p95_seconds += before.p95_seconds;
    }
    Ok(times)
}
