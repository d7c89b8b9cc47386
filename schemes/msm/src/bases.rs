//! Bases on a device, and their multiplication by scalars.

use std::sync::Arc;

use bytemuck::Pod;
use ringforge::{Buffer, Engine, Plan, Planner, Program, Stream};
use zeroize::Zeroizing;

use crate::cpu::horner;
use crate::curve::{Curve, with_group};
use crate::digits::{Scalars, Windows};
use crate::error::MsmError;
use crate::field::Prime;
use crate::group::{Affine, Group, Xyzz};
use crate::kernels::{OK, SCALAR, Shape, Tuning};
use crate::plans;

/// How scalars are passed: as 32 bytes each, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarForm {
    /// As the number itself.
    Plain,
    /// In Montgomery form, as 2^256 times the number modulo the order. Arkworks and halo2curves keep scalars so.
    Montgomery,
}

/// Which points are accepted as bases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// Points on the curve. Every point is checked.
    OnCurve,
    /// Any points: the caller knows that they are on the curve.
    Trusted,
}

/// Points on a device, which scalars are multiplied by.
///
/// ```
/// use ringforge::Engine;
/// use ringforge_msm::{Bases, Check, Curve, ScalarForm};
///
/// let curve = Curve::bn254();
/// let generator = curve.point(&[1], &[2]); // (1, 2) is on y² = x³ + 3
/// let bases = Bases::upload(&Engine::best(), &curve, &[generator.clone(), generator.clone()].concat(), Check::OnCurve)?;
/// let scalars = [[5u64, 0, 0, 0], [7, 0, 0, 0]];
/// let sum = bases.msm(bytemuck::cast_slice(&scalars), ScalarForm::Plain)?;
/// let single = bases.msm(bytemuck::cast_slice(&[[12u64, 0, 0, 0]]), ScalarForm::Plain)?;
/// assert_eq!(sum, single); // 5 G + 7 G = 12 G
/// # Ok::<(), ringforge_msm::MsmError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bases(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    engine: Engine,
    curve: Curve,
    points: Buffer,
    count: usize,
    in_subgroup: bool,
    tuning: Tuning,
}

impl Bases {
    /// Copies points to the engine's device. A point is x ‖ y in Montgomery form, little-endian, with c0 ‖ c1 for a
    /// coordinate c0 + c1 u; [`Curve::point`] makes one. Infinity has all bits set.
    ///
    /// # Errors
    /// [`MsmError::Length`] unless `points` holds whole points; [`MsmError::Point`] for a point that fails the check;
    /// [`MsmError::Engine`] if device memory runs out or a driver call fails.
    pub fn upload(engine: &Engine, curve: &Curve, points: &[u8], check: Check) -> Result<Self, MsmError> {
        Self::with_tuning(engine, curve, points, check, Tuning::new(engine.device().limits()))
    }

    /// Like [`Bases::upload`], with small blocks, for tests on devices where large ones are slow.
    ///
    /// # Errors
    /// As [`Bases::upload`].
    #[cfg(feature = "testkit")]
    pub fn small(engine: &Engine, curve: &Curve, points: &[u8]) -> Result<Self, MsmError> {
        Self::with_tuning(engine, curve, points, Check::OnCurve, Tuning::SMALL)
    }

    fn with_tuning(
        engine: &Engine,
        curve: &Curve,
        points: &[u8],
        check: Check,
        tuning: Tuning,
    ) -> Result<Self, MsmError> {
        let count = elements("points", points, curve.point_bytes())?;
        if check == Check::OnCurve {
            with_group!(curve.group(), group => check_points(&group, points))?;
        }
        let points = engine.stream()?.upload(points)?;
        let in_subgroup = curve.has_prime_order();
        Ok(Self(Arc::new(Inner { engine: engine.clone(), curve: curve.clone(), points, count, in_subgroup, tuning })))
    }

