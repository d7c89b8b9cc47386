//! 256-bit numbers of four limbs: addition and subtraction, plain or modulo q, and multiplication. Operands may be
//! secret; q must not be.

use crate::Limbs;
use crate::choice::mask;

/// The 512-bit product of two numbers, least significant limb first.
pub type Wide = [u64; 8];

/// Returns a + b mod 2^256 and the carry.
#[inline(always)]
#[must_use]
pub const fn add_limbs(a: Limbs, b: Limbs) -> (Limbs, bool) {
    let (mut sum, mut carry, mut i) = ([0; 4], 0, 0);
    while i < 4 {
        let x = a[i] as u128 + b[i] as u128 + carry;
        (sum[i], carry) = (x as u64, x >> 64);
        i += 1;
    }
    (sum, carry != 0)
}

/// Returns a − b mod 2^256 and the borrow.
#[inline(always)]
#[must_use]
pub const fn sub_limbs(a: Limbs, b: Limbs) -> (Limbs, bool) {
    let (mut difference, mut borrow, mut i) = ([0; 4], 0, 0);
    while i < 4 {
        let x = (a[i] as u128).wrapping_sub(b[i] as u128).wrapping_sub(borrow);
        (difference[i], borrow) = (x as u64, x >> 127);
        i += 1;
    }
    (difference, borrow != 0)
}

/// Returns a + b mod q, for a and b below q.
#[inline(always)]
#[must_use]
pub fn add_mod(a: Limbs, b: Limbs, q: &Limbs) -> Limbs {
    let (sum, over) = add_limbs(a, b);
    sub_limbs_once(sum, over, q)
}

/// Returns a − b mod q, for a and b below q.
#[inline(always)]
#[must_use]
pub fn sub_mod(a: Limbs, b: Limbs, q: &Limbs) -> Limbs {
    let (difference, borrow) = sub_limbs(a, b);
    let mask = mask(borrow);
    add_limbs(difference, q.map(|limb| limb & mask)).0
}

/// Returns (x + 2^256·over) mod q. The number x + 2^256·over must be below 2q.
#[inline(always)]
#[must_use]
pub fn sub_limbs_once(x: Limbs, over: bool, q: &Limbs) -> Limbs {
    #[cfg(target_arch = "x86_64")]
    {
        let [mut y0, mut y1, mut y2, mut y3] = x;
        // SAFETY: these instructions read the four limbs of q and access nothing else but the named registers and the
        // flags.
        #[allow(unsafe_code)]
        unsafe {
            core::arch::asm!(
                "sub {y0}, qword ptr [{q}]",
                "sbb {y1}, qword ptr [{q} + 8]",
                "sbb {y2}, qword ptr [{q} + 16]",
                "sbb {y3}, qword ptr [{q} + 24]",
                "sbb {over}, 0",
                "cmovc {y0}, {x0}",
                "cmovc {y1}, {x1}",
                "cmovc {y2}, {x2}",
                "cmovc {y3}, {x3}",
                q = in(reg) q.as_ptr(),
                over = inout(reg) u64::from(over) => _,
                y0 = inout(reg) y0, x0 = in(reg) x[0],
                y1 = inout(reg) y1, x1 = in(reg) x[1],
                y2 = inout(reg) y2, x2 = in(reg) x[2],
                y3 = inout(reg) y3, x3 = in(reg) x[3],
                options(pure, readonly, nostack),
            );
        }
        [y0, y1, y2, y3]
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let (less, borrow) = sub_limbs(x, *q);
        // combines masks, because `borrow && !over` may become a branch
        let keep = mask(borrow) & !mask(over);
        core::array::from_fn(|i| less[i] ^ (x[i] ^ less[i]) & keep)
    }
}

/// Returns the product a·b.
#[inline(always)]
#[must_use]
pub fn mul_limbs(a: Limbs, b: Limbs) -> Wide {
    let mut x = [0; 8];
    for i in 0..4 {
        let mut carry = 0;
        for j in 0..4 {
            (x[i + j], carry) = a[i].carrying_mul_add(b[j], x[i + j], carry);
        }
        x[i + 4] = carry;
    }
    x
}

/// Returns a². Doubles the six products of two different limbs and adds the four squares of limbs.
#[inline(always)]
#[must_use]
pub fn square_limbs(a: Limbs) -> Wide {
    let (x1, c) = a[0].carrying_mul_add(a[1], 0, 0);
    let (x2, c) = a[0].carrying_mul_add(a[2], 0, c);
    let (x3, x4) = a[0].carrying_mul_add(a[3], 0, c);
    let (x3, c) = a[1].carrying_mul_add(a[2], x3, 0);
    let (x4, x5) = a[1].carrying_mul_add(a[3], x4, c);
    let (x5, x6) = a[2].carrying_mul_add(a[3], x5, 0);
    let products = [0, x1, x2, x3, x4, x5, x6, 0];
    let (mut x, mut carry) = ([0; 8], false);
    for i in 0..4 {
        let (low, high) = a[i].carrying_mul_add(a[i], 0, 0);
        let below = if i == 0 { 0 } else { products[2 * i - 1] };
        (x[2 * i], carry) = (products[2 * i] << 1 | below >> 63).carrying_add(low, carry);
        (x[2 * i + 1], carry) = (products[2 * i + 1] << 1 | products[2 * i] >> 63).carrying_add(high, carry);
    }
    x
}
