//! Single layers (the step between a node and its children) and ranges of layers on a whole residue polynomial. If a
//! transform is split over several kernels, a range of layers is the CPU reference of one of them.

use core::ops::Range;

use crate::field::Field;
use crate::shape::Layer;
use crate::tree::butterflies::{forward_sixth, forward_three, forward_two, inverse_threes, inverse_two};
use crate::tree::parts::{three_parts, two_parts};
use crate::tree::{Origin, Tree};

impl<F: Field> Tree<'_, F> {
    /// Computes the layers `part` of the forward transform. in: below 2q   out: below q
    pub(crate) fn forward_part(&self, part: &Range<usize>, words: &mut [F::Word]) {
        for layer in part.clone() {
            self.each_node(layer, &self.layout.forward, words, &|kind, z, words| self.step_down(kind, z, words));
        }
        words.iter_mut().for_each(|x| *x = self.field.canonical(*x));
    }

    /// Computes the layers `part` of the inverse transform, including the scale if layer 0 is among them.
    ///
    /// in: below 2q   out: below q
    pub(crate) fn inverse_part(&self, part: &Range<usize>, words: &mut [F::Word]) {
        for layer in part.clone().rev().filter(|&layer| layer > 0) {
            self.each_node(layer, &self.layout.inverse, words, &|kind, z, words| self.step_up(kind, z, words));
        }
        match part.start {
            0 => self.scaled_top(words, Origin::Values, None),
            _ => words.iter_mut().for_each(|x| *x = self.field.canonical(*x)),
        }
    }

    /// Forward step from a node with twiddle factors `z` to its children. in, out: below 4q
    #[inline(never)]
    pub(super) fn step_down(&self, kind: Layer, z: &[F::Twiddle], words: &mut [F::Word]) {
        let field = self.field;
        match kind {
            Layer::Two => two_parts(words, &|lo, hi| forward_two(&field, lo, hi, &z[0])),
            Layer::Sixth => two_parts(words, &|lo, hi| forward_sixth(&field, lo, hi, &z[0])),
            Layer::Three => three_parts(words, &|a, b, c| {
                forward_three(&field, [a, b, c], [&z[0], &z[1]], self.third_root());
            }),
        }
    }

    /// Inverse step from the children of a node with twiddle factors `z` to the node. in, out: below 2q
    #[inline(never)]
    pub(super) fn step_up(&self, kind: Layer, z: &[F::Twiddle], words: &mut [F::Word]) {
        let field = self.field;
        match kind {
            Layer::Two | Layer::Sixth => two_parts(words, &|lo, hi| inverse_two(&field, lo, hi, &z[0])),
            Layer::Three => three_parts(words, &|a, b, c| {
                inverse_threes(&field, [a, b, c], [&z[0], &z[1]], self.third_root());
            }),
        }
    }

    /// Calls `run` with the kind of layer, the twiddle factors and the words of every node above `layer`. `sections`
    /// holds the start of each layer's twiddle factors in the table.
    fn each_node(
        &self,
        layer: usize,
        sections: &[usize],
        words: &mut [F::Word],
        run: &impl Fn(Layer, &[F::Twiddle], &mut [F::Word]),
    ) {
        let (kind, nodes) = (self.shape.layers[layer], self.shape.nodes(layer));
        let z = self.table[sections[layer]..].chunks_exact(kind.factors());
        words.chunks_exact_mut(self.shape.n / nodes).zip(z).for_each(|(words, z)| run(kind, z, words));
    }
}
