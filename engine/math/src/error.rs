//! Errors of this crate and of `ringforge`.

use crypto_bigint::U256;

use crate::decimal::decimal;

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why there is no device to run on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoDevice {
    /// The crate was built without the feature `cuda`.
    NotBuilt,
    /// The NVIDIA driver library is not on this machine.
    NoDriver,
    /// The NVIDIA driver library lacks a function, as stubs in containers do.
    NoSymbol {
        /// The function.
        symbol: &'static str,
    },
    /// The driver is too old for this crate. Versions are `major * 1000 + minor * 10`.
    DriverTooOld {
        /// The version that the driver supports.
        found: i32,
        /// The oldest version that works.
        needed: i32,
    },
    /// The driver is present but does not start, or has no such device.
    NoSuchDevice {
        /// The ordinal asked for.
        ordinal: usize,
        /// The driver's message.
        reason: String,
    },
}

impl core::fmt::Display for NoDevice {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotBuilt => f.write_str("built without the feature `cuda`"),
            Self::NoDriver => f.write_str("no NVIDIA driver library on this machine"),
            Self::NoSymbol { symbol } => {
                write!(f, "the NVIDIA driver library has no {symbol}: it is a stub, or too old")
            }
            Self::DriverTooOld { found, needed } => {
                write!(
                    f,
                    "the NVIDIA driver supports CUDA {}.{} only: update it to CUDA {}.{} or later",
                    found / 1000,
                    found % 1000 / 10,
                    needed / 1000,
                    needed % 1000 / 10
                )
            }
            Self::NoSuchDevice { ordinal, reason } => write!(f, "ordinal {ordinal}: {reason}"),
        }
    }
}

/// Why a kernel bundle cannot be used; public as `cuda::BundleFault`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BundleFault {
    /// The file does not begin like a kernel bundle.
    NoBundle,
    /// Something is missing, was changed, or contradicts the rest.
    Damaged,
    /// The bundle was written by another version of this crate.
    Version {
        /// The version that wrote it.
        found: String,
        /// This version.
        needed: String,
    },
    /// The bundle has no kernels for this GPU; architectures as `10 * major + minor`.
    Architecture {
        /// The architectures that it has kernels for.
        found: Vec<u32>,
        /// The GPU's architecture.
        needed: u32,
    },
}

impl core::fmt::Display for BundleFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoBundle => f.write_str("not a kernel bundle"),
            Self::Damaged => f.write_str("the bundle is damaged"),
            Self::Version { found, needed } => write!(f, "the bundle is for version {found}, but this is {needed}"),
            Self::Architecture { found, needed } => {
                let found: Vec<_> = found.iter().map(|capability| format!("sm_{capability}")).collect();
                let found = if found.is_empty() { "nothing".into() } else { found.join(", ") };
                write!(f, "the bundle has kernels for {found}, but this GPU is sm_{needed}")
            }
        }
    }
}

