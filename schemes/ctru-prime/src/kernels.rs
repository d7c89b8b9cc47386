//! The kernels of key generation, encapsulation and decapsulation: what they read and write, and their text.

mod on_cpu;
mod tensor;
mod text;

use ringforge::kernels::{Args, Built, CustomKernel, Port, Rows, Table};
use ringforge::{Limits, Result};
use ringforge_e8::ID_BYTES;

use crate::kem::Kem;
use crate::params::{Parameters, SEED_BYTES};
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

/// A stage for one parameter set: what decides a kernel's results.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    pub(crate) stage: Stage,
    pub(crate) keys: Keys,
    pub(crate) way: Way,
    pub(crate) kem: &'static Kem,
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

impl Parameters {
    /// Bytes between the coins of one polynomial and the next in temporary memory: whole vectors.
    const fn coins_pitch(&self) -> usize {
        self.sizes().polynomial_coins.next_multiple_of(16)
    }

    /// Bytes between messages.
    const fn message_pitch(&self) -> usize {
        self.sizes().message.next_multiple_of(8)
    }

    /// Bytes between what rejection keys are hashes of: identity, z, ciphertext.
    const fn rejection_pitch(&self) -> usize {
        (ID_BYTES + SEED_BYTES + self.sizes().ciphertext).next_multiple_of(8)
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
        self.large_bytes(p) + p.sizes().public_key.next_multiple_of(16)
    }

    /// What is prepared of a secret key: f as a factor, then the key, up to a whole vector.
    pub(crate) const fn prepared_secret_bytes(self, p: &Parameters) -> usize {
        self.small_bytes(p) + p.sizes().kem().secret_key.next_multiple_of(16)
    }
}

