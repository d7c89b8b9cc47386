//! Transforms on the engine against those of Plonky3.

use p3_baby_bear::BabyBear;
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix;
use p3_matrix::bitrev::BitReversedMatrixView;
use p3_matrix::dense::RowMajorMatrix;
use ringforge::testkit::{Random, Target, devices, seed};
use ringforge_plonky3::{Dft, Engine, EngineField, testkit};

type Values<F> = BitReversedMatrixView<RowMajorMatrix<F>>;

/// A matrix of any elements, extreme ones among them.
fn sample<F: EngineField>(random: &mut Random, height: usize, width: usize) -> RowMajorMatrix<F> {
    let mut element = || match random.below(8) {
        0 => F::ZERO,
        1 => -F::ONE,
        2 => F::from_u64(u64::MAX), // a Goldilocks word above the modulus
        _ => F::from_u64(random.bits()),
    };
    RowMajorMatrix::new((0..height * width).map(|_| element()).collect(), width)
}

/// Random shapes with every remainder of the width modulo 32, of heights from 1 on, at most 2^bits elements after extension.
fn agree<F: EngineField>(engine: &Engine, cases: usize, heights: usize, bits: u32) {
    testkit::refuse_stock();
    let mut random = Random::new(seed());
    let stock = Radix2DitParallel::<F>::default();
    let dft = Dft::<F>::on(engine);
    for case in 0..cases {
        let (height, added) = (1 << random.below(heights), random.below(4));
        let most = (1 << bits) / (height << added);
        let width = 1 + case % 32 + case / 32 % 4 * 32 * (1 + random.below(3));
        let width = if width <= most { width } else { 1 + case % most.min(32) };
        let shift = F::from_u64(random.bits() | 1);
        let mat = sample::<F>(&mut random, height, width);
        let case = format!("{} on {dft:?}, {added} more bits, shift {shift}", mat.dimensions());

        // as they are stored, in bit-reversed order
        let equal = |ours: Values<F>, stock: Values<F>| assert!(ours.inner == stock.inner, "{case}");
        equal(dft.dft_batch(mat.clone()), stock.dft_batch(mat.clone()));
        equal(dft.coset_dft_batch(mat.clone(), shift), stock.coset_dft_batch(mat.clone(), shift));
        equal(dft.lde_batch(mat.clone(), added), stock.lde_batch(mat.clone(), added));
        equal(dft.coset_lde_batch(mat.clone(), added, shift), stock.coset_lde_batch(mat.clone(), added, shift));
        assert!(dft.idft_batch(mat.clone()) == stock.idft_batch(mat.clone()), "{case}");
        assert!(dft.coset_idft_batch(mat.clone(), shift) == stock.coset_idft_batch(mat, shift), "{case}");
    }
}

/// What compiles kernels takes its time.
fn agree_everywhere<F: EngineField>() {
    for device in devices() {
        let (cases, heights) = if device.limits().is_cpu() { (70, 9) } else { (4, 5) };
        agree::<F>(&Engine::on(device), cases, heights, 20);
    }
}

#[test]
#[ignore = "minutes"]
fn ten_thousand_shapes_agree_with_plonky3() {
    let engine = Engine::cpu();
    agree::<BabyBear>(&engine, 3400, 17, 20);
    agree::<KoalaBear>(&engine, 3300, 17, 20);
    agree::<Goldilocks>(&engine, 3300, 17, 20);
}

#[test]
#[ignore = "minutes on a GPU"]
fn large_shapes_agree_with_plonky3_on_a_gpu() {
    let Some(device) = Target::Cuda.device() else { return };
    let engine = Engine::on(device);
    agree::<BabyBear>(&engine, 70, 23, 28);
    agree::<KoalaBear>(&engine, 65, 22, 28);
    agree::<Goldilocks>(&engine, 65, 23, 27);
}

#[test]
fn baby_bear_agrees_with_plonky3() {
    agree_everywhere::<BabyBear>();
}

#[test]
fn koala_bear_agrees_with_plonky3() {
    agree_everywhere::<KoalaBear>();
}

#[test]
fn goldilocks_agrees_with_plonky3() {
    agree_everywhere::<Goldilocks>();
}

#[test]
fn by_default_a_cpu_takes_what_is_faster() {
    if Engine::best().no_gpu().is_some() {
        assert_eq!(Dft::<BabyBear>::default().engine().is_some(), BabyBear::FASTER_ON_CPU);
        assert!(Dft::<Goldilocks>::default().engine().is_none());
    } else {
        assert!(Dft::<Goldilocks>::default().engine().is_some());
    }
}
