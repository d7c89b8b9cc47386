//! The kernels of signing and verification: what they read and write, and their text.

mod on_cpu;

pub(crate) use on_cpu::RETRY;

use core::ops::Range;
use std::sync::Arc;

use ringforge::{Args, Built, Draws, Header, Kernel, Launch, Limits, Port, Result, Role, Slot, Source, Step};

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
    Points { base: Windows, mode: Mode, given: bool },
    /// Draws, prepared keys and digests to nonces and their multiples of the base point.
    Nonces { base: Windows, mode: Mode, one_key: bool },
    /// Prepared keys, digests, nonces and points to signatures and statuses.
    Sign { one_key: bool, given: bool },
    /// Signatures again where the nonce was refused.
    SignAgain { base: Windows, mode: Mode, one_key: bool },
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
#[derive(Debug, Clone)]
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
        let key = |one: bool| if one { Port::shared(WORD).secret() } else { Port::input(WORD).secret() };
        let base = |windows: Windows| Port::shared(windows.bytes());
        let (scalar, point) = (Port::input(WORD).secret(), Port::input(3 * WORD).secret());
        let new = |port: Port| Port { secret: port.secret, ..Port::output(port.bytes) };
        match self {
            Self::Table { windows, shared } => {
                let point = if shared { Port::shared(PAIR) } else { Port::input(PAIR) };
                vec![point, Port::output(windows.bytes())]
            }
            Self::Points { base: windows, given, .. } => {
                let source = if given { scalar } else { Port::draws() };
                vec![source, base(windows), new(scalar), new(point), status]
            }
            Self::Nonces { base: windows, one_key, .. } => {
                vec![Port::draws(), base(windows), key(one_key), digest, new(scalar), new(point), status]
            }
            Self::Sign { one_key, .. } => vec![key(one_key), digest, scalar, point, signature, pending],
            Self::SignAgain { base: windows, one_key, .. } => {
                vec![Port::draws(), base(windows), key(one_key), digest, Port::in_out(PAIR), pending]
            }
            Self::Public => vec![scalar, point, new(scalar), Port::output(PAIR), pending],
            Self::Prepare => vec![scalar, new(scalar)],
            Self::Verify { base: windows, keys } => {
                let (key, tables) = match keys {
                    Keys::Each(windows) => (Port::input(PAIR), Port::input(windows.lowest_row().bytes())),
                    Keys::Cached(windows, count) => (Port::input(STATUS), Port::shared(count * windows.bytes())),
                };
                vec![key, digest, Port::input(PAIR), base(windows), tables, status]
            }
            Self::Identity { words, one_id } => {
                let port = if one_id { Port::shared } else { Port::input };
                vec![port(4 * words), port(STATUS), Port::input(PAIR), Port::output(WORD)]
            }
            Self::Digest { words, one_identity } => {
                let identity = if one_identity { Port::shared(WORD) } else { Port::input(WORD) };
                vec![identity, Port::input(4 * words), Port::input(STATUS), Port::output(WORD)]
            }
        }
    }

    /// Constants of the text beyond those of the tuning.
    fn constants(self) -> String {
        let number = |name: &str, value: usize| format!("    static constexpr rf::u32 {name} = {value};\n");
        let flag = |name: &str, value: bool| format!("    static constexpr bool {name} = {value};\n");
        let shape = |windows: Windows| number("width", windows.width as usize) + &number("rows", windows.rows);
        let scan = |mode| flag("scan", mode == Mode::Scan);
        match self {
            Self::Table { windows, shared } => {
                shape(windows) + &flag("shared", shared) + &number("chunk", windows.chunk())
            }
            Self::Points { base, mode, given } => {
                let source = if given { "rf::u256" } else { "rf::Draws" };
                shape(base) + &scan(mode) + &flag("given", given) + &format!("    using Source = {source};\n")
            }
            Self::Nonces { base, mode, one_key } => shape(base) + &scan(mode) + &flag("one_key", one_key),
            Self::Sign { one_key, given } => {
                let refused = if given { on_cpu::NONCE_REFUSED } else { RETRY };
                flag("one_key", one_key) + &number("refused", refused as usize)
            }
            Self::SignAgain { base, mode, one_key } => {
                shape(base) + &scan(mode) + &flag("one_key", one_key) + &number("attempts", ATTEMPTS as usize)
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

    /// The step of this kernel.
    pub(crate) fn step(self, slots: Vec<Slot>) -> Step {
        Step { kernel: Arc::new(self), slots }
    }

    /// Threads, items of a thread, and the launch.
    fn shape(&self) -> (u32, u32, Launch) {
        let Tuning { threads, per_thread, .. } = self.tuning;
        let one_each = (threads, 1, Launch::thread_per_item(threads));
        let several = |per_thread| {
            let launch = Launch { items_per_block: threads * per_thread, ..Launch::thread_per_item(threads) };
            (threads, per_thread, launch)
        };
        match self.stage {
            Stage::Table { windows, .. } => match (windows.points() / windows.chunk()) as u32 {
                // four of these share an inversion, and their points fit into local memory
                1 => several(per_thread.min(4)),
                chunks => {
                    let threads = if chunks <= 256 { chunks } else { 256 };
                    let blocks_per_item = chunks / threads;
                    (threads, 1, Launch { threads, items_per_block: 1, blocks_per_item, shared_bytes: 0 })
                }
            },
            Stage::Sign { .. } | Stage::Public => several(per_thread),
            _ => one_each,
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
        let (threads, per_thread, launch) = self.shape();
        // the masked last addition keeps more at hand than a quarter of the registers
        let is_complete = matches!(self.stage, Stage::Points { given: true, .. });
        let resident = if is_complete { self.tuning.resident.min(2) } else { self.tuning.resident };
        let prelude = format!(
            "#pragma once\n#include \"sm2.cuh\"\nstruct Task {{\n\
             \x20   static constexpr rf::u32 threads = {threads}, per_thread = {per_thread}, resident = {resident};\n{}}};\n",
            self.stage.constants(),
        );
        let built = Built { prelude, launch };
        // SAFETY: a thread works on the bytes of its own items; tables are read within their windows, whatever the digit.
        Ok(unsafe { Source::new(self, self.stage.text().1, &[SM2, SM3], built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        on_cpu::run(self.stage, items, args)
    }

    fn describe(&self) -> String {
        format!("{:?}", self.stage)
    }
}

const _: () = assert!(Draws::BYTES == WORD && size_of::<Affine>() == PAIR);
