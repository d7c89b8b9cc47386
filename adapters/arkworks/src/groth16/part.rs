//! One device's part of a proof: the bases of a range of variables, and of a range of the quotient's coefficients.

use core::ops::Range;

use ark_ec::pairing::Pairing;
use ringforge::{Buffer, Event, Plan, Planner, Stream};
use ringforge_msm::{Bases, Curve, DeviceMatrix, MsmError, ScalarForm, SparseMatrix, Sums};

use super::{Phases, ProofError};
use crate::backend::{Backend, copied};
use crate::field::{EngineField, WORD, modulus};
use crate::points::{DevicePoint, point};
use crate::witness::{Reduction, WitnessMap};

/// The bases of a proving key, by what they are summed up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Query {
    A,
    B1,
    B2,
    L,
    H,
}

/// A device's part of a proving key, and its constraints. Each device has all matrices and computes the whole quotient.
#[derive(Debug)]
pub(super) struct Part {
    backend: Backend,
    matrices: Vec<DeviceMatrix>,
    map: WitnessMap,
    /// The variables, and the coefficients of the quotient, whose bases are here.
    variables: Range<usize>,
    coefficients: Range<usize>,
    /// The bases of B in G2, A, B in G1, and L, for these variables; and of these coefficients.
    b_g2: Bases,
    a: Bases,
    b_g1: Bases,
    l: Bases,
    h: Bases,
}

/// The sums of a part: B in G2, then A, B in G1, L and H.
pub(super) struct Parts<E: Pairing>(pub(super) E::G2Affine, pub(super) [E::G1Affine; 4]);

/// A part of a proof whose work on the device is enqueued.
pub(super) struct Running {
    stream: Stream,
    of_variables: Sums,
    of_quotient: Sums,
    marks: [Event; 5],
}

impl Part {
    /// Copies the bases of these variables and coefficients, which `upload` does, and matrices a, b and c. There is no
    /// third matrix in Circom's reduction.
    pub(super) fn new<F: EngineField>(
        backend: &Backend,
        upload: impl Fn(Query, Range<usize>) -> Result<Bases, MsmError> + Sync,
        matrices: &[SparseMatrix],
        reduction: Reduction,
        points: usize,
        [variables, coefficients]: [Range<usize>; 2],
    ) -> Result<Self, ProofError> {
        let engine = backend.engine();
        // the programs are compiled while the key is copied, and at once
        ringforge_cpu::threads::start();
        let (map, part) = rayon::join(
            || backend.witness_map::<F>(reduction, points),
            || {
                let of_variables = |query| upload(query, variables.clone());
                let (b_g2, a) = (of_variables(Query::B2)?, of_variables(Query::A)?);
                let (b_g1, l) = (of_variables(Query::B1)?, of_variables(Query::L)?);
                let h = upload(Query::H, coefficients.clone())?;
                Sums::compile(&[&b_g2, &a, &b_g1, &l], variables.len(), ScalarForm::Montgomery)?;
                Sums::compile(&[&h], coefficients.len(), ScalarForm::Montgomery)?;
                let matrices = matrices.iter().map(|m| m.upload(engine)).collect::<Result<_, _>>()?;
                Ok::<_, ProofError>((matrices, [b_g2, a, b_g1, l, h]))
            },
        );
        let (matrices, [b_g2, a, b_g1, l, h]) = part?;
        Ok(Self { backend: backend.clone(), matrices, map: map?, variables, coefficients, b_g2, a, b_g1, l, h })
    }

    /// The device memory that the part takes, in bytes, without what transforms share.
    pub(super) fn bytes(&self) -> usize {
        let points = [&self.b_g2, &self.a, &self.b_g1, &self.l, &self.h].map(Bases::bytes);
        points.iter().sum::<usize>() + self.matrices.iter().map(DeviceMatrix::bytes).sum::<usize>()
    }

