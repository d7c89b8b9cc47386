//! The device memory that a proof needs.

use p3_field::ExtensionField;
use ringforge::Result;

use super::kernels::SUMMED;
use super::settings::Settings;
use crate::hash::HashField;
use crate::layout::Layout;
use crate::pcs::Pcs;
use crate::resident::{Division, TEMPORARY, at_once};
use crate::transform::Transform;

/// The device memory of a proof in bytes, beside what its prover holds and traces that are on the device already. It is the
/// peak, without blocks that the device's pool rounds up. With several devices it is that of the first one, which needs the
/// most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// If the extensions of traces are kept until they are opened.
    pub kept: usize,
    /// If they are made again in parts when they are needed, which takes longer. Several devices always keep them.
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
    /// How the trace is [copied](crate::resident::Trace::copied) from the host; `None` for one on the device.
    pub(super) copied: Option<(usize, usize)>,
    /// The [fewest columns](crate::resident::Trace::least) of a copy from the host.
    pub(super) least: usize,
    /// Whether a trace on the device is contiguous columns.
    pub(super) is_columns: bool,
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
struct Sizes<'a, F: HashField, EF, M> {
    settings: &'a Settings<F, EF>,
    pcs: &'a Pcs<F, M>,
}

impl Memory {
    /// That of a proof of these tables.
    pub(super) fn of<F, EF, M>(settings: &Settings<F, EF>, pcs: &Pcs<F, M>, tables: &[Size]) -> Result<Self>
    where
        F: HashField,
        EF: ExtensionField<F>,
    {
        let sizes = Sizes { settings, pcs };
        let again = settings.others.is_empty();
        Ok(Self { kept: sizes.peak(tables, false)?, again: sizes.peak(tables, again)? })
    }
}

