//! The prover of an AIR.

use std::time::{Duration, Instant};

use p3_air::Air;
use p3_air::symbolic::{AirLayout, SymbolicAirBuilder};
use p3_challenger::{CanObserve, FieldChallenger, GrindingChallenger};
use p3_commit::{Mmcs as MmcsTrait, PeriodicColumns};
use p3_dft::Radix2DFTSmallBatch;
use p3_field::ExtensionField;
use p3_field::coset::TwoAdicMultiplicativeCoset;
use p3_fri::{BatchMultiOpening, FriProof, PcsProverTranscript, PcsShape, build_periodic_lde_table_two_adic};
use p3_matrix::dense::RowMajorMatrix;
use p3_symmetric::MerkleCap;
use p3_uni_stark::{
    Commitments, OpenedValues, Proof, StarkGenericConfig, StarkProverTranscript, StarkShape,
    get_log_num_quotient_chunks_for_domain,
};
use ringforge::{Buffer, Engine, Error, Result, Stream};

use super::dag::{Dag, Node};
use super::fri::{self, Place};
use super::kernels::{Domain, Kernels, MOST_LOG_ARITY, Shape, ext};
use super::openings::{Opened, Values, values};
use super::quotient::{Inputs, Quotient, denominators, points};
use crate::field::words;
use crate::hash::HashField;
use crate::merkle::Digest;
use crate::pcs::Pcs;
use crate::resident::{self, Committed, Matrix, MerkleTree, Trace};

/// The prover of an AIR, which makes the proofs of Plonky3's `prove`, byte for byte, on the device. Its constraints are
/// compiled when the prover first meets a height.
///
/// An AIR may have public values and periodic columns, and read the next row. Preprocessed columns, constraints over the
/// extension field, constraints whose degree needs more chunks of the quotient than the blow-up factor, and zero-knowledge
/// are not supported. Proof-of-work witnesses are those that Plonky3's challenger finds.
///
/// Proofs do not hide the trace. Nothing of the trace is wiped.
#[derive(Debug)]
pub struct Prover<'a, F: HashField, EF, SC, A> {
    engine: Engine,
    config: &'a SC,
    air: &'a A,
    kernels: Kernels<F, EF>,
    quotient: Quotient<F, EF>,
    /// log2 of the number of chunks of the quotient, unless it depends on the height.
    log_chunks: Option<usize>,
    /// Layers of the caps of FRI's trees below their roots.
    fri_cap: usize,
    /// log2 of the most values that FRI folds on the host.
    tail: usize,
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
    /// The opened rows of the trace and the quotient.
    pub queries: Duration,
}

/// The inputs of a proof beside the trace.
#[derive(Clone, Copy)]
struct Statement<'a, F> {
    /// log2 of the number of chunks of the quotient.
    log_chunks: usize,
    public_values: &'a [F],
    /// The values of the periodic columns, and how many each has.
    periodic: &'a [F],
    periods: usize,
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

fn unsupported(why: impl Into<String>) -> Error {
    Error::Unsupported { job: "a STARK proof".into(), why: why.into() }
}

