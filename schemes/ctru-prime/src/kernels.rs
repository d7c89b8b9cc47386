//! The kernels of key generation, encapsulation and decapsulation: their ports (inputs and outputs), CPU references and
//! CUDA sources.

mod on_cpu;
mod tensor;
mod text;

use ringforge::kernels::{Args, Built, CustomKernel, KernelLayout, Port, Table};
use ringforge::{Limits, Result};
use ringforge_batch::{HALF_DONE, OK, PENDING};
use ringforge_e8::{ID_BYTES, Seed, choose, xof};
use zeroize::Zeroizing;

use crate::kem::{Kem, Memory, kem};
use crate::params::{Parameters, SEED_BYTES};
use crate::product::{Bounds, Way, integer_length, integer_rows};
use on_cpu::{go_on, padded};
use tensor::TensorRows;

/// Threads per block of a hashing kernel. Each thread handles one item.
const HASH_THREADS: u32 = 128;

/// The number of keys in a group. The keys of a group share one inverse and are generated one after another; groups run
/// in parallel, so smaller groups give more parallel work.
const GROUP: usize = 16;

/// The number of groups that share an inversion. An inversion costs as much as a few hundred products.
const GROUPS: usize = 8;

/// The kernels. "Coins" are the pseudorandom bytes from which polynomials are sampled. A key pair has the secret
/// polynomials f and g, the public polynomial h = g/f, and the rejection secret z; f_i and g_i belong to key i of a
/// group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Expands the seed d of each pair d ‖ z to the coins of f and g.
    Expand,
    /// Computes numerators g_i·f_0 … f_(i−1) and running products f_0 … f_i of each group of keys, from coins.
    Gather,
    /// Inverts the product of all f of each group.
    Invert,
    /// Computes key pairs from the numerators and inverses of groups, and from coins.
    Generate,
    /// Prepares public keys: h as an operand of a product (evaluations or digits), followed by the encoded key.
    PreparePublic,
    /// Prepares secret keys: f as an operand of a product (evaluations or bytes), followed by the encoded key.
    PrepareSecret,
    /// Checks secret keys and writes their statuses.
    CheckSecret,
    /// Derives messages, shared keys and encryption coins from public keys and seeds.
    Encapsulate,
    /// Encrypts messages with given coins.
    Encrypt,
    /// Decrypts ciphertexts to messages, and copies the input of the hash that gives rejection keys.
    Decrypt,
    /// Derives shared keys, rejection keys and encryption coins from messages.
    Decapsulate,
    /// Re-encrypts messages, compares the results with the ciphertexts, and selects the shared key or the rejection
    /// key.
    Compare,
    /// Multiplies residues modulo q by small polynomials. For tests of the product alone.
    #[cfg(feature = "testkit")]
    Multiply,
}

/// The form of the keys that a kernel reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// One encoded key per item.
    Plain,
    /// One key per item: its polynomial as an operand of a product, followed by the encoded key.
    Prepared,
    /// A single key that all items share: its polynomial as an operand of a product, followed by the encoded key.
    One,
}

/// How the threads of a kernel share the work.
#[derive(Debug, Clone)]
enum Work {
    /// One thread per item.
    Hash,
    /// Several threads per item, with NTTs in a cyclic ring.
    Transform(Box<KernelLayout>),
    /// One warp per item, with products on tensor cores.
    Tensor(TensorRows),
}

impl Work {
    /// Returns the twiddle table, which is the kernel's last port. Hashing kernels have none.
    fn table(&self) -> Option<Table> {
        match self {
            Self::Hash => None,
            Self::Transform(rows) => Some(rows.table()),
            // tensor-core kernels have the same port, but never read it
            Self::Tensor(_) => Some(Table::Bytes([0; size_of::<u32>()].into())),
        }
    }
}

