//! Values of committed polynomials at points outside their domains, and the proof of these values.

use core::any::TypeId;
use core::cmp::Reverse;
use core::ops::Range;
use std::collections::BTreeMap;

use p3_commit::OpenedValues;
use p3_field::ExtensionField;
use p3_fri::{BatchMultiOpening, FriProof, PcsProverTranscript, PcsShape};
use ringforge::run::BufferSliceMut;
use ringforge::{Buffer, Result};

use super::commitment::{Columns, Commitment};
use super::elements::{Pack, exts, flat, upload};
use super::evaluation::{denominators, points as points_of};
use super::fri::{self, Challenger, Trees};
use super::kernels::Shape;
use super::place::Place;
use super::unsupported;
use crate::gather::Gathering;
use crate::hash::HashField;
use crate::mmcs::Mmcs;
use crate::resident::{Division, Gathered, Matrix};
use crate::transform::Transform;

/// How a matrix of a commitment is opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening {
    /// log2 of the number of rows before the extension.
    pub(super) log_n: usize,
    /// Whether the matrix is opened for the next row, too.
    pub(super) next: bool,
    /// The columns of each matrix that Plonky3 commits to in place of this one.
    pub(super) columns: usize,
}

/// A commitment, and how each of its matrices is opened.
#[derive(Debug)]
pub(super) struct Round<'a, F: HashField> {
    pub(super) commitment: &'a Commitment<'a, F>,
    pub(super) openings: Vec<Opening>,
}

/// The values of all matrices at their points, with their proof.
pub(super) type Opened<F, EF, M> = (OpenedValues<EF>, FriProof<EF, M, F, Vec<BatchMultiOpening<F, Mmcs<F>>>>);

/// Opens all matrices at z, and those of which the next row is needed at the point that follows z in their domains.
pub(super) fn open<F, EF, M, C>(
    at: &Place<'_, F, EF, M>,
    rounds: &[Round<'_, F>],
    z: EF,
    challenger: &mut C,
) -> Result<Opened<F, EF, M>>
where
    F: HashField,
    EF: ExtensionField<F>,
    M: Trees<F, EF>,
    C: Challenger<F>,
{
    let weights = Weights::new(at, rounds, z)?;
    let values = weights.values(at, rounds)?;
    at.lap(|phases| &mut phases.openings)?;
    let shape = PcsShape::from_opened_values(at.pcs.fri(), &values);
    let mut transcript = PcsProverTranscript::new(challenger, shape);
    transcript.claimed_openings(&values);
    let (alpha, batch_pow_witness) = transcript.batch_phase();
    let functions = weights.reduced(at, rounds, &values, alpha);
    let bits = weights.bits;
    drop(weights);
    let folded =
        functions.and_then(|functions| transcript.delegate(|challenger| fri::prove(at, functions, challenger)));
    let folded = match folded {
        Ok(folded) => folded,
        Err(error) => {
            transcript.abort();
            return Err(error);
        }
    };
    transcript.finish();
    at.lap(|phases| &mut phases.fri)?;
    let mut gathering = Gathering::default();
    let mut gathered = Vec::with_capacity(rounds.len());
    for round in rounds {
        let highest = round.openings.iter().map(|opening| opening.log_n).max().unwrap_or(0) + at.log_blowup();
        let leaves: Vec<usize> = folded.indices.iter().map(|index| index >> (bits - highest)).collect();
        gathered.push(round.commitment.gather(at, &mut gathering, &leaves)?);
    }
    let found = gathering.finish::<F>(at.engine, at.stream)?;
    let opening = |(round, gathered): (&Round<'_, F>, Gathered<F>)| {
        let (rows, opening_proof) = gathered.open(&found);
        let split = |rows: Vec<Vec<F>>| {
            let rows = rows.iter().zip(&round.openings);
            rows.flat_map(|(row, opening)| row.chunks(opening.columns).map(<[F]>::to_vec)).collect()
        };
        BatchMultiOpening { opened_values: rows.into_iter().map(split).collect(), opening_proof }
    };
    let input_openings = rounds.iter().zip(gathered).map(opening).collect();
    at.lap(|phases| &mut phases.queries)?;
    let proof = FriProof {
        batch_pow_witness: batch_pow_witness.unwrap_or(F::ZERO),
        commit_phase_commits: folded.commits,
        commit_pow_witnesses: folded.witnesses,
        input_openings,
        commit_phase_openings: folded.openings,
        final_poly: folded.last,
        query_pow_witness: folded.witness,
    };
    Ok((values, proof))
}

/// The values 1 / (z − x) at all points x, and the rows of matrices that are weighted.
struct Weights<F, EF> {
    z: EF,
    /// The first rows of each matrix of each round; `None` if the matrix itself has them.
    rows: Vec<Vec<Option<Matrix<F>>>>,
    /// log2 of the most rows of an extension.
    bits: usize,
    /// For each height before the extension of which the next row is opened, the point that follows z.
    next: Vec<(usize, EF)>,
    /// One for each device of a group, or one.
    parts: Vec<Part<F>>,
    /// The first device of each part of the extensions.
    owners: Vec<usize>,
}

/// The rows of all extensions that a device has, and the weights of these rows.
struct Part<F> {
    /// log2 of its rows for each row before the extension.
    added_bits: usize,
    /// The shift of the coset that it is.
    shift: F,
    /// The weights for z. Lower extensions have the first points of the highest one.
    here: Buffer,
    /// The weights for each point that follows z.
    next: Vec<Buffer>,
}

/// Columns of a matrix whose values a device computes, from the first rows that it has of them.
struct Share<'a, F> {
    device: usize,
    matrix: &'a Matrix<F>,
    columns: Range<usize>,
}

