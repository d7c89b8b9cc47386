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
pub(super) struct Flow(pub(super) Vec<Vec<Slab>>);

/// Blocks of a step, with what they need first and what is done after them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slab {
    /// None for all of the step at once.
    pub(super) blocks: Option<Range<usize>>,
    /// Bytes of arguments that the step is the first to use.
    pub(super) ins: Vec<Moved>,
    /// Bytes of arguments that the step is the last to write.
    pub(super) outs: Vec<Moved>,
}

/// Part of an argument's item, and a port of the step that is bound to the argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) arg: usize,
    pub(super) port: usize,
    pub(super) shape: Shape,
}

/// What a step's ports are bound to, and how its blocks share them out.
pub(super) struct Bound<'a> {
    pub(super) slots: &'a [Slot],
    pub(super) ports: &'a [Port],
    pub(super) shares: &'a Shares,
}

impl Flow {
    /// How an item with these arguments flows through these steps; none where no step can work on part of it.
    pub(super) fn of(args: &[PlanArg], steps: &[Bound<'_>]) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use crate::job::{Job, Op};
    use crate::kernel::Source;
    use crate::limits::Limits;
    use crate::modulus::Modulus;
    use crate::planner::Planner;
    use crate::poly::Order;
    use crate::ring::Ring;

    use super::*;

    fn flow(job: &Job) -> Option<Flow> {
        let limits = Limits::of_capability(90);
        let plan = Planner::new(limits.clone()).plan(job).unwrap();
        let sources = plan.kernels().map(|kernel| Source::of(&**kernel, &limits).unwrap());
        let shares: Vec<_> = sources.map(|source| (source.shares(), source.ports)).collect();
        let steps = plan.steps.iter().zip(&shares);
        let steps: Vec<_> = steps.map(|(step, (shares, ports))| Bound { slots: &step.slots, ports, shares }).collect();
        Flow::of(plan.args(), &steps)
    }

    fn zk(log_n: u32) -> Ring {
        let r = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001").unwrap();
        Ring::cyclic(1 << log_n, r).unwrap()
    }

    /// Number of slabs, with the shape of the first one in and out.
    fn summary(slabs: &[Slab]) -> (usize, Option<Shape>, Option<Shape>) {
        let first = |moved: &[Moved]| moved.first().map(|moved| moved.shape);
        (slabs.len(), first(&slabs[0].ins), first(&slabs[0].outs))
    }

    #[test]
    fn transforms_flow_by_columns() {
        // four kernels, of 4, 6, 4 and 6 layers: eighths of what the outer ones have between neighbours of an item
        let columns = |rows: usize| Shape { offset: 0, rows, width: (4 << 20) / rows, pitch: (32 << 20) / rows };
        let [coefficients, values] = [16, 64].map(|rows| Some(columns(rows)));
        let piece = Some(Shape::run(0, 4 << 20));
        for (op, [enters, leaves], [enters_tree, leaves_tree]) in [
            (Op::Forward, [coefficients, values], [coefficients, piece]),
            (Op::Inverse, [values, coefficients], [piece, coefficients]),
        ] {
            for job in [Job::new(zk(20), op), Job::new(zk(20), op).in_place()] {
                let ends = |job: &Job| {
                    let Flow(steps) = flow(job).unwrap();
                    [summary(&steps[0]), summary(steps.last().unwrap())]
                };
                let natural = ends(&job.clone().order(Order::Natural));
                assert_eq!(natural, [(8, enters, None), (8, None, leaves)], "{job}");
                // values in tree order are pieces one after another
                assert_eq!(ends(&job), [(8, enters_tree, None), (8, None, leaves_tree)], "{job}");
            }
        }
    }

    #[test]
    fn every_byte_is_copied_once() {
        let primes = Modulus::ntt_primes(1 << 17, 60, 40).unwrap();
        for poly in [zk(18), zk(20), Ring::rns(1 << 16, &primes).unwrap(), Ring::rns(1 << 16, &primes[..9]).unwrap()] {
            let bytes = crate::poly::PolyType::from(&poly).bytes();
            for op in [Op::Forward, Op::Inverse, Op::Mul] {
                let Some(Flow(steps)) = flow(&Job::new(&poly, op)) else { panic!("{poly}") };
                for (args, moved) in [
                    (
                        0..if op == Op::Mul { 2 } else { 1 },
                        steps.iter().flatten().flat_map(|slab| &slab.ins).collect::<Vec<_>>(),
                    ),
                    (
                        if op == Op::Mul { 2..3 } else { 1..2 },
                        steps.iter().flatten().flat_map(|slab| &slab.outs).collect(),
                    ),
                ] {
                    for arg in args.clone() {
                        let shapes = moved.iter().filter(|moved| moved.arg == arg).map(|moved| moved.shape);
                        assert_eq!(shapes.map(|shape| shape.bytes()).sum::<usize>(), bytes, "{op} {poly} {arg}");
                    }
                    assert!(moved.iter().all(|moved| args.contains(&moved.arg)));
                }
            }
        }
    }

    #[test]
    fn what_is_small_or_in_one_kernel_stays_whole() {
        assert_eq!(flow(&Job::new(zk(16), Op::Forward)), None);
        let primes = Modulus::ntt_primes(1 << 13, 60, 200).unwrap();
        assert_eq!(flow(&Job::new(Ring::rns(1 << 12, &primes).unwrap(), Op::Forward)), None);
    }
}
