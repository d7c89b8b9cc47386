//! KZG commitments and openings on a device, with the types and results of ark-poly-commit's `KZG10`.

mod marlin;

use core::any::TypeId;
use core::ops::Range;

use ark_ec::pairing::Pairing;
use ark_ec::{CurveGroup, VariableBaseMSM};
use ark_ff::PrimeField;
use ark_poly::DenseUVPolynomial;
use ark_poly_commit::kzg10::{Commitment, Powers, Proof, Randomness};
use ark_poly_commit::{Error, PCCommitmentState};
use ark_std::rand::RngCore;
use ringforge::run::BufferSlice;
use ringforge::{Buffer, Stream};
use ringforge_msm::{Bases, MsmError, ScalarForm, Sums, Vectors};

use crate::backend::{Backend, copied};
use crate::field::{EngineField, WORD, modulus};
use crate::points::{DevicePoint, point, upload};

pub use marlin::{MarlinCommitterKey, MarlinKzgDevice};

/// The most coefficients of polynomials that are multiplied together. More of them fill a GPU.
const GROUP: usize = 1 << 20;

/// A commitment, and the random numbers that hide its polynomial.
type Committed<E, P> = (Commitment<E>, Randomness<<E as Pairing>::ScalarField, P>);

/// A polynomial, the point at which it is opened, and the randomness of its commitment.
type Opening<'a, F, P> = (&'a P, F, &'a Randomness<F, P>);

/// Why a commitment or an opening was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KzgError {
    /// An error of the device or of a multiplication on it.
    #[error(transparent)]
    Msm(#[from] MsmError),
    /// An error of ark-poly-commit, such as a polynomial of too large a degree.
    #[error(transparent)]
    Commitment(#[from] Error),
    /// A polynomial and the state of its commitment differ in whether they have a degree bound.
    #[error("the polynomial {0} and its commitment differ in whether there is a degree bound")]
    Bound(String),
}

impl From<ringforge::Error> for KzgError {
    fn from(error: ringforge::Error) -> Self {
        Self::Msm(error.into())
    }
}

/// The powers of a KZG setup on a device. Commitments and proofs are those of ark-poly-commit's `KZG10`, byte for byte,
/// so its verifier accepts them.
///
/// A polynomial's coefficients are copied to the device, or are there already. An opening divides there by x − z, and the
/// multi-scalar multiplication runs there. The blinding polynomial of a hiding commitment, which has few coefficients, stays on the CPU.
/// Several threads may use the powers at once.
///
/// ```
/// use ark_bls12_381::{Bls12_381, Fr};
/// use ark_ff::UniformRand;
/// use ark_poly::univariate::DensePolynomial;
/// use ark_poly::{DenseUVPolynomial, Polynomial};
/// use ark_poly_commit::PCCommitmentState;
/// use ark_poly_commit::kzg10::{KZG10, Powers, Randomness, VerifierKey};
/// use ringforge_arkworks::{Backend, KzgDevice};
///
/// type Kzg = KZG10<Bls12_381, DensePolynomial<Fr>>;
/// let rng = &mut ark_std::test_rng();
/// let setup = Kzg::setup(100, false, rng)?;
/// let powers = Powers {
///     powers_of_g: setup.powers_of_g[..].into(),
///     powers_of_gamma_g: setup.powers_of_gamma_g.values().copied().collect::<Vec<_>>().into(),
/// };
/// let device = KzgDevice::<Bls12_381>::new(&Backend::best(), &powers)?;
///
/// let (polynomial, z) = (DensePolynomial::rand(100, rng), Fr::rand(rng));
/// let (commitment, randomness) = device.commit(&polynomial, None, None)?;
/// let proof = device.open(&polynomial, z, &randomness)?;
///
/// let vk = VerifierKey {
///     g: setup.powers_of_g[0],
///     gamma_g: setup.powers_of_gamma_g[&0],
///     h: setup.h,
///     beta_h: setup.beta_h,
///     prepared_h: setup.prepared_h.clone(),
///     prepared_beta_h: setup.prepared_beta_h.clone(),
/// };
/// assert!(Kzg::check(&vk, &commitment, z, polynomial.evaluate(&z), &proof)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct KzgDevice<E: Pairing> {
    backend: Backend,
    powers: Bases,
    hiding: Vec<E::G1Affine>,
}

