//! The device, the parameters and the times that all steps of a proof share.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringforge::{Engine, Error, Result, Stream};

use super::kernels::Kernels;
use crate::hash::HashField;
use crate::merkle::Cap;
use crate::pcs::Pcs;
use crate::resident::{Member, MerkleTree};

/// How long each phase of a proof took, by the host's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Phases {
    /// The trace's extension and its tree, with copies of a trace from the host.
    pub trace: Duration,
    /// The permutation columns of lookups, and their extension and its tree.
    pub permutation: Duration,
    /// The constraints, and the quotient's extension and its tree.
    pub quotient: Duration,
    /// The opened values.
    pub openings: Duration,
    /// The function that FRI tests, and FRI's rounds and openings, with proofs of work.
    pub fri: Duration,
    /// The opened rows of all commitments but FRI's.
    pub queries: Duration,
    /// Whether constraints were interpreted.
    pub interpreted: bool,
    /// Whether Plonky3's own prover made the proof.
    pub fell_back: bool,
}

/// The device and the parameters of a proof, and its times.
pub(super) struct Place<'a, F: HashField, EF, M> {
    pub(super) engine: &'a Engine,
    pub(super) stream: &'a Stream,
    /// All devices, this one first, if there are several.
    pub(super) members: Vec<Member>,
    pub(super) kernels: Kernels<F, EF>,
    pub(super) pcs: &'a Pcs<F, M>,
    /// Layers of the caps of FRI's trees below their roots.
    pub(super) fri_cap: usize,
    /// log2 of the most values that FRI folds on the host.
    pub(super) tail: usize,
    pub(super) cancelled: &'a AtomicBool,
    pub(super) since: Cell<Instant>,
    pub(super) phases: Cell<Phases>,
}

impl<F: HashField, EF, M> Place<'_, F, EF, M> {
    pub(super) fn log_blowup(&self) -> usize {
        self.pcs.log_blowup()
    }

    /// A device of the proof, with its stream.
    pub(super) fn device(&self, number: usize) -> (&Engine, &Stream) {
        self.members.get(number).map_or((self.engine, self.stream), |member| (&member.engine, &member.stream))
    }

    /// The commitment that a tree is for Plonky3.
    pub(super) fn cap(&self, tree: &MerkleTree<F>) -> Result<Cap<F>> {
        tree.cap(self.stream, self.pcs.mmcs().cap_height().min(tree.height()))
    }

    /// Ends a phase, and begins the next one.
    ///
    /// # Errors
    /// As [`Self::go_on`].
    pub(super) fn lap(&self, phase: impl FnOnce(&mut Phases) -> &mut Duration) -> Result<()> {
        let now = Instant::now();
        self.note(|phases| *phase(phases) = now - self.since.replace(now));
        self.go_on()
    }

    /// Changes what is told of the proof.
    pub(super) fn note(&self, change: impl FnOnce(&mut Phases)) {
        let mut phases = self.phases.get();
        change(&mut phases);
        self.phases.set(phases);
    }

    /// # Errors
    /// [`Error::Cancelled`] once the caller has cancelled the proof.
    pub(super) fn go_on(&self) -> Result<()> {
        match self.cancelled.load(Ordering::Relaxed) {
            true => Err(Error::Cancelled { job: "a STARK proof".into() }),
            false => Ok(()),
        }
    }
}
