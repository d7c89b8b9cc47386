//! Runs tasks that block, each on a thread of its own.

use ringforge_math::error::{Error, Result};

/// Runs tasks that wait for other devices or for one another, each on its own thread, and returns their results in
/// order. The last task runs on the calling thread, unless that is a rayon thread.
///
/// # Errors
/// [`Error::Unsupported`] if the system cannot start a thread. All threads that were started have then ended.
pub fn each_on_its_own<T: Send>(mut tasks: Vec<impl FnOnce() -> T + Send>) -> Result<Vec<T>> {
    let is_of_rayon = rayon::current_thread_index().is_some();
    let here = if is_of_rayon { None } else { tasks.pop() };
    std::thread::scope(|scope| {
        let start = |task| std::thread::Builder::new().spawn_scoped(scope, task);
        let started: Vec<_> = tasks.into_iter().map(start).collect();
        let here = here.map(|task| Ok(task()));
        if is_of_rayon {
            // the tasks may wait for work of rayon, so this rayon thread executes such work in the meantime
            while started.iter().flatten().any(|thread| !thread.is_finished()) {
                if rayon::yield_now() != Some(rayon::Yield::Executed) {
                    std::thread::sleep(core::time::Duration::from_micros(50));
                }
            }
        }
        let ended = started.into_iter().map(|thread| match thread {
            Ok(thread) => Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
            Err(error) => Err(Error::Unsupported { job: "a thread for each device".into(), why: error.to_string() }),
        });
        ended.chain(here).collect::<Vec<_>>().into_iter().collect()
    })
}
