//! The ring that a user names: `ringforge bench RING OP` and `ringforge profile RING OP`.

use ringforge::{Job, Op, Ring};

use super::jobs::{Task, suiting_batch};
use super::suites::{Case, Kind, Suite};
use crate::job::Shape;

pub(super) static SUITE: Suite = Suite {
    name: "own",
    kind: Kind::Own,
    title: "Rings of one's own",
    about: "What a user asked for by ring and operation, with all data on the device.",
    ..Suite::NONE
};

/// The operation on the ring with this text, for these batches or one that suits the device.
pub(super) fn case(text: &str, ring: &Ring, op: Op, shape: &Shape, batches: &[usize]) -> Case {
    // 0 stands for what suits the device
    let batches = if batches.is_empty() { vec![0] } else { batches.to_vec() };
    let job: Job = shape.job(ring, op);
    let name = text.to_owned();
    Case::of_batches(name.clone(), op, batches, move |bench, batch| {
        let batch = if batch == 0 { suiting_batch(bench, &job)? } else { batch };
        let job = job.clone().batch_hint(batch);
        let ways = [(job.order == ringforge::Order::Natural, "natural order"), (job.in_place, "in place")];
        let ways = ways.into_iter().filter(|(is_so, _)| *is_so).map(|(_, way)| way).collect::<Vec<_>>();
        Ok(Task::new(&job, batch).line(bench, name.clone(), bench.effort)?.varied(ways.join(", ")))
    })
}
