//! CUDA source of Ringforge: headers and thin kernels, as data. No logic, no dependencies.
//!
//! `README.md` in this folder describes the layers and the contract of each header.

#[cfg(feature = "host")]
pub mod host;

/// A header that kernels include by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// The file name that `#include "…"` names.
    pub name: &'static str,
    /// The contents of the file.
    pub text: &'static str,
}

macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$(Header { name: $name, text: include_str!(concat!("../include/", $name)) }),*]
    };
}

/// The headers that every kernel may include.
pub const HEADERS: &[Header] = headers![
    "word.cuh",
    "shoup32.cuh",
    "mod16.cuh",
    "mod32.cuh",
    "mod31.cuh",
    "mod50.cuh",
    "mod64.cuh",
    "mod61.cuh",
    "mod64_friendly.cuh",
    "goldilocks.cuh",
    "montgomery.cuh",
    "mod255.cuh",
    "mod256.cuh",
    "packed.cuh",
    "stored.cuh",
    "copies.cuh",
    "ring.cuh",
    "turns.cuh",
    "rotations.cuh",
    "ntt.cuh",
    "poly.cuh",
    "crt.cuh",
    "divisor256.cuh",
    "lift.cuh",
    "spread.cuh",
    "multiples.cuh",
    "epilogue.cuh",
    "elementwise.cuh",
    "sum30.cuh",
    "sum60.cuh",
    "bits.cuh",
    "units.cuh",
    "rejection.cuh",
    "repeat.cuh",
    "keccak.cuh",
    "random.cuh",
    "sampling.cuh",
    "small.cuh",
    "field.cuh",
    "divsteps.cuh",
    "extension.cuh",
    "points.cuh",
    "scan.cuh",
    "curve.cuh",
    "mma.cuh",
    "toeplitz.cuh"
];

macro_rules! kernels {
    ($($constant:ident = $name:literal),* $(,)?) => {$(
        #[doc = concat!("The CUDA source of the kernel `", $name, "`.")]
        pub const $constant: &str = include_str!(concat!($name, ".cu"));
    )*};
}

kernels! {
    COMBINE = "combine",
    COMPOSE = "compose",
    CONVERT = "convert",
    COPY = "copy",
    DECOMPOSE = "decompose",
    DIGITS = "digits",
    RANDOM_BLOCK = "random_block",
    FORWARD = "forward",
    INNER_PRODUCT = "inner_product",
    INVERSE = "inverse",
    INVERSE_OF_PRODUCT = "inverse_of_product",
    LIFT_FOLD = "lift_fold",
    LIFT_LOAD = "lift_load",
    LIFT_MUL = "lift_mul",
    LIFT_STORE = "lift_store",
    MUL_ADD = "mul_add",
    PERMUTE = "permute",
    POINT_MUL = "point_mul",
    REPEAT_LIST = "repeat_list",
    REPEAT_NUMBER = "repeat_number",
    REPEAT_PUT = "repeat_put",
    REPEAT_TAKE = "repeat_take",
    RING_MUL = "ring_mul",
    SAMPLE_PLACES = "sample_places",
    SAMPLE_SMALL = "sample_small",
    SAMPLE_UNIFORM = "sample_uniform",
    SAMPLE_WEIGHT = "sample_weight",
    TENSOR = "tensor",
    TWIDDLES = "twiddles",
}
