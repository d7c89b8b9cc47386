//! Errors of this crate and of `ringforge`.

use crypto_bigint::U256;

use crate::decimal::decimal;

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// The reason why no device is available.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoDevice {
    /// The crate was built without the feature `cuda`.
    NotBuilt,
    /// The NVIDIA driver library is not on this machine.
    NoDriver,
    /// The NVIDIA driver library lacks a function. This happens with the stub libraries in containers.
    NoSymbol {
        /// Name of the missing function.
        symbol: &'static str,
    },
    /// The driver is too old for this crate. Versions are `major * 1000 + minor * 10`.
    DriverTooOld {
        /// The CUDA version that the driver supports.
        found: i32,
        /// The oldest CUDA version that works.
        needed: i32,
    },
    /// The driver is present but does not start, or has no device with this ordinal.
    NoSuchDevice {
        /// The requested device ordinal.
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

/// The reason why a kernel bundle (a file of compiled kernels) cannot be used; public as `cuda::BundleFault`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BundleFault {
    /// The file does not start like a kernel bundle.
    NoBundle,
    /// A part of the file is missing, was changed, or contradicts another part.
    Damaged,
    /// The bundle was written by another version of this crate.
    Version {
        /// The version of the crate that wrote the bundle.
        found: String,
        /// The version of this crate.
        needed: String,
    },
    /// The bundle has no kernels for this GPU. Architectures are given as `10 * major + minor`.
    Architecture {
        /// The architectures for which the bundle has kernels.
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
        /// Name of the measured quantity, with its unit.
        what: &'static str,
        /// The expected length.
        expected: usize,
        /// The actual length.
        got: usize,
    },
    /// An argument of a program has the wrong size for the number of items in the batch.
    #[error("argument {argument}: expected {expected} bytes{}, got {got}", each(*.expected, *.batch))]
    ArgumentSize {
        /// The argument's name.
        argument: String,
        /// Number of items in the batch, or 1 for an argument that all items share.
        batch: usize,
        /// Expected size of the argument in bytes, for the whole batch.
        expected: usize,
        /// Actual size of the argument in bytes.
        got: usize,
    },
    /// Another error, with the name of the argument that caused it.
    #[error("{name}: {error}")]
    Argument {
        /// The argument's name.
        name: &'static str,
        /// The error about this argument.
        error: Box<Error>,
    },
    /// The arguments of a run do not match those of its plan.
    #[error("a run of {plan} {why}")]
    Arguments {
        /// The plan's title.
        plan: String,
        /// The mismatch, such as a missing, unknown or repeated argument.
        why: String,
    },
    /// A size exceeds what can be addressed or launched.
    #[error("{what} is too large: {got} exceeds the limit of {limit}")]
    TooLarge {
        /// Name of the quantity that is too large.
        what: &'static str,
        /// The largest supported value.
        limit: usize,
        /// The actual value.
        got: usize,
    },
    /// Memory does not have the alignment that its element type needs.
    #[error("{what} must be aligned to {needed} bytes")]
    Alignment {
        /// Name of the misaligned memory.
        what: &'static str,
        /// Required alignment in bytes.
        needed: usize,
    },
    /// A number is not a valid modulus.
    #[error("invalid modulus {}: {why}", decimal(.q))]
    Modulus {
        /// The invalid number.
        q: U256,
        /// The reason why it is not valid.
        why: &'static str,
    },
    /// The caller asked for a transform modulo q, but q is not prime.
    #[error("{} is not prime, so there is no NTT modulo it: use Op::Mul, which uses a larger NTT", decimal(.q))]
    NotPrime {
        /// The modulus q.
        q: U256,
    },
    /// The modulus lacks the root of unity that the transform needs.
    #[error("there is no primitive root of unity of order {order} modulo {}", decimal(.q))]
    NoRoot {
        /// The modulus that lacks the root.
        q: U256,
        /// The order of the missing root.
        order: u64,
    },
    /// The description of a ring is invalid.
    #[error("invalid ring: {why}")]
    Ring {
        /// The mistake in the description.
        why: String,
    },
    /// A value is not below its modulus q.
    #[error("the value at index {index} is not below the modulus {}", decimal(.q))]
    NotReduced {
        /// Index of the first value in the slice that is not below its modulus.
        index: usize,
        /// The modulus of this value.
        q: U256,
    },
    /// An operation is not supported at all, or not in this ring or on this device.
    #[error("{job} is not supported: {why}")]
    Unsupported {
        /// The operation, such as a job, a transform, a kernel or a search for primes.
        job: String,
        /// The reason why the operation is not supported.
        why: String,
    },
    /// The caller fixed a bound, a basis or a length that cannot hold the exact result.
    #[error("the exact result needs {needed_bits} bits, but the given basis holds {available_bits}")]
    Inexact {
        /// Number of bits that the exact result may need.
        needed_bits: u32,
        /// Number of bits that the fixed basis can represent.
        available_bits: u32,
    },
    /// An argument or setting is not the expected one, such as elements of the wrong type.
    #[error("{what}: expected {expected}, got {got}")]
    Mismatch {
        /// Name of the argument or setting.
        what: String,
        /// The expected type or value.
        expected: String,
        /// The actual type or value.
        got: String,
    },
    /// Memory, such as a buffer, belongs to a different device than the program or stream that uses it.
    #[error("{what} {}", foreign(.expected, .got))]
    ForeignDevice {
        /// Name of the buffer or other memory.
        what: String,
        /// The device of the program or stream.
        expected: String,
        /// The device of the memory.
        got: String,
    },
    /// A buffer was read before anything was written to it.
    #[error("{what} holds no data: write to it first")]
    Unwritten {
        /// Name of the buffer.
        what: String,
    },
    /// The parts of a plan do not fit together.
    #[error("plan {plan}: {why}")]
    Plan {
        /// The plan's title.
        plan: String,
        /// The mismatch between the parts.
        why: String,
    },
    /// A kernel's behaviour or source contradicts its declaration, or the kernel cannot be run.
    #[error("kernel {kernel}: {why}")]
    Kernel {
        /// Name of the kernel.
        kernel: String,
        /// The contradiction, or the reason why the kernel cannot be run.
        why: String,
    },
    /// No device of the requested kind is available.
    #[error("no CUDA device: {0}")]
    NoDevice(NoDevice),
    /// The run-time compiler (NVRTC) is not on this machine, and the kernel is neither in a bundle nor in the cache.
    #[error("kernel {kernel} is neither in {}, and NVRTC is not on this machine", searched(.bundle))]
    NoCompiler {
        /// Name of the kernel to be compiled.
        kernel: String,
        /// The bundles in use, which all lack the kernel; `None` if no bundle is in use.
        bundle: Option<String>,
    },
    /// A kernel bundle cannot be used on this machine, so none of its kernels is used.
    #[error("{bundle}: {fault}")]
    Bundle {
        /// Path of the bundle.
        bundle: String,
        /// The reason why the bundle cannot be used.
        fault: BundleFault,
    },
    /// The run-time compiler rejected a kernel.
    #[error("kernel {kernel} does not compile:\n{log}")]
    Compile {
        /// Name of the kernel.
        kernel: String,
        /// The compiler's log.
        log: String,
    },
    /// The device does not have enough free memory.
    #[error("out of memory: cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// The requested size in bytes.
        bytes: usize,
    },
    /// The caller cancelled the job before its end.
    #[error("{job} was cancelled")]
    Cancelled {
        /// The job.
        job: String,
    },
    /// Another device of a group, or its process, does not respond or behaves unexpectedly.
    #[error("rank {rank} of the group: {why}")]
    Rank {
        /// Rank of the other device in the group.
        rank: usize,
        /// The reason, as far as it is known.
        why: String,
    },
    /// NCCL, the library for communication between GPUs, is not on this machine, or one of its calls failed.
    #[error("NCCL: {call}: {why}")]
    Nccl {
        /// Name of the NCCL function, or of the step that failed.
        call: &'static str,
        /// NCCL's message, or the places that were searched for the library.
        why: String,
    },
    /// A file cannot be read or written, or its contents are invalid.
    #[error("{path}: {why}")]
    File {
        /// Path of the file.
        path: String,
        /// The reason why the file cannot be read, written or used.
        why: String,
    },
    /// A call of the CUDA driver failed.
    #[error("{call} failed: {message} ({code})")]
    Driver {
        /// Name of the driver function.
        call: &'static str,
        /// The driver's error code.
        code: i32,
        /// The driver's message.
        message: String,
    },
}

/// Names the places that were searched for a kernel: the bundles in use and the cache.
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

/// For a batch of several items, returns a phrase with the size of one item; else an empty string.
fn each(bytes: usize, items: usize) -> String {
    if items < 2 { String::new() } else { format!(", {} for each of {items} items", bytes / items) }
}

/// Describes a device mismatch. Two different devices may have the same name, so that case has its own wording.
fn foreign(expected: &str, got: &str) -> String {
    match expected == got {
        true => format!("belongs to a different engine or device, although both are {got}: share one `Engine`"),
        false => format!("is on {got}, but must be on {expected}"),
    }
}

pub fn same_length(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}
