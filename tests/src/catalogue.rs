//! The plans that stand for all kernels of the workspace in tests: the smallest shape of each kernel at least.

use ringforge::testkit::NamedPlan;
use ringforge::{Error, Job, Limits, Modulus, Op, Result, Ring};

/// Jobs whose plans have the engine's kernels among them.
///
/// # Errors
/// What makes a ring fail.
pub fn jobs() -> Result<Vec<Job>> {
    let ctru = Ring::trinomial(512, Modulus::new(3457u32)?)?;
    let kyber = Ring::negacyclic(256, Modulus::new(3329u32)?)?;
    let babybear = Ring::cyclic(64, Modulus::new(0x7800_0001u32)?)?;
    let goldilocks = Ring::negacyclic(64, Modulus::new(0xffff_ffff_0000_0001u64)?)?;
    let ops = [Op::Forward, Op::Inverse, Op::PointMul, Op::MulAdd, Op::Mul];
    let rings = [ctru, kyber, babybear, goldilocks];
    Ok(rings.iter().flat_map(|ring| ops.map(|op| Job::new(ring, op))).collect())
}

/// All plans for a device with these limits: the jobs', then those of the schemes in this workspace.
///
/// # Errors
/// What makes planning fail, except that the planner refuses a job.
pub fn catalogue(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let mut plans = Vec::new();
    for job in jobs()? {
        match NamedPlan::of_job(&job, limits) {
            Err(Error::Unsupported { .. }) => {}
            plan => plans.push(plan?),
        }
    }
    // plans.extend(<Scheme as testkit::Scheme>::plans(limits)?) for each scheme crate
    Ok(plans)
}
