//! Plans whose parts do not fit together, and kernels that break their own description.

use std::sync::Arc;

use ringforge::testkit::Target;
use ringforge::{Arg, Content, Device, Error, Modulus, Plan, Port, Result, Ring, Slot, Table};

use crate::kernels::{Fake, Lent, Misuse};
use crate::refused;

const IN: Port = Port::input(4);
const OUT: Port = Port::output(4);

fn arg(i: usize) -> Slot {
    Slot::Arg(i)
}

fn table(bytes: usize) -> Slot {
    Slot::Table(Table::Bytes(vec![0; bytes].into()))
}

fn pair(slots: &[Slot]) -> Result<Plan> {
    Plan::new("pair", vec![Fake::new(&[IN, OUT]).step(slots)])
}

#[test]
fn ports_and_slots() {
    assert!(pair(&[arg(0), arg(1)]).is_ok());
    refused!(pair(&[arg(0)]), Error::Plan { .. });
    refused!(pair(&[arg(0), arg(1), arg(2)]), Error::Plan { .. });
    refused!(pair(&[]), Error::Plan { .. });
    refused!(pair(&[arg(0), arg(2)]), Error::Plan { .. });
    refused!(pair(&[arg(1), arg(2)]), Error::Plan { .. });
}

#[test]
fn arguments_of_two_sizes() {
    let steps =
        |port| vec![Fake::new(&[IN, OUT]).step(&[arg(0), arg(1)]), Fake::new(&[port, OUT]).step(&[arg(0), arg(2)])];
    assert!(Plan::new("sizes", steps(IN)).is_ok());
    refused!(Plan::new("sizes", steps(Port::input(8))), Error::Plan { .. });
    refused!(Plan::new("sizes", steps(Port::shared(4))), Error::Plan { .. });
}

#[test]
fn temporaries() {
    let temp = Slot::Temp;
    refused!(pair(&[temp(0), arg(0)]), Error::Plan { .. });
    refused!(pair(&[temp(0), temp(0)]), Error::Plan { .. });
    refused!(
        Fake::new(&[Port::in_out(4)])
            .plan()
            .and_then(|_| { Plan::new("in and out", vec![Fake::new(&[Port::in_out(4)]).step(&[temp(0)])]) }),
        Error::Plan { .. }
    );
    let chain = |first, second: Fake, slot| {
        Plan::new("chain", vec![Fake::new(&[IN, OUT]).step(&[arg(0), first]), second.step(&[slot, arg(1)])])
    };
    assert!(chain(temp(0), Fake::new(&[IN, OUT]), temp(0)).is_ok());
    refused!(chain(temp(0), Fake::new(&[Port::input(8), OUT]), temp(0)), Error::Plan { .. });
    refused!(chain(temp(0), Fake::new(&[Port::shared(4), OUT]), temp(0)), Error::Plan { .. });
    refused!(chain(temp(1), Fake::new(&[IN, OUT]), temp(1)), Error::Plan { .. });
}

#[test]
fn tables() {
    let shared = |slot| Plan::new("table", vec![Fake::new(&[Port::shared(8), OUT]).step(&[slot, arg(0)])]);
    assert!(shared(table(8)).is_ok());
    refused!(shared(table(7)), Error::Plan { .. });
    refused!(shared(table(0)), Error::Plan { .. });
    let made = |items| Table::Made { kernel: Arc::new(Fake::new(&[OUT])), items, inputs: Vec::new() };
    assert!(shared(Slot::Table(made(2))).is_ok());
    refused!(shared(Slot::Table(made(3))), Error::Plan { .. });
    // an output, and an input of which each item has its own
    refused!(pair(&[arg(0), table(4)]), Error::Plan { .. });
    refused!(pair(&[table(4), arg(0)]), Error::Plan { .. });
}

#[test]
fn writes_to_what_is_shared() {
    let mut port = Port::output(4);
    port.per = ringforge::Per::Shared;
    refused!(Fake::new(&[port]).plan(), Error::Plan { .. });
}

#[test]
fn contents() -> Result<()> {
    let ring = Ring::negacyclic(4, Modulus::new(17u32)?)?; // eight bytes
    let content = Content::Coefficients(ring);
    let known = Some(content.clone());
    let plan = || Fake::new(&[Port::input(8), OUT]).plan();
    assert!(plan()?.with_contents(vec![known.clone(), None]).is_ok());
    refused!(plan()?.with_contents(vec![None, known.clone()]), Error::Plan { .. });
    refused!(plan()?.with_contents(vec![known]), Error::Plan { .. });
    // only what is read and written becomes something else
    let in_out = Fake::new(&[Port::in_out(8)]).plan()?;
    assert!(in_out.clone().becoming(0, content.clone()).is_ok());
    refused!(in_out.becoming(1, content.clone()), Error::Plan { .. });
    refused!(plan()?.becoming(0, content), Error::Plan { .. });
    Ok(())
}

