//! The prover of an AIR.

use core::fmt;
use std::sync::Arc;

use p3_air::symbolic::{AirLayout, SymbolicAirBuilder};
use p3_air::{Air, DebugConstraintBuilder};
use p3_challenger::{CanObserve, FieldChallenger, GrindingChallenger};
use p3_commit::Mmcs as MmcsTrait;
use p3_field::ExtensionField;
use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use p3_uni_stark::{
    Commitments, OpenedValues, PreprocessedOpenedValues, PreprocessedVerifierKey, Proof, QuotientAir,
    StarkGenericConfig, StarkProverTranscript, StarkShape, get_log_num_quotient_chunks_for_domain,
    prove_with_preprocessed, setup_preprocessed,
};
use ringforge::{Engine, Error, Result};

use super::commitment::Commitment;
use super::dag::Dag;
use super::memory::{Memory, Size};
use super::openings::{Opening, Round, open};
use super::place::{Phases, Place};
use super::settings::{Settings, settings_methods};
use super::table::{Height, Table, Values, on_large_stack};
use super::unsupported;
use super::work::Smallest;
use crate::hash::HashField;
use crate::merkle::Cap;
use crate::pcs::Pcs;
use crate::resident::{Committed, MerkleTree, Trace};

/// The prover of an AIR, which makes the proofs of Plonky3's `prove`, byte for byte, on the device.
///
/// An AIR may have public values, periodic and preprocessed columns, constraints over the extension field, and
/// constraints of any degree, and read the next row. Public values of the boundary and zero-knowledge are not supported.
///
/// On a GPU, constraints are compiled to kernels, in the background from the first proof on. Until that is done, one kernel
/// that suits all AIRs interprets them, as it does without NVRTC and for AIRs of more than 100,000 operations.
/// [`Prover::compiled`] waits for the compiler. Kernels of either kind are first compared with the CPU on random rows.
/// A prover that is dropped waits for the kernels that are being compiled, because a process must not exit meanwhile.
///
/// Proofs of work have the smallest witness, if the challenger is a `DuplexChallenger` with the permutation that hashes
/// rows. Other challengers search themselves.
///
/// With an engine on a [group](Engine::group) of 2^k devices, each device has a coset of the extension, hashes its rows, and
/// evaluates the constraints on it. FRI is on the first device.
///
/// Proofs do not hide the trace. Nothing of the trace is wiped.
#[derive(Debug)]
pub struct Prover<'a, F: HashField, EF, SC: StarkGenericConfig, A> {
    config: &'a SC,
    air: &'a A,
    pub(super) table: Table<F, EF>,
    settings: Settings<F, EF>,
    preprocessed: Option<Preprocessed<F>>,
    plonky3: Option<ByPlonky3<F, SC, A>>,
}

/// Plonky3's own prover.
type ByPlonky3<F, SC, A> = fn(&SC, &A, RowMajorMatrix<F>, &[F]) -> Result<Proof<SC>>;

/// The preprocessed columns and their commitment.
#[derive(Debug)]
struct Preprocessed<F: HashField> {
    committed: Commitment<'static, F>,
    cap: Cap<F>,
    log_n: usize,
}

