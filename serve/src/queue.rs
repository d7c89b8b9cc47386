//! [`Queue`]: requests that wait for a batch.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::lock::lock;
use crate::page::{Answers, Job, Page, Place, Secret};
use crate::sync::{Arc, AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, PoisonError};

/// Requests that wait for a batch, in lanes with round-robin service: a batch takes the same number of pages from each lane
/// that has enough. (McKenney, Stochastic fairness queueing, INFOCOM 1990: callers are hashed to lanes.)
///
/// Any number of threads push and take. One taker at a time gathers a batch.
pub(crate) struct Queue<A: Answers> {
    lanes: Box<[Padded<A>]>,
    limits: Limits,
    /// The slots of a request's parts: their bytes, and whether they are secret.
    slots: Vec<(usize, bool)>,
    /// The number of pages in all lanes. It grows and shrinks within the lock of a lane.
    waiting: AtomicUsize,
    closed: AtomicBool,
    /// The lane that the next batch begins with. Its lock is held while a batch is gathered.
    gatherer: Mutex<usize>,
    /// Only the thread that gathers waits for this.
    changed: Condvar,
    gate: Mutex<()>,
}

/// The sizes of a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) lanes: usize,
    /// Requests of a page.
    pub(crate) page: usize,
    /// Pages of a full batch.
    pub(crate) batch: usize,
    /// Pages that may wait. A lane with less than its share of them may hold that even if others have filled the room.
    pub(crate) room: usize,
}

/// Why a request cannot be queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPlace {
    Full,
    Closed,
}

/// A lane on cache lines of its own.
#[repr(align(128))]
struct Padded<A: Answers>(Mutex<Lane<A>>);

struct Lane<A: Answers> {
    pages: VecDeque<Arc<Page<A>>>,
    /// Requests of the last page.
    in_last: usize,
    /// All pages of this lane, oldest first, including those that run. A page is reused when nothing refers to it, because
    /// fresh memory costs more than the requests it holds.
    all: VecDeque<Arc<Page<A>>>,
}

impl<A: Answers> Queue<A> {
    /// A queue for requests whose parts have these slots: their bytes, and whether they are secret.
    pub(crate) fn new(limits: Limits, slots: Vec<(usize, bool)>) -> Self {
        let lane = || Lane { pages: VecDeque::new(), in_last: 0, all: VecDeque::new() };
        Self {
            lanes: (0..limits.lanes).map(|_| Padded(Mutex::new(lane()))).collect(),
            limits,
            slots,
            waiting: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            gatherer: Mutex::new(0),
            changed: Condvar::new(),
            gate: Mutex::new(()),
        }
    }

    /// Appends a request to a lane, by its number modulo the number of lanes. `put` writes its parts.
    pub(crate) fn push(&self, lane: usize, put: impl FnOnce(&mut [Secret])) -> Result<Place<A>, NoPlace> {
        let Limits { page, batch, room, lanes } = self.limits;
        let mut lane = lock(&self.lanes[lane % self.lanes.len()].0);
        let Lane { pages, in_last, all } = &mut *lane;
        if self.closed.load(Ordering::SeqCst) {
            return Err(NoPlace::Closed);
        }
        let mut before = None;
        let last = match pages.back() {
            Some(last) if *in_last < page => last,
            _ => {
                if pages.len() >= room.div_ceil(lanes) && self.waiting.load(Ordering::SeqCst) >= room {
                    return Err(NoPlace::Full);
                }
                pages.push_back(self.page(all));
                *in_last = 0;
                before = Some(self.waiting.fetch_add(1, Ordering::SeqCst));
                &pages[pages.len() - 1]
            }
        };
        *in_last += 1;
        let place = last.add(put);
        drop(lane);
        if before.is_some_and(|before| before == 0 || before + 1 == batch) {
            self.wake();
        }
        Ok(place)
    }

    /// An empty page: the oldest one of a lane, or a new one if that is in use.
    fn page(&self, all: &mut VecDeque<Arc<Page<A>>>) -> Arc<Page<A>> {
        let mut oldest = all.pop_front();
        let page = match oldest.as_mut().and_then(Arc::get_mut).map(Page::reset) {
            Some(true) => oldest,
            Some(false) => None,
            None => {
                // in use; beyond twice the lane's share, it is left to those who have it
                let most = 2 * self.limits.room.div_ceil(self.limits.lanes);
                all.extend(oldest.filter(|_| all.len() < most));
                None
            }
        };
        let page = page.unwrap_or_else(|| Arc::new(Page::new(&self.slots, self.limits.page)));
        all.push_back(page.clone());
        page
    }

    /// Waits for requests and takes a batch of them. With fewer than a full batch, waits until `longest` after it has
    /// seen the first one. Returns `None` when the queue is closed and empty.
    pub(crate) fn take(&self, longest: Duration) -> Option<Vec<Job<A>>> {
        let mut first = lock(&self.gatherer);
        loop {
            self.wait(longest);
            // read before the lanes are: what was pushed before the queue was closed is then seen
            let closed = self.closed.load(Ordering::SeqCst);
            let batch = self.drain(&mut first);
            if !batch.is_empty() {
                return Some(batch);
            }
            if closed {
                return None;
            }
        }
    }

    /// Refuses requests from now on. Those that wait can still be taken.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// The number of requests for which the pages that wait have room.
    pub(crate) fn len(&self) -> usize {
        self.waiting.load(Ordering::SeqCst) * self.limits.page
    }

    fn wake(&self) {
        drop(lock(&self.gate)); // the gatherer is before its test, or waits
        self.changed.notify_one();
    }

    fn wait(&self, longest: Duration) {
        let pages = || self.waiting.load(Ordering::SeqCst);
        let closed = || self.closed.load(Ordering::SeqCst);
        let mut gate = lock(&self.gate);
        while pages() == 0 && !closed() {
            gate = self.changed.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
        if longest.is_zero() {
            return;
        }
        let end = Instant::now() + longest;
        while pages() < self.limits.batch && !closed() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            gate = self.changed.wait_timeout(gate, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes up to a full batch by round robin over the lanes. It begins with lane `first`, which is then incremented.
    fn drain(&self, first: &mut usize) -> Vec<Job<A>> {
        let (mut batch, lanes) = (Vec::new(), self.lanes.len());
        let (start, most) = (*first, self.limits.batch);
        *first = (start + 1) % lanes;
        loop {
            let before = batch.len();
            let share = (most - before).div_ceil(lanes);
            for number in start..start + lanes {
                let mut lane = lock(&self.lanes[number % lanes].0);
                let count = share.min(lane.pages.len()).min(most - batch.len());
                batch.extend(lane.pages.drain(..count).map(Page::job));
                self.waiting.fetch_sub(count, Ordering::SeqCst);
            }
            if batch.len() == before || batch.len() == most {
                return batch;
            }
        }
    }
}