impl<'a, F, EF, M, SC, A> Prover<'a, F, EF, SC, A>
where
    F: HashField,
    EF: ExtensionField<F>,
    M: MmcsTrait<EF, Commitment = Cap<F>, MultiProof = F::Paths>,
    SC: StarkGenericConfig<Challenge = EF, Pcs = Pcs<F, M>>,
    SC::Challenger: FieldChallenger<F> + GrindingChallenger<Witness = F> + CanObserve<Cap<F>>,
    A: Air<SymbolicAirBuilder<F>>,
{
    /// Reads the constraints of an AIR. Traces, hashes and FRI are on the device of `engine`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what this prover does not have, as [above](Prover); errors of the device.
    pub fn new(engine: &Engine, config: &'a SC, air: &'a A) -> Result<Self> {
        let layout = AirLayout::from_air::<F>(air);
        if layout.preprocessed_width > 0 {
            return Err(unsupported("the AIR has preprocessed columns"));
        }
        if !air.public_boundary_io().is_empty() {
            return Err(unsupported("the AIR has public values of the boundary"));
        }
        let mut builder = SymbolicAirBuilder::<F>::new(layout);
        air.eval(&mut builder);
        if !builder.extension_constraints().is_empty() {
            return Err(unsupported("the AIR has constraints over the extension field"));
        }
        let dag = Dag::new(&builder.base_constraints())?;
        let within = |node: &Node<F>| match node {
            Node::Main(column, _) => (*column as usize) < layout.main_width,
            Node::Public(index) => (*index as usize) < layout.num_public_values,
            Node::Periodic(column) => (*column as usize) < layout.num_periodic_columns,
            _ => true,
        };
        if !dag.nodes.iter().all(within) {
            return Err(unsupported("the AIR reads columns or public values that it does not have"));
        }
        let fri = config.pcs().fri();
        if fri.log_blowup == 0 || fri.num_queries == 0 {
            return Err(unsupported("FRI has a blow-up factor of 1, or no queries"));
        }
        if fri.max_log_arity == 0 || fri.max_log_arity > MOST_LOG_ARITY {
            let why = format!("FRI folds 2^{} elements, and the kernels 2 to 16", fri.max_log_arity);
            return Err(unsupported(why));
        }
        // the degree of constraints without periodic columns does not depend on the height
        let periodic = layout.num_periodic_columns > 0;
        let log_chunks = (!periodic).then(|| log_chunks::<F, A>(air, 1, fri.log_blowup)).transpose()?;
        let fri_cap = fri_cap::<F, EF, M>(engine, &fri.mmcs, config.pcs())?;
        let kernels = Kernels::new()?;
        let quotient = Quotient::new(kernels, dag);
        Ok(Self { engine: engine.clone(), config, air, kernels, quotient, log_chunks, fri_cap, tail: TAIL })
    }

    /// The same prover, with FRI on the host once at most 2^`bits` values are left. The default is 9. Proofs are the same.
    #[must_use]
    pub fn with_tail(self, bits: usize) -> Self {
        Self { tail: bits, ..self }
    }

    /// Proves that a trace satisfies the AIR, with these public values. The trace's shift is not used.
    ///
    /// The trace is not checked: of one that does not satisfy the AIR, this makes a proof that no verifier accepts, as
    /// Plonky3's release builds do.
    ///
    /// # Errors
    /// [`Error::Length`] for a trace of another width, a height that is not a power of two or beyond the field, or another
    /// number of public values; errors of the device.
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
        trace.check(self.air.width(), log_blowup)?;
        let expected = self.air.num_public_values();
        if public_values.len() != expected {
            return Err(Error::Length { what: "public values", expected, got: public_values.len() });
        }
        let log_n = trace.height().ilog2() as usize;
        let (bits, last) = (log_n + log_blowup, pcs.fri().log_final_poly_len);
        if last > 0 && log_n <= last {
            let what = "log2 of the extension's rows (must be larger, for the length of FRI's last polynomial)";
            return Err(Error::Length { what, expected: last + log_blowup + 1, got: bits });
        }
        let log_chunks = self.log_chunks.map_or_else(|| log_chunks::<F, A>(self.air, log_n, log_blowup), Ok)?;
        let (periodic, periods) = periodic(self.air, log_n, log_chunks)?;
        let statement = Statement { log_chunks, public_values, periodic: &periodic, periods };
        let committed = resident::commit(&self.engine, &stream, pcs.mmcs().hash(), &[trace], log_blowup)?;
        let (tree, cap_height) = (&committed.tree, pcs.mmcs().cap_height());
        let root = tree.cap(&stream, cap_height.min(tree.height()))?;
        clock.lap(|phases| &mut phases.trace);
        let mut challenger = self.config.initialise_challenger();
        let shape = StarkShape::new::<F, A>(
            self.air,
            0,
            log_n,
            log_n,
            1 << log_chunks,
            false,
            self.config.ood_proof_of_work_bits(),
        );
        let mut transcript = StarkProverTranscript::<SC::Challenger, F, EF>::new(&mut challenger, shape);
        match self.rest(&stream, &committed, root, statement, &mut transcript, &mut clock) {
            Ok(proof) => {
                transcript.finish();
                Ok((proof, clock.phases))
            }
            Err(error) => {
                transcript.abort();
                Err(error)
            }
        }
    }

    /// Everything after the trace's commitment.
    fn rest(
        &self,
        stream: &Stream,
        committed: &Committed<F>,
        root: Cap<F>,
        statement: Statement<'_, F>,
        transcript: &mut StarkProverTranscript<'_, SC::Challenger, F, EF>,
        clock: &mut Clock,
    ) -> Result<Proof<SC>> {
        let (engine, pcs) = (&self.engine, self.config.pcs());
        let (log_blowup, degree) = (pcs.fri().log_blowup, EF::DIMENSION);
        let Statement { log_chunks, public_values, periodic, periods } = statement;
        let main = &committed.matrices[0];
        let log_n = main.height().ilog2() as usize - log_blowup;
        let trace = Shape { rows: main.height(), columns: main.width(), layout: main.layout() };
        let alpha = transcript.constraint_phase::<Cap<F>>(root.clone(), None, public_values);

        let (publics, columns) = (public_values.len(), periodic.len() / periods);
        let domain = Domain { main: trace, log_n, log_chunks, publics, periodic: columns, periods };
        let inputs =
            Inputs { domain, main: main.elements(), publics: public_values, periodic, alpha, added_bits: log_blowup };
        let extension = self.quotient.extension(engine, stream, &inputs)?;
        let quotient = Matrix::<F>::new(engine, extension, main.height())?;
        let tree = MerkleTree::new(engine, stream, pcs.mmcs().hash(), &[&quotient])?;
        let cap_height = pcs.mmcs().cap_height().min(tree.height());
        let quotient_root = tree.cap(stream, cap_height)?;
        clock.lap(|phases| &mut phases.quotient);
        let (zeta, ood_witness) = transcript.ood_phase::<Cap<F>>(quotient_root.clone(), None);

        let bits = log_n + log_blowup;
        if !is_outside::<F, EF>(zeta, bits) {
            return Err(unsupported("the challenger draws a point at which the trace is extended"));
        }
        let next = (!self.air.main_next_row_columns().is_empty()).then(|| zeta * F::two_adic_generator(log_n));
        let all_points = stream.upload(words(&points::<F>(bits, log_n)))?;
        let inverses = |z| denominators(self.kernels, engine, stream, &all_points, bits, z);
        let (here_inverses, next_inverses) = (inverses(zeta)?, next.map(inverses).transpose()?);
        let quotient_shape = Shape { rows: quotient.height(), columns: quotient.width(), layout: quotient.layout() };
        let (of_trace, of_quotient) = ((main.elements(), trace), (quotient.elements(), quotient_shape));
        let open =
            |of: (&Buffer, Shape), z, inverses: &Buffer| values(self.kernels, engine, stream, of, log_n, z, inverses);
        let opened = Values {
            here: open(of_trace, zeta, &here_inverses)?,
            next: next.zip(next_inverses.as_ref()).map(|(z, inverses)| open(of_trace, z, inverses)).transpose()?,
            quotient: open(of_quotient, zeta, &here_inverses)?,
        };
        clock.lap(|phases| &mut phases.openings);
        let chunks: Vec<Vec<EF>> = opened.quotient.chunks(degree).map(<[EF]>::to_vec).collect();
        let at_points: Vec<Vec<EF>> = [Some(opened.here.clone()), opened.next.clone()].into_iter().flatten().collect();
        let rounds = vec![vec![at_points], chunks.iter().map(|chunk| vec![chunk.clone()]).collect()];

        let place = Place {
            engine,
            stream,
            kernels: self.kernels,
            hash: pcs.mmcs().hash(),
            cap_height: self.fri_cap,
            tail: self.tail,
        };
        let matrices =
            Opened { trace: of_trace, quotient: of_quotient, here: &here_inverses, next: next_inverses.as_ref() };
        let (folded, batch_pow_witness) = transcript.delegate(|challenger| {
            let shape = PcsShape::from_opened_values(pcs.fri(), &rounds);
            let mut transcript = PcsProverTranscript::<SC::Challenger, F, EF>::new(challenger, shape);
            transcript.claimed_openings(&rounds);
            let (alpha, witness) = transcript.batch_phase();
            let folded = opened.reduced(self.kernels, engine, stream, &matrices, alpha).and_then(|function| {
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
        let (opened_values, opening_proof) =
            committed.open(stream, &folded.indices, pcs.mmcs().cap_height().min(committed.tree.height()))?;
        let of_trace = BatchMultiOpening { opened_values, opening_proof };
        let rows = quotient.rows(stream, &folded.indices)?;
        let opened_values = rows.iter().map(|row| row.chunks(degree).map(<[F]>::to_vec).collect()).collect();
        let opening_proof = tree.paths(stream, &folded.indices, cap_height)?;
        let of_quotient = BatchMultiOpening { opened_values, opening_proof };
        clock.lap(|phases| &mut phases.queries);
        Ok(Proof {
            commitments: Commitments { trace: root, quotient_chunks: quotient_root, random: None },
            opened_values: OpenedValues {
                trace_local: opened.here,
                trace_next: opened.next,
                preprocessed: None,
                quotient_chunks: chunks,
                random: None,
            },
            opening_proof: FriProof {
                batch_pow_witness,
                commit_phase_commits: folded.commits,
                commit_pow_witnesses: folded.witnesses,
                input_openings: vec![of_trace, of_quotient],
                commit_phase_openings: folded.openings,
                final_poly: folded.last,
                query_pow_witness: folded.witness,
            },
            degree_bits: log_n,
            ood_pow_witness: ood_witness.unwrap_or(F::ZERO),
        })
    }
}

/// True if z is neither 0 nor in the coset g·K of 2^bits elements: values at z are quotients by z and by z − x.
fn is_outside<F: HashField, EF: ExtensionField<F>>(z: EF, bits: usize) -> bool {
    !z.is_zero() && z.exp_power_of_2(bits) != EF::from(F::GENERATOR.exp_power_of_2(bits))
}

/// log2 of the number of chunks of an AIR's quotient, for traces of this height.
fn log_chunks<F, A>(air: &A, log_n: usize, log_blowup: usize) -> Result<usize>
where
    F: HashField,
    A: Air<SymbolicAirBuilder<F>>,
{
    let layout = AirLayout::from_air::<F>(air);
    let log_chunks = get_log_num_quotient_chunks_for_domain::<F, A>(air, layout, subgroup(log_n)?, 0);
    if log_chunks > log_blowup {
        let why = format!("the quotient has 2^{log_chunks} chunks, more than the blow-up factor");
        return Err(unsupported(why));
    }
    Ok(log_chunks)
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
