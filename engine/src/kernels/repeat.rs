//! The kernels `repeat_list`, `repeat_number`, `repeat_take` and `repeat_put`: compaction, gathering and scattering for
//! a [`Repetition`](crate::run::Repetition).

use core::ops::Range;

use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_runtime::kernel::{Args, Built, Kernel, Launch, Port, Source};
use ringforge_runtime::limits::Limits;

/// The status of an attempt that did not succeed: its item gets another one.
pub const AGAIN: u32 = 0x1e7a_0a9a;

const THREADS: u32 = 256;
/// Threads of the block that lists items.
const LIST_THREADS: u32 = 1024;
/// Marks a finished item, and the end of the list of unfinished items.
const NO_ITEM: u32 = u32::MAX;
/// Bytes of a round: the number of its first attempt, then attempts per item, as 32-bit words.
const ROUND: usize = 8;
const WORD: usize = size_of::<u32>();

/// One of the four kernels. Statuses, places, lists and rounds are 32-bit words.
#[derive(Debug)]
pub(crate) struct Repeat {
    step: Step,
    ports: Vec<Port>,
    /// The run-time constants of the source.
    numbers: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    List,
    Number,
    Take,
    Put,
}

impl Repeat {
    /// Statuses of `items` items → list of the unfinished items, place of each item in it, number of unfinished items.
    pub(crate) fn list(items: usize) -> Self {
        let all = WORD.saturating_mul(items);
        let ports = vec![Port::input(all), Port::output(all), Port::output(all), Port::output(WORD)];
        Self { step: Step::List, ports, numbers: vec![items as u64] }
    }

    /// Round → number of each attempt.
    pub(crate) fn number() -> Self {
        Self { step: Step::Number, ports: vec![Port::shared(ROUND), Port::output(WORD)], numbers: Vec::new() }
    }

    /// List of the unfinished among `items` items, round, `bytes` bytes for each item → those bytes for each attempt.
    pub(crate) fn take(items: usize, bytes: usize, secret: bool) -> Self {
        let [mut from, mut to] = [Port::shared(bytes.saturating_mul(items)), Port::output(bytes)];
        (from.secret, to.secret) = (secret, secret);
        let ports = vec![Port::shared(WORD.saturating_mul(items)), Port::shared(ROUND), from, to];
        Self { step: Step::Take, ports, numbers: vec![(bytes / WORD) as u64, items as u64] }
    }

    /// Places of items, round, statuses of at most `attempts` attempts, `bytes` bytes for each of them → those bytes for
    /// the items that the round finishes.
    pub(crate) fn put(attempts: usize, bytes: usize, secret: bool) -> Self {
        let [mut from, mut to] = [Port::shared(bytes.saturating_mul(attempts)), Port::in_out(bytes)];
        (from.secret, to.secret) = (secret, secret);
        let statuses = Port::shared(WORD.saturating_mul(attempts));
        let ports = vec![Port::input(WORD), Port::shared(ROUND), statuses, from, to];
        Self { step: Step::Put, ports, numbers: vec![(bytes / WORD) as u64, attempts as u64] }
    }
}

impl Kernel for Repeat {
    fn name(&self) -> &'static str {
        match self.step {
            Step::List => "repeat_list",
            Step::Number => "repeat_number",
            Step::Take => "repeat_take",
            Step::Put => "repeat_put",
        }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let thread_per_item = Launch::thread_per_item(THREADS);
        let warps = THREADS / 32;
        let (text, launch) = match self.step {
            Step::List => {
                let shared_bytes = LIST_THREADS / 32 * WORD as u32;
                (
                    ringforge_kernels::REPEAT_LIST,
                    Launch { items_per_block: 1, shared_bytes, ..Launch::thread_per_item(LIST_THREADS) },
                )
            }
            Step::Number => (ringforge_kernels::REPEAT_NUMBER, thread_per_item),
            Step::Take => (ringforge_kernels::REPEAT_TAKE, Launch { items_per_block: warps, ..thread_per_item }),
            Step::Put => (ringforge_kernels::REPEAT_PUT, Launch { items_per_block: warps, ..thread_per_item }),
        };
        let task = [("threads", launch.threads), ("again", AGAIN), ("no_item", NO_ITEM)];
        let built = Built::new(launch).constants("Task", &task.each_ref().map(|(name, value)| (*name, value as _)));
        Ok(of_engine(self, text, built, self.numbers.clone()))
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        match self.step {
            Step::List => args.each(items, |_, arrays| {
                list_unfinished(arrays);
                Ok(())
            }),
            Step::Number => args.each(items, |attempt, (round, number): (&[u32; 2], &mut u32)| {
                *number = round[0].wrapping_add(attempt as u32 % round[1].max(1));
                Ok(())
            }),
            Step::Take => {
                args.each(items, |attempt, (list, round, from, to): (&[u32], &[u32; 2], &[u8], &mut [u8])| {
                    // the item is in the batch, for any contents of the arrays
                    let last = list.len() - 1;
                    let place = (attempt / round[1].max(1) as usize).min(last);
                    let item = (list[place] as usize).min(last);
                    to.copy_from_slice(&from[item * to.len()..][..to.len()]);
                    Ok(())
                })
            }
            Step::Put => {
                args.each(items, |_, (place, round, statuses, from, to): (&u32, _, &[u32], &[u8], &mut [u8])| {
                    put(*place, round, statuses, from, to);
                    Ok(())
                })
            }
        }
    }

    fn describe(&self) -> String {
        match (self.step, &self.numbers[..]) {
            (Step::List, [items]) => format!("{items} items"),
            (_, [words, _]) => format!("{words} words"),
            _ => String::new(),
        }
    }
}

fn list_unfinished((statuses, list, places, count): (&[u32], &mut [u32], &mut [u32], &mut u32)) {
    let mut unfinished = 0;
    list.fill(NO_ITEM);
    for (item, (status, place)) in statuses.iter().zip(places).enumerate() {
        *place = NO_ITEM;
        if *status == AGAIN {
            (list[unfinished], *place) = (item as u32, unfinished as u32);
            unfinished += 1;
        }
    }
    *count = unfinished as u32;
}

/// Copies the output of the item's first finished attempt from `from`, the outputs of all attempts.
fn put(place: u32, [_, per_item]: &[u32; 2], statuses: &[u32], from: &[u8], to: &mut [u8]) {
    if place == NO_ITEM {
        return;
    }
    let per_item = (*per_item).max(1) as usize;
    let attempts = (place as usize * per_item..).take(per_item).take_while(|&attempt| attempt < statuses.len());
    if let Some(attempt) = attempts.into_iter().find(|&attempt| statuses[attempt] != AGAIN) {
        to.copy_from_slice(&from[attempt * to.len()..][..to.len()]);
    }
}
