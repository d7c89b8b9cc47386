//! The prover of several tables with lookups between them.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use p3_air::Air;
use p3_air::symbolic::{AirLayout, SymbolicExpressionExt};
use p3_batch_stark::proof::OpenedValuesWithLookups;
use p3_batch_stark::symbolic::get_log_num_quotient_chunks_for_domain;
use p3_batch_stark::{
    BatchCommitments, BatchOpenedValues, BatchProof, BatchProverTranscript, BatchShape, CommonData, OpenedValues,
    StarkGenericConfig,
};
use p3_challenger::{CanObserve, FieldChallenger, GrindingChallenger};
use p3_commit::Mmcs as MmcsTrait;
use p3_field::{Algebra, ExtensionField};
use p3_lookup::{InteractionSymbolicBuilder, LogUpGadget, Lookup, LookupTerminal, check_multiplicity_height_bound};
use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use p3_uni_stark::PreprocessedOpenedValues;
use ringforge::{Engine, Error, Result};

use super::commitment::{Columns, Commitment};
use super::elements::Pack;
use super::lookups::{Places, check, dags};
use super::memory::{Memory, Size};
use super::openings::{Opening, Round, open};
use super::place::{Phases, Place};
use super::settings::{Settings, settings_methods};
use super::table::{Fractions, Height, Table, Values, on_large_stack, running_sums};
use super::unsupported;
use super::work::Smallest;
use crate::field::elements;
use crate::hash::HashField;
use crate::merkle::Cap;
use crate::pcs::Pcs;
use crate::resident::{self, Committed, Matrix, MerkleTree, Trace};

/// The prover of several tables, which makes the proofs of `prove_batch` of `p3-batch-stark`, byte for byte, on the device.
///
/// Tables may have different heights, and lookups between them. The permutation columns of lookups are made on the device,
/// too. Each table's AIR may have what that of a [`Prover`](super::Prover) may have; AIRs of different types are the
/// variants of one. Lookups may not read periodic columns, and every table has at least two rows. There is one device.
///
/// Constraints are compiled as those of a [`Prover`](super::Prover), and proofs of work have the smallest witness under the
/// same conditions. Proofs do not hide the traces. Nothing of a trace is wiped.
pub struct BatchProver<'a, F: HashField, EF, SC: StarkGenericConfig, A> {
    config: &'a SC,
    airs: &'a [A],
    common: &'a CommonData<SC>,
    tables: Vec<Table<F, EF>>,
    settings: Settings<F, EF>,
    preprocessed: Option<Preprocessed<F>>,
}

impl<F: HashField, EF, SC: StarkGenericConfig, A> fmt::Debug for BatchProver<'_, F, EF, SC, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BatchProver of {} tables", self.tables.len())
    }
}

/// The preprocessed columns of all tables that have some.
#[derive(Debug)]
struct Preprocessed<F: HashField> {
    committed: Commitment<'static, F>,
    /// For each table, its place among the matrices, and log2 of its rows.
    places: Vec<Option<(usize, usize)>>,
    /// The columns themselves, of tables with lookups.
    columns: Vec<Option<Matrix<F>>>,
}

/// A table's trace, and its public values.
type Input<'a, F> = (Trace<'a, F>, &'a [F]);

/// The traces that a proof begins with.
struct Begun<'a, F: HashField> {
    inputs: &'a [Input<'a, F>],
    /// Traces of tables with lookups that were copied to the device.
    copies: Vec<Option<Matrix<F>>>,
    heights: Vec<Arc<Height<F>>>,
    log_ns: Vec<usize>,
}

impl<'a, F: HashField> Begun<'a, F> {
    /// The trace of a table on the device.
    fn matrix(&self, table: usize) -> Option<&Matrix<F>> {
        self.copies[table].as_ref().or(self.inputs[table].0.matrix())
    }

    /// The traces, to be extended.
    fn traces(&self) -> Vec<Trace<'_, F>> {
        let of_inputs = self.inputs.iter().map(|(trace, _)| *trace);
        let trace = |(i, trace): (usize, Trace<'a, F>)| match self.matrix(i) {
            Some(matrix) => Trace::resident(matrix, F::GENERATOR),
            None => trace.on_coset(F::GENERATOR),
        };
        of_inputs.enumerate().map(trace).collect()
    }
}

