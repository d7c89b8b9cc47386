//! Statuses fail closed: an item that no kernel reached says so, however the program is run and whatever its memory held.

use core::ops::Range;
use std::sync::Arc;

use ringforge::testkit::devices;
use ringforge::{
    Args, Built, Device, HostArg, Kernel, Launch, Limits, Plan, Port, Program, Result, Role, Slot, Source, Step,
};

/// What a kernel of these writes for an item that is fine, and what memory holds before.
const FINE: u32 = 0x600d_f17e;
/// Items, and the one that is skipped.
const BATCH: usize = 70;
const SKIPPED: usize = 41;

/// Writes that items are fine, all but one; or passes on what an earlier step found.
#[derive(Debug)]
struct Check {
    passes_on: bool,
    skips: bool,
    ports: [Port; 2],
}

impl Check {
    fn new(input: Port, output: Port, passes_on: bool, skips: bool) -> Arc<Self> {
        Arc::new(Self { passes_on, skips, ports: [input, output] })
    }
}

const TEXT: &str = "#include \"word.cuh\"\n#include \"prelude.cuh\"\nusing namespace rf;\n\
    extern \"C\" __global__ void check(const u32* in, u32* status, u64 first, u64 end) {\n\
        const u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;\n\
        if (item >= end || item == SKIPPED) return;\n\
        status[item] = PASSES_ON ? in[item] : 0x600df17e;\n\
    }\n";

impl Kernel for Check {
    fn name(&self) -> &'static str {
        "check"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let skipped = if self.skips { SKIPPED } else { usize::MAX };
        let prelude = format!("#define SKIPPED {skipped}u\n#define PASSES_ON {}\n", u8::from(self.passes_on));
        let built = Built { prelude, launch: Launch::thread_per_item(32) };
        // SAFETY: a thread of the text works on its own item, or on none.
        Ok(unsafe { Source::new(self, TEXT, &[], built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let words = args.input::<u32>(0)?;
        for ((item, status), word) in items.zip(args.output::<u32>(1)?).zip(words) {
            if !(self.skips && item == SKIPPED) {
                *status = if self.passes_on { *word } else { FINE };
            }
        }
        Ok(())
    }
}

fn program(device: &Device, steps: Vec<Step>) -> Program {
    device.compile(&Plan::new("statuses", steps).expect("a plan")).expect("a program")
}

/// A step that skips an item; or one that does so on the way to another that passes statuses on.
fn programs(device: &Device) -> [Program; 2] {
    let input = Port::input(4);
    let skips = |slots| Step { kernel: Check::new(input, Port::status(), false, true), slots };
    let passes_on = Check::new(input, Port::status(), true, false);
    let second = Step { kernel: passes_on, slots: vec![Slot::Temp(0), Slot::Arg(1)] };
    [
        program(device, vec![skips(vec![Slot::Arg(0), Slot::Arg(1)])]),
        program(device, vec![skips(vec![Slot::Arg(0), Slot::Temp(0)]), second]),
    ]
}

/// The words that no kernel wrote.
fn expected(batch: usize) -> Vec<u32> {
    (0..batch).map(|item| if item == SKIPPED { 0 } else { FINE }).collect()
}

#[test]
fn an_item_that_is_skipped_was_not_reached() {
    for device in devices() {
        for program in programs(&device) {
            let stream = device.stream().expect("a stream");
            let words = vec![1u32; BATCH];
            // memory that a run before this one left, all of it fine
            let held = || stream.upload(&[FINE; BATCH]).expect("a buffer");

            let mut statuses = vec![FINE; BATCH];
            program.run_host(BATCH, &mut [HostArg::from(&words[..]), HostArg::from(&mut statuses[..])]).expect("a run");
            assert_eq!(statuses, expected(BATCH), "{device}: over host memory");

            let input = stream.upload(&words).expect("a buffer");
            let mut statuses = held();
            program.run(&stream, BATCH, &mut [(&input).into(), (&mut statuses).into()]).expect("a run");
            assert_eq!(stream.download::<u32>(&statuses).expect("words"), expected(BATCH), "{device}: over buffers");
            program.run_timed(&stream, BATCH, &mut [(&input).into(), (&mut statuses).into()]).expect("a run");
            assert_eq!(stream.download::<u32>(&statuses).expect("words"), expected(BATCH), "{device}: timed");

            let mut bound = program.bind(&stream, BATCH, vec![input.into(), held().into()]).expect("a bound program");
            for round in 0..3 {
                bound.write(1, &[FINE; BATCH]).expect("an argument");
                bound.run().expect("a run");
                let found = stream.download::<u32>(bound.buffer(1).expect("statuses")).expect("words");
                assert_eq!(found, expected(BATCH), "{device}: bound, run {round}");
            }
        }
    }
}

#[test]
fn chunks_have_statuses_of_their_own() {
    // more than one chunk where there are chunks; the emulator has none
    let batch = 1 << 20;
    for device in [Some(Device::cpu()), ringforge::testkit::Target::Cuda.device()].into_iter().flatten() {
        for program in programs(&device) {
            let (words, mut statuses) = (vec![1u32; batch], vec![FINE; batch]);
            program.run_host(batch, &mut [HostArg::from(&words[..]), HostArg::from(&mut statuses[..])]).expect("a run");
            assert!(statuses == expected(batch), "{device}");
        }
    }
}

#[test]
fn statuses_that_a_plan_reads_are_left_alone() {
    let both = Port { role: Role::InOut, ..Port::status() };
    let step = Step { kernel: Check::new(Port::input(4), both, false, true), slots: vec![Slot::Arg(0), Slot::Arg(1)] };
    for device in devices() {
        let program = program(&device, vec![step.clone()]);
        assert!(!program.plan().args()[1].status);
        let (words, mut statuses) = (vec![1u32; BATCH], vec![7; BATCH]);
        program.run_host(BATCH, &mut [HostArg::from(&words[..]), HostArg::from(&mut statuses[..])]).expect("a run");
        assert_eq!((statuses[SKIPPED], statuses[0]), (7, FINE), "{device}");
    }
}
