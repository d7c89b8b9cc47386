//! What the operations of `arithmetic.cu` should give: values by big integers, ranges as the headers state them.

use num_bigint::{BigInt, BigUint};
use ringforge::kernels::Arithmetic;
use ringforge::{Modulus, U256};

use super::Which;

/// What an output may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// This number.
    Exactly(BigUint),
    /// A number in [0, limit) that is `residue` modulo q.
    Residue {
        /// The residue.
        residue: BigUint,
        /// The modulus.
        q: BigUint,
        /// The first number that is too large.
        limit: BigUint,
    },
    /// This number or the next, modulo 2^64.
    OneOfTwo(BigUint),
    /// The bits of a double: an integer that is `residue` modulo q, in [-limit, limit], and not -0.
    Double {
        /// The residue, or any number congruent to it.
        residue: BigInt,
        /// The modulus; 0 where the integer must be `residue` itself.
        q: BigInt,
        /// The largest absolute value.
        limit: BigInt,
    },
}

impl Wanted {
    /// Whether a result is right.
    #[must_use]
    pub fn accepts(&self, found: &BigUint) -> bool {
        match self {
            Self::Exactly(value) => found == value,
            Self::Residue { residue, q, limit } => found < limit && found % q == *residue,
            Self::Double { residue, q, limit } => {
                let double = f64::from_bits(low(found));
                let found = BigInt::from(double as i64);
                let congruent =
                    if *q == BigInt::ZERO { found == *residue } else { (&found - residue) % q == BigInt::ZERO };
                double as i64 as f64 == double
                    && (double != 0.0 || double.is_sign_positive())
                    && found.magnitude() <= limit.magnitude()
                    && congruent
            }
            Self::OneOfTwo(value) => [0u32, 1].iter().any(|more| (value + *more) % power(64) == *found),
        }
    }
}

/// The operations modulo one q.
#[derive(Debug, Clone)]
pub struct Reference {
    which: Which,
    q: BigUint,
    /// 2^-32, 2^-64 or 2^-256 mod q, with which a product of two variables comes; 1 for 16 bits.
    factor: BigUint,
    products: u64,
    bound: u64,
}

impl Reference {
    /// The operations of a type modulo q, by a kernel that was built for `largest`.
    ///
    /// # Panics
    /// If q is even and the type is not for even ones.
    #[must_use]
    pub fn new(which: Which, q: &Modulus, largest: &Modulus) -> Self {
        let bound = which.bound(largest);
        let q = big(&q.value());
        let factor = match which {
            Which::Words | Which::Type(Arithmetic::Mod16 | Arithmetic::Mod50 | Arithmetic::Goldilocks) => {
                BigUint::from(1u32)
            }
            _ => power(8 * which.word_bytes()).modinv(&q).expect("the modulus is odd"),
        };
        Self { which, q, factor, products: which.products(largest), bound }
    }

    /// The outputs of an item.
    #[must_use]
    pub fn wanted(&self, x: &BigUint, y: &BigUint) -> Vec<Wanted> {
        match self.which {
            Which::Words => words(low(x), low(y)),
            _ if self.which.is_doubles() => self.doubles(low(x), low(y)).into(),
            _ if self.which.is_lazy() => self.lazy(x, y).into(),
            _ if self.which.is_shoup256() => self.shoup256(x, y).into(),
            _ if self.which.is_tight() => self.tight(x, y).into(),
            _ => self.strict(x, y).into(),
        }
    }

    fn exactly(&self, x: BigUint) -> Wanted {
        Wanted::Exactly(x % &self.q)
    }

    fn residue(&self, x: BigUint, limit: BigUint) -> Wanted {
        Wanted::Residue { residue: x % &self.q, q: self.q.clone(), limit }
    }

