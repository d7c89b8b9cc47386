//! Tests commitments whose extensions and trees stay on the device against Plonky3's.

use p3_baby_bear::BabyBear;
use p3_commit::Mmcs as _;
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use ringforge_plonky3::resident::{Committed, Layout, Matrix, MerkleTree, Pinned, Trace, commit};
use ringforge_plonky3::{Engine, Error, HashField, Poseidon2, testkit};
use ringforge_testkit::{Random, devices, seed};

/// The words that store these elements.
fn words(elements: &[KoalaBear]) -> Vec<u32> {
    // SAFETY: `KoalaBear` is `repr(transparent)` over a `u32`.
    #[allow(unsafe_code)]
    unsafe { core::slice::from_raw_parts(elements.as_ptr().cast::<u32>(), elements.len()) }.to_vec()
}

macro_rules! agrees {
    ($name:ident, $field:ty, $cap:literal, $hash:expr, $stock:expr) => {
        #[test]
        fn $name() {
            type F = $field;
            let mut random = Random::new(seed());
            let hash: Poseidon2<F> = $hash(&mut random);
            for device in devices() {
                let engine = Engine::on(device);
                let stream = engine.device().stream().unwrap();
                for widths in [&[(0, 1)][..], &[(0, 9), (0, 3), (2, 12)], &[(1, 8), (0, 5), (1, 17), (3, 1), (0, 16)]] {
                    let (log_height, added, cap) = (4 + random.below(3), random.below(3), random.below($cap + 1));
                    let mut trace = |&(halvings, width): &(usize, usize)| {
                        let height = 1 << (log_height - halvings);
                        let values = (0..height * width).map(|_| F::from_u64(random.bits())).collect();
                        (RowMajorMatrix::<F>::new(values, width), F::from_u64(random.bits() | 1))
                    };
                    let traces: Vec<_> = widths.iter().map(&mut trace).collect();

                    let dft = Radix2DitParallel::<F>::default();
                    let extend = |(trace, shift): &(RowMajorMatrix<F>, F)| {
                        dft.coset_lde_batch(trace.clone(), added, *shift).inner
                    };
                    let extensions: Vec<_> = traces.iter().map(extend).collect();
                    let stock = $stock(&hash, cap);
                    let (stock_cap, stock_data) = stock.commit(extensions.clone());

                    // four sources of traces: column-major and row-major, in host memory and on the device
                    let columns: Vec<_> = traces.iter().map(|(trace, _)| trace.transpose().values).collect();
                    let upload = |(trace, _): &(RowMajorMatrix<F>, F)| Matrix::upload(&engine, &stream, trace).unwrap();
                    let in_rows: Vec<_> = traces.iter().map(upload).collect();
                    let strided_batch = |trace| upload(trace).into_columns(&stream).unwrap();
                    let strided_batch: Vec<_> = traces.iter().map(strided_batch).collect();
                    let from = |i: usize, source: usize| {
                        let (trace, shift) = &traces[i];
                        match source % 4 {
                            0 => Trace::columns(&columns[i], trace.height(), *shift),
                            1 => Trace::rows(&trace.values, trace.width(), *shift),
                            2 => Trace::resident(&in_rows[i], *shift),
                            _ => Trace::resident(&strided_batch[i], *shift),
                        }
                    };
                    for first in 0..4 {
                        let traces: Vec<_> = (0..traces.len()).map(|i| from(i, i + first)).collect();
                        let committed = commit(&engine, &stream, &hash, &traces, added).unwrap();
                        assert_eq!(committed.tree.cap(&stream, cap).unwrap(), stock_cap);
                        let leaves: Vec<_> = (0..5).map(|_| random.below(1 << (log_height + added))).collect();
                        let (rows, paths) = committed.open(&stream, &leaves, cap).unwrap();
                        let (stock_rows, stock_paths) = stock.open_multi_batch(&leaves, &stock_data);
                        assert_eq!(rows, stock_rows);
                        assert_eq!(paths.sibling_hashes, stock_paths.sibling_hashes);
                        let (_, path) = stock.open_batch(leaves[0], &stock_data).unpack();
                        assert_eq!(committed.tree.path(&stream, leaves[0], cap).unwrap(), path);
                        for (matrix, extension) in committed.matrices.iter().zip(&extensions) {
                            assert!(matrix.download(&stream).unwrap() == *extension);
                        }
                        // the extensions that are already on the device must give the same tree
                        let matrices: Vec<_> = committed.matrices.iter().collect();
                        let tree = MerkleTree::new(&engine, &stream, &hash, &matrices).unwrap();
                        assert_eq!(tree.cap(&stream, cap).unwrap(), stock_cap);
                    }
                }
            }
        }
    };
}

macro_rules! agrees_of_two {
    ($name:ident, $field:ty, $width:literal, $internal:literal) => {
        agrees!(
            $name,
            $field,
            2,
            |random: &mut Random| testkit::random::<$field, $width>(random, $internal).unwrap(),
            |hash: &Poseidon2<$field>, cap: usize| <$field>::binary(hash.permutation(), cap)
        );
    };
}

macro_rules! agrees_of_four {
    ($name:ident, $field:ty, $width:literal, $internal:literal, $wide:literal, $internal_of_wide:literal) => {
        agrees!(
            $name,
            $field,
            1, // maximum cap height: the layer below may have 12 digests, and Plonky3 has no such caps
            |random: &mut Random| {
                let rows = testkit::random::<$field, $width>(random, $internal).unwrap();
                testkit::of_arity_4::<$field, $wide>(rows, random, $internal_of_wide).unwrap()
            },
            |hash: &Poseidon2<$field>, cap: usize| {
                <$field>::quaternary(hash.permutation(), hash.wide_permutation().unwrap(), cap)
            }
        );
    };
}

