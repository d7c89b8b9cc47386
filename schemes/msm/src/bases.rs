//! Bases on a device, and their multiplication by scalars.

use std::sync::Arc;

use bytemuck::Pod;
use rayon::prelude::*;
use ringforge::run::BufferSlice;
use ringforge::{Buffer, Engine, Plan, Planner, Program, Stream};
use zeroize::Zeroizing;

use crate::cpu;
use crate::curve::{AnyGroup, Curve, with_group};
use crate::digits::{Scalars, Windows};
use crate::error::{MsmError, elements};
use crate::field::Prime;
use crate::group::{Affine, Group, Xyzz};
use crate::kernels::{OK, SCALAR, Shape};
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
pub struct Bases {
    inner: Arc<Inner>,
    in_subgroup: bool,
}

#[derive(Debug)]
struct Inner {
    engine: Engine,
    curve: Curve,
    group: AnyGroup,
    order: Prime<4>,
    /// The bases, or tables of their multiples for each window.
    points: Buffer,
    count: usize,
    tables: Option<Windows>,
}

impl Bases {
    /// Copies points to the engine's device. A point is x ‖ y in Montgomery form, little-endian, with c0 ‖ c1 for a
    /// coordinate c0 + c1 u; [`Curve::point`] makes one. Infinity has all bits set.
    ///
    /// # Errors
    /// [`MsmError::Length`] unless `points` holds whole points; [`MsmError::Point`] for a point that fails the check;
    /// [`MsmError::Engine`] if device memory runs out or a driver call fails.
    pub fn upload(engine: &Engine, curve: &Curve, points: &[u8], check: Check) -> Result<Self, MsmError> {
        elements("points", points, curve.point_bytes())?;
        if check == Check::OnCurve {
            with_group!(&curve.group(), group => check_points(group, points))?;
        }
        Self::on(engine.stream()?, engine, curve, points)
    }

    /// Copies whole points, which are not checked, to the device of a stream.
    pub(crate) fn on(stream: &Stream, engine: &Engine, curve: &Curve, points: &[u8]) -> Result<Self, MsmError> {
        let count = points.len() / curve.point_bytes();
        let (group, order) = (curve.group(), Prime::new(curve.order()));
        let points = stream.upload(points)?;
        let in_subgroup = curve.has_prime_order();
        let (engine, curve) = (engine.clone(), curve.clone());
        Ok(Self { inner: Arc::new(Inner { engine, curve, group, order, points, count, tables: None }), in_subgroup })
    }

    /// The same bases, with the caller's promise that r times each point is infinity, for the order r of the curve.
    /// Multiplications are then faster by one bit of each scalar, and negatives of small scalars cost as little as small
    /// scalars. Without need for [curves of prime order](Curve::has_prime_order). If the promise is false, sums are
    /// wrong.
    #[must_use]
    pub fn in_subgroup(self) -> Self {
        Self { in_subgroup: true, ..self }
    }

    /// The same bases with tables of their multiples by powers of two, one for each window of digits, if these take at
    /// most this many bytes of device memory. They are 12 to 64 times as large as the bases.
    ///
    /// A multiplication by at least half as many scalars as there are bases then has one set of buckets, in place of one
    /// for each window. On a CPU there are no tables. [`Bases::has_tables`] tells whether there are.
    ///
    /// Call [`Bases::in_subgroup`] first, because tables depend on it.
    ///
    /// # Errors
    /// [`MsmError::Engine`] if device memory runs out or a driver call fails.
    pub fn with_tables(self, bytes: usize) -> Result<Self, MsmError> {
        let Inner { engine, curve, group, order, count, .. } = &*self.inner;
        let (count, size) = (*count, curve.point_bytes());
        let of = scalars_of(*order, ScalarForm::Plain, self.in_subgroup);
        let windows = plans::windows_of_tables(count, bytes / size, &of);
        let limits = engine.device().limits();
        let Some(windows) = windows.filter(|_| !limits.is_cpu() && count > 0 && self.inner.tables.is_none()) else {
            return Ok(self);
        };
        let stream = engine.stream()?;
        let table = count * size;
        let mut tables = stream.zeros(windows.count * table)?;
        let mut points = stream.duplicate(&self.inner.points)?;
        stream.copy(&points, tables.slice_mut(0..table)?)?;
        for window in 1..windows.count {
            let times = windows.width(window - 1);
            let key = ("doubled", curve.clone(), count, times);
            let program = engine.program_of(&key, |planner| plans::doubled(planner, curve, count, times))?;
            let mut multiples = stream.zeros(table)?;
            program.on(stream, 1).input("points", &points).output("multiples", &mut multiples).run()?;
            stream.copy(&multiples, tables.slice_mut(window * table..(window + 1) * table)?)?;
            points = multiples;
        }
        let (engine, curve, group, order) = (engine.clone(), curve.clone(), *group, *order);
        let inner = Inner { engine, curve, group, order, points: tables, count, tables: Some(windows) };
        Ok(Self { inner: Arc::new(inner), in_subgroup: self.in_subgroup })
    }

