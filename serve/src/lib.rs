//! Single requests in, batches underneath: a queue between callers that have one key exchange or signature at a time and
//! operations that run thousands at once, on a GPU or a CPU.
//!
//! ```
//! use ringforge::Engine;
//! use ringforge_ml_kem::MlKem768;
//! use ringforge_serve::operations::{Decapsulate, Encapsulate, Generate};
//! use ringforge_serve::{Config, Ready, Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let config = Config { batch: 16, in_flight: 1, ..Config::default() };
//! # /*
//! let config = Config::default();
//! # */
//! let engine = Engine::best(); // a GPU where there is one, else the CPU
//! let generate = Server::new(&engine, config, Generate::<MlKem768>::new)?;
//! let encapsulate = Server::new(&engine, config, Encapsulate::<MlKem768>::new)?;
//! let decapsulate = Server::new(&engine, config, Decapsulate::<MlKem768>::new)?;
//!
//! let key_pairs = Ready::new(generate.client("own keys"), 8)?;
//! let keys = key_pairs.take()?.wait()?; // a thread waits; a task writes `.await?`
//! let (public_key, secret_key) = (keys.part(0).unwrap(), keys.part(1).unwrap());
//!
//! let sent = encapsulate.client("192.0.2.7").call(&[public_key])?.wait()?;
//! let (ciphertext, shared_key) = (sent.part(0).unwrap(), sent.part(1).unwrap());
//! let received = decapsulate.client("192.0.2.7").call(&[secret_key, ciphertext])?.wait()?;
//! assert_eq!(received.part(0), Some(shared_key));
//! # Ok(())
//! # }
//! ```
//!
//! The guide `docs/guides/serving.md` says when it pays, and what the knobs do.
//!
//! # Secrets
//!
//! [Secret](Part::is_secret) parts of requests and answers are wiped before their memory is freed or used for something else:
//! when a caller gives up, when an answer is dropped, and after each batch. What a caller passes as a slice is its
//! own. The time of an answer depends on the load and on the number of attempts at a signature, not on secrets beyond that.
//!
//! # Metrics
//!
//! The crate `metrics` records, with the label `operation`: `ringforge_requests_total`, `ringforge_requests_refused_total`,
//! `ringforge_requests_given_up_total`, `ringforge_requests_failed_total`, `ringforge_requests_waiting`,
//! `ringforge_batch_items`, `ringforge_batch_seconds`, `ringforge_queue_seconds` (the wait of a batch's oldest request),
//! `ringforge_batches_on_device_total`, `ringforge_batches_on_cpu_total` and `ringforge_device_failures_total`.

mod backends;
mod config;
mod counters;
mod error;
mod lock;
mod operation;
pub mod operations;
mod pace;
mod page;
mod queue;
mod ready;
mod reply;
mod server;
mod shared;
mod sync;
#[cfg(test)]
mod wiping;
mod worker;

pub use config::{Config, Wait};
pub use error::{Failure, Refused};
pub use operation::{Inputs, Operation, Part, Shape};
pub use ready::Ready;
pub use reply::{Pending, Reply};
pub use server::{Client, Server};

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
