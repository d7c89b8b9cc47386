//! Work for a CPU's threads. What rayon is given is of one type for all callers: an instance of it for each kind of work was
//! a fifth of all that is compiled here.

use rayon::prelude::*;

/// Bytes of work worth a thread of its own.
pub const TASK_BYTES: usize = 64 << 10;

/// Runs both, side by side where another thread is free.
pub fn join(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    let (mut left, mut right) = (Some(left), Some(right));
    fork(&mut || once(&mut left), &mut || once(&mut right));
}

fn fork(left: &mut (dyn FnMut() + Send), right: &mut (dyn FnMut() + Send)) {
    rayon::join(left, right);
}

fn once(run: &mut Option<impl FnOnce()>) {
    if let Some(run) = run.take() {
        run();
    }
}

/// Calls `run` with the number and the words of each row of n words, rows side by side.
pub fn rows<T: Send>(words: &mut [T], n: usize, run: &(dyn Fn(usize, &mut [T]) + Sync)) {
    words.par_chunks_exact_mut(n).enumerate().for_each(|(row, words)| run(row, words));
}
