//! Values of committed polynomials at points outside their domains, and the function that FRI tests for them.

use core::any::TypeId;

use p3_field::ExtensionField;
use ringforge::{Buffer, Engine, Result, Stream};

use super::kernels::{Kernels, Shape, exts, upload};
use super::quotient::flat;
use crate::field::EngineField;

/// Enqueues the values of a matrix's columns at z. `inverses` are 1 / (z − x) at its rows. Waits for them.
pub(super) fn values<F: EngineField, EF: ExtensionField<F>>(
    kernels: Kernels<F, EF>,
    engine: &Engine,
    stream: &Stream,
    (matrix, shape): (&Buffer, Shape),
    log_n: usize,
    z: EF,
    inverses: &Buffer,
) -> Result<Vec<EF>> {
    let key = ("openings", TypeId::of::<(F, EF)>(), shape, log_n);
    let program = engine.program_of(&key, |planner| kernels.opened(planner, shape, 1 << log_n))?;
    let at = upload(stream, &flat(&[z.inverse()]))?;
    let of_element = EF::DIMENSION * size_of::<F>();
    let mut sums = engine.device().buffer(shape.columns * of_element)?;
    let inverses = inverses.slice(0..of_element << log_n)?;
    let call = program.on(stream, 1).input("matrix", matrix).input("inverses", inverses).input("at", &at);
    call.output("sums", &mut sums).run()?;
    // barycentric interpolation on the coset g·H: z (z^n − g^n) / (n g^n)
    let shift_to_n = F::GENERATOR.exp_power_of_2(log_n);
    let scale = z * (z.exp_power_of_2(log_n) - shift_to_n) * shift_to_n.mul_2exp_u64(log_n as u64).inverse();
    let sums: Vec<F::Word> = stream.download(&sums)?;
    Ok(exts::<F, EF>(&sums).into_iter().map(|sum| sum * scale).collect())
}

/// A committed matrix of columns, and their values at one point or two.
pub(super) struct Opened<'a, EF> {
    pub(super) elements: &'a Buffer,
    pub(super) shape: Shape,
    pub(super) here: Vec<EF>,
    pub(super) next: Option<Vec<EF>>,
}

/// All that is opened. The quotient is opened at one point.
pub(super) struct Openings<'a, EF> {
    pub(super) trace: Opened<'a, EF>,
    pub(super) quotient: Opened<'a, EF>,
    pub(super) preprocessed: Option<Opened<'a, EF>>,
}

impl<EF: Clone> Opened<'_, EF> {
    /// The values at each point.
    pub(super) fn values(&self) -> Vec<Vec<EF>> {
        [Some(&self.here), self.next.as_ref()].into_iter().flatten().cloned().collect()
    }
}

impl<EF> Openings<'_, EF> {
    /// Enqueues the function that FRI tests: the sum, with powers of `alpha`, of (y − p(x)) / (z − x) for all openings.
    /// The inverses are 1 / (z − x) at the points.
    pub(super) fn reduced<F: EngineField>(
        &self,
        kernels: Kernels<F, EF>,
        engine: &Engine,
        stream: &Stream,
        (here_inverses, next_inverses): (&Buffer, Option<&Buffer>),
        alpha: EF,
    ) -> Result<Buffer>
    where
        EF: ExtensionField<F>,
    {
        let mut all = alpha.powers();
        let mut powers: Vec<EF> = Vec::new();
        let [mut here, mut next] = [EF::ZERO; 2];
        // by how much the powers of a matrix's columns at the second point exceed those at the first
        let mut factors = Vec::new();
        let sum = |powers: &[EF], values: &[EF]| powers.iter().zip(values).map(|(power, y)| *power * *y).sum::<EF>();
        let matrices = [Some(&self.trace), Some(&self.quotient), self.preprocessed.as_ref()];
        for of in matrices.into_iter().flatten() {
            let own: Vec<EF> = all.by_ref().take(of.here.len()).collect();
            here += sum(&own, &of.here);
            let factor = of.next.as_ref().map_or(EF::ZERO, |values| {
                let at_next: Vec<EF> = all.by_ref().take(values.len()).collect();
                next += sum(&at_next, values);
                alpha.exp_u64(values.len() as u64)
            });
            factors.push(factor);
            powers.extend(own);
        }
        let of_preprocessed = factors.get(2).copied().unwrap_or(EF::ZERO);
        let powers = upload(stream, &flat(&powers))?;
        let constants = upload(stream, &flat(&[here, next, factors[0], of_preprocessed]))?;
        let shapes = matrices.map(|of| of.map_or(Shape::none(self.trace.shape.rows), |of| of.shape));
        let key = ("reduced openings", TypeId::of::<(F, EF)>(), shapes, next_inverses.is_some());
        let program = engine.program_of(&key, |planner| kernels.reduced(planner, shapes, next_inverses.is_some()))?;
        let of_element = EF::DIMENSION * size_of::<F>();
        let unused = stream.zeros(of_element)?;
        let mut reduced = engine.device().buffer(self.trace.shape.rows * of_element)?;
        let call = program.on(stream, 1).input("trace", self.trace.elements).input("quotient", self.quotient.elements);
        let call = match &self.preprocessed {
            Some(of) => call.input("preprocessed", of.elements),
            None => call.input("preprocessed", unused.slice(0..size_of::<F>())?),
        };
        let call = call.input("powers", &powers).input("constants", &constants);
        let call = call.input("here", here_inverses).input("next", next_inverses.unwrap_or(&unused));
        call.output("reduced", &mut reduced).run()?;
        Ok(reduced)
    }
}
