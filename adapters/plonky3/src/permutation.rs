//! Poseidon2 permutations (eprint 2023/323): round constants as data, arithmetic as CUDA source, and Plonky3's code
//! as the CPU reference.

use core::any::TypeId;
use core::fmt;
use core::fmt::Write;
use std::sync::Arc;

use p3_baby_bear::{BabyBear, GenericPoseidon2LinearLayersBabyBear, Poseidon2BabyBear};
use p3_goldilocks::{GenericPoseidon2LinearLayersGoldilocks, Goldilocks, Poseidon2Goldilocks};
use p3_koala_bear::{GenericPoseidon2LinearLayersKoalaBear, KoalaBear, Poseidon2KoalaBear};
use p3_poseidon2::{ExternalLayerConstants, GenericPoseidon2LinearLayers};
use p3_symmetric::Permutation as _;
use ringforge::kernels::Header;
use ringforge::{Error, Result};

use crate::field::{EngineField, inverse_of_modulus, words};

/// Number of elements in the widest state.
pub(crate) const MOST: usize = 32;

/// The headers of all Poseidon2 kernels.
pub(crate) const HEADERS: &[Header] = &[
    Header { name: "poseidon2.cuh", text: include_str!("poseidon2.cuh") },
    Header { name: "poseidon2_31.cuh", text: include_str!("poseidon2_31.cuh") },
    Header { name: "poseidon2_goldilocks.cuh", text: include_str!("poseidon2_goldilocks.cuh") },
];

/// A field with a Poseidon2 permutation of a state of `WIDTH` elements.
pub trait Permutes<const WIDTH: usize>: EngineField {
    /// Plonky3's permutation.
    type Permutation: p3_symmetric::Permutation<[Self; WIDTH]> + Send + 'static;

    /// The degree of the S-box.
    const DEGREE: u32;

    /// The permutation with these round constants.
    fn permutation(external: &ExternalLayerConstants<Self, WIDTH>, internal: &[Self]) -> Self::Permutation;

    /// The linear layer of the internal rounds.
    fn internal_layer(state: &mut [Self; WIDTH]);
}

macro_rules! permutes {
    ($field:ty, $permutation:ident, $layers:ty, $degree:literal, $make:expr, $($width:literal),*) => { $(
        impl Permutes<$width> for $field {
            type Permutation = $permutation<$width>;

            const DEGREE: u32 = $degree;

            fn permutation(external: &ExternalLayerConstants<Self, $width>, internal: &[Self]) -> Self::Permutation {
                $make(external, internal)
            }

            fn internal_layer(state: &mut [Self; $width]) {
                <$layers>::internal_linear_layer(state);
            }
        }
    )* };
}

permutes!(
    BabyBear,
    Poseidon2BabyBear,
    GenericPoseidon2LinearLayersBabyBear,
    7,
    |external: &ExternalLayerConstants<_, _>, internal: &[_]| Poseidon2BabyBear::new(
        external.clone(),
        internal.to_vec()
    ),
    16,
    32
);
permutes!(
    KoalaBear,
    Poseidon2KoalaBear,
    GenericPoseidon2LinearLayersKoalaBear,
    3,
    |external: &ExternalLayerConstants<_, _>, internal: &[_]| Poseidon2KoalaBear::new(
        external.clone(),
        internal.to_vec()
    ),
    16,
    32
);
permutes!(Goldilocks, Poseidon2Goldilocks, GenericPoseidon2LinearLayersGoldilocks, 7, goldilocks, 8, 16);

/// Plonky3's permutation with these round constants. With NEON, Plonky3's constructor takes references.
fn goldilocks<const WIDTH: usize>(
    external: &ExternalLayerConstants<Goldilocks, WIDTH>,
    internal: &[Goldilocks],
) -> Poseidon2Goldilocks<WIDTH> {
    #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
    return Poseidon2Goldilocks::new(external, internal);
    #[cfg(not(all(target_arch = "aarch64", target_feature = "neon")))]
    return Poseidon2Goldilocks::new(external.clone(), internal.to_vec());
}

/// The CPU reference: permutes each state of a slice of whole states.
type OnCpu<F> = dyn Fn(&mut [F]) + Send + Sync;

/// A permutation of any width.
#[derive(Clone)]
pub(crate) struct Permutation<F> {
    width: usize,
    degree: u32,
    /// Number of external rounds at each end, and of internal rounds.
    rounds: (usize, usize),
    /// The diagonal D of the internal layer, which multiplies the state by J + D, where J is the all-ones matrix.
    diagonal: Vec<F>,
    /// The round constants, in the order and encoding of `poseidon2.cuh`.
    constants: Arc<[u8]>,
    /// Permutes each state of a slice of whole states.
    on_cpu: Arc<OnCpu<F>>,
}

