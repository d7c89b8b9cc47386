//! The kernels of key generation, encapsulation and decapsulation: what they read and write, and their text.

mod on_cpu;

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use ringforge::{Args, Built, Error, Header, Kernel, Launch, Limits, Port, Result, Role, Rows, Slot, Source, Step};
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
    kem: &'static Kem,
    /// The rows that it works on; none for stages that hash or check, one thread an item.
    rows: Option<Rows>,
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
        let mut ports = stage.ports(parameters);
        ports.extend(rows.iter().map(Rows::table_port));
        Ok(Self { stage, kem: Kem::of(parameters)?, rows, ports })
    }

    fn parameters(&self) -> &Parameters {
        self.kem.parameters()
    }

    /// The step with these slots, to which that of the table is added where the kernel has one.
    pub(crate) fn step(self, mut slots: Vec<Slot>) -> Step {
        slots.extend(self.rows.iter().map(Rows::table_slot));
        Step { kernel: Arc::new(self), slots }
    }
}

impl Stage {
    /// The ports, without that of the table of factors.
    fn ports(self, p: &Parameters) -> Vec<Port> {
        let public_key = Port::input(p.public_key_bytes());
        let secret_key = Port::input(p.secret_key_bytes()).secret();
        let ciphertext = Port::input(p.ciphertext_bytes());
        let message = Port::input(p.message_bytes()).secret();
        let coins = Port::input(p.encryption_coins_bytes()).secret();
        let generate_coins = Port::input(p.key_pair_coins_bytes()).secret();
        let seeds = Port::input(2 * SEED_BYTES).secret();
        let both_keys = Port::input(2 * SEED_BYTES).secret();
        let shared_key = Port::input(SEED_BYTES).secret();
        let status = Port::status();
        match self {
            Self::Expand => vec![seeds, out(generate_coins), status],
            Self::Generate => vec![seeds, generate_coins, out(public_key), out(secret_key), both(status)],
            Self::Retry => vec![Port::draws(), seeds, both(public_key), both(secret_key), both(status)],
            Self::Encapsulate => {
                vec![public_key, Port::input(SEED_BYTES).secret(), out(message), out(coins), out(shared_key), status]
            }
            Self::Encrypt => vec![public_key, message, coins, out(ciphertext), both(shared_key), both(status)],
            Self::Decrypt => vec![secret_key, ciphertext, out(message), status],
            Self::Decapsulate => vec![secret_key, ciphertext, message, out(both_keys), out(coins), both(status)],
            Self::Compare => {
                vec![secret_key, ciphertext, message, coins, both_keys, out(shared_key), both(status)]
            }
            Self::CheckPublic => vec![public_key, status],
            Self::CheckSecret => vec![secret_key, status],
        }
    }

    /// The name and the text of a stage.
    const fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Expand => ("ctru_expand", include_str!("kernels/ctru_expand.cu")),
            Self::Generate => ("ctru_generate", include_str!("kernels/ctru_generate.cu")),
            Self::Retry => ("ctru_retry", include_str!("kernels/ctru_retry.cu")),
            Self::Encapsulate => ("ctru_encapsulate", include_str!("kernels/ctru_encapsulate.cu")),
            Self::Encrypt => ("ctru_encrypt", include_str!("kernels/ctru_encrypt.cu")),
            Self::Decrypt => ("ctru_decrypt", include_str!("kernels/ctru_decrypt.cu")),
            Self::Decapsulate => ("ctru_decapsulate", include_str!("kernels/ctru_decapsulate.cu")),
            Self::Compare => ("ctru_compare", include_str!("kernels/ctru_compare.cu")),
            Self::CheckPublic => ("ctru_check_public", include_str!("kernels/ctru_check_public.cu")),
            Self::CheckSecret => ("ctru_check_secret", include_str!("kernels/ctru_check_secret.cu")),
        }
    }
}

/// The same port, written.
fn out(port: Port) -> Port {
    Port { secret: port.secret, ..Port::output(port.bytes) }
}

/// The same port, read and written.
fn both(port: Port) -> Port {
    Port { role: Role::InOut, ..port }
}

impl Kernel for CtruKernel {
    fn name(&self) -> &'static str {
        self.stage.text().0
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
        Ok(unsafe { Source::new(self, self.stage.text().1, headers, built) })
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
