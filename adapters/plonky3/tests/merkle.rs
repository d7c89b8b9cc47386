//! Tests Merkle trees and commitments against Plonky3's.

use p3_baby_bear::BabyBear;
use p3_commit::{BatchOpeningRef, Mmcs as _};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use ringforge_plonky3::{Engine, Error, HashField, MerkleTree, Mmcs, Poseidon2, testkit};
use ringforge_testkit::{Random, devices, seed};

/// Random matrices, one for each (k, width) of `shapes`, with ⌈`height` / 2^k⌉ rows.
fn matrices<F: HashField>(random: &mut Random, height: usize, shapes: &[(u32, usize)]) -> Vec<RowMajorMatrix<F>> {
    let matrix = |&(halvings, width): &(u32, usize)| {
        let values = (0..height.div_ceil(1 << halvings) * width).map(|_| F::from_u64(random.bits())).collect();
        RowMajorMatrix::new(values, width)
    };
    shapes.iter().map(matrix).collect()
}

macro_rules! agrees {
    ($name:ident, $field:ty, [$width:literal, $digest:literal, $internal:literal], $arity:literal, $wide:literal, $hash:expr, $permutation:expr) => {
        #[test]
        fn $name() {
            type F = $field;
            type P = <F as Field>::Packing;
            let mut random = Random::new(seed());
            let hash = testkit::random::<F, $width>(&mut random, $internal).unwrap();
            let hash: Poseidon2<F> = $hash(hash, &mut random);
            assert_eq!(hash.arity(), $arity);
            let sponge = PaddingFreeSponge::<_, $width, $digest, $digest>::new(hash.permutation().clone());
            let compression = TruncatedPermutation::<_, $arity, $digest, $wide>::new($permutation(&hash).clone());
            // `None` runs Plonky3's own code through the same trait
            let engines = devices().into_iter().map(|device| Some(Engine::on(device))).chain([None]);
            for engine in engines {
                for (shapes, height) in [
                    (&[(0, 1)][..], 1),
                    (&[(0, 8)], 1 << random.below(7)),
                    (&[(0, 5), (0, 16), (0, 3)], 1 << random.below(7)),
                    (&[(2, 3), (0, 8), (1, 9), (0, 1), (1, 1)], 1 << random.below(7)),
                    (&[(0, 33), (5, 2)], 32 + random.below(33)),
                    (&[(0, 2), (1, 8), (3, 7)], 1 + random.below(70)),
                    (&[(1, 1), (0, 1)], 5),
                    (&[(0, 9), (1, 2), (4, 1)], 17),
                    (&[(0, 1), (2, 4), (6, 3), (7, 1)], 65 + random.below(64)),
                ] {
                    let matrices = matrices::<F>(&mut random, height, shapes);
                    let dimensions: Vec<_> = matrices.iter().map(Matrix::dimensions).collect();
                    // arity 4 is tested with cap heights 0 and 1 only: the layer below may have 12 digests, and Plonky3
                    // has no such caps
                    let cap = random.below(if $arity == 2 { 3 } else { 2 });
                    let stock =
                        MerkleTreeMmcs::<P, P, _, _, $arity, $digest>::new(sponge.clone(), compression.clone(), cap);
                    let mut ours = Mmcs::new(&hash, cap);
                    if let Some(engine) = &engine {
                        ours = ours.on(engine);
                        let tree = MerkleTree::new(engine, &hash, &matrices).unwrap();
                        assert!(tree.path(height, 0).is_none() && tree.cap(tree.height() + 1).is_none());
                        assert!(tree.paths(&[height], 0).is_none());
                    }
                    let (stock_cap, stock_data) = stock.commit(matrices.clone());
                    let (own_cap, own_data) = ours.commit(matrices);
                    assert_eq!(own_cap, stock_cap, "{dimensions:?} on {engine:?}");
                    for row in 0..height {
                        let (rows, path) = stock.open_batch(row, &stock_data).unpack();
                        let (own_rows, own_path) = ours.open_batch(row, &own_data).unpack();
                        assert_eq!((&rows, &path), (&own_rows, &own_path));
                        let opening = BatchOpeningRef::new(&own_rows, &own_path);
                        ours.verify_batch(&own_cap, &dimensions, row, opening).unwrap();
                    }
                    for count in [0, 1, 2, 7] {
                        let rows: Vec<_> = (0..count).map(|_| random.below(height)).collect();
                        let (values, proof) = stock.open_multi_batch(&rows, &stock_data);
                        let (own_values, own_proof) = ours.open_multi_batch(&rows, &own_data);
                        assert_eq!(values, own_values);
                        assert_eq!(proof.sibling_hashes, own_proof.sibling_hashes);
                        ours.verify_multi_batch(&own_cap, &dimensions, &rows, &own_values, &own_proof).unwrap();
                        // change a leaf's row in a highest matrix, because the cap does not bind rows that are injected
                        // above the cap
                        let highest = dimensions.iter().position(|other| other.height == height).unwrap();
                        let mut changed = own_values;
                        if let Some(rows_of_first) = changed.first_mut() {
                            rows_of_first[highest][0] += F::ONE;
                            let verified = ours.verify_multi_batch(&own_cap, &dimensions, &rows, &changed, &own_proof);
                            assert!(verified.is_err());
                        }
                    }
                    if engine.is_none() {
                        continue;
                    }
                    // opening a row that does not exist gives an empty opening, which the verifier must reject
                    let nothing = ours.open_batch(height, &own_data);
                    let opening = BatchOpeningRef::new(&nothing.opened_values, &nothing.opening_proof);
                    assert!(ours.verify_batch(&own_cap, &dimensions, height, opening).is_err());
                }
            }
        }
    };
}

