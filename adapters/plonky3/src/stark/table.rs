//! The constraints of one table in the forms that its proofs need.

use core::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use p3_air::BaseAir;
use p3_air::symbolic::AirLayout;
use p3_commit::PeriodicColumns;
use p3_dft::Radix2DFTSmallBatch;
use p3_field::ExtensionField;
use p3_field::coset::TwoAdicMultiplicativeCoset;
use p3_fri::build_periodic_lde_table_two_adic;
use ringforge::run::{BufferSlice, BufferSliceMut};
use ringforge::{Buffer, Engine, Error, Result, Stream};

use super::commitment::Columns;
use super::compilation::Compilation;
use super::dag::{Dag, Node, Source};
use super::elements::{canonical, ext, reversed};
use super::evaluation::{Evaluation, Inputs};
use super::kernels::{Domain, Kernels, SUMMED, Shape};
use super::memory::Size;
use super::unsupported;
use crate::field::EngineField;
use crate::hash::HashField;
use crate::layout::Layout;
use crate::pcs::Pcs;
use crate::resident::{Matrix, Member, Trace};
use crate::transform::Transform;

/// How constraints are evaluated on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constraints {
    Automatic,
    Compiled,
    Interpreted,
}

/// A table's constraints, and the terms of its lookups.
#[derive(Debug)]
pub(super) struct Table<F, EF> {
    kernels: Kernels<F, EF>,
    pub(super) layout: AirLayout,
    pub(super) constraints: Arc<Evaluation<F, EF>>,
    terms: Option<Arc<Evaluation<F, EF>>>,
    pub(super) lookups: usize,
    compilation: Compilation,
    /// The data of each height of a trace, by its logarithm.
    heights: Mutex<HashMap<usize, Arc<Height<F>>>>,
}

/// The data of proofs of a height.
#[derive(Debug)]
pub(super) struct Height<F> {
    /// log2 of the number of chunks of the quotient.
    pub(super) log_chunks: usize,
    /// The values of the periodic columns on the quotient's domain, one column after another, and how many each has.
    periodic: Vec<F>,
    periods: usize,
}

/// The matrices of a table in a proof, and its other inputs.
pub(super) struct Values<'a, F> {
    /// The main columns, the preprocessed ones and those of the permutation.
    pub(super) matrices: [Option<Columns<'a, F>>; 3],
    /// Public values, and those of lookups.
    pub(super) publics: &'a [F],
    pub(super) log_n: usize,
    pub(super) interpreted: bool,
}

/// The permutation columns of a table before its running sums.
pub(super) struct Fractions {
    columns: Buffer,
    log_n: usize,
}

impl<F: HashField, EF: ExtensionField<F>> Table<F, EF> {
    /// A table whose graphs are those of its constraints and of its lookups' terms. The layout's public values are followed
    /// by those of lookups.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a graph that reads what the layout does not have, or that is too large.
    pub(super) fn new(
        kernels: Kernels<F, EF>,
        layout: AirLayout,
        lookups: usize,
        (constraints, terms): (Dag<F>, Option<Dag<F>>),
    ) -> Result<Self> {
        let permutation = if lookups == 0 { 0 } else { (lookups + 1) * EF::DIMENSION };
        let columns = |source| match source {
            Source::Main => layout.main_width,
            Source::Preprocessed => layout.preprocessed_width,
            Source::Permutation => permutation,
        };
        let within = |node: &Node<F>| match *node {
            Node::Column(source, column, _) => (column as usize) < columns(source),
            Node::Public(index) => (index as usize) < layout.num_public_values,
            Node::Periodic(column) => (column as usize) < layout.num_periodic_columns,
            _ => true,
        };
        if !constraints.nodes.iter().chain(terms.iter().flat_map(|terms| &terms.nodes)).all(within) {
            return Err(unsupported("the AIR reads columns or public values that it does not have"));
        }
        let terms = terms.map(|terms| Evaluation::new(kernels, layout, 0, terms, true)).transpose()?;
        Ok(Self {
            kernels,
            layout,
            constraints: Arc::new(Evaluation::new(kernels, layout, permutation, constraints, false)?),
            terms: terms.map(Arc::new),
            lookups,
            compilation: Compilation::default(),
            heights: Mutex::default(),
        })
    }

