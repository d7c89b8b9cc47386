//! `pyringforge._native`: the extension module of the Python package `pyringforge`. Inputs and outputs are flat arrays
//! of bytes, or of complex numbers.
//!
//! The package `pyringforge`, in Python, is the public interface. It handles shapes, number types and Python integers.
//! The guide in the repository is `docs/guides/python.md`.
//!
//! | file | contents |
//! | --- | --- |
//! | `engine.rs`, `ring.rs`, `pinned.rs` | Devices; transforms and products; page-locked host memory. |
//! | `kem.rs`, `ml_dsa.rs`, `sm2.rs` | Batches, with the errors of single items. |
//! | `ckks.rs`, `bfv.rs`, `rlwe.rs` | Arithmetic on encrypted numbers and integers; their keys. |
//! | `device.rs`, `tensor.rs`, `dlpack.rs` | Device arrays: the engine's, and those of other libraries by DLPack. |
//! | `error.rs` | Errors as exceptions of the package. |

mod bfv;
mod ckks;
mod device;
mod dlpack;
mod engine;
mod error;
mod kem;
mod ml_dsa;
mod pinned;
mod ring;
mod rlwe;
mod sm2;
mod tensor;

/// The extension module `pyringforge._native`.
#[pyo3::pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::bfv::{Bfv, BfvCiphertext, BfvPlaintext};
    #[pymodule_export]
    use crate::ckks::{BootstrapKeys, Bootstrapper, Ciphertext, Ckks, LinearMap, Plaintext, Polynomial};
    #[pymodule_export]
    use crate::device::DeviceArray;
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::kem::{Kem, kems};
    #[pymodule_export]
    use crate::ml_dsa::MlDsa;
    #[pymodule_export]
    use crate::pinned::pinned;
    #[pymodule_export]
    use crate::ring::Ring;
    #[pymodule_export]
    use crate::rlwe::{GaloisKeys, KeyGenerator, PublicKey, RelinearisationKey, SecretKey};
    #[pymodule_export]
    use crate::sm2::{Sm2, sm2_digest};
    #[pymodule_export]
    use crate::tensor::Tensor;

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
