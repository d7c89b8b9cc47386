//! Proves your own AIR on the device, and verifies the proof with Plonky3's verifier.
//!
//! ```sh
//! cargo run --release -p ringforge-plonky3 --example own-air
//! ```

use std::error::Error;

use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_field::PrimeCharacteristicRing;
use p3_field::extension::BinomialExtensionField;
use p3_fri::FriParameters;
use p3_koala_bear::{
    KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    KOALABEAR_POSEIDON2_RC_16_INTERNAL, KoalaBear,
};
use p3_poseidon2::ExternalLayerConstants;
use p3_uni_stark::{StarkConfig, verify};
use ringforge_plonky3::resident::Trace;
use ringforge_plonky3::stark::{Prover, prove};
use ringforge_plonky3::{Dft, Engine, HashField, Mmcs, Pcs, Poseidon2};

type Challenge = BinomialExtensionField<KoalaBear, 4>;
type Challenger = DuplexChallenger<KoalaBear, <KoalaBear as HashField>::Permutation, 16, 8>;

/// Squares: each row has x and x², and the next row begins with x² + 1. The public value is the first x.
struct Squares;

impl<F> BaseAir<F> for Squares {
    fn width(&self) -> usize {
        2
    }

    fn num_public_values(&self) -> usize {
        1
    }
}

impl<AB: AirBuilder> Air<AB> for Squares {
    fn eval(&self, builder: &mut AB) {
        let (main, start) = (builder.main(), builder.public_values()[0]);
        let (local, next): (&[AB::Var], &[AB::Var]) = (main.current_slice(), main.next_slice());
        builder.when_first_row().assert_eq(local[0], start);
        builder.assert_eq(local[1], local[0] * local[0]);
        builder.when_transition().assert_eq(next[0], local[1] + AB::Expr::ONE);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::best();
    // the round constants of the verifier's permutation
    let (first, last) = (KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL);
    let external = ExternalLayerConstants::new(first.to_vec(), last.to_vec());
    let hash = Poseidon2::new(&external, &KOALABEAR_POSEIDON2_RC_16_INTERNAL)?;
    let mmcs = Mmcs::new(&hash, 0).on(&engine);
    let fri = FriParameters::new_benchmark(ExtensionMmcs::<KoalaBear, Challenge, _>::new(mmcs.clone()));
    let challenger = Challenger::new(hash.permutation().clone());
    let config = StarkConfig::<_, Challenge, _>::new(Pcs::new(Dft::on(&engine), mmcs, fri), challenger);

    // a trace of 2^10 rows
    let (start, mut trace) = (KoalaBear::from_u32(3), Vec::new());
    let mut x = start;
    for _ in 0..1 << 10 {
        trace.extend([x, x * x]);
        x = x * x + KoalaBear::ONE;
    }
    let trace = Trace::rows(&trace, 2, KoalaBear::ONE);
    let proof = prove(&engine, &config, &Squares, trace, &[start])?;
    verify(&config, &Squares, &proof, &[start]).map_err(|error| format!("{error:?}"))?;

    // for several proofs: the constraints are read once, and compiled in the background
    let prover = Prover::new(&engine, &config, &Squares)?;
    let (proof, phases) = prover.prove_timed(trace, &[start])?;
    verify(&config, &Squares, &proof, &[start]).map_err(|error| format!("{error:?}"))?;
    println!("proved and verified on {}: {phases:?}", engine.device());
    Ok(())
}
