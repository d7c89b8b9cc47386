//! What can go wrong, as data.

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
    /// The driver is older than this crate can use; versions as `major * 1000 + minor * 10`.
    DriverTooOld {
        /// What the driver supports.
        found: i32,
        /// The oldest version that works.
        needed: i32,
    },
    /// The driver is there but refuses to start or sees no such device.
    NoSuchDevice {
        /// The ordinal asked for.
        ordinal: usize,
        /// What the driver said.
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
                    "the NVIDIA driver supports CUDA {}.{}, needed is {}.{}",
                    found / 1000,
                    found % 1000 / 10,
                    needed / 1000,
                    needed % 1000 / 10
                )
            }
            Self::NoSuchDevice { ordinal, reason } => write!(f, "no CUDA device {ordinal}: {reason}"),
        }
    }
}

/// Why a kernel bundle is not used: `cuda::BundleFault`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BundleFault {
    /// The file does not begin as bundles do.
    NoBundle,
    /// Something is missing, was changed, or contradicts the rest.
    Damaged,
    /// It was written by another version of this crate.
    Version {
        /// The version that wrote it.
        found: String,
        /// This version.
        needed: String,
    },
    /// It has no kernels for this GPU; architectures as `10 * major + minor`.
    Architecture {
        /// Those that it has kernels for.
        found: Vec<u32>,
        /// The GPU's.
        needed: u32,
    },
}

