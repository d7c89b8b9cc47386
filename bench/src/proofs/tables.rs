//! Proofs of `p3-batch-stark`: twenty tables of different heights, each with lookups.

use std::time::Instant;

use anyhow::{Result, anyhow};
use p3_air::{Air, BaseAir, WindowAccess};
use p3_batch_stark::{BatchProof, ProverData, StarkInstance, prove_batch, verify_batch};
use p3_field::PrimeCharacteristicRing;
use p3_lookup::InteractionBuilder;
use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use ringforge::Engine;
use ringforge_plonky3::resident::{Matrix, Trace};
use ringforge_plonky3::stark::BatchProver;
use ringforge_plonky3::testkit::Sequences;

use ringforge_cli::measure::{self, Times};
use ringforge_cli::record::{Measurement, Memory};
use ringforge_cli::session::Bench;

use super::{F, FROM_HOST, LINE_OF_PLONKY3, ON_DEVICE, OwnConfig, configs};

/// log2 of the tables' rows.
pub(super) const HEIGHTS: [usize; 20] =
    [20, 20, 19, 19, 19, 18, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12];
/// Columns of a table, for as many cells as 2^20 rows of 256.
pub(super) const COLUMNS: usize = 54;

pub(super) const OPERATIONS: [&str; 2] = [ON_DEVICE, FROM_HOST];

/// Sequences of which a table sends the first column to all tables, and receives it.
#[derive(Clone, Copy)]
struct Linked(Sequences);

impl<F> BaseAir<F> for Linked {
    fn width(&self) -> usize {
        self.0.columns
    }
}

impl<AB: InteractionBuilder> Air<AB> for Linked {
    fn eval(&self, builder: &mut AB) {
        self.0.eval(builder);
        let cell: AB::Expr = builder.main().current_slice()[0].into();
        builder.push_interaction("cells", [cell.clone()], 1);
        builder.push_interaction("cells", [cell], -1);
    }
}

pub(super) fn lines(bench: &Bench, name: &str, heights: &[usize]) -> Result<Vec<Measurement>> {
    let engine = Engine::on(bench.device.clone());
    let (stock, config) = configs(bench, &engine)?;
    let airs = vec![Linked(Sequences { columns: COLUMNS }); heights.len()];
    let traces: Vec<RowMajorMatrix<F>> = airs.iter().zip(heights).map(|(air, bits)| air.0.trace(1 << bits)).collect();
    let publics = vec![Vec::new(); heights.len()];
    let of: Vec<_> = traces.iter().collect();
    let instances = StarkInstance::new_multiple(&airs, &of, &publics);
    let data = ProverData::from_instances(&stock, &instances).map_err(|error| anyhow!("{error:?}"))?;
    let start = Instant::now();
    prove_batch(&stock, &instances, &data).map_err(|error| anyhow!("{error:?}"))?;
    let of_plonky3 = Times::of(vec![start.elapsed().as_secs_f64()], 1, 1).median_seconds;

    let data = ProverData::from_airs_and_degrees(&config, &airs, heights).map_err(|error| anyhow!("{error:?}"))?;
    let prover = BatchProver::new(&engine, &config, &airs, &data.common)?.compiled()?;
    let stream = bench.device.stream()?;
    let mut resident = Vec::new();
    for trace in &traces {
        resident.push(Matrix::upload(&engine, &stream, trace)?.into_columns(&stream)?);
    }
    let on_device: Vec<_> = resident.iter().map(|matrix| (Trace::resident(matrix, F::ONE), &[][..])).collect();
    let from_host: Vec<_> =
        traces.iter().map(|trace| (Trace::rows(&trace.values, trace.width(), F::ONE), &[][..])).collect();
    let mut lines = Vec::new();
    let inputs = [(&on_device, Memory::Device), (&from_host, Memory::Pageable)];
    for (operation, (inputs, memory)) in OPERATIONS.into_iter().zip(inputs) {
        let mut last: Option<BatchProof<OwnConfig>> = None;
        let times = measure::wall(bench.effort, || {
            last = Some(prover.prove(inputs)?);
            Ok(())
        })?;
        let right = last.is_some_and(|proof| verify_batch(&config, &airs, &proof, &publics, &data.common).is_ok());
        let line = Measurement { memory, ..Measurement::new(name, operation, 1, times) };
        lines.push(line.beside(LINE_OF_PLONKY3, of_plonky3).checked("Plonky3's verifier", right));
    }
    Ok(lines)
}
