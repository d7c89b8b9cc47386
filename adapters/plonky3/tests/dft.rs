//! Tests transforms on the engine against Plonky3's.

use std::any::type_name;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use p3_baby_bear::BabyBear;
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use ringforge_plonky3::resident::{Layout, Matrix};
use ringforge_plonky3::{Dft, Engine, EngineField, Error, testkit};
use ringforge_testkit::{Random, Target, devices, seed};

/// A random matrix that includes extreme elements. In matrices of 2^20 or more elements, the elements repeat.
fn sample<F: EngineField>(random: &mut Random, height: usize, width: usize) -> RowMajorMatrix<F> {
    let element = |_| match random.below(8) {
        0 => F::ZERO,
        1 => -F::ONE,
        2 => F::from_u64(u64::MAX), // a Goldilocks word above the modulus
        _ => F::from_u64(random.bits()),
    };
    let count = height * width;
    let values: Vec<F> = (0..count.min((1 << 20) - 3)).map(element).collect();
    RowMajorMatrix::new(values.iter().copied().cycle().take(count).collect(), width)
}

/// The number of transforms to compare with Plonky3's: six methods of its trait, and extensions of row-major and of
/// column-major matrices on the device.
const TRANSFORMS: usize = 8;

/// Maximum number of elements of test matrices whose column stride may exceed their height.
const FEW: usize = 1 << 18;

/// The extension of a row-major or column-major matrix on the device, in bit-reversed order. Returns `None` for a
/// height of 1, which has no extension.
fn resident<F: EngineField>(
    engine: &Engine,
    mat: &RowMajorMatrix<F>,
    added: usize,
    shift: F,
    by_rows: bool,
) -> Option<RowMajorMatrix<F>> {
    let (stream, height) = (engine.device().stream().unwrap(), mat.height());
    let matrix = if by_rows {
        Matrix::upload(engine, &stream, mat).unwrap()
    } else {
        let more = if mat.values.len() > FEW { 0 } else { [0, 1, height][mat.width() % 3] };
        let mut longer = mat.clone();
        longer.values.extend(mat.values.iter().cycle().take(more * mat.width()));
        let columns = Matrix::upload(engine, &stream, &longer).unwrap().into_columns(&stream).unwrap();
        Matrix::of_strided_columns(engine, columns.into_elements(), height, height + more).unwrap()
    };
    let extension = match matrix.extended(&stream, added, shift) {
        Err(Error::Length { .. }) if height == 1 => return None,
        extension => extension.unwrap(),
    };
    assert_eq!(extension.layout() == Layout::Rows, by_rows);
    Some(extension.download(&stream).unwrap())
}

/// Returns true if transform number `transform` gives the same stored words as Plonky3's, in bit-reversed order.
fn equal<F: EngineField>(dft: &Dft<F>, mat: &RowMajorMatrix<F>, added: usize, shift: F, transform: usize) -> bool {
    let (stock, mat) = (Radix2DitParallel::<F>::default(), || mat.clone());
    match transform {
        0 => dft.dft_batch(mat()).inner == stock.dft_batch(mat()).inner,
        1 => dft.coset_dft_batch(mat(), shift).inner == stock.coset_dft_batch(mat(), shift).inner,
        2 => dft.lde_batch(mat(), added).inner == stock.lde_batch(mat(), added).inner,
        3 => dft.idft_batch(mat()) == stock.idft_batch(mat()),
        4 => dft.coset_idft_batch(mat(), shift) == stock.coset_idft_batch(mat(), shift),
        5 => dft.coset_lde_batch(mat(), added, shift).inner == stock.coset_lde_batch(mat(), added, shift).inner,
        layout => {
            let made = resident(dft.engine().unwrap(), &mat(), added, shift, layout == 6);
            made.is_none_or(|made| made == stock.coset_lde_batch(mat(), added, shift).inner)
        }
    }
}