impl core::fmt::Display for BundleFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoBundle => f.write_str("it is no kernel bundle"),
            Self::Damaged => f.write_str("it is damaged"),
            Self::Version { found, needed } => write!(f, "it is for version {found}, and this is {needed}"),
            Self::Architecture { found, needed } => {
                let found: Vec<_> = found.iter().map(|capability| format!("sm_{capability}")).collect();
                let found = if found.is_empty() { "nothing".into() } else { found.join(", ") };
                write!(f, "it has kernels for {found}, and this GPU is an sm_{needed}")
            }
        }
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A slice, buffer or argument list has the wrong length.
    #[error("{what}: expected length {expected}, got {got}")]
    Length {
        /// What was measured, with its unit.
        what: &'static str,
        /// The length that fits.
        expected: usize,
        /// The length that came.
        got: usize,
    },
    /// An argument of a program has the wrong size for the batch.
    #[error("argument {argument}: expected {expected} bytes{}, got {got}", each(*.expected, *.batch))]
    ArgumentSize {
        /// The argument's name.
        argument: String,
        /// Items of the batch, or 1 for what all of them share.
        batch: usize,
        /// Bytes of the batch.
        expected: usize,
        /// Bytes that came.
        got: usize,
    },
    /// What is wrong with a named argument.
    #[error("{name}: {error}")]
    Argument {
        /// The argument's name.
        name: &'static str,
        /// What is wrong with it.
        error: Box<Error>,
    },
    /// A run was given other arguments than its plan has.
    #[error("a run of {plan} {why}")]
    Arguments {
        /// The plan's title.
        plan: String,
        /// What is missing, unknown, or given twice.
        why: String,
    },
    /// A size is beyond what can be addressed or launched.
    #[error("{what} is too large: {got}, at most {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The largest that works.
        limit: usize,
        /// What came.
        got: usize,
    },
    /// Memory is not aligned as its element type needs.
    #[error("{what} must be aligned to {needed} bytes")]
    Alignment {
        /// What is misaligned.
        what: &'static str,
        /// Needed alignment in bytes.
        needed: usize,
    },
    /// A modulus that no ring can have.
    #[error("{} is no modulus: {why}", decimal(.q))]
    Modulus {
        /// The value.
        q: U256,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A transform modulo q was asked for, and q is not prime.
    #[error("{} is not prime, so it has no transform of its own (products go through the lift)", decimal(.q))]
    NotPrime {
        /// The modulus.
        q: U256,
    },
    /// The modulus lacks the root of unity that the transform needs.
    #[error("no primitive root of order {order} modulo {}", decimal(.q))]
    NoRoot {
        /// The modulus.
        q: U256,
        /// The order of the missing root.
        order: u64,
    },
    /// A ring description that makes no sense.
    #[error("no such ring: {why}")]
    Ring {
        /// What is wrong with it.
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
    #[error("the exact result needs {needed_bits} bits, what was fixed holds {available_bits}")]
    Inexact {
        /// Bits that the integer result may have.
        needed_bits: u32,
        /// Bits that the fixed basis can tell apart.
        available_bits: u32,
    },
    /// Values of one kind were given where another is wanted.
    #[error("{what}: expected {expected}, got {got}")]
    Mismatch {
        /// Which argument.
        what: String,
        /// What fits.
        expected: String,
        /// What came.
        got: String,
    },
    /// A buffer belongs to another device than the program or stream.
    #[error("{what} {}", foreign(.expected, .got))]
    ForeignDevice {
        /// What is foreign.
        what: String,
        /// The device in use.
        expected: String,
        /// The device it belongs to.
        got: String,
    },
    /// A buffer was read before anything was written to it.
    #[error("{what} was never written")]
    Unwritten {
        /// Which buffer.
        what: String,
    },
    /// A plan whose parts do not fit together.
    #[error("plan {plan}: {why}")]
    Plan {
        /// The plan's title.
        plan: String,
        /// What does not fit.
        why: String,
    },
    /// A kernel broke its own description.
    #[error("kernel {kernel}: {why}")]
    Kernel {
        /// The kernel.
        kernel: String,
        /// What it did.
        why: String,
    },
    /// There is no device of the kind asked for.
    #[error("no CUDA device: {0}")]
    NoDevice(NoDevice),
    /// The run-time compiler (NVRTC) is not on this machine, and the kernel is neither in a bundle nor in the cache.
    #[error("kernel {kernel} is not in {}, and NVRTC is not on this machine", searched(.bundle))]
    NoCompiler {
        /// The kernel to be compiled.
        kernel: String,
        /// The bundles that lack it, if there are any in use.
        bundle: Option<String>,
    },
    /// A kernel bundle is of no use here, and nothing of it is used.
    #[error("{bundle}: {fault}")]
    Bundle {
        /// Where it is.
        bundle: String,
        /// What is wrong with it.
        fault: BundleFault,
    },
    /// The run-time compiler refused a kernel.
    #[error("kernel {kernel} does not compile:\n{log}")]
    Compile {
        /// The kernel.
        kernel: String,
        /// The compiler's words.
        log: String,
    },
    /// The device has not enough free memory.
    #[error("out of memory: {bytes} bytes asked for")]
    OutOfMemory {
        /// The size asked for.
        bytes: usize,
    },
    /// Another device of a group, or the process that has it, does not answer, or does something else.
    #[error("rank {rank} of the group: {why}")]
    Rank {
        /// Its number in the group.
        rank: usize,
        /// What is known of it.
        why: String,
    },
    /// NCCL, through which GPUs send to one another, is not on this machine, or a call of it failed.
    #[error("NCCL: {call}: {why}")]
    Nccl {
        /// The call.
        call: &'static str,
        /// NCCL's words, or where it was looked for.
        why: String,
    },
    /// A file cannot be read or written, or says what makes no sense.
    #[error("{path}: {why}")]
    File {
        /// Where it is.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A driver call failed.
    #[error("{call} failed: {message} ({code})")]
    Driver {
        /// The call.
        call: &'static str,
        /// The driver's code.
        code: i32,
        /// The driver's words.
        message: String,
    },
}

/// Where a kernel was looked for.
fn searched(bundle: &Option<String>) -> String {
    let bundle = bundle.as_deref().unwrap_or("a bundle (RINGFORGE_BUNDLE may name one)");
    format!("{bundle}, not in the cache")
}

impl Error {
    pub fn unsupported(op: impl core::fmt::Display, poly: &dyn core::fmt::Display, why: impl Into<String>) -> Self {
        Self::Unsupported { job: format!("{op} in {poly}"), why: why.into() }
    }

    pub fn file(path: impl core::fmt::Display, why: impl core::fmt::Display) -> Self {
        Self::File { path: path.to_string(), why: why.to_string() }
    }
}

/// What each of several items has of so many bytes.
fn each(bytes: usize, items: usize) -> String {
    if items < 2 { String::new() } else { format!(", {} for each of {items} items", bytes / items) }
}

/// Two devices of one name are still two.
fn foreign(expected: &str, got: &str) -> String {
    match expected == got {
        true => format!(
            "belongs to another engine or device than the one in use, though both are {got}: share one `Engine`"
        ),
        false => format!("belongs to another device ({got}) than the one in use ({expected})"),
    }
}

pub fn same_length(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}
