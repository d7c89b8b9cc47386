//! Captured runs give the same results as ordinary runs, can be replayed any number of times, and return the same
//! errors for invalid arguments.

use std::sync::Arc;

use ringforge::kernels::RandomBlock;
use ringforge::run::{Captured, CapturedArg};
use ringforge::{Device, Error, Job, Modulus, Op, Planner, PolyType, Program, RandomKey, Ring};
use ringforge_testkit::{devices, residues};

fn ring() -> PolyType {
    let q = Modulus::new(12289u32).expect("a modulus");
    PolyType::from(Ring::negacyclic(64, q).expect("a ring"))
}

fn program(device: &Device, op: Op) -> Program {
    let plan = Planner::new(device.limits().clone()).plan(&Job::new(ring(), op)).expect("a plan");
    device.compile(&plan).expect("a program")
}

/// The product computed by an ordinary run, without capture.
fn product(device: &Device, batch: usize, a: &[u8], b: &[u8]) -> Vec<u8> {
    let stream = device.stream().expect("a stream");
    let [a, b] = [a, b].map(|bytes| stream.upload(bytes).expect("a buffer"));
    let mut out = device.buffer(a.len()).expect("a buffer");
    let program = program(device, Op::Mul);
    program.on(&stream, batch).input("a", &a).input("b", &b).output("product", &mut out).run().expect("a run");
    stream.download(&out).expect("bytes")
}

#[test]
fn every_run_matches_the_first() {
    let (ring, batch) = (ring(), 3);
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let key = residues(&ring, 1, batch);
        let shared = Arc::new(stream.upload(&key).expect("a buffer"));
        let new = || CapturedArg::from(device.buffer(batch * ring.bytes()).expect("a buffer"));
        let capture = || {
            // arguments may come in any order
            let args = vec![("b", shared.clone().into()), ("product", new()), ("a", new())];
            program(&device, Op::Mul).capture(&stream, batch, args)
        };
        let mut all: [Captured; 2] = [capture(), capture()].map(|captured| captured.expect("a captured run"));
        for seed in 2..6 {
            for (i, captured) in all.iter_mut().enumerate() {
                let a = residues(&ring, 10 * seed + i as u64, batch);
                captured.write("a", &a).expect("an input");
                captured.run().expect("a run");
                let found: Vec<u8> = stream.download(captured.buffer("product").expect("an output")).expect("bytes");
                assert!(found == product(&device, batch, &a, &key), "{device}");
            }
        }
        let [captured, _] = all;
        let args = captured.into_args();
        assert!(stream.download::<u8>(args[1].1.buffer()).expect("bytes") == key);
        assert_eq!(args.len(), 3);
    }
}

#[test]
fn an_empty_batch_does_nothing() {
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let empty = || CapturedArg::from(device.buffer(0).expect("a buffer"));
        let args = vec![("from", empty()), ("to", empty())];
        let mut captured = program(&device, Op::Forward).capture(&stream, 0, args).expect("a captured run");
        captured.run().expect("a run");
        assert!(captured.buffer("to").is_some() && captured.buffer("product").is_none());
    }
}

#[test]
fn captured_runs_refuse_the_same_arguments() {
    let ring = ring();
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let program = program(&device, Op::Forward);
        let new = || CapturedArg::from(device.buffer(ring.bytes()).expect("a buffer"));
        let capture = |args| program.capture(&stream, 1, args);
        let pair = |from, to| vec![("from", from), ("to", to)];
        assert!(matches!(capture(vec![("from", new())]), Err(Error::Arguments { .. })));
        assert!(matches!(capture(vec![("from", new()), ("from", new())]), Err(Error::Arguments { .. })));
        let more = capture(vec![("from", new()), ("to", new()), ("more", new())]);
        assert!(matches!(more, Err(Error::Arguments { .. })));
        let two = program.capture(&stream, 2, pair(new(), new()));
        assert!(matches!(two, Err(Error::ArgumentSize { argument, .. }) if argument == "from"));
        let shared = Arc::new(device.buffer(ring.bytes()).expect("a buffer"));
        assert!(matches!(capture(pair(new(), shared.clone().into())), Err(Error::Mismatch { .. })));
        let other = Device::cpu();
        let foreign = other.buffer(ring.bytes()).expect("a buffer");
        assert!(matches!(capture(pair(foreign.into(), new())), Err(Error::ForeignDevice { .. })));
        let elsewhere = program.capture(&other.stream().expect("a stream"), 1, pair(new(), new()));
        assert!(matches!(elsewhere, Err(Error::ForeignDevice { .. })));

        let mut captured = capture(pair(shared.into(), new())).expect("a captured run");
        assert!(matches!(captured.run(), Err(Error::Unwritten { .. })));
        assert!(matches!(captured.write("from", &[0u8]), Err(Error::Mismatch { .. })));
        assert!(matches!(captured.write("product", &[0u8]), Err(Error::Arguments { .. })));
        assert!(matches!(captured.write("to", &[0u8]), Err(Error::Length { .. })));

        // this program works in place, so its second run would read the evaluations of the first run as coefficients,
        // which is a mismatch
        let job = Job::new(&ring, Op::Forward).in_place();
        let plan = Planner::new(device.limits().clone()).plan(&job).expect("a plan");
        let in_place = device.compile(&plan).expect("a program");
        let mut captured = in_place.capture(&stream, 1, vec![("data", new())]).expect("a captured run");
        captured.write("data", &residues(&ring, 1, 1)).expect("an input");
        captured.run().expect("a run");
        assert!(matches!(captured.run(), Err(Error::Mismatch { .. })));
    }
}

/// Each replay makes a new random key. The caller supplies none.
#[test]
fn every_run_has_fresh_randomness() {
    let p = Planner::default().pipeline("random_block");
    let [blocks] = p.step(RandomBlock::new(32, 0).expect("a kernel"), &[p.input("random_key")]);
    p.output("blocks", blocks);
    let plan = p.build().expect("a plan");
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let program = device.compile(&plan).expect("a program");
        let blocks = || ("blocks", device.buffer(64).expect("a buffer").into());
        let mut captured = program.capture(&stream, 2, vec![blocks()]).expect("a captured run");
        let mut drawn: Vec<[u8; 32]> = Vec::new();
        for _ in 0..3 {
            captured.run().expect("a run");
            let bytes = stream.download::<u8>(captured.buffer("blocks").expect("an output")).expect("blocks");
            drawn.extend(bytes.as_chunks().0);
        }
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 6, "a block came again on {device}");
        let random_key = stream.upload(RandomKey::from_os().expect("random_key").as_bytes()).expect("a buffer");
        let outcome = program.capture(&stream, 2, vec![("random_key", random_key.into()), blocks()]);
        assert!(matches!(outcome, Err(Error::Arguments { .. })), "{outcome:?}");
    }
}
