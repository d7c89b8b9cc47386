//! The device memory that a proof needs.

use p3_field::ExtensionField;
use ringforge::{Engine, Result};

use super::kernels::SUMMED;
use super::place::Place;
use crate::hash::HashField;
use crate::layout::Layout;
use crate::resident::TEMPORARY;
use crate::transform::Transform;

/// The device memory of a proof in bytes, beside what its prover holds and traces that are on the device already. It is the
/// peak, without blocks that the device's pool rounds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// If the extensions of traces are kept until they are opened.
    pub kept: usize,
    /// If they are made again in parts when they are needed, which takes longer.
    pub again: usize,
}

/// The sizes of a table in a proof.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) log_n: usize,
    pub(super) log_chunks: usize,
    pub(super) columns: usize,
    pub(super) preprocessed: usize,
    pub(super) lookups: usize,
    /// Whether the trace is on the device, as contiguous columns or as others.
    pub(super) resident: Option<bool>,
    /// Whether the table is opened for the next row.
    pub(super) next: bool,
}

/// The bytes that are held, and the most of all times.
#[derive(Debug, Default)]
struct Tracker {
    held: usize,
    most: usize,
}

impl Tracker {
    fn hold(&mut self, bytes: usize) {
        self.held = self.held.saturating_add(bytes);
        self.most = self.most.max(self.held);
    }

    fn drop(&mut self, bytes: usize) {
        self.held -= bytes;
    }

    /// Holds bytes for a step.
    fn step(&mut self, bytes: usize) {
        self.hold(bytes);
        self.drop(bytes);
    }
}

/// The sizes of a proof's buffers.
struct Sizes<'a, F, EF> {
    engine: &'a Engine,
    log_blowup: usize,
    /// Elements of a digest, and children of a node.
    digest: usize,
    arity: usize,
    degree: usize,
    types: core::marker::PhantomData<fn() -> (F, EF)>,
}

impl<F: HashField, EF: ExtensionField<F>> Sizes<'_, F, EF> {
    fn columns(&self, columns: usize, log_rows: usize) -> usize {
        columns.saturating_mul(size_of::<F>() << log_rows)
    }

    fn extended(&self, columns: usize, log_n: usize) -> usize {
        self.columns(columns, log_n + self.log_blowup)
    }

    /// Those of the tree over extensions of these heights, the highest first.
    fn tree(&self, log_ns: impl Iterator<Item = usize>) -> usize {
        let log_ns: Vec<usize> = log_ns.collect();
        let highest = log_ns.first().map_or(0, |log_n| self.extended(self.digest, *log_n));
        highest / (self.arity - 1) * self.arity
    }

    /// The temporary memory of extending columns by 2^added_bits.
    fn temporary(&self, columns: usize, log_n: usize, added_bits: usize) -> Result<usize> {
        let layout = Layout::Columns { stride: 1 << log_n };
        let transform = Transform::Extend(added_bits, F::GENERATOR);
        let program = transform.program(self.engine, log_n, layout, columns)?;
        let bytes = |columns| program.plan().temporary_bytes(columns);
        Ok(bytes(columns).min(bytes(1).max(TEMPORARY)))
    }
}

