//! Writes a bundle of all kernels that proofs over a field run, for machines without NVRTC. Constraints are interpreted there.
//! A GPU is not needed, but NVRTC is.
//!
//! ```sh
//! cargo run --release -p ringforge-plonky3 --example bundle -- koalabear sm_90 16..20 kernels.bundle
//! ```

use std::env;
use std::error::Error;
use std::path::Path;

use p3_baby_bear::BabyBear;
use p3_field::extension::BinomialExtensionField;
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_poseidon2::ExternalLayerConstants;
use ringforge_plonky3::ringforge::cuda::{Bundle, is_compiler_present};
use ringforge_plonky3::ringforge::{Limits, Plan, Planner};
use ringforge_plonky3::{HashField, Permutes, Poseidon2, Result, stark};

/// log2 of the blow-up factor, and the highest degree of constraints.
const LOG_BLOWUP: usize = 1;
const DEGREE: usize = 3;

/// The plans of proofs over a field, whose Poseidon2 has four external rounds at either end.
fn plans<F, const D: usize, const WIDTH: usize>(
    limits: &Limits,
    internal_rounds: usize,
    log_n: [usize; 2],
) -> Result<Vec<Plan>>
where
    F: HashField
        + Permutes<WIDTH, Permutation = <F as HashField>::Permutation>
        + p3_field::extension::BinomiallyExtendable<D>,
{
    // kernels do not depend on the round constants
    let rounds = vec![[F::ZERO; WIDTH]; 4];
    let hash = Poseidon2::new(&ExternalLayerConstants::new(rounds.clone(), rounds), &vec![F::ZERO; internal_rounds])?;
    let (planner, [first, last]) = (Planner::new(limits.clone()), log_n);
    stark::plans::<F, BinomialExtensionField<F, D>>(&planner, &hash, DEGREE, LOG_BLOWUP, first..=last)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let temporary = env::temp_dir().join("koalabear.bundle").display().to_string();
    let [field, architecture, heights, file] = match &arguments[..] {
        [] => ["koalabear", "sm_90", "4..4", &temporary],
        [field, architecture, heights, file] => [field, architecture, heights, file].map(String::as_str),
        _ => return Err("usage: bundle koalabear|babybear|goldilocks sm_90 16..20 FILE (log2 of the rows)".into()),
    };
    let capability = architecture.strip_prefix("sm_").ok_or("an architecture is such as sm_90")?.parse()?;
    let (first, last) =
        heights.split_once("..").ok_or("heights are log2 of the least and the most rows, such as 16..20")?;
    let (limits, log_n) = (Limits::of_capability(capability), [first.parse()?, last.parse()?]);
    let plans = match field {
        "babybear" => plans::<BabyBear, 4, 16>(&limits, 13, log_n),
        "koalabear" => plans::<KoalaBear, 4, 16>(&limits, 20, log_n),
        "goldilocks" => plans::<Goldilocks, 2, 8>(&limits, 22, log_n),
        _ => return Err(format!("there are no proofs over {field}").into()),
    }?;
    println!("{} plans of proofs of 2^{} to 2^{} rows over {field}", plans.len(), log_n[0], log_n[1]);
    if !is_compiler_present() {
        println!("nothing is written, because NVRTC is not on this machine");
        return Ok(());
    }
    let mut bundle = Bundle::default();
    bundle.compile(&plans, &limits)?;
    bundle.save(Path::new(file))?;
    println!("{file}: {} kernels for {architecture}", bundle.kernels(capability).len());
    Ok(())
}
