//! Buffers, streams and arguments that do not fit a program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ringforge::factorization::Factorization;
use ringforge::kernels::Port;
use ringforge::{
    Buffer, Device, Engine, Error, Job, Modulus, Op, Order, Planner, PolyType, Program, Result, Ring, Stream,
};
use ringforge_testkit::Target;
use ringforge_testkit::one_step;

use super::kernels::{Fake, Fickle};
use super::refused;

const N: usize = 256;
const BYTES: usize = 2 * N;

fn ring() -> Result<PolyType> {
    Ring::negacyclic(N, Modulus::new(3329u32)?).map(PolyType::from)
}

/// The CPU, and the first GPU if there is one.
fn devices() -> Vec<Device> {
    [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device).collect()
}

fn program(device: &Device, job: &Job) -> Result<Program> {
    device.compile(&Planner::new(device.limits().clone()).plan(job)?)
}

/// Runs a transform, or another program with one input `from` and one output `to`.
fn run(program: &Program, stream: &Stream, batch: usize, from: &Buffer, to: &mut Buffer) -> Result<()> {
    program.on(stream, batch).input("from", from).output("to", to).run()
}

fn run_host(program: &Program, batch: usize, from: &[u16], to: &mut [u16]) -> Result<()> {
    program.on_host(batch).input("from", from).output("to", to).run()
}

fn each(test: impl Fn(&Device, &Stream, &Program) -> Result<()>) -> Result<()> {
    for device in devices() {
        let forward = program(&device, &Job::new(&ring()?, Op::Forward))?;
        test(&device, &device.stream()?, &forward)?;
    }
    Ok(())
}

#[test]
fn lengths() -> Result<()> {
    each(|device, stream, forward| {
        let good = stream.upload(&[0u16; 3 * N])?;
        let mut out = device.buffer(3 * BYTES)?;
        run(forward, stream, 3, &good, &mut out)?;
        for batch in [0, 1, 2, 4] {
            refused!(run(forward, stream, batch, &good, &mut out), Error::ArgumentSize { ref argument, expected, got, .. }
                if (&**argument, expected, got) == ("from", batch * BYTES, 3 * BYTES));
        }
        let mut short = device.buffer(3 * BYTES - 1)?;
        refused!(run(forward, stream, 3, &good, &mut short), Error::ArgumentSize { ref argument, .. } if argument == "to");
        // a run that is rejected does not affect the results of earlier runs
        assert!(stream.download::<u16>(&out).is_ok());
        Ok(())
    })
}

#[test]
fn names_of_arguments() -> Result<()> {
    each(|device, stream, forward| {
        let input = stream.upload(&[0u16; N])?;
        let (mut a, mut b) = (device.buffer(BYTES)?, device.buffer(BYTES)?);
        let call = || forward.on(stream, 1);
        refused!(call().run(), Error::Arguments { ref why, .. } if why == "is missing argument from");
        refused!(call().input("from", &input).run(), Error::Arguments { ref why, .. }
            if why == "is missing argument to");
        let twice = call().input("from", &input).output("to", &mut a).output("to", &mut b).run();
        refused!(twice, Error::Arguments { ref why, .. } if why == "was given argument to twice");
        let three = call().input("from", &input).output("to", &mut a).output("more", &mut b).run_timed();
        refused!(three, Error::Arguments { ref plan, ref why }
            if plan == forward.plan().title() && why == "has no argument more: its arguments are from, to");
        refused!(forward.on_host(1).run(), Error::Arguments { ref why, .. } if why == "is missing argument from");
        Ok(())
    })
}

#[test]
fn host_lengths() -> Result<()> {
    each(|_, _, forward| {
        let (input, mut out) = ([0u16; N], [0u16; N]);
        refused!(run_host(forward, 1, &input[1..], &mut out), Error::ArgumentSize { .. });
        refused!(run_host(forward, 2, &input, &mut out), Error::ArgumentSize { .. });
        run_host(forward, 1, &input, &mut out)
    })
}

#[test]
fn batches_beyond_memory() -> Result<()> {
    each(|device, stream, forward| {
        refused!(run_host(forward, usize::MAX, &[], &mut []), Error::TooLarge { got: usize::MAX, .. });
        let (a, mut b) = (device.buffer(0)?, device.buffer(0)?);
        refused!(run(forward, stream, usize::MAX / 2, &a, &mut b), Error::TooLarge { .. });
        refused!(device.buffer(usize::MAX), Error::OutOfMemory { bytes: usize::MAX });
        refused!(device.buffer(1 << 60), Error::OutOfMemory { .. });
        Ok(())
    })
}

