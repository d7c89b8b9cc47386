//! Kernels whose ports share memory either give the same result on every device, or their plan is rejected.

use ringforge::factorization::Factorization;
use ringforge::kernels::{Forward, Inverse, PointMul, RingMul};
use ringforge::kernels::{Kernel, Port, Role};
use ringforge::{Device, Error, Job, Limits, Op, Order, Plan, Planner, PolyType, Result};
use ringforge_testkit::inject::Altered;
use ringforge_testkit::one_step;
use ringforge_testkit::{bytes, devices, residues};

use super::kernels::Fake;
use super::refused;

const BATCH: usize = 3;

/// Names of the operands.
const NAMES: [&str; 3] = ["a", "b", "c"];

/// The plan of a kernel that reads the operands `args[0]` and `args[1]`, and `args[2]` if its third port is in-out. Its
/// output has the name of operand `args[2]`.
fn sharing(kernel: impl Kernel + 'static, args: [usize; 3]) -> Result<Plan> {
    let p = Planner::default().pipeline("sharing");
    let read = &args[..if kernel.ports()[2].role == Role::InOut { 3 } else { 2 }];
    let values = [0, 1, 2].map(|i| read.contains(&i).then(|| p.input(NAMES[i])));
    let [value] = p.step(kernel, &read.iter().filter_map(|&i| values[i]).collect::<Vec<_>>());
    p.output(NAMES[args[2]], value);
    p.build()
}

/// The output of a plan for these operands. The plan may overwrite all of them.
fn run(device: &Device, plan: &Plan, output: &str, operands: &[Vec<u8>]) -> Result<Vec<u8>> {
    let mut memory: Vec<(&str, Vec<u8>)> = NAMES.into_iter().zip(operands.iter().cloned()).collect();
    memory.retain(|(name, _)| plan.arg(name).is_some());
    let program = device.compile(plan)?;
    memory.iter_mut().fold(program.on_host(BATCH), |call, (name, memory)| call.output(name, memory)).run()?;
    Ok(memory.into_iter().find(|(name, _)| *name == output).map(|(_, bytes)| bytes).unwrap_or_default())
}

