//! Bound programs: the same as runs, over and over, and with the same refusals.

use std::sync::Arc;

use ringforge::kernels::Draw;
use ringforge::testkit::{devices, residues};
use ringforge::{Bound, Device, Drbg, Error, Held, Job, Modulus, Op, Plan, Planner, Program, Ring, Slot};

fn ring() -> Ring {
    let q = Modulus::new(12289u32).expect("a modulus");
    Ring::negacyclic(64, q).expect("a ring")
}

fn program(device: &Device, op: Op) -> Program {
    let plan = Planner::new(device.limits().clone()).plan(&Job::new(&ring(), op)).expect("a plan");
    device.compile(&plan).expect("a program")
}

/// What a run of the same leaves.
fn product(device: &Device, batch: usize, a: &[u8], b: &[u8]) -> Vec<u8> {
    let stream = device.stream().expect("a stream");
    let [a, b] = [a, b].map(|bytes| stream.upload(bytes).expect("a buffer"));
    let mut out = device.buffer(a.len()).expect("a buffer");
    let args = &mut [(&a).into(), (&b).into(), (&mut out).into()];
    program(device, Op::Mul).run(&stream, batch, args).expect("a run");
    stream.download(&out).expect("bytes")
}

#[test]
fn every_run_is_as_the_first() {
    let (ring, batch) = (ring(), 3);
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let key = residues(&ring, 1, batch);
        let shared = Arc::new(stream.upload(&key).expect("a buffer"));
        let new = || Held::from(device.buffer(batch * ring.bytes()).expect("a buffer"));
        let bind = || program(&device, Op::Mul).bind(&stream, batch, vec![new(), shared.clone().into(), new()]);
        let mut bounds: [Bound; 2] = [bind(), bind()].map(|bound| bound.expect("a bound program"));
        for seed in 2..6 {
            for (i, bound) in bounds.iter_mut().enumerate() {
                let a = residues(&ring, 10 * seed + i as u64, batch);
                bound.write(0, &a).expect("an input");
                bound.run().expect("a run");
                let found: Vec<u8> = stream.download(bound.buffer(2).expect("an output")).expect("bytes");
                assert!(found == product(&device, batch, &a, &key), "{device}");
            }
        }
        let [bound, _] = bounds;
        let args = bound.into_args();
        assert!(stream.download::<u8>(args[1].buffer()).expect("bytes") == key);
        assert_eq!(args.len(), 3);
    }
}

#[test]
fn an_empty_batch_does_nothing() {
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let empty = || Held::from(device.buffer(0).expect("a buffer"));
        let mut bound =
            program(&device, Op::Forward).bind(&stream, 0, vec![empty(), empty()]).expect("a bound program");
        bound.run().expect("a run");
        assert!(bound.buffer(1).is_some() && bound.buffer(2).is_none());
    }
}

#[test]
fn what_a_run_refuses_is_refused() {
    let ring = ring();
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let program = program(&device, Op::Forward);
        let new = || Held::from(device.buffer(ring.bytes()).expect("a buffer"));
        let bind = |args| program.bind(&stream, 1, args);
        assert!(matches!(bind(vec![new()]), Err(Error::Length { .. })));
        assert!(matches!(bind(vec![new(), new(), new()]), Err(Error::Length { .. })));
        assert!(matches!(program.bind(&stream, 2, vec![new(), new()]), Err(Error::ArgumentSize { argument: 0, .. })));
        let shared = Arc::new(device.buffer(ring.bytes()).expect("a buffer"));
        assert!(matches!(bind(vec![new(), shared.clone().into()]), Err(Error::Mismatch { .. })));
        let other = Device::cpu();
        let foreign = other.buffer(ring.bytes()).expect("a buffer");
        assert!(matches!(bind(vec![foreign.into(), new()]), Err(Error::ForeignDevice { .. })));
        let elsewhere = program.bind(&other.stream().expect("a stream"), 1, vec![new(), new()]);
        assert!(matches!(elsewhere, Err(Error::ForeignDevice { .. })));

        let mut bound = bind(vec![shared.into(), new()]).expect("a bound program");
        assert!(matches!(bound.run(), Err(Error::Unwritten { .. })));
        assert!(matches!(bound.write(0, &[0u8]), Err(Error::Mismatch { .. })));
        assert!(matches!(bound.write(2, &[0u8]), Err(Error::Length { .. })));
        assert!(matches!(bound.write(1, &[0u8]), Err(Error::Length { .. })));

        // values are no coefficients: in place, the second run finds the first one's
        let job = Job::new(&ring, Op::Forward).in_place();
        let plan = Planner::new(device.limits().clone()).plan(&job).expect("a plan");
        let mut bound =
            device.compile(&plan).expect("a program").bind(&stream, 1, vec![new()]).expect("a bound program");
        bound.write(0, &residues(&ring, 1, 1)).expect("an input");
        bound.run().expect("a run");
        assert!(matches!(bound.run(), Err(Error::Mismatch { .. })));
    }
}

#[test]
fn randomness_is_not_bound() {
    let step = Draw::new(32, 0).expect("a kernel").step(Slot::Arg(0), Slot::Arg(1));
    let plan = Plan::new("draw", vec![step]).expect("a plan");
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let draws = Drbg::from_os().expect("a generator").reserve(1).expect("draws");
        let args = vec![
            stream.upload(draws.as_bytes()).expect("a buffer").into(),
            device.buffer(32).expect("a buffer").into(),
        ];
        let outcome = device.compile(&plan).expect("a program").bind(&stream, 1, args);
        assert!(matches!(outcome, Err(Error::Unsupported { .. })), "{outcome:?}");
    }
}