/// Numbers that no plan has.
#[test]
fn numbers_beyond_any_plan() {
    refused!(pair(&[arg(0), arg(usize::MAX)]), Error::Plan { .. });
    refused!(pair(&[arg(0), Slot::Temp(1 << 60)]), Error::Plan { .. });
}

/// One argument cannot take two outputs of a kernel.
#[test]
fn an_argument_written_twice() {
    let both = Fake::new(&[OUT, OUT]).step(&[arg(0), arg(0)]);
    refused!(Plan::new("twice", vec![both]), Error::Plan { .. });
}

/// The recipe of a table is a small plan: its inputs must fit the kernel, and its last port must be the only output.
#[test]
fn recipes() {
    let plan = |ports: &[Port], items, inputs| {
        let recipe = Table::Made { kernel: Arc::new(Fake::new(ports)), items, inputs };
        let reader = Fake::new(&[Port::shared(8), OUT]).step(&[Slot::Table(recipe), arg(0)]);
        Plan::new("recipe", vec![reader])
    };
    let bytes = |n| Table::Bytes(vec![0; n].into());
    assert!(plan(&[Port::shared(3), OUT], 2, vec![bytes(3)]).is_ok());
    refused!(plan(&[Port::shared(3), OUT], 2, vec![]), Error::Plan { .. });
    refused!(plan(&[Port::shared(3), OUT], 2, vec![bytes(2)]), Error::Plan { .. });
    refused!(plan(&[OUT], 2, vec![bytes(2)]), Error::Plan { .. });
    refused!(plan(&[IN, OUT], 2, vec![bytes(4)]), Error::Plan { .. });
    refused!(plan(&[OUT, OUT], 2, vec![bytes(8)]), Error::Plan { .. });
    refused!(plan(&[Port::shared(4)], 2, vec![]), Error::Plan { .. });
    refused!(plan(&[], 2, vec![]), Error::Plan { .. });
    refused!(plan(&[OUT], usize::MAX, vec![]), Error::Plan { .. });
}

#[test]
fn broken_kernels() -> Result<()> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let misuses = [Misuse::NoSuchPort, Misuse::OutputAsInput, Misuse::InputAsOutput, Misuse::Twice, Misuse::Elements];
    let lengths = Fake { misuse: Misuse::Lengths, ..Fake::new(&[Port::input(8), OUT]) };
    for kernel in misuses.map(Fake::broken).into_iter().chain([lengths]) {
        let about = format!("{kernel:?}");
        let program = device.compile(&kernel.plan()?)?;
        let input = stream.upload(&vec![1u8; program.plan().args()[0].bytes])?;
        let mut output = stream.upload(&[5u8; 4])?;
        let outcome = program.run(&stream, 1, &mut [(&input).into(), (&mut output).into()]);
        refused!(outcome, Error::Kernel { ref kernel, .. } if kernel == "fake");
        // what a failed run should have written cannot be read
        refused!(stream.download::<u8>(&output), Error::Unwritten { .. });
        assert_eq!(stream.download::<u8>(&input)?[0], 1, "{about}");
    }
    Ok(())
}

#[test]
fn a_source_is_not_lent_to_a_kernel_with_other_ports() -> Result<()> {
    let Some(device) = Target::Text.device() else { return Ok(()) };
    let lent = |ports: &[Port]| Lent { of: Fake::new(&[IN, OUT]), ports: ports.to_vec() }.plan();
    device.compile(&lent(&[IN, OUT])?)?;
    for ports in [&[Port::input(8), OUT][..], &[IN, Port::in_out(4)], &[Port::shared(4), OUT], &[IN, IN, OUT]] {
        refused!(device.compile(&lent(ports)?), Error::Kernel { ref kernel, .. } if kernel == "fake");
    }
    Ok(())
}

#[test]
fn texts_with_other_parameters_than_ports() -> Result<()> {
    let Some(device) = Target::Text.device() else { return Ok(()) };
    let stream = device.stream()?;
    let run = |kernel: Fake| {
        let program = device.compile(&kernel.plan()?)?;
        let mut buffers = program.plan().args().iter().map(|_| stream.upload(&[1u8; 4])).collect::<Result<Vec<_>>>()?;
        let mut args: Vec<Arg<'_>> = buffers.iter_mut().map(Arg::from).collect();
        program.run(&stream, 1, &mut args)
    };
    run(Fake::new(&[IN, OUT]))?;
    // more or fewer parameters than ports are seen before anything runs
    for ports in [&[OUT][..], &[IN, IN, OUT]] {
        refused!(device.compile(&Fake::new(ports).plan()?), Error::Compile { ref kernel, .. } if kernel == "fake");
    }
    let unnamed = Fake { text: "// nothing\n", ..Fake::new(&[IN, OUT]) };
    refused!(run(unnamed), Error::Compile { ref kernel, .. } if kernel == "fake");
    Ok(())
}
