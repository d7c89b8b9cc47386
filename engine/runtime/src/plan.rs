//! Plans: the steps that do a job, as data.

use core::fmt;
use std::sync::Arc;

use crate::kernel::{Kernel, Role, Sharing, Table};
use ringforge_math::poly::PolyType;

/// What a kernel's port is bound to.
#[derive(Debug, Clone)]
pub enum Slot {
    /// Memory in which the port's bytes of the first item begin at this one.
    Memory(Home, usize),
    /// A table of the kernel's own.
    Table(Table),
}

/// Where values lie in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// The argument of this number.
    Arg(usize),
    /// The temporary of this number.
    Temp(usize),
}

impl Slot {
    /// Its number among a plan's arguments and temporaries; none for a table.
    #[doc(hidden)]
    pub fn number(&self, args: usize) -> Option<usize> {
        match self {
            Self::Memory(Home::Arg(i), _) => Some(*i),
            Self::Memory(Home::Temp(i), _) => Some(args + i),
            Self::Table(_) => None,
        }
    }
}

/// A kernel and what its ports are bound to, one slot each.
#[derive(Debug, Clone)]
pub struct Step {
    #[doc(hidden)]
    pub kernel: Arc<dyn Kernel>,
    #[doc(hidden)]
    pub slots: Vec<Slot>,
    /// Whether it runs for one item, on what all items share, instead of for each.
    #[doc(hidden)]
    pub once: bool,
}

/// An argument of a plan: what the caller gives by name to a [run](crate::Program::on).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanArg {
    /// Its name.
    pub name: String,
    /// How the plan uses it as a whole.
    pub role: Role,
    /// Whether each item has its own.
    pub sharing: Sharing,
    /// Bytes of an item, or of the whole where it is shared.
    pub bytes: usize,
    /// Whether it holds secrets.
    pub secret: bool,
    /// Whether it holds [`Draws`](crate::Draws), which serve one run only.
    pub draws: bool,
    /// Whether it holds [statuses](crate::kernel::Port::status) that the plan does not read: they are 0 before its first step.
    pub status: bool,
    /// What it must hold before the run, where the plan reads it and knows.
    pub before: Option<PolyType>,
    /// What it holds after the run, where the plan writes it and knows.
    pub after: Option<PolyType>,
}

/// A temporary of a plan: memory that lives for one run, used by one value after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temp {
    /// Bytes for each item, or of the whole where it is shared.
    #[doc(hidden)]
    pub bytes: usize,
    #[doc(hidden)]
    pub sharing: Sharing,
    /// Whether it holds secrets at some time and is wiped after the run.
    #[doc(hidden)]
    pub secret: bool,
    /// Whether it holds [statuses](crate::kernel::Port::status): they are 0 before the first step.
    #[doc(hidden)]
    pub status: bool,
}

/// The steps that do a job, with memory assigned. Made by a `Planner` for a job, or from a scheme's
/// `Pipeline`; both compile alike.
#[derive(Debug, Clone)]
pub struct Plan {
    #[doc(hidden)]
    pub title: String,
    #[doc(hidden)]
    pub steps: Vec<Step>,
    #[doc(hidden)]
    pub args: Vec<PlanArg>,
    #[doc(hidden)]
    pub temps: Vec<Temp>,
}

impl Plan {
    /// The title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The same with arguments and temporaries that are all secret.
    #[doc(hidden)]
    pub fn on_secrets(mut self) -> Self {
        self.args.iter_mut().for_each(|arg| arg.secret = true);
        self.temps.iter_mut().for_each(|temp| temp.secret = true);
        self
    }

    /// The steps' kernels, in order.
    pub fn kernels(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Kernel>> {
        self.steps.iter().map(|step| &step.kernel)
    }

    /// All kernels that a device needs: the steps', in order, then those that make their tables.
    pub(crate) fn kernels_with_tables(&self) -> Vec<Arc<dyn Kernel>> {
        self.kernels().cloned().chain(self.tables().flat_map(Table::kernels)).collect()
    }

    /// The tables that the steps' kernels read, in order.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.steps.iter().flat_map(|step| &step.slots).filter_map(|slot| match slot {
            Slot::Table(table) => Some(table),
            _ => None,
        })
    }

    /// The arguments: inputs in the order in which they were declared, then what is output beside them.
    #[must_use]
    pub fn args(&self) -> &[PlanArg] {
        &self.args
    }

    /// The argument of this name.
    #[must_use]
    pub fn arg(&self, name: &str) -> Option<&PlanArg> {
        self.args.iter().find(|arg| arg.name == name)
    }

    /// Bytes of temporary memory that a run takes.
    #[must_use]
    pub fn temporary_bytes(&self, batch: usize) -> usize {
        let items = |sharing| if sharing == Sharing::PerItem { batch } else { 1 };
        self.temps.iter().map(|temp| temp.bytes.saturating_mul(items(temp.sharing))).fold(0, usize::saturating_add)
    }

    /// Items that so many bytes of temporary memory are enough for, but at least one.
    pub(crate) fn items_within(&self, bytes: usize) -> usize {
        let shared = self.temporary_bytes(0);
        (bytes.saturating_sub(shared) / (self.temporary_bytes(1) - shared).max(1)).max(1)
    }

    /// Bytes that the job must move for each item: every argument once.
    #[must_use]
    pub fn floor_bytes_per_item(&self) -> usize {
        let moves = |arg: &PlanArg| match (arg.sharing, arg.role) {
            (Sharing::Shared, _) => 0,
            (Sharing::PerItem, Role::InOut) => arg.bytes.saturating_mul(2),
            (Sharing::PerItem, _) => arg.bytes,
        };
        self.args.iter().map(moves).fold(0, usize::saturating_add)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.title)?;
        for step in &self.steps {
            write!(f, "\n  {:<12}{}", step.kernel.name(), if step.once { " once" } else { "" })?;
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
                    Slot::Memory(Home::Arg(i), _) => {
                        write!(f, " {}", self.args.get(*i).map_or("", |arg| &arg.name).replace(' ', "_"))?;
                    }
                    Slot::Memory(Home::Temp(i), _) => write!(f, " temp{i}")?,
                    Slot::Table(table) => write!(f, " table[{}]", table.bytes())?,
                }
                match slot {
                    Slot::Memory(_, first) if *first > 0 || (!port.is_dense() && port.distance() > 0) => {
                        write!(f, "[{first}..{}]", first + port.bytes)?;
                    }
                    _ => {}
                }
            }
        }
        let args = self.args.iter().filter(|arg| arg.secret).map(|arg| arg.name.replace(' ', "_"));
        let temps = self.temps.iter().enumerate().filter(|(_, temp)| temp.secret).map(|(i, _)| format!("temp{i}"));
        let secret: Vec<String> = args.chain(temps).collect();
        if secret.is_empty() { Ok(()) } else { write!(f, "\n  secret: {}", secret.join(", ")) }
    }
}
