//! Kernels whose ports share memory: the same answer everywhere, or a refusal of the plan.

use ringforge::kernels::{Forward, Inverse, PointMul, RingMul};
use ringforge::testkit::{Target, bytes, residues};
use ringforge::{
    Device, Error, HostArg, Job, Limits, Op, Order, Plan, Planner, Port, Result, Ring, Role, Slot, Split, Step,
};

use crate::kernels::Fake;
use crate::refused;

const BATCH: usize = 3;

/// The step with these arguments in place of 0, 1, 2.
fn bound(step: &Step, args: [usize; 3]) -> Step {
    let slots = step.slots.iter().map(|slot| match slot {
        Slot::Arg(i) => Slot::Arg(args[*i]),
        other => other.clone(),
    });
    Step { kernel: step.kernel.clone(), slots: slots.collect() }
}

/// What the step leaves in its last argument, with these ones in place of 0, 1, 2.
fn run(device: &Device, step: &Step, args: [usize; 3], inputs: &[Vec<u8>]) -> Result<Vec<u8>> {
    let plan = Plan::new("sharing", vec![bound(step, args)])?;
    let mut memory: Vec<Vec<u8>> = inputs[..plan.args().len()].to_vec();
    let host = memory.iter_mut().zip(plan.args()).map(|(bytes, arg)| match arg.role {
        Role::In => HostArg::In(bytes),
        Role::Out | Role::InOut => HostArg::Out(bytes),
    });
    device.compile(&plan)?.run_host(BATCH, &mut host.collect::<Vec<_>>())?;
    Ok(memory.swap_remove(args[2]))
}

/// Every way in which the three operands can share memory gives what operands apart give.
#[test]
fn products() -> Result<()> {
    for text in ["3457:x^48-x^24+1", "12289,18433:x^16+1", "18446744069414584321:x^8-1"] {
        let ring: Ring = text.parse()?;
        let split = Split::of(&ring, None)?;
        let operands: Vec<Vec<u8>> = (0..3).map(|seed| residues(&ring, seed, BATCH)).collect();
        for device in [Target::Cpu, Target::Text, Target::Cuda].into_iter().filter_map(Target::device) {
            let limits = device.limits();
            let point = |order| PointMul::new(&split, order, limits);
            let [a, b, c] = [0, 1, 2].map(Slot::Arg);
            let steps = [
                RingMul::new(&split, limits).step(a.clone(), b.clone(), c.clone()),
                point(Order::Natural).step(a.clone(), b.clone(), c.clone()),
                point(Order::Tree).adding().step(a, b, c),
            ];
            for step in steps {
                let adds = step.kernel.ports()[2].role == Role::InOut;
                for args in [[0, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 1]] {
                    let apart = |i: usize| operands[args[i]].clone();
                    let wanted = run(&Device::cpu(), &step, [0, 1, 2], &[apart(0), apart(1), apart(2)])?;
                    let found = run(&device, &step, args, &operands)?;
                    assert_eq!(found, wanted, "{} {args:?} of {ring} on {device}, adds: {adds}", step.kernel.name());
                }
            }
        }
    }
    Ok(())
}

/// Rows of one basis take the place of those of another where there are as many, of one width.
#[test]
fn conversions() -> Result<()> {
    let rings = ["12289,18433:x^16+1", "13313,15361:x^16+1", "12289:x^16+1"].map(str::parse::<Ring>);
    let [from, to, short] = [rings[0].clone()?, rings[1].clone()?, rings[2].clone()?];
    let step =
        |to: &Ring| Ok::<_, Error>(Planner::default().plan(&Job::new(&from, Op::Convert).to(to))?.steps()[0].clone());
    let operand = residues(&from, 7, BATCH);
    let wanted = run(&Device::cpu(), &step(&to)?, [0, 1, 1], &[operand.clone(), operand.clone()])?;
    for device in [Target::Cpu, Target::Text, Target::Cuda].into_iter().filter_map(Target::device) {
        assert_eq!(run(&device, &step(&to)?, [0, 0, 0], std::slice::from_ref(&operand))?, wanted, "{device}");
    }
    refused!(Plan::new("shorter", vec![bound(&step(&short)?, [0, 0, 0])]), Error::Plan { .. });
    Ok(())
}

/// A kernel that says nothing of it is not run in place; the error names the kernel, the ports and what they share.
#[test]
fn what_a_kernel_does_not_say() -> Result<()> {
    let ports = [Port::input(4), Port::input(4), Port::output(4)];
    let plan =
        |in_place, slots: &[Slot]| Plan::new("sharing", vec![Fake { in_place, ..Fake::new(&ports) }.step(slots)]);
    let [a, b] = [0, 1].map(Slot::Arg);
    refused!(plan(false, &[b.clone(), a.clone(), a.clone()]), Error::Plan { ref why, .. }
        if why == "fake cannot read argument 0 at port 1 and write it at port 2");
    plan(true, &[b.clone(), a.clone(), a.clone()])?;
    plan(false, &[a.clone(), a, b])?;
    Ok(())
}

/// Of some of the layers, those whose values move to natural order: other blocks have yet to read what one writes.
#[test]
fn values_that_move() -> Result<()> {
    let ring: Ring = "18446744069414584321:x^65536-1".parse()?;
    for op in [Op::Forward, Op::Inverse] {
        let planner = Planner::new(Limits::h200());
        let steps = |order| Ok::<_, Error>(planner.plan(&Job::new(&ring, op).order(order))?.steps().to_vec());
        let in_place = |step: &Step| Plan::new("in place", vec![bound(&to_args(step), [0, 0, 0])]);
        let natural = steps(Order::Natural)?;
        assert!(natural.len() > 1);
        let refused = natural.iter().filter(|step| in_place(step).is_err()).count();
        assert_eq!(refused, 1, "{op}");
        assert!(steps(Order::Tree)?.iter().all(|step| in_place(step).is_ok()), "{op}");
    }
    let split = Split::of(&"3329:x^256+1".parse()?, None)?;
    let [a, b] = [0, 0].map(Slot::Arg);
    Plan::new("whole", vec![Forward::new(&split, Order::Natural, &Limits::h200()).step(a.clone(), b.clone())])?;
    Plan::new("whole", vec![Inverse::new(&split, Order::Natural, &Limits::h200()).step(a, b)])?;
    Ok(())
}

/// The step on arguments alone.
fn to_args(step: &Step) -> Step {
    let slots = step.slots.iter().map(|slot| match slot {
        Slot::Temp(_) => Slot::Arg(1),
        other => other.clone(),
    });
    Step { kernel: step.kernel.clone(), slots: slots.collect() }
}

/// On the CPU a kernel need not know that it runs in place, whatever it takes first.
#[test]
fn inputs_are_what_they_were() -> Result<()> {
    use crate::kernels::Misuse::{InputFirst, OutputFirst};
    let device = Device::cpu();
    let input = bytes(5, 4 * BATCH);
    for misuse in [InputFirst, OutputFirst] {
        let fake = Fake { in_place: true, ..Fake::broken(misuse) };
        let plan = Plan::new("in place", vec![fake.step(&[Slot::Arg(0), Slot::Arg(0)])])?;
        let mut data = input.clone();
        device.compile(&plan)?.run_host(BATCH, &mut [HostArg::Out(&mut data)])?;
        let reversed: Vec<u8> = input.iter().rev().copied().collect();
        assert_eq!(data, reversed, "{misuse:?}");
    }
    Ok(())
}
