//! Rings `Z_Q[x]/(f)`: their moduli, quotient polynomial f and roots of unity.

mod factors;
pub mod parse;
mod quotient;
mod roots;

use core::fmt;
use std::collections::HashMap;
use std::sync::Arc;

use crypto_bigint::U256;

use crate::decimal::decimal;
use crate::error::{Error, Result};
use crate::modulus::Modulus;

pub use factors::Factors;
pub use factors::Roots;
pub use quotient::Quotient;

/// A ring `Z_Q[x]/(f)`, where Q is the product of one or more moduli, the RNS basis.
///
/// The roots of unity that define a transform are part of the ring: two rings with different roots are different. The
/// storage of elements is not part of the ring, but of [`PolyType`](crate::PolyType). Cloning is cheap.
///
/// ```
/// use ringforge::{Modulus, Ring};
/// let ring = Ring::negacyclic(256, Modulus::new(3329u32)?)?;
/// assert_eq!(ring.to_string(), "Z_3329[x]/(x^256 + 1)");
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ring(Arc<Parts>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Parts {
    basis: Vec<Modulus>,
    quotient: Quotient,
    /// One root per modulus, or empty if the default roots are used.
    roots: Vec<U256>,
    /// One step per modulus, or empty if the default steps are used. Only rings modulo a [`Quotient::Binomial`] may
    /// have steps; for others, the roots determine them.
    steps: Vec<U256>,
}

/// Moduli with an index up to this one are compared with all earlier moduli even if they are prime.
const FEW_MODULI: usize = 16;

impl Ring {
    /// The largest degree of a ring.
    pub const MAX_DEGREE: usize = 1 << 28;

    /// Creates the ring with this basis and quotient. A [`Quotient::Sparse`] that equals another variant becomes that
    /// variant.
    ///
    /// # Errors
    /// [`Error::Ring`] if the basis is empty, two moduli are equal or not coprime, the degree is 0, or the quotient is
    /// malformed; [`Error::TooLarge`] for a degree above [`Ring::MAX_DEGREE`].
    pub fn new(basis: &[Modulus], quotient: Quotient) -> Result<Self> {
        quotient.check()?;
        if basis.is_empty() {
            return Err(Error::Ring { why: "the basis is empty: name at least one modulus".into() });
        }
        // distinct primes are coprime without a comparison, which saves time with thousands of moduli
        let (mut known, mut others) = (HashMap::new(), Vec::new());
        for (i, a) in basis.iter().enumerate() {
            if known.insert(*a, i).is_some() {
                return Err(Error::Ring { why: format!("the modulus {a} occurs twice: moduli must be distinct") });
            }
            let is_prime = i > FEW_MODULI && a.value_u64().is_some() && a.is_prime();
            if let Some(b) = if is_prime { &others[..] } else { &basis[..i] }.iter().find(|b| !coprime(a, b)) {
                return Err(Error::Ring {
                    why: format!("the moduli {b} and {a} have a common factor: they must be coprime"),
                });
            }
            if !is_prime {
                others.push(*a);
            }
        }
        let quotient = quotient.named(basis);
        Ok(Self(Arc::new(Parts { basis: basis.to_vec(), quotient, roots: Vec::new(), steps: Vec::new() })))
    }

    /// `Z_q[x]/(x^n − 1)`.
    ///
    /// # Errors
    /// The errors of [`Ring::new`].
    pub fn cyclic(n: usize, q: Modulus) -> Result<Self> {
        Self::new(&[q], Quotient::Cyclic { n })
    }

    /// `Z_q[x]/(x^n + 1)`.
    ///
    /// # Errors
    /// The errors of [`Ring::new`].
    pub fn negacyclic(n: usize, q: Modulus) -> Result<Self> {
        Self::new(&[q], Quotient::Negacyclic { n })
    }

    /// `Z_q[x]/(x^n − g^n)`. Its evaluations in natural order are a(g·w^i) for a primitive n-th root of unity w, which
    /// is a cyclic transform on the coset of g. Both g and w are plain values.
    ///
    /// ```
    /// use ringforge::{Modulus, Ring};
    /// let ring = Ring::coset(4, Modulus::new(17u32)?, 3u32, 13u32)?;
    /// assert_eq!(ring.to_string(), "Z_17[x]/(x^4 - 13) with root 3 and step 13");
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Ring::new`], [`Ring::with_roots`] and [`Ring::with_steps`]; also [`Error::Ring`] if w does not
    /// have order n.
    pub fn coset(n: usize, q: Modulus, g: impl Into<U256>, w: impl Into<U256>) -> Result<Self> {
        let [g, w] = [g.into(), w.into()];
        let c = q.pow(&q.reduce(&g), &U256::from(n as u64));
        let ring = Self::new(&[q], Quotient::Binomial { n, c })?.with_roots(&[g])?;
        if !q.has_order(&q.reduce(&w), n as u64) {
            return Err(Error::Ring { why: format!("{} does not have order {n} modulo {q}", decimal(&w)) });
        }
        ring.with_steps(&[w])
    }

    /// `Z_q[x]/(x^n − x^(n/2) + 1)`.
    ///
    /// # Errors
    /// The errors of [`Ring::new`]; also [`Error::Ring`] for odd n.
    pub fn trinomial(n: usize, q: Modulus) -> Result<Self> {
        Self::new(&[q], Quotient::Trinomial { n })
    }

    /// `Z_q[x]/(x^p − x − 1)`.
    ///
    /// # Errors
    /// The errors of [`Ring::new`].
    pub fn prime_trinomial(p: usize, q: Modulus) -> Result<Self> {
        Self::new(&[q], Quotient::PrimeTrinomial { p })
    }

    /// `Z_Q[x]/(x^n + 1)`, where Q is the product of the moduli of an RNS basis.
    ///
    /// # Errors
    /// The errors of [`Ring::new`].
    pub fn rns(n: usize, basis: &[Modulus]) -> Result<Self> {
        Self::new(basis, Quotient::Negacyclic { n })
    }

    /// The same ring with this root of unity (a plain value) for its transforms, instead of the default one.
    ///
    /// The order of the root limits the depth of the transform, and so the degree d of its leaves; see
    /// [`Factorization`](crate::factorization::Factorization). For x^n − 1 and x^n + 1, the leaves are x^d − root^e.
    /// For other x^n − c, root^(n/d) must be c. For x^n − x^(n/2) + 1, f first splits into x^(n/2) − ζ and
    /// x^(n/2) − ζ^5 with ζ = root^(order/6).
    ///
    /// # Errors
    /// The errors of [`Ring::with_roots`].
    pub fn with_root(self, root: impl Into<U256>) -> Result<Self> {
        self.with_roots(&[root.into()])
    }

    /// The same ring with these roots of unity, one for each modulus of the [basis](Ring::basis).
    ///
    /// # Errors
    /// [`Error::Ring`] if the number of roots differs from that of the moduli, or a root is not from 1 to q − 1.
    /// [`Error::Ring`] if a root does not generate the factors of f. Also the errors of
    /// [`Factorization::of`](crate::factorization::Factorization::of).
    pub fn with_roots(self, roots: &[U256]) -> Result<Self> {
        self.named("root", roots, |parts| &mut parts.roots)
    }

    /// The same ring with these steps, one for each modulus of the [basis](Ring::basis). The leaves of x^n − c, of
    /// degree d, are x^d − root·step^e, and natural order is by ascending e. The order of a step must be a multiple of
    /// n/d; if it is larger, a power of the step with order n/d is used. The default step is [`Modulus::root`] of order
    /// n/d. See [`Ring::coset`].
    ///
    /// # Errors
    /// The errors of [`Ring::with_roots`]; also [`Error::Ring`] for quotients other than [`Quotient::Binomial`], whose
    /// roots determine their steps.
    pub fn with_steps(self, steps: &[U256]) -> Result<Self> {
        if !matches!(self.quotient(), Quotient::Binomial { .. }) {
            return Err(Error::Ring { why: format!("{} takes no steps: its root determines them", self.quotient()) });
        }
        self.named("step", steps, |parts| &mut parts.steps)
    }

    /// Returns the ring with its roots or steps, selected by `place`, set to these values.
    ///
    /// # Errors
    /// The errors of [`Ring::with_roots`].
    fn named(self, what: &str, values: &[U256], place: fn(&mut Parts) -> &mut Vec<U256>) -> Result<Self> {
        let moduli = self.basis();
        if values.len() != moduli.len() {
            let why = format!("got {} {what}s for {} moduli: give one for each", values.len(), moduli.len());
            return Err(Error::Ring { why });
        }
        let outside = |x: &U256, q: &Modulus| *x == U256::ZERO || *x >= q.value();
        if let Some((x, q)) = values.iter().zip(moduli).find(|(x, q)| outside(x, q)) {
            return Err(Error::Ring { why: format!("the {what} {} must be from 1 to {q} - 1", decimal(x)) });
        }
        let mut parts = (*self.0).clone();
        *place(&mut parts) = values.to_vec();
        let ring = Self(Arc::new(parts));
        Factors::of(&ring, None)?;
        Ok(ring)
    }

    /// Returns the ring modulo a selection of the basis. The moduli are given by index, each at most once.
    pub fn of_moduli(&self, moduli: &[usize]) -> Self {
        let Parts { basis, quotient, roots, steps } = &*self.0;
        let named = |all: &[U256]| moduli.iter().filter_map(|&i| all.get(i).copied()).collect();
        let (roots, steps) = (named(roots), named(steps));
        let basis: Vec<Modulus> = moduli.iter().map(|&i| basis[i]).collect();
        // for a single modulus, the quotient may equal a simpler variant
        let quotient = quotient.clone().named(&basis);
        Self(Arc::new(Parts { basis, quotient, roots, steps }))
    }

    /// The moduli of the RNS basis.
    #[must_use]
    pub fn basis(&self) -> &[Modulus] {
        &self.0.basis
    }

    /// The quotient polynomial f.
    #[must_use]
    pub fn quotient(&self) -> &Quotient {
        &self.0.quotient
    }

    /// The roots set by [`Ring::with_root`] or [`Ring::with_roots`], one for each modulus; empty if the defaults are
    /// used.
    #[must_use]
    pub fn roots(&self) -> &[U256] {
        &self.0.roots
    }

    /// The steps set by [`Ring::with_steps`], one for each modulus; empty if the defaults are used.
    #[must_use]
    pub fn steps(&self) -> &[U256] {
        &self.0.steps
    }

    /// The degree of f.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.0.quotient.degree()
    }

    /// Writes the text that parses as this ring. `map` is written after the moduli; it lists the modulus index of each
    /// limb, or is empty.
    pub fn write_text(&self, f: &mut fmt::Formatter<'_>, map: &str) -> fmt::Result {
        let list = |values: &[U256]| values.iter().map(decimal).collect::<Vec<_>>().join(",");
        let moduli = list(&self.basis().iter().map(Modulus::value).collect::<Vec<_>>());
        write!(f, "{moduli}{map} : {}", self.quotient())?;
        match (self.roots(), self.steps()) {
            ([], []) => Ok(()),
            (roots, []) => write!(f, " @ {}", list(roots)),
            (roots, steps) => write!(f, " @ {} @ {}", list(roots), list(steps)),
        }
    }

    /// Writes a readable description. `limbs` is written before the roots; it gives the number of limbs if moduli
    /// repeat, and is empty otherwise.
    pub fn write_short(&self, f: &mut fmt::Formatter<'_>, limbs: &str) -> fmt::Result {
        match self.basis() {
            [q] => write!(f, "Z_{q}[x]/({})", self.quotient())?,
            [first, .., last] => {
                write!(f, "Z_({first}..{last}, {} moduli)[x]/({})", self.basis().len(), self.quotient())?;
            }
            [] => {}
        }
        f.write_str(limbs)?;
        for (before, what, values) in [("with", "root", self.roots()), ("and", "step", self.steps())] {
            match values {
                [] => {}
                [x] => write!(f, " {before} {what} {}", decimal(x))?,
                [first, .., last] => write!(f, " {before} {what}s {}..{}", decimal(first), decimal(last))?,
            }
        }
        Ok(())
    }
}

fn coprime(a: &Modulus, b: &Modulus) -> bool {
    let (mut x, mut y) = (a.value(), b.value());
    while let Some(divisor) = crypto_bigint::NonZero::new(y).into_option() {
        (x, y) = (y, x.rem_vartime(&divisor));
    }
    x == U256::ONE
}

/// Writes a readable description, with long lists shortened. `{:#}` writes the full text that parses as this ring.
///
/// ```
/// # use ringforge::Ring;
/// let ring: Ring = "97,193:x^16+1@19,8".parse()?;
/// assert_eq!(ring.to_string(), "Z_(97..193, 2 moduli)[x]/(x^16 + 1) with roots 19..8");
/// assert_eq!(format!("{ring:#}"), "97,193 : x^16 + 1 @ 19,8");
/// # Ok::<(), ringforge::Error>(())
/// ```
impl fmt::Display for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() { self.write_text(f, "") } else { self.write_short(f, "") }
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { basis, quotient, roots, steps } = &*self.0;
        write!(f, "Ring({basis:?}, {quotient}, {roots:?}, {steps:?})")
    }
}
