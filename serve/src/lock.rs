//! [`lock`].

use crate::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. A thread that panicked has left the data whole, because none of the code under these locks panics.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
