//! Marlin's polynomial commitments on a device, as a `PolynomialCommitment` of ark-poly-commit.

use core::fmt;
use core::marker::PhantomData;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ark_crypto_primitives::sponge::CryptographicSponge;
use ark_ec::pairing::Pairing;
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{AdditiveGroup, Field, PrimeField};
use ark_poly::DenseUVPolynomial;
use ark_poly_commit::kzg10::{self, Powers, Proof};
use ark_poly_commit::marlin_pc::{Commitment, CommitterKey, MarlinKZG10, Randomness, UniversalParams, VerifierKey};
use ark_poly_commit::{
    BatchLCProof, CHALLENGE_SIZE, Error, Evaluations, LabeledCommitment, LabeledPolynomial, LinearCombination,
    PCCommitmentState, PCCommitterKey, PolynomialCommitment, QuerySet,
};
use ark_serialize::{
    CanonicalDeserialize, CanonicalSerialize, Compress, Read, SerializationError, Valid, Validate, Write,
};
use ark_std::ops::Div;
use ark_std::rand::RngCore;

use super::{KzgDevice, KzgError, quotient, reborrowed};
use crate::backend::Backend;
use crate::field::EngineField;
use crate::points::DevicePoint;

/// The polynomial commitments of [`MarlinKZG10`], made on the device of the [shared](Backend::shared) backend.
/// Commitments, proofs, verifier keys and the use of random numbers are the same, so the other side may use
/// `MarlinKZG10`.
///
/// Provers that are generic over `PolynomialCommitment` take it in its place.
pub struct MarlinKzgDevice<E, P>(PhantomData<(E, P)>);

impl<E, P> fmt::Debug for MarlinKzgDevice<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MarlinKzgDevice")
    }
}

/// The committer key of [`MarlinKZG10`], whose powers are copied to the device when they are first used. It serialises
/// as that key. Clones share what is on the device.
#[derive(Clone)]
pub struct MarlinCommitterKey<E: Pairing> {
    key: CommitterKey<E>,
    device: Arc<Mutex<Option<Arc<OnDevice<E>>>>>,
}

/// The powers for polynomials, and those for shifted ones if degrees are bounded.
struct OnDevice<E: Pairing> {
    powers: KzgDevice<E>,
    shifted: Option<KzgDevice<E>>,
}

impl<E: Pairing> OnDevice<E> {
    fn shifted(&self, bound: usize) -> Result<&KzgDevice<E>, Error> {
        self.shifted.as_ref().ok_or(Error::UnsupportedDegreeBound(bound))
    }
}

impl<E: Pairing> From<CommitterKey<E>> for MarlinCommitterKey<E> {
    fn from(key: CommitterKey<E>) -> Self {
        Self { key, device: Arc::default() }
    }
}

impl<E: Pairing> fmt::Debug for MarlinCommitterKey<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MarlinCommitterKey").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<E: Pairing> PCCommitterKey for MarlinCommitterKey<E> {
    fn max_degree(&self) -> usize {
        self.key.max_degree()
    }

    fn supported_degree(&self) -> usize {
        self.key.supported_degree()
    }
}

impl<E: Pairing> Valid for MarlinCommitterKey<E> {
    fn check(&self) -> Result<(), SerializationError> {
        self.key.check()
    }
}

impl<E: Pairing> CanonicalSerialize for MarlinCommitterKey<E> {
    fn serialize_with_mode<W: Write>(&self, writer: W, compress: Compress) -> Result<(), SerializationError> {
        self.key.serialize_with_mode(writer, compress)
    }

    fn serialized_size(&self, compress: Compress) -> usize {
        self.key.serialized_size(compress)
    }
}

impl<E: Pairing> CanonicalDeserialize for MarlinCommitterKey<E> {
    fn deserialize_with_mode<R: Read>(
        reader: R,
        compress: Compress,
        validate: Validate,
    ) -> Result<Self, SerializationError> {
        CommitterKey::deserialize_with_mode(reader, compress, validate).map(Self::from)
    }
}

