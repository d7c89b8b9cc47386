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

/// The factorisation tree of a ring's polynomial f modulo each modulus of its basis, into leaves x^d − β of equal
/// degree d. By default d is at most 8. If the caller requests fewer layers, d may be larger. Only transforms in
/// digit-reversed order support d above 8.
///
/// Let t be the number of leaves of a tree: the product of all radices, except that of an optional first
/// [`Layer::Sixth`], which makes two trees. The top node of a tree is x^(t·d) − γ^t, and ρ is a root of unity of order
/// t; γ and ρ are listed below. A node x^k − γ^m·ρ^e, where m divides e, splits by radix r into
/// x^(k/r) − γ^(m/r)·ρ^((e + i·t)/r) for i = 0 … r−1, from left to right. So the leaf constants are γ·ρ^e for all e < t.
///
/// - For x^n − 1, γ = 1 and ρ is the ring's root.
/// - For x^n + 1, γ is the ring's root and ρ = γ².
/// - For other binomials, γ is the ring's root and ρ the ring's step.
/// - For x^n − x^(n/2) + 1, the ring's root ω has order 6t. γ is ω in the left tree and ω^5 in the right one, and
///   ρ = ω^6.
///
/// A type with w columns (see [`PolyType::strided_batch`]) has the tree of one column with x^w in place of x: each leaf
/// contains one leaf of every column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Factorization {
    poly: PolyType,
    n: usize,
    base: usize,
    layers: Vec<Layer>,
    roots: Vec<Roots>,
}

impl Factorization {
    /// Computes the factorisation of a ring: as deep as every modulus allows, or with exactly `depth` layers.
    ///
    /// # Errors
    /// - [`Error::NotPrime`] if a modulus is not prime.
    /// - [`Error::NoRoot`] if a modulus lacks the roots of unity for any transform, or those for leaves of degree at
    ///   most [`MAX_LEAF_DEGREE`].
    /// - [`Error::Ring`] if a root or step set by the caller does not generate the factors of f.
    /// - [`Error::Unsupported`] if f has no transform of radix 2 and 3, or is a binomial whose constant is 0 modulo a
    ///   modulus.
    /// - [`Error::Unsupported`] if the leaf degree exceeds [`MAX_LEAF_DEGREE`] for another reason, or the ring cannot
    ///   have `depth` layers.
    /// - [`Error::Unsupported`] if the modulus 2 shares a basis with moduli of more than 16 bits.
    pub fn of(poly: impl Into<PolyType>, depth: Option<u32>) -> Result<Self> {
        let poly = poly.into().coefficients();
        let Factors { base, layers, roots } = Factors::of(poly.ring(), depth)?;
        if poly.width() != Width::W16 && poly.moduli().iter().any(|q| !q.is_odd()) {
            let why = "the modulus 2 must not share a basis with moduli of more than 16 bits".into();
            return Err(Error::Unsupported { job: format!("a transform in {poly}"), why });
        }
        Ok(Self { n: poly.degree(), base: base * poly.columns(), poly, layers, roots })
    }

    /// Returns this factorisation for one column, modulo the modulus with index `i` only.
    pub fn of_modulus(&self, i: usize) -> Self {
        let Self { ref poly, n, ref layers, ref roots, .. } = *self;
        let (n, base) = (n / poly.columns(), self.column_leaf_degree());
        Self { poly: poly.of_modulus(i), n, base, layers: layers.clone(), roots: vec![roots[i]] }
    }

