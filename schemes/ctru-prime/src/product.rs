//! Products modulo x^n − x − 1 by exact products over the integers. The integer products are computed by an NTT in a
//! cyclic ring, whose length and prime are large enough for proven bounds of the operands.

use ringforge::kernels::KernelLayout;
use ringforge::words::Transform;
use ringforge::words::{centred, residues};
use ringforge::{Error, Limits, Modulus, Result, Ring, U256};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::params::Parameters;

/// The NTT has nine radix-2 layers and so 512 leaves. Leaves have degree 3 or 5, depending on the length.
const LAYERS: u32 = 9;
const LEAVES: usize = 1 << LAYERS;

/// Bits of the lower limb of a coefficient modulo q. If both operands of a product have such coefficients, those of one
/// operand are split into two limbs.
pub(crate) const LIMB_BITS: u32 = 6;

/// The algorithm for products on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// NTTs in a cyclic ring.
    Transform,
    /// Products of Toeplitz matrices of signed bytes on tensor cores.
    Tensor,
}

impl Way {
    /// Returns the algorithms that a device supports. A CPU supports both: the CPU reference also reads and writes keys
    /// that are converted to operands for tensor cores.
    pub(crate) fn on(limits: &Limits) -> impl Iterator<Item = Self> {
        let has_tensor_cores = limits.is_cpu() || limits.capability >= 80;
        core::iter::once(Self::Transform).chain(has_tensor_cores.then_some(Self::Tensor))
    }

    /// Returns the fastest algorithm on a device: tensor cores if it has any, else NTTs. Tensor cores speed up large
    /// batches, but slow down key generation in small batches (see the crate's README). A CPU uses NTTs.
    pub(crate) fn fastest(limits: &Limits) -> Self {
        if limits.is_cpu() { Self::Transform } else { Self::on(limits).last().unwrap_or(Self::Transform) }
    }
}

/// Bounds of the absolute values of the coefficients of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) left: u64,
    pub(crate) right: u64,
}

impl Bounds {
    /// Bounds for any residues modulo q times a sampled polynomial, such as the public key times the sampled polynomial
    /// r in encryption.
    pub(crate) fn of_encryption(p: &Parameters) -> Self {
        Self { left: u64::from(p.q / 2), right: p.eta.into() }
    }

    /// Bounds for a ciphertext times any f that a secret key can encode. A coefficient of f is
    /// [`Parameters::key_offset`] minus a four-bit field.
    pub(crate) fn of_decryption(p: &Parameters) -> Self {
        Self { left: u64::from(p.q2() / 2), right: u64::from(p.key_offset().max(15 - p.key_offset())) }
    }

    /// Bounds for any residues modulo q times a limb of other residues. A sampled polynomial in place of the limb is
    /// within these bounds, too.
    pub(crate) fn of_limbs(p: &Parameters) -> Self {
        let half = u64::from(p.q / 2);
        let low = 1 << (LIMB_BITS - 1);
        Self { left: half, right: low.max((half + low) >> LIMB_BITS) }
    }

    /// Returns the largest absolute value of a coefficient of the product of two polynomials of degree below n, before
    /// reduction modulo x^n − x − 1.
    fn of_product(self, n: usize) -> u64 {
        n as u64 * self.left * self.right
    }

    /// Returns the largest absolute value of a coefficient after reduction modulo x^n − x − 1: x^n = x + 1 adds the
    /// upper half to the lower half twice.
    #[cfg(all(test, feature = "testkit"))]
    pub(crate) fn of_folded(self, n: usize) -> u64 {
        (2 * n as u64 - 1) * self.left * self.right
    }
}

/// Returns the length of the cyclic ring in which polynomials of degree below n are multiplied.
pub(crate) const fn integer_length(n: usize) -> usize {
    LEAVES * (2 * n - 1).div_ceil(LEAVES)
}

/// Returns the layout of the NTT in which products of polynomials of degree below n, within these bounds, are exact
/// over the integers. Uses the largest prime of the fewest bits possible, which leaves the most room for unreduced
/// sums.
///
/// # Errors
/// [`Error::Unsupported`], with the bound, if no such prime of at most 30 bits makes all products exact.
pub(crate) fn integer_rows(n: usize, bounds: Bounds, limits: &Limits) -> Result<KernelLayout> {
    let (length, bound) = (integer_length(n), bounds.of_product(n));
    let fewest = u64::BITS - (2 * bound).leading_zeros();
    let prime = |bits| Modulus::ntt_primes(LEAVES as u64, bits, 1).ok()?.pop();
    let prime = (fewest..=30).filter_map(prime).find(|prime| is_exact(n, bounds, length, prime));
    let prime = prime.ok_or_else(|| Error::Unsupported {
        job: format!("an exact product of polynomials of degree below {n} in a cyclic ring of length {length}"),
        why: format!("{} coefficients of up to {bound} in absolute value need a prime above 30 bits", 2 * n - 1),
    })?;
    KernelLayout::of(&Ring::cyclic(length, prime)?, limits)?.depth(LAYERS)
}

/// Returns true if products in a cyclic ring of this length, modulo this prime, are exact over the integers.
fn is_exact(n: usize, bounds: Bounds, length: usize, prime: &Modulus) -> bool {
    length >= 2 * n - 1 && prime.value() > U256::from(2 * bounds.of_product(n))
}

/// Products of polynomials within given bounds, on the CPU.
#[derive(Debug)]
pub(crate) struct Product {
    transform: Transform<u32>,
    prime: u32,
    length: usize,
}

/// Two operands of a product as evaluations, wiped when dropped.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Factors {
    pub(crate) left: Vec<u32>,
    right: Vec<u32>,
}

