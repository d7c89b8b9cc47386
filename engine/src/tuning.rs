//! Choices of a planner that change only the speed.

mod file;

use std::path::Path;

use crate::arithmetic::Arithmetic;
use crate::job::{Job, Op};
use ringforge_math::error::{Error, Result};
use ringforge_math::modulus::Modulus;
use ringforge_runtime::limits::Limits;

/// How a transform, or a product by transforms, is computed. The default is the choice that was fastest on an H200. A
/// choice that a job or a device does not allow falls back to the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Choice {
    /// Whether threads exchange residues by warp shuffles in place of shared memory. For each bit of the lane index, a
    /// thread exchanges half of its registers. This applies between two passes on limbs that lie within a warp, with
    /// words of up to 64 bits.
    pub shuffles: bool,
    /// The arithmetic, one of [`Arithmetic::all_of_device`].
    pub arithmetic: Option<Arithmetic>,
    /// Number of kernels among which the layers of a transform are divided.
    pub kernels: Option<usize>,
    /// Coefficients per thread in registers.
    pub per_thread: Option<usize>,
    /// Blocks of a thread-block cluster that share a limb, in one kernel for all layers; 1 for no clusters.
    pub cluster: Option<usize>,
}

/// The key of a choice. Jobs with the same key may differ in everything else, such as order, quotient and number of
/// moduli.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Shape {
    op: Op,
    /// Size of the largest modulus in bits, rounded up to one of `BITS`.
    bits: u32,
    /// Degree of the ring.
    n: usize,
}

impl Shape {
    /// Sizes of moduli in bits at which the arithmetic changes.
    const BITS: [u32; 7] = [16, 30, 31, 50, 62, 64, 256];

    fn of(job: &Job) -> Self {
        let bits = job.poly.basis().iter().map(Modulus::bits).max().unwrap_or(0);
        let bits = Self::BITS.into_iter().find(|most| bits <= *most).unwrap_or(bits);
        Self { op: job.op, bits, n: job.poly.degree() }
    }
}

/// Choices that change only the speed of plans, for one device. Each choice applies to jobs with the same operation,
/// size of moduli and degree. Other jobs use the choice that was fastest on an H200.
///
/// `ringforge tune` measures a device and writes such choices into a file.
///
/// ```
/// use ringforge::{Job, Limits, Modulus, Op, Planner, Ring};
/// use ringforge::tuning::{Choice, Tuning};
/// let limits = Limits::h200();
/// let ring = Ring::negacyclic(1 << 16, Modulus::new(1_152_921_504_606_584_833u64)?)?;
/// let job = Job::new(&ring, Op::Forward);
///
/// let mut choice = Choice::default();
/// (choice.shuffles, choice.kernels) = (true, Some(3));
/// let mut tuning = Tuning::default();
/// tuning.choose(&job, choice);
///
/// // the same tuning, from the contents of a file
/// let text = tuning.to_text(&limits);
/// assert!(text.contains("kernels = 3"));
/// let tuning = Tuning::from_text(&text, &limits)?;
/// let plan = Planner::new(limits).tuned(tuning).plan(&job)?;
/// assert_eq!(plan.kernels().len(), 3);
/// assert!(plan.to_string().contains("by shuffles"));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Tuning {
    choices: Vec<(Shape, Choice)>,
    unfused: bool,
}

impl Tuning {
    /// The same tuning with kernel fusion off: every step of a pipeline stays a separate kernel.
    ///
    /// ```
    /// use ringforge::tuning::Tuning;
    /// use ringforge::{Limits, Pipeline, Planner, Ring};
    /// let ring: Ring = "257:x^64+1".parse()?;
    /// let plan = |tuning| {
    ///     let p = Planner::new(Limits::h200()).tuned(tuning).pipeline("a b + c");
    ///     let [a, b, c] = ["a", "b", "c"].map(|name| p.coefficients(name, &ring));
    ///     p.output("d", a * b + c);
    ///     p.build()
    /// };
    /// assert_eq!(plan(Tuning::default().unfused())?.kernels().len(), 2);
    /// let fused = plan(Tuning::default())?;
    /// assert_eq!(fused.kernels().len(), 1);
    /// assert!(fused.to_string().contains("fused: this + operand"));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    pub fn unfused(self) -> Self {
        Self { unfused: true, ..self }
    }

    /// Whether steps are fused.
    pub(crate) const fn fuses(&self) -> bool {
        !self.unfused
    }

    /// The choice for a job.
    #[must_use]
    pub fn choice(&self, job: &Job) -> Choice {
        let shape = Shape::of(job);
        self.choices.iter().find(|(of, _)| *of == shape).map_or_else(Choice::default, |(_, choice)| *choice)
    }

    /// Sets the choice for a job, and for all jobs with the same operation, degree and size of moduli.
    pub fn choose(&mut self, job: &Job, choice: Choice) {
        let shape = Shape::of(job);
        self.choices.retain(|(of, _)| *of != shape);
        if choice != Choice::default() {
            self.choices.push((shape, choice));
        }
    }

    /// Reads a file that [`Tuning::save`] or `ringforge tune` wrote for a device with these limits.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read or is malformed; [`Error::Mismatch`] if the device name in the file
    /// is not that of `limits`.
    pub fn load(path: impl AsRef<Path>, limits: &Limits) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| Error::file(path.display(), error))?;
        Self::from_text(&text, limits).map_err(|error| match error {
            Error::File { why, .. } => Error::file(path.display(), why),
            Error::Mismatch { what, expected, got } => {
                Error::Mismatch { what: format!("{}: {what}", path.display()), expected, got }
            }
            error => error,
        })
    }

    /// Writes this tuning to a file, for the device with these limits.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>, limits: &Limits) -> Result<()> {
        let path = path.as_ref();
        std::fs::write(path, self.to_text(limits)).map_err(|error| Error::file(path.display(), error))
    }
}