    /// The sizes of the table's part of a proof. `preprocessed` is log2 of the rows of its preprocessed columns, and
    /// `log_chunks` finds log2 of the quotient's chunks for a height.
    ///
    /// # Errors
    /// [`Error::Length`] for a trace of another width, or of a height that the prover does not take.
    pub(super) fn size<M>(
        &self,
        pcs: &Pcs<F, M>,
        trace: &Trace<'_, F>,
        preprocessed: Option<usize>,
        next: bool,
        log_chunks: impl FnOnce(usize) -> Result<usize>,
    ) -> Result<Size> {
        let AirLayout { main_width: columns, preprocessed_width, .. } = self.layout;
        trace.check(columns, pcs.log_blowup())?;
        let log_n = trace.height().ilog2() as usize;
        if let Some(bits) = preprocessed.filter(|bits| *bits != log_n) {
            let what = "rows of the trace (must be those of the preprocessed columns)";
            return Err(Error::Length { what, expected: 1 << bits, got: 1 << log_n });
        }
        pcs.check_height(log_n)?;
        let log_chunks = log_chunks(log_n)?;
        trace.check(columns, pcs.log_blowup().max(log_chunks))?;
        Ok(Size {
            log_n,
            log_chunks,
            columns,
            preprocessed: preprocessed_width,
            lookups: self.lookups,
            copied: trace.copied(pcs.log_blowup()),
            least: trace.least(),
            is_columns: trace.matrix().is_some_and(Matrix::is_columns),
            next,
        })
    }

    fn evaluations(&self) -> impl Iterator<Item = &Arc<Evaluation<F, EF>>> {
        [Some(&self.constraints), self.terms.as_ref()].into_iter().flatten()
    }

    /// Whether all kernels are compiled. Begins to compile them, and with `waits` lets that end.
    ///
    /// # Errors
    /// [`Error::NoCompiler`] without NVRTC, if a kernel is neither in a bundle nor in the cache; other errors of the
    /// compiler and the device.
    pub(super) fn is_compiled(&self, engine: &Engine, waits: bool) -> Result<bool> {
        let (engine, evaluations) = (engine.clone(), self.evaluations().cloned().collect::<Vec<_>>());
        let compile = move |cancelled: &_| {
            evaluations.iter().try_for_each(|evaluation| evaluation.check(&engine, false, cancelled))
        };
        self.compilation.is_done(waits, compile)
    }

    /// Whether the next proof's constraints are interpreted.
    pub(super) fn interprets(&self, engine: &Engine, constraints: Constraints) -> Result<bool> {
        let interprets = match constraints {
            _ if engine.device().limits().is_cpu() => return Ok(true),
            Constraints::Compiled => false,
            Constraints::Interpreted => true,
            Constraints::Automatic if !self.constraints.is_small() => true,
            Constraints::Automatic => match self.is_compiled(engine, false) {
                Err(Error::NoCompiler { .. }) => true,
                compiled => !compiled?,
            },
        };
        if interprets {
            self.evaluations().try_for_each(|evaluation| evaluation.check_interpreter(engine))?;
        }
        Ok(interprets)
    }

    /// The data of proofs of 2^log_n rows. `log_chunks` is what Plonky3 finds for the AIR and a domain.
    pub(super) fn height<A: BaseAir<F> + Sync>(
        &self,
        air: &A,
        log_n: usize,
        log_chunks: impl FnOnce(TwoAdicMultiplicativeCoset<F>) -> usize + Send,
    ) -> Result<Arc<Height<F>>> {
        // without periodic columns, the degree of constraints does not depend on the height
        let log_n = if self.layout.num_periodic_columns == 0 { 1 } else { log_n };
        let mut heights = self.heights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(height) = heights.get(&log_n) {
            return Ok(height.clone());
        }
        let domain = subgroup(log_n)?;
        let log_chunks = on_large_stack(|| log_chunks(domain))?;
        let (periodic, periods) = periodic(air, log_n, log_chunks)?;
        let height = Arc::new(Height { log_chunks, periodic, periods });
        heights.insert(log_n, height.clone());
        Ok(height)
    }

