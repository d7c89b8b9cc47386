//! How one large item flows through a program: what is copied in before which blocks of a step, and out after them.

use core::ops::Range;

use crate::columns::{Columns, Shape, Shares};
use crate::kernel::{Port, Role, Sharing};
use crate::plan::{Home, PlanArg, Slot};

/// Slabs that a step's copies are cut into where their size allows: the first or last of them overlaps with nothing.
const SLABS: usize = 8;
/// Less than this is not worth a slab of its own.
const LEAST_BYTES: usize = 2 << 20;

/// The slabs of each step.
#[derive(Debug, PartialEq, Eq)]
pub struct Flow(pub Vec<Vec<Slab>>);

/// Blocks of a step, with what they need first and what is done after them.
#[derive(Debug, PartialEq, Eq)]
pub struct Slab {
    /// None for all of the step at once.
    pub blocks: Option<Range<usize>>,
    /// Bytes of arguments that the step is the first to use.
    pub ins: Vec<Moved>,
    /// Bytes of arguments that the step is the last to write.
    pub outs: Vec<Moved>,
}

/// Part of an argument's item, and a port of the step that is bound to the argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub arg: usize,
    pub port: usize,
    pub shape: Shape,
}

/// What a step's ports are bound to, and how its blocks share them out.
#[derive(Debug)]
pub struct Bound<'a> {
    pub slots: &'a [Slot],
    pub ports: &'a [Port],
    pub shares: &'a Shares,
}

impl Flow {
    /// How an item with these arguments flows through these steps; none where no step can work on part of it.
    pub fn of(args: &[PlanArg], steps: &[Bound<'_>]) -> Option<Self> {
        let (mut ins, mut outs) = (vec![Vec::new(); steps.len()], vec![Vec::new(); steps.len()]);
        for (i, arg) in args.iter().enumerate().filter(|(_, arg)| arg.sharing == Sharing::PerItem) {
            let mut uses = steps.iter().enumerate().filter_map(|(s, step)| Some((s, step.ports_of(i).next()?)));
            if let (Some((first, port)), true) = (uses.next(), arg.role != Role::Out) {
                ins[first].push(Moved { arg: i, port, shape: Shape::run(0, arg.bytes) });
            }
            let is_written =
                |step: &Bound<'_>, port: usize| step.ports.get(port).is_some_and(|port| port.role != Role::In);
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

impl Bound<'_> {
    /// The ports that are bound to an argument.
    fn ports_of(&self, arg: usize) -> impl DoubleEndedIterator<Item = usize> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(move |(port, slot)| matches!(slot, Slot::Memory(Home::Arg(i), _) if *i == arg).then_some(port))
    }

    /// The step with copies of whole items, cut as its kernel allows.
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

    /// How the blocks share out an argument: the same way through all ports that are bound to it.
    fn columns(&self, moved: &Moved) -> Option<Columns> {
        let found = self.shares.of(moved.port)?;
        let same = |port: usize| self.shares.of(port) == Some(found) && self.ports[port].bytes == moved.shape.bytes();
        self.ports_of(moved.arg).all(same).then_some(found)
    }
}
