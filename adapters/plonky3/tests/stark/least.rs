//! A challenger that finds the smallest witness of a proof of work.

use p3_challenger::{CanObserve, CanSample, CanSampleBits, FieldChallenger, GrindingChallenger};
use p3_field::{PrimeCharacteristicRing, PrimeField64};

/// Plonky3's challenger, with a serial search.
#[derive(Debug, Clone)]
pub(super) struct Least<C>(pub(super) C);

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
