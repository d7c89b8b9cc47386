//! Tests that the emulator, which runs the CUDA source of kernels on the CPU, accepts a correct kernel and reports
//! broken ones with the right reason.

use std::time::Duration;

use ringforge::{Device, Error};
use ringforge_testkit::{Compiled, NamedPlan, Target, check_plan, emulator, seed};
use ringforge_tests::mix::{self, Mix};

fn why(device: &Device, named: &NamedPlan) -> String {
    let run = |batch| Compiled::new(named, device)?.run(batch, &named.sample(1, batch));
    match run(3) {
        Ok(_) => String::new(),
        Err(Error::Kernel { kernel, why }) => {
            assert_eq!(kernel, "mix");
            why
        }
        Err(error) => panic!("another error: {error}"),
    }
}

#[track_caller]
fn reports(target: Target, from: &str, to: &str, expected: &str) {
    let Some(device) = target.device() else { return };
    let found = why(&device, &mix::edited(from, to).expect("the plan is sound"));
    assert!(found.contains(expected), "expected {expected:?}, found {found:?}");
}

#[test]
fn a_sound_kernel_passes() {
    for device in [Target::Emulator, Target::EmulatorSanitized].into_iter().filter_map(Target::device) {
        check_plan(&mix::plan(Mix).expect("the plan is sound"), &[Device::cpu(), device], seed());
    }
}

#[test]
fn a_kernel_may_run_in_place() {
    let Some(device) = Target::Emulator.device() else { return };
    let apart = mix::plan(Mix).expect("the plan is sound");
    let in_place = mix::in_place(Mix).expect("the plan is sound");
    let inputs = apart.sample(seed(), 3);
    let run = |named, device, output: &str| {
        let outputs = Compiled::new(named, device)?.run(3, &inputs)?;
        Ok::<_, Error>(outputs[output].clone())
    };
    let mixed = run(&apart, &device, "mixed");
    assert_eq!(run(&in_place, &device, "words"), mixed);
    assert_eq!(run(&in_place, &Device::cpu(), "words"), mixed);
}

#[test]
fn a_race() {
    reports(Target::Emulator, "__syncthreads();", "", "its result depends on the schedule: port 2");
}

#[test]
fn output_left_unwritten() {
    reports(Target::Emulator, "out[item", "if (t != 7) out[item", "leaves its output unwritten: port 2, byte 28");
}

#[test]
fn a_write_to_an_input() {
    reports(Target::Emulator, "cells[t] = across", "((u32*)in)[t] = cells[t] = across", "writes to an input: port 1");
}

#[test]
fn a_write_outside_the_items_of_the_launch() {
    reports(
        Target::Emulator,
        "cells[t] = across;",
        "cells[t] = across; if (first > 0) out[t] = 1;",
        "outside the items",
    );
}

#[test]
fn a_write_outside_a_buffer() {
    reports(Target::Emulator, "out[item * Mix::n", "out[item * Mix::n + 1", "buffer 2 was written");
}

#[test]
fn a_read_outside_a_buffer() {
    reports(Target::EmulatorSanitized, "in[item * Mix::n", "in[item * Mix::n + 1", "heap-buffer-overflow");
}

#[test]
fn undefined_behaviour() {
    reports(Target::EmulatorSanitized, "* factors[t]", "* factors[t] << (factors[t] & 64)", "shift exponent");
}

#[test]
fn a_barrier_that_not_all_reach() {
    reports(Target::Emulator, "__syncthreads();", "if (t != 9) __syncthreads();", "__syncthreads");
    reports(Target::Emulator, "__syncwarp();", "if (t != 9) __syncwarp();", "__syncwarp");
}

#[test]
fn copies_that_are_not_awaited() {
    reports(Target::Emulator, "rf::await_copies();", "", "exits before its copies");
}

#[test]
fn a_kernel_that_crashes() {
    reports(Target::Emulator, "u32* cells =", "*(volatile u32*)8 = 1; u32* cells =", "crashed its runner");
}

#[test]
fn a_kernel_that_does_not_end() {
    let options = emulator::Options { timeout: Duration::from_secs(1), ..emulator::Options::default() };
    let Ok(device) = emulator::device(options) else { return };
    let endless = mix::edited("u32* cells =", "for (volatile u32 go = 1; go;) {} u32* cells =");
    assert!(why(&device, &endless.expect("the plan is sound")).contains("did not end"));
}

#[test]
fn a_source_that_does_not_compile() {
    let Some(device) = Target::Emulator.device() else { return };
    let broken = mix::edited("RF_SHARED(memory);", "RF_SHARED(memory) misspelt;").expect("the plan is sound");
    let error = Compiled::new(&broken, &device).err();
    assert!(matches!(&error, Some(Error::Compile { kernel, log }) if kernel == "mix" && log.contains("misspelt")));
}
