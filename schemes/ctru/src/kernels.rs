//! The kernels of key generation, encapsulation and decapsulation: their ports (inputs and outputs), CPU references and
//! CUDA sources.

use ringforge::kernels::{Args, Built, CustomKernel, Header, KernelLayout, Port};
use ringforge::{Error, Limits, RandomKey, Result};
use ringforge_batch::{HALF_DONE, OK, PENDING, STATUS, SchemeError, status};
use ringforge_e8::{Encryption, KeyError, Seed, choose};
use zeroize::Zeroizing;

use crate::kem::{self, Kem, Memory};
use crate::params::{Parameters, Q, SEED_BYTES};
use crate::pke::{Polynomials, integer_rows, wire_rows};

/// Threads per block of the kernels that hash or check keys. Each thread handles one item.
const ITEM_THREADS: u32 = 128;

/// Maximum number of seeds tried for one item, including the first. For n = 768, all 16 fail with probability 2^-238.
const ATTEMPTS: u32 = 16;

/// The kernels. "Coins" are the pseudorandom bytes from which polynomials are sampled. A key pair has the secret
/// polynomials f and g, and the rejection secret z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Expands the seed d of each pair d ‖ z to the coins of f and g.
    Expand,
    /// Computes key pairs from coins; writes zeros for items whose f has no inverse.
    Generate,
    /// Regenerates the key pairs of items whose f has no inverse, from new seeds.
    Retry,
    /// Derives messages, shared keys and encryption coins from public keys and seeds.
    Encapsulate,
    /// Encrypts messages with given coins.
    Encrypt,
    /// Decrypts ciphertexts to messages.
    Decrypt,
    /// Derives shared keys, rejection keys and encryption coins from messages.
    Decapsulate,
    /// Re-encrypts messages, compares the results with the ciphertexts, and selects the shared key or the rejection
    /// key.
    Compare,
    /// Checks public keys and writes their statuses.
    CheckPublic,
    /// Checks secret keys, including the public keys within, and writes their statuses.
    CheckSecret,
}

const ROWS: Header = Header { name: "ctru_rows.cuh", text: include_str!("kernels/ctru_rows.cuh") };
const RING: Header = Header { name: "ctru_ring.cuh", text: include_str!("kernels/ctru_ring.cuh") };
const GENERATE: Header = Header { name: "ctru_generate.cuh", text: include_str!("kernels/ctru_generate.cuh") };
const ENCRYPT: Header = Header { name: "ctru_encrypt.cuh", text: include_str!("kernels/ctru_encrypt.cuh") };
const HASH: Header = Header { name: "ctru_hash.cuh", text: include_str!("kernels/ctru_hash.cuh") };
const CHECK: Header = Header { name: "ctru_check.cuh", text: include_str!("kernels/ctru_check.cuh") };
const HEADERS: &[Header] =
    &[ROWS, RING, GENERATE, ENCRYPT, HASH, CHECK, STATUS, ringforge_e8::E8, ringforge_e8::SAMPLE, ringforge_e8::PACK];

