//! The type of a buffer's contents: elements of a ring, and how they are stored.

mod order;
mod parse;
mod residues;

use core::fmt;
use core::ops::Range;
use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::modulus::{Modulus, Width};
use crate::ring::{Quotient, Ring};
pub use order::Order;
pub use residues::Form;

/// Maximum number of limbs in an item, a limit of the kernels.
const MOST_LIMBS: usize = 1 << 22;

/// Maximum number of residues in a limb, over all columns; kernels count them in 32 bits.
const MOST_RESIDUES: usize = 1 << 31;

/// The type of a buffer's items: elements of a [`Ring`], and how they are stored.
///
/// An item has one limb (residue polynomial) per modulus of the ring's basis, one after another, with coefficients in
/// ascending order. An item may also have [fewer limbs](PolyType::limbs), [several elements](PolyType::vector), limbs
/// modulo [any of the moduli](PolyType::with_limbs), and [columns](PolyType::strided_batch). Residues are stored in the
/// [width](PolyType::width) of the widest modulus, in a [form](PolyType::with_form) that the type may choose. Elements
/// are coefficients, or [evaluations](PolyType::evaluations) in some order. Cloning is cheap.
///
/// Functions with a parameter of this type also accept a ring. A ring stands for one element per item, with all limbs,
/// as coefficients.
///
/// ```
/// use ringforge::{Order, PolyType, Ring};
/// let ring: Ring = "97,193 : x^16 + 1".parse()?;
/// let pairs = PolyType::from(&ring).vector(2)?.evaluations(Order::DigitReversed)?;
/// assert_eq!((pairs.bytes(), pairs.depth(), pairs.ring()), (2 * 2 * 16 * 2, Some(4), &ring));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PolyType {
    stored: Arc<Stored>,
    /// Number of layers of the transform and order of its evaluations; `None` for coefficients.
    domain: Option<(u32, Order)>,
}

/// How elements are stored. This is the same for coefficients and evaluations.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Stored {
    /// The ring modulo every modulus that a limb uses, in the order of first use.
    ring: Ring,
    /// For each limb, the index of its modulus in `ring`'s basis.
    map: Vec<usize>,
    /// For each limb, its modulus.
    basis: Vec<Modulus>,
    /// The storage width: that of the widest modulus, unless the caller chose a wider one.
    width: Width,
    form: Form,
    any_word: bool,
    /// Number of columns (interleaved polynomials) in a limb.
    columns: usize,
}

fn width(moduli: &[Modulus]) -> Width {
    moduli.iter().map(Modulus::width).max().unwrap_or(Width::W16)
}

impl From<Ring> for PolyType {
    fn from(ring: Ring) -> Self {
        let (map, basis) = ((0..ring.basis().len()).collect(), ring.basis().to_vec());
        let width = width(&basis);
        let form = Form::default_of(width);
        let stored = Stored { ring, map, basis, width, form, any_word: false, columns: 1 };
        Self { stored: Arc::new(stored), domain: None }
    }
}

impl From<&Ring> for PolyType {
    fn from(ring: &Ring) -> Self {
        ring.clone().into()
    }
}

impl From<&Self> for PolyType {
    fn from(this: &Self) -> Self {
        this.clone()
    }
}

impl PolyType {
    /// Returns a copy of this type with its storage changed by `change`.
    fn with(&self, change: impl FnOnce(&mut Stored)) -> Self {
        let mut stored = (*self.stored).clone();
        change(&mut stored);
        Self { stored: Arc::new(stored), domain: self.domain }
    }

    /// Returns the type of the same elements as coefficients.
    #[must_use]
    pub fn coefficients(&self) -> Self {
        Self { stored: self.stored.clone(), domain: None }
    }

    /// Returns the type of the same elements as evaluations, after a transform with this many layers, in this order.
    /// Evaluations are residues modulo the leaves of the [`Factorization`](crate::factorization::Factorization).
    #[must_use]
    pub fn evaluations_after(&self, layers: u32, order: Order) -> Self {
        Self { stored: self.stored.clone(), domain: Some((layers, order)) }
    }

    /// The order of evaluations; `None` for coefficients.
    #[must_use]
    pub fn order(&self) -> Option<Order> {
        self.domain.map(|(_, order)| order)
    }

    /// The number of layers of the transform that produced the evaluations; `None` for coefficients.
    #[must_use]
    pub fn depth(&self) -> Option<u32> {
        self.domain.map(|(depth, _)| depth)
    }

