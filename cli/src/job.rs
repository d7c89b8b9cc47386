//! Command-line options that select a ring, an operation and a job's further settings.

use clap::Args;
use ringforge::{Job, Op, Order, PolyType};

/// A ring and an operation, for subcommands that require both.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// The ring, such as 3457:x^768-x^384+1 or 0x3ffc0001,0x3fed0001:x^1024+1; @ROOT at the end names a root of unity.
    ring: PolyType,
    /// The operation: forward, inverse, point_mul, mul_add, mul, compose, decompose, convert, convert_centred or
    /// convert_fast.
    op: Op,
    #[command(flatten)]
    shape: Shape,
}

impl Asked {
    /// The job that the options describe.
    pub(crate) fn job(&self) -> Job {
        self.shape.job(&self.ring, self.op)
    }
}

/// Options of a job other than ring, operation and batch.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Shape {
    /// The target ring of a conversion.
    #[arg(long, value_name = "RING")]
    to: Option<PolyType>,
    /// Order of the evaluations: digit_reversed (bit-reversed if every radix is 2) or natural.
    #[arg(long, default_value = "digit_reversed", value_parser = order)]
    order: Order,
    /// Number of layers of the transform; all layers of the ring if omitted.
    #[arg(long)]
    depth: Option<u32>,
    /// Overwrite the input.
    #[arg(long)]
    in_place: bool,
}

fn order(text: &str) -> Result<Order, String> {
    match text {
        "digit_reversed" => Ok(Order::DigitReversed),
        "natural" => Ok(Order::Natural),
        _ => Err("expected digit_reversed or natural".into()),
    }
}

/// Returns the same job with another operation.
pub(crate) fn with_op(job: &Job, op: Op) -> Job {
    let mut job = job.clone();
    job.op = op;
    job
}

impl Shape {
    /// Returns the job for this ring and operation.
    pub(crate) fn job(&self, ring: &PolyType, op: Op) -> Job {
        let mut job = Job::new(ring, op).order(self.order);
        (job.depth, job.in_place, job.target) = (self.depth, self.in_place, self.to.clone());
        job
    }
}
