//! Compiled plans, and the first difference between the outputs of two runs.

use crypto_bigint::{NonZero, U256};

use ringforge_math::error::Result;
use ringforge_math::poly::PolyType;
use ringforge_runtime::device::{Device, Stream};
use ringforge_runtime::kernel::Role;
use ringforge_runtime::plan::{Home, Plan, Slot};
use ringforge_runtime::program::{Program, arg_bytes};

use super::scheme::{Named, NamedPlan};

/// A plan compiled for a device, with a stream to run it on.
#[derive(Debug)]
pub struct Compiled {
    program: Program,
    stream: Stream,
}

impl Compiled {
    /// Compiles a plan for a device and creates a stream.
    ///
    /// # Errors
    /// The errors of [`Device::compile`] and [`Device::stream`].
    pub fn new(named: &NamedPlan, device: &Device) -> Result<Self> {
        Ok(Self { program: device.compile(&named.plan)?, stream: device.stream()? })
    }

    /// Runs the plan with these contents of the inputs, and returns the contents of the outputs, by name.
    ///
    /// # Errors
    /// The errors of [`Call::run`](ringforge::run::Call::run). Missing contents of an input count as an unwritten
    /// buffer.
    pub fn run(&self, batch: usize, inputs: &Named) -> Result<Named> {
        let args = self.program.plan().args();
        let mut buffers = args
            .iter()
            .map(|arg| match (arg.role, inputs.get(&arg.name)) {
                (Role::In | Role::InOut, Some(bytes)) => self.stream.upload(bytes),
                _ => self.program.device().buffer(arg_bytes(arg, batch)?),
            })
            .collect::<Result<Vec<_>>>()?;
        let mut call = self.program.on(&self.stream, batch);
        for (arg, buffer) in args.iter().zip(&mut buffers) {
            call = if arg.role == Role::In { call.input(&arg.name, buffer) } else { call.output(&arg.name, buffer) };
        }
        call.run()?;
        let written = buffers.iter().zip(args).filter(|(_, arg)| arg.role != Role::In);
        written.map(|(buffer, arg)| Ok((arg.name.clone(), self.stream.download(buffer)?))).collect()
    }
}

/// Describes the first difference between the expected and the actual outputs of a plan. Lazy residues (not fully
/// reduced) are compared modulo q. `None` if the outputs agree.
#[must_use]
pub fn difference(plan: &Plan, expected: &Named, found: &Named) -> Option<String> {
    expected.iter().find_map(|(name, expected)| {
        let (Some(arg), Some(found)) = (plan.arg(name), found.get(name)) else {
            return Some(format!("the output {name} is missing"));
        };
        if expected.len() != found.len() {
            return Some(format!("{name} has {} bytes instead of {}", found.len(), expected.len()));
        }
        let byte = match (range_of(plan, name), &arg.after) {
            (k @ 2.., Some(content)) => modular_difference(content, k, expected, found)?,
            _ => expected.iter().zip(found).position(|(a, b)| a != b)?,
        };
        let (item, at) = (byte / arg.bytes.max(1), byte % arg.bytes.max(1));
        let (expected, found) = (expected[byte], found[byte]);
        Some(format!("{name}, item {item}, byte {at}: expected {expected:#04x}, found {found:#04x}"))
    })
}

/// The number k for which the residues of an argument are below k times their modulus, according to the last step that
/// writes the argument. 1 if no step writes it.
fn range_of(plan: &Plan, name: &str) -> u32 {
    let arg = plan.args.iter().position(|arg| arg.name == name).map(Home::Arg);
    let ports = plan.steps.iter().flat_map(|step| step.kernel.ports().iter().zip(&step.slots));
    let is_it = |slot: &Slot| matches!(slot, Slot::Memory(place, _) if Some(*place) == arg);
    let mut writes = ports.filter(|(port, slot)| port.role != Role::In && is_it(slot));
    writes.next_back().map_or(1, |(port, _)| port.below)
}

/// The index of the first byte of the first residue in `found` that is not below k times its modulus q, or differs from
/// the expected residue modulo q. `None` if there is none.
fn modular_difference(poly: &PolyType, k: u32, expected: &[u8], found: &[u8]) -> Option<usize> {
    let size = poly.width().bytes();
    let rows = poly.basis();
    let value = |bytes: &[u8]| {
        let mut wide = [0; 32];
        wide[..bytes.len()].copy_from_slice(bytes);
        U256::from_le_slice(&wide)
    };
    let residues = expected.chunks_exact(size).zip(found.chunks_exact(size)).enumerate();
    let wrong = |(i, (expected, found)): &(usize, (&[u8], &[u8]))| {
        let q = &rows[i / poly.degree() % rows.len()];
        let quotient = NonZero::new(q.value()).into_option().map(|q| value(found).div_rem_vartime(&q).0);
        let beyond = quotient.is_none_or(|quotient| quotient >= U256::from(k));
        beyond || q.reduce(&value(expected)) != q.reduce(&value(found))
    };
    residues.into_iter().find(wrong).map(|(i, _)| i * size)
}
