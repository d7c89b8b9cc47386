//! The factorisation of a ring: layers of radix 2 and 3 down to the leaf degree that its moduli allow.

use core::fmt;
use core::ops::Range;

use crypto_bigint::U256;
use ringforge_cpu::Shape;

use crate::error::{Error, Result};
use crate::modulus::{Modulus, Width};
use crate::poly::{Order, PolyType};
use crate::ring::Factors;

#[doc(hidden)]
pub use crate::ring::Roots;

#[doc(inline)]
pub use ringforge_cpu::{Layer, MAX_LEAF_DEGREE};

/// The factorisation tree of f modulo every modulus of a ring, into leaves x^d − β of equal degree d. By default d is
/// at most 8. A smaller number of layers may be requested; then d is any degree, and only transforms in tree order are
/// supported.
///
/// Let t be the product of the radices below an optional first [`Layer::Sixth`]. A tree starts at x^(t·d) − γ^t. A node
/// x^k − γ^m ρ^e (m divides e) splits by radix r into x^(k/r) − γ^(m/r) ρ^((e + i·t)/r), i = 0 … r−1, from left to
/// right. So leaf constants are γ·ρ^e, each e once.
///
/// - For x^n − 1, γ = 1 and ρ is the ring's root.
/// - For x^n + 1, γ is the ring's root and ρ = γ².
/// - For other binomials, γ is the ring's root and ρ its step.
/// - For the trinomial with root ω of order 6t, the left tree has γ = ω, the right one γ = ω^5, and ρ = ω^6.
///
/// A ring in w columns factors like one of its columns, with x^w in place of x: each leaf contains one leaf of every
/// column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Factorization {
    poly: PolyType,
    n: usize,
    base: usize,
    layers: Vec<Layer>,
    roots: Vec<Roots>,
}

impl Factorization {
    /// The factorisation of a ring: as deep as every modulus allows, or with exactly `depth` layers.
    ///
    /// # Errors
    /// [`Error::NotPrime`], [`Error::NoRoot`] or [`Error::Unsupported`] if the ring has no transform that ends at a
    /// degree of at most [`MAX_LEAF_DEGREE`], or has fewer than `depth` layers; [`Error::Ring`] for a named root or step that
    /// does not split f.
    pub fn of(poly: impl Into<PolyType>, depth: Option<u32>) -> Result<Self> {
        let poly = poly.into().coefficients();
        let Factors { base, layers, roots } = Factors::of(poly.ring(), depth)?;
        if poly.width() != Width::W16 && poly.moduli().iter().any(|q| !q.is_odd()) {
            let why = "the modulus 2 must not share a basis with moduli of more than 16 bits".into();
            return Err(Error::Unsupported { job: format!("a transform in {poly}"), why });
        }
        Ok(Self { n: poly.degree(), base: base * poly.columns(), poly, layers, roots })
    }

    /// The same factorisation for one column modulo one of the moduli.
    pub fn of_modulus(&self, i: usize) -> Self {
        let Self { ref poly, n, ref layers, ref roots, .. } = *self;
        let (n, base) = (n / poly.columns(), self.column_leaf_degree());
        Self { poly: poly.of_modulus(i), n, base, layers: layers.clone(), roots: vec![roots[i]] }
    }

