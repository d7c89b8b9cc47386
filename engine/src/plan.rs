//! Plans: the steps that do a job, as data.

use core::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::job::Order;
use crate::kernel::{Kernel, Per, Port, Role};
use crate::ring::Ring;

/// What a buffer holds, where that is known; compared when programs run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Content {
    /// Coefficients of elements of a ring.
    Coefficients(Ring),
    /// Values of elements of a ring: residues modulo the leaves of a transform with this many layers, in this order.
    Values {
        /// The ring.
        ring: Ring,
        /// Layers of the transform.
        depth: u32,
        /// Order of the leaves.
        order: Order,
    },
}

impl Content {
    /// The ring.
    pub(crate) fn ring(&self) -> &Ring {
        match self {
            Self::Coefficients(ring) | Self::Values { ring, .. } => ring,
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coefficients(ring) => write!(f, "coefficients in {ring}"),
            Self::Values { ring, depth, order } => write!(f, "values in {ring} after {depth} layers, {order}"),
        }
    }
}

/// A table that a kernel reads: made once for each device, cached under its content, shared by all programs.
#[derive(Debug, Clone)]
pub enum Table {
    /// Written by a kernel whose last port is its only output, the others being these tables.
    Made {
        /// The kernel.
        kernel: Arc<dyn Kernel>,
        /// The items that the kernel is launched for.
        items: usize,
        /// What its other ports read.
        inputs: Vec<Table>,
    },
    /// These bytes.
    Bytes(Arc<[u8]>),
}

impl Table {
    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Made { kernel, items, .. } => {
                kernel.ports().last().map_or(0, |port| port.bytes.saturating_mul(*items))
            }
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// The kernels that make it and its inputs.
    pub(crate) fn kernels(&self) -> Vec<Arc<dyn Kernel>> {
        match self {
            Self::Made { kernel, inputs, .. } => {
                inputs.iter().flat_map(Self::kernels).chain([kernel.clone()]).collect()
            }
            Self::Bytes(_) => Vec::new(),
        }
    }

    /// Whether the kernel that makes it takes just its inputs, and writes just the table.
    fn check(&self) -> Result<(), String> {
        let Self::Made { kernel, items, inputs } = self else { return Ok(()) };
        let refuse = |why: &str| Err(format!("a table's kernel {} {why}", kernel.name()));
        let Some((out, shared)) = kernel.ports().split_last() else { return refuse("has no ports") };
        if out.role != Role::Out || out.per != Per::Item || out.bytes.checked_mul(*items).is_none() {
            return refuse("has no output of that size as its last port");
        }
        let fits = |(port, input): (&Port, &Self)| {
            port.role == Role::In && port.per == Per::Shared && port.bytes == input.bytes()
        };
        if shared.len() != inputs.len() || !shared.iter().zip(inputs).all(fits) {
            return refuse("does not take the table's inputs");
        }
        inputs.iter().try_for_each(Self::check)
    }
}

/// What a kernel's port is bound to.
#[derive(Debug, Clone)]
pub enum Slot {
    /// An argument of the plan.
    Arg(usize),
    /// A temporary of the plan.
    Temp(usize),
    /// A table.
    Table(Table),
}

/// A kernel and what its ports are bound to.
#[derive(Debug, Clone)]
pub struct Step {
    /// The kernel.
    pub kernel: Arc<dyn Kernel>,
    /// One slot for each port.
    pub slots: Vec<Slot>,
}

/// An argument of a plan: what the caller passes to [`Program::run`](crate::Program::run).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanArg {
    /// How the plan uses it as a whole.
    pub role: Role,
    /// Whether each item has its own.
    pub per: Per,
    /// Bytes of an item, or of the whole where it is shared.
    pub bytes: usize,
    /// Whether it holds secrets.
    pub secret: bool,
    /// What it holds, where that is known: before the run if the plan reads it, else after.
    pub content: Option<Content>,
    /// What it holds after the run, where that is something else.
    pub becomes: Option<Content>,
}

/// A temporary of a plan: memory that lives for one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temp {
    /// Bytes for each item.
    pub bytes: usize,
    /// Whether it holds secrets and is wiped after the run.
    pub secret: bool,
}

/// The steps that do a job. Made by a [`Planner`](crate::Planner) or put together by a scheme; both compile alike.
#[derive(Debug, Clone)]
pub struct Plan {
    title: String,
    steps: Vec<Step>,
    args: Vec<PlanArg>,
    temps: Vec<Temp>,
}

