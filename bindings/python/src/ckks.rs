//! RNS-CKKS: arithmetic on encrypted complex numbers. Numbers are flat arrays of complex128.

use numpy::{Complex64, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ringforge_ckks::{self as ckks, BootstrapPlan, Parameters};
use zeroize::Zeroize;

use crate::engine::Engine;
use crate::error::named;
use crate::rlwe::{GaloisKeys, KeyGenerator, PublicKey, RelinearisationKey, SecretKey, SharedRandomness, classes, run};

classes! {
    ckks:
    /// Encoded numbers.
    Plaintext,
    /// Encrypted numbers.
    Ciphertext,
    /// An encoded linear map.
    LinearMap,
    /// A polynomial with real coefficients.
    Polynomial,
    /// Bootstrapping for one scheme.
    Bootstrapper,
    /// Keys for bootstrapping.
    BootstrapKeys
}

/// The scheme with fixed parameters on an engine's device, and its source of randomness.
#[pyclass(frozen, module = "pyringforge._native")]
#[derive(Debug)]
pub(crate) struct Ckks {
    ckks: ckks::Ckks,
    /// Generates keys, and reads and writes their bytes.
    #[pyo3(get)]
    keys: Py<KeyGenerator>,
    randomness: SharedRandomness,
}

#[pymethods]
impl Ckks {
    #[new]
    #[pyo3(signature = (engine, log_n, q_bits, p_bits, rescale_by, scale, seed, insecure))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by position")]
    fn new(
        py: Python<'_>,
        engine: &Engine,
        log_n: u32,
        q_bits: Vec<u32>,
        p_bits: Vec<u32>,
        rescale_by: usize,
        scale: Option<f64>,
        seed: Option<[u8; 32]>,
        insecure: bool,
    ) -> PyResult<Self> {
        let made = || {
            let new = if insecure { Parameters::insecure } else { Parameters::new };
            let parameters = new(log_n, &q_bits, &p_bits)?.rescaling_by(rescale_by)?;
            let parameters = scale.map_or(Ok(parameters.clone()), |scale| parameters.with_scale(scale))?;
            ckks::Ckks::new(&engine.engine, parameters)
        };
        let (ckks, randomness) = (run(py, made)?, SharedRandomness::new(seed));
        let keys = Py::new(py, KeyGenerator::new(ckks.keys(), &randomness))?;
        Ok(Self { ckks, keys, randomness })
    }

    #[getter]
    fn slots(&self) -> usize {
        self.ckks.parameters().slots()
    }

    #[getter]
    fn top_level(&self) -> usize {
        self.ckks.parameters().top_level()
    }

    #[getter]
    fn scale(&self) -> f64 {
        self.ckks.parameters().scale()
    }

    /// Encodes items of `slots` numbers each.
    fn encode(
        &self,
        py: Python<'_>,
        numbers: PyReadonlyArray1<'_, Complex64>,
        level: usize,
        scale: f64,
    ) -> PyResult<Plaintext> {
        let numbers = numbers.as_slice()?;
        let items: Vec<&[Complex64]> = numbers.chunks(self.slots()).collect();
        run(py, || self.ckks.encode_at(&items, level, scale)).map(Plaintext)
    }

    fn encrypt(&self, py: Python<'_>, plaintext: &Plaintext, key: &PublicKey) -> PyResult<Ciphertext> {
        run(py, || self.ckks.encrypt(&plaintext.0, &key.0, &mut self.randomness.get())).map(Ciphertext)
    }

    /// Decrypts to an array of all items' numbers.
    fn decrypt(
        &self,
        py: Python<'_>,
        ciphertext: &Ciphertext,
        key: &SecretKey,
        mut numbers: PyReadwriteArray1<'_, Complex64>,
    ) -> PyResult<()> {
        let to = numbers.as_slice_mut()?;
        let mut items = run(py, || self.ckks.decrypt(&ciphertext.0, &key.0))?;
        for (number, to) in items.iter_mut().flatten().zip(to) {
            *to = *number;
            number.re.zeroize();
            number.im.zeroize();
        }
        Ok(())
    }

    fn add(&self, py: Python<'_>, a: &Ciphertext, b: &Ciphertext) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.add(&a.0, &b.0))
    }

    fn sub(&self, py: Python<'_>, a: &Ciphertext, b: &Ciphertext) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.sub(&a.0, &b.0))
    }

    fn negate(&self, py: Python<'_>, a: &Ciphertext) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.negate(&a.0))
    }

    fn add_plain(&self, py: Python<'_>, a: &Ciphertext, b: &Plaintext) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.add_plain(&a.0, &b.0))
    }

    fn sub_plain(&self, py: Python<'_>, a: &Ciphertext, b: &Plaintext) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.sub_plain(&a.0, &b.0))
    }

    fn multiply_plain(&self, py: Python<'_>, a: &Ciphertext, b: &Plaintext) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.multiply_plain(&a.0, &b.0))
    }

    fn add_number(&self, py: Python<'_>, a: &Ciphertext, number: f64) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.add_number(&a.0, number))
    }

    fn multiply_number(&self, py: Python<'_>, a: &Ciphertext, number: f64) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.multiply_number(&a.0, number))
    }

    fn multiply_rescale(
        &self,
        py: Python<'_>,
        a: &Ciphertext,
        b: &Ciphertext,
        key: &RelinearisationKey,
    ) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.multiply_rescale(&a.0, &b.0, &key.0))
    }

    fn rescale(&self, py: Python<'_>, a: &Ciphertext) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.rescale(&a.0))
    }

    fn rescale_to(&self, py: Python<'_>, a: &Ciphertext, scale: f64) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.rescale_to(&a.0, scale))
    }

    fn drop_to(&self, py: Python<'_>, a: &Ciphertext, level: usize) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.drop_to(&a.0, level))
    }

    fn rotate(&self, py: Python<'_>, a: &Ciphertext, steps: i64, keys: &GaloisKeys) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.rotate(&a.0, steps, &keys.0))
    }

    fn conjugate(&self, py: Python<'_>, a: &Ciphertext, keys: &GaloisKeys) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.conjugate(&a.0, &keys.0))
    }

    fn sum_slots(
        &self,
        py: Python<'_>,
        a: &Ciphertext,
        stride: i64,
        count: usize,
        keys: &GaloisKeys,
    ) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.sum_slots(&a.0, stride, count, &keys.0))
    }

    #[staticmethod]
    fn sum_rotations(stride: i64, count: usize) -> Vec<i64> {
        ckks::Ckks::sum_rotations(stride, count)
    }

    fn evaluate(
        &self,
        py: Python<'_>,
        polynomial: &Polynomial,
        a: &Ciphertext,
        key: &RelinearisationKey,
    ) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.evaluate(&polynomial.0, &a.0, &key.0))
    }

    /// Encodes a matrix of `size` rows, for vectors that repeat or for blocks of slots.
    fn matrix(
        &self,
        py: Python<'_>,
        numbers: PyReadonlyArray1<'_, Complex64>,
        size: usize,
        level: usize,
        blocks: bool,
    ) -> PyResult<LinearMap> {
        let numbers = numbers.as_slice()?;
        let rows: Vec<&[Complex64]> = numbers.chunks((numbers.len() / size.max(1)).max(1)).collect();
        run(py, || match blocks {
            true => self.ckks.block_matrix(&rows, level),
            false => self.ckks.matrix(&rows, level),
        })
        .map(LinearMap)
    }

    fn bootstrapper(&self, py: Python<'_>, to_coefficients: usize, to_slots: usize) -> PyResult<Bootstrapper> {
        let (slots_to_coefficients, coefficients_to_slots) = (to_coefficients, to_slots);
        let plan = BootstrapPlan { slots_to_coefficients, coefficients_to_slots, ..BootstrapPlan::default() };
        run(py, || ckks::Bootstrapper::new(&self.ckks, plan)).map(Bootstrapper)
    }

    fn bootstrap_keys(
        &self,
        py: Python<'_>,
        bootstrapper: &Bootstrapper,
        secret: &SecretKey,
    ) -> PyResult<BootstrapKeys> {
        run(py, || bootstrapper.0.keys(&secret.0, &mut self.randomness.get())).map(BootstrapKeys)
    }

    fn bootstrap(
        &self,
        py: Python<'_>,
        bootstrapper: &Bootstrapper,
        a: &Ciphertext,
        keys: &BootstrapKeys,
        real: bool,
    ) -> PyResult<Ciphertext> {
        self.made(py, |_| match real {
            true => bootstrapper.0.run_real(&a.0, &keys.0),
            false => bootstrapper.0.run(&a.0, &keys.0),
        })
    }

    fn apply(&self, py: Python<'_>, map: &LinearMap, a: &Ciphertext, keys: &GaloisKeys) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.apply(&map.0, &a.0, &keys.0))
    }

    fn write_ciphertext<'py>(&self, py: Python<'py>, a: &Ciphertext) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = run(py, || self.ckks.ciphertext_to_bytes(&a.0))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn read_ciphertext(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<Ciphertext> {
        self.made(py, |ckks| ckks.ciphertext_from_bytes(bytes))
    }
}

