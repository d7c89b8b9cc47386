//! The queue and its pages under random schedules of their threads.

use core::future::poll_fn;
use core::task::Waker;
use std::time::{Duration, Instant};

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::{future, thread};

use crate::page::{Answers, Place};
use crate::queue::{Limits, NoPlace, Queue};

const SCHEDULES: usize = 3000;

/// The answers to requests of one byte: that byte, with 100 added. Each is taken once.
#[derive(Default)]
struct Bytes(Vec<Option<u8>>);

impl Answers for Bytes {
    type Answer = u8;

    fn take(&mut self, slot: usize) -> u8 {
        self.0[slot].take().expect("an answer that nobody has taken")
    }
}

fn queue(lanes: usize, page: usize, batch: usize, room: usize) -> Arc<Queue<Bytes>> {
    Arc::new(Queue::new(Limits { lanes, page, batch, room }, vec![(1, true)]))
}

/// Takes batches until the queue is closed, and answers each request.
fn work(queue: &Queue<Bytes>, answered: &AtomicUsize) {
    while let Some(batch) = queue.take(Duration::ZERO) {
        assert!(!batch.is_empty() && batch.len() <= 2);
        for job in batch {
            if let Some(page) = job.start() {
                assert_eq!(page.parts[0].bytes.len(), page.count);
                assert!(page.arrived.is_some_and(|arrived| arrived <= Instant::now()));
                answered.fetch_add(page.count - page.given_up, Ordering::SeqCst);
                let answers = page.parts[0].bytes.iter().map(|byte| Some(byte + 100)).collect();
                job.give_back(page.parts);
                job.answer(|to| *to = Bytes(answers));
            } else {
                assert!(job.given_up() > 0, "somebody waits for this page");
            }
        }
    }
}

/// Sends a request, or says why that is impossible.
fn send(queue: &Queue<Bytes>, lane: usize, value: u8) -> Result<Place<Bytes>, NoPlace> {
    queue.push(lane, |parts| parts[0].bytes.push(value))
}

/// Waits for an answer.
fn wait(mut place: Place<Bytes>) -> Option<u8> {
    future::block_on(poll_fn(|context| place.poll(context.waker())))
}

#[test]
fn each_request_is_answered_once() {
    shuttle::check_random(
        || {
            let (queue, answered) = (queue(2, 2, 2, 16), Arc::new(AtomicUsize::new(0)));
            let workers: Vec<_> = (0..2)
                .map(|_| {
                    let (queue, answered) = (queue.clone(), answered.clone());
                    thread::spawn(move || work(&queue, &answered))
                })
                .collect();
            let senders: Vec<_> = (0..3u8)
                .map(|sender| {
                    let queue = queue.clone();
                    thread::spawn(move || {
                        let values = [3 * sender, 3 * sender + 1, 3 * sender + 2];
                        let places = values.map(|value| send(&queue, usize::from(value % 2), value).expect("a place"));
                        for (value, place) in values.into_iter().zip(places) {
                            assert_eq!(wait(place), Some(value + 100));
                        }
                    })
                })
                .collect();
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            queue.close();
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            assert_eq!((answered.load(Ordering::SeqCst), queue.len()), (9, 0));
        },
        SCHEDULES,
    );
}

#[test]
fn requests_that_are_given_up_and_a_close_lose_nothing() {
    shuttle::check_random(
        || {
            let (queue, answered) = (queue(2, 2, 2, 2), Arc::new(AtomicUsize::new(0)));
            let worker = {
                let (queue, answered) = (queue.clone(), answered.clone());
                thread::spawn(move || work(&queue, &answered))
            };
            let senders: Vec<_> = (0..2)
                .map(|sender| {
                    let queue = queue.clone();
                    thread::spawn(move || {
                        let places = [0, 1, 2].map(|value| send(&queue, sender, value));
                        let mut taken = 0;
                        for (value, place) in (0..).zip(places) {
                            match place {
                                // polled once and dropped
                                Ok(mut place) if value == 0 => drop(place.poll(Waker::noop())),
                                Ok(place) => {
                                    assert_eq!(wait(place), Some(value + 100));
                                    taken += 1;
                                }
                                Err(NoPlace::Full | NoPlace::Closed) => {}
                            }
                        }
                        taken
                    })
                })
                .collect();
            let closer = {
                let queue = queue.clone();
                thread::spawn(move || queue.close())
            };
            let taken: usize = senders.into_iter().map(|sender| sender.join().unwrap()).sum();
            closer.join().unwrap();
            worker.join().unwrap();
            assert_eq!(queue.len(), 0);
            assert!((taken..=taken + 2).contains(&answered.load(Ordering::SeqCst)));
            assert_eq!(send(&queue, 0, 0).err(), Some(NoPlace::Closed));
        },
        SCHEDULES,
    );
}

#[test]
fn pages_that_are_dropped_answer_their_callers() {
    shuttle::check_random(
        || {
            let queue = queue(1, 2, 1, 2);
            let places = [1, 2].map(|value| send(&queue, 0, value).expect("a place"));
            let worker = {
                let queue = queue.clone();
                thread::spawn(move || {
                    while let Some(batch) = queue.take(Duration::ZERO) {
                        batch.iter().for_each(|job| drop(job.start()));
                    }
                })
            };
            places.into_iter().for_each(|place| assert_eq!(wait(place), None));
            queue.close();
            worker.join().unwrap();
        },
        SCHEDULES,
    );
}
