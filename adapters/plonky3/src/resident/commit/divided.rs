//! Commitments over the devices of a group, each of which has a part of the extension's rows.
//!
//! In bit-reversed order, a coset of the trace's domain is a contiguous part of the extension. So a device evaluates the
//! polynomials of all columns on its own coset, hashes its own rows, and makes a subtree. No row is exchanged. Coefficients
//! are: each device transforms a share of the columns back, and sends the coefficients to the others.

use core::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use p3_util::reverse_bits_len;
use ringforge::run::BufferSlice;
use ringforge::{Buffer, Engine, Result, Stream};

use super::{Trace, Values, at_once};
use crate::field::{EngineField, words};
use crate::hash::HashField;
use crate::layers::Layers;
use crate::layout::Layout;
use crate::poseidon2::Poseidon2;
use crate::resident::matrix::TEMPORARY;
use crate::resident::{Matrix, MerkleTree};
use crate::sponge::Sponges;
use crate::transform::Transform;
use crate::transpose::transpose;

/// A device of a group, and its streams in a proof.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) engine: Engine,
    pub(crate) stream: Stream,
    pub(crate) copies: Stream,
}

/// How the rows of an extension are divided among 2^`log_devices` devices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Division {
    /// log2 of the rows before the extension.
    pub(crate) log_n: usize,
    pub(crate) added_bits: usize,
    pub(crate) log_devices: usize,
}

impl Division {
    /// log2 of the parts, of which each is a coset of the trace's domain or a union of such.
    fn log_parts(self) -> usize {
        self.log_devices.min(self.added_bits)
    }

    /// log2 of the rows of a part. Where there are fewer parts than devices, several devices have the same one.
    pub(crate) fn log_held(self) -> usize {
        self.log_n + self.added_bits - self.log_parts()
    }

    /// log2 of the rows that a device hashes and opens, within its part.
    pub(crate) fn log_own(self) -> usize {
        self.log_n + self.added_bits - self.log_devices
    }

    /// The number of columns that a device transforms back at a time, in whole blocks of the sponges. A trace is copied in
    /// pieces of at least `least` columns. The columns of all devices are hashed together.
    pub(crate) fn share<F: HashField>(self, width: usize, least: usize) -> usize {
        let whole = |columns: usize| columns.next_multiple_of(F::DIGEST);
        let share = whole(at_once::<F>(self.log_held()) >> self.log_devices).max(least);
        share.min(whole(width.div_ceil(1 << self.log_devices)))
    }

    /// The first row of a device's part, and how many rows of the part precede those that the device hashes.
    fn first(self, device: usize) -> (usize, usize) {
        let own = device << self.log_own();
        let first = own >> self.log_held() << self.log_held();
        (first, own - first)
    }

    /// Whether the first 2^log_chunks cosets of the trace's domain are parts, and more than one.
    pub(crate) fn has_blocks(self, log_chunks: usize) -> bool {
        log_chunks > 0 && log_chunks <= self.added_bits && self.added_bits <= self.log_devices
    }

    /// The first device that has a part.
    pub(crate) fn device_of(self, part: usize) -> usize {
        part << (self.log_devices - self.log_parts())
    }

    /// The first device of each part.
    pub(crate) fn owners(self) -> Vec<usize> {
        (0..1 << self.log_parts()).map(|part| self.device_of(part)).collect()
    }

    /// The shift of the coset that a device's part is, where the extension is on the coset of `shift`.
    pub(crate) fn shift<F: EngineField>(self, device: usize, shift: F) -> F {
        let part = self.first(device).0 >> self.log_held();
        let root = F::two_adic_generator(self.log_n + self.added_bits);
        shift * root.exp_u64(reverse_bits_len(part, self.log_parts()) as u64)
    }
}

/// The extension of a trace, of which each device of a group has a part.
#[derive(Debug)]
pub(crate) struct Divided<F> {
    pub(crate) division: Division,
    pub(crate) parts: Vec<Matrix<F>>,
}

impl<F: HashField> Divided<F> {
    /// Copies the rows with these indices to the host.
    pub(crate) fn rows(&self, members: &[Member], numbers: &[usize]) -> Result<Vec<Vec<F>>> {
        let mut rows = vec![Vec::new(); numbers.len()];
        for (i, (member, part)) in members.iter().zip(&self.parts).enumerate() {
            let (first, _) = self.division.first(i);
            let own = || numbers.iter().enumerate().filter(|(_, number)| **number >> self.division.log_own() == i);
            let found = part.rows(&member.stream, &own().map(|(_, number)| number - first).collect::<Vec<_>>())?;
            own().zip(found).for_each(|((place, _), row)| rows[place] = row);
        }
        Ok(rows)
    }
}

