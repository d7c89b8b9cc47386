//! Divides the work on one large item into slabs. A slab is some thread blocks of a step, with the copies to the GPU
//! that must precede them and the copies from the GPU that can follow them. Copies of some slabs thus overlap with the
//! computation of others.

use core::ops::Range;

use crate::kernel::{Port, Role, Sharing};
use crate::plan::{Home, PlanArg, Slot};
use crate::tiles::{Shape, TileGrid, Tiles};

/// Approximate maximum number of slabs of a step, reached if the step's copies are large enough. The first slab's copy
/// to the GPU, or the last slab's copy from the GPU, overlaps with nothing.
const SLABS: usize = 8;
/// Minimum number of bytes of a slab: smaller slabs are not worth their overhead.
const LEAST_BYTES: usize = 2 << 20;

/// The slabs of each step of a plan.
#[derive(Debug, PartialEq, Eq)]
pub struct Flow(pub Vec<Vec<Slab>>);

/// Some thread blocks of a step, with the copies in before them and the copies out after them.
#[derive(Debug, PartialEq, Eq)]
pub struct Slab {
    /// The range of blocks. `None` for the whole step at once.
    pub blocks: Option<Range<usize>>,
    /// Copies to the GPU: bytes of arguments that this step is the first to use.
    pub ins: Vec<Moved>,
    /// Copies from the GPU: bytes of arguments that this step is the last to write.
    pub outs: Vec<Moved>,
}

/// The copy of a part of an argument's item: the argument's index, a port of the step that is bound to the argument,
/// and the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub arg: usize,
    pub port: usize,
    pub shape: Shape,
}

/// The slots and ports of a step, and the tiles into which its blocks divide each port.
#[derive(Debug)]
pub struct Binding<'a> {
    pub slots: &'a [Slot],
    pub ports: &'a [Port],
    pub shares: &'a Tiles,
}

impl Flow {
    /// Divides these steps into slabs, for an item of these arguments. Returns `None` if no step can be divided.
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
    /// The step's ports that are bound to the argument with this index.
    fn ports_of(&self, arg: usize) -> impl DoubleEndedIterator<Item = usize> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(move |(port, slot)| matches!(slot, Slot::Memory(Home::Arg(i), _) if *i == arg).then_some(port))
    }

    /// Divides this step into slabs. `ins` and `outs` are its copies of whole items. They are cut if they are large
    /// enough and the kernel declares the tiles of its blocks.
    fn slabs(&self, ins: Vec<Moved>, outs: Vec<Moved>) -> Vec<Slab> {
        let bytes = |all: &[Moved]| all.iter().map(|moved| moved.shape.bytes()).sum::<usize>();
        let wanted = (bytes(&ins).max(bytes(&outs)) / LEAST_BYTES).min(SLABS);
        let columns = ins.iter().chain(&outs).map(|moved| self.columns(moved)).collect::<Option<Vec<_>>>();
        if let (Some(columns), 2..) = (columns, wanted)
            && let Some(first) = columns.first()
        {
            let blocks = self.shares.blocks;
            let part = |(whole, columns): (&Moved, &TileGrid), cut: &Range<usize>| {
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

    /// The tiles into which the step's blocks divide the copied argument. `None` unless they are the same at all ports
    /// bound to the argument.
    fn columns(&self, moved: &Moved) -> Option<TileGrid> {
        let found = self.shares.of(moved.port)?;
        let same = |port: usize| self.shares.of(port) == Some(found) && self.ports[port].bytes == moved.shape.bytes();
        self.ports_of(moved.arg).all(same).then_some(found)
    }
}
