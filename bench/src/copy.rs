//! What copying memory on a device gives at best: the ceiling for everything that reads and writes each byte once.

use core::ops::Range;

use anyhow::Result;
use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Source};
use ringforge::{Device, Limits, Pipeline, Planner};

use crate::measure::{self, Effort};
use crate::work::Work;

/// Bytes of an item.
const ITEM: usize = 4096;

/// Copies items.
#[derive(Debug)]
struct Copy;

impl Kernel for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn ports(&self) -> &[Port] {
        const PORTS: &[Port] = &[Port::input(ITEM), Port::output(ITEM)];
        PORTS
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> ringforge::Result<Source> {
        let launch = Launch { threads: (ITEM / 16) as u32, items_per_block: 1, blocks_per_item: 1, shared_bytes: 0 };
        let built = Built { prelude: format!("#pragma once\nconstexpr unsigned ITEM = {ITEM};\n"), launch };
        // SAFETY: copy.cu copies 16 bytes a thread of its own item, of which there are as many as threads.
        Ok(unsafe { Source::new(self, include_str!("copy.cu"), &[], built) })
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> ringforge::Result<()> {
        args.transform::<u8>(0, 1).map(|_| ())
    }
}

/// Bytes read and written per second.
pub(crate) fn bandwidth(device: &Device, effort: Effort) -> Result<f64> {
    let p = Pipeline::new("copy", &Planner::new(device.limits().clone()));
    let [copied] = p.step(Copy, &[p.input("from")]);
    p.output("to", copied);
    let work = Work::of_plan(device, &p.build()?)?;
    let batch = if device.limits().is_cpu() { 1 << 14 } else { 1 << 17 };
    let input = vec![0x5a; batch * ITEM];
    let mut sets = (0..2).map(|_| work.buffers(batch, &[("from", &input)])).collect::<Result<Vec<_>>>()?;
    let times = measure::measure(&work, batch, &mut sets, effort)?;
    anyhow::ensure!(work.result(&sets[0])? == input, "the copy is not what was copied");
    Ok((2 * batch * ITEM) as f64 / times.median_seconds)
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;

    #[test]
    fn the_text_compiles() {
        let is_required = std::env::var_os("RINGFORGE_REQUIRE_NVRTC").is_some_and(|value| value == "1");
        if !ringforge::cuda::is_compiler_present() {
            assert!(!is_required, "NVRTC is not on this machine");
            return eprintln!("skipped: NVRTC is not on this machine");
        }
        for capability in [80, 90, 120] {
            let limits = Limits::of_capability(capability);
            let outcome = ringforge::cuda::compile_check(&Copy, &limits, false);
            assert!(outcome.is_ok_and(|resources| resources.spill_stores == 0), "sm_{capability}");
        }
    }

    #[test]
    fn copying_has_a_rate() {
        let effort = Effort { samples: 5, sample_seconds: 0.0, total_seconds: 0.0 };
        assert!(bandwidth(&Device::cpu(), effort).is_ok_and(|rate| rate > 0.0));
    }
}