    fn lazy(&self, x: &BigUint, y: &BigUint) -> [Wanted; 25] {
        let Self { q, factor, .. } = self;
        let q2 = &(q * 2u32);
        let (x1, y1, x2, y2, y3) = (&(x % q), &(y % q), &(x % q2), &(y % q2), &(y % (q2 + 1u32)));
        let below_2q = |x: BigUint| self.residue(x, q2.clone());
        let exactly = |x: BigUint| self.exactly(x);
        let whole = Wanted::Exactly;
        let bits = 8 * self.which.word_bytes();
        let friendly = self.which.is_friendly();
        let limit = if self.which.is_loose() { q * 3u32 } else { q2.clone() };
        let product = |x: BigUint| self.residue(x * y1, limit.clone());
        let quotient = (y1 << bits) / q;
        let negated = |x: BigUint| if friendly { (power(bits) - x) % power(bits) } else { x };
        // of a friendly factor, what it lacks to q is stored, but for 0
        let stored = if friendly && y1.bits() > 0 { q - y1 } else { y1.clone() };
        let reduced = self.residue(x.clone(), limit.clone());
        let (u, v) = if self.products == 0 { (x1, y1) } else { (x2, y2) };
        let sum = if self.products < 3 { u * v } else { u * v + u * u + v * v };
        let is_small = self.which == Which::Type(Arithmetic::Mod16);
        let folded = if is_small { q2.clone() } else { ((u * v) >> bits) + q + 1u32 };
        let montgomery = |x: BigUint| if is_small { whole(BigUint::ZERO) } else { exactly(x) };
        [
            whole(negated(stored)),
            whole(negated(quotient)),
            product(x.clone()),
            product(self.inverted(x)),
            below_2q(x.clone()),
            below_2q(x.clone()),
            below_2q(x.clone()),
            exactly(x.clone()),
            exactly(x.clone()),
            exactly(x.clone()),
            exactly(x.clone()),
            whole(x2 + y2),
            whole(x2 + q - y1),
            whole(x2 + q2 - y3),
            whole(q2 - y3),
            below_2q(u * v * factor),
            below_2q(sum * factor),
            self.residue(u * v * factor, folded),
            exactly(x * y),
            montgomery(x * y * factor),
            montgomery(x << bits),
            montgomery(x * factor),
            reduced,
            exactly(x.clone()),
            exactly(x.clone()),
        ]
    }

    /// `arithmetic.cu` says which integers the bits stand for.
    #[allow(clippy::cast_precision_loss)] // below 2^53
    fn doubles(&self, x: u64, y: u64) -> [Wanted; 18] {
        let q = low(&self.q) as i64;
        let centred = |bits: u64, most: i64| (bits % (2 * most as u64 + 1)) as i64 - most;
        let (bound, half) = (self.bound as i64, self.bound as i64 / 2);
        let [x1, y1] = [x, y].map(|bits| centred(bits, q - 1));
        let [xh, yh] = [x, y].map(|bits| centred(bits, half * q));
        let [xb, yb] = [x, y].map(|bits| centred(bits, bound * q));
        let x2 = centred(x, 2 * q);
        let big = |x: i64| BigInt::from(x);
        let within = |residue: BigInt, limit: BigInt| Wanted::Double { residue, q: q.into(), limit };
        let exactly = |x: i64| Wanted::Double { residue: x.into(), q: BigInt::ZERO, limit: x.into() };
        let canonical = |x: BigInt| {
            let residue = ((x % q) + q) % q;
            Wanted::Double { limit: residue.clone(), residue, q: BigInt::ZERO }
        };
        let bits = |x: u64| Wanted::Exactly(x.into());
        let w = (y1 % q + q) % q;
        let w = if w > q / 2 { w - q } else { w };
        // (1/2 + |x| 2^-54) q
        let product = |x: i64| within(big(x) * w, (big(q) * (big(1 << 53) + x.abs())) >> 54);
        let reduced = |x: i64| within(big(x), big((q + 1) / 2));
        let below_q = |x: BigInt| within(x, big(q - 1));
        [
            exactly(w),
            bits((w as f64 / q as f64).to_bits()),
            product(xb),
            product(x2),
            exactly(x1),
            reduced(x2),
            reduced(xb),
            canonical(big(x1)),
            canonical(big(x2)),
            canonical(big(xb)),
            exactly(xh + yh),
            exactly(xh - yh),
            exactly(-yb),
            below_q(big(x1) * y1),
            below_q(big(x1) * y1 + big(x1) * x1 + big(y1) * y1),
            canonical(big(x1) * y1),
            bits(((xb % q + q) % q) as u64),
            exactly((x & ((1 << 52) - 1)) as i64),
        ]
    }

    fn shoup256(&self, x: &BigUint, y: &BigUint) -> [Wanted; 15] {
        let Self { q, factor, .. } = self;
        let below_2q = |x: BigUint| self.residue(x, q * 2u32);
        // a factor enters in Montgomery form and lies in the table plain
        let w = (y * factor) % q;
        [
            Wanted::Exactly(w.clone()),
            Wanted::Exactly((&w << 256) / q),
            below_2q(x * &w),
            below_2q(x + y),
            below_2q(x + q * 2u32 - y),
            below_2q(q * 2u32 - y),
            self.exactly(x.clone()),
            Wanted::Exactly(x.clone()),
            self.exactly(x * y * factor),
            self.exactly(x << 256),
            self.exactly(x * factor),
            self.exactly(x * y * factor),
            below_2q(x + x * y * factor),
            self.exactly(x.clone()),
            self.exactly(self.inverted(x)),
        ]
    }

