//! The prover of an AIR.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use p3_air::Air;
use p3_air::symbolic::{AirLayout, SymbolicAirBuilder};
use p3_challenger::{CanObserve, FieldChallenger, GrindingChallenger};
use p3_commit::{Mmcs as MmcsTrait, PeriodicColumns};
use p3_dft::Radix2DFTSmallBatch;
use p3_field::ExtensionField;
use p3_field::coset::TwoAdicMultiplicativeCoset;
use p3_fri::{BatchMultiOpening, FriProof, PcsProverTranscript, PcsShape, build_periodic_lde_table_two_adic};
use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use p3_symmetric::MerkleCap;
use p3_uni_stark::{
    Commitments, OpenedValues, PreprocessedOpenedValues, PreprocessedVerifierKey, Proof, StarkGenericConfig,
    StarkProverTranscript, StarkShape, get_log_num_quotient_chunks_for_domain,
};
use ringforge::{Buffer, Engine, Error, Result, Stream};

use super::compilation::Compilation;
use super::dag::{Dag, Node};
use super::fri::{self, Place};
use super::kernels::{Domain, Kernels, MOST_LOG_ARITY, Shape, ext, upload};
use super::openings::{Opened, Openings, values};
use super::quotient::{Inputs, Quotient, denominators, points};
use super::unsupported;
use super::work::Smallest;
use crate::hash::HashField;
use crate::merkle::Digest;
use crate::pcs::Pcs;
use crate::resident::{self, Committed, Matrix, MerkleTree, Trace};
use crate::transform::Transform;

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
/// Proofs do not hide the trace. Nothing of the trace is wiped.
#[derive(Debug)]
pub struct Prover<'a, F: HashField, EF, SC, A> {
    engine: Engine,
    config: &'a SC,
    air: &'a A,
    layout: AirLayout,
    kernels: Kernels<F, EF>,
    pub(super) quotient: Arc<Quotient<F, EF>>,
    compilation: Compilation,
    constraints: Constraints,
    preprocessed: Option<Preprocessed<F>>,
    /// The data of each height of a trace, by its logarithm.
    heights: Mutex<HashMap<usize, Arc<Height<F>>>>,
    /// Layers of the caps of FRI's trees below their roots.
    fri_cap: usize,
    /// log2 of the most values that FRI folds on the host.
    tail: usize,
}

/// How constraints are evaluated on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Constraints {
    Automatic,
    Compiled,
    Interpreted,
}

/// The preprocessed columns and their commitment.
#[derive(Debug)]
struct Preprocessed<F: HashField> {
    committed: Committed<F>,
    cap: Cap<F>,
    log_n: usize,
}

/// The data of proofs of a height.
#[derive(Debug)]
struct Height<F> {
    /// log2 of the number of chunks of the quotient.
    log_chunks: usize,
    /// The values of the periodic columns on the quotient's domain, one column after another, and how many each has.
    periodic: Vec<F>,
    periods: usize,
}

/// Trees over so few values are as fast on the host.
const TAIL: usize = 9;

/// How long each phase of a proof took, by the host's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Phases {
    /// The trace's extension and its tree, with copies of a trace from the host.
    pub trace: Duration,
    /// The constraints, and the quotient's extension and its tree.
    pub quotient: Duration,
    /// The opened values.
    pub openings: Duration,
    /// The function that FRI tests, and FRI's rounds and openings, with proofs of work.
    pub fri: Duration,
    /// The opened rows of the trace, the quotient and the preprocessed columns.
    pub queries: Duration,
    /// Whether the constraints were interpreted.
    pub interpreted: bool,
}

/// Times phases one after another.
struct Clock {
    since: Instant,
    phases: Phases,
}

impl Clock {
    /// Ends a phase, and begins the next one.
    fn lap(&mut self, phase: impl FnOnce(&mut Phases) -> &mut Duration) {
        *phase(&mut self.phases) = self.since.elapsed();
        self.since = Instant::now();
    }
}

type Cap<F> = MerkleCap<F, Digest<F>>;

