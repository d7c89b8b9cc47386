//! Runs the Plonky3 example code of `docs/guides/plonky3.md`.

use p3_commit::{BatchOpeningRef, Mmcs as _};
use p3_dft::TwoAdicSubgroupDft;
use p3_field::{Field, PrimeCharacteristicRing};
use p3_koala_bear::{
    KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    KOALABEAR_POSEIDON2_RC_16_INTERNAL, KoalaBear,
};
use p3_matrix::Dimensions;
use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_poseidon2::ExternalLayerConstants;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use ringforge_plonky3::resident::{Matrix, Pinned, Trace, commit};
use ringforge_plonky3::{Dft, Engine, MerkleTree, Mmcs, Poseidon2, Result};

#[test]
fn plonky3_accepts_a_first_round() -> Result<()> {
    let engine = Engine::cpu();
    // the round constants that the verifier's permutation is made from
    let (first, last) = (KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL);
    let external = ExternalLayerConstants::new(first.to_vec(), last.to_vec());
    let hash = Poseidon2::new(&external, &KOALABEAR_POSEIDON2_RC_16_INTERNAL)?;

    // a trace of 2^10 rows, extended to 2^11 on a coset, and a tree over the rows of the extension
    let trace = RowMajorMatrix::new((0..20 << 10).map(KoalaBear::from_u32).collect(), 20);
    let extension = Dft::on(&engine).coset_lde_batch(trace, 1, KoalaBear::GENERATOR).inner; // bit-reversed rows
    let tree = MerkleTree::new(&engine, &hash, [&extension])?;

    // an opening, for the stock verifier
    let (cap, path) = (tree.cap(0).expect("a root"), tree.path(5, 0).expect("a row"));
    let opened = [extension.values[5 * 20..][..20].to_vec()];

    let sponge = PaddingFreeSponge::<_, 16, 8, 8>::new(hash.permutation().clone());
    let compression = TruncatedPermutation::<_, 2, 8, 16>::new(hash.permutation().clone());
    type Packed = <KoalaBear as Field>::Packing;
    let mmcs = MerkleTreeMmcs::<Packed, Packed, _, _, 2, 8>::new(sponge, compression, 0);
    let opening = BatchOpeningRef::new(&opened, &path);
    assert!(mmcs.verify_batch(&cap, &[extension.dimensions()], 5, opening).is_ok());
    Ok(())
}

#[test]
fn a_custom_prover_keeps_data_on_the_device() -> Result<()> {
    let (first, last) = (KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL);
    let external = ExternalLayerConstants::new(first.to_vec(), last.to_vec());
    let hash = Poseidon2::new(&external, &KOALABEAR_POSEIDON2_RC_16_INTERNAL)?;
    let engine = Engine::best();
    let stream = engine.device().stream()?;

    // a trace in page-locked memory, 20 columns of 2^10 rows, which are copied while earlier ones are hashed
    let mut columns = Pinned::<KoalaBear>::new(engine.device(), 20 << 10)?;
    columns.iter_mut().zip(0..).for_each(|(value, i)| *value = KoalaBear::from_u32(i));
    let main = Trace::columns(&columns, 1 << 10, KoalaBear::GENERATOR);

    // another trace that is already on the device, such as your own kernel's output, by its address and length in bytes
    // let buffer = unsafe { engine.device().buffer_from_raw(address, bytes)? };
    let buffer = stream.zeros(4 * (3 << 9))?;
    let other = Matrix::new(&engine, buffer, 1 << 9)?;
    let other = Trace::resident(&other, KoalaBear::GENERATOR);

    // twice as many rows each, and one tree; only the root is copied to the host
    let committed = commit(&engine, &stream, &hash, &[main, other], 1)?;
    let root = committed.tree.cap(&stream, 0)?;

    // the extension, for kernels that evaluate constraints: its values in bit-reversed order, column by column
    let extension = committed.matrices[0].elements();
    assert_eq!(extension.len(), 4 * (20 << 11));

    // openings of some rows, for the verifier
    let rows = [5, 1000];
    let (opened, paths) = committed.open(&stream, &rows, 0)?;

    let dimensions: Vec<_> =
        committed.matrices.iter().map(|m| Dimensions { width: m.width(), height: m.height() }).collect();
    assert!(Mmcs::new(&hash, 0).verify_multi_batch(&root, &dimensions, &rows, &opened, &paths).is_ok());
    Ok(())
}
