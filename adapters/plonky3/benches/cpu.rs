//! Benchmarks the engine on this CPU against Plonky3's own transforms: `cargo bench -p ringforge-plonky3`. To choose
//! heights, pass their base-2 logarithms after `--`.

use std::time::Instant;

use p3_baby_bear::BabyBear;
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::RowMajorMatrix;
use ringforge_plonky3::{Dft, Engine, EngineField};

/// Number of columns of a matrix.
const COLUMNS: usize = 64;

fn main() {
    let named: Vec<usize> = std::env::args().skip(1).filter_map(|bits| bits.parse().ok()).collect();
    println!("milliseconds for 64 columns         engine  Plonky3");
    for &bits in if named.is_empty() { &[12, 16, 18, 20][..] } else { &named } {
        compare::<BabyBear>("BabyBear", bits);
        compare::<KoalaBear>("KoalaBear", bits);
        compare::<Goldilocks>("Goldilocks", bits);
    }
}

fn compare<F: EngineField>(field: &str, bits: usize) {
    let mat = RowMajorMatrix::new((0..(COLUMNS as u64) << bits).map(F::from_u64).collect(), COLUMNS);
    let (engine, stock) = (Dft::<F>::on(&Engine::cpu()), Radix2DitParallel::<F>::default());
    let values = [best(|| engine.dft_batch(mat.clone())), best(|| stock.dft_batch(mat.clone()))];
    println!("{field:>10} 2^{bits}, forward           {:8.2} {:8.2}", values[0], values[1]);
    let extend = |dft: &dyn Fn(RowMajorMatrix<F>)| best(|| dft(mat.clone()));
    let values = [
        extend(&|mat| drop(engine.coset_lde_batch(mat, 1, F::GENERATOR))),
        extend(&|mat| drop(stock.coset_lde_batch(mat, 1, F::GENERATOR))),
    ];
    println!("{field:>10} 2^{bits}, extension by two  {:8.2} {:8.2}", values[0], values[1]);
}

/// The minimum time of six runs, in milliseconds.
fn best<T>(run: impl Fn() -> T) -> f64 {
    let seconds = (0..6).map(|_| {
        let start = Instant::now();
        let made = run();
        let time = start.elapsed();
        drop(made);
        time.as_secs_f64()
    });
    1e3 * seconds.fold(f64::INFINITY, f64::min)
}