/// Returns the kernel of a stage for one parameter set, for devices with these limits.
///
/// # Errors
/// If `p` is not one of this crate's sets, or if the transform of the stage cannot be planned.
#[allow(unsafe_code)]
pub(crate) fn kernel(stage: Stage, p: &Parameters, limits: &Limits) -> Result<CustomKernel> {
    let kem = kem::kem(p)?;
    let rows = rows(stage, p, limits)?;
    let secret = |bytes| Port::input(bytes).secret();
    let [public_key, ciphertext] = [p.sizes().public_key, p.sizes().ciphertext].map(Port::input);
    let [secret_key, message] = [p.sizes().kem().secret_key, p.sizes().message].map(secret);
    let [coins, key_coins] = [p.sizes().encryption_coins, 2 * p.sizes().polynomial_coins].map(secret);
    let [seed, seeds] = [SEED_BYTES, 2 * SEED_BYTES].map(secret);
    let (status, going_on) = (Port::status(), Port::status().updated());
    let (set, with_rows) = (*p, rows.clone());
    let build = move |limits: &Limits| build(&set, with_rows.as_ref(), limits);
    // each closure takes one item's bytes of every port, in port order
    macro_rules! stage {
        ($name:literal, [$($port:expr),*], $memory:ident => $work:expr) => {{
            let text = (concat!("ctru_", $name), include_str!(concat!("kernels/ctru_", $name, ".cu")), HEADERS);
            let on_cpu = move |items, args: &mut Args<'_>| {
                let $memory = &mut kem.memory();
                args.each(items, $work)
            };
            // SAFETY: A thread, or a block laid out by `rows`, accesses only the bytes of its own items. The ports and
            // the CUDA constants take all sizes from the same parameter set.
            unsafe { CustomKernel::new(text, [$($port),*], build, on_cpu) }
        }};
    }
    let kernel = match stage {
        Stage::Expand => {
            stage!("expand", [seeds, key_coins.written(), status], _memory => |_, (seeds, coins, status)| {
                let [d, _]: &[Seed; 2] = seeds;
                ringforge_e8::xof(d, [coins]);
                set_to(status, PENDING)
            })
        }
        Stage::Generate => stage!(
            "generate", [seeds, key_coins, public_key.written(), secret_key.written(), going_on],
            memory => |_, (seeds, coins, public_key, secret_key, status)| {
                let found = key_pair(kem, coins, seeds, public_key, secret_key, &mut memory.polynomials)?;
                go_on(status, PENDING, found)
            }
        ),
        Stage::Retry => stage!(
            "retry", [Port::random_key(), seeds, public_key.updated(), secret_key.updated(), going_on],
            memory => |item, (random_key, seeds, public_key, secret_key, status)| {
                let (public_key, secret_key, status): (&mut [u8], &mut [u8], &mut u32) = (public_key, secret_key, status);
                let Memory { polynomials, coins, .. } = &mut *memory;
                for attempt in 1..ATTEMPTS {
                    if *status != KeyError::NotInvertible.word() {
                        break;
                    }
                    let block = Zeroizing::new(RandomKey::from_bytes(random_key)?.block(item as u64, attempt));
                    ringforge_e8::xof(&block.as_chunks().0[0], [&mut coins[..]]);
                    *status = key_pair(kem, coins, seeds, public_key, secret_key, polynomials)?;
                }
                Ok(())
            }
        ),
        Stage::Encapsulate => stage!(
            "encapsulate", [public_key, seed, message.written(), coins.written(), seed.written(), status],
            _memory => |_, (public_key, seed, message, coins, shared_key, status)| {
                kem.hash_seed(public_key, seed, message, shared_key, coins);
                set_to(status, PENDING)
            }
        ),
        Stage::Encrypt => stage!(
            "encrypt", [public_key, message, coins, ciphertext.written(), seed.updated(), going_on],
            memory => |_, (public_key, message, coins, ciphertext, shared_key, status)| {
                let found = public_key_status(kem, public_key, &mut memory.polynomials)?;
                go_on(status, PENDING, found)?;
                if found == OK {
                    return kem.pke.encrypt(public_key, message, coins, ciphertext, &mut memory.polynomials);
                }
                clear([ciphertext, shared_key]);
                Ok(())
            }
        ),
        Stage::Decrypt => stage!(
            "decrypt", [secret_key, ciphertext, message.written(), status],
            memory => |_, (secret_key, ciphertext, message, status)| {
                let [pke_key, ..] = kem.pke.parameters.sizes().parts(secret_key);
                let found = pke_key_status(kem, pke_key, &mut memory.polynomials)?;
                // the compare kernel checks the public key within the secret key
                set_to(status, if found == OK { PENDING } else { found })?;
                kem.pke.decrypt(pke_key, ciphertext, message, &mut memory.polynomials)
            }
        ),
        Stage::Decapsulate => stage!(
            "decapsulate", [secret_key, ciphertext, message, seeds.written(), coins.written(), going_on],
            _memory => |_, (secret_key, ciphertext, message, keys, coins, status)| {
                let [_, public_key, z] = kem.pke.parameters.sizes().parts(secret_key);
                kem.hash_message(public_key, &[z, ciphertext], message, keys, coins);
                go_on(status, PENDING, HALF_DONE)
            }
        ),
        Stage::Compare => stage!(
            "compare", [secret_key, ciphertext, message, coins, seeds, seed.written(), going_on],
            memory => |_, (secret_key, ciphertext, message, coins, keys, shared_key, status)| {
                let (shared_key, status): (&mut Seed, &mut u32) = (shared_key, status);
                let Memory { polynomials, ciphertext: again, .. } = &mut *memory;
                let [_, public_key, _] = kem.pke.parameters.sizes().parts(secret_key);
                if *status == HALF_DONE {
                    *status = public_key_status(kem, public_key, polynomials)?;
                }
                *shared_key = Seed::default();
                if *status == OK {
                    kem.pke.encrypt(public_key, message, coins, again, polynomials)?;
                    *shared_key = choose(keys, ciphertext, again);
                }
                Ok(())
            }
        ),
        Stage::CheckPublic => stage!("check_public", [public_key, status], memory => |_, (public_key, status)| {
            let found = public_key_status(kem, public_key, &mut memory.polynomials)?;
            set_to(status, found)
        }),
        Stage::CheckSecret => stage!("check_secret", [secret_key, status], memory => |_, (secret_key, status)| {
            let [pke_key, public_key, _] = kem.pke.parameters.sizes().parts(secret_key);
            let found = match pke_key_status(kem, pke_key, &mut memory.polynomials)? {
                OK => public_key_status(kem, public_key, &mut memory.polynomials)?,
                found => found,
            };
            set_to(status, found)
        }),
    };
    Ok(kernel.with_tables(rows.iter().map(KernelLayout::table)).described(p.name))
}

