//! Buffers, streams and arguments that do not fit a program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ringforge::testkit::Target;
use ringforge::{
    Arg, Content, Device, Engine, Error, HostArg, Job, Modulus, Op, Order, Plan, Planner, Port, Program, Result, Ring,
    Slot, Split, Step, Stream,
};

use crate::kernels::{Fake, Fickle};
use crate::refused;

const N: usize = 256;
const BYTES: usize = 2 * N;

fn ring() -> Result<Ring> {
    Ring::negacyclic(N, Modulus::new(3329u32)?)
}

/// The CPU, and the GPU if there is one.
fn devices() -> Vec<Device> {
    [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device).collect()
}

fn program(device: &Device, job: &Job) -> Result<Program> {
    device.compile(&Planner::new(device.limits().clone()).plan(job)?)
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
        forward.run(stream, 3, &mut [(&good).into(), (&mut out).into()])?;
        for batch in [0, 1, 2, 4] {
            let outcome = forward.run(stream, batch, &mut [(&good).into(), (&mut out).into()]);
            refused!(outcome, Error::ArgumentSize { argument: 0, expected, got }
                if (expected, got) == (batch * BYTES, 3 * BYTES));
        }
        let mut short = device.buffer(3 * BYTES - 1)?;
        let outcome = forward.run(stream, 3, &mut [(&good).into(), (&mut short).into()]);
        refused!(outcome, Error::ArgumentSize { argument: 1, .. });
        // a refused run leaves results of earlier ones alone
        assert!(stream.download::<u16>(&out).is_ok());
        Ok(())
    })
}

