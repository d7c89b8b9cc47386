//! Lookups between tables by logarithmic derivatives (LogUp; Haböck, eprint 2022/1530), as Plonky3's `LogUpGadget` has them.
//!
//! A lookup is a fraction in each row: Σ m_j / (a − e_j) over its tuples, where e_j is the tuple's combination with powers
//! of a challenge β, and a is the challenge of its bus. The permutation columns of a table are the running sum of all its
//! fractions, and the fractions themselves.

use std::collections::HashMap;

use p3_air::Air;
use p3_air::symbolic::{AirLayout, BaseLeaf, SymbolicExpressionExt};
use p3_field::{Algebra, ExtensionField};
use p3_lookup::{InteractionSymbolicBuilder, Kind, Lookup};
use ringforge::Result;

use super::dag::{Dag, Graph, Node, Seen, Source};
use super::unsupported;
use crate::field::EngineField;

/// The places of a table's challenges after its public values: powers of β from the first on, the challenge of each lookup,
/// and the sum of all fractions, D values each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    publics: usize,
    powers: usize,
    lookups: usize,
    degree: usize,
}

impl Places {
    pub(super) fn new<F: EngineField>(publics: usize, lookups: &[Lookup<F>], degree: usize) -> Self {
        let tuples = lookups.iter().flat_map(|lookup| &lookup.elements);
        let powers = tuples.map(|tuple| tuple.len().saturating_sub(1)).max().unwrap_or(0);
        Self { publics, powers, lookups: lookups.len(), degree }
    }

    /// The number of all values.
    pub(super) fn count(self) -> usize {
        let of_lookups = if self.lookups == 0 { 0 } else { self.powers + self.lookups + 1 };
        self.publics + of_lookups * self.degree
    }

    /// The nodes of the element with this number after the public values.
    fn nodes<F: EngineField>(self, graph: &mut Graph<F>, element: usize) -> Vec<u32> {
        let at = self.publics + element * self.degree;
        (at..at + self.degree).map(|index| graph.number(Node::Public(index as u32))).collect()
    }

    /// All values. `challenges` are the challenge of each lookup and β, as Plonky3's transcript lays them out.
    pub(super) fn values<F, EF>(self, publics: &[F], challenges: &[EF], terminal: EF) -> Vec<F>
    where
        F: EngineField,
        EF: ExtensionField<F>,
    {
        let mut values = publics.to_vec();
        if let [_, beta, ..] = challenges {
            let powers = beta.powers().skip(1).take(self.powers);
            let elements = powers.chain(challenges.iter().copied().step_by(2)).chain([terminal]);
            values.extend(elements.flat_map(|x| x.as_basis_coefficients_slice().to_vec()));
        }
        values
    }
}

/// The graph of a table's constraints with those of its lookups, and the graph of its lookups' terms: for each one, the
/// coordinates of the fraction's numerator and of its denominator.
///
/// # Errors
/// [`Error::Unsupported`](ringforge::Error::Unsupported) for values that are not of the trace's rows or public.
pub(super) fn dags<F, EF, A>(
    air: &A,
    layout: AirLayout,
    lookups: &[Lookup<F>],
    nonresidue: F,
) -> Result<(Dag<F>, Option<Dag<F>>)>
where
    F: EngineField,
    EF: ExtensionField<F>,
    A: Air<InteractionSymbolicBuilder<F, EF>>,
    SymbolicExpressionExt<F, EF>: Algebra<EF>,
{
    let places = Places::new(layout.num_public_values, lookups, EF::DIMENSION);
    let mut builder = InteractionSymbolicBuilder::new(layout);
    air.eval(&mut builder);
    let (base, extension) = (builder.base_constraints(), builder.extension_constraints());
    let (mut graph, mut seen) = (Graph::new(nonresidue), HashMap::new());
    graph.emit::<EF>(&base, &extension, &builder.constraint_layout(), &mut seen)?;
    let (mut of_terms, mut seen_terms) = (Graph::new(nonresidue), HashMap::new());
    for (number, lookup) in lookups.iter().enumerate() {
        let [numerator, denominator] = terms(&mut graph, places, number, lookup, &mut seen)?;
        let fraction = column(&mut graph, places, number + 1, false);
        let product = graph.product(&denominator, &fraction);
        let difference = graph.difference(&product, &numerator);
        graph.constrain(&difference);
        for term in terms(&mut of_terms, places, number, lookup, &mut seen_terms)? {
            of_terms.constrain(&term);
        }
    }
    if lookups.is_empty() {
        return Ok((graph.dag(), None));
    }
    let [sum, next] = [false, true].map(|next| column(&mut graph, places, 0, next));
    let fractions = (1..=lookups.len()).fold(sum.clone(), |total, number| {
        let fraction = column(&mut graph, places, number, false);
        graph.sum(&total, &fraction)
    });
    let terminal = places.nodes(&mut graph, places.powers + places.lookups);
    let [step, rest] = [next, terminal].map(|after| graph.difference(&after, &fractions));
    for (selector, value) in [(Node::First, sum), (Node::Transition, step), (Node::Last, rest)] {
        let selector = graph.number(selector);
        let selected = graph.multiple(&value, selector);
        graph.constrain(&selected);
    }
    let of_terms = of_terms.dag();
    if of_terms.nodes.iter().any(|node| matches!(node, Node::Periodic(_))) {
        return Err(unsupported("lookups read periodic columns"));
    }
    Ok((graph.dag(), Some(of_terms)))
}

