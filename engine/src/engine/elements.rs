//! Ring elements in device memory, together with their type.

use bytemuck::Pod;
use crypto_bigint::U256;

use crate::job::{Job, Op};
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::{Order, PolyType};
use ringforge_runtime::device::{Buffer, Stream};
use ringforge_runtime::kernel::Role;
use ringforge_runtime::program::Program;

use super::{Engine, checked, elements_of, of};

/// A batch of ring elements on the devices of an engine, as coefficients or evaluations. In a [group](Engine::group),
/// each device holds a part of the batch. Made by [`Engine::upload`].
///
/// Operations are asynchronous and run in order on one stream of each device ([`Engine::stream`] on the first one).
/// [`Elements::download`] waits for them.
#[derive(Debug)]
pub struct Elements {
    engine: Engine,
    /// One buffer for each device.
    buffers: Vec<Buffer>,
    poly: PolyType,
    batch: usize,
}

/// An operation that takes coefficients or evaluations, and whose result is in the same domain.
#[derive(Debug, Clone, PartialEq)]
enum Operation {
    Add,
    Sub,
    Scale(Vec<U256>),
    Automorphism(u64),
}

impl Elements {
    pub(super) fn upload<T: Pod>(engine: &Engine, poly: PolyType, coefficients: &[T]) -> Result<Self> {
        let batch = checked(&poly, "coefficients", coefficients)?;
        let (width, mut rest) = (poly.bytes() / poly.width().bytes(), coefficients);
        let mut upload = |(stream, count): (&Stream, usize)| {
            let (own, behind) = rest.split_at(count * width);
            rest = behind;
            let mut buffer = stream.upload(own)?;
            // programs use this type to check the buffer
            buffer.content = Some(poly.clone());
            Ok(buffer)
        };
        let streams = engine.streams()?;
        let buffers = streams.into_iter().zip(engine.cut(batch)).map(&mut upload).collect::<Result<_>>()?;
        Ok(Self { engine: engine.clone(), buffers, poly, batch })
    }

    /// The type of the elements: their ring, how residues are stored, and whether the elements are coefficients or
    /// evaluations.
    #[must_use]
    pub fn poly(&self) -> &PolyType {
        &self.poly
    }

    /// The number of elements.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// The device memory, for use with a [`Program`](crate::Program): one buffer of contiguous elements for each of
    /// the engine's [devices](Engine::devices).
    #[must_use]
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Evaluates the polynomials (forward NTT), in [`Order::DigitReversed`], which is the fastest order.
    ///
    /// # Errors
    /// [`Error::Argument`] unless these elements are coefficients. Also the errors of [`Engine::program`] and
    /// [`Call::run`](crate::run::Call::run).
    pub fn forward(&self) -> Result<Self> {
        self.forward_to(Order::DigitReversed)
    }

    /// Evaluates the polynomials (forward NTT), in this order.
    ///
    /// # Errors
    /// The errors of [`Elements::forward`].
    pub fn forward_to(&self, order: Order) -> Result<Self> {
        self.run(&Job::new(&self.poly, Op::Forward).order(order), &[self])
    }

    /// Interpolates the polynomials with these evaluations (inverse NTT).
    ///
    /// # Errors
    /// [`Error::Argument`] unless these elements are evaluations. Also the other errors of [`Elements::forward`].
    pub fn inverse(&self) -> Result<Self> {
        self.run(&self.job(Op::Inverse), &[self])
    }

    /// The products a_i·b_i, of coefficients or of evaluations in the same order.
    ///
    /// # Errors
    /// [`Error::Argument`] with [`Error::Mismatch`] if the types differ, or with [`Error::Length`] if the batch sizes
    /// differ. Also the other errors of [`Elements::forward`].
    pub fn mul(&self, other: &Self) -> Result<Self> {
        let op = if self.poly.order().is_none() { Op::Mul } else { Op::PointMul };
        self.run(&self.job(op), &[self, other])
    }

    /// The sums a_i + b_i, of coefficients or of evaluations in the same order.
    ///
    /// # Errors
    /// The errors of [`Elements::mul`].
    pub fn add(&self, other: &Self) -> Result<Self> {
        self.operate(Operation::Add, &[self, other])
    }

    /// The differences a_i − b_i, of coefficients or of evaluations in the same order.
    ///
    /// # Errors
    /// The errors of [`Elements::mul`].
    pub fn sub(&self, other: &Self) -> Result<Self> {
        self.operate(Operation::Sub, &[self, other])
    }

