//! Checks that memory that held secrets is zero when it is freed, after success, after an error, and after a panic. The
//! test allocator inspects memory that is freed. The module `stack` inspects the bytes that calls leave on the stack.

#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod stack;

use core::alloc::{GlobalAlloc, Layout};
use core::iter::zip;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::alloc::System;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Role, Source};
use ringforge::run::{LongNtt, LongPlan, Placement};
use ringforge::{
    Device, Engine, Error, Job, Limits, Modulus, Op, Order, Planner, PolyType, Program, Result, Ring, Stream, U256,
};
use ringforge_batch::keys::SecretKey;
use ringforge_batch::keys::pkcs8::{DecodePrivateKey, EncodePrivateKey};
use ringforge_batch::{Batch, Messages, Signatures};
use ringforge_bfv::{Bfv, Randomness};
use ringforge_ml_dsa::MlDsa44;
use ringforge_ml_kem::MlKem768;
use ringforge_msm::{Bases, Check, Curve, ScalarForm};
use ringforge_sm2::{Mode, Signer};
use ringforge_testkit::{Target, naive};
use sha3::{Digest, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

/// A global allocator that searches each freed block for two adjacent words of a secret.
struct Watching;

static ARMED: AtomicBool = AtomicBool::new(false);
/// The secrets to search for: two adjacent words of each. Unused entries are 0.
static SECRETS: [[AtomicU64; 2]; 12] = [const { [const { AtomicU64::new(0) }; 2] }; _];
/// Numbers of freed blocks that held a secret: `LINES` counts device memory, which is aligned to cache lines, and
/// `OTHERS` all other memory.
static LINES: AtomicUsize = AtomicUsize::new(0);
static OTHERS: AtomicUsize = AtomicUsize::new(0);
/// Number of cache-line-aligned blocks that can still be allocated before allocation fails.
static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

const LINE: usize = 64;

// SAFETY: the system's allocator does the work, and blocks are inspected before they are freed.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == LINE && LEFT.fetch_sub(1, SeqCst) <= 0 {
            return core::ptr::null_mut();
        }
        // zeroed, so that all memory that is inspected later is initialised
        // SAFETY: the caller's guarantees are those that `System` requires.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if ARMED.load(SeqCst) {
            let skipped = block.align_offset(8);
            let words = layout.size().saturating_sub(skipped) / 8;
            // SAFETY: the words lie inside the block, are aligned, and have been initialised since `alloc`.
            let words = unsafe { core::slice::from_raw_parts(block.wrapping_add(skipped).cast::<u64>(), words) };
            // compares in place: a local copy of a secret on the stack could later be moved to the heap
            let is = |secret: &[AtomicU64; 2], pair: &[u64]| zip(secret, pair).all(|(a, b)| a.load(Relaxed) == *b);
            if words.windows(2).any(|pair| pair != [0; 2] && SECRETS.iter().any(|secret| is(secret, pair))) {
                let count = if layout.align() == LINE { &LINES } else { &OTHERS };
                count.fetch_add(1, SeqCst);
            }
        }
        // SAFETY: the caller's guarantees are those that `System` requires.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Locked by each test, so that tests run one at a time: all share the allocator.
static TURN: Mutex<()> = Mutex::new(());

const WORD: u64 = 0x5ec2_e7a1_d00d_f00d;

/// Runs `work` and returns the numbers of freed blocks that held the secret [`WORD`]: device memory, and other memory.
fn leaks(work: impl FnOnce()) -> (usize, usize) {
    leaks_of(&[[WORD; 2]], work)
}

/// Like [`leaks`], but for any of these secrets, each of two adjacent words.
fn leaks_of(secrets: &[[u64; 2]], work: impl FnOnce()) -> (usize, usize) {
    assert!(secrets.len() <= SECRETS.len(), "{} secrets", secrets.len());
    LINES.store(0, SeqCst);
    OTHERS.store(0, SeqCst);
    for (i, pair) in SECRETS.iter().enumerate() {
        let secret = secrets.get(i).unwrap_or(&[0; 2]);
        pair.iter().zip(secret).for_each(|(watched, word)| watched.store(*word, SeqCst));
    }
    ARMED.store(true, SeqCst);
    work();
    ARMED.store(false, SeqCst);
    (LINES.load(SeqCst), OTHERS.load(SeqCst))
}

