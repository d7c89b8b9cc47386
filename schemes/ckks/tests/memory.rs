//! Tests of memory: `Ckks::memory` predicts allocations, and freed blocks hold no plaintext.
// The instrumented allocator needs unsafe code.
#![allow(unsafe_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::alloc::System;
use std::sync::{Mutex, PoisonError};

use ringforge::Engine;
use ringforge_ckks::{BootstrapPlan, Bootstrapper, Ckks, Complex64, Parameters, Randomness, Result};

/// The system allocator, instrumented. It counts device memory, which on a CPU is aligned to whole cache lines, and
/// searches freed blocks for plaintext words.
struct Counting;

const LINE: usize = 64;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
/// Plaintext words to search for in freed blocks; 0 for none.
static WORDS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
/// Size in bytes of the smallest block searched. Coefficient vectors are larger, and in small blocks a word may be
/// padding copied from the stack.
const SMALLEST: usize = 1024;
/// Number of freed blocks that held one of the `WORDS`.
static LEFT_BEHIND: AtomicUsize = AtomicUsize::new(0);
/// Serialises the tests, because counting and searching are global.
static TURN: Mutex<()> = Mutex::new(());

// SAFETY: all requests are forwarded to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == LINE {
            let before = IN_USE.fetch_add(layout.size(), SeqCst);
            MOST.fetch_max(before + layout.size(), SeqCst);
        }
        // All memory is zeroed, so that a block searched on free is always initialised.
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.align() == LINE {
            IN_USE.fetch_sub(layout.size(), SeqCst);
        }
        let words = WORDS.each_ref().map(|word| word.load(SeqCst));
        if words != [0; 4] && layout.size() >= SMALLEST && layout.align() >= align_of::<u64>() {
            // SAFETY: the block is still allocated, and its bytes were initialised on allocation.
            let block = unsafe { core::slice::from_raw_parts(block.cast::<u64>(), layout.size() / size_of::<u64>()) };
            let holds = |word: &u64| *word != 0 && words.contains(word);
            LEFT_BEHIND.fetch_add(usize::from(block.iter().any(holds)), SeqCst);
        }
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROTATIONS: [i64; 8] = [1, 2, 3, 4, 5, 6, 7, -1];

/// Makes keys and a batch of ciphertexts, and computes eight hoisted rotations. Then it computes rotations and products
/// at all levels where a product fits, and decrypts. Calls `between` after encryption and after each operation on
/// ciphertexts.
fn life(ckks: &Ckks, batch: usize, between: impl Fn()) -> Result<()> {
    let mut random = Randomness::from_seed([1; 32]);
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let key = ckks.keys().relinearisation_key(&secret, &mut random)?;
    let turn = ckks.keys().galois_keys(&secret, &ROTATIONS, false, &mut random)?;
    ckks.engine().stream()?.synchronize()?;
    ckks.engine().device().trim();
    let top = ckks.parameters().top_level();
    let mut a = {
        let plaintext = ckks.encode(&vec![[Complex64::from(1.0)]; batch], top)?;
        ckks.encrypt(&plaintext, &public, &mut random)?
    };
    between();
    drop(ckks.rotations(&a, &ROTATIONS, &turn)?);
    between();
    for level in (2..=top).rev() {
        let turned = ckks.rotate(&a, [1, 7, -1][level % 3], &turn)?;
        between();
        drop(ckks.multiply(&a, &turned, &key)?);
        between();
        a = ckks.multiply_rescale(&a, &turned, &key)?;
        between();
    }
    ckks.decrypt(&a, &secret).map(drop)
}

/// Largest number of ciphertext batches that [`life`] holds at one time: one batch and its rotations.
const IN_FLIGHT: usize = 1 + ROTATIONS.len();

/// Runs `call`. Returns the number of blocks that were freed while they contained one of `words`; words of 0 are
/// ignored.
fn left_behind<T>(words: [u64; 4], call: impl FnOnce() -> Result<T>) -> Result<usize> {
    LEFT_BEHIND.store(0, SeqCst);
    WORDS.iter().zip(words).for_each(|(watched, word)| watched.store(word, SeqCst));
    let outcome = call().map(drop);
    WORDS.iter().for_each(|watched| watched.store(0, SeqCst));
    outcome.map(|()| LEFT_BEHIND.load(SeqCst))
}

#[test]
fn plaintexts_are_wiped_from_memory() -> Result<()> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for (q, p) in [([50, 40], [50]), ([31, 26], [31]), ([32, 26], [32])] {
        let ckks = Ckks::new(&Engine::cpu(), Parameters::insecure(10, &q, &p)?)?;
        let mut random = Randomness::from_seed([1; 32]);
        let secret = ckks.keys().secret_key(&mut random)?;
        let public = ckks.keys().public_key(&secret, &mut random)?;
        // The first item has the same number in all slots. Its lowest coefficient is that number times the scale, and
        // its other coefficients are 0.
        let number = 0.731_058_578_630_004_9;
        let numbers = [vec![Complex64::from(number); ckks.parameters().slots()], vec![Complex64::from(number)]];
        let top = ckks.parameters().top_level();
        let coefficient = (number * ckks.parameters().scale()).round();
        // the upper half of the number times 2^100
        let fixed = (number * 2f64.powi(36)) as u64;
        let words = [number.to_bits(), coefficient as u64, coefficient.to_bits(), fixed];
        assert_ne!(left_behind(words, || Ok(numbers.clone()))?, 0, "the test detects nothing");
        assert_eq!(left_behind(words, || ckks.encode(&numbers, top))?, 0, "encode");
        let scale = ckks.parameters().scale();
        assert_eq!(left_behind(words, || ckks.encode_exact(&numbers, top, scale))?, 0, "encode exactly");
        assert_eq!(left_behind(words, || ckks.constant(number, top, ckks.parameters().scale()))?, 0, "constant");
        let encrypted = ckks.encrypt(&ckks.encode(&numbers, top)?, &public, &mut random)?;
        let decrypted = ckks.decrypt(&encrypted, &secret)?;
        let words = [0, 1, 2, 3].map(|slot| decrypted[0][slot].re.to_bits());
        // `kept` holds the result, so that its memory is not freed during the search.
        let mut kept = None;
        let left = left_behind(words, || {
            kept = Some(ckks.decrypt(&encrypted, &secret)?);
            Ok(())
        })?;
        assert_eq!((left, kept), (0, Some(decrypted)), "decrypt");
    }
    Ok(())
}

