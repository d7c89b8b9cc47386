//! What is allocated, against what the library said before.
// an allocator that counts
#![allow(unsafe_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::alloc::System;

use ringforge::Engine;
use ringforge_ckks::{Ckks, Complex64, Parameters, Randomness, Result};

/// The system's allocator, which counts memory of devices: on a CPU it lies in whole cache lines.
struct Counting;

const LINE: usize = 64;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == LINE {
            let before = IN_USE.fetch_add(layout.size(), SeqCst);
            MOST.fetch_max(before + layout.size(), SeqCst);
        }
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.align() == LINE {
            IN_USE.fetch_sub(layout.size(), SeqCst);
        }
        // SAFETY: as the caller says.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROTATIONS: [i64; 8] = [1, 2, 3, 4, 5, 6, 7, -1];

/// Eight hoisted rotations, then products, rescaling and rotations at all levels where a product fits; `between` comes after
/// keys are made and after each operation.
fn life(ckks: &Ckks, batch: usize, between: impl Fn()) -> Result<()> {
    let mut random = Randomness::from_seed([1; 32]);
    let secret = ckks.secret_key(&mut random)?;
    let public = ckks.public_key(&secret, &mut random)?;
    let key = ckks.relinearisation_key(&secret, &mut random)?;
    let turn = ckks.galois_keys(&secret, &ROTATIONS, false, &mut random)?;
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

/// Most ciphertexts at one time: one, and its rotations.
const IN_FLIGHT: usize = 1 + ROTATIONS.len();

#[test]
fn a_cpu_takes_what_was_said() -> Result<()> {
    for (log_n, q, p, batch) in [(12, vec![50; 8], vec![50; 2], 1), (11, vec![50; 6], vec![50; 3], 4)] {
        let ckks = Ckks::new(&Engine::cpu(), Parameters::insecure(log_n, &q, &p)?)?;
        let before = IN_USE.load(SeqCst);
        MOST.store(before, SeqCst);
        let said = ckks.memory(&ROTATIONS, false, IN_FLIGHT, batch)?;
        assert_eq!(MOST.load(SeqCst), before, "something was allocated");
        life(&ckks, batch, || ckks.engine().device().trim())?;
        let most = MOST.load(SeqCst) - before;
        assert!(most <= said.total(), "{most} bytes, and {said:?} were said");
        // what was said is not from the air either
        assert!(most > said.total() / 4 * 3, "{most} bytes, and {said:?} were said");
    }
    Ok(())
}

/// At most keys, 1.5 times the ciphertexts, and 200 MB, by the driver's count of free memory, once kernels are loaded.
#[cfg(feature = "cuda")]
#[test]
fn a_gpu_takes_little_more_than_keys_and_ciphertexts() -> Result<()> {
    use cudarc::driver::{CudaContext, result};
    use ringforge::testkit::Target;

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
        // what is freed is kept, so that this is the most that was in use
        let taken = before.saturating_sub(free()) + tables;
        let code = started.saturating_sub(before + tables);
        println!("batch {batch}: {taken} bytes of the driver, {} of them the engine's, {tables} tables;", held());
        println!("{code} more for what was loaded; said were {} in all: {said:?}", said.total());
        let most = match batch {
            1 => said.keys + said.ciphertexts * 3 / 2 + 200_000_000,
            // temporaries of a batch, and an eighth for what the device rounds up, and kernels
            _ => said.total() / 8 * 9,
        };
        assert!(taken <= most, "{taken} bytes of {most}; {said:?}");
    }
    Ok(())
}
