//! Radix-2 layers on many residues at once, in SIMD vectors, generic over the instruction set.
//!
//! Residues have two ranges: *relaxed* residues can be added, *loose* residues are unreduced sums of two relaxed ones.
//! Their bounds depend on the kind of vectors, see [`Step`].

use bytemuck::{Pod, cast_slice, cast_slice_mut};

/// Maximum number of layers of a transform in vectors. For 256-bit residues, the bound on sums grows with every layer.
const MOST_LAYERS: u32 = 31;

/// Maximum number of layers whose nodes fit into a pair of vectors, reached with 16 words per vector.
pub(super) const MOST_WITHIN: usize = 5;

/// A radix-2 layer of butterflies, down (forward) or up (inverse) the factorisation tree.
///
/// A residue is *relaxed* if it can be added, and *loose* if it is an unreduced sum of two relaxed ones. Both bounds
/// depend on the kind of vectors. In some kinds they are twice those of [`Field`](crate::field::Field), 2q and 4q. So
/// the output of a step is valid input only for a step of the same kind of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Cooley–Tukey butterflies. in, out: loose (below 4q, or a bound specific to the kind of vectors)
    Forward,
    /// Cooley–Tukey butterflies of the last forward layer. in: loose (below 4q, or a bound specific to the kind of
    /// vectors)   out: below q
    ForwardLast,
    /// Gentleman–Sande butterflies. in, out: relaxed (below 2q, or a bound specific to the kind of vectors)
    Inverse,
    /// Gentleman–Sande butterflies of the last inverse layer, which multiplies sums by one factor and differences by
    /// another.
    ///
    /// in: relaxed (below 2q, or a bound specific to the kind of vectors)   out: below q
    InverseLast,
}

/// A modulus of up to 256 bits, least significant word first.
pub(super) type Modulus = [u64; 4];

/// A kind of SIMD vectors, together with the odd modulus q of the residues.
#[derive(Clone, Copy)]
pub(crate) struct Vectors {
    q: Modulus,
    kind: &'static dyn VectorKind,
}

impl Vectors {
    /// Returns all kinds of vectors of 32-bit words that this CPU has and that support q < 2^31, the fastest first. A
    /// multiplier is a pair of w and floor(2^32·w / q).
    pub(crate) fn of_32_bits(q: u32) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = super::short::kinds(q.into());
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = core::iter::empty();
        kinds.map(move |kind| Self { q: [q.into(), 0, 0, 0], kind })
    }

    /// Returns all kinds of vectors of 64-bit words that this CPU has and that support q < 2^62, the fastest first. A
    /// multiplier is a pair of w and floor(2^64·w / q).
    pub(crate) fn of_64_bits(q: u64) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = super::avx512::kinds(q).chain(super::avx2::kinds(q));
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = core::iter::empty();
        kinds.map(move |kind| Self { q: [q, 0, 0, 0], kind })
    }

    /// Returns all kinds of vectors of 256-bit words in Montgomery form that this CPU has and that support q, the
    /// fastest first.
    pub(crate) fn of_256_bits(q: Modulus) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let kinds = super::limbs::kinds(&q);
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = core::iter::empty();
        kinds.map(move |kind| Self { q, kind })
    }

    /// Returns true if these vectors support residue polynomials of n words, for n a power of two.
    pub(crate) fn fit(&self, n: usize) -> bool {
        (self.pair()..=1 << MOST_LAYERS).contains(&n)
    }

    /// Returns the number of words in two vectors.
    pub(crate) fn pair(&self) -> usize {
        self.kind.pair()
    }

    /// Computes one layer on a slice `lo` of the lower half of one node and the matching slice `hi` of the upper half.
    /// Both consist of whole vectors.
    pub(crate) fn halves<W: Pod, T: Pod>(&self, step: Step, lo: &mut [W], hi: &mut [W], z: &[T]) {
        self.kind.halves(&self.q, step, cast_slice_mut(lo), cast_slice_mut(hi), cast_slice(z));
    }

    /// Returns true if two layers in one pass over memory are faster than two passes.
    pub(crate) fn take_quarters(&self) -> bool {
        self.kind.take_quarters()
    }

    /// A radix-2^2 pass: computes two layers in one pass over memory. Each node has four quarters of `part` words,
    /// which are whole vectors. `z[0]` holds the nodes' twiddle factors, `z[1]` those of the two children of each node.
    pub(crate) fn quarters<W: Pod, T: Pod>(&self, step: Step, part: usize, words: &mut [W], z: [&[T]; 2]) {
        self.kind.quarters(&self.q, step, part, cast_slice_mut(words), [cast_slice(z[0]), cast_slice(z[1])]);
    }

    /// Computes one layer on consecutive nodes, with one twiddle factor each. A node has two halves of `part` words,
    /// which are whole vectors.
    pub(crate) fn nodes<W: Pod, T: Pod>(&self, step: Step, part: usize, words: &mut [W], z: &[T]) {
        self.kind.nodes(&self.q, step, part, cast_slice_mut(words), cast_slice(z));
    }

    /// Computes the lowest layers, whose leaves are smaller than a vector. A forward transform starts here at nodes of
    /// two vectors; an inverse transform ends here at nodes of one vector. `z` has one list of twiddle factors per
    /// layer, from the top.
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

