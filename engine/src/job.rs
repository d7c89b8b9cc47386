//! Jobs: an operation on a ring, its options, and the bounds of its operands.

use core::fmt;

use crypto_bigint::U256;

use ringforge_math::decimal::decimal;
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::{Order, PolyType};

/// An operation. Its plan has the following arguments, each one ring element per item:
///
/// | operation | inputs | outputs |
/// | --- | --- | --- |
/// | `Forward` | `from`: coefficients | `to`: evaluations |
/// | `Inverse` | `from`: evaluations | `to`: coefficients |
/// | either, [in place](Job::in_place) | `data` | `data` |
/// | `PointMul` | `a`, `b`: evaluations | `product`: evaluations |
/// | `MulAdd` | `a`, `b`, `sum`: evaluations | `sum`: with the product added |
/// | `Mul` | `a`, `b`: coefficients | `product`: coefficients |
/// | `Compose` | `from`: coefficients (RNS limbs) | `to`: integers, see [`Op::Compose`] |
/// | `Decompose` | `from`: integers | `to`: coefficients (RNS limbs), see [`Op::Decompose`] |
/// | `Convert`, `ConvertCentred`, `ConvertFast` | `from`: coefficients | `to`: coefficients of the [target](Job::to), see [`Op::Convert`] |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// Forward NTT, from coefficients to evaluations (residues modulo the factors of f).
    Forward,
    /// Inverse NTT, from evaluations to coefficients. It undoes `Forward`: the normalisation factor is folded in.
    Inverse,
    /// Pointwise product of evaluations.
    PointMul,
    /// Pointwise product of evaluations, added to a third operand.
    MulAdd,
    /// Product of ring elements, from coefficients to coefficients.
    Mul,
    /// CRT composition: the integers in [0, Q) that RNS limbs represent, for the product Q of the moduli. The output is
    /// one integer per coefficient, in ⌈bits(Q)/64⌉ 64-bit words, least significant first. `Compose` and the operations
    /// below take RNS bases of at most 64 moduli of up to 64 bits.
    Compose,
    /// RNS decomposition: reduces integers modulo each modulus. The input is one integer of any value per coefficient,
    /// in ⌈bits(Q)/64⌉ 64-bit words for the product Q of the moduli, least significant first.
    Decompose,
    /// Exact base conversion from one RNS basis to another, the job's [target](Job::to). It reduces the integer in
    /// [0, Q) that the limbs represent modulo each modulus of the target, where Q is the product of the source moduli.
    /// Conversions, including the two below, convert the elements of a [vector](PolyType::vector) one by one.
    Convert,
    /// Exact base conversion to the job's [target](Job::to) of the centred integer in (−Q/2, Q/2] that the limbs
    /// represent, where Q is the product of the source moduli.
    ConvertCentred,
    /// Fast base conversion (BEHZ, eprint 2016/510) of an integer x in [0, Q) with residues x_i modulo k moduli q_i of
    /// product Q. It reduces Σ (x_i·(Q/q_i)^-1 mod q_i)·(Q/q_i) = x + u·Q modulo each modulus of the target, with an
    /// unspecified integer 0 ≤ u < k. It takes two thirds of the work of the exact conversion between bases of equal
    /// size.
    ConvertFast,
}

impl Op {
    const ALL: [Self; 10] = [
        Self::Forward,
        Self::Inverse,
        Self::PointMul,
        Self::MulAdd,
        Self::Mul,
        Self::Compose,
        Self::Decompose,
        Self::Convert,
        Self::ConvertCentred,
        Self::ConvertFast,
    ];
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forward => "forward",
            Self::Inverse => "inverse",
            Self::PointMul => "point_mul",
            Self::MulAdd => "mul_add",
            Self::Mul => "mul",
            Self::Compose => "compose",
            Self::Decompose => "decompose",
            Self::Convert => "convert",
            Self::ConvertCentred => "convert_centred",
            Self::ConvertFast => "convert_fast",
        })
    }
}

impl core::str::FromStr for Op {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|op| op.to_string() == name).ok_or_else(|| {
            let all = Self::ALL.map(|op| op.to_string()).join(", ");
            Error::Unsupported { job: format!("the operation {name:?}"), why: format!("the operations are {all}") }
        })
    }
}

