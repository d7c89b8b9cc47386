//! Tests that every kernel of this crate compiles with NVRTC, with almost no register spills.

use ringforge_testkit::{Scheme, check_registers};

use crate::sets::Sets;

/// 168 registers still allow enough threads to hide latency. The compiler spills 8 bytes in a hashing kernel for sm_120.
#[test]
fn kernels_compile_with_few_spills() {
    check_registers(Sets::plans, "mlkem", 168, 8);
}
