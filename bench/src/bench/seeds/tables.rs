//! What making a transform's tables takes beside the transform: their share, and whether a copy of the inputs hides it.

use std::sync::Arc;

use anyhow::Result;
use ark_bls12_381::Fr;
use ark_ff::Field;
use ringforge::testkit::Random;
use ringforge::{Buffer, Kernel, Op, Plan, Slot, Step, Table};
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
        let tables = tables(&plan);
        let mut table_seconds = 0.0;
        for table in &tables {
            table_seconds += seconds(seeds, table)?;
        }

        let inputs = sample::elements(&ring, 1, 0, 1)?;
        let work = Work::of_plan(device, &plan)?;
        let mut sets = [work.buffers(1, &[&inputs])?];
        let transform_seconds = measure::measure(&work, 1, &mut sets, seeds.bench.effort)?.median_seconds;
        let right = zk::some_are_right(&work.result(&sets[0])?, &inputs, Fr::ONE, &mut Random::new(2))?;
        // a CPU's memory is the host's
        let upload_seconds = (!seeds.is_cpu()).then(|| upload(seeds, &work, &mut sets[0][0], &inputs)).transpose()?;

        let percent_of = |transforms: f64| 100.0 * table_seconds / (table_seconds + transforms * transform_seconds);
        measured.tables.push(TableLine {
            name: zk_name(log_n),
            table_bytes: tables.iter().map(Table::bytes).sum(),
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
fn upload(seeds: &Seeds, work: &Work, to: &mut Buffer, bytes: &[u8]) -> Result<f64> {
    let mut host = work.device().pinned(bytes.len())?;
    host.copy_from_slice(bytes);
    let times = measure::wall(seeds.bench.effort, || {
        work.stream.write::<u8>(to, &host)?;
        Ok(work.stream.synchronize()?)
    })?;
    Ok(times.median_seconds)
}

/// The tables of a plan, each once.
fn tables(plan: &Plan) -> Vec<Table> {
    let mut tables: Vec<(String, Table)> = Vec::new();
    for slot in plan.steps().iter().flat_map(|step| &step.slots) {
        if let Slot::Table(table) = slot {
            let contents = format!("{table:?}");
            if tables.iter().all(|(known, _)| *known != contents) {
                tables.push((contents, table.clone()));
            }
        }
    }
    tables.into_iter().map(|(_, table)| table).collect()
}

/// Seconds that a device takes to make a table, those that it is made from included.
fn seconds(seeds: &Seeds, table: &Table) -> Result<f64> {
    let Table::Made { kernel, items, inputs } = table else { return Ok(0.0) };
    let (work, contents) = maker(seeds, kernel, inputs)?;
    let slices: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
    let mut sets = [work.buffers(*items, &slices)?];
    let own = measure::measure(&work, *items, &mut sets, seeds.bench.effort)?.median_seconds;
    inputs.iter().try_fold(own, |sum, input| Ok(sum + seconds(seeds, input)?))
}

/// The program of a kernel that makes a table, and what it reads.
fn maker(seeds: &Seeds, kernel: &Arc<dyn Kernel>, inputs: &[Table]) -> Result<(Work, Vec<Vec<u8>>)> {
    let contents = inputs.iter().map(|input| contents(seeds, input)).collect::<Result<_>>()?;
    let step = Step { kernel: kernel.clone(), slots: (0..=inputs.len()).map(Slot::Arg).collect() };
    let work = Work::of_plan(&seeds.bench.device, &Plan::new("table", vec![step])?)?;
    Ok((work, contents))
}

/// The bytes of a table.
fn contents(seeds: &Seeds, table: &Table) -> Result<Vec<u8>> {
    match table {
        Table::Bytes(bytes) => Ok(bytes.to_vec()),
        Table::Made { kernel, items, inputs } => {
            let (work, contents) = maker(seeds, kernel, inputs)?;
            work.call(*items, &contents.iter().map(Vec::as_slice).collect::<Vec<_>>())
        }
    }
}
