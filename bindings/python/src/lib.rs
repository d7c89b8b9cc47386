//! `ringforge._native`: what the Python package `ringforge` is built on, with flat arrays of bytes in and out.
//!
//! The package beside it, in Python, is what users see: it knows shapes, number types and Python's integers.
//!
//! | file | what |
//! | --- | --- |
//! | `engine.rs`, `ring.rs`, `pinned.rs` | devices, transforms and products, host memory that copies go fastest with |
//! | `kem.rs`, `sm2.rs` | batches, with what is wrong with single items |
//! | `device.rs`, `tensor.rs`, `dlpack.rs` | arrays on the device: the engine's, and those of others by DLPack |
//! | `error.rs` | errors as exceptions of the package |

mod device;
mod dlpack;
mod engine;
mod error;
mod kem;
mod pinned;
mod ring;
mod sm2;
mod tensor;

/// The extension module.
#[pyo3::pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::device::DeviceArray;
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::kem::{Kem, kems};
    #[pymodule_export]
    use crate::pinned::pinned;
    #[pymodule_export]
    use crate::ring::Ring;
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
