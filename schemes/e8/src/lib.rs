//! Common parts of the KEMs of the CTRU family: the E8 code, the centred binomial sampler, packing, and the KEM built
//! from the underlying encryption.
//!
//! The code, the sampler and packing exist twice, with the same results: as Rust for CPUs, and as CUDA headers for
//! kernels ([`E8`], [`SAMPLE`], [`PACK`]). The CUDA code works in registers, with compile-time shifts. No component
//! branches on data, uses data as an index, or divides data.
//!
//! Guides in the repository: `docs/guides/scheme.md` for building a scheme, `docs/guides/batches.md` for the schemes
//! that use these parts.
//!
//! ```
//! // four bits become eight coordinates modulo 1024 and survive noise of norm below 512
//! let codeword = ringforge_e8::encode(0b1010);
//! let mut v: [u16; 8] = core::array::from_fn(|j| u16::from(codeword >> j & 1) * 512);
//! v[3] = (v[3] + 400) % 1024;
//! v[6] = (v[6] + 1024 - 300) % 1024;
//! assert_eq!(ringforge_e8::decode(&v, 1024), 0b1010);
//!
//! // sixteen coefficients in [-2, 2] from eight bytes
//! let mut coefficients = [0i16; 16];
//! ringforge_e8::centred_binomial(2, &[0x73; 8], &mut coefficients)?;
//! assert_eq!(coefficients[..2], [2, 1]);
//!
//! // packs the eight coordinates, ten bits each, into ten bytes
//! let mut packed = [0; 10];
//! ringforge_e8::pack(10, &v, &mut packed)?;
//! # Ok::<(), ringforge::Error>(())
//! ```
//!
//! Feature `testkit` adds the module `kernels`, with a kernel and a plan for each component, tested against oracles. It
//! also adds the module `oracle`, the common part of the schemes' oracles.

mod code;
mod error;
mod kem;
#[cfg(feature = "testkit")]
pub mod kernels;
#[cfg(feature = "testkit")]
pub mod oracle;
mod pack;
mod sample;
mod select;

use ringforge::kernels::Header;

pub use code::{compress, decode, decompress, encode};
pub use error::KeyError;
pub use kem::{Encryption, EncryptionSizes, ID_BYTES, Kem, Memory, STACK, Seed, choose, digest, xof};
pub use pack::{pack, packed_bytes, unpack};
pub use sample::{centred_binomial, sample_key, sampled_bytes, unpack_centred, unpack_key};
pub use select::{first_nonzero, select};

/// CUDA header `e8.cuh`, with `e8_encode` and `e8_decode`.
pub const E8: Header = Header { name: "e8.cuh", text: include_str!("e8.cuh") };
/// CUDA header `sample.cuh`, with `centred_binomial`.
pub const SAMPLE: Header = Header { name: "sample.cuh", text: include_str!("sample.cuh") };
/// CUDA header `pack.cuh`, with `pack_bits`, `unpack_bits` and `pack_unit`.
pub const PACK: Header = Header { name: "pack.cuh", text: include_str!("pack.cuh") };
