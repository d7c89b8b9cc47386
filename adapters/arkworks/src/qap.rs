//! Witness maps for ark-groth16. They compute the quotient polynomial of R1CS constraints and an assignment, in the
//! form that the prover needs.

use core::any::{Any, TypeId};
use core::marker::PhantomData;

use ark_ff::PrimeField;
use ark_groth16::r1cs_to_qap::{LibsnarkReduction, R1CSToQAP, evaluate_constraint};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use ark_relations::gr1cs::{ConstraintSystemRef, Matrix, Result, SynthesisError};
use rayon::prelude::*;

use crate::backend::Backend;
use crate::field::EngineField;
use crate::witness::Reduction;

/// The witness map of ark-groth16's [`LibsnarkReduction`], on [`Backend::shared`]. `Groth16<E,
/// Libsnark<E::ScalarField>>` uses the keys and makes the proofs of `Groth16<E>`.
///
/// On a domain of n points, the map takes seven transforms and one pointwise step. Each of the constraint polynomials
/// a, b and c is interpolated and evaluated on a coset. The pointwise step computes (a·b − c)/(x^n − 1) on the coset,
/// and one inverse transform gives its coefficients. Three polynomials are copied to the device and one is copied back.
///
/// Arkworks' own map runs for other fields than F, for domains that are not radix-2, and for small domains. It also
/// runs if the backend fails, which is logged.
#[derive(Debug, Clone, Copy)]
pub struct Libsnark<F>(PhantomData<F>);

/// The witness map of Circom's prover, snarkjs, on [`Backend::shared`], for keys made by snarkjs or with this type.
///
/// On a domain of n points, the map returns the evaluations of a·b − c at the odd powers of a root of unity of order
/// 2n. Here a, b and c are the constraint polynomials, with c interpolated from a·b. In the keys, the bases for these
/// evaluations are the Lagrange polynomials of the odd powers. Arkworks' code runs in the same cases as for
/// [`Libsnark`].
#[derive(Debug, Clone, Copy)]
pub struct Circom<F>(PhantomData<F>);

impl<K: EngineField> R1CSToQAP for Libsnark<K> {
    fn instance_map_with_evaluation<F: PrimeField, D: EvaluationDomain<F>>(
        cs: ConstraintSystemRef<F>,
        t: &F,
    ) -> Result<InstanceMap<F>> {
        LibsnarkReduction::instance_map_with_evaluation::<F, D>(cs, t)
    }

    fn witness_map_from_matrices<F: PrimeField, D: EvaluationDomain<F>>(
        matrices: &[Matrix<F>],
        num_inputs: usize,
        num_constraints: usize,
        full_assignment: &[F],
    ) -> Result<Vec<F>> {
        let system = System { matrices, num_inputs, num_constraints, assignment: full_assignment };
        let arkworks = LibsnarkReduction::witness_map_from_matrices::<F, D>;
        system
            .map::<K, D>(Reduction::Libsnark)?
            .map_or_else(|| arkworks(matrices, num_inputs, num_constraints, full_assignment), Ok)
    }

    fn h_query_scalars<F: PrimeField, D: EvaluationDomain<F>>(
        max_power: usize,
        t: F,
        zt: F,
        delta_inverse: F,
    ) -> Result<Vec<F>> {
        LibsnarkReduction::h_query_scalars::<F, D>(max_power, t, zt, delta_inverse)
    }
}

impl<K: EngineField> R1CSToQAP for Circom<K> {
    fn instance_map_with_evaluation<F: PrimeField, D: EvaluationDomain<F>>(
        cs: ConstraintSystemRef<F>,
        t: &F,
    ) -> Result<InstanceMap<F>> {
        LibsnarkReduction::instance_map_with_evaluation::<F, D>(cs, t)
    }

    fn witness_map_from_matrices<F: PrimeField, D: EvaluationDomain<F>>(
        matrices: &[Matrix<F>],
        num_inputs: usize,
        num_constraints: usize,
        full_assignment: &[F],
    ) -> Result<Vec<F>> {
        let system = System { matrices, num_inputs, num_constraints, assignment: full_assignment };
        system.map::<K, D>(Reduction::Circom)?.map_or_else(|| system.odd_values::<D>(), Ok)
    }

    /// Returns L_i(t)·`delta_inverse` for odd i. Here the L_i are the Lagrange polynomials of the 2n-th roots of unity,
    /// and n is `max_power` + 1, rounded up to a power of two.
    fn h_query_scalars<F: PrimeField, D: EvaluationDomain<F>>(
        max_power: usize,
        t: F,
        _: F,
        delta_inverse: F,
    ) -> Result<Vec<F>> {
        let domain = D::new(2 * (max_power + 1)).ok_or(SynthesisError::PolynomialDegreeTooLarge)?;
        let lagrange = domain.evaluate_all_lagrange_coefficients(t);
        ringforge_cpu::threads::start();
        Ok(lagrange.into_par_iter().skip(1).step_by(2).map(|value| value * delta_inverse).collect())
    }
}