impl<'a, F, EF, M, SC, A> Prover<'a, F, EF, SC, A>
where
    F: HashField,
    EF: ExtensionField<F>,
    M: MmcsTrait<EF, Commitment = Cap<F>, MultiProof = F::Paths>,
    SC: StarkGenericConfig<Challenge = EF, Pcs = Pcs<F, M>>,
    SC::Challenger: FieldChallenger<F> + GrindingChallenger<Witness = F> + CanObserve<Cap<F>> + 'static,
    A: Air<SymbolicAirBuilder<F>> + Air<SymbolicAirBuilder<F, EF>>,
{
    /// Reads the constraints of an AIR, and commits to its preprocessed columns. Traces, hashes and FRI are on the device
    /// of `engine`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what this prover does not have, as [above](Prover); errors of the device.
    pub fn new(engine: &Engine, config: &'a SC, air: &'a A) -> Result<Self> {
        if !air.public_boundary_io().is_empty() {
            return Err(unsupported("the AIR has public values of the boundary"));
        }
        let fri = config.pcs().fri();
        if fri.log_blowup == 0 || fri.num_queries == 0 {
            return Err(unsupported("FRI has a blow-up factor of 1, or no queries"));
        }
        if fri.max_log_arity == 0 || fri.max_log_arity > MOST_LOG_ARITY {
            let why = format!("FRI folds 2^{} elements, and the kernels 2 to 16", fri.max_log_arity);
            return Err(unsupported(why));
        }
        let of_fri = [fri.batch_proof_of_work_bits, fri.commit_proof_of_work_bits, fri.query_proof_of_work_bits];
        if of_fri.into_iter().chain([config.ood_proof_of_work_bits()]).any(|bits| bits >= F::bits() - 1) {
            return Err(unsupported(format!("a proof of work has {} bits or more", F::bits() - 1)));
        }
        let columns = air.preprocessed_trace().filter(|columns| columns.width() > 0);
        let preprocessed_width = columns.as_ref().map_or(0, |columns| columns.width());
        let layout = AirLayout { preprocessed_width, ..AirLayout::from_air::<F>(air) };
        let kernels = Kernels::<F, EF>::new()?;
        let dag = on_large_stack(|| Dag::new::<EF, A>(air, layout, kernels.nonresidue))??;
        let within = |node: &Node<F>| match *node {
            Node::Main(column, _) => (column as usize) < layout.main_width,
            Node::Preprocessed(column, _) => (column as usize) < layout.preprocessed_width,
            Node::Public(index) => (index as usize) < layout.num_public_values,
            Node::Periodic(column) => (column as usize) < layout.num_periodic_columns,
            _ => true,
        };
        if !dag.nodes.iter().all(within) {
            return Err(unsupported("the AIR reads columns or public values that it does not have"));
        }
        let quotient = Arc::new(Quotient::new(kernels, layout, dag)?);
        let fri_cap = fri_cap::<F, EF, M>(engine, &fri.mmcs, config.pcs())?;
        let mut prover = Self {
            engine: engine.clone(),
            config,
            air,
            layout,
            kernels,
            quotient,
            compilation: Compilation::default(),
            constraints: Constraints::Automatic,
            preprocessed: None,
            heights: Mutex::default(),
            fri_cap,
            tail: TAIL,
        };
        prover.preprocessed = columns.map(|columns| prover.preprocess(&columns)).transpose()?;
        // without periodic columns, the degree of constraints does not depend on the height
        if layout.num_periodic_columns == 0 {
            prover.height(1)?;
        }
        Ok(prover)
    }

    /// The same prover, with all constraints compiled. Waits for the compiler. On a CPU, nothing is compiled.
    ///
    /// # Errors
    /// [`Error::NoCompiler`] without NVRTC, if a kernel is neither in a bundle nor in the cache; other errors of the
    /// compiler and the device.
    pub fn compiled(self) -> Result<Self> {
        if !self.engine.device().limits().is_cpu() {
            self.compilation.is_done(&self.quotient, &self.engine, true)?;
        }
        Ok(Self { constraints: Constraints::Compiled, ..self })
    }

    /// The same prover, which interprets the constraints and never compiles them.
    #[must_use]
    pub fn interpreted(self) -> Self {
        Self { constraints: Constraints::Interpreted, ..self }
    }

    /// The same prover, with FRI on the host once at most 2^`bits` values are left. The default is 9. Proofs are the same.
    #[must_use]
    pub fn with_tail(self, bits: usize) -> Self {
        Self { tail: bits, ..self }
    }

    /// The verifier's key for the preprocessed columns; `None` if there are none.
    pub fn verifier_key(&self) -> Option<PreprocessedVerifierKey<SC>> {
        let of = self.preprocessed.as_ref()?;
        let (width, commitment) = (self.layout.preprocessed_width, of.cap.clone());
        Some(PreprocessedVerifierKey { width, degree_bits: of.log_n, commitment })
    }

    /// Proves that a trace satisfies the AIR, with these public values. The trace's shift is not used.
    ///
    /// The trace is not checked: of one that does not satisfy the AIR, this makes a proof that no verifier accepts, as
    /// Plonky3's release builds do.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of columns or public values, and for a wrong height. A height is a power of
    /// two within the field, and that of the preprocessed columns if there are any. Errors of the device.
    pub fn prove(&self, trace: Trace<'_, F>, public_values: &[F]) -> Result<Proof<SC>> {
        self.prove_timed(trace, public_values).map(|(proof, _)| proof)
    }

    /// Like [`Prover::prove`]. Also returns how long each phase took.
    ///
    /// # Errors
    /// As [`Prover::prove`].
    pub fn prove_timed(&self, trace: Trace<'_, F>, public_values: &[F]) -> Result<(Proof<SC>, Phases)> {
        let mut clock = Clock { since: Instant::now(), phases: Phases::default() };
        let stream = self.engine.device().stream()?;
        let (pcs, log_blowup) = (self.config.pcs(), self.config.pcs().fri().log_blowup);
        let trace = trace.on_coset(F::GENERATOR);
        trace.check(self.layout.main_width, log_blowup)?;
        let expected = self.layout.num_public_values;
        if public_values.len() != expected {
            return Err(Error::Length { what: "public values", expected, got: public_values.len() });
        }
        let log_n = trace.height().ilog2() as usize;
        if let Some(of) = self.preprocessed.as_ref().filter(|of| of.log_n != log_n) {
            let what = "rows of the trace (must be those of the preprocessed columns)";
            return Err(Error::Length { what, expected: 1 << of.log_n, got: 1 << log_n });
        }
        let (bits, last) = (log_n + log_blowup, pcs.fri().log_final_poly_len);
        if last > 0 && log_n <= last {
            let what = "log2 of the extension's rows (must be larger, for the length of FRI's last polynomial)";
            return Err(Error::Length { what, expected: last + log_blowup + 1, got: bits });
        }
        let height = self.height(log_n)?;
        trace.check(self.layout.main_width, log_blowup.max(height.log_chunks))?;
        let committed = resident::commit(&self.engine, &stream, pcs.mmcs().hash(), &[trace], log_blowup)?;
        let mut challenger =
            Smallest::new(self.config.initialise_challenger(), &self.engine, &stream, pcs.mmcs().hash());
        let shape = StarkShape::new::<F, A>(
            self.air,
            self.layout.preprocessed_width,
            log_n,
            log_n,
            1 << height.log_chunks,
            false,
            self.config.ood_proof_of_work_bits(),
        );
        let mut transcript = StarkProverTranscript::new(&mut challenger, shape);
        match self.rest(&stream, &committed, &height, public_values, &mut transcript, &mut clock) {
            Ok(proof) => {
                transcript.finish();
                challenger.finish()?;
                Ok((proof, clock.phases))
            }
            Err(error) => {
                transcript.abort();
                Err(error)
            }
        }
    }

    /// Everything after the trace's extension and tree.
    fn rest(
        &self,
        stream: &Stream,
        committed: &Committed<F>,
        height: &Height<F>,
        public_values: &[F],
        transcript: &mut StarkProverTranscript<'_, Smallest<'_, F, SC::Challenger>, F, EF>,
        clock: &mut Clock,
    ) -> Result<Proof<SC>> {
        let root = self.cap(stream, &committed.tree)?;
        clock.lap(|phases| &mut phases.trace);
        let (engine, pcs) = (&self.engine, self.config.pcs());
        let (log_blowup, degree) = (pcs.fri().log_blowup, EF::DIMENSION);
        let main = &committed.matrices[0];
        let preprocessed = self.preprocessed.as_ref().map(|of| (&of.committed, &of.committed.matrices[0]));
        let (log_n, log_chunks) = (main.height().ilog2() as usize - log_blowup, height.log_chunks);
        let key = self.preprocessed.as_ref().map(|of| of.cap.clone());
        let alpha = transcript.constraint_phase::<Cap<F>>(root.clone(), key, public_values);

        let interpreted = self.interprets()?;
        clock.phases.interpreted = interpreted;
        // with more chunks than the blow-up factor, the constraints need more rows than those committed to
        let wide = |of: &Matrix<F>| {
            let transform = Transform::ExtendReversed(log_chunks, F::GENERATOR, F::GENERATOR);
            (log_chunks > log_blowup).then(|| of.first_transformed(stream, 1 << log_n, transform)).transpose()
        };
        let wide_main = wide(main)?;
        let wide_preprocessed = preprocessed.map(|(_, matrix)| wide(matrix)).transpose()?.flatten();
        let of_main = wide_main.as_ref().unwrap_or(main);
        let of_preprocessed = wide_preprocessed.as_ref().or(preprocessed.map(|(_, matrix)| matrix));
        let domain = Domain {
            main: Shape::of(of_main),
            preprocessed: of_preprocessed.map_or(Shape::none(of_main.height()), Shape::of),
            log_n,
            log_chunks,
            periodic: self.layout.num_periodic_columns,
            periods: height.periods,
        };
        let inputs = Inputs {
            domain,
            main: of_main.elements(),
            preprocessed: of_preprocessed.map(Matrix::elements),
            publics: public_values,
            periodic: &height.periodic,
            alpha,
            interpreted,
        };
        let extension = self.quotient.extension(engine, stream, &inputs, log_blowup)?;
        drop((wide_main, wide_preprocessed));
        let quotient = Matrix::<F>::new(engine, extension, main.height())?;
        let tree = MerkleTree::new(engine, stream, pcs.mmcs().hash(), &[&quotient])?;
        let quotient_root = self.cap(stream, &tree)?;
        clock.lap(|phases| &mut phases.quotient);
        let (zeta, ood_witness) = transcript.ood_phase::<Cap<F>>(quotient_root.clone(), None);

        let bits = log_n + log_blowup;
        if !is_outside::<F, EF>(zeta, bits) {
            return Err(unsupported("the challenger draws a point at which the trace is extended"));
        }
        let after = zeta * F::two_adic_generator(log_n);
        let trace_next = !self.air.main_next_row_columns().is_empty();
        let preprocessed_next = preprocessed.is_some() && !self.air.preprocessed_next_row_columns().is_empty();
        let all_points = upload(stream, &points::<F>(bits, log_n))?;
        let inverses = |z| denominators(self.kernels, engine, stream, &all_points, bits, z);
        let here_inverses = inverses(zeta)?;
        let next_inverses = (trace_next || preprocessed_next).then(|| inverses(after)).transpose()?;
        let open = |of: &'_ Matrix<F>, opens_next: bool| {
            let values = |z, inverses: &Buffer| {
                values(self.kernels, engine, stream, (of.elements(), Shape::of(of)), log_n, z, inverses)
            };
            let next = next_inverses.as_ref().filter(|_| opens_next).map(|inverses| values(after, inverses));
            Ok::<_, Error>((values(zeta, &here_inverses)?, next.transpose()?))
        };
        let opened = |of, opens_next| {
            open(of, opens_next).map(|(here, next)| Opened {
                elements: of.elements(),
                shape: Shape::of(of),
                here,
                next,
            })
        };
        let openings = Openings {
            trace: opened(main, trace_next)?,
            quotient: opened(&quotient, false)?,
            preprocessed: preprocessed.map(|(_, matrix)| opened(matrix, preprocessed_next)).transpose()?,
        };
        clock.lap(|phases| &mut phases.openings);
        let chunks: Vec<Vec<EF>> = openings.quotient.here.chunks(degree).map(<[EF]>::to_vec).collect();
        let mut rounds = vec![vec![openings.trace.values()], chunks.iter().map(|chunk| vec![chunk.clone()]).collect()];
        rounds.extend(openings.preprocessed.iter().map(|of| vec![of.values()]));

        let place = Place {
            engine,
            stream,
            kernels: self.kernels,
            hash: pcs.mmcs().hash(),
            cap_height: self.fri_cap,
            tail: self.tail,
        };
        let (folded, batch_pow_witness) = transcript.delegate(|challenger| {
            let shape = PcsShape::from_opened_values(pcs.fri(), &rounds);
            let mut transcript = PcsProverTranscript::new(challenger, shape);
            transcript.claimed_openings(&rounds);
            let (alpha, witness) = transcript.batch_phase();
            let inverses = (&here_inverses, next_inverses.as_ref());
            let folded = openings.reduced(self.kernels, engine, stream, inverses, alpha).and_then(|function| {
                transcript
                    .delegate(|challenger| fri::prove::<F, EF, M, _>(&place, pcs.fri(), function, bits, challenger))
            });
            match folded {
                Ok(folded) => {
                    transcript.finish();
                    Ok((folded, witness.unwrap_or(F::ZERO)))
                }
                Err(error) => {
                    transcript.abort();
                    Err(error)
                }
            }
        })?;

        clock.lap(|phases| &mut phases.fri);
        let of_rows = |of: &Committed<F>| -> Result<_> {
            let cap_height = pcs.mmcs().cap_height().min(of.tree.height());
            let (opened_values, opening_proof) = of.open(stream, &folded.indices, cap_height)?;
            Ok(BatchMultiOpening { opened_values, opening_proof })
        };
        let rows = quotient.rows(stream, &folded.indices)?;
        let opened_values = rows.iter().map(|row| row.chunks(degree).map(<[F]>::to_vec).collect()).collect();
        let opening_proof = tree.paths(stream, &folded.indices, pcs.mmcs().cap_height().min(tree.height()))?;
        let mut input_openings = vec![of_rows(committed)?, BatchMultiOpening { opened_values, opening_proof }];
        input_openings.extend(preprocessed.map(|(committed, _)| of_rows(committed)).transpose()?);
        clock.lap(|phases| &mut phases.queries);
        let preprocessed =
            openings.preprocessed.map(|Opened { here: local, next, .. }| PreprocessedOpenedValues { local, next });
        Ok(Proof {
            commitments: Commitments { trace: root, quotient_chunks: quotient_root, random: None },
            opened_values: OpenedValues {
                trace_local: openings.trace.here,
                trace_next: openings.trace.next,
                preprocessed,
                quotient_chunks: chunks,
                random: None,
            },
            opening_proof: FriProof {
                batch_pow_witness,
                commit_phase_commits: folded.commits,
                commit_pow_witnesses: folded.witnesses,
                input_openings,
                commit_phase_openings: folded.openings,
                final_poly: folded.last,
                query_pow_witness: folded.witness,
            },
            degree_bits: log_n,
            ood_pow_witness: ood_witness.unwrap_or(F::ZERO),
        })
    }

    /// Commits to the preprocessed columns.
    fn preprocess(&self, columns: &RowMajorMatrix<F>) -> Result<Preprocessed<F>> {
        let (pcs, stream) = (self.config.pcs(), self.engine.device().stream()?);
        let trace = Trace::rows(&columns.values, columns.width(), F::GENERATOR);
        trace.check(columns.width(), pcs.fri().log_blowup)?;
        let committed = resident::commit(&self.engine, &stream, pcs.mmcs().hash(), &[trace], pcs.fri().log_blowup)?;
        let cap = self.cap(&stream, &committed.tree)?;
        Ok(Preprocessed { committed, cap, log_n: columns.height().ilog2() as usize })
    }

    /// The commitment that a tree is for Plonky3.
    fn cap(&self, stream: &Stream, tree: &MerkleTree<F>) -> Result<Cap<F>> {
        tree.cap(stream, self.config.pcs().mmcs().cap_height().min(tree.height()))
    }

    /// Whether the next proof's constraints are interpreted.
    fn interprets(&self) -> Result<bool> {
        let interprets = match self.constraints {
            _ if self.engine.device().limits().is_cpu() => return Ok(true),
            Constraints::Compiled => false,
            Constraints::Interpreted => true,
            Constraints::Automatic if !self.quotient.is_small() => true,
            Constraints::Automatic => match self.compilation.is_done(&self.quotient, &self.engine, false) {
                Err(Error::NoCompiler { .. }) => true,
                compiled => !compiled?,
            },
        };
        if interprets {
            self.quotient.check_interpreter(&self.engine)?;
        }
        Ok(interprets)
    }

    /// The data of proofs of 2^log_n rows.
    fn height(&self, log_n: usize) -> Result<Arc<Height<F>>> {
        let log_n = if self.layout.num_periodic_columns == 0 { 1 } else { log_n };
        let mut heights = self.heights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(height) = heights.get(&log_n) {
            return Ok(height.clone());
        }
        let (air, layout, domain) = (self.air, self.layout, subgroup(log_n)?);
        let log_chunks = on_large_stack(|| get_log_num_quotient_chunks_for_domain::<F, A>(air, layout, domain, 0))?;
        let (periodic, periods) = periodic(self.air, log_n, log_chunks)?;
        let height = Arc::new(Height { log_chunks, periodic, periods });
        heights.insert(log_n, height.clone());
        Ok(height)
    }
}