impl<E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint>> KzgDevice<E> {
    /// Copies the powers of a setup to the device of `backend`.
    ///
    /// # Errors
    /// [`KzgError::Msm`] if device memory runs out, a driver call fails or the device does not support the curve.
    pub fn new(backend: &Backend, powers: &Powers<'_, E>) -> Result<Self, KzgError> {
        let of_g = &powers.powers_of_g;
        Ok(Self {
            backend: backend.clone(),
            powers: upload(backend.engine(), 0..of_g.len(), 0, of_g)?,
            hiding: powers.powers_of_gamma_g.to_vec(),
        })
    }

    /// The same powers with [tables of multiples](Bases::with_tables), if these take at most this many bytes of device
    /// memory.
    ///
    /// # Errors
    /// [`KzgError::Msm`] if device memory runs out or a driver call fails.
    pub fn with_tables(self, bytes: usize) -> Result<Self, KzgError> {
        Ok(Self { powers: self.powers.with_tables(bytes)?, ..self })
    }

    /// Commits to a polynomial, as `KZG10::commit` does, with the same random numbers from `rng`.
    ///
    /// # Errors
    /// [`KzgError::Commitment`] as `KZG10::commit`: for more coefficients than powers, a hiding bound that is too
    /// large for the powers, or one without `rng`. [`KzgError::Msm`] for errors of the device.
    pub fn commit<P: DenseUVPolynomial<E::ScalarField>>(
        &self,
        polynomial: &P,
        hiding_bound: Option<usize>,
        rng: Option<&mut dyn RngCore>,
    ) -> Result<Committed<E, P>, KzgError> {
        let sum = self.sums(&[(0, self.checked(polynomial, 0)?)])?;
        self.blinded(sum[0], hiding_bound, rng)
    }

    /// Commits to polynomials, each with its hiding bound, as [`KzgDevice::commit`] does one after another. Small
    /// polynomials are multiplied together, which is faster.
    ///
    /// # Errors
    /// As [`KzgDevice::commit`].
    pub fn commit_batch<P: DenseUVPolynomial<E::ScalarField>>(
        &self,
        polynomials: &[(&P, Option<usize>)],
        mut rng: Option<&mut dyn RngCore>,
    ) -> Result<Vec<Committed<E, P>>, KzgError> {
        let terms = polynomials.iter().map(|(polynomial, _)| Ok((0, self.checked(*polynomial, 0)?)));
        let sums = self.sums(&terms.collect::<Result<Vec<_>, KzgError>>()?)?;
        let blinded = |(sum, (_, bound)): (_, &(_, _))| self.blinded(sum, *bound, reborrowed(&mut rng));
        sums.into_iter().zip(polynomials).map(blinded).collect()
    }

