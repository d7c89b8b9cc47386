//! How a ring splits: layers of radix 2 and 3 down to the base degree that its moduli allow.

use core::fmt;
use core::ops::Range;

use crypto_bigint::U256;
use ringforge_cpu::Shape;

use crate::decimal::decimal;
use crate::error::{Error, Result};
use crate::modulus::{Modulus, Width};
use crate::poly::PolyType;
use crate::ring::Quotient;
use crate::ring::roots::{self, Constant};

#[doc(inline)]
pub use ringforge_cpu::{Layer, MAX_BASE};

/// The roots behind one modulus' transform, as plain values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Roots {
    /// The modulus.
    pub q: Modulus,
    /// γ with γ^t = c, c the constant of the tree's top node; for a trinomial, of the left of its two trees.
    pub start: U256,
    /// ρ, a primitive t-th root of unity.
    pub step: U256,
}

/// The tree by which f factors modulo every modulus of a ring into leaves x^d − β of equal degree d, at most 8 unless fewer
/// layers are asked for: then it ends at any degree, for transforms in tree order.
///
/// Let t be the product of the radices below an optional first [`Layer::Sixth`]. A tree starts at x^(t·d) − γ^t; a node
/// x^k − γ^m ρ^e (m divides e) splits by radix r into x^(k/r) − γ^(m/r) ρ^((e + i·t)/r), i = 0 … r−1, from left to
/// right. So leaf constants are γ·ρ^e, each e once. For x^n − 1, γ = 1 and ρ is the ring's root; for x^n + 1 and other
/// binomials γ is the root, and ρ = γ² for x^n + 1, else the ring's step; for the trinomial with root ω of order 6t, the left tree has γ = ω, the
/// right one γ = ω^5, and ρ = ω^6.
///
/// A ring in w columns splits as that of a column does, with x^w for x: a leaf has one of each column, side by side.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Split {
    pub(crate) poly: PolyType,
    pub(crate) n: usize,
    pub(crate) base: usize,
    pub(crate) layers: Vec<Layer>,
    pub(crate) roots: Vec<Roots>,
}

impl Split {
    /// The split of a ring: as deep as every modulus allows, or with exactly `depth` layers.
    ///
    /// # Errors
    /// [`Error::NotPrime`], [`Error::NoRoot`] or [`Error::Unsupported`] where the ring has no transform that ends at a
    /// degree of at most [`MAX_BASE`], or not so many layers; [`Error::Ring`] for a named root or step that does not split f.
    pub fn of(poly: impl Into<PolyType>, depth: Option<u32>) -> Result<Self> {
        let poly = &poly.into().coefficients();
        let top = Top::of(poly)?;
        let n = poly.degree();
        let (mut twos, mut threes) = (multiplicity(top.length, 2), multiplicity(top.length, 3));
        let mut roots = Vec::with_capacity(poly.moduli().len());
        let named =
            |i: usize| Named { root: poly.ring().roots().get(i).copied(), step: poly.ring().steps().get(i).copied() };
        for (i, q) in poly.moduli().iter().enumerate() {
            if !q.is_prime() {
                return Err(Error::NotPrime { q: q.value() });
            }
            let allowed = top.allowed(poly, q, named(i), twos, threes)?;
            (twos, threes) = (twos.min(allowed.0), threes.min(allowed.1));
        }
        if poly.width() != Width::W16 && poly.moduli().iter().any(|q| !q.is_odd()) {
            let why = "the modulus 2 shares its basis with one of more than 16 bits".into();
            return Err(Error::Unsupported { job: format!("a transform in {poly}"), why });
        }
        let mut layers = Vec::new();
        layers.extend(top.sixth.then_some(Layer::Sixth));
        layers.extend(core::iter::repeat_n(Layer::Two, twos as usize));
        layers.extend(core::iter::repeat_n(Layer::Three, threes as usize));
        let full = product(&layers[usize::from(top.sixth)..]);
        if let Some(depth) = depth {
            let available = layers.len();
            let depth = depth as usize;
            if depth > available || (top.sixth && depth == 0) {
                return Err(Error::Unsupported {
                    job: format!("a transform of {depth} layers in {poly}"),
                    why: format!("the ring has {available}"),
                });
            }
            layers.truncate(depth);
        }
        let t = product(&layers[usize::from(top.sixth)..]);
        // of a column; a leaf of the ring is one of all columns
        let base = top.length / t;
        if base > MAX_BASE && (depth.is_none() || layers.is_empty()) {
            let q = poly.basis().first().map_or(U256::ZERO, Modulus::value);
            let wanted = top.order_factor * (top.length / MAX_BASE).next_power_of_two() as u64;
            return match poly.basis().iter().find(|q| !q.has_root(wanted)) {
                Some(q) if depth.is_none() => Err(Error::NoRoot { q: q.value(), order: wanted }),
                _ => Err(Error::Unsupported {
                    job: format!("a transform in {poly} modulo {}", decimal(&q)),
                    why: format!("it ends at degree {base}, more than {MAX_BASE}"),
                }),
            };
        }
        for (i, q) in poly.moduli().iter().enumerate() {
            let refusal = || top.refusal(poly, q, named(i), full as u64);
            let (start, step) = top.roots(q, named(i), full as u64).ok_or_else(refusal)?;
            let dropped = U256::from((full / t) as u64);
            roots.push(Roots { q: *q, start: q.pow(&start, &dropped), step: q.pow(&step, &dropped) });
        }
        Ok(Self { poly: poly.clone(), n, base: base * poly.columns(), layers, roots })
    }

