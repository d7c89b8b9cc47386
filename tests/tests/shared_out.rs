//! Tests that transforms split over several kernels or clusters agree with the test kit's naive implementation, and
//! that all devices give equal results.

use ringforge::Result;
use ringforge_testkit::inject::injections;
use ringforge_testkit::{Target, check_scheme};
use ringforge_tests::shared_out::{self, Addressing, SharedOut};

#[test]
fn cpu() {
    check_scheme::<SharedOut>(Target::Cpu);
}

#[test]
fn emulator() {
    check_scheme::<SharedOut>(Target::Emulator);
}

/// Checks that a defect is detected: a launch for some thread blocks of an item does the work of different blocks.
#[test]
fn wrong_blocks_are_detected() -> Result<()> {
    let Some(device) = Target::Emulator.device() else { return Ok(()) };
    let plans = shared_out::transforms(device.limits())?;
    let forward = plans.first().expect("there is a forward transform");
    let injections = injections(forward, device.limits())?.into_iter().filter(|defect| defect.what.contains("made 0"));
    let found = injections.map(|defect| defect.found(forward, &device, 1, 2)).collect::<Result<Vec<_>>>()?;
    assert_eq!(found, [true; 2], "each of the two kernels is run by slabs");
    Ok(())
}

/// Runs only the transforms with complicated addressing under sanitizers; the arithmetic is the same as in unsplit
/// transforms.
#[test]
fn emulator_sanitized() {
    check_scheme::<Addressing>(Target::EmulatorSanitized);
}

#[test]
fn cuda() {
    check_scheme::<SharedOut>(Target::Cuda);
}
