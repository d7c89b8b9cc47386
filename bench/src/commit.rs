//! Commitments of STARK provers: low-degree extensions of traces, hashes of rows, and whole commitments, which also
//! build the Merkle tree over the hashes.

use anyhow::{Context, Result};
use p3_baby_bear::BabyBear;
use p3_commit::Mmcs as _;
use p3_field::Field;
use p3_koala_bear::KoalaBear;
use p3_matrix::{Dimensions, Matrix as _};
use rayon::prelude::*;
use ringforge::{Device, Engine};
use ringforge_plonky3::resident::{Committed, Matrix, Pinned, Trace, commit};
use ringforge_plonky3::{HashField, Mmcs, testkit};
use ringforge_testkit::{Random, Scheme};

use ringforge_cli::measure;
use ringforge_cli::record::{Measurement, Memory};
use ringforge_cli::roofline::Roofline;
use ringforge_cli::runs::Runs;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Scope, Suite};
use ringforge_cli::work::{Work, slices};

pub(crate) static SUITE: Suite = Suite {
    name: "commit",
    title: "Commitments to traces",
    about: "The commitment phase of a STARK prover: columns are extended to a coset of twice the length, in buffers by \
            columns or by rows. Poseidon2 hashes pairs of digests at width 16, or 8 over Goldilocks. A whole commitment \
            runs from a trace in device memory, or in page-locked host memory, until the root is on the host. The copy \
            of the extension to new rows on the host, which Plonky3's own provers need, has lines of its own. Roofline \
            bounds count bytes once and multiplications, and leave out additions.",
    figure: Figure::Item,
    headline: Some(("commitment, KoalaBear 2^20 x 256", "on the device")),
    cases,
    ..Suite::NONE
};

/// Fields with the multiply-add slots of a Poseidon2 permutation (eprint 2023/323) over each. The count has one S-box
/// per element in each of 8 external rounds. In each internal round it has one S-box, and products with entries of the
/// diagonal: all over Goldilocks, and 7 of 16 over the others, where 9 entries are 1/2 or at most 4 up to their sign.
const HASHES: [(&str, usize); 3] = [
    ("KoalaBear", SLOTS * (8 * 16 * 2 + 20 * (2 + 7))),
    ("BabyBear", SLOTS * (8 * 16 * 4 + 13 * (4 + 7))),
    ("Goldilocks", SLOTS_OF_64_BITS * (8 * 8 * 4 + 22 * (4 + 8))),
];
/// Multiply-add slots of a product modulo a 31-bit prime: one wide product, one low product, and one high or low
/// product.
const SLOTS: usize = 3;
/// Multiply-add slots of a product modulo the Goldilocks prime: four wide products, and one product by 2^32 − 1.
const SLOTS_OF_64_BITS: usize = 5;
/// Number of internal rounds for KoalaBear.
const INTERNAL: usize = 20;
/// log2 of the factor by which an extension lengthens a trace.
const ADDED_BITS: usize = 1;

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for (field, slots) in HASHES {
        let pairs = scope.batches(&[scope.either(1 << 22, 1 << 10)]);
        let name = format!("Poseidon2, {field}");
        cases.push(Case::of_batches(name.clone(), "pairs", pairs, move |bench, batch| {
            hashes(bench, &name, field, slots, batch)
        }));
    }
    let (log_n, columns) = (scope.log_n(scope.either(20, 12)), scope.either(64, 4));
    let name = format!("extension, BabyBear 2^{log_n} x {columns}");
    let run = move |bench: &Bench, case: &str| extensions(bench, case, log_n, columns);
    cases.push(Case::new(name.clone(), &["columns", "rows"], move |bench, _| run(bench, &name)));
    let columns = scope.either(256, 20);
    let operations = ["on the device", "from columns", "from rows", "extension to host"];
    let name = format!("commitment, KoalaBear 2^{log_n} x {columns}");
    let run = move |bench: &Bench, case: &str| commitments(bench, case, log_n, columns);
    cases.push(Case::new(name.clone(), &operations, move |bench, _| run(bench, &name)));
    Ok(cases)
}

