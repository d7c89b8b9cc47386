//! Transforms of one residue polynomial on the CPU, depth first along the factorisation tree, which keeps subtrees in
//! cache. The forward transform uses Cooley–Tukey butterflies, the inverse transform Gentleman–Sande butterflies. Where
//! the arithmetic is lazy, reduction is lazy as in Harvey (arXiv:1205.2926). Evaluations are in digit-reversed order.

mod butterflies;
mod layers;
mod parts;
mod tile;
mod vectors;

use std::borrow::Cow;

use crate::field::Field;
use crate::layout::{HEADER, Layout};
use crate::shape::{Layer, Shape};
use crate::simd::{Step, Vectors, wide};
use crate::threads::{self, TASK_BYTES};

use butterflies::{forward_two, forward_twos, inverse_three, inverse_two, inverse_twos};
use parts::{three_parts, two_parts};

/// Maximum size in bytes of a block that is processed layer by layer instead of depth first, because it fits the
/// nearest cache.
const NEAR_BYTES: usize = 32 << 10;

/// Index in the twiddle table's header of σ, a primitive third root of unity.
const THIRD_ROOT: usize = 0;
/// First of the three entries of the twiddle table's header with the scales of an inverse transform's last layer.
const SCALE: usize = 1;
/// First of the three entries of the twiddle table's header with the scales for an inverse transform of products
/// divided by F.
const PRODUCT_SCALE: usize = 4;
/// Index in the twiddle table's header of F, the constant by which the reduction of a product divides.
const PRODUCT_FACTOR: usize = 7;

/// The kind of evaluations that an inverse transform starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Evaluations as a forward transform returns them.
    Values,
    /// Products of evaluations, which the reduction has divided by its constant F. The inverse transform multiplies by
    /// F.
    Products,
}

/// The factorisation tree of a transform modulo one q, with its twiddle factors.
pub(crate) struct Tree<'a, F: Field> {
    pub(crate) field: F,
    pub(crate) shape: Shape<'a>,
    pub(crate) layout: &'a Layout,
    /// The header of the twiddle table, which includes the scale folded into the inverse transform.
    pub(crate) header: [F::Twiddle; HEADER],
    /// The twiddle table, in which the nodes of every layer are in order from left to right.
    pub(crate) table: Cow<'a, [F::Twiddle]>,
}

