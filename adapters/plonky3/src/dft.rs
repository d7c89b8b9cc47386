//! Implementation of Plonky3's trait `TwoAdicSubgroupDft`.

use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_matrix::Matrix;
use p3_matrix::bitrev::{BitReversedMatrixView, BitReversibleMatrix};
use p3_matrix::dense::RowMajorMatrix;
use ringforge::{Engine, Error, Result};

use crate::engine::{MOST, or_stock, shared};
use crate::field::{EngineField, words, words_mut};
use crate::layout::Layout;
use crate::resident;
use crate::transform::Transform;

/// Plonky3's transforms on the engine, with the output of [`Radix2DitParallel`], bit for bit.
///
/// By default transforms run on the first CUDA GPU. Without a GPU they run on the CPU, in the engine or in Plonky3's
/// code, whichever is faster.
///
/// The trait's methods cannot fail. Plonky3's code runs the transforms that the engine does not support, and takes over
/// if the device fails. The first failure is logged.
#[derive(Debug, Clone)]
pub struct Dft<F> {
    /// The engine that runs transforms; `None` for Plonky3's own code.
    engine: Option<Engine>,
    stock: Radix2DitParallel<F>,
}

impl<F: EngineField> Dft<F> {
    /// Runs transforms on this engine's device, which may be a CPU.
    #[must_use]
    pub fn on(engine: &Engine) -> Self {
        Self { engine: Some(engine.with_cache_limit(MOST)), stock: Radix2DitParallel::default() }
    }

    /// The engine that runs transforms, or `None` if all of them run in Plonky3's own code.
    #[must_use]
    pub fn engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// Transforms the columns of a matrix on the engine. Returns `None` if Plonky3's code must run instead.
    fn run(&self, transform: Transform<F>, mat: &RowMajorMatrix<F>) -> Option<RowMajorMatrix<F>> {
        let engine = self.engine.as_ref().filter(|_| mat.width() > 0 && transform.serves(mat.height()))?;
        or_stock(format_args!("a transform of {}", mat.dimensions()), transform.on_engine(engine, mat))
    }
}

impl<F: EngineField> Transform<F> {
    /// Transforms the columns of a matrix. A single GPU works on the row-major matrix if the device has room for all of
    /// it. Otherwise the matrix is transposed on the host.
    fn on_engine(self, engine: &Engine, mat: &RowMajorMatrix<F>) -> Result<RowMajorMatrix<F>> {
        if engine.device().limits().is_cpu() || engine.devices().count() > 1 {
            return self.on_host(engine, mat);
        }
        match self.on_device(engine, mat) {
            Err(Error::OutOfMemory { .. }) => self.on_host(engine, mat),
            outcome => outcome,
        }
    }

    fn on_device(self, engine: &Engine, mat: &RowMajorMatrix<F>) -> Result<RowMajorMatrix<F>> {
        let stream = engine.device().stream()?;
        resident::Matrix::upload(engine, &stream, mat)?.transformed(&stream, self)?.download(&stream)
    }

    fn on_host(self, engine: &Engine, mat: &RowMajorMatrix<F>) -> Result<RowMajorMatrix<F>> {
        let (height, width) = (mat.height(), mat.width());
        let program = self.program(engine, height.ilog2() as usize, Layout::Columns { stride: height }, 1)?;
        // transpose, because the CPU's vector instructions need contiguous columns, and each of several devices gets
        // whole columns
        let columns = mat.transpose();
        let mut out = F::zero_vec(columns.values.len() << self.added_bits());
        program.on_host(width).input("from", words(&columns.values)).output("to", words_mut(&mut out)).run()?;
        drop(columns);
        Ok(RowMajorMatrix::new(out, height << self.added_bits()).transpose())
    }
}

/// Runs on the first CUDA GPU if it is usable. Otherwise runs on the CPU, in the engine or in Plonky3's own code,
/// whichever is [faster](EngineField::FASTER_ON_CPU). The first call in a process logs the GPU, or why no GPU is used.
impl<F: EngineField> Default for Dft<F> {
    fn default() -> Self {
        let engine = shared();
        let worth_it = !engine.device().limits().is_cpu() || F::FASTER_ON_CPU;
        Self { engine: worth_it.then(|| engine.clone()), stock: Radix2DitParallel::default() }
    }
}

impl<F: EngineField> TwoAdicSubgroupDft<F> for Dft<F> {
    type Evaluations = BitReversedMatrixView<RowMajorMatrix<F>>;

    fn dft_batch(&self, mat: RowMajorMatrix<F>) -> Self::Evaluations {
        self.coset_dft_batch(mat, F::ONE)
    }

    fn coset_dft_batch(&self, mat: RowMajorMatrix<F>, shift: F) -> Self::Evaluations {
        match self.run(Transform::Forward(shift), &mat) {
            Some(values) => values.bit_reverse_rows(),
            None if shift == F::ONE => self.stock.dft_batch(mat),
            None => self.stock.coset_dft_batch(mat, shift),
        }
    }

    fn idft_batch(&self, mat: RowMajorMatrix<F>) -> RowMajorMatrix<F> {
        self.run(Transform::Inverse(F::ONE), &mat).unwrap_or_else(|| self.stock.idft_batch(mat))
    }

    fn coset_idft_batch(&self, mat: RowMajorMatrix<F>, shift: F) -> RowMajorMatrix<F> {
        self.run(Transform::Inverse(shift), &mat).unwrap_or_else(|| self.stock.coset_idft_batch(mat, shift))
    }

    fn coset_lde_batch(&self, mat: RowMajorMatrix<F>, added_bits: usize, shift: F) -> Self::Evaluations {
        match self.run(Transform::Extend(added_bits, shift), &mat) {
            Some(values) => values.bit_reverse_rows(),
            None => self.stock.coset_lde_batch(mat, added_bits, shift),
        }
    }
}
