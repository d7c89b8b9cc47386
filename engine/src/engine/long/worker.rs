//! The resources of one device for its part of a transform: programs, streams and memory.

use crate::job::{Job, Op};
use crate::long::{LongPlan, Placement};
use ringforge_math::error::Result;
use ringforge_runtime::device::{Buffer, Stream};
use ringforge_runtime::memory::{Read, Write};
use ringforge_runtime::program::Program;

use super::Holds;
use super::links::Member;

/// The programs and streams of one device.
#[derive(Debug)]
pub(super) struct Worker {
    /// Forward and inverse programs: in `columns` for a part of the columns, in `rows` for each row.
    pub(super) columns: [Option<Program>; 2],
    pub(super) rows: Vec<[Program; 2]>,
    /// Forward and inverse programs that convert between pieces of all rows and a part of a block; `None` unless
    /// evaluations are placed in blocks.
    pub(super) blocks: [Option<Program>; 2],
    pub(super) work: Stream,
    /// High-priority stream for exchanges. On a stream of normal priority, exchanges would wait for the long kernels of
    /// `work`.
    pub(super) exchange: Stream,
}

/// A device's part of a vector, in one of two layouts: `columns` has parts of the columns of all rows, `rows` has the
/// device's own rows or parts of a block. Both have the same number of buffers of the same size.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) columns: Vec<Buffer>,
    pub(super) rows: Vec<Buffer>,
}

impl Worker {
    pub(super) fn new(member: &Member, plan: &LongPlan) -> Result<Self> {
        let device = member.engine.device();
        let rows = (0..plan.own_rows()).map(|slot| {
            let row = member.rank * plan.own_rows() + slot;
            both(|op| program(member, &plan.of_row(op, row)?))
        });
        Ok(Self {
            columns: both(|op| plan.of_columns(op)?.map(|job| program(member, &job)).transpose())?,
            rows: rows.collect::<Result<_>>()?,
            blocks: both(|op| match plan.values() {
                Placement::Blocks => plan
                    .between_rows(op)
                    .and_then(|plan| Program::new(device, &plan.on_secrets(), Vec::new()))
                    .map(Some),
                Placement::Native => Ok(None),
            })?,
            work: device.stream()?,
            exchange: device.urgent_stream()?,
        })
    }

    /// Starts an exchange. In a group of one device, it copies each send to the matching receive.
    pub(super) fn exchange(
        &self,
        member: &Member,
        sends: &[(usize, Read<'_>)],
        receives: Vec<(usize, Write<'_>)>,
    ) -> Result<()> {
        let queue = self.exchange.queue();
        if let Some(communicator) = &member.communicator {
            return communicator.exchange(queue, sends, receives);
        }
        let mut copies = sends.iter().zip(receives);
        copies.try_for_each(|((_, from), (_, to))| member.engine.device().backend().copy(queue, *from, to))
    }
}

/// The program of a job on parts of a vector, which may be secret; cached in the member's engine.
fn program(member: &Member, job: &Job) -> Result<Program> {
    member.engine.program_of(&OnSecrets(job.clone()), |planner| Ok(planner.plan(job)?.on_secrets()))
}

/// Cache key for the program of a job whose temporaries are wiped.
#[derive(Debug, Clone, PartialEq)]
struct OnSecrets(Job);

fn both<T>(make: impl Fn(Op) -> Result<T>) -> Result<[T; 2]> {
    Ok([make(Op::Forward)?, make(Op::Inverse)?])
}

impl Part {
    /// Allocates device memory for a part, which is wiped on drop.
    pub(super) fn new(member: &Member, worker: &Worker, plan: &LongPlan) -> Result<Self> {
        let bytes = plan.row_bytes();
        let buffer = || match member.communicator.as_ref().map_or(Ok(None), |to_others| to_others.memory(bytes))? {
            Some(memory) => Ok(worker.work.secret_buffer_in(memory, bytes)),
            None => worker.work.secret_buffer(bytes),
        };
        let buffers = || {
            let mut buffers = (0..plan.own_rows()).map(|_| buffer()).collect::<Result<Vec<_>>>()?;
            // a buffer must count as written before exchanges write slices of it
            buffers.iter_mut().for_each(Buffer::holds_anything);
            Ok(buffers)
        };
        Ok(Self { columns: buffers()?, rows: buffers()? })
    }

    /// The buffers that hold the vector.
    pub(super) fn holding(&self, plan: &LongPlan, holds: Holds) -> &[Buffer] {
        if Self::is_columns(plan, holds) { &self.columns } else { &self.rows }
    }

    /// The buffers that hold the vector, mutably.
    pub(super) fn in_use(&mut self, plan: &LongPlan, holds: Holds) -> &mut [Buffer] {
        if Self::is_columns(plan, holds) { &mut self.columns } else { &mut self.rows }
    }

    fn is_columns(plan: &LongPlan, holds: Holds) -> bool {
        (holds, plan.coefficients()) == (Holds::Coefficients, Placement::Native)
    }
}
