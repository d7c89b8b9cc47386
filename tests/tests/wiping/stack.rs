//! Checks that the bytes that a call leaves on the stack, below its caller's frame, do not depend on secrets. Runs with
//! different secrets must leave the same bytes.

use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

use kem::{Decapsulate, Decapsulator, Encapsulate, Generate};
use rand::SeedableRng;
use rand::rngs::StdRng;
use ringforge::kernels::KernelLayout;
use ringforge::words::{Transform, Word};
use ringforge::{Limits, PolyType};
use ringforge_ctru::{Ctru768, DecapsulationKey};
use ringforge_ctru_prime::{CtruPrime761, decapsulate, encapsulate, generate};
use ringforge_sm2::PrivateKey;
use ringforge_testkit::Random;

/// Number of bytes below a frame that are inspected.
const DEEP: usize = 128 << 10;

#[inline(never)]
fn paint() {
    let mut area = [0xa5u8; DEEP + 0x1000];
    black_box(&mut area);
}

/// Returns an address just below the caller's frame.
#[inline(never)]
fn below() -> u64 {
    let mark = 0u8;
    black_box(&raw const mark) as u64
}

/// Returns the words on the stack that depend on the seed. For each seed, `fill` derives the subject from it, and
/// `work` runs on the subject and returns the address [`below`] its frame. The returned words are those of the last
/// run, which has seed 2.
fn dependent<T: Send>(subject: T, fill: impl Fn(&mut T, u64), work: impl Fn(&mut T) -> u64 + Sync) -> Vec<u64> {
    // The first run is skipped, because it behaves differently from all others. The order of the seeds distinguishes
    // words that depend on the seed from words that never repeat or that alternate, such as addresses.
    const SEEDS: [u64; 9] = [1, 1, 2, 2, 1, 2, 1, 1, 2];
    let (subject, frame) = (Mutex::new(subject), AtomicU64::new(1));
    let stacks = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            for _ in SEEDS {
                // calls no function while the other thread inspects the stack
                while frame.load(SeqCst) != 0 {
                    spin_loop();
                }
                let mut subject = subject.lock().expect("a subject");
                paint();
                let below = work(&mut subject);
                drop(subject);
                frame.store(below, SeqCst);
            }
            // keeps the stack until the other thread has inspected it for the last time
            while frame.load(SeqCst) != 0 {
                spin_loop();
            }
        });
        let memory = File::open("/proc/self/mem").expect("this process's memory");
        let stacks = SEEDS.map(|seed| {
            fill(&mut subject.lock().expect("a subject"), seed);
            frame.store(0, SeqCst);
            let mut stack = vec![0u64; DEEP / 8];
            while frame.load(SeqCst) == 0 {
                assert!(!worker.is_finished(), "the work panicked");
                std::thread::yield_now();
            }
            let from = (frame.load(SeqCst) & !7) - DEEP as u64;
            memory.read_exact_at(bytemuck::cast_slice_mut(&mut stack), from).expect("a stack");
            stack
        });
        frame.store(0, SeqCst);
        stacks
    });
    let runs = |i: usize| SEEDS.iter().zip(&stacks).skip(1).map(move |(seed, stack)| (seed, stack[i]));
    let depends = |i: &usize| runs(*i).all(|(seed, x)| runs(*i).all(|(other, y)| (seed == other) == (x == y)));
    (0..DEEP / 8).filter(depends).map(|i| stacks[SEEDS.len() - 1][i]).collect()
}

#[inline(never)]
fn leaves(secret: &[u64; 64], out: &mut u64) {
    let mut copy = *secret;
    black_box(&mut copy);
    *out = copy.iter().fold(0, |sum, word| sum ^ word);
}

#[test]
fn leaks_are_detected() {
    let fill = |(secret, _): &mut ([u64; 64], u64), seed| {
        let mut random = Random::new(seed);
        secret.iter_mut().for_each(|word| *word = random.bits());
    };
    let left = |work: fn(&mut ([u64; 64], u64)) -> u64| dependent(([0; 64], 0), fill, work);
    let found = left(|(secret, out)| {
        leaves(secret, out);
        below()
    });
    assert!(found.len() > 60, "{} of 64 words", found.len());
    assert_eq!(left(|_| below()), []);
}