/// Measures Poseidon2 permutations, each of which compresses a pair of digests.
fn hashes(bench: &Bench, case: &str, field: &str, slots: usize, batch: usize) -> Result<Measurement> {
    let plans = testkit::Hashes::plans(bench.device.limits())?;
    let named = plans
        .iter()
        .find(|named| named.name == format!("{field} pairs"))
        .with_context(|| format!("no plan is called {field} pairs"))?;
    let sample = named.sample(bench.seed, batch);
    let inputs = slices(&sample);
    let outcome = Runs::new(&named.plan, batch, &inputs).measure(bench, bench.effort)?;
    let digests = outcome.results.values().next().context("the plan has no output")?;
    let few = batch.min(1 << 12);
    let first: Vec<_> = inputs.iter().map(|(name, bytes)| (*name, &bytes[..bytes.len() / batch * few])).collect();
    let wanted = Work::of_plan(&Device::cpu(), &named.plan)?.run(few, &first)?;
    let right = outcome.alike && digests[..wanted.len()] == wanted[..];
    let floor = Roofline::new(Some(slots as f64), None, 96, &bench.peaks);
    Ok(outcome
        .line(case, "pairs", batch)
        .by(&named.plan)
        .above(floor)
        .checked("the first digests are Plonky3's", right))
}

/// Random elements in page-locked memory.
fn elements<F: HashField>(bench: &Bench, len: usize) -> Result<Pinned<F>> {
    let mut values = Pinned::new(&bench.device, len)?;
    values.par_chunks_mut(1 << 16).enumerate().for_each(|(i, values)| {
        let mut random = Random::new(bench.seed.wrapping_add(i as u64));
        values.iter_mut().for_each(|value| *value = F::from_u64(random.bits()));
    });
    Ok(values)
}

/// Uploads these columns to an engine's device as a row-major matrix.
fn on_device<F: HashField>(engine: &Engine, columns: &[F], height: usize) -> Result<Matrix<F>> {
    let stream = engine.device().stream()?;
    let rows = p3_matrix::dense::RowMajorMatrix::new(columns.to_vec(), height).transpose();
    Ok(Matrix::upload(engine, &stream, &rows)?)
}

fn extensions(bench: &Bench, case: &str, log_n: u32, columns: usize) -> Result<Vec<Measurement>> {
    let (n, shift) = (1 << log_n, BabyBear::GENERATOR);
    let (engine, cpu) = (Engine::on(bench.device.clone()), Engine::cpu());
    let stream = engine.device().stream()?;
    let values = elements::<BabyBear>(bench, n * columns)?;
    let last = &values[n * (columns - 1)..];
    let wanted = {
        let stream = cpu.device().stream()?;
        on_device(&cpu, last, n)?.extended(&stream, ADDED_BITS, shift)?.download(&stream)?
    };
    let rows = on_device(&engine, &values, n)?;
    let trace = on_device(&engine, &values, n)?.into_columns(&stream)?;

    let mut made = [None];
    let of_columns = measure::runs(&stream, &mut made, bench.effort, |made| {
        *made = Some(trace.extended(&stream, ADDED_BITS, shift)?);
        Ok(())
    })?;
    let [made] = made;
    let made = made.context("no run extended the columns")?.download(&stream)?;
    let is_last = |row: &[BabyBear], wanted: &BabyBear| row.last() == Some(wanted);
    let all_last = |values: &[BabyBear]| {
        values.chunks_exact(columns).zip(&wanted.values).all(|(row, wanted)| is_last(row, wanted))
    };
    let right = all_last(&made.values);

    let mut made_of_rows = [None];
    let of_rows = measure::runs(&stream, &mut made_of_rows, bench.effort, |made| {
        *made = Some(rows.extended(&stream, ADDED_BITS, shift)?);
        Ok(())
    })?;
    let [made_of_rows] = made_of_rows;
    let same = made_of_rows.context("no run extended the rows")?.download(&stream)?.values == made.values;

    let floor = || Roofline::new(None, None, 3 * n * size_of::<BabyBear>(), &bench.peaks);
    let line = |operation, times, right| {
        let line = Measurement::new(case, operation, columns, times).above(floor());
        line.checked("the last column is the CPU's, and rows are the columns'", right)
    };
    Ok(vec![line("columns", of_columns, right), line("rows", of_rows, right && same)])
}