#[test]
fn an_empty_batch_does_nothing() -> Result<()> {
    each(|device, stream, forward| {
        let (a, mut b) = (device.buffer(0)?, device.buffer(0)?);
        run(forward, stream, 0, &a, &mut b)?;
        run_host(forward, 0, &[], &mut [])?;
        assert!(stream.download::<u16>(&b)?.is_empty());
        assert!(b.is_empty() && b.content().is_none());
        stream.upload_elements::<u16>(&ring()?, &[])?;
        Ok(())
    })
}

#[test]
fn alignment() -> Result<()> {
    let bytes = [0u8; BYTES];
    each(|device, _, forward| {
        let mut out = [0u64; N / 4 + 1];
        let out: &mut [u8] = bytemuck::cast_slice_mut(&mut out);
        let outcome = forward.on_host(1).input("from", &bytes).output("to", &mut out[1..=BYTES]).run();
        if device.limits().is_cpu() {
            // the error arises when the kernel takes its elements
            refused!(outcome, Error::Alignment { .. });
        } else {
            outcome?; // GPUs copy the memory, so its alignment does not matter
        }
        Ok(())
    })
}

#[test]
fn unwritten_buffers() -> Result<()> {
    each(|device, stream, forward| {
        let empty = device.buffer(BYTES)?;
        let mut out = device.buffer(BYTES)?;
        refused!(stream.download::<u16>(&empty), Error::Unwritten { .. });
        refused!(stream.read(&empty, &mut [0u16; N]), Error::Unwritten { .. });
        refused!(run(forward, stream, 1, &empty, &mut out), Error::Unwritten { .. });
        let in_place = program(device, &Job::new(&ring()?, Op::Forward).in_place())?;
        refused!(in_place.on(stream, 1).output("data", &mut out).run(), Error::Unwritten { .. });
        let add = program(device, &Job::new(&ring()?, Op::MulAdd))?;
        let values = stream.upload(&[0u16; N])?;
        let call = add.on(stream, 1).input("a", &values).input("b", &values).output("sum", &mut out);
        refused!(call.run(), Error::Unwritten { .. });
        Ok(())
    })
}

#[test]
fn foreign_buffers_and_streams() -> Result<()> {
    each(|device, stream, forward| {
        let other = Device::cpu();
        let foreign = other.stream()?;
        let mine = stream.upload(&[0u16; N])?;
        let mut out = device.buffer(BYTES)?;
        let theirs = foreign.upload(&[0u16; N])?;
        let mut their_out = other.buffer(BYTES)?;
        refused!(run(forward, &foreign, 1, &mine, &mut out), Error::ForeignDevice { .. });
        refused!(run(forward, stream, 1, &theirs, &mut out), Error::ForeignDevice { .. });
        refused!(run(forward, stream, 1, &mine, &mut their_out), Error::ForeignDevice { .. });
        refused!(stream.download::<u16>(&theirs), Error::ForeignDevice { .. });
        refused!(stream.write(&mut their_out, &[0u16; N]), Error::ForeignDevice { .. });
        Ok(())
    })
}

#[test]
fn read_only_arguments_to_write() -> Result<()> {
    each(|_, stream, forward| {
        let (a, b) = (stream.upload(&[0u16; N])?, stream.upload(&[0u16; N])?);
        refused!(forward.on(stream, 1).input("from", &a).input("to", &b).run(), Error::Mismatch { .. });
        let (x, y) = ([0u16; N], [0u16; N]);
        refused!(forward.on_host(1).input("from", &x).input("to", &y).run(), Error::Mismatch { .. });
        Ok(())
    })
}

#[test]
fn mismatched_rings_and_orders() -> Result<()> {
    each(|device, stream, forward| {
        let ring = ring()?;
        let rooted = PolyType::from(ring.ring().clone().with_root(1584u32)?);
        let inverse = program(device, &Job::new(&ring, Op::Inverse))?;
        let natural = program(device, &Job::new(&ring, Op::Forward).order(Order::Natural))?;
        let shallow = program(device, &Job::new(&ring, Op::Forward).depth(6))?;
        let product = program(device, &Job::new(&ring, Op::PointMul))?;
        let run = |program: &Program, from: &Buffer| {
            let mut out = device.buffer(BYTES)?;
            run(program, stream, 1, from, &mut out).map(|()| out)
        };
        let coefficients = stream.upload_elements(&ring, &[1u16; N])?;
        let others = stream.upload_elements(&rooted, &[1u16; N])?;
        let values = run(forward, &coefficients)?;
        run(&inverse, &values)?;
        // coefficients instead of evaluations, and vice versa; another root; another order; another depth
        refused!(run(&inverse, &coefficients), Error::Mismatch { .. });
        refused!(run(forward, &values), Error::Mismatch { .. });
        refused!(run(forward, &others), Error::Mismatch { .. });
        let in_order = run(&natural, &coefficients)?;
        let unfinished = run(&shallow, &coefficients)?;
        for wrong in [&in_order, &unfinished, &coefficients] {
            refused!(run(&inverse, wrong), Error::Mismatch { .. });
            let mut out = device.buffer(BYTES)?;
            let call = product.on(stream, 1).input("a", &values).input("b", wrong).output("product", &mut out);
            refused!(call.run(), Error::Mismatch { ref what, .. } if what == "argument b");
        }
        // a buffer of bytes with unknown content is accepted for every type
        run(&inverse, &stream.upload(&[0u16; N])?)?;
        Ok(())
    })
}

