//! The status of an item as kernels write it: fine, or the place of the first bad coefficient of a secret key, from 1.

use ringforge_batch::{Fault, Reason};

/// The status for a bad coefficient at this place; fine if there is none.
pub(crate) fn invalid_secret_key(coefficient: Option<usize>) -> u32 {
    coefficient.map_or(0, |coefficient| coefficient as u32 + 1)
}

/// The faults that these statuses tell of.
pub(crate) fn faults(statuses: &[u32]) -> Vec<Fault> {
    let fault = |(item, &status): (usize, &u32)| {
        let coefficient = status.checked_sub(1)? as usize;
        Some(Fault { item, why: Reason::InvalidSecretKey { coefficient } })
    };
    statuses.iter().enumerate().filter_map(fault).collect()
}
