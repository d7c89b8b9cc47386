//! The kernels of key generation, encapsulation and decapsulation: what they read and write, and their text.

mod on_cpu;

use core::fmt;
use core::ops::Range;

use ringforge::{Args, Built, Error, Header, Kernel, Launch, Limits, Port, Result, Role, Rows, Source, Table};
use ringforge_batch::STATUS;

use crate::kem::Kem;
use crate::params::{Parameters, Q, SEED_BYTES};
use crate::pke::{integer_rows, wire_rows};
use crate::symmetric::Profile;

/// Threads of a block that hashes or checks, one item each.
const ITEM_THREADS: u32 = 128;

/// Most draws of a seed for one item; 16 of them all fail once in 2^238 items.
const ATTEMPTS: u32 = 16;

/// What a kernel does to each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Seeds d ‖ z to the coins of key generation.
    Expand,
    /// Coins to key pairs.
    Generate,
    /// Items without an inverse again, with further draws.
    Retry,
    /// Seeds to messages, shared keys and coins of encryption.
    Encapsulate,
    /// Messages and coins to ciphertexts.
    Encrypt,
    /// Ciphertexts to messages.
    Decrypt,
    /// Messages to shared keys, rejection keys and coins of encryption.
    Decapsulate,
    /// Encryption again, compared with the ciphertext: the shared key or the rejection key.
    Compare,
    /// Public keys to statuses.
    CheckPublic,
    /// Secret keys to statuses.
    CheckSecret,
}

const ROWS: Header = Header { name: "ctru_rows.cuh", text: include_str!("kernels/ctru_rows.cuh") };
const RING: Header = Header { name: "ctru_ring.cuh", text: include_str!("kernels/ctru_ring.cuh") };
const GENERATE: Header = Header { name: "ctru_generate.cuh", text: include_str!("kernels/ctru_generate.cuh") };
const ENCRYPT: Header = Header { name: "ctru_encrypt.cuh", text: include_str!("kernels/ctru_encrypt.cuh") };
const HASH: Header = Header { name: "ctru_hash.cuh", text: include_str!("kernels/ctru_hash.cuh") };
const CHECK: Header = Header { name: "ctru_check.cuh", text: include_str!("kernels/ctru_check.cuh") };
const RING_HEADERS: &[Header] =
    &[ROWS, RING, GENERATE, ENCRYPT, STATUS, ringforge_e8::E8, ringforge_e8::SAMPLE, ringforge_e8::PACK];
const ITEM_HEADERS: &[Header] = &[HASH, CHECK, STATUS, ringforge_e8::PACK];

/// A stage for one parameter set on devices with some limits.
#[derive(Clone)]
pub(crate) struct CtruKernel {
    stage: Stage,
    name: &'static str,
    text: &'static str,
    kem: &'static Kem,
    /// The rows that it works on; none for stages that hash or check, one thread an item.
    rows: Option<Rows>,
    /// The last one is that of the rows' table, where there are any.
    ports: Vec<Port>,
}

impl CtruKernel {
    /// The kernel of a stage.
    ///
    /// # Errors
    /// What makes the rings' rows fail.
    pub(crate) fn new(stage: Stage, parameters: &Parameters, limits: &Limits) -> Result<Self> {
        let wire = wire_rows(parameters, limits)?;
        // deeper than on the wire where that can be: leaves of degree 2 are inverted at once, those of degree 6 are not
        let deep = || Ok::<_, Error>(Rows::of(wire.ring(), limits)?.holding(2));
        let rows = match stage {
            Stage::Expand | Stage::Encapsulate | Stage::Decapsulate => None,
            Stage::CheckPublic | Stage::CheckSecret => None,
            Stage::Decrypt => Some(integer_rows(parameters, limits)?.holding(2)),
            // products of degree 6 take less than the layer by three, there and back (282 µs against 315 on an H200)
            Stage::Encrypt | Stage::Compare => Some(wire.holding(2)),
            Stage::Generate => Some(deep()?),
            Stage::Retry => Some(deep()?.extra_shared(2 * parameters.key_pair_coins_bytes())),
        };
        let (name, text, mut ports) = stage.parts(parameters);
        ports.extend(rows.iter().map(Rows::table_port));
        Ok(Self { stage, name, text, kem: Kem::of(parameters)?, rows, ports })
    }

    fn parameters(&self) -> &Parameters {
        self.kem.parameters()
    }
}

