//! [`Pace`]: how long batches that are not full wait for more requests.

use std::sync::Mutex;
use std::time::Duration;

use crate::config::Wait;
use crate::lock::lock;

/// Batches between two trials.
const BETWEEN: u32 = 512;
/// Batches of a trial. Every second one waits for the other time.
const TRIAL: u32 = 128;
/// A time is taken for another one if that lowers the mean latency by more than one part in this many.
const WORTH: u32 = 50;

/// Chooses the time for which a batch waits: a given one, or the one of a few that gives the least mean latency.
pub(crate) struct Pace {
    times: Vec<Duration>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of the time that is used, and of the one on trial.
    used: usize,
    tried: usize,
    batches: u32,
    trials: usize,
    /// Sum of latencies and number of requests, for the used time and for the one on trial.
    sums: [(Duration, u32); 2],
}

impl Pace {
    /// `of_one` is the time of a batch of one item.
    pub(crate) fn new(wait: Wait, of_one: Duration) -> Self {
        let times = match wait {
            Wait::Fixed(time) => vec![time],
            Wait::Measured => vec![Duration::ZERO, of_one / 4, of_one / 2, of_one],
        };
        Self { times, state: Mutex::default() }
    }

    /// How long the next batch waits, and which of the times that is.
    pub(crate) fn next(&self) -> (Duration, usize) {
        let mut state = lock(&self.state);
        if self.times.len() > 1 {
            self.step(&mut state);
        }
        let on_trial = state.tried != state.used && state.batches % 2 == 1;
        let choice = if on_trial { state.tried } else { state.used };
        (self.times[choice], choice)
    }

    /// Counts a batch: its choice of [`Pace::next`], the sum of its requests' latencies, and their number.
    pub(crate) fn count(&self, choice: usize, latencies: Duration, requests: usize) {
        let mut state = lock(&self.state);
        if state.tried == state.used {
            return;
        }
        let on_trial = usize::from(choice == state.tried);
        if choice == state.tried || choice == state.used {
            let (sum, count) = &mut state.sums[on_trial];
            *sum += latencies;
            *count = count.saturating_add(requests as u32);
        }
    }

    fn step(&self, state: &mut State) {
        state.batches += 1;
        if state.tried == state.used && state.batches >= BETWEEN {
            // alternates between a longer and a shorter time
            state.trials += 1;
            let longer = state.trials % 2 == 1;
            state.tried =
                if longer { (state.used + 1).min(self.times.len() - 1) } else { state.used.saturating_sub(1) };
            state.batches = 0;
            state.sums = Default::default();
        } else if state.tried != state.used && state.batches >= TRIAL {
            let mean = |(sum, count): (Duration, u32)| (count > 0).then(|| sum / count);
            if let [Some(used), Some(tried)] = state.sums.map(mean)
                && tried + tried / WORTH < used
            {
                state.used = state.tried;
            }
            state.tried = state.used;
            state.batches = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time in use after many batches, whose mean latency is a function of the time that they wait.
    fn found(latency: impl Fn(Duration) -> Duration) -> Duration {
        let pace = Pace::new(Wait::Measured, Duration::from_micros(400));
        for _ in 0..20 * (BETWEEN + TRIAL) {
            let (time, choice) = pace.next();
            pace.count(choice, latency(time) * 10, 10);
        }
        pace.times[lock(&pace.state).used]
    }

    #[test]
    fn the_time_with_the_least_latency_is_found() {
        let us = Duration::from_micros;
        assert_eq!(found(|time| us(500) + time), us(0));
        assert_eq!(found(|time| us(1000) - time), us(400));
        assert_eq!(found(|time| us(500) + time.abs_diff(us(200))), us(200));
        let fixed = Pace::new(Wait::Fixed(us(70)), us(400));
        assert!((0..1000).all(|_| fixed.next() == (us(70), 0)));
    }
}
