//! Steps by radix 2 on many residues at once, generic over the instructions that do them.

use bytemuck::{Pod, cast_slice, cast_slice_mut};

/// Layers of the longest rows, which bounds of residues may grow with.
const MOST_LAYERS: u32 = 31;

/// Layers of nodes of at most two vectors, where those have 16 words.
pub(super) const MOST_WITHIN: usize = 5;

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

/// A modulus, low words first.
pub(super) type Modulus = [u64; 4];

/// Vectors of residues modulo an odd q.
#[derive(Clone, Copy)]
pub(crate) struct Vectors {
    q: Modulus,
    kind: &'static dyn Kind,
}

impl Vectors {
    /// All that this CPU has for words of 32 bits and q < 2^31, the fastest first. Factors are w and floor(2^32 w / q).
    pub(crate) fn of_32_bits(q: u32) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = super::short::kinds(q.into());
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = core::iter::empty();
        kinds.map(move |kind| Self { q: [q.into(), 0, 0, 0], kind })
    }

    /// The same for words of 64 bits and q < 2^62, with floor(2^64 w / q).
    pub(crate) fn of_64_bits(q: u64) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = super::avx512::kinds(q).chain(super::avx2::kinds(q));
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = core::iter::empty();
        kinds.map(move |kind| Self { q: [q, 0, 0, 0], kind })
    }

    /// The same for words of 256 bits in Montgomery form.
    pub(crate) fn of_256_bits(q: Modulus) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = super::limbs::kinds(&q);
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = core::iter::empty();
        kinds.map(move |kind| Self { q, kind })
    }

    /// Whether rows of n words can be worked on, n a power of two.
    pub(crate) fn fit(&self, n: usize) -> bool {
        (self.pair()..=1 << MOST_LAYERS).contains(&n)
    }

    /// Words of two vectors.
    pub(crate) fn pair(&self) -> usize {
        self.kind.pair()
    }

    /// A step on parts of both halves of one node, whole vectors.
    pub(crate) fn halves<W: Pod, T: Pod>(&self, step: Step, lo: &mut [W], hi: &mut [W], z: &[T]) {
        self.kind.halves(&self.q, step, cast_slice_mut(lo), cast_slice_mut(hi), cast_slice(z));
    }

    /// Whether it pays to do two layers at once.
    pub(crate) fn take_quarters(&self) -> bool {
        self.kind.take_quarters()
    }

    /// A step on the nodes of two layers, which memory feels as one: nodes with quarters of `part` words, whole vectors, each
    /// with its factor among the first and those of its two children among the second.
    pub(crate) fn quarters<W: Pod, T: Pod>(&self, step: Step, part: usize, words: &mut [W], z: [&[T]; 2]) {
        self.kind.quarters(&self.q, step, part, cast_slice_mut(words), [cast_slice(z[0]), cast_slice(z[1])]);
    }

    /// A step on nodes with halves of `part` words, whole vectors, each node with its factor.
    pub(crate) fn nodes<W: Pod, T: Pod>(&self, step: Step, part: usize, words: &mut [W], z: &[T]) {
        self.kind.nodes(&self.q, step, part, cast_slice_mut(words), cast_slice(z));
    }

    /// The lowest layers, which end at leaves of less than a vector: the last steps down from nodes of two vectors, or the
    /// first ones up to nodes of one. The factors are those of each layer, the upper ones first.
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

/// The instructions behind vectors; whoever has one may use them. Words and factors come as bytes.
pub(super) trait Kind: Sync {
    /// Words of two vectors.
    fn pair(&self) -> usize;
    fn take_quarters(&self) -> bool;
    fn halves(&self, q: &Modulus, step: Step, lo: &mut [u8], hi: &mut [u8], z: &[u8]);
    fn nodes(&self, q: &Modulus, step: Step, part: usize, words: &mut [u8], z: &[u8]);
    fn quarters(&self, q: &Modulus, step: Step, part: usize, words: &mut [u8], z: [&[u8]; 2]);
    fn within(&self, q: &Modulus, step: Step, words: &mut [u8], z: &[&[u8]]);
}

/// A kind of vectors of words and its arithmetic modulo q.
pub(super) trait Lanes: Copy + Sync {
    /// A residue in memory.
    type Word: Pod;
    /// The words of a vector.
    type Words: Pod;
    /// A residue in each lane.
    type Vector: Copy;
    /// A factor in memory.
    type Factor: Pod;
    /// A factor in each lane.
    type Factors: Copy;
    /// What the functions take q as.
    type Multiples: Copy;
    /// Whether products are so fast that steps wait for memory, even the nearest.
    const FAST: bool;
    /// Whether sums are relaxed at once, since memory has no room for loose ones; or else before the next step.
    const EAGER: bool;
    /// Whether there are registers for several pairs of vectors at once.
    const SHORT: bool;

    /// Runs a closure that is compiled for these instructions, if it is inlined.
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
    /// in: loose, or relaxed where sums are at once   out: canonical
    fn canonical(self, x: Self::Vector, q: &Self::Multiples) -> Self::Vector;
    /// in: loose   out: x z, relaxed
    fn mul(self, x: Self::Vector, z: Self::Factors, q: &Self::Multiples) -> Self::Vector;
    /// A factor for all lanes.
    fn factor(self, z: &Self::Factor, q: &Self::Multiples) -> Self::Factors;

    /// From the nodes in two vectors, with halves of K words, to a vector of left and one of right halves.
    fn unzip<const K: usize>(self, pair: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// Undoes `unzip`.
    fn zip<const K: usize>(self, halves: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// All of `unzip` one after another, from nodes with halves of half a vector down to those of K words.
    fn spread<const K: usize>(self, pair: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// Undoes `spread`.
    fn gather<const K: usize>(self, halves: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// The factors of the nodes in two vectors, each in the lanes where `spread` puts its node.
    fn factors<const K: usize>(self, z: &[Self::Factor], q: &Self::Multiples) -> Self::Factors;
}

/// The node of each of N lanes, K lanes beside each other.
pub(super) type Order<const N: usize> = [usize; N];

/// Nodes from left to right.
pub(super) const fn in_order<const N: usize>(k: usize) -> Order<N> {
    let mut order = [0; N];
    let mut i = 0;
    while i < N {
        order[i] = i / k;
        i += 1;
    }
    order
}

/// For lane number i of the node that is number j of its K lanes: a place among the words of two vectors.
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

/// For each of N words from `start`, of nodes with halves of k words: its place among N lanes of left halves and N of right
/// ones.
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

/// The low half.
#[allow(clippy::cast_possible_truncation)]
pub(super) const fn low(x: u64) -> u32 {
    x as u32
}