impl<'a, F, EF, M, SC, A> Prover<'a, F, EF, SC, A>
where
    F: HashField,
    EF: ExtensionField<F>,
    M: MmcsTrait<EF, Commitment = Cap<F>, MultiProof = F::Paths>,
    SC: StarkGenericConfig<Challenge = EF, Pcs = Pcs<F, M>>,
    SC::Challenger: FieldChallenger<F> + GrindingChallenger<Witness = F> + CanObserve<Cap<F>> + 'static,
    A: Air<SymbolicAirBuilder<F>> + Air<SymbolicAirBuilder<F, EF>>,
{
    /// Reads the constraints of an AIR, and commits to its preprocessed columns. Traces, hashes and FRI are on the devices
    /// of `engine`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what this prover does not have, as [above](Prover); errors of the device.
    pub fn new(engine: &Engine, config: &'a SC, air: &'a A) -> Result<Self> {
        if !air.public_boundary_io().is_empty() {
            return Err(unsupported("the AIR has public values of the boundary"));
        }
        let settings = Settings::new(engine, config.pcs(), &[config.ood_proof_of_work_bits()])?;
        let columns = air.preprocessed_trace().filter(|columns| columns.width() > 0);
        let preprocessed_width = columns.as_ref().map_or(0, |columns| columns.width());
        let layout = AirLayout { preprocessed_width, ..AirLayout::from_air::<F>(air) };
        let kernels = settings.kernels;
        let dag = on_large_stack(|| Dag::new::<EF, A>(air, layout, kernels.nonresidue))??;
        let table = Table::new(kernels, layout, 0, (dag, None))?;
        let mut prover = Self { config, air, table, settings, preprocessed: None, plonky3: None };
        prover.preprocessed = columns.map(|columns| prover.preprocess(&columns)).transpose()?;
        if layout.num_periodic_columns == 0 {
            prover.height(1)?;
        }
        Ok(prover)
    }

    /// The same prover; if the device fails, Plonky3's own prover makes the whole proof on the host.
    /// [`Phases::fell_back`] tells, and the device's error is logged. Errors of the caller are returned as before. The
    /// witnesses of proofs of work need not be the smallest then.
    #[must_use]
    pub fn or_plonky3(mut self) -> Self
    where
        A: QuotientAir<SC> + for<'b> Air<DebugConstraintBuilder<'b, F>>,
    {
        self.plonky3 = Some(|config, air, trace, public_values| {
            let failed = |error: &dyn fmt::Display| unsupported(format!("Plonky3's prover failed, too: {error}"));
            let bits = trace.height().ilog2() as usize;
            let preprocessed = setup_preprocessed(config, air, bits).map_err(|error| failed(&error))?;
            let preprocessed = preprocessed.map(|(data, _)| data);
            let proof = prove_with_preprocessed(config, air, trace, public_values, preprocessed.as_ref());
            proof.map_err(|error| failed(&error))
        });
        self
    }

    settings_methods!();

    fn tables(&self) -> &[Table<F, EF>] {
        core::slice::from_ref(&self.table)
    }

    /// The device memory of a proof of this trace. Nothing is allocated for it.
    ///
    /// # Errors
    /// Those of [`Prover::prove`] for the trace's size.
    pub fn memory(&self, trace: Trace<'_, F>) -> Result<Memory> {
        Memory::of(&self.settings, self.config.pcs(), &[self.size(&trace)?])
    }

    /// The verifier's key for the preprocessed columns; `None` if there are none.
    pub fn verifier_key(&self) -> Option<PreprocessedVerifierKey<SC>> {
        let of = self.preprocessed.as_ref()?;
        let (width, commitment) = (self.table.layout.preprocessed_width, of.cap.clone());
        Some(PreprocessedVerifierKey { width, degree_bits: of.log_n, commitment })
    }

    /// Proves that a trace satisfies the AIR, with these public values. The trace's shift is not used.
    ///
    /// The trace is not checked: of one that does not satisfy the AIR, this makes a proof that no verifier accepts, as
    /// Plonky3's release builds do.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of columns or public values, and for a wrong height. A height is a power of
    /// two within the field, and that of the preprocessed columns if there are any. [`Error::Cancelled`] for a cancelled
    /// proof. Errors of the device.
    pub fn prove(&self, trace: Trace<'_, F>, public_values: &[F]) -> Result<Proof<SC>> {
        self.prove_timed(trace, public_values).map(|(proof, _)| proof)
    }

    /// Like [`Prover::prove`]. Also returns how long each phase took.
    ///
    /// # Errors
    /// As [`Prover::prove`].
    pub fn prove_timed(&self, trace: Trace<'_, F>, public_values: &[F]) -> Result<(Proof<SC>, Phases)> {
        let trace = trace.on_coset(F::GENERATOR);
        let (size, expected) = (self.size(&trace)?, self.table.layout.num_public_values);
        if public_values.len() != expected {
            return Err(Error::Length { what: "public values", expected, got: public_values.len() });
        }
        match (self.on_device(trace, size, public_values), self.plonky3) {
            (Err(error), Some(plonky3)) if is_of_device(&error) => {
                log::warn!("a STARK proof falls back to Plonky3: {error}");
                let proof = plonky3(self.config, self.air, trace.on_host()?, public_values)?;
                Ok((proof, Phases { fell_back: true, ..Phases::default() }))
            }
            (outcome, _) => outcome,
        }
    }

    fn on_device(&self, trace: Trace<'_, F>, size: Size, public_values: &[F]) -> Result<(Proof<SC>, Phases)> {
        let stream = self.settings.engine.device().stream()?;
        let members = self.settings.members(&stream, size.log_n + self.config.pcs().log_blowup())?;
        let at = Place { members, ..self.settings.place(&stream, self.config.pcs()) };
        let hash = at.pcs.mmcs().hash();
        let (log_n, height) = (size.log_n, self.height(size.log_n)?);
        at.go_on()?;
        let again = self.settings.extends_again(at.pcs, &[size])?;
        let copy = again.then(|| trace.as_columns(at.engine, &stream)).transpose()?.flatten();
        let committed = match copy.as_ref().or(trace.matrix()).filter(|_| again) {
            Some(trace) => Commitment::of_traces(&at, vec![trace])?,
            None => Commitment::of_trace(&at, trace)?,
        };
        let mut challenger = Smallest::new(self.config.initialise_challenger(), at.engine, &stream, hash);
        let shape = StarkShape::new::<F, A>(
            self.air,
            self.table.layout.preprocessed_width,
            log_n,
            log_n,
            1 << height.log_chunks,
            false,
            self.config.ood_proof_of_work_bits(),
        );
        let mut transcript = StarkProverTranscript::new(&mut challenger, shape);
        match self.rest(&at, &committed, log_n, &height, public_values, &mut transcript) {
            Ok(proof) => {
                transcript.finish();
                challenger.finish()?;
                Ok((proof, at.phases.get()))
            }
            Err(error) => {
                transcript.abort();
                Err(error)
            }
        }
    }

    /// The sizes of a trace's proof.
    ///
    /// # Errors
    /// [`Error::Length`] for sizes that the prover does not take.
    fn size(&self, trace: &Trace<'_, F>) -> Result<Size> {
        let (preprocessed, next) =
            (self.preprocessed.as_ref().map(|of| of.log_n), !self.air.main_next_row_columns().is_empty());
        self.table.size(self.config.pcs(), trace, preprocessed, next, |log_n| Ok(self.height(log_n)?.log_chunks))
    }

    /// Everything after the trace's extension and tree.
    fn rest(
        &self,
        at: &Place<'_, F, EF, M>,
        committed: &Commitment<'_, F>,
        log_n: usize,
        height: &Height<F>,
        public_values: &[F],
        transcript: &mut StarkProverTranscript<'_, Smallest<'_, F, SC::Challenger>, F, EF>,
    ) -> Result<Proof<SC>> {
        let Place { engine, stream, .. } = *at;
        let trace = at.cap(&committed.tree)?;
        at.lap(|phases| &mut phases.trace)?;
        let key = self.preprocessed.as_ref().map(|of| of.cap.clone());
        let alpha = transcript.constraint_phase::<Cap<F>>(trace.clone(), key, public_values);
        let interpreted = self.table.interprets(engine, self.settings.constraints)?;
        at.note(|phases| phases.interpreted = interpreted);
        let preprocessed = self.preprocessed.as_ref().and_then(|of| of.committed.columns().pop());
        let values = Values {
            matrices: [committed.columns().pop(), preprocessed, None],
            publics: public_values,
            log_n,
            interpreted,
        };
        let quotient = match at.members.is_empty() {
            true => {
                let quotient = self.table.quotient(engine, stream, &values, height, at.log_blowup(), alpha)?;
                let tree = MerkleTree::new(engine, stream, at.pcs.mmcs().hash(), &[&quotient])?;
                Commitment::from(Committed { matrices: vec![quotient], tree })
            }
            false => {
                let values = self.table.divided_values(&at.members, &values, height, alpha)?;
                Commitment::of_quotient(at, &values, (log_n, height.log_chunks))?
            }
        };
        let quotient_chunks = at.cap(&quotient.tree)?;
        at.lap(|phases| &mut phases.quotient)?;
        let (zeta, ood_witness) = transcript.ood_phase::<Cap<F>>(quotient_chunks.clone(), None);

        let layout = self.table.layout;
        let round = |commitment, next, columns| Round { commitment, openings: vec![Opening { log_n, next, columns }] };
        let next = !self.air.main_next_row_columns().is_empty();
        let mut rounds = vec![round(committed, next, layout.main_width), round(&quotient, false, EF::DIMENSION)];
        rounds.extend(self.preprocessed.as_ref().map(|of| {
            let next = !self.air.preprocessed_next_row_columns().is_empty();
            round(&of.committed, next, layout.preprocessed_width)
        }));
        let (opened, opening_proof) = transcript.delegate(|challenger| open(at, &rounds, zeta, challenger))?;
        let mut opened = opened.into_iter().map(Vec::into_iter);
        // the values of a matrix at one point or two
        let pair = |values: Vec<Vec<EF>>| {
            let mut values = values.into_iter();
            (values.next().unwrap_or_default(), values.next())
        };
        let mut of_round = || opened.next().into_iter().flatten().map(pair);
        let (trace_local, trace_next) = of_round().next().unwrap_or_default();
        let chunks = of_round().map(|(values, _)| values).collect();
        let preprocessed = of_round().next().map(|(local, next)| PreprocessedOpenedValues { local, next });
        Ok(Proof {
            commitments: Commitments { trace, quotient_chunks, random: None },
            opened_values: OpenedValues {
                trace_local,
                trace_next,
                preprocessed,
                quotient_chunks: chunks,
                random: None,
            },
            opening_proof,
            degree_bits: log_n,
            ood_pow_witness: ood_witness.unwrap_or(F::ZERO),
        })
    }

    /// Commits to the preprocessed columns.
    fn preprocess(&self, columns: &RowMajorMatrix<F>) -> Result<Preprocessed<F>> {
        let stream = self.settings.engine.device().stream()?;
        let trace = Trace::rows(&columns.values, columns.width(), F::GENERATOR);
        trace.check(columns.width(), self.config.pcs().log_blowup())?;
        let log_n = columns.height().ilog2() as usize;
        let members = self.settings.members(&stream, log_n + self.config.pcs().log_blowup())?;
        let at = Place { members, ..self.settings.place(&stream, self.config.pcs()) };
        let committed = Commitment::of_trace(&at, trace)?;
        let cap = at.cap(&committed.tree)?;
        Ok(Preprocessed { committed, cap, log_n })
    }

    /// The data of proofs of 2^log_n rows.
    fn height(&self, log_n: usize) -> Result<Arc<Height<F>>> {
        let (air, layout) = (self.air, self.table.layout);
        let log_chunks = |domain| get_log_num_quotient_chunks_for_domain::<F, A>(air, layout, domain, 0);
        self.table.height(air, log_n, log_chunks)
    }
}

/// Whether an error is of the device, and not of what the caller passed.
fn is_of_device(error: &Error) -> bool {
    matches!(
        error,
        Error::OutOfMemory { .. }
            | Error::Driver { .. }
            | Error::Kernel { .. }
            | Error::Compile { .. }
            | Error::NoCompiler { .. }
            | Error::Bundle { .. }
            | Error::File { .. }
    )
}
