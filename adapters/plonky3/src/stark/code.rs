//! Constraints as instructions for an interpreter, on the device and on the CPU.
//!
//! An instruction is a word: an operation (2 bits), the slot of its result (16 bits), and two operands of 23 bits each. An
//! operand is a kind (3 bits) and an index (20 bits), which for a column begins with the matrix (2 bits). [`FOLD`] adds its
//! first operand to the sum, times the weight whose number is the second operand, or stores it as the column of that number.
//! The kernel's reader of this format is `stark_interpreter.cuh`.

use core::marker::PhantomData;
use core::ops::Range;
use std::collections::{BTreeSet, HashMap};

use ringforge::Result;

use super::dag::{Dag, Node, Source};
use super::unsupported;
use crate::field::EngineField;

const ADD: u64 = 0;
const SUB: u64 = 1;
const MUL: u64 = 2;
const FOLD: u64 = 3;

const OPERATION: u32 = 2;
const SLOT: u32 = 16;
const INDEX: u32 = 20;
const COLUMN: u32 = 18;
const OPERAND: u32 = 3 + INDEX;
const FIRST: u32 = OPERATION + SLOT;
const SECOND: u32 = FIRST + OPERAND;

/// The place of an operand. Kinds are numbered in this order, and a column of the next row follows that of the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    Slot(usize),
    /// A matrix and its column, and whether it is that of the next row.
    Column(Source, usize, bool),
    Periodic(usize),
    /// A public value, or a constant after them.
    Shared(usize),
    /// 0, 1 and 2 are the selectors of the first row, the last row and the transition.
    Selector(usize),
}

impl Operand {
    fn encoded(self) -> Result<u64> {
        let (kind, index) = match self {
            Self::Slot(slot) => (0, slot),
            Self::Column(_, column, _) if column >> COLUMN > 0 => {
                return Err(unsupported(format!("constraints have more than 2^{COLUMN} columns")));
            }
            Self::Column(source, column, next) => (1 + u64::from(next), (source as usize) << COLUMN | column),
            Self::Periodic(column) => (3, column),
            Self::Shared(index) => (4, index),
            Self::Selector(which) => (5, which),
        };
        if index >> INDEX > 0 {
            return Err(unsupported(format!("constraints have more than 2^{INDEX} constants")));
        }
        Ok(kind << INDEX | index as u64)
    }

    fn decoded(word: u64) -> Self {
        let index = (word & ((1 << INDEX) - 1)) as usize;
        match word >> INDEX & 7 {
            0 => Self::Slot(index),
            kind @ 1..=2 => {
                let source = [Source::Main, Source::Preprocessed, Source::Permutation][(index >> COLUMN).min(2)];
                Self::Column(source, index & ((1 << COLUMN) - 1), kind == 2)
            }
            3 => Self::Periodic(index),
            4 => Self::Shared(index),
            _ => Self::Selector(index),
        }
    }
}

/// The instructions of some constraints.
#[derive(Debug)]
pub(super) struct Code<F> {
    pub(super) instructions: Vec<u64>,
    /// The number of slots.
    pub(super) slots: usize,
    field: PhantomData<F>,
}

/// Makes instructions of constraints.
struct Writer<'a, F> {
    dag: &'a Dag<F>,
    publics: usize,
    /// The places of constants among those of the graph.
    constants: HashMap<F, usize>,
    instructions: Vec<u64>,
    slots: usize,
}

impl<F: EngineField> Code<F> {
    /// The instructions of clusters of constraints. Each cluster computes its values anew.
    ///
    /// # Errors
    /// [`Error::Unsupported`](ringforge::Error::Unsupported) if a number does not fit an instruction.
    pub(super) fn new(dag: &Dag<F>, clusters: &[Range<usize>], publics: usize) -> Result<Self> {
        let constants = dag.constants().into_iter().zip(publics..).collect();
        let mut writer = Writer { dag, publics, constants, instructions: Vec::new(), slots: 0 };
        clusters.iter().try_for_each(|cluster| writer.add(cluster.clone()))?;
        Ok(Self { instructions: writer.instructions, slots: writer.slots, field: PhantomData })
    }

