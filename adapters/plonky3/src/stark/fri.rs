//! FRI on the device, with Plonky3's transcript.

use core::any::TypeId;
use core::mem::ManuallyDrop;
use core::ops::Range;

use p3_challenger::{CanObserve, CanSample, CanSampleBits, GrindingChallenger};
use p3_commit::Mmcs as MmcsTrait;
use p3_dft::{Radix2DFTSmallBatch, TwoAdicSubgroupDft};
use p3_field::ExtensionField;
use p3_fri::{CommitPhaseMultiStep, FriShape, ProverTranscript};
use p3_util::reverse_slice_index_bits;
use ringforge::{Buffer, Result, Stream};

use super::elements::{ext, exts, flat, upload};
use super::kernels::{fold_factors, fold_rows};
use super::place::Place;
use super::unsupported;
use crate::gather::Gathering;
use crate::hash::HashField;
use crate::merkle::Cap;
use crate::resident::{Matrix, MerkleTree};

/// The trees over FRI's functions.
pub(super) trait Trees<F: HashField, EF: ExtensionField<F>>:
    MmcsTrait<EF, Commitment = Cap<F>, MultiProof = F::Paths>
{
}

impl<F, EF, M> Trees<F, EF> for M
where
    F: HashField,
    EF: ExtensionField<F>,
    M: MmcsTrait<EF, Commitment = Cap<F>, MultiProof = F::Paths>,
{
}

/// A challenger for openings and FRI.
pub(super) trait Challenger<F: HashField>:
    CanObserve<F> + CanObserve<Cap<F>> + CanSample<F> + CanSampleBits<usize> + GrindingChallenger<Witness = F>
{
}