/// An operation on a ring.
///
/// ```
/// use ringforge::{Job, Modulus, Op, Planner, Ring};
/// let ring = Ring::trinomial(768, Modulus::new(3457u32)?)?;
/// let plan = Planner::default().plan(&Job::new(&ring, Op::Mul))?;
/// println!("{plan}");
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Job {
    /// The type of the operands, as coefficients.
    pub poly: PolyType,
    /// The operation.
    pub op: Op,
    /// Order of the evaluations.
    pub order: Order,
    /// The number of layers of a transform; `None` for the largest number that the ring and its root of unity allow.
    pub depth: Option<u32>,
    /// Bounds on the absolute values of a product's centred operands, left operand first. Small bounds save auxiliary
    /// primes in a product via a larger NTT, if the ring stores plain residues ([`Form`](crate::Form)). An operand
    /// beyond its bound gives a wrong product.
    pub bounds: [Option<u64>; 2],
    /// The target ring of a base conversion.
    pub target: Option<PolyType>,
    /// Constant folded into the inverse transform: `out = scale · INTT(in)`.
    pub scale: Option<U256>,
    /// Whether a transform overwrites its input.
    pub in_place: bool,
    /// The expected number of items per run; affects speed only.
    pub batch_hint: usize,
}

impl Job {
    /// The default of [`Job::batch_hint`].
    pub(crate) const ITEMS: usize = 1 << 16;

    /// The operation with defaults for everything else: [`Order::DigitReversed`], full depth, no bounds on operands, no
    /// target, no scale, out of place, and a batch hint of 2^16 items.
    #[must_use]
    pub fn new(of: impl Into<PolyType>, op: Op) -> Self {
        Self {
            poly: of.into().coefficients(),
            op,
            order: Order::DigitReversed,
            depth: None,
            bounds: [None; 2],
            target: None,
            scale: None,
            in_place: false,
            batch_hint: Self::ITEMS,
        }
    }

    /// Sets the order of evaluations.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Sets the number of layers of the transform.
    #[must_use]
    pub fn depth(mut self, depth: u32) -> Self {
        self.depth = Some(depth);
        self
    }

    /// Sets bounds on the absolute values of the centred operands of a product.
    #[must_use]
    pub fn bounds(mut self, left: u64, right: u64) -> Self {
        self.bounds = [Some(left), Some(right)];
        self
    }

    /// Sets the target ring of a base conversion. It may differ from the job's ring only in its moduli.
    ///
    /// ```
    /// use ringforge::{Job, Modulus, Op, Planner, Ring};
    /// let primes = Modulus::ntt_primes(2 * 1024, 50, 5)?;
    /// let (q, p) = (Ring::rns(1024, &primes[..2])?, Ring::rns(1024, &primes[2..])?);
    /// let plan = Planner::default().plan(&Job::new(&q, Op::ConvertCentred).to(&p))?;
    /// println!("{plan}");
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    pub fn to(mut self, target: impl Into<PolyType>) -> Self {
        self.target = Some(target.into().coefficients());
        self
    }

    /// Sets a constant, reduced modulo each modulus, by which an inverse transform multiplies its coefficients. This
    /// costs nothing extra. A forward transform does not multiply by it, but reads the same tables as inverse
    /// transforms of the same scale.
    ///
    /// ```
    /// # use ringforge::{Device, Job, Modulus, Op, Planner, Ring};
    /// let ring = Ring::cyclic(2, Modulus::new(17u32)?)?;
    /// let inverse = Job::new(&ring, Op::Inverse).scale(5u32).in_place();
    /// let mut data = [3u16, 16]; // the evaluations of 1 + 2x
    /// let program = Device::cpu().compile(&Planner::default().plan(&inverse)?)?;
    /// program.on_host(1).output("data", &mut data).run()?;
    /// assert_eq!(data, [5, 10]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    pub fn scale(mut self, constant: impl Into<U256>) -> Self {
        self.scale = Some(constant.into());
        self
    }

    /// Makes a transform overwrite its input: its plan has the single argument `data`.
    #[must_use]
    pub fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }

    /// Sets the expected number of items per run; 2^16 by default.
    #[must_use]
    pub fn batch_hint(mut self, items: usize) -> Self {
        self.batch_hint = items;
        self
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.op, self.poly)?;
        if let Some(target) = &self.target {
            write!(f, " to {target}")?;
        }
        if self.order != Order::DigitReversed {
            write!(f, " {}", self.order)?;
        }
        if let Some(depth) = self.depth {
            write!(f, " depth {depth}")?;
        }
        if let Some(scale) = &self.scale {
            write!(f, " times {}", decimal(scale))?;
        }
        if self.in_place {
            f.write_str(" in place")?;
        }
        Ok(())
    }
}
