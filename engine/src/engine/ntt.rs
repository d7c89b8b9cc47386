//! Transforms of a ring on host memory.

use bytemuck::Pod;

use crate::job::{Job, Op};
use ringforge_math::error::Result;
use ringforge_math::factorization::Factorization;
use ringforge_math::poly::{Order, PolyType};

use super::{Engine, checked, elements_of};

/// Number-theoretic transforms of a ring on host memory. The length of the data determines the batch size. Made by
/// [`Engine::ntt`].
///
/// Evaluations are in natural order unless [`Ntt::order`] says otherwise. They are values at the roots of f, the ring's
/// quotient polynomial, if f splits into linear factors. Otherwise they are residues modulo the factors of f: see
/// [`Op::Forward`].
///
/// ```
/// use ringforge::{Engine, Ring};
///
/// let ring: Ring = "17:x^4+1".parse()?;
/// let ntt = Engine::best().ntt(&ring)?;
/// let mut polynomials = vec![1u16, 0, 0, 0, 0, 1, 0, 0]; // 1, and x
/// ntt.forward(&mut polynomials)?;
/// assert_eq!(polynomials[..4], [1; 4]);
/// ntt.inverse(&mut polynomials)?;
/// assert_eq!(polynomials, [1, 0, 0, 0, 0, 1, 0, 0]);
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ntt {
    engine: Engine,
    poly: PolyType,
    order: Order,
}

impl Ntt {
    pub(super) fn new(engine: &Engine, poly: &PolyType) -> Result<Self> {
        // returns the error of a ring without a transform now; plans are made later
        Factorization::of(poly, None)?;
        Ok(Self { engine: engine.clone(), poly: poly.clone(), order: Order::Natural })
    }

    /// Sets the order of evaluations; [`Order::DigitReversed`] saves a pass over long limbs.
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// The type of the elements.
    #[must_use]
    pub fn poly(&self) -> &PolyType {
        &self.poly
    }

    /// Forward transform in place, from coefficients to evaluations.
    ///
    /// # Errors
    /// The errors of [`Engine::mul`], for the argument `elements`.
    pub fn forward<T: Pod>(&self, elements: &mut [T]) -> Result<()> {
        checked(&self.poly, "elements", elements)?;
        self.forward_unchecked(elements)
    }

    /// Inverse transform in place, from evaluations to coefficients.
    ///
    /// # Errors
    /// The errors of [`Engine::mul`], for the argument `elements`.
    pub fn inverse<T: Pod>(&self, elements: &mut [T]) -> Result<()> {
        checked(&self.poly, "elements", elements)?;
        self.inverse_unchecked(elements)
    }

    /// Like [`Ntt::forward`], without checking that residues are below their moduli. An element with a larger residue
    /// has a meaningless result, unless the ring [accepts any word](PolyType::accepts_any_word).
    ///
    /// # Errors
    /// The errors of [`Engine::mul_unchecked`], for the argument `elements`.
    pub fn forward_unchecked<T: Pod>(&self, elements: &mut [T]) -> Result<()> {
        self.run(Op::Forward, elements)
    }

    /// Like [`Ntt::inverse`], without checking that residues are below their moduli. An element with a larger residue
    /// has a meaningless result, unless the ring [accepts any word](PolyType::accepts_any_word).
    ///
    /// # Errors
    /// The errors of [`Engine::mul_unchecked`], for the argument `elements`.
    pub fn inverse_unchecked<T: Pod>(&self, elements: &mut [T]) -> Result<()> {
        self.run(Op::Inverse, elements)
    }

    /// The evaluations of polynomials, in a new vector.
    ///
    /// # Errors
    /// The errors of [`Engine::mul`], for the argument `elements`.
    pub fn evaluate<T: Pod>(&self, coefficients: &[T]) -> Result<Vec<T>> {
        let mut elements = coefficients.to_vec();
        self.forward(&mut elements).map(|()| elements)
    }

    /// The polynomials with these evaluations, in a new vector.
    ///
    /// # Errors
    /// The errors of [`Engine::mul`], for the argument `elements`.
    pub fn interpolate<T: Pod>(&self, evaluations: &[T]) -> Result<Vec<T>> {
        let mut elements = evaluations.to_vec();
        self.inverse(&mut elements).map(|()| elements)
    }

    fn job(&self, op: Op) -> Job {
        Job::new(&self.poly, op).order(self.order).in_place()
    }

    fn run<T: Pod>(&self, op: Op, elements: &mut [T]) -> Result<()> {
        let batch = elements_of(&self.poly, "elements", elements)?;
        self.engine.program(&self.job(op))?.on_host(batch).output("data", elements).run()
    }
}