impl<F, C> Challenger<F> for C
where
    F: HashField,
    C: CanObserve<F> + CanObserve<Cap<F>> + CanSample<F> + CanSampleBits<usize> + GrindingChallenger<Witness = F>,
{
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

/// The rows that a round committed to, and their tree.
enum Round<F: HashField, EF> {
    OnDevice(Box<(Matrix<F>, MerkleTree<F>)>),
    OnHost(Vec<EF>, crate::MerkleTree<F>),
}

/// The opened rows of a round, and their paths: as ranges of what is gathered, or on the host.
enum Rows<F: HashField> {
    OnDevice(Range<usize>, Vec<Range<usize>>),
    OnHost(Vec<F>, F::Paths),
}

/// The values of a function in bit-reversed order.
enum Function<EF> {
    OnDevice(Buffer),
    OnHost(Vec<EF>),
}

impl<EF> Function<EF> {
    /// Copies the first `count` values to the host.
    fn to_host<F: HashField>(&self, stream: &Stream, count: usize) -> Result<Vec<EF>>
    where
        EF: ExtensionField<F>,
    {
        match self {
            Self::OnHost(values) => Ok(values[..count].to_vec()),
            Self::OnDevice(buffer) => {
                let mut values: Vec<F::Word> = vec![bytemuck::Zeroable::zeroed(); count * EF::DIMENSION];
                stream.read(buffer.slice(0..size_of_val(&*values))?, &mut values)?;
                Ok(exts::<F, EF>(&values))
            }
        }
    }
}

/// Folds functions in bit-reversed order, and opens all rounds at the indices that are drawn. The functions are given with
/// log2 of their numbers of values, the highest first.
pub(super) fn prove<F, EF, M, C>(
    at: &Place<'_, F, EF, M>,
    functions: Vec<(usize, Buffer)>,
    challenger: &mut C,
) -> Result<Folded<F, EF, M>>
where
    F: HashField,
    EF: ExtensionField<F>,
    M: Trees<F, EF>,
    C: Challenger<F>,
{
    let &Place { engine, stream, fri_cap, tail, pcs, .. } = at;
    let (hash, fri) = (pcs.mmcs().hash(), pcs.fri());
    let heights: Vec<usize> = functions.iter().map(|(bits, _)| *bits).collect();
    let mut functions = functions.into_iter().peekable();
    let (mut bits, function) = functions.next().ok_or_else(|| unsupported("no polynomial is opened"))?;
    let mut function = Function::OnDevice(function);
    let shape = FriShape::new(fri, &heights, bits);
    let log_arities = shape.log_arities.clone();
    // Plonky3's transcript panics where it is dropped before its end, and cannot be ended early
    let mut transcript = ManuallyDrop::new(ProverTranscript::<C, F, EF>::new(challenger, shape));
    let (mut commits, mut witnesses, mut rounds) = (Vec::new(), Vec::new(), Vec::new());
    for log_arity in log_arities {
        at.go_on()?;
        if bits <= tail
            && let Function::OnDevice(_) = function
        {
            function = Function::OnHost(function.to_host::<F>(stream, 1 << bits)?);
        }
        let (round, cap) = match function {
            Function::OnDevice(buffer) => {
                let rows = Matrix::<F>::of_rows(engine, buffer, EF::DIMENSION << log_arity)?;
                let tree = MerkleTree::new(engine, stream, hash, &[&rows])?;
                let cap = tree.cap(stream, fri_cap.min(tree.height()))?;
                (Round::OnDevice(Box::new((rows, tree))), cap)
            }
            Function::OnHost(values) => {
                let tree = hash.tree(&flat(&values), EF::DIMENSION << log_arity)?;
                let cap = tree.cap(fri_cap.min(tree.height())).ok_or_else(|| unsupported("a layer has no cap"))?;
                (Round::OnHost(values, tree), cap)
            }
        };
        let (beta, witness) = transcript.commit_round(cap.clone());
        commits.push(cap);
        witnesses.push(witness.unwrap_or(F::ZERO));
        bits -= log_arity;
        let joined = functions.next_if(|(other, _)| *other == bits).map(|(_, joined)| joined);
        // one for each halving, and that of a function that joins
        let powers = core::iter::successors(Some(beta), |x| Some(x.square()));
        let challenges: Vec<EF> = powers.take(log_arity + 1).collect();
        function = match &round {
            Round::OnDevice(made) => {
                Function::OnDevice(fold(at, made.0.elements(), bits, &challenges, joined.as_ref())?)
            }
            Round::OnHost(values, _) => {
                let joined = joined.map(|joined| Function::OnDevice(joined).to_host::<F>(stream, 1 << bits));
                let (joined, factors) = (joined.transpose()?, fold_factors(bits + log_arity - 1));
                Function::OnHost(fold_rows(values, 1 << bits, &challenges, &factors, joined.as_deref()))
            }
        };
        rounds.push((round, log_arity));
    }
    let mut last = function.to_host::<F>(stream, fri.final_poly_len().min(1 << bits))?;
    reverse_slice_index_bits(&mut last);
    let last = Radix2DFTSmallBatch::default().idft_algebra(last);
    let (indices, witness) = transcript.query_phase(&last);
    ManuallyDrop::into_inner(transcript).finish();

    // what is opened on the device is copied at once
    let mut gathering = Gathering::default();
    let mut current = indices.clone();
    let mut opened = Vec::with_capacity(rounds.len());
    for (round, log_arity) in &rounds {
        let groups: Vec<usize> = current.iter().map(|index| index >> log_arity).collect();
        let rows = match round {
            Round::OnDevice(made) => {
                let (rows, tree) = &**made;
                let paths = tree.gather(&mut gathering, &groups, fri_cap.min(tree.height()))?;
                Rows::OnDevice(rows.gather(&mut gathering, &groups)?, paths)
            }
            Round::OnHost(values, tree) => {
                let rows = groups.iter().map(|group| &values[group << log_arity..(group + 1) << log_arity]);
                let paths = tree.paths(&groups, fri_cap.min(tree.height()));
                let paths = paths.ok_or_else(|| unsupported("a leaf has no path"))?;
                Rows::OnHost(flat(&rows.flatten().copied().collect::<Vec<EF>>()), paths)
            }
        };
        opened.push((rows, *log_arity, core::mem::replace(&mut current, groups)));
    }
    let found = gathering.finish::<F>(engine, stream)?;
    let opening = |(rows, log_arity, indices): (Rows<F>, usize, Vec<usize>)| {
        let (rows, opening_proof) = match rows {
            Rows::OnDevice(rows, paths) => (found[rows].to_vec(), MerkleTree::found(&found, paths)),
            Rows::OnHost(rows, paths) => (rows, paths),
        };
        let siblings = rows.chunks_exact(EF::DIMENSION << log_arity).zip(indices).map(|(row, index)| {
            let elements = row.chunks_exact(EF::DIMENSION).enumerate();
            elements.filter(|(i, _)| *i != index & ((1 << log_arity) - 1)).map(|(_, x)| ext(x)).collect()
        });
        CommitPhaseMultiStep { sibling_values: siblings.collect(), opening_proof }
    };
    let openings = opened.into_iter().map(opening).collect();
    Ok(Folded { commits, witnesses, openings, last, witness: witness.unwrap_or(F::ZERO), indices })
}

/// Enqueues the folding of 2^bits rows by these challenges, one for each halving, and one for a function that joins.
fn fold<F: HashField, EF: ExtensionField<F>, M>(
    at: &Place<'_, F, EF, M>,
    rows: &Buffer,
    bits: usize,
    challenges: &[EF],
    joined: Option<&Buffer>,
) -> Result<Buffer> {
    let &Place { engine, stream, kernels, .. } = at;
    let (log_arity, of_element) = (challenges.len() - 1, EF::DIMENSION * size_of::<F>());
    let key = ("folding", TypeId::of::<(F, EF)>(), bits, log_arity, joined.is_some());
    let program = engine.program_of(&key, |planner| kernels.folded(planner, bits, log_arity, joined.is_some()))?;
    let challenges = upload(stream, &flat(challenges))?;
    let mut folded = engine.device().buffer(of_element << bits)?;
    let call = program.on(stream, 1).input("elements", rows).input("challenges", &challenges);
    // one that does not join is not read
    let call = match joined {
        Some(joined) => call.input("joined", joined),
        None => call.input("joined", challenges.slice(0..of_element)?),
    };
    call.output("folded", &mut folded).run()?;
    Ok(folded)
}