    /// The same bases, with the caller's promise that r times each point is infinity, for the order r of the curve.
    /// Multiplications are then faster by one bit of each scalar, and negatives of small scalars cost as little as small
    /// scalars. Without need for [curves of prime order](Curve::has_prime_order). If the promise is false, sums are
    /// wrong.
    #[must_use]
    pub fn in_subgroup(self) -> Self {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => Self(Arc::new(Inner { in_subgroup: true, ..inner })),
            Err(shared) => Self(shared),
        }
    }

    /// The number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.count
    }

    /// Returns true if there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The curve.
    #[must_use]
    pub fn curve(&self) -> &Curve {
        &self.0.curve
    }

    /// Returns the sum of the first points times these scalars, one for each point, as a point of the form of
    /// [`Bases::upload`].
    ///
    /// # Errors
    /// [`MsmError::Length`] unless `scalars` holds whole scalars; [`MsmError::TooManyScalars`] for more scalars than
    /// points; [`MsmError::Scalar`] for a scalar that is not below the order; [`MsmError::Engine`] if device memory
    /// runs out or a driver call fails. The first call for a number of scalars compiles the program, so it may also
    /// return the errors of [`Engine::program_of`].
    pub fn msm(&self, scalars: &[u8], form: ScalarForm) -> Result<Vec<u8>, MsmError> {
        self.msm_batch(scalars, form, 1)
    }

    /// Returns `batch` sums, one after another, each for an equal part of the scalars. All use the same points.
    ///
    /// # Errors
    /// As [`Bases::msm`].
    pub fn msm_batch(&self, scalars: &[u8], form: ScalarForm, batch: usize) -> Result<Vec<u8>, MsmError> {
        let count = elements("scalars", scalars, SCALAR * batch.max(1))?;
        let bytes = self.0.curve.point_bytes();
        if count == 0 {
            return Ok(vec![0xff; bytes * batch]);
        }
        let stream = self.0.engine.stream()?;
        let scalars = stream.upload_secret(scalars)?;
        self.msm_on(&stream, &scalars, form, batch)
    }

    /// Like [`Bases::msm_batch`], for scalars on the device.
    ///
    /// # Errors
    /// As [`Bases::msm`].
    pub fn msm_on(
        &self,
        stream: &Stream,
        scalars: &Buffer,
        form: ScalarForm,
        batch: usize,
    ) -> Result<Vec<u8>, MsmError> {
        let (program, shape) = self.program(scalars, form, batch)?;
        let Inner { engine, curve, points, .. } = &*self.0;
        let (count, size) = (shape.count, program.plan().arg("totals").map_or(0, |arg| arg.bytes));
        let mut totals = stream.secret_buffer(batch * size)?;
        let mut statuses = stream.zeros(4 * batch)?;
        let call = program.on(stream, batch).input("scalars", scalars).input("bases", points);
        call.output("totals", &mut totals).output("statuses", &mut statuses).run()?;
        let statuses: Vec<u32> = stream.download(&statuses)?;
        if let Some((item, status)) = statuses.iter().enumerate().find(|(_, status)| **status != OK) {
            return Err(MsmError::Scalar(item * count + (status.max(&2) - 2) as usize));
        }
        let totals: Zeroizing<Vec<u8>> = Zeroizing::new(stream.download(&totals)?);
        let on_cpu = engine.device().limits().is_cpu();
        Ok(with_group!(curve.group(), group => {
            totals.chunks(size).flat_map(|total| finish(&group, total, on_cpu, shape.window())).collect()
        }))
    }

    /// Returns the name and the time in milliseconds of each step of a multiplication on the device.
    ///
    /// # Errors
    /// As [`Bases::msm`]; [`MsmError::Engine`] if the device cannot measure times.
    pub fn step_times(
        &self,
        stream: &Stream,
        scalars: &Buffer,
        form: ScalarForm,
    ) -> Result<Vec<(String, f64)>, MsmError> {
        let (program, _) = self.program(scalars, form, 1)?;
        let mut totals = stream.secret_buffer(program.plan().arg("totals").map_or(0, |arg| arg.bytes))?;
        let mut statuses = stream.zeros(4)?;
        let call = program.on(stream, 1).input("scalars", scalars).input("bases", &self.0.points);
        let times = call.output("totals", &mut totals).output("statuses", &mut statuses).run_timed()?;
        let names = program.plan().kernels().map(|kernel| format!("{} {}", kernel.name(), kernel.describe()));
        Ok(names.zip(times.into_iter().map(|seconds| 1e3 * seconds)).collect())
    }

    /// Returns the program of a multiplication, and its shape.
    fn program(&self, scalars: &Buffer, form: ScalarForm, batch: usize) -> Result<(Program, Shape), MsmError> {
        let Inner { engine, curve, count: bases, tuning, .. } = &*self.0;
        let count = scalars.len() / (SCALAR * batch.max(1));
        if count > *bases {
            return Err(MsmError::TooManyScalars { scalars: count, bases: *bases });
        }
        let of = self.scalars(form);
        let shape = plans::shape(count, &of, *tuning);
        let key = (curve.clone(), shape, form, self.0.in_subgroup, *bases);
        Ok((engine.program_of(&key, |planner| self.plan(planner, shape, &of))?, shape))
    }

    fn plan(&self, planner: &Planner, shape: Shape, of: &Scalars) -> ringforge::Result<Plan> {
        let Inner { engine, curve, count, .. } = &*self.0;
        match engine.device().limits().is_cpu() {
            true => plans::on_cpu(planner, curve, shape.count, of, *count),
            false => plans::on_gpu(planner, curve, shape, of, *count),
        }
    }

    fn scalars(&self, form: ScalarForm) -> Scalars {
        let Inner { curve, in_subgroup, .. } = &*self.0;
        Scalars { field: Prime::new(curve.order()), montgomery: form == ScalarForm::Montgomery, flips: *in_subgroup }
    }
}

/// Returns the number of elements of this size.
fn elements(what: &'static str, bytes: &[u8], size: usize) -> Result<usize, MsmError> {
    match bytes.len().is_multiple_of(size) {
        true => Ok(bytes.len() / size),
        false => Err(MsmError::Length { what, expected: size, got: bytes.len() }),
    }
}

fn check_points<F: crate::field::Field>(group: &Group<F>, points: &[u8]) -> Result<(), MsmError> {
    use rayon::prelude::*;
    let size = size_of::<Affine<F>>();
    let bad = points.par_chunks(size).position_first(|point| !group.holds(&bytemuck::pod_read_unaligned(point)));
    bad.map_or(Ok(()), |point| Err(MsmError::Point(point)))
}

/// Returns the affine sum of a multiplication, from the points that its plan computes.
fn finish<F: crate::field::Field>(group: &Group<F>, total: &[u8], on_cpu: bool, windows: Windows) -> Vec<u8> {
    let points: Vec<Xyzz<F>> = read(total);
    let sum = if on_cpu {
        points[0]
    } else {
        let window = |parts: &[Xyzz<F>]| {
            let rows = (0..windows.columns()).fold(parts[0], |sum, _| group.double(&sum));
            group.add(&rows, &parts[1])
        };
        let sums: Vec<_> = points.chunks_exact(2).map(window).collect();
        horner(group, &sums, windows.width)
    };
    bytemuck::bytes_of(&group.to_affine(&sum)).to_vec()
}

fn read<T: Pod>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}