/// An error of this crate or of `ringforge`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A slice, buffer or argument list has the wrong length.
    #[error("{what}: expected {expected}, got {got}")]
    Length {
        /// The measured thing, with its unit.
        what: &'static str,
        /// The expected length.
        expected: usize,
        /// The actual length.
        got: usize,
    },
    /// An argument of a program has the wrong size for the batch.
    #[error("argument {argument}: expected {expected} bytes{}, got {got}", each(*.expected, *.batch))]
    ArgumentSize {
        /// The argument's name.
        argument: String,
        /// Number of items in the batch, or 1 for an argument that all items share.
        batch: usize,
        /// Expected size in bytes, for the whole batch.
        expected: usize,
        /// Actual size in bytes.
        got: usize,
    },
    /// An error about a named argument.
    #[error("{name}: {error}")]
    Argument {
        /// The argument's name.
        name: &'static str,
        /// The reason.
        error: Box<Error>,
    },
    /// The arguments of a run do not match those of its plan.
    #[error("a run of {plan} {why}")]
    Arguments {
        /// The plan's title.
        plan: String,
        /// The missing, unknown or repeated argument.
        why: String,
    },
    /// A size is beyond what can be addressed or launched.
    #[error("{what} is too large: {got} exceeds the limit of {limit}")]
    TooLarge {
        /// The size that is too large.
        what: &'static str,
        /// The largest supported size.
        limit: usize,
        /// The actual value.
        got: usize,
    },
    /// Memory does not have the alignment that its element type needs.
    #[error("{what} must be aligned to {needed} bytes")]
    Alignment {
        /// The misaligned memory.
        what: &'static str,
        /// Needed alignment in bytes.
        needed: usize,
    },
    /// The number is not a valid modulus.
    #[error("invalid modulus {}: {why}", decimal(.q))]
    Modulus {
        /// The value.
        q: U256,
        /// The reason.
        why: &'static str,
    },
    /// A transform modulo q was asked for, and q is not prime.
    #[error("{} is not prime, so there is no NTT modulo it: use Op::Mul, which uses a larger NTT", decimal(.q))]
    NotPrime {
        /// The modulus.
        q: U256,
    },
    /// The modulus lacks the root of unity that the transform needs.
    #[error("there is no primitive root of unity of order {order} modulo {}", decimal(.q))]
    NoRoot {
        /// The modulus.
        q: U256,
        /// The order of the missing root.
        order: u64,
    },
    /// The description of a ring is invalid.
    #[error("invalid ring: {why}")]
    Ring {
        /// The reason.
        why: String,
    },
    /// A value is not reduced modulo its q.
    #[error("the value at index {index} is not below the modulus {}", decimal(.q))]
    NotReduced {
        /// Index of the first such value in the slice.
        index: usize,
        /// The modulus.
        q: U256,
    },
    /// The engine cannot do this job (on this device).
    #[error("{job} is not supported: {why}")]
    Unsupported {
        /// The job or kernel.
        job: String,
        /// The reason.
        why: String,
    },
    /// A bound, basis or length fixed by the caller cannot hold the exact result.
    #[error("the exact result needs {needed_bits} bits, but the given basis holds {available_bits}")]
    Inexact {
        /// Bits that the integer result may have.
        needed_bits: u32,
        /// Bits that the fixed basis can tell apart.
        available_bits: u32,
    },
    /// An argument has the wrong kind.
    #[error("{what}: expected {expected}, got {got}")]
    Mismatch {
        /// Which argument.
        what: String,
        /// The expected kind.
        expected: String,
        /// The actual value.
        got: String,
    },
    /// A buffer belongs to another device than the program or stream.
    #[error("{what} {}", foreign(.expected, .got))]
    ForeignDevice {
        /// The foreign buffer.
        what: String,
        /// The device in use.
        expected: String,
        /// The device it belongs to.
        got: String,
    },
    /// A buffer was read before anything was written to it.
    #[error("{what} holds no data: write to it first")]
    Unwritten {
        /// Which buffer.
        what: String,
    },
    /// The parts of a plan do not fit together.
    #[error("plan {plan}: {why}")]
    Plan {
        /// The plan's title.
        plan: String,
        /// The mismatch.
        why: String,
    },
    /// A kernel violated its own description.
    #[error("kernel {kernel}: {why}")]
    Kernel {
        /// The kernel.
        kernel: String,
        /// The violation.
        why: String,
    },
    /// There is no device of the kind asked for.
    #[error("no CUDA device: {0}")]
    NoDevice(NoDevice),
    /// The run-time compiler (NVRTC) is not on this machine, and the kernel is neither in a bundle nor in the cache.
    #[error("kernel {kernel} is neither in {}, and NVRTC is not on this machine", searched(.bundle))]
    NoCompiler {
        /// The kernel to be compiled.
        kernel: String,
        /// The bundles that lack it, if there are any in use.
        bundle: Option<String>,
    },
    /// A kernel bundle cannot be used here; none of its kernels are.
    #[error("{bundle}: {fault}")]
    Bundle {
        /// Its path.
        bundle: String,
        /// The reason.
        fault: BundleFault,
    },
    /// The run-time compiler refused a kernel.
    #[error("kernel {kernel} does not compile:\n{log}")]
    Compile {
        /// The kernel.
        kernel: String,
        /// The compiler's log.
        log: String,
    },
    /// The device has not enough free memory.
    #[error("out of memory: cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// The requested size in bytes.
        bytes: usize,
    },
    /// Another device of a group, or its process, does not answer or behaves unexpectedly.
    #[error("rank {rank} of the group: {why}")]
    Rank {
        /// Its number in the group.
        rank: usize,
        /// The reason, as far as known.
        why: String,
    },
    /// NCCL, the library for communication between GPUs, is not on this machine, or one of its calls failed.
    #[error("NCCL: {call}: {why}")]
    Nccl {
        /// The call.
        call: &'static str,
        /// NCCL's message, or the places searched for it.
        why: String,
    },
    /// A file cannot be read or written, or its contents are invalid.
    #[error("{path}: {why}")]
    File {
        /// Its path.
        path: String,
        /// The reason.
        why: String,
    },
    /// A driver call failed.
    #[error("{call} failed: {message} ({code})")]
    Driver {
        /// The call.
        call: &'static str,
        /// The driver's error code.
        code: i32,
        /// The driver's message.
        message: String,
    },
}

/// Names the places searched for a kernel.
fn searched(bundle: &Option<String>) -> String {
    let bundle = bundle.as_deref().unwrap_or("a bundle (set RINGFORGE_BUNDLE to use one)");
    format!("{bundle} nor in the cache")
}

impl Error {
    pub fn unsupported(op: impl core::fmt::Display, poly: &dyn core::fmt::Display, why: impl Into<String>) -> Self {
        Self::Unsupported { job: format!("{op} in {poly}"), why: why.into() }
    }

    pub fn file(path: impl core::fmt::Display, why: impl core::fmt::Display) -> Self {
        Self::File { path: path.to_string(), why: why.to_string() }
    }
}

/// States the size of one item, where there are several.
fn each(bytes: usize, items: usize) -> String {
    if items < 2 { String::new() } else { format!(", {} for each of {items} items", bytes / items) }
}

/// Describes a foreign device. Two devices may have the same name and still differ.
fn foreign(expected: &str, got: &str) -> String {
    match expected == got {
        true => format!("belongs to a different engine or device, although both are {got}: share one `Engine`"),
        false => format!("is on {got}, but must be on {expected}"),
    }
}

pub fn same_length(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}