#[test]
fn values_that_are_not_reduced() -> Result<()> {
    each(|_, stream, _| {
        let ring = ring()?;
        let mut values = [3328u16; 2 * N];
        stream.upload_elements(&ring, &values)?;
        values[N + 5] = 3329;
        values[N + 6] = u16::MAX;
        refused!(stream.upload_elements(&ring, &values), Error::NotReduced { index, q }
            if index == N + 5 && q == ringforge::U256::from(3329u32));
        let depth = Factorization::of(&ring, None)?.depth();
        let content = ring.evaluations_after(depth, Order::DigitReversed);
        refused!(stream.upload_elements(&content, &values), Error::NotReduced { .. });
        refused!(stream.upload_elements(&ring, &values[1..]), Error::Length { .. });
        // with several moduli, each limb has a separate bound; Montgomery form has the same bounds
        let two = PolyType::from(Ring::rns(4, &[Modulus::new(97u32)?, Modulus::new(193u32)?])?);
        stream.upload_elements(&two, &[96u16, 96, 96, 96, 192, 192, 192, 192])?;
        let wrong = [96u16, 96, 96, 97, 192, 192, 192, 192];
        refused!(stream.upload_elements(&two, &wrong), Error::NotReduced { index: 3, .. });
        let q = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")?;
        let wide = PolyType::from(Ring::cyclic(1, q)?);
        refused!(stream.upload_elements(&wide, &[u64::MAX; 4]), Error::NotReduced { index: 0, .. });
        Ok(())
    })
}

#[test]
fn copies_of_wrong_lengths() -> Result<()> {
    each(|device, stream, _| {
        let buffer = stream.upload(&[0u8; 6])?;
        refused!(stream.read(&buffer, &mut [0u8; 5]), Error::Length { .. });
        refused!(stream.download::<u32>(&buffer), Error::Length { .. });
        let mut buffer = device.buffer(6)?;
        refused!(stream.write(&mut buffer, &[0u8; 7]), Error::Length { .. });
        refused!(stream.download::<u8>(&buffer), Error::Unwritten { .. });
        Ok(())
    })
}

/// Rust's borrow rules forbid passing a buffer that is written as another argument, too. An argument that
/// is updated in place is passed as an output.
#[test]
fn one_argument_for_two_ports() -> Result<()> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let fake = Fake { in_place: true, ..Fake::new(&[Port::input(4), Port::output(4)]) };
    let program = device.compile(&one_step(fake, &["data", "data"])?)?;
    let mut buffer = stream.upload(&[1u8; 8])?;
    refused!(program.on(&stream, 2).input("data", &buffer).run(), Error::Mismatch { .. });
    program.on(&stream, 2).output("data", &mut buffer).run()?;
    assert_eq!(stream.download::<u8>(&buffer)?, [7; 8]);
    Ok(())
}

#[test]
fn missing_devices() {
    refused!(Device::cuda(9999), Error::NoDevice(_));
    refused!(Device::cuda(usize::MAX), Error::NoDevice(_));
    let engine = Engine::best();
    assert_eq!(engine.device().limits().is_cpu(), matches!(engine.no_gpu(), Some(Error::NoDevice(_))));
}

/// If a kernel's ports change between planning and compilation, compilation or the run fails. After compilation, a
/// program keeps the ports with which it was compiled.
#[test]
fn kernels_that_change_their_ports() -> Result<()> {
    let two = [Port::input(4), Port::output(4)];
    for after in [&two[..1], &[two[0], two[1], two[1]], &[two[0], Port::output(8)], &[]] {
        for (device, when) in devices().into_iter().flat_map(|device| [0, 1].map(|when| (device.clone(), when))) {
            let changed = Arc::new(AtomicBool::new(false));
            let fickle = Fickle { before: Fake::new(&two), after: after.to_vec(), changed: changed.clone() };
            let plan = one_step(fickle, &["in", "out"])?;
            changed.store(when == 0, Ordering::SeqCst);
            let Ok(program) = device.compile(&plan) else { continue };
            changed.store(true, Ordering::SeqCst);
            let mut out = [0u8; 12];
            let outcome = program.on_host(3).input("in", &[1u8; 12]).output("out", &mut out).run();
            match when {
                0 => refused!(outcome, Error::Kernel { .. }),
                _ => assert!(outcome.is_ok() && out == [7; 12], "after it was loaded, ports are not asked for again"),
            }
        }
    }
    Ok(())
}
