//! Copy bandwidth of a device's memory, which bounds all work that reads and writes each byte once.

use anyhow::Result;
use ringforge::kernels::{Built, CustomKernel, Port};
use ringforge::{Device, Limits, Planner};

use crate::measure::{self, Effort};
use crate::work::Work;

/// Bytes per item. Threads per block.
const ITEM: usize = 16;
const THREADS: u32 = 256;

/// The kernel, which copies one item per thread.
#[allow(unsafe_code)]
fn copy() -> CustomKernel {
    const SOURCE: &str = r#"#include "prelude.cuh"
extern "C" __global__ void copy(const rf::u32x4* in, rf::u32x4* out, rf::u64 first, rf::u64 end) {
    const rf::u64 item = first + blockIdx.x * (rf::u64)blockDim.x + threadIdx.x;
    if (item < end) out[item] = in[item];
}"#;
    let build = |_: &Limits| Ok(Built::thread_per_item(THREADS));
    let ports = [Port::input(ITEM), Port::output(ITEM)];
    // SAFETY: a thread copies the 16 bytes of its own item.
    unsafe { CustomKernel::new(("copy", SOURCE, &[]), ports, build, |_, args| args.transform::<u8>(0, 1).map(drop)) }
}

/// Measures the copy bandwidth: bytes read plus bytes written per second.
pub fn bandwidth(device: &Device, effort: Effort) -> Result<f64> {
    let p = Planner::new(device.limits().clone()).pipeline("copy");
    let [copied] = p.step(copy(), &[p.input("from")]);
    p.output("to", copied);
    let work = Work::of_plan(device, &p.build()?)?;
    let batch = if device.limits().is_cpu() { 1 << 22 } else { 1 << 25 };
    let input = vec![0x5a; batch * ITEM];
    let mut sets = (0..2).map(|_| work.buffers(batch, &[("from", &input)])).collect::<Result<Vec<_>>>()?;
    let times = measure::measure(&work, batch, &mut sets, effort)?;
    anyhow::ensure!(work.result(&sets[0])? == input, "the copy differs from its source");
    Ok((2 * batch * ITEM) as f64 / times.median_seconds)
}

#[cfg(all(test, feature = "cuda"))]
pub(crate) mod tests {
    use ringforge::kernels::Kernel;

    use super::*;

    /// Returns true if NVRTC is present. Panics if it is absent although `RINGFORGE_REQUIRE_NVRTC` is 1.
    pub(crate) fn has_compiler() -> bool {
        let is_required = std::env::var_os("RINGFORGE_REQUIRE_NVRTC").is_some_and(|value| value == "1");
        let is_there = ringforge::cuda::is_compiler_present();
        assert!(is_there || !is_required, "NVRTC is not on this machine");
        is_there
    }

    /// Returns true if a kernel compiles for sm_80, sm_90 and sm_120 without spills, or if there is no compiler.
    pub(crate) fn compiles(kernel: &dyn Kernel) -> bool {
        let is_fine = |capability| {
            let outcome = ringforge::cuda::compile_check(kernel, &Limits::of_capability(capability), false);
            outcome.is_ok_and(|resources| resources.spill_stores == 0)
        };
        !has_compiler() || [80, 90, 120].into_iter().all(is_fine)
    }

    #[test]
    fn the_kernel_compiles_and_has_a_bandwidth() {
        assert!(compiles(&copy()));
        assert!(bandwidth(&Device::cpu(), Effort::NONE).is_ok_and(|rate| rate > 0.0));
    }
}
