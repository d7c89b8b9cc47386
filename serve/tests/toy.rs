//! An operation that is over at once, and can be told to fail, panic or wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ringforge::{Device, Error, Result};
use ringforge_batch::{BatchStatus, ErrorKind, ItemError, SchemeError, word};
use ringforge_serve::{Inputs, Operation, Part, Shape};

/// The answer is the first part, with the sum of the bytes of the second part added to each byte.
#[derive(Debug)]
pub(crate) struct Toy {
    pub(crate) device: Device,
    pub(crate) powers_of_two: bool,
    pub(crate) seen: Arc<Seen>,
    pub(crate) behave: Box<dyn Behaviour>,
}

/// The behaviour of a batch before its answer.
pub(crate) trait Behaviour: Send + Sync + core::fmt::Debug {
    fn run(&self, batch: usize) -> Result<()>;
}

impl<F: Fn(usize) -> Result<()> + Send + Sync> Behaviour for Named<F> {
    fn run(&self, batch: usize) -> Result<()> {
        (self.0)(batch)
    }
}

pub(crate) struct Named<F>(pub F);

impl<F> core::fmt::Debug for Named<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a behaviour")
    }
}

/// A log of the runs.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) items: AtomicUsize,
    pub(crate) sizes: Mutex<Vec<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ToyError {
    #[error("the first byte is 255")]
    First,
}

impl SchemeError for ToyError {
    fn word(self) -> u32 {
        word(1, 0)
    }

    fn all(_: usize) -> impl IntoIterator<Item = Self> {
        [Self::First]
    }
}

pub(crate) const FIRST: usize = 8;
pub(crate) const SECOND: usize = 20;

impl Toy {
    pub(crate) fn new(behave: impl Fn(usize) -> Result<()> + Send + Sync + 'static) -> Self {
        let (device, seen) = (Device::cpu(), Arc::default());
        Self { device, powers_of_two: false, seen, behave: Box::new(Named(behave)) }
    }

    pub(crate) fn working() -> Self {
        Self::new(|_| Ok(()))
    }

    /// The answer to a request.
    pub(crate) fn answer(first: &[u8], second: &[u8]) -> core::result::Result<Vec<u8>, ToyError> {
        let sum = second.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        if first[0] == 255 {
            Err(ToyError::First)
        } else {
            Ok(first.iter().map(|byte| byte.wrapping_add(sum)).collect())
        }
    }
}

/// An error of a device.
pub(crate) fn broken() -> Error {
    Error::Driver { call: "cuLaunchKernel", code: 719, message: "injected".into() }
}

impl Operation for Toy {
    type Error = ToyError;

    fn shape(&self) -> Shape {
        Shape {
            name: "toy".into(),
            inputs: vec![Part::new(FIRST).secret(), Part::up_to(SECOND)],
            outputs: vec![Part::new(FIRST).secret()],
            powers_of_two: self.powers_of_two,
        }
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        Ok(vec![vec![0; FIRST], vec![]])
    }

    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<ToyError>> {
        self.seen.sizes.lock().unwrap().push(batch.batch());
        self.behave.run(batch.batch())?;
        self.seen.items.fetch_add(batch.batch(), Ordering::SeqCst);
        let mut errors = Vec::new();
        let items = batch.bytes(0).chunks(FIRST).zip(batch.items(1)).zip(outputs[0].chunks_mut(FIRST));
        for (item, ((first, second), to)) in items.enumerate() {
            match Self::answer(first, second) {
                Ok(answer) => to.copy_from_slice(&answer),
                Err(error) => errors.push(ItemError { item, kind: ErrorKind::Scheme(error) }),
            }
        }
        Ok(BatchStatus::new(errors))
    }
}
