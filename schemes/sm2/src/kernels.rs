//! The kernels of signing and verification: their ports (inputs and outputs), CPU references and CUDA sources.

mod on_cpu;

pub(crate) use on_cpu::RETRY;

use std::sync::Arc;

use ringforge::kernels::{Args, Built, CustomKernel, Header, Launch, Port, Table};
use ringforge::{Limits, RandomKey};
use ringforge_batch::SchemeError;

use crate::error::Sm2Error;
use crate::params::MAX_ID_BYTES;
use crate::point::Affine;
use crate::windows::{Mode, Windows};

/// Size in bytes of a scalar, a coordinate or a digest.
pub(crate) const WORD: usize = 32;
/// Size in bytes of a public key, a signature or a point in a table.
pub(crate) const PAIR: usize = 64;
/// Size in bytes of a status.
pub(crate) const STATUS: usize = 4;
/// Maximum number of further nonces for an item whose first nonce was rejected. A nonce is rejected with probability
/// 2^-64.
const ATTEMPTS: u32 = 16;
/// Maximum number of points of one table that a thread computes.
const CHUNK: usize = 16;

/// The kernels, by what they compute for each item. d is a private key, k a nonce or another secret scalar, and G the
/// base point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Computes tables of odd multiples of public keys, or of one point that all items share.
    Table { windows: Windows, shared: bool },
    /// Writes secret scalars k, random or `given`, and the points k G.
    Points { base: Base, given: bool },
    /// Generates nonces k for keys (1 + d)^-1 and digests, and computes the points k G.
    Nonces { base: Base, one_key: bool },
    /// Computes signatures and statuses from keys (1 + d)^-1, digests, nonces k and the points k G.
    Sign { one_key: bool, given: bool },
    /// Re-signs items whose nonce was rejected, with new nonces.
    SignAgain { base: Base, one_key: bool },
    /// Computes key pairs and statuses from private scalars d and the points d G.
    Public,
    /// Prepares private keys d for signing: computes (1 + d)^-1 mod n.
    Prepare,
    /// Verifies signatures of digests and writes their statuses.
    Verify { base: Windows, keys: Keys },
    /// Computes Z_A of public keys and their owners' identifiers, which are passed in slots of `words` words.
    Identity { words: usize, one_id: bool },
    /// Computes digests of messages, which are passed in slots of `words` words, from Z_A and the message.
    Digest { words: usize, one_identity: bool },
}

/// The shape of the base point's table for secret scalars, and how points are read from the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) windows: Windows,
    pub(crate) mode: Mode,
}

/// How the public keys for verification are passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// One key per item, with the lowest row of its table (odd multiples of the key). The field is the shape of whole
    /// tables.
    Each(Windows),
    /// One key number per item. Each cached key has a whole table of the shape in the first field; the second field is
    /// the number of cached keys.
    Cached(Windows, usize),
}

/// How the work is distributed over threads. This affects speed only, not results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tuning {
    pub(crate) threads: u32,
    /// Items per thread. They share an inversion (Montgomery's trick).
    pub(crate) per_thread: u32,
    /// Blocks that should reside on a multiprocessor at once.
    pub(crate) resident: u32,
}

impl Tuning {
    /// Small blocks, for tests with an emulator, which is slow for large blocks.
    #[cfg(feature = "testkit")]
    pub(crate) const SMALL: Self = Self { threads: 8, per_thread: 2, resident: 1 };
    /// Blocks for GPUs.
    pub(crate) const LARGE: Self = Self { threads: 128, per_thread: 16, resident: 4 };

    /// Blocks of `threads` threads for GPUs. The number of threads per multiprocessor is that of `LARGE`.
    #[cfg(feature = "testkit")]
    pub(crate) fn in_blocks(threads: u32) -> Self {
        let resident = (Self::LARGE.threads * Self::LARGE.resident / threads.max(1)).max(1);
        Self { threads, resident, ..Self::LARGE }
    }
}

const SM2: Header = Header { name: "sm2.cuh", text: include_str!("kernels/sm2.cuh") };
const SM3: Header = Header { name: "sm3.cuh", text: include_str!("kernels/sm3.cuh") };

