//! The constraints of an AIR as a graph in which equal expressions are one node.

use core::{iter, ptr};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use p3_air::Air;
use p3_air::symbolic::{
    AirLayout, BaseEntry, BaseLeaf, ConstraintLayout, ExtLeaf, SymbolicAirBuilder, SymbolicExpr, SymbolicExpression,
    SymbolicExpressionExt,
};
use p3_field::ExtensionField;
use ringforge::Result;

use super::unsupported;
use crate::field::EngineField;

/// A matrix whose columns constraints read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Main,
    Preprocessed,
    /// The running sum of a table's lookups and their fractions, D columns each.
    Permutation,
}

/// An expression of a row. Operands are numbers of nodes, and below the node's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Node<F> {
    /// A column of a matrix, and whether it is that of the next row.
    Column(Source, u32, bool),
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

/// A node that must be zero, or a coordinate of a constraint over the extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Constraint {
    pub(super) node: u32,
    /// The constraint's place in the order in which the AIR emits all of them, and the coordinate. Together they say
    /// which challenge the node is multiplied by.
    pub(super) place: usize,
    pub(super) coordinate: usize,
}

/// The constraints of an AIR.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dag<F> {
    pub(super) nodes: Vec<Node<F>>,
    /// In the order of the AIR.
    pub(super) constraints: Vec<Constraint>,
    /// The number of the AIR's constraints. One over the extension has a node for each coordinate.
    pub(super) number: usize,
}

impl<F: EngineField> Dag<F> {
    /// The graph of the constraints of an AIR of this layout. `nonresidue` is W of the extension F\[x\]/(x^D − W).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for values that are not of the trace's rows or public.
    pub(super) fn new<EF, A>(air: &A, layout: AirLayout, nonresidue: F) -> Result<Self>
    where
        EF: ExtensionField<F>,
        A: Air<SymbolicAirBuilder<F, EF>>,
    {
        let mut builder = SymbolicAirBuilder::new(layout);
        air.eval(&mut builder);
        let (base, extension) = (builder.base_constraints(), builder.extension_constraints());
        let mut graph = Graph::new(nonresidue);
        graph.emit::<EF>(&base, &extension, &builder.constraint_layout(), &mut HashMap::new())?;
        Ok(graph.dag())
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

    /// Zero, and the other constants.
    pub(super) fn constants(&self) -> Vec<F> {
        let constants = self.nodes.iter().filter_map(|node| match node {
            Node::Constant(c) if *c != F::ZERO => Some(*c),
            _ => None,
        });
        iter::once(F::ZERO).chain(constants).collect()
    }

    /// True if a node of this kind is used.
    pub(super) fn has(&self, node: Node<F>) -> bool {
        self.nodes.contains(&node)
    }
}

/// A graph to which expressions are added.
pub(super) struct Graph<F> {
    nodes: Vec<Node<F>>,
    numbers: HashMap<Node<F>, u32>,
    constraints: Vec<Constraint>,
    number: usize,
    nonresidue: F,
}

/// An operation on values that are nodes, or elements of the extension with a node for each coordinate.
enum Operation<V> {
    Add(V, V),
    Sub(V, V),
    Mul(V, V),
    Neg(V),
}

/// The values of expressions that were visited, by their addresses.
pub(super) type Seen<L, V> = HashMap<*const SymbolicExpr<L>, V>;

impl<F: EngineField> Graph<F> {
    /// `nonresidue` is W of the extension F\[x\]/(x^D − W).
    pub(super) fn new(nonresidue: F) -> Self {
        Self { nodes: Vec::new(), numbers: HashMap::new(), constraints: Vec::new(), number: 0, nonresidue }
    }

    pub(super) fn dag(mut self) -> Dag<F> {
        self.constraints.sort_by_key(|constraint| (constraint.place, constraint.coordinate));
        Dag { nodes: self.nodes, constraints: self.constraints, number: self.number }
    }

