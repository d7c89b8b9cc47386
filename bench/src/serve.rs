//! Single calls in batches: a server under loads below and above its capacity.

mod load;

use anyhow::Result;
use ringforge::{Device, Engine};
use ringforge_batch::{Batch, BatchStatus, KemScheme, Messages, SchemeError, SignatureScheme, Signatures};
use ringforge_cli::measure::Times;
use ringforge_cli::record::{Latency, Measurement};
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Scope, Suite};
use ringforge_ml_dsa::MlDsa65;
use ringforge_ml_kem::MlKem768;
use ringforge_serve::operations::{Encapsulate, Sign, SignSm2, Verify, VerifySm2};
use ringforge_serve::{Config, Inputs, Operation, Reply, Server, Shape};
use ringforge_sm2::{Mode, Signer, Verifier};
use ringforge_testkit::bytes;

use load::{Arrivals, Example, Load, run};

pub(crate) static SUITE: Suite = Suite {
    name: "serve",
    title: "Single calls",
    about: "A request is one item and one future, from host memory to host memory. Threads that each poll their own futures send \
            them at random times that do not wait for answers. A latency counts from the time at which its request was to be \
            sent. The capacity is the rate at which a server answers callers that always keep its queue full. The lines \
            with percentages offer that part of it. Requests beyond the queue's room are refused; those for which the \
            sending threads, on the same CPU, were more than 1 ms late are not sent. Beside them: the highest rate with \
            p99 below 5 ms and less than 0.1 % refused (half of the capacity, if there is none), the queue with an operation that does nothing, and the same server \
            without a GPU.",
    headline: Some(("SM2 verify", UNDER_5_MS)),
    cases,
    ..Suite::NONE
};

const UNDER_5_MS: &str = "p99 below 5 ms";
const CAPACITY: &str = "capacity";
const QUEUE: &str = "queue alone";
const ON_CPU: &str = "without a GPU";
/// Parts of the capacity that are offered, in percent.
const OFFERED: [(&str, f64); 5] = [
    ("1 % of capacity", 0.01),
    ("10 % of capacity", 0.1),
    ("80 % of capacity", 0.8),
    ("100 % of capacity", 1.0),
    ("200 % of capacity", 2.0),
];
/// Parts of the capacity at which latencies below 5 ms are looked for.
const TRIED: [f64; 6] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5];

/// Different requests; one in 64 of them is invalid, if an operation has invalid requests.
const EXAMPLES: usize = 1024;
const MESSAGE: usize = 32;

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let batch = scope.batches(&[scope.either(0, 64)])[0];
    Ok(vec![
        case("SM2 verify", batch, VerifySm2::new, sm2_signatures, |_, _, _| Ok(true)),
        case("SM2 sign", batch, |engine| SignSm2::new(engine, Mode::Throughput), sm2_keys, sm2_signed),
        case("ML-KEM-768 encapsulation", batch, Encapsulate::<MlKem768>::new, kem_keys, kem_encapsulated),
        case(
            "ML-DSA-65 verify",
            batch,
            |engine| Verify::<MlDsa65>::new(engine, MESSAGE),
            dsa_signatures,
            |_, _, _| Ok(true),
        ),
        case("ML-DSA-65 sign", batch, |engine| Sign::<MlDsa65>::new(engine, MESSAGE), dsa_keys, dsa_signed),
    ])
}

