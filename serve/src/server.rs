//! [`Server`] and [`Client`]: where requests come in.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::hash::RandomState;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use event_listener::Event;
use ringforge::{Device, Engine, Error, Result};

use crate::backends::Backends;
use crate::config::Config;
use crate::counters::Counters;
use crate::error::Refused;
use crate::operation::Operation;
use crate::pace::Pace;
use crate::page::Secret;
use crate::queue::{Limits, NoPlace, Queue};
use crate::reply::Pending;
use crate::shared::{MOST_IN_PAGE, Shared};
use crate::worker::{Buffers, work};

/// Pages of a batch, unless that would make them larger than the most requests of a page.
const PAGES: usize = 16;

/// Gathers single requests into batches, and runs these on a device.
///
/// Each request is answered once. A batch that fails on the device runs again on the CPU, and the device is tried again
/// after a pause. Operations that need randomness draw it anew for each run, so that no nonce is used twice.
///
/// Callers are threads, or tasks of any executor. Cloning a [`Client`] is cheap. Each client stands for one party, such as a
/// user, that must not crowd out the others. Dropping a server refuses further requests, and waits until those that it has
/// accepted are answered.
pub struct Server<O: Operation> {
    shared: Arc<Shared<O>>,
    workers: Vec<JoinHandle<()>>,
}

/// A sender of requests.
pub struct Client<O: Operation> {
    shared: Arc<Shared<O>>,
    lane: usize,
}

impl<O: Operation> Server<O> {
    /// A server of an operation, on the device of `engine` and on the CPU. `operation` makes the operation on an engine. The
    /// server measures batches of all sizes on both, and then runs small ones where they take less time.
    ///
    /// # Errors
    /// The errors of `operation` and of the batches that are measured; [`Error::Unsupported`] if the system cannot start
    /// a thread, and for a [`Config`] with a zero.
    pub fn new(engine: &Engine, config: Config, operation: impl Fn(&Engine) -> Result<O>) -> Result<Self> {
        let device = operation(engine)?;
        let cpu = if device.device().limits().is_cpu() { None } else { Some(operation(&Engine::cpu())?) };
        Self::with_fallback(device, cpu, config)
    }

    /// A server of an operation, with another one that takes small batches, and all batches while the first one fails.
    ///
    /// # Errors
    /// As [`Server::new`].
    pub fn with_fallback(operation: O, fallback: Option<O>, config: Config) -> Result<Self> {
        let Config { batch, in_flight, wait, waiting, lanes, crossover } = config;
        let shape = operation.shape();
        if [batch, in_flight, waiting, lanes].contains(&0) {
            let why = "batch, in_flight, waiting and lanes must be positive".into();
            return Err(Error::Unsupported { job: format!("a server of {}", shape.name), why });
        }
        let backends = Backends::measured(operation, fallback, crossover, batch)?;
        let pace = Pace::new(wait, backends.of_one);
        // a page is a small part of a batch, so that lanes can share batches
        let page = (batch / PAGES).clamp(1, MOST_IN_PAGE);
        let pages = batch / page;
        let limits = Limits { lanes, page, batch: pages, room: waiting.saturating_mul(pages) };
        let queue = Queue::new(limits, shape.inputs.iter().map(|part| (part.slot(), part.is_secret)).collect());
        let (counters, place, hasher) = (Counters::new(&shape.name), Event::new(), RandomState::new());
        let shared = Shared { queue, backends, shape, pace, counters, place, hasher };
        let mut server = Self { shared: Arc::new(shared), workers: Vec::new() };
        for number in 0..in_flight {
            let buffers = Buffers::new(server.device(), &server.shared.shape, batch)?;
            let shared = server.shared.clone();
            let thread = thread::Builder::new().name(format!("ringforge-serve-{number}"));
            let started = thread.spawn(move || work(&shared, buffers));
            server.workers.push(
                started.map_err(|error| Error::Unsupported {
                    job: "a thread of a server".into(),
                    why: error.to_string(),
                })?,
            );
        }
        Ok(server)
    }

    /// A client of the name `who`, such as a key, an account or an address.
    pub fn client(&self, who: impl Hash) -> Client<O> {
        let lane = self.shared.hasher.hash_one(who) as usize;
        Client { shared: self.shared.clone(), lane }
    }

    /// The number of requests that wait, rounded up to whole pages of up to 64.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.shared.queue.len()
    }

    /// Batches of up to this many items run on the CPU.
    #[must_use]
    pub fn crossover(&self) -> usize {
        self.shared.backends.crossover
    }

    /// The device that runs the batches.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.shared.backends.device().device()
    }

    /// Refuses new requests, and waits until all others are answered. Dropping a server does the same.
    pub fn drain(self) {
        drop(self);
    }
}

impl<O: Operation> Drop for Server<O> {
    fn drop(&mut self) {
        self.shared.queue.close();
        self.shared.place.notify(usize::MAX);
        for worker in self.workers.drain(..) {
            // a worker does not panic: it catches the panics of operations
            let _ = worker.join();
        }
    }
}

impl<O: Operation> Client<O> {
    /// Sends a request: its parts, in the order of [`Shape::inputs`](crate::Shape::inputs).
    ///
    /// # Errors
    /// [`Refused`] if the server does not take the request.
    pub fn call(&self, parts: &[&[u8]]) -> Result<Pending<O::Error>, Refused> {
        let shared = &*self.shared;
        let inputs = &shared.shape.inputs;
        let put = |slots: &mut [Secret]| {
            inputs.iter().zip(parts).zip(slots).for_each(|((part, bytes), slots)| part.put(bytes, &mut slots.bytes));
        };
        let taken = self.check(parts).and_then(|()| match shared.queue.push(self.lane, put) {
            Ok(place) => Ok(Pending(place)),
            Err(NoPlace::Full) => Err(Refused::Full),
            Err(NoPlace::Closed) => Err(Refused::Closed),
        });
        match &taken {
            Ok(_) => shared.counters.taken.increment(1),
            Err(_) => shared.counters.refused.increment(1),
        }
        taken
    }

    /// Sends a request like [`Client::call`], but waits for a place while too many requests wait.
    ///
    /// # Errors
    /// [`Refused`], but never [`Refused::Full`].
    pub async fn call_in_turn(&self, parts: &[&[u8]]) -> Result<Pending<O::Error>, Refused> {
        loop {
            let place = self.shared.place.listen();
            match self.call(parts) {
                Err(Refused::Full) => place.await,
                outcome => return outcome,
            }
        }
    }

    /// Checks the sizes of a request's parts.
    fn check(&self, parts: &[&[u8]]) -> Result<(), Refused> {
        let inputs = &self.shared.shape.inputs;
        if parts.len() != inputs.len() {
            return Err(Refused::Parts { expected: inputs.len(), got: parts.len() });
        }
        let mut sizes = inputs.iter().zip(parts).enumerate();
        let Some((part, (wanted, bytes))) = sizes.find(|(_, (wanted, bytes))| !wanted.fits(bytes.len())) else {
            return Ok(());
        };
        let (expected, at_most) = (wanted.bytes, wanted.varies);
        Err(Refused::Size { part, expected, at_most, got: bytes.len() })
    }
}

impl<O: Operation> Clone for Client<O> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), lane: self.lane }
    }
}

impl<O: Operation> fmt::Debug for Server<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({} on {})", self.shared.shape.name, self.device())
    }
}

impl<O: Operation> fmt::Debug for Client<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({})", self.shared.shape.name)
    }
}
