//! Arkworks' radix-2 domain with the engine behind it.

use ark_ff::FftField;
use ark_poly::domain::radix2::Elements;
use ark_poly::domain::{DomainCoeff, EvaluationDomain, Radix2EvaluationDomain};
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize, Compress, Read, SerializationError, Valid, Validate};
use rayon::prelude::*;
use ringforge::{Error, Op, Program, Result};

use crate::backend::Backend;
use crate::field::{EngineField, root};

/// A subgroup of F of 2^k elements or a coset of it, as [`Radix2EvaluationDomain`]: same elements, same order, same bytes.
///
/// Its own methods [`fft`](Self::fft), [`ifft`](Self::ifft) and their `_in_place` twins run on the engine, by
/// [`Backend::shared`]. They are what a call means where the type is known to be `Domain<F>` with an [`EngineField`] F. Where it
/// is any [`EvaluationDomain`], the trait's methods of that name are called: they take coefficients of any type, and so run
/// arkworks' own code on the CPU, with the same results. Generic code that should use the engine takes a `Domain<F>`:
///
/// ```
/// use ark_bls12_381::Fr;
/// use ark_ff::FftField;
/// use ark_poly::EvaluationDomain;
/// use ringforge_arkworks::{Backend, Domain, EngineField};
///
/// fn on_the_engine<F: EngineField>(domain: &Domain<F>, coeffs: &mut Vec<F>) {
///     domain.fft_in_place(coeffs);
/// }
///
/// fn on_the_cpu_by_arkworks<F: FftField, D: EvaluationDomain<F>>(domain: &D, coeffs: &mut Vec<F>) {
///     domain.fft_in_place(coeffs);
/// }
///
/// let domain = Domain::<Fr>::new(1 << 12).expect("Fr has such roots");
/// let coeffs: Vec<Fr> = (0..1 << 12).map(Fr::from).collect();
/// let (mut a, mut b, mut c) = (coeffs.clone(), coeffs.clone(), coeffs);
/// on_the_engine(&domain, &mut a);
/// on_the_cpu_by_arkworks(&domain, &mut b);
/// domain.forward(Backend::shared(), &mut c)?; // on the engine too, of a backend of one's choice, with errors
/// assert!(a == b && b == c);
/// # Ok::<(), ringforge_arkworks::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CanonicalSerialize)]
pub struct Domain<F: FftField>(Radix2EvaluationDomain<F>);

impl<F: EngineField> Domain<F> {
    /// The coset of this offset of exactly n points; the subgroup for an offset of 1.
    ///
    /// # Errors
    /// [`Error::Length`] unless n is a power of two, [`Error::NoRoot`] beyond the field's two-adicity, [`Error::Ring`] for an
    /// offset of 0.
    pub fn of_size(n: usize, offset: F) -> Result<Self> {
        if !n.is_power_of_two() {
            let expected = n.checked_next_power_of_two().unwrap_or(0);
            return Err(Error::Length { what: "points of a domain, a power of two", expected, got: n });
        }
        root::<F>(n as u64)?;
        Self::new_coset(n, offset).ok_or_else(|| Error::Ring { why: "the coset of 0 has one point".into() })
    }

    /// Values of the polynomial with these coefficients, as [`Domain::fft_in_place`].
    #[must_use]
    pub fn fft(&self, coeffs: &[F]) -> Vec<F> {
        let mut values = coeffs.to_vec();
        self.fft_in_place(&mut values);
        values
    }

    /// Coefficients of the polynomial with these values, as [`Domain::ifft_in_place`].
    #[must_use]
    pub fn ifft(&self, evals: &[F]) -> Vec<F> {
        let mut coeffs = evals.to_vec();
        self.ifft_in_place(&mut coeffs);
        coeffs
    }

    /// Replaces coefficients, cut or padded with zeros to the domain's size, by the polynomial's values in natural order.
    ///
    /// Where the backend fails, a line in the log says so and arkworks' code does it.
    pub fn fft_in_place(&self, coeffs: &mut Vec<F>) {
        let done = self.try_shared(coeffs, Self::forward);
        if !done {
            self.0.fft_in_place(coeffs);
        }
    }

    /// Replaces values in natural order, cut or padded with zeros to the domain's size, by the polynomial's coefficients.
    ///
    /// Where the backend fails, a line in the log says so and arkworks' code does it.
    pub fn ifft_in_place(&self, evals: &mut Vec<F>) {
        let done = self.try_shared(evals, Self::inverse);
        if !done {
            self.0.ifft_in_place(evals);
        }
    }

    /// Replaces the coefficients of polynomials, one after another, by their values.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is a whole number of polynomials; [`Error::TooLarge`] beyond
    /// [`Ring::MAX_DEGREE`](ringforge::Ring::MAX_DEGREE), [`Error::Unsupported`] for a field of fewer than 193 bits,
    /// [`Error::OutOfMemory`] and what else the device says. The data then is as it was.
    pub fn forward(&self, backend: &Backend, polynomials: &mut [F]) -> Result<()> {
        self.transform(backend, Op::Forward, polynomials)
    }

