//! The kernels of all stages of ML-DSA: ports, CUDA source and CPU reference.

use core::fmt::Display;

use ringforge::kernels::{Args, Built, CustomKernel, Header, KernelLayout, Launch, Port, Sharing};
use ringforge::run::AGAIN;
use ringforge::words::wide;
use ringforge::{Limits, Result};
use ringforge_batch::{OK, STATUS, status};

use crate::error::SignatureError;
use crate::item::Scheme;
use crate::params::{CHALLENGE, HASH, N, Parameters, ROW, SEED, packed, rows};

/// Threads per block of a hashing kernel; each thread processes one item.
const HASH_THREADS: u32 = 128;
/// Threads per block of the kernels that hash once per polynomial; each thread processes one polynomial.
const ROW_THREADS: usize = 64;
/// Threads per block of the kernels that copy signatures; each warp processes one item.
const COPY_THREADS: u32 = 256;
/// Bytes of shared memory of a thread that samples by rejection: the numbers in a block of its stream and one more, in
/// an odd number of words, so that the threads of a warp access different banks.
const MATRIX_PITCH: usize = 4 * 57;
const SMALL_PITCH: usize = 276;
/// The same for a thread that samples a challenge, as `ball_bytes` of `mldsa_hash.cuh`.
const BALL_PITCH: u32 = 204;

/// A stage of ML-DSA: what one kernel computes for each item. With `one_key`, all items have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Seeds → rho, rho', K.
    Seed,
    /// Rho → matrix.
    Matrix,
    /// Rho' → small coefficients of s1 and s2.
    Secrets,
    /// Rho, K, matrix, small coefficients → evaluations of s1, public keys, secret keys without tr.
    Generate,
    /// Public keys, secret keys → secret keys with tr.
    Finish,
    /// Public keys → tr.
    HashKey,
    /// Tr, slots of messages of this many bytes → mu.
    Message { slot: usize, one_key: bool },
    /// Secret keys, randomness, mu → rho''.
    Begin { one_key: bool },
    /// Rho'', numbers of attempts → masks.
    Mask,
    /// Matrix, masks → evaluations of masks, commitments, high bits.
    Commit { one_key: bool },
    /// Mu, high bits → hashes, challenges.
    Challenge,
    /// Evaluations of secret keys, masks, commitments, hashes, challenges → slots of signatures, statuses.
    Respond { one_key: bool },
    /// Secret keys → evaluations.
    ExpandKey,
    /// Public keys → evaluations.
    KeyValues,
    /// Matrix, evaluations of secret keys → evaluations of public keys.
    PublicValues,
    /// Signatures → slots of signatures.
    Open,
    /// Slots of signatures → challenges, hints, statuses.
    Decode,
    /// Matrix, evaluations of public keys, slots of signatures, challenges, hints, statuses → evaluations of z, high
    /// bits, statuses.
    Reconstruct { one_key: bool },
    /// Mu, high bits, slots of signatures, statuses → statuses.
    Compare,
    /// Slots of signatures, statuses of attempts, statuses of verification → signatures, statuses.
    Release,
}

const HEADERS: &[Header] = &[
    STATUS,
    Header { name: "mldsa_set.cuh", text: include_str!("kernels/mldsa_set.cuh") },
    Header { name: "mldsa_hash.cuh", text: include_str!("kernels/mldsa_hash.cuh") },
    Header { name: "mldsa_ring.cuh", text: include_str!("kernels/mldsa_ring.cuh") },
];

impl Stage {
    /// Whether 16 threads work on an item, in the layout of the ring.
    fn is_on_rows(self) -> bool {
        use Stage::{Commit, ExpandKey, Generate, KeyValues, PublicValues, Reconstruct, Respond};
        matches!(
            self,
            Generate | Commit { .. } | Respond { .. } | ExpandKey | KeyValues | PublicValues | Reconstruct { .. }
        )
    }

    /// The launch of a kernel that is not on rows.
    fn launch(self, p: &Parameters) -> Launch {
        let per_polynomial = |polynomials: usize, pitch: usize| Launch {
            items_per_block: (ROW_THREADS / polynomials) as u32,
            shared_bytes: (ROW_THREADS * pitch) as u32,
            ..Launch::thread_per_item(ROW_THREADS as u32)
        };
        let per_item = Launch::thread_per_item(HASH_THREADS);
        match self {
            Self::Matrix => per_polynomial(p.k * p.l, MATRIX_PITCH),
            Self::Secrets => per_polynomial(p.k + p.l, SMALL_PITCH),
            Self::Mask => per_polynomial(p.l, 0),
            Self::Challenge | Self::Decode => Launch { shared_bytes: HASH_THREADS * BALL_PITCH, ..per_item },
            Self::Open | Self::Release => {
                Launch { items_per_block: COPY_THREADS / 32, ..Launch::thread_per_item(COPY_THREADS) }
            }
            _ => per_item,
        }
    }

    fn has_one_key(self) -> bool {
        match self {
            Self::Message { one_key, .. }
            | Self::Begin { one_key }
            | Self::Commit { one_key }
            | Self::Respond { one_key }
            | Self::Reconstruct { one_key } => one_key,
            _ => false,
        }
    }
}

