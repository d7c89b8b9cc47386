//! Extension and hashing of matrices on the device in one go.

use core::cmp::Reverse;

use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use ringforge::{Buffer, Engine, Result, Stream};

use crate::field::{words, words_mut};
use crate::merkle::MerkleTree;
use crate::poseidon2::{DIGEST, HashField, Poseidon2};
use crate::transform::Transform;
use crate::transpose::transpose;

/// Whether the device commits to these: of each height one, with transforms.
pub(crate) fn served<F: HashField>(traces: &[(F, &RowMajorMatrix<F>)], added_bits: usize) -> bool {
    traces.iter().enumerate().all(|(i, (shift, trace))| {
        let others = traces.iter().take(i).all(|(_, other)| other.height() != trace.height());
        others && trace.width() > 0 && Transform::Extend(added_bits, *shift).serves(trace)
    }) && !traces.is_empty()
}

/// The tree over the rows of traces extended by so many bits, each to the coset of its shift, and the extensions on the host. All
/// rows are in bit-reversed order, as Plonky3's provers have them. A trace goes to the device once, and an extension comes back once,
/// beside its hashing; both are transposed there.
///
/// For traces that are [`served`].
///
/// # Errors
/// [`Error::OutOfMemory`](ringforge::Error::OutOfMemory) and what else the device says.
pub(crate) fn commit<F: HashField>(
    engine: &Engine,
    hash: &Poseidon2<F>,
    traces: &[(F, &RowMajorMatrix<F>)],
    added_bits: usize,
) -> Result<(Vec<RowMajorMatrix<F>>, MerkleTree<F>)> {
    let mut order: Vec<usize> = (0..traces.len()).collect();
    order.sort_by_key(|&i| Reverse(traces[i].1.height()));
    let (hashing, copies) = (engine.device().stream()?, engine.device().stream()?);
    let mut extensions: Vec<_> = traces.iter().map(|_| RowMajorMatrix::new(Vec::new(), 1)).collect();
    let mut digests = Vec::new();
    for i in order {
        let (shift, trace) = traces[i];
        let columns = extended(engine, &hashing, trace, added_bits, shift)?;
        let (height, width) = (trace.height() << added_bits, trace.width());
        digests.push((height, digests_of_columns(engine, &hashing, hash, &columns, height, width)?));
        let rows = transpose::<F>(engine, &copies, &columns, width, height)?;
        let mut extension = F::zero_vec(height * width);
        copies.read(&rows, words_mut(&mut extension))?;
        extensions[i] = RowMajorMatrix::new(extension, width);
    }
    let tree = MerkleTree::of_digests(engine, &hashing, hash, digests.into_iter().map(Ok))?;
    Ok((extensions, tree))
}

/// The columns of an extension, one after another, their values in bit-reversed order.
fn extended<F: HashField>(
    engine: &Engine,
    stream: &Stream,
    trace: &RowMajorMatrix<F>,
    added_bits: usize,
    shift: F,
) -> Result<Buffer> {
    let transform = Transform::Extend(added_bits, shift);
    let rows = stream.upload(words(&trace.values))?;
    let columns = transpose::<F>(engine, stream, &rows, trace.height(), trace.width())?;
    drop(rows);
    let program = transform.program(engine, trace.height().ilog2() as usize)?;
    let mut to = engine.device().buffer(columns.len() << added_bits)?;
    program.on(stream, trace.width()).input("from", &columns).output("to", &mut to).run()?;
    Ok(to)
}

/// A digest of each row of a matrix whose columns lie one after another.
fn digests_of_columns<F: HashField>(
    engine: &Engine,
    stream: &Stream,
    hash: &Poseidon2<F>,
    columns: &Buffer,
    height: usize,
    width: usize,
) -> Result<Buffer> {
    let key = (hash.key(), "columns", height, width);
    let program = engine.program_of(&key, |planner| hash.columns(planner, height, width))?;
    let mut digests = engine.device().buffer(height * DIGEST * size_of::<F>())?;
    program.on(stream, height).input("columns", columns).output("digests", &mut digests).run()?;
    Ok(digests)
}
