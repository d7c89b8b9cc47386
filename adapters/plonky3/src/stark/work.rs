//! Proofs of work with the smallest witness.

use core::any::Any;

use p3_challenger::{CanObserve, CanSample, CanSampleBits, GrindingChallenger};
use ringforge::{Engine, Error, Result, Stream};

use super::elements::upload;
use crate::hash::HashField;
use crate::poseidon2::{Poseidon2, WITNESSES};

/// A challenger that has the device search the smallest witness of a proof of work. Plonky3's own takes the first that any
/// of its threads finds.
pub(super) struct Smallest<'a, F: HashField, C> {
    challenger: C,
    engine: &'a Engine,
    stream: &'a Stream,
    hash: &'a Poseidon2<F>,
    /// The device's error, which a challenger cannot return.
    error: Option<Error>,
}

impl<'a, F: HashField, C> Smallest<'a, F, C> {
    pub(super) fn new(challenger: C, engine: &'a Engine, stream: &'a Stream, hash: &'a Poseidon2<F>) -> Self {
        Self { challenger, engine, stream, hash, error: None }
    }

    /// # Errors
    /// The error of a search.
    pub(super) fn finish(self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

impl<F: HashField, C: GrindingChallenger<Witness = F> + 'static> Smallest<'_, F, C> {
    /// The smallest witness; `None` if the challenger is not a sponge of the hash, or no word is one.
    fn search(&self, bits: usize) -> Result<Option<F>> {
        let Some((state, place)) = F::before_witness(&self.challenger as &dyn Any, self.hash) else { return Ok(None) };
        let engine = self.engine;
        let key = ("proof of work", self.hash.key_of_rows());
        let program = engine.program_of(&key, |planner| self.hash.ground(planner))?;
        let state = upload(self.stream, &state)?;
        // on a GPU, one launch nearly always finds a witness; a CPU tries few that are larger than the smallest one
        let at_once = match engine.device().limits().is_cpu() {
            true => (1usize << bits >> 2).clamp(1 << 4, 1 << 14),
            false => (2usize << bits).clamp(1 << 10, 1 << 20),
        };
        let items = at_once / WITNESSES;
        for begin in (0..F::ORDER_U64).step_by(items * WITNESSES) {
            let search = self.stream.upload(&[begin, place as u64, (1 << bits) - 1])?;
            let mut found = engine.device().buffer(items * size_of::<u32>())?;
            let call = program.on(self.stream, items).input("state", &state).input("search", &search);
            call.output("found", &mut found).run()?;
            let found: Vec<u32> = self.stream.download(&found)?;
            let first = found.iter().enumerate().find(|(_, number)| **number != u32::MAX);
            if let Some((item, number)) = first {
                let witness = begin + (item * WITNESSES) as u64 + u64::from(*number);
                return Ok((witness < F::ORDER_U64).then(|| F::from_u64(witness)));
            }
        }
        Ok(None)
    }
}

impl<F: HashField, C: GrindingChallenger<Witness = F> + 'static> GrindingChallenger for Smallest<'_, F, C> {
    type Witness = F;

    fn grind(&mut self, bits: usize) -> F {
        if bits == 0 {
            return F::ZERO;
        }
        match self.search(bits) {
            Ok(Some(witness)) if self.challenger.check_witness(bits, witness) => return witness,
            Ok(_) => {}
            Err(error) => self.error = Some(error),
        }
        self.challenger.grind(bits)
    }
}

impl<F: HashField, C: CanObserve<T>, T> CanObserve<T> for Smallest<'_, F, C> {
    fn observe(&mut self, value: T) {
        self.challenger.observe(value);
    }
}

impl<F: HashField, C: CanSample<T>, T> CanSample<T> for Smallest<'_, F, C> {
    fn sample(&mut self) -> T {
        self.challenger.sample()
    }
}

impl<F: HashField, C: CanSampleBits<T>, T> CanSampleBits<T> for Smallest<'_, F, C> {
    fn sample_bits(&mut self, bits: usize) -> T {
        self.challenger.sample_bits(bits)
    }
}
