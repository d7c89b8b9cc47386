//! Some of the layers of a transform, each over the whole row: what a kernel of a longer plan means.

use core::ops::Range;

use crate::field::Field;
use crate::kernels::tree::butterflies::{forward_sixth, forward_three, forward_two, inverse_threes, inverse_two};
use crate::kernels::tree::parts::{three_parts, two_parts};
use crate::kernels::tree::{Origin, Tree};
use crate::ring::split::Layer;
use crate::rows::twiddles::factors;

impl<F: Field> Tree<'_, F> {
    /// These layers from above. in: relaxed   out: canonical
    pub(crate) fn forward_part(&self, part: &Range<usize>, words: &mut [F::Word]) {
        for layer in part.clone() {
            self.each_node(layer, &self.layout.forward, words, &|kind, z, words| match kind {
                Layer::Two => two_parts(words, &|lo, hi| forward_two(&self.field, lo, hi, &z[0])),
                Layer::Sixth => two_parts(words, &|lo, hi| forward_sixth(&self.field, lo, hi, &z[0])),
                Layer::Three => three_parts(words, &|a, b, c| {
                    forward_three(&self.field, [a, b, c], [&z[0], &z[1]], self.third_root());
                }),
            });
        }
        words.iter_mut().for_each(|x| *x = self.field.canonical(*x));
    }

    /// These layers from below, with the scale if the first one is among them. in: relaxed   out: canonical
    pub(crate) fn inverse_part(&self, part: &Range<usize>, words: &mut [F::Word]) {
        for layer in part.clone().rev().filter(|&layer| layer > 0) {
            self.each_node(layer, &self.layout.inverse, words, &|kind, z, words| match kind {
                Layer::Two | Layer::Sixth => two_parts(words, &|lo, hi| inverse_two(&self.field, lo, hi, &z[0])),
                Layer::Three => three_parts(words, &|a, b, c| {
                    inverse_threes(&self.field, [a, b, c], [&z[0], &z[1]], self.third_root());
                }),
            });
        }
        match part.start {
            0 => self.scaled_top(words, Origin::Values, None),
            _ => words.iter_mut().for_each(|x| *x = self.field.canonical(*x)),
        }
    }

    /// Calls `run` on the words of every node above a layer, with its factors.
    fn each_node(
        &self,
        layer: usize,
        sections: &[usize],
        words: &mut [F::Word],
        run: &impl Fn(Layer, &[F::Twiddle], &mut [F::Word]),
    ) {
        let (kind, nodes) = (self.split.layers[layer], self.split.nodes(layer));
        let z = self.table[sections[layer]..].chunks_exact(factors(kind));
        words.chunks_exact_mut(self.split.n / nodes).zip(z).for_each(|(words, z)| run(kind, z, words));
    }
}
