//! [`Page`]: a few requests that wait, run and are answered together.

use core::task::{Poll, Waker};
use std::time::Instant;

use crate::lock::lock;
use crate::sync::{Arc, Mutex, PoisonError};

/// Requests of one lane that came one after another, and their answers. A batch consists of whole pages, so its cost for each
/// request is that of copying its bytes.
///
/// A page holds requests in memory that is allocated once, so that no copy of a secret is left behind where memory grows.
pub(crate) struct Page<A: Answers>(Mutex<State<A>>);

/// The answers to the requests of a page.
pub(crate) trait Answers: Default {
    type Answer;

    /// Takes the answer to the request in this slot, and wipes its place if it may be secret.
    fn take(&mut self, slot: usize) -> Self::Answer;
}

struct State<A> {
    stage: Stage,
    /// When the first request came.
    arrived: Option<Instant>,
    /// Bytes of each part of the requests, one after another. Empty while a worker has them.
    parts: Vec<Secret>,
    answers: A,
    /// The waker of each request's caller.
    wakers: Vec<Option<Waker>>,
    /// Slots of requests whose callers have given up.
    given_up: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Stage {
    Waiting,
    Running,
    Answered,
    /// There is no answer.
    Lost,
}

/// Bytes that are wiped on drop if they may be secret.
#[derive(Default)]
pub(crate) struct Secret {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_secret: bool,
}

impl Secret {
    /// Removes the bytes, and wipes them if they may be secret. The memory stays.
    pub(crate) fn clear(&mut self) {
        if self.is_secret {
            ringforge_cpu::wipe::bytes(&mut self.bytes);
        }
        self.bytes.clear();
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The caller's end of a request.
pub(crate) struct Place<A: Answers> {
    page: Arc<Page<A>>,
    slot: usize,
    is_open: bool,
}

/// The worker's end of a page. Dropped without an answer, it tells the callers so.
pub(crate) struct Job<A: Answers>(Arc<Page<A>>);

/// The requests of a page, as a worker takes them.
pub(crate) struct Taken {
    pub(crate) parts: Vec<Secret>,
    pub(crate) count: usize,
    pub(crate) given_up: usize,
    /// When the first request came.
    pub(crate) arrived: Option<Instant>,
}

impl<A: Answers> Page<A> {
    /// An empty page for up to `most` requests, whose parts have these slots: their bytes, and whether they are secret.
    pub(crate) fn new(slots: &[(usize, bool)], most: usize) -> Self {
        let part = |(size, is_secret): &(usize, bool)| Secret {
            bytes: Vec::with_capacity(size * most),
            is_secret: *is_secret,
        };
        Self(Mutex::new(State {
            stage: Stage::Waiting,
            arrived: None,
            parts: slots.iter().map(part).collect(),
            answers: A::default(),
            wakers: Vec::with_capacity(most),
            given_up: Vec::new(),
        }))
    }

    /// Empties an unused page for new requests. Returns false if its memory is gone.
    pub(crate) fn reset(&mut self) -> bool {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.parts.iter_mut().for_each(Secret::clear);
        let has_memory = !state.parts.is_empty() || matches!(state.stage, Stage::Answered);
        (state.stage, state.arrived) = (Stage::Waiting, None);
        state.wakers.clear();
        state.given_up.clear();
        has_memory
    }

    /// Adds a request, whose parts `put` appends to those of the page. The page must wait and have room.
    pub(crate) fn add(self: &Arc<Self>, put: impl FnOnce(&mut [Secret])) -> Place<A> {
        let mut state = lock(&self.0);
        state.arrived.get_or_insert_with(Instant::now);
        put(&mut state.parts);
        state.wakers.push(None);
        Place { page: self.clone(), slot: state.wakers.len() - 1, is_open: true }
    }

    /// The worker's end, of which there may be one.
    pub(crate) fn job(self: Arc<Self>) -> Job<A> {
        Job(self)
    }
}

impl<A: Answers> Job<A> {
    /// Takes the requests. Returns `None` if all callers have given up.
    pub(crate) fn start(&self) -> Option<Taken> {
        let mut state = lock(&self.0.0);
        let (count, given_up, arrived) = (state.wakers.len(), state.given_up.len(), state.arrived);
        state.stage = Stage::Running;
        let parts = core::mem::take(&mut state.parts);
        (given_up < count).then_some(Taken { parts, count, given_up, arrived })
    }

    /// The number of requests whose callers have given up.
    pub(crate) fn given_up(&self) -> usize {
        lock(&self.0.0).given_up.len()
    }

    /// Gives the memory of the requests back, after it is wiped if they may be secret.
    pub(crate) fn give_back(&self, mut parts: Vec<Secret>) {
        parts.iter_mut().for_each(Secret::clear);
        lock(&self.0.0).parts = parts;
    }

    /// Answers the requests. `fill` writes the answers over those of earlier requests.
    pub(crate) fn answer(self, fill: impl FnOnce(&mut A)) {
        let mut answers = core::mem::take(&mut lock(&self.0.0).answers);
        fill(&mut answers);
        self.end(Some(answers));
    }

    /// Answers once.
    fn end(&self, answers: Option<A>) {
        let wakers = {
            let mut state = lock(&self.0.0);
            let State { stage: Stage::Waiting | Stage::Running, .. } = *state else { return };
            state.stage = Stage::Lost;
            if let Some(mut answers) = answers {
                state.given_up.iter().for_each(|slot| drop(answers.take(*slot)));
                (state.stage, state.answers) = (Stage::Answered, answers);
            }
            core::mem::take(&mut state.wakers)
        };
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

impl<A: Answers> Drop for Job<A> {
    fn drop(&mut self) {
        self.end(None);
    }
}

impl<A: Answers> Place<A> {
    /// Takes the answer, or asks to be woken when there is one. The answer is `None` if the worker's end was dropped, or if the
    /// answer was taken before.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<Option<A::Answer>> {
        if !self.is_open {
            return Poll::Ready(None);
        }
        let mut state = lock(&self.page.0);
        let answer = match state.stage {
            Stage::Answered => Some(state.answers.take(self.slot)),
            Stage::Lost => None,
            Stage::Waiting | Stage::Running => {
                let own = &mut state.wakers[self.slot];
                if !own.as_ref().is_some_and(|own| own.will_wake(waker)) {
                    *own = Some(waker.clone());
                }
                return Poll::Pending;
            }
        };
        self.is_open = false;
        Poll::Ready(answer)
    }
}

/// Gives the request up: wipes it if it still waits, or its answer if there is one.
impl<A: Answers> Drop for Place<A> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        let mut state = lock(&self.page.0);
        let State { stage, parts, answers, wakers, given_up, .. } = &mut *state;
        match stage {
            Stage::Answered => drop(answers.take(self.slot)),
            Stage::Lost => {}
            Stage::Waiting | Stage::Running => {
                given_up.push(self.slot);
                for Secret { bytes, .. } in parts.iter_mut().filter(|part| part.is_secret) {
                    let size = bytes.len() / wakers.len();
                    ringforge_cpu::wipe::bytes(&mut bytes[self.slot * size..][..size]);
                }
                wakers[self.slot] = None;
            }
        }
    }
}
