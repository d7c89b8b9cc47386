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
    /// Programs for a part of the columns, and for each row: forward and inverse.
    pub(super) columns: [Option<Program>; 2],
    pub(super) rows: Vec<[Program; 2]>,
    /// Programs that turn pieces of all rows into a part of a block of the vector, and back.
    pub(super) blocks: [Option<Program>; 2],
    pub(super) work: Stream,
    /// High-priority stream for exchanges. On a stream of normal priority, they would queue up after the long kernels
    /// of `work`.
    pub(super) exchange: Stream,
}

/// A device's part of a vector in two layouts, one of which is in use: parts of the columns of all rows, or its own
/// rows. Both have the same number of buffers of the same size. `rows` also holds parts of a block.
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

    /// Starts an exchange. A single device copies to itself what it would send.
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

/// Compiles the program of a job on parts of vectors, which may be secret.
fn program(member: &Member, job: &Job) -> Result<Program> {
    member.engine.program_of(&OnSecrets(job.clone()), |planner| Ok(planner.plan(job)?.on_secrets()))
}

/// Cache key for a job's program that wipes its temporaries.
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
            // slices are written before the whole buffer is
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
