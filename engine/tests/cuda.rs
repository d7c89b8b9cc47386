//! The CUDA backend: what it answers where there is no GPU and no compiler, that kernels compile where there is only a
//! compiler, and that results, order and copies are right where there is a GPU.
//!
//! Without GPU or compiler tests are skipped, which `RINGFORGE_REQUIRE_GPU=1` and `RINGFORGE_REQUIRE_NVRTC=1` forbid.

#![cfg(feature = "cuda")]

use core::ops::Range;
use std::sync::Arc;

use ringforge::cuda::{compile_check, is_compiler_present};
use ringforge::{
    Args, Built, Device, Error, Header, HostArg, Job, Kernel, Launch, Limits, Modulus, Op, Order, PinnedBuffer, Plan,
    Planner, Port, Program, Result, Ring, Slot, Step,
};

const WORDS: usize = 256;
const BYTES: usize = 4 * WORDS;

/// Writes a * x + key + item, many times over if told so.
#[derive(Debug)]
struct Affine {
    factor: u32,
    rounds: u32,
    shared_bytes: u32,
    ports: [Port; 3],
}

impl Affine {
    fn new(factor: u32) -> Arc<Self> {
        let ports = [Port::input(BYTES).secret(), Port::shared(4), Port::output(BYTES).secret()];
        Arc::new(Self { factor, rounds: 1, shared_bytes: 0, ports })
    }
}

impl Kernel for Affine {
    fn name(&self) -> &'static str {
        "affine"
    }

    fn source(&self) -> &'static str {
        "#include \"own.cuh\"\n#include \"prelude.cuh\"\n\
         extern \"C\" __global__ void affine(const u32* x, const u32* key, u32* out, u64 first, u64 end) {\n\
             const u64 item = first + blockIdx.x;\n\
             if (item >= end) return;\n\
             for (u32 j = threadIdx.x; j < WORDS; j += blockDim.x) {\n\
                 u32 value = x[item * WORDS + j];\n\
                 for (u32 round = 0; round < ROUNDS; round++) value = times_plus(value, FACTOR, *key + (u32)item);\n\
                 out[item * WORDS + j] = value;\n\
             }\n\
         }\n"
    }

    fn headers(&self) -> &[Header] {
        const TEXT: &str = "typedef unsigned int u32;\ntypedef unsigned long long u64;\n\
            static __device__ u32 times_plus(u32 x, u32 factor, u32 more) { return x * factor + more; }\n";
        &[Header { name: "own.cuh", text: TEXT }]
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn build(&self, _: &Limits) -> Result<Built> {
        let Self { factor, rounds, .. } = self;
        let prelude = format!("#define WORDS {WORDS}\n#define FACTOR {factor}u\n#define ROUNDS {rounds}u\n");
        let launch = Launch { threads: 64, items_per_block: 1, blocks_per_item: 1, shared_bytes: self.shared_bytes };
        Ok(Built { prelude, launch })
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        (input, output) == (0, 2)
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let key = args.input::<u32>(1)?[0];
        let out = args.transform::<u32>(0, 2)?;
        for (item, words) in items.zip(out.chunks_mut(WORDS)) {
            for word in words {
                for _ in 0..self.rounds {
                    *word = word.wrapping_mul(self.factor).wrapping_add(key).wrapping_add(item as u32);
                }
            }
        }
        Ok(())
    }
}

/// Two steps with a secret temporary between them: arguments are input, key, output.
fn two_steps() -> Plan {
    let step = |factor, slots| Step { kernel: Affine::new(factor), slots };
    let first = step(3, vec![Slot::Arg(0), Slot::Arg(1), Slot::Temp(0)]);
    let second = step(5, vec![Slot::Temp(0), Slot::Arg(1), Slot::Arg(2)]);
    Plan::new("two steps", vec![first, second]).unwrap()
}

fn one_step(kernel: Arc<Affine>, in_place: bool) -> Plan {
    let slots = vec![Slot::Arg(0), Slot::Arg(1), Slot::Arg(if in_place { 0 } else { 2 })];
    Plan::new("one step", vec![Step { kernel, slots }]).unwrap()
}

