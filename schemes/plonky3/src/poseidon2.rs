//! Poseidon2 of width 16: constants, and the kernels that hash with them.

use core::any::TypeId;
use core::fmt::Write;
use std::sync::Arc;

use p3_baby_bear::{BabyBear, GenericPoseidon2LinearLayersBabyBear, Poseidon2BabyBear};
use p3_field::Field;
use p3_koala_bear::{GenericPoseidon2LinearLayersKoalaBear, KoalaBear, Poseidon2KoalaBear};
use p3_merkle_tree::MerkleTreeMmcs;
use p3_poseidon2::{ExternalLayerConstants, GenericPoseidon2LinearLayers};
use p3_symmetric::{
    CryptographicHasher, CryptographicPermutation, PaddingFreeSponge, PseudoCompressionFunction, TruncatedPermutation,
};
use ringforge::kernels::{Args, Built, CustomKernel, Header, Port, Table};
use ringforge::{Error, Limits, Pipeline, Plan, Planner, Result};

use crate::field::{EngineField, elements, words};
use crate::merkle::Digest;

/// Elements of a state.
pub(crate) const WIDTH: usize = 16;
/// Elements of a digest, and of a block that the sponge absorbs.
pub(crate) const DIGEST: usize = 8;

/// Threads of a block, an item each.
const THREADS: u32 = 128;

const HEADERS: &[Header] = &[Header { name: "poseidon2.cuh", text: include_str!("poseidon2.cuh") }];

/// Plonky3's hash of rows.
type Sponge<F> = PaddingFreeSponge<<F as HashField>::Permutation, WIDTH, DIGEST, DIGEST>;
/// Plonky3's hash of pairs.
type Compression<F> = TruncatedPermutation<<F as HashField>::Permutation, 2, DIGEST, WIDTH>;
/// Plonky3's trees of both.
pub(crate) type Stock<F> =
    MerkleTreeMmcs<<F as Field>::Packing, <F as Field>::Packing, Sponge<F>, Compression<F>, 2, DIGEST>;

/// A field with a Poseidon2 of width 16: BabyBear and KoalaBear.
pub trait HashField: EngineField<Word = u32> {
    /// Plonky3's permutation.
    type Permutation: CryptographicPermutation<[Self; WIDTH]>
        + CryptographicPermutation<[Self::Packing; WIDTH]>
        + Clone
        + core::fmt::Debug
        + Send
        + Sync
        + 'static;

    /// The degree of the S-box.
    const DEGREE: u32;

    /// The permutation with these round constants.
    fn permutation(external: ExternalLayerConstants<Self, WIDTH>, internal: Vec<Self>) -> Self::Permutation;

    /// The linear layer of internal rounds.
    fn internal_layer(state: &mut [Self; WIDTH]);
}

macro_rules! hash_field {
    ($field:ty, $permutation:ty, $layers:ty, $degree:literal) => {
        impl HashField for $field {
            type Permutation = $permutation;

            const DEGREE: u32 = $degree;

            fn permutation(external: ExternalLayerConstants<Self, WIDTH>, internal: Vec<Self>) -> Self::Permutation {
                Self::Permutation::new(external, internal)
            }

            fn internal_layer(state: &mut [Self; WIDTH]) {
                <$layers>::internal_linear_layer(state);
            }
        }
    };
}

hash_field!(BabyBear, Poseidon2BabyBear<WIDTH>, GenericPoseidon2LinearLayersBabyBear, 7);
hash_field!(KoalaBear, Poseidon2KoalaBear<WIDTH>, GenericPoseidon2LinearLayersKoalaBear, 3);

/// Poseidon2 of width 16 with round constants of one's choice, as Plonky3 hashes with it: rows by [`PaddingFreeSponge`] of rate
/// 8, pairs of digests by [`TruncatedPermutation`].
#[derive(Debug, Clone)]
pub struct Poseidon2<F: HashField> {
    permutation: F::Permutation,
    /// External rounds at either end, and internal ones.
    rounds: (usize, usize),
    /// As `poseidon2.cuh` has them.
    constants: Arc<[u8]>,
}