fn commitments(bench: &Bench, case: &str, log_n: u32, columns: usize) -> Result<Vec<Measurement>> {
    type F = KoalaBear;
    let (n, shift) = (1usize << log_n, F::GENERATOR);
    let engine = Engine::on(bench.device.clone());
    let stream = engine.device().stream()?;
    let hash = testkit::random::<F, 16>(&mut Random::new(bench.seed), INTERNAL)?;
    let values = elements::<F>(bench, n * columns)?;
    let trace = on_device(&engine, &values, n)?.into_columns(&stream)?;
    let rows = {
        let mut rows = Pinned::<F>::new(&bench.device, n * columns)?;
        rows.copy_from_slice(&trace.download(&stream)?.values);
        rows
    };
    let root = |committed: &Committed<F>| committed.tree.cap(&stream, 0);
    let make = |trace: Trace<'_, F>| commit(&engine, &stream, &hash, &[trace], ADDED_BITS);

    // Plonky3's verifier must accept the opened rows and paths, and the rows must be those of the CPU's extension
    let committed = make(Trace::resident(&trace, shift))?;
    let cap = root(&committed)?;
    let leaves = [0, 1, n, 2 * n - 1, n / 3];
    let (opened, paths) = committed.open(&stream, &leaves, 0)?;
    let dimensions = [Dimensions { width: columns, height: n << ADDED_BITS }];
    let verified = Mmcs::new(&hash, 0).verify_multi_batch(&cap, &dimensions, &leaves, &opened, &paths).is_ok();
    let cpu = Engine::cpu();
    let of_column = |column: usize| {
        let stream = cpu.device().stream()?;
        let column = on_device(&cpu, &values[n * column..n * (column + 1)], n)?;
        anyhow::Ok(column.extended(&stream, ADDED_BITS, shift)?.download(&stream)?.values)
    };
    let (first, last) = (of_column(0)?, of_column(columns - 1)?);
    let extended = leaves
        .iter()
        .zip(&opened)
        .all(|(&leaf, rows)| rows[0].first() == first.get(leaf) && rows[0].last() == last.get(leaf));
    let right = verified && extended;
    drop(committed);

    let mut lines = Vec::new();
    let mut line = |operation: &str, memory: Memory, trace: Trace<'_, F>| {
        let mut same = true;
        let times = measure::wall(bench.effort, || {
            same &= root(&make(trace)?)? == cap;
            Ok(())
        })?;
        let bytes = n * columns * size_of::<F>();
        let permutations = (n << ADDED_BITS) * (columns.div_ceil(8) + 1);
        let floor = Roofline::new(Some((permutations * HASHES[0].1) as f64), None, 3 * bytes, &bench.peaks);
        let line = Measurement::new(case, operation, 1, times).above(floor);
        let line = line.checked("roots are equal, and Plonky3 verifies rows of the CPU's extension", right && same);
        lines.push(Measurement { memory, ..line });
        anyhow::Ok(())
    };
    line("on the device", Memory::Device, Trace::resident(&trace, shift))?;
    line("from columns", Memory::Pinned, Trace::columns(&values, n, shift))?;
    line("from rows", Memory::Pinned, Trace::rows(&rows, columns, shift))?;
    let committed = make(Trace::resident(&trace, shift))?;
    let mut same = true;
    let download = measure::wall(bench.effort, || {
        let extension = committed.matrices[0].download(&stream)?;
        same &= leaves.iter().zip(&opened).all(|(&leaf, rows)| extension.row_slice(leaf).as_deref() == Some(&rows[0]));
        Ok(())
    })?;
    let line = Measurement::new(case, "extension to host", 1, download);
    lines.push(line.checked("rows are those that were opened", same));
    let bytes = bench.device.pinned(n * columns * size_of::<F>())?;
    let copy = measure::wall(bench.effort, || {
        stream.upload(&bytes[..])?;
        Ok(stream.synchronize()?)
    })?;
    Ok(lines
        .into_iter()
        .map(|line| match line.memory {
            Memory::Device => line,
            _ => line.beside("the copy alone", copy.median_seconds),
        })
        .collect())
}
