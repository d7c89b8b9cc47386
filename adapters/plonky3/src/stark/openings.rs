//! Values of committed polynomials at points outside their domains, and the proof of these values.

use core::any::TypeId;
use core::cmp::Reverse;
use core::ops::Range;
use std::collections::BTreeMap;

use p3_commit::OpenedValues;
use p3_field::ExtensionField;
use p3_fri::{BatchMultiOpening, FriProof, PcsProverTranscript, PcsShape};
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
use crate::resident::{Divided, Division, Gathered, Matrix, Member};
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
    /// Those of z. Lower extensions have the first points of the highest one.
    here: Buffer,
    /// For each height before the extension, the point that follows z, and its values.
    next: Vec<(usize, EF, Buffer)>,
    /// The values of both points on each other device of a group, in the first rows of its part.
    others: Vec<Vec<Buffer>>,
}

/// Columns of a matrix that a device opens, in the first rows that it has of them: a coset of the trace's domain.
struct Part<'a, F> {
    device: usize,
    matrix: &'a Matrix<F>,
    columns: Range<usize>,
    shift: F,
}

impl<F: HashField, EF: ExtensionField<F>> Weights<F, EF> {
    fn new<M>(at: &Place<'_, F, EF, M>, rounds: &[Round<'_, F>], z: EF) -> Result<Self> {
        let openings = || rounds.iter().flat_map(|round| &round.openings);
        let bits = openings().map(|opening| opening.log_n).max().unwrap_or(0) + at.log_blowup();
        if !is_outside::<F, EF>(z, bits) {
            return Err(unsupported("the challenger draws a point at which the trace is extended"));
        }
        let points = upload(at.stream, &points_of(bits, bits, F::GENERATOR))?;
        let inverses = |bits: usize, z| {
            let points = points.slice(0..(3 + bits) * size_of::<F>())?;
            denominators(at.kernels, at.engine, at.stream, points, bits, z)
        };
        let mut heights: Vec<usize> = openings().filter(|opening| opening.next).map(|opening| opening.log_n).collect();
        heights.sort_unstable();
        heights.dedup();
        let next = |log_n: usize| {
            let point = z * F::two_adic_generator(log_n);
            Ok((log_n, point, inverses(log_n + at.log_blowup(), point)?))
        };
        let rows = |round: &Round<'_, F>| {
            let columns = round.commitment.columns().into_iter().zip(&round.openings);
            columns.map(|(columns, opening)| columns.first_rows(at.stream, opening.log_n, 0)).collect()
        };
        let rows = rounds.iter().map(rows).collect::<Result<_>>()?;
        let (here, next) = (inverses(bits, z)?, heights.into_iter().map(next).collect::<Result<Vec<_>>>()?);
        let divided = rounds.iter().flat_map(|round| round.commitment.columns()).find_map(Columns::divided);
        let division = divided.into_iter().flat_map(|of| (1..at.members.len()).map(move |i| (i, of.division)));
        let other = |(i, division): (usize, Division)| {
            let (Member { engine, stream, .. }, log_n) = (&at.members[i], division.log_n);
            let points = upload(stream, &points_of(log_n, log_n, division.shift(i, F::GENERATOR)))?;
            let all = core::iter::once(z).chain(next.iter().map(|(_, point, _)| *point));
            all.map(|z| denominators(at.kernels, engine, stream, (&points).into(), log_n, z)).collect()
        };
        let others = division.map(other).collect::<Result<_>>()?;
        Ok(Self { z, rows, bits, here, next, others })
    }

    /// The matrices of each round that have the first rows, and how each is opened.
    fn matrices<'r>(&'r self, rounds: &'r [Round<'_, F>]) -> Vec<Vec<(&'r Matrix<F>, Opening)>> {
        let of_round = |(round, rows): (&'r Round<'_, F>, &'r Vec<Option<Matrix<F>>>)| {
            let columns = round.commitment.columns().into_iter().zip(rows);
            let matrices = columns.map(|(columns, rows)| rows.as_ref().unwrap_or(columns.matrix()));
            matrices.zip(round.openings.iter().copied()).collect()
        };
        rounds.iter().zip(&self.rows).map(of_round).collect()
    }

    /// The points at which a matrix is opened, each with its values on a device.
    fn of(&self, opening: Opening, device: usize) -> Vec<(EF, &Buffer)> {
        let next = self.next.iter().find(|(log_n, ..)| opening.next && *log_n == opening.log_n);
        let next = next.map(|(_, point, inverses)| (*point, inverses));
        let mut all: Vec<_> = core::iter::once((self.z, &self.here)).chain(next).collect();
        if device > 0 {
            all.iter_mut().zip(&self.others[device - 1]).for_each(|((_, own), other)| *own = other);
        }
        all
    }

    /// The columns of a matrix that each device opens.
    fn parts<'r>(
        at: &Place<'_, F, EF, impl Sized>,
        columns: Columns<'r, F>,
        matrix: &'r Matrix<F>,
    ) -> Vec<Part<'r, F>> {
        let width = matrix.width();
        let Some(Divided { division, parts }) = columns.divided() else {
            return vec![Part { device: 0, matrix, columns: 0..width, shift: F::GENERATOR }];
        };
        let share = width.div_ceil(at.members.len());
        let begins = (0..width).step_by(share).enumerate();
        let part = |(device, begin): (usize, usize)| {
            let (columns, shift) = (begin..width.min(begin + share), division.shift(device, F::GENERATOR));
            Part { device, matrix: &parts[device], columns, shift }
        };
        begins.map(part).collect()
    }

    /// The values of all matrices at their points.
    fn values<M>(&self, at: &Place<'_, F, EF, M>, rounds: &[Round<'_, F>]) -> Result<OpenedValues<EF>> {
        let all = self.matrices(rounds).into_iter().zip(rounds);
        let all: Vec<Vec<_>> = all
            .map(|(matrices, round)| {
                let parts = |((matrix, opening), columns)| (Self::parts(at, columns, matrix), opening);
                matrices.into_iter().zip(round.commitment.columns()).map(parts).collect()
            })
            .collect();
        let devices = 1 + self.others.len();
        let of_device = |device: usize| {
            let parts = all.iter().flatten().flat_map(|(parts, opening)| parts.iter().map(|part| (part, *opening)));
            self.sums(at, device, &parts.filter(|(part, _)| part.device == device).collect::<Vec<_>>())
        };
        let sums = (0..devices).map(of_device).collect::<Result<Vec<_>>>()?;
        let download = |(device, sums): (usize, Buffer)| {
            let stream = at.members.get(device).map_or(at.stream, |member| &member.stream);
            Ok(exts::<F, EF>(&stream.download(&sums)?).into_iter())
        };
        let mut sums = sums.into_iter().enumerate().map(download).collect::<Result<Vec<_>>>()?;
        let mut of_matrix = |(parts, opening): &(Vec<Part<'_, F>>, Opening)| {
            let points = self.of(*opening, 0).len();
            let mut own: Vec<EF> = Vec::new();
            for Part { device, columns, shift, .. } in parts {
                // barycentric interpolation on the coset s·H: z (z^n − s^n) / (n s^n)
                let shift_to_n = shift.exp_power_of_2(opening.log_n);
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
    fn sums<M>(&self, at: &Place<'_, F, EF, M>, device: usize, parts: &[(&Part<'_, F>, Opening)]) -> Result<Buffer> {
        let (engine, stream) =
            at.members.get(device).map_or((at.engine, at.stream), |member| (&member.engine, &member.stream));
        let of_element = EF::DIMENSION * size_of::<F>();
        let elements = |part: &Part<'_, F>, opening| part.columns.len() * self.of(opening, device).len();
        let count = parts.iter().map(|(part, opening)| elements(part, *opening)).sum::<usize>();
        let (mut sums, mut begin) = (stream.zeros(count * of_element)?, 0);
        let mut pack = Pack::new();
        let mut at_points = |(_, opening): &(_, Opening)| {
            let mut inverses: Vec<EF> = self.of(*opening, device).iter().map(|(point, _)| point.inverse()).collect();
            inverses.resize(2, EF::ZERO);
            pack.add(&flat(&inverses))
        };
        let at_points: Vec<_> = parts.iter().map(&mut at_points).collect();
        let pack = pack.upload(stream)?;
        for ((part, opening), at_points) in parts.iter().zip(at_points) {
            let Part { matrix, columns, .. } = part;
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
            let end = begin + elements(part, *opening) * of_element;
            call.output("sums", sums.slice_mut(begin..end)?).run()?;
            begin = end;
        }
        Ok(sums)
    }

    /// Enqueues the functions that FRI tests, one for each height, the highest first: the sum, with powers of `alpha`, of
    /// (y − p(x)) / (z − x) for all openings of that height.
    fn reduced<M>(
        &self,
        at: &Place<'_, F, EF, M>,
        rounds: &[Round<'_, F>],
        values: &OpenedValues<EF>,
        alpha: EF,
    ) -> Result<Vec<(usize, Buffer)>> {
        let mut groups: BTreeMap<Reverse<usize>, Vec<Group<'_, F, EF>>> = BTreeMap::new();
        for (round, mut values) in self.matrices(rounds).into_iter().zip(values.iter().map(Vec::as_slice)) {
            for (matrix, opening) in round {
                let own = values.split_off(..matrix.width() / opening.columns).unwrap_or_default();
                groups.entry(Reverse(opening.log_n)).or_default().push((matrix, opening, own));
            }
        }
        let function = |(Reverse(log_n), group): (Reverse<usize>, Vec<Group<'_, F, EF>>)| {
            Ok((log_n + at.log_blowup(), self.reduced_at(at, log_n, &group, alpha)?))
        };
        groups.into_iter().map(function).collect()
    }

    /// Enqueues the function of one height. The sum of all polynomials is extended, which is faster than the sum of their
    /// extensions.
    fn reduced_at<M>(
        &self,
        at: &Place<'_, F, EF, M>,
        log_n: usize,
        group: &[Group<'_, F, EF>],
        alpha: EF,
    ) -> Result<Buffer> {
        let Place { engine, stream, kernels, .. } = *at;
        let (degree, bits) = (EF::DIMENSION, log_n + at.log_blowup());
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
        let combined = Matrix::<F>::new(engine, combined, 1 << log_n)?;
        let transform = Transform::ExtendReversed(at.log_blowup(), F::GENERATOR, F::GENERATOR);
        let combined = combined.first_transformed(stream, 1 << log_n, transform)?;
        let key = ("reduced openings", TypeId::of::<(F, EF)>(), bits, both);
        let program = engine.program_of(&key, |planner| kernels.reduced(planner, 1 << bits, both))?;
        let next = self.next.iter().find(|(other, ..)| both && *other == log_n).map(|(.., inverses)| inverses);
        let mut reduced = engine.device().buffer(of_element << bits)?;
        let call = program.on(stream, 1).input("combined", combined.elements());
        let call =
            call.input("constants", pack.slice(constants)?).input("here", self.here.slice(0..of_element << bits)?);
        let call = match next {
            Some(next) => call.input("next", next),
            None => call.input("next", pack.slice(unused)?),
        };
        call.output("reduced", &mut reduced).run()?;
        Ok(reduced)
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
