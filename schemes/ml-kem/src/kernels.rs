//! The kernels of all stages of ML-KEM: ports, CUDA source and CPU reference.

use core::fmt::Display;

use ringforge::kernels::{Args, Built, CustomKernel, Header, KernelLayout, Launch, Port};
use ringforge::words::wide;
use ringforge::{Limits, Result};
use ringforge_batch::STATUS;

use crate::item::Scheme;
use crate::params::{N, Parameters, SEED, rows};

/// Threads per block of a hashing kernel; each thread processes one item.
const HASH_THREADS: u32 = 128;
/// Threads per block of the sampling kernel; each thread samples one polynomial.
const SAMPLE_THREADS: usize = 64;
/// Bytes of shared memory per sampled polynomial: 256 coefficients of 16 bits, and one extra 32-bit word. The number of
/// words is then odd, so that the threads of a warp access different banks.
const PITCH: usize = 2 * N + 4;

/// A stage of ML-KEM: what one kernel computes for each item. Rho is the public seed of the matrix; noise stands for
/// the random bytes from which noise polynomials are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Seeds d ‖ z → rho, noise of key pairs.
    Seed,
    /// Rho → matrix, or its transpose.
    Matrix { transposed: bool },
    /// Seeds, rho, matrix, noise → key pairs, without the hash in the secret key.
    Generate,
    /// Public keys, secret keys → secret keys with the hashes of the public keys.
    Finish,
    /// Public keys, messages → shared keys, rho, noise of ciphertexts.
    Encapsulate,
    /// Public keys, messages, matrix, noise → ciphertexts.
    Encrypt,
    /// Secret keys, ciphertexts → messages.
    Decrypt,
    /// Secret keys, ciphertexts, messages → shared keys (agreed and rejected), rho, noise of ciphertexts.
    Decapsulate,
    /// Secret keys, ciphertexts, messages, matrix, noise, shared keys (agreed and rejected) → the selected shared keys.
    /// Re-encrypts the messages and compares the results with the ciphertexts.
    Compare,
    /// Public keys → statuses.
    CheckPublic,
    /// Secret keys → statuses.
    CheckSecret,
}

const HEADERS: &[Header] = &[
    STATUS,
    Header { name: "mlkem_set.cuh", text: include_str!("kernels/mlkem_set.cuh") },
    Header { name: "mlkem_hash.cuh", text: include_str!("kernels/mlkem_hash.cuh") },
    Header { name: "mlkem_ring.cuh", text: include_str!("kernels/mlkem_ring.cuh") },
    Header { name: "mlkem_encrypt.cuh", text: include_str!("kernels/mlkem_encrypt.cuh") },
];

/// Returns the kernel of a stage for one parameter set, on devices with these limits.
#[allow(unsafe_code)]
pub(crate) fn kernel(stage: Stage, p: &Parameters, limits: &Limits) -> Result<CustomKernel> {
    let scheme = Scheme::new(p)?;
    let is_on_rows = matches!(stage, Stage::Generate | Stage::Encrypt | Stage::Decrypt | Stage::Compare);
    let rows = is_on_rows.then(|| rows(limits)).transpose()?;
    let secret = |bytes| Port::input(bytes).secret();
    let sizes = p.sizes();
    let [public_key, ciphertext] = [sizes.public_key, sizes.ciphertext].map(Port::input);
    let [secret_key, noise, key_noise] = [sizes.secret_key, p.noise(), p.key_noise()].map(secret);
    let [rho, matrix] = [SEED, p.matrix()].map(Port::input);
    let [seed, seeds] = [SEED, 2 * SEED].map(secret);
    let status = Port::status();
    let (set, on) = (*p, rows.clone());
    let build = move |limits: &Limits| match &on {
        Some(rows) => Ok(constants(rows.build(limits)?, &set)),
        None => Ok(constants(build_hash(stage, &set), &set)),
    };
    // Makes the kernel of a stage from the name of its CUDA source, its CPU reference (a method of `Scheme`), and its
    // ports. The method takes the item's bytes at the ports, in the order of the list.
    macro_rules! stage {
        ($name:literal, $on_cpu:ident($($more:expr)?), [$($port:expr),*]) => {{
            let text = (concat!("mlkem_", $name), include_str!(concat!("kernels/mlkem_", $name, ".cu")), HEADERS);
            let on_cpu = move |items, args: &mut Args<'_>| {
                args.each(items, |_, item| {
                    wide(
                        #[inline(always)]
                        || scheme.$on_cpu(item $(, $more)?),
                    )
                })
            };
            // SAFETY: each thread, or each block of the layout `rows`, accesses only the bytes of its own items. Ports
            // and prelude take the item sizes from the same parameter set.
            unsafe { CustomKernel::new(text, [$($port),*], build, on_cpu) }
        }};
    }
    let kernel = match stage {
        Stage::Seed => stage!("seed", seed(), [seeds, rho.written(), key_noise.written()]),
        Stage::Matrix { transposed } => stage!("matrix", matrix(transposed), [rho, matrix.written()]),
        Stage::Generate => {
            stage!("generate", generate(), [seeds, rho, matrix, key_noise, public_key.written(), secret_key.written()])
        }
        Stage::Finish => stage!("finish", finish(), [public_key, secret_key.updated()]),
        Stage::Encapsulate => {
            stage!("encapsulate", encapsulate(), [public_key, seed, seed.written(), rho.written(), noise.written()])
        }
        Stage::Encrypt => stage!("encrypt", encrypt(), [public_key, seed, matrix, noise, ciphertext.written()]),
        Stage::Decrypt => stage!("decrypt", decrypt(), [secret_key, ciphertext, seed.written()]),
        Stage::Decapsulate => stage!(
            "decapsulate",
            decapsulate(),
            [secret_key, ciphertext, seed, seeds.written(), rho.written(), noise.written()]
        ),
        Stage::Compare => {
            stage!("compare", compare(), [secret_key, ciphertext, seed, matrix, noise, seeds, seed.written()])
        }
        Stage::CheckPublic => stage!("check_public", check_public(), [public_key, status]),
        Stage::CheckSecret => stage!("check_secret", check_secret(), [secret_key, status]),
    };
    Ok(kernel.with_tables(rows.iter().map(KernelLayout::table)).described(p.name))
}

/// Adds the constants of the parameter set, `struct Set` in the CUDA source.
fn constants(built: Built, p: &Parameters) -> Built {
    let Parameters { k, eta1, du, dv, .. } = p;
    let threads = &HASH_THREADS;
    built.constants("Set", &[("k", k), ("eta1", eta1), ("du", du), ("dv", dv), ("hash_threads", threads)])
}

/// Returns the launch of a hashing kernel or, for [`Stage::Matrix`], the launch and constants of the sampling kernel.
fn build_hash(stage: Stage, p: &Parameters) -> Built {
    let Stage::Matrix { transposed } = stage else { return Built::thread_per_item(HASH_THREADS) };
    let launch = Launch {
        items_per_block: (SAMPLE_THREADS / p.k.pow(2)) as u32,
        shared_bytes: (SAMPLE_THREADS * PITCH) as u32,
        ..Launch::thread_per_item(SAMPLE_THREADS as u32)
    };
    let task: [(_, &dyn Display); 3] = [("transposed", &transposed), ("threads", &SAMPLE_THREADS), ("pitch", &PITCH)];
    Built::new(launch).constants("Task", &task)
}