fn words(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) ^ 0x5bd1_e995).collect()
}

fn expected(plan: &Plan, x: &[u32], key: u32) -> Vec<u32> {
    let mut out = vec![0; x.len()];
    let program = Device::cpu().compile(plan).unwrap();
    run_host(&program, x, key, &mut out).unwrap();
    out
}

fn run_host(program: &Program, x: &[u32], key: u32, out: &mut [u32]) -> Result<()> {
    let key = [key];
    program.run_host(x.len() / WORDS, &mut [HostArg::from(x), HostArg::from(&key[..]), HostArg::from(out)])
}

fn run(program: &Program, x: &[u32], key: u32) -> Vec<u32> {
    let stream = program.device().stream().unwrap();
    let (x_buffer, key) = (stream.upload(x).unwrap(), stream.upload(&[key]).unwrap());
    let mut out = program.device().buffer(4 * x.len()).unwrap();
    program.run(&stream, x.len() / WORDS, &mut [(&x_buffer).into(), (&key).into(), (&mut out).into()]).unwrap();
    stream.download(&out).unwrap()
}

/// The GPU, or none after saying so.
fn gpu() -> Option<Device> {
    match Device::cuda(0) {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(std::env::var_os("RINGFORGE_REQUIRE_GPU").is_none(), "{error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn has_compiler() -> bool {
    let present = is_compiler_present();
    assert!(present || std::env::var_os("RINGFORGE_REQUIRE_NVRTC").is_none(), "NVRTC is not on this machine");
    if !present {
        eprintln!("skipped: NVRTC is not on this machine");
    }
    present
}

#[test]
fn what_is_missing_is_an_error() {
    assert!(matches!(Device::cuda(1_000_000), Err(Error::NoDevice(_))));
    assert!(matches!(Device::cuda(usize::MAX), Err(Error::NoDevice(_))));
    if !is_compiler_present() {
        let outcome = compile_check(&*Affine::new(3), &Limits::of_capability(90), false);
        assert_eq!(outcome, Err(Error::NoCompiler { kernel: "affine".into() }));
    }
}

#[test]
fn compiles_for_every_architecture() {
    if !has_compiler() {
        return;
    }
    for capability in [75, 80, 86, 89, 90, 100, 120] {
        for portable in [false, true] {
            let resources = compile_check(&*Affine::new(3), &Limits::of_capability(capability), portable).unwrap();
            assert!((4..=64).contains(&resources.registers), "{resources:?}");
            assert_eq!((resources.spill_stores, resources.stack, resources.shared), (0, 0, 0));
            assert!(resources.cubin_bytes > 500);
        }
    }
    // too old for the compiler, and too new
    for capability in [10, 999] {
        let outcome = compile_check(&*Affine::new(3), &Limits::of_capability(capability), false);
        assert!(matches!(outcome, Err(Error::Unsupported { .. })), "{outcome:?}");
    }
}

/// A kernel with any text.
#[derive(Debug)]
struct Text(&'static str, &'static [Header]);

impl Kernel for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn source(&self) -> &'static str {
        self.0
    }

    fn headers(&self) -> &[Header] {
        self.1
    }

    fn ports(&self) -> &[Port] {
        &[]
    }

    fn build(&self, _: &Limits) -> Result<Built> {
        Ok(Built { prelude: String::new(), launch: Launch::thread_per_item(32) })
    }

    fn on_cpu(&self, _: Range<usize>, _: &mut Args<'_>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn broken_text_is_an_error() {
    let check = |text, headers| compile_check(&Text(text, headers), &Limits::of_capability(90), false);
    // a header that would stand in for one of the engine
    let foreign: &[Header] = &[Header { name: "word.cuh", text: "// mine" }];
    assert!(matches!(check("", foreign), Err(Error::Kernel { .. })));
    if !has_compiler() {
        return;
    }
    let Err(Error::Compile { kernel, log }) = check("extern \"C\" __global__ void text(int* x) { *x = y; }", &[])
    else {
        panic!("compiled");
    };
    assert!(kernel == "text" && log.contains("\"y\" is undefined"), "{log}");
    // no such entry point; a file of the working folder, which is no header; a zero byte
    assert!(matches!(check("__global__ void other() {}", &[]), Err(Error::Compile { .. })));
    assert!(
        matches!(check("#include \"Cargo.toml\"\n", &[]), Err(Error::Compile { log, .. }) if log.contains("cannot open"))
    );
    assert!(matches!(check("\0", &[]), Err(Error::Kernel { .. })));
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut kernel = Affine { ports: Affine::new(1).ports, factor: 1, rounds: 1, shared_bytes: 200 << 10 };
    let check = |kernel: &Affine, limits| compile_check(kernel, &limits, false);
    assert!(matches!(check(&kernel, Limits::of_capability(75)), Err(Error::Unsupported { .. })));
    kernel.shared_bytes = 0;
    assert!(matches!(check(&kernel, Limits::cpu()), Err(Error::Unsupported { .. })));
}

#[test]
fn results_are_those_of_the_cpu() {
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
    device.compile(&plan).unwrap().run(&stream, 100, &mut [(&mut buffer).into(), (&key).into()]).unwrap();
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
        // large copies of buffers, through staging memory and without
        let stream = device.stream().unwrap();
        let buffer = stream.upload(pinned_x.elements::<u32>().unwrap()).unwrap();
        assert!(stream.download::<u32>(&buffer).unwrap() == x);
        stream.read(&buffer, pinned_out.elements_mut::<u32>().unwrap()).unwrap();
        assert!(pinned_out.elements::<u32>().unwrap() == x);
    }
}

