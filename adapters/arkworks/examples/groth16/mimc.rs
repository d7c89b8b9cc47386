//! A circuit: the secret x behind the public end of a chain of cubes, x ← (x + k)^3 for one constant k after another.

use ark_ff::PrimeField;
use ark_relations::gr1cs::{
    ConstraintSynthesizer, ConstraintSystem, ConstraintSystemRef, LinearCombination, Matrix, R1CS_PREDICATE_LABEL,
    Result, SynthesisError, Variable,
};

/// A MiMC chain of two constraints a round.
#[derive(Debug, Clone)]
pub(crate) struct Mimc<F> {
    /// The constants of the rounds.
    pub(crate) constants: Vec<F>,
    /// The secret start; keys are made without.
    pub(crate) start: Option<F>,
}

impl<F: PrimeField> Mimc<F> {
    /// A chain of so many rounds, its constants the powers of a generator.
    pub(crate) fn new(rounds: usize, start: Option<F>) -> Self {
        let constants = std::iter::successors(Some(F::GENERATOR), |k| Some(*k * F::GENERATOR));
        Self { constants: constants.take(rounds).collect(), start }
    }

    /// The public end.
    pub(crate) fn end(&self) -> Option<F> {
        self.start.map(|start| self.constants.iter().fold(start, |x, k| (x + k).pow([3])))
    }

    /// Its constraints as matrices, the number of its inputs, and the assignment.
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
