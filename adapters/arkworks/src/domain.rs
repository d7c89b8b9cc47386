//! Arkworks' radix-2 domain, with transforms on the engine.

use ark_ff::FftField;
use ark_poly::domain::radix2::Elements;
use ark_poly::domain::{DomainCoeff, EvaluationDomain, Radix2EvaluationDomain};
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize, Compress, Read, SerializationError, Valid, Validate};
use rayon::prelude::*;
use ringforge::{Error, Op, Program, Result};

use crate::backend::Backend;
use crate::field::{EngineField, root};

/// A subgroup of F with 2^k elements, or a coset of one. Elements, their order and serialized bytes are those of
/// [`Radix2EvaluationDomain`].
///
/// The inherent methods [`fft`](Self::fft), [`ifft`](Self::ifft) and their `_in_place` variants run on the engine, on
/// [`Backend::shared`]. A call resolves to them where the type is known to be `Domain<F>` with an [`EngineField`] F.
///
/// In code that is generic over [`EvaluationDomain`], the trait's methods of the same names are called. They take
/// coefficients of any type, and so run arkworks' own code on the CPU, with the same results. Generic code that
/// should use the engine takes a `Domain<F>`:
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
/// domain.forward(Backend::shared(), &mut c)?; // on the engine too, with an explicit backend and typed errors
/// assert!(a == b && b == c);
/// # Ok::<(), ringforge_arkworks::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CanonicalSerialize)]
pub struct Domain<F: FftField>(Radix2EvaluationDomain<F>);

impl<F: EngineField> Domain<F> {
    /// The coset g·H of exactly n points, where g is `offset` and H the subgroup of order n. An offset of 1 gives H
    /// itself.
    ///
    /// # Errors
    /// [`Error::Length`] unless n is a power of two; [`Error::NoRoot`] if the field has no root of unity of order n;
    /// [`Error::Ring`] if the offset is 0.
    pub fn of_size(n: usize, offset: F) -> Result<Self> {
        if !n.is_power_of_two() {
            let expected = n.checked_next_power_of_two().unwrap_or(0);
            return Err(Error::Length { what: "number of points (must be a power of two)", expected, got: n });
        }
        root::<F>(n as u64)?;
        Self::new_coset(n, offset).ok_or_else(|| Error::Ring { why: "the offset of a coset must not be 0".into() })
    }

    /// Returns the evaluations of the polynomial with these coefficients. Truncates or pads like
    /// [`Domain::fft_in_place`].
    #[must_use]
    pub fn fft(&self, coeffs: &[F]) -> Vec<F> {
        let mut values = coeffs.to_vec();
        self.fft_in_place(&mut values);
        values
    }

    /// Returns the coefficients of the polynomial with these evaluations. Truncates or pads like
    /// [`Domain::ifft_in_place`].
    #[must_use]
    pub fn ifft(&self, evals: &[F]) -> Vec<F> {
        let mut coeffs = evals.to_vec();
        self.ifft_in_place(&mut coeffs);
        coeffs
    }

    /// Replaces coefficients by the polynomial's evaluations in natural order. The input is truncated or padded with
    /// zeros to the domain's size.
    ///
    /// Arkworks' code transforms domains that are too small for the engine to be faster, and takes over if the backend
    /// fails, which is logged.
    pub fn fft_in_place(&self, coeffs: &mut Vec<F>) {
        let done = self.try_shared(coeffs, Self::forward);
        if !done {
            self.0.fft_in_place(coeffs);
        }
    }

    /// Replaces evaluations in natural order by the polynomial's coefficients. The input is truncated or padded with
    /// zeros to the domain's size.
    ///
    /// Arkworks' code takes over in the same cases as for [`Domain::fft_in_place`].
    pub fn ifft_in_place(&self, evals: &mut Vec<F>) {
        let done = self.try_shared(evals, Self::inverse);
        if !done {
            self.0.ifft_in_place(evals);
        }
    }