/// Checks that every way to share memory between the three operands gives the result of separate operands.
fn check(device: &Device, ring: &PolyType, kernel: &(impl Kernel + Clone + 'static)) -> Result<()> {
    let operands: Vec<Vec<u8>> = (0..3).map(|seed| residues(ring, seed, BATCH)).collect();
    let apart = sharing(kernel.clone(), [0, 1, 2])?;
    for args in [[0, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 1]] {
        let wanted = run(&Device::cpu(), &apart, "c", &args.map(|i| operands[i].clone()))?;
        let found = run(device, &sharing(kernel.clone(), args)?, NAMES[args[2]], &operands)?;
        assert_eq!(found, wanted, "{args:?} of {ring} on {device}: {kernel:?}");
    }
    Ok(())
}

#[test]
fn products() -> Result<()> {
    for text in ["3457:x^48-x^24+1", "12289,18433:x^16+1", "18446744069414584321:x^8-1"] {
        let ring: PolyType = text.parse()?;
        let factorization = Factorization::of(&ring, None)?;
        for device in devices() {
            let point = |order| PointMul::new(&factorization, order, device.limits());
            check(&device, &ring, &RingMul::new(&factorization, device.limits()))?;
            check(&device, &ring, &point(Order::Natural))?;
            check(&device, &ring, &point(Order::DigitReversed).adding())?;
        }
    }
    Ok(())
}

/// A conversion may overwrite its input if both bases have the same number of limbs, of the same width.
#[test]
fn conversions() -> Result<()> {
    let rings = ["12289,18433:x^16+1", "13313,15361:x^16+1", "12289:x^16+1"].map(str::parse::<PolyType>);
    let [from, to, short] = [rings[0].clone()?, rings[1].clone()?, rings[2].clone()?];
    let plan = |to: &PolyType, output| {
        let p = Planner::default().pipeline("conversion");
        let converted = p.job(&Job::new(&from, Op::Convert).to(to), &[p.coefficients("a", &from)]);
        p.output(output, converted);
        p.build()
    };
    let operands = [residues(&from, 7, BATCH), residues(&from, 8, BATCH)];
    let wanted = run(&Device::cpu(), &plan(&to, "b")?, "b", &operands)?;
    let in_place = plan(&to, "a")?;
    let contents = [&from, &to].map(|poly| Some(poly.clone()));
    assert_eq!(in_place.arg("a").map(|arg| [arg.before.clone(), arg.after.clone()]), Some(contents));
    for device in devices() {
        assert_eq!(run(&device, &in_place, "a", &operands)?, wanted, "{device}");
    }
    refused!(plan(&short, "a"), Error::Plan { ref why, .. }
        if why == "the output a and the input of that name must have the same size");
    Ok(())
}

/// A kernel that does not declare `in_place` is not run in place; the error names the input.
#[test]
fn kernels_that_do_not_declare_in_place() -> Result<()> {
    let ports = [Port::input(4), Port::input(4), Port::output(4)];
    let plan = |in_place, args| sharing(Fake { in_place, ..Fake::new(&ports) }, args);
    refused!(plan(false, [1, 0, 0]), Error::Plan { ref why, .. }
        if why == "the input a is still needed when the output of that name overwrites it");
    plan(true, [1, 0, 0])?;
    plan(false, [0, 0, 1])?;
    // a kernel with an in-out port that overwrites what it reads at another port, without declaring `in_place`
    let ports = [Port::input(4), Port::input(4), Port::in_out(4)];
    let plan = |in_place| sharing(Fake { in_place, ..Fake::new(&ports) }, [0, 1, 0]);
    refused!(plan(false), Error::Plan { ref why, .. } if why == "fake overwrites the input a, which is read later");
    plan(true)?;
    Ok(())
}

/// Kernels that compute some of the layers and permute to natural order cannot run in place: a block would overwrite
/// residues that other blocks have yet to read.
#[test]
fn values_that_move() -> Result<()> {
    let ring: PolyType = "18446744069414584321:x^65536-1".parse()?;
    for op in [Op::Forward, Op::Inverse] {
        let refused = |order| {
            let plan = Planner::new(Limits::h200()).plan(&Job::new(&ring, op).order(order))?;
            assert!(plan.kernels().len() > 1);
            let in_place = |kernel| one_step(Altered::new(kernel), &["data", "data"]);
            Ok::<_, Error>(plan.kernels().filter(|kernel| in_place(*kernel).is_err()).count())
        };
        assert_eq!((refused(Order::Natural)?, refused(Order::DigitReversed)?), (1, 0), "{op}");
    }
    let factorization = Factorization::of("3329:x^256+1".parse::<PolyType>()?, None)?;
    one_step(Forward::new(&factorization, Order::Natural, &Limits::h200()), &["data", "data"])?;
    one_step(Inverse::new(&factorization, Order::Natural, &Limits::h200()), &["data", "data"])?;
    Ok(())
}

/// On the CPU, a kernel that runs in place reads the original contents of its input, whether it takes its input or its
/// output first.
#[test]
fn inputs_read_their_original_contents() -> Result<()> {
    use crate::refusal::kernels::Misuse::{InputFirst, OutputFirst};
    let device = Device::cpu();
    let input = bytes(5, 4 * BATCH);
    for misuse in [InputFirst, OutputFirst] {
        let plan = one_step(Fake { in_place: true, ..Fake::broken(misuse) }, &["data", "data"])?;
        let mut data = input.clone();
        device.compile(&plan)?.on_host(BATCH).output("data", &mut data).run()?;
        let reversed: Vec<u8> = input.iter().rev().copied().collect();
        assert_eq!(data, reversed, "{misuse:?}");
    }
    Ok(())
}
