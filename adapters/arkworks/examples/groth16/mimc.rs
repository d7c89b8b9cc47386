//! A MiMC circuit. It proves knowledge of the secret start x of a chain x ← (x + k)^3 with one constant k per round.
//! The end of the chain is public.

use ark_ff::PrimeField;
use ark_relations::gr1cs::{
    ConstraintSynthesizer, ConstraintSystem, ConstraintSystemRef, LinearCombination, Matrix, R1CS_PREDICATE_LABEL,
    Result, SynthesisError, Variable,
};

/// A MiMC chain, with two constraints per round.
#[derive(Debug, Clone)]
pub(crate) struct Mimc<F> {
    /// The round constants.
    pub(crate) constants: Vec<F>,
    /// The secret start; `None` for key generation.
    pub(crate) start: Option<F>,
}

impl<F: PrimeField> Mimc<F> {
    /// A chain of `rounds` rounds, whose constants are the powers of the field's generator.
    pub(crate) fn new(rounds: usize, start: Option<F>) -> Self {
        let constants = std::iter::successors(Some(F::GENERATOR), |k| Some(*k * F::GENERATOR));
        Self { constants: constants.take(rounds).collect(), start }
    }

    /// The public end of the chain; `None` without a start.
    pub(crate) fn end(&self) -> Option<F> {
        self.start.map(|start| self.constants.iter().fold(start, |x, k| (x + k).pow([3])))
    }

    /// The constraint matrices, the number of instance variables, and the assignment (instance first, then witness).
    pub(crate) fn system(self) -> Result<(Vec<Matrix<F>>, usize, Vec<F>)> {
        let cs = ConstraintSystem::new_ref();
        self.generate_constraints(cs.clone())?;
        cs.finalize();
        let matrices = cs.to_matrices()?.remove(R1CS_PREDICATE_LABEL).ok_or(SynthesisError::PredicateNotFound)?;
        let assignment = [cs.instance_assignment()?, cs.witness_assignment()?].concat();
        Ok((matrices, cs.num_instance_variables(), assignment))
    }
}

impl<F: PrimeField> ConstraintSynthesizer<F> for Mimc<F> {
    fn generate_constraints(self, cs: ConstraintSystemRef<F>) -> Result<()> {
        let end = self.end();
        let mut value = self.start;
        let mut x = cs.new_witness_variable(|| value.ok_or(SynthesisError::AssignmentMissing))?;
        for (i, k) in self.constants.iter().enumerate() {
            let sum = value.map(|x| x + k);
            let square = sum.map(|x| x.square());
            value = sum.map(|x| x.square() * x);
            let square = cs.new_witness_variable(|| square.ok_or(SynthesisError::AssignmentMissing))?;
            let next = if i + 1 < self.constants.len() {
                cs.new_witness_variable(|| value.ok_or(SynthesisError::AssignmentMissing))?
            } else {
                cs.new_input_variable(|| end.ok_or(SynthesisError::AssignmentMissing))?
            };
            let sum = || LinearCombination::from(x) + (*k, Variable::One);
            cs.enforce_r1cs_constraint(sum, sum, || square.into())?;
            cs.enforce_r1cs_constraint(sum, || square.into(), || next.into())?;
            x = next;
        }
        Ok(())
    }
}
