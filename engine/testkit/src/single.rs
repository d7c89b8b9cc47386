//! Plans of one kernel, and runs of one job.

use ringforge::kernels::{Kernel, Role};
use ringforge::{Device, Job, Plan, Planner, Result};

use crate::compare::Compiled;
use crate::scheme::NamedPlan;

/// The plan of one kernel. `names` are the names of the values at the kernel's ports, without ports for tables. An
/// output with the name of an input overwrites that input. Outputs that depend on the launch's item range are left out.
///
/// # Errors
/// Errors of building the plan.
///
/// # Panics
/// If the kernel has more than four outputs.
pub fn one_step(kernel: impl Kernel + 'static, names: &[&str]) -> Result<Plan> {
    let p = Planner::default().pipeline(kernel.name());
    let ports = (0..).zip(kernel.ports()).filter(|(i, _)| kernel.table(*i).is_none()).map(|(_, port)| *port);
    let bound: Vec<_> = ports.zip(names).collect();
    let inputs = bound.iter().filter(|(port, _)| port.role != Role::Out);
    let inputs: Vec<_> = inputs.map(|(_, name)| p.input(name)).collect();
    let outputs: Vec<_> = bound.iter().filter(|(port, _)| port.role != Role::In).collect();
    let values = match outputs.len() {
        0 => p.step::<0>(kernel, &inputs).to_vec(),
        1 => p.step::<1>(kernel, &inputs).to_vec(),
        2 => p.step::<2>(kernel, &inputs).to_vec(),
        3 => p.step::<3>(kernel, &inputs).to_vec(),
        4 => p.step::<4>(kernel, &inputs).to_vec(),
        more => panic!("the kernel has {more} outputs, but at most 4 are supported"),
    };
    for ((_, name), value) in outputs.iter().zip(values).filter(|((port, _), _)| !port.batch_dependent) {
        p.output(name, value);
    }
    p.build()
}

/// Runs a job on `batch` items and returns its output (the first by name if there are several). `inputs` are in the
/// plan's order.
///
/// # Panics
/// If planning or the run fails.
#[must_use]
pub fn run(device: &Device, job: &Job, batch: usize, inputs: &[&[u8]]) -> Vec<u8> {
    let run = || {
        let named = NamedPlan::of_job(job, device.limits())?;
        let names = named.plan.args().iter().filter(|arg| arg.role != Role::Out).map(|arg| arg.name.clone());
        let inputs = names.zip(inputs).map(|(name, bytes)| (name, bytes.to_vec())).collect();
        Compiled::new(&named, device)?.run(batch, &inputs)
    };
    let outputs = run().unwrap_or_else(|e| panic!("{job} on {device}, batch {batch}: {e}"));
    outputs.into_values().next().unwrap_or_default()
}