impl Plan {
    /// A plan of these steps, run in order.
    ///
    /// Arguments and temporaries are numbered from 0 and described by the ports they are bound to. Ports that a kernel only
    /// reads may be the same argument; one that it reads may be the same as one that it writes where the kernel
    /// [can run in place](Kernel::in_place).
    ///
    /// # Errors
    /// [`Error::Plan`] if a step has another number of slots than ports, if an argument or temporary is used with two
    /// sizes, is numbered with a gap, if a temporary is read before it is written, a table is bound to an output, or a
    /// kernel is to run in place that does not say that it can.
    pub fn new(title: impl Into<String>, steps: Vec<Step>) -> Result<Self> {
        let title = title.into();
        let refuse = |why: String| Error::Plan { plan: title.clone(), why };
        let most = steps.iter().map(|step| step.slots.len()).sum();
        let mut args: Vec<Option<PlanArg>> = Vec::new();
        let mut temps: Vec<Option<Temp>> = Vec::new();
        for step in &steps {
            let name = step.kernel.name();
            let ports = step.kernel.ports();
            if ports.len() != step.slots.len() {
                return Err(refuse(format!("{name} has {} ports, {} are bound", ports.len(), step.slots.len())));
            }
            let written = |slot: &Slot| {
                let writers = ports.iter().zip(&step.slots).filter(|(port, _)| port.role != Role::In);
                writers.filter(|(_, other)| same_place(slot, other)).count()
            };
            if let Some(slot) = step.slots.iter().find(|slot| written(slot) > 1) {
                return Err(refuse(format!("{name} writes twice to the same memory, {}", place(slot))));
            }
            let reads = ports.iter().enumerate().filter(|(_, port)| port.role == Role::In);
            for (input, _) in reads {
                let slot = &step.slots[input];
                let shares = |output: &usize| ports[*output].role != Role::In && same_place(slot, &step.slots[*output]);
                if let Some(output) = (0..ports.len()).find(shares)
                    && !step.kernel.in_place(input, output)
                {
                    let place = place(slot);
                    return Err(refuse(format!(
                        "{name} cannot read {place} at port {input} and write it at port {output}"
                    )));
                }
            }
            // inputs first: a step reads before it writes
            let mut bound: Vec<(&Port, &Slot)> = ports.iter().zip(&step.slots).collect();
            bound.sort_by_key(|(port, _)| port.role == Role::Out);
            for (port, slot) in bound {
                if port.per == Per::Shared && port.role != Role::In {
                    return Err(refuse(format!("{name} writes to a shared port")));
                }
                match slot {
                    Slot::Arg(i) | Slot::Temp(i) if *i >= most => {
                        return Err(refuse(format!("{name} is bound to number {i}, beyond all ports of the plan")));
                    }
                    Slot::Arg(i) => merge_arg(entry(&mut args, *i), port)
                        .map_err(|why| refuse(format!("argument {i} as used by {name} {why}")))?,
                    Slot::Temp(i) => merge_temp(entry(&mut temps, *i), port)
                        .map_err(|why| refuse(format!("temporary {i} as used by {name} {why}")))?,
                    Slot::Table(table) => {
                        table.check().map_err(&refuse)?;
                        if port.role != Role::In || port.per != Per::Shared || table.bytes() != port.bytes {
                            return Err(refuse(format!("{name} has no shared input of {} bytes there", table.bytes())));
                        }
                    }
                }
            }
        }
        let (args, temps) =
            (all_used(args, Slot::Arg).map_err(&refuse)?, all_used(temps, Slot::Temp).map_err(&refuse)?);
        Ok(Self { title, steps, args, temps })
    }

    /// The same plan with what its arguments hold, in order; `None` where it is not known.
    ///
    /// # Errors
    /// [`Error::Plan`] if the number is not that of the arguments, or an element of the ring has another size.
    pub fn with_contents(mut self, contents: Vec<Option<Content>>) -> Result<Self> {
        if contents.len() != self.args.len() {
            let why = format!("contents of {} arguments are given, and there are {}", contents.len(), self.args.len());
            return Err(Error::Plan { plan: self.title, why });
        }
        for (i, (arg, content)) in self.args.iter_mut().zip(contents).enumerate() {
            if let Some(content) = content.as_ref().filter(|content| content.ring().bytes() != arg.bytes) {
                let (got, bytes) = (arg.bytes, content.ring().bytes());
                let why = format!("argument {i} has {got} bytes an item, and {content} have {bytes}");
                return Err(Error::Plan { plan: self.title, why });
            }
            arg.content = content;
        }
        Ok(self)
    }

