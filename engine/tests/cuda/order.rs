//! The order of work between streams, captured runs, freed memory and host threads.

use std::sync::Arc;

use ringforge::Buffer;
use ringforge::run::CapturedArg;

use super::support::{Affine, BYTES, WORDS, expected, gpu, one_step, run, run_host, two_steps, words};

/// The arguments of a captured run, with their names.
fn named(x: Buffer, key: impl Into<CapturedArg>, out: Buffer) -> Vec<(&'static str, CapturedArg)> {
    vec![("x", x.into()), ("key", key.into()), ("out", out.into())]
}

#[test]
fn streams_wait_for_each_other() {
    let Some(device) = gpu() else { return };
    let slow = Affine::slow();
    let fast = one_step(Affine::new(1), false);
    let (slow, fast) = (one_step(slow, false), fast);
    let (slow_program, fast_program) = (device.compile(&slow).unwrap(), device.compile(&fast).unwrap());
    let x = words(500 * WORDS);
    let right_slow = expected(&slow, &x, 1);
    let right = expected(&fast, &right_slow, 1);
    let streams: Vec<_> = (0..4).map(|_| device.stream().unwrap()).collect();
    let key = streams[3].upload(&[1u32]).unwrap();
    let source = streams[0].upload(&x).unwrap();
    for round in 0..20 {
        let mut middle = device.buffer(4 * x.len()).unwrap();
        let call = slow_program.on(&streams[0], 500).input("x", &source).input("key", &key);
        call.output("out", &mut middle).run().unwrap();
        // readers on two streams, then a writer on a third stream, all without waiting on the host
        let mut outs: Vec<_> = (0..2).map(|_| device.buffer(4 * x.len()).unwrap()).collect();
        for (stream, out) in streams[1..3].iter().zip(&mut outs) {
            fast_program.on(stream, 500).input("x", &middle).input("key", &key).output("out", out).run().unwrap();
        }
        streams[3].write(&mut middle, &x).unwrap();
        assert!(streams[3].download::<u32>(&middle).unwrap() == x, "round {round}");
        for out in &outs {
            assert!(streams[0].download::<u32>(out).unwrap() == right, "round {round}");
        }
    }
}

#[test]
fn recordings_wait_and_are_waited_for() {
    let Some(device) = gpu() else { return };
    let slow = Affine::slow();
    let slow = one_step(slow, false);
    let fast = two_steps();
    let (slow_program, fast_program) = (device.compile(&slow).unwrap(), device.compile(&fast).unwrap());
    let inputs: Vec<_> = (1..4u32).map(|k| words(500 * WORDS).iter().map(|x| x ^ k).collect::<Vec<_>>()).collect();
    let streams = [device.stream().unwrap(), device.stream().unwrap()];
    let key = Arc::new(streams[1].upload(&[1u32]).unwrap());
    let new = || device.buffer(500 * BYTES).unwrap();
    // runs on another stream read the output of a captured run, which the next replay overwrites, without waiting on
    // the host
    let mut captured = slow_program.capture(&streams[0], 500, named(new(), key.clone(), new())).unwrap();
    let mut outs: Vec<_> = inputs.iter().map(|_| new()).collect();
    for (x, out) in inputs.iter().zip(&mut outs) {
        captured.write("x", x).unwrap();
        captured.run().unwrap();
        let middle = captured.buffer("out").unwrap();
        fast_program.on(&streams[1], 500).input("x", middle).input("key", &key).output("out", out).run().unwrap();
    }
    for (x, out) in inputs.iter().zip(&outs) {
        let right = expected(&fast, &expected(&slow, x, 1), 1);
        assert!(streams[1].download::<u32>(out).unwrap() == right);
    }
    // one captured run on each stream, each with a temporary; all are dropped while they are running
    let mut all: Vec<_> = streams
        .iter()
        .map(|stream| fast_program.capture(stream, 500, named(new(), key.clone(), new())).unwrap())
        .collect();
    for _ in 0..5 {
        for (captured, x) in all.iter_mut().zip(&inputs) {
            captured.write("x", x).unwrap();
            captured.run().unwrap();
            captured.run().unwrap();
        }
    }
    for (captured, x) in all.into_iter().zip(&inputs) {
        let args = captured.into_args();
        assert!(streams[0].download::<u32>(args[2].1.buffer()).unwrap() == expected(&fast, x, 1));
    }
}

#[test]
fn threads_record_at_once() {
    let Some(device) = gpu() else { return };
    let plan = two_steps();
    let x = words(30 * WORDS);
    let right = expected(&plan, &x, 3);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let program = device.compile(&plan).unwrap();
                let stream = device.stream().unwrap();
                for _ in 0..10 {
                    let key = stream.upload(&[3u32]).unwrap();
                    let args = named(stream.upload(&x).unwrap(), key, device.buffer(4 * x.len()).unwrap());
                    let mut captured = program.capture(&stream, 30, args).unwrap();
                    captured.run().unwrap();
                    assert!(stream.download::<u32>(captured.buffer("out").unwrap()).unwrap() == right);
                    device.trim();
                    // must succeed, although the driver rejects this call while a stream is being captured
                    stream.wait_for_all().unwrap();
                }
            });
        }
    });
}

#[test]
fn freed_memory_waits_for_its_last_user() {
    let Some(device) = gpu() else { return };
    let slow = Affine::slow();
    let slow = one_step(slow, false);
    let program = device.compile(&slow).unwrap();
    let x = words(500 * WORDS);
    let right = expected(&slow, &x, 1);
    let streams = [device.stream().unwrap(), device.stream().unwrap()];
    let key = streams[0].upload(&[1u32]).unwrap();
    let mut out = device.buffer(4 * x.len()).unwrap();
    for round in 0..10 {
        // the only free memory of this size is still being read by work on the first stream
        let source = streams[0].upload(&x).unwrap();
        program.on(&streams[0], 500).input("x", &source).input("key", &key).output("out", &mut out).run().unwrap();
        drop(source);
        let again = streams[1].upload(&right).unwrap();
        assert!(streams[0].download::<u32>(&out).unwrap() == right, "round {round}");
        assert!(streams[1].download::<u32>(&again).unwrap() == right, "round {round}");
    }
}

#[test]
fn threads_share_programs_and_devices() {
    let Some(device) = gpu() else { return };
    let plan = two_steps();
    let x = words(300 * WORDS);
    let right = expected(&plan, &x, 3);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let program = device.compile(&plan).unwrap();
                    assert!(run(&program, &x, 3) == right);
                    let mut out = vec![0; x.len()];
                    run_host(&program, &x, 3, &mut out).unwrap();
                    assert!(out == right);
                    device.trim();
                }
            });
        }
    });
}
