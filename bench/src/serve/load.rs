//! A load generator for servers of single calls, with arrivals that do not wait for answers.
//!
//! Requests arrive at random times that are fixed ahead (a Poisson process). A latency counts from the time at which its
//! request was to be sent. So a generator or server that falls behind does not hide the wait of later requests (coordinated
//! omission). Requests for which a generator's own thread is too late are not sent, and are counted.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
use std::thread;
use std::time::{Duration, Instant};

use ringforge_serve::{Client, Operation, Pending, Refused, Reply, Server};
use ringforge_testkit::Random;

/// When requests are sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arrivals {
    /// This many a second, whatever is answered.
    Open(f64),
    /// As soon as fewer than this many are without an answer.
    Closed(usize),
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// Seconds from when a request was to be sent until its answer, in ascending order.
    pub(super) latencies: Vec<f32>,
    /// Requests that were refused because too many waited.
    pub(super) refused: usize,
    /// Requests that were not sent, because the generator's own thread was too late for them.
    pub(super) unsent: usize,
    /// Requests whose outcome is not that of the example.
    pub(super) wrong: usize,
    /// One answer in a thousand, with the number of its example.
    pub(super) samples: Vec<(usize, Reply)>,
    /// Seconds from the first request until the last answer.
    pub(super) seconds: f64,
}

impl Load {
    /// Answers a second.
    pub(super) fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }

    /// The latency, in seconds, that this part of the answers does not exceed.
    pub(super) fn percentile(&self, part: f64) -> f64 {
        let place = (self.latencies.len() as f64 * part) as usize;
        self.latencies.get(place).or(self.latencies.last()).map_or(0.0, |latency| f64::from(*latency))
    }
}

/// A request.
#[derive(Debug)]
pub(super) struct Example {
    pub(super) parts: Vec<Vec<u8>>,
    pub(super) is_valid: bool,
    /// The other key of the pair, for a check of the answer.
    pub(super) other_key: Vec<u8>,
}

/// Requests that a generator sends before it looks for answers.
const BURST: usize = 64;
/// Random gaps between requests, which are used again and again in changing order.
const GAPS: usize = 4093;
/// Seconds by which a request may be sent too late.
const LATEST: f64 = 0.001;
/// One answer in this many is kept.
const SAMPLED: usize = 1000;

/// Sends requests for this long from `generators` threads, and waits for all answers.
pub(super) fn run<O: Operation>(
    server: &Server<O>,
    examples: &[Example],
    arrivals: Arrivals,
    seconds: f64,
    generators: usize,
    seed: u64,
) -> Load {
    let begin = Instant::now() + Duration::from_millis(5);
    let mut all = thread::scope(|scope| {
        let generate = |number: usize| {
            let client = server.client(number);
            let arrivals = match arrivals {
                Arrivals::Open(rate) => Arrivals::Open(rate / generators as f64),
                Arrivals::Closed(most) => Arrivals::Closed(most.div_ceil(generators)),
            };
            move || generate(&client, examples, arrivals, begin, seconds, Random::new(seed ^ number as u64))
        };
        let started: Vec<_> = (0..generators).map(|number| scope.spawn(generate(number))).collect();
        let mut all = Load::default();
        for one in started.into_iter().map(|thread| thread.join().expect("a generator")) {
            all.latencies.extend(one.latencies);
            all.samples.extend(one.samples);
            all.refused += one.refused;
            all.unsent += one.unsent;
            all.wrong += one.wrong;
            all.seconds = all.seconds.max(one.seconds);
        }
        all
    });
    all.latencies.sort_unstable_by(f32::total_cmp);
    all
}

/// A request on its way: when it was to be sent, its example, and its answer to come.
struct Sent<O: Operation>(f64, usize, Pending<O::Error>);

fn generate<O: Operation>(
    client: &Client<O>,
    examples: &[Example],
    arrivals: Arrivals,
    begin: Instant,
    seconds: f64,
    mut random: Random,
) -> Load {
    let mut load = Load::default();
    let requests: Vec<Vec<&[u8]>> =
        examples.iter().map(|example| example.parts.iter().map(|part| &part[..]).collect()).collect();
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    let mut sent: VecDeque<Sent<O>> = VecDeque::new();
    // logarithms ahead, because they take as long as a call
    let gaps: Vec<f64> = (0..GAPS).map(|_| -((random.bits() as f64 + 1.0) / u64::MAX as f64).min(1.0).ln()).collect();
    let (mut next, mut number, mut gap) = (0.0, random.below(examples.len()), 0);
    thread::sleep(begin.saturating_duration_since(Instant::now()));
    loop {
        let now = begin.elapsed().as_secs_f64();
        let mut idle = true;
        for _ in 0..BURST {
            let is_due = match arrivals {
                Arrivals::Open(_) => next <= now,
                Arrivals::Closed(most) => sent.len() < most,
            };
            if !is_due || next >= seconds {
                break;
            }
            idle = false;
            number = (number + 1) % examples.len();
            if now - next > LATEST {
                load.unsent += 1;
            } else {
                match client.call(&requests[number]) {
                    Ok(pending) => {
                        let mut one = Sent(next, number, pending);
                        if poll(&mut one, &mut context, examples, begin, &mut load).is_none() {
                            sent.push_back(one);
                        }
                    }
                    Err(Refused::Full) => load.refused += 1,
                    Err(_) => load.wrong += 1,
                }
            }
            next = match arrivals {
                Arrivals::Open(rate) => {
                    gap = (gap + 1 + number % 2) % GAPS;
                    next + gaps[gap] / rate
                }
                Arrivals::Closed(_) => now,
            };
        }
        if woken.0.swap(false, Ordering::Acquire) {
            idle = false;
            // batches end nearly in the order in which they began
            while let Some(first) = sent.front_mut() {
                if poll(first, &mut context, examples, begin, &mut load).is_none() {
                    break;
                }
                sent.pop_front();
            }
        }
        if matches!(arrivals, Arrivals::Closed(_)) {
            next = next.max(now);
        }
        if next >= seconds && sent.is_empty() {
            load.seconds = begin.elapsed().as_secs_f64();
            return load;
        }
        if idle {
            thread::yield_now();
        }
    }
}

/// Counts a request that has its answer.
fn poll<O: Operation>(
    Sent(at, number, pending): &mut Sent<O>,
    context: &mut Context<'_>,
    examples: &[Example],
    begin: Instant,
    load: &mut Load,
) -> Option<()> {
    let Poll::Ready(answer) = Pin::new(pending).poll(context) else { return None };
    load.latencies.push((begin.elapsed().as_secs_f64() - *at) as f32);
    load.wrong += usize::from(answer.is_ok() != examples[*number].is_valid);
    if let (Ok(reply), 0) = (answer, load.latencies.len() % SAMPLED) {
        load.samples.push((*number, reply));
    }
    Some(())
}

/// Says that some answer has come.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}