macro_rules! agrees_of_two {
    ($name:ident, $field:ty, $width:literal, $digest:literal, $internal:literal) => {
        agrees!($name, $field, [$width, $digest, $internal], 2, $width, |hash, _: &mut _| hash, Poseidon2::permutation);
    };
}

macro_rules! agrees_of_four {
    ($name:ident, $field:ty, [$width:literal, $digest:literal, $internal:literal], $wide:literal, $internal_of_wide:literal) => {
        agrees!(
            $name,
            $field,
            [$width, $digest, $internal],
            4,
            $wide,
            |hash, random: &mut _| testkit::of_arity_4::<$field, $wide>(hash, random, $internal_of_wide).unwrap(),
            |hash: &Poseidon2<$field>| hash.wide_permutation().unwrap().clone()
        );
    };
}

agrees_of_two!(baby_bear_agrees_with_plonky3, BabyBear, 16, 8, 13);
agrees_of_two!(koala_bear_agrees_with_plonky3, KoalaBear, 16, 8, 20);
agrees_of_two!(goldilocks_agrees_with_plonky3, Goldilocks, 8, 4, 22);
agrees_of_four!(baby_bear_of_arity_4_agrees_with_plonky3, BabyBear, [16, 8, 13], 32, 30);
agrees_of_four!(koala_bear_of_arity_4_agrees_with_plonky3, KoalaBear, [16, 8, 20], 32, 31);
agrees_of_four!(goldilocks_of_arity_4_agrees_with_plonky3, Goldilocks, [8, 4, 22], 16, 22);

#[test]
fn heights_without_a_tree_are_refused() {
    let hash = testkit::random::<KoalaBear, 16>(&mut Random::new(1), 20).unwrap();
    let matrix = |height: usize| RowMajorMatrix::new(vec![KoalaBear::new(1); 2 * height], 2);
    for heights in [&[][..], &[0], &[4, 3], &[5, 4], &[8, 0], &[9, 5, 4]] {
        let matrices: Vec<_> = heights.iter().map(|&height| matrix(height)).collect();
        assert!(matches!(MerkleTree::new(&Engine::cpu(), &hash, &matrices), Err(Error::Length { .. })), "{heights:?}");
    }
}