    /// Returns true if there are [tables of multiples](Bases::with_tables).
    #[must_use]
    pub fn has_tables(&self) -> bool {
        self.inner.tables.is_some()
    }

    /// The number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.count
    }

    /// Returns true if there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device memory that the points take, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.inner.points.len()
    }

    /// The curve.
    #[must_use]
    pub fn curve(&self) -> &Curve {
        &self.inner.curve
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
        let count = elements("scalars", scalars, SCALAR.saturating_mul(batch.max(1)))?;
        let bytes = self.inner.curve.point_bytes();
        if count == 0 {
            let (mut sums, bytes) = (Vec::new(), bytes.saturating_mul(batch));
            sums.try_reserve_exact(bytes).map_err(|_| ringforge::Error::OutOfMemory { bytes })?;
            sums.resize(bytes, 0xff);
            return Ok(sums);
        }
        let stream = self.inner.engine.stream()?;
        let scalars = stream.upload_secret(scalars)?;
        self.msm_on(stream, &scalars, form, batch)
    }

    /// Like [`Bases::msm_batch`], for scalars on the device.
    ///
    /// # Errors
    /// As [`Bases::msm`].
    pub fn msm_on<'a>(
        &self,
        stream: &Stream,
        scalars: impl Into<BufferSlice<'a>>,
        form: ScalarForm,
        batch: usize,
    ) -> Result<Vec<u8>, MsmError> {
        Ok(Sums::start(stream, &[self], scalars, form, batch)?.finish(stream)?.concat())
    }
}

/// Multiplications of several [`Bases`] by the same scalars, whose digits are sorted once for all of them. The points may
/// be on different curves of the same order.
#[derive(Debug)]
pub struct Sums {
    groups: Vec<AnyGroup>,
    on_cpu: bool,
    shape: Shape,
    batch: usize,
    totals: Vec<Buffer>,
    statuses: Vec<Buffer>,
}

