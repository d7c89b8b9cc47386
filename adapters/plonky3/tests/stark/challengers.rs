//! Challengers for tests of the prover.

use p3_challenger::{CanObserve, CanSample, CanSampleBits, FieldChallenger, GrindingChallenger};
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing, PrimeField64};

/// A challenger that finds the smallest witness of a proof of work, by a serial search.
#[derive(Debug, Clone)]
pub(crate) struct Least<C>(pub(crate) C);

impl<T, C: CanObserve<T>> CanObserve<T> for Least<C> {
    fn observe(&mut self, value: T) {
        self.0.observe(value);
    }
}

impl<T, C: CanSample<T>> CanSample<T> for Least<C> {
    fn sample(&mut self) -> T {
        self.0.sample()
    }
}

impl<T, C: CanSampleBits<T>> CanSampleBits<T> for Least<C> {
    fn sample_bits(&mut self, bits: usize) -> T {
        self.0.sample_bits(bits)
    }
}

impl<F: PrimeField64, C: FieldChallenger<F>> FieldChallenger<F> for Least<C> {}

impl<C: GrindingChallenger<Witness: PrimeField64> + Clone> GrindingChallenger for Least<C> {
    type Witness = C::Witness;

    fn grind(&mut self, bits: usize) -> Self::Witness {
        let works = |witness: &Self::Witness| self.0.clone().check_witness(bits, *witness);
        let witness = (0..).map(Self::Witness::from_u64).find(works).expect("a witness");
        assert!(self.check_witness(bits, witness));
        witness
    }
}

/// A challenger whose challenges are all the same element of the base field.
#[derive(Debug, Clone)]
pub(crate) struct Constant<C, F> {
    pub(crate) challenger: C,
    pub(crate) element: F,
    /// The degree of the extension, and the number of coefficients that were drawn.
    pub(crate) degree: usize,
    pub(crate) drawn: usize,
}

impl<T, C: CanObserve<T>, F> CanObserve<T> for Constant<C, F> {
    fn observe(&mut self, value: T) {
        self.challenger.observe(value);
    }
}

impl<EF: BasedVectorSpace<F>, C, F: PrimeField64> CanSample<EF> for Constant<C, F> {
    fn sample(&mut self) -> EF {
        EF::from_basis_coefficients_fn(|_| {
            self.drawn += 1;
            if self.drawn % self.degree == 1 { self.element } else { F::ZERO }
        })
    }
}

impl<T, C: CanSampleBits<T>, F> CanSampleBits<T> for Constant<C, F> {
    fn sample_bits(&mut self, bits: usize) -> T {
        self.challenger.sample_bits(bits)
    }
}

impl<F: PrimeField64, C: FieldChallenger<F>> FieldChallenger<F> for Constant<C, F> {}

impl<F: PrimeField64, C: GrindingChallenger<Witness = F>> GrindingChallenger for Constant<C, F> {
    type Witness = F;

    fn grind(&mut self, bits: usize) -> F {
        self.challenger.grind(bits)
    }
}
