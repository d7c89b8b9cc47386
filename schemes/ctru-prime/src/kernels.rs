//! The kernels of key generation, encapsulation and decapsulation: what they read and write, and their text.

mod on_cpu;
mod tensor;
mod text;

use core::fmt;
use core::ops::Range;

use ringforge::{Args, Built, Kernel, Launch, Limits, Port, Result, Role, Rows, Source, Table};

use crate::kem::Kem;
use crate::params::{ID_BYTES, Parameters, SEED_BYTES};
use crate::product::{Bounds, Way, integer_length, integer_rows};
use tensor::TensorRows;

/// Threads of a block that hashes, one item each.
const HASH_THREADS: u32 = 128;

/// Keys of a group, one after another in a row of the kernels that make keys: few, so that there are many rows.
const GROUP: usize = 16;

/// Groups that share an inversion, which takes as long as a few hundred products.
const GROUPS: usize = 8;

/// What a kernel does to each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Seeds d ‖ z to the coins of f and g.
    Expand,
    /// Coins to products of groups of keys.
    Gather,
    /// Those products to their inverses.
    Invert,
    /// Inverses and coins to key pairs.
    Generate,
    /// Public keys to their values, and themselves.
    PreparePublic,
    /// Secret keys to the values of f, and themselves.
    PrepareSecret,
    /// Secret keys to statuses.
    CheckSecret,
    /// Seeds to messages, shared keys and coins of encryption.
    Encapsulate,
    /// Messages and coins to ciphertexts.
    Encrypt,
    /// Ciphertexts to messages, and to what rejection keys are hashes of.
    Decrypt,
    /// Messages to shared keys, rejection keys and coins of encryption.
    Decapsulate,
    /// Encryption again, compared with the ciphertext: the shared key or the rejection key.
    Compare,
    /// A product alone.
    #[cfg(feature = "testkit")]
    Multiply,
}

/// How a kernel takes, or gives, keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Each item's, as they are.
    Plain,
    /// Each item's, prepared: values of the polynomial, then the key itself.
    Prepared,
    /// The same, one key for all items.
    One,
}

/// A stage for one parameter set on devices with some limits.
#[derive(Clone)]
pub(crate) struct PrimeKernel {
    stage: Stage,
    keys: Keys,
    way: Way,
    kem: &'static Kem,
    work: Work,
    ports: Vec<Port>,
}

/// How the threads share the work.
#[derive(Debug, Clone)]
enum Work {
    /// A thread an item.
    Hash,
    /// Rows of a cyclic ring.
    Transform(Box<Rows>),
    /// A warp an item.
    Tensor(TensorRows),
}

impl Work {
    /// The table that the kernel's last port reads.
    fn table(&self) -> Option<Table> {
        match self {
            Self::Hash => None,
            Self::Transform(rows) => Some(rows.table()),
            // where transforms have their factors: a word that nobody reads
            Self::Tensor(_) => Some(Table::Bytes([0; size_of::<u32>()].into())),
        }
    }
}

impl PrimeKernel {
    /// The kernel of a stage. Inverses are made by transforms whichever way other products are made: a warp is too few for
    /// division steps.
    ///
    /// # Errors
    /// What makes the rings' rows fail.
    pub(crate) fn new(stage: Stage, keys: Keys, way: Way, p: &Parameters, limits: &Limits) -> Result<Self> {
        let rows = |bounds, extra| {
            Ok::<_, ringforge::Error>(match way {
                Way::Tensor if stage != Stage::Invert => {
                    let rows = TensorRows::of_degree(p.n).extra_shared(extra);
                    let one_matrix = keys == Keys::One && matches!(stage, Stage::Encrypt | Stage::Compare);
                    Work::Tensor(if one_matrix { rows.one_matrix() } else { rows })
                }
                _ => Work::Transform(Box::new(integer_rows(p.n, bounds, limits)?.extra_shared(extra))),
            })
        };
        let key_or_ciphertext = p.public_key_bytes().max(p.n.div_ceil(8) * p.q2_bits as usize);
        // two beside the row, 16 bits a coefficient, each as long as half a row of either way
        let polynomials = 2 * integer_length(p.n);
        let work = match stage {
            Stage::Expand | Stage::Encapsulate | Stage::Decapsulate | Stage::CheckSecret => Work::Hash,
            Stage::Encrypt | Stage::Compare | Stage::PreparePublic => {
                rows(Bounds::of_encryption(p), key_or_ciphertext)?
            }
            #[cfg(feature = "testkit")]
            Stage::Multiply => rows(Bounds::of_encryption(p), 0)?,
            Stage::Decrypt | Stage::PrepareSecret => rows(Bounds::of_decryption(p), 2 * p.message_bytes())?,
            Stage::Gather | Stage::Invert | Stage::Generate => rows(Bounds::of_limbs(p), polynomials)?,
        };
        let mut ports = ports(stage, keys, way, p);
        ports.extend(work.table().map(|table| Port::shared(table.bytes())));
        Ok(Self { stage, keys, way, kem: Kem::of(p)?, work, ports })
    }

    fn parameters(&self) -> &Parameters {
        self.kem.parameters()
    }
}

impl Parameters {
    /// Bytes between the coins of one polynomial and the next in temporary memory: whole vectors.
    const fn coins_pitch(&self) -> usize {
        self.polynomial_coins_bytes().next_multiple_of(16)
    }

    /// Bytes between messages.
    const fn message_pitch(&self) -> usize {
        self.message_bytes().next_multiple_of(8)
    }

    /// Bytes between what rejection keys are hashes of: identity, z, ciphertext.
    const fn rejection_pitch(&self) -> usize {
        (ID_BYTES + SEED_BYTES + self.ciphertext_bytes()).next_multiple_of(8)
    }
}

