//! Plans: the steps of a computation as data. A step is a kernel with memory for each of its ports (pointer
//! parameters).

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use crate::kernel::{Kernel, Role, Sharing, Table};
use ringforge_math::poly::PolyType;

/// The data that a kernel's port is bound to.
#[derive(Debug, Clone)]
pub enum Slot {
    /// Memory of an argument or a temporary, and the byte offset in it at which the port's data of the first item
    /// begins.
    Memory(Home, usize),
    /// A table that the kernel itself provides.
    Table(Table),
}

/// The memory that holds a value during a run: an argument or a temporary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// The argument with this index.
    Arg(usize),
    /// The temporary with this index.
    Temp(usize),
}

impl Slot {
    /// The index of the memory among all arguments of a plan, of which there are `args`, followed by all temporaries.
    /// `None` for a table.
    #[doc(hidden)]
    pub fn number(&self, args: usize) -> Option<usize> {
        match self {
            Self::Memory(Home::Arg(i), _) => Some(*i),
            Self::Memory(Home::Temp(i), _) => Some(args + i),
            Self::Table(_) => None,
        }
    }
}

/// A kernel of a plan, with one slot for each of its ports.
#[derive(Debug, Clone)]
pub struct Step {
    #[doc(hidden)]
    pub kernel: Arc<dyn Kernel>,
    #[doc(hidden)]
    pub slots: Vec<Slot>,
    /// Whether the step runs once per batch, on data that all items share, instead of for each item.
    #[doc(hidden)]
    pub once: bool,
    /// The number of elements into which the step divides an item. Its kernel takes each of them for an item.
    #[doc(hidden)]
    pub elements: usize,
}

impl Step {
    /// The range of items for which the step's kernel runs if the plan runs for `items`. A step that runs once per
    /// batch has none unless `once`.
    pub(crate) fn items_of(&self, items: &Range<usize>, once: bool) -> Range<usize> {
        let Range { start, end } = if self.once { 0..usize::from(once) } else { items.clone() };
        start * self.elements..end * self.elements
    }
}

/// An argument of a plan, which the caller passes by name to a [run](crate::Program::on).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanArg {
    /// The argument's name.
    pub name: String,
    /// How the plan as a whole accesses the argument.
    pub role: Role,
    /// Whether each item has its own memory, or all items share the same memory.
    pub sharing: Sharing,
    /// Bytes per item, or the total size if the items share the argument.
    pub bytes: usize,
    /// Whether the argument holds secrets.
    pub secret: bool,
    /// Whether the argument holds a [`RandomKey`](crate::RandomKey), which may be used for one run only.
    pub random_key: bool,
    /// Whether the argument holds [statuses](crate::kernel::Port::status) that the plan does not read. They are zeroed
    /// before the first step.
    pub status: bool,
    /// The type of the argument's contents before the run, if the plan reads them and the type is known.
    pub before: Option<PolyType>,
    /// The type of the argument's contents after the run, if the plan writes them and the type is known.
    pub after: Option<PolyType>,
}

/// A temporary of a plan: memory that lives for one run, and that several values may use one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temp {
    /// Bytes per item, or the total size if the items share the temporary.
    #[doc(hidden)]
    pub bytes: usize,
    #[doc(hidden)]
    pub sharing: Sharing,
    /// Whether the temporary holds secrets at any time, so that it is wiped after the run.
    #[doc(hidden)]
    pub secret: bool,
    /// Whether the temporary holds [statuses](crate::kernel::Port::status), which are zeroed before the first step.
    #[doc(hidden)]
    pub status: bool,
}

/// The steps of a computation, with memory assigned to all ports. A `Planner` makes a plan for a job (such as a
/// transform or a product), and a `Pipeline` makes one for the steps of a scheme.
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
    /// The plan's title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The same plan with all arguments and temporaries marked as secret.
    #[doc(hidden)]
    pub fn on_secrets(mut self) -> Self {
        self.args.iter_mut().for_each(|arg| arg.secret = true);
        self.temps.iter_mut().for_each(|temp| temp.secret = true);
        self
    }

    /// The kernels of the steps, in order.
    pub fn kernels(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Kernel>> {
        self.steps.iter().map(|step| &step.kernel)
    }

    /// All kernels that a device must load: first those of the steps, in order, then those that compute the steps'
    /// tables.
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

    /// The arguments: first the inputs in the order of their declaration, then the outputs that are not also inputs.
    #[must_use]
    pub fn args(&self) -> &[PlanArg] {
        &self.args
    }

    /// The argument of this name. `None` if there is none.
    #[must_use]
    pub fn arg(&self, name: &str) -> Option<&PlanArg> {
        self.args.iter().find(|arg| arg.name == name)
    }

    /// Size in bytes of the temporary memory of a run on `batch` items.
    #[must_use]
    pub fn temporary_bytes(&self, batch: usize) -> usize {
        let items = |sharing| if sharing == Sharing::PerItem { batch } else { 1 };
        self.temps.iter().map(|temp| temp.bytes.saturating_mul(items(temp.sharing))).fold(0, usize::saturating_add)
    }

    /// The number of items whose temporaries fit in this many bytes, or 1 if that number is 0.
    pub(crate) fn items_within(&self, bytes: usize) -> usize {
        let shared = self.temporary_bytes(0);
        (bytes.saturating_sub(shared) / (self.temporary_bytes(1) - shared).max(1)).max(1)
    }

    /// Minimum memory traffic per item in bytes, for the roofline bound of a run. Each per-item argument counts once,
    /// or twice if it is both read and written. Shared arguments do not count.
    #[must_use]
    pub fn bytes_moved_per_item(&self) -> usize {
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
            if step.elements > 1 {
                write!(f, " {} x", step.elements)?;
            }
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
                    Slot::Memory(_, first) if *first > 0 || (!port.is_dense() && port.stride() > 0) => {
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
