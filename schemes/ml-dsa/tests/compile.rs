//! Tests that every kernel of this crate compiles with NVRTC, with almost no register spills.

use ringforge_testkit::{Scheme, check_registers};

use crate::sets::Sets;

/// 128 registers still allow enough threads to hide latency. The compiler spills 4 bytes in `mldsa_respond` for sm_80.
#[test]
fn kernels_compile_with_few_spills() {
    let plans = |limits: &_| {
        let mut plans = Sets::plans(limits)?;
        // for other architectures, only the largest set
        plans.retain(|named| limits.capability == 90 || named.name.starts_with("ML-DSA-87"));
        Ok(plans)
    };
    check_registers(plans, "mldsa", 128, 4);
}