/// Runs work that may recurse as deeply as expressions of constraints are, as dropping them does.
fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    const BYTES: usize = 256 << 20;
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(BYTES).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| unsupported(error.to_string()))?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// True if z is neither 0 nor in the coset g·K of 2^bits elements: values at z are quotients by z and by z − x.
fn is_outside<F: HashField, EF: ExtensionField<F>>(z: EF, bits: usize) -> bool {
    !z.is_zero() && z.exp_power_of_2(bits) != EF::from(F::GENERATOR.exp_power_of_2(bits))
}

/// The values of an AIR's periodic columns on the quotient's domain, one column after another, and how many each has.
fn periodic<F, A>(air: &A, log_n: usize, log_chunks: usize) -> Result<(Vec<F>, usize)>
where
    F: HashField,
    A: Air<SymbolicAirBuilder<F>>,
{
    let columns = air.periodic_columns();
    if columns.is_empty() {
        return Ok((Vec::new(), 1));
    }
    PeriodicColumns::new(&columns, 1 << log_n).map_err(|error| unsupported(error.to_string()))?;
    let quotient = TwoAdicMultiplicativeCoset::new(F::GENERATOR, log_n + log_chunks).ok_or_else(no_domain)?;
    let dft = Radix2DFTSmallBatch::default();
    let table = build_periodic_lde_table_two_adic(&dft, &columns, &subgroup(log_n)?, &quotient);
    let places = (0..table.width()).flat_map(|column| (0..table.height()).map(move |row| (row, column)));
    Ok((places.map(|(row, column)| *table.get(row, column)).collect(), table.height()))
}