impl<F: Field> Tree<'_, F> {
    /// Returns F, the constant by which the reduction of a product divides; multiplying by it restores the product.
    pub(crate) fn product_factor(&self) -> &F::Twiddle {
        &self.header[PRODUCT_FACTOR]
    }

    /// Returns σ, a primitive third root of unity.
    fn third_root(&self) -> &F::Twiddle {
        &self.header[THIRD_ROOT]
    }

    /// Returns the constants β of all leaves x^d − β, or an empty slice if leaves have degree 1. For degree 1, the
    /// table may be missing.
    pub(crate) fn leaf_constants(&self) -> &[F::Twiddle] {
        self.table.get(self.layout.leaves.clone()).unwrap_or_default()
    }

    /// Transforms coefficients to evaluations in digit-reversed order. in, out: below q
    pub(crate) fn forward(&self, words: &mut [F::Word]) {
        self.forward_node(0, 0, words, self.vectors());
    }

    /// Transforms evaluations in digit-reversed order to coefficients. in: below 2q   out: below q
    pub(crate) fn inverse(&self, words: &mut [F::Word], origin: Origin) {
        self.inverse_with(words, origin, self.vectors());
    }

    fn inverse_with(&self, words: &mut [F::Word], origin: Origin, vectors: Option<Vectors>) {
        if self.shape.layers.is_empty() {
            // the tree has no layers, so only the scale remains
        } else if size_of_val(words) <= NEAR_BYTES {
            self.inverse_node(1, 0, words, vectors);
        } else {
            self.children(0, 0, words, &|node, child| self.inverse_node(1, node, child, vectors));
        }
        self.scaled_top(words, origin, vectors);
    }

    /// Computes the top layer of the inverse transform, which runs last and includes the scale. Without layers, only
    /// multiplies by the scale. in: below 2q   out: below q
    fn scaled_top(&self, words: &mut [F::Word], origin: Origin, vectors: Option<Vectors>) {
        let (field, header) = (self.field, &self.header);
        let scale = if origin == Origin::Values { SCALE } else { PRODUCT_SCALE };
        let [s, second, third] = [&header[scale], &header[scale + 1], &header[scale + 2]];
        let Some(top) = self.shape.layers.first() else {
            words.iter_mut().for_each(|x| *x = field.canonical(field.mul(*x, s)));
            return;
        };
        if let Some(vectors) = vectors {
            let scales = &header[scale..scale + 2];
            return two_parts(words, &|lo, hi| vectors.halves(Step::InverseLast, lo, hi, scales));
        }
        match top {
            Layer::Two => two_parts(words, &|lo, hi| {
                for (u, v) in lo.iter_mut().zip(hi) {
                    let (sum, difference) = (field.add(*u, *v), field.sub(*u, *v));
                    *u = field.canonical(field.mul(sum, s));
                    *v = field.canonical(field.mul(difference, second));
                }
            }),
            Layer::Sixth => two_parts(words, &|lo, hi| {
                for (u, v) in lo.iter_mut().zip(hi) {
                    let high = field.mul(field.sub(*u, *v), second);
                    *u = field.canonical(field.sub(field.mul(*u, s), field.mul(high, third)));
                    *v = field.canonical(high);
                }
            }),
            Layer::Three => three_parts(words, &|a, b, c| {
                for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                    let [x, y, z] = inverse_three(&field, [*a, *b, *c], self.third_root());
                    *a = field.canonical(field.mul(x, s));
                    *b = field.canonical(field.mul(y, second));
                    *c = field.canonical(field.mul(z, third));
                }
            }),
        }
    }

    /// Forward transform from one node above `layer` down to its leaves. in: below 4q, or with `vectors` loose as in
    /// [`Step`]   out: below q
    fn forward_node(&self, layer: usize, node: usize, words: &mut [F::Word], vectors: Option<Vectors>) {
        if size_of_val(words) <= NEAR_BYTES || layer == self.shape.layers.len() {
            return match vectors {
                Some(vectors) => self.forward_in_vectors(layer, node, words, vectors),
                None => wide(
                    #[inline(always)]
                    || self.forward_near(layer, node, words),
                ),
            };
        }
        let kind = self.shape.layers[layer];
        let z = &self.table[self.layout.forward[layer] + node * kind.factors()..];
        match vectors {
            Some(vectors) => two_parts(words, &|lo, hi| vectors.halves(Step::Forward, lo, hi, &z[..1])),
            None => self.step_down(kind, z, words),
        }
        self.children(layer, node, words, &|node, child| self.forward_node(layer + 1, node, child, vectors));
    }

    /// Forward transform, layer by layer, from consecutive nodes above `layer` down to their leaves. `first` is the
    /// index of the first node. The nodes' words together fit the nearest cache.
    #[inline(always)]
    fn forward_near(&self, layer: usize, mut first: usize, words: &mut [F::Word]) {
        let field = self.field;
        let tiles = tile::first_layer::<F>(self.shape).max(layer);
        let mut size = self.shape.n / self.shape.nodes(layer);
        for (l, &kind) in self.shape.layers.iter().enumerate().take(tiles).skip(layer) {
            let z = &self.table[self.layout.forward[l] + first * kind.factors()..];
            let part = size / kind.radix();
            match kind {
                Layer::Two => match part {
                    1 => forward_twos::<F, 1>(&field, words, z),
                    2 => forward_twos::<F, 2>(&field, words, z),
                    4 => forward_twos::<F, 4>(&field, words, z),
                    _ => {
                        for (words, z) in words.chunks_exact_mut(size).zip(z) {
                            two_parts(words, &|lo, hi| forward_two(&field, lo, hi, z));
                        }
                    }
                },
                Layer::Sixth | Layer::Three => {
                    for (words, z) in words.chunks_exact_mut(size).zip(z.chunks_exact(kind.factors())) {
                        self.step_down(kind, z, words);
                    }
                }
            }
            (size, first) = (part, first * kind.radix());
        }
        // `are_for` is evaluated at compile time, so arithmetics that never use tiles reserve no stack memory for them
        if tile::are_for::<F>() && tiles < self.shape.layers.len() {
            self.forward_tiles(tiles, first, words);
        } else {
            words.iter_mut().for_each(|x| *x = field.canonical(*x));
        }
    }

    /// Inverse transform from the leaves up to a node above `layer`, or up to several nodes that together fit the
    /// nearest cache. `layer` must not be 0, because the top layer includes the scale.
    ///
    /// in, out: below 2q, or with `vectors` relaxed as in [`Step`]
    fn inverse_node(&self, layer: usize, node: usize, words: &mut [F::Word], vectors: Option<Vectors>) {
        if size_of_val(words) <= NEAR_BYTES || layer == self.shape.layers.len() {
            return match vectors {
                Some(vectors) => self.inverse_in_vectors(layer, node, words, vectors),
                None => wide(
                    #[inline(always)]
                    || self.inverse_near(layer, node, words),
                ),
            };
        }
        self.children(layer, node, words, &|node, child| self.inverse_node(layer + 1, node, child, vectors));
        let kind = self.shape.layers[layer];
        let z = &self.table[self.layout.inverse[layer] + node * kind.factors()..];
        match vectors {
            Some(vectors) => two_parts(words, &|lo, hi| vectors.halves(Step::Inverse, lo, hi, &z[..1])),
            None => self.step_up(kind, z, words),
        }
    }

    /// Inverse transform, layer by layer, from the leaves up to consecutive nodes above `layer`. `first` is the index
    /// of the first node. The nodes' words together fit the nearest cache.
    #[inline(always)]
    fn inverse_near(&self, layer: usize, first: usize, words: &mut [F::Word]) {
        let field = self.field;
        let above = self.shape.nodes(layer);
        let number = |l| first * (self.shape.nodes(l) / above);
        let tiles = tile::first_layer::<F>(self.shape).max(layer);
        if tile::are_for::<F>() && tiles < self.shape.layers.len() {
            self.inverse_tiles(tiles, number(tiles), words);
        }
        let mut part = self.shape.n / self.shape.nodes(tiles);
        for (l, &kind) in self.shape.layers.iter().enumerate().take(tiles).skip(layer).rev() {
            let z = &self.table[self.layout.inverse[l] + number(l) * kind.factors()..];
            let size = part * kind.radix();
            match kind {
                Layer::Two | Layer::Sixth => match part {
                    1 => inverse_twos::<F, 1>(&field, words, z),
                    2 => inverse_twos::<F, 2>(&field, words, z),
                    4 => inverse_twos::<F, 4>(&field, words, z),
                    _ => {
                        for (words, z) in words.chunks_exact_mut(size).zip(z) {
                            two_parts(words, &|lo, hi| inverse_two(&field, lo, hi, z));
                        }
                    }
                },
                Layer::Three => {
                    for (words, z) in words.chunks_exact_mut(size).zip(z.chunks_exact(2)) {
                        self.step_up(kind, z, words);
                    }
                }
            }
            part = size;
        }
    }

    /// Calls `run` with the index and the words of each child of a node above `layer`; on several threads if the node
    /// is large.
    fn children(
        &self,
        layer: usize,
        node: usize,
        words: &mut [F::Word],
        run: &(impl Fn(usize, &mut [F::Word]) + Sync),
    ) {
        let radix = self.shape.layers[layer].radix();
        let far = size_of_val(words) > TASK_BYTES;
        let (a, rest) = words.split_at_mut(words.len() / radix);
        let (b, c) = rest.split_at_mut(a.len());
        let first = node * radix;
        let later = |b: &mut [F::Word], c: &mut [F::Word]| {
            run(first + 1, b);
            if !c.is_empty() {
                run(first + 2, c);
            }
        };
        if far {
            threads::join(|| run(first, a), || later(b, c));
        } else {
            run(first, a);
            later(b, c);
        }
    }
}