    /// Replaces the coefficients of contiguous polynomials by their evaluations in natural order.
    ///
    /// # Errors
    /// [`Error::Length`] unless the number of elements is a multiple of the domain's size; [`Error::TooLarge`] if this
    /// size exceeds [`Ring::MAX_DEGREE`](ringforge::Ring::MAX_DEGREE); [`Error::Unsupported`] if the field has fewer
    /// than 193 bits; [`Error::OutOfMemory`] if the device or host has too little memory; other errors of the device.
    /// On error the data is unchanged.
    pub fn forward(&self, backend: &Backend, polynomials: &mut [F]) -> Result<()> {
        self.transform(backend, Op::Forward, polynomials)
    }

    /// Replaces the evaluations of contiguous polynomials, in natural order, by their coefficients.
    ///
    /// # Errors
    /// The errors of [`Domain::forward`].
    pub fn inverse(&self, backend: &Backend, polynomials: &mut [F]) -> Result<()> {
        self.transform(backend, Op::Inverse, polynomials)
    }

    /// The program for [`Op::Forward`] or [`Op::Inverse`] on data that stays on the backend's device. It transforms a
    /// batch of contiguous polynomials in place, in one buffer. An element is stored as four Montgomery limbs, least
    /// significant first.
    ///
    /// # Errors
    /// The errors of [`Domain::forward`] except [`Error::Length`]; [`Error::Unsupported`] for other operations.
    pub fn program(&self, backend: &Backend, op: Op) -> Result<Program> {
        backend.transform(op, self.size(), self.0.offset)
    }

    /// Resizes `data` to the domain's size, transforms it on the shared backend, and returns true. Returns false, with
    /// the padding removed, if arkworks' code should run instead: the domain is too small, or the backend failed, which
    /// is logged.
    fn try_shared(&self, data: &mut Vec<F>, transform: fn(&Self, &Backend, &mut [F]) -> Result<()>) -> bool {
        if !Backend::shared().serves(self.size()) {
            return false;
        }
        let len = data.len();
        data.resize(self.size(), F::ZERO);
        let outcome = transform(self, Backend::shared(), data);
        if let Err(error) = &outcome {
            log::warn!("a transform of {} points falls back to arkworks: {error}", self.size());
            data.truncate(len);
        }
        outcome.is_ok()
    }

    /// Transforms contiguous polynomials in place, through a page-locked staging buffer.
    fn transform(&self, backend: &Backend, op: Op, polynomials: &mut [F]) -> Result<()> {
        let (n, got) = (self.size(), polynomials.len());
        if !got.is_multiple_of(n) {
            return Err(Error::Length {
                what: "number of elements (must be a multiple of the domain's size)",
                expected: got / n * n,
                got,
            });
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

/// Writes `map(x)` for each element x of `from` to `to`, in parallel.
fn map<A: Sync, B: Send>(from: &[A], to: &mut [B], map: impl Fn(&A) -> B + Sync) {
    ringforge_cpu::threads::start();
    let pieces = from.par_chunks(PIECE).zip(to.par_chunks_mut(PIECE));
    pieces.for_each(|(from, to)| to.iter_mut().zip(from).for_each(|(to, x)| *to = map(x)));
}

/// Elements per parallel task of `map`.
const PIECE: usize = 1 << 12;

impl<F: FftField> EvaluationDomain<F> for Domain<F> {
    type Elements = Elements<F>;

    /// Returns `None` if the field has no subgroup of 2^k elements with 2^k ≥ `num_coeffs`.
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

    /// Runs arkworks' code, because no safe code can tell whether T is F. The inherent [`Domain::fft_in_place`] runs
    /// on the engine.
    fn fft_in_place<T: DomainCoeff<F>>(&self, coeffs: &mut Vec<T>) {
        self.0.fft_in_place(coeffs);
    }

    /// Runs arkworks' code, because no safe code can tell whether T is F. The inherent [`Domain::ifft_in_place`] runs
    /// on the engine.
    fn ifft_in_place<T: DomainCoeff<F>>(&self, evals: &mut Vec<T>) {
        self.0.ifft_in_place(evals);
    }

    fn elements(&self) -> Elements<F> {
        self.0.elements()
    }
}

impl<F: FftField> Valid for Domain<F> {
    /// Rejects sizes, offsets and generators that describe no domain. Arkworks' own check accepts any.
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
        // always check: an unchecked domain could have an invalid size
        domain.check().map(|()| domain)
    }
}