impl Stage {
    /// The name, the text, and the ports without that of the table of factors.
    fn parts(self, p: &Parameters) -> (&'static str, &'static str, Vec<Port>) {
        let secret = |bytes| Port::input(bytes).secret();
        let [public_key, ciphertext] = [p.public_key_bytes(), p.ciphertext_bytes()].map(Port::input);
        let [secret_key, message] = [p.secret_key_bytes(), p.message_bytes()].map(secret);
        let [coins, key_coins] = [p.encryption_coins_bytes(), p.key_pair_coins_bytes()].map(secret);
        let [seed, seeds] = [SEED_BYTES, 2 * SEED_BYTES].map(secret);
        let status = Port::status();
        macro_rules! stage {
            ($name:literal: $($port:expr),*) => {
                (concat!("ctru_", $name), include_str!(concat!("kernels/ctru_", $name, ".cu")), vec![$($port),*])
            };
        }
        match self {
            Self::Expand => stage!("expand": seeds, out(key_coins), status),
            Self::Generate => stage!("generate": seeds, key_coins, out(public_key), out(secret_key), both(status)),
            Self::Retry => stage!("retry": Port::draws(), seeds, both(public_key), both(secret_key), both(status)),
            Self::Encapsulate => stage!("encapsulate": public_key, seed, out(message), out(coins), out(seed), status),
            Self::Encrypt => stage!("encrypt": public_key, message, coins, out(ciphertext), both(seed), both(status)),
            Self::Decrypt => stage!("decrypt": secret_key, ciphertext, out(message), status),
            Self::Decapsulate => {
                stage!("decapsulate": secret_key, ciphertext, message, out(seeds), out(coins), both(status))
            }
            Self::Compare => stage!("compare": secret_key, ciphertext, message, coins, seeds, out(seed), both(status)),
            Self::CheckPublic => stage!("check_public": public_key, status),
            Self::CheckSecret => stage!("check_secret": secret_key, status),
        }
    }
}

/// The same port, written.
fn out(port: Port) -> Port {
    Port { role: Role::Out, ..port }
}

/// The same port, read and written.
fn both(port: Port) -> Port {
    Port { role: Role::InOut, ..port }
}

impl Kernel for CtruKernel {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, limits: &Limits) -> Result<Source> {
        let parameters = self.parameters();
        if parameters.profile != Profile::S {
            return Err(Error::Unsupported {
                job: format!("{} with AES and SHA-2", parameters.name),
                why: format!("these hash functions have no text for {}", limits.name),
            });
        }
        let set = set(parameters);
        let (headers, built) = match &self.rows {
            Some(rows) => (RING_HEADERS, rows.build(limits, &set)?),
            None => {
                let prelude = format!("#pragma once\n#include \"word.cuh\"\n{set}");
                (ITEM_HEADERS, Built { prelude, launch: Launch::thread_per_item(ITEM_THREADS) })
            }
        };
        // SAFETY: a thread, or a block that `rows` made, works on the bytes of its own items, of the sizes that the set of
        // parameters gives to ports and prelude alike.
        Ok(unsafe { Source::new(self, self.text, headers, built) })
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.rows.as_ref().filter(|_| port + 1 == self.ports.len()).map(Rows::table)
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        on_cpu::run(self.stage, self.kem, items, args)
    }

    fn describe(&self) -> String {
        self.parameters().name.into()
    }
}

impl fmt::Debug for CtruKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {}, {:?}", self.stage, self.parameters().name, self.rows)
    }
}

/// The parameter set as kernels know it.
fn set(p: &Parameters) -> String {
    let numbers = [
        ("n", p.n),
        ("q", Q as usize),
        ("q2_bits", p.q2_bits as usize),
        ("eta", p.eta as usize),
        ("secret_width", p.key_width() as usize),
        ("public_key", p.public_key_bytes()),
        ("secret_key", p.secret_key_bytes()),
        ("ciphertext", p.ciphertext_bytes()),
        ("message", p.message_bytes()),
        ("generate_coins", p.key_pair_coins_bytes()),
        ("encrypt_coins", p.encryption_coins_bytes()),
        ("item_threads", ITEM_THREADS as usize),
        ("attempts", ATTEMPTS as usize),
    ];
    let numbers = numbers.map(|(name, value)| format!("    static constexpr rf::u32 {name} = {value};\n"));
    let noise = format!("    static constexpr bool noise = {};\n", p.noise);
    format!("// {}\nstruct Set {{\n{}{noise}}};\n", p.name, numbers.concat())
}
