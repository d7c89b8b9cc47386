//! Radix-2 layers on many residues at once, generic over the instruction set.

use bytemuck::{Pod, cast_slice, cast_slice_mut};

/// Layers of the longest row; bounds of residues may grow with them.
const MOST_LAYERS: u32 = 31;

/// Maximum number of layers within pairs of vectors, reached with 16 words per vector.
pub(super) const MOST_WITHIN: usize = 5;

/// A radix-2 layer of butterflies, down (forward) or up (inverse) the tree.
///
/// The bounds of *relaxed* and *loose* residues depend on the kind of vectors; for some kinds they are twice those of
/// [`Field`](crate::field::Field). So the output of a step is valid input only for a step of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Cooley–Tukey butterflies. in, out: loose
    Forward,
    /// The last forward layer. in: loose   out: canonical
    ForwardLast,
    /// Gentleman–Sande butterflies. in, out: relaxed
    Inverse,
    /// The last inverse layer, which multiplies sums by a first factor and differences by a second one.
    ///
    /// in: relaxed   out: canonical
    InverseLast,
}

/// A modulus, least significant word first.
pub(super) type Modulus = [u64; 4];

/// A kind of SIMD vectors for residues modulo an odd q.
#[derive(Clone, Copy)]
pub(crate) struct Vectors {
    q: Modulus,
    kind: &'static dyn Kind,
}

impl Vectors {
    /// All kinds that this CPU has for 32-bit words and q < 2^31, the fastest first. A multiplier is a pair of w and
    /// floor(2^32 w / q).
    pub(crate) fn of_32_bits(q: u32) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = super::short::kinds(q.into());
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = core::iter::empty();
        kinds.map(move |kind| Self { q: [q.into(), 0, 0, 0], kind })
    }

    /// The same for 64-bit words and q < 2^62, with floor(2^64 w / q).
    pub(crate) fn of_64_bits(q: u64) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = super::avx512::kinds(q).chain(super::avx2::kinds(q));
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = core::iter::empty();
        kinds.map(move |kind| Self { q: [q, 0, 0, 0], kind })
    }

    /// The same for 256-bit words in Montgomery form.
    pub(crate) fn of_256_bits(q: Modulus) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = super::limbs::kinds(&q);
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = core::iter::empty();
        kinds.map(move |kind| Self { q, kind })
    }

    /// Whether rows of n words are supported, for n a power of two.
    pub(crate) fn fit(&self, n: usize) -> bool {
        (self.pair()..=1 << MOST_LAYERS).contains(&n)
    }

    /// Number of words in two vectors.
    pub(crate) fn pair(&self) -> usize {
        self.kind.pair()
    }

    /// One layer on parts of both halves of one node, in whole vectors.
    pub(crate) fn halves<W: Pod, T: Pod>(&self, step: Step, lo: &mut [W], hi: &mut [W], z: &[T]) {
        self.kind.halves(&self.q, step, cast_slice_mut(lo), cast_slice_mut(hi), cast_slice(z));
    }

    /// Whether two layers per pass are faster.
    pub(crate) fn take_quarters(&self) -> bool {
        self.kind.take_quarters()
    }

    /// A radix-2^2 pass: two layers in one pass over memory. Nodes have quarters of `part` words, whole vectors. `z`
    /// holds each node's twiddle factor, and then those of its two children.
    pub(crate) fn quarters<W: Pod, T: Pod>(&self, step: Step, part: usize, words: &mut [W], z: [&[T]; 2]) {
        self.kind.quarters(&self.q, step, part, cast_slice_mut(words), [cast_slice(z[0]), cast_slice(z[1])]);
    }

    /// One layer on nodes with halves of `part` words, whole vectors, with one twiddle factor per node.
    pub(crate) fn nodes<W: Pod, T: Pod>(&self, step: Step, part: usize, words: &mut [W], z: &[T]) {
        self.kind.nodes(&self.q, step, part, cast_slice_mut(words), cast_slice(z));
    }

    /// The lowest layers, whose leaves are smaller than a vector: forward, the layers below nodes of two vectors;
    /// inverse, the layers up to nodes of one vector. `z` has one list of twiddle factors per layer, from the top.
    pub(crate) fn within<'z, W: Pod, T: Pod>(
        &self,
        step: Step,
        words: &mut [W],
        z: impl ExactSizeIterator<Item = &'z [T]>,
    ) {
        let (mut lists, count) = ([&[][..]; MOST_WITHIN], z.len());
        lists.iter_mut().zip(z).for_each(|(list, z)| *list = cast_slice(z));
        self.kind.within(&self.q, step, cast_slice_mut(words), &lists[..count]);
    }
}