/// Returns the kernel of a stage for one parameter set, on devices with these limits.
#[allow(unsafe_code)]
pub(crate) fn kernel(stage: Stage, p: &Parameters, limits: &Limits) -> Result<CustomKernel> {
    let scheme = Scheme::new(p)?;
    let rows = stage.is_on_rows().then(|| rows(limits)).transpose()?;
    let secret = |bytes| Port::input(bytes).secret();
    let keyed = |port: Port| Port { sharing: if stage.has_one_key() { Sharing::Shared } else { port.sharing }, ..port };
    let (k, l, sizes) = (p.k, p.l, p.sizes());
    let [public_key, signature, slot] = [sizes.public_key, sizes.signature, p.slot()].map(Port::input);
    let [seed, secret_key, small] = [SEED, sizes.secret_key, (k + l) * N].map(secret);
    let [rho, matrix, hash, challenge] = [SEED, k * l * ROW, p.challenge(), CHALLENGE].map(Port::input);
    let [tr, mu, high, hints] = [HASH, HASH, k * packed(p.high_bits()), k * N / 8].map(Port::input);
    let [mask_seed, masks, of_masks] = [HASH, l * packed(p.mask_bits()), l * ROW].map(secret);
    let [commitments, expanded] = [k * ROW, (2 * k + l) * ROW].map(secret);
    let [of_key, of_z, word] = [k * ROW, l * ROW, 4].map(Port::input);
    let status = Port::status();
    let (set, on) = (*p, rows.clone());
    let build = move |limits: &Limits| match &on {
        Some(rows) => Ok(constants(rows.build(limits)?, stage, &set)),
        None => Ok(constants(Built::new(stage.launch(&set)), stage, &set)),
    };
    // Makes the kernel of a stage from the name of its CUDA source, its CPU reference (a method of `Scheme`), and its
    // ports. The method takes the item's bytes at the ports, in the order of the list.
    macro_rules! stage {
        ($name:ident, [$($port:expr),*]) => {{
            let source = include_str!(concat!("kernels/mldsa_", stringify!($name), ".cu"));
            let text = (concat!("mldsa_", stringify!($name)), source, HEADERS);
            let on_cpu = move |items, args: &mut Args<'_>| {
                args.each(items, |_, item| {
                    wide(
                        #[inline(always)]
                        || scheme.$name(item),
                    )
                })
            };
            // SAFETY: each thread, warp, or block of the layout `rows` accesses only the bytes of its own items, and of
            // shared ports. Ports and prelude take the item sizes from the same parameter set.
            unsafe { CustomKernel::new(text, [$($port),*], build, on_cpu) }
        }};
    }
    let kernel = match stage {
        Stage::Seed => stage!(seed, [seed, rho.written(), mask_seed.written(), seed.written()]),
        Stage::Matrix => stage!(matrix, [rho, matrix.written()]),
        Stage::Secrets => stage!(secrets, [mask_seed, small.written()]),
        Stage::Generate => {
            stage!(generate, [rho, seed, matrix, small, of_masks.written(), public_key.written(), secret_key.written()])
        }
        Stage::Finish => stage!(finish, [public_key, secret_key.updated()]),
        Stage::HashKey => stage!(hash_key, [public_key, tr.written()]),
        Stage::Message { slot, .. } => stage!(message, [keyed(tr), Port::input(slot), mu.written()]),
        Stage::Begin { .. } => stage!(begin, [keyed(secret_key), seed, mu, mask_seed.written()]),
        Stage::Mask => stage!(mask, [mask_seed, word, masks.written()]),
        Stage::Commit { .. } => {
            stage!(commit, [keyed(matrix), masks, of_masks.written(), commitments.written(), high.written()])
        }
        Stage::Challenge => stage!(challenge, [mu, high, hash.written(), challenge.written()]),
        Stage::Respond { .. } => {
            stage!(respond, [keyed(expanded), masks, commitments, hash, challenge, slot.written(), status])
        }
        Stage::ExpandKey => stage!(expand_key, [secret_key, expanded.written()]),
        Stage::KeyValues => stage!(key_values, [public_key, of_key.written()]),
        Stage::PublicValues => stage!(public_values, [matrix, expanded, of_key.written()]),
        Stage::Open => stage!(open, [signature, slot.written()]),
        Stage::Decode => stage!(decode, [slot, challenge.written(), hints.written(), status]),
        Stage::Reconstruct { .. } => stage!(
            reconstruct,
            [keyed(matrix), keyed(of_key), slot, challenge, hints, of_z.written(), high.written(), status.updated()]
        ),
        Stage::Compare => stage!(compare, [mu, high, slot, status.updated()]),
        Stage::Release => stage!(release, [slot, word, word, signature.written(), status]),
    };
    Ok(kernel.with_tables(rows.iter().map(KernelLayout::table)).described(p.name))
}

/// Adds the constants of the parameter set and the stage: `struct Set` and `struct Task` in the CUDA source.
fn constants(built: Built, stage: Stage, p: &Parameters) -> Built {
    let Parameters { k, l, eta, tau, omega, .. } = p;
    let (challenge, mask_bits, small_bits, high_bits) = (p.challenge(), p.mask_bits(), p.small_bits(), p.high_bits());
    let set: [(_, &dyn Display); 10] = [
        ("k", k),
        ("l", l),
        ("eta", eta),
        ("tau", tau),
        ("omega", omega),
        ("challenge", &challenge),
        ("mask_bits", &mask_bits),
        ("small_bits", &small_bits),
        ("high_bits", &high_bits),
        ("hash_threads", &HASH_THREADS),
    ];
    let (pitch, slot_words) = match stage {
        Stage::Matrix => (MATRIX_PITCH, 0),
        Stage::Secrets => (SMALL_PITCH, 0),
        Stage::Message { slot, .. } => (0, slot / 8),
        _ => (0, 0),
    };
    let (threads, one_key) = (stage.launch(p).threads, stage.has_one_key());
    let invalid = status(Some(SignatureError::Invalid));
    let task: [(_, &dyn Display); 7] = [
        ("one_key", &one_key),
        ("threads", &threads),
        ("pitch", &pitch),
        ("slot_words", &slot_words),
        ("ok", &OK),
        ("again", &AGAIN),
        ("invalid", &invalid),
    ];
    built.constants("Set", &set).constants("Task", &task)
}