/// Compares `transforms` of a random matrix with Plonky3's. The height is a power of two, and the extension has at most
/// 2^`bits` elements. As `case` varies, the width takes every remainder modulo 32.
fn agree<F: EngineField>(
    dft: &Dft<F>,
    random: &mut Random,
    case: usize,
    heights: usize,
    bits: usize,
    transforms: impl IntoIterator<Item = usize>,
) {
    let added = random.below(4);
    let height = 1 << random.below(heights.min(bits - added + 1));
    let most = (1 << bits) / (height << added);
    let width = 1 + case % 32 + case / 32 % 4 * 32 * (1 + random.below(3));
    let width = if width <= most { width } else { 1 + case % most.min(32) };
    let shift = F::from_u64(random.bits() | 1);
    let mat = sample::<F>(random, height, width);
    for transform in transforms {
        let case = format!("transform {transform} of {}, {added} more bits, shift {shift}", mat.dimensions());
        assert!(equal(dft, &mat, added, shift, transform), "{case} on {dft:?}");
    }
}

/// Compares all transforms with Plonky3's, for matrices of `cases` random shapes.
fn all_agree<F: EngineField>(engine: &Engine, cases: usize, heights: usize, bits: usize) {
    testkit::refuse_stock();
    let (mut random, dft) = (Random::new(seed()), Dft::<F>::on(engine));
    (0..cases).for_each(|case| agree(&dft, &mut random, case, heights, bits, 0..TRANSFORMS));
}

/// Compares transforms with Plonky3's on all devices. GPUs get fewer cases, because each case compiles kernels.
fn agree_everywhere<F: EngineField>() {
    for device in devices() {
        let (cases, heights) = if device.limits().is_cpu() { (70, 9) } else { (4, 5) };
        all_agree::<F>(&Engine::on(device), cases, heights, 20);
    }
}

#[test]
#[ignore = "minutes"]
fn ten_thousand_shapes_agree_with_plonky3() {
    let engine = Engine::cpu();
    all_agree::<BabyBear>(&engine, 3400, 17, 20);
    all_agree::<KoalaBear>(&engine, 3300, 17, 20);
    all_agree::<Goldilocks>(&engine, 3300, 17, 20);
}

/// Compares transforms of large matrices with Plonky3's in several threads, so that Plonky3's and the compiler's work
/// overlaps the device's.
///
/// The limit on elements cycles through the nine powers of two from 2^(bits − 8) to 2^bits. Each case compares the
/// extension on the device in both layouts and one of the trait's transforms, a different one each time.
fn large_agree<F: EngineField>(engine: &Engine, cases: usize, heights: usize, bits: usize) {
    testkit::refuse_stock();
    let (dft, next, done, seed) = (Dft::<F>::on(engine), AtomicUsize::new(0), AtomicUsize::new(0), seed());
    let work = || {
        while let Some(case) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|case| *case < cases) {
            let mut random = Random::new(seed.wrapping_add(case as u64));
            let transforms = [TRANSFORMS - 2, TRANSFORMS - 1, case % (TRANSFORMS - 2)];
            agree(&dft, &mut random, case, heights, bits - 8 + case % 9, transforms);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            println!("{done} of {cases} shapes over {} agree, of at most 2^{bits} elements", type_name::<F>());
        }
    };
    thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
}

#[test]
#[ignore = "a minute on a GPU with 16 cores"]
fn large_shapes_agree_with_plonky3_on_a_gpu() {
    let Some(device) = Target::Cuda.device() else { return };
    let engine = Engine::on(device);
    thread::scope(|scope| {
        scope.spawn(|| large_agree::<BabyBear>(&engine, 70, 23, 28));
        scope.spawn(|| large_agree::<KoalaBear>(&engine, 65, 22, 28));
        scope.spawn(|| large_agree::<Goldilocks>(&engine, 65, 23, 27));
    });
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
fn cpus_default_to_the_faster_code() {
    if Engine::best().no_gpu().is_some() {
        assert_eq!(Dft::<BabyBear>::default().engine().is_some(), BabyBear::FASTER_ON_CPU);
        assert!(Dft::<Goldilocks>::default().engine().is_none());
    } else {
        assert!(Dft::<Goldilocks>::default().engine().is_some());
    }
}