impl Parameters {
    /// Stride in bytes between the coins of two polynomials in temporary memory, a multiple of 16.
    const fn coins_pitch(&self) -> usize {
        self.sizes().polynomial_coins.next_multiple_of(16)
    }

    /// Stride in bytes between messages in temporary memory, a multiple of 8.
    const fn message_pitch(&self) -> usize {
        self.sizes().message.next_multiple_of(8)
    }

    /// Stride in bytes between the hash inputs of rejection keys, identity ‖ z ‖ ciphertext; a multiple of 8.
    const fn rejection_pitch(&self) -> usize {
        (ID_BYTES + SEED_BYTES + self.sizes().ciphertext).next_multiple_of(8)
    }
}

impl Way {
    /// Size in bytes of a prepared large operand (residues modulo q): its evaluations, or two digits per coefficient.
    pub(crate) const fn large_bytes(self, p: &Parameters) -> usize {
        match self {
            Self::Transform => 4 * integer_length(p.n),
            Self::Tensor => TensorRows::of_degree(p.n).large_bytes(),
        }
    }

    /// Size in bytes of a prepared small operand (small coefficients, such as those of f): its evaluations, or its
    /// coefficients as bytes.
    pub(crate) const fn small_bytes(self, p: &Parameters) -> usize {
        match self {
            Self::Transform => 4 * integer_length(p.n),
            Self::Tensor => TensorRows::of_degree(p.n).small_bytes(),
        }
    }

    /// Size in bytes of a prepared public key: h as a large operand, then the encoded key, padded to a multiple of 16.
    pub(crate) const fn prepared_public_bytes(self, p: &Parameters) -> usize {
        self.large_bytes(p) + p.sizes().public_key.next_multiple_of(16)
    }

    /// Size in bytes of a prepared secret key: f as a small operand, then the encoded key, padded to a multiple of 16.
    pub(crate) const fn prepared_secret_bytes(self, p: &Parameters) -> usize {
        self.small_bytes(p) + p.sizes().kem().secret_key.next_multiple_of(16)
    }
}

/// The settings that determine a kernel's results, together with its [`Stage`].
#[derive(Clone, Copy)]
pub(crate) struct PrimeSteps {
    pub(crate) kem: &'static Kem,
    pub(crate) keys: Keys,
    pub(crate) way: Way,
}

impl PrimeSteps {
    /// Returns settings with one encoded key per item and the fastest products on devices with these limits.
    pub(crate) fn new(parameters: &Parameters, limits: &Limits) -> Result<Self> {
        Ok(Self { kem: kem(parameters)?, keys: Keys::Plain, way: Way::fastest(limits) })
    }