impl Stage {
    /// Returns the kernel of the stage with this tuning.
    #[allow(unsafe_code)]
    pub(crate) fn kernel(self, tuning: Tuning) -> CustomKernel {
        let (name, text, ports, constants) = self.parts();
        let (per_thread, launch) = self.shape(tuning);
        // the complete last addition, which selects a doubling by a mask, needs too many registers for four resident
        // blocks
        let is_complete = matches!(self, Self::Points { given: true, .. });
        let resident = if is_complete { tuning.resident.min(2) } else { tuning.resident };
        let prelude = format!(
            "#pragma once\n#include \"sm2.cuh\"\nstruct Task {{\n\
             \x20   static constexpr rf::u32 threads = {}, per_thread = {per_thread}, resident = {resident};\n{constants}}};\n",
            launch.threads,
        );
        let build = move |_: &Limits| Ok(Built { prelude: prelude.clone(), launch });
        let on_cpu = move |items, args: &mut Args<'_>| on_cpu::run(self, items, args);
        // SAFETY: A thread accesses only the bytes of its own items. Table indices are within the table for any value
        // of a digit.
        let kernel = unsafe { CustomKernel::new((name, text, &[SM2, SM3]), ports, build, on_cpu) };
        let kernel = kernel.described(format!("{self:?}"));
        // the table of the base point is computed on the device when a program first needs it, and then cached there
        self.base().into_iter().fold(kernel, |kernel, (port, windows)| {
            let maker = Arc::new(Self::Table { windows, shared: true }.kernel(tuning));
            let point = Table::Bytes(Affine::G.to_bytes().as_slice().into());
            kernel.with_table(port, Table::Made { kernel: maker, items: 1, inputs: vec![point] })
        })
    }

    /// Returns the kernel's name, its CUDA source, its ports, and the constants of `struct Task` apart from the tuning.
    fn parts(self) -> (&'static str, &'static str, Vec<Port>, String) {
        let number = |name: &str, value: usize| format!("    static constexpr rf::u32 {name} = {value};\n");
        let flag = |name: &str, value: bool| format!("    static constexpr bool {name} = {value};\n");
        let shape = |windows: Windows| number("width", windows.width as usize) + &number("rows", windows.rows);
        let of_base = |base: Base| shape(base.windows) + &flag("scan", base.mode == Mode::Scan);
        let (digest, signature, status) = (Port::input(WORD), Port::output(PAIR), Port::status());
        let input = |one: bool, bytes| if one { Port::shared(bytes) } else { Port::input(bytes) };
        let key = |one| input(one, WORD).secret();
        let (scalar, point) = (Port::input(WORD).secret(), Port::input(3 * WORD).secret());
        let base_table = Port::shared(self.base().map_or(0, |(_, windows)| windows.bytes()));
        macro_rules! stage {
            ($name:literal, [$($port:expr),*], $constants:expr) => {
                (concat!("sm2_", $name), include_str!(concat!("kernels/sm2_", $name, ".cu")), vec![$($port),*], $constants)
            };
        }
        match self {
            Self::Table { windows, shared } => stage!(
                "table",
                [input(shared, PAIR), Port::output(windows.bytes())],
                shape(windows) + &flag("shared", shared) + &number("chunk", windows.chunk())
            ),
            Self::Points { base, given } => {
                let (port, source) = if given { (scalar, "rf::u256") } else { (Port::random_key(), "rf::RandomKey") };
                stage!(
                    "points",
                    [port, base_table, scalar.written(), point.written(), status],
                    of_base(base) + &flag("given", given) + &format!("    using Source = {source};\n")
                )
            }
            Self::Nonces { base, one_key } => stage!(
                "nonces",
                [Port::random_key(), base_table, key(one_key), digest, scalar.written(), point.written(), status],
                of_base(base) + &flag("one_key", one_key)
            ),
            Self::Sign { one_key, given } => {
                let refused = if given { Sm2Error::NonceRefused.word() } else { RETRY };
                stage!(
                    "sign",
                    [key(one_key), digest, scalar, point, signature, status.updated()],
                    flag("one_key", one_key) + &number("refused", refused as usize)
                )
            }
            Self::SignAgain { base, one_key } => stage!(
                "sign_again",
                [Port::random_key(), base_table, key(one_key), digest, signature.updated(), status.updated()],
                of_base(base) + &flag("one_key", one_key) + &number("attempts", ATTEMPTS as usize)
            ),
            Self::Public => {
                stage!("public", [scalar, point, scalar.written(), Port::output(PAIR), status.updated()], String::new())
            }
            Self::Prepare => stage!("prepare", [scalar, scalar.written()], String::new()),
            Self::Verify { base, keys } => {
                let (key, tables, windows, rows, count, of_key) = match keys {
                    Keys::Each(windows) => {
                        (Port::input(PAIR), Port::input(windows.lowest_row().bytes()), windows, 1, 0, "rf::u256")
                    }
                    Keys::Cached(windows, count) => {
                        let tables = Port::shared(count * windows.bytes());
                        (Port::input(STATUS), tables, windows, windows.rows, count, "rf::u32")
                    }
                };
                let lines = shape(Windows { rows, ..windows }) + &number("windows", windows.rows);
                stage!(
                    "verify",
                    [key, digest, Port::input(PAIR), base_table, tables, status],
                    format!("    struct Base {{\n{}    }};\n    struct Keys {{\n{lines}    }};\n", shape(base))
                        + &format!("    using Key = {of_key};\n")
                        + &number("cached", count)
                )
            }
            Self::Identity { words, one_id } => {
                let longest = number("longest", MAX_ID_BYTES.min(4 * words));
                stage!(
                    "identity",
                    [input(one_id, 4 * words), input(one_id, STATUS), Port::input(PAIR), Port::output(WORD)],
                    number("words", words) + &longest + &flag("one_id", one_id)
                )
            }
            Self::Digest { words, one_identity } => stage!(
                "digest",
                [input(one_identity, WORD), Port::input(4 * words), Port::input(STATUS), Port::output(WORD)],
                number("words", words) + &flag("one_identity", one_identity)
            ),
        }
    }

