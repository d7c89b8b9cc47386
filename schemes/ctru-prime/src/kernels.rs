//! The kernels of key generation, encapsulation and decapsulation: ports, CPU reference, CUDA source.

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

/// Threads per block of a hashing kernel, one item each.
const HASH_THREADS: u32 = 128;

/// Keys that a row of threads generates one after another, sharing one inverse. A small group leaves many rows to run
/// in parallel.
const GROUP: usize = 16;

/// Groups that share an inversion, which costs as much as a few hundred products.
const GROUPS: usize = 8;

/// The work of a kernel on each item: its inputs, then its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Seeds d ‖ z to the coins of f and g.
    Expand,
    /// Coins to numerators g_i·f_0 … f_(i−1) and running products f_0 … f_i of each group of keys.
    Gather,
    /// Products of whole groups to their inverses.
    Invert,
    /// Inverses and coins to key pairs.
    Generate,
    /// Public keys to prepared ones: h as an operand, then the key itself.
    PreparePublic,
    /// Secret keys to prepared ones: f as an operand, then the key itself.
    PrepareSecret,
    /// Secret keys to statuses.
    CheckSecret,
    /// Seeds to messages, shared keys and encryption coins.
    Encapsulate,
    /// Messages and coins to ciphertexts.
    Encrypt,
    /// Ciphertexts to messages, and to the inputs of the hash that gives rejection keys.
    Decrypt,
    /// Messages to shared keys, rejection keys and encryption coins.
    Decapsulate,
    /// Re-encryption and comparison with the ciphertext, which select the shared key or the rejection key.
    Compare,
    /// A product only.
    #[cfg(feature = "testkit")]
    Multiply,
}

/// The form in which a kernel reads or writes keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// One key per item, as encoded.
    Plain,
    /// One prepared key per item: the polynomial as an operand, then the key itself.
    Prepared,
    /// One prepared key for all items.
    One,
}

/// How threads share the work.
#[derive(Debug, Clone)]
enum Work {
    /// One thread per item.
    Hash,
    /// A row of threads per item, with transforms in a cyclic ring.
    Transform(Box<KernelLayout>),
    /// One warp per item, with products on tensor cores.
    Tensor(TensorRows),
}

impl Work {
    /// The twiddle table, the kernel's last port; none for hashing kernels.
    fn table(&self) -> Option<Table> {
        match self {
            Self::Hash => None,
            Self::Transform(rows) => Some(rows.table()),
            // a dummy word in place of the twiddle table
            Self::Tensor(_) => Some(Table::Bytes([0; size_of::<u32>()].into())),
        }
    }
}

impl Parameters {
    /// Stride in bytes between the coins of two polynomials in temporary memory, a multiple of 16.
    const fn coins_pitch(&self) -> usize {
        self.sizes().polynomial_coins.next_multiple_of(16)
    }

    /// Stride in bytes between messages.
    const fn message_pitch(&self) -> usize {
        self.sizes().message.next_multiple_of(8)
    }

    /// Stride in bytes between the hash inputs of rejection keys: identity, z, ciphertext.
    const fn rejection_pitch(&self) -> usize {
        (ID_BYTES + SEED_BYTES + self.sizes().ciphertext).next_multiple_of(8)
    }
}

impl Way {
    /// Bytes of a prepared large operand: its evaluations, or the words of its two digits.
    pub(crate) const fn large_bytes(self, p: &Parameters) -> usize {
        match self {
            Self::Transform => 4 * integer_length(p.n),
            Self::Tensor => TensorRows::of_degree(p.n).large_bytes(),
        }
    }

    /// Bytes of a prepared small operand: its evaluations, or its coefficients as bytes.
    pub(crate) const fn small_bytes(self, p: &Parameters) -> usize {
        match self {
            Self::Transform => 4 * integer_length(p.n),
            Self::Tensor => TensorRows::of_degree(p.n).small_bytes(),
        }
    }

    /// Bytes of a prepared public key: h as an operand, then the key, padded to 16 bytes.
    pub(crate) const fn prepared_public_bytes(self, p: &Parameters) -> usize {
        self.large_bytes(p) + p.sizes().public_key.next_multiple_of(16)
    }

    /// Bytes of a prepared secret key: f as an operand, then the key, padded to 16 bytes.
    pub(crate) const fn prepared_secret_bytes(self, p: &Parameters) -> usize {
        self.small_bytes(p) + p.sizes().kem().secret_key.next_multiple_of(16)
    }
}

/// The settings that, together with a [`Stage`], determine a kernel's results.
#[derive(Clone, Copy)]
pub(crate) struct PrimeSteps {
    pub(crate) kem: &'static Kem,
    pub(crate) keys: Keys,
    pub(crate) way: Way,
}

impl PrimeSteps {
    /// Settings with one plain key per item and the fastest products on devices with these limits.
    pub(crate) fn new(parameters: &Parameters, limits: &Limits) -> Result<Self> {
        Ok(Self { kem: kem(parameters)?, keys: Keys::Plain, way: Way::fastest(limits) })
    }

    pub(crate) fn parameters(&self) -> &'static Parameters {
        &self.kem.pke.parameters
    }

    /// The kernel of a stage on devices with these limits.
    ///
    /// # Errors
    /// As `integer_rows`.
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
        // the polynomials of a whole group
        let polynomial = Port::input(2 * p.n).secret().batch_dependent();
        let [seed, two_seeds] = [1, 2].map(|count| Port::input(count * SEED_BYTES).secret());
        let (status, pending) = (Port::status(), Port::status().updated());
        // with one prepared key, re-encryption needs only the operand of the public key
        let compared_key = if keys == Keys::One { public_key } else { secret_key };
        #[cfg(feature = "testkit")]
        let words = Port::input(2 * p.n);
        let with_work = work.clone();
        let build = move |limits: &Limits| self.build(stage, &with_work, limits);
        let headers = if matches!(work, Work::Hash) { text::HASH_HEADERS } else { text::RING_HEADERS };
        // each closure takes an item's part of every port, in port order
        macro_rules! stage {
            ($name:literal, [$($port:expr),*], $memory:ident => $work:expr) => {{
                let text = include_str!(concat!("kernels/ctru_prime_", $name, ".cu"));
                let on_cpu = move |items, args: &mut Args<'_>| {
                    let $memory = &mut self.kem.memory();
                    args.each(items, $work)
                };
                // SAFETY: A thread, a warp or a block accesses only the bytes of its own items and the shared memory of
                // its rows. The parameter set gives the same sizes to ports and prelude.
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
            // the CPU inverts each key by itself, in `Stage::Generate`
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
                    // no check of the public key: any bytes are one
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

    /// How threads share the work of a stage. Inversion always uses transforms, because a warp has too few threads for
    /// division steps.
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
        // two polynomials of 16-bit coefficients, each as long as half a row in either way
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

    /// The prelude and launch of a stage on devices with these limits.
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
