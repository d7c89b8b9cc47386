//! Minimum number of multiplications of operations of CKKS and BFV with the textbook algorithms: tensor product, hybrid key
//! switching (eprint 2019/688), and division by the last primes.

use ringforge::{Job, Limits, Op, PolyType};

use ringforge_cli::roofline::{Words, slots_per_item};

/// Numbers of primes: of the ciphertext modulus Q at a level, of the special modulus P (equal to the number per digit
/// of a key switch), and dropped by a rescaling.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Primes {
    pub(crate) q: usize,
    pub(crate) p: usize,
    pub(crate) dropped: usize,
}

/// Counts of multiplicative work: limb transforms, and products and modular reductions per coefficient.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Multiplied {
    rows: usize,
    products: usize,
    remainders: usize,
}

impl core::ops::Add for Multiplied {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (rows, products) = (self.rows + other.rows, self.products + other.products);
        Self { rows, products, remainders: self.remainders + other.remainders }
    }
}

impl Multiplied {
    /// The work of the operation with this name on ciphertexts with these primes.
    pub(crate) fn of(operation: &str, primes: Primes) -> Self {
        let Primes { q, p, dropped } = primes;
        let switched = Self::times_key(primes) + Self::quotient(q, p).times(2);
        match operation {
            "multiply, relinearise" => Self::products(4 * q) + Self::raised(primes) + switched,
            "multiply, relinearise, rescale" => {
                let quotients = Self::quotient(q - dropped, p + dropped).times(2);
                Self::products(6 * q) + Self::raised(primes) + Self::times_key(primes) + quotients
            }
            "rotate" => Self::raised(primes) + switched,
            "eight rotations" => Self::raised(primes) + switched.times(8),
            "rescale" => Self::quotient(q - dropped, dropped).times(2),
            "encode" => Self { rows: q, products: 2 * q, remainders: q },
            "decode from two limbs" => Self { rows: q, products: 2 * q, remainders: 0 },
            // other operations only add
            _ => Self::default(),
        }
    }

    /// A product of BFV with `r` auxiliary primes R: both operands are extended to R·Q, multiplied, divided by Q, converted
    /// back to Q, and relinearised.
    pub(crate) fn of_bfv(primes: Primes, r: usize) -> Self {
        let Primes { q, p, .. } = primes;
        let extended = Self::rows(q + r) + Self::conversion(q, r, true);
        let divided = Self::rows(q + r) + Self::conversion(q, r, true) + Self::products(r);
        let back = Self::conversion(r, q, true) + Self::rows(q);
        let relinearised = Self::raised(primes) + Self::times_key(primes) + Self::quotient(q, p).times(2);
        extended.times(4) + Self::products(4 * (q + r)) + (divided + back).times(3) + relinearised
    }

    /// Converts the counts to work in words, for elements of this ring on a device with these limits.
    pub(crate) fn words(self, ring: &PolyType, limits: &Limits) -> Words {
        let row = slots_per_item(&Job::new(ring, Op::Forward), limits).unwrap_or(0.0) / ring.basis().len() as f64;
        let [products, remainders] = [self.products, self.remainders].map(|count| count * ring.degree());
        Words { products, remainders, slots: self.rows as f64 * row, ..Words::default() }
    }

    fn times(self, count: usize) -> Self {
        Self { rows: count * self.rows, products: count * self.products, remainders: count * self.remainders }
    }

    fn products(products: usize) -> Self {
        Self { products, ..Self::default() }
    }

    fn rows(rows: usize) -> Self {
        Self { rows, ..Self::default() }
    }

    /// A conversion from one RNS basis to another. An exact conversion computes each mixed-radix digit from the
    /// previous digits.
    fn conversion(from: usize, to: usize, exact: bool) -> Self {
        let of_digits = if exact { from * (from + 1) / 2 } else { from };
        Self { rows: 0, products: of_digits + from * to, remainders: from + to }
    }

    /// Division by the last primes (ModDown), for each remaining prime.
    fn quotient(left: usize, dropped: usize) -> Self {
        Self::rows(dropped + left) + Self::conversion(dropped, left, true) + Self::products(left)
    }

    /// Decomposition of an element into digits, each raised to all primes of Q and P (ModUp).
    fn raised(Primes { q, p, .. }: Primes) -> Self {
        let digits = (0..q).step_by(p).map(|first| p.min(q - first));
        let raise = |own: usize| Self::rows(q + p - own) + Self::conversion(own, q + p - own, false);
        digits.fold(Self::rows(q), |sum, own| sum + raise(own))
    }

    /// The inner product of raised digits with a key.
    fn times_key(Primes { q, p, .. }: Primes) -> Self {
        Self::products(2 * q.div_ceil(p) * (q + p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_match_those_by_hand() {
        let primes = Primes { q: 4, p: 2, dropped: 1 };
        // two digits of two primes, each raised to the four other primes
        let raised = Multiplied { rows: 4 + 8, products: 2 * (2 + 8), remainders: 2 * 6 };
        assert_eq!(Multiplied::raised(primes), raised);
        let rescale = Multiplied { rows: 2 * 4, products: 2 * (1 + 3 + 3), remainders: 2 * 4 };
        assert_eq!(Multiplied::of("rescale", primes), rescale);
        let quotient = Multiplied { rows: 6, products: 3 + 8 + 4, remainders: 6 };
        assert_eq!(Multiplied::of("rotate", primes), raised + Multiplied::products(24) + quotient.times(2));
        assert_eq!(Multiplied::of("add", primes), Multiplied::default());
        // with five auxiliary primes: 4 extensions, products, 3 quotients that are converted back, relinearisation
        let extended = Multiplied { rows: 9, products: 10 + 20, remainders: 9 };
        let back = Multiplied { rows: 9 + 4, products: 10 + 20 + 5 + 15 + 20, remainders: 9 + 9 };
        let relinearised = Multiplied::of("rotate", primes);
        let wanted = extended.times(4) + Multiplied::products(36) + back.times(3) + relinearised;
        assert_eq!(Multiplied::of_bfv(primes, 5), wanted);
    }
}