    /// Replaces the values of polynomials, one after another, by their coefficients.
    ///
    /// # Errors
    /// As [`Domain::forward`].
    pub fn inverse(&self, backend: &Backend, polynomials: &mut [F]) -> Result<()> {
        self.transform(backend, Op::Inverse, polynomials)
    }

    /// The transform [`Op::Forward`] or [`Op::Inverse`] as a program for data that stays on the backend's device: polynomials
    /// of one buffer, one after another and as many as its batch, are replaced in place. Elements are their four Montgomery
    /// limbs, least significant first.
    ///
    /// # Errors
    /// As [`Domain::forward`] but for lengths; [`Error::Unsupported`] for other operations.
    pub fn program(&self, backend: &Backend, op: Op) -> Result<Program> {
        backend.transform(op, self.size(), self.0.offset)
    }

    /// Whether the shared backend did this to a vector of the domain's size.
    fn try_shared(&self, data: &mut Vec<F>, transform: fn(&Self, &Backend, &mut [F]) -> Result<()>) -> bool {
        if !Backend::shared().serves(self.size()) {
            return false;
        }
        let len = data.len();
        data.resize(self.size(), F::ZERO);
        let outcome = transform(self, Backend::shared(), data);
        if let Err(error) = &outcome {
            log::warn!("a transform of {} points runs in arkworks: {error}", self.size());
            data.truncate(len);
        }
        outcome.is_ok()
    }

    /// Transforms polynomials, one after another.
    fn transform(&self, backend: &Backend, op: Op, polynomials: &mut [F]) -> Result<()> {
        let (n, got) = (self.size(), polynomials.len());
        if !got.is_multiple_of(n) {
            return Err(Error::Length { what: "whole polynomials", expected: got / n * n, got });
        }
        let program = self.program(backend, op)?;
        backend.staged(got, |staging| {
            map(polynomials, staging, |x| x.limbs());
            program.on_host(got / n).output("data", staging).run()?;
            map(staging, polynomials, |limbs| F::from_limbs(*limbs));
            Ok(())
        })
    }
}

/// Maps elements, on several threads.
fn map<A: Sync, B: Send>(from: &[A], to: &mut [B], map: impl Fn(&A) -> B + Sync) {
    ringforge_cpu::threads::start();
    let pieces = from.par_chunks(PIECE).zip(to.par_chunks_mut(PIECE));
    pieces.for_each(|(from, to)| to.iter_mut().zip(from).for_each(|(to, x)| *to = map(x)));
}

/// Elements that a thread maps at a time.
const PIECE: usize = 1 << 12;

impl<F: FftField> EvaluationDomain<F> for Domain<F> {
    type Elements = Elements<F>;

    /// `None` beyond the field's two-adicity.
    fn new(num_coeffs: usize) -> Option<Self> {
        Radix2EvaluationDomain::new(Self::compute_size_of_domain(num_coeffs)?).map(Self)
    }

    fn get_coset(&self, offset: F) -> Option<Self> {
        self.0.get_coset(offset).map(Self)
    }

    fn compute_size_of_domain(num_coeffs: usize) -> Option<usize> {
        Radix2EvaluationDomain::<F>::compute_size_of_domain(num_coeffs)
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn log_size_of_group(&self) -> u64 {
        self.0.log_size_of_group()
    }

    fn size_inv(&self) -> F {
        self.0.size_inv
    }

    fn group_gen(&self) -> F {
        self.0.group_gen
    }

    fn group_gen_inv(&self) -> F {
        self.0.group_gen_inv
    }

    fn coset_offset(&self) -> F {
        self.0.offset
    }

    fn coset_offset_inv(&self) -> F {
        self.0.offset_inv
    }

    fn coset_offset_pow_size(&self) -> F {
        self.0.offset_pow_size
    }

    /// Arkworks' code: T may be anything, and nothing safe tells whether it is F. [`Domain::fft_in_place`] of the type itself
    /// runs on the engine.
    fn fft_in_place<T: DomainCoeff<F>>(&self, coeffs: &mut Vec<T>) {
        self.0.fft_in_place(coeffs);
    }

    /// Arkworks' code: T may be anything, and nothing safe tells whether it is F. [`Domain::ifft_in_place`] of the type itself
    /// runs on the engine.
    fn ifft_in_place<T: DomainCoeff<F>>(&self, evals: &mut Vec<T>) {
        self.0.ifft_in_place(evals);
    }

    fn elements(&self) -> Elements<F> {
        self.0.elements()
    }
}

impl<F: FftField> Valid for Domain<F> {
    /// Arkworks takes any numbers for a domain; here they must be those of one.
    fn check(&self) -> Result<(), SerializationError> {
        let size = usize::try_from(self.0.size).map_err(|_| SerializationError::InvalidData)?;
        match Self::new_coset(size, self.0.offset) {
            Some(domain) if domain == *self => Ok(()),
            _ => Err(SerializationError::InvalidData),
        }
    }
}

impl<F: FftField> CanonicalDeserialize for Domain<F> {
    fn deserialize_with_mode<R: Read>(
        reader: R,
        compress: Compress,
        validate: Validate,
    ) -> Result<Self, SerializationError> {
        let domain = Self(Radix2EvaluationDomain::deserialize_with_mode(reader, compress, validate)?);
        // an unchecked one could not be trusted to have a size
        domain.check().map(|()| domain)
    }
}