/// The subgroup of 2^bits elements.
fn subgroup<F: HashField>(bits: usize) -> Result<TwoAdicMultiplicativeCoset<F>> {
    TwoAdicMultiplicativeCoset::new(F::ONE, bits).ok_or_else(no_domain)
}

fn no_domain() -> Error {
    unsupported("the field has no domain of this size")
}

/// The number of layers of the caps of FRI's trees below their roots. Plonky3 does not tell it, so it is seen from a
/// commitment, which must be that of the hash of the traces.
fn fri_cap<F, EF, M>(engine: &Engine, fri: &M, pcs: &Pcs<F, M>) -> Result<usize>
where
    F: HashField,
    EF: ExtensionField<F>,
    M: MmcsTrait<EF, Commitment = Cap<F>>,
{
    const ROWS: usize = 1 << 8;
    let numbers: Vec<F> = (0..ROWS * EF::DIMENSION).map(F::from_usize).collect();
    let elements: Vec<EF> = numbers.chunks_exact(EF::DIMENSION).map(ext).collect();
    let (cap, _) = fri.commit_matrix(RowMajorMatrix::new(elements, 1));
    let stream = engine.stream()?;
    let rows = Matrix::upload(engine, stream, &RowMajorMatrix::new(numbers, EF::DIMENSION))?;
    let tree = MerkleTree::new(engine, stream, pcs.mmcs().hash(), &[&rows])?;
    let found = (0..=tree.height()).find(|height| tree.cap(stream, *height).is_ok_and(|found| found == cap));
    found.ok_or_else(|| unsupported("FRI's commitments do not use the hash of the traces"))
}

#[cfg(test)]
mod tests {
    use p3_field::extension::BinomialExtensionField;
    use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};
    use p3_koala_bear::KoalaBear;

    use super::*;

    #[test]
    fn points_of_the_extension_are_not_outside() {
        type Challenge = BinomialExtensionField<KoalaBear, 4>;
        let is_outside = |z: Challenge| is_outside::<KoalaBear, _>(z, 3);
        let point = KoalaBear::GENERATOR * KoalaBear::two_adic_generator(3).exp_u64(5);
        assert!(!is_outside(point.into()) && !is_outside(Challenge::ZERO));
        assert!(is_outside(Challenge::ONE) && is_outside((point * KoalaBear::two_adic_generator(4)).into()));
    }
}
