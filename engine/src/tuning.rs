//! Choices of a planner that change speed and nothing else.

/// How residues change threads between two passes of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Exchange {
    /// Through shared memory: each thread writes its residues and reads others.
    #[default]
    Shared,
    /// By shuffles among the lanes of a warp, half of the registers for each bit of the lane; no thread computes what
    /// another one does. Only between two passes of rows that lie in a warp, and words of up to 64 bits; elsewhere through
    /// shared memory.
    Shuffle,
}

/// Choices that change the speed of plans and nothing else. The default is what was measured to be fastest.
///
/// ```
/// use ringforge::{Exchange, Job, Limits, Modulus, Op, Planner, Ring, Tuning};
/// let mut tuning = Tuning::default();
/// tuning.exchange = Exchange::Shuffle;
/// let planner = Planner::new(Limits::h200()).tuned(tuning);
/// let ring = Ring::negacyclic(1 << 16, Modulus::new(1_152_921_504_606_584_833u64)?)?;
/// assert!(planner.plan(&Job::new(&ring, Op::Forward))?.to_string().contains("shuffle"));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Tuning {
    /// How residues change threads between passes.
    pub exchange: Exchange,
}