/// Returns the layout of a stage in which several threads share a polynomial, or `None` for a stage that hashes or
/// checks keys with one thread per item.
fn rows(stage: Stage, p: &Parameters, limits: &Limits) -> Result<Option<KernelLayout>> {
    let wire = wire_rows(p, limits)?;
    // The NTT of public keys has 7 layers. For n = 768, key generation uses an eighth layer: residues modulo
    // polynomials of degree 2 can be inverted by norms, but not those modulo polynomials of degree 6.
    let deep = || Ok::<_, Error>(KernelLayout::of(wire.poly(), limits)?.holding(2));
    Ok(match stage {
        Stage::Expand | Stage::Encapsulate | Stage::Decapsulate | Stage::CheckPublic | Stage::CheckSecret => None,
        Stage::Decrypt => Some(integer_rows(p, limits)?.holding(2)),
        // for n = 768, products modulo leaves of degree 6 cost less than a radix-3 layer forward and back
        Stage::Encrypt | Stage::Compare => Some(wire.holding(2)),
        Stage::Generate => Some(deep()?),
        Stage::Retry => Some(deep()?.extra_shared(2 * 2 * p.sizes().polynomial_coins)),
    })
}

/// Returns the generated CUDA header (`prelude.cuh`) and the launch shape of a stage, for devices with these limits.
fn build(p: &Parameters, rows: Option<&KernelLayout>, limits: &Limits) -> Result<Built> {
    let built = rows.map_or_else(|| Ok(Built::thread_per_item(ITEM_THREADS)), |rows| rows.build(limits))?;
    let sizes = p.sizes();
    Ok(built.constants(
        "Set",
        &[
            ("n", &p.n),
            ("q", &Q),
            ("q2_bits", &p.q2_bits),
            ("eta", &p.eta),
            ("secret_width", &p.key_width()),
            ("public_key", &sizes.public_key),
            ("secret_key", &sizes.kem().secret_key),
            ("ciphertext", &sizes.ciphertext),
            ("message", &sizes.message),
            ("generate_coins", &(2 * sizes.polynomial_coins)),
            ("encrypt_coins", &sizes.encryption_coins),
            ("item_threads", &ITEM_THREADS),
            ("attempts", &ATTEMPTS),
            ("noise", &p.noise),
        ],
    ))
}

/// Writes the key pair that follows from coins and the rejection secret z, or zeros if the polynomial f sampled from
/// the coins has no inverse. Returns the item's status.
fn key_pair(
    kem: &Kem,
    coins: &[u8],
    [_, z]: &[Seed; 2],
    public_key: &mut [u8],
    secret_key: &mut [u8],
    memory: &mut Polynomials,
) -> Result<u32> {
    let coins = coins.split_at(kem.pke.parameters.sizes().polynomial_coins).into();
    if kem.key_pair_from(coins, public_key, secret_key, memory)? {
        let place = secret_key.len() - SEED_BYTES;
        secret_key[place..].copy_from_slice(z);
        return Ok(OK);
    }
    clear([public_key, secret_key]);
    Ok(KeyError::NotInvertible.word())
}

fn clear(parts: [&mut [u8]; 2]) {
    parts.into_iter().for_each(|part| part.fill(0));
}

fn set_to(status: &mut u32, word: u32) -> Result<()> {
    *status = word;
    Ok(())
}

/// Sets a status to `next` if it equals `before`, which the previous kernel writes on success. Otherwise keeps it.
fn go_on(status: &mut u32, before: u32, next: u32) -> Result<()> {
    set_to(status, if *status == before { next } else { *status })
}

fn public_key_status(kem: &Kem, public_key: &[u8], memory: &mut Polynomials) -> Result<u32> {
    let place = kem.pke.bad_value(public_key, memory)?;
    Ok(status(place.map(|coefficient| KeyError::InvalidPublicKey { coefficient })))
}

fn pke_key_status(kem: &Kem, pke_key: &[u8], memory: &mut Polynomials) -> Result<u32> {
    let place = kem.pke.bad_field(pke_key, memory)?;
    Ok(status(place.map(|coefficient| KeyError::InvalidSecretKey { coefficient })))
}