/// The commitment of [`commit`](super::commit) to one trace, whose extension is divided among devices. The tree is on the
/// first one. The call returns when all work is enqueued.
///
/// # Errors
/// As [`commit`](super::commit).
pub(crate) fn commit_divided<F: HashField>(
    members: &[Member],
    hash: &Poseidon2<F>,
    trace: Trace<'_, F>,
    added_bits: usize,
) -> Result<(Divided<F>, MerkleTree<F>)> {
    commit_in_shares(members, hash, trace, added_bits, usize::MAX)
}

/// Like [`commit_divided`], with at most this many columns in a share, a multiple of the sponges' rate.
fn commit_in_shares<F: HashField>(
    members: &[Member],
    hash: &Poseidon2<F>,
    trace: Trace<'_, F>,
    added_bits: usize,
    at_once: usize,
) -> Result<(Divided<F>, MerkleTree<F>)> {
    let width = trace.width()?;
    Transform::Extend(added_bits, trace.shift).check(trace.height())?;
    let owner = trace.matrix().map(|matrix| {
        let device = matrix.elements().device();
        members.iter().find(|member| device.is(member.engine.device())).unwrap_or(&members[0])
    });
    let copy = owner.map(|Member { engine, stream, .. }| trace.as_columns(engine, stream)).transpose()?.flatten();
    let trace = copy.as_ref().map_or(trace, |copy| Trace::resident(copy, trace.shift));
    let (log_n, log_devices) = (trace.height().ilog2() as usize, members.len().ilog2() as usize);
    let division = Division { log_n, added_bits, log_devices };
    let share = division.share::<F>(width, trace.least()).min(at_once);
    let shares = Shares { members, trace, width, share };
    commit_shares(members, hash, division, (width, trace.shift), |begin| shares.coefficients(begin))
}

/// The commitment to the chunks of a quotient, which are `degree` columns each, divided among devices. `values` has the
/// evaluations on 2^log_chunks cosets of the trace's domain, on the first device and in bit-reversed order.
///
/// # Errors
/// Errors of the devices.
pub(crate) fn commit_chunks<F: HashField>(
    members: &[Member],
    hash: &Poseidon2<F>,
    (values, log_chunks, degree): (&Buffer, usize, usize),
    division: Division,
) -> Result<(Divided<F>, MerkleTree<F>)> {
    let (Member { engine, stream, .. }, log_n) = (&members[0], division.log_n);
    let block = (degree * size_of::<F>()) << log_n;
    let chunk = |chunk: usize| {
        let shift = F::GENERATOR * F::two_adic_generator(log_n + log_chunks).exp_u64(chunk as u64);
        let layout = Layout::Columns { stride: 1 << log_n };
        let program = Transform::InverseReversed(shift).program(engine, log_n, layout, degree)?;
        let from = reverse_bits_len(chunk, log_chunks) * block;
        let mut coefficients = engine.device().buffer(block)?;
        let call = program.on(stream, degree).input("from", values.slice(from..from + block)?);
        call.output("to", &mut coefficients).run()?;
        Ok(Share { device: 0, columns: chunk * degree..(chunk + 1) * degree, coefficients, shift })
    };
    let all = |_| (0..1 << log_chunks).map(chunk).collect();
    commit_shares(members, hash, division, (degree << log_chunks, F::GENERATOR), all)
}

/// The commitment to columns whose coefficients devices have. `next` returns those of the columns that follow the first ones
/// of this number. Extensions are on the coset of `shift`.
fn commit_shares<F: HashField>(
    members: &[Member],
    hash: &Poseidon2<F>,
    division: Division,
    (width, shift): (usize, F),
    next: impl Fn(usize) -> Result<Vec<Share<F>>>,
) -> Result<(Divided<F>, MerkleTree<F>)> {
    let part = |(i, member)| Part::new(member, hash, (width, shift), division, i);
    let mut parts = members.iter().enumerate().map(part).collect::<Result<Vec<_>>>()?;
    let mut before = next(0)?;
    // a device transforms its next columns back while it waits for others' coefficients
    while let Some(Share { columns, .. }) = before.last() {
        let following = if columns.end < width { next(columns.end)? } else { Vec::new() };
        let shares = core::mem::replace(&mut before, following);
        parts.iter_mut().try_for_each(|part| part.evaluate(&shares))?;
    }
    let (matrices, trees): (Vec<_>, Vec<_>) =
        parts.into_iter().map(|part| part.finish(hash)).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let Member { engine, stream, copies } = &members[0];
    let tree = MerkleTree::joined(engine, [stream, copies], hash, &trees)?;
    Ok((Divided { division, parts: matrices }, tree))
}