impl<'a, F, EF, M, SC, A> BatchProver<'a, F, EF, SC, A>
where
    F: HashField,
    EF: ExtensionField<F>,
    M: MmcsTrait<EF, Commitment = Cap<F>, MultiProof = F::Paths>,
    SC: StarkGenericConfig<Challenge = EF, Pcs = Pcs<F, M>>,
    SC::Challenger: FieldChallenger<F> + GrindingChallenger<Witness = F> + CanObserve<Cap<F>> + 'static,
    A: Air<InteractionSymbolicBuilder<F, EF>>,
    SymbolicExpressionExt<F, EF>: Algebra<EF>,
{
    /// Reads the constraints and lookups of tables, one for each AIR, and commits to their preprocessed columns. `common` is
    /// that of Plonky3's `ProverData` for the same AIRs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what this prover does not have, as [above](BatchProver), and for other preprocessed
    /// columns than those of `common`; [`Error::Length`] if `common` has another number of tables; errors of the device.
    pub fn new(engine: &Engine, config: &'a SC, airs: &'a [A], common: &'a CommonData<SC>) -> Result<Self> {
        let work = [config.ood_proof_of_work_bits(), config.lookup_proof_of_work_bits()];
        let settings = Settings::new(engine, config.pcs(), &work)?;
        if !settings.others.is_empty() {
            return Err(unsupported("the engine is a group of devices: use an engine on one of them"));
        }
        if airs.is_empty() || common.lookups.len() != airs.len() {
            let what = "tables of the common data (must be those of the AIRs, and at least 1)";
            return Err(Error::Length { what, expected: airs.len().max(1), got: common.lookups.len() });
        }
        let all: Vec<&[Lookup<F>]> = common.lookups.iter().map(|lookups| &**lookups).collect();
        check(&all)?;
        let columns = |air: &A| air.preprocessed_trace().filter(|columns| columns.width() > 0);
        let columns: Vec<Option<RowMajorMatrix<F>>> = airs.iter().map(columns).collect();
        let of_common = common.preprocessed.as_ref().map(|of| of.matrix_to_instance.as_slice());
        let own: Vec<usize> = (0..airs.len()).filter(|&table| columns[table].is_some()).collect();
        if of_common != (!own.is_empty()).then_some(own.as_slice()) {
            return Err(other_columns());
        }
        let table = |(i, air): (usize, &A)| {
            if !air.public_boundary_io().is_empty() {
                return Err(unsupported("an AIR has public values of the boundary"));
            }
            let preprocessed_width = columns[i].as_ref().map_or(0, |columns| columns.width());
            let layout = AirLayout { preprocessed_width, ..AirLayout::from_air::<F>(air) };
            let (kernels, lookups) = (settings.kernels, all[i]);
            let graphs = on_large_stack(|| dags::<F, EF, A>(air, layout, lookups, kernels.nonresidue))??;
            let num_public_values = Places::new(layout.num_public_values, lookups, EF::DIMENSION).count();
            Table::new(kernels, AirLayout { num_public_values, ..layout }, lookups.len(), graphs)
        };
        let tables = airs.iter().enumerate().map(table).collect::<Result<Vec<_>>>()?;
        let mut prover = Self { config, airs, common, tables, settings, preprocessed: None };
        prover.preprocessed = prover.preprocess(&columns)?;
        Ok(prover)
    }

    settings_methods!();

    fn tables(&self) -> &[Table<F, EF>] {
        &self.tables
    }

    /// The device memory of a proof of these traces. Nothing is allocated for it.
    ///
    /// # Errors
    /// Those of [`BatchProver::prove`] for the sizes of traces.
    pub fn memory(&self, traces: &[Trace<'_, F>]) -> Result<Memory> {
        Memory::of(&self.settings, self.config.pcs(), &self.sizes(traces)?)
    }

    /// Proves that the traces satisfy their AIRs, and that all lookups between them balance. Each table's trace and its public
    /// values are given, in the order of the AIRs. The traces' shifts are not used.
    ///
    /// The traces are not checked: of those that do not satisfy the AIRs, this makes a proof that no verifier accepts.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of tables, columns or public values, and for a wrong height. A height is a power
    /// of two within the field, and that of the table's preprocessed columns if there are any. [`Error::Unsupported`] for
    /// heights at which sums of multiplicities may wrap around. [`Error::Cancelled`] for a cancelled proof. Errors of the
    /// device.
    pub fn prove(&self, inputs: &[(Trace<'_, F>, &[F])]) -> Result<BatchProof<SC>> {
        self.prove_timed(inputs).map(|(proof, _)| proof)
    }

    /// Like [`BatchProver::prove`]. Also returns how long each phase took.
    ///
    /// # Errors
    /// As [`BatchProver::prove`].
    pub fn prove_timed(&self, inputs: &[(Trace<'_, F>, &[F])]) -> Result<(BatchProof<SC>, Phases)> {
        let stream = self.settings.engine.device().stream()?;
        let at = self.settings.place(&stream, self.config.pcs());
        let (begun, again) = self.begin(&at, inputs)?;
        let committed = match again {
            true => Commitment::of_traces(&at, (0..inputs.len()).filter_map(|i| begun.matrix(i)).collect())?,
            false => {
                let hash = at.pcs.mmcs().hash();
                resident::commit(at.engine, &stream, hash, &begun.traces(), at.log_blowup())?.into()
            }
        };
        let mut challenger =
            Smallest::new(self.config.initialise_challenger(), at.engine, &stream, at.pcs.mmcs().hash());
        let shape = BatchShape {
            trace_widths: self.tables.iter().map(|table| table.layout.main_width).collect(),
            public_value_counts: inputs.iter().map(|(_, publics)| publics.len()).collect(),
            preprocessed_widths: self.tables.iter().map(|table| table.layout.preprocessed_width).collect(),
            has_preprocessed_commitment: self.common.preprocessed.is_some(),
            num_lookup_instances: self.tables.iter().filter(|table| table.lookups > 0).count(),
            lookup_pow_bits: self.config.lookup_proof_of_work_bits(),
            has_randomization_commitment: false,
            ood_pow_bits: self.config.ood_proof_of_work_bits(),
        };
        let mut transcript = BatchProverTranscript::new(&mut challenger, shape);
        match self.rest(&at, &begun, &committed, &mut transcript) {
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

    /// The sizes of a proof.
    ///
    /// # Errors
    /// [`Error::Length`] and [`Error::Unsupported`] as for [`BatchProver::prove`].
    fn sizes(&self, traces: &[Trace<'_, F>]) -> Result<Vec<Size>> {
        if traces.len() != self.tables.len() {
            return Err(Error::Length { what: "tables", expected: self.tables.len(), got: traces.len() });
        }
        let size = |(i, (trace, table)): (usize, (&Trace<'_, F>, &Table<F, EF>))| {
            let preprocessed = self.preprocessed.as_ref().and_then(|of| of.places[i]).map(|(_, log_n)| log_n);
            let next = !self.airs[i].main_next_row_columns().is_empty();
            table.size(self.config.pcs(), trace, preprocessed, next, |log_n| Ok(self.height(i, log_n)?.log_chunks))
        };
        let sizes = traces.iter().zip(&self.tables).enumerate().map(size).collect::<Result<Vec<_>>>()?;
        let rows: Vec<usize> = sizes.iter().map(|size| 1 << size.log_n).collect();
        check_multiplicity_height_bound(&self.common.lookups, &rows).map_err(|error| unsupported(error.to_string()))?;
        Ok(sizes)
    }

    /// Checks the inputs, and copies traces to the device that must stay there. Also returns whether extensions are made
    /// again.
    fn begin<'b>(&self, at: &Place<'_, F, EF, M>, inputs: &'b [Input<'b, F>]) -> Result<(Begun<'b, F>, bool)> {
        let traces: Vec<_> = inputs.iter().map(|(trace, _)| *trace).collect();
        let sizes = self.sizes(&traces)?;
        for ((_, publics), air) in inputs.iter().zip(self.airs) {
            let expected = air.num_public_values();
            if publics.len() != expected {
                return Err(Error::Length { what: "public values", expected, got: publics.len() });
            }
        }
        at.go_on()?;
        let again = self.settings.extends_again(at.pcs, &sizes)?;
        let copy = |(trace, table): (&Trace<'b, F>, &Table<F, EF>)| match (again, table.lookups) {
            (true, _) => trace.as_columns(at.engine, at.stream),
            (false, 0) => Ok(None),
            (false, _) => trace.on_device(at.engine, at.stream),
        };
        let copies = traces.iter().zip(&self.tables).map(copy).collect::<Result<_>>()?;
        let heights = sizes.iter().enumerate().map(|(i, size)| self.height(i, size.log_n)).collect::<Result<_>>()?;
        Ok((Begun { inputs, copies, heights, log_ns: sizes.iter().map(|size| size.log_n).collect() }, again))
    }

    /// Everything after the traces' extensions and their tree.
    fn rest(
        &self,
        at: &Place<'_, F, EF, M>,
        begun: &Begun<'_, F>,
        committed: &Commitment<'_, F>,
        transcript: &mut BatchProverTranscript<'_, Smallest<'_, F, SC::Challenger>, F, EF, Cap<F>>,
    ) -> Result<BatchProof<SC>> {
        let Place { engine, stream, .. } = *at;
        let Begun { inputs, heights, log_ns, .. } = begun;
        let hash = at.pcs.mmcs().hash();
        transcript.instance_bindings(log_ns);
        let main = at.cap(&committed.tree)?;
        let publics: Vec<&[F]> = inputs.iter().map(|(_, publics)| *publics).collect();
        transcript.main_phase(main.clone(), &publics);
        transcript.preprocessed_phase(self.common.preprocessed.as_ref().map(|of| of.commitment.clone()));
        at.lap(|phases| &mut phases.trace)?;

        let (challenges, lookup_pow_witness) = transcript.lookup_phase(&self.common.lookups, &LogUpGadget::new());
        let interprets = |table: &Table<F, EF>| table.interprets(engine, self.settings.constraints);
        let interpreted = self.tables.iter().map(interprets).collect::<Result<Vec<_>>>()?;
        at.note(|phases| phases.interpreted = interpreted.contains(&true));
        let (permutations, terminals) = self.permutations(at, begun, &challenges, &interpreted)?;
        let traces: Vec<_> =
            permutations.iter().flatten().map(|matrix| Trace::resident(matrix, F::GENERATOR)).collect();
        let permutation = match traces.is_empty() {
            true => None,
            false => Some(Commitment::from(resident::commit(engine, stream, hash, &traces, at.log_blowup())?)),
        };
        drop(traces);
        drop(permutations);
        let permutation_cap = permutation.as_ref().map(|of| at.cap(&of.tree)).transpose()?;
        let sums: Vec<EF> = terminals.iter().flatten().copied().collect();
        let alpha = transcript.permutation_phase(permutation_cap.clone(), &sums);
        at.lap(|phases| &mut phases.permutation)?;

        let [main_columns, of_preprocessed, of_permutation] =
            [Some(committed), self.preprocessed.as_ref().map(|of| &of.committed), permutation.as_ref()]
                .map(|of| of.map(Commitment::columns).unwrap_or_default());
        let mut of_permutation = of_permutation.into_iter();
        let mut quotients = Vec::with_capacity(self.tables.len());
        for (i, table) in self.tables.iter().enumerate() {
            let place = self.preprocessed.as_ref().and_then(|of| of.places[i]);
            let preprocessed = place.map(|(place, _)| of_preprocessed[place]);
            let permutation = terminals[i].and_then(|_| of_permutation.next());
            let matrices = [Some(main_columns[i]), preprocessed, permutation];
            let publics = self.publics(i, inputs[i].1, &challenges[i], terminals[i].unwrap_or(EF::ZERO));
            let values = Values { matrices, publics: &publics, log_n: log_ns[i], interpreted: interpreted[i] };
            quotients.push(table.quotient(engine, stream, &values, &heights[i], at.log_blowup(), alpha)?);
            at.go_on()?;
        }
        let tree = MerkleTree::new(engine, stream, hash, &quotients.iter().collect::<Vec<_>>())?;
        let quotient = Commitment::from(Committed { matrices: quotients, tree });
        let quotient_chunks = at.cap(&quotient.tree)?;
        transcript.quotient_phase(quotient_chunks.clone(), None);
        at.lap(|phases| &mut phases.quotient)?;
        let (zeta, ood_pow_witness) = transcript.ood_phase();

        let rounds = self.rounds(log_ns, committed, &quotient, permutation.as_ref(), &terminals);
        let (opened, opening_proof) = transcript.delegate(|challenger| open(at, &rounds, zeta, challenger))?;
        let instances = self.opened(opened, heights, &terminals);
        Ok(BatchProof {
            commitments: BatchCommitments { main, permutation: permutation_cap, quotient_chunks, random: None },
            opened_values: BatchOpenedValues { instances },
            opening_proof,
            lookup_terminals: terminals.into_iter().map(|terminal| terminal.map(LookupTerminal)).collect(),
            degree_bits: log_ns.clone(),
            lookup_pow_witness,
            ood_pow_witness,
        })
    }

    /// A table's public values, and those of its lookups.
    fn publics(&self, table: usize, publics: &[F], challenges: &[EF], terminal: EF) -> Vec<F> {
        let places = Places::new(publics.len(), &self.common.lookups[table], EF::DIMENSION);
        places.values(publics, challenges, terminal)
    }

    /// The permutation columns of tables with lookups, and the sums of their fractions.
    #[allow(clippy::type_complexity)]
    fn permutations(
        &self,
        at: &Place<'_, F, EF, M>,
        begun: &Begun<'_, F>,
        challenges: &[Vec<EF>],
        interpreted: &[bool],
    ) -> Result<(Vec<Option<Matrix<F>>>, Vec<Option<EF>>)> {
        let Place { engine, stream, .. } = *at;
        let (mut places, mut bytes) = (Vec::with_capacity(self.tables.len()), 0);
        for (table, log_n) in self.tables.iter().zip(&begun.log_ns) {
            places.push(bytes..bytes + table.totals(*log_n));
            // slices of buffers begin at multiples of 16 bytes
            bytes = (bytes + table.totals(*log_n)).next_multiple_of(16);
        }
        let (mut totals, mut fractions) = (stream.zeros(bytes)?, Vec::with_capacity(self.tables.len()));
        for (i, table) in self.tables.iter().enumerate() {
            let preprocessed = self.preprocessed.as_ref().and_then(|of| of.columns[i].as_ref());
            let publics = self.publics(i, begun.inputs[i].1, &challenges[i], EF::ZERO);
            let matrices = [begun.matrix(i), preprocessed, None].map(|matrix| matrix.map(Columns::Trace));
            let values = Values { matrices, publics: &publics, log_n: begun.log_ns[i], interpreted: interpreted[i] };
            fractions.push(table.fractions(engine, stream, &values, totals.slice_mut(places[i].clone())?)?);
        }
        let (totals, mut pack) = (stream.download::<F::Word>(&totals)?, Pack::new());
        let sums = |(place, made): (&Range<usize>, &Option<Fractions>)| {
            let totals = elements::<F>(&totals[place.start / size_of::<F>()..place.end / size_of::<F>()]);
            made.as_ref().map(|_| running_sums::<F, EF>(totals)).map(|(before, sum)| (pack.add(&before), sum))
        };
        let sums: Vec<_> = places.iter().zip(&fractions).map(sums).collect();
        let pack = pack.upload(stream)?;
        let made = self.tables.iter().zip(fractions).zip(sums).map(|((table, fractions), sums)| {
            let Some((fractions, (before, terminal))) = fractions.zip(sums) else { return Ok((None, None)) };
            Ok((Some(table.permutation(engine, stream, fractions, pack.slice(before)?)?), Some(terminal)))
        });
        made.collect()
    }

    /// The commitments that are opened, in Plonky3's order.
    fn rounds<'r>(
        &'r self,
        log_ns: &[usize],
        committed: &'r Commitment<'r, F>,
        quotient: &'r Commitment<'r, F>,
        permutation: Option<&'r Commitment<'r, F>>,
        terminals: &[Option<EF>],
    ) -> Vec<Round<'r, F>> {
        let of = |table: usize, next: bool, columns: usize| Opening { log_n: log_ns[table], next, columns };
        let all = 0..self.tables.len();
        let main = |table: usize| {
            let next = !self.airs[table].main_next_row_columns().is_empty();
            of(table, next, self.tables[table].layout.main_width)
        };
        let mut rounds = vec![
            Round { commitment: committed, openings: all.clone().map(main).collect() },
            Round {
                commitment: quotient,
                openings: all.clone().map(|table| of(table, false, EF::DIMENSION)).collect(),
            },
        ];
        rounds.extend(self.preprocessed.as_ref().map(|preprocessed| {
            let tables = self.common.preprocessed.iter().flat_map(|of| &of.matrix_to_instance);
            let opening = |table: &usize| {
                let next = !self.airs[*table].preprocessed_next_row_columns().is_empty();
                of(*table, next, self.tables[*table].layout.preprocessed_width)
            };
            Round { commitment: &preprocessed.committed, openings: tables.map(opening).collect() }
        }));
        rounds.extend(permutation.map(|commitment| {
            let tables = all.filter(|table| terminals[*table].is_some());
            let columns = |table: usize| (self.tables[table].lookups + 1) * EF::DIMENSION;
            Round { commitment, openings: tables.map(|table| of(table, true, columns(table))).collect() }
        }));
        rounds
    }

    /// The opened values of each table.
    fn opened(
        &self,
        opened: p3_commit::OpenedValues<EF>,
        heights: &[Arc<Height<F>>],
        terminals: &[Option<EF>],
    ) -> Vec<OpenedValuesWithLookups<EF>> {
        // the values of a matrix at one point or two
        let pair = |values: Vec<Vec<EF>>| {
            let mut values = values.into_iter();
            (values.next().unwrap_or_default(), values.next())
        };
        let mut rounds = opened.into_iter().map(|round| round.into_iter().map(pair));
        let (mut main, mut quotient) = (rounds.next().into_iter().flatten(), rounds.next().into_iter().flatten());
        let mut preprocessed: Vec<Option<_>> = self.tables.iter().map(|_| None).collect();
        if let Some(of) = &self.common.preprocessed {
            let tables = of.matrix_to_instance.iter().zip(rounds.next().into_iter().flatten());
            tables.for_each(|(table, (local, next))| {
                preprocessed[*table] = Some(PreprocessedOpenedValues { local, next });
            });
        }
        let mut permutation = rounds.next().into_iter().flatten();
        let tables = heights.iter().zip(terminals).zip(preprocessed);
        tables
            .map(|((height, terminal), preprocessed)| {
                let (trace_local, trace_next) = main.next().unwrap_or_default();
                let chunks = quotient.by_ref().take(1 << height.log_chunks).map(|(values, _)| values);
                let quotient_chunks = chunks.collect();
                let (permutation_local, permutation_next) =
                    terminal.and_then(|_| permutation.next()).unwrap_or_default();
                OpenedValuesWithLookups {
                    base_opened_values: OpenedValues {
                        trace_local,
                        trace_next,
                        preprocessed,
                        quotient_chunks,
                        random: None,
                    },
                    permutation_local,
                    permutation_next: permutation_next.unwrap_or_default(),
                }
            })
            .collect()
    }

    /// Commits to the preprocessed columns of all tables.
    fn preprocess(&self, columns: &[Option<RowMajorMatrix<F>>]) -> Result<Option<Preprocessed<F>>> {
        let Some(of) = &self.common.preprocessed else { return Ok(None) };
        let stream = self.settings.engine.device().stream()?;
        let at = self.settings.place(&stream, self.config.pcs());
        let (mut places, mut traces, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for (columns, table) in columns.iter().zip(&self.tables) {
            let mut place = None;
            if let Some(columns) = columns {
                let trace = Trace::rows(&columns.values, columns.width(), F::GENERATOR);
                trace.check(columns.width(), at.log_blowup())?;
                place = Some((traces.len(), columns.height().ilog2() as usize));
                traces.push(trace);
            }
            places.push(place);
            kept.push(match columns.as_ref().filter(|_| table.lookups > 0) {
                Some(columns) => Some(Matrix::upload(at.engine, &stream, columns)?.into_columns(&stream)?),
                None => None,
            });
        }
        let committed = resident::commit(at.engine, &stream, at.pcs.mmcs().hash(), &traces, at.log_blowup())?;
        if at.cap(&committed.tree)? != of.commitment {
            return Err(other_columns());
        }
        Ok(Some(Preprocessed { committed: committed.into(), places, columns: kept }))
    }

    /// The data of a table's proofs of 2^log_n rows.
    fn height(&self, table: usize, log_n: usize) -> Result<Arc<Height<F>>> {
        let (air, of, lookups) = (&self.airs[table], &self.tables[table], &self.common.lookups[table]);
        let layout = AirLayout { num_public_values: air.num_public_values(), ..of.layout };
        of.height(air, log_n, |domain| {
            let gadget = LogUpGadget::new();
            get_log_num_quotient_chunks_for_domain::<F, EF, A, _>(air, layout, domain, lookups, 0, &gadget)
        })
    }
}

fn other_columns() -> Error {
    unsupported("the preprocessed columns are not those of the common data")
}