    /// The tree.
    pub fn shape(&self) -> Shape<'_> {
        Shape { n: self.n, base: self.base, layers: &self.layers }
    }

    /// The tree of one column.
    pub fn column_shape(&self) -> Shape<'_> {
        Shape { n: self.n / self.poly.columns(), base: self.column_leaf_degree(), layers: &self.layers }
    }

    /// Degree of the leaves of one column.
    pub fn column_leaf_degree(&self) -> usize {
        self.base / self.poly.columns()
    }

    /// Whether all layers are of radix 2, down to degree 1, which any arithmetic supports.
    pub fn is_binary(&self) -> bool {
        self.column_leaf_degree() == 1 && self.layers.iter().all(|layer| *layer == Layer::Two)
    }

    /// The same factorisation for the ring of some limbs, even if that ring could be factored further.
    pub fn limbs(&self, limbs: Range<usize>) -> Result<Self> {
        let poly = self.poly.limbs(limbs)?;
        let of = |q: &Modulus| self.roots.iter().find(|roots| roots.q == *q).copied();
        let roots = poly.moduli().iter().filter_map(of).collect();
        Ok(Self { poly, roots, ..self.clone() })
    }

    /// Returns an error for an operation in the NTT domain if the leaf degree exceeds [`MAX_LEAF_DEGREE`] or the type has
    /// columns.
    pub fn check_leaves(&self, operation: &str) -> Result<()> {
        self.poly.check_single(operation)?;
        self.check_degree(operation)
    }

    /// Returns an error for an operation in the NTT domain if the leaf degree exceeds [`MAX_LEAF_DEGREE`].
    pub fn check_degree(&self, operation: &str) -> Result<()> {
        match self.column_leaf_degree() {
            ..=MAX_LEAF_DEGREE => Ok(()),
            base => Err(Error::Unsupported {
                job: format!("{operation} in {}", self.poly),
                why: format!("its leaves have degree {base}, above the limit of {MAX_LEAF_DEGREE}: use a larger depth"),
            }),
        }
    }

    /// Whether the leaf degree is too high, or there are columns, so that evaluations can only be transformed back.
    pub fn ends_high(&self) -> bool {
        self.base > MAX_LEAF_DEGREE || self.poly.columns() > 1
    }

    /// The type of the elements.
    #[must_use]
    pub fn poly(&self) -> &PolyType {
        &self.poly
    }

    /// Number of residues in a limb.
    #[doc(hidden)]
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Degree of the leaves, times the number of columns.
    #[must_use]
    pub fn leaf_degree(&self) -> usize {
        self.base
    }

    /// The layers from the top.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The roots for each of the ring's [moduli](PolyType::moduli).
    #[doc(hidden)]
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

    /// The number of nodes that a layer splits. For an index past the last layer, the number of leaves.
    #[must_use]
    pub fn nodes(&self, layer: usize) -> usize {
        self.shape().nodes(layer)
    }

    /// The exponent e of ρ in the constant of a node, counted from the left among the nodes above `layer` (`layer ==
    /// depth` for leaves); `None` if there is no such node.
    #[must_use]
    pub fn exponent(&self, layer: usize, node: usize) -> Option<u64> {
        (layer <= self.layers.len() && node < self.nodes(layer)).then(|| self.exponent_of(layer, node))
    }

    /// As [`exponent`](Self::exponent), for a node that exists.
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

    /// The constant β of a leaf x^d − β modulo the ring's modulus of this index ([`PolyType::moduli`]); `None` if there
    /// is no such leaf or modulus.
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

    /// Whether a leaf belongs to the right one of two trees.
    #[must_use]
    pub fn is_right_tree(&self, leaf: usize) -> bool {
        self.has_sixth() && leaf >= self.leaves() / 2
    }

    /// The natural-order position of each leaf in tree order: by ascending exponent of the ring's root.
    #[must_use]
    pub fn natural_places(&self) -> Vec<usize> {
        let depth = self.layers.len();
        let trees = if self.has_sixth() { 2 } else { 1 };
        (0..self.leaves())
            .map(|leaf| self.exponent_of(depth, leaf) as usize * trees + usize::from(self.is_right_tree(leaf)))
            .collect()
    }
}

impl PolyType {
    /// The same elements as evaluations in this order, after all layers of the ring's transform.
    ///
    /// # Errors
    /// As [`Factorization::of`] where the ring has no transform.
    pub fn evaluations(&self, order: Order) -> Result<Self> {
        Ok(self.evaluations_after(Factorization::of(self, None)?.depth(), order))
    }
}

impl fmt::Display for Factorization {
    /// For example `6,2^6,3, leaf degree 2`.
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
        write!(f, "{}, leaf degree {}", parts.join(","), self.base)
    }
}
