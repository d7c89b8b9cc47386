//! Values of committed polynomials at points outside their domains, and the function that FRI tests for them.

use core::any::TypeId;

use p3_field::ExtensionField;
use ringforge::run::BufferSlice;
use ringforge::{Buffer, Engine, Result, Stream};

use super::kernels::{Kernels, Shape, exts};
use super::quotient::flat;
use crate::field::{EngineField, words};

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
    let at = stream.upload(words(&flat(&[z.inverse()])))?;
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

/// The values that are opened: of the trace at z and perhaps at the next point, and of the quotient's columns at z.
pub(super) struct Values<EF> {
    pub(super) here: Vec<EF>,
    pub(super) next: Option<Vec<EF>>,
    pub(super) quotient: Vec<EF>,
}

/// The extensions of the trace and of the quotient, and 1 / (z − x) at their rows for each of the points.
pub(super) struct Opened<'a> {
    pub(super) trace: (&'a Buffer, Shape),
    pub(super) quotient: (&'a Buffer, Shape),
    pub(super) here: &'a Buffer,
    pub(super) next: Option<&'a Buffer>,
}

impl<EF> Values<EF> {
    /// Enqueues the function that FRI tests: the sum, with powers of `alpha`, of (y − p(x)) / (z − x) for all openings.
    pub(super) fn reduced<F: EngineField>(
        &self,
        kernels: Kernels<F, EF>,
        engine: &Engine,
        stream: &Stream,
        of: &Opened<'_>,
        alpha: EF,
    ) -> Result<Buffer>
    where
        EF: ExtensionField<F>,
    {
        let ((trace, trace_shape), (quotient, quotient_shape)) = (of.trace, of.quotient);
        let width = self.here.len();
        let points = 1 + usize::from(of.next.is_some());
        let mut powers: Vec<EF> = alpha.powers().collect_n(width);
        let to_width = alpha.exp_u64(width as u64);
        powers.extend(alpha.shifted_powers(alpha.exp_u64((points * width) as u64)).take(self.quotient.len()));
        let sum = |powers: &[EF], values: &[EF]| powers.iter().zip(values).map(|(power, y)| *power * *y).sum::<EF>();
        let here = sum(&powers, &self.here) + sum(&powers[width..], &self.quotient);
        let next = self.next.as_ref().map_or(EF::ZERO, |next| to_width * sum(&powers, next));
        let powers = stream.upload(words(&flat(&powers)))?;
        let constants = stream.upload(words(&flat(&[here, next, to_width])))?;
        let key = ("reduced openings", TypeId::of::<(F, EF)>(), trace_shape, quotient_shape, of.next.is_some());
        let program = engine
            .program_of(&key, |planner| kernels.reduced(planner, trace_shape, quotient_shape, of.next.is_some()))?;
        let of_element = EF::DIMENSION * size_of::<F>();
        let mut reduced = engine.device().buffer(trace_shape.rows * of_element)?;
        let call = program.on(stream, 1).input("trace", trace).input("quotient", quotient).input("powers", &powers);
        let call = call.input("constants", &constants).input("here", of.here);
        // without a second point, the kernel reads nothing there
        let next = of.next.map_or(of.here.slice(0..of_element)?, BufferSlice::from);
        call.input("next", next).output("reduced", &mut reduced).run()?;
        Ok(reduced)
    }
}