    /// Adds the constraints of an AIR, which `layout` says the order of.
    pub(super) fn emit<EF: ExtensionField<F>>(
        &mut self,
        base: &[SymbolicExpression<F>],
        extension: &[SymbolicExpressionExt<F, EF>],
        layout: &ConstraintLayout,
        seen: &mut Seen<BaseLeaf<F>, u32>,
    ) -> Result<()> {
        for (place, expression) in layout.base_indices.iter().zip(base) {
            let node = self.visit(expression, seen)?;
            self.constraints.push(Constraint { node, place: *place, coordinate: 0 });
        }
        let mut seen_extension = HashMap::new();
        for (place, expression) in layout.ext_indices.iter().zip(extension) {
            let nodes = self.visit_extension::<EF>(expression, seen, &mut seen_extension)?;
            self.constrain_at(*place, &nodes);
        }
        self.number = base.len() + extension.len();
        Ok(())
    }

    /// Adds a constraint over the extension after all others.
    pub(super) fn constrain(&mut self, coordinates: &[u32]) {
        self.constrain_at(self.number, coordinates);
        self.number += 1;
    }

    fn constrain_at(&mut self, place: usize, coordinates: &[u32]) {
        let coordinates = coordinates.iter().enumerate();
        self.constraints.extend(coordinates.map(|(coordinate, node)| Constraint { node: *node, place, coordinate }));
    }

    /// The value of an expression, from those of its leaves. Expressions are deep, so this does not recurse.
    fn walk<L, V: Clone>(
        &mut self,
        root: &SymbolicExpr<L>,
        seen: &mut Seen<L, V>,
        leaf: &mut dyn FnMut(&mut Self, &L) -> Result<V>,
        apply: &dyn Fn(&mut Self, Operation<V>) -> V,
    ) -> Result<V> {
        use SymbolicExpr as Expression;
        let mut open = vec![root];
        while let Some(&expression) = open.last() {
            let of = |x: &Arc<Expression<L>>| seen.get(&Arc::as_ptr(x)).cloned();
            let operation = match expression {
                Expression::Leaf(_) => None,
                Expression::Add { x, y, .. } => of(x).zip(of(y)).map(|(x, y)| Operation::Add(x, y)),
                Expression::Sub { x, y, .. } => of(x).zip(of(y)).map(|(x, y)| Operation::Sub(x, y)),
                Expression::Mul { x, y, .. } => of(x).zip(of(y)).map(|(x, y)| Operation::Mul(x, y)),
                Expression::Neg { x, .. } => of(x).map(Operation::Neg),
            };
            let value = match (operation, expression) {
                (Some(operation), _) => apply(self, operation),
                (None, Expression::Leaf(of)) => leaf(self, of)?,
                (None, Expression::Add { x, y, .. } | Expression::Sub { x, y, .. } | Expression::Mul { x, y, .. }) => {
                    open.extend([y, x].into_iter().filter(|x| of(x).is_none()).map(|x| &**x));
                    continue;
                }
                (None, Expression::Neg { x, .. }) => {
                    open.push(x);
                    continue;
                }
            };
            seen.insert(ptr::from_ref(expression), value);
            open.pop();
        }
        Ok(seen[&ptr::from_ref(root)].clone())
    }

    /// The number of an expression's node.
    pub(super) fn visit(&mut self, root: &SymbolicExpression<F>, seen: &mut Seen<BaseLeaf<F>, u32>) -> Result<u32> {
        let mut leaf = |graph: &mut Self, leaf: &BaseLeaf<F>| Ok(graph.number(leaf_node(leaf)?));
        self.walk(root, seen, &mut leaf, &|graph, operation| {
            graph.number(match operation {
                Operation::Add(x, y) => Node::Add(x, y),
                Operation::Sub(x, y) => Node::Sub(x, y),
                Operation::Mul(x, y) => Node::Mul(x, y),
                Operation::Neg(x) => Node::Neg(x),
            })
        })
    }