/// A kind of vectors as a trait object. A value proves that the CPU has its instructions. Words and multipliers are
/// passed as bytes.
pub(super) trait Kind: Sync {
    /// Number of words in two vectors.
    fn pair(&self) -> usize;
    fn take_quarters(&self) -> bool;
    fn halves(&self, q: &Modulus, step: Step, lo: &mut [u8], hi: &mut [u8], z: &[u8]);
    fn nodes(&self, q: &Modulus, step: Step, part: usize, words: &mut [u8], z: &[u8]);
    fn quarters(&self, q: &Modulus, step: Step, part: usize, words: &mut [u8], z: [&[u8]; 2]);
    fn within(&self, q: &Modulus, step: Step, words: &mut [u8], z: &[&[u8]]);
}

/// A kind of vectors and its arithmetic modulo q.
pub(super) trait Lanes: Copy + Sync {
    /// A residue in memory.
    type Word: Pod;
    /// A vector in memory.
    type Words: Pod;
    /// A vector in registers, with a residue in each lane.
    type Vector: Copy;
    /// A multiplier in memory.
    type Factor: Pod;
    /// A multiplier in each lane.
    type Factors: Copy;
    /// Constants derived from q.
    type Multiples: Copy;
    /// Whether products are so fast that memory is the bottleneck, even the nearest cache.
    const FAST: bool;
    /// Whether sums are relaxed at once, because memory has no room for loose ones; if not, they are relaxed in the
    /// next step.
    const EAGER: bool;
    /// Whether there are enough registers for several pairs of vectors at once.
    const SHORT: bool;

    /// Runs a closure compiled for these instructions, provided that it is inlined.
    fn enter(self, run: impl FnOnce());
    fn multiples(self, q: &Modulus) -> Self::Multiples;
    fn load(self, words: &Self::Words) -> Self::Vector;
    fn store(self, x: Self::Vector, words: &mut Self::Words);
    /// in: relaxed   out: loose
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// in: relaxed   out: loose
    fn sub(self, a: Self::Vector, b: Self::Vector, q: &Self::Multiples) -> Self::Vector;
    /// in: loose   out: relaxed
    fn relax(self, x: Self::Vector, q: &Self::Multiples) -> Self::Vector;
    /// in: loose, or relaxed with `EAGER`   out: canonical
    fn canonical(self, x: Self::Vector, q: &Self::Multiples) -> Self::Vector;
    /// in: loose   out: x z, relaxed
    fn mul(self, x: Self::Vector, z: Self::Factors, q: &Self::Multiples) -> Self::Vector;
    /// A multiplier broadcast to all lanes.
    fn factor(self, z: &Self::Factor, q: &Self::Multiples) -> Self::Factors;

    /// Splits the nodes in two vectors, with halves of K words, into a vector of left and one of right halves.
    fn unzip<const K: usize>(self, pair: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// The inverse of `unzip`.
    fn zip<const K: usize>(self, halves: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// Applies `unzip` repeatedly, from nodes with halves of half a vector down to those with halves of K words.
    fn spread<const K: usize>(self, pair: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// The inverse of `spread`.
    fn gather<const K: usize>(self, halves: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// The twiddle factors of the nodes in two vectors, in the lanes where `spread` puts each node.
    fn factors<const K: usize>(self, z: &[Self::Factor], q: &Self::Multiples) -> Self::Factors;
}

/// The node that each of N lanes belongs to, with K adjacent lanes per node.
pub(super) type Order<const N: usize> = [usize; N];

/// Nodes from left to right, with k lanes each.
pub(super) const fn in_order<const N: usize>(k: usize) -> Order<N> {
    let mut order = [0; N];
    let mut i = 0;
    while i < N {
        order[i] = i / k;
        i += 1;
    }
    order
}

/// Permutation indices by node: lane i takes word `order[i]·node + (i mod k)·lane + start` of two vectors.
pub(super) const fn by_nodes<const N: usize>(
    order: Order<N>,
    k: usize,
    node: usize,
    lane: usize,
    start: usize,
) -> [u64; N] {
    let mut places = [0; N];
    let mut i = 0;
    while i < N {
        places[i] = (order[i] * node + i % k * lane + start) as u64;
        i += 1;
    }
    places
}

/// For each of N words from `start`, of nodes with halves of k words: its position among N lanes of left halves
/// followed by N lanes of right halves.
pub(super) const fn zipped<const N: usize>(order: Order<N>, k: usize, start: usize) -> [u64; N] {
    let mut places = [0; N];
    let mut place = 0;
    while place < 2 * N {
        let lane = place % N;
        let word = order[lane] * 2 * k + place / N * k + lane % k;
        if start <= word && word < start + N {
            places[word - start] = place as u64;
        }
        place += 1;
    }
    places
}

/// The low half of x.
#[allow(clippy::cast_possible_truncation)]
pub(super) const fn low(x: u64) -> u32 {
    x as u32
}