    /// The same split of a column modulo one of the moduli alone.
    pub(crate) fn of_modulus(&self, i: usize) -> Self {
        let Self { ref poly, n, ref layers, ref roots, .. } = *self;
        let (n, base) = (n / poly.columns(), self.column_base());
        Self { poly: poly.of_modulus(i), n, base, layers: layers.clone(), roots: vec![roots[i]] }
    }

    /// The tree.
    pub(crate) fn shape(&self) -> Shape<'_> {
        Shape { n: self.n, base: self.base, layers: &self.layers }
    }

    /// The tree of a column.
    pub(crate) fn column_shape(&self) -> Shape<'_> {
        Shape { n: self.n / self.poly.columns(), base: self.column_base(), layers: &self.layers }
    }

    /// Degree of the leaves of a column.
    pub(crate) fn column_base(&self) -> usize {
        self.base / self.poly.columns()
    }

    /// Whether all layers are of two, down to degree 1, which any arithmetic can transform.
    pub(crate) fn is_binary(&self) -> bool {
        self.column_base() == 1 && self.layers.iter().all(|layer| *layer == Layer::Two)
    }

    /// The same split of the ring of some limbs, which alone might go deeper.
    pub(crate) fn limbs(&self, limbs: Range<usize>) -> Result<Self> {
        let poly = self.poly.limbs(limbs)?;
        let of = |q: &Modulus| self.roots.iter().find(|roots| roots.q == *q).copied();
        let roots = poly.moduli().iter().filter_map(of).collect();
        Ok(Self { poly, roots, ..self.clone() })
    }

    /// Refuses an operation on values that end at too high a degree for it, or lie side by side.
    pub(crate) fn check_leaves(&self, operation: &str) -> Result<()> {
        self.poly.check_single(operation)?;
        self.check_degree(operation)
    }

    /// Refuses an operation on values that end at too high a degree for it.
    pub(crate) fn check_degree(&self, operation: &str) -> Result<()> {
        match self.column_base() {
            ..=MAX_BASE => Ok(()),
            base => Err(Error::Unsupported {
                job: format!("{operation} in {}", self.poly),
                why: format!("its transform ends at degree {base}, more than {MAX_BASE}"),
            }),
        }
    }

    /// Whether leaves have so high a degree, or so many columns, that all that can be done with them is to transform them back.
    pub(crate) fn ends_high(&self) -> bool {
        self.base > MAX_BASE || self.poly.columns() > 1
    }

    /// The type of the elements.
    #[must_use]
    pub fn poly(&self) -> &PolyType {
        &self.poly
    }

    /// Degree of the leaves; of a ring in columns, as many times more.
    #[must_use]
    pub fn base(&self) -> usize {
        self.base
    }

    /// Layers from the top.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The roots for each of the ring's [moduli](PolyType::moduli).
    #[must_use]
    pub fn roots(&self) -> &[Roots] {
        &self.roots
    }

    /// Whether the first layer makes two trees.
    #[must_use]
    pub fn has_sixth(&self) -> bool {
        self.shape().has_sixth()
    }

    /// The number of leaves of each tree.
    #[must_use]
    pub fn tree_leaves(&self) -> usize {
        self.shape().tree_leaves()
    }

    /// The number of leaves.
    #[must_use]
    pub fn leaves(&self) -> usize {
        self.shape().leaves()
    }

    /// The number of layers.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.layers.len() as u32
    }

    /// Nodes above a layer: the number of blocks that the layer splits. Below the last one, the number of leaves.
    #[must_use]
    pub fn nodes(&self, layer: usize) -> usize {
        self.shape().nodes(layer)
    }

    /// The exponent e of ρ in the constant of a node, counted from the left among the nodes above `layer`
    /// (`layer == depth` for leaves); none where there is no such node.
    #[must_use]
    pub fn exponent(&self, layer: usize, node: usize) -> Option<u64> {
        (layer <= self.layers.len() && node < self.nodes(layer)).then(|| self.exponent_of(layer, node))
    }

    /// The same for a node that there is.
    fn exponent_of(&self, layer: usize, node: usize) -> u64 {
        let first = usize::from(self.has_sixth());
        let t = self.tree_leaves() as u64;
        let mut below = self.nodes(layer);
        let mut rest = node;
        let mut exponent = 0;
        for (i, step) in self.layers[..layer].iter().enumerate() {
            below /= step.radix();
            let child = (rest / below) as u64;
            rest %= below;
            if i >= first {
                exponent = (exponent + child * t) / step.radix() as u64;
            }
        }
        exponent
    }

    /// The constant β of a leaf x^d − β modulo this one of the ring's [moduli](PolyType::moduli); none where there is no such
    /// leaf or modulus.
    #[must_use]
    pub fn leaf_constant(&self, modulus: usize, leaf: usize) -> Option<U256> {
        let Roots { q, start, step } = self.roots.get(modulus)?;
        let exponent = self.exponent(self.layers.len(), leaf)?;
        let start = match self.is_right_tree(leaf) {
            true => q.pow(start, &U256::from(5u32)),
            false => *start,
        };
        Some(q.mul(&start, &q.pow(step, &U256::from(exponent))))
    }

    /// Whether a leaf hangs in the right of two trees.
    #[must_use]
    pub fn is_right_tree(&self, leaf: usize) -> bool {
        self.has_sixth() && leaf >= self.leaves() / 2
    }

    /// For each leaf in tree order, its place in natural order: by ascending exponent of the ring's root.
    #[must_use]
    pub fn natural_places(&self) -> Vec<usize> {
        let depth = self.layers.len();
        let trees = if self.has_sixth() { 2 } else { 1 };
        (0..self.leaves())
            .map(|leaf| self.exponent_of(depth, leaf) as usize * trees + usize::from(self.is_right_tree(leaf)))
            .collect()
    }
}