    /// Commits to `batch` polynomials on the device, without hiding. Their coefficients, an equal number of each, follow
    /// one after another, in Montgomery form as [`EngineField::limbs`] returns it. Waits for the stream.
    ///
    /// # Errors
    /// [`KzgError::Msm`], for more coefficients than powers too.
    pub fn commit_on<'a>(
        &self,
        stream: &Stream,
        coefficients: impl Into<BufferSlice<'a>>,
        batch: usize,
    ) -> Result<Vec<Commitment<E>>, KzgError> {
        let sums = self.times(stream, coefficients.into(), batch)?;
        Ok(self.finished(stream, sums)?.into_iter().map(Commitment).collect())
    }

    /// Opens a commitment to a polynomial at a point, as `KZG10::open` does. `randomness` is that of the commitment.
    ///
    /// # Errors
    /// [`KzgError::Commitment`] for more coefficients than powers; [`KzgError::Msm`] for errors of the device.
    pub fn open<P: DenseUVPolynomial<E::ScalarField, Point = E::ScalarField>>(
        &self,
        polynomial: &P,
        z: E::ScalarField,
        randomness: &Randomness<E::ScalarField, P>,
    ) -> Result<Proof<E>, KzgError> {
        Ok(self.open_batch(&[(polynomial, z, randomness)])?[0])
    }

    /// Opens commitments to polynomials, each at a point of its own and with the randomness of its commitment, as
    /// [`KzgDevice::open`] does one after another. Small polynomials are divided and multiplied together, which is faster.
    ///
    /// # Errors
    /// As [`KzgDevice::open`].
    pub fn open_batch<P: DenseUVPolynomial<E::ScalarField, Point = E::ScalarField>>(
        &self,
        openings: &[Opening<'_, E::ScalarField, P>],
    ) -> Result<Vec<Proof<E>>, KzgError> {
        let terms = openings.iter().map(|(polynomial, ..)| Ok((0, self.checked(*polynomial, 0)?)));
        let terms: Vec<_> = terms.collect::<Result<_, KzgError>>()?;
        let quotients = self.each_group(&terms, 2, |stream, coefficients, items| {
            let points: Vec<[u64; 4]> = openings[items.clone()].iter().map(|(_, z, _)| z.limbs()).collect();
            let points = stream.upload(&points)?;
            self.quotients(stream, coefficients.into(), (&points).into(), items.len())
        })?;
        let proofs = quotients.into_iter().zip(openings).map(|(w, (_, z, randomness))| {
            let blinding = &randomness.blinding_polynomial;
            let random_v = randomness.is_hiding().then(|| blinding.evaluate(z));
            let w = w + self.blinding_sum(&quotient(blinding.coeffs(), *z));
            Proof { w: w.into_affine(), random_v }
        });
        Ok(proofs.collect())
    }

    /// Opens commitments without hiding to `batch` polynomials on the device, each at one of the points. Coefficients are
    /// those of [`KzgDevice::commit_on`], and points have the same form. Waits for the stream.
    ///
    /// # Errors
    /// [`KzgError::Msm`], for more coefficients than powers, for fewer than two, and for another number of points too.
    pub fn open_on<'a>(
        &self,
        stream: &Stream,
        coefficients: impl Into<BufferSlice<'a>>,
        points: impl Into<BufferSlice<'a>>,
        batch: usize,
    ) -> Result<Vec<Proof<E>>, KzgError> {
        let sums = self.quotients(stream, coefficients.into(), points.into(), batch)?;
        let proof = |w| Proof { w, random_v: None };
        Ok(self.finished(stream, sums)?.into_iter().map(proof).collect())
    }

    /// The commitment of which this is the sum without blinding, with random numbers for a hiding bound.
    fn blinded<P: DenseUVPolynomial<E::ScalarField>>(
        &self,
        sum: E::G1Affine,
        hiding_bound: Option<usize>,
        rng: Option<&mut dyn RngCore>,
    ) -> Result<Committed<E, P>, KzgError> {
        let mut randomness = Randomness::<E::ScalarField, P>::empty();
        if let Some(bound) = hiding_bound {
            let mut rng = rng.ok_or(Error::MissingRng)?;
            randomness = Randomness::rand(bound, false, None, &mut rng);
            match randomness.blinding_polynomial.degree() {
                0 => return Err(Error::HidingBoundIsZero.into()),
                hiding_poly_degree if hiding_poly_degree >= self.hiding.len() => {
                    let num_powers = self.hiding.len();
                    return Err(Error::HidingBoundToolarge { hiding_poly_degree, num_powers }.into());
                }
                _ => {}
            }
        }
        let commitment = sum + self.blinding_sum(randomness.blinding_polynomial.coeffs());
        Ok((Commitment(commitment.into_affine()), randomness))
    }

    /// The coefficients of a polynomial up to its degree, if there are powers for them after the first `shift`.
    fn checked<'a, P: DenseUVPolynomial<E::ScalarField>>(
        &self,
        polynomial: &'a P,
        shift: usize,
    ) -> Result<&'a [E::ScalarField], KzgError> {
        let (num_coefficients, num_powers) = (polynomial.degree() + 1, self.powers.len().saturating_sub(shift));
        if num_coefficients > num_powers {
            return Err(Error::TooManyCoefficients { num_coefficients, num_powers }.into());
        }
        let coefficients = polynomial.coeffs();
        Ok(&coefficients[..coefficients.len().min(num_coefficients)])
    }

    /// The sums of polynomials' coefficients times powers, for each from a number of the powers on.
    fn sums(&self, terms: &[(usize, &[E::ScalarField])]) -> Result<Vec<E::G1Affine>, KzgError> {
        self.each_group(terms, 1, |stream, scalars, items| self.times(stream, scalars.into(), items.len()))
    }

    /// Copies coefficients to the device, each polynomial's after a number of zeros, and returns the sums that `start`
    /// makes of them. It gets groups of polynomials, padded to the same length, if the group has few coefficients.
    fn each_group(
        &self,
        terms: &[(usize, &[E::ScalarField])],
        least: usize,
        start: impl Fn(&Stream, &Buffer, Range<usize>) -> Result<Sums, KzgError>,
    ) -> Result<Vec<E::G1Affine>, KzgError> {
        let device = self.backend.device();
        // a group is copied while the one before is multiplied
        let streams = [device.stream()?, device.stream()?];
        let (mut running, mut sums) = (None::<(&Stream, Sums)>, Vec::new());
        for ((group, longest), stream) in groups(terms, least).into_iter().zip(streams.iter().cycle()) {
            // the copy in page-locked memory is wiped while the device works
            let started = self.backend.staged(longest * group.len(), |staging| {
                start(stream, &copied(stream, staging, &terms[group.clone()])?, group)
            })?;
            if let Some((stream, before)) = running.replace((stream, started)) {
                sums.extend(self.finished(stream, before)?);
            }
        }
        if let Some((stream, last)) = running {
            sums.extend(self.finished(stream, last)?);
        }
        Ok(sums)
    }

    /// Enqueues the sums of elements on the device times the first powers.
    fn times(&self, stream: &Stream, scalars: BufferSlice<'_>, batch: usize) -> Result<Sums, KzgError> {
        Ok(Sums::start(stream, &[&self.powers], scalars, ScalarForm::Montgomery, batch)?)
    }

    /// Enqueues the division of polynomials p(x) by x − z, and the sums of the quotients' coefficients times powers.
    fn quotients(
        &self,
        stream: &Stream,
        coefficients: BufferSlice<'_>,
        points: BufferSlice<'_>,
        batch: usize,
    ) -> Result<Sums, KzgError> {
        let q = modulus::<E::ScalarField>()?;
        let count = coefficients.len() / WORD / batch.max(1);
        let key = ("KZG quotient", TypeId::of::<E::ScalarField>(), count);
        let program = self.backend.engine().program_of(&key, |planner| {
            let p = planner.pipeline(format!("(p(x) − p(z)) / (x − z), {count}"));
            let vectors = Vectors::new(&p, &q, count)?;
            let divided = vectors.divide(vectors.input("coefficients"), p.input("points"));
            p.output("quotient", divided.part(WORD..WORD * count));
            Ok(p.build()?.on_secrets())
        })?;
        let mut quotients = stream.secret_buffer(WORD * count.saturating_sub(1) * batch)?;
        let call = program.on(stream, batch).input("coefficients", coefficients).input("points", points);
        call.output("quotient", &mut quotients).run()?;
        self.times(stream, (&quotients).into(), batch)
    }

    /// Waits for sums.
    fn finished(&self, stream: &Stream, sums: Sums) -> Result<Vec<E::G1Affine>, KzgError> {
        let bytes = sums.finish(stream)?.concat();
        Ok(bytes.chunks(self.powers.curve().point_bytes()).map(point).collect())
    }

    /// The sum of the blinding polynomial's coefficients times their powers, on the CPU.
    fn blinding_sum(&self, coefficients: &[E::ScalarField]) -> E::G1 {
        let scalars: Vec<_> = coefficients.iter().map(|scalar| scalar.into_bigint()).collect();
        E::G1::msm_bigint(&self.hiding, &scalars)
    }
}