    pub(crate) fn parameters(&self) -> &'static Parameters {
        &self.kem.pke.parameters
    }

    /// Returns the kernel of a stage for devices with these limits.
    ///
    /// # Errors
    /// The error of `integer_rows` if the products of the stage cannot be proven exact.
    #[allow(unsafe_code)]
    pub(crate) fn kernel(self, stage: Stage, limits: &Limits) -> Result<CustomKernel> {
        let (p, Self { keys, way, .. }) = (self.parameters(), self);
        let (sizes, work) = (p.sizes(), self.work(stage, limits)?);
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
        // a polynomial that depends on all keys of a group
        let polynomial = Port::input(2 * p.n).secret().batch_dependent();
        let [seed, two_seeds] = [1, 2].map(|count| Port::input(count * SEED_BYTES).secret());
        let (status, pending) = (Port::status(), Port::status().updated());
        // re-encryption reads the public key within the secret key or, if all items share a key, h as an operand
        let compared_key = if keys == Keys::One { public_key } else { secret_key };
        #[cfg(feature = "testkit")]
        let words = Port::input(2 * p.n);
        let with_work = work.clone();
        let build = move |limits: &Limits| self.build(stage, &with_work, limits);
        let headers = if matches!(work, Work::Hash) { text::HASH_HEADERS } else { text::RING_HEADERS };
        // each closure takes one item's bytes of every port, in port order
        macro_rules! stage {
            ($name:literal, [$($port:expr),*], $memory:ident => $work:expr) => {{
                let text = include_str!(concat!("kernels/ctru_prime_", $name, ".cu"));
                let on_cpu = move |items, args: &mut Args<'_>| {
                    let $memory = &mut self.kem.memory();
                    args.each(items, $work)
                };
                // SAFETY: A thread, a warp or a block accesses only the bytes of its own items and its own shared
                // memory. The ports and the CUDA constants take all sizes from the same parameter set.
                unsafe {
                    CustomKernel::new((concat!("ctru_prime_", $name), text, headers), [$($port),*], build, on_cpu)
                }
            }};
        }
        let kernel = match stage {
            Stage::Expand => stage!(
                "expand", [two_seeds, both_coins.written()],
                _memory => |_, ([d, _], coins): (&[Seed; 2], &mut [u8])| {
                    let (f, g) = coins.split_at_mut(p.coins_pitch());
                    xof(d, [f, g].map(|coins| padded(coins, sizes.polynomial_coins)));
                    Ok(())
                }
            ),
            // the CPU reference inverts each f separately in `Stage::Generate`, so these two kernels only write zeros
            Stage::Gather => stage!(
                "gather", [both_coins, polynomial.written(), polynomial.written()],
                _memory => |_, (_, a, b): (&[u8], &mut [u8], &mut [u8])| {
                    [a, b].into_iter().for_each(|polynomial| polynomial.fill(0));
                    Ok(())
                }
            ),
            Stage::Invert => stage!(
                "invert", [polynomial, polynomial.written()],
                _memory => |_, (_, inverse): (&[u8], &mut [u8])| {
                    inverse.fill(0);
                    Ok(())
                }
            ),
            Stage::Generate => stage!(
                "generate", [two_seeds, both_coins, polynomial, polynomial, public_key.written(), secret_key.written()],
                memory => |_, (seeds, coins, a, b, public, secret)| {
                    let ([_, z], _, secret): (&[Seed; 2], [&[u8]; 2], &mut [u8]) = (seeds, [a, b], secret);
                    let (f, g) = <[u8]>::split_at(coins, p.coins_pitch());
                    let coins = [f, g].map(|coins| &coins[..sizes.polynomial_coins]);
                    let z_at = secret.len() - SEED_BYTES;
                    secret[z_at..].copy_from_slice(z);
                    self.kem.key_pair_from(coins, public, secret, &mut memory.polynomials).map(drop)
                }
            ),
            Stage::PreparePublic => stage!(
                "prepare_public", [plain_public, public_key.written()],
                memory => |_, (key, prepared)| self.prepare_public(key, prepared, &mut memory.polynomials)
            ),
            Stage::PrepareSecret => stage!(
                "prepare_secret", [plain_secret, secret_key.written()],
                memory => |_, (key, prepared)| self.prepare_secret(key, prepared, &mut memory.polynomials)
            ),
            Stage::CheckSecret => stage!(
                "check_secret", [secret_key, status],
                memory => |_, (key, status)| self.check_secret(key, status, &mut memory.polynomials)
            ),
            Stage::Encapsulate => stage!(
                "encapsulate", [public_key, seed, message.written(), coins.written(), seed.written()],
                _memory => |_, (key, seed, message, coins, shared_key): (&[u8], _, _, _, _)| {
                    let id = if keys == Keys::One { &key[way.large_bytes(p)..] } else { key };
                    let (message, coins) = (padded(message, sizes.message), padded(coins, sizes.polynomial_coins));
                    self.kem.hash_seed(id, seed, message, shared_key, coins);
                    Ok(())
                }
            ),
            Stage::Encrypt => stage!(
                "encrypt", [public_key, message, coins, ciphertext.written()],
                memory => |_, (key, message, coins, to)| self.encrypt(key, message, coins, to, &mut memory.polynomials)
            ),
            Stage::Decrypt => stage!(
                "decrypt", [secret_key, ciphertext, message.written(), rejection.written(), status],
                memory => |_, (key, ciphertext, message, rejection, status): (_, &[u8], _, _, _)| {
                    let memory = &mut memory.polynomials;
                    let [_, public_key, z] = sizes.parts(self.take_secret(key, status, memory)?);
                    self.kem.pke.decrypt_with_values(ciphertext, padded(message, sizes.message), memory)?;
                    let hashed = Zeroizing::new([&public_key[..ID_BYTES], z, ciphertext].concat());
                    padded(rejection, hashed.len()).copy_from_slice(&hashed);
                    Ok(())
                }
            ),
            Stage::Decapsulate => stage!(
                "decapsulate", [message, rejection, two_seeds.written(), coins.written(), pending],
                _memory => |_, (message, rejection, keys, coins, status): (&[u8], &[u8], _, _, &mut u32)| {
                    let rest = &rejection[ID_BYTES..][..SEED_BYTES + sizes.ciphertext];
                    let coins = padded(coins, sizes.polynomial_coins);
                    self.kem.hash_message(rejection, &[rest], &message[..sizes.message], keys, coins);
                    go_on(status, PENDING, HALF_DONE)
                }
            ),
            Stage::Compare => stage!(
                "compare", [compared_key, ciphertext, message, coins, two_seeds, pending, seed.written()],
                memory => |_, (key, ciphertext, message, coins, both, status, shared_key): (_, _, _, _, _, &mut u32, &mut Seed)| {
                    let Memory { polynomials, ciphertext: again, .. } = &mut *memory;
                    let public_key = if keys == Keys::One { key } else { sizes.parts(key)[1] };
                    self.encrypt(public_key, message, coins, again, polynomials)?;
                    // the public key needs no check, because any bytes are a valid public key
                    go_on(status, HALF_DONE, OK)?;
                    *shared_key = if *status == OK { choose(both, ciphertext, again) } else { Seed::default() };
                    Ok(())
                }
            ),
            #[cfg(feature = "testkit")]
            Stage::Multiply => stage!(
                "multiply", [words, words.secret(), words.written()],
                memory => |_, (large, small, out)| self.kem.pke.multiply(large, small, out, &mut memory.polynomials)
            ),
        };
        let tensor = if matches!(work, Work::Tensor(_)) { ", tensor cores" } else { "" };
        Ok(kernel.with_tables(work.table()).described(format!("{}{tensor}", p.name)))
    }

    /// Returns how the threads of a stage share the work. Inversion always uses transforms, because a single warp has
    /// too few threads for division steps.
    fn work(self, stage: Stage, limits: &Limits) -> Result<Work> {
        let (p, Self { keys, way, .. }) = (self.parameters(), self);
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
        // bytes of two polynomials of 16-bit coefficients, each padded to half the length of a product
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

    /// Returns the generated CUDA header (`prelude.cuh`) and the launch shape of a stage, for devices with these
    /// limits.
    fn build(self, stage: Stage, work: &Work, limits: &Limits) -> Result<Built> {
        let set = |row| text::set(self.parameters(), row, self.way, self.keys);
        let mut built = match work {
            Work::Hash => Built::thread_per_item(HASH_THREADS).lines(&set(0)),
            Work::Transform(rows) => {
                let set = set(rows.poly().degree());
                rows.build(limits)?.lines(&set).lines("#include \"ctru_prime_transform.cuh\"\n")
            }
            Work::Tensor(rows) => rows.build(&set(rows.cells())),
        };
        built.launch.items_per_block *= match stage {
            Stage::Gather | Stage::Generate => GROUP as u32,
            Stage::Invert => (GROUP * GROUPS) as u32,
            _ => 1,
        };
        Ok(built)
    }
}
