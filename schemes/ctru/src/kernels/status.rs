//! The status of an item as kernels write it: a fault, and above it the coefficient that it is about.

use ringforge_batch::{Fault, Reason};

/// Bits of the fault.
pub(crate) const FAULT_BITS: u32 = 8;

pub(crate) const FINE: u32 = 0;
pub(crate) const NOT_INVERTIBLE: u32 = 1;
pub(crate) const INVALID_PUBLIC_KEY: u32 = 2;
pub(crate) const INVALID_SECRET_KEY: u32 = 3;

/// The status for a fault at this coefficient, fine if there is none.
pub(crate) fn at(fault: u32, coefficient: Option<usize>) -> u32 {
    coefficient.map_or(FINE, |coefficient| fault | (coefficient as u32) << FAULT_BITS)
}

/// The faults that these statuses tell of.
pub(crate) fn faults(statuses: &[u32]) -> Vec<Fault> {
    let fault = |(item, &status): (usize, &u32)| {
        let coefficient = (status >> FAULT_BITS) as usize;
        let why = match status & ((1 << FAULT_BITS) - 1) {
            FINE => return None,
            NOT_INVERTIBLE => Reason::NotInvertible,
            INVALID_PUBLIC_KEY => Reason::InvalidPublicKey { coefficient },
            _ => Reason::InvalidSecretKey { coefficient },
        };
        Some(Fault { item, why })
    };
    statuses.iter().enumerate().filter_map(fault).collect()
}
