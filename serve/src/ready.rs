//! [`Ready`]: answers that are made ahead.

use core::fmt;
use std::collections::VecDeque;
use std::sync::Mutex;

use crate::error::Refused;
use crate::lock::lock;
use crate::operation::Operation;
use crate::reply::Pending;
use crate::server::Client;

/// Answers that are made ahead, for an operation whose requests have no parts, such as key generation. Taking one orders the
/// next, so callers rarely wait for a batch.
///
/// Dropping this wipes the secret parts of all answers that wait.
pub struct Ready<O: Operation> {
    client: Client<O>,
    ordered: Mutex<VecDeque<Pending<O::Error>>>,
    most: usize,
}

impl<O: Operation> Ready<O> {
    /// Orders `most` answers, which bounds the memory for them.
    ///
    /// # Errors
    /// [`Refused`] if the server does not take these requests; [`Refused::Parts`] for an operation with inputs.
    pub fn new(client: Client<O>, most: usize) -> Result<Self, Refused> {
        let ordered = (0..most).map(|_| client.call(&[])).collect::<Result<_, _>>()?;
        Ok(Self { client, ordered: Mutex::new(ordered), most })
    }

    /// Takes the oldest answer, which is there unless all have been taken faster than they were made.
    ///
    /// # Errors
    /// [`Refused`] if none is there and the server takes no request.
    pub fn take(&self) -> Result<Pending<O::Error>, Refused> {
        let mut ordered = lock(&self.ordered);
        while ordered.len() <= self.most {
            match self.client.call(&[]) {
                Ok(pending) => ordered.push_back(pending),
                // what was ordered before is still given out
                Err(_) if !ordered.is_empty() => break,
                Err(refused) => return Err(refused),
            }
        }
        ordered.pop_front().ok_or(Refused::Full)
    }
}

impl<O: Operation> fmt::Debug for Ready<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready({:?}, {})", self.client, self.most)
    }
}
