//! Limits of a device: all that planning and code generation need to know about the device.

/// Limits of a device, in the terms of CUDA's programming model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limits {
    /// Name of the device, or `sm_` with the compute capability for limits without a device.
    pub name: String,
    /// Compute capability, as `10 * major + minor`; 0 for a CPU.
    pub capability: u32,
    /// Maximum threads per block; `None` on a CPU, which has no blocks.
    pub block_threads: Option<u32>,
    /// Maximum dynamic shared memory per block, in bytes.
    pub block_shared_bytes: u32,
    /// Maximum blocks per thread-block cluster; 1 where there are no clusters.
    pub cluster_blocks: u32,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
}

impl Limits {
    /// The limits of the CPU, which does not limit the size of a ring.
    #[must_use]
    pub fn cpu() -> Self {
        Self {
            name: "CPU".into(),
            capability: 0,
            block_threads: None,
            block_shared_bytes: 0,
            cluster_blocks: 1,
            multiprocessors: 1,
            memory_bytes: u64::MAX,
        }
    }

    /// The limits of a GPU of this compute capability, with the shared memory that CUDA's programming guide states. Use
    /// them for planning and compiling without that GPU. The number of multiprocessors (100) and the memory size (16
    /// GiB) are nominal.
    #[must_use]
    pub fn of_capability(capability: u32) -> Self {
        let shared_kib = match capability {
            ..75 => 48,
            75 => 64,
            80 | 87 => 163,
            90 | 100..120 => 227,
            _ => 99,
        };
        Self {
            name: format!("sm_{capability}"),
            capability,
            block_threads: Some(1024),
            block_shared_bytes: shared_kib * 1024,
            // every GPU with clusters supports clusters of 8 blocks
            cluster_blocks: if capability < 90 { 1 } else { 8 },
            multiprocessors: 100,
            memory_bytes: 16 << 30,
        }
    }

    /// The limits of an NVIDIA H200.
    #[must_use]
    pub fn h200() -> Self {
        Self { name: "NVIDIA H200".into(), multiprocessors: 132, memory_bytes: 141 << 30, ..Self::of_capability(90) }
    }

    /// Whether this GPU multiplies double-precision numbers at full rate, as GPUs for data centres do.
    #[must_use]
    pub const fn has_fast_doubles(&self) -> bool {
        matches!(self.capability, 80 | 90 | 100)
    }

    /// Whether the shared memory of a multiprocessor is large enough for several transform blocks, each with twice the
    /// usual shared memory.
    #[doc(hidden)]
    pub const fn holds_large_blocks(&self) -> bool {
        matches!(self.capability, 90 | 100..120)
    }

    /// Whether these are the limits of the CPU.
    #[must_use]
    pub fn is_cpu(&self) -> bool {
        self.block_threads.is_none()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::cpu()
    }
}