impl<E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint>> MarlinCommitterKey<E> {
    fn on_device(&self) -> Result<Arc<OnDevice<E>>, KzgError> {
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = &*device {
            return Ok(device.clone());
        }
        let upload = |powers: &Powers<'_, E>| KzgDevice::new(Backend::shared(), powers);
        let shifted = self.key.shifted_powers(None);
        let made = OnDevice { powers: upload(&self.key.powers())?, shifted: shifted.as_ref().map(upload).transpose()? };
        Ok(device.insert(Arc::new(made)).clone())
    }

    /// The powers by which polynomials of this degree bound are shifted.
    fn shift(&self, bound: usize) -> Result<usize, Error> {
        let largest = self.key.enforced_degree_bounds.as_ref().and_then(|bounds| bounds.last());
        largest.and_then(|largest| largest.checked_sub(bound)).ok_or(Error::UnsupportedDegreeBound(bound))
    }

    /// Returns an error if a polynomial's degree bound is not one of the key, or is below its degree.
    fn checks<P: DenseUVPolynomial<E::ScalarField>>(
        &self,
        polynomial: &LabeledPolynomial<E::ScalarField, P>,
    ) -> Result<(), Error> {
        let Some(degree_bound) = polynomial.degree_bound() else { return Ok(()) };
        let bounds = self.key.enforced_degree_bounds.as_ref().ok_or(Error::UnsupportedDegreeBound(degree_bound))?;
        if bounds.binary_search(&degree_bound).is_err() {
            return Err(Error::UnsupportedDegreeBound(degree_bound));
        }
        let poly_degree = polynomial.degree();
        if degree_bound < poly_degree || degree_bound > self.max_degree() {
            let (supported_degree, label) = (self.supported_degree(), polynomial.label().clone());
            return Err(Error::IncorrectDegreeBound { poly_degree, degree_bound, supported_degree, label });
        }
        Ok(())
    }
}

/// The combination of the quotients of shifted polynomials, and of their blinding.
struct Shifted<F: PrimeField, P: DenseUVPolynomial<F>> {
    quotient: P,
    randomness: kzg10::Randomness<F, P>,
    blinding_quotient: P,
}

