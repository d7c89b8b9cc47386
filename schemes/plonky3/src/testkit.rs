//! The plans of the hashes, for the engine's tests: texts are held to Plonky3's own code, which is their meaning on a CPU.

use p3_baby_bear::BabyBear;
use p3_koala_bear::KoalaBear;
use p3_poseidon2::ExternalLayerConstants;
use ringforge::testkit::{NamedPlan, Random, Scheme};
use ringforge::{Limits, Planner, Result};

use crate::poseidon2::{DIGEST, HashField, Poseidon2, WIDTH};

/// The plans of Poseidon2 over both fields.
#[derive(Debug)]
pub struct Hashes;

impl Scheme for Hashes {
    const NAME: &'static str = "Poseidon2";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let planner = Planner::new(limits.clone());
        Ok([plans::<BabyBear>("BabyBear", 13, &planner)?, plans::<KoalaBear>("KoalaBear", 20, &planner)?].concat())
    }
}

/// A permutation with random constants and as many internal rounds.
///
/// # Errors
/// None for constants of these numbers.
pub fn random<F: HashField>(random: &mut Random, internal: usize) -> Result<Poseidon2<F>> {
    let mut element = || F::from_u64(random.bits());
    let mut half = || (0..4).map(|_| core::array::from_fn(|_| element())).collect();
    let external = ExternalLayerConstants::<F, WIDTH>::new(half(), half());
    let internal: Vec<F> = (0..internal).map(|_| element()).collect();
    Poseidon2::new(&external, &internal)
}

fn plans<F: HashField>(field: &str, internal: usize, planner: &Planner) -> Result<Vec<NamedPlan>> {
    let hash = random::<F>(&mut Random::new(23), internal)?;
    let mut plans = vec![
        sampled::<F>(format!("{field} pairs"), &[("pairs", WIDTH)], hash.pairs(planner)?),
        sampled::<F>(format!("{field} injected"), &[("pairs", WIDTH), ("rows", DIGEST)], hash.injected(planner)?),
    ];
    for columns in [1, 8, 13, 16, 31] {
        plans.push(sampled::<F>(
            format!("{field} rows of {columns}"),
            &[("rows", columns)],
            hash.rows(planner, columns)?,
        ));
    }
    Ok(plans)
}

/// With residues for samples, the largest among them, so many for each item.
fn sampled<F: HashField>(name: String, inputs: &[(&'static str, usize)], plan: ringforge::Plan) -> NamedPlan {
    let inputs = inputs.to_vec();
    NamedPlan::new(name, plan).sampled(move |seed, batch| {
        let mut random = Random::new(seed);
        let mut word = || match random.below(4) {
            0 => F::ORDER_U64 as u32 - 1,
            _ => random.below(F::ORDER_U64 as usize) as u32,
        };
        let mut words = |each: usize| (0..batch * each).flat_map(|_| word().to_le_bytes()).collect();
        inputs.iter().map(|&(input, each)| (input, words(each))).collect()
    })
}