impl Sums {
    /// Enqueues the multiplications on a stream; on a GPU the call returns before the work is done. `scalars` holds those
    /// of `batch` multiplications, one after another.
    ///
    /// # Errors
    /// As [`Bases::msm`]; [`MsmError::Order`] if the bases' curves have different orders.
    pub fn start<'a>(
        stream: &Stream,
        bases: &[&Bases],
        scalars: impl Into<BufferSlice<'a>>,
        form: ScalarForm,
        batch: usize,
    ) -> Result<Self, MsmError> {
        let scalars = scalars.into();
        let (program, shape) = program(bases, scalars.len(), form, batch)?;
        let bytes = |name: &String| program.plan().arg(name).map_or(0, |arg| arg.bytes);
        let (names, batch) = (names(bases.len()), batch.max(1));
        let totals = names.iter().map(|[_, total, _]| stream.secret_buffer(batch * bytes(total)));
        let mut totals = totals.collect::<ringforge::Result<Vec<Buffer>>>()?;
        let mut statuses = names.iter().map(|_| stream.zeros(4 * batch)).collect::<ringforge::Result<Vec<Buffer>>>()?;
        let mut call = program.on(stream, batch).input("scalars", scalars);
        let outputs = totals.iter_mut().zip(&mut statuses);
        for (([base, total, status], own), (to, to_status)) in names.iter().zip(bases).zip(outputs) {
            call = call.input(base, &own.inner.points).output(total, to).output(status, to_status);
        }
        call.run()?;
        let (groups, on_cpu) =
            (bases.iter().map(|bases| bases.inner.group).collect(), stream.device().limits().is_cpu());
        Ok(Self { groups, on_cpu, shape, batch, totals, statuses })
    }

    /// Compiles the program of multiplications of `count` scalars, so that the first [`Sums::start`] need not.
    ///
    /// # Errors
    /// As [`Sums::start`].
    pub fn compile(bases: &[&Bases], count: usize, form: ScalarForm) -> Result<(), MsmError> {
        program(bases, SCALAR * count, form, 1).map(|_| ())
    }

    /// The plan of the program that [`Sums::start`] runs for one multiplication of `count` scalars, without
    /// [tables](Bases::with_tables): to know its
    /// [memory](Plan::temporary_bytes) beforehand, or to compile it into a [`Bundle`](ringforge::cuda::Bundle). `terms` are
    /// the curve and the number of points of each of the bases.
    ///
    /// # Errors
    /// [`Error::TooLarge`](ringforge::Error::TooLarge) for more scalars than 32-bit counts of digits allow.
    pub fn plan(
        planner: &Planner,
        terms: &[(Curve, usize)],
        count: usize,
        form: ScalarForm,
        in_subgroup: bool,
    ) -> ringforge::Result<Plan> {
        let order = terms.first().map_or([3, 0, 0, 0], |(curve, _)| curve.order());
        let of = scalars_of(Prime::new(order), form, in_subgroup);
        plan_of(planner, plans::shape(planner.limits(), count, &of), &of, terms)
    }

    /// Waits for the stream, and returns the sums for each of the bases: one point per multiplication of the batch, in
    /// the form of [`Bases::upload`].
    ///
    /// # Errors
    /// [`MsmError::Scalar`] for a scalar that is not below the order; [`MsmError::Engine`] if a driver call fails.
    pub fn finish(self, stream: &Stream) -> Result<Vec<Vec<u8>>, MsmError> {
        let Self { groups, on_cpu, shape, batch, totals, statuses } = self;
        for statuses in statuses {
            let statuses: Vec<u32> = stream.download(&statuses)?;
            match statuses.iter().enumerate().find(|(_, status)| **status != OK) {
                None => {}
                Some((item, 0)) => {
                    let why = format!("multiplication {item} was not reached");
                    return Err(ringforge::Error::Kernel { kernel: "msm".into(), why }.into());
                }
                Some((item, status)) => return Err(MsmError::Scalar(item * shape.given + (status - OK - 1) as usize)),
            }
        }
        let totals = totals.iter().map(|totals| Ok(Zeroizing::new(stream.download(totals)?)));
        let totals = totals.collect::<ringforge::Result<Vec<Zeroizing<Vec<u8>>>>>()?;
        let finish = |group: &AnyGroup, item: &[u8]| -> Vec<u8> {
            with_group!(group, group => finish(group, item, on_cpu, shape.windows))
        };
        if let ([group], [totals], 1) = (&groups[..], &totals[..], batch) {
            // there is nothing to divide among threads
            return Ok(vec![finish(group, totals)]);
        }
        ringforge_cpu::threads::start();
        let sums = groups.par_iter().zip(&totals).map(|(group, totals)| {
            totals.par_chunks(totals.len() / batch).flat_map_iter(|item| finish(group, item)).collect()
        });
        Ok(sums.collect())
    }
}

/// The names of a program's arguments for each of the bases: the bases, the totals and the statuses.
pub(crate) fn names(bases: usize) -> Vec<[String; 3]> {
    (0..bases).map(|i| ["bases", "totals", "statuses"].map(|name| format!("{name} {i}"))).collect()
}

