//! Compares the steps of a plan one by one on two devices. Each step starts from the memory that the earlier steps left
//! on the first device.

use core::ops::Range;

use ringforge_math::error::Result;
use ringforge_runtime::device::Device;
use ringforge_runtime::kernel::{Port, Role};
use ringforge_runtime::plan::{Home, Plan, PlanArg, Slot, Step};
use ringforge_runtime::program::arg_bytes;

use super::compare::{Compiled, difference};
use super::scheme::{Named, NamedPlan};

/// The memory that one port of a step writes.
struct Written {
    port: usize,
    /// The index of the argument that holds the memory. `bytes` is the byte range within one item.
    arg: usize,
    bytes: Range<usize>,
    /// Whether all bits are defined. Otherwise the port holds lazy residues, which are defined only modulo q, and the
    /// plan does not say what q is.
    exact: bool,
}

/// Some steps of a plan as a separate plan. All arguments and temporaries of the original plan are its arguments.
fn part(plan: &Plan, steps: Range<usize>) -> NamedPlan {
    let temps = plan.temps.iter().enumerate().map(|(i, temp)| PlanArg {
        name: format!("temporary {i}"),
        role: Role::In,
        sharing: temp.sharing,
        bytes: temp.bytes,
        secret: temp.secret,
        random_key: false,
        status: false,
        before: None,
        after: None,
    });
    let args = plan.args.iter().cloned().chain(temps);
    let of_step = |step: &Step| {
        let slot = |slot: &Slot| match (slot, slot.number(plan.args.len())) {
            (Slot::Memory(_, first), Some(place)) => Slot::Memory(Home::Arg(place), *first),
            _ => slot.clone(),
        };
        Step { slots: step.slots.iter().map(slot).collect(), ..step.clone() }
    };
    let title = format!("{}, steps {steps:?}", plan.title);
    let steps: Vec<Step> = plan.steps[steps].iter().map(of_step).collect();
    let is_written = |place| steps.iter().flat_map(written).any(|written| written.arg == place);
    let arg = |(place, arg): (usize, PlanArg)| PlanArg {
        // read and written, so that bytes that the step does not write are returned as well
        role: if is_written(place) { Role::InOut } else { Role::In },
        status: false,
        before: None,
        after: None,
        ..arg
    };
    let args = args.enumerate().map(arg).collect();
    NamedPlan::new(title.clone(), Plan { title, steps, args, temps: Vec::new() })
}

/// The memory that a step of a plan made by [`part`] writes.
fn written(step: &Step) -> impl Iterator<Item = Written> + '_ {
    let of_port = |(i, (port, slot)): (usize, (&Port, &Slot))| match slot {
        Slot::Memory(Home::Arg(arg), first) if port.role != Role::In => {
            let end = first + (step.elements - 1) * port.stride() + port.bytes;
            Some(Written { port: i, arg: *arg, bytes: *first..end, exact: port.below == 1 })
        }
        _ => None,
    };
    step.kernel.ports().iter().zip(&step.slots).enumerate().filter_map(of_port)
}

/// Compares the bytes that the first step of `part` wrote, and describes the first difference. `None` if there is none.
/// Ports with lazy residues are not compared.
fn first_port(part: &NamedPlan, expected: &Named, found: &Named) -> Option<String> {
    let step = part.plan.steps.first()?;
    written(step).filter(|written| written.exact).find_map(|Written { port, arg, bytes, .. }| {
        let arg = &part.plan.args[arg];
        let items = |all: &Named| {
            let items = all.get(&arg.name).map_or(&[][..], |all| all).chunks_exact(arg.bytes.max(1));
            items.map(|item| item.get(bytes.clone()).unwrap_or(item).to_vec()).collect::<Vec<_>>()
        };
        let (expected, found) = (items(expected), items(found));
        let item = expected.iter().zip(&found).position(|(a, b)| a != b)?;
        let byte = expected[item].iter().zip(&found[item]).position(|(a, b)| a != b)?;
        let (expected, found) = (expected[item][byte], found[item][byte]);
        let about = format!("port {port} ({}), item {item}, byte {byte}", arg.name);
        Some(format!("{}, {about}: expected {expected:#04x}, found {found:#04x}", step.kernel.name()))
    })
}

/// Writes the contents `bytes` for a port of the first step of `part` into the memory that the port is bound to.
fn put(part: &NamedPlan, port: usize, bytes: &[u8], memory: &mut Named) {
    let Some(step) = part.plan.steps.first() else { return };
    let (Some(Slot::Memory(Home::Arg(arg), first)), Some(port)) = (step.slots.get(port), step.kernel.ports().get(port))
    else {
        panic!("{} has no memory at port {port}", step.kernel.name());
    };
    let arg = &part.plan.args[*arg];
    let memory = memory.get_mut(&arg.name).map_or(&mut [][..], |all| all);
    // a step may divide an item into elements
    let items = memory.chunks_exact_mut((arg.bytes / step.elements).max(1));
    for (item, bytes) in items.zip(bytes.chunks_exact(port.bytes.max(1))) {
        item[*first..][..port.bytes].copy_from_slice(bytes);
    }
}

/// Runs each step on both devices, and describes the first step and port with different results. Returns `None` if
/// there is none, or if the plan is only compared as a whole. Each step starts from the memory that the earlier steps
/// left on the first device, and again from the plan's samples for this step, if there are any.
///
/// A difference in a temporary is ignored if it does not affect the outputs, for example in bytes between items.
///
/// # Errors
/// Errors of a step on either device.
pub(super) fn first_difference(
    named: &NamedPlan,
    devices: [&Device; 2],
    seed: u64,
    (batch, inputs): (usize, &Named),
) -> Result<Option<String>> {
    if !named.steps_agree {
        return Ok(None);
    }
    let plan = &named.plan;
    let mut memory = Named::new();
    for arg in part(plan, 0..0).plan.args {
        let bytes = match inputs.get(&arg.name) {
            Some(bytes) => bytes.clone(),
            None => vec![0; arg_bytes(&arg, batch)?],
        };
        memory.insert(arg.name, bytes);
    }
    for index in 0..plan.steps.len() {
        let step = part(plan, index..index + 1);
        let [first, second] = devices.map(|device| Compiled::new(&step, device));
        let (first, second) = (first?, second?);
        if let Some(samples) = named.step_samples(index, seed, batch) {
            let mut before = memory.clone();
            samples.iter().for_each(|(port, bytes)| put(&step, *port, bytes, &mut before));
            let wrong = first_port(&step, &first.run(batch, &before)?, &second.run(batch, &before)?);
            if let Some(wrong) = wrong {
                return Ok(Some(format!("step {index}, {wrong}, from the samples of this step")));
            }
        }
        let (expected, found) = (first.run(batch, &memory)?, second.run(batch, &memory)?);
        if let Some(wrong) = first_port(&step, &expected, &found) {
            let rest = Compiled::new(&part(plan, index + 1..plan.steps.len()), devices[0])?;
            let outcome = |left: &Named| -> Result<Named> {
                let mut before = memory.clone();
                before.extend(left.clone());
                let after = rest.run(batch, &before)?;
                before.extend(after);
                before.retain(|name, _| plan.arg(name).is_some_and(|arg| arg.role != Role::In));
                Ok(before)
            };
            if difference(plan, &outcome(&expected)?, &outcome(&found)?).is_some() {
                return Ok(Some(format!("step {index}, {wrong}")));
            }
        }
        memory.extend(expected);
    }
    Ok(None)
}