/// The coordinates of a permutation column over the extension.
fn column<F: EngineField>(graph: &mut Graph<F>, places: Places, number: usize, next: bool) -> Vec<u32> {
    let first = number * places.degree;
    let columns = first..first + places.degree;
    columns.map(|column| graph.number(Node::Column(Source::Permutation, column as u32, next))).collect()
}

/// The coordinates of a fraction's numerator and of its denominator.
fn terms<F: EngineField>(
    graph: &mut Graph<F>,
    places: Places,
    number: usize,
    lookup: &Lookup<F>,
    seen: &mut Seen<BaseLeaf<F>, u32>,
) -> Result<[Vec<u32>; 2]> {
    let degree = places.degree;
    let [zero, one] = [F::ZERO, F::ONE].map(|x| graph.number(Node::Constant(x)));
    let challenge = places.nodes(graph, places.powers + number);
    let mut factors = Vec::with_capacity(lookup.elements.len());
    for tuple in &lookup.elements {
        let mut combined = graph.base(zero, degree);
        for (element, power) in tuple.iter().rev().zip(0..) {
            let element = graph.visit(element, seen)?;
            let term = match power {
                0 => graph.base(element, degree),
                power => {
                    let power = places.nodes(graph, power - 1);
                    graph.multiple(&power, element)
                }
            };
            combined = graph.sum(&combined, &term);
        }
        factors.push(graph.difference(&challenge, &combined));
    }
    let multiplicities = lookup.multiplicities.iter().map(|m| graph.visit(m, seen)).collect::<Result<Vec<_>>>()?;
    if let Some(flags) = &lookup.flags {
        // of a group of which at most one is selected, the selected one's
        let (mut numerator, mut denominator, mut selected) = (zero, graph.base(one, degree), zero);
        for ((flag, factor), multiplicity) in flags.iter().zip(&factors).zip(multiplicities) {
            let flag = graph.visit(flag, seen)?;
            let (own, product) = (graph.multiple(factor, flag), graph.number(Node::Mul(flag, multiplicity)));
            denominator = graph.sum(&denominator, &own);
            numerator = graph.number(Node::Add(numerator, product));
            selected = graph.number(Node::Add(selected, flag));
        }
        let selected = graph.base(selected, degree);
        return Ok([graph.base(numerator, degree), graph.difference(&denominator, &selected)]);
    }
    let (mut numerator, mut denominator) = (graph.base(zero, degree), graph.base(one, degree));
    for (factor, multiplicity) in factors.iter().zip(multiplicities) {
        let product = graph.product(&numerator, factor);
        let own = graph.multiple(&denominator, multiplicity);
        numerator = graph.sum(&product, &own);
        denominator = graph.product(&denominator, factor);
    }
    Ok([numerator, denominator])
}

/// Checks that all tuples of a bus have one width, and that lookups are numbered in their order. Plonky3 panics if not.
///
/// # Errors
/// [`Error::Unsupported`](ringforge::Error::Unsupported) if not.
pub(super) fn check<F: EngineField>(tables: &[&[Lookup<F>]]) -> Result<()> {
    let mut widths: HashMap<&str, usize> = HashMap::new();
    for (number, lookup) in tables.iter().flat_map(|lookups| lookups.iter().enumerate()) {
        let counts = [lookup.multiplicities.len(), lookup.flags.as_ref().map_or(lookup.elements.len(), Vec::len)];
        if lookup.column != number || counts != [lookup.elements.len(); 2] {
            return Err(unsupported("the columns or the multiplicities of a lookup do not fit the others"));
        }
        let mut own = None;
        for tuple in &lookup.elements {
            let width = match &lookup.kind {
                Kind::Global(bus) => widths.entry(bus).or_insert(tuple.len()),
                Kind::Local => own.get_or_insert(tuple.len()),
            };
            if *width != tuple.len() {
                return Err(unsupported("the tuples of a bus have several lengths"));
            }
        }
    }
    Ok(())
}
