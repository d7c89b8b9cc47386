//! The work of one device in a transform, and the order of this work.

use core::ops::Range;

use crate::job::Op;
use crate::long::Placement;
use ringforge_math::error::Result;
use ringforge_runtime::device::{Buffer, Stream};
use ringforge_runtime::program::Program;

use super::LongNtt;
use super::links::Member;
use super::timeline::Watch;
use super::worker::{Part, Worker};

/// One device's share of a transform.
pub(super) struct Turn<'a> {
    pub(super) ntt: &'a LongNtt,
    pub(super) member: &'a Member,
    pub(super) worker: &'a Worker,
    pub(super) part: &'a mut Part,
    pub(super) watch: Option<Watch>,
}

/// The layout from which the rows of a vector are gathered in an exchange, or to which they are scattered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    /// The columns that a column transform works on. Rows are in the order in which that transform writes or reads
    /// them.
    Columns,
    /// A block of the vector, or columns before or after the whole transform. Rows are in ascending order.
    Order,
}

/// The direction of an exchange: from parts of columns or blocks into rows (`Rows`), or the reverse
/// (`Columns`).
#[derive(Debug, Clone, Copy)]
pub(super) enum To {
    Rows,
    Columns,
}

impl Side {
    /// The position of the row with index `row` in this layout.
    fn place(self, ntt: &LongNtt, row: usize) -> usize {
        match self {
            Self::Columns => ntt.places[row],
            Self::Order => row,
        }
    }
}