impl fmt::Display for Split {
    /// For example `6,2^6,3 base 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        for (kind, digit) in [(Layer::Sixth, 6), (Layer::Two, 2), (Layer::Three, 3)] {
            match self.layers.iter().filter(|&&layer| layer == kind).count() {
                0 => {}
                1 => parts.push(digit.to_string()),
                count => parts.push(format!("{digit}^{count}")),
            }
        }
        if parts.is_empty() {
            parts.push("none".into());
        }
        write!(f, "{} base {}", parts.join(","), self.base)
    }
}

/// What the ring names for one modulus.
#[derive(Debug, Clone, Copy)]
struct Named {
    root: Option<U256>,
    step: Option<U256>,
}

/// What the quotient says about the top of the trees, whatever the modulus.
struct Top {
    /// Whether there are two trees under a first layer by six.
    sixth: bool,
    /// Degree of the top node of a tree.
    length: usize,
    /// The ring's root has this times t as its order, where that is fixed: 1 for x^n − 1, 2 for x^n + 1, 6 for the trinomial.
    order_factor: u64,
    /// The constant c of x^n − c, where it is neither 1 nor −1.
    constant: Option<U256>,
}

impl Top {
    fn of(poly: &PolyType) -> Result<Self> {
        let top = |sixth, length, order_factor, constant| Ok(Self { sixth, length, order_factor, constant });
        match poly.quotient() {
            Quotient::Cyclic { n } => top(false, *n, 1, None),
            Quotient::Negacyclic { n } => top(false, *n, 2, None),
            Quotient::Binomial { n, c } => top(false, *n, 1, Some(*c)),
            Quotient::Trinomial { n } => top(true, n / 2, 6, None),
            Quotient::PrimeTrinomial { .. } | Quotient::Sparse { .. } => Err(Error::Unsupported {
                job: format!("a transform in {poly}"),
                why: "its quotient does not split by radices 2 and 3 (products go through the lift)".into(),
            }),
        }
    }