    /// Enqueues the part's work. The quotient is that of `evaluations`, or else of the assignment's products with the
    /// matrices.
    pub(super) fn start<F: EngineField>(
        &self,
        assignment: &[F],
        evaluations: Option<[&[F]; 3]>,
    ) -> Result<Running, ProofError> {
        let stream = self.backend.device().stream()?;
        let (form, points) = (ScalarForm::Montgomery, self.map.size());
        // the copies in page-locked memory are wiped while the device works
        self.backend.staged(assignment.len().max(evaluations.map_or(0, |_| points)), |staging| {
            let mut copy = |values: &[F], length: usize| copied(&stream, &mut staging[..length], &[(0, values)]);
            let begin = stream.mark()?;
            let z = copy(assignment, assignment.len())?;
            let given = evaluations.map(|given| given.map(|values| copy(values, points)));
            let copied = stream.mark()?;
            let [a, b, c] = match given {
                Some([a, b, c]) => [a?, b?, c?],
                None => self.products(&stream, &z)?,
            };
            let quotient = self.quotient(&stream, [a, b, c])?;
            let mapped = stream.mark()?;
            let z = z.slice(scalars(&self.variables))?;
            let of_variables = Sums::start(&stream, &[&self.b_g2, &self.a, &self.b_g1, &self.l], z, form, 1)?;
            let added = stream.mark()?;
            let quotient = quotient.slice(scalars(&self.coefficients))?;
            let of_quotient = Sums::start(&stream, &[&self.h], quotient, form, 1)?;
            let marks = [begin, copied, mapped, added, stream.mark()?];
            Ok(Running { stream: stream.clone(), of_variables, of_quotient, marks })
        })
    }

    /// Enqueues the products of the matrices and the assignment.
    fn products(&self, stream: &Stream, z: &Buffer) -> Result<[Buffer; 3], ProofError> {
        let buffer = || stream.secret_buffer(self.map.size() * WORD);
        let mut products = [buffer()?, buffer()?, buffer()?];
        for (matrix, product) in self.matrices.iter().zip(&mut products) {
            matrix.times(stream, z, product)?;
        }
        Ok(products)
    }

    /// Enqueues the witness map.
    fn quotient(&self, stream: &Stream, [mut a, mut b, mut c]: [Buffer; 3]) -> Result<Buffer, ProofError> {
        self.map.run(stream, &mut a, &mut b, &mut c)?;
        Ok(c)
    }
}

impl Running {
    /// Waits for the device. Returns the part's sums, and adds what its phases took to `phases` unless other devices
    /// took longer.
    pub(super) fn finish<E>(self, phases: &mut Phases) -> Result<Parts<E>, ProofError>
    where
        E: Pairing<G1Affine: DevicePoint, G2Affine: DevicePoint>,
    {
        let Self { stream, of_variables, of_quotient, marks } = self;
        let of_variables = of_variables.finish(&stream)?;
        let h = of_quotient.finish(&stream)?.concat();
        let [b_g2, a, b_g1, l] = &of_variables[..] else { return Err(ProofError::Refused) };
        let longest = [&mut phases.copies, &mut phases.quotient, &mut phases.sums, &mut phases.quotient_sum];
        for (longest, ends) in longest.into_iter().zip(marks.windows(2)) {
            *longest = longest.max(ends[1].seconds_since(&ends[0])?);
        }
        Ok(Parts(point(b_g2), [a, b_g1, l, &h].map(|bytes| point(bytes))))
    }
}

/// The bytes of scalars in this range.
fn scalars(range: &Range<usize>) -> Range<usize> {
    WORD * range.start..WORD * range.end
}

/// The plans that a part runs.
pub(super) fn plans<E>(
    planner: &Planner,
    variables: usize,
    coefficients: usize,
    reduction: Reduction,
    points: usize,
) -> ringforge::Result<Vec<Plan>>
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
{
    let curve = |curve: Result<Curve, MsmError>| {
        curve.map_err(|error| ringforge::Error::Unsupported { job: "Groth16".into(), why: error.to_string() })
    };
    let (g1, g2) = (curve(E::G1Affine::curve())?, curve(E::G2Affine::curve())?);
    let of_variables = [&g2, &g1, &g1, &g1].map(|curve| (curve.clone(), variables));
    let sums = |terms: &[_], count| Sums::plan(planner, terms, count, ScalarForm::Montgomery, true);
    let mut plans = vec![sums(&of_variables, variables)?, sums(&[(g1, coefficients)], coefficients)?];
    plans.extend(WitnessMap::plans::<E::ScalarField>(planner, reduction, points)?);
    plans.push(SparseMatrix::sample_plan(planner, &modulus::<E::ScalarField>()?)?);
    Ok(plans)
}
