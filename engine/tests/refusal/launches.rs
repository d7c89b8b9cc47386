//! Launches that no GPU with these limits supports are rejected, with the same message on every device that runs CUDA
//! source.

use core::ops::Range;

use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Source};
use ringforge::{Device, Error, Limits, Result};
use ringforge_testkit::Target;
use ringforge_testkit::one_step;

use super::refused;

/// A kernel without effect, launched with any `Launch`.
#[derive(Debug)]
struct Nothing(Launch, [Port; 1]);

impl Kernel for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn ports(&self) -> &[Port] {
        &self.1
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let built = Built { prelude: String::new(), launch: self.0 };
        // SAFETY: the source does nothing.
        Ok(unsafe {
            Source::new(
                self,
                "extern \"C\" __global__ void nothing(unsigned char* out, unsigned long long first, unsigned long long end) {}\n",
                &[],
                built,
            )
        })
    }

    fn on_cpu(&self, _: Range<usize>, _: &mut Args<'_>) -> Result<()> {
        Ok(())
    }
}

fn run(device: &Device, launch: Launch) -> Result<()> {
    let plan = one_step(Nothing(launch, [Port::output(0)]), &["nothing"])?;
    device.compile(&plan)?.on_host(2).output::<u8>("nothing", &mut []).run()
}

#[test]
fn launches_beyond_the_device() -> Result<()> {
    let one = Launch::thread_per_item(1);
    for device in [Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device) {
        let Limits { block_shared_bytes: most, block_threads, cluster_blocks, .. } = *device.limits();
        let threads = block_threads.unwrap_or(0);
        run(&device, one)?;
        run(&device, Launch { shared_bytes: most, ..one })?;
        for shared_bytes in [most + 1, 228 << 10, u32::MAX] {
            refused!(run(&device, Launch { shared_bytes, ..one }), Error::Unsupported { ref job, ref why }
                if job == "nothing"
                    && *why == format!("a block needs {shared_bytes} bytes of shared memory, but the device has {most}"));
        }
        for asked in [0, threads + 1, u32::MAX] {
            refused!(run(&device, Launch { threads: asked, ..one }), Error::Unsupported { ref why, .. }
                if *why == format!("a block has {asked} threads, but must have 1 to {threads}"));
        }
        refused!(run(&device, Launch { items_per_block: 0, ..one }), Error::Unsupported { .. });
        refused!(run(&device, Launch { blocks_per_item: 0, ..one }), Error::Unsupported { .. });
        refused!(run(&device, Launch { together: 0, ..one }), Error::Unsupported { .. });
        for cluster in [0, cluster_blocks + 1, u32::MAX] {
            refused!(run(&device, Launch { cluster, blocks_per_item: cluster.max(1), ..one }), Error::Unsupported { ref why, .. }
                if *why == format!("a cluster has {cluster} blocks, but must have 1 to {cluster_blocks}"));
        }
        if cluster_blocks > 1 {
            run(&device, Launch { cluster: 2, blocks_per_item: 4, ..one })?;
            refused!(run(&device, Launch { cluster: 2, blocks_per_item: 3, ..one }), Error::Unsupported { .. });
        }
        for blocks_per_item in [1 << 30, u32::MAX] {
            refused!(run(&device, Launch { blocks_per_item, ..one }),
                Error::TooLarge { what: "the blocks of a launch", limit: 0x7fff_ffff, got } if got == 2 * blocks_per_item as usize);
        }
    }
    Ok(())
}

#[test]
fn blocks_are_counted() {
    let launch =
        |items_per_block, blocks_per_item| Launch { items_per_block, blocks_per_item, ..Launch::thread_per_item(1) };
    assert_eq!(launch(4, 1).blocks(9), Some(3));
    assert_eq!(launch(1, 3).blocks(2), Some(6));
    assert_eq!(launch(1, 2).blocks(usize::MAX), None);
    assert_eq!(launch(0, 1).blocks(1), None);
    assert_eq!(Launch::thread_per_item(0).blocks(1), None);
}