    /// How many layers of radix 2 and 3 this modulus (and what is named) allows, at most `twos` and `threes`.
    fn allowed(&self, poly: &PolyType, q: &Modulus, named: Named, twos: u32, threes: u32) -> Result<(u32, u32)> {
        let constant = self.constant.as_ref().and_then(|c| Constant::new(q, q.reduce(c)));
        let has_roots = |t: u64| match (&self.constant, named.root) {
            (None, root) => roots::leads_to_order(q, root, self.order_factor * t),
            (Some(_), Some(_)) => self.leads_to_constant(q, named, t) && roots::leads_to_order(q, named.step, t),
            (Some(_), None) => {
                constant.as_ref().is_some_and(|c| c.has_root(t)) && roots::leads_to_order(q, named.step, t)
            }
        };
        let leaves = |&(twos, threes): &(u32, u32)| 2u64.pow(twos) * 3u64.pow(threes);
        let shapes = (0..=twos).rev().flat_map(|twos| (0..=threes).rev().map(move |threes| (twos, threes)));
        shapes.clone().find(|shape| has_roots(leaves(shape))).ok_or_else(|| {
            let leads_to_c = |t: &u64| self.leads_to_constant(q, named, *t);
            self.refusal(poly, q, named, shapes.map(|shape| leaves(&shape)).find(leads_to_c).unwrap_or(1))
        })
    }

    /// γ and ρ for trees of t leaves, where the modulus has them and the named ones are these (or generate them).
    fn roots(&self, q: &Modulus, named: Named, t: u64) -> Option<(U256, U256)> {
        if let Some(c) = &self.constant {
            let start = match named.root {
                Some(root) => Some(root).filter(|_| self.leads_to_constant(q, named, t)),
                None => Constant::new(q, q.reduce(c))?.root(t),
            };
            return start.zip(roots::root_of_order(q, named.step, t));
        }
        let root = roots::root_of_order(q, named.root, self.order_factor * t)?;
        let start = if self.order_factor == 1 { q.reduce(&U256::ONE) } else { root };
        Some((start, q.pow(&root, &U256::from(self.order_factor))))
    }

    /// Whether the t-th power of the named root is the constant.
    fn leads_to_constant(&self, q: &Modulus, named: Named, t: u64) -> bool {
        let power = named.root.map(|root| q.pow(&root, &U256::from(t)));
        self.constant.is_some_and(|c| power == Some(q.reduce(&c)))
    }

    /// Why there are no roots for trees of t leaves.
    fn refusal(&self, poly: &PolyType, q: &Modulus, named: Named, t: u64) -> Error {
        let why = match (named.root, named.step) {
            (None, None) if self.constant.is_none() => {
                return Error::NoRoot { q: q.value(), order: self.order_factor * t };
            }
            (None, None) => {
                let job = format!("a transform in {poly}");
                return Error::Unsupported { job, why: format!("its constant is 0 modulo {q}") };
            }
            (Some(_), None) if self.leads_to_constant(q, named, t) => {
                return Error::NoRoot { q: q.value(), order: t };
            }
            (Some(root), None) => format!("the root {}", decimal(&root)),
            (None, Some(step)) => format!("the step {}", decimal(&step)),
            (Some(root), Some(step)) => format!("the root {} with the step {}", decimal(&root), decimal(&step)),
        };
        Error::Ring { why: format!("{why} does not split {} modulo {q}", poly.quotient()) }
    }
}

fn multiplicity(mut n: usize, radix: usize) -> u32 {
    let mut count = 0;
    while n > 0 && n.is_multiple_of(radix) {
        n /= radix;
        count += 1;
    }
    count
}

fn product(layers: &[Layer]) -> usize {
    layers.iter().map(|layer| layer.radix()).product()
}
