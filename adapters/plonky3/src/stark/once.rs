//! One proof without a prover that lasts.

use p3_air::Air;
use p3_air::symbolic::SymbolicAirBuilder;
use p3_challenger::{CanObserve, FieldChallenger, GrindingChallenger};
use p3_commit::Mmcs as MmcsTrait;
use p3_field::ExtensionField;
use p3_uni_stark::{Proof, StarkGenericConfig};
use ringforge::{Engine, Result};

use super::prover::Prover;
use crate::hash::HashField;
use crate::merkle::Cap;
use crate::pcs::Pcs;
use crate::resident::Trace;

/// Makes one proof on the device of `engine`, as [`Prover::new`] and [`Prover::prove`] do. For several proofs of an AIR, make
/// a [`Prover`], which reads the constraints once.
///
/// Constraints are interpreted, as in the first proof of a prover. Nothing is compiled for the AIR, since that takes longer
/// than a proof. The example `own-air` uses this function.
///
/// # Errors
/// Those of [`Prover::new`] and [`Prover::prove`].
pub fn prove<F, EF, M, SC, A>(
    engine: &Engine,
    config: &SC,
    air: &A,
    trace: Trace<'_, F>,
    public_values: &[F],
) -> Result<Proof<SC>>
where
    F: HashField,
    EF: ExtensionField<F>,
    M: MmcsTrait<EF, Commitment = Cap<F>, MultiProof = F::Paths>,
    SC: StarkGenericConfig<Challenge = EF, Pcs = Pcs<F, M>>,
    SC::Challenger: FieldChallenger<F> + GrindingChallenger<Witness = F> + CanObserve<Cap<F>> + 'static,
    A: Air<SymbolicAirBuilder<F>> + Air<SymbolicAirBuilder<F, EF>>,
{
    Prover::new(engine, config, air)?.interpreted().prove(trace, public_values)
}
