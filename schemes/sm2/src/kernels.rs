//! The kernels of signing and verification: what they read and write, and their text.

mod on_cpu;

pub(crate) use on_cpu::RETRY;

use core::ops::Range;
use std::sync::Arc;

use ringforge::{Args, Built, Draws, Header, Kernel, Launch, Limits, Port, Result, Role, Source, Table};

use crate::params::MAX_ID_BYTES;
use crate::point::Affine;
use crate::windows::{Mode, Windows};

/// Bytes of a scalar, a coordinate, a digest.
pub(crate) const WORD: usize = 32;
/// Bytes of a public key, a signature, a point of a table.
pub(crate) const PAIR: usize = 64;
/// Bytes of a status.
pub(crate) const STATUS: usize = 4;
/// Most draws of a nonce for one item; each fails once in 2^64 times.
const ATTEMPTS: u32 = 16;
/// Points of a table that a thread makes with one inversion.
const CHUNK: usize = 16;

/// What a kernel does to each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Public keys, or one shared point, to tables of odd multiples.
    Table { windows: Windows, shared: bool },
    /// Draws, or given scalars, to scalars and their multiples of the base point.
    Points { base: Base, given: bool },
    /// Draws, prepared keys and digests to nonces and their multiples of the base point.
    Nonces { base: Base, one_key: bool },
    /// Prepared keys, digests, nonces and points to signatures and statuses.
    Sign { one_key: bool, given: bool },
    /// Signatures again where the nonce was refused.
    SignAgain { base: Base, one_key: bool },
    /// Scalars and points to private keys, public keys and statuses.
    Public,
    /// Private keys to prepared ones.
    Prepare,
    /// Public keys, digests and signatures to statuses.
    Verify { base: Windows, keys: Keys },
    /// Identifiers in slots of so many words, and public keys, to identities.
    Identity { words: usize, one_id: bool },
    /// Identities and messages in slots of so many words to digests.
    Digest { words: usize, one_identity: bool },
}

/// The base point's table where its scalar is secret, and how look-ups go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) windows: Windows,
    pub(crate) mode: Mode,
}

/// The keys that verification is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// One for each item, and the lowest row of its table.
    Each(Windows),
    /// Each item has the number of one of so many keys with tables.
    Cached(Windows, usize),
}

/// How a kernel is cut up among threads: not a matter of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tuning {
    pub(crate) threads: u32,
    /// Items that share an inversion.
    pub(crate) per_thread: u32,
    /// Blocks that a multiprocessor should hold at once.
    pub(crate) resident: u32,
}

impl Tuning {
    /// For tests, where large blocks take long.
    #[cfg(feature = "testkit")]
    pub(crate) const SMALL: Self = Self { threads: 8, per_thread: 2, resident: 1 };
    /// For GPUs.
    pub(crate) const LARGE: Self = Self { threads: 128, per_thread: 16, resident: 4 };

    /// For GPUs, with blocks of so many threads, as many of which are resident as make the same number.
    #[cfg(feature = "testkit")]
    pub(crate) fn in_blocks(threads: u32) -> Self {
        let resident = (Self::LARGE.threads * Self::LARGE.resident / threads.max(1)).max(1);
        Self { threads, resident, ..Self::LARGE }
    }
}

/// A stage and how it is cut up.
#[derive(Debug)]
pub(crate) struct Sm2Kernel {
    stage: Stage,
    tuning: Tuning,
    ports: Vec<Port>,
}

const SM2: Header = Header { name: "sm2.cuh", text: include_str!("kernels/sm2.cuh") };
const SM3: Header = Header { name: "sm3.cuh", text: include_str!("kernels/sm3.cuh") };