agrees_of_two!(baby_bear_agrees_with_plonky3, BabyBear, 16, 13);
agrees_of_two!(koala_bear_agrees_with_plonky3, KoalaBear, 16, 20);
agrees_of_two!(goldilocks_agrees_with_plonky3, Goldilocks, 8, 22);
agrees_of_four!(koala_bear_of_arity_4_agrees_with_plonky3, KoalaBear, 16, 20, 32, 31);
agrees_of_four!(goldilocks_of_arity_4_agrees_with_plonky3, Goldilocks, 8, 22, 16, 22);

/// A commitment to one trace of two columns.
fn small(engine: &Engine, hash: &Poseidon2<KoalaBear>) -> Committed<KoalaBear> {
    let stream = engine.device().stream().unwrap();
    let mut values = Pinned::new(engine.device(), 16).unwrap();
    values.iter_mut().zip(0..).for_each(|(value, i)| *value = KoalaBear::new(i));
    commit(engine, &stream, hash, &[Trace::columns(&values, 8, KoalaBear::GENERATOR)], 1).unwrap()
}

#[test]
fn invalid_shapes_and_indices_are_refused() {
    let hash = testkit::random::<KoalaBear, 16>(&mut Random::new(1), 20).unwrap();
    let engine = Engine::cpu();
    let stream = engine.device().stream().unwrap();
    let refused = |traces: &[Trace<'_, KoalaBear>], added: usize| {
        let outcome = commit(&engine, &stream, &hash, traces, added);
        assert!(matches!(outcome, Err(Error::Length { .. } | Error::OutOfMemory { .. })), "{outcome:?}");
    };
    let (shift, values) = (KoalaBear::GENERATOR, [KoalaBear::new(3); 24]);
    refused(&[], 1);
    for height in [0, 1, 5, 6, 24, 48, usize::MAX] {
        refused(&[Trace::columns(&values, height, shift)], 1);
    }
    refused(&[Trace::columns(&[], 8, shift)], 1);
    for width in [0, 5, 24, 48, usize::MAX] {
        refused(&[Trace::rows(&values, width, shift)], 1);
    }
    for added in [22, 24, 64, usize::MAX] {
        refused(&[Trace::columns(&values, 8, shift)], added);
    }

    let committed = small(&engine, &hash);
    assert!(matches!(committed.open(&stream, &[3, 16], 0), Err(Error::Length { expected: 16, got: 16, .. })));
    assert!(matches!(committed.open(&stream, &[3], 5), Err(Error::Length { expected: 4, got: 5, .. })));
    assert!(matches!(committed.tree.cap(&stream, 5), Err(Error::Length { .. })));
    assert!(matches!(committed.tree.path(&stream, 16, 0), Err(Error::Length { .. })));
    assert!(matches!(committed.matrices[0].rows(&stream, &[16]), Err(Error::Length { expected: 16, got: 16, .. })));
    assert_eq!(committed.open(&stream, &[], 0).unwrap().0.len(), 0);

    let columns = || stream.upload(&words(&values)).unwrap();
    assert!(matches!(Matrix::<KoalaBear>::new(&engine, columns(), 5), Err(Error::Length { .. })));
    assert!(matches!(Matrix::<KoalaBear>::new(&engine, columns(), 0), Err(Error::Length { .. })));
    for width in [0, 7, 25, usize::MAX] {
        assert!(
            matches!(Matrix::<KoalaBear>::of_rows(&engine, columns(), width), Err(Error::Length { .. })),
            "{width}"
        );
    }
    for (height, stride) in [(8, 7), (0, 8), (8, 9), (8, 25), (8, usize::MAX)] {
        let matrix = Matrix::<KoalaBear>::of_strided_columns(&engine, columns(), height, stride);
        assert!(matches!(matrix, Err(Error::Length { .. })), "{height} {stride}");
    }
    // a matrix whose buffer belongs to another device than its engine
    let other = Matrix::<KoalaBear>::new(&engine, Engine::cpu().stream().unwrap().upload(&words(&values)).unwrap(), 8);
    let outcome = other.unwrap().rows(&stream, &[1]);
    assert!(matches!(outcome, Err(Error::ForeignDevice { .. })), "{outcome:?}");
}

#[test]
fn layouts_match_their_names() {
    let engine = Engine::cpu();
    let stream = engine.device().stream().unwrap();
    let matrix = RowMajorMatrix::new((0..12).map(KoalaBear::new).collect(), 3);
    let rows = Matrix::upload(&engine, &stream, &matrix).unwrap();
    assert_eq!((rows.layout(), rows.height(), rows.width()), (Layout::Rows, 4, 3));
    let rows = rows.into_rows(&stream).unwrap();
    let columns = rows.into_columns(&stream).unwrap();
    assert_eq!((columns.layout(), columns.height(), columns.width()), (Layout::Columns { stride: 4 }, 4, 3));
    let words = stream.download::<u32>(columns.elements()).unwrap();
    assert_eq!(words, self::words(&matrix.transpose().values));
    // the first two of the four rows, as columns of height 2 with a stride of 4
    let strided = Matrix::<KoalaBear>::of_strided_columns(&engine, columns.into_elements(), 2, 4).unwrap();
    assert_eq!(strided.rows(&stream, &[1]).unwrap(), [matrix.row_slice(1).unwrap().to_vec()]);
    assert_eq!(strided.download(&stream).unwrap().values, matrix.values[..6]);
    let dense = strided.into_columns(&stream).unwrap();
    assert_eq!((dense.layout(), dense.elements().len()), (Layout::Columns { stride: 2 }, 4 * 6));
    assert_eq!(dense.into_rows(&stream).unwrap().download(&stream).unwrap().values, matrix.values[..6]);
}