/// Number of bytes per item.
const ITEM: usize = 1 << 10;
/// Number of items per batch, enough for several threads.
const BATCH: usize = 300;

/// The role of a [`Stage`] and how it ends. `Writing` writes the secret; all others read it and end with success, an
/// error or a panic.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ends {
    Writing,
    Well,
    WithAnError,
    WithAPanic,
}

/// A kernel of one of two kinds. A stage of `Ends::Writing` copies the word of an item to many words. Any other stage
/// reads many words and returns the first one plus 1.
#[derive(Debug)]
struct Stage(Ends, [Port; 2]);

impl Stage {
    /// Number of words per item of the port that has many words.
    fn words(&self) -> usize {
        self.1[usize::from(self.0 == Ends::Writing)].bytes / 8
    }
}

const SOURCE: &str = "#include \"word.cuh\"\n#include \"prelude.cuh\"\nusing namespace rf;\n\
    extern \"C\" __global__ void stage(const u64* in, u64* out, u64 first, u64 end) {\n\
        const u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;\n\
        if (item >= end) return;\n\
        if (WRITES) { for (u32 i = 0; i < WORDS; i++) out[WORDS * item + i] = in[item]; }\n\
        else out[FAILS ? item + ((u64)1 << 40) : item] = in[WORDS * item] + 1;\n\
    }\n";