/// The trait-object form of a kind of vectors. A value proves that the CPU has its instructions. Words and multipliers
/// are passed as bytes.
pub(super) trait VectorKind: Sync {
    /// Number of words in two vectors.
    fn pair(&self) -> usize;
    fn take_quarters(&self) -> bool;
    fn halves(&self, q: &Modulus, step: Step, lo: &mut [u8], hi: &mut [u8], z: &[u8]);
    fn nodes(&self, q: &Modulus, step: Step, part: usize, words: &mut [u8], z: &[u8]);
    fn quarters(&self, q: &Modulus, step: Step, part: usize, words: &mut [u8], z: [&[u8]; 2]);
    fn within(&self, q: &Modulus, step: Step, words: &mut [u8], z: &[&[u8]]);
}

/// A kind of vectors with its arithmetic modulo q. A value proves that the CPU has the instructions.
pub(super) trait Lanes: Copy + Sync {
    /// A residue in memory.
    type Word: Pod;
    /// A vector in memory, as an array of words.
    type Words: Pod;
    /// A vector in registers, with a residue in each lane.
    type Vector: Copy;
    /// A precomputed multiplier in memory.
    type Factor: Pod;
    /// A precomputed multiplier in each lane.
    type Factors: Copy;
    /// Constants derived from q.
    type Multiples: Copy;
    /// True if products are so fast that even the nearest cache is the bottleneck; two layers per pass then save time.
    const FAST: bool;
    /// True if a forward butterfly reduces its sums at once, because memory has no room for unreduced ones. If false,
    /// the next butterfly reduces them.
    const EAGER: bool;
    /// True if a vector takes few registers, so that several pairs of vectors fit at once.
    const SHORT: bool;

    /// Calls a closure with these instructions enabled. The closure must be inlined to profit.
    fn enter(self, run: impl FnOnce());
    fn multiples(self, q: &Modulus) -> Self::Multiples;
    fn load(self, words: &Self::Words) -> Self::Vector;
    fn store(self, x: Self::Vector, words: &mut Self::Words);
    /// Returns a + b, unreduced. in: results of `relax` or `mul`
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns a − b modulo q, unreduced. in: results of `relax` or `mul`
    fn sub(self, a: Self::Vector, b: Self::Vector, q: &Self::Multiples) -> Self::Vector;
    /// Reduces a sum or difference, so that it can be added again.
    fn relax(self, x: Self::Vector, q: &Self::Multiples) -> Self::Vector;
    /// Returns x mod q, below q. in: a sum or difference, or with `EAGER` only a result of `relax` or `mul`
    fn canonical(self, x: Self::Vector, q: &Self::Multiples) -> Self::Vector;
    /// Returns x·z modulo q. in: a sum, a difference, or a result of `relax` or `mul`   out: a residue that can be
    /// added
    fn mul(self, x: Self::Vector, z: Self::Factors, q: &Self::Multiples) -> Self::Vector;
    /// Broadcasts a multiplier to all lanes.
    fn factor(self, z: &Self::Factor, q: &Self::Multiples) -> Self::Factors;

    /// For the nodes in two vectors, each of which has two halves of K words: returns a vector of all left halves and a
    /// vector of all right halves.
    fn unzip<const K: usize>(self, pair: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// The inverse of `unzip`.
    fn zip<const K: usize>(self, halves: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// Applies `unzip` repeatedly, from nodes that fill two vectors down to nodes with halves of K words.
    fn spread<const K: usize>(self, pair: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// The inverse of `spread`.
    fn gather<const K: usize>(self, halves: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// Returns for each lane the twiddle factor of the node to which `spread` assigns this lane, for the nodes in two
    /// vectors.
    fn factors<const K: usize>(self, z: &[Self::Factor], q: &Self::Multiples) -> Self::Factors;
}

/// For each of N lanes, the index of the node to which its word belongs.
pub(super) type Order<const N: usize> = [usize; N];

/// Returns the order in which each node has k adjacent lanes, from left to right.
pub(super) const fn in_order<const N: usize>(k: usize) -> Order<N> {
    let mut order = [0; N];
    let mut i = 0;
    while i < N {
        order[i] = i / k;
        i += 1;
    }
    order
}

/// Returns permutation indices that collect words by node: lane i takes word `order[i]·node + (i mod k)·lane + start`
/// of a pair of vectors.
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

/// Returns permutation indices that undo the separation of nodes into halves of k words. There is one index for each of
/// N words of the nodes, beginning with word `start`. It is the word's position among N lanes of left halves followed
/// by N lanes of right halves.
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

/// Returns the low 32 bits of x.
#[allow(clippy::cast_possible_truncation)]
pub(super) const fn low(x: u64) -> u32 {
    x as u32
}
