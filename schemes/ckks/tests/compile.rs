//! Tests that every kernel of this crate compiles with NVRTC, without register spills.

use ringforge_testkit::check_registers;

use crate::encoding::all_plans;

/// With 128 registers, four blocks of 128 threads are resident on a multiprocessor.
#[test]
fn kernels_compile_without_spills() {
    check_registers(all_plans, "ckks", 128, 0);
}
