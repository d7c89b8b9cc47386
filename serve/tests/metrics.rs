//! The metrics that a server records.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use metrics::{Counter, CounterFn, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use ringforge_serve::{Config, Server};

use crate::toy::{FIRST, Toy};

/// Counts, by name and operation.
#[derive(Default)]
struct Counts(Mutex<HashMap<String, Arc<Count>>>);

#[derive(Default)]
struct Count(AtomicU64);

impl CounterFn for Count {
    fn increment(&self, value: u64) {
        self.0.fetch_add(value, Ordering::SeqCst);
    }

    fn absolute(&self, value: u64) {
        self.0.store(value, Ordering::SeqCst);
    }
}

impl Recorder for Counts {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let operation = key.labels().map(|label| label.value()).collect::<String>();
        let count = self.0.lock().unwrap().entry(format!("{} {operation}", key.name())).or_default().clone();
        Counter::from_arc(count)
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[test]
fn requests_are_counted() {
    let counts = Counts::default();
    let config = Config { crossover: Some(0), ..Config::default() };
    let server = metrics::with_local_recorder(&counts, || Server::with_fallback(Toy::working(), None, config)).unwrap();
    let client = server.client(0);
    let pending: Vec<_> = [1, 2, 255].map(|value| client.call(&[&[value; FIRST], b""]).unwrap()).into();
    assert_eq!(pending.into_iter().filter_map(|pending| pending.wait().ok()).count(), 2);
    assert!(client.call(&[]).is_err());
    server.drain();
    let of = |name: &str| counts.0.lock().unwrap()[&format!("ringforge_{name} toy")].0.load(Ordering::SeqCst);
    assert_eq!(["requests_total", "requests_refused_total", "requests_failed_total"].map(of), [3, 1, 1]);
    assert_eq!(["requests_given_up_total", "batches_on_cpu_total", "device_failures_total"].map(of), [0; 3]);
    assert!((1..=3).contains(&of("batches_on_device_total")));
}