    /// The number of layers of the transform and the order of its evaluations; `None` for coefficients.
    pub fn domain(&self) -> Option<(u32, Order)> {
        self.domain
    }

    /// Returns this type with the domain of another type: coefficients, or evaluations with the same layers and order.
    pub fn in_domain_of(&self, other: &Self) -> Self {
        Self { stored: self.stored.clone(), domain: other.domain }
    }

    /// Selects limbs of the basis by index, in any order. This describes, for example, a batch of RNS polynomials at
    /// different levels, or a polynomial followed by the digits of another one. A modulus may occur more than once. In
    /// that case there is no single product Q of the moduli, and operations that need Q return an error.
    ///
    /// ```
    /// use ringforge::{PolyType, Ring};
    /// let ring: Ring = "12289,18433 : x^64 + 1".parse()?;
    /// let three = PolyType::from(&ring).with_limbs(&[0, 1, 0])?;
    /// assert_eq!((three.basis().len(), three.ring()), (3, &ring));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Ring`] if `limbs` is empty or an index is out of range; [`Error::TooLarge`] for more than 2^22 limbs.
    pub fn with_limbs(&self, limbs: &[usize]) -> Result<Self> {
        let Stored { ring, map, .. } = &*self.stored;
        if limbs.is_empty() {
            return Err(Error::Ring { why: format!("the list of limbs of {self} is empty: name at least one") });
        }
        if limbs.len() > MOST_LIMBS {
            return Err(Error::TooLarge { what: "the number of limbs", limit: MOST_LIMBS, got: limbs.len() });
        }
        if let Some(limb) = limbs.iter().find(|limb| **limb >= map.len()) {
            return Err(Error::Ring { why: format!("limb {limb} is out of range: {self} has {} limbs", map.len()) });
        }
        // the moduli that are still in use, in the order of first use
        let (mut of, mut places): (Vec<usize>, HashMap<usize, usize>) = Default::default();
        let place = |limb: &usize| {
            *places.entry(map[*limb]).or_insert_with(|| {
                of.push(map[*limb]);
                of.len() - 1
            })
        };
        let map: Vec<usize> = limbs.iter().map(place).collect();
        let ring = if of.iter().copied().eq(0..ring.basis().len()) { ring.clone() } else { ring.of_moduli(&of) };
        Ok(self.with(|stored| {
            stored.basis = limbs.iter().map(|&limb| self.basis()[limb]).collect();
            (stored.ring, stored.map) = (ring, map);
        }))
    }

    /// Selects a range of the limbs. The storage width remains, even if the selected moduli would fit a narrower one.
    ///
    /// # Errors
    /// [`Error::Ring`] if the range is empty or out of bounds.
    pub fn limbs(&self, limbs: Range<usize>) -> Result<Self> {
        match limbs.end <= self.basis().len() && !limbs.is_empty() {
            true => self.with_limbs(&limbs.collect::<Vec<_>>()),
            false => Err(Error::Ring {
                why: format!("limbs {limbs:?} are empty or out of range: {self} has {} limbs", self.basis().len()),
            }),
        }
    }

    /// Returns the type of a vector of `count` elements per item. The elements follow one another, each with all its
    /// limbs.
    ///
    /// # Errors
    /// [`Error::Ring`] if `count` is 0; [`Error::TooLarge`] for more than 2^22 limbs per item.
    pub fn vector(&self, count: usize) -> Result<Self> {
        let Stored { map, .. } = &*self.stored;
        if count == 0 {
            return Err(Error::Ring { why: format!("a vector over {self} must have at least one element") });
        }
        let limit = MOST_LIMBS / map.len();
        if count > limit {
            return Err(Error::TooLarge { what: "the number of elements of a vector", limit, got: count });
        }
        Ok(self.with(|stored| (stored.basis, stored.map) = (stored.basis.repeat(count), stored.map.repeat(count))))
    }

    /// Returns the type of a vector's elements and their number, or `None` if this is not the type of a vector.
    pub fn of_vector(&self) -> Option<(Self, usize)> {
        let (limbs, one) = (self.basis().len(), self.moduli().len());
        let element = self.limbs(0..one).ok().filter(|_| one < limbs && limbs.is_multiple_of(one))?;
        let count = limbs / one;
        (element.vector(count).as_ref() == Ok(self)).then_some((element, count))
    }