/// Groups of consecutive terms that are multiplied together, each with the length of its longest term and at least
/// `least`.
fn groups<F>(terms: &[(usize, &[F])], least: usize) -> Vec<(Range<usize>, usize)> {
    let mut groups: Vec<(Range<usize>, usize)> = Vec::new();
    for (i, (before, values)) in terms.iter().enumerate() {
        let length = least.max(before + values.len());
        match groups.last_mut() {
            Some((group, longest)) if length.max(*longest) * (group.len() + 1) <= GROUP => {
                (group.end, *longest) = (i + 1, length.max(*longest));
            }
            _ => groups.push((i..i + 1, length)),
        }
    }
    groups
}

/// The coefficients of (p(x) − p(z)) / (x − z), on the CPU.
fn quotient<F: PrimeField>(coefficients: &[F], z: F) -> Vec<F> {
    let mut run = F::ZERO;
    let mut values: Vec<F> = coefficients
        .iter()
        .skip(1)
        .rev()
        .map(|c| {
            run = run * z + c;
            run
        })
        .collect();
    values.reverse();
    values
}

/// The same generator for a shorter time.
fn reborrowed<'a>(rng: &'a mut Option<&mut dyn RngCore>) -> Option<&'a mut dyn RngCore> {
    match rng {
        Some(rng) => Some(&mut **rng),
        None => None,
    }
}