impl<F: HashField> Poseidon2<F> {
    /// With these constants of the external rounds and the internal ones: those that Plonky3's permutation was made from.
    ///
    /// # Errors
    /// [`Error::Length`] for fewer than six external rounds.
    pub fn new(external: &ExternalLayerConstants<F, WIDTH>, internal: &[F]) -> Result<Self> {
        let ends = [external.get_initial_constants(), external.get_terminal_constants()];
        let rounds = (ends[0].len(), internal.len());
        if rounds.0 < 3 {
            return Err(Error::Length { what: "external rounds at either end, at least", expected: 3, got: rounds.0 });
        }
        let mut all = ends.concat().concat();
        all.extend_from_slice(internal);
        all.extend(diagonal::<F>());
        let constants = bytemuck::cast_slice(words(&all)).into();
        Ok(Self { permutation: F::permutation(external.clone(), internal.to_vec()), rounds, constants })
    }

    /// The trees of Plonky3 with the same constants, which are this module's meaning.
    pub(crate) fn stock(&self, cap_height: usize) -> Stock<F> {
        let (sponge, compression) =
            (Sponge::<F>::new(self.permutation.clone()), Compression::<F>::new(self.permutation.clone()));
        Stock::<F>::new(sponge, compression, cap_height)
    }

    /// Plonky3's permutation with the same constants.
    #[must_use]
    pub fn permutation(&self) -> &F::Permutation {
        &self.permutation
    }

    /// What decides the plans, but for columns.
    pub(crate) fn key(&self) -> (TypeId, (usize, usize), Arc<[u8]>) {
        (TypeId::of::<F>(), self.rounds, self.constants.clone())
    }

