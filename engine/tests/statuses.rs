//! Statuses fail closed: an item that no kernel reached never has the status ok, in whichever way the program is run
//! and whatever its memory held before.

use core::ops::Range;

use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Role, Source};
use ringforge::{Device, Limits, Pipeline, Plan, Planner, Program, Result, Value};
use ringforge_testkit::devices;

/// The status of an ok item. Before each run, the memory for statuses is filled with it.
const OK: u32 = 0x600d_f17e;
/// The number of items in a run. The next constant is the item that `SKIPS` skips.
const BATCH: usize = 70;
const SKIPPED: usize = 41;

/// A kernel that writes the status ok for all items (or all but one, if `skips`). With `passes_on` it copies the
/// statuses of an earlier step instead.
#[derive(Debug)]
struct Check {
    passes_on: bool,
    skips: bool,
    ports: [Port; 2],
}

/// Writes the status ok for all items except `SKIPPED`.
const SKIPS: Check = Check { passes_on: false, skips: true, ports: [Port::input(4), Port::status()] };
const PASSES_ON: Check = Check { passes_on: true, skips: false, ports: SKIPS.ports };

const SOURCE: &str = "#include \"word.cuh\"\n#include \"prelude.cuh\"\nusing namespace rf;\n\
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
        // SAFETY: a thread accesses only its own item, or nothing.
        Ok(unsafe { Source::new(self, SOURCE, &[], built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        args.each(items, |item, (word, status): (&u32, &mut u32)| {
            if !(self.skips && item == SKIPPED) {
                *status = if self.passes_on { *word } else { OK };
            }
            Ok(())
        })
    }
}

fn plan(device: &Device, statuses: impl FnOnce(&Pipeline) -> Value<'_>) -> Plan {
    let p = Planner::new(device.limits().clone()).pipeline("statuses");
    p.output("statuses", statuses(&p));
    p.build().expect("a plan")
}

fn skips(p: &Pipeline) -> Value<'_> {
    let [statuses] = p.step(SKIPS, &[p.input("words")]);
    statuses
}

/// Three programs in which one item is skipped: a single step; this step followed by one that passes its statuses on;
/// the same two steps, where the first one is a plan within the pipeline.
fn programs(device: &Device) -> [Program; 3] {
    let one = plan(device, skips);
    let two = plan(device, |p| {
        let [statuses] = p.step(PASSES_ON, &[skips(p)]);
        statuses
    });
    let joined = plan(device, |p| {
        let [statuses] = p.step(PASSES_ON, &p.plan::<1>(&one, &[p.input("words")]));
        statuses
    });
    [one, two, joined].map(|plan| device.compile(&plan).expect("a program"))
}

/// The expected statuses of a batch: 0 for the skipped item.
fn expected(batch: usize) -> Vec<u32> {
    (0..batch).map(|item| if item == SKIPPED { 0 } else { OK }).collect()
}

#[test]
fn items_that_no_step_reaches_are_skipped() {
    for device in devices() {
        for program in programs(&device) {
            let stream = device.stream().expect("a stream");
            let words = vec![1u32; BATCH];
            // memory of an earlier run, in which all items were ok
            let held = || stream.upload(&[OK; BATCH]).expect("a buffer");

            let mut statuses = vec![OK; BATCH];
            program.on_host(BATCH).input("words", &words).output("statuses", &mut statuses).run().expect("a run");
            assert_eq!(statuses, expected(BATCH), "{device}: over host memory");

            let input = stream.upload(&words).expect("a buffer");
            let mut statuses = held();
            let call = || program.on(&stream, BATCH).input("words", &input);
            call().output("statuses", &mut statuses).run().expect("a run");
            assert_eq!(stream.download::<u32>(&statuses).expect("words"), expected(BATCH), "{device}: over buffers");
            stream.write(&mut statuses, &[OK; BATCH]).expect("a buffer");
            for budget in [0, 9 * program.plan().temporary_bytes(1)] {
                call().output("statuses", &mut statuses).within(budget).run().expect("a run");
                assert_eq!(stream.download::<u32>(&statuses).expect("words"), expected(BATCH), "{device}: cut");
            }
            // a slice of a buffer: bytes before and after the slice must stay unchanged
            let mut many = stream.upload(&[OK - 1; 4 + BATCH + 1]).expect("a buffer");
            let slice = many.slice_mut(16..16 + 4 * BATCH).expect("a slice");
            call().output("statuses", slice).run().expect("a run");
            let found = stream.download::<u32>(&many).expect("words");
            assert_eq!(found[4..4 + BATCH], expected(BATCH), "{device}: in a slice");
            assert!(found[..4].iter().chain(&found[4 + BATCH..]).all(|word| *word == OK - 1), "{device}: beside it");
            call().output("statuses", &mut statuses).run_timed().expect("a run");
            assert_eq!(stream.download::<u32>(&statuses).expect("words"), expected(BATCH), "{device}: timed");

            let args = vec![("words", input.into()), ("statuses", held().into())];
            let mut captured = program.capture(&stream, BATCH, args).expect("a captured run");
            for round in 0..3 {
                captured.write("statuses", &[OK; BATCH]).expect("an argument");
                captured.run().expect("a run");
                let found = stream.download::<u32>(captured.buffer("statuses").expect("statuses")).expect("words");
                assert_eq!(found, expected(BATCH), "{device}: captured, run {round}");
            }
        }
    }
}

#[test]
fn chunks_have_statuses_of_their_own() {
    // a batch of several chunks, on the devices that cut batches into chunks (the emulator does not)
    let batch = 1 << 20;
    for device in [Some(Device::cpu()), ringforge_testkit::Target::Cuda.device()].into_iter().flatten() {
        for program in programs(&device) {
            let (words, mut statuses) = (vec![1u32; batch], vec![OK; batch]);
            program.on_host(batch).input("words", &words).output("statuses", &mut statuses).run().expect("a run");
            assert!(statuses == expected(batch), "{device}");
        }
    }
}

#[test]
fn statuses_that_a_plan_reads_are_left_alone() {
    let both = Port { role: Role::InOut, ..Port::status() };
    let p = Planner::default().pipeline("statuses");
    let kernel = Check { ports: [Port::input(4), both], ..SKIPS };
    let [statuses] = p.step(kernel, &[p.input("words"), p.input("statuses")]);
    p.output("statuses", statuses);
    let plan = p.build().expect("a plan");
    assert!(plan.arg("statuses").is_some_and(|arg| arg.role == Role::InOut && !arg.status));
    for device in devices() {
        let program = device.compile(&plan).expect("a program");
        let (words, mut statuses) = (vec![1u32; BATCH], vec![7; BATCH]);
        program.on_host(BATCH).input("words", &words).output("statuses", &mut statuses).run().expect("a run");
        assert_eq!((statuses[SKIPPED], statuses[0]), (7, OK), "{device}");
    }
}
