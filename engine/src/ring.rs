//! Rings `Z_Q[x]/(f)`: a basis of moduli and a quotient polynomial.

mod parse;
mod quotient;
mod roots;
pub mod split;

use core::fmt;
use core::ops::Range;
use std::collections::HashMap;
use std::sync::Arc;

use crypto_bigint::U256;

use crate::decimal::decimal;
use crate::error::{Error, Result};
use crate::modulus::{Modulus, Width};
use crate::residues::Form;

pub use quotient::Quotient;

/// Limbs of elements side by side, at most: more are no ring's that a kernel takes.
const MOST_LIMBS: usize = 1 << 22;

/// Residues of a row of a ring in columns, at most: kernels count them in 32 bits.
const MOST_RESIDUES: usize = 1 << 31;

/// A ring `Z_Q[x]/(f)`, Q the product of one or more moduli; or a product of rings `Z_q[x]/(f)` in which moduli come
/// again ([`Ring::rows`]).
///
/// An element is stored as one row of n residues for each modulus of the basis, rows one after another, coefficients
/// in ascending order of their power. All rows have the width of the widest modulus. Cloning is cheap.
///
/// The roots of unity that decide the meaning of a transform are part of the ring's identity, and so is how residues are
/// stored ([`Ring::with_form`], [`Ring::accepting_any_word`]): two rings that differ in them are different.
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
    /// Of each row.
    basis: Vec<Modulus>,
    /// The same without repetitions.
    moduli: Vec<Modulus>,
    /// For each row, the number of its modulus among those.
    map: Vec<usize>,
    quotient: Quotient,
    /// For each of the moduli, or none at all.
    roots: Vec<U256>,
    /// The same for x^n − c, where the roots do not decide it.
    steps: Vec<U256>,
    /// As wide as its moduli need, or wider.
    width: Width,
    form: Form,
    any_word: bool,
    /// Polynomials side by side, row by row.
    columns: usize,
}

/// Moduli that are compared one with another, be they primes or not.
const FEW_MODULI: usize = 16;

impl Ring {
    /// The largest degree of a ring.
    pub const MAX_DEGREE: usize = 1 << 28;

    /// The ring with this basis and quotient. A [`Quotient::Sparse`] that has a name of its own becomes that.
    ///
    /// # Errors
    /// [`Error::Ring`] for an empty basis, equal or not coprime moduli, a degree of 0 or a malformed quotient;
    /// [`Error::TooLarge`] for a degree above [`Ring::MAX_DEGREE`].
    pub fn new(basis: &[Modulus], quotient: Quotient) -> Result<Self> {
        let ring = Self::of_rows(basis.to_vec(), quotient)?;
        match (0..).zip(ring.row_moduli()).find(|(row, modulus)| row != *modulus) {
            Some((row, _)) => Err(Error::Ring { why: format!("the modulus {} comes twice", basis[row]) }),
            None => Ok(ring),
        }
    }

    /// The product of rings `Z_q[x]/(f)` whose row i is modulo `moduli[map[i]]`: what a batch of RNS polynomials of
    /// different levels is, or a polynomial beside the digits of another. A modulus may come again, and those that the
    /// map does not name have no meaning.
    ///
    /// Where none comes again this is the ring of [`Ring::new`]; where one does, it has no single Q, so that jobs that
    /// need one refuse it.
    ///
    /// ```
    /// use ringforge::{Modulus, Quotient, Ring};
    /// let moduli = [Modulus::new(12289u32)?, Modulus::new(18433u32)?];
    /// let ring = Ring::rows(&moduli, &[0, 1, 0], Quotient::Negacyclic { n: 64 })?;
    /// assert_eq!((ring.basis().len(), ring.moduli().len()), (3, 2));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Ring::new`] but for equal moduli, and [`Error::Ring`] for a number beyond the list.
    pub fn rows(moduli: &[Modulus], map: &[usize], quotient: Quotient) -> Result<Self> {
        let modulus = |&i: &usize| {
            let why = || format!("the map names modulus {i}, and there are {}", moduli.len());
            moduli.get(i).copied().ok_or_else(|| Error::Ring { why: why() })
        };
        Self::of_rows(map.iter().map(modulus).collect::<Result<_>>()?, quotient)
    }

