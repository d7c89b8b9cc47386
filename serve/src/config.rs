//! [`Config`]: how a server gathers batches.

use core::time::Duration;

/// How a [`Server`](crate::Server) gathers batches. The chapter `docs/guides/serving.md` says how to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The most items of a batch.
    pub batch: usize,
    /// The number of batches in flight. Each has a thread and host memory for a full batch.
    pub in_flight: usize,
    /// How long a batch that is not full waits for more requests.
    pub wait: Wait,
    /// The number of full batches that may wait. Further requests are refused, unless their lane has less than its share. So
    /// at most twice as many can wait, rounded up to a page of requests for each lane. By default it equals `in_flight`: a request that is accepted then waits about as long
    /// as it runs, even under overload.
    pub waiting: usize,
    /// The number of lanes. A client is hashed to a lane, and batches are filled from all lanes by round robin. So a client
    /// that floods the server delays only the clients of its own lane.
    pub lanes: usize,
    /// Batches of up to this many items run on the CPU. `None`: those for which the CPU was faster when the server
    /// started.
    pub crossover: Option<usize>,
}

/// How long a batch that is not full waits for more requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// This long after its first request. With zero, a worker that is free takes what there is. Batches then grow with
    /// the load, because requests gather while all workers are busy.
    Fixed(Duration),
    /// As long as gave the least mean latency. The server tries longer and shorter times now and then, from zero to the
    /// time of a batch of one item.
    Measured,
}

impl Default for Config {
    fn default() -> Self {
        Self { batch: 4096, in_flight: 4, wait: Wait::Measured, waiting: 4, lanes: 64, crossover: None }
    }
}
