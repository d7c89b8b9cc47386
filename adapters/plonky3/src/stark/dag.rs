//! The constraints of an AIR as a graph in which equal expressions are one node.

use core::ptr;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use p3_air::symbolic::{BaseEntry, BaseLeaf, SymbolicExpression};
use ringforge::{Error, Result};

use crate::field::EngineField;

/// An expression of a row. Operands are numbers of nodes, and below the node's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Node<F> {
    /// A column, and whether it is that of the next row.
    Main(u32, bool),
    Public(u32),
    Periodic(u32),
    First,
    Last,
    Transition,
    Constant(F),
    Add(u32, u32),
    Sub(u32, u32),
    Mul(u32, u32),
    Neg(u32),
}

impl<F> Node<F> {
    /// The operands.
    pub(super) fn operands(&self) -> impl Iterator<Item = u32> {
        let [a, b] = match *self {
            Self::Add(a, b) | Self::Sub(a, b) | Self::Mul(a, b) => [Some(a), Some(b)],
            Self::Neg(a) => [Some(a), None],
            _ => [None, None],
        };
        a.into_iter().chain(b)
    }

    pub(super) fn is_operation(&self) -> bool {
        self.operands().next().is_some()
    }
}

/// Constraints, in the order in which the AIR emits them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dag<F> {
    pub(super) nodes: Vec<Node<F>>,
    /// The node of each constraint.
    pub(super) constraints: Vec<u32>,
}

impl<F: EngineField> Dag<F> {
    /// The graph of these constraints.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for values that are not of the trace's rows or public.
    pub(super) fn new(constraints: &[SymbolicExpression<F>]) -> Result<Self> {
        let mut graph = Graph { nodes: Vec::new(), numbers: HashMap::new() };
        let mut seen = HashMap::new();
        let constraints = constraints.iter().map(|constraint| graph.visit(constraint, &mut seen));
        let constraints = constraints.collect::<Result<_>>()?;
        Ok(Self { nodes: graph.nodes, constraints })
    }

    /// The nodes that these ones need, and themselves, in order. Those in `known` are left out, with what only they need.
    pub(super) fn needed(&self, roots: &[u32], known: &BTreeSet<u32>) -> BTreeSet<u32> {
        let (mut open, mut needed) = (roots.to_vec(), BTreeSet::new());
        while let Some(number) = open.pop() {
            if !known.contains(&number) && needed.insert(number) {
                open.extend(self.nodes[number as usize].operands());
            }
        }
        needed
    }

    /// True if a node of this kind is used.
    pub(super) fn has(&self, node: Node<F>) -> bool {
        self.nodes.contains(&node)
    }
}

struct Graph<F> {
    nodes: Vec<Node<F>>,
    numbers: HashMap<Node<F>, u32>,
}

type Expression<F> = SymbolicExpression<F>;

impl<F: EngineField> Graph<F> {
    /// The number of an expression's node. Expressions are deep, so this does not recurse.
    fn visit<'a>(&mut self, root: &'a Expression<F>, seen: &mut HashMap<*const Expression<F>, u32>) -> Result<u32> {
        let mut open: Vec<&'a Expression<F>> = vec![root];
        while let Some(&expression) = open.last() {
            let of = |x: &Arc<Expression<F>>| seen.get(&Arc::as_ptr(x)).copied();
            let node = match expression {
                Expression::Leaf(leaf) => Some(leaf_node(leaf)?),
                Expression::Add { x, y, .. } => of(x).zip(of(y)).map(|(x, y)| Node::Add(x, y)),
                Expression::Sub { x, y, .. } => of(x).zip(of(y)).map(|(x, y)| Node::Sub(x, y)),
                Expression::Mul { x, y, .. } => of(x).zip(of(y)).map(|(x, y)| Node::Mul(x, y)),
                Expression::Neg { x, .. } => of(x).map(Node::Neg),
            };
            match (node, expression) {
                (Some(node), _) => {
                    let number = self.number(node);
                    seen.insert(ptr::from_ref(expression), number);
                    open.pop();
                }
                (None, Expression::Add { x, y, .. } | Expression::Sub { x, y, .. } | Expression::Mul { x, y, .. }) => {
                    open.extend([y, x].into_iter().filter(|x| of(x).is_none()).map(|x| &**x));
                }
                (None, Expression::Neg { x, .. }) => open.push(x),
                (None, Expression::Leaf(_)) => {}
            }
        }
        Ok(seen[&ptr::from_ref(root)])
    }

    /// The number of a node, after rewriting it to a simpler one that has the same value.
    fn number(&mut self, node: Node<F>) -> u32 {
        let constant = |x: u32| match self.nodes[x as usize] {
            Node::Constant(c) => Some(c),
            _ => None,
        };
        let node = match node {
            // sums and products are found in either order
            Node::Add(x, y) if x > y => Node::Add(y, x),
            Node::Mul(x, y) if x > y => Node::Mul(y, x),
            node => node,
        };
        let node = match node {
            Node::Add(x, y) if constant(x) == Some(F::ZERO) => return y,
            Node::Add(x, y) | Node::Sub(x, y) if constant(y) == Some(F::ZERO) => return x,
            Node::Sub(x, y) if x == y => Node::Constant(F::ZERO),
            Node::Sub(x, y) if constant(x) == Some(F::ZERO) => Node::Neg(y),
            Node::Mul(x, y) if constant(x) == Some(F::ONE) => return y,
            Node::Mul(x, y) if constant(y) == Some(F::ONE) => return x,
            Node::Mul(x, y) if [constant(x), constant(y)].contains(&Some(F::ZERO)) => Node::Constant(F::ZERO),
            Node::Mul(x, y) if constant(x) == Some(F::NEG_ONE) => Node::Neg(y),
            Node::Mul(x, y) if constant(y) == Some(F::NEG_ONE) => Node::Neg(x),
            node => node,
        };
        if let Node::Neg(x) = node
            && let Node::Neg(inner) = self.nodes[x as usize]
        {
            return inner;
        }
        let next = self.nodes.len() as u32;
        *self.numbers.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            next
        })
    }
}

fn leaf_node<F: EngineField>(leaf: &BaseLeaf<F>) -> Result<Node<F>> {
    Ok(match leaf {
        BaseLeaf::IsFirstRow => Node::First,
        BaseLeaf::IsLastRow => Node::Last,
        BaseLeaf::IsTransition => Node::Transition,
        BaseLeaf::Constant(c) => Node::Constant(*c),
        BaseLeaf::Variable(variable) => match (variable.entry, u32::try_from(variable.index)) {
            (BaseEntry::Main { offset: offset @ 0..=1 }, Ok(column)) => Node::Main(column, offset == 1),
            (BaseEntry::Public, Ok(index)) => Node::Public(index),
            (BaseEntry::Periodic, Ok(column)) => Node::Periodic(column),
            (entry, _) => {
                let why = format!("constraints with {entry:?} are not compiled");
                return Err(Error::Unsupported { job: "a STARK proof".into(), why });
            }
        },
    })
}
