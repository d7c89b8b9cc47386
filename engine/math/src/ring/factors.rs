//! The factorisation of f modulo each modulus of a ring: layers of radix 2 and 3, as deep as all moduli allow.

use crypto_bigint::U256;
use ringforge_cpu::{Layer, MAX_LEAF_DEGREE};

use crate::decimal::decimal;
use crate::error::{Error, Result};
use crate::modulus::Modulus;
use crate::ring::roots::{self, Constant};
use crate::ring::{Quotient, Ring};

/// The roots of the transform modulo one modulus, as plain values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Roots {
    /// The modulus.
    pub q: Modulus,
    /// γ with γ^t = c, where c is the constant of the tree's top node x^k − c, and t its number of leaves. If there are
    /// two trees, this is the γ of the left one.
    pub start: U256,
    /// ρ, a primitive root of unity whose order is the number of leaves of a tree.
    pub step: U256,
}

/// The factorisation of f: its layers, the leaf degree, and the roots for each modulus. A
/// [`Factorization`](crate::factorization::Factorization) is made from these parts.
#[derive(Debug)]
pub struct Factors {
    pub base: usize,
    pub layers: Vec<Layer>,
    pub roots: Vec<Roots>,
}

impl Factors {
    /// Computes the factorisation as deep as every modulus allows, or with exactly `depth` layers.
    ///
    /// # Errors
    /// The errors of [`Factorization::of`](crate::factorization::Factorization::of).
    pub fn of(ring: &Ring, depth: Option<u32>) -> Result<Self> {
        let top = Top::of(ring)?;
        let (mut twos, mut threes) = (multiplicity(top.length, 2), multiplicity(top.length, 3));
        let mut roots = Vec::with_capacity(ring.basis().len());
        let named = |i: usize| Named { root: ring.roots().get(i).copied(), step: ring.steps().get(i).copied() };
        for (i, q) in ring.basis().iter().enumerate() {
            if !q.is_prime() {
                return Err(Error::NotPrime { q: q.value() });
            }
            let allowed = top.allowed(ring, q, named(i), twos, threes)?;
            (twos, threes) = (twos.min(allowed.0), threes.min(allowed.1));
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
                    job: format!("a transform of {depth} layers in {ring}"),
                    why: format!("the depth must be from {} to {available}", usize::from(top.sixth)),
                });
            }
            layers.truncate(depth);
        }
        let t = product(&layers[usize::from(top.sixth)..]);
        let base = top.length / t;
        if base > MAX_LEAF_DEGREE && (depth.is_none() || layers.is_empty()) {
            let q = ring.basis().first().map_or(U256::ZERO, Modulus::value);
            let wanted = top.order_factor * (top.length / MAX_LEAF_DEGREE).next_power_of_two() as u64;
            return match ring.basis().iter().find(|q| !q.has_root(wanted)) {
                Some(q) if depth.is_none() => Err(Error::NoRoot { q: q.value(), order: wanted }),
                _ => Err(Error::Unsupported {
                    job: format!("a transform in {ring} modulo {}", decimal(&q)),
                    why: format!("its leaves have degree {base}, above the limit of {MAX_LEAF_DEGREE}"),
                }),
            };
        }
        for (i, q) in ring.basis().iter().enumerate() {
            let refusal = || top.refusal(ring, q, named(i), full as u64);
            let (start, step) = top.roots(q, named(i), full as u64).ok_or_else(refusal)?;
            let dropped = U256::from((full / t) as u64);
            roots.push(Roots { q: *q, start: q.pow(&start, &dropped), step: q.pow(&step, &dropped) });
        }
        Ok(Self { base, layers, roots })
    }
}

/// The root and the step that the caller set for one modulus, if any.
#[derive(Debug, Clone, Copy)]
struct Named {
    root: Option<U256>,
    step: Option<U256>,
}

/// Properties of the tree or trees of the factorisation that depend only on the quotient.
struct Top {
    /// True if the first layer is [`Layer::Sixth`], which makes two trees.
    sixth: bool,
    /// Degree of a tree's top node.
    length: usize,
    /// The order of the ring's root divided by t, the number of leaves of a tree. It is 1 for x^n − c, 2 for x^n + 1,
    /// and 6 for x^n − x^(n/2) + 1.
    order_factor: u64,
    /// The constant c of a [`Quotient::Binomial`] x^n − c; `None` for all other quotients.
    constant: Option<U256>,
}

impl Top {
    fn of(ring: &Ring) -> Result<Self> {
        let top = |sixth, length, order_factor, constant| Ok(Self { sixth, length, order_factor, constant });
        match ring.quotient() {
            Quotient::Cyclic { n } => top(false, *n, 1, None),
            Quotient::Negacyclic { n } => top(false, *n, 2, None),
            Quotient::Binomial { n, c } => top(false, *n, 1, Some(*c)),
            Quotient::Trinomial { n } => top(true, n / 2, 6, None),
            Quotient::PrimeTrinomial { .. } | Quotient::Sparse { .. } => Err(Error::Unsupported {
                job: format!("a transform in {ring}"),
                why: "its quotient has no NTT of radix 2 and 3: use Op::Mul, which uses a larger NTT".into(),
            }),
        }
    }

    /// Returns the numbers of layers of radix 2 and 3 that this modulus allows with the root and step set by the
    /// caller. They are at most `twos` and `threes`.
    fn allowed(&self, ring: &Ring, q: &Modulus, named: Named, twos: u32, threes: u32) -> Result<(u32, u32)> {
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
            self.refusal(ring, q, named, shapes.map(|shape| leaves(&shape)).find(leads_to_c).unwrap_or(1))
        })
    }

    /// Returns γ and ρ for trees of t leaves. Returns `None` if the modulus lacks them, or if the root and step set by
    /// the caller do not generate them.
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

    /// Returns true if the root set by the caller, raised to the power t, is the constant c of x^n − c.
    fn leads_to_constant(&self, q: &Modulus, named: Named, t: u64) -> bool {
        let power = named.root.map(|root| q.pow(&root, &U256::from(t)));
        self.constant.is_some_and(|c| power == Some(q.reduce(&c)))
    }

    /// Returns the error that explains why there are no roots for trees of t leaves.
    fn refusal(&self, ring: &Ring, q: &Modulus, named: Named, t: u64) -> Error {
        let why = match (named.root, named.step) {
            (None, None) if self.constant.is_none() => {
                return Error::NoRoot { q: q.value(), order: self.order_factor * t };
            }
            (None, None) => {
                let job = format!("a transform in {ring}");
                return Error::Unsupported { job, why: format!("its constant is 0 modulo {q}") };
            }
            (Some(_), None) if self.leads_to_constant(q, named, t) => {
                return Error::NoRoot { q: q.value(), order: t };
            }
            (Some(root), None) => format!("the root {}", decimal(&root)),
            (None, Some(step)) => format!("the step {}", decimal(&step)),
            (Some(root), Some(step)) => format!("the root {} with the step {}", decimal(&root), decimal(&step)),
        };
        Error::Ring { why: format!("{why} does not generate the factors of {} modulo {q}", ring.quotient()) }
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
