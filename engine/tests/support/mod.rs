//! Helpers of tests of whole operations: devices, and moduli with roots of unity.

use ringforge::{Device, Modulus, U256};
use ringforge_testkit::Target;

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