    /// Computes the constraints of a row, and passes each with its number to `fold`. `of` returns the values of operands
    /// that are not in slots.
    pub(super) fn run(&self, slots: &mut [F], of: impl Fn(Operand) -> F, mut fold: impl FnMut(usize, F)) {
        for instruction in &self.instructions {
            let value = |word: u64| match Operand::decoded(word & ((1 << OPERAND) - 1)) {
                Operand::Slot(slot) => slots[slot],
                operand => of(operand),
            };
            let slot = (instruction >> OPERATION) as usize & ((1 << SLOT) - 1);
            let (a, b) = (instruction >> FIRST, instruction >> SECOND);
            slots[slot] = match instruction & 3 {
                ADD => value(a) + value(b),
                SUB => value(a) - value(b),
                MUL => value(a) * value(b),
                _ => {
                    fold(b as usize, value(a));
                    continue;
                }
            };
        }
    }
}

impl<F: EngineField> Writer<'_, F> {
    fn add(&mut self, cluster: Range<usize>) -> Result<()> {
        let dag = self.dag;
        let mut uses: HashMap<u32, usize> = HashMap::new();
        let roots: Vec<u32> = dag.constraints[cluster.clone()].iter().map(|constraint| constraint.node).collect();
        for number in dag.needed(&roots, &BTreeSet::new()) {
            dag.nodes[number as usize].operands().for_each(|operand| *uses.entry(operand).or_default() += 1);
        }
        roots.iter().for_each(|root| *uses.entry(*root).or_default() += 1);
        let mut free: BTreeSet<usize> = (0..self.slots).collect();
        let (mut slots, mut known) = (HashMap::new(), BTreeSet::new());
        for place in cluster {
            let root = dag.constraints[place].node;
            let new = dag.needed(&[root], &known);
            for &number in new.iter().filter(|number| dag.nodes[**number as usize].is_operation()) {
                let node = dag.nodes[number as usize];
                let operand = |operand: u32| self.operand(operand, &slots);
                let (operation, a, b) = match node {
                    Node::Add(a, b) => (ADD, operand(a)?, operand(b)?),
                    Node::Sub(a, b) => (SUB, operand(a)?, operand(b)?),
                    Node::Mul(a, b) => (MUL, operand(a)?, operand(b)?),
                    Node::Neg(a) => (SUB, Operand::Shared(self.publics).encoded()?, operand(a)?),
                    _ => continue,
                };
                release(node.operands(), &mut uses, &slots, &mut free);
                let slot = free.pop_first().unwrap_or_else(|| {
                    self.slots += 1;
                    self.slots - 1
                });
                if slot >> SLOT > 0 {
                    return Err(unsupported(format!("constraints need more than 2^{SLOT} values at once")));
                }
                slots.insert(number, slot);
                self.instructions.push(operation | (slot as u64) << OPERATION | a << FIRST | b << SECOND);
            }
            known.extend(new);
            if place >> OPERAND > 0 {
                return Err(unsupported(format!("the AIR has more than 2^{OPERAND} constraints")));
            }
            let a = self.operand(root, &slots)?;
            self.instructions.push(FOLD | a << FIRST | (place as u64) << SECOND);
            release([root].into_iter(), &mut uses, &slots, &mut free);
        }
        Ok(())
    }

    /// The operand that has the value of a node.
    fn operand(&self, number: u32, slots: &HashMap<u32, usize>) -> Result<u64> {
        let operand = match self.dag.nodes[number as usize] {
            Node::Column(source, column, next) => Operand::Column(source, column as usize, next),
            Node::Periodic(column) => Operand::Periodic(column as usize),
            Node::Public(index) => Operand::Shared(index as usize),
            Node::First => Operand::Selector(0),
            Node::Last => Operand::Selector(1),
            Node::Transition => Operand::Selector(2),
            Node::Constant(c) => Operand::Shared(self.constants[&c]),
            _ => Operand::Slot(slots[&number]),
        };
        operand.encoded()
    }
}

/// Counts the uses of values down, and frees the slots of those that are used no more.
fn release(
    operands: impl Iterator<Item = u32>,
    uses: &mut HashMap<u32, usize>,
    slots: &HashMap<u32, usize>,
    free: &mut BTreeSet<usize>,
) {
    for operand in operands {
        if let Some(left) = uses.get_mut(&operand) {
            *left -= 1;
            if *left == 0
                && let Some(slot) = slots.get(&operand)
            {
                free.insert(*slot);
            }
        }
    }
}
