//! Merkle trees against those of Plonky3.

use p3_baby_bear::BabyBear;
use p3_commit::{BatchOpeningRef, Mmcs};
use p3_field::Field;
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use ringforge::testkit::{Random, devices, seed};
use ringforge_plonky3::{Engine, Error, MerkleTree, testkit};

macro_rules! agrees {
    ($name:ident, $field:ty, $internal:literal) => {
        #[test]
        fn $name() {
            type F = $field;
            let mut random = Random::new(seed());
            let hash = testkit::random::<F>(&mut random, $internal).unwrap();
            let sponge = PaddingFreeSponge::<_, 16, 8, 8>::new(hash.permutation().clone());
            let compression = TruncatedPermutation::<_, 2, 8, 16>::new(hash.permutation().clone());
            for device in devices() {
                let engine = Engine::on(device);
                for widths in [&[1][..], &[8], &[5, 16, 3], &[33]] {
                    let (height_bits, cap) = (random.below(7), random.below(3));
                    let (height, cap) = (1 << height_bits, cap.min(height_bits));
                    let matrices: Vec<_> = widths
                        .iter()
                        .map(|&width| {
                            let values = (0..height * width).map(|_| F::new(random.bits() as u32)).collect();
                            RowMajorMatrix::new(values, width)
                        })
                        .collect();
                    let dimensions: Vec<_> = matrices.iter().map(Matrix::dimensions).collect();

                    let tree = MerkleTree::new(&engine, &hash, &matrices.iter().collect::<Vec<_>>()).unwrap();
                    let mmcs = MerkleTreeMmcs::<<F as Field>::Packing, <F as Field>::Packing, _, _, 2, 8>::new(
                        sponge.clone(),
                        compression.clone(),
                        cap,
                    );
                    let (commitment, data) = mmcs.commit(matrices);
                    assert_eq!(tree.cap(cap).unwrap(), commitment);
                    for row in 0..height {
                        let opening = mmcs.open_batch(row, &data);
                        let path = tree.path(row, cap).unwrap();
                        assert_eq!(path, opening.opening_proof);
                        let opening = BatchOpeningRef::new(&opening.opened_values, &path);
                        mmcs.verify_batch(&commitment, &dimensions, row, opening).unwrap();
                    }
                    assert!(tree.path(height, 0).is_none() && tree.cap(height_bits + 1).is_none());
                }
            }
        }
    };
}

agrees!(baby_bear_agrees_with_plonky3, BabyBear, 13);
agrees!(koala_bear_agrees_with_plonky3, KoalaBear, 20);

#[test]
fn what_has_no_tree_is_refused() {
    let hash = testkit::random::<KoalaBear>(&mut Random::new(1), 20).unwrap();
    let matrix = |height: usize| RowMajorMatrix::new(vec![KoalaBear::new(1); 2 * height], 2);
    let tree = |matrices: &[&RowMajorMatrix<KoalaBear>]| MerkleTree::new(&Engine::cpu(), &hash, matrices);
    for matrices in [&[][..], &[&matrix(3)], &[&matrix(4), &matrix(2)], &[&matrix(0)]] {
        assert!(matches!(tree(matrices), Err(Error::Length { .. })));
    }
}