    fn of_rows(basis: Vec<Modulus>, quotient: Quotient) -> Result<Self> {
        quotient.check()?;
        if basis.is_empty() {
            return Err(Error::Ring { why: "the basis has no modulus".into() });
        }
        let (mut moduli, mut map) = (Vec::new(), Vec::with_capacity(basis.len()));
        // two primes need not be compared, which counts where there are thousands
        let (mut known, mut others) = (HashMap::new(), Vec::new());
        for a in &basis {
            let place = *known.entry(*a).or_insert(moduli.len());
            map.push(place);
            if place == moduli.len() {
                let is_prime = moduli.len() > FEW_MODULI && a.value_u64().is_some() && a.is_prime();
                if let Some(b) = if is_prime { &others } else { &moduli }.iter().find(|b| !coprime(a, b)) {
                    return Err(Error::Ring { why: format!("the moduli {b} and {a} have a common factor") });
                }
                if !is_prime {
                    others.push(*a);
                }
                moduli.push(*a);
            }
        }
        let quotient = quotient.named(&moduli);
        let width = width(&moduli);
        let (roots, steps, form) = (Vec::new(), Vec::new(), Form::default_of(width));
        Ok(Self(Arc::new(Parts {
            basis,
            moduli,
            map,
            quotient,
            roots,
            steps,
            width,
            form,
            any_word: false,
            columns: 1,
        })))
    }

    /// `Z_q[x]/(x^n − 1)`.
    ///
    /// # Errors
    /// As [`Ring::new`].
    pub fn cyclic(n: usize, q: Modulus) -> Result<Self> {
        Self::new(&[q], Quotient::Cyclic { n })
    }

    /// `Z_q[x]/(x^n + 1)`.
    ///
    /// # Errors
    /// As [`Ring::new`].
    pub fn negacyclic(n: usize, q: Modulus) -> Result<Self> {
        Self::new(&[q], Quotient::Negacyclic { n })
    }

