//! Samples for tests: seeds, random numbers, and residues with edge cases among them.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

use crypto_bigint::U256;

use ringforge_math::modulus::Modulus;
use ringforge_math::poly::{Form, PolyType};

/// The seed of this process's samples: `RINGFORGE_SEED`, otherwise a random one. It is printed, so that a failure can
/// be reproduced.
///
/// # Panics
/// If the variable is set to something that is not a number.
#[must_use]
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    let seed = *SEED.get_or_init(|| match std::env::var("RINGFORGE_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|e| panic!("RINGFORGE_SEED={text}: {e}")),
        Err(_) => RandomState::new().build_hasher().finish(),
    });
    eprintln!("RINGFORGE_SEED={seed}");
    seed
}

/// Pseudorandom numbers for tests, which depend on the seed alone and are not secret.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits (splitmix64).
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// A residue in [0, q).
    pub fn residue(&mut self, q: &Modulus) -> U256 {
        q.reduce(&self.words())
    }

    fn words(&mut self) -> U256 {
        let words: [u64; 4] = core::array::from_fn(|_| self.bits());
        let mut bytes = [0; 32];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        U256::from_le_slice(&bytes)
    }
}

/// Random bytes.
#[must_use]
pub fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let words = core::iter::repeat_with(|| random.bits().to_le_bytes()).take(length.div_ceil(8));
    let mut bytes: Vec<u8> = words.flatten().collect();
    bytes.truncate(length);
    bytes
}

/// Samples of `batch` elements of a ring, in the form in which they are stored. The elements cycle through five kinds:
/// random residues mixed with edge cases, only the largest residue, only edge cases, a single random coefficient among
/// zeros, and zero. If the ring accepts any word, random words are used instead of random residues.
#[must_use]
pub fn residues(poly: impl Into<PolyType>, seed: u64, batch: usize) -> Vec<u8> {
    let poly = &poly.into().coefficients();
    residues_from(0, poly, seed, batch)
}

/// Like [`residues`], but the first element is of kind number `first` modulo five.
pub(super) fn residues_from(first: usize, poly: &PolyType, seed: u64, batch: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let size = poly.width().bytes();
    let mut bytes = Vec::with_capacity(batch * poly.bytes());
    for item in first..first + batch {
        for q in poly.basis() {
            let edges = edges(q, poly);
            let impulse = random.below(poly.degree());
            for i in 0..poly.degree() {
                let edge = edges[random.below(edges.len())];
                let edge_is_due = item % 5 == 0 && random.below(4) == 0;
                let mut any = || if poly.accepts_any_word() { random.words() } else { random.residue(q) };
                let value = match item % 5 {
                    0 if edge_is_due => edge,
                    0 => any(),
                    1 => edges[1],
                    2 => edge,
                    3 if i == impulse => any(),
                    _ => U256::ZERO,
                };
                bytes.extend_from_slice(&value.to_le_bytes().as_ref()[..size]);
            }
        }
    }
    bytes
}

/// Edge cases: stored residues for which reductions take different paths. The second one is q − 1. If the ring accepts
/// any word, multiples of q and their neighbours are included, and the second one is the largest word.
fn edges(q: &Modulus, poly: &PolyType) -> Vec<U256> {
    let near = |x: U256| [-1, 0, 1].map(|by| q.add(&q.reduce(&x), &q.reduce_i64(by)));
    let mut edges = vec![U256::ZERO, q.reduce_i64(-1), q.reduce_i64(-2)];
    edges.extend(near(U256::ONE));
    edges.extend(near(q.value().shr_vartime(1)));
    edges.extend([8u32, 16, 31, 32, 63, 64, 128, 255].into_iter().flat_map(|bit| near(U256::ONE.shl_vartime(bit))));
    if poly.form() == Form::Montgomery {
        edges.extend([1, -1].map(|x| q.mul(&poly.radix(q), &q.reduce_i64(x))));
    }
    if poly.accepts_any_word() {
        let largest = U256::MAX.shr_vartime(256 - 8 * poly.width().bytes() as u32);
        let last = largest.wrapping_sub(&q.reduce(&largest)); // the largest multiple of q
        let multiples = [q.value(), q.value().shl_vartime(1), last];
        let near = multiples.iter().flat_map(|x| [x.wrapping_sub(&U256::ONE), *x, x.wrapping_add(&U256::ONE)]);
        edges.extend(near.filter(|x| *x <= largest));
        edges.insert(1, largest);
    }
    edges
}
