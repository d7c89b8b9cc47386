//! Steps by radix 2 on many 64-bit residues at once, generic over the instructions that do them.

use bytemuck::{Pod, cast_slice, cast_slice_mut};

/// A step by radix 2 down or up the nodes of one layer.
///
/// *Relaxed* and *loose* residues lie below bounds of these instructions' own, twice as high as those of
/// [`Field`](crate::field::Field) for some: what one step leaves is for a step of the same kind to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// in, out: loose
    Forward,
    /// in: loose   out: canonical
    ForwardLast,
    /// in, out: relaxed
    Inverse,
    /// Multiplies sums by a first factor and differences by a second one. in: relaxed   out: canonical
    InverseLast,
}

/// A factor w < q and floor(2^64 w / q).
pub(super) type Factor = [u64; 2];

/// Vectors of 64-bit residues modulo an odd q below 2^62.
#[derive(Clone, Copy)]
pub(crate) struct Vectors {
    q: u64,
    kind: &'static dyn Kind,
}

impl Vectors {
    /// All that this CPU has, the fastest first.
    pub(crate) fn all(q: u64) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = super::avx512::kinds(q).chain(super::avx2::kinds(q));
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = core::iter::empty();
        kinds.map(move |kind| Self { q, kind })
    }

    /// Whether rows of n words can be worked on, n a power of two.
    pub(crate) fn fit(&self, n: usize) -> bool {
        n >= self.kind.pair()
    }

    /// A step on parts of both halves of one node, whole vectors. Words are 64-bit words, factors are [`Factor`]s.
    pub(crate) fn halves<W: Pod, T: Pod>(&self, step: Step, lo: &mut [W], hi: &mut [W], z: &[T]) {
        self.kind.halves(self.q, step, cast_slice_mut(lo), cast_slice_mut(hi), cast_slice(z));
    }

    /// Whether it pays to do two layers at once, the lower of them on halves of `part` words.
    pub(crate) fn take_quarters(&self, part: usize) -> bool {
        self.kind.take_quarters(part)
    }

    /// A step on the nodes of two layers, which memory feels as one: nodes with quarters of `part` words, each with its
    /// factor among the first and those of its two children among the second.
    pub(crate) fn quarters<W: Pod, T: Pod>(&self, step: Step, part: usize, words: &mut [W], z: [&[T]; 2]) {
        self.kind.quarters(self.q, step, part, cast_slice_mut(words), [cast_slice(z[0]), cast_slice(z[1])]);
    }

    /// A step on nodes with halves of `part` words, a power of two, each node with its factor; at least two vectors in all.
    pub(crate) fn nodes<W: Pod, T: Pod>(&self, step: Step, part: usize, words: &mut [W], z: &[T]) {
        self.kind.nodes(self.q, step, part, cast_slice_mut(words), cast_slice(z));
    }
}

/// The instructions behind vectors; whoever has one may use them.
pub(super) trait Kind: Sync {
    /// Words of two vectors.
    fn pair(&self) -> usize;
    fn take_quarters(&self, part: usize) -> bool;
    fn halves(&self, q: u64, step: Step, lo: &mut [u64], hi: &mut [u64], z: &[Factor]);
    fn nodes(&self, q: u64, step: Step, part: usize, words: &mut [u64], z: &[Factor]);
    fn quarters(&self, q: u64, step: Step, part: usize, words: &mut [u64], z: [&[Factor]; 2]);
}

/// A kind of vectors of 64-bit words and its arithmetic modulo q. All sums wrap.
pub(super) trait Lanes: Copy + Sync {
    type Vector: Copy;
    /// The words of a vector.
    type Words: Pod;
    /// Products are below this multiple of q, which bounds what is relaxed; twice as much bounds what is loose.
    const RELAXED: u64;
    /// Whether products are so fast that steps wait for memory, even the nearest.
    const FAST: bool;

    /// Runs a closure that is compiled for these instructions, if it is inlined.
    fn enter(self, run: impl FnOnce());
    fn splat(self, x: u64) -> Self::Vector;
    fn load(self, words: &Self::Words) -> Self::Vector;
    fn store(self, x: Self::Vector, words: &mut Self::Words);
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// in: x < 2m, m < 2^63   out: x mod m
    fn reduce(self, x: Self::Vector, m: Self::Vector) -> Self::Vector;
    /// in: loose x   out: x w, relaxed
    fn mul(self, x: Self::Vector, z: [Self::Vector; 2], q: Self::Vector) -> Self::Vector;

    /// From the nodes in two vectors, with halves of K words, to a vector of left and one of right halves.
    fn unzip<const K: usize>(self, pair: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// Undoes `unzip`.
    fn zip<const K: usize>(self, halves: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// The factors of the nodes in two vectors, each in the lanes where `unzip` puts its node.
    fn factors<const K: usize>(self, z: &[Factor]) -> [Self::Vector; 2];
}