/// Returns the program that multiplies bases by the same scalars, of this size in bytes, and its shape.
fn program(bases: &[&Bases], scalars: usize, form: ScalarForm, batch: usize) -> Result<(Program, Shape), MsmError> {
    let size = SCALAR.saturating_mul(batch.max(1));
    let count = scalars / size;
    if count == 0 || !scalars.is_multiple_of(size) {
        return Err(MsmError::Length { what: "scalars", expected: size, got: scalars });
    }
    if let Some(bases) = bases.iter().map(|bases| bases.len()).find(|bases| *bases < count) {
        return Err(MsmError::TooManyScalars { scalars: count, bases });
    }
    let Some(Inner { engine, order, .. }) = bases.first().map(|bases| &*bases.inner) else {
        return Err(MsmError::Length { what: "bases", expected: 1, got: 0 });
    };
    if bases.iter().any(|bases| bases.inner.order != *order) {
        return Err(MsmError::Order);
    }
    let in_subgroup = bases.iter().all(|bases| bases.in_subgroup);
    let of = scalars_of(*order, form, in_subgroup);
    let limits = engine.device().limits();
    let shape = match common_tables(bases, &of) {
        Some((windows, all)) if 2 * count >= all => plans::of_tables(limits, all, count, windows),
        _ => plans::shape(limits, count, &of),
    };
    let points = |bases: &Bases| bases.inner.points.len() / bases.inner.curve.point_bytes();
    let terms: Vec<_> = bases.iter().map(|bases| (bases.inner.curve.clone(), points(bases))).collect();
    let key = (terms.clone(), shape, form, in_subgroup);
    Ok((engine.program_of(&key, |planner| plan_of(planner, shape, &of, &terms))?, shape))
}

/// The windows of the bases' tables and the number of bases, if all have such tables, and they are for these scalars.
fn common_tables(bases: &[&Bases], of: &Scalars) -> Option<(Windows, usize)> {
    let mut all = bases.iter().map(|bases| Some((bases.inner.tables?, bases.len())));
    let first = all.next().flatten().filter(|(windows, _)| *windows == Windows::new(windows.width, of));
    first.filter(|_| all.all(|other| other == first))
}

fn plan_of(planner: &Planner, shape: Shape, of: &Scalars, terms: &[(Curve, usize)]) -> ringforge::Result<Plan> {
    if planner.limits().is_cpu() {
        return plans::on_cpu(planner, shape.given, of, terms);
    }
    // the kernels count the digits of all windows in words of 32 bits
    let digits = shape.windows.count.saturating_mul(shape.count);
    if u32::try_from(digits).is_err() {
        let (what, limit) = ("the digits of all scalars", u32::MAX as usize);
        return Err(ringforge::Error::TooLarge { what, limit, got: digits });
    }
    plans::on_gpu(planner, shape, of, terms)
}

fn scalars_of(field: Prime<4>, form: ScalarForm, in_subgroup: bool) -> Scalars {
    Scalars { field, montgomery: form == ScalarForm::Montgomery, flips: in_subgroup }
}

pub(crate) fn check_points<F: crate::field::Field>(group: &Group<F>, points: &[u8]) -> Result<(), MsmError> {
    ringforge_cpu::threads::start();
    let size = size_of::<Affine<F>>();
    let bad = points.par_chunks(size).position_first(|point| !group.holds(&bytemuck::pod_read_unaligned(point)));
    bad.map_or(Ok(()), |point| Err(MsmError::Point(point)))
}

/// Returns the affine sum of a multiplication, from the points that its plan computes.
fn finish<F: crate::field::Field>(group: &Group<F>, total: &[u8], on_cpu: bool, windows: Windows) -> Vec<u8> {
    let points: Zeroizing<Vec<Xyzz<F>>> = Zeroizing::new(read(total));
    let sum = if on_cpu {
        points[0]
    } else {
        let columns = windows.columns();
        let halves = points.chunks_exact(2).enumerate().rev();
        cpu::horner(group, halves.flat_map(|(i, of)| [(windows.width(i) - columns, of[0]), (columns, of[1])]))
    };
    bytemuck::bytes_of(&group.to_affine(&sum)).to_vec()
}

fn read<T: Pod>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}
