//! Ring elements on a device: what they are goes with them.

use bytemuck::Pod;

use crate::device::Buffer;
use crate::error::{Error, Result};
use crate::job::{Job, Op, Order};
use crate::kernel::Role;
use crate::plan::Content;
use crate::ring::Ring;

use super::{Engine, checked, elements_of, of};

/// A batch of ring elements on an engine's device, as coefficients or evaluations. Made by [`Engine::upload`].
///
/// Operations start work and return, in the order of [`Engine::stream`]; [`Elements::download`] waits.
#[derive(Debug)]
pub struct Elements {
    engine: Engine,
    buffer: Buffer,
    content: Content,
    batch: usize,
}

impl Elements {
    pub(super) fn upload<T: Pod>(engine: &Engine, ring: &Ring, coefficients: &[T]) -> Result<Self> {
        let batch = checked(ring, "coefficients", coefficients)?;
        let mut buffer = engine.stream()?.upload(coefficients)?;
        let content = Content::Coefficients(ring.clone());
        // so that a program to which the buffer is given knows as well
        buffer.content = Some(content.clone());
        Ok(Self { engine: engine.clone(), buffer, content, batch })
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        self.content.ring()
    }

    /// Whether they are coefficients or values, and in which order.
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// How many elements they are.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Their memory, for a [`Program`](crate::Program).
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// The evaluations of polynomials, in the order of the tree, which is the fastest.
    ///
    /// # Errors
    /// [`Error::Argument`] unless these are coefficients; as [`Engine::program`] and [`Call::run`](crate::run::Call::run).
    pub fn forward(&self) -> Result<Self> {
        self.forward_to(Order::Tree)
    }

    /// The evaluations of polynomials, in this order.
    ///
    /// # Errors
    /// As [`Elements::forward`].
    pub fn forward_to(&self, order: Order) -> Result<Self> {
        self.run(&Job::new(self.ring(), Op::Forward).order(order), &[self])
    }

    /// The polynomials with these evaluations.
    ///
    /// # Errors
    /// [`Error::Argument`] unless these are evaluations; as [`Elements::forward`].
    pub fn inverse(&self) -> Result<Self> {
        self.run(&self.job(Op::Inverse), &[self])
    }

    /// Products, element by element, of coefficients or of evaluations in one order.
    ///
    /// # Errors
    /// [`Error::Argument`]: [`Error::Mismatch`] for others than these are, [`Error::Length`] for another batch. As
    /// [`Elements::forward`].
    pub fn mul(&self, other: &Self) -> Result<Self> {
        if other.batch != self.batch {
            let error = Error::Length {
                what: "elements, as many as the first factor has",
                expected: self.batch,
                got: other.batch,
            };
            return Err(of("other", error));
        }
        let op = if matches!(self.content, Content::Coefficients(_)) { Op::Mul } else { Op::PointMul };
        self.run(&self.job(op), &[self, other])
    }

    /// Copies the residues into host memory.
    ///
    /// # Errors
    /// [`Error::Argument`] for numbers of another width than the ring's residues; [`Error::Driver`].
    pub fn download<T: Pod>(&self) -> Result<Vec<T>> {
        elements_of::<T>(self.ring(), "the vector", &[])?;
        self.engine.stream()?.download(&self.buffer)
    }

    /// An operation on elements such as these.
    fn job(&self, op: Op) -> Job {
        let job = Job::new(self.ring(), op);
        match &self.content {
            Content::Coefficients(_) => job,
            Content::Evaluations { order, .. } => job.order(*order),
        }
    }

    fn run(&self, job: &Job, from: &[&Self]) -> Result<Self> {
        let Self { engine, batch, .. } = self;
        let program = engine.program(job)?;
        let mut buffer = engine.device().buffer(self.buffer.len())?;
        let stream = engine.stream()?;
        let mut call = program.on(stream, *batch);
        let names = ["self", "other"];
        let mut content = self.content.clone();
        for ((arg, elements), name) in program.plan().args().iter().zip(from).zip(names) {
            if arg.before.as_ref() != Some(&elements.content) {
                let expected = arg.before.as_ref().map_or_else(String::new, ToString::to_string);
                let (what, got) = (job.op.to_string(), elements.content.to_string());
                return Err(of(name, Error::Mismatch { what, expected, got }));
            }
            call = call.input(&arg.name, &elements.buffer);
        }
        if let Some(arg) = program.plan().args().iter().find(|arg| arg.role == Role::Out) {
            content = arg.after.clone().unwrap_or(content);
            call = call.output(&arg.name, &mut buffer);
        }
        call.run()?;
        Ok(Self { engine: engine.clone(), buffer, content, batch: *batch })
    }
}