    /// Enqueues the quotient's values: for each block of 2^log_n rows in bit-reversed order, D columns.
    pub(super) fn quotient_values(
        &self,
        engine: &Engine,
        stream: &Stream,
        of: &Values<'_, F>,
        height: &Height<F>,
        alpha: EF,
    ) -> Result<Buffer> {
        let Values { log_n, publics, interpreted, .. } = *of;
        let log_chunks = height.log_chunks;
        // the constraints may need more rows than those committed to, or kept
        let mut wide = Vec::new();
        for columns in of.matrices {
            let rows = columns.map(|columns| columns.first_rows(stream, log_n, log_chunks));
            wide.push(rows.transpose()?.flatten());
        }
        let matrices: [_; 3] = core::array::from_fn(|i| wide[i].as_ref().or(of.matrices[i].map(Columns::matrix)));
        let rows = 1usize << (log_n + log_chunks);
        let domain = Domain {
            matrices: matrices.map(|matrix| matrix.map_or(Shape::none(rows), Shape::of)),
            log_n,
            log_chunks,
            periodic: self.layout.num_periodic_columns,
            periods: height.periods,
        };
        let matrices = matrices.map(|matrix| matrix.map(Matrix::elements));
        let (periodic, shift) = (&height.periodic, F::GENERATOR);
        let inputs = Inputs { domain, matrices, publics, periodic, alpha, shift, interpreted, device: 0 };
        self.constraints.columns(engine, stream, &inputs)
    }

    /// The values of [`quotient_values`](Self::quotient_values) on the first device, of which each block is computed on the
    /// device that has its rows. Where devices have more rows or fewer, the first one computes all.
    pub(super) fn divided_values(
        &self,
        members: &[Member],
        of: &Values<'_, F>,
        height: &Height<F>,
        alpha: EF,
    ) -> Result<Buffer> {
        let (log_chunks, first) = (height.log_chunks, &members[0]);
        let divided = of.matrices.map(|columns| columns.and_then(Columns::divided));
        let division = divided[0].map(|of| of.division).filter(|division| division.has_blocks(log_chunks));
        let Some(division) = division else {
            return self.quotient_values(&first.engine, &first.stream, of, height, alpha);
        };
        let (log_n, periods) = (of.log_n, height.periods >> log_chunks);
        let block = |block: usize| {
            let device = division.device_of(block);
            let matrices = divided.map(|of| of.map(|of| &of.parts[device]));
            let domain = Domain {
                matrices: matrices.map(|matrix| matrix.map_or(Shape::none(1 << log_n), Shape::of)),
                log_n,
                log_chunks: 0,
                periodic: self.layout.num_periodic_columns,
                periods: periods.max(1),
            };
            let periodic: Vec<F> =
                height.periodic.iter().skip(reversed(block, log_chunks)).step_by(1 << log_chunks).copied().collect();
            let inputs = Inputs {
                domain,
                matrices: matrices.map(|matrix| matrix.map(Matrix::elements)),
                publics: of.publics,
                periodic: &periodic,
                alpha,
                shift: division.shift(device, F::GENERATOR),
                interpreted: of.interpreted,
                device,
            };
            self.constraints.columns(&members[device].engine, &members[device].stream, &inputs)
        };
        let blocks = (0..1 << log_chunks).map(block).collect::<Result<Vec<_>>>()?;
        let bytes = blocks.iter().map(Buffer::len).sum();
        let mut all = first.engine.device().buffer_of_parts(bytes)?;
        for (i, block) in blocks.iter().enumerate() {
            first.stream.copy(block, all.slice_mut(i * block.len()..(i + 1) * block.len())?)?;
        }
        Ok(all)
    }

    /// Enqueues the quotient's extension by 2^log_blowup: D columns of each chunk, one after another.
    pub(super) fn quotient(
        &self,
        engine: &Engine,
        stream: &Stream,
        of: &Values<'_, F>,
        height: &Height<F>,
        log_blowup: usize,
        alpha: EF,
    ) -> Result<Matrix<F>> {
        let values = self.quotient_values(engine, stream, of, height, alpha)?;
        let (log_n, log_chunks, degree, word) = (of.log_n, height.log_chunks, EF::DIMENSION, size_of::<F>());
        let bits = log_n + log_chunks;
        let column = word << (log_n + log_blowup);
        let mut extension = engine.device().buffer_of_parts((degree << log_chunks) * column)?;
        for chunk in 0..1usize << log_chunks {
            let shift = F::GENERATOR * F::two_adic_generator(bits).exp_u64(chunk as u64);
            let transform = Transform::ExtendReversed(log_blowup, shift, F::GENERATOR);
            let program = transform.program(engine, log_n, Layout::Columns { stride: 1 << log_n }, degree)?;
            let block = (degree * word) << log_n;
            let from = reversed(chunk, log_chunks) * block;
            let call = program.on(stream, degree).input("from", values.slice(from..from + block)?);
            let to = chunk * degree * column..(chunk + 1) * degree * column;
            call.output("to", extension.slice_mut(to)?).run()?;
        }
        Matrix::new(engine, extension, 1 << (log_n + log_blowup))
    }

