//! FRI on the device, with Plonky3's transcript.

use core::any::TypeId;
use core::mem::ManuallyDrop;

use p3_challenger::{CanObserve, FieldChallenger, GrindingChallenger};
use p3_commit::Mmcs as MmcsTrait;
use p3_dft::{Radix2DFTSmallBatch, TwoAdicSubgroupDft};
use p3_field::ExtensionField;
use p3_fri::{CommitPhaseMultiStep, FriParameters, FriShape, ProverTranscript};
use p3_symmetric::MerkleCap;
use p3_util::reverse_slice_index_bits;
use ringforge::{Buffer, Engine, Error, Result, Stream};

use super::kernels::{Kernels, MOST_LOG_ARITY};
use super::quotient::flat;
use crate::field::{elements, words};
use crate::hash::HashField;
use crate::merkle::Digest;
use crate::poseidon2::Poseidon2;
use crate::resident::{Matrix, MerkleTree};

/// Where and how a proof is made.
pub(super) struct Place<'a, F: HashField, EF> {
    pub(super) engine: &'a Engine,
    pub(super) stream: &'a Stream,
    pub(super) kernels: Kernels<F, EF>,
    pub(super) hash: &'a Poseidon2<F>,
    /// Layers of the caps of FRI's trees below their roots.
    pub(super) cap_height: usize,
}

/// The part of a proof that shows that a function is a polynomial of low degree.
pub(super) struct Folded<F, EF: p3_field::Field, M: MmcsTrait<EF>> {
    pub(super) commits: Vec<M::Commitment>,
    pub(super) witnesses: Vec<F>,
    pub(super) openings: Vec<CommitPhaseMultiStep<EF, M>>,
    pub(super) last: Vec<EF>,
    pub(super) witness: F,
    /// The rows at which the inputs are opened.
    pub(super) indices: Vec<usize>,
}

/// A round: the rows that it committed to, and their tree.
struct Round<F: HashField> {
    rows: Matrix<F>,
    tree: MerkleTree<F>,
    log_arity: usize,
}

/// Folds a function of 2^bits values in bit-reversed order, and opens all rounds at the indices that are drawn.
pub(super) fn prove<F, EF, M, C>(
    at: &Place<'_, F, EF>,
    fri: &FriParameters<M>,
    function: Buffer,
    bits: usize,
    challenger: &mut C,
) -> Result<Folded<F, EF, M>>
where
    F: HashField,
    EF: ExtensionField<F>,
    M: MmcsTrait<EF, Commitment = MerkleCap<F, Digest<F>>, MultiProof = F::Paths>,
    C: FieldChallenger<F> + GrindingChallenger<Witness = F> + CanObserve<M::Commitment>,
{
    let &Place { engine, stream, hash, cap_height, .. } = at;
    let least = fri.log_blowup + fri.log_final_poly_len;
    if fri.log_final_poly_len > 0 && bits <= least {
        let what = "log2 of the extension's rows (must be larger, for the length of FRI's last polynomial)";
        return Err(Error::Length { what, expected: least + 1, got: bits });
    }
    if fri.max_log_arity == 0 || fri.max_log_arity > MOST_LOG_ARITY {
        let why = format!("FRI folds 2^{} elements, and the kernels 2 to 16", fri.max_log_arity);
        return Err(Error::Unsupported { job: "a STARK proof".into(), why });
    }
    let shape = FriShape::new(fri, &[bits], bits);
    let log_arities = shape.log_arities.clone();
    // Plonky3's transcript panics where it is dropped before its end, and cannot be ended early
    let mut transcript = ManuallyDrop::new(ProverTranscript::<C, F, EF>::new(challenger, shape));
    let (mut commits, mut witnesses, mut rounds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut function, mut bits) = (function, bits);
    for log_arity in log_arities {
        let rows = Matrix::<F>::of_rows(engine, function, EF::DIMENSION << log_arity)?;
        let tree = MerkleTree::new(engine, stream, hash, &[&rows])?;
        let cap = tree.cap(stream, cap_height.min(tree.height()))?;
        let (beta, witness) = transcript.commit_round(cap.clone());
        commits.push(cap);
        witnesses.push(witness.unwrap_or(F::ZERO));
        bits -= log_arity;
        function = fold(at, rows.elements(), bits, log_arity, beta)?;
        rounds.push(Round { rows, tree, log_arity });
    }
    let of_element = EF::DIMENSION * size_of::<F>();
    let mut last: Vec<F::Word> =
        vec![bytemuck::Zeroable::zeroed(); fri.final_poly_len().min(1 << bits) * EF::DIMENSION];
    stream.read(function.slice(0..last.len() / EF::DIMENSION * of_element)?, &mut last)?;
    let last = elements::<F>(&last).chunks_exact(EF::DIMENSION);
    let mut last: Vec<EF> = last.map(|x| EF::from_basis_coefficients_slice(x).unwrap_or_default()).collect();
    reverse_slice_index_bits(&mut last);
    let last = Radix2DFTSmallBatch::default().idft_algebra(last);
    let (indices, witness) = transcript.query_phase(&last);
    ManuallyDrop::into_inner(transcript).finish();

    let mut openings = Vec::with_capacity(rounds.len());
    let mut current = indices.clone();
    for Round { rows, tree, log_arity } in &rounds {
        let groups: Vec<usize> = current.iter().map(|index| index >> log_arity).collect();
        let opened = rows.rows(stream, &groups)?;
        let siblings = opened.iter().zip(&current).map(|(row, index)| {
            let elements = row.chunks_exact(EF::DIMENSION).enumerate();
            let others = elements.filter(|(i, _)| *i != index & ((1 << log_arity) - 1));
            others.map(|(_, x)| EF::from_basis_coefficients_slice(x).unwrap_or_default()).collect()
        });
        let sibling_values = siblings.collect();
        let opening_proof = tree.paths(stream, &groups, cap_height.min(tree.height()))?;
        openings.push(CommitPhaseMultiStep { sibling_values, opening_proof });
        current = groups;
    }
    Ok(Folded { commits, witnesses, openings, last, witness: witness.unwrap_or(F::ZERO), indices })
}

/// Enqueues the folding of 2^bits rows of 2^log_arity elements.
fn fold<F: HashField, EF: ExtensionField<F>>(
    at: &Place<'_, F, EF>,
    rows: &Buffer,
    bits: usize,
    log_arity: usize,
    beta: EF,
) -> Result<Buffer> {
    let &Place { engine, stream, kernels, .. } = at;
    let key = ("folding", TypeId::of::<(F, EF)>(), bits, log_arity);
    let program = engine.program_of(&key, |planner| kernels.folded(planner, 1 << bits, log_arity))?;
    let challenges: Vec<EF> = core::iter::successors(Some(beta), |x| Some(x.square())).take(log_arity).collect();
    let challenges = stream.upload(words(&flat(&challenges)))?;
    let factors: Vec<F> =
        (0..(bits + log_arity - 1).max(1)).map(|bit| F::two_adic_generator(bit + 2).inverse()).collect();
    let factors = stream.upload(words(&factors))?;
    let mut folded = engine.device().buffer((EF::DIMENSION * size_of::<F>()) << bits)?;
    let call =
        program.on(stream, 1).input("elements", rows).input("challenges", &challenges).input("factors", &factors);
    call.output("folded", &mut folded).run()?;
    Ok(folded)
}
