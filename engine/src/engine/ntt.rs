//! Transforms of a ring, on host memory.

use bytemuck::Pod;

use crate::job::{Job, Op};
use ringforge_math::error::Result;
use ringforge_math::poly::{Order, PolyType};
use ringforge_math::split::Split;

use super::{Engine, checked, elements_of};

/// Number-theoretic transforms of a ring on host memory: of any batch, which the length says. Made by [`Engine::ntt`].
///
/// Evaluations are in natural order, or as [`Ntt::order`] says: for a ring that splits into linear factors the values at
/// the powers of a root, else residues modulo the factors, see [`Op::Forward`].
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
        // what cannot be is refused now; plans are made once, with their programs
        Split::of(poly, None)?;
        Ok(Self { engine: engine.clone(), poly: poly.clone(), order: Order::Natural })
    }

    /// With evaluations in this order; the order of the tree saves a pass over long rows.
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// The type of the elements.
    #[must_use]
    pub fn poly(&self) -> &PolyType {
        &self.poly
    }

    /// From coefficients to evaluations, in place.
    ///
    /// # Errors
    /// As [`Engine::mul`].
    pub fn forward<T: Pod>(&self, elements: &mut [T]) -> Result<()> {
        checked(&self.poly, "elements", elements)?;
        self.forward_unchecked(elements)
    }

    /// From evaluations to coefficients, in place.
    ///
    /// # Errors
    /// As [`Engine::mul`].
    pub fn inverse<T: Pod>(&self, elements: &mut [T]) -> Result<()> {
        checked(&self.poly, "elements", elements)?;
        self.inverse_unchecked(elements)
    }

    /// [`Ntt::forward`] for residues that are known to be below their moduli: else an element's result means nothing (unless
    /// the ring [accepts any word](PolyType::accepts_any_word)).
    ///
    /// # Errors
    /// As [`Engine::mul_unchecked`].
    pub fn forward_unchecked<T: Pod>(&self, elements: &mut [T]) -> Result<()> {
        self.run(Op::Forward, elements)
    }

    /// [`Ntt::inverse`] for residues that are known to be below their moduli: else an element's result means nothing (unless
    /// the ring [accepts any word](PolyType::accepts_any_word)).
    ///
    /// # Errors
    /// As [`Engine::mul_unchecked`].
    pub fn inverse_unchecked<T: Pod>(&self, elements: &mut [T]) -> Result<()> {
        self.run(Op::Inverse, elements)
    }

    /// The evaluations of polynomials, in a new vector.
    ///
    /// # Errors
    /// As [`Engine::mul`].
    pub fn evaluate<T: Pod>(&self, coefficients: &[T]) -> Result<Vec<T>> {
        let mut elements = coefficients.to_vec();
        self.forward(&mut elements).map(|()| elements)
    }

    /// The polynomials with these evaluations, in a new vector.
    ///
    /// # Errors
    /// As [`Engine::mul`].
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
