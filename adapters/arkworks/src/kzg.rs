//! KZG commitments and openings on a device, with the types and results of ark-poly-commit's `KZG10`.

mod marlin;

use ark_ec::pairing::Pairing;
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::PrimeField;
use ark_poly::DenseUVPolynomial;
use ark_poly_commit::kzg10::{Commitment, Powers, Proof, Randomness};
use ark_poly_commit::{Error, PCCommitmentState};
use ark_std::rand::RngCore;
use ringforge::run::BufferSlice;
use ringforge::{Buffer, Stream};
use ringforge_msm::{Bases, MsmError, ScalarForm, Sums};

use crate::backend::{Backend, copied};
use crate::field::{EngineField, WORD};
use crate::horner::Horner;
use crate::points::{DevicePoint, point, upload};

pub use marlin::{MarlinCommitterKey, MarlinKzgDevice};

/// A commitment, and the random numbers that hide its polynomial.
type Committed<E, P> = (Commitment<E>, Randomness<<E as Pairing>::ScalarField, P>);

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
/// A polynomial's coefficients are copied to the device. There, an opening divides by x − z, and the multi-scalar
/// multiplication runs. The blinding polynomial of a hiding commitment, which has few coefficients, stays on the CPU.
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
        self.commit_shifted(polynomial, 0, hiding_bound, rng)
    }

    /// Like [`KzgDevice::commit`], with the powers from number `shift` on.
    fn commit_shifted<P: DenseUVPolynomial<E::ScalarField>>(
        &self,
        polynomial: &P,
        shift: usize,
        hiding_bound: Option<usize>,
        rng: Option<&mut dyn RngCore>,
    ) -> Result<Committed<E, P>, KzgError> {
        let sum = self.sum(polynomial, shift)?;
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
        let coefficients = self.checked(polynomial, 0)?;
        let mut w = E::G1::default();
        if let count @ 2.. = coefficients.len() {
            let horner = Horner::new::<E::ScalarField>(self.backend.engine(), count)?;
            w = self.sum_of(coefficients, 0, |stream, coefficients| {
                let point = stream.upload(&[z.limbs()])?;
                let mut values = stream.secret_buffer(WORD * count)?;
                horner.run(stream, coefficients, &point, &mut values)?;
                self.times(stream, values.slice(WORD..WORD * count)?)
            })?;
        }
        let blinding = &randomness.blinding_polynomial;
        let random_v = randomness.is_hiding().then(|| blinding.evaluate(&z));
        w += self.blinding_sum(&quotient(blinding.coeffs(), z));
        Ok(Proof { w: w.into_affine(), random_v })
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

    /// The sum of a polynomial's coefficients times the powers from number `shift` on.
    fn sum<P: DenseUVPolynomial<E::ScalarField>>(&self, polynomial: &P, shift: usize) -> Result<E::G1, KzgError> {
        let coefficients = self.checked(polynomial, shift)?;
        if coefficients.is_empty() {
            return Ok(E::G1::default());
        }
        self.sum_of(coefficients, shift, |stream, scalars| self.times(stream, scalars.into()))
    }

    /// Copies elements to the device, after `before` zeros, and returns the sum that `start` makes of them.
    fn sum_of(
        &self,
        values: &[E::ScalarField],
        before: usize,
        start: impl FnOnce(&Stream, &Buffer) -> Result<Sums, KzgError>,
    ) -> Result<E::G1, KzgError> {
        let stream = self.backend.device().stream()?;
        // the copy in page-locked memory is wiped while the device works
        let sums = self
            .backend
            .staged(before + values.len(), |staging| start(&stream, &copied(&stream, staging, before, values)?))?;
        Ok(point::<E::G1Affine>(&sums.finish(&stream)?.concat()).into_group())
    }

    /// Enqueues the sum of elements on the device times the first powers.
    fn times(&self, stream: &Stream, scalars: BufferSlice<'_>) -> Result<Sums, KzgError> {
        Ok(Sums::start(stream, &[&self.powers], scalars, ScalarForm::Montgomery, 1)?)
    }

    /// The sum of the blinding polynomial's coefficients times their powers, on the CPU.
    fn blinding_sum(&self, coefficients: &[E::ScalarField]) -> E::G1 {
        let scalars: Vec<_> = coefficients.iter().map(|scalar| scalar.into_bigint()).collect();
        E::G1::msm_bigint(&self.hiding, &scalars)
    }
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