    fn tight(&self, x: &BigUint, y: &BigUint) -> [Wanted; 20] {
        let Self { q, factor, .. } = self;
        let bits = 8 * self.which.word_bytes();
        let (q2, exactly, whole) = (&(q * 2u32), |x: BigUint| self.exactly(x), Wanted::Exactly);
        let (x1, y1, x2, y2, y3) = (&(x % q), &(y % q), &(x % q2), &(y % q2), &(y % (q2 + 1u32)));
        [
            whole(y1.clone()),
            whole((y1 << bits) / q),
            exactly(x * y1),
            exactly(x.clone()),
            exactly(x.clone()),
            whole(x1 + y1),
            whole(x1 + q - y1),
            whole(q2 - y3),
            exactly(x2 * y2 * factor),
            exactly((x2 * y2 + x2 * x2 + y2 * y2) * factor),
            self.residue(x2 * y2 * factor, q2.clone()),
            exactly((x2 * y2 * 9u32 + x2 * x2) * factor),
            exactly(x * y),
            exactly(x * y * factor),
            exactly(x << bits),
            exactly(x * factor),
            exactly(x.clone()),
            exactly(x.clone()),
            whole(x1.clone()),
            whole(q - y1),
        ]
    }

    fn strict(&self, x: &BigUint, y: &BigUint) -> [Wanted; 12] {
        let Self { q, factor, .. } = self;
        let bits = 8 * self.which.word_bytes();
        let exactly = |x: BigUint| self.exactly(x);
        // a factor carries 2^64 in a table of 64 bits; residues of 256 bits carry 2^256 throughout
        let is_plain = matches!(self.which, Which::Type(Arithmetic::Mod64Full | Arithmetic::Goldilocks));
        let montgomery = |x: BigUint| match self.which {
            Which::Type(Arithmetic::Goldilocks) => Wanted::Exactly(BigUint::ZERO),
            _ => exactly(x),
        };
        let minus_y = q - y % q;
        [
            exactly(if is_plain { y << bits } else { y.clone() }),
            exactly(if is_plain { x * y } else { x * y * factor }),
            exactly(x + y),
            exactly(x + &minus_y),
            exactly(minus_y),
            exactly((x * y + x * x) * factor),
            exactly(x * y),
            montgomery(x * y * factor),
            montgomery(x << bits),
            montgomery(x * factor),
            exactly(x.clone()),
            exactly(self.inverted(x)),
        ]
    }

    /// The word with all bits of x inverted.
    fn inverted(&self, x: &BigUint) -> BigUint {
        power(8 * self.which.word_bytes()) - 1u32 - x
    }
}

fn big(x: &U256) -> BigUint {
    BigUint::from_bytes_le(x.to_le_bytes().as_ref())
}

fn power(bits: usize) -> BigUint {
    BigUint::from(1u32) << bits
}

/// The low 64 bits.
fn low(x: &BigUint) -> u64 {
    x.iter_u64_digits().next().unwrap_or(0)
}

fn words(x: u64, y: u64) -> Vec<Wanted> {
    let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let half = |x: u64| x & 0xffff_ffff;
    let product = wide(x, y);
    let sum = product.wrapping_add(u128::from(y) | u128::from(x) << 64);
    let dot = x.wrapping_mul(y).wrapping_add(y.wrapping_mul(y));
    let m = (y >> 1).max(1);
    let (lx, hx, ly, hy) = (half(x), x >> 32, half(y), y >> 32);
    let once = if lx >= ly { lx - ly } else { lx };
    let halves = [
        (product >> 64) as u64,
        (product >> 64) as u64,
        x.wrapping_mul(y).wrapping_add(dot),
        product as u64,
        (product >> 64) as u64,
        sum as u64,
        (sum >> 64) as u64,
        (lx * ly) >> 32 | (hx * hy) & !0xffff_ffff,
        (lx * ly).wrapping_add(x >> 31),
        x % m,
        if x & 1 == 1 { x } else { y },
        once | (if hx & 1 == 1 { lx } else { ly }) << 32,
    ];
    let friendly = x.wrapping_mul(y).wrapping_add((x ^ y).wrapping_mul(ly << 32 | 1));
    let q = (1u128 << 64) - (1 << 32) + 1;
    let (difference, borrow) = x.overflowing_sub(y);
    let sum = u128::from(x) + u128::from(y) % q;
    let folded = [
        difference.wrapping_add(if borrow { q as u64 } else { 0 }),
        if sum < q { sum as u64 } else { (sum - q) as u64 },
        // 2^192 is 1, and 2^64 is 2^32 − 1
        ((u128::from(y) % (q - 1) + u128::from(x) * (u128::from(u32::MAX) * u128::from(u32::MAX)) % q) % q) as u64,
    ];
    let exactly = |word: u64| Wanted::Exactly(word.into());
    let middle = ((product - wide(lx, ly)) >> 64) as u64;
    let last = [x ^ y ^ x.rotate_left(1), friendly].into_iter().chain(folded).chain([middle]).chain(signed(x, y));
    let mut wanted: Vec<Wanted> = halves.into_iter().chain(chains(x, y)).chain(last).map(exactly).collect();
    wanted[1] = Wanted::OneOfTwo(((product >> 64) + 1).into());
    wanted
}