/// The coefficients of columns, which one device has. An inverse transform from the coset of `shift` has left them.
struct Share<F> {
    device: usize,
    columns: Range<usize>,
    coefficients: Buffer,
    shift: F,
}

/// The shares of a trace's columns that devices transform back.
struct Shares<'a, F> {
    members: &'a [Member],
    trace: Trace<'a, F>,
    width: usize,
    /// Columns of a share.
    share: usize,
}

impl<F: HashField> Shares<'_, F> {
    /// The coefficients of the columns from `begin` on, a share for each device. Devices copy columns from the host at the
    /// same time.
    fn coefficients(&self, begin: usize) -> Result<Vec<Share<F>>> {
        let begins = (begin..self.width).step_by(self.share);
        let tasks = self.members.iter().zip(begins).enumerate().map(|(device, (member, begin))| {
            let columns = begin..self.width.min(begin + self.share);
            move || {
                let coefficients = self.coefficients_of(member, columns.clone())?;
                Ok(Share { device, columns, coefficients, shift: F::ONE })
            }
        });
        if self.trace.matrix().is_some() {
            return tasks.map(|task| task()).collect();
        }
        thread::scope(|scope| {
            let started: Vec<_> = tasks.map(|task| scope.spawn(task)).collect();
            started.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    }

    /// Enqueues the transform of columns to coefficients on a device.
    fn coefficients_of(&self, member: &Member, columns: Range<usize>) -> Result<Buffer> {
        let Member { engine, stream, copies } = member;
        let (height, count) = (self.trace.height(), columns.len());
        let (of_column, device) = (height * size_of::<F>(), engine.device());
        let mut copied = None;
        match self.trace.values {
            Values::Resident(matrix) if matrix.elements().device().is(device) => {}
            Values::Resident(matrix) => {
                let columns = matrix.elements().slice(columns.start * of_column..columns.end * of_column)?;
                copies.copy(columns, copied.insert(device.buffer(count * of_column)?))?;
            }
            Values::Columns(values, _) => {
                let values = words(&values[columns.start * height..columns.end * height]);
                copies.write(copied.insert(device.buffer(count * of_column)?), values)?;
            }
            Values::Rows(values, width) => {
                let mut rows = device.buffer(count * of_column)?;
                copies.write_columns(&mut rows, words(values), width, columns.clone())?;
                copied = Some(transpose::<F>(engine, stream, &rows, height, count, count)?);
            }
        }
        let from: BufferSlice<'_> = match (&copied, self.trace.matrix()) {
            (None, Some(matrix)) => matrix.elements().slice(columns.start * of_column..columns.end * of_column)?,
            (copied, _) => copied.as_ref().ok_or_else(|| self.trace.not_columns())?.into(),
        };
        let layout = Layout::Columns { stride: height };
        let program = Transform::Inverse(F::ONE).program(engine, height.ilog2() as usize, layout, self.share)?;
        let mut to = device.buffer(count * of_column)?;
        program.on(stream, count).input("from", from).output("to", &mut to).within(TEMPORARY).run()?;
        Ok(to)
    }
}

/// A device's part of the extension, while it is made.
struct Part<'a, F: HashField> {
    device: usize,
    member: &'a Member,
    division: Division,
    /// The shift of the part's coset.
    shift: F,
    extension: Buffer,
    sponges: Sponges<'a, F>,
}

impl<'a, F: HashField> Part<'a, F> {
    fn new(
        member: &'a Member,
        hash: &'a Poseidon2<F>,
        (width, shift): (usize, F),
        division: Division,
        device: usize,
    ) -> Result<Self> {
        let bytes = (width * size_of::<F>()) << division.log_held();
        let extension = member.engine.device().buffer_of_parts(bytes)?;
        let sponges = Sponges::new(&member.engine, hash, 1 << division.log_own(), width);
        let (shift, sponges) = (division.shift(device, shift), sponges.skipping(division.first(device).1));
        Ok(Self { device, member, division, shift, extension, sponges })
    }

