//! Results of runs over buffers and host arrays of any size and kind, and copies of large items in tiles.

use ringforge::{Device, Job, Modulus, Op, Order, PinnedBuffer, Planner, PolyType, Program, Ring};

use super::support::{Affine, WORDS, expected, gpu, one_step, run, run_host, two_steps, words};

#[test]
fn results_match_the_cpu() {
    let Some(device) = gpu() else { return };
    let plan = two_steps();
    let program = device.compile(&plan).unwrap();
    for batch in [1, 2, 3, 255, 4097] {
        let x = words(batch * WORDS);
        assert!(run(&program, &x, 77) == expected(&plan, &x, 77), "batch {batch}");
    }
    let plan = one_step(Affine::new(7), true);
    let x = words(100 * WORDS);
    let stream = device.stream().unwrap();
    let (mut buffer, key) = (stream.upload(&x).unwrap(), stream.upload(&[5u32]).unwrap());
    let program = device.compile(&plan).unwrap();
    program.on(&stream, 100).output("x", &mut buffer).input("key", &key).run().unwrap();
    let out_of_place = one_step(Affine::new(7), false);
    assert!(stream.download::<u32>(&buffer).unwrap() == expected(&out_of_place, &x, 5));
}

#[test]
fn host_arrays_of_any_size_and_kind() {
    let Some(device) = gpu() else { return };
    let plan = two_steps();
    let program = device.compile(&plan).unwrap();
    for batch in [1, 1000, 5000, 100_001] {
        let x = words(batch * WORDS);
        let right = expected(&plan, &x, 9);
        let mut out = vec![1u32; x.len()];
        run_host(&program, &x, 9, &mut out).unwrap();
        assert!(out == right, "pageable, batch {batch}");
        let mut pinned_x = device.pinned(4 * x.len()).unwrap();
        pinned_x.elements_mut::<u32>().unwrap().copy_from_slice(&x);
        let mut pinned_out = device.pinned(4 * x.len()).unwrap();
        for _ in 0..2 {
            run_host(&program, pinned_x.elements().unwrap(), 9, pinned_out.elements_mut().unwrap()).unwrap();
            assert!(pinned_out.elements::<u32>().unwrap() == right, "pinned, batch {batch}");
        }
        out.fill(1);
        run_host(&program, pinned_x.elements().unwrap(), 9, &mut out).unwrap();
        assert!(out == right, "mixed, batch {batch}");
        // large copies of buffers, with and without staging memory
        let stream = device.stream().unwrap();
        let buffer = stream.upload(pinned_x.elements::<u32>().unwrap()).unwrap();
        assert!(stream.download::<u32>(&buffer).unwrap() == x);
        stream.read(&buffer, pinned_out.elements_mut::<u32>().unwrap()).unwrap();
        assert!(pinned_out.elements::<u32>().unwrap() == x);
    }
}

/// Host memory for a run: page-locked or pageable.
enum Host {
    Pinned(PinnedBuffer),
    Pageable(Vec<u8>),
}

impl Host {
    fn new(device: &Device, pinned: bool, bytes: &[u8]) -> Self {
        if !pinned {
            return Self::Pageable(bytes.to_vec());
        }
        let mut memory = device.pinned(bytes.len()).unwrap();
        memory.copy_from_slice(bytes);
        Self::Pinned(memory)
    }

    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Pinned(memory) => memory,
            Self::Pageable(memory) => memory,
        }
    }
}

/// Runs a program in place over host memory, with one piece of memory for each argument, in order.
fn run_all<'a>(program: &Program, batch: usize, memory: impl Iterator<Item = &'a mut [u8]>) {
    let args = program.plan().args().iter().zip(memory);
    args.fold(program.on_host(batch), |call, (arg, memory)| call.output(&arg.name, memory)).run().unwrap();
}

/// Transforms and products of few large elements, which are copied and processed in tiles.
#[test]
fn large_items_are_copied_in_slabs() {
    let Some(device) = gpu() else { return };
    let cpu = Device::cpu();
    let r = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001").unwrap();
    let primes = Modulus::ntt_primes(1 << 17, 60, 20).unwrap();
    let (natural, any) = (Order::Natural, Order::DigitReversed);
    for (ring, batch) in [
        (Ring::cyclic(1 << 18, r).map(PolyType::from), 1),
        (Ring::rns(1 << 16, &primes).map(PolyType::from), 2),
        (Ring::cyclic(1 << 18, r).map(PolyType::from), 7),
    ] {
        let ring = ring.unwrap();
        let job = |op, order| Job::new(&ring, op).order(order);
        for job in [
            job(Op::Forward, natural),
            job(Op::Forward, any),
            job(Op::Inverse, natural).in_place(),
            job(Op::Inverse, any),
            job(Op::Forward, any).in_place(),
            job(Op::Mul, any),
        ] {
            let plan = Planner::new(device.limits().clone()).plan(&job).unwrap();
            let program = device.compile(&plan).unwrap();
            // limits the top byte of each residue, so that the residue is below its modulus
            let width = ring.width().bytes();
            let byte = |(i, byte): (usize, u8)| if i % width == width - 1 { byte & 7 } else { byte };
            let input = |key: usize| {
                let words = (0..batch * ring.bytes() / 4).map(|i| ((i ^ key << 20) as u32).wrapping_mul(2_654_435_761));
                words.flat_map(u32::to_be_bytes).enumerate().map(byte).collect::<Vec<_>>()
            };
            let inputs: Vec<Vec<u8>> = (0..plan.args().len()).map(input).collect();
            let right = {
                let program = cpu.compile(&Planner::new(cpu.limits().clone()).plan(&job).unwrap()).unwrap();
                let mut memory = inputs.clone();
                run_all(&program, batch, memory.iter_mut().map(|memory| &mut memory[..]));
                memory
            };
            for (pinned_in, pinned_out) in [(true, true), (false, false), (true, false), (false, true)] {
                let last = inputs.len() - 1;
                let pinned = |i| if i == last { pinned_out } else { pinned_in };
                let memory = inputs.iter().enumerate().map(|(i, input)| Host::new(&device, pinned(i), input));
                let mut memory: Vec<Host> = memory.collect();
                run_all(&program, batch, memory.iter_mut().map(Host::bytes));
                for (memory, right) in memory.iter_mut().zip(&right) {
                    assert!(memory.bytes() == right, "{job}, batch {batch}, pinned {pinned_in} and {pinned_out}");
                }
            }
        }
    }
}
