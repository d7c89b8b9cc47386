//! The order of work: streams, recordings, freed memory, threads.

use std::sync::Arc;

use crate::support::{Affine, BYTES, WORDS, expected, gpu, one_step, run, run_host, two_steps, words};

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
        slow_program.run(&streams[0], 500, &mut [(&source).into(), (&key).into(), (&mut middle).into()]).unwrap();
        // readers on other streams, then a writer on yet another, all without a wait on the host
        let mut outs: Vec<_> = (0..2).map(|_| device.buffer(4 * x.len()).unwrap()).collect();
        for (stream, out) in streams[1..3].iter().zip(&mut outs) {
            fast_program.run(stream, 500, &mut [(&middle).into(), (&key).into(), out.into()]).unwrap();
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
    // a recording's output is read by runs on another stream, without a wait on the host, and then overwritten
    let args = vec![new().into(), key.clone().into(), new().into()];
    let mut bound = slow_program.bind(&streams[0], 500, args).unwrap();
    let mut outs: Vec<_> = inputs.iter().map(|_| new()).collect();
    for (x, out) in inputs.iter().zip(&mut outs) {
        bound.write(0, x).unwrap();
        bound.run().unwrap();
        let middle = bound.buffer(2).unwrap();
        fast_program.run(&streams[1], 500, &mut [middle.into(), (&*key).into(), out.into()]).unwrap();
    }
    for (x, out) in inputs.iter().zip(&outs) {
        let right = expected(&fast, &expected(&slow, x, 1), 1);
        assert!(streams[1].download::<u32>(out).unwrap() == right);
    }
    // one on each stream, with a temporary each, dropped while they run
    let mut bounds: Vec<_> = streams
        .iter()
        .map(|stream| fast_program.bind(stream, 500, vec![new().into(), key.clone().into(), new().into()]).unwrap())
        .collect();
    for _ in 0..5 {
        for (bound, x) in bounds.iter_mut().zip(&inputs) {
            bound.write(0, x).unwrap();
            bound.run().unwrap();
            bound.run().unwrap();
        }
    }
    for (bound, x) in bounds.into_iter().zip(&inputs) {
        let args = bound.into_args();
        assert!(streams[0].download::<u32>(args[2].buffer()).unwrap() == expected(&fast, x, 1));
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
                    let args =
                        vec![stream.upload(&x).unwrap().into(), key.into(), device.buffer(4 * x.len()).unwrap().into()];
                    let mut bound = program.bind(&stream, 30, args).unwrap();
                    bound.run().unwrap();
                    assert!(stream.download::<u32>(bound.buffer(2).unwrap()).unwrap() == right);
                    device.trim();
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
        // the only free memory of this size is that which the first stream still reads
        let source = streams[0].upload(&x).unwrap();
        program.run(&streams[0], 500, &mut [(&source).into(), (&key).into(), (&mut out).into()]).unwrap();
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