impl Product {
    pub(crate) fn new(n: usize, bounds: Bounds) -> Result<Self> {
        let rows = integer_rows(n, bounds, &Limits::cpu())?;
        let ring = rows.poly();
        let prime = ring.moduli()[0].value_u64().unwrap_or_default() as u32;
        Ok(Self { transform: Transform::of(&rows, 0)?, prime, length: ring.degree() })
    }

    /// Computes the product modulo x^n − x − 1 over the integers. Operands must be within the bounds, and as long as
    /// `out`.
    pub(crate) fn multiply(&self, left: &[i16], right: &[i16], memory: &mut Factors, out: &mut [i32]) -> Result<()> {
        self.forward(left, &mut memory.left)?;
        self.multiply_values(right, memory, out)
    }

    /// Computes the evaluations of an operand.
    pub(crate) fn forward(&self, factor: &[i16], values: &mut Vec<u32>) -> Result<()> {
        self.load(factor, values);
        self.transform.forward(values)
    }

    /// Like [`Product::multiply`], with the evaluations of the left operand already in `memory`.
    pub(crate) fn multiply_values(&self, right: &[i16], memory: &mut Factors, out: &mut [i32]) -> Result<()> {
        let Factors { left: a, right: b } = memory;
        self.forward(right, b)?;
        self.transform.multiply(a, b)?;
        self.transform.inverse(a)?;
        let n = out.len();
        let s = |k: usize| centred(a[k], self.prime);
        // x^(n + k) = x^(k + 1) + x^k; s(k) is zero for k above 2n − 2
        for (i, out) in out.iter_mut().enumerate() {
            *out = s(i) + s(n + i) + if i == 0 { 0 } else { s(n + i - 1) };
        }
        Ok(())
    }

    fn load(&self, from: &[i16], to: &mut Vec<u32>) {
        to.resize(self.length, 0);
        to[from.len()..].fill(0);
        residues(from, self.prime, to);
    }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use super::*;
    use crate::params::SETS;

    #[test]
    fn unprovable_bounds_are_refused() -> Result<()> {
        let limits = Limits::cpu();
        for set in &SETS {
            let bounds = Bounds::of_encryption(set);
            let rows = integer_rows(set.n, bounds, &limits)?;
            assert!(rows.poly().moduli()[0].value() > U256::from(2 * bounds.of_product(set.n)));
            assert_eq!(rows.factorization().leaves(), LEAVES);
            // the prime of the specification, a prime that is too small, and a length at which products wrap around
            let (spec, small) = (Modulus::new(33_550_337u32)?, Modulus::new(7681u32)?);
            let length = rows.poly().degree();
            assert!(is_exact(set.n, bounds, length, &spec));
            assert!(!is_exact(set.n, bounds, length, &small) && !is_exact(set.n, bounds, length - LEAVES, &spec));
            // bounds for which no prime of at most 30 bits is large enough
            let bounds = Bounds { left: 1 << 20, ..bounds };
            let message = integer_rows(set.n, bounds, &limits).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains(&bounds.of_product(set.n).to_string()), "{message}");
        }
        // 16 777 153 is large enough for two sets, and too small for the third
        let prime = Modulus::new(16_777_153u32)?;
        let exact = SETS.iter().map(|set| is_exact(set.n, Bounds::of_encryption(set), integer_length(set.n), &prime));
        assert_eq!(exact.collect::<Vec<_>>(), [true, true, false]);
        Ok(())
    }

    /// Bounds are the largest absolute values of what keys and residues can hold, limbs of six bits aside: these may be
    /// below theirs.
    #[test]
    fn bounds_are_those_of_the_operands() {
        for set in &SETS {
            let half = u64::from(set.q / 2);
            let fields = (0..16).map(|field| (i64::from(set.key_offset()) - field).unsigned_abs()).max();
            let found = Bounds::of_decryption(set);
            assert_eq!((found.left, Some(found.right)), (1 << (set.q2_bits - 1), fields), "{}", set.name);
            assert_eq!(Bounds::of_encryption(set), Bounds { left: half, right: set.eta.into() });
            // a residue is a low limb in [-2^5, 2^5) plus 2^6 times a high one
            let limbs = (-(half as i64)..=half as i64).flat_map(|x| {
                let low = (x + 32).rem_euclid(64) - 32;
                [low, (x - low) / 64]
            });
            let largest = limbs.map(i64::unsigned_abs).max();
            let found = Bounds::of_limbs(set);
            assert_eq!((found.left, Some(found.right)), (half, largest), "{}", set.name);
            assert!(found.right >= set.eta.into());
        }
    }

    /// Tests operands whose coefficients all have the largest absolute value and the same sign, which maximises all
    /// sums.
    #[test]
    fn extreme_products_are_exact() -> Result<()> {
        for set in &SETS {
            for bounds in [Bounds::of_encryption(set), Bounds::of_decryption(set), Bounds::of_limbs(set)] {
                let product = Product::new(set.n, bounds)?;
                for sign in [1, -1] {
                    let (left, right) = (vec![sign * bounds.left as i16; set.n], vec![bounds.right as i16; set.n]);
                    let mut found = vec![0; set.n];
                    product.multiply(&left, &right, &mut Factors::default(), &mut found)?;
                    let expected = crate::naive::product(
                        &left.iter().map(|&x| x.into()).collect::<Vec<_>>(),
                        &right.iter().map(|&x| x.into()).collect::<Vec<_>>(),
                    );
                    assert!(found.iter().map(|&x| i64::from(x)).eq(expected), "{}, {bounds:?}", set.name);
                    let largest = found.iter().map(|x| u64::from(x.unsigned_abs())).max();
                    assert_eq!(largest, Some(bounds.of_folded(set.n)));
                }
            }
        }
        Ok(())
    }
}