impl Memory {
    /// That of a proof of these tables.
    pub(super) fn of<F, EF, M>(at: &Place<'_, F, EF, M>, tables: &[Size]) -> Result<Self>
    where
        F: HashField,
        EF: ExtensionField<F>,
    {
        let sizes = Sizes::<F, EF> {
            engine: at.engine,
            log_blowup: at.log_blowup(),
            digest: F::DIGEST,
            arity: at.pcs.mmcs().hash().arity(),
            degree: EF::DIMENSION,
            types: core::marker::PhantomData,
        };
        Ok(Self { kept: sizes.peak(at, tables, false)?, again: sizes.peak(at, tables, true)? })
    }
}

impl<F: HashField, EF: ExtensionField<F>> Sizes<'_, F, EF> {
    /// The peak of a proof, whose steps are followed in their order.
    fn peak<M>(&self, at: &Place<'_, F, EF, M>, tables: &[Size], again: bool) -> Result<usize> {
        let mut memory = Tracker::default();
        let mut order: Vec<&Size> = tables.iter().collect();
        order.sort_by_key(|table| core::cmp::Reverse(table.log_n));
        let with_lookups = || order.iter().copied().filter(|table| table.lookups > 0);
        let degree = self.degree;
        // traces, their extensions and the tree
        for table in &order {
            let copied = table.resident.is_none_or(|columns| again && !columns);
            if copied && (again || table.lookups > 0) {
                memory.hold(self.columns(table.columns, table.log_n));
            }
        }
        let mut digests = 0;
        for group in order.chunk_by(|a, b| a.log_n == b.log_n) {
            let rows = group[0].log_n + self.log_blowup;
            let (mut states, total) = (0, group.iter().map(|table| table.columns).sum::<usize>());
            let mut absorbed = 0;
            for table in group {
                let parts = again || (table.resident.is_none() && table.lookups == 0);
                let at_once = if parts { crate::resident::at_once::<F>(rows) } else { table.columns };
                let part = at_once.min(table.columns);
                if !again {
                    memory.hold(self.columns(table.columns, rows));
                }
                for begin in (0..table.columns).step_by(part.max(1)) {
                    let part = part.min(table.columns - begin);
                    absorbed += part;
                    // a part from the host is copied while the one before is in use, and rows are transposed
                    let copies = if parts && !again { 3 * self.columns(part, table.log_n) } else { 0 };
                    let own = if again { self.columns(part, rows) } else { 0 };
                    memory.hold(own + copies);
                    memory.step(self.temporary(part, table.log_n, self.log_blowup)?);
                    let ends = absorbed == total;
                    let next = self.columns(if ends { self.digest } else { 2 * self.digest }, rows);
                    memory.hold(next);
                    memory.drop(states + own + copies);
                    states = next;
                }
            }
            digests += states;
        }
        let tree = self.tree(order.iter().map(|table| table.log_n));
        memory.hold(tree.saturating_sub(digests));
        digests = digests.max(tree);
        memory.drop(digests - tree);

        // permutation columns
        let permutation = |table: &Size| (table.lookups + 1) * degree;
        for table in with_lookups() {
            memory.step(self.columns(2 * table.lookups * degree + permutation(table), table.log_n));
            memory.hold(self.columns(permutation(table), table.log_n));
            memory.hold(degree * size_of::<F>() * (1usize << table.log_n).div_ceil(SUMMED));
        }
        for table in with_lookups() {
            memory.hold(self.extended(permutation(table), table.log_n));
            memory.step(self.temporary(permutation(table), table.log_n, self.log_blowup)?);
        }
        memory.hold(self.tree(with_lookups().map(|table| table.log_n)));
        for table in with_lookups() {
            memory.drop(self.columns(permutation(table), table.log_n));
            memory.drop(degree * size_of::<F>() * (1usize << table.log_n).div_ceil(SUMMED));
        }

        // quotients
        let trace = |table: &Size| {
            let wide = table.log_chunks > self.log_blowup;
            let others = if table.lookups > 0 { permutation(table) } else { 0 } + table.preprocessed;
            if wide {
                table.columns + others
            } else if again {
                table.columns
            } else {
                0
            }
        };
        for table in tables {
            let rows = table.log_n + table.log_chunks;
            memory.hold(self.columns(trace(table), rows));
            memory.step(self.temporary(trace(table).max(1), table.log_n, table.log_chunks)?);
            memory.hold(self.columns(2 * degree, rows));
            memory.drop(self.columns(trace(table), rows));
            memory.drop(self.columns(degree, rows));
            let quotient = self.extended(degree << table.log_chunks, table.log_n);
            memory.hold(quotient);
            memory.step(self.temporary(degree, table.log_n, self.log_blowup)?);
            memory.drop(self.columns(degree, rows));
        }
        memory.hold(self.tree(order.iter().map(|table| table.log_n)));

        // openings
        let committed = memory.held;
        let highest = order.first().map_or(0, |table| table.log_n);
        let mut nexts: Vec<usize> =
            order.iter().filter(|table| table.next || table.lookups > 0).map(|table| table.log_n).collect();
        nexts.dedup();
        let mut weights = self.extended(degree, highest);
        weights += nexts.iter().map(|log_n| self.extended(degree, *log_n)).sum::<usize>();
        if again {
            weights += tables.iter().map(|table| self.columns(table.columns, table.log_n)).sum::<usize>();
        }
        memory.hold(weights);
        if again {
            let temporary = tables.iter().map(|table| self.temporary(table.columns, table.log_n, 0));
            memory.step(temporary.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or(0));
        }
        let mut heights: Vec<usize> = order.iter().map(|table| table.log_n).collect();
        heights.dedup();
        for log_n in &heights {
            let columns = if nexts.contains(log_n) { 2 * degree } else { degree };
            memory.hold(self.columns(columns, *log_n) + self.extended(columns, *log_n));
            memory.step(self.temporary(columns, *log_n, self.log_blowup)?);
            memory.hold(self.extended(degree, *log_n));
            memory.drop(self.columns(columns, *log_n) + self.extended(columns, *log_n));
        }
        memory.drop(weights);

        // FRI's rounds; functions of lower heights are held until they join
        let arity = at.pcs.fri().max_log_arity;
        let mut bits = highest + self.log_blowup;
        while bits > arity.max(at.tail) {
            memory.hold(self.columns(self.digest, bits - arity) / (self.arity - 1) * self.arity);
            bits -= arity;
            memory.hold(self.columns(degree, bits));
        }
        memory.held = committed;
        if again {
            let parts = tables.iter().map(|table| {
                let rows = table.log_n + self.log_blowup;
                let part = crate::resident::at_once::<F>(rows).min(table.columns);
                Ok(self.columns(part, rows) + self.temporary(part, table.log_n, self.log_blowup)?)
            });
            memory.step(parts.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or(0));
        }
        // and the small inputs of launches
        Ok(memory.most.saturating_add(memory.most / 64))
    }
}