    /// Returns the tree of a whole element, including all columns.
    pub fn shape(&self) -> Shape<'_> {
        Shape { n: self.n, base: self.base, layers: &self.layers }
    }

    /// Returns the tree of one column.
    pub fn column_shape(&self) -> Shape<'_> {
        Shape { n: self.n / self.poly.columns(), base: self.column_leaf_degree(), layers: &self.layers }
    }

    /// Returns the leaf degree of one column.
    pub fn column_leaf_degree(&self) -> usize {
        self.base / self.poly.columns()
    }

    /// Returns true if all layers have radix 2 and leaves have degree 1. Every arithmetic supports such a
    /// factorisation.
    pub fn is_binary(&self) -> bool {
        self.column_leaf_degree() == 1 && self.layers.iter().all(|layer| *layer == Layer::Two)
    }

    /// Returns this factorisation restricted to a range of limbs. The layers stay the same, even if the moduli of these
    /// limbs alone would allow more.
    pub fn limbs(&self, limbs: Range<usize>) -> Result<Self> {
        let poly = self.poly.limbs(limbs)?;
        let of = |q: &Modulus| self.roots.iter().find(|roots| roots.q == *q).copied();
        let roots = poly.moduli().iter().filter_map(of).collect();
        Ok(Self { poly, roots, ..self.clone() })
    }

    /// Checks that the leaf degree is at most [`MAX_LEAF_DEGREE`] and the type has no columns, as operations in the NTT
    /// domain require.
    pub fn check_leaves(&self, operation: &str) -> Result<()> {
        self.poly.check_single(operation)?;
        self.check_degree(operation)
    }

    /// Checks that the leaf degree is at most [`MAX_LEAF_DEGREE`], as operations in the NTT domain require.
    pub fn check_degree(&self, operation: &str) -> Result<()> {
        match self.column_leaf_degree() {
            ..=MAX_LEAF_DEGREE => Ok(()),
            base => Err(Error::Unsupported {
                job: format!("{operation} in {}", self.poly),
                why: format!("its leaves have degree {base}, above the limit of {MAX_LEAF_DEGREE}: use a larger depth"),
            }),
        }
    }

    /// Returns true if [`leaf_degree`](Self::leaf_degree) exceeds [`MAX_LEAF_DEGREE`], or there are several columns.
    /// Evaluations then support no operation except the inverse transform.
    pub fn ends_high(&self) -> bool {
        self.base > MAX_LEAF_DEGREE || self.poly.columns() > 1
    }

    /// The type of the elements that are transformed.
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

    /// Degree of the leaves of one column, times the number of columns.
    #[must_use]
    pub fn leaf_degree(&self) -> usize {
        self.base
    }

    /// The layers from the top.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The roots for each modulus, in the order of [`PolyType::moduli`].
    #[doc(hidden)]
    #[must_use]
    pub fn roots(&self) -> &[Roots] {
        &self.roots
    }

    /// Returns true if the first layer is [`Layer::Sixth`], so that there are two trees below it.
    #[must_use]
    pub fn has_sixth(&self) -> bool {
        self.shape().has_sixth()
    }

    /// The number of leaves of each tree; there are two trees if the first layer is [`Layer::Sixth`].
    #[must_use]
    pub fn tree_leaves(&self) -> usize {
        self.shape().tree_leaves()
    }

    /// The number of leaves of all trees.
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

    /// Returns the exponent e of a node x^k − γ^m·ρ^e, with γ and ρ as in [`Factorization`]. `node` is the node's index
    /// from the left among the nodes above `layer`; for leaves, `layer` is the depth. Returns `None` if there is no
    /// such node.
    #[must_use]
    pub fn exponent(&self, layer: usize, node: usize) -> Option<u64> {
        (layer <= self.layers.len() && node < self.nodes(layer)).then(|| self.exponent_of(layer, node))
    }

    /// Like [`exponent`](Self::exponent), for a node that is known to exist.
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

    /// Returns the constant β of a leaf x^d − β modulo one modulus, given by its index in [`PolyType::moduli`]. Returns
    /// `None` if there is no such leaf or modulus.
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

    /// Returns true if there are two trees and the leaf belongs to the right one.
    #[must_use]
    pub fn is_right_tree(&self, leaf: usize) -> bool {
        self.has_sixth() && leaf >= self.leaves() / 2
    }

    /// For each leaf in digit-reversed order, returns its index in natural order, which sorts leaves by the exponent of
    /// the ring's root or, for x^n − c, of its step.
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
    /// Returns the type of the same elements as evaluations in this order, after all layers of the ring's transform.
    ///
    /// # Errors
    /// The errors of [`Factorization::of`].
    pub fn evaluations(&self, order: Order) -> Result<Self> {
        Ok(self.evaluations_after(Factorization::of(self, None)?.depth(), order))
    }
}

impl fmt::Display for Factorization {
    /// Writes the radices and the leaf degree, for example `6,2^6,3, leaf degree 2`; 6 stands for [`Layer::Sixth`].
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