    /// Enqueues the evaluation of the next columns, and lets the sponges absorb them.
    fn evaluate(&mut self, shares: &[Share<F>]) -> Result<()> {
        let (Member { engine, stream, copies }, log_n) = (self.member, self.division.log_n);
        let (stride, added_bits) = (1usize << self.division.log_held(), self.division.log_held() - log_n);
        let of_column = stride * size_of::<F>();
        // others' coefficients arrive while the device works on its own
        let (before, own) = shares.split_at(self.device.min(shares.len()));
        for Share { device, columns, coefficients, shift } in own.iter().chain(before) {
            let mut copied = None;
            if *device != self.device {
                copies.copy(coefficients, copied.insert(engine.device().buffer(coefficients.len())?))?;
            }
            let transform = Transform::Evaluate(added_bits, *shift, self.shift);
            let program = transform.program(engine, log_n, Layout::Columns { stride: 1 << log_n }, columns.len())?;
            let to = self.extension.slice_mut(columns.start * of_column..columns.end * of_column)?;
            let call = program.on(stream, columns.len()).input("from", copied.as_ref().unwrap_or(coefficients));
            call.output("to", to).within(TEMPORARY).run()?;
        }
        let (Some(first), Some(last)) = (shares.first(), shares.last()) else { return Ok(()) };
        let columns = first.columns.start..last.columns.end;
        let skipped = self.division.first(self.device).1 * size_of::<F>();
        let bytes = columns.start * of_column + skipped..columns.end * of_column;
        self.sponges.absorb(stream, self.extension.slice(bytes)?, Layout::Columns { stride }, columns.len())
    }

    /// The part, and the tree over the rows that the device hashes.
    fn finish(self, hash: &Poseidon2<F>) -> Result<(Matrix<F>, MerkleTree<F>)> {
        let Self { member: Member { engine, stream, .. }, division, extension, sponges, .. } = self;
        let layers = Layers::new(core::iter::once(1 << division.log_own()), hash.arity())?;
        let tree = MerkleTree::of_digests(engine, stream, hash, layers, core::iter::once(sponges.digests()))?;
        Ok((Matrix::new(engine, extension, 1 << division.log_held())?, tree))
    }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use p3_field::{Field, PrimeCharacteristicRing};
    use p3_koala_bear::KoalaBear;
    use ringforge_testkit::{Random, devices, seed};

    use super::*;
    use crate::resident::commit;
    use crate::testkit;

    #[test]
    fn a_group_commits_like_one_device() {
        type F = KoalaBear;
        let (log_n, width) = (5, 69);
        let mut random = Random::new(seed());
        let binary = testkit::random::<F, 16>(&mut random, 20).expect("a hash");
        let quaternary = testkit::random::<F, 16>(&mut random, 20).expect("a hash");
        let quaternary = testkit::of_arity_4::<F, 32>(quaternary, &mut random, 31).expect("a hash");
        let columns: Vec<F> = (0..width << log_n).map(|_| F::from_u64(random.bits())).collect();
        for device in devices() {
            let engine = Engine::on(device.clone());
            let stream = device.stream().expect("a stream");
            let matrix = Matrix::new(&engine, stream.upload(words(&columns)).expect("a buffer"), 1 << log_n);
            let matrix = matrix.expect("a matrix");
            let rows = matrix.download(&stream).expect("rows");
            let traces = [
                Trace::columns(&columns, 1 << log_n, F::GENERATOR),
                Trace::rows(&rows.values, width, F::GENERATOR),
                Trace::resident(&matrix, F::GENERATOR),
            ];
            let cases: &[(usize, usize)] =
                if device.limits().is_cpu() { &[(2, 1), (4, 1), (2, 2), (4, 3)] } else { &[(4, 1)] };
            for &(count, added_bits) in cases {
                // the same device several times
                let member = |_| {
                    let [stream, copies] = [(); 2].map(|()| device.stream().expect("a stream"));
                    Member { engine: Engine::on(device.clone()), stream, copies }
                };
                let members: Vec<_> = (0..count).map(member).collect();
                let leaves: Vec<usize> = (0..20).map(|_| random.below(1 << (log_n + added_bits))).collect();
                for (hash, trace) in
                    [&binary, &quaternary].into_iter().flat_map(|hash| traces.map(|trace| (hash, trace)))
                {
                    let whole = commit(&engine, &stream, hash, &[trace], added_bits).expect("a commitment");
                    let wanted = whole.open(&stream, &leaves, 1).expect("an opening");
                    for at_once in [8, usize::MAX] {
                        let (of, tree) =
                            commit_in_shares(&members, hash, trace, added_bits, at_once).expect("a commitment");
                        assert_eq!(
                            tree.cap(&stream, 0),
                            whole.tree.cap(&stream, 0),
                            "{count}, {added_bits}, {at_once}"
                        );
                        let rows = of.rows(&members, &leaves).expect("rows");
                        assert!(rows.iter().eq(wanted.0.iter().map(|rows| &rows[0])));
                        let paths = tree.paths(&stream, &leaves, 1).expect("paths");
                        assert_eq!(paths.sibling_hashes, wanted.1.sibling_hashes);
                    }
                }
            }
        }
    }
}