impl<E, P> PolynomialCommitment<E::ScalarField, P> for MarlinKzgDevice<E, P>
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint>,
    P: DenseUVPolynomial<E::ScalarField, Point = E::ScalarField>,
    for<'a, 'b> &'a P: Div<&'b P, Output = P>,
{
    type UniversalParams = UniversalParams<E>;
    type CommitterKey = MarlinCommitterKey<E>;
    type VerifierKey = VerifierKey<E>;
    type Commitment = Commitment<E>;
    type CommitmentState = Randomness<E::ScalarField, P>;
    type Proof = Proof<E>;
    type BatchProof = Vec<Proof<E>>;
    type Error = KzgError;

    fn setup<R: RngCore>(
        max_degree: usize,
        num_vars: Option<usize>,
        rng: &mut R,
    ) -> Result<Self::UniversalParams, KzgError> {
        Ok(MarlinKZG10::<E, P>::setup(max_degree, num_vars, rng)?)
    }

    fn trim(
        params: &Self::UniversalParams,
        supported_degree: usize,
        supported_hiding_bound: usize,
        enforced_degree_bounds: Option<&[usize]>,
    ) -> Result<(Self::CommitterKey, Self::VerifierKey), KzgError> {
        let trimmed =
            MarlinKZG10::<E, P>::trim(params, supported_degree, supported_hiding_bound, enforced_degree_bounds);
        let (key, vk) = trimmed?;
        Ok((key.into(), vk))
    }

    fn commit<'a>(
        key: &Self::CommitterKey,
        polynomials: impl IntoIterator<Item = &'a LabeledPolynomial<E::ScalarField, P>>,
        mut rng: Option<&mut dyn RngCore>,
    ) -> Result<(Vec<LabeledCommitment<Self::Commitment>>, Vec<Self::CommitmentState>), KzgError>
    where
        P: 'a,
    {
        let device = key.on_device()?;
        let polynomials: Vec<_> = polynomials.into_iter().collect();
        let (mut plain, mut bounded) = (Vec::new(), Vec::new());
        for labeled in &polynomials {
            key.checks(labeled)?;
            plain.push((0, device.powers.checked(labeled.polynomial(), 0)?));
            if let Some(bound) = labeled.degree_bound() {
                let (shifted, shift) = (device.shifted(bound)?, key.shift(bound)?);
                bounded.push((shift, shifted.checked(labeled.polynomial(), shift)?));
            }
        }
        let plain = device.powers.sums(&plain)?;
        let bounded = device.shifted.as_ref().map_or(Ok(Vec::new()), |shifted| shifted.sums(&bounded))?;
        let mut bounded = bounded.into_iter();
        let (mut commitments, mut states) = (Vec::new(), Vec::new());
        for (labeled, sum) in polynomials.into_iter().zip(plain) {
            let hiding = labeled.hiding_bound();
            let (comm, rand) = device.powers.blinded(sum, hiding, reborrowed(&mut rng))?;
            let (mut shifted_comm, mut shifted_rand) = (None, None);
            if let Some((bound, sum)) = labeled.degree_bound().and_then(|bound| Some((bound, bounded.next()?))) {
                let made = device.shifted(bound)?.blinded(sum, hiding, reborrowed(&mut rng))?;
                (shifted_comm, shifted_rand) = (Some(made.0), Some(made.1));
            }
            let commitment = Commitment { comm, shifted_comm };
            commitments.push(LabeledCommitment::new(labeled.label().clone(), commitment, labeled.degree_bound()));
            states.push(Randomness { rand, shifted_rand });
        }
        Ok((commitments, states))
    }

    fn open<'a>(
        key: &Self::CommitterKey,
        polynomials: impl IntoIterator<Item = &'a LabeledPolynomial<E::ScalarField, P>>,
        _: impl IntoIterator<Item = &'a LabeledCommitment<Self::Commitment>>,
        z: &'a P::Point,
        sponge: &mut impl CryptographicSponge,
        states: impl IntoIterator<Item = &'a Self::CommitmentState>,
        _: Option<&mut dyn RngCore>,
    ) -> Result<Self::Proof, KzgError>
    where
        P: 'a,
        Self::CommitmentState: 'a,
        Self::Commitment: 'a,
    {
        let mut challenge = || sponge.squeeze_field_elements_with_sizes::<E::ScalarField>(&[CHALLENGE_SIZE])[0];
        let (mut sum, mut randomness) = (P::zero(), kzg10::Randomness::empty());
        let mut all_shifted = None;
        for (labeled, state) in polynomials.into_iter().zip(states) {
            key.checks(labeled)?;
            let factor = challenge();
            sum += (factor, labeled.polynomial());
            randomness += (factor, &state.rand);
            let (bound, of_shifted) = match (labeled.degree_bound(), &state.shifted_rand) {
                (None, None) => continue,
                (Some(bound), Some(of_shifted)) => (bound, of_shifted),
                _ => return Err(KzgError::Bound(labeled.label().clone())),
            };
            let factor = challenge();
            let mut shifted = vec![E::ScalarField::ZERO; key.shift(bound)?];
            shifted.extend(quotient(labeled.coeffs(), *z));
            let blinding = quotient(of_shifted.blinding_polynomial.coeffs(), *z);
            let all = all_shifted.get_or_insert_with(|| Shifted {
                quotient: P::zero(),
                randomness: kzg10::Randomness::empty(),
                blinding_quotient: P::zero(),
            });
            all.quotient += (factor, &P::from_coefficients_vec(shifted));
            all.randomness += (factor, of_shifted);
            all.blinding_quotient += (factor, &P::from_coefficients_vec(blinding));
        }
        let device = key.on_device()?;
        let Proof { w, mut random_v } = device.powers.open(&sum, *z, &randomness)?;
        let mut w = w.into_group();
        if let (Some(all), Some(powers)) = (all_shifted, &device.shifted) {
            w += powers.sums(&[(0, powers.checked(&all.quotient, 0)?)])?[0];
            w += powers.blinding_sum(all.blinding_quotient.coeffs());
            random_v = random_v.map(|v| v + all.randomness.blinding_polynomial.evaluate(z));
        }
        Ok(Proof { w: w.into_affine(), random_v })
    }

    fn check<'a>(
        vk: &Self::VerifierKey,
        commitments: impl IntoIterator<Item = &'a LabeledCommitment<Self::Commitment>>,
        z: &'a P::Point,
        values: impl IntoIterator<Item = E::ScalarField>,
        proof: &Self::Proof,
        sponge: &mut impl CryptographicSponge,
        rng: Option<&mut dyn RngCore>,
    ) -> Result<bool, KzgError>
    where
        Self::Commitment: 'a,
    {
        Ok(MarlinKZG10::<E, P>::check(vk, commitments, z, values, proof, sponge, rng)?)
    }

    fn batch_check<'a, R: RngCore>(
        vk: &Self::VerifierKey,
        commitments: impl IntoIterator<Item = &'a LabeledCommitment<Self::Commitment>>,
        queries: &QuerySet<P::Point>,
        evaluations: &Evaluations<P::Point, E::ScalarField>,
        proof: &Self::BatchProof,
        sponge: &mut impl CryptographicSponge,
        rng: &mut R,
    ) -> Result<bool, KzgError>
    where
        Self::Commitment: 'a,
    {
        Ok(MarlinKZG10::<E, P>::batch_check(vk, commitments, queries, evaluations, proof, sponge, rng)?)
    }

    fn open_combinations<'a>(
        key: &Self::CommitterKey,
        combinations: impl IntoIterator<Item = &'a LinearCombination<E::ScalarField>>,
        polynomials: impl IntoIterator<Item = &'a LabeledPolynomial<E::ScalarField, P>>,
        commitments: impl IntoIterator<Item = &'a LabeledCommitment<Self::Commitment>>,
        queries: &QuerySet<P::Point>,
        sponge: &mut impl CryptographicSponge,
        states: impl IntoIterator<Item = &'a Self::CommitmentState>,
        rng: Option<&mut dyn RngCore>,
    ) -> Result<BatchLCProof<E::ScalarField, Self::BatchProof>, KzgError>
    where
        P: 'a,
        Self::CommitmentState: 'a,
        Self::Commitment: 'a,
    {
        let known: BTreeMap<_, _> =
            polynomials.into_iter().zip(states).map(|(labeled, state)| (labeled.label(), (labeled, state))).collect();
        let (mut sums, mut sum_states) = (Vec::new(), Vec::new());
        for combination in combinations {
            let label = combination.label().clone();
            let (mut sum, mut sum_state) = (P::zero(), Randomness::empty());
            let (mut degree_bound, mut hiding_bound) = (None, None);
            for (factor, term) in combination.iter().filter(|(_, term)| !term.is_one()) {
                let missing = || Error::MissingPolynomial { label: format!("{term:?}") };
                let name: &String = term.try_into().map_err(|_| missing())?;
                let (labeled, state) = known.get(name).ok_or_else(missing)?;
                if labeled.degree_bound().is_some() {
                    // a bound holds for a polynomial alone, not for a sum or a multiple
                    if combination.len() != 1 || *factor != E::ScalarField::ONE {
                        return Err(Error::EquationHasDegreeBounds(label).into());
                    }
                    degree_bound = labeled.degree_bound();
                }
                hiding_bound = hiding_bound.max(labeled.hiding_bound());
                sum += (*factor, labeled.polynomial());
                sum_state += (*factor, *state);
            }
            sums.push(LabeledPolynomial::new(label, sum, degree_bound, hiding_bound));
            sum_states.push(sum_state);
        }
        // an opening does not read commitments, but takes one for each polynomial
        let any: Vec<_> = commitments.into_iter().take(1).collect();
        let any = any.into_iter().cycle().take(sums.len());
        let proof = Self::batch_open(key, &sums, any, queries, sponge, &sum_states, rng)?;
        Ok(BatchLCProof { proof, evals: None })
    }

    fn check_combinations<'a, R: RngCore>(
        vk: &Self::VerifierKey,
        combinations: impl IntoIterator<Item = &'a LinearCombination<E::ScalarField>>,
        commitments: impl IntoIterator<Item = &'a LabeledCommitment<Self::Commitment>>,
        queries: &QuerySet<P::Point>,
        evaluations: &Evaluations<P::Point, E::ScalarField>,
        proof: &BatchLCProof<E::ScalarField, Self::BatchProof>,
        sponge: &mut impl CryptographicSponge,
        rng: &mut R,
    ) -> Result<bool, KzgError>
    where
        Self::Commitment: 'a,
    {
        type Stock<E, P> = MarlinKZG10<E, P>;
        Ok(Stock::<E, P>::check_combinations(vk, combinations, commitments, queries, evaluations, proof, sponge, rng)?)
    }
}