impl Kernel for Stage {
    fn name(&self) -> &'static str {
        "stage"
    }

    fn ports(&self) -> &[Port] {
        &self.1
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let (writes, fails) = (u8::from(self.0 == Ends::Writing), u8::from(self.0 == Ends::WithAnError));
        let prelude = format!("#define WRITES {writes}\n#define FAILS {fails}\n#define WORDS {}\n", self.words());
        let built = Built { prelude, launch: Launch::thread_per_item(64) };
        // SAFETY: each thread reads and writes its own item only. The failing variant writes elsewhere, but only the
        // emulator runs it.
        Ok(unsafe { Source::new(self, SOURCE, &[], built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        // item 7 is not among the items that run last
        match self.0 {
            Ends::WithAnError if items.contains(&7) => {
                return Err(Error::Kernel { kernel: "stage".into(), why: "as it was told".into() });
            }
            Ends::WithAPanic if items.contains(&7) => panic!("as it was told"),
            _ => {}
        }
        args.each(items, |_, (from, to): (&[u64], &mut [u64])| {
            to.fill(if self.0 == Ends::Writing { from[0] } else { from[0] + 1 });
            Ok(())
        })
    }
}

/// Compiles a program from `words` to `sums`. For each port, it expands each word to many words and reduces them to the
/// first one plus 1, which is the input for the next port.
fn program(device: &Device, many: &[Port], ends: Ends) -> Program {
    let p = Planner::default().pipeline("secrets");
    let sums = many.iter().fold(p.input("words"), |word, port| {
        let [many] = p.step(Stage(Ends::Writing, [Port::input(8), *port]), &[word]);
        let [sum] = p.step(Stage(ends, [Port { role: Role::In, ..*port }, Port::output(8)]), &[many]);
        sum
    });
    p.output("sums", sums);
    device.compile(&p.build().expect("a plan")).expect("a program")
}

const SECRET_ITEM: Port = Port::output(ITEM).secret();

fn words() -> &'static [u64] {
    static WORDS: [u64; BATCH] = [WORD; BATCH];
    &WORDS
}

/// Runs a program on host memory, on buffers, timed, and captured. Returns the outcome of each run, `None` for a panic.
fn runs(device: &Device, program: &Program) -> [Option<Result<()>>; 4] {
    let stream = device.stream().expect("a stream");
    let outcome = |run: &mut dyn FnMut() -> Result<()>| {
        let outcome = catch_unwind(AssertUnwindSafe(run)).ok();
        // returns memory that is cached for the next run to the allocator
        device.trim();
        outcome
    };
    let buffers = || [stream.upload(words()).expect("a buffer"), device.buffer(8 * BATCH).expect("a buffer")];
    // leaked, so that the allocator sees only memory of the engine itself
    let forget = core::mem::forget::<[ringforge::Buffer; 2]>;
    let mut out = [0u64; BATCH];
    let host = outcome(&mut || program.on_host(BATCH).input("words", words()).output("sums", &mut out).run());
    let run = |timed: bool| {
        let mut held = buffers();
        let [from, to] = &mut held;
        let outcome = outcome(&mut || {
            let call = program.on(&stream, BATCH).input("words", &*from).output("sums", &mut *to);
            if timed { call.run_timed().map(drop) } else { call.run() }
        });
        forget(held);
        outcome
    };
    let (run, timed) = (run(false), run(true));
    let [from, to] = buffers();
    let args = vec![("words", from.into()), ("sums", to.into())];
    let mut captured = program.capture(&stream, BATCH, args).expect("a captured run");
    let captured_run = outcome(&mut || captured.run());
    core::mem::forget(captured.into_args());
    [host, run, timed, captured_run]
}

fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn the_allocator_detects_leaks_of_secrets() {
    let _turn = turn();
    assert_eq!(leaks(|| drop(vec![WORD; 9])), (0, 1));
    assert_eq!(leaks(|| drop(Device::cpu().stream().and_then(|stream| stream.upload(words())))), (1, 0));
    assert_eq!(leaks(|| drop(vec![WORD + 1; 9])), (0, 0));
}

#[test]
fn temporaries_are_wiped_however_a_run_ends() {
    let _turn = turn();
    let device = Device::cpu();
    for ends in [Ends::Well, Ends::WithAnError, Ends::WithAPanic] {
        let program = program(&device, &[SECRET_ITEM], ends);
        let found = leaks(|| {
            for outcome in runs(&device, &program) {
                let as_told = match ends {
                    Ends::WithAPanic => outcome.is_none(),
                    Ends::WithAnError => matches!(outcome, Some(Err(Error::Kernel { .. }))),
                    _ => outcome == Some(Ok(())),
                };
                assert!(as_told, "{ends:?}: {outcome:?}");
            }
        });
        assert_eq!(found, (0, 0), "{ends:?}");
    }
}

/// Checks that memory shared by several values is wiped if any of them is secret.
#[test]
fn a_secret_is_wiped_under_a_smaller_value() {
    let _turn = turn();
    let device = Device::cpu();
    let open = Port::output(64);
    for (first, wiped) in [(SECRET_ITEM, true), (Port::output(ITEM), false)] {
        let program = program(&device, &[first, open], Ends::Well);
        // the second value reuses the memory of the first and overwrites only a part of it
        assert_eq!(program.plan().temporary_bytes(1), ITEM + 8, "{}", program.plan());
        let (found, _) =
            leaks(|| runs(&device, &program).into_iter().for_each(|outcome| assert_eq!(outcome, Some(Ok(())))));
        assert_eq!(found == 0, wiped, "{found} blocks");
    }
}

#[test]
fn temporaries_are_wiped_where_a_source_fails() {
    let _turn = turn();
    let Some(device) = Target::Emulator.device() else { return };
    for ends in [Ends::Well, Ends::WithAnError] {
        let program = program(&device, &[SECRET_ITEM], ends);
        // Only device memory counts: other memory includes copies that the emulator makes for its runner processes.
        let (found, _) = leaks(|| {
            for outcome in runs(&device, &program) {
                assert_eq!(outcome.expect("no panic").is_ok(), ends == Ends::Well);
            }
        });
        assert_eq!(found, 0, "{ends:?}");
    }
}

#[test]
fn draws_are_wiped_however_their_run_ends() {
    let _turn = turn();
    let stream = Device::cpu().stream().expect("a stream");
    let fails = || Error::Kernel { kernel: "run".into(), why: "as it was told".into() };
    for ends in [Ends::Well, Ends::WithAnError, Ends::WithAPanic] {
        let found = leaks(|| {
            let _ = catch_unwind(AssertUnwindSafe(|| {
                stream.with_random_key(|random_key| {
                    let read = stream.download::<u64>(random_key)?.leak();
                    SECRETS[0].iter().zip(read).for_each(|(word, read)| word.store(*read, SeqCst));
                    match ends {
                        Ends::WithAPanic => panic!("as it was told"),
                        Ends::WithAnError => Err(fails()),
                        _ => Ok(()),
                    }
                })
            }));
        });
        assert_eq!(found, (0, 0), "{ends:?}");
    }
}

#[test]
fn page_locked_memory_is_wiped() {
    let _turn = turn();
    let found = leaks(|| {
        let mut memory = Device::cpu().pinned(ITEM).expect("memory");
        memory.elements_mut::<u64>().expect("words").fill(WORD);
    });
    assert_eq!(found, (0, 0));
}

/// Checks that jobs that need temporary memory on a CPU leave no secrets in freed memory, for residues of every storage
/// type. The residues of the output, the inputs or both are all equal to `SEVEN`.
#[test]
fn operations_on_limbs_leave_nothing() -> Result<()> {
    let _turn = turn();
    let engine = Engine::cpu();
    let n = 1 << 12;
    let mut rings = Vec::new();
    for bits in [14, 16, 30, 31, 32, 50, 60, 62, 64, 255] {
        let modulus = match bits {
            14 => vec![Modulus::new(12_289u32)?],
            255 => vec![Modulus::new(BLS12_381)?],
            _ => Modulus::ntt_primes(2 * n, bits, 1)?,
        };
        let n = if bits < 17 { 64 } else { n as usize };
        rings.extend([
            PolyType::from(Ring::rns(n, &modulus)?),
            PolyType::from(Ring::rns(n, &modulus)?).accepting_any_word(),
        ]);
    }
    // rings with a product via a larger NTT, and rings where the reduction modulo f takes several rounds
    rings.extend(["1000003:x^64+1".parse()?, "65521:x^61-x^60+x^3-1".parse()?, "4294967291:x^61-x^60+1".parse()?]);
    for ring in rings {
        let whole = ring.ring().quotient().degree();
        let all = |value: u64| naive::to_stored(&ring, &vec![U256::from(value); whole]);
        let first = |value: u64| {
            let values = (0..whole).map(|i| U256::from(if i == 0 { value } else { 0 }));
            naive::to_stored(&ring, &values.collect::<Vec<_>>())
        };
        let (sevens, seven, one) = (all(SEVEN), first(SEVEN), first(1));
        let secrets = neighbours(&ring, &sevens);
        let has_ntt = ring.bytes() > 64 * 8;
        for (op, order) in [
            (Op::Forward, Order::DigitReversed),
            (Op::Forward, Order::Natural),
            (Op::Inverse, Order::DigitReversed),
            (Op::Inverse, Order::Natural),
            (Op::Mul, Order::DigitReversed),
        ] {
            if op != Op::Mul && !has_ntt {
                continue;
            }
            let program = engine.program(&Job::new(&ring, op).order(order))?;
            let inputs: &[&[u8]] = match op {
                Op::Forward => &[&seven],
                Op::Inverse => &[&sevens],
                _ => &[&sevens, &one],
            };
            let mut out = vec![0u8; ring.bytes()];
            let mut outcome = Ok(());
            let (_, others) = leaks_of(&secrets, || {
                let mut call = program.on_host(1);
                let mut left = inputs.iter();
                let mut place = Some(&mut out);
                for arg in program.plan().args() {
                    call = match arg.role {
                        Role::In => call.input(&arg.name, left.next().expect("an input")),
                        _ => call.output(&arg.name, place.take().expect("one output")),
                    };
                }
                outcome = call.run();
            });
            outcome?;
            assert_eq!(others, 0, "{op:?} in {order:?} order of {ring}");
            assert!(op == Op::Inverse || out == sevens, "{op:?} in {order:?} order of {ring}");
        }
    }
    Ok(())
}

/// Checks that transforms distributed over devices leave no secrets in freed memory, and that uploads and downloads
/// leave none.
#[test]
fn long_transforms_leave_nothing() -> Result<()> {
    let _turn = turn();
    let engine = Engine::group(&[Device::cpu(), Device::cpu()])?;
    for placement in [Placement::Native, Placement::Blocks] {
        long_transforms_of::<u64>(&engine, &"18446744069414584321:x^4096-1".parse()?, placement)?;
        long_transforms_of::<u32>(&engine, &"998244353:x^4096-1".parse()?, placement)?;
    }
    Ok(())
}

fn long_transforms_of<T: Pod + PartialEq + Send + Sync>(
    engine: &Engine,
    ring: &PolyType,
    placement: Placement,
) -> Result<()> {
    let sevens = naive::to_stored(ring, &vec![U256::from(SEVEN); ring.degree()]);
    let words: &[T] = bytemuck::cast_slice(&sevens);
    let plan = LongPlan::new(engine.planner(), ring, 2)?.placed(placement, placement);
    let ntt = LongNtt::of(engine, &plan)?;
    let run = || -> Result<Vec<T>> {
        let (mut vector, mut values) = (ntt.upload(words)?, ntt.upload_evaluations(words)?);
        ntt.forward(&mut vector)?;
        ntt.inverse(&mut values)?;
        ntt.inverse(&mut vector)?;
        ntt.forward(&mut values)?;
        // leaked, because the returned memory belongs to the caller and is not the engine's to wipe
        assert!(ntt.download::<T>(&values)?.leak() == words, "{ring} {placement:?}");
        ntt.download(&vector)
    };
    let mut out = Ok(Vec::new());
    let found = leaks_of(&neighbours(ring, &sevens), || out = run());
    assert!(out? == words, "{ring} {placement:?}");
    assert_eq!(found, (0, 0), "{ring} {placement:?}");
    Ok(())
}

/// The modulus of the scalar field of BLS12-381.
const BLS12_381: U256 = U256::from_be_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001");

const SEVEN: u64 = 7 << 10 | 7;

/// Returns the 64-bit words that a limb can contain if all its residues equal the first of `stored`, each as a pair of
/// adjacent words. These are the stored words, and the residue in 64-bit and 32-bit words, plus each multiple of the
/// modulus that lazy arithmetic may add.
fn neighbours(ring: &PolyType, stored: &[u8]) -> Vec<[u64; 2]> {
    let q = &ring.basis()[0];
    let as_stored: [u64; 2] = bytemuck::pod_read_unaligned(&stored[..16]);
    let Some(q) = q.value_u64() else { return vec![as_stored] };
    let word = match ring.width().bytes() {
        2 => as_stored[0] & 0xffff,
        4 => as_stored[0] & 0xffff_ffff,
        _ => as_stored[0],
    };
    let relaxed = (0..4).filter_map(|k| q.checked_mul(k)?.checked_add(word));
    let narrow =
        relaxed.clone().filter_map(|word| u32::try_from(word).ok()).map(|word| u64::from(word) << 32 | u64::from(word));
    relaxed.chain(narrow).chain([as_stored[0]]).map(|word| [word; 2]).collect()
}

#[test]
fn private_keys_are_wiped_when_out_of_memory() {
    let _turn = turn();
    let device = Device::cpu();
    let signer = Signer::new(&Engine::on(device.clone()), Mode::Scan).expect("a signer");
    let stream: Stream = device.stream().expect("a stream");
    let keys: &[u8] = bytemuck::cast_slice(words());
    for blocks in 0..4 {
        let found = leaks(|| {
            LEFT.store(blocks, SeqCst);
            let prepared = signer.prepare(&stream, keys);
            LEFT.store(i64::MAX, SeqCst);
            let enough = blocks > 1;
            assert_eq!(prepared.is_ok(), enough, "{blocks} blocks: {prepared:?}");
        });
        assert_eq!(found, (0, 0), "{blocks} blocks");
    }
}

/// The scalars of a multi-scalar multiplication, and the digits and sums that are computed from them.
#[test]
fn scalars_are_wiped() {
    let _turn = turn();
    let curve = Curve::bn254();
    let points = curve.point(&[1], &[2]).repeat(3);
    let bases = Bases::upload(&Engine::cpu(), &curve, &points, Check::OnCurve).expect("bases");
    let scalars: Vec<u64> = [WORD, WORD, 0, 0].repeat(3);
    let found = leaks(|| {
        let sum = bases.msm(bytemuck::cast_slice(&scalars), ScalarForm::Plain);
        assert!(sum.is_ok_and(|sum| sum.len() == 64));
    });
    assert_eq!(found, (0, 0));
}

/// The seeds from which ML-KEM's noise and ML-DSA's masks are hashed on a CPU.
#[test]
fn seeds_of_noise_and_masks_are_wiped() {
    let _turn = turn();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let pairs = |secret: &[u8]| -> Vec<[u64; 2]> {
        secret.chunks_exact(16).map(|pair| [word(&pair[..8]), word(&pair[8..])]).collect()
    };
    let seeds: Vec<u8> = (0..64).map(|i| 3 * i + 1).collect();

    let kem = Batch::<MlKem768>::new(&Engine::cpu()).expect("a KEM");
    let (mut public, mut secret) = (vec![0; kem.sizes().public_key], vec![0; kem.sizes().secret_key]);
    let noise = Sha3_512::digest([&seeds[..32], &[3]].concat());
    let found = leaks_of(&pairs(&noise[32..]), || {
        kem.generate_from(&seeds, &mut public, &mut secret).expect("a call").into_result().expect("keys");
    });
    assert_eq!(found, (0, 0), "ML-KEM");

    let hash = |parts: &[&[u8]]| {
        let (mut hash, mut out) = (Shake256::default(), [0; 64]);
        parts.iter().for_each(|part| hash.update(part));
        hash.finalize_xof().read(&mut out);
        out
    };
    let dsa = Signatures::<MlDsa44>::new(&Engine::cpu()).expect("a scheme");
    let (mut public, mut secret) = (vec![0; dsa.sizes().public_key], vec![0; dsa.sizes().secret_key]);
    dsa.generate_from(&seeds[..32], &mut public, &mut secret).expect("a call").into_result().expect("keys");
    // rho'' = H(K, randomness, mu), and mu = H(tr, an empty context, message)
    let mu = hash(&[&secret[64..128], &[0, 0], b"message"]);
    let masks = hash(&[&secret[32..64], &seeds[32..], &mu]);
    let mut signature = vec![0; dsa.sizes().signature];
    let found = leaks_of(&pairs(&masks), || {
        let signed = dsa.sign_from(&seeds[32..], &secret, &Messages::new(&[b"message"]), &mut signature);
        signed.expect("a call").into_result().expect("a signature");
    });
    assert_eq!(found, (0, 0), "ML-DSA");
}

/// Keys in PKCS#8: the key, its encoding, and what is read from that. All bytes of the seed are equal, so two words of it
/// are found at any offset.
#[test]
fn keys_in_pkcs8_are_wiped() {
    let _turn = turn();
    let seed = [0xa7; 32];
    let found = leaks_of(&[[u64::from_le_bytes([0xa7; 8]); 2]], || {
        let key = SecretKey::<MlDsa44>::new(Some(&seed), None).expect("a seed");
        let encoded = key.to_pkcs8_der().expect("an encoding");
        let read = SecretKey::<MlDsa44>::from_pkcs8_der(encoded.as_bytes()).expect("a key");
        assert_eq!(read.seed(), Some(&seed[..]));
    });
    assert_eq!(found, (0, 0));
}

/// Encrypted integers, equal in all slots: as they are encoded, encrypted, and decrypted.
#[test]
fn integers_of_bfv_are_wiped() -> Result<(), ringforge_bfv::Error> {
    let _turn = turn();
    let t = ringforge_bfv::Parameters::plain_modulus(10, 60)?;
    let parameters = ringforge_bfv::Parameters::insecure(10, t, &[60, 60, 60], &[61])?;
    let (bfv, mut random) = (Bfv::new(&Engine::cpu(), parameters)?, Randomness::from_seed([1; 32]));
    let secret = bfv.keys().secret_key(&mut random)?;
    let public = bfv.keys().public_key(&secret, &mut random)?;
    let (number, mut kept) = (WORD % (t / 2), None);
    let numbers = [vec![number as i64; 1024]];
    let found = leaks_of(&[[number; 2]], || {
        let mut run = || {
            let a = bfv.encrypt(&bfv.encode_signed(&numbers)?, &public, &mut random)?;
            let product = bfv.multiply_plain(&a, &bfv.encode(&[[1u64; 1024]])?)?;
            let sum = bfv.add_plain(&product, &bfv.encode(&[[0u64]])?)?;
            Ok::<_, ringforge_bfv::Error>((bfv.decrypt(&sum, &secret)?, bfv.decrypt_signed(&sum, &secret)?))
        };
        // the result is not freed before the search ends
        kept = Some(run());
        bfv.engine().device().trim();
    });
    assert_eq!(found, (0, 0));
    assert_eq!(kept, Some(Ok((vec![vec![number; 1024]], numbers.to_vec()))));
    Ok(())
}
