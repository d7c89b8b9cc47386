//! What making a transform's tables takes beside the transform: their share, and whether a copy of the inputs hides it.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use ark_bls12_381::Fr;
use ark_ff::Field;
use ringforge::kernels::{Args, Kernel, Port, Source, Table};
use ringforge::testkit::Random;
use ringforge::{Limits, Op, Pipeline};
use serde::Serialize;

use super::rings::{zk_job, zk_name, zk_sizes};
use super::{Measured, Seeds};
use crate::bench::zk;
use crate::work::Work;
use crate::{measure, sample};

/// Transforms of a Groth16 proof, four of them inverse.
const TRANSFORMS: f64 = 7.0;

/// The tables of a transform of one size.
#[derive(Debug, Serialize)]
pub(super) struct TableLine {
    pub(super) name: String,
    pub(super) table_bytes: usize,
    /// To make the tables on the device.
    pub(super) table_seconds: f64,
    pub(super) transform_seconds: f64,
    /// To copy the inputs to a GPU, from page-locked memory.
    pub(super) upload_seconds: Option<f64>,
    /// Of the tables and one transform.
    pub(super) percent_of_first: f64,
    /// Of the tables and the seven transforms of a proof.
    pub(super) percent_of_proof: f64,
    /// Whether the tables take less than the copy, behind which they can then be made.
    pub(super) hidden: Option<bool>,
    /// Whether a transform by these tables is.
    pub(super) right: bool,
}

/// The tables of PreNTT's transforms against the size.
pub(super) fn zk_tables(seeds: &Seeds) -> Result<Measured> {
    let mut measured = Measured::default();
    for log_n in zk_sizes(seeds) {
        let ring = zk::cyclic(1 << log_n)?;
        let device = &seeds.bench.device;
        let plan = seeds.bench.planner.plan(&zk_job(&ring, Op::Forward))?;
        // each once
        let tables: BTreeMap<String, &Table> = plan.tables().map(|table| (format!("{table:?}"), table)).collect();
        let table_seconds = tables.values().try_fold(0.0, |sum, table| anyhow::Ok(sum + seconds(seeds, table)?))?;

        let inputs = sample::elements(&ring, 1, 0, 1)?;
        let work = Work::of_plan(device, &plan)?;
        let mut sets = [work.buffers(1, &[("from", &inputs)])?];
        let transform_seconds = measure::measure(&work, 1, &mut sets, seeds.bench.effort)?.median_seconds;
        let right = zk::some_are_right(&work.result(&sets[0])?, &inputs, Fr::ONE, &mut Random::new(2))?;
        // a CPU's memory is the host's
        let upload_seconds = (!seeds.is_cpu()).then(|| upload(seeds, &work, &inputs)).transpose()?;

        let percent_of = |transforms: f64| 100.0 * table_seconds / (table_seconds + transforms * transform_seconds);
        measured.tables.push(TableLine {
            name: zk_name(log_n),
            table_bytes: tables.values().map(|table| table.bytes()).sum(),
            table_seconds,
            transform_seconds,
            upload_seconds,
            percent_of_first: percent_of(1.0),
            percent_of_proof: percent_of(TRANSFORMS),
            hidden: upload_seconds.map(|seconds| table_seconds < seconds),
            right,
        });
    }
    Ok(measured)
}

/// Seconds to copy these bytes to a device, from page-locked memory.
fn upload(seeds: &Seeds, work: &Work, bytes: &[u8]) -> Result<f64> {
    let (mut host, mut to) = (work.device().pinned(bytes.len())?, work.device().buffer(bytes.len())?);
    host.copy_from_slice(bytes);
    let times = measure::wall(seeds.bench.effort, || {
        work.stream.write::<u8>(&mut to, &host)?;
        Ok(work.stream.synchronize()?)
    })?;
    Ok(times.median_seconds)
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

/// Seconds that a device takes to make a table, those that it is made from included.
fn seconds(seeds: &Seeds, table: &Table) -> Result<f64> {
    let Table::Made { kernel, items, inputs } = table else { return Ok(0.0) };
    let p = Pipeline::new("table", &seeds.bench.planner);
    let [made] = p.step(Maker(kernel.clone(), inputs.clone()), &[]);
    p.output("table", made);
    let work = Work::of_plan(&seeds.bench.device, &p.build()?)?;
    let mut sets = [work.buffers(*items, &[])?];
    let own = measure::measure(&work, *items, &mut sets, seeds.bench.effort)?.median_seconds;
    inputs.iter().try_fold(own, |sum, input| Ok(sum + seconds(seeds, input)?))
}