    /// The numbers of the nodes of an expression's coordinates.
    fn visit_extension<EF: ExtensionField<F>>(
        &mut self,
        root: &SymbolicExpressionExt<F, EF>,
        seen: &mut Seen<BaseLeaf<F>, u32>,
        seen_extension: &mut Seen<ExtLeaf<F, EF>, Vec<u32>>,
    ) -> Result<Vec<u32>> {
        let mut leaf = |graph: &mut Self, leaf: &ExtLeaf<F, EF>| {
            Ok(match leaf {
                ExtLeaf::Base(expression) => {
                    let x = graph.visit(expression, seen)?;
                    graph.base(x, EF::DIMENSION)
                }
                ExtLeaf::ExtConstant(c) => {
                    let coefficients = c.as_basis_coefficients_slice().iter();
                    coefficients.map(|c| graph.number(Node::Constant(*c))).collect()
                }
                ExtLeaf::ExtVariable(_) => return Err(unsupported("constraints read columns over the extension")),
            })
        };
        self.walk(root, seen_extension, &mut leaf, &|graph, operation| match operation {
            Operation::Add(x, y) => graph.sum(&x, &y),
            Operation::Sub(x, y) => graph.difference(&x, &y),
            Operation::Neg(x) => x.iter().map(|x| graph.number(Node::Neg(*x))).collect(),
            Operation::Mul(x, y) => graph.product(&x, &y),
        })
    }

    /// The coordinates of a sum.
    pub(super) fn sum(&mut self, x: &[u32], y: &[u32]) -> Vec<u32> {
        x.iter().zip(y).map(|(x, y)| self.number(Node::Add(*x, *y))).collect()
    }

    /// The coordinates of a difference.
    pub(super) fn difference(&mut self, x: &[u32], y: &[u32]) -> Vec<u32> {
        x.iter().zip(y).map(|(x, y)| self.number(Node::Sub(*x, *y))).collect()
    }

    /// The coordinates of a product with a value of the base field.
    pub(super) fn multiple(&mut self, x: &[u32], by: u32) -> Vec<u32> {
        x.iter().map(|x| self.number(Node::Mul(*x, by))).collect()
    }

    /// The coordinates of a value of the base field.
    pub(super) fn base(&mut self, x: u32, degree: usize) -> Vec<u32> {
        let zero = self.number(Node::Constant(F::ZERO));
        iter::once(x).chain(iter::repeat_n(zero, degree - 1)).collect()
    }

    /// The coordinates of a product modulo x^D − W.
    pub(super) fn product(&mut self, x: &[u32], y: &[u32]) -> Vec<u32> {
        let (degree, nonresidue) = (x.len(), self.number(Node::Constant(self.nonresidue)));
        let mut coordinate = |k: usize| {
            let [mut low, mut high] = [self.number(Node::Constant(F::ZERO)); 2];
            for (i, x) in x.iter().enumerate() {
                let product = self.number(Node::Mul(*x, y[(k + degree - i) % degree]));
                let sum = if i <= k { &mut low } else { &mut high };
                *sum = self.number(Node::Add(*sum, product));
            }
            let high = self.number(Node::Mul(high, nonresidue));
            self.number(Node::Add(low, high))
        };
        (0..degree).map(&mut coordinate).collect()
    }

    /// The number of a node, after rewriting it to a simpler one that has the same value.
    pub(super) fn number(&mut self, node: Node<F>) -> u32 {
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
            (BaseEntry::Main { offset: offset @ 0..=1 }, Ok(column)) => Node::Column(Source::Main, column, offset == 1),
            (BaseEntry::Preprocessed { offset: offset @ 0..=1 }, Ok(column)) => {
                Node::Column(Source::Preprocessed, column, offset == 1)
            }
            (BaseEntry::Public, Ok(index)) => Node::Public(index),
            (BaseEntry::Periodic, Ok(column)) => Node::Periodic(column),
            (entry, _) => {
                return Err(unsupported(format!("constraints read {entry:?}")));
            }
        },
    })
}