/// The parameters that determine a permutation's CUDA source and data: field, width, rounds and constants.
pub(crate) type Key = (TypeId, usize, (usize, usize), Arc<[u8]>);

impl<F: EngineField> Permutation<F> {
    /// Makes the permutation from its external and internal round constants. Also returns Plonky3's permutation with
    /// the same constants.
    ///
    /// # Errors
    /// [`Error::Length`] for fewer than three external rounds at either end.
    pub(crate) fn new<const WIDTH: usize>(
        external: &ExternalLayerConstants<F, WIDTH>,
        internal: &[F],
    ) -> Result<(Self, F::Permutation)>
    where
        F: Permutes<WIDTH>,
    {
        let ends = [external.get_initial_constants(), external.get_terminal_constants()];
        let rounds = (ends[0].len(), internal.len());
        if rounds.0 < 3 {
            return Err(Error::Length {
                what: "external rounds at either end (must be at least 3)",
                expected: 3,
                got: rounds.0,
            });
        }
        // entry i of the diagonal follows from the image of unit vector i under the internal layer
        let diagonal = (0..WIDTH).map(|i| {
            let mut unit = [F::ZERO; WIDTH];
            unit[i] = F::ONE;
            F::internal_layer(&mut unit);
            unit[i] - F::ONE
        });
        let plonky3 = F::permutation(external, internal);
        let on_cpu = plonky3.clone();
        let own = Self {
            width: WIDTH,
            degree: F::DEGREE,
            rounds,
            diagonal: diagonal.collect(),
            constants: encoded(&[ends.concat().as_flattened(), internal].concat()).into(),
            on_cpu: Arc::new(move |states| {
                states.as_chunks_mut().0.iter_mut().for_each(|state| on_cpu.permute_mut(state));
            }),
        };
        Ok((own, plonky3))
    }

    /// Number of elements in a state.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn key(&self) -> Key {
        (TypeId::of::<F>(), self.width, self.rounds, self.constants.clone())
    }

    /// The round constants, as the kernels read them.
    pub(crate) fn constants(&self) -> Arc<[u8]> {
        self.constants.clone()
    }

    /// Permutes each state of a slice of whole states.
    pub(crate) fn permute(&self, state: &mut [F]) {
        (self.on_cpu)(state);
    }

    /// The CUDA source of the struct `Hash`, with `digest` elements per digest and `threads` threads per block.
    pub(crate) fn text(&self, digest: usize, threads: u32) -> String {
        let q = F::ORDER_U64;
        let (header, word, field) = match size_of::<F>() {
            4 => {
                let inverse = inverse_of_modulus::<F>();
                ("poseidon2_31.cuh", "u32", format!("poseidon2::Field31<{q}u, {inverse}u>"))
            }
            _ => ("poseidon2_goldilocks.cuh", "u64", "poseidon2::FieldGoldilocks".into()),
        };
        // Minimum number of resident blocks per multiprocessor, 4 for the wide state of Goldilocks: few enough that no
        // registers spill. With 0 the compiler chooses the number of registers.
        let resident = if self.width * size_of::<F>() == 128 && size_of::<F>() == 8 { 4 } else { 0 };
        let mut text = format!(
            "#include \"{header}\"\nstruct Hash {{\n    using Word = rf::{word};\n    using Field = {field};\n    \
             static constexpr rf::u32 threads = {threads}, resident = {resident}, width = {width}, digest = {digest}, half = {half}, \
             internal = {internal}, degree = {degree};\n    \
             RF_METHOD static constexpr rf::u64 diagonal(rf::u32 i) {{\n        return ",
            width = self.width,
            half = self.rounds.0,
            internal = self.rounds.1,
            degree = self.degree,
        );
        for (i, d) in self.diagonal.iter().enumerate() {
            let d = d.as_canonical_u64();
            let last = i + 1 == self.diagonal.len();
            let _ = if last { write!(text, "{d}ull") } else { write!(text, "i == {i} ? {d}ull : ") };
        }
        text + ";\n    }\n};\nusing Word = Hash::Word;\n"
    }
}

impl<F> fmt::Debug for Permutation<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Poseidon2 of width {}, {:?} rounds", self.width, self.rounds)
    }
}

/// Round constants in the encoding of the CUDA source: words minus q for 31-bit fields, canonical words for
/// Goldilocks.
fn encoded<F: EngineField>(constants: &[F]) -> Vec<u8> {
    match bytemuck::try_cast_slice::<F::Word, u32>(words(constants)) {
        Ok(words) if size_of::<F>() == 4 => {
            words.iter().flat_map(|word| word.wrapping_sub(F::ORDER_U64 as u32).to_ne_bytes()).collect()
        }
        _ => constants.iter().flat_map(|constant| constant.as_canonical_u64().to_ne_bytes()).collect(),
    }
}