impl Way {
    /// What the large factor is once it is prepared: the values of its transform, or words of the matrix.
    pub(crate) const fn large_bytes(self, p: &Parameters) -> usize {
        match self {
            Self::Transform => 4 * integer_length(p.n),
            Self::Tensor => TensorRows::of_degree(p.n).large_bytes(),
        }
    }

    /// The same of the small factor.
    pub(crate) const fn small_bytes(self, p: &Parameters) -> usize {
        match self {
            Self::Transform => 4 * integer_length(p.n),
            Self::Tensor => TensorRows::of_degree(p.n).small_bytes(),
        }
    }

    /// What is prepared of a public key: h as a factor, then the key, up to a whole vector.
    pub(crate) const fn prepared_public_bytes(self, p: &Parameters) -> usize {
        self.large_bytes(p) + p.public_key_bytes().next_multiple_of(16)
    }

    /// What is prepared of a secret key: f as a factor, then the key, up to a whole vector.
    pub(crate) const fn prepared_secret_bytes(self, p: &Parameters) -> usize {
        self.small_bytes(p) + p.secret_key_bytes().next_multiple_of(16)
    }
}

/// The ports of a stage, without that of the table of factors.
fn ports(stage: Stage, keys: Keys, way: Way, p: &Parameters) -> Vec<Port> {
    let key = |bytes, prepared| match keys {
        Keys::Plain => Port::input(bytes),
        Keys::Prepared => Port::input(prepared),
        Keys::One => Port::shared(prepared),
    };
    let public_key = key(p.public_key_bytes(), way.prepared_public_bytes(p));
    let secret_key = key(p.secret_key_bytes(), way.prepared_secret_bytes(p)).secret();
    let ciphertext = Port::input(p.ciphertext_bytes());
    let message = Port::input(p.message_pitch()).secret();
    let rejection = Port::input(p.rejection_pitch()).secret();
    let coins = Port::input(p.coins_pitch()).secret();
    let both_coins = Port::input(2 * p.coins_pitch()).secret();
    // of a group's items
    let polynomial = Port::input(2 * p.n).secret().joint();
    let seed = Port::input(SEED_BYTES).secret();
    let two_seeds = Port::input(2 * SEED_BYTES).secret();
    let status = Port::status();
    let pending = Port { role: Role::InOut, ..status };
    match stage {
        Stage::Expand => vec![two_seeds, out(both_coins)],
        Stage::Gather => vec![both_coins, out(polynomial), out(polynomial)],
        Stage::Invert => vec![polynomial, out(polynomial)],
        Stage::Generate => vec![two_seeds, both_coins, polynomial, polynomial, out(public_key), out(secret_key)],
        Stage::PreparePublic => vec![Port::input(p.public_key_bytes()), out(public_key)],
        Stage::PrepareSecret => vec![Port::input(p.secret_key_bytes()).secret(), out(secret_key)],
        Stage::CheckSecret => vec![secret_key, status],
        Stage::Encapsulate => vec![public_key, seed, out(message), out(coins), out(seed)],
        Stage::Encrypt => vec![public_key, message, coins, out(ciphertext)],
        Stage::Decrypt => vec![secret_key, ciphertext, out(message), out(rejection), status],
        Stage::Decapsulate => vec![message, rejection, out(two_seeds), out(coins), pending],
        Stage::Compare => {
            // all that it takes of a prepared key is the public one's values
            let key = if keys == Keys::One { public_key } else { secret_key };
            vec![key, ciphertext, message, coins, two_seeds, pending, out(seed)]
        }
        #[cfg(feature = "testkit")]
        Stage::Multiply => {
            let words = Port::input(2 * p.n);
            vec![words, words.secret(), out(words)]
        }
    }
}

/// The same port, written.
fn out(port: Port) -> Port {
    Port { secret: port.secret, joint: port.joint, ..Port::output(port.bytes) }
}

impl Kernel for PrimeKernel {
    fn name(&self) -> &'static str {
        text::of(self.stage).0
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, limits: &Limits) -> Result<Source> {
        let set = |row| text::set(self.parameters(), row, self.way, self.keys);
        let mut built = match &self.work {
            Work::Hash => {
                let prelude = format!("#pragma once\n#include \"word.cuh\"\n{}", set(0));
                Built { prelude, launch: Launch::thread_per_item(HASH_THREADS) }
            }
            Work::Transform(rows) => {
                let further = set(rows.ring().degree()) + "#include \"ctru_prime_transform.cuh\"\n";
                rows.build(limits, &further)?
            }
            Work::Tensor(rows) => rows.build(&set(rows.cells())),
        };
        built.launch.items_per_block *= match self.stage {
            Stage::Gather | Stage::Generate => GROUP as u32,
            Stage::Invert => (GROUP * GROUPS) as u32,
            _ => 1,
        };
        let headers = if matches!(self.work, Work::Hash) { text::HASH_HEADERS } else { text::RING_HEADERS };
        // SAFETY: a thread, a warp or a block works on the bytes of its own items, of the sizes that the set of parameters
        // gives to ports and prelude alike, and on the shared memory of its rows.
        Ok(unsafe { Source::new(self, text::of(self.stage).1, headers, built) })
    }

    fn table(&self, port: usize) -> Option<Table> {
        if port + 1 == self.ports.len() { self.work.table() } else { None }
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        self.run(items, args)
    }

    fn describe(&self) -> String {
        match self.work {
            Work::Tensor(_) => format!("{}, tensor cores", self.parameters().name),
            _ => self.parameters().name.into(),
        }
    }
}

impl fmt::Debug for PrimeKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {:?} keys, {}, {:?}", self.stage, self.keys, self.parameters().name, self.work)
    }
}
