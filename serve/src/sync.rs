//! The synchronisation primitives of the queue. The tests replace them by those of shuttle, which runs many schedules.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
