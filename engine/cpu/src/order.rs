//! Permutations between digit-reversed order, in which transforms leave the leaves, and natural order.

use bytemuck::Pod;

use crate::shape::Shape;
use crate::threads::{self, TASK_BYTES};
use crate::wipe::Wiped;

/// Minimum number of leaves along each side of a tile, the block that is transposed at a time. With this size, reads
/// and writes both use whole cache lines.
const TILE: usize = 16;

/// A permutation of the leaves of a residue polynomial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reorder {
    /// Number of words per leaf.
    unit: usize,
    /// For each value of the leading digits of a leaf's index, the value with these digits reversed. It forms the
    /// lowest digits of the target index.
    head: Vec<usize>,
    /// For each value of the middle digits of a leaf's index, the value with these digits reversed. It forms the middle
    /// digits of the target index.
    middle: Vec<usize>,
    /// For each value of the last digits of a leaf's index, the value with these digits reversed. It forms the highest
    /// digits of the target index.
    tail: Vec<usize>,
}

impl Reorder {
    /// Returns the permutation from digit-reversed to natural order.
    pub(crate) fn to_natural(shape: Shape<'_>) -> Self {
        Self::new(shape.base, shape.layers.iter().map(|layer| layer.radix()).collect())
    }

    /// Returns the permutation from natural to digit-reversed order.
    pub(crate) fn to_tree(shape: Shape<'_>) -> Self {
        Self::new(shape.base, shape.layers.iter().rev().map(|layer| layer.radix()).collect())
    }

    fn new(unit: usize, radices: Vec<usize>) -> Self {
        let first = reach(radices.iter());
        let last = radices.len() - reach(radices.iter().rev()).min(radices.len() - first);
        Self {
            unit,
            head: places(&radices[..first]),
            middle: places(&radices[first..last]),
            tail: places(&radices[last..]),
        }
    }

    /// Returns the target index of the leaf at `index`.
    pub(crate) fn place(&self, index: usize) -> usize {
        let (rest, tail) = (index / self.tail.len(), index % self.tail.len());
        let (head, middle) = (rest / self.middle.len(), rest % self.middle.len());
        self.head[head] + self.head.len() * (self.middle[middle] + self.middle.len() * self.tail[tail])
    }

    /// Reorders a residue polynomial from `from` to `to` and applies `map` to each word.
    pub(crate) fn apply<A, B>(&self, from: &[A], to: &mut [B], map: impl Fn(A) -> B + Sync + Copy)
    where
        A: Copy + Send + Sync,
        B: Pod + Send + Sync,
    {
        let slab = self.head.len() * self.middle.len() * self.unit;
        // For each slab of the result (the leaves with the same highest digits), the value of the source index's last
        // digits.
        let mut sources: Vec<usize> = (0..self.tail.len()).collect();
        sources.sort_unstable_by_key(|&i| self.tail[i]);
        self.slabs(&sources, slab, from, to, map);
    }

    fn slabs<A, B>(&self, sources: &[usize], slab: usize, from: &[A], to: &mut [B], map: impl Fn(A) -> B + Sync + Copy)
    where
        A: Copy + Send + Sync,
        B: Pod + Send + Sync,
    {
        if size_of_val(to) > TASK_BYTES && sources.len() >= TILE / 2 && threads::count() > 1 {
            let (left, right) = sources.split_at(sources.len() / 2);
            let (a, b) = to.split_at_mut(left.len() * slab);
            threads::join(|| self.slabs(left, slab, from, a, map), || self.slabs(right, slab, from, b, map));
            return;
        }
        let run = self.head.len() * self.unit;
        let mut tile = Wiped::<B>::zeros(sources.len() * run);
        for (middle, &place) in self.middle.iter().enumerate() {
            for (head, &column) in self.head.iter().enumerate() {
                let row = &from[(head * self.middle.len() + middle) * self.tail.len() * self.unit..];
                for (line, &source) in tile.chunks_exact_mut(run).zip(sources) {
                    for v in 0..self.unit {
                        line[column * self.unit + v] = map(row[source * self.unit + v]);
                    }
                }
            }
            for (to, line) in to.chunks_exact_mut(slab).zip(tile.chunks_exact(run)) {
                to[place * run..][..run].copy_from_slice(line);
            }
        }
    }
}

/// Returns the smallest number of leading digits, with these radices, that take at least [`TILE`] values. Returns the
/// number of all digits if they take fewer values.
fn reach<'a>(radices: impl Iterator<Item = &'a usize>) -> usize {
    let sizes = radices.scan(1, |size, &radix| {
        let before = *size;
        *size *= radix;
        Some(before)
    });
    sizes.take_while(|&size| size < TILE).count()
}

/// For each number with digits of these radices, most significant first, returns the number with its digits reversed.
fn places(radices: &[usize]) -> Vec<usize> {
    let mut places = vec![0];
    let mut weight = 1;
    for &radix in radices {
        places = places.iter().flat_map(|&place| (0..radix).map(move |digit| place + digit * weight)).collect();
        weight *= radix;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Layer::{Sixth, Three, Two};

    #[test]
    fn digits_are_reversed() {
        for (base, layers) in [
            (1, vec![]),
            (1, vec![Two; 2]),
            (3, [vec![Sixth], vec![Two; 4]].concat()),
            (1, vec![Two; 9]),
            (1, [vec![Two; 12], vec![Three]].concat()),
            (2, vec![Two; 16]),
        ] {
            let radices = layers.iter().map(|layer| layer.radix());
            let leaves: usize = radices.clone().product();
            let shape = Shape { n: base * leaves, base, layers: &layers };
            let tree: Vec<usize> = (0..shape.n).collect();
            let (mut natural, mut again) = (vec![0; shape.n], vec![0; shape.n]);
            let (reorder, back) = (Reorder::to_natural(shape), Reorder::to_tree(shape));
            reorder.apply(&tree, &mut natural, |x| x);
            for leaf in 0..leaves {
                // in natural order, the digit of the first layer has the least weight
                let mut below = leaves;
                let digits = radices.clone().map(|radix| {
                    below /= radix;
                    (leaf / below % radix, radix)
                });
                let digits: Vec<_> = digits.collect();
                let place = digits.iter().rev().fold(0, |place, (digit, radix)| place * radix + digit);
                assert_eq!(natural[place * base..][..base], tree[leaf * base..][..base], "{layers:?}");
                assert_eq!((reorder.place(leaf), back.place(place)), (place, leaf));
            }
            back.apply(&natural, &mut again, |x| x);
            assert_eq!(again, tree);
        }
    }
}