impl Stage {
    fn ports(self) -> Vec<Port> {
        let (digest, signature, status) = (Port::input(WORD), Port::output(PAIR), Port::status());
        let pending = Port { role: Role::InOut, ..status };
        let input = |one: bool, bytes| if one { Port::shared(bytes) } else { Port::input(bytes) };
        let key = |one| input(one, WORD).secret();
        let (scalar, point) = (Port::input(WORD).secret(), Port::input(3 * WORD).secret());
        let (new_scalar, new_point) = (Port::output(WORD).secret(), Port::output(3 * WORD).secret());
        let base = Port::shared(self.base().map_or(0, |(_, windows)| windows.bytes()));
        match self {
            Self::Table { windows, shared } => vec![input(shared, PAIR), Port::output(windows.bytes())],
            Self::Points { given, .. } => {
                vec![if given { scalar } else { Port::draws() }, base, new_scalar, new_point, status]
            }
            Self::Nonces { one_key, .. } => {
                vec![Port::draws(), base, key(one_key), digest, new_scalar, new_point, status]
            }
            Self::Sign { one_key, .. } => vec![key(one_key), digest, scalar, point, signature, pending],
            Self::SignAgain { one_key, .. } => {
                vec![Port::draws(), base, key(one_key), digest, Port::in_out(PAIR), pending]
            }
            Self::Public => vec![scalar, point, new_scalar, Port::output(PAIR), pending],
            Self::Prepare => vec![scalar, new_scalar],
            Self::Verify { keys, .. } => {
                let (key, tables) = match keys {
                    Keys::Each(windows) => (Port::input(PAIR), Port::input(windows.lowest_row().bytes())),
                    Keys::Cached(windows, count) => (Port::input(STATUS), Port::shared(count * windows.bytes())),
                };
                vec![key, digest, Port::input(PAIR), base, tables, status]
            }
            Self::Identity { words, one_id } => {
                vec![input(one_id, 4 * words), input(one_id, STATUS), Port::input(PAIR), Port::output(WORD)]
            }
            Self::Digest { words, one_identity } => {
                vec![input(one_identity, WORD), Port::input(4 * words), Port::input(STATUS), Port::output(WORD)]
            }
        }
    }

    /// The port of the base point's table, and its windows.
    const fn base(self) -> Option<(usize, Windows)> {
        match self {
            Self::Points { base, .. } | Self::Nonces { base, .. } | Self::SignAgain { base, .. } => {
                Some((1, base.windows))
            }
            Self::Verify { base, .. } => Some((3, base)),
            _ => None,
        }
    }

    /// Constants of the text beyond those of the tuning.
    fn constants(self) -> String {
        let number = |name: &str, value: usize| format!("    static constexpr rf::u32 {name} = {value};\n");
        let flag = |name: &str, value: bool| format!("    static constexpr bool {name} = {value};\n");
        let shape = |windows: Windows| number("width", windows.width as usize) + &number("rows", windows.rows);
        let of_base = |base: Base| shape(base.windows) + &flag("scan", base.mode == Mode::Scan);
        match self {
            Self::Table { windows, shared } => {
                shape(windows) + &flag("shared", shared) + &number("chunk", windows.chunk())
            }
            Self::Points { base, given } => {
                let source = if given { "rf::u256" } else { "rf::Draws" };
                of_base(base) + &flag("given", given) + &format!("    using Source = {source};\n")
            }
            Self::Nonces { base, one_key } => of_base(base) + &flag("one_key", one_key),
            Self::Sign { one_key, given } => {
                let refused = if given { on_cpu::NONCE_REFUSED } else { RETRY };
                flag("one_key", one_key) + &number("refused", refused as usize)
            }
            Self::SignAgain { base, one_key } => {
                of_base(base) + &flag("one_key", one_key) + &number("attempts", ATTEMPTS as usize)
            }
            Self::Public | Self::Prepare => String::new(),
            Self::Verify { base, keys } => {
                let (windows, rows, count, key) = match keys {
                    Keys::Each(windows) => (windows, 1, 0, "rf::u256"),
                    Keys::Cached(windows, count) => (windows, windows.rows, count, "rf::u32"),
                };
                let lines = shape(Windows { rows, ..windows }) + &number("windows", windows.rows);
                format!("    struct Base {{\n{}    }};\n    struct Keys {{\n{lines}    }};\n", shape(base))
                    + &format!("    using Key = {key};\n")
                    + &number("cached", count)
            }
            Self::Identity { words, one_id } => {
                let longest = number("longest", MAX_ID_BYTES.min(4 * words));
                number("words", words) + &longest + &flag("one_id", one_id)
            }
            Self::Digest { words, one_identity } => number("words", words) + &flag("one_identity", one_identity),
        }
    }

