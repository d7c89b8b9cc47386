//! Tests of devices that fail and operations that panic.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringforge::{Device, Engine, Result};
use ringforge_batch::BatchStatus;
use ringforge_serve::operations::{SignSm2, VerifySm2};
use ringforge_serve::{Config, Failure, Inputs, Operation, Server, Shape, Wait};
use ringforge_sm2::{Mode, Sm2Error};
use ringforge_testkit::failing;

use crate::toy::{FIRST, Toy, broken};

#[test]
fn a_panic_hangs_nobody() {
    let panics = Arc::new(AtomicBool::new(false));
    let toy = Toy::new({
        let panics = panics.clone();
        move |_| {
            assert!(!panics.swap(false, Ordering::SeqCst), "planted");
            Ok(())
        }
    });
    let config = Config { in_flight: 1, wait: Wait::Fixed(Duration::ZERO), ..Config::default() };
    let server = Server::with_fallback(toy, None, config).unwrap();
    let client = server.client(0);
    panics.store(true, Ordering::SeqCst);
    assert_eq!(client.call(&[&[0; FIRST], b""]).unwrap().wait().unwrap_err(), Failure::Lost);
    assert!(client.call(&[&[0; FIRST], b""]).unwrap().wait().is_ok());
}

#[test]
fn a_batch_that_fails_everywhere_says_so() {
    let works = Arc::new(AtomicUsize::new(2));
    let toy = || {
        let works = works.clone();
        let left = move |left: usize| left.checked_sub(1);
        Toy::new(move |_| works.fetch_update(Ordering::SeqCst, Ordering::SeqCst, &left).map(drop).map_err(|_| broken()))
    };
    let config = Config { batch: 1, crossover: Some(0), ..Config::default() };
    let server = Server::with_fallback(toy(), Some(toy()), config).unwrap();
    let answer = server.client(0).call(&[&[0; FIRST], b""]).unwrap().wait();
    assert_eq!(answer.unwrap_err(), Failure::Run(broken()));
}

#[test]
fn small_batches_run_on_the_cpu_and_so_do_all_after_a_failure() {
    let fails = Arc::new(AtomicBool::new(false));
    let device = Toy::new({
        let fails = fails.clone();
        move |_| if fails.load(Ordering::SeqCst) { Err(broken()) } else { Ok(()) }
    });
    let cpu = Toy::working();
    let seen = [device.seen.clone(), cpu.seen.clone()];
    let counts = || seen.each_ref().map(|seen| seen.items.load(Ordering::SeqCst));
    // one item does not suffice for the device, and two always come together
    let wait = Wait::Fixed(Duration::from_secs(60));
    let config = Config { batch: 2, in_flight: 1, crossover: Some(1), wait, ..Config::default() };
    let server = Server::with_fallback(device, Some(cpu), config).unwrap();
    let client = server.client(0);
    let before = counts();
    let two = || {
        let pending = [1, 2].map(|value| client.call(&[&[value; FIRST], b""]).unwrap());
        pending.into_iter().for_each(|pending| drop(pending.wait().unwrap()));
    };
    two();
    assert_eq!(counts(), [before[0] + 2, before[1]]);
    fails.store(true, Ordering::SeqCst);
    two();
    fails.store(false, Ordering::SeqCst);
    two(); // the device is left alone for a second
    assert_eq!(counts(), [before[0] + 2, before[1] + 4]);
    std::thread::sleep(Duration::from_millis(1100));
    two();
    assert_eq!(counts(), [before[0] + 4, before[1] + 4]);
    let pending = client.call(&[&[1; FIRST], b""]).unwrap();
    server.drain(); // which does not wait for a second request
    assert!(pending.wait().is_ok());
    assert_eq!(counts(), [before[0] + 4, before[1] + 5]);
}

/// Signs, and fails after that in some runs: the signatures that were made are recorded.
struct FailsAfterSigning {
    inner: SignSm2,
    runs: AtomicUsize,
    made: Arc<Mutex<Vec<Vec<u8>>>>,
    fails: Arc<AtomicBool>,
}

