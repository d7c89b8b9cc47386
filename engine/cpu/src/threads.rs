//! Thread-level parallelism on the CPU. Rayon is called with `dyn` closures, which have one type for all callers.
//! Otherwise each kind of work would instantiate rayon's generic code again, which makes the compiled crate much
//! larger.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::{env, io, thread};

use rayon::prelude::*;
use rayon::{ThreadBuilder, ThreadPoolBuilder};

/// Largest input of a single task, in bytes. Only larger inputs are split over threads.
pub const TASK_BYTES: usize = 64 << 10;

/// Runs both closures and returns both results. They run in parallel if another thread is free.
pub fn join<A: Send, B: Send>(left: impl FnOnce() -> A + Send, right: impl FnOnce() -> B + Send) -> (A, B) {
    let (mut left, mut right, mut outcomes) = (Some(left), Some(right), (None, None));
    fork(&mut || outcomes.0 = left.take().map(|run| run()), &mut || outcomes.1 = right.take().map(|run| run()));
    outcomes.0.zip(outcomes.1).expect("both were run")
}

fn fork(left: &mut (dyn FnMut() + Send), right: &mut (dyn FnMut() + Send)) {
    start();
    rayon::join(left, right);
}

/// Calls `run` with the index and the words of each row (residue polynomial) of n words, in parallel.
pub fn rows<T: Send>(words: &mut [T], n: usize, run: &(dyn Fn(usize, &mut [T]) + Sync)) {
    start();
    words.par_chunks_exact_mut(n).enumerate().for_each(|(row, words)| run(row, words));
}

/// Returns the number of rayon's threads; the calling thread may be one of them. Starts rayon's pool if necessary.
pub fn count() -> usize {
    start();
    rayon::current_num_threads()
}

/// Stack size of a thread in bytes. It is large because, while a task waits, its thread may run stolen tasks on top of
/// the same stack.
const STACK: usize = 8 << 20;

/// Starts rayon's global pool, unless it is running. Must be called before any other use of rayon: if the system cannot
/// start a thread, rayon panics, also on every later use. This function instead gives the calling thread a pool of one
/// thread, which lasts until the thread ends.
pub fn start() {
    if !STARTED.load(Ordering::Acquire) && rayon::current_thread_index().is_none() {
        start_now();
    }
}

static STARTED: AtomicBool = AtomicBool::new(false);

#[cold]
fn start_now() {
    static STARTING: Mutex<()> = Mutex::new(());
    let _turn = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if STARTED.load(Ordering::Acquire) {
        return;
    }
    if start_all().is_ok() {
        STARTED.store(true, Ordering::Release);
    } else if let Ok(alone) = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        // forgotten, because the calling thread belongs to this pool from now on
        core::mem::forget(alone);
    }
}

/// Starts either all threads of rayon's global pool or none, so that a failed attempt can be repeated. Also succeeds if
/// the pool is already running.
fn start_all() -> io::Result<()> {
    let named = env::var("RAYON_NUM_THREADS").ok().and_then(|count| count.parse().ok()).filter(|&count| count > 0);
    let count = named.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    // if a thread cannot be started, the threads that are already waiting end, because their channels are dropped
    let waiting = (0..count).map(|_| waiting_thread()).collect::<io::Result<Vec<_>>>()?;
    let mut waiting = waiting.into_iter();
    let give = |thread: ThreadBuilder| {
        let place = waiting.next().ok_or(io::ErrorKind::WouldBlock)?;
        place.send(thread).map_err(|_| io::ErrorKind::WouldBlock.into())
    };
    let started = ThreadPoolBuilder::new().num_threads(count).spawn_handler(give).build_global();
    // another caller may have started the pool already, or have failed to start it
    match started.is_ok() || catch_unwind(rayon::current_num_threads).is_ok() {
        true => Ok(()),
        false => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// Starts a thread that waits for one of rayon's workers and runs it. Returns the channel through which the thread
/// receives the worker.
fn waiting_thread() -> io::Result<SyncSender<ThreadBuilder>> {
    let (give, take) = sync_channel::<ThreadBuilder>(1);
    let wait = move || {
        if let Ok(thread) = take.recv() {
            thread.run();
        }
    };
    thread::Builder::new().stack_size(STACK).spawn(wait).map(|_| give)
}