    /// A strided batch inside each element: an element becomes `columns` polynomials modulo f, the columns of a
    /// matrix stored row by row. The coefficients of one polynomial have stride `columns`. If the type already has
    /// columns, their number is multiplied.
    ///
    /// A transform works on every column and never transposes the matrix: each row of the result holds one evaluation
    /// of every column. Addition, multiplication by constants, extension and transforms are supported; products and
    /// automorphisms are not.
    ///
    /// ```
    /// use ringforge::{Engine, Order, PolyType};
    /// let matrix: PolyType = "17 : x^2 - 1 : 3 columns".parse()?;
    /// assert_eq!((matrix.to_string(), matrix.degree()), ("Z_17[x]/(x^2 - 1) in 3 columns".into(), 6));
    /// let rows = [1u16, 2, 3, 4, 5, 6]; // the columns 1 + 4x, 2 + 5x and 3 + 6x
    /// let values = Engine::cpu().upload(&matrix, &rows)?.forward_to(Order::Natural)?;
    /// assert_eq!(values.download::<u16>()?, [5, 7, 9, 14, 14, 14]); // all columns at 1, then all at −1
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Ring`] if `columns` is 0; [`Error::TooLarge`] for more than 2^31 residues in a limb.
    pub fn strided_batch(&self, columns: usize) -> Result<Self> {
        let (limit, all) = (MOST_RESIDUES, self.columns().saturating_mul(columns));
        match self.degree().saturating_mul(columns) {
            0 => Err(Error::Ring { why: format!("a matrix over {self} must have at least one column") }),
            got if got > limit => Err(Error::TooLarge { what: "the number of rows times columns", limit, got }),
            _ => Ok(self.with(|stored| stored.columns = all)),
        }
    }

    /// Returns the type of elements of one column modulo the modulus with index `i` only, in the default width and
    /// form.
    pub fn of_modulus(&self, i: usize) -> Self {
        self.ring().of_moduli(&[i]).into()
    }

    /// Returns the type of one column.
    pub fn of_column(&self) -> Self {
        if self.columns() == 1 { self.clone() } else { self.with(|stored| stored.columns = 1) }
    }

    /// Returns an error if the type has several columns, for operations that do not support them.
    pub fn check_single(&self, job: impl fmt::Display) -> Result<()> {
        match self.columns() {
            1 => Ok(()),
            _ => Err(Error::unsupported(job, self, "it has several columns: use `PolyType::of_column`")),
        }
    }

    /// The same elements with residues stored in this width, for example the width of a larger basis from which these
    /// limbs were selected. If the form is the default of the old width, it becomes the default of the new one.
    ///
    /// # Errors
    /// [`Error::Ring`] if the width is too narrow for a modulus.
    pub fn with_width(&self, width: Width) -> Result<Self> {
        if width < self::width(self.basis()) {
            return Err(Error::Ring { why: format!("residues of {self} do not fit in {} bits", 8 * width.bytes()) });
        }
        let usual = self.named_form().is_none().then(|| Form::default_of(width));
        Ok(self.with(|stored| {
            stored.form = usual.unwrap_or(stored.form);
            stored.width = width;
        }))
    }

    /// The same elements with residues stored in this form, in inputs and outputs. Roots, steps and other constants
    /// remain plain values. By default, 256-bit residues are in Montgomery form and all others are plain.
    ///
    /// # Errors
    /// [`Error::Ring`] if `form` is Montgomery and residues have 16 bits or a modulus is even, unless it is the present
    /// form.
    pub fn with_form(&self, form: Form) -> Result<Self> {
        if form == self.form() {
            return Ok(self.clone());
        }
        if form == Form::Montgomery {
            if self.width() == Width::W16 {
                return Err(Error::Ring {
                    why: format!("the 16-bit residues of {self} have no Montgomery form: use the plain form"),
                });
            }
            if let Some(q) = self.moduli().iter().find(|q| !q.is_odd()) {
                return Err(Error::Ring {
                    why: format!("residues modulo the even number {q} have no Montgomery form: use the plain form"),
                });
            }
        }
        Ok(self.with(|stored| stored.form = form))
    }

    /// The same elements, with inputs that may be any words of the width. A word x stands for x mod q; kernels reduce
    /// it on loading. Outputs are below q.
    ///
    /// ```
    /// # use ringforge::{Engine, PolyType};
    /// let words: PolyType = "18446744069414584321 : x^2 - 1 : any word".parse()?;
    /// let mut data = [u64::MAX, 0]; // 2^32 - 2 modulo 2^64 - 2^32 + 1
    /// Engine::best().ntt(&words)?.forward(&mut data)?;
    /// assert_eq!(data, [0xffff_fffe; 2]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    pub fn accepting_any_word(&self) -> Self {
        self.with(|stored| stored.any_word = true)
    }

    /// The ring, modulo every modulus that a limb uses.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.stored.ring
    }

    /// For each limb, its modulus.
    #[must_use]
    pub fn basis(&self) -> &[Modulus] {
        &self.stored.basis
    }

    /// The distinct moduli, in the order of first use by a limb. Each has its own twiddle table.
    #[must_use]
    pub fn moduli(&self) -> &[Modulus] {
        self.ring().basis()
    }

    /// For each limb, the index of its modulus in [`PolyType::moduli`].
    #[must_use]
    pub fn limb_moduli(&self) -> &[usize] {
        &self.stored.map
    }

    /// Returns true if a modulus occurs more than once. The limbs are then not an RNS basis of a single Q.
    pub fn repeats_moduli(&self) -> bool {
        self.basis().len() > self.moduli().len()
    }

    /// The quotient polynomial f of the ring.
    pub fn quotient(&self) -> &Quotient {
        self.ring().quotient()
    }

    /// Number of columns ([`PolyType::strided_batch`]), by default 1.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.stored.columns
    }

    /// The form in which residues are stored. In 256-bit Montgomery form, limbs modulo even numbers are plain, because
    /// they have no such form.
    #[must_use]
    pub fn form(&self) -> Form {
        self.stored.form
    }

    /// Returns true if inputs may be any words of the width instead of residues below q.
    #[must_use]
    pub fn accepts_any_word(&self) -> bool {
        self.stored.any_word
    }

    /// Number of residues in a limb: the degree of f times the number of columns.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.ring().degree() * self.columns()
    }

    /// The width of a stored residue: that of the widest modulus, unless the type [chooses
    /// another](PolyType::with_width).
    #[must_use]
    pub fn width(&self) -> Width {
        self.stored.width
    }

    /// Size of an item in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.basis().len() * self.degree() * self.width().bytes()
    }

    /// The width, or `None` if it is that of the widest modulus.
    fn named_width(&self) -> Option<Width> {
        Some(self.width()).filter(|own| *own != width(self.basis()))
    }

    /// The form, or `None` if it is the default of the width.
    fn named_form(&self) -> Option<Form> {
        Some(self.form()).filter(|form| *form != Form::default_of(self.width()))
    }

    /// A readable description of the type, beginning with "coefficients" or "evaluations".
    pub fn described(&self) -> String {
        match self.domain {
            None => format!("coefficients in {self}"),
            Some((depth, order)) => format!("evaluations in {self} after {depth} layers, {order}"),
        }
    }

    /// Writes the text that parses as this type. It does not record evaluations: the parsed type is always of
    /// coefficients.
    fn write_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let map = || self.limb_moduli().iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let map = if self.repeats_moduli() { format!(" # {}", map()) } else { String::new() };
        self.ring().write_text(f, &map)?;
        let width = self.named_width().map(|width| format!("{} bits", 8 * width.bytes()));
        let form = self.named_form().map(|form| form.to_string());
        let any_word = self.accepts_any_word().then(|| "any word".to_string());
        let columns = Some(self.columns()).filter(|columns| *columns > 1).map(|columns| format!("{columns} columns"));
        match [width, form, any_word, columns].into_iter().flatten().collect::<Vec<_>>()[..] {
            [] => Ok(()),
            ref stored => write!(f, " : {}", stored.join(", ")),
        }
    }
}

/// Writes a readable description of the ring and its storage, with long lists shortened. `{:#}` writes the full text
/// that parses as this type. Neither form says whether elements are coefficients or evaluations.
impl fmt::Display for PolyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return self.write_text(f);
        }
        let limbs = if self.repeats_moduli() { format!(" in {} limbs", self.basis().len()) } else { String::new() };
        self.ring().write_short(f, &limbs)?;
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

impl fmt::Debug for PolyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // includes every modulus, because this text is used as a cache key for twiddle tables
        let Stored { ring, basis, width, form, any_word, columns, .. } = &*self.stored;
        write!(f, "PolyType({ring:?}, {basis:?}, {width:?}, {form}, {any_word}, {columns}, {:?})", self.domain)
    }
}
