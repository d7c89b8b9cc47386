//! [`Counters`]: the metrics of a server.

use metrics::{Counter, Gauge, Histogram};

use crate::backends::Ran;

/// The metrics of a server, each with the label `operation`. A recorder of the crate `metrics` must be installed before
/// the server is made.
pub(crate) struct Counters {
    pub(crate) taken: Counter,
    pub(crate) refused: Counter,
    pub(crate) given_up: Counter,
    pub(crate) failed: Counter,
    pub(crate) waiting: Gauge,
    pub(crate) batch_items: Histogram,
    pub(crate) batch_seconds: Histogram,
    pub(crate) queue_seconds: Histogram,
    on_device: Counter,
    on_cpu: Counter,
    device_failures: Counter,
}

impl Counters {
    pub(crate) fn new(operation: &str) -> Self {
        let counter = |name: &'static str| metrics::counter!(name, "operation" => operation.to_owned());
        let histogram = |name: &'static str| metrics::histogram!(name, "operation" => operation.to_owned());
        Self {
            taken: counter("ringforge_requests_total"),
            refused: counter("ringforge_requests_refused_total"),
            given_up: counter("ringforge_requests_given_up_total"),
            failed: counter("ringforge_requests_failed_total"),
            waiting: metrics::gauge!("ringforge_requests_waiting", "operation" => operation.to_owned()),
            batch_items: histogram("ringforge_batch_items"),
            batch_seconds: histogram("ringforge_batch_seconds"),
            queue_seconds: histogram("ringforge_queue_seconds"),
            on_device: counter("ringforge_batches_on_device_total"),
            on_cpu: counter("ringforge_batches_on_cpu_total"),
            device_failures: counter("ringforge_device_failures_total"),
        }
    }

    pub(crate) fn ran(&self, ran: Ran) {
        match ran {
            Ran::Device => self.on_device.increment(1),
            Ran::Cpu => self.on_cpu.increment(1),
            Ran::CpuAfterFailure => {
                self.on_cpu.increment(1);
                self.device_failures.increment(1);
            }
        }
    }
}