#[test]
fn numbers_of_arguments() -> Result<()> {
    each(|device, stream, forward| {
        let input = stream.upload(&[0u16; N])?;
        let (mut a, mut b) = (device.buffer(BYTES)?, device.buffer(BYTES)?);
        refused!(forward.run(stream, 1, &mut []), Error::Length { expected: 2, got: 0, .. });
        refused!(forward.run(stream, 1, &mut [(&input).into()]), Error::Length { expected: 2, got: 1, .. });
        let mut three: [Arg<'_>; 3] = [(&input).into(), (&mut a).into(), (&mut b).into()];
        refused!(forward.run(stream, 1, &mut three), Error::Length { expected: 2, got: 3, .. });
        refused!(forward.run_host(1, &mut []), Error::Length { expected: 2, got: 0, .. });
        Ok(())
    })
}

#[test]
fn host_lengths() -> Result<()> {
    each(|_, _, forward| {
        let (input, mut out) = ([0u16; N], [0u16; N]);
        let short = &input[1..];
        refused!(forward.run_host(1, &mut [short.into(), out[..].as_mut().into()]), Error::ArgumentSize { .. });
        refused!(forward.run_host(2, &mut [input[..].into(), out[..].as_mut().into()]), Error::ArgumentSize { .. });
        forward.run_host(1, &mut [input[..].into(), out[..].as_mut().into()])
    })
}

#[test]
fn batches_beyond_memory() -> Result<()> {
    each(|device, stream, forward| {
        let mut none = [HostArg::In(&[]), HostArg::Out(&mut [])];
        refused!(forward.run_host(usize::MAX, &mut none), Error::TooLarge { got: usize::MAX, .. });
        let (a, mut b) = (device.buffer(0)?, device.buffer(0)?);
        let outcome = forward.run(stream, usize::MAX / 2, &mut [(&a).into(), (&mut b).into()]);
        refused!(outcome, Error::TooLarge { .. });
        refused!(device.buffer(usize::MAX), Error::OutOfMemory { bytes: usize::MAX });
        refused!(device.buffer(1 << 60), Error::OutOfMemory { .. });
        Ok(())
    })
}

#[test]
fn nothing_happens_to_a_batch_of_none() -> Result<()> {
    each(|device, stream, forward| {
        let (a, mut b) = (device.buffer(0)?, device.buffer(0)?);
        forward.run(stream, 0, &mut [(&a).into(), (&mut b).into()])?;
        forward.run_host(0, &mut [HostArg::In(&[]), HostArg::Out(&mut [])])?;
        assert!(stream.download::<u16>(&b)?.is_empty());
        assert!(b.is_empty() && b.content().is_none());
        stream.upload_coefficients::<u16>(&ring()?, &[])?;
        Ok(())
    })
}

#[test]
fn alignment() -> Result<()> {
    let bytes = [0u64; N / 4 + 1];
    let bytes: &[u8] = bytemuck::cast_slice(&bytes);
    each(|device, _, forward| {
        let mut out = [0u16; N];
        let outcome = forward.run_host(1, &mut [HostArg::In(&bytes[1..=BYTES]), out[..].as_mut().into()]);
        if device.limits().is_cpu() {
            // found where the kernel takes its elements
            refused!(outcome, Error::Alignment { .. });
        } else {
            outcome?; // copied
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
        refused!(forward.run(stream, 1, &mut [(&empty).into(), (&mut out).into()]), Error::Unwritten { .. });
        let in_place = program(device, &Job::new(&ring()?, Op::Forward).in_place())?;
        refused!(in_place.run(stream, 1, &mut [(&mut out).into()]), Error::Unwritten { .. });
        let add = program(device, &Job::new(&ring()?, Op::MulAdd))?;
        let values = stream.upload(&[0u16; N])?;
        let outcome = add.run(stream, 1, &mut [(&values).into(), (&values).into(), (&mut out).into()]);
        refused!(outcome, Error::Unwritten { .. });
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
        refused!(forward.run(&foreign, 1, &mut [(&mine).into(), (&mut out).into()]), Error::ForeignDevice { .. });
        refused!(forward.run(stream, 1, &mut [(&theirs).into(), (&mut out).into()]), Error::ForeignDevice { .. });
        refused!(forward.run(stream, 1, &mut [(&mine).into(), (&mut their_out).into()]), Error::ForeignDevice { .. });
        refused!(stream.download::<u16>(&theirs), Error::ForeignDevice { .. });
        refused!(stream.write(&mut their_out, &[0u16; N]), Error::ForeignDevice { .. });
        Ok(())
    })
}

#[test]
fn read_only_arguments_to_write() -> Result<()> {
    each(|_, stream, forward| {
        let (a, b) = (stream.upload(&[0u16; N])?, stream.upload(&[0u16; N])?);
        refused!(forward.run(stream, 1, &mut [(&a).into(), (&b).into()]), Error::Mismatch { .. });
        let (x, y) = ([0u16; N], [0u16; N]);
        refused!(forward.run_host(1, &mut [x[..].into(), y[..].into()]), Error::Mismatch { .. });
        Ok(())
    })
}

#[test]
fn mismatched_rings_and_orders() -> Result<()> {
    each(|device, stream, forward| {
        let ring = ring()?;
        let rooted = ring.clone().with_root(1584u32)?;
        let inverse = program(device, &Job::new(&ring, Op::Inverse))?;
        let natural = program(device, &Job::new(&ring, Op::Forward).order(Order::Natural))?;
        let shallow = program(device, &Job::new(&ring, Op::Forward).depth(6))?;
        let product = program(device, &Job::new(&ring, Op::PointMul))?;
        let run = |program: &Program, from: &ringforge::Buffer| {
            let mut out = device.buffer(BYTES)?;
            program.run(stream, 1, &mut [from.into(), (&mut out).into()])?;
            Ok::<_, Error>(out)
        };
        let coefficients = stream.upload_coefficients(&ring, &[1u16; N])?;
        let others = stream.upload_coefficients(&rooted, &[1u16; N])?;
        let values = run(forward, &coefficients)?;
        run(&inverse, &values)?;
        // coefficients where values are wanted, and the other way round; another root; another order; another depth
        refused!(run(&inverse, &coefficients), Error::Mismatch { .. });
        refused!(run(forward, &values), Error::Mismatch { .. });
        refused!(run(forward, &others), Error::Mismatch { .. });
        let in_order = run(&natural, &coefficients)?;
        let unfinished = run(&shallow, &coefficients)?;
        for wrong in [&in_order, &unfinished, &coefficients] {
            refused!(run(&inverse, wrong), Error::Mismatch { .. });
            let mut out = device.buffer(BYTES)?;
            let outcome = product.run(stream, 1, &mut [(&values).into(), wrong.into(), (&mut out).into()]);
            refused!(outcome, Error::Mismatch { .. });
        }
        // bytes that nothing is known of may be anything
        run(&inverse, &stream.upload(&[0u16; N])?)?;
        Ok(())
    })
}

#[test]
fn values_that_are_not_reduced() -> Result<()> {
    each(|_, stream, _| {
        let ring = ring()?;
        let mut values = [3328u16; 2 * N];
        stream.upload_coefficients(&ring, &values)?;
        values[N + 5] = 3329;
        values[N + 6] = u16::MAX;
        refused!(stream.upload_coefficients(&ring, &values), Error::NotReduced { index, q }
            if index == N + 5 && q == ringforge::U256::from(3329u32));
        let depth = Split::of(&ring, None)?.depth();
        let content = Content::Values { ring: ring.clone(), depth, order: Order::Tree };
        refused!(stream.upload_values(&content, &values), Error::NotReduced { .. });
        refused!(stream.upload_coefficients(&ring, &values[1..]), Error::Length { .. });
        refused!(stream.upload_values(&Content::Coefficients(ring), &values[..N]), Error::Mismatch { .. });
        // of several moduli, each row has its own bound; so has Montgomery form
        let two = Ring::rns(4, &[Modulus::new(97u32)?, Modulus::new(193u32)?])?;
        stream.upload_coefficients(&two, &[96u16, 96, 96, 96, 192, 192, 192, 192])?;
        let wrong = [96u16, 96, 96, 97, 192, 192, 192, 192];
        refused!(stream.upload_coefficients(&two, &wrong), Error::NotReduced { index: 3, .. });
        let q = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")?;
        let wide = Ring::cyclic(1, q)?;
        refused!(stream.upload_coefficients(&wide, &[u64::MAX; 4]), Error::NotReduced { index: 0, .. });
        Ok(())
    })
}

#[test]
fn copies_of_other_lengths() -> Result<()> {
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

/// An output that is also an input of the same program's other argument cannot be named twice: Rust forbids it. An
/// argument that two ports of one kernel share runs in place.
#[test]
fn one_argument_for_two_ports() -> Result<()> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let plan = Plan::new(
        "in place",
        vec![
            Fake { in_place: true, ..Fake::new(&[Port::input(4), Port::output(4)]) }
                .step(&[Slot::Arg(0), Slot::Arg(0)]),
        ],
    )?;
    let program = device.compile(&plan)?;
    let mut buffer = stream.upload(&[1u8; 8])?;
    refused!(program.run(&stream, 2, &mut [(&buffer).into()]), Error::Mismatch { .. });
    program.run(&stream, 2, &mut [(&mut buffer).into()])?;
    assert_eq!(stream.download::<u8>(&buffer)?, [7; 8]);
    Ok(())
}

#[test]
fn devices_that_are_not_there() {
    refused!(Device::cuda(9999), Error::NoDevice(_));
    refused!(Device::cuda(usize::MAX), Error::NoDevice(_));
    let engine = Engine::best();
    assert_eq!(engine.device().limits().is_cpu(), matches!(engine.no_gpu(), Some(Error::NoDevice(_))));
}

/// The ports that count are those that a plan was made for.
#[test]
fn kernels_that_change_their_ports() -> Result<()> {
    let two = [Port::input(4), Port::output(4)];
    for after in [&two[..1], &[two[0], two[1], two[1]], &[two[0], Port::output(8)], &[]] {
        for (device, when) in devices().into_iter().flat_map(|device| [0, 1].map(|when| (device.clone(), when))) {
            let changed = Arc::new(AtomicBool::new(false));
            let fickle = Fickle { before: Fake::new(&two), after: after.to_vec(), changed: changed.clone() };
            let slots = [Slot::Arg(0), Slot::Arg(1)].to_vec();
            let plan = Plan::new("fickle", vec![Step { kernel: Arc::new(fickle), slots }])?;
            changed.store(when == 0, Ordering::SeqCst);
            let Ok(program) = device.compile(&plan) else { continue };
            changed.store(true, Ordering::SeqCst);
            let mut out = [0u8; 12];
            let outcome = program.run_host(3, &mut [HostArg::In(&[1; 12]), HostArg::Out(&mut out)]);
            match when {
                0 => refused!(outcome, Error::Kernel { .. }),
                _ => assert!(outcome.is_ok() && out == [7; 12], "after it was loaded, ports are not asked for again"),
            }
        }
    }
    Ok(())
}