    /// The same plan, where the run leaves something else in an argument that it reads.
    ///
    /// # Errors
    /// [`Error::Plan`] unless that argument is read and written, and elements of the two rings have the same size.
    pub fn becoming(mut self, arg: usize, content: Content) -> Result<Self> {
        match self.args.get_mut(arg) {
            Some(arg) if arg.role == Role::InOut && arg.bytes == content.ring().bytes() => arg.becomes = Some(content),
            _ => return Err(Error::Plan { plan: self.title, why: format!("argument {arg} cannot become {content}") }),
        }
        Ok(self)
    }

    /// The title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The arguments, in order.
    #[must_use]
    pub fn args(&self) -> &[PlanArg] {
        &self.args
    }

    /// The temporaries, in order.
    #[must_use]
    pub fn temps(&self) -> &[Temp] {
        &self.temps
    }

    /// Bytes that the job must move for each item: every argument once.
    #[must_use]
    pub fn floor_bytes_per_item(&self) -> usize {
        let moves = |arg: &PlanArg| match (arg.per, arg.role) {
            (Per::Shared, _) => 0,
            (Per::Item, Role::InOut) => arg.bytes.saturating_mul(2),
            (Per::Item, _) => arg.bytes,
        };
        self.args.iter().map(moves).fold(0, usize::saturating_add)
    }
}

fn same_place(a: &Slot, b: &Slot) -> bool {
    match (a, b) {
        (Slot::Arg(a), Slot::Arg(b)) | (Slot::Temp(a), Slot::Temp(b)) => a == b,
        _ => false,
    }
}

/// What a slot is called in errors.
fn place(slot: &Slot) -> String {
    match slot {
        Slot::Arg(i) => format!("argument {i}"),
        Slot::Temp(i) => format!("temporary {i}"),
        Slot::Table(_) => "a table".into(),
    }
}

/// All of a list, where it has no gap.
fn all_used<T>(list: Vec<Option<T>>, slot: fn(usize) -> Slot) -> Result<Vec<T>, String> {
    let why = |i| format!("{} is not used, and there are higher ones", place(&slot(i)));
    list.into_iter().enumerate().map(|(i, entry)| entry.ok_or_else(|| why(i))).collect()
}

fn entry<T>(list: &mut Vec<Option<T>>, i: usize) -> &mut Option<T> {
    if list.len() <= i {
        list.resize_with(i + 1, || None);
    }
    &mut list[i]
}

fn merge_arg(known: &mut Option<PlanArg>, port: &Port) -> Result<(), String> {
    match known {
        None => {
            *known = Some(PlanArg {
                role: port.role,
                per: port.per,
                bytes: port.bytes,
                secret: port.secret,
                content: None,
                becomes: None,
            });
        }
        Some(arg) if arg.bytes != port.bytes || arg.per != port.per => {
            return Err(format!("has {}, before that {}", size(port.bytes, port.per), size(arg.bytes, arg.per)));
        }
        Some(arg) => {
            arg.secret |= port.secret;
            if arg.role == Role::In && port.role != Role::In {
                arg.role = Role::InOut;
            }
        }
    }
    Ok(())
}

fn merge_temp(known: &mut Option<Temp>, port: &Port) -> Result<(), String> {
    match known {
        _ if port.per == Per::Shared => return Err("is shared by all items".into()),
        None if port.role != Role::Out => return Err("is read before it is written".into()),
        None => *known = Some(Temp { bytes: port.bytes, secret: port.secret }),
        Some(temp) if temp.bytes != port.bytes => {
            return Err(format!("has {}, before that {}", size(port.bytes, Per::Item), size(temp.bytes, Per::Item)));
        }
        Some(temp) => temp.secret |= port.secret,
    }
    Ok(())
}

fn size(bytes: usize, per: Per) -> String {
    match per {
        Per::Item => format!("{bytes} bytes an item"),
        Per::Shared => format!("{bytes} bytes that all items share"),
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.title)?;
        for step in &self.steps {
            write!(f, "\n  {:<12}", step.kernel.name())?;
            let about = step.kernel.describe();
            if !about.is_empty() {
                write!(f, " {about} ")?;
            }
            let mut arrow = false;
            for (port, slot) in step.kernel.ports().iter().zip(&step.slots) {
                if port.role != Role::In && !arrow {
                    f.write_str(" ->")?;
                    arrow = true;
                }
                match slot {
                    Slot::Arg(i) => write!(f, " arg{i}")?,
                    Slot::Temp(i) => write!(f, " temp{i}")?,
                    Slot::Table(table) => write!(f, " table[{}]", table.bytes())?,
                }
            }
        }
        Ok(())
    }
}