    /// The name and the text of a stage.
    const fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Table { .. } => ("sm2_table", include_str!("kernels/sm2_table.cu")),
            Self::Points { .. } => ("sm2_points", include_str!("kernels/sm2_points.cu")),
            Self::Nonces { .. } => ("sm2_nonces", include_str!("kernels/sm2_nonces.cu")),
            Self::Sign { .. } => ("sm2_sign", include_str!("kernels/sm2_sign.cu")),
            Self::SignAgain { .. } => ("sm2_sign_again", include_str!("kernels/sm2_sign_again.cu")),
            Self::Public => ("sm2_public", include_str!("kernels/sm2_public.cu")),
            Self::Prepare => ("sm2_prepare", include_str!("kernels/sm2_prepare.cu")),
            Self::Verify { .. } => ("sm2_verify", include_str!("kernels/sm2_verify.cu")),
            Self::Identity { .. } => ("sm2_identity", include_str!("kernels/sm2_identity.cu")),
            Self::Digest { .. } => ("sm2_digest", include_str!("kernels/sm2_digest.cu")),
        }
    }
}

impl Windows {
    /// Bytes of a table.
    pub(crate) const fn bytes(self) -> usize {
        self.points() * size_of::<Affine>()
    }

    /// Points that a thread makes.
    const fn chunk(self) -> usize {
        if self.row() < CHUNK { self.row() } else { CHUNK }
    }
}

impl Sm2Kernel {
    pub(crate) fn new(stage: Stage, tuning: Tuning) -> Self {
        Self { stage, tuning, ports: stage.ports() }
    }

    /// Items of a thread, and the launch.
    fn shape(&self) -> (u32, Launch) {
        let Tuning { threads, per_thread, .. } = self.tuning;
        let several = |per_thread| {
            (per_thread, Launch { items_per_block: threads * per_thread, ..Launch::thread_per_item(threads) })
        };
        match self.stage {
            Stage::Table { windows, .. } => match (windows.points() / windows.chunk()) as u32 {
                // four of these share an inversion, and their points fit into local memory
                1 => several(per_thread.min(4)),
                chunks => {
                    let threads = chunks.min(256);
                    (1, Launch { threads, items_per_block: 1, blocks_per_item: chunks / threads, shared_bytes: 0 })
                }
            },
            Stage::Sign { .. } | Stage::Public => several(per_thread),
            _ => several(1),
        }
    }
}

impl Kernel for Sm2Kernel {
    fn name(&self) -> &'static str {
        self.stage.text().0
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let (per_thread, launch) = self.shape();
        // the masked last addition keeps more at hand than a quarter of the registers
        let is_complete = matches!(self.stage, Stage::Points { given: true, .. });
        let resident = if is_complete { self.tuning.resident.min(2) } else { self.tuning.resident };
        let prelude = format!(
            "#pragma once\n#include \"sm2.cuh\"\nstruct Task {{\n\
             \x20   static constexpr rf::u32 threads = {}, per_thread = {per_thread}, resident = {resident};\n{}}};\n",
            launch.threads,
            self.stage.constants(),
        );
        let built = Built { prelude, launch };
        // SAFETY: a thread works on the bytes of its own items; tables are read within their windows, whatever the digit.
        Ok(unsafe { Source::new(self, self.stage.text().1, &[SM2, SM3], built) })
    }

    /// The base point's: made on the device when a program first needs it, and cached there.
    fn table(&self, port: usize) -> Option<Table> {
        let (_, windows) = self.stage.base().filter(|(own, _)| *own == port)?;
        let kernel = Arc::new(Self::new(Stage::Table { windows, shared: true }, self.tuning));
        let point = Table::Bytes(Affine::G.to_bytes().as_slice().into());
        Some(Table::Made { kernel, items: 1, inputs: vec![point] })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        on_cpu::run(self.stage, items, args)
    }

    fn describe(&self) -> String {
        format!("{:?}", self.stage)
    }
}

const _: () = assert!(Draws::BYTES == WORD && size_of::<Affine>() == PAIR);