impl Turn<'_> {
    pub(super) fn forward(&mut self) -> Result<()> {
        let [coefficients, values] = [self.ntt.plan.coefficients(), self.ntt.plan.values()];
        if coefficients == Placement::Blocks {
            self.all().try_for_each(|part| self.exchange(To::Columns, Side::Order, part..part + 1, self.all()))?;
        }
        let order = (values == Placement::Blocks).then_some(Side::Order);
        self.transform_rows(Op::Forward, [Some(Side::Columns), order])
    }

    pub(super) fn inverse(&mut self) -> Result<()> {
        let [coefficients, values] = [self.ntt.plan.coefficients(), self.ntt.plan.values()];
        let order = (values == Placement::Blocks).then_some(Side::Order);
        self.transform_rows(Op::Inverse, [order, Some(Side::Columns)])?;
        if coefficients == Placement::Blocks {
            self.all().try_for_each(|part| self.exchange(To::Rows, Side::Order, part..part + 1, self.all()))?;
        }
        Ok(())
    }

    /// The indices of this device's rows. The device's parts of columns have the same indices.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.part.rows.len()
    }

    /// Transforms every row of this device. If `from` is given, rows are first gathered from that layout; if `to` is
    /// given, they are scattered to that layout afterwards.
    fn transform_rows(&mut self, op: Op, [from, to]: [Option<Side>; 2]) -> Result<()> {
        if let Some(from) = from {
            // the first row is gathered while later parts of the columns are transformed, and each further row while
            // earlier rows are transformed
            for part in self.all() {
                self.work_on(from, op, part)?;
                self.exchange(To::Rows, from, part..part + 1, 0..1)?;
            }
        }
        let last = self.all().end - 1;
        for row in self.all() {
            self.transform_row(row, op)?;
            if let (Some(from), 0) = (from, row) {
                self.all().skip(1).try_for_each(|later| self.exchange(To::Rows, from, self.all(), later..later + 1))?;
            }
            match to {
                Some(to) if row < last => self.exchange(To::Columns, to, self.all(), row..row + 1)?,
                Some(to) => {
                    for part in self.all() {
                        self.exchange(To::Columns, to, part..part + 1, row..row + 1)?;
                        self.work_on(to, op, part)?;
                    }
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Starts an exchange between columns and rows. It moves the pieces in which these parts of the columns intersect
    /// the rows `rows` of each device.
    pub(super) fn exchange(&mut self, to: To, side: Side, parts: Range<usize>, rows: Range<usize>) -> Result<()> {
        let what = || match to {
            To::Rows => format!("exchange: parts {parts:?} into rows {rows:?}"),
            To::Columns => format!("exchange: rows {rows:?} into parts {parts:?}"),
        };
        self.watched(
            what,
            |worker| &worker.exchange,
            |turn| {
                let (own, devices, piece) = (turn.all().len(), turn.ntt.plan.devices(), turn.ntt.plan.piece_bytes());
                let (from, into, filled) = match to {
                    To::Rows => (&turn.part.columns, &mut turn.part.rows, rows.clone()),
                    To::Columns => (&turn.part.rows, &mut turn.part.columns, parts.clone()),
                };
                let places = into.iter_mut().map(|buffer| buffer.write().pieces(piece).into_iter().map(Some));
                let mut places: Vec<Vec<_>> = places.map(Iterator::collect).collect();
                let (mut sends, mut receives) = (Vec::new(), Vec::new());
                // all devices must list their sends and receives in the same order
                for (row, part) in rows.clone().flat_map(|row| parts.clone().map(move |part| (row, part))) {
                    for rank in 0..devices {
                        let in_part = (part, side.place(turn.ntt, rank * own + row));
                        let in_row = (row, rank * own + part);
                        let [(buffer, place), (to, free)] = match to {
                            To::Rows => [in_part, in_row],
                            To::Columns => [in_row, in_part],
                        };
                        sends.push((rank, from[buffer].read().part(&(place * piece..(place + 1) * piece))));
                        receives.extend(places[to][free].take().map(|to| (rank, to)));
                    }
                }
                turn.worker.exchange(turn.member, &sends, receives)?;
                into[filled].iter_mut().for_each(Buffer::holds_anything);
                Ok(())
            },
        )
    }

    /// Transforms a part of the columns (`Side::Columns`), or converts between pieces of all rows and a part of a block
    /// (`Side::Order`).
    pub(super) fn work_on(&mut self, side: Side, op: Op, part: usize) -> Result<()> {
        let which = usize::from(op == Op::Inverse);
        let what = || match side {
            Side::Columns => format!("columns, part {part}"),
            Side::Order => format!("block, part {part}"),
        };
        self.watched(
            what,
            |worker| &worker.work,
            |turn| {
                let (work, Part { columns, rows }) = (&turn.worker.work, &mut *turn.part);
                let (columns, rows) = (&mut columns[part], &mut rows[part]);
                match (side, &turn.worker.columns[which], &turn.worker.blocks[which]) {
                    (Side::Columns, Some(program), _) => transform(program, work, columns),
                    (Side::Order, _, Some(program)) => {
                        let (from, to) =
                            if op == Op::Forward { (&*columns, &mut *rows) } else { (&*rows, &mut *columns) };
                        program.on(work, 1).input("from", from).output("to", &mut *to).run()?;
                        to.holds_anything();
                        Ok(())
                    }
                    _ => Ok(()),
                }
            },
        )
    }

    fn transform_row(&mut self, row: usize, op: Op) -> Result<()> {
        self.watched(
            || format!("row {row}"),
            |worker| &worker.work,
            |turn| {
                let program = &turn.worker.rows[row][usize::from(op == Op::Inverse)];
                transform(program, &turn.worker.work, &mut turn.part.rows[row])
            },
        )
    }

    /// Starts work on a stream, and records events around it if the transform is profiled.
    fn watched(
        &mut self,
        what: impl FnOnce() -> String,
        stream: fn(&Worker) -> &Stream,
        work: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if self.watch.is_none() {
            return work(self);
        }
        let before = stream(self.worker).mark()?;
        work(self)?;
        let after = stream(self.worker).mark()?;
        if let Some(watch) = &mut self.watch {
            watch.note(what(), before, after);
        }
        Ok(())
    }
}

/// Transforms a part of the columns, or a row, in place.
fn transform(program: &Program, stream: &Stream, data: &mut Buffer) -> Result<()> {
    program.on(stream, 1).output("data", &mut *data).run()?;
    data.holds_anything();
    Ok(())
}
