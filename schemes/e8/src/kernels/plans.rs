//! Plans of single components, with samples and oracles.

use ringforge::testkit::{NamedPlan, Random, Scheme};
use ringforge::{Limits, Pipeline, Planner, Result};

use super::{Component, unit};
use crate::oracle;

/// The components, as something to test.
#[derive(Debug)]
pub struct Components;

impl Scheme for Components {
    const NAME: &'static str = "E8";

    fn plans(_: &Limits) -> Result<Vec<NamedPlan>> {
        let widths = [4, 5, 10, 11, 12];
        [Component::Encode]
            .into_iter()
            .chain([1024, 2048].map(|q2| Component::Decode { q2 }))
            .chain([2, 3, 4, 5].map(|eta| Component::Sample { eta }))
            .chain(widths.map(|width| Component::Pack { width }))
            .chain(widths.map(|width| Component::Unpack { width }))
            .map(plan)
            .collect()
    }
}

/// The plan of one component, with samples and an oracle.
///
/// # Errors
/// Nothing that a caller could cause.
pub fn plan(component: Component) -> Result<NamedPlan> {
    let p = Pipeline::new(format!("{component:?}"), &Planner::default());
    let [to] = p.step(component.kernel(), &[p.input("from")]);
    p.output("to", to);
    let plan = NamedPlan::new(format!("{component:?}"), p.build()?);
    let plan = match component {
        Component::Decode { q2 } => plan.sampled(move |seed, batch| {
            vec![("from", coordinates(seed, batch, q2).flatten().flat_map(u16::to_le_bytes).collect())]
        }),
        Component::Pack { width } => {
            plan.sampled(move |seed, batch| vec![("from", numbers(seed, batch * unit(width), width))])
        }
        _ => plan,
    };
    Ok(plan.expecting(move |_, inputs| vec![("to", expected(component, &inputs["from"]))]))
}

/// Blocks of coordinates: in turn anywhere, and on multiples of q2/4 and q2/8, where ties are.
pub(crate) fn coordinates(seed: u64, batch: usize, q2: u16) -> impl Iterator<Item = [u16; 8]> {
    let mut random = Random::new(seed);
    (0..batch).map(move |i| {
        let parts = [q2, 4, 8][i % 3];
        core::array::from_fn(|_| random.below(usize::from(parts)) as u16 * (q2 / parts))
    })
}

fn numbers(seed: u64, count: usize, width: u32) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.below(1 << width) as u16).flat_map(u16::to_le_bytes).collect()
}

fn expected(component: Component, input: &[u8]) -> Vec<u8> {
    let words = || input.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes).into()).collect::<Vec<i64>>();
    let bytes = |words: Vec<i64>| words.into_iter().flat_map(|word| (word as u16).to_le_bytes()).collect();
    match component {
        Component::Encode => oracle::pack(1, oracle::unpack(4, input).into_iter().flat_map(oracle::encode)),
        Component::Decode { q2 } => words().chunks(8).map(|v| oracle::decode(v, q2.into()) as u8).collect(),
        Component::Sample { eta } => bytes(oracle::sample(eta, input)),
        Component::Pack { width } => oracle::pack(width, words()),
        Component::Unpack { width } => bytes(oracle::unpack(width, input)),
    }
}