/// Runs every operation of [`Transform`] on residue polynomials of these rings. Returns one line for each operation
/// that leaves words on the stack that depend on the residues.
fn left_by_transforms<W: Word + Send>(rings: &[&str], word: fn(&mut Random) -> W) -> Vec<String> {
    let mut found = Vec::new();
    for ring in rings {
        let ring: PolyType = ring.parse().expect("a ring");
        let rows = KernelLayout::of(&ring, &Limits::cpu()).expect("rows");
        let layers = rows.factorization().depth();
        for rows in [layers, layers.saturating_sub(2)].into_iter().filter_map(|layers| rows.clone().depth(layers).ok())
        {
            let transform = Transform::<W>::of(&rows, 0).expect("a transform");
            for step in ["forward", "inverse", "multiply", "multiply_matrix", "invert"] {
                let row = || vec![word(&mut Random::new(0)); ring.degree()];
                let fill = |(a, b): &mut (Vec<W>, Vec<W>), seed| {
                    let mut random = Random::new(seed);
                    a.iter_mut().chain(b).for_each(|x| *x = word(&mut random));
                };
                let work = |(a, b): &mut (Vec<W>, Vec<W>)| {
                    match step {
                        "forward" => transform.forward(a).expect("a transform"),
                        "inverse" => transform.inverse(a).expect("a transform"),
                        "multiply" => transform.multiply(a, b).expect("a product"),
                        "multiply_matrix" => transform.multiply_matrix(&*b, &*b, a).expect("a product"),
                        _ => drop(transform.invert(a)),
                    }
                    below()
                };
                let count = dependent((row(), row()), fill, work).len();
                if count > 0 {
                    found.push(format!("{count} words, {ring}, {}, {step}", rows.factorization()));
                }
            }
        }
    }
    found
}

#[test]
fn transforms_leave_nothing_on_the_stack() {
    let words4 =
        ["3457:x^768-x^384+1", "40961:x^1024+1", "998244353:x^512+1", "998244353:x^640-1", "998244353:x^16384+1"];
    let words8 = [
        "18446744069414584321:x^1536-1",
        "18446744069414584321:x^8192+1",
        "4611686018326724609:x^640-1",
        "4611686018326724609:x^1024+1",
        "4611686018326724609:x^8192+1",
    ];
    let words32 = [4, 64, 512, 2048]
        .map(|n| format!("52435875175126190479447740508185965837690552500527637822603658699938581184513:x^{n}-1"));
    let found = [
        left_by_transforms::<u32>(&words4, |random| random.below(3457) as u32),
        left_by_transforms::<u64>(&words8, |random| random.bits() >> 3),
        left_by_transforms::<[u64; 4]>(&words32.each_ref().map(|ring| &**ring), |random| {
            [random.bits(), random.bits(), random.bits(), random.bits() >> 3]
        }),
    ];
    assert!(found.iter().all(Vec::is_empty), "{}", found.concat().join("\n"));
}

#[test]
fn signing_leaves_nothing_on_the_stack() {
    let random = |bytes: &mut [u8; 32], seed| {
        let mut random = Random::new(seed);
        bytes.iter_mut().for_each(|byte| *byte = random.below(200) as u8);
    };
    let key = |seed| {
        let mut bytes = [0; 32];
        random(&mut bytes, seed);
        PrivateKey::from_bytes(&bytes).expect("a key in range")
    };
    let fill = |(secret, _): &mut (PrivateKey, Vec<u8>), seed| *secret = key(seed);
    let left = dependent((key(1), vec![0; 64]), fill, |(secret, out)| {
        out.copy_from_slice(&secret.sign_digest(&[7; 32]).to_bytes());
        below()
    });
    assert_eq!(left, [], "signing");
    let fill = |(bytes, _): &mut ([u8; 32], PrivateKey), seed| random(bytes, seed);
    let mut left = dependent(([0; 32], key(1)), fill, |(bytes, secret)| {
        *secret = PrivateKey::from_bytes(bytes).expect("a key in range");
        below()
    });
    // the public key is allowed to stay on the stack
    let public = *key(2).public_key();
    // SAFETY: the type of a public key consists of two coordinates of four 64-bit limbs each.
    let public: [u64; 8] = unsafe { core::mem::transmute(public) };
    left.retain(|word| !public.contains(word));
    assert_eq!(left, [], "a key of bytes");
}

#[test]
fn key_encapsulation_leaves_nothing_on_the_stack() {
    let rng = StdRng::seed_from_u64;
    let new = |seed| {
        let key = DecapsulationKey::<Ctru768>::generate_from_rng(&mut rng(seed));
        let (ciphertext, shared_key) = key.encapsulation_key().encapsulate_with_rng(&mut rng(!seed));
        (key, ciphertext, shared_key)
    };
    let left = dependent(
        new(1),
        |all, seed| *all = new(seed),
        |all| {
            all.2 = all.0.decapsulate(&all.1);
            below()
        },
    );
    assert_eq!(left, [], "decapsulation of CTRU");
    let new = |seed| {
        let (public_key, secret_key) = generate::<CtruPrime761>(&mut rng(seed)).expect("a key");
        let (ciphertext, shared_key) = encapsulate::<CtruPrime761>(&public_key, &mut rng(!seed)).expect("a key");
        (secret_key, ciphertext, shared_key)
    };
    let fill = |all: &mut (_, _, _), seed| {
        let (secret_key, ciphertext, _) = new(seed);
        let (a, b): (&mut zeroize::Zeroizing<Vec<u8>>, &mut Vec<u8>) = (&mut all.0, &mut all.1);
        a.copy_from_slice(&secret_key);
        b.copy_from_slice(&ciphertext);
    };
    let left = dependent(new(1), fill, |all| {
        all.2 = decapsulate::<CtruPrime761>(&all.0, &all.1).expect("whole");
        below()
    });
    assert_eq!(left, [], "decapsulation of CTRU-Prime");
}