    /// Returns the index of the port of the base point's table, and the table's windows; `None` if there is no such
    /// port.
    const fn base(self) -> Option<(usize, Windows)> {
        match self {
            Self::Points { base, .. } | Self::Nonces { base, .. } | Self::SignAgain { base, .. } => {
                Some((1, base.windows))
            }
            Self::Verify { base, .. } => Some((3, base)),
            _ => None,
        }
    }

    /// Returns the number of items per thread, and the launch.
    fn shape(self, Tuning { threads, per_thread, .. }: Tuning) -> (u32, Launch) {
        let several = |per_thread| {
            (per_thread, Launch { items_per_block: threads * per_thread, ..Launch::thread_per_item(threads) })
        };
        match self {
            Self::Table { windows, .. } => match (windows.points() / windows.chunk()) as u32 {
                // up to four keys share an inversion, because the points of four keys fit into local memory
                1 => several(per_thread.min(4)),
                chunks => {
                    let threads = chunks.min(256);
                    (
                        1,
                        Launch {
                            items_per_block: 1,
                            blocks_per_item: chunks / threads,
                            ..Launch::thread_per_item(threads)
                        },
                    )
                }
            },
            Self::Sign { .. } | Self::Public => several(per_thread),
            _ => several(1),
        }
    }
}

impl Windows {
    /// Size in bytes of a table.
    pub(crate) const fn bytes(self) -> usize {
        self.points() * size_of::<Affine>()
    }

    /// The number of points of one table that a thread computes.
    const fn chunk(self) -> usize {
        if self.row() < CHUNK { self.row() } else { CHUNK }
    }
}

const _: () = assert!(RandomKey::BYTES == WORD && size_of::<Affine>() == PAIR);

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the constant `scan` makes the CUDA source read whole tables. The results do not depend on it.
    #[test]
    fn the_mode_reaches_the_cuda_source() {
        for (mode, expected) in [(Mode::Scan, "scan = true;"), (Mode::Throughput, "scan = false;")] {
            let base = Base { windows: Windows::of_width(4), mode };
            let points = [true, false].map(|given| Stage::Points { base, given });
            for stage in points.into_iter().chain(
                [true, false]
                    .into_iter()
                    .flat_map(|one_key| [Stage::Nonces { base, one_key }, Stage::SignAgain { base, one_key }]),
            ) {
                assert!(stage.parts().3.contains(expected), "{stage:?}");
            }
        }
    }
}
