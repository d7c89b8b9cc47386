//! Fields with the hashes of Plonky3's Merkle trees.

use core::any::Any;
use core::fmt::Debug;

use p3_baby_bear::{BabyBear, Poseidon2BabyBear};
use p3_challenger::DuplexChallenger;
use p3_commit::Mmcs;
use p3_field::{Field, PrimeCharacteristicRing};
use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks};
use p3_koala_bear::{KoalaBear, Poseidon2KoalaBear};
use p3_merkle_tree::{MerkleTreeError, MerkleTreeMmcs, PrunedMerklePaths};
use p3_symmetric::{MerkleCap, PaddingFreeSponge, Permutation, TruncatedPermutation};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::field::EngineField;
use crate::poseidon2::Poseidon2;

/// A field with the Poseidon2 parameters of Plonky3's hashes.
///
/// Over BabyBear and KoalaBear the width is 16 and a digest has 8 elements; over Goldilocks the width is 8 and a
/// digest has 4. Four digests are combined by a permutation of twice that width.
pub trait HashField: EngineField {
    /// The hash of a row, or of the digests of several children. Its number of elements is the rate of
    /// the sponge that hashes rows.
    type Digest: Copy
        + Debug
        + Default
        + Eq
        + AsRef<[Self]>
        + AsMut<[Self]>
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static;

    /// The pruned Merkle paths of several openings: sibling digests, without those that can be computed from the
    /// openings.
    type Paths: Clone + Debug + Serialize + DeserializeOwned + Send + Sync;

    /// Plonky3's permutation of a state of two digests. It hashes rows, and in trees of arity 2 it compresses digests.
    type Permutation: Clone + Send + Sync + 'static;

    /// Plonky3's permutation of a state of four digests, which compresses digests in trees of arity 4.
    type Wide: Clone + Send + Sync + 'static;

    /// Plonky3's trees of arity 2.
    type Binary: Trees<Self>;

    /// Plonky3's trees of arity 4.
    type Quaternary: Trees<Self>;

    /// Elements per digest.
    const DIGEST: usize;

    /// Plonky3's trees of arity 2. Their caps (commitments) are the layer `cap_height` steps below the root.
    fn binary(permutation: &Self::Permutation, cap_height: usize) -> Self::Binary;

    /// Plonky3's trees of arity 4, with caps as for [`binary`](HashField::binary). `rows` hashes rows, and `digests`
    /// compresses four digests.
    fn quaternary(rows: &Self::Permutation, digests: &Self::Wide, cap_height: usize) -> Self::Quaternary;

    /// Pruned Merkle paths with these sibling digests.
    fn paths(siblings: Vec<Self::Digest>) -> Self::Paths;

    /// The state that a challenger permutes to check a witness of a proof of work, without the witness, and the
    /// witness's place in it. `None` unless it is Plonky3's `DuplexChallenger` with the permutation that hashes rows.
    fn before_witness(challenger: &dyn Any, hash: &Poseidon2<Self>) -> Option<(Vec<Self>, usize)>;
}

/// Plonky3's Merkle trees with this field's digests.
pub trait Trees<F: HashField>:
    Mmcs<F, Commitment = MerkleCap<F, F::Digest>, Proof = Vec<F::Digest>, MultiProof = F::Paths, Error = MerkleTreeError>
{
}

impl<F, T> Trees<F> for T
where
    F: HashField,
    T: Mmcs<
            F,
            Commitment = MerkleCap<F, F::Digest>,
            Proof = Vec<F::Digest>,
            MultiProof = F::Paths,
            Error = MerkleTreeError,
        >,
{
}

macro_rules! hash_field {
    ($field:ident, $permutation:ident, $digest:literal, $width:literal, $wide:literal) => {
        impl HashField for $field {
            type Digest = [Self; $digest];
            type Paths = PrunedMerklePaths<Self, $digest>;
            type Permutation = $permutation<$width>;
            type Wide = $permutation<$wide>;
            type Binary = MerkleTreeMmcs<
                <Self as Field>::Packing,
                <Self as Field>::Packing,
                PaddingFreeSponge<Self::Permutation, $width, $digest, $digest>,
                TruncatedPermutation<Self::Permutation, 2, $digest, $width>,
                2,
                $digest,
            >;
            type Quaternary = MerkleTreeMmcs<
                <Self as Field>::Packing,
                <Self as Field>::Packing,
                PaddingFreeSponge<Self::Permutation, $width, $digest, $digest>,
                TruncatedPermutation<Self::Wide, 4, $digest, $wide>,
                4,
                $digest,
            >;

            const DIGEST: usize = $digest;

            fn binary(permutation: &Self::Permutation, cap_height: usize) -> Self::Binary {
                let sponge = PaddingFreeSponge::new(permutation.clone());
                MerkleTreeMmcs::new(sponge, TruncatedPermutation::new(permutation.clone()), cap_height)
            }

            fn quaternary(rows: &Self::Permutation, digests: &Self::Wide, cap_height: usize) -> Self::Quaternary {
                let sponge = PaddingFreeSponge::new(rows.clone());
                MerkleTreeMmcs::new(sponge, TruncatedPermutation::new(digests.clone()), cap_height)
            }

            fn paths(siblings: Vec<Self::Digest>) -> Self::Paths {
                PrunedMerklePaths { sibling_hashes: siblings }
            }

            fn before_witness(challenger: &dyn Any, hash: &Poseidon2<Self>) -> Option<(Vec<Self>, usize)> {
                type Sponge = DuplexChallenger<$field, $permutation<$width>, $width, $digest>;
                let sponge = challenger.downcast_ref::<Sponge>()?;
                let some = core::array::from_fn(Self::from_usize);
                if sponge.permutation.permute(some) != hash.permutation().permute(some) {
                    return None;
                }
                let place = sponge.input_buffer.len();
                let mut state = sponge.sponge_state;
                state[..place].copy_from_slice(&sponge.input_buffer);
                state[place..$digest].fill(Self::ZERO);
                state[$digest] += Self::from_usize(place + 1);
                Some((state.to_vec(), place))
            }
        }
    };
}

hash_field!(BabyBear, Poseidon2BabyBear, 8, 16, 32);
hash_field!(KoalaBear, Poseidon2KoalaBear, 8, 16, 32);
hash_field!(Goldilocks, Poseidon2Goldilocks, 4, 8, 16);
