//! The stubs of future clients run through `Kernel`, `Plan` and `Program` on every device, with their oracles' results.

use num_bigint::BigUint;
use ringforge::testkit::{Scheme, Target, seed};
use ringforge::{Device, Limits, Result};
use ringforge_tests::shape::curve::{self, Oracle};
use ringforge_tests::shape::{Shape, kem};

ringforge::suite!(Shape);

#[test]
fn curve_constants_are_those_of_the_standard() {
    let oracle = Oracle::default();
    let number = |digits: &str| BigUint::parse_bytes(digits.as_bytes(), 16);
    let base = number(curve::BASE[0]).zip(number(curve::BASE[1]));
    let order = number(curve::ORDER).expect("a number");
    let before = oracle.multiply(&(&order - 1u32), &base).expect("a finite point");
    let p = number(curve::P).expect("a number");
    assert_eq!(base.clone().map(|(x, y)| (x, p - y)), Some(before));
    assert_eq!(oracle.multiply(&order, &base), None);
}

/// Tables are made on the device itself, and made once.
#[test]
fn plans_print_and_keep_their_tables() -> Result<()> {
    for plan in Shape::plans(&Limits::h200())? {
        println!("{}", plan.plan);
        let device = Device::cpu();
        let programs = [device.compile(&plan.plan)?, device.compile(&plan.plan)?];
        assert_eq!(programs[0].plan().args(), programs[1].plan().args());
    }
    Ok(())
}

/// Items of a batch share the key: an item's result does not depend on the batch around it.
#[test]
fn a_batch_is_its_items() -> Result<()> {
    use ringforge::testkit::Compiled;
    for device in [Target::Cpu, Target::Emulator].into_iter().filter_map(Target::device) {
        let named = kem::plan(device.limits())?;
        let compiled = Compiled::new(&named, &device)?;
        let inputs = named.sample(seed(), 3);
        let all = compiled.run(3, &inputs)?;
        for item in 0..3 {
            let mut inputs = inputs.clone();
            inputs.insert("seeds".into(), inputs["seeds"][32 * item..][..32].to_vec());
            let one = &compiled.run(1, &inputs)?["packed"];
            assert_eq!(one[..], all["packed"][one.len() * item..][..one.len()]);
        }
    }
    Ok(())
}

#[cfg(feature = "cuda")]
mod compile {
    use ringforge::cuda::{compile_check, is_compiler_present};
    use ringforge::kernels::Table;

    use super::*;

    /// The stubs' own kernels; those of the engine that make tables have their tests elsewhere.
    #[test]
    fn kernels_compile_for_sm_90() -> Result<()> {
        if !is_compiler_present() {
            eprintln!("skipped: NVRTC is not on this machine");
            return Ok(());
        }
        let limits = Limits::of_capability(90);
        for plan in Shape::plans(&limits)? {
            let made = plan.plan.tables().filter_map(|table| match table {
                Table::Made { kernel, .. } if kernel.name() != "twiddles" => Some(kernel),
                _ => None,
            });
            for kernel in made.chain(plan.plan.kernels()) {
                let used = compile_check(&**kernel, &limits, false)?;
                println!("{}: {used:?}", kernel.name());
                assert_eq!((used.spill_stores, used.spill_loads), (0, 0), "{}", kernel.name());
            }
        }
        Ok(())
    }
}
