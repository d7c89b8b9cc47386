//! Detection of forked processes. A forked process has a copy of its parent's memory, but not the parent's threads.
//! Work that waits for these threads would hang.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use ringforge::{Error, Result};

/// Id of the process that has begun to work; 0 if none has.
static AT_WORK: AtomicU32 = AtomicU32::new(0);

/// Records that this process does work. Returns an error if the process was forked from one that had already begun to
/// work. All operations that may use other threads call this first.
///
/// # Errors
/// [`Error::Unsupported`] in a process that was forked from one that had begun to work.
pub fn may_work() -> Result<()> {
    let this = process::id();
    match AT_WORK.compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed) {
        Err(other) if other != this => {
            let why = "this process was forked after work had begun, and lacks threads: fork first, or start a new one";
            Err(Error::Unsupported { job: "work after a fork".into(), why: why.into() })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_process_may_work_again() {
        assert_eq!(may_work(), Ok(()));
        assert_eq!(may_work(), Ok(()));
        std::thread::spawn(|| assert_eq!(may_work(), Ok(()))).join().unwrap();
    }
}
