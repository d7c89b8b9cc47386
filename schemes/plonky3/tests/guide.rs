//! The code of `docs/zk.md` on Plonky3.

use p3_commit::{BatchOpeningRef, Mmcs};
use p3_dft::TwoAdicSubgroupDft;
use p3_field::{Field, PrimeCharacteristicRing};
use p3_koala_bear::{
    KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    KOALABEAR_POSEIDON2_RC_16_INTERNAL, KoalaBear,
};
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_poseidon2::ExternalLayerConstants;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use ringforge_plonky3::{Dft, Engine, MerkleTree, Poseidon2, Result};

#[test]
fn a_first_round_is_accepted_by_plonky3() -> Result<()> {
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

/// Each line of the page's code stands here, in its order.
#[test]
fn the_page_shows_this_code() {
    let page = include_str!("../../../docs/zk.md");
    let start = page.find("rust,ignore schemes/plonky3/tests/guide.rs\n").expect("the page has the code");
    let mut own = include_str!("guide.rs").lines().map(str::trim);
    for line in page[start..].lines().skip(1).take_while(|line| *line != "```").map(str::trim) {
        assert!(line.is_empty() || own.any(|own| own == line), "{line}");
    }
}