    /// The plan from `rows` of so many columns to `digests`.
    pub(crate) fn rows(&self, planner: &Planner, columns: usize) -> Result<Plan> {
        let sponge = Sponge::<F>::new(self.permutation.clone());
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (row, digest): (&[u32], &mut [u32; DIGEST])| {
                let hash: Digest<F> = sponge.hash_slice(elements(row));
                digest.copy_from_slice(words(&hash));
                Ok(())
            })
        };
        let text = ("poseidon2_rows", include_str!("kernels/poseidon2_rows.cu"), HEADERS);
        let (ports, build) = (ports(columns), self.build(columns, 0));
        // SAFETY: a thread reads the columns of its own row and all constants, and writes its own digest.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu) };
        self.plan(planner, format!("Poseidon2 of rows of {columns}"), ["rows"], kernel)
    }

    /// The plan from `columns`, so many of this height one after another, to the `digests` of their rows.
    pub(crate) fn columns(&self, planner: &Planner, height: usize, columns: usize) -> Result<Plan> {
        let sponge = Sponge::<F>::new(self.permutation.clone());
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |item, (columns, digest): (&[u32], &mut [u32; DIGEST])| {
                let row = columns
                    .iter()
                    .skip(item % height)
                    .step_by(height)
                    .map(|word| elements::<F>(core::slice::from_ref(word))[0]);
                let hash: Digest<F> = sponge.hash_iter(row);
                digest.copy_from_slice(words(&hash));
                Ok(())
            })
        };
        let text = ("poseidon2_columns", include_str!("kernels/poseidon2_columns.cu"), HEADERS);
        let [_, digests] = ports(0);
        let ports = [Port::shared(height * columns * size_of::<u32>()), digests];
        // SAFETY: a thread reads its own row of all columns and all constants, and writes its own digest.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, self.build(columns, height), on_cpu) };
        self.plan(planner, format!("Poseidon2 of rows of {columns} columns"), ["columns"], kernel)
    }

    /// The plan from `pairs` of digests to `digests`.
    pub(crate) fn pairs(&self, planner: &Planner) -> Result<Plan> {
        let compression = Compression::<F>::new(self.permutation.clone());
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (pair, digest): (&[[u32; DIGEST]; 2], &mut [u32; DIGEST])| {
                *digest = compress::<F>(&compression, pair.each_ref());
                Ok(())
            })
        };
        let text = ("poseidon2_pairs", include_str!("kernels/poseidon2_pairs.cu"), HEADERS);
        let (ports, build) = (ports(WIDTH), self.build(WIDTH, 0));
        // SAFETY: a thread reads its own pair and all constants, and writes its own digest.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu) };
        self.plan(planner, "Poseidon2 of pairs".into(), ["pairs"], kernel)
    }

    /// The plan from `pairs` of digests and the digests of `rows` that are injected above them to `digests`.
    pub(crate) fn injected(&self, planner: &Planner) -> Result<Plan> {
        let compression = Compression::<F>::new(self.permutation.clone());
        let on_cpu = move |items, args: &mut Args<'_>| {
            type Item<'a> = (&'a [[u32; DIGEST]; 2], &'a [u32; DIGEST], &'a mut [u32; DIGEST]);
            args.each(items, |_, (pair, row, digest): Item<'_>| {
                let above = compress::<F>(&compression, pair.each_ref());
                *digest = compress::<F>(&compression, [&above, row]);
                Ok(())
            })
        };
        let text = ("poseidon2_injected", include_str!("kernels/poseidon2_injected.cu"), HEADERS);
        let [pairs, digests] = ports(WIDTH);
        let (ports, build) = ([pairs, Port::input(DIGEST * size_of::<u32>()), digests], self.build(WIDTH, 0));
        // SAFETY: a thread reads its own pair, its own row's digest and all constants, and writes its own digest.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu) };
        self.plan(planner, "Poseidon2 of pairs and rows".into(), ["pairs", "rows"], kernel)
    }

    fn plan<const N: usize>(
        &self,
        planner: &Planner,
        title: String,
        inputs: [&str; N],
        kernel: CustomKernel,
    ) -> Result<Plan> {
        let p = Pipeline::new(title, planner);
        let kernel = kernel.with_tables([Table::Bytes(self.constants.clone())]);
        let [digests] =
            p.step(kernel.described(format!("modulo {}", F::ORDER_U64)), &inputs.map(|input| p.input(input)));
        p.output("digests", digests);
        p.build()
    }

    /// The struct `Hash` of the texts, and the launch.
    fn build(&self, columns: usize, rows: usize) -> impl Fn(&Limits) -> Result<Built> + Send + Sync + 'static {
        let ((half, internal), degree) = (self.rounds, F::DEGREE);
        move |_| {
            let mut text = String::from("#include \"mod31.cuh\"\nstruct Hash {\n");
            let numbers = [
                ("threads", THREADS as usize),
                ("columns", columns),
                ("rows", rows),
                ("half", half),
                ("internal", internal),
                ("degree", degree as usize),
            ];
            for (name, number) in numbers {
                let _ = writeln!(text, "    static constexpr rf::u32 {name} = {number};");
            }
            let q = F::ORDER_U64;
            let (ratio, r2) = ((1 << 32) / q, (u128::from(u64::MAX) + 1) % u128::from(q));
            // Newton: each step doubles the bits of q^-1 that are right, 3 of q itself
            let inverse = (0..4).fold(q as u32, |x, _| x.wrapping_mul(2u32.wrapping_sub(x.wrapping_mul(q as u32))));
            let _ = writeln!(
                text,
                "    RF_METHOD static constexpr rf::Mod31 modulus() {{ return {{{q}u, {ratio}u, {inverse}u, {r2}u}}; }}\n}};"
            );
            Ok(Built::thread_per_item(THREADS, &text))
        }
    }
}

/// Words in, a digest out.
fn ports(inputs: usize) -> [Port; 2] {
    [Port::input(inputs * size_of::<u32>()), Port::output(DIGEST * size_of::<u32>())]
}

/// Both digests in one.
fn compress<F: HashField>(compression: &Compression<F>, pair: [&[u32; DIGEST]; 2]) -> [u32; DIGEST] {
    let pair = pair.map(|half| core::array::from_fn(|i| elements::<F>(half)[i]));
    let mut digest = [0; DIGEST];
    digest.copy_from_slice(words(&compression.compress(pair)));
    digest
}

/// D where the internal layer multiplies by 1 + D, from what the layer makes of unit vectors.
fn diagonal<F: HashField>() -> [F; WIDTH] {
    core::array::from_fn(|i| {
        let mut unit = [F::ZERO; WIDTH];
        unit[i] = F::ONE;
        F::internal_layer(&mut unit);
        unit[i] - F::ONE
    })
}