/// Measures a server of an operation. `examples` makes requests, and `check` tests some of the answers.
fn case<O: Operation>(
    name: &'static str,
    batch: usize,
    operation: impl Fn(&Engine) -> ringforge::Result<O> + Send + Sync + 'static,
    examples: impl Fn(&Engine, usize) -> Result<Vec<Example>> + Send + Sync + 'static,
    check: impl Fn(&Engine, &[Example], &[(usize, Reply)]) -> Result<bool> + Send + Sync + 'static,
) -> Case {
    let named = OFFERED.iter().map(|(name, _)| *name);
    let operations: Vec<&str> = [CAPACITY, UNDER_5_MS].into_iter().chain(named).chain([QUEUE, ON_CPU]).collect();
    Case::new(name, &operations, move |bench, wanted| {
        let config = if batch == 0 { Config::default() } else { Config { batch, ..Config::default() } };
        let engine = Engine::on(bench.device.clone());
        let examples = examples(&engine, if bench.effort.samples == 0 { 8 } else { EXAMPLES })?;
        let server = Server::new(&engine, config, &operation)?;
        let measure = Measured { bench, name, config, examples: &examples };
        let mut lines = Vec::new();
        // the load of the first run is the warm-up
        measure.closed(&server);
        let full = measure.closed(&server);
        let capacity = full.rate();
        let right =
            |load: &Load| Ok::<_, anyhow::Error>(load.samples.is_empty() || check(&engine, &examples, &load.samples)?);
        let mut add = |operation: &str, offered: f64, load: &Load, right: bool| {
            if wanted.has(operation) {
                lines.push(measure.line(operation, offered, load, right));
            }
        };
        add(CAPACITY, capacity, &full, right(&full)?);
        for (operation, part) in OFFERED {
            let load = measure.open(&server, capacity * part);
            add(operation, capacity * part, &load, right(&load)?);
        }
        if wanted.has(UNDER_5_MS) {
            // half of the capacity, if no rate is fast enough
            for (i, part) in TRIED.into_iter().enumerate() {
                let load = measure.open(&server, capacity * part);
                let lost = load.refused + load.unsent;
                let is_fast = load.percentile(0.99) < 0.005 && 1000 * lost < load.latencies.len();
                if is_fast || i + 1 == TRIED.len() {
                    add(UNDER_5_MS, capacity * part, &load, right(&load)?);
                    break;
                }
            }
        }
        server.drain();
        let nothing = Nothing { of: operation(&engine)? };
        let mut load = measure.closed(&Server::with_fallback(nothing, None, config)?);
        load.wrong = 0; // it takes all requests for valid ones
        add(QUEUE, load.rate(), &load, true);
        let load = measure.closed(&Server::new(&Engine::cpu(), config, &operation)?);
        add(ON_CPU, load.rate(), &load, right(&load)?);
        Ok(lines)
    })
}

/// The settings of a case.
struct Measured<'a> {
    bench: &'a Bench,
    name: &'static str,
    config: Config,
    examples: &'a [Example],
}

impl Measured<'_> {
    fn seconds(&self) -> f64 {
        if self.bench.effort.samples == 0 { 0.02 } else { 1.0 }
    }

    /// Threads that send requests, which are as many clients: 6 of 16.
    fn generators(&self) -> usize {
        std::thread::available_parallelism().map_or(1, |threads| (threads.get() * 3 / 8).max(1))
    }

    fn closed<O: Operation>(&self, server: &Server<O>) -> Load {
        let arrivals = Arrivals::Closed((self.config.waiting + self.config.in_flight) * self.config.batch);
        run(server, self.examples, arrivals, self.seconds(), self.generators(), self.bench.seed)
    }

    fn open<O: Operation>(&self, server: &Server<O>, rate: f64) -> Load {
        run(server, self.examples, Arrivals::Open(rate), self.seconds(), self.generators(), self.bench.seed)
    }

    fn line(&self, operation: &str, offered: f64, load: &Load, right: bool) -> Measurement {
        let answers = load.latencies.len().max(1);
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|part| load.percentile(part));
        let sent = load.refused + answers;
        let (refused, unsent) = (load.refused as f64 / sent as f64, load.unsent as f64 / (load.unsent + sent) as f64);
        let line = Measurement::new(self.name, operation, answers, Times::of(vec![load.seconds], 1, 1));
        let latency = Some(Latency { offered_per_second: offered, unsent, p50, p99, p999, refused });
        let line = Measurement { latency, ..line };
        line.checked("each request is answered once, and as in a batch", right && load.wrong == 0)
    }
}

/// An operation of the same requests and answers that does nothing.
struct Nothing<O> {
    of: O,
}

impl<O: Operation> Operation for Nothing<O> {
    type Error = O::Error;

    fn shape(&self) -> Shape {
        Shape { name: "nothing".into(), ..self.of.shape() }
    }

    fn device(&self) -> &Device {
        self.of.device()
    }

    fn example(&self) -> ringforge::Result<Vec<Vec<u8>>> {
        self.of.example()
    }

    fn run(&self, _: &Inputs<'_>, _: &mut [&mut [u8]]) -> ringforge::Result<BatchStatus<O::Error>> {
        Ok(BatchStatus::new(Vec::new()))
    }
}

/// `count` requests of these parts. Each part, and the other keys, hold one item after another.
fn split(count: usize, parts: &[&[u8]], other_keys: &[u8]) -> Vec<Example> {
    let part = |bytes: &[u8], i: usize| bytes[i * (bytes.len() / count)..][..bytes.len() / count].to_vec();
    let example = |i| Example {
        parts: parts.iter().map(|bytes| part(bytes, i)).collect(),
        is_valid: true,
        other_key: part(other_keys, i),
    };
    (0..count).map(example).collect()
}

/// Damages one in 64 signatures, which are part 2 of a request.
fn damaged(mut examples: Vec<Example>) -> Vec<Example> {
    for example in examples.iter_mut().skip(5).step_by(64) {
        example.parts[2][40] ^= 4;
        example.is_valid = false;
    }
    examples
}

fn ok<E: SchemeError>(status: BatchStatus<E>) -> Result<()> {
    Ok(status.into_result()?)
}