/// Host memory for a run, page-locked or not.
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

/// Transforms and products of few large elements, which are copied and worked on by slabs.
#[test]
fn large_items_are_copied_by_slabs() {
    let Some(device) = gpu() else { return };
    let cpu = Device::cpu();
    let r = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001").unwrap();
    let primes = Modulus::ntt_primes(1 << 17, 60, 20).unwrap();
    let (natural, any) = (Order::Natural, Order::Any);
    for (ring, batch) in
        [(Ring::cyclic(1 << 18, r), 1), (Ring::rns(1 << 16, &primes), 2), (Ring::cyclic(1 << 18, r), 7)]
    {
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
            // the highest byte of each residue is small, which makes it less than its modulus
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
                let mut args: Vec<HostArg<'_>> = memory.iter_mut().map(|memory| HostArg::Out(memory)).collect();
                program.run_host(batch, &mut args).unwrap();
                memory
            };
            for (pinned_in, pinned_out) in [(true, true), (false, false), (true, false), (false, true)] {
                let last = inputs.len() - 1;
                let pinned = |i| if i == last { pinned_out } else { pinned_in };
                let memory = inputs.iter().enumerate().map(|(i, input)| Host::new(&device, pinned(i), input));
                let mut memory: Vec<Host> = memory.collect();
                let mut args: Vec<HostArg<'_>> = memory.iter_mut().map(|memory| HostArg::Out(memory.bytes())).collect();
                program.run_host(batch, &mut args).unwrap();
                for (memory, right) in memory.iter_mut().zip(&right) {
                    assert!(memory.bytes() == right, "{job}, batch {batch}, pinned {pinned_in} and {pinned_out}");
                }
            }
        }
    }
}

