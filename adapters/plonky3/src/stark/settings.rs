//! The device and the choices of the caller, which all proofs of a prover share.

use core::cell::Cell;
use core::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Instant;

use p3_commit::Mmcs as MmcsTrait;
use p3_field::ExtensionField;
use p3_matrix::dense::RowMajorMatrix;
use ringforge::{Engine, Error, Result, Stream};

use super::elements::ext;
use super::kernels::{Kernels, MOST_LOG_ARITY};
use super::memory::{Memory, Size};
use super::place::{Phases, Place};
use super::table::{Constraints, Table};
use super::unsupported;
use crate::hash::HashField;
use crate::merkle::Cap;
use crate::pcs::Pcs;
use crate::resident::{Matrix, Member, MerkleTree};

/// The most programs that a prover keeps. A proof of tables of many heights uses hundreds, in the same order each time, so a
/// smaller cache would find none of them.
const PROGRAMS: usize = 1 << 12;

/// Trees over so few values are as fast on the host.
const TAIL: usize = 6;

/// log2 of the fewest rows of an extension that each of several devices has: whole nodes of the tree.
const LOG_LEAST: usize = 2;

/// The device, and what the caller has chosen.
#[derive(Debug)]
pub(super) struct Settings<F, EF> {
    pub(super) engine: Engine,
    /// The other devices of a group, each as an engine of its own.
    pub(super) others: Vec<Engine>,
    pub(super) kernels: Kernels<F, EF>,
    pub(super) constraints: Constraints,
    pub(super) tail: usize,
    pub(super) cancelled: Arc<AtomicBool>,
    /// The most device memory of a proof, in bytes.
    pub(super) within: usize,
    /// Whether extensions are always made again.
    pub(super) always_again: bool,
    fri_cap: usize,
}

impl<F: HashField, EF: ExtensionField<F>> Settings<F, EF> {
    /// The defaults, for this commitment scheme and proofs of work of these numbers of bits beside FRI's.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for parameters or an extension that provers do not have; errors of the device.
    pub(super) fn new<M>(engine: &Engine, pcs: &Pcs<F, M>, work: &[usize]) -> Result<Self>
    where
        M: MmcsTrait<EF, Commitment = Cap<F>>,
    {
        let fri = pcs.fri();
        if fri.log_blowup == 0 || fri.num_queries == 0 {
            return Err(unsupported("FRI has a blow-up factor of 1, or no queries"));
        }
        if fri.max_log_arity == 0 || fri.max_log_arity > MOST_LOG_ARITY {
            let why = format!("FRI folds 2^{} elements, and the kernels 2 to 16", fri.max_log_arity);
            return Err(unsupported(why));
        }
        let of_fri = [fri.batch_proof_of_work_bits, fri.commit_proof_of_work_bits, fri.query_proof_of_work_bits];
        if of_fri.iter().chain(work).any(|bits| *bits >= F::bits() - 1) {
            return Err(unsupported(format!("a proof of work has {} bits or more", F::bits() - 1)));
        }
        let count = engine.devices().count();
        if !count.is_power_of_two() {
            return Err(unsupported(format!(
                "the engine is a group of {count} devices: use 1, 2, 4 or another power of two"
            )));
        }
        let mut others: Vec<Engine> =
            engine.members().into_iter().map(|engine| engine.with_cache_limit(PROGRAMS)).collect();
        let engine = &others.remove(0);
        Ok(Self {
            engine: engine.clone(),
            others,
            kernels: Kernels::new()?,
            constraints: Constraints::Automatic,
            tail: TAIL,
            cancelled: Arc::default(),
            within: usize::MAX,
            always_again: false,
            fri_cap: fri_cap::<F, EF, M>(engine, &fri.mmcs, pcs)?,
        })
    }

    /// Compiles the kernels of all tables, and waits. On a CPU, nothing is compiled.
    pub(super) fn compile(&self, tables: &[Table<F, EF>]) -> Result<()> {
        if !self.engine.device().limits().is_cpu() {
            tables.iter().try_for_each(|table| table.is_compiled(&self.engine, true).map(|_| ()))?;
        }
        Ok(())
    }

    /// log2 of the devices of a proof whose extensions have 2^log_rows rows: all, or one if there are few rows.
    pub(super) fn log_devices(&self, log_rows: usize) -> usize {
        let all = (1 + self.others.len()).ilog2() as usize;
        if all + LOG_LEAST > log_rows { 0 } else { all }
    }

    /// The devices of a proof whose extensions have 2^log_rows rows, or none for one device.
    pub(super) fn members(&self, stream: &Stream, log_rows: usize) -> Result<Vec<Member>> {
        if self.log_devices(log_rows) == 0 {
            return Ok(Vec::new());
        }
        let first =
            Ok(Member { engine: self.engine.clone(), stream: stream.clone(), copies: stream.device().stream()? });
        let other = |engine: &Engine| {
            let device = engine.device();
            Ok(Member { engine: engine.clone(), stream: device.stream()?, copies: device.stream()? })
        };
        core::iter::once(first).chain(self.others.iter().map(other)).collect()
    }

