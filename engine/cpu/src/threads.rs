//! Work for a CPU's threads. What rayon is given is of one type for all callers: an instance of it for each kind of work was
//! a fifth of all that is compiled here.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::{env, io, thread};

use rayon::prelude::*;
use rayon::{ThreadBuilder, ThreadPoolBuilder};

/// Bytes of work worth a thread of its own.
pub const TASK_BYTES: usize = 64 << 10;

/// Runs both, side by side where another thread is free.
pub fn join<A: Send, B: Send>(left: impl FnOnce() -> A + Send, right: impl FnOnce() -> B + Send) -> (A, B) {
    let (mut left, mut right, mut outcomes) = (Some(left), Some(right), (None, None));
    fork(&mut || outcomes.0 = left.take().map(|run| run()), &mut || outcomes.1 = right.take().map(|run| run()));
    outcomes.0.zip(outcomes.1).expect("both were run")
}

fn fork(left: &mut (dyn FnMut() + Send), right: &mut (dyn FnMut() + Send)) {
    start();
    rayon::join(left, right);
}

/// Calls `run` with the number and the words of each row of n words, rows side by side.
pub fn rows<T: Send>(words: &mut [T], n: usize, run: &(dyn Fn(usize, &mut [T]) + Sync)) {
    start();
    words.par_chunks_exact_mut(n).enumerate().for_each(|(row, words)| run(row, words));
}

/// Rayon's threads, of which this may be one.
pub fn count() -> usize {
    start();
    rayon::current_num_threads()
}

/// Bytes of a thread's stack: what it takes from another lies upon what it was doing.
const STACK: usize = 8 << 20;

/// Starts rayon's threads, if that was not done before. To be called before anything of rayon's, which panics, once and for all,
/// where the system starts no thread. Then this thread works alone, without another, for as long as it lives.
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
        // the thread belongs to it from now on
        core::mem::forget(alone);
    }
}

/// Starts the threads of rayon's global pool, all of them or none, so that it can be tried again.
fn start_all() -> io::Result<()> {
    let named = env::var("RAYON_NUM_THREADS").ok().and_then(|count| count.parse().ok()).filter(|&count| count > 0);
    let count = named.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    // where one cannot be started, the others end with their channels
    let waiting = (0..count).map(|_| waiting_thread()).collect::<io::Result<Vec<_>>>()?;
    let mut waiting = waiting.into_iter();
    let give = |thread: ThreadBuilder| {
        let place = waiting.next().ok_or(io::ErrorKind::WouldBlock)?;
        place.send(thread).map_err(|_| io::ErrorKind::WouldBlock.into())
    };
    let started = ThreadPoolBuilder::new().num_threads(count).spawn_handler(give).build_global();
    // somebody may have started it before, or have failed to
    match started.is_ok() || catch_unwind(rayon::current_num_threads).is_ok() {
        true => Ok(()),
        false => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// A thread that will be what it is given.
fn waiting_thread() -> io::Result<SyncSender<ThreadBuilder>> {
    let (give, take) = sync_channel::<ThreadBuilder>(1);
    let wait = move || {
        if let Ok(thread) = take.recv() {
            thread.run();
        }
    };
    thread::Builder::new().stack_size(STACK).spawn(wait).map(|_| give)
}
