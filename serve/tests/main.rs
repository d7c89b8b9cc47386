//! Tests of single calls in batches: answers are those of calls on whole batches, under load, failures and shutdown, and
//! under many schedules of the queue's threads.

mod answers;
mod failures;
#[path = "../src/lock.rs"]
mod lock;
mod metrics;
#[path = "../src/page.rs"]
mod page;
#[path = "../src/queue.rs"]
mod queue;
mod queueing;
mod schedules;
mod toy;

/// The primitives of the queue, by shuttle, for [`schedules`].
mod sync {
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}