    /// The elements times a constant. `numbers` has one number for each modulus of the basis, or one number for all
    /// moduli.
    ///
    /// # Errors
    /// [`Error::Plan`] unless `numbers` has one number, or one for each modulus. Also the errors of [`Engine::program`]
    /// and [`Call::run`](crate::run::Call::run).
    pub fn scale(&self, numbers: &[U256]) -> Result<Self> {
        self.operate(Operation::Scale(numbers.to_vec()), &[self])
    }

    /// The images under the automorphism x → x^k, as described at [`Value::automorphism`](crate::Value::automorphism).
    ///
    /// # Errors
    /// [`Error::Plan`] if x → x^k is not an automorphism of the ring. Also the errors of [`Engine::program`] and
    /// [`Call::run`](crate::run::Call::run).
    pub fn automorphism(&self, k: u64) -> Result<Self> {
        self.operate(Operation::Automorphism(k), &[self])
    }

    /// Waits for all operations on the elements, and copies the residues into host memory.
    ///
    /// # Errors
    /// [`Error::Argument`] if the integer type is not as wide as the ring's residues; [`Error::Driver`] if a driver
    /// call fails.
    pub fn download<T: Pod>(&self) -> Result<Vec<T>> {
        elements_of::<T>(&self.poly, "the vector", &[])?;
        let streams = self.engine.streams()?;
        let parts = self.buffers.iter().zip(streams).map(|(buffer, stream)| stream.download(buffer));
        Ok(parts.collect::<Result<Vec<Vec<T>>>>()?.concat())
    }

    /// A job of this operation for the type of these elements.
    fn job(&self, op: Op) -> Job {
        Job::new(&self.poly, op).order(self.poly.order().unwrap_or_default())
    }

    fn run(&self, job: &Job, from: &[&Self]) -> Result<Self> {
        self.run_program(&self.engine.program(job)?, from)
    }

    fn operate(&self, operation: Operation, from: &[&Self]) -> Result<Self> {
        let program = self.engine.program_of(&(operation.clone(), self.poly.clone()), |planner| {
            let title = match operation {
                Operation::Add => "sum",
                Operation::Sub => "difference",
                Operation::Scale(_) => "multiple",
                Operation::Automorphism(_) => "automorphism",
            };
            let p = planner.pipeline(title);
            let input = |name| p.elements(name, self.poly.clone());
            let a = input("self");
            p.output(
                "result",
                match &operation {
                    Operation::Add => a + input("other"),
                    Operation::Sub => a - input("other"),
                    Operation::Scale(numbers) => a.scale(numbers),
                    Operation::Automorphism(k) => a.automorphism(*k),
                },
            );
            p.build()
        })?;
        self.run_program(&program, from)
    }

    fn run_program(&self, program: &Program, from: &[&Self]) -> Result<Self> {
        let Self { engine, batch, .. } = self;
        let inputs = || program.plan().args().iter().zip(from);
        for ((arg, elements), name) in inputs().zip(["self", "other"]) {
            if arg.before.as_ref() != Some(&elements.poly) {
                let expected = arg.before.as_ref().map_or_else(String::new, PolyType::described);
                let (what, got) = (program.plan().title().to_owned(), elements.poly.described());
                return Err(of(name, Error::Mismatch { what, expected, got }));
            }
            if elements.batch != *batch {
                let what = "elements, as many as in self";
                return Err(of(name, Error::Length { what, expected: *batch, got: elements.batch }));
            }
            if elements.buffers.len() != self.buffers.len() {
                let [expected, got] = [engine, &elements.engine].map(|engine| format!("{engine:?}"));
                return Err(Error::ForeignDevice { what: name.into(), expected, got });
            }
        }
        let output = program.plan().args().iter().find(|arg| arg.role == Role::Out);
        let mut buffers = Vec::with_capacity(self.buffers.len());
        for (i, (stream, batch)) in engine.streams()?.into_iter().zip(engine.cut(*batch)).enumerate() {
            let mut buffer = stream.device().buffer(self.buffers[i].len())?;
            let call = program.on(stream, batch);
            let call = inputs().fold(call, |call, (arg, elements)| call.input(&arg.name, &elements.buffers[i]));
            match output {
                Some(arg) => call.output(&arg.name, &mut buffer).run()?,
                None => call.run()?,
            }
            buffers.push(buffer);
        }
        let poly = output.and_then(|arg| arg.after.clone()).unwrap_or_else(|| self.poly.clone());
        Ok(Self { engine: engine.clone(), buffers, poly, batch: *batch })
    }
}
