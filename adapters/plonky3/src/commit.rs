//! Commitments to traces in host memory. The extensions of the traces are copied back to the host.

use core::cmp::Reverse;

use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use ringforge::{Engine, Error, Result};

use crate::field::words;
use crate::hash::HashField;
use crate::layers::Layers;
use crate::merkle::MerkleTree;
use crate::poseidon2::Poseidon2;
use crate::resident::{self, Matrix, Trace};
use crate::sponge::Sponges;
use crate::transform::Transform;

/// The traces to commit to, each with the shift of the coset that it is extended to. `added_bits` is log2 of the
/// blow-up factor.
#[derive(Clone, Copy)]
pub(crate) struct Traces<'a, F> {
    pub(crate) traces: &'a [(F, &'a RowMajorMatrix<F>)],
    pub(crate) added_bits: usize,
}

/// Extensions and the Merkle tree over their rows.
type Made<F> = (Vec<RowMajorMatrix<F>>, MerkleTree<F>);

impl<F: HashField> Traces<'_, F> {
    /// Returns true if the device can commit to these traces: there is at least one trace, and each has columns and a
    /// height that the field can extend.
    pub(crate) fn served(&self) -> bool {
        let served = |(shift, trace): &(F, &RowMajorMatrix<F>)| {
            trace.width() > 0 && Transform::Extend(self.added_bits, *shift).serves(trace.height())
        };
        !self.traces.is_empty() && self.traces.iter().all(served)
    }

    /// Returns the extensions, with rows in bit-reversed order as in Plonky3's provers, and the Merkle tree over their
    /// rows.
    ///
    /// A trace is copied to the device once, and its extension is copied back once, overlapping the hashing. Both are
    /// transposed on the device. If the device or `budget` (in bytes) has too little memory, the columns are processed
    /// in parts, which stay row-major.
    ///
    /// All traces must be [`served`](Self::served).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device or the budget has no room for the smallest parts; other errors of the
    /// device.
    pub(crate) fn commit(&self, engine: &Engine, hash: &Poseidon2<F>, budget: usize) -> Result<Made<F>> {
        let widest = self.traces.iter().map(|(_, trace)| trace.width()).max().unwrap_or(0);
        if self.bytes(None) <= budget {
            match self.at_once(engine, hash) {
                Err(Error::OutOfMemory { .. }) => {}
                outcome => return outcome,
            }
        }
        let mut columns = widest.div_ceil(2).next_multiple_of(F::DIGEST);
        loop {
            let bytes = self.bytes(Some(columns));
            let outcome = match bytes <= budget {
                true => self.in_parts(engine, hash, columns),
                false => Err(Error::OutOfMemory { bytes }),
            };
            match outcome {
                Err(Error::OutOfMemory { .. }) if columns > F::DIGEST => {
                    columns = (columns / 2).next_multiple_of(F::DIGEST);
                }
                outcome => return outcome,
            }
        }
    }

    /// An upper bound, in bytes, on the device memory of a commitment that processes this many columns at a time, or
    /// all columns for `None`.
    fn bytes(&self, columns: Option<usize>) -> usize {
        let (mut digests, mut extensions) = (0usize, Vec::new());
        for (_, trace) in self.traces {
            let height = trace.height() << self.added_bits;
            // for each row two states of its sponge (before and after a part), of two digests each, and its share of
            // the tree
            digests = digests.saturating_add(height.saturating_mul(7 * F::DIGEST));
            // a trace and its extension, twice because transforms need as much scratch memory; without parts also the
            // transposed extension
            let each = match columns {
                None => height.saturating_mul(3).saturating_add(2 * trace.height()),
                Some(_) => height.saturating_mul(2).saturating_add(2 * trace.height()),
            };
            extensions.push(each.saturating_mul(columns.unwrap_or(usize::MAX).min(trace.width())));
        }
        let extensions = match columns {
            None => extensions.into_iter().fold(0, usize::saturating_add),
            Some(_) => extensions.into_iter().max().unwrap_or(0),
        };
        digests.saturating_add(extensions).saturating_mul(size_of::<F>())
    }

    fn at_once(&self, engine: &Engine, hash: &Poseidon2<F>) -> Result<Made<F>> {
        let (hashing, copies) = (engine.device().stream()?, engine.device().stream()?);
        let traces: Vec<_> =
            self.traces.iter().map(|&(shift, trace)| Trace::rows(&trace.values, trace.width(), shift)).collect();
        let committed = resident::commit(engine, &hashing, hash, &traces, self.added_bits)?;
        let extensions =
            committed.matrices.into_iter().map(|matrix| matrix.download(&copies)).collect::<Result<_>>()?;
        Ok((extensions, committed.tree.download(&hashing)?))
    }

    /// Commits with at most `at_once` columns on the device at a time. `at_once` must be a multiple of the sponges'
    /// rate.
    fn in_parts(&self, engine: &Engine, hash: &Poseidon2<F>, at_once: usize) -> Result<Made<F>> {
        let stream = engine.device().stream()?;
        let mut order: Vec<usize> = (0..self.traces.len()).collect();
        order.sort_by_key(|&i| Reverse(self.traces[i].1.height()));
        let mut extensions: Vec<_> = self.traces.iter().map(|_| RowMajorMatrix::new(Vec::new(), 1)).collect();
        let groups: Vec<_> = order.chunk_by(|&a, &b| self.traces[a].1.height() == self.traces[b].1.height()).collect();
        let height = |group: &[usize]| self.traces[group[0]].1.height() << self.added_bits;
        let layers = Layers::new(groups.iter().map(|group| height(group)), hash.arity())?;
        let mut digests = Vec::new();
        for group in groups {
            let height = height(group);
            let width = group.iter().map(|&i| self.traces[i].1.width()).sum();
            let mut sponges = Sponges::new(engine, hash, height, width);
            for &i in group {
                let (shift, trace) = self.traces[i];
                let mut extension = F::zero_vec(height * trace.width());
                for start in (0..trace.width()).step_by(at_once) {
                    let columns = start..trace.width().min(start + at_once);
                    let mut rows = engine.device().buffer(trace.height() * columns.len() * size_of::<F>())?;
                    stream.write_columns(&mut rows, words(&trace.values), trace.width(), columns.clone())?;
                    let part = Matrix::<F>::of_rows(engine, rows, columns.len())?;
                    let part = part.extended(&stream, self.added_bits, shift)?;
                    sponges.absorb(&stream, part.elements().into(), part.layout(), part.width())?;
                    let part = part.download(&stream)?;
                    for (to, from) in extension.chunks_exact_mut(trace.width()).zip(part.row_slices()) {
                        to[columns.clone()].copy_from_slice(from);
                    }
                }
                extensions[i] = RowMajorMatrix::new(extension, trace.width());
            }
            digests.push(sponges.digests());
        }
        let tree = resident::MerkleTree::of_digests(engine, &stream, hash, layers, digests.into_iter())?;
        Ok((extensions, tree.download(&stream)?))
    }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use p3_field::{Field, PrimeCharacteristicRing};
    use p3_koala_bear::KoalaBear;
    use ringforge_testkit::{Random, Target, devices, seed};

    use super::*;
    use crate::testkit;

    #[test]
    fn small_budgets_commit_in_parts() {
        let mut random = Random::new(seed());
        let hash = testkit::random::<KoalaBear, 16>(&mut random, 20).expect("a hash");
        let mut matrix = |height: usize, width: usize| {
            let values = (0..height * width).map(|_| KoalaBear::from_u64(random.bits())).collect();
            (KoalaBear::GENERATOR, RowMajorMatrix::new(values, width))
        };
        let matrices = [matrix(8, 3), matrix(16, 29), matrix(16, 18), matrix(4, 1)];
        let traces: Vec<_> = matrices.iter().map(|(shift, matrix)| (*shift, matrix)).collect();
        let traces = Traces { traces: &traces, added_bits: 1 };
        assert!(traces.served());
        for device in devices() {
            let engine = Engine::on(device);
            let (extensions, tree) = traces.commit(&engine, &hash, usize::MAX).expect("a commitment");
            for columns in [24, 16, 8] {
                let budget = traces.bytes(Some(columns));
                assert!(budget < traces.bytes(None));
                let (in_parts, tree_of_parts) = traces.commit(&engine, &hash, budget).expect("a commitment");
                assert!(in_parts == extensions && tree_of_parts.cap(0) == tree.cap(0));
                assert_eq!(tree_of_parts.paths(&[3, 30], 0).map(|paths| paths.sibling_hashes.len()), Some(8));
                let (in_parts, _) = traces.in_parts(&engine, &hash, columns).expect("a commitment");
                assert!(in_parts == extensions);
            }
            let budget = traces.bytes(Some(8)) - 1;
            let refused = traces.commit(&engine, &hash, budget);
            assert!(matches!(refused, Err(Error::OutOfMemory { bytes }) if bytes == budget + 1));
        }
    }

    /// Tests a commitment while other buffers hold nearly all of the device's memory.
    #[test]
    fn full_devices_commit_in_parts() {
        let Some(device) = Target::Cuda.device() else { return };
        let engine = Engine::on(device);
        let mut random = Random::new(seed());
        let hash = testkit::random::<KoalaBear, 16>(&mut random, 20).expect("a hash");
        let start = random.bits();
        let values = (start..).take(64 << 20).map(|i| KoalaBear::from_u64(i.wrapping_mul(i | 1))).collect();
        let trace = RowMajorMatrix::new(values, 64);
        let traces = [(KoalaBear::GENERATOR, &trace)];
        let traces = Traces { traces: &traces, added_bits: 1 };
        let (extensions, tree) = traces.commit(&engine, &hash, usize::MAX).expect("a commitment");
        engine.trim();
        let mut held = Vec::new();
        while let Ok(buffer) = engine.device().buffer(128 << 20) {
            held.push(buffer);
        }
        // release held memory until there is room for the smallest parts, but not for all columns at once
        let (in_parts, tree_of_parts) = loop {
            drop(held.pop().expect("memory in other hands"));
            engine.trim();
            match traces.commit(&engine, &hash, usize::MAX) {
                Err(Error::OutOfMemory { .. }) => {}
                outcome => break outcome.expect("a commitment"),
            }
        };
        assert!(matches!(traces.at_once(&engine, &hash), Err(Error::OutOfMemory { .. })));
        assert!(in_parts == extensions && tree_of_parts.cap(0) == tree.cap(0));
    }
}
