//! Ringforge's C library, which other languages that call C can also use. The header `include/ringforge.h` is generated
//! from this crate; see `README.md`. The guide in the repository is `docs/guides/c.md`.
//!
//! | file | contents |
//! | --- | --- |
//! | `code.rs` | Error codes, error messages, conversion of panics. |
//! | `pointer.rs` | Checks of arguments from C: null, alignment, sizes, overlaps. |
//! | `engine.rs`, `ring.rs`, `pinned.rs` | Devices, rings, page-locked host memory. |
//! | `elements.rs`, `device.rs` | Transforms and products on host memory and on device memory. |
//! | `items.rs`, `kem.rs`, `sm2.rs` | Batches with a status for each item. |
//! | `msm.rs`, `groth16.rs` | Multi-scalar multiplication, and the quotient of Groth16 provers. |

// Every function that takes a pointer is called from C. Its caller is responsible for the memory, as the header says.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn, clippy::missing_safety_doc)]

mod code;
mod device;
mod elements;
mod engine;
mod groth16;
mod items;
mod kem;
mod msm;
mod pinned;
mod pointer;
mod ring;
mod sm2;

pub use code::{RingforgeCode, ringforge_message, ringforge_version};
pub use device::{ringforge_forward_on, ringforge_inverse_on, ringforge_mul_on, ringforge_point_mul_on};
pub use elements::{
    RINGFORGE_DIGIT_REVERSED_ORDER, RINGFORGE_NATURAL_ORDER, RINGFORGE_TO_NUMBERS, ringforge_forward,
    ringforge_inverse, ringforge_mul, ringforge_point_mul,
};
pub use engine::{
    RingforgeEngine, ringforge_engine_best, ringforge_engine_cpu, ringforge_engine_cuda, ringforge_engine_device,
    ringforge_engine_free, ringforge_engine_trim,
};
pub use groth16::ringforge_groth16_quotient;
pub use items::{RingforgeItem, ringforge_item_message};
pub use kem::{
    RingforgeKem, RingforgeKemSizes, ringforge_kem_are_canonical, ringforge_kem_decapsulate, ringforge_kem_encapsulate,
    ringforge_kem_free, ringforge_kem_generate, ringforge_kem_name, ringforge_kem_new, ringforge_kem_sizes,
};
pub use msm::{RingforgeBases, ringforge_bases_free, ringforge_bases_new, ringforge_bases_point_words, ringforge_msm};
pub use pinned::{RingforgePinned, ringforge_pinned_data, ringforge_pinned_free, ringforge_pinned_new};
pub use ring::{
    RingforgeRing, ringforge_ring_degree, ringforge_ring_depth, ringforge_ring_element_bytes, ringforge_ring_free,
    ringforge_ring_limbs, ringforge_ring_new, ringforge_ring_text, ringforge_ring_word_bytes,
};
pub use sm2::{
    RINGFORGE_SM2_DIGEST, RINGFORGE_SM2_PRIVATE_KEY, RINGFORGE_SM2_PUBLIC_KEY, RINGFORGE_SM2_SIGNATURE, RingforgeSm2,
    ringforge_sm2_digest, ringforge_sm2_free, ringforge_sm2_generate, ringforge_sm2_new, ringforge_sm2_sign,
    ringforge_sm2_verify,
};
