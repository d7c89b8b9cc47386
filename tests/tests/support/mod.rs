//! What tests of whole operations share: devices, moduli with roots, and runs of a job.

use ringforge::testkit::{Compiled, NamedPlan, Target};
use ringforge::{Device, Job, Modulus, U256};

/// The CPU, and the first GPU if there is one.
pub(crate) fn devices() -> Vec<Device> {
    [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device).collect()
}

/// The largest prime of this many bits that is 1 modulo `order`, if there is one.
pub(crate) fn prime(bits: u32, order: u64) -> Option<Modulus> {
    let top = U256::MAX.wrapping_shr_vartime(256 - bits);
    let step = U256::from(order);
    let excess = if order == 1 { U256::ZERO } else { Modulus::new(order).ok()?.reduce(&top.wrapping_sub(&U256::ONE)) };
    let mut q = top.wrapping_sub(&excess);
    while q.bits_vartime() == bits {
        let modulus = Modulus::new(q).ok()?;
        if modulus.is_prime() {
            return Some(modulus);
        }
        if q < step {
            break;
        }
        q = q.wrapping_sub(&step);
    }
    None
}

/// What the job's plan writes on a device.
pub(crate) fn run(device: &Device, job: &Job, batch: usize, inputs: &[&[u8]]) -> Vec<u8> {
    let plan = NamedPlan::of_job(job, device.limits()).unwrap_or_else(|e| panic!("{job}: {e}"));
    let compiled = Compiled::new(&plan, device).unwrap_or_else(|e| panic!("{job} on {device}: {e}"));
    let inputs: Vec<Vec<u8>> = inputs.iter().map(|input| input.to_vec()).collect();
    let outputs = compiled.run(batch, &inputs).unwrap_or_else(|e| panic!("{job} on {device}, batch {batch}: {e}"));
    outputs.concat()
}