impl Ckks {
    fn made(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&ckks::Ckks) -> ckks::Result<ckks::Ciphertext> + Send,
    ) -> PyResult<Ciphertext> {
        run(py, || work(&self.ckks)).map(Ciphertext)
    }
}

#[pymethods]
impl Ciphertext {
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    #[getter]
    fn scale(&self) -> f64 {
        self.0.scale()
    }

    #[getter]
    fn batch(&self) -> usize {
        self.0.batch()
    }
}

#[pymethods]
impl LinearMap {
    #[getter]
    fn rotations(&self) -> Vec<i64> {
        self.0.rotations()
    }
}

#[pymethods]
impl Polynomial {
    /// A polynomial in powers of x or, with an interval, in Chebyshev polynomials.
    #[new]
    #[pyo3(signature = (coefficients, interval))]
    fn new(coefficients: Vec<f64>, interval: Option<(f64, f64)>) -> PyResult<Self> {
        let made = match interval {
            Some((from, to)) => ckks::Polynomial::chebyshev(&coefficients, from..=to),
            None => ckks::Polynomial::monomials(&coefficients),
        };
        made.map(Self).map_err(|error| named("ArgumentError", error.to_string()))
    }

    #[getter]
    fn degree(&self) -> usize {
        self.0.degree()
    }

    #[getter]
    fn levels(&self) -> usize {
        self.0.levels()
    }

    fn value(&self, x: f64) -> f64 {
        self.0.value(x)
    }
}
