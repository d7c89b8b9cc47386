//! Multiplication by bases that stay in host memory.

use std::collections::VecDeque;

use ringforge::{Engine, Stream};

use crate::bases::{Bases, Check, ScalarForm, Sums, check_points};
use crate::curve::{Curve, with_group};
use crate::error::{MsmError, elements};
use crate::kernels::SCALAR;

/// Points in host memory, for more bases than fit into the device's memory. A multiplication copies them to the device
/// in parts, and a part is copied while the one before is multiplied. [Page-locked](ringforge::Device::pinned) memory is
/// copied fastest.
///
/// ```
/// use ringforge::Engine;
/// use ringforge_msm::{Check, Curve, HostBases, ScalarForm};
///
/// let curve = Curve::bn254();
/// let points = curve.point(&[1], &[2]).repeat(5); // (1, 2) is on y² = x³ + 3
/// let bases = HostBases::new(&Engine::best(), &curve, &points, Check::OnCurve)?.in_parts_of(2);
/// let sum = bases.msm(bytemuck::cast_slice(&[[3u64, 0, 0, 0]; 5]), ScalarForm::Plain)?;
/// assert_eq!(sum, bases.msm(bytemuck::cast_slice(&[[15u64, 0, 0, 0]]), ScalarForm::Plain)?);
/// # Ok::<(), ringforge_msm::MsmError>(())
/// ```
#[derive(Debug, Clone)]
pub struct HostBases<'a> {
    engine: Engine,
    curve: Curve,
    points: &'a [u8],
    in_subgroup: bool,
    /// Points of a part.
    part: usize,
}

impl<'a> HostBases<'a> {
    /// Points in the form of [`Bases::upload`], to be multiplied on the engine's device. A part has at most 2^24 points,
    /// and two of them with what their multiplication needs take at most half of the device's memory.
    ///
    /// # Errors
    /// [`MsmError::Length`] unless `points` holds whole points; [`MsmError::Point`] for a point that fails the check.
    pub fn new(engine: &Engine, curve: &Curve, points: &'a [u8], check: Check) -> Result<Self, MsmError> {
        elements("points", points, curve.point_bytes())?;
        if check == Check::OnCurve {
            with_group!(&curve.group(), group => check_points(group, points))?;
        }
        let (engine, curve) = (engine.clone(), curve.clone());
        let part = largest_part(&engine, &curve)?;
        Ok(Self { engine, curve, points, in_subgroup: false, part })
    }

    /// As [`Bases::in_subgroup`].
    #[must_use]
    pub fn in_subgroup(self) -> Self {
        Self { in_subgroup: true, ..self }
    }

    /// The same bases in parts of this number of points, at least one.
    #[must_use]
    pub fn in_parts_of(self, points: usize) -> Self {
        let all = self.points.len() / self.curve.point_bytes();
        Self { part: points.clamp(1, all.max(1)), ..self }
    }

    /// Returns the sum of the first points times these scalars, as [`Bases::msm`] does.
    ///
    /// # Errors
    /// As [`Bases::msm`].
    pub fn msm(&self, scalars: &[u8], form: ScalarForm) -> Result<Vec<u8>, MsmError> {
        let (count, size) = (elements("scalars", scalars, SCALAR)?, self.curve.point_bytes());
        let bases = self.points.len() / size;
        if count > bases {
            return Err(MsmError::TooManyScalars { scalars: count, bases });
        }
        let device = self.engine.device();
        let streams = [device.stream()?, device.stream()?];
        let (mut running, mut sums) = (VecDeque::new(), Vec::new());
        let parts = self.points.chunks(self.part * size).zip(scalars.chunks(self.part * SCALAR));
        for (number, (points, scalars)) in parts.enumerate() {
            // a part waits until the last but one is done, so that memory for two is enough
            if running.len() == 2 {
                running.pop_front().map(|part| self.finish(part, &mut sums)).transpose()?;
            }
            let stream = &streams[number % 2];
            let points = &points[..size * (scalars.len() / SCALAR)];
            let bases = Bases::on(stream, &self.engine, &self.curve, points)?;
            let bases = if self.in_subgroup { bases.in_subgroup() } else { bases };
            let scalars = stream.upload_secret(scalars)?;
            running.push_back((number, stream, Sums::start(stream, &[&bases], &scalars, form, 1)?));
        }
        running.into_iter().try_for_each(|part| self.finish(part, &mut sums))?;
        self.curve.sum(&sums)
    }

    /// Waits for a part, and appends its sum.
    fn finish(&self, (number, stream, part): (usize, &Stream, Sums), sums: &mut Vec<u8>) -> Result<(), MsmError> {
        let sum = part.finish(stream).map_err(|error| match error {
            MsmError::Scalar(i) => MsmError::Scalar(number * self.part + i),
            error => error,
        })?;
        sums.extend(sum.concat());
        Ok(())
    }
}

/// The most points, a power of two, of which two parts take at most half of the device's memory.
fn largest_part(engine: &Engine, curve: &Curve) -> Result<usize, MsmError> {
    let (planner, limits) = (engine.planner(), engine.device().limits());
    for points in (12..=24).rev().map(|log| 1 << log) {
        let plan = Sums::plan(planner, &[(curve.clone(), points)], points, ScalarForm::Plain, false)?;
        let bytes = plan.temporary_bytes(1) + points * (curve.point_bytes() + SCALAR);
        if 4 * bytes as u64 <= limits.memory_bytes {
            return Ok(points);
        }
    }
    Ok(1 << 12)
}