#[test]
fn cpu_memory_matches_the_prediction() -> Result<()> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for (log_n, q, p, batch) in [(12, vec![50; 8], vec![50; 2], 1), (11, vec![50; 6], vec![50; 3], 4)] {
        let ckks = Ckks::new(&Engine::cpu(), Parameters::insecure(log_n, &q, &p)?)?;
        let before = IN_USE.load(SeqCst);
        MOST.store(before, SeqCst);
        let said = ckks.memory(&ROTATIONS, false, IN_FLIGHT, batch)?;
        assert_eq!(MOST.load(SeqCst), before, "something was allocated");
        life(&ckks, batch, || ckks.engine().device().trim())?;
        let most = MOST.load(SeqCst) - before;
        assert!(most <= said.total(), "{most} bytes were used, predicted: {said:?}");
        // The measured memory must also exceed three quarters of the prediction.
        assert!(most > said.total() / 4 * 3, "{most} bytes were used, predicted: {said:?}");
    }
    Ok(())
}

#[test]
fn memory_of_bootstrapping_matches_the_prediction() -> Result<()> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let q = [&[60][..], &[40; 3], &[60; 8], &[57; 4]].concat();
    for batch in [1, 3] {
        let parameters = Parameters::insecure(10, &q, &[61; 3])?.with_scale(2f64.powi(40))?;
        let (ckks, mut random) = (Ckks::new(&Engine::cpu(), parameters)?, Randomness::from_seed([2; 32]));
        let secret = ckks.keys().secret_key(&mut random)?;
        let public = ckks.keys().public_key(&secret, &mut random)?;
        let encoded = ckks.encode(&vec![[Complex64::ONE]; batch], 3)?;
        ckks.engine().device().trim();
        let before = IN_USE.load(SeqCst);
        MOST.store(before, SeqCst);
        let said = Bootstrapper::memory(&ckks, BootstrapPlan::default(), batch)?;
        assert_eq!(MOST.load(SeqCst), before, "something was allocated");
        let bootstrapper = Bootstrapper::new(&ckks, BootstrapPlan::default())?;
        let keys = bootstrapper.keys(&secret, &mut random)?;
        let a = ckks.encrypt(&encoded, &public, &mut random)?;
        let fresh = bootstrapper.run(&a, &keys)?;
        // the pool keeps freed temporaries until then
        ckks.engine().device().trim();
        let held = IN_USE.load(SeqCst) - before - a.buffer().len() - fresh.buffer().len();
        let wanted = said.keys + said.tables;
        assert_eq!(keys.bytes(), said.keys);
        assert!(held <= wanted && held > wanted / 4 * 3, "{held} bytes are held, predicted: {said:?}");
    }
    Ok(())
}

/// Tests how much device memory the second of two equal runs takes, according to the driver. For a batch of 1, the
/// bound is the keys, 1.5 times the ciphertexts, and 200 MB.
#[cfg(feature = "cuda")]
#[test]
fn gpu_memory_is_close_to_the_prediction() -> Result<()> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    use cudarc::driver::{CudaContext, result};
    use ringforge_testkit::Target;

    let Some(device) = Target::Cuda.device() else { return Ok(()) };
    let context = CudaContext::new(0).expect("the engine's own");
    let free = || {
        context.bind_to_thread().expect("a context");
        result::mem_get_info().expect("the driver's count").0
    };
    let ckks = Ckks::new(&Engine::on(device), Parameters::new(16, &[50; 24], &[50; 6])?)?;
    for batch in [1, 8] {
        let said = ckks.memory(&ROTATIONS, false, IN_FLIGHT, batch)?;
        let started = free();
        life(&ckks, batch, || ())?;
        ckks.engine().device().trim();
        let held = || ckks.engine().device().held_bytes().unwrap_or(0);
        let (before, tables) = (free(), held());
        life(&ckks, batch, || ())?;
        // Freed memory stays with the device, so the memory taken afterwards is the peak.
        let taken = before.saturating_sub(free()) + tables;
        let code = started.saturating_sub(before + tables);
        println!("batch {batch}: {taken} bytes of the driver, {} of them the engine's, {tables} tables;", held());
        println!("{code} more for loaded code; predicted: {} in all, {said:?}", said.total());
        let most = match batch {
            1 => said.keys + said.ciphertexts * 3 / 2 + 200_000_000,
            // For a batch of 8: the whole prediction, plus an eighth for rounding up and kernels.
            _ => said.total() / 8 * 9,
        };
        assert!(taken <= most, "{taken} bytes were used, at most {most} allowed; predicted: {said:?}");
    }
    Ok(())
}