impl Operation for FailsAfterSigning {
    type Error = Sm2Error;

    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn device(&self) -> &Device {
        self.inner.device()
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        self.inner.example()
    }

    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<Sm2Error>> {
        let status = self.inner.run(batch, outputs)?;
        self.made.lock().unwrap().extend(outputs[0].chunks(64).map(<[u8]>::to_vec));
        if self.fails.load(Ordering::SeqCst) && self.runs.fetch_add(1, Ordering::SeqCst) % 3 == 2 {
            Err(broken())
        } else {
            Ok(status)
        }
    }
}

#[test]
fn no_nonce_is_used_again_after_a_failure() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let made = Arc::<Mutex<Vec<Vec<u8>>>>::default();
    let fails = Arc::new(AtomicBool::new(false));
    let operation = |fails: &Arc<AtomicBool>| -> Result<_> {
        let inner = SignSm2::new(&Engine::cpu(), Mode::Scan)?;
        Ok(FailsAfterSigning { inner, runs: AtomicUsize::new(0), made: made.clone(), fails: fails.clone() })
    };
    let config = Config { batch: 16, crossover: Some(0), ..Config::default() };
    let server = Server::with_fallback(operation(&fails)?, Some(operation(&Arc::default())?), config)?;
    fails.store(true, Ordering::SeqCst);
    let verifier = Server::new(&Engine::cpu(), config, VerifySm2::new)?;
    let (mut private_key, mut public_key) = ([0; 32], [0; 64]);
    let signer = ringforge_sm2::Signer::new(&Engine::cpu(), Mode::Scan)?;
    signer.generate(&mut private_key, &mut public_key)?.into_result()?;
    let (client, verifying) = (server.client(0), verifier.client(0));
    let mut answered = 0;
    // the device fails at once after its pause, so most of these are signed by the CPU
    for round in 0..3u8 {
        let pending: Vec<_> = (0..60u8)
            .map(|i| client.call(&[&private_key, &[i, round].repeat(16)]))
            .collect::<std::result::Result<_, _>>()?;
        for (i, pending) in (0..60u8).zip(pending) {
            let signature = pending.wait()?;
            let signature = signature.part(0).expect("a signature");
            verifying.call(&[&public_key, &[i, round].repeat(16), signature])?.wait()?;
            answered += 1;
        }
        std::thread::sleep(Duration::from_millis(if round == 0 { 1050 } else { 0 }));
    }
    let made = made.lock().unwrap();
    assert!(made.len() > answered, "batches failed after they were signed");
    let nonces: HashSet<&[u8]> = made.iter().map(|signature| &signature[..32]).collect();
    assert_eq!(nonces.len(), made.len(), "each signature has its own nonce");
    Ok(())
}

#[test]
fn a_device_that_fails_at_any_of_its_calls_answers_nothing_wrongly() {
    let (device, fault) = failing::device();
    let operation = |engine: &Engine| VerifySm2::new(engine).unwrap();
    let example = operation(&Engine::cpu()).example().unwrap();
    let mut bad = example.clone();
    bad[2][40] ^= 1;
    let config = Config { batch: 4, in_flight: 2, crossover: Some(0), ..Config::default() };
    for call in 1.. {
        // a new server, whose device has not failed yet
        let (on_device, cpu) = (operation(&Engine::on(device.clone())), operation(&Engine::cpu()));
        let server = Server::with_fallback(on_device, Some(cpu), config).unwrap();
        let client = server.client(0);
        fault.at(call);
        let send = |parts: &[Vec<u8>]| client.call(&parts.iter().map(|part| &part[..]).collect::<Vec<_>>()).unwrap();
        let pending: Vec<_> = (0..6).map(|i| send(if i % 2 == 0 { &example } else { &bad })).collect();
        for (i, pending) in pending.into_iter().enumerate() {
            let answer = pending.wait();
            assert_eq!(answer.is_ok(), i % 2 == 0, "call {call}, request {i}: {answer:?}");
        }
        let happened = fault.happened();
        fault.at(0);
        if !happened {
            assert!(call > 1, "the device was called");
            return;
        }
    }
}
