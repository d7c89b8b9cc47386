//! A communicator between threads of one process, one for each rank (device), for devices that work on host memory.

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use zeroize::Zeroizing;

use crate::backend::BackendStream;
use crate::backend::cpu::{host_read, host_write};
use crate::communicator::{Communicator, after, differs};
use crate::memory::{Memory, Read, Write};
use ringforge_math::error::{Error, Result, same_length};

/// One rank's end of the connections between the threads.
#[derive(Debug)]
pub struct Loopback {
    rank: usize,
    timeout: Duration,
    hub: Arc<Hub>,
}

/// The state that all ranks of the group share.
#[derive(Debug)]
struct Hub {
    post: Mutex<Post>,
    changed: Condvar,
}

#[derive(Debug)]
struct Post {
    /// Messages that were sent and not yet received: `sent[sender][receiver]`. They may be secret, so they are wiped on
    /// drop.
    sent: Vec<Vec<VecDeque<Zeroizing<Vec<u8>>>>>,
    /// For each rank, whether it has stopped.
    gone: Vec<bool>,
}

impl Loopback {
    /// Creates the communicators of `ranks` ranks. Waiting for a message of another rank fails after `timeout`.
    #[doc(hidden)]
    pub fn ends(ranks: usize, timeout: Duration) -> Vec<Self> {
        let sent = (0..ranks).map(|_| (0..ranks).map(|_| VecDeque::new()).collect()).collect();
        let post = Mutex::new(Post { sent, gone: vec![false; ranks] });
        let hub = Arc::new(Hub { post, changed: Condvar::new() });
        (0..ranks).map(|rank| Self { rank, timeout, hub: hub.clone() }).collect()
    }

    fn post(&self) -> MutexGuard<'_, Post> {
        self.hub.post.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        self.post().sent[self.rank][to].push_back(Zeroizing::new(bytes.to_vec()));
        self.hub.changed.notify_all();
    }

    fn receive(&self, from: usize) -> Result<Zeroizing<Vec<u8>>> {
        let deadline = after(self.timeout);
        let mut post = self.post();
        loop {
            if let Some(bytes) = post.sent[from][self.rank].pop_front() {
                return Ok(bytes);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let why = match (post.gone[from], left.is_zero()) {
                (true, _) => "has ended".to_owned(),
                (_, true) => format!("sent nothing within {:?}", self.timeout),
                _ => {
                    post = self.hub.changed.wait_timeout(post, left).unwrap_or_else(PoisonError::into_inner).0;
                    continue;
                }
            };
            return Err(Error::Rank { rank: from, why });
        }
    }

    fn ended<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|_| self.abandon())
    }
}

impl Communicator for Loopback {
    fn memory(&self, _: usize) -> Result<Option<Memory>> {
        Ok(None)
    }

    fn exchange(
        &self,
        _: &BackendStream,
        sends: &[(usize, Read<'_>)],
        receives: Vec<(usize, Write<'_>)>,
    ) -> Result<()> {
        let work = || {
            for (to, piece) in sends {
                self.send(*to, host_read(*piece)?);
            }
            receives.into_iter().try_for_each(|(from, place)| {
                let (piece, place) = (self.receive(from)?, host_write(place)?);
                same_length("bytes of a piece from another rank", place.len(), piece.len())?;
                place.copy_from_slice(&piece);
                Ok(())
            })
        };
        self.ended(work())
    }

    fn finish(&self, _: &BackendStream) -> Result<()> {
        Ok(())
    }

    fn agree(&self, what: &str) -> Result<()> {
        let ranks = self.post().gone.len();
        let others = || (0..ranks).filter(|rank| *rank != self.rank);
        let work = || {
            others().for_each(|to| self.send(to, what.as_bytes()));
            others().try_for_each(|rank| match self.receive(rank)? {
                same if *same == what.as_bytes() => Ok(()),
                _ => Err(differs(rank)),
            })
        };
        self.ended(work())
    }

    fn abandon(&self) {
        self.post().gone[self.rank] = true;
        self.hub.changed.notify_all();
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start<T: Send>(ends: Vec<Loopback>, run: impl Fn(Loopback) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let run = &run;
            let threads: Vec<_> = ends.into_iter().map(|end| scope.spawn(move || run(end))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    }

    #[test]
    fn pieces_arrive_in_the_order_in_which_they_were_sent() {
        for ranks in [1, 2, 3, 8] {
            let received = start(Loopback::ends(ranks, Duration::from_secs(10)), |end| {
                let pieces: Vec<Vec<u8>> = (0..2 * ranks).map(|i| vec![end.rank as u8, i as u8]).collect();
                let sends: Vec<_> = pieces.iter().enumerate().map(|(i, x)| (i % ranks, Read::Host(x))).collect();
                let mut memory = vec![[0u8; 2]; 2 * ranks];
                let places = memory.iter_mut().enumerate();
                let receives = places.map(|(i, x)| (i % ranks, Write::Host(x))).collect();
                end.exchange(&BackendStream::Immediate, &sends, receives).unwrap();
                end.agree("the same").unwrap();
                memory
            });
            for (rank, memory) in received.iter().enumerate() {
                let wanted = |i: usize| [(i % ranks) as u8, (i / ranks * ranks + rank) as u8];
                assert_eq!(*memory, (0..2 * ranks).map(wanted).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_missing_or_ended_rank_stops_the_others() {
        let began = Instant::now();
        let outcomes = start(Loopback::ends(3, Duration::from_secs(60)), |end| match end.rank {
            1 => Ok(()), // rank 1 drops its end
            _ => end.agree("the same"),
        });
        assert_eq!(outcomes[1], Ok(()));
        for outcome in [&outcomes[0], &outcomes[2]] {
            assert!(matches!(outcome, Err(Error::Rank { .. })), "{outcome:?}");
        }
        assert!(began.elapsed() < Duration::from_secs(30), "nobody waited for the timeout");
        let mut ends = Loopback::ends(2, Duration::from_millis(20));
        let (_late, first) = (ends.pop().unwrap(), ends.pop().unwrap());
        assert!(matches!(first.agree("the same"), Err(Error::Rank { rank: 1, .. })));
    }

    #[test]
    fn different_plans_and_sizes_are_detected() {
        let outcomes = start(Loopback::ends(2, Duration::from_secs(10)), |end| end.agree(&end.rank.to_string()));
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Err(Error::Rank { .. }))), "{outcomes:?}");
        let outcomes = start(Loopback::ends(2, Duration::from_secs(10)), |end| {
            let (piece, mut place) = ([1; 4], vec![0; 3 + end.rank]);
            let (to, place) = (1 - end.rank, Write::Host(&mut place));
            end.exchange(&BackendStream::Immediate, &[(to, Read::Host(&piece))], vec![(to, place)])
        });
        assert!(matches!(outcomes[..], [Err(Error::Length { expected: 3, got: 4, .. }), Ok(())]), "{outcomes:?}");
    }
}
