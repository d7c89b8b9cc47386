//! How one large item flows through a program in slabs: the copies in before some blocks of a step, and the copies out
//! after them.

use core::ops::Range;

use crate::columns::{Columns, Shape, Shares};
use crate::kernel::{Port, Role, Sharing};
use crate::plan::{Home, PlanArg, Slot};

/// Number of slabs of a step's copies, if their size allows it. The first or the last slab's copy overlaps with
/// nothing.
const SLABS: usize = 8;
/// Minimum bytes of a slab: smaller slabs are not worth their overhead.
const LEAST_BYTES: usize = 2 << 20;

/// The slabs of each step.
#[derive(Debug, PartialEq, Eq)]
pub struct Flow(pub Vec<Vec<Slab>>);

/// Some blocks of a step, with the copies in before them and the copies out after them.
#[derive(Debug, PartialEq, Eq)]
pub struct Slab {
    /// `None` for the whole step at once.
    pub blocks: Option<Range<usize>>,
    /// Copies in: bytes of arguments that this step is the first to use.
    pub ins: Vec<Moved>,
    /// Copies out: bytes of arguments that this step is the last to write.
    pub outs: Vec<Moved>,
}

/// Part of an argument's item, and a port of the step that is bound to the argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub arg: usize,
    pub port: usize,
    pub shape: Shape,
}

/// The slots and ports of a step, and the tiles that its blocks have at each port.
#[derive(Debug)]
pub struct Binding<'a> {
    pub slots: &'a [Slot],
    pub ports: &'a [Port],
    pub shares: &'a Shares,
}

impl Flow {
    /// The slabs of an item with these arguments in these steps; `None` if no step can be cut into slabs.
    pub fn of(args: &[PlanArg], steps: &[Binding<'_>]) -> Option<Self> {
        let (mut ins, mut outs) = (vec![Vec::new(); steps.len()], vec![Vec::new(); steps.len()]);
        for (i, arg) in args.iter().enumerate().filter(|(_, arg)| arg.sharing == Sharing::PerItem) {
            let mut uses = steps.iter().enumerate().filter_map(|(s, step)| Some((s, step.ports_of(i).next()?)));
            if let (Some((first, port)), true) = (uses.next(), arg.role != Role::Out) {
                ins[first].push(Moved { arg: i, port, shape: Shape::run(0, arg.bytes) });
            }
            let is_written =
                |step: &Binding<'_>, port: usize| step.ports.get(port).is_some_and(|port| port.role != Role::In);
            let mut writes = steps
                .iter()
                .enumerate()
                .filter_map(|(s, step)| Some((s, step.ports_of(i).find(|&port| is_written(step, port))?)));
            if let Some((last, port)) = writes.next_back() {
                outs[last].push(Moved { arg: i, port, shape: Shape::run(0, arg.bytes) });
            }
        }
        let slabs: Vec<_> = steps.iter().zip(ins).zip(outs).map(|((step, ins), outs)| step.slabs(ins, outs)).collect();
        slabs.iter().any(|slabs| slabs.len() > 1).then_some(Self(slabs))
    }
}

impl Binding<'_> {
    /// The ports that are bound to an argument.
    fn ports_of(&self, arg: usize) -> impl DoubleEndedIterator<Item = usize> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(move |(port, slot)| matches!(slot, Slot::Memory(Home::Arg(i), _) if *i == arg).then_some(port))
    }

    /// The slabs of this step, whose copies of whole items are cut as far as its kernel allows.
    fn slabs(&self, ins: Vec<Moved>, outs: Vec<Moved>) -> Vec<Slab> {
        let bytes = |all: &[Moved]| all.iter().map(|moved| moved.shape.bytes()).sum::<usize>();
        let wanted = (bytes(&ins).max(bytes(&outs)) / LEAST_BYTES).min(SLABS);
        let columns = ins.iter().chain(&outs).map(|moved| self.columns(moved)).collect::<Option<Vec<_>>>();
        if let (Some(columns), 2..) = (columns, wanted)
            && let Some(first) = columns.first()
        {
            let blocks = self.shares.blocks;
            let part = |(whole, columns): (&Moved, &Columns), cut: &Range<usize>| {
                Some(Moved { shape: columns.shape(whole.shape.bytes(), blocks, cut)?, ..*whole })
            };
            let slab = |cut: Range<usize>| {
                let (ins_columns, outs_columns) = columns.split_at(ins.len());
                let ins = ins.iter().zip(ins_columns).map(|moved| part(moved, &cut)).collect::<Option<_>>()?;
                let outs = outs.iter().zip(outs_columns).map(|moved| part(moved, &cut)).collect::<Option<_>>()?;
                Some(Slab { blocks: Some(cut), ins, outs })
            };
            if let Some(slabs) = first.cut(blocks, wanted).into_iter().map(slab).collect() {
                return slabs;
            }
        }
        vec![Slab { blocks: None, ins, outs }]
    }

    /// The blocks' tiles of an argument, which must be the same at all ports bound to it.
    fn columns(&self, moved: &Moved) -> Option<Columns> {
        let found = self.shares.of(moved.port)?;
        let same = |port: usize| self.shares.of(port) == Some(found) && self.ports[port].bytes == moved.shape.bytes();
        self.ports_of(moved.arg).all(same).then_some(found)
    }
}
