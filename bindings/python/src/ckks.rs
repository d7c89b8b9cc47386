//! RNS-CKKS: arithmetic on encrypted complex numbers. Numbers are flat arrays of complex128.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{Complex64, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ringforge_bindings::may_work;
use ringforge_ckks::{self as ckks, BootstrapPlan, Parameters, Randomness};
use zeroize::Zeroize;

use crate::engine::Engine;
use crate::error::{exception, named};

/// Runs work without the GIL, unless this process was forked. Converts an error to an exception of the package.
fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> ckks::Result<T> + Send) -> PyResult<T> {
    py.detach(|| may_work().map_err(ckks::Error::Engine).and_then(|()| work())).map_err(|error| match error {
        ckks::Error::Engine(error) => exception(&error),
        other => named("ArgumentError", other.to_string()),
    })
}

/// Classes that hold an object of the scheme.
macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[pyclass(frozen, module = "pyringforge._native")]
        #[derive(Debug)]
        pub(crate) struct $name(ckks::$name);
    )*};
}

classes! {
    /// Encoded numbers.
    Plaintext,
    /// Encrypted numbers.
    Ciphertext,
    /// A secret key.
    SecretKey,
    /// A public key.
    PublicKey,
    /// A relinearisation key.
    RelinearisationKey,
    /// Keys for rotations and conjugation.
    GaloisKeys,
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
    randomness: Mutex<Randomness>,
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
        let randomness = Mutex::new(seed.map_or_else(Randomness::system, Randomness::from_seed));
        Ok(Self { ckks: run(py, made)?, randomness })
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

    fn secret_key(&self, py: Python<'_>) -> PyResult<SecretKey> {
        run(py, || Ok(self.ckks.keys().secret_key(&mut self.randomness())?)).map(SecretKey)
    }

    fn public_key(&self, py: Python<'_>, secret: &SecretKey) -> PyResult<PublicKey> {
        run(py, || Ok(self.ckks.keys().public_key(&secret.0, &mut self.randomness())?)).map(PublicKey)
    }

    fn relinearisation_key(&self, py: Python<'_>, secret: &SecretKey) -> PyResult<RelinearisationKey> {
        run(py, || Ok(self.ckks.keys().relinearisation_key(&secret.0, &mut self.randomness())?)).map(RelinearisationKey)
    }

    fn galois_keys(
        &self,
        py: Python<'_>,
        secret: &SecretKey,
        rotations: Vec<i64>,
        conjugates: bool,
    ) -> PyResult<GaloisKeys> {
        run(py, || Ok(self.ckks.keys().galois_keys(&secret.0, &rotations, conjugates, &mut self.randomness())?))
            .map(GaloisKeys)
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
        run(py, || self.ckks.encrypt(&plaintext.0, &key.0, &mut self.randomness())).map(Ciphertext)
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
        run(py, || bootstrapper.0.keys(&secret.0, &mut self.randomness())).map(BootstrapKeys)
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

    fn write_keys<'py>(
        &self,
        py: Python<'py>,
        public: &PublicKey,
        relinearise: &RelinearisationKey,
        galois: &GaloisKeys,
    ) -> PyResult<[Bound<'py, PyBytes>; 3]> {
        let bytes = || {
            let public = self.ckks.keys().public_key_to_bytes(&public.0)?;
            let relinearise = self.ckks.keys().relinearisation_key_to_bytes(&relinearise.0)?;
            Ok([public, relinearise, self.ckks.keys().galois_keys_to_bytes(&galois.0)?])
        };
        let bytes = run(py, bytes)?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn read_keys(
        &self,
        py: Python<'_>,
        public: &[u8],
        relinearise: &[u8],
        galois: &[u8],
    ) -> PyResult<(PublicKey, RelinearisationKey, GaloisKeys)> {
        let keys = || {
            let public = PublicKey(self.ckks.keys().public_key_from_bytes(public)?);
            let relinearise = RelinearisationKey(self.ckks.keys().relinearisation_key_from_bytes(relinearise)?);
            Ok((public, relinearise, GaloisKeys(self.ckks.keys().galois_keys_from_bytes(galois)?)))
        };
        run(py, keys)
    }

    fn write_secret_key<'py>(&self, py: Python<'py>, key: &SecretKey) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = run(py, || Ok(self.ckks.keys().secret_key_to_bytes(&key.0)?))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn read_secret_key(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<SecretKey> {
        run(py, || Ok(self.ckks.keys().secret_key_from_bytes(bytes)?)).map(SecretKey)
    }
}

impl Ckks {
    fn randomness(&self) -> MutexGuard<'_, Randomness> {
        self.randomness.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