/// Words of 96 bits and a sign, for q = 2^64 − 2^32 + 1.
fn signed(x: u64, y: u64) -> Vec<u64> {
    let q = (1i128 << 64) - (1 << 32) + 1;
    let (less, [x0, x1]) = ((1i128 << 32) - 1, [x as u32, (x >> 32) as u32].map(i128::from));
    let (wide, top) = (i128::from(x) + (i128::from(y as i32) << 64), i128::from(y as i32));
    let other = i128::from(y) + (i128::from((x >> 32) as i32) << 64);
    let upper = i128::from(y) % (q - 1);
    let sums = [
        wide + other,
        wide - other,
        upper + x1 - ((x0 + x1) << 32),
        i128::from(x) + top * less,
        ((x0 - x0 % 2) << 32) + x1 * less - top,
        x0 * less - x1 - (top << 32),
    ];
    let canonical = i128::from(x) + (i128::from((y as u32).max(1)) << 64) - less;
    sums.iter().flat_map(|sum| [*sum as u64, u64::from((*sum >> 64) as u32)]).chain([(canonical % q) as u64]).collect()
}

/// The product of b and every second limb of a.
fn row(a: u128, b: u64) -> u128 {
    let limb = |at: u32| u128::from((a >> at) as u32);
    limb(0) * u128::from(b) + ((limb(64) * u128::from(b)) << 64)
}

/// The step of `row_shift` on (other, over, acc).
fn shift((other, over, acc): (u64, u64, u128), row: u128) -> (u64, u64, u128) {
    let other = other + u64::from((acc >> 32) as u32);
    let moved = (acc >> 64) + (u128::from(over) << 96) + u128::from(other >> 32);
    let (acc, carry) = moved.overflowing_add(row);
    (other & 0xffff_ffff, carry.into(), acc)
}

fn chains(x: u64, y: u64) -> [u64; 28] {
    let (l, r) = (u128::from(x) | u128::from(y) << 64, u128::from(y) | u128::from(x) << 64);
    let (lx, hx, ly, hy) = (x & 0xffff_ffff, x >> 32, y & 0xffff_ffff, y >> 32);
    let ones = 0xffff_ffff;
    let (sum, carry) = l.overflowing_add(r);
    let (difference, borrow) = l.overflowing_sub(r);
    let chosen = if borrow { l } else { r };
    let first = row(l, ly);
    let (second, over) = first.overflowing_add(row(l, hy));
    let over2 = 5 + u64::from(over);
    let (third, over) = second.overflowing_add(row(r, hx));
    let over3 = over2 + u64::from(over);
    let (fourth, over) = third.overflowing_add(row(l, lx));
    let top4 = (hx | over3 << 32) + u64::from(over);
    let (other5, over5, fifth) = shift((ly, 1, fourth), row(r, hx));
    let (sixth, over) = u128::MAX.overflowing_add(row(l, hy));
    let top6 = (ones | over5 << 32) + u64::from(over);
    let (other7, over7, seventh) = shift((ones, ones, sixth), row(l, hx));
    let (lo, hi) = (|x: u128| x as u64, |x: u128| (x >> 64) as u64);
    [
        lo(sum),
        hi(sum),
        carry.into(),
        lo(difference),
        hi(difference),
        if borrow { ones } else { 0 },
        lo(chosen),
        hi(chosen),
        lo(first),
        hi(first),
        lo(second),
        hi(second),
        over2,
        lo(third),
        hi(third),
        over3,
        lo(fourth),
        hi(fourth),
        top4,
        lo(fifth),
        hi(fifth),
        other5 | over5 << 32,
        lo(sixth),
        hi(sixth),
        top6,
        lo(seventh),
        hi(seventh),
        other7 | over7 << 32,
    ]
}