/// A part of the requests of some answers, one after another.
fn part(examples: &[Example], samples: &[(usize, Reply)], part: usize) -> Vec<u8> {
    samples.iter().flat_map(|(number, _)| examples[*number].parts[part].clone()).collect()
}

/// The other keys of the requests of some answers.
fn other_keys(examples: &[Example], samples: &[(usize, Reply)]) -> Vec<u8> {
    samples.iter().flat_map(|(number, _)| examples[*number].other_key.clone()).collect()
}

/// A part of some answers.
fn answered(samples: &[(usize, Reply)], part: usize) -> Vec<u8> {
    samples.iter().flat_map(|(_, reply)| reply.part(part).unwrap_or_default()).copied().collect()
}

fn sm2_keys(engine: &Engine, count: usize) -> Result<Vec<Example>> {
    let (mut private, mut public) = (vec![0; 32 * count], vec![0; 64 * count]);
    ok(Signer::new(engine, Mode::Throughput)?.generate(&mut private, &mut public)?)?;
    Ok(split(count, &[&private, &bytes(1, 32 * count)], &public))
}

fn sm2_signatures(engine: &Engine, count: usize) -> Result<Vec<Example>> {
    let signer = Signer::new(engine, Mode::Throughput)?;
    let (mut private, mut public, digests) = (vec![0; 32 * count], vec![0; 64 * count], bytes(1, 32 * count));
    ok(signer.generate(&mut private, &mut public)?)?;
    let mut signatures = vec![0; 64 * count];
    ok(signer.sign(&private, &digests, &mut signatures)?)?;
    Ok(damaged(split(count, &[&public, &digests, &signatures], &private)))
}

fn sm2_signed(engine: &Engine, examples: &[Example], samples: &[(usize, Reply)]) -> Result<bool> {
    let (public, digests) = (other_keys(examples, samples), part(examples, samples, 1));
    Ok(Verifier::new(engine)?.verify(&public, &digests, &answered(samples, 0))?.errors().is_empty())
}

fn kem_keys(engine: &Engine, count: usize) -> Result<Vec<Example>> {
    let sizes = MlKem768::SIZES;
    let (mut public, mut secret) = (vec![0; sizes.public_key * count], vec![0; sizes.secret_key * count]);
    ok(Batch::<MlKem768>::new(engine)?.generate(&mut public, &mut secret)?)?;
    Ok(split(count, &[&public], &secret))
}

fn kem_encapsulated(engine: &Engine, examples: &[Example], samples: &[(usize, Reply)]) -> Result<bool> {
    let mut shared = vec![0; MlKem768::SIZES.shared_key * samples.len()];
    let kem = Batch::<MlKem768>::new(engine)?;
    ok(kem.decapsulate(&other_keys(examples, samples), &answered(samples, 0), &mut shared)?)?;
    Ok(shared == answered(samples, 1))
}

fn dsa_keys(engine: &Engine, count: usize) -> Result<Vec<Example>> {
    let sizes = MlDsa65::SIZES;
    let (mut public, mut secret) = (vec![0; sizes.public_key * count], vec![0; sizes.secret_key * count]);
    ok(Signatures::<MlDsa65>::new(engine)?.generate(&mut public, &mut secret)?)?;
    Ok(split(count, &[&secret, &bytes(1, MESSAGE * count)], &public))
}

fn dsa_signatures(engine: &Engine, count: usize) -> Result<Vec<Example>> {
    let mut examples = dsa_keys(engine, count)?;
    let dsa = Signatures::<MlDsa65>::new(engine)?;
    let all = |part: usize| examples.iter().flat_map(|example| example.parts[part].clone()).collect::<Vec<_>>();
    let (secret, texts) = (all(0), all(1));
    let messages: Vec<&[u8]> = texts.chunks(MESSAGE).collect();
    let mut signatures = vec![0; MlDsa65::SIZES.signature * count];
    ok(dsa.sign(&secret, &Messages::new(&messages), &mut signatures)?)?;
    for (example, signature) in examples.iter_mut().zip(signatures.chunks(MlDsa65::SIZES.signature)) {
        core::mem::swap(&mut example.parts[0], &mut example.other_key);
        example.parts.push(signature.to_vec());
    }
    Ok(damaged(examples))
}

fn dsa_signed(engine: &Engine, examples: &[Example], samples: &[(usize, Reply)]) -> Result<bool> {
    let texts = part(examples, samples, 1);
    let messages: Vec<&[u8]> = texts.chunks(MESSAGE).collect();
    let dsa = Signatures::<MlDsa65>::new(engine)?;
    let status = dsa.verify(&other_keys(examples, samples), &Messages::new(&messages), &answered(samples, 0))?;
    Ok(status.errors().is_empty())
}