    /// `Z_q[x]/(x^n − g^n)`, whose values in natural order are a(g·w^i), w a primitive n-th root of unity: those of a cyclic
    /// transform on the coset of g. Roots are plain values.
    ///
    /// ```
    /// use ringforge::{Modulus, Ring};
    /// let ring = Ring::coset(4, Modulus::new(17u32)?, 3u32, 13u32)?;
    /// assert_eq!(ring.to_string(), "Z_17[x]/(x^4 - 13) with root 3 and step 13");
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Ring::new`] and [`Ring::with_roots`]; [`Error::Ring`] for a w that has not the order n.
    pub fn coset(n: usize, q: Modulus, g: impl Into<U256>, w: impl Into<U256>) -> Result<Self> {
        let [g, w] = [g.into(), w.into()];
        let c = q.pow(&q.reduce(&g), &U256::from(n as u64));
        let ring = Self::new(&[q], Quotient::Binomial { n, c })?.with_roots(&[g])?;
        if !q.has_order(&q.reduce(&w), n as u64) {
            return Err(Error::Ring { why: format!("{} has not the order {n} modulo {q}", decimal(&w)) });
        }
        ring.with_steps(&[w])
    }

    /// `Z_q[x]/(x^n − x^(n/2) + 1)`.
    ///
    /// # Errors
    /// As [`Ring::new`], and [`Error::Ring`] for odd n.
    pub fn trinomial(n: usize, q: Modulus) -> Result<Self> {
        Self::new(&[q], Quotient::Trinomial { n })
    }

    /// `Z_q[x]/(x^p − x − 1)`.
    ///
    /// # Errors
    /// As [`Ring::new`].
    pub fn prime_trinomial(p: usize, q: Modulus) -> Result<Self> {
        Self::new(&[q], Quotient::PrimeTrinomial { p })
    }

    /// `Z_Q[x]/(x^n + 1)` with an RNS basis of moduli.
    ///
    /// # Errors
    /// As [`Ring::new`].
    pub fn rns(n: usize, basis: &[Modulus]) -> Result<Self> {
        Self::new(basis, Quotient::Negacyclic { n })
    }

    /// The same ring with this root of unity (a plain value) behind its transforms, instead of the default one.
    ///
    /// The order of the root decides how far the transform can go; see [`Split`](crate::split::Split). Leaves of x^n − c are
    /// x^d − root^e with root^(n/d) = c; leaves of x^n − x^(n/2) + 1 start from root^(order/6).
    ///
    /// # Errors
    /// As [`Ring::with_roots`].
    pub fn with_root(self, root: impl Into<U256>) -> Result<Self> {
        self.with_roots(&[root.into()])
    }

    /// The same ring with these roots of unity, one for each of [`Ring::moduli`].
    ///
    /// # Errors
    /// [`Error::Ring`] for another number of roots, one that is not from 1 to q − 1, or one that does not split f;
    /// [`Error::Unsupported`] where it splits f not far enough; [`Error::NotPrime`].
    pub fn with_roots(self, roots: &[U256]) -> Result<Self> {
        self.named("root", roots, |parts| &mut parts.roots)
    }

    /// The same ring with these steps, one for each of [`Ring::moduli`]: leaves of x^n − c are x^d − root·step^e, and natural
    /// order is by ascending e. Its order is n/d, or a multiple of that, and then a power of it is the step. Without, the step is
    /// [`Modulus::root`] of order n/d. See [`Ring::coset`].
    ///
    /// # Errors
    /// As [`Ring::with_roots`], and [`Error::Ring`] for other quotients, whose roots decide their steps.
    pub fn with_steps(self, steps: &[U256]) -> Result<Self> {
        if !matches!(self.quotient(), Quotient::Binomial { .. }) {
            return Err(Error::Ring { why: format!("the root of {} decides its steps", self.quotient()) });
        }
        self.named("step", steps, |parts| &mut parts.steps)
    }

    /// The same ring with these values in a place for named ones.
    fn named(self, what: &str, values: &[U256], place: fn(&mut Parts) -> &mut Vec<U256>) -> Result<Self> {
        let moduli = self.moduli();
        if values.len() != moduli.len() {
            let why = format!("{} {what}s are named for {} moduli", values.len(), moduli.len());
            return Err(Error::Ring { why });
        }
        let outside = |x: &U256, q: &Modulus| *x == U256::ZERO || *x >= q.value();
        if let Some((x, q)) = values.iter().zip(moduli).find(|(x, q)| outside(x, q)) {
            return Err(Error::Ring { why: format!("the {what} {} is not from 1 to {q} - 1", decimal(x)) });
        }
        let mut parts = (*self.0).clone();
        *place(&mut parts) = values.to_vec();
        let ring = Self(Arc::new(parts));
        split::Split::of(&ring, None)?;
        Ok(ring)
    }

    /// The same ring with residues stored in this width, such as that of a basis of which these are some limbs; in the form that
    /// is usual for it, if they were in the usual one.
    ///
    /// # Errors
    /// [`Error::Ring`] for a width that is too narrow for a modulus.
    pub fn with_width(self, width: Width) -> Result<Self> {
        if width < self::width(self.basis()) {
            return Err(Error::Ring { why: format!("residues of {self} do not fit {} bits", 8 * width.bytes()) });
        }
        let mut parts = (*self.0).clone();
        if self.named_form().is_none() {
            parts.form = Form::default_of(width);
        }
        parts.width = width;
        Ok(Self(Arc::new(parts)))
    }

    /// The same ring with residues stored in this form, in inputs and outputs alike. Roots, steps and other constants stay
    /// plain values. Rings of 256-bit residues are in Montgomery form, and all others plain, unless this says otherwise.
    ///
    /// # Errors
    /// [`Error::Ring`] for the Montgomery form of 16-bit residues, and for that of residues modulo an even number.
    pub fn with_form(self, form: Form) -> Result<Self> {
        if form == self.form() {
            return Ok(self);
        }
        if form == Form::Montgomery {
            if self.width() == Width::W16 {
                return Err(Error::Ring { why: format!("the 16-bit residues of {self} have no Montgomery form") });
            }
            if let Some(q) = self.moduli().iter().find(|q| !q.is_odd()) {
                return Err(Error::Ring {
                    why: format!("residues modulo {q}, an even number, have no Montgomery form"),
                });
            }
        }
        let mut parts = (*self.0).clone();
        parts.form = form;
        Ok(Self(Arc::new(parts)))
    }

    /// The same ring with any word of its width as an input: each stands for the residue that it is modulo q, and kernels
    /// reduce it as they load it. Outputs are below q as ever.
    ///
    /// ```
    /// # use ringforge::{Engine, Ring};
    /// let ring: Ring = "18446744069414584321 : x^2 - 1 : any word".parse()?;
    /// let mut data = [u64::MAX, 0]; // 2^32 - 2 modulo 2^64 - 2^32 + 1
    /// Engine::best().ntt(&ring)?.forward(&mut data)?;
    /// assert_eq!(data, [0xffff_fffe; 2]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    pub fn accepting_any_word(self) -> Self {
        let mut parts = (*self.0).clone();
        parts.any_word = true;
        Self(Arc::new(parts))
    }

    /// The same ring in so many columns: an element is as many polynomials modulo f, the columns of a matrix that is stored row by
    /// row, so that a polynomial's coefficients lie `columns` apart. A ring that is in columns already has as many times more.
    ///
    /// A transform is one of each column, and leaves each row, a value of all of them, where it stands or, in natural order, goes:
    /// matrices are never transposed. Elements are added, multiplied by constants, extended and transformed; products and
    /// automorphisms are refused.
    ///
    /// ```
    /// use ringforge::{Engine, Modulus, Order, Ring};
    /// let ring = Ring::cyclic(2, Modulus::new(17u32)?)?.in_columns(3)?;
    /// assert_eq!((ring.to_string(), ring.degree()), ("Z_17[x]/(x^2 - 1) in 3 columns".into(), 6));
    /// let rows = [1u16, 2, 3, 4, 5, 6]; // 1 + 4x, 2 + 5x, 3 + 6x
    /// let values = Engine::cpu().upload(&ring, &rows)?.forward_to(Order::Natural)?;
    /// assert_eq!(values.download::<u16>()?, [5, 7, 9, 14, 14, 14]); // at 1, and at −1
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Ring`] for none; [`Error::TooLarge`] for more than 2^31 residues of a row of the basis.
    pub fn in_columns(self, columns: usize) -> Result<Self> {
        let (limit, all) = (MOST_RESIDUES, self.columns().saturating_mul(columns));
        match self.degree().saturating_mul(columns) {
            0 => Err(Error::Ring { why: format!("a matrix without columns has no ring of {self}") }),
            got if got > limit => Err(Error::TooLarge { what: "rows times columns", limit, got }),
            _ => Ok(self.with_columns(all)),
        }
    }

    /// The ring of one of its columns.
    #[must_use]
    pub(crate) fn of_column(&self) -> Self {
        self.clone().with_columns(1)
    }

    fn with_columns(self, columns: usize) -> Self {
        if columns == self.0.columns { self } else { Self(Arc::new(Parts { columns, ..(*self.0).clone() })) }
    }

    /// The columns of [`Ring::in_columns`]; else 1.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.0.columns
    }

    /// Refuses what is not done to columns side by side.
    pub(crate) fn check_single(&self, job: impl fmt::Display) -> Result<()> {
        match self.columns() {
            1 => Ok(()),
            _ => Err(Error::unsupported(job, self, "its polynomials lie side by side, in columns")),
        }
    }

    /// The form in which residues are stored; where a 256-bit ring is in Montgomery form, its rows modulo even numbers, which
    /// have no such form, are plain.
    #[must_use]
    pub fn form(&self) -> Form {
        self.0.form
    }

    /// Whether any word is accepted as an input, or reduced residues alone.
    #[must_use]
    pub fn accepts_any_word(&self) -> bool {
        self.0.any_word
    }

    /// The modulus of each row.
    #[must_use]
    pub fn basis(&self) -> &[Modulus] {
        &self.0.basis
    }

    /// The different moduli, in the order in which rows first have them. There is one table of factors for each.
    #[must_use]
    pub fn moduli(&self) -> &[Modulus] {
        &self.0.moduli
    }

    /// For each row, the number of its modulus among [`Ring::moduli`].
    #[must_use]
    pub fn row_moduli(&self) -> &[usize] {
        &self.0.map
    }

    /// Whether a modulus comes again, so that rows are not an RNS basis of one Q.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.0.basis.len() > self.0.moduli.len()
    }

    /// The ring of a column modulo one of its moduli alone, its residues in the default form.
    pub(crate) fn of_modulus(&self, i: usize) -> Self {
        let Parts { moduli, quotient, roots, steps, .. } = &*self.0;
        let one = |all: &[U256]| all.get(i).copied().into_iter().collect();
        let (moduli, quotient, map) = (vec![moduli[i]], quotient.clone(), vec![0]);
        let (basis, width) = (moduli.clone(), width(&moduli));
        let (roots, steps, form) = (one(roots), one(steps), Form::default_of(width));
        Self(Arc::new(Parts { basis, moduli, map, quotient, roots, steps, width, form, any_word: false, columns: 1 }))
    }

    /// The ring of some limbs (rows) of this one's elements, stored alike, also where their moduli would fit a narrower width.
    ///
    /// # Errors
    /// [`Error::Ring`] for none of them or such as are not there.
    pub fn limbs(&self, limbs: Range<usize>) -> Result<Self> {
        let Parts { basis, moduli, map, quotient, roots, steps, width, form, any_word, columns } = &*self.0;
        let why = |why: &str| Err(Error::Ring { why: format!("the limbs {limbs:?} of {self} {why}") });
        let Some(rows) = map.get(limbs.clone()).filter(|rows| !rows.is_empty()) else { return why("are not there") };
        let basis = basis[limbs.clone()].to_vec();
        let (mut of, mut places): (Vec<usize>, HashMap<usize, usize>) = Default::default();
        let place = |row: &usize| {
            *places.entry(*row).or_insert_with(|| {
                of.push(*row);
                of.len() - 1
            })
        };
        let map = rows.iter().map(place).collect();
        let named = |all: &[U256]| of.iter().filter_map(|&modulus| all.get(modulus).copied()).collect();
        let (roots, steps, moduli) = (named(roots), named(steps), of.iter().map(|&modulus| moduli[modulus]).collect());
        let (quotient, width, form, any_word, columns) = (quotient.clone(), *width, *form, *any_word, *columns);
        Ok(Self(Arc::new(Parts { basis, moduli, map, quotient, roots, steps, width, form, any_word, columns })))
    }

    /// The ring of so many elements of this one side by side: its basis comes again as often.
    ///
    /// # Errors
    /// [`Error::Ring`] for none; [`Error::TooLarge`] for more than 2^22 limbs.
    pub fn side_by_side(&self, count: usize) -> Result<Self> {
        let Parts { basis, map, .. } = &*self.0;
        if count == 0 {
            return Err(Error::Ring { why: format!("no element of {self} has a ring") });
        }
        let limit = MOST_LIMBS / basis.len();
        if count > limit {
            return Err(Error::TooLarge { what: "elements side by side", limit, got: count });
        }
        let (basis, map) = (basis.repeat(count), map.repeat(count));
        Ok(Self(Arc::new(Parts { basis, map, ..(*self.0).clone() })))
    }

    /// The ring of which this one has several elements side by side, and how many.
    pub(crate) fn of_side_by_side(&self) -> Option<(Self, usize)> {
        let (limbs, one) = (self.0.basis.len(), self.0.moduli.len());
        let ring = self.limbs(0..one).ok().filter(|_| one < limbs && limbs.is_multiple_of(one))?;
        let count = limbs / one;
        (ring.side_by_side(count).as_ref() == Ok(self)).then_some((ring, count))
    }

    /// The quotient polynomial f; of a ring in columns, that of each.
    #[must_use]
    pub fn quotient(&self) -> &Quotient {
        &self.0.quotient
    }

    /// The roots named by [`Ring::with_root`] and [`Ring::with_roots`], one for each of [`Ring::moduli`]; empty where
    /// none are, which means the default ones.
    #[must_use]
    pub fn roots(&self) -> &[U256] {
        &self.0.roots
    }

    /// The steps named by [`Ring::with_steps`], likewise.
    #[must_use]
    pub fn steps(&self) -> &[U256] {
        &self.0.steps
    }

    /// The degree of f: residues of a row. Of a ring in columns, as many times more.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.0.quotient.degree() * self.0.columns
    }

    /// Storage of a residue: that of the widest modulus, unless the ring [says otherwise](Ring::with_width).
    #[must_use]
    pub fn width(&self) -> Width {
        self.0.width
    }

    /// The width, where it is not that of the widest modulus.
    fn named_width(&self) -> Option<Width> {
        Some(self.width()).filter(|own| *own != width(self.basis()))
    }

    /// Bytes of one element.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.basis().len() * self.degree() * self.width().bytes()
    }
}

fn width(moduli: &[Modulus]) -> Width {
    moduli.iter().map(Modulus::width).max().unwrap_or(Width::W16)
}

fn coprime(a: &Modulus, b: &Modulus) -> bool {
    let (mut x, mut y) = (a.value(), b.value());
    while let Some(divisor) = crypto_bigint::NonZero::new(y).into_option() {
        (x, y) = (y, x.rem_vartime(&divisor));
    }
    x == U256::ONE
}

impl Ring {
    /// The text that is parsed as this ring.
    fn write_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: &[U256]| values.iter().map(decimal).collect::<Vec<_>>().join(",");
        f.write_str(&list(&self.moduli().iter().map(Modulus::value).collect::<Vec<_>>()))?;
        if self.is_mapped() {
            let map: Vec<String> = self.row_moduli().iter().map(usize::to_string).collect();
            write!(f, " # {}", map.join(","))?;
        }
        write!(f, " : {}", self.quotient())?;
        match (self.roots(), self.steps()) {
            ([], []) => {}
            (roots, []) => write!(f, " @ {}", list(roots))?,
            (roots, steps) => write!(f, " @ {} @ {}", list(roots), list(steps))?,
        }
        let width = self.named_width().map(|width| format!("{} bits", 8 * width.bytes()));
        let form = self.named_form().map(|form| form.to_string());
        let any_word = self.accepts_any_word().then(|| "any word".to_string());
        let columns = Some(self.columns()).filter(|columns| *columns > 1).map(|columns| format!("{columns} columns"));
        match [width, form, any_word, columns].into_iter().flatten().collect::<Vec<_>>()[..] {
            [] => Ok(()),
            ref stored => write!(f, " : {}", stored.join(", ")),
        }
    }

    /// The form, where it is not the default one.
    fn named_form(&self) -> Option<Form> {
        Some(self.form()).filter(|form| *form != Form::default_of(self.width()))
    }
}

/// As people read it, long lists shortened; with `{:#}` the whole, in the form that is parsed as this ring.
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
        if f.alternate() {
            return self.write_text(f);
        }
        match self.moduli() {
            [q] => write!(f, "Z_{q}[x]/({})", self.quotient())?,
            [first, .., last] => {
                write!(f, "Z_({first}..{last}, {} moduli)[x]/({})", self.moduli().len(), self.quotient())?;
            }
            [] => {}
        }
        if self.is_mapped() {
            write!(f, " in {} rows", self.basis().len())?;
        }
        for (before, what, values) in [("with", "root", self.roots()), ("and", "step", self.steps())] {
            match values {
                [] => {}
                [x] => write!(f, " {before} {what} {}", decimal(x))?,
                [first, .., last] => write!(f, " {before} {what}s {}..{}", decimal(first), decimal(last))?,
            }
        }
        if let Some(width) = self.named_width() {
            write!(f, " in words of {} bits", 8 * width.bytes())?;
        }
        match self.named_form() {
            None => {}
            Some(Form::Plain) => f.write_str(" in plain form")?,
            Some(Form::Montgomery) => f.write_str(" in Montgomery form")?,
        }
        if self.accepts_any_word() {
            f.write_str(", any word")?;
        }
        match self.columns() {
            1 => Ok(()),
            columns => write!(f, " in {columns} columns"),
        }
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // every modulus, because tables are cached under this text
        let Parts { basis, roots, steps, form, any_word, columns, .. } = &*self.0;
        write!(f, "Ring({basis:?}, {}, {roots:?}, {steps:?}, {form}, {any_word}, {columns})", self.quotient())
    }
}