impl<F: HashField, EF: ExtensionField<F>, M> Sizes<'_, F, EF, M> {
    fn columns(&self, columns: usize, log_rows: usize) -> usize {
        columns.saturating_mul(size_of::<F>() << log_rows)
    }

    fn extended(&self, columns: usize, log_n: usize) -> usize {
        self.columns(columns, log_n + self.pcs.log_blowup())
    }

    /// The size of a tree over 2^log_rows rows.
    fn tree(&self, log_rows: usize) -> usize {
        let arity = self.pcs.mmcs().hash().arity();
        self.columns(F::DIGEST, log_rows) / (arity - 1) * arity
    }

    /// The size of the tree over the extensions of these tables, the highest first.
    fn tree_of<'t>(&self, mut tables: impl Iterator<Item = &'t Size>) -> usize {
        tables.next().map_or(0, |table| self.tree(table.log_n + self.pcs.log_blowup()))
    }

    /// The temporary memory of extending columns by 2^added_bits.
    fn temporary(&self, columns: usize, log_n: usize, added_bits: usize) -> Result<usize> {
        self.temporary_of(columns, log_n, Transform::Extend(added_bits, F::GENERATOR))
    }

    fn temporary_of(&self, columns: usize, log_n: usize, transform: Transform<F>) -> Result<usize> {
        let layout = Layout::Columns { stride: 1 << log_n };
        let plan = transform.plan(self.settings.engine.planner(), log_n, layout, 1)?;
        Ok(plan.temporary_bytes(columns).min(plan.temporary_bytes(1).max(TEMPORARY)))
    }

    /// How the rows of a table are divided among the devices of a group; `None` for one device.
    fn division(&self, table: &Size) -> Option<Division> {
        let added_bits = self.pcs.log_blowup();
        let log_devices = self.settings.log_devices(table.log_n + added_bits);
        (log_devices > 0).then_some(Division { log_n: table.log_n, added_bits, log_devices })
    }

    /// Follows the first device while a group extends a trace and makes the tree.
    fn divided(&self, table: &Size, division: Division, memory: &mut Tracker) -> Result<()> {
        let Size { log_n, columns: width, copied, least, is_columns, .. } = *table;
        let devices = 1 << division.log_devices;
        let copy = if copied.is_none() && !is_columns { self.columns(width, log_n) } else { 0 };
        memory.hold(copy);
        memory.hold(self.columns(width, division.log_held()));
        let (_, each) = copied.unwrap_or((0, 0));
        let share = division.share::<F>(width, least);
        let inverse = Transform::Inverse(F::ONE);
        let evaluate = Transform::Evaluate(division.log_held() - log_n, F::ONE, F::GENERATOR);
        // the device's own coefficients of some columns and of those that follow
        let own = |begin: usize, memory: &mut Tracker| -> Result<usize> {
            let columns = share.min(width.saturating_sub(begin));
            let bytes = self.columns(columns, log_n);
            memory.hold(bytes);
            memory.step(each * bytes);
            memory.step(self.temporary_of(columns.max(1), log_n, inverse)?);
            Ok(bytes)
        };
        let (mut before, mut states) = (own(0, memory)?, 0);
        for begin in (0..width).step_by(share * devices) {
            let end = begin + share * devices;
            let following = if end < width { own(end, memory)? } else { 0 };
            let other = share.min(width.saturating_sub(begin + share));
            memory.hold(self.columns(other, log_n));
            memory.step(self.temporary_of(share, log_n, evaluate)?);
            memory.drop(self.columns(other, log_n));
            let next = self.columns(if end < width { 2 * F::DIGEST } else { F::DIGEST }, division.log_own());
            memory.hold(next);
            memory.drop(states + before);
            (before, states) = (following, next);
        }
        memory.hold(self.tree(division.log_own()) - states);
        memory.hold(self.tree(log_n + division.added_bits));
        memory.drop(self.tree(division.log_own()) + copy);
        Ok(())
    }

    /// The peak of a proof, whose steps are followed in their order.
    fn peak(&self, tables: &[Size], again: bool) -> Result<usize> {
        let mut memory = Tracker::default();
        let mut order: Vec<&Size> = tables.iter().collect();
        order.sort_by_key(|table| core::cmp::Reverse(table.log_n));
        let with_lookups = || order.iter().copied().filter(|table| table.lookups > 0);
        let (degree, log_blowup) = (EF::DIMENSION, self.pcs.log_blowup());
        // traces, their extensions and the tree
        let division = order.first().and_then(|table| self.division(table));
        if let Some(division) = division {
            self.divided(order[0], division, &mut memory)?;
        }
        let alone = if division.is_some() { &[][..] } else { &order[..] };
        for table in alone {
            let from_host = table.copied.is_some();
            if again && (from_host || !table.is_columns) || from_host && table.lookups > 0 {
                memory.hold(self.columns(table.columns, table.log_n));
                // rows are transposed, so both are held for a while
                let rows = table.copied.filter(|(_, each)| again && *each > 1).map_or(0, |_| table.columns);
                memory.step(self.columns(rows, table.log_n));
            }
        }
        let mut digests = 0;
        for group in alone.chunk_by(|a, b| a.log_n == b.log_n) {
            let rows = group[0].log_n + log_blowup;
            let (mut states, total) = (0, group.iter().map(|table| table.columns).sum::<usize>());
            let mut absorbed = 0;
            for table in group {
                // parts that are made again, or copied from the host
                let copied = table.copied.filter(|_| !again && table.lookups == 0);
                let of_host = copied.map_or(table.columns, |(part, _)| part);
                let part = if again { at_once::<F>(rows) } else { of_host }.min(table.columns);
                if !again {
                    memory.hold(self.columns(table.columns, rows));
                }
                for begin in (0..table.columns).step_by(part.max(1)) {
                    let part = part.min(table.columns - begin);
                    absorbed += part;
                    // each part from the host is copied while the one before is in use
                    let before = usize::from(begin > 0);
                    let copies = copied.map_or(0, |(_, each)| (each + before) * self.columns(part, table.log_n));
                    let own = if again { self.columns(part, rows) } else { 0 };
                    memory.hold(own + copies);
                    memory.step(self.temporary(part, table.log_n, log_blowup)?);
                    let ends = absorbed == total;
                    let next = self.columns(if ends { F::DIGEST } else { 2 * F::DIGEST }, rows);
                    memory.hold(next);
                    memory.drop(states + own + copies);
                    states = next;
                }
            }
            digests += states;
        }
        // the tree takes over the digests
        memory.hold(self.tree_of(alone.iter().copied()).saturating_sub(digests));

        // permutation columns
        let permutation = |table: &Size| (table.lookups + 1) * degree;
        for table in with_lookups() {
            memory.step(self.columns(2 * table.lookups * degree + permutation(table), table.log_n));
            memory.hold(self.columns(permutation(table), table.log_n));
            memory.hold(degree * size_of::<F>() * (1usize << table.log_n).div_ceil(SUMMED));
        }
        for table in with_lookups() {
            memory.hold(self.extended(permutation(table), table.log_n));
            memory.step(self.temporary(permutation(table), table.log_n, log_blowup)?);
        }
        memory.hold(self.tree_of(with_lookups()));
        for table in with_lookups() {
            memory.drop(self.columns(permutation(table), table.log_n));
            memory.drop(degree * size_of::<F>() * (1usize << table.log_n).div_ceil(SUMMED));
        }

        // quotients
        let has_blocks = |table: &Size| division.is_some_and(|of| of.has_blocks(table.log_chunks));
        let trace = |table: &Size| {
            let held = division.map_or(log_blowup, |of| of.log_held() - of.log_n);
            let wide = table.log_chunks > held && !has_blocks(table);
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
            let evaluated = if has_blocks(table) { table.log_n } else { rows };
            memory.hold(self.columns(trace(table), rows));
            memory.step(self.temporary(trace(table).max(1), table.log_n, table.log_chunks)?);
            memory.hold(self.columns(2 * degree, evaluated));
            memory.drop(self.columns(trace(table), rows));
            memory.drop(self.columns(degree, evaluated));
            if has_blocks(table) {
                memory.hold(self.columns(degree, rows));
                memory.drop(self.columns(degree, evaluated));
            }
            if let Some(division) = division {
                // the coefficients, and the first device's part
                memory.hold(self.columns(degree, rows));
                memory.hold(self.columns(degree << table.log_chunks, division.log_held()));
                let tree = self.tree(division.log_own());
                memory.hold(tree + self.columns(F::DIGEST, division.log_own()));
                memory.drop(self.columns(2 * degree, rows) + self.columns(F::DIGEST, division.log_own()));
                memory.step(self.tree_of(order.iter().copied()));
                memory.drop(tree);
                continue;
            }
            let quotient = self.extended(degree << table.log_chunks, table.log_n);
            memory.hold(quotient);
            memory.step(self.temporary(degree, table.log_n, log_blowup)?);
            memory.drop(self.columns(degree, rows));
        }
        memory.hold(self.tree_of(order.iter().copied()));

        // openings, where a device of a group has its own rows only
        let committed = memory.held;
        let held = division.map_or(log_blowup, |of| of.log_held() - of.log_n);
        let own = |columns: usize, log_n: usize| self.columns(columns, log_n + held);
        let highest = order.first().map_or(0, |table| table.log_n);
        let mut nexts: Vec<usize> =
            order.iter().filter(|table| table.next || table.lookups > 0).map(|table| table.log_n).collect();
        nexts.dedup();
        let mut weights = own(degree, highest);
        weights += nexts.iter().map(|log_n| own(degree, *log_n)).sum::<usize>();
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
            memory.hold(self.extended(degree, *log_n));
            let combined = self.columns(columns, *log_n) + if held > 0 { own(columns, *log_n) } else { 0 };
            memory.hold(combined);
            memory.step(self.temporary(columns, *log_n, held)?);
            memory.drop(combined);
        }
        memory.drop(weights);

        // FRI's rounds; functions of lower heights are held until they join
        let arity = self.pcs.fri().max_log_arity;
        let mut bits = highest + log_blowup;
        while bits > arity.max(self.settings.tail) {
            memory.hold(self.tree(bits - arity));
            bits -= arity;
            memory.hold(self.columns(degree, bits));
        }
        // and the rows and digests that are opened, with their numbers
        let (queries, number) = (self.pcs.fri().num_queries, size_of::<u64>());
        let opened = |bits: usize| {
            // two leaves may have the same sibling
            let digests = (0..bits).map(|depth| queries.min(1 << depth)).sum::<usize>();
            digests * (self.columns(F::DIGEST, 0) + number) + queries * (self.columns(degree << arity, 0) + number)
        };
        memory.step((bits..highest + log_blowup).step_by(arity).map(opened).sum());
        memory.held = committed;
        if again {
            let parts = tables.iter().map(|table| {
                let rows = table.log_n + log_blowup;
                let part = at_once::<F>(rows).min(table.columns);
                Ok(self.columns(part, rows) + self.temporary(part, table.log_n, log_blowup)?)
            });
            memory.step(parts.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or(0));
        }
        // and the small inputs of launches
        Ok(memory.most.saturating_add(memory.most / 64))
    }
}