impl<F: HashField, EF: ExtensionField<F>> Weights<F, EF> {
    fn new<M>(at: &Place<'_, F, EF, M>, rounds: &[Round<'_, F>], z: EF) -> Result<Self> {
        let openings = || rounds.iter().flat_map(|round| &round.openings);
        let highest = openings().map(|opening| opening.log_n).max().unwrap_or(0);
        let bits = highest + at.log_blowup();
        if !is_outside::<F, EF>(z, bits) {
            return Err(unsupported("the challenger draws a point at which the trace is extended"));
        }
        let mut heights: Vec<usize> = openings().filter(|opening| opening.next).map(|opening| opening.log_n).collect();
        heights.sort_unstable();
        heights.dedup();
        let next: Vec<_> = heights.into_iter().map(|log_n| (log_n, z * F::two_adic_generator(log_n))).collect();
        let rows = |round: &Round<'_, F>| {
            let columns = round.commitment.columns().into_iter().zip(&round.openings);
            columns.map(|(columns, opening)| columns.first_rows(at.stream, opening.log_n, 0)).collect()
        };
        let rows = rounds.iter().map(rows).collect::<Result<_>>()?;
        let division = rounds.iter().flat_map(|round| round.commitment.columns()).find_map(Columns::divided);
        let division = division.map(|of| of.division);
        let part = |device: usize| {
            let (engine, stream) = at.device(device);
            let (added_bits, shift) = match division {
                Some(of) => (of.log_held() - of.log_n, of.shift(device, F::GENERATOR)),
                None => (at.log_blowup(), F::GENERATOR),
            };
            let points = upload(stream, &points_of(highest + added_bits, highest, shift))?;
            let weights = |log_n: usize, z| {
                let points = points.slice(0..(3 + log_n + added_bits) * size_of::<F>())?;
                denominators(at.kernels, engine, stream, points, log_n + added_bits, z)
            };
            let here = weights(highest, z)?;
            let next = next.iter().map(|(log_n, point)| weights(*log_n, *point)).collect::<Result<_>>()?;
            Ok(Part { added_bits, shift, here, next })
        };
        let devices = division.map_or(1, |_| at.members.len());
        let parts = (0..devices).map(part).collect::<Result<_>>()?;
        let owners = division.map_or(vec![0], Division::owners);
        Ok(Self { z, rows, bits, next, parts, owners })
    }

    /// The rows that a device has of the matrices of each round, and how each matrix is opened.
    fn matrices<'r>(&'r self, rounds: &'r [Round<'_, F>], device: usize) -> Vec<Vec<(&'r Matrix<F>, Opening)>> {
        let of_round = |(round, rows): (&'r Round<'_, F>, &'r Vec<Option<Matrix<F>>>)| {
            let columns = round.commitment.columns().into_iter().zip(rows);
            let matrices = columns.map(|(columns, rows)| rows.as_ref().unwrap_or(columns.on(device)));
            matrices.zip(round.openings.iter().copied()).collect()
        };
        rounds.iter().zip(&self.rows).map(of_round).collect()
    }

    /// The points at which a matrix is opened, each with the weights of a device's rows.
    fn of(&self, opening: Opening, device: usize) -> Vec<(EF, &Buffer)> {
        let part = &self.parts[device];
        let next = self.next.iter().zip(&part.next).find(|((log_n, _), _)| opening.next && *log_n == opening.log_n);
        let next = next.map(|((_, point), weights)| (*point, weights));
        core::iter::once((self.z, &part.here)).chain(next).collect()
    }

    /// The columns of a matrix whose values each device computes.
    fn shares<'r>(&self, columns: Columns<'r, F>, matrix: &'r Matrix<F>) -> Vec<Share<'r, F>> {
        let width = matrix.width();
        let of_each = width.div_ceil(self.parts.len());
        let share = |(device, begin): (usize, usize)| {
            let matrix = if device == 0 { matrix } else { columns.on(device) };
            Share { device, matrix, columns: begin..width.min(begin + of_each) }
        };
        (0..width).step_by(of_each).enumerate().map(share).collect()
    }

    /// The values of all matrices at their points.
    fn values<M>(&self, at: &Place<'_, F, EF, M>, rounds: &[Round<'_, F>]) -> Result<OpenedValues<EF>> {
        let all = self.matrices(rounds, 0).into_iter().zip(rounds);
        let all: Vec<Vec<_>> = all
            .map(|(matrices, round)| {
                let shares = |((matrix, opening), columns)| (self.shares(columns, matrix), opening);
                matrices.into_iter().zip(round.commitment.columns()).map(shares).collect()
            })
            .collect();
        let of_device = |device: usize| {
            let shares =
                all.iter().flatten().flat_map(|(shares, opening)| shares.iter().map(|share| (share, *opening)));
            self.sums(at, device, &shares.filter(|(share, _)| share.device == device).collect::<Vec<_>>())
        };
        let sums = (0..self.parts.len()).map(of_device).collect::<Result<Vec<_>>>()?;
        let download =
            |(device, sums): (usize, Buffer)| Ok(exts::<F, EF>(&at.device(device).1.download(&sums)?).into_iter());
        let mut sums = sums.into_iter().enumerate().map(download).collect::<Result<Vec<_>>>()?;
        let mut of_matrix = |(shares, opening): &(Vec<Share<'_, F>>, Opening)| {
            let points = self.of(*opening, 0).len();
            let mut own: Vec<EF> = Vec::new();
            for Share { device, columns, .. } in shares {
                // barycentric interpolation on the coset s·H: z (z^n − s^n) / (n s^n)
                let shift_to_n = self.parts[*device].shift.exp_power_of_2(opening.log_n);
                let inverse = (shift_to_n.mul_2exp_u64(opening.log_n as u64)).inverse();
                let scale = |z: EF| z * (z.exp_power_of_2(opening.log_n) - shift_to_n) * inverse;
                let scales: Vec<EF> = self.of(*opening, 0).into_iter().map(|(z, _)| scale(z)).collect();
                let sums = sums[*device].by_ref().take(columns.len() * points);
                own.extend(sums.zip(scales.iter().cycle()).map(|(sum, scale)| sum * *scale));
            }
            let part = |columns: &[EF]| {
                let point = |point: usize| columns.iter().skip(point).step_by(points).copied().collect();
                (0..points).map(point).collect()
            };
            own.chunks(opening.columns * points).map(part).collect::<Vec<Vec<Vec<EF>>>>()
        };
        Ok(all.iter().map(|round| round.iter().flat_map(&mut of_matrix).collect()).collect())
    }

    /// Enqueues the sums of columns with these values as weights on a device.
    fn sums<M>(&self, at: &Place<'_, F, EF, M>, device: usize, shares: &[(&Share<'_, F>, Opening)]) -> Result<Buffer> {
        let (engine, stream) = at.device(device);
        let of_element = EF::DIMENSION * size_of::<F>();
        let elements = |share: &Share<'_, F>, opening| share.columns.len() * self.of(opening, device).len();
        let count = shares.iter().map(|(share, opening)| elements(share, *opening)).sum::<usize>();
        let (mut sums, mut begin) = (stream.zeros(count * of_element)?, 0);
        let mut pack = Pack::new();
        let mut at_points = |(_, opening): &(_, Opening)| {
            let mut inverses: Vec<EF> = self.of(*opening, device).iter().map(|(point, _)| point.inverse()).collect();
            inverses.resize(2, EF::ZERO);
            pack.add(&flat(&inverses))
        };
        let at_points: Vec<_> = shares.iter().map(&mut at_points).collect();
        let pack = pack.upload(stream)?;
        for ((share, opening), at_points) in shares.iter().zip(at_points) {
            let Share { matrix, columns, .. } = share;
            let (whole, log_n) = (Shape::of(matrix), opening.log_n);
            let shape = Shape { columns: columns.len(), ..whole };
            let from = match columns.len() < whole.columns {
                // only columns are divided
                true => {
                    let of_column = whole.strides()[1] * size_of::<F>();
                    matrix.elements().slice(columns.start * of_column..columns.end * of_column)?
                }
                false => matrix.elements().into(),
            };
            let inverses = self.of(*opening, device);
            let mut inverses = inverses.into_iter().map(|(_, inverses)| inverses.slice(0..of_element << log_n));
            let (here, next) = (inverses.next().transpose()?, inverses.next().transpose()?);
            let key = ("openings", TypeId::of::<(F, EF)>(), shape, log_n, next.is_some());
            let program =
                engine.program_of(&key, |planner| at.kernels.opened(planner, shape, 1 << log_n, next.is_some()))?;
            let unused = pack.slice(at_points.start..at_points.start + of_element)?;
            let call = program.on(stream, 1).input("matrix", from).input("at", pack.slice(at_points)?);
            let call = call.input("here", here.unwrap_or(unused.clone())).input("next", next.unwrap_or(unused));
            let end = begin + elements(share, *opening) * of_element;
            call.output("sums", sums.slice_mut(begin..end)?).run()?;
            begin = end;
        }
        Ok(sums)
    }

    /// Enqueues the functions that FRI tests, one for each height, the highest first: the sum, with powers of `alpha`, of
    /// (y − p(x)) / (z − x) for all openings of that height. Devices compute the values at their own rows; all values end up
    /// on the first one.
    fn reduced<M>(
        &self,
        at: &Place<'_, F, EF, M>,
        rounds: &[Round<'_, F>],
        values: &OpenedValues<EF>,
        alpha: EF,
    ) -> Result<Vec<(usize, Buffer)>> {
        let of_element = EF::DIMENSION * size_of::<F>();
        let mut functions = Vec::new();
        for (i, &device) in self.owners.iter().enumerate() {
            let mut groups: BTreeMap<Reverse<usize>, Vec<Group<'_, F, EF>>> = BTreeMap::new();
            for (round, mut values) in self.matrices(rounds, device).into_iter().zip(values.iter().map(Vec::as_slice)) {
                for (matrix, opening) in round {
                    let own = values.split_off(..matrix.width() / opening.columns).unwrap_or_default();
                    groups.entry(Reverse(opening.log_n)).or_default().push((matrix, opening, own));
                }
            }
            for (group, (Reverse(log_n), matrices)) in groups.into_iter().enumerate() {
                if i == 0 {
                    let bits = log_n + at.log_blowup();
                    functions.push((bits, at.engine.device().buffer_of_parts(of_element << bits)?));
                }
                let bytes = of_element << (log_n + self.parts[device].added_bits);
                let to = functions[group].1.slice_mut(i * bytes..(i + 1) * bytes)?;
                if device == 0 {
                    self.reduced_at(at, device, (log_n, &matrices), alpha, to)?;
                } else {
                    let mut own = at.device(device).0.device().buffer(bytes)?;
                    self.reduced_at(at, device, (log_n, &matrices), alpha, (&mut own).into())?;
                    at.stream.copy(&own, to)?;
                }
            }
        }
        Ok(functions)
    }

    /// Enqueues the function of one height, at the rows of a device. The sum of all polynomials is extended, which is faster
    /// than the sum of their extensions.
    fn reduced_at<M>(
        &self,
        at: &Place<'_, F, EF, M>,
        device: usize,
        (log_n, group): (usize, &[Group<'_, F, EF>]),
        alpha: EF,
        to: BufferSliceMut<'_>,
    ) -> Result<()> {
        let ((engine, stream), kernels) = (at.device(device), at.kernels);
        let part = &self.parts[device];
        let (degree, bits) = (EF::DIMENSION, log_n + part.added_bits);
        let of_element = degree * size_of::<F>();
        let both = group.iter().any(|(_, opening, _)| opening.next);
        let columns = if both { 2 * degree } else { degree };
        let mut combined = engine.device().buffer((columns * size_of::<F>()) << log_n)?;
        let (mut first, [mut here, mut next]) = (EF::ONE, [EF::ZERO; 2]);
        let (mut pack, mut weights) = (Pack::new(), Vec::with_capacity(group.len()));
        for (matrix, opening, values) in group {
            let columns = matrix.width();
            let powers: Vec<EF> = alpha.shifted_powers(first).collect_n(columns);
            let factor = alpha.exp_u64(columns as u64);
            let sum_at = |point: usize| -> EF {
                let values = values.iter().filter_map(|points| points.get(point)).flatten();
                powers.iter().zip(values).map(|(power, y)| *power * *y).sum()
            };
            here += sum_at(0);
            next += sum_at(1) * factor;
            first *= if opening.next { factor.square() } else { factor };
            weights.push((pack.add(&flat(&powers)), pack.add(&flat(&[factor]))));
        }
        let (constants, unused) = (pack.add(&flat(&[here, next])), pack.add(&flat(&[EF::ZERO])));
        let pack = pack.upload(stream)?;
        for (i, ((matrix, opening, _), (powers, factor))) in group.iter().zip(weights).enumerate() {
            let (shape, flags) = (Shape::of(matrix), [opening.next, both, i > 0]);
            let key = ("combined columns", TypeId::of::<(F, EF)>(), shape, log_n, flags);
            let program = engine.program_of(&key, |planner| kernels.combined(planner, shape, log_n, flags))?;
            let call = program.on(stream, 1).input("matrix", matrix.elements()).input("powers", pack.slice(powers)?);
            call.input("factor", pack.slice(factor)?).output("combined", &mut combined).run()?;
        }
        let mut combined = Matrix::<F>::new(engine, combined, 1 << log_n)?;
        if part.added_bits > 0 {
            let transform = Transform::ExtendReversed(part.added_bits, part.shift, part.shift);
            combined = combined.first_transformed(stream, 1 << log_n, transform)?;
        }
        let key = ("reduced openings", TypeId::of::<(F, EF)>(), bits, both);
        let program = engine.program_of(&key, |planner| kernels.reduced(planner, 1 << bits, both))?;
        let next = self.next.iter().position(|(other, _)| both && *other == log_n);
        let call = program.on(stream, 1).input("combined", combined.elements());
        let call =
            call.input("constants", pack.slice(constants)?).input("here", part.here.slice(0..of_element << bits)?);
        let call = match next {
            Some(next) => call.input("next", &part.next[next]),
            None => call.input("next", pack.slice(unused)?),
        };
        call.output("reduced", to).run()
    }
}

/// A matrix, how it is opened, and the values of the matrices that Plonky3 commits to in its place.
type Group<'a, F, EF> = (&'a Matrix<F>, Opening, &'a [Vec<Vec<EF>>]);

/// True if z is neither 0 nor in the coset g·K of 2^bits elements: values at z are quotients by z and by z − x.
fn is_outside<F: HashField, EF: ExtensionField<F>>(z: EF, bits: usize) -> bool {
    !z.is_zero() && z.exp_power_of_2(bits) != EF::from(F::GENERATOR.exp_power_of_2(bits))
}

#[cfg(test)]
mod tests {
    use p3_field::extension::BinomialExtensionField;
    use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};
    use p3_koala_bear::KoalaBear;

    use super::*;

    #[test]
    fn points_of_the_extension_are_not_outside() {
        type Challenge = BinomialExtensionField<KoalaBear, 4>;
        let is_outside = |z: Challenge| is_outside::<KoalaBear, _>(z, 3);
        let point = KoalaBear::GENERATOR * KoalaBear::two_adic_generator(3).exp_u64(5);
        assert!(!is_outside(point.into()) && !is_outside(Challenge::ZERO));
        assert!(is_outside(Challenge::ONE) && is_outside((point * KoalaBear::two_adic_generator(4)).into()));
    }
}