    /// The bytes of the sums of fractions over [`SUMMED`] rows; 0 without lookups.
    pub(super) fn totals(&self, log_n: usize) -> usize {
        self.terms.as_ref().map_or(0, |_| EF::DIMENSION * size_of::<F>() * (1usize << log_n).div_ceil(SUMMED))
    }

    /// Enqueues the fractions of the lookups in the rows of a trace, and their sums over [`SUMMED`] rows. The matrices are not
    /// extended. `None` without lookups.
    pub(super) fn fractions(
        &self,
        engine: &Engine,
        stream: &Stream,
        of: &Values<'_, F>,
        totals: BufferSliceMut<'_>,
    ) -> Result<Option<Fractions>> {
        let Some(terms) = &self.terms else { return Ok(None) };
        let Values { publics, log_n, interpreted, .. } = *of;
        let matrices = of.matrices.map(|columns| columns.map(Columns::matrix));
        let domain = Domain {
            matrices: matrices.map(|matrix| matrix.map_or(Shape::none(1 << log_n), Shape::of)),
            log_n,
            log_chunks: 0,
            periodic: 0,
            periods: 1,
        };
        let matrices = matrices.map(|matrix| matrix.map(Matrix::elements));
        let (periodic, alpha, shift) = (&[][..], EF::ZERO, F::GENERATOR);
        let inputs = Inputs { domain, matrices, publics, periodic, alpha, shift, interpreted, device: 0 };
        let terms = terms.columns(engine, stream, &inputs)?;
        let key = ("fractions", TypeId::of::<(F, EF)>(), log_n, self.lookups);
        let program = engine.program_of(&key, |planner| self.kernels.fractions(planner, log_n, self.lookups))?;
        let of_element = EF::DIMENSION * size_of::<F>();
        let mut columns = engine.device().buffer(((self.lookups + 1) * of_element) << log_n)?;
        let call = program.on(stream, 1).input("terms", &terms);
        call.output("columns", &mut columns).output("totals", totals).run()?;
        Ok(Some(Fractions { columns, log_n }))
    }

    /// Enqueues the permutation columns. `before` are the sums of all fractions before each [`SUMMED`] rows.
    pub(super) fn permutation(
        &self,
        engine: &Engine,
        stream: &Stream,
        of: Fractions,
        before: BufferSlice<'_>,
    ) -> Result<Matrix<F>> {
        let Fractions { mut columns, log_n } = of;
        let all = (self.lookups + 1) * EF::DIMENSION;
        let key = ("running sums", TypeId::of::<(F, EF)>(), log_n, all);
        let program = engine.program_of(&key, |planner| self.kernels.accumulated(planner, log_n, all))?;
        program.on(stream, 1).input("before", before).output("columns", &mut columns).run()?;
        Matrix::new(engine, columns, 1 << log_n)
    }
}

/// The sums of the totals before each one, coefficient by coefficient, and the sum of all.
pub(super) fn running_sums<F: EngineField, EF: ExtensionField<F>>(totals: &[F]) -> (Vec<F>, EF) {
    let (mut before, mut terminal) = (Vec::with_capacity(totals.len()), Vec::new());
    for totals in totals.chunks(totals.len() / EF::DIMENSION) {
        let mut sum = F::ZERO;
        for total in totals {
            before.push(sum);
            sum += *total;
        }
        terminal.push(canonical(sum));
    }
    (before, ext(&terminal))
}

/// Runs work that may recurse as deeply as expressions of constraints are, as dropping them does.
pub(super) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    const BYTES: usize = 256 << 20;
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(BYTES).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| unsupported(error.to_string()))?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// The values of an AIR's periodic columns on the quotient's domain, one column after another, and how many each has.
fn periodic<F: EngineField, A: BaseAir<F>>(air: &A, log_n: usize, log_chunks: usize) -> Result<(Vec<F>, usize)> {
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
fn subgroup<F: EngineField>(bits: usize) -> Result<TwoAdicMultiplicativeCoset<F>> {
    TwoAdicMultiplicativeCoset::new(F::ONE, bits).ok_or_else(no_domain)
}

fn no_domain() -> Error {
    unsupported("the field has no domain of this size")
}
