//! Jobs: an operation on a ring, and what the caller promises about its operands.

use core::fmt;

use crypto_bigint::U256;

use ringforge_math::decimal::decimal;
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::{Order, PolyType};

/// An operation. The plan that it leads to has these arguments, each one element of the ring per item:
///
/// | operation | inputs | outputs |
/// | --- | --- | --- |
/// | `Forward` | `from`: coefficients | `to`: values |
/// | `Inverse` | `from`: values | `to`: coefficients |
/// | either, [in place](Job::in_place) | `data` | `data` |
/// | `PointMul` | `a`, `b`: values | `product`: values |
/// | `MulAdd` | `a`, `b`, `sum`: values | `sum`: with the product added |
/// | `Mul` | `a`, `b`: coefficients | `product`: coefficients |
/// | `Compose` | `from`: coefficients (RNS rows) | `to`: integers, see [`Op::Compose`] |
/// | `Decompose` | `from`: integers | `to`: coefficients (RNS rows), see [`Op::Decompose`] |
/// | `Convert`, `ConvertCentred`, `ConvertFast` | `from`: coefficients | `to`: coefficients of the [target](Job::to), see [`Op::Convert`] |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// From coefficients to values (residues modulo the factors of f).
    Forward,
    /// From values back to coefficients; the scale is folded in, so that it undoes `Forward`.
    Inverse,
    /// Product of values.
    PointMul,
    /// Product of values added to a third one.
    MulAdd,
    /// Product of ring elements from coefficients to coefficients.
    Mul,
    /// The integers in [0, Q) that RNS rows stand for: n integers of ⌈bits(Q)/64⌉ 64-bit limbs, least significant
    /// first. For RNS bases of at most 64 moduli of up to 64 bits, as all operations below.
    Compose,
    /// From integers to RNS rows: n integers of ⌈bits(Q)/64⌉ 64-bit limbs, least significant first, of any value.
    Decompose,
    /// From the rows of one RNS basis to those of another one, the job's [target](Job::to): the integer in [0, Q) that the
    /// rows stand for, modulo each modulus of the target. Exact whatever the value. Elements in a [vector](PolyType::vector) are converted
    /// one after another, as by the operations below.
    Convert,
    /// The same for the integer in (−Q/2, Q/2].
    ConvertCentred,
    /// The same for x + u·Q, x in [0, Q), with some integer 0 ≤ u < k for the k moduli of the source: the base conversion
    /// Σ [x_i·(Q/q_i)^-1]_(q_i)·(Q/q_i) of the FHE literature, with two thirds of the work of the exact one between bases
    /// of one size.
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
            Error::Unsupported { job: format!("the operation {name:?}"), why: format!("there are {all}") }
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
    /// Order of the values.
    pub order: Order,
    /// How many layers a transform has; `None` for as many as ring and root allow.
    pub depth: Option<u32>,
    /// Of a product: bounds on the absolute values of its centred operands, the left one first. Small ones save auxiliary primes
    /// where a product needs the lift, in rings of plain residues ([`Form`](crate::Form)). Operands beyond them give wrong
    /// products.
    pub bounds: [Option<u64>; 2],
    /// The ring to which a conversion goes.
    pub target: Option<PolyType>,
    /// What coefficients that an inverse transform leaves are times.
    pub scale: Option<U256>,
    /// Whether a transform overwrites its input.
    pub in_place: bool,
    /// How many items a run will have, about; decides nothing but speed.
    pub batch_hint: usize,
}

impl Job {
    /// Items of a run, unless a job says otherwise.
    pub(crate) const ITEMS: usize = 1 << 16;

    /// The operation with defaults for everything else: tree order, full depth, no promise about operands, out of place.
    #[must_use]
    pub fn new(of: impl Into<PolyType>, op: Op) -> Self {
        Self {
            poly: of.into().coefficients(),
            op,
            order: Order::Tree,
            depth: None,
            bounds: [None; 2],
            target: None,
            scale: None,
            in_place: false,
            batch_hint: Self::ITEMS,
        }
    }

    /// With values in this order.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// With this many layers.
    #[must_use]
    pub fn depth(mut self, depth: u32) -> Self {
        self.depth = Some(depth);
        self
    }

    /// With these bounds on the centred operands of a product.
    #[must_use]
    pub fn bounds(mut self, left: u64, right: u64) -> Self {
        self.bounds = [Some(left), Some(right)];
        self
    }

    /// To the rows of this ring, which differs from the job's in its moduli alone: for conversions.
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

    /// With this constant, taken modulo each modulus, times the coefficients that an inverse transform leaves: it costs
    /// nothing there. A forward transform is the same with it, but shares its table of factors with inverse ones of the same
    /// scale.
    ///
    /// ```
    /// # use ringforge::{Device, Job, Modulus, Op, Planner, Ring};
    /// let ring = Ring::cyclic(2, Modulus::new(17u32)?)?;
    /// let inverse = Job::new(&ring, Op::Inverse).scale(5u32).in_place();
    /// let mut data = [3u16, 16]; // the values of 1 + 2x
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

    /// Overwriting the input of a transform.
    #[must_use]
    pub fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }

    /// With about this many items a run; 2^16 if this is not called.
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
        if self.order != Order::Tree {
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