/// For each variable, the evaluations of its polynomials a, b and c at a point. Then the evaluation of the vanishing
/// polynomial at this point, the number of variables minus one, and the domain's size.
type InstanceMap<F> = (Vec<F>, Vec<F>, Vec<F>, F, usize, usize);

/// R1CS constraints ⟨a, z⟩·⟨b, z⟩ = ⟨c, z⟩ and an assignment z.
struct System<'a, F> {
    matrices: &'a [Matrix<F>],
    num_inputs: usize,
    num_constraints: usize,
    assignment: &'a [F],
}

impl<F: PrimeField> System<'_, F> {
    /// Runs the witness map on the shared backend. Returns `None` if arkworks' code should run instead, and an error if
    /// matrices or variables are missing or the field has no suitable domain.
    fn map<K: EngineField, D: EvaluationDomain<F>>(&self, reduction: Reduction) -> Result<Option<Vec<F>>> {
        if self.matrices.len() < 3 || self.assignment.len() < self.num_inputs {
            return Err(SynthesisError::AssignmentMissing);
        }
        let points = self.points()?;
        let domain = D::new(points).ok_or(SynthesisError::PolynomialDegreeTooLarge)?;
        let n = domain.size();
        let Some(radix2) = Radix2EvaluationDomain::<F>::new(points) else { return Ok(None) };
        let known = (radix2.size(), radix2.group_gen) == (n, domain.group_gen()) && domain.coset_offset().is_one();
        if !known || TypeId::of::<F>() != TypeId::of::<K>() {
            return Ok(None);
        }
        if reduction == Reduction::Circom && F::get_root_of_unity(2 * n as u64).is_none() {
            return Err(SynthesisError::PolynomialDegreeTooLarge);
        }
        let backend = Backend::shared();
        if !backend.serves(n) {
            return Ok(None);
        }
        ringforge_cpu::threads::start();
        let outcome = backend.witness_map::<K>(reduction, n).and_then(|map| {
            map.run_host(
                backend,
                |i, values| self.evaluate(i, values, |x| cast::<K>(&x).map_or([0; 4], K::limbs)),
                |h| h.par_iter().map(|limbs| K::from_limbs(*limbs)).collect::<Vec<K>>(),
            )
        });
        if let Err(error) = &outcome {
            log::warn!("a witness map of {n} points falls back to arkworks: {error}");
        }
        let h: Option<Box<dyn Any>> = outcome.ok().map(|h| Box::new(h) as Box<dyn Any>);
        Ok(h.and_then(|h| h.downcast().ok()).map(|h| *h))
    }

    /// The minimum number of points of the domain: one per constraint and one per input.
    fn points(&self) -> Result<usize> {
        self.num_constraints.checked_add(self.num_inputs).ok_or(SynthesisError::PolynomialDegreeTooLarge)
    }

    /// Writes the evaluations of polynomial `i` (0 for a, 1 for b, 2 for c) on the domain: one per constraint, then for
    /// a the inputs, then zeros.
    fn evaluate<T: Send>(&self, i: usize, values: &mut [T], map: impl Fn(F) -> T + Sync) {
        let rows = &self.matrices[i];
        let inputs = if i == 0 { &self.assignment[..self.num_inputs] } else { &[] };
        ringforge_cpu::threads::start();
        values.par_iter_mut().enumerate().for_each(|(i, value)| {
            let x = match i.checked_sub(self.num_constraints) {
                None => rows.get(i).map(|terms| evaluate_constraint(terms, self.assignment)),
                Some(i) => inputs.get(i).copied(),
            };
            *value = map(x.unwrap_or_default());
        });
    }

    /// Circom's witness map on the CPU, with arkworks' transforms.
    fn odd_values<D: EvaluationDomain<F>>(&self) -> Result<Vec<F>> {
        let domain = D::new(self.points()?).ok_or(SynthesisError::PolynomialDegreeTooLarge)?;
        let n = domain.size();
        let double = D::new(2 * n).ok_or(SynthesisError::PolynomialDegreeTooLarge)?;
        let odd = domain.get_coset(double.element(1)).ok_or(SynthesisError::PolynomialDegreeTooLarge)?;
        let [mut a, mut b] = [0, 1].map(|i| {
            let mut values = vec![F::ZERO; n];
            self.evaluate(i, &mut values, |x| x);
            values
        });
        let mut c = domain.mul_polynomials_in_evaluation_domain(&a, &b);
        for x in [&mut a, &mut b, &mut c] {
            domain.ifft_in_place(x);
            odd.fft_in_place(x);
        }
        let mut h = odd.mul_polynomials_in_evaluation_domain(&a, &b);
        ringforge_cpu::threads::start();
        h.par_iter_mut().zip(c).for_each(|(h, c)| *h -= c);
        Ok(h)
    }
}

/// Returns the value as a `K`, or `None` if its type is not `K`.
fn cast<K: 'static>(x: &dyn Any) -> Option<&K> {
    x.downcast_ref()
}
