//! [`Pending`] and [`Reply`]: what a caller gets.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

use ringforge::Error;
use ringforge_batch::{ErrorKind, SchemeError};

use crate::error::Failure;
use crate::page::{Answers, Place, Secret};

/// The outcome of the requests of a page.
pub(crate) struct Outcome<E> {
    /// Each part of the answers, one after another, with its bytes in an answer.
    pub(crate) parts: Vec<(usize, Secret)>,
    /// The slots without an answer.
    pub(crate) errors: Vec<(usize, ErrorKind<E>)>,
    /// Set if the whole batch failed.
    pub(crate) failed: Option<Error>,
}

impl<E> Default for Outcome<E> {
    fn default() -> Self {
        Self { parts: Vec::new(), errors: Vec::new(), failed: None }
    }
}

impl<E: SchemeError> Answers for Outcome<E> {
    type Answer = Result<Reply, Failure<E>>;

    fn take(&mut self, slot: usize) -> Self::Answer {
        let Self { parts, errors, failed } = self;
        if let Some(error) = failed {
            return Err(Failure::Run(error.clone()));
        }
        if let Some((_, error)) = errors.iter().find(|(failed, _)| *failed == slot) {
            return Err(Failure::Item(*error));
        }
        let is_secret = parts.iter().any(|(_, part)| part.is_secret);
        let mut bytes = Vec::with_capacity(parts.iter().map(|(size, _)| size).sum());
        for (size, Secret { bytes: from, is_secret }) in parts.iter_mut() {
            let from = &mut from[slot * *size..][..*size];
            bytes.extend_from_slice(from);
            if *is_secret {
                ringforge_cpu::wipe::bytes(from);
            }
        }
        let sizes = parts.iter().map(|(size, _)| *size).collect();
        Ok(Reply { bytes: Secret { bytes, is_secret }, sizes })
    }
}

/// The answer to a request. It is wiped on drop if it may be secret.
pub struct Reply {
    bytes: Secret,
    sizes: Box<[usize]>,
}

impl Reply {
    /// Part number `part` of the answer, if it has that many: part 1 of an encapsulation is the shared key, for example.
    /// A verification has no parts. That it has an answer says that the signature is valid.
    #[must_use]
    pub fn part(&self, part: usize) -> Option<&[u8]> {
        let start = self.sizes.iter().take(part).sum::<usize>();
        self.bytes.bytes.get(start..)?.get(..*self.sizes.get(part)?)
    }

    /// The number of parts.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.sizes.len()
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reply({:?} bytes)", self.sizes) // the bytes may be secret
    }
}

/// A request that a server has taken, as a future of its answer. It runs on any executor; [`Pending::wait`] is for
/// threads. Dropping it gives the request up: it is wiped, and its place in a batch is the most that it can cost.
#[must_use = "a request that is dropped is given up"]
pub struct Pending<E: SchemeError>(pub(crate) Place<Outcome<E>>);

impl<E: SchemeError> Pending<E> {
    /// Waits for the answer.
    ///
    /// # Errors
    /// A [`Failure`] if the request has no answer.
    pub fn wait(mut self) -> Result<Reply, Failure<E>> {
        struct Parked(Thread);
        impl Wake for Parked {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Parked(thread::current())));
        loop {
            match Pin::new(&mut self).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => thread::park(),
            }
        }
    }
}

impl<E: SchemeError> Future for Pending<E> {
    type Output = Result<Reply, Failure<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context.waker()).map(|answer| answer.unwrap_or(Err(Failure::Lost)))
    }
}

impl<E: SchemeError> fmt::Debug for Pending<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pending")
    }
}