    /// Whether the extensions of these tables' traces must be made again in parts.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if even then, a proof exceeds the caller's limit.
    pub(super) fn extends_again<M>(&self, pcs: &Pcs<F, M>, tables: &[Size]) -> Result<bool> {
        let always = self.always_again && self.others.is_empty();
        if self.within == usize::MAX || always {
            return Ok(always);
        }
        match Memory::of(self, pcs, tables)? {
            Memory { kept, .. } if kept <= self.within => Ok(false),
            Memory { again, .. } if again <= self.within => Ok(true),
            Memory { again, .. } => Err(Error::OutOfMemory { bytes: again }),
        }
    }

    /// The place of a proof that begins now.
    pub(super) fn place<'a, M>(&'a self, stream: &'a Stream, pcs: &'a Pcs<F, M>) -> Place<'a, F, EF, M> {
        Place {
            engine: &self.engine,
            stream,
            members: Vec::new(),
            kernels: self.kernels,
            pcs,
            fri_cap: self.fri_cap,
            tail: self.tail,
            cancelled: &self.cancelled,
            since: Cell::new(Instant::now()),
            phases: Cell::new(Phases::default()),
        }
    }
}

/// The methods of a prover with which the caller chooses. The prover has its `settings`, and a method `tables`.
macro_rules! settings_methods {
    () => {
        /// The same prover, with all constraints compiled. Waits for the compiler. On a CPU, nothing is compiled.
        ///
        /// # Errors
        /// [`Error::NoCompiler`] without NVRTC, if a kernel is neither in a bundle nor in the cache; other errors of the
        /// compiler and the device.
        pub fn compiled(mut self) -> Result<Self> {
            self.settings.compile(self.tables())?;
            self.settings.constraints = $crate::stark::table::Constraints::Compiled;
            Ok(self)
        }

        /// The same prover, which interprets the constraints and never compiles them.
        #[must_use]
        pub fn interpreted(mut self) -> Self {
            self.settings.constraints = $crate::stark::table::Constraints::Interpreted;
            self
        }

        /// The same prover, with FRI on the host once at most 2^`bits` values are left. The default is 6. Proofs are the
        /// same.
        #[must_use]
        pub fn with_tail(mut self, bits: usize) -> Self {
            self.settings.tail = bits;
            self
        }

        /// The same prover, whose proofs end with [`Error::Cancelled`] once this flag is set: before the next phase, or the
        /// next round of FRI.
        #[must_use]
        pub fn cancelled_by(mut self, flag: Arc<core::sync::atomic::AtomicBool>) -> Self {
            self.settings.cancelled = flag;
            self
        }

        /// The same prover, whose proofs use at most this many bytes of device memory, beside what [`Memory`] leaves out.
        /// Extensions of traces that do not fit are made again in parts when they are needed.
        #[must_use]
        pub fn within(mut self, bytes: usize) -> Self {
            self.settings.within = bytes;
            self
        }

        /// The same prover, which always makes extensions again.
        #[cfg(feature = "testkit")]
        #[doc(hidden)]
        #[must_use]
        pub fn extending_again(mut self) -> Self {
            self.settings.always_again = true;
            self
        }
    };
}
pub(super) use settings_methods;

/// The number of layers of the caps of FRI's trees below their roots. Plonky3 does not tell it, so it is seen from a
/// commitment, which must be that of the hash of the traces.
fn fri_cap<F, EF, M>(engine: &Engine, fri: &M, pcs: &Pcs<F, M>) -> Result<usize>
where
    F: HashField,
    EF: ExtensionField<F>,
    M: MmcsTrait<EF, Commitment = Cap<F>>,
{
    const ROWS: usize = 1 << 8;
    let numbers: Vec<F> = (0..ROWS * EF::DIMENSION).map(F::from_usize).collect();
    let elements: Vec<EF> = numbers.chunks_exact(EF::DIMENSION).map(ext).collect();
    let (cap, _) = fri.commit_matrix(RowMajorMatrix::new(elements, 1));
    let stream = engine.stream()?;
    let rows = Matrix::upload(engine, stream, &RowMajorMatrix::new(numbers, EF::DIMENSION))?;
    let tree = MerkleTree::new(engine, stream, pcs.mmcs().hash(), &[&rows])?;
    let found = (0..=tree.height()).find(|height| tree.cap(stream, *height).is_ok_and(|found| found == cap));
    found.ok_or_else(|| unsupported("FRI's commitments do not use the hash of the traces"))
}
