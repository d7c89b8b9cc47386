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
    CryptographicPermutation, PaddingFreeSponge, Permutation, PseudoCompressionFunction, TruncatedPermutation,
};
use ringforge::kernels::{Args, Built, CustomKernel, Header, Port, Table};
use ringforge::{Error, Limits, Pipeline, Plan, Planner, Result};

use crate::field::{EngineField, elements, words};

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
        let permutation = self.permutation.clone();
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (row, digest): (&[u32], &mut [u32; DIGEST])| {
                let mut state = [F::ZERO; WIDTH];
                absorb(&permutation, &mut state, 0, true, elements(row).iter().copied());
                digest.copy_from_slice(words(&state[..DIGEST]));
                Ok(())
            })
        };
        let text = ("poseidon2_rows", include_str!("kernels/poseidon2_rows.cu"), HEADERS);
        let (ports, build) = (ports(columns), self.build(Some(Columns::whole(0, columns))));
        // SAFETY: a thread reads the columns of its own row and all constants, and writes its own digest.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu) };
        self.plan(planner, format!("Poseidon2 of rows of {columns}"), &["rows"], "digests", kernel)
    }

    /// The plan from `columns`, and from the `states` of the sponges before them unless they are the first, to `digests` or, if
    /// more are to come, to the `next` states. An item is a row.
    pub(crate) fn columns(&self, planner: &Planner, part: Columns) -> Result<Plan> {
        let Columns { height, count, before, ends } = part;
        let permutation = self.permutation.clone();
        let squeeze = move |item: usize, columns: &[u32], mut state: [F; WIDTH], to: &mut [u32]| {
            let row = columns.iter().skip(item % height).step_by(height);
            let row = row.map(|word| elements::<F>(core::slice::from_ref(word))[0]);
            absorb(&permutation, &mut state, before.unwrap_or(0), ends, row);
            to.copy_from_slice(words(&state[..to.len()]));
        };
        let bytes = |words: usize| words * size_of::<u32>();
        let all = Port::shared(bytes(height * count));
        let (to, stored) = if ends { ("digests", DIGEST) } else { ("next", WIDTH) };
        let stored = Port::output(bytes(stored));
        let build = self.build(Some(part));
        let title = format!("Poseidon2 of rows of {count} columns, {}", if ends { "to the end" } else { "of more" });
        if before.is_none() {
            let on_cpu = move |items, args: &mut Args<'_>| {
                args.each(items, |item, (columns, to): (&[u32], &mut [u32])| {
                    squeeze(item, columns, [F::ZERO; WIDTH], to);
                    Ok(())
                })
            };
            let text = ("poseidon2_columns", include_str!("kernels/poseidon2_columns.cu"), HEADERS);
            // SAFETY: a thread reads its own row of all columns and all constants, and writes its own state or digest.
            #[allow(unsafe_code)]
            let kernel = unsafe { CustomKernel::new(text, [all, stored], build, on_cpu) };
            return self.plan(planner, title, &["columns"], to, kernel);
        }
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |item, (columns, before, to): (&[u32], &[u32; WIDTH], &mut [u32])| {
                squeeze(item, columns, core::array::from_fn(|i| elements::<F>(before)[i]), to);
                Ok(())
            })
        };
        let text = ("poseidon2_resumed", include_str!("kernels/poseidon2_resumed.cu"), HEADERS);
        let ports = [all, Port::input(bytes(WIDTH)), stored];
        // SAFETY: as above, and it reads its own state.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu) };
        self.plan(planner, title, &["columns", "states"], to, kernel)
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
        let (ports, build) = (ports(WIDTH), self.build(None));
        // SAFETY: a thread reads its own pair and all constants, and writes its own digest.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu) };
        self.plan(planner, "Poseidon2 of pairs".into(), &["pairs"], "digests", kernel)
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
        let (ports, build) = ([pairs, Port::input(DIGEST * size_of::<u32>()), digests], self.build(None));
        // SAFETY: a thread reads its own pair, its own row's digest and all constants, and writes its own digest.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu) };
        self.plan(planner, "Poseidon2 of pairs and rows".into(), &["pairs", "rows"], "digests", kernel)
    }

    fn plan(
        &self,
        planner: &Planner,
        title: String,
        inputs: &[&str],
        output: &str,
        kernel: CustomKernel,
    ) -> Result<Plan> {
        let p = Pipeline::new(title, planner);
        let kernel = kernel.with_tables([Table::Bytes(self.constants.clone())]);
        let inputs: Vec<_> = inputs.iter().map(|input| p.input(input)).collect();
        let [to] = p.step(kernel.described(format!("modulo {}", F::ORDER_U64)), &inputs);
        p.output(output, to);
        p.build()
    }

    /// The struct `Hash` of the texts, and the launch.
    fn build(&self, columns: Option<Columns>) -> impl Fn(&Limits) -> Result<Built> + Send + Sync + 'static {
        let ((half, internal), degree) = (self.rounds, F::DEGREE);
        let Columns { height, count, before, ends } = columns.unwrap_or(Columns::whole(0, 0));
        move |_| {
            let mut text = String::from("#include \"mod31.cuh\"\nstruct Hash {\n");
            let numbers = [
                ("threads", THREADS as usize),
                ("rows", height),
                ("columns", count),
                ("absorbed", before.unwrap_or(0)),
                ("ends", ends.into()),
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

/// Columns that sponges absorb at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Columns {
    /// Rows.
    pub(crate) height: usize,
    pub(crate) count: usize,
    /// Elements that a block has of columns before these; `None` for the first columns.
    pub(crate) before: Option<usize>,
    /// Whether none are to come.
    pub(crate) ends: bool,
}

impl Columns {
    /// All columns of rows.
    pub(crate) fn whole(height: usize, count: usize) -> Self {
        Self { height, count, before: None, ends: true }
    }
}

/// Absorbs elements into a state, as [`PaddingFreeSponge`] does, whose block has so many already. The last block is permuted
/// if it is full, or at the end.
fn absorb<F: HashField>(
    permutation: &F::Permutation,
    state: &mut [F; WIDTH],
    mut filled: usize,
    ends: bool,
    row: impl IntoIterator<Item = F>,
) {
    for element in row {
        state[filled] = element;
        filled += 1;
        if filled == DIGEST {
            permutation.permute_mut(state);
            filled = 0;
        }
    }
    if ends && filled > 0 {
        permutation.permute_mut(state);
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
