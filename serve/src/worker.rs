//! The threads of a server: each takes a batch, runs it, and answers its requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use ringforge::{Device, PinnedBuffer, Result};

use crate::operation::{Inputs, Operation, Part, Shape};
use crate::page::{Job, Secret};
use crate::reply::Outcome;
use crate::shared::{MOST_IN_PAGE, Shared};

/// Host memory for a full batch, page-locked for the device.
pub(crate) struct Buffers {
    pub(crate) inputs: Vec<PinnedBuffer>,
    pub(crate) outputs: Vec<PinnedBuffer>,
    /// Items of the batch that the memory holds.
    pub(crate) used: usize,
}

impl Buffers {
    pub(crate) fn new(device: &Device, shape: &Shape, batch: usize) -> Result<Self> {
        let pinned = |part: &Part| device.pinned(part.slot() * shape.rounded(batch));
        let inputs = shape.inputs.iter().map(pinned).collect::<Result<_>>()?;
        Ok(Self { inputs, outputs: shape.outputs.iter().map(pinned).collect::<Result<_>>()?, used: 0 })
    }

    /// Wipes the secret parts of the last batch. The next one overwrites all others.
    pub(crate) fn wipe(&mut self, shape: &Shape) {
        let used = core::mem::take(&mut self.used);
        let parts = shape.inputs.iter().zip(&mut self.inputs).chain(shape.outputs.iter().zip(&mut self.outputs));
        for (part, all) in parts.filter(|(part, _)| part.is_secret) {
            ringforge_cpu::wipe::bytes(&mut all[..part.slot() * used]);
        }
    }
}

/// Runs batches until the queue is closed and empty.
pub(crate) fn work<O: Operation>(shared: &Shared<O>, mut buffers: Buffers) {
    loop {
        let (longest, choice) = shared.pace.next();
        let Some(batch) = shared.queue.take(longest) else { return };
        shared.counters.waiting.set(shared.queue.len() as f64);
        shared.place.notify(batch.len() * MOST_IN_PAGE);
        // when the operation panics, its pages are dropped, which answers their requests
        let _ = catch_unwind(AssertUnwindSafe(|| run(shared, &mut buffers, batch, choice)));
        buffers.wipe(&shared.shape);
    }
}

/// Runs a batch and answers its requests.
fn run<O: Operation>(shared: &Shared<O>, buffers: &mut Buffers, batch: Vec<Job<Outcome<O::Error>>>, choice: usize) {
    let (counters, Shape { inputs: parts, outputs: answered, .. }) = (&shared.counters, &shared.shape);
    let began = Instant::now();
    // the pages that run: where each begins, how many requests it has, and when they came
    let (mut jobs, mut running, mut count) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()), 0);
    for job in batch {
        let Some(page) = job.start() else {
            counters.given_up.increment(job.given_up() as u64);
            continue;
        };
        for ((part, slots), own) in parts.iter().zip(&mut buffers.inputs).zip(&page.parts) {
            slots[count * part.slot()..][..own.bytes.len()].copy_from_slice(&own.bytes);
        }
        counters.given_up.increment(page.given_up as u64);
        running.push((count, page.count, page.arrived.unwrap_or(began)));
        count += page.count;
        job.give_back(page.parts);
        jobs.push(job);
    }
    if count == 0 {
        return;
    }
    if let Some(first) = running.iter().map(|(.., arrived)| *arrived).min() {
        counters.queue_seconds.record(began.duration_since(first).as_secs_f64());
    }
    let rounded = shared.shape.rounded(count);
    buffers.used = rounded;
    for (part, slots) in parts.iter().zip(&mut buffers.inputs) {
        let size = part.slot();
        (count..rounded).for_each(|item| slots.copy_within((count - 1) * size..count * size, item * size));
    }
    let slots: Vec<&[u8]> =
        parts.iter().zip(&buffers.inputs).map(|(part, slots)| &slots[..part.slot() * rounded]).collect();
    let mut outputs: Vec<&mut [u8]> =
        answered.iter().zip(&mut buffers.outputs).map(|(part, all)| &mut all[..part.bytes * rounded]).collect();
    let outcome = shared.backends.run(&Inputs::new(parts, &slots, rounded), &mut outputs);
    let ended = Instant::now();
    counters.batch_items.record(count as f64);
    counters.batch_seconds.record(ended.duration_since(began).as_secs_f64());
    let latencies = running.iter().map(|(_, count, arrived)| ended.duration_since(*arrived) * *count as u32).sum();
    shared.pace.count(choice, latencies, count);
    match outcome {
        Ok((status, ran)) => {
            counters.ran(ran);
            let mut errors = status.errors().iter().filter(|error| error.item < count).peekable();
            for (job, (begin, count, _)) in jobs.into_iter().zip(running) {
                let of_page = core::iter::from_fn(|| errors.next_if(|error| error.item < begin + count));
                job.answer(|answers| {
                    answers.failed = None;
                    answers.errors.clear();
                    answers.errors.extend(of_page.map(|error| (error.item - begin, error.kind)));
                    counters.failed.increment(answers.errors.len() as u64);
                    let empty = |part: &Part| (part.bytes, Secret { bytes: Vec::new(), is_secret: part.is_secret });
                    if answers.parts.is_empty() {
                        answers.parts = answered.iter().map(empty).collect();
                    }
                    for ((size, part), all) in answers.parts.iter_mut().zip(&outputs) {
                        part.clear();
                        part.bytes.extend_from_slice(&all[begin * *size..(begin + count) * *size]);
                    }
                });
            }
        }
        Err(error) => {
            counters.failed.increment(count as u64);
            jobs.into_iter().for_each(|job| job.answer(|answers| answers.failed = Some(error.clone())));
        }
    }
}