impl Task {
    fn parameters(&self) -> &'static Parameters {
        &self.kem.pke.parameters
    }

    /// The kernel, on devices with some limits.
    ///
    /// # Errors
    /// What makes the rings' rows fail.
    #[allow(unsafe_code)]
    pub(crate) fn kernel(self, limits: &Limits) -> Result<CustomKernel> {
        let (p, Self { stage, keys, way, .. }) = (self.parameters(), self);
        let work = self.work(limits)?;
        let key = |bytes, prepared| match keys {
            Keys::Plain => Port::input(bytes),
            Keys::Prepared => Port::input(prepared),
            Keys::One => Port::shared(prepared),
        };
        let plain_public = Port::input(p.sizes().public_key);
        let plain_secret = Port::input(p.sizes().kem().secret_key).secret();
        let public_key = key(p.sizes().public_key, way.prepared_public_bytes(p));
        let secret_key = key(p.sizes().kem().secret_key, way.prepared_secret_bytes(p)).secret();
        let ciphertext = Port::input(p.sizes().ciphertext);
        let message = Port::input(p.message_pitch()).secret();
        let rejection = Port::input(p.rejection_pitch()).secret();
        let [coins, both_coins] = [1, 2].map(|count| Port::input(count * p.coins_pitch()).secret());
        // of a group's items
        let polynomial = Port::input(2 * p.n).secret().joint();
        let [seed, two_seeds] = [1, 2].map(|count| Port::input(count * SEED_BYTES).secret());
        let (status, pending) = (Port::status(), Port::status().updated());
        // all that it takes of a prepared key is the public one's values
        let compared_key = if keys == Keys::One { public_key } else { secret_key };
        #[cfg(feature = "testkit")]
        let words = Port::input(2 * p.n);
        let with_work = work.clone();
        let build = move |limits: &Limits| self.build(&with_work, limits);
        let headers = if matches!(work, Work::Hash) { text::HASH_HEADERS } else { text::RING_HEADERS };
        // a method takes what the ports have of an item, in their order
        macro_rules! stage {
            ($name:literal, $on_cpu:ident, [$($port:expr),*]) => {{
                let text = include_str!(concat!("kernels/ctru_prime_", $name, ".cu"));
                let on_cpu = move |items, args: &mut Args<'_>| {
                    let mut memory = self.kem.memory();
                    args.each(items, |_, parts| self.$on_cpu(parts, &mut memory))
                };
                // SAFETY: a thread, a warp or a block works on the bytes of its own items, of the sizes that the set of
                // parameters gives to ports and prelude alike, and on the shared memory of its rows.
                unsafe {
                    CustomKernel::new((concat!("ctru_prime_", $name), text, headers), [$($port),*], build, on_cpu)
                }
            }};
        }
        let kernel = match stage {
            Stage::Expand => stage!("expand", expand, [two_seeds, both_coins.written()]),
            Stage::Gather => stage!("gather", gather, [both_coins, polynomial.written(), polynomial.written()]),
            Stage::Invert => stage!("invert", invert, [polynomial, polynomial.written()]),
            Stage::Generate => stage!(
                "generate",
                generate,
                [two_seeds, both_coins, polynomial, polynomial, public_key.written(), secret_key.written()]
            ),
            Stage::PreparePublic => stage!("prepare_public", prepare_public, [plain_public, public_key.written()]),
            Stage::PrepareSecret => stage!("prepare_secret", prepare_secret, [plain_secret, secret_key.written()]),
            Stage::CheckSecret => stage!("check_secret", check_secret, [secret_key, status]),
            Stage::Encapsulate => stage!(
                "encapsulate",
                encapsulate,
                [public_key, seed, message.written(), coins.written(), seed.written()]
            ),
            Stage::Encrypt => stage!("encrypt", encrypt, [public_key, message, coins, ciphertext.written()]),
            Stage::Decrypt => {
                stage!("decrypt", decrypt, [secret_key, ciphertext, message.written(), rejection.written(), status])
            }
            Stage::Decapsulate => {
                stage!("decapsulate", decapsulate, [message, rejection, two_seeds.written(), coins.written(), pending])
            }
            Stage::Compare => stage!(
                "compare",
                compare,
                [compared_key, ciphertext, message, coins, two_seeds, pending, seed.written()]
            ),
            #[cfg(feature = "testkit")]
            Stage::Multiply => stage!("multiply", multiply, [words, words.secret(), words.written()]),
        };
        let tensor = if matches!(work, Work::Tensor(_)) { ", tensor cores" } else { "" };
        Ok(kernel.with_tables(work.table()).described(format!("{}{tensor}", p.name)))
    }

    /// How threads share the work. Inverses are made by transforms whichever way other products are made: a warp is too few
    /// for division steps.
    fn work(self, limits: &Limits) -> Result<Work> {
        let (p, Self { stage, keys, way, .. }) = (self.parameters(), self);
        let rows = |bounds, extra| {
            Ok(match way {
                Way::Tensor if stage != Stage::Invert => {
                    let rows = TensorRows::of_degree(p.n).extra_shared(extra);
                    let one_matrix = keys == Keys::One && matches!(stage, Stage::Encrypt | Stage::Compare);
                    Work::Tensor(if one_matrix { rows.one_matrix() } else { rows })
                }
                _ => Work::Transform(Box::new(integer_rows(p.n, bounds, limits)?.extra_shared(extra))),
            })
        };
        let key_or_ciphertext = p.sizes().public_key.max(p.n.div_ceil(8) * p.q2_bits as usize);
        // two beside the row, 16 bits a coefficient, each as long as half a row of either way
        let polynomials = 2 * integer_length(p.n);
        match stage {
            Stage::Expand | Stage::Encapsulate | Stage::Decapsulate | Stage::CheckSecret => Ok(Work::Hash),
            Stage::Encrypt | Stage::Compare | Stage::PreparePublic => rows(Bounds::of_encryption(p), key_or_ciphertext),
            #[cfg(feature = "testkit")]
            Stage::Multiply => rows(Bounds::of_encryption(p), 0),
            Stage::Decrypt | Stage::PrepareSecret => rows(Bounds::of_decryption(p), 2 * p.sizes().message),
            Stage::Gather | Stage::Invert | Stage::Generate => rows(Bounds::of_limbs(p), polynomials),
        }
    }

    /// What the text assumes on devices with some limits.
    fn build(self, work: &Work, limits: &Limits) -> Result<Built> {
        let set = |row| text::set(self.parameters(), row, self.way, self.keys);
        let mut built = match work {
            Work::Hash => Built::thread_per_item(HASH_THREADS, &set(0)),
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
        Ok(built)
    }
}