#[test]
#[allow(unsafe_code)]
fn other_code_shares_memory_and_streams() {
    use cudarc::driver::result::memset_d8_async;

    let Some(device) = gpu() else { return };
    let stream = device.stream().unwrap();
    let program = device.compile(&one_step(Affine::new(3), false)).unwrap();
    let mut theirs = device.buffer(30 * BYTES).unwrap();
    let (pointer, handle) = (theirs.device_pointer().unwrap(), stream.raw_handle().unwrap());
    // SAFETY: the other code writes all of the memory, in the order of the stream that reads it next.
    unsafe {
        theirs.assume_written().unwrap();
        memset_d8_async(pointer, 0x11, theirs.len(), handle.cast()).unwrap();
    }
    let x = vec![0x1111_1111; 30 * WORDS];
    assert!(stream.download::<u32>(&theirs).unwrap() == x);

    // SAFETY: so much memory lies there, and nobody else uses it until the buffer is gone and its work is done.
    let mut foreign = unsafe { device.buffer_from_raw(pointer, theirs.len()) }.unwrap();
    assert_eq!((foreign.device_pointer(), foreign.content()), (Some(pointer), None));
    let (key, source) = (stream.upload(&[3u32]).unwrap(), stream.upload(&x).unwrap());
    program
        .run(&stream, 30, &mut [(&foreign).into(), (&key).into(), (&mut device.buffer(30 * BYTES).unwrap()).into()])
        .unwrap();
    program.run(&stream, 30, &mut [(&source).into(), (&key).into(), (&mut foreign).into()]).unwrap();
    stream.synchronize().unwrap();
    drop(foreign);
    assert!(stream.download::<u32>(&theirs).unwrap() == expected(&one_step(Affine::new(3), false), &x, 3));

    for (pointer, bytes) in [(pointer + 8, 16), (0, 16), (u64::MAX - 15, 32)] {
        // SAFETY: refused before anything is done with the address.
        assert!(unsafe { device.buffer_from_raw(pointer, bytes) }.is_err(), "{pointer} {bytes}");
    }
    assert_eq!(device.buffer(0).unwrap().device_pointer(), None);
}

#[test]
fn streams_wait_for_each_other() {
    let Some(device) = gpu() else { return };
    let slow = Arc::new(Affine { ports: Affine::new(1).ports, factor: 3, rounds: 2_000, shared_bytes: 0 });
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
    let slow = Arc::new(Affine { ports: Affine::new(1).ports, factor: 3, rounds: 2_000, shared_bytes: 0 });
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
    let slow = Arc::new(Affine { ports: Affine::new(1).ports, factor: 3, rounds: 2_000, shared_bytes: 0 });
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

#[test]
fn too_much_is_an_error() {
    let Some(device) = gpu() else { return };
    for bytes in [1 << 46, usize::MAX / 2, usize::MAX] {
        assert_eq!(device.buffer(bytes).err(), Some(Error::OutOfMemory { bytes }));
    }
    let program = device.compile(&one_step(Affine::new(1), false)).unwrap();
    let x = words(WORDS);
    assert!(run(&program, &x, 0) == x, "the device still works");
}

#[test]
fn time_and_occupancy_are_told() {
    let Some(device) = gpu() else { return };
    let kernel = Arc::new(Affine { ports: Affine::new(1).ports, factor: 3, rounds: 1000, shared_bytes: 64 << 10 });
    let program = device.compile(&one_step(kernel, false)).unwrap();
    let [occupancy] = &program.occupancy().unwrap()[..] else { panic!("one step") };
    assert!(occupancy.registers > 0 && occupancy.local_bytes == 0 && occupancy.blocks_per_processor > 0);
    assert!(occupancy.static_shared_bytes < 1024 && occupancy.share() > 0.0 && occupancy.share() <= 1.0);
    let stream = device.stream().unwrap();
    let (x, key) = (stream.upload(&words(1000 * WORDS)).unwrap(), stream.upload(&[1u32]).unwrap());
    let mut out = device.buffer(1000 * BYTES).unwrap();
    let before = stream.mark().unwrap();
    program.run(&stream, 1000, &mut [(&x).into(), (&key).into(), (&mut out).into()]).unwrap();
    let seconds = stream.mark().unwrap().seconds_since(&before).unwrap();
    assert!((1e-6..1.0).contains(&seconds), "{seconds}");
    let steps = program.run_timed(&stream, 1000, &mut [(&x).into(), (&key).into(), (&mut out).into()]).unwrap();
    assert!(steps.len() == 1 && (1e-6..1.0).contains(&steps[0]), "{steps:?}");
    assert!(device.held_bytes().is_some_and(|bytes| bytes >= 2 * 1000 * BYTES));
    eprintln!("{occupancy:?}, {:.1} µs", 1e6 * seconds);
}
