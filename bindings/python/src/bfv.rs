//! BFV: exact arithmetic on encrypted integers. Integers are flat arrays of uint64, below the plaintext modulus.

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ringforge_bfv::{self as bfv, Parameters};
use zeroize::Zeroize;

use crate::engine::Engine;
use crate::rlwe::{GaloisKeys, KeyGenerator, PublicKey, RelinearisationKey, SecretKey, SharedRandomness, classes, run};

mod native {
    pub(super) use ringforge_bfv::{Ciphertext as BfvCiphertext, Plaintext as BfvPlaintext};
}

classes! {
    native:
    /// Encoded integers.
    BfvPlaintext,
    /// Encrypted integers.
    BfvCiphertext
}

/// The scheme with fixed parameters on an engine's device, and its source of randomness.
#[pyclass(frozen, module = "pyringforge._native")]
#[derive(Debug)]
pub(crate) struct Bfv {
    bfv: bfv::Bfv,
    /// Generates keys, and reads and writes their bytes.
    #[pyo3(get)]
    keys: Py<KeyGenerator>,
    randomness: SharedRandomness,
}

#[pymethods]
impl Bfv {
    #[new]
    #[pyo3(signature = (engine, log_n, plain_modulus, q_bits, p_bits, seed, insecure))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by position")]
    fn new(
        py: Python<'_>,
        engine: &Engine,
        log_n: u32,
        plain_modulus: u64,
        q_bits: Vec<u32>,
        p_bits: Vec<u32>,
        seed: Option<[u8; 32]>,
        insecure: bool,
    ) -> PyResult<Self> {
        let made = || {
            let new = if insecure { Parameters::insecure } else { Parameters::new };
            bfv::Bfv::new(&engine.engine, new(log_n, plain_modulus, &q_bits, &p_bits)?)
        };
        let (bfv, randomness) = (run(py, made)?, SharedRandomness::new(seed));
        let keys = Py::new(py, KeyGenerator::new(bfv.keys(), &randomness))?;
        Ok(Self { bfv, keys, randomness })
    }

    #[getter]
    fn slots(&self) -> usize {
        self.bfv.parameters().slots()
    }

    /// The largest plaintext modulus of this many bits for degree 2^`log_n`.
    #[staticmethod]
    fn plain_modulus(py: Python<'_>, log_n: u32, bits: u32) -> PyResult<u64> {
        run(py, || Parameters::plain_modulus(log_n, bits))
    }

    /// Encodes items of `slots` integers each.
    fn encode(&self, py: Python<'_>, integers: PyReadonlyArray1<'_, u64>) -> PyResult<BfvPlaintext> {
        let integers = integers.as_slice()?;
        let items: Vec<&[u64]> = integers.chunks(self.slots()).collect();
        run(py, || self.bfv.encode(&items)).map(BfvPlaintext)
    }

    fn encrypt(&self, py: Python<'_>, plaintext: &BfvPlaintext, key: &PublicKey) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.encrypt(&plaintext.0, &key.0, &mut self.randomness.get()))
    }

    /// Decrypts to an array of all items' integers.
    fn decrypt(
        &self,
        py: Python<'_>,
        ciphertext: &BfvCiphertext,
        key: &SecretKey,
        mut integers: PyReadwriteArray1<'_, u64>,
    ) -> PyResult<()> {
        let to = integers.as_slice_mut()?;
        let mut items = run(py, || self.bfv.decrypt(&ciphertext.0, &key.0))?;
        for (integer, to) in items.iter_mut().flatten().zip(to) {
            *to = *integer;
            integer.zeroize();
        }
        Ok(())
    }

    fn noise_budget(&self, py: Python<'_>, ciphertext: &BfvCiphertext, key: &SecretKey) -> PyResult<Vec<f64>> {
        run(py, || self.bfv.noise_budget(&ciphertext.0, &key.0))
    }

    fn add(&self, py: Python<'_>, a: &BfvCiphertext, b: &BfvCiphertext) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.add(&a.0, &b.0))
    }

    fn sub(&self, py: Python<'_>, a: &BfvCiphertext, b: &BfvCiphertext) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.sub(&a.0, &b.0))
    }

    fn negate(&self, py: Python<'_>, a: &BfvCiphertext) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.negate(&a.0))
    }

    fn add_plain(&self, py: Python<'_>, a: &BfvCiphertext, b: &BfvPlaintext) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.add_plain(&a.0, &b.0))
    }

    fn sub_plain(&self, py: Python<'_>, a: &BfvCiphertext, b: &BfvPlaintext) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.sub_plain(&a.0, &b.0))
    }

    fn multiply_plain(&self, py: Python<'_>, a: &BfvCiphertext, b: &BfvPlaintext) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.multiply_plain(&a.0, &b.0))
    }

    fn multiply(
        &self,
        py: Python<'_>,
        a: &BfvCiphertext,
        b: &BfvCiphertext,
        key: &RelinearisationKey,
    ) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.multiply(&a.0, &b.0, &key.0))
    }

    fn square(&self, py: Python<'_>, a: &BfvCiphertext, key: &RelinearisationKey) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.square(&a.0, &key.0))
    }

    fn rotate_rows(&self, py: Python<'_>, a: &BfvCiphertext, steps: i64, keys: &GaloisKeys) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.rotate_rows(&a.0, steps, &keys.0))
    }

    fn rotate_columns(&self, py: Python<'_>, a: &BfvCiphertext, keys: &GaloisKeys) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.rotate_columns(&a.0, &keys.0))
    }

    fn write_ciphertext<'py>(&self, py: Python<'py>, a: &BfvCiphertext) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = run(py, || self.bfv.ciphertext_to_bytes(&a.0))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn read_ciphertext(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<BfvCiphertext> {
        self.made(py, |bfv| bfv.ciphertext_from_bytes(bytes))
    }
}

impl Bfv {
    fn made(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&bfv::Bfv) -> bfv::Result<bfv::Ciphertext> + Send,
    ) -> PyResult<BfvCiphertext> {
        run(py, || work(&self.bfv)).map(BfvCiphertext)
    }
}

#[pymethods]
impl BfvCiphertext {
    #[getter]
    fn batch(&self) -> usize {
        self.0.batch()
    }
}
