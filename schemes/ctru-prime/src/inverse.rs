//! Inversion modulo q and x^n − x − 1 by Bernstein–Yang division steps (eprint 2019/266), always 2n − 1 of them.
//!
//! The steps act on reversed polynomials. Let f be the polynomial to invert, and m = x^n − x − 1. Φ starts as
//! x^n·m(1/x), and F as x^(n−1)·f(1/x). V and S start as 0 and 1 and go through the same combinations, scaled by powers
//! of x.
//!
//! With a = Φ(0) and b = F(0), a step computes F ← (a·F − b·Φ)/x and S ← a·S − b·x·V. A step swaps if the counter delta
//! is positive and b is not 0. Without a swap, Φ stays and V becomes x·V. With a swap, Φ and V become the old F and S,
//! and the new F and S are negated, which changes only the signs of a and b.

use ringforge::words::Divisor;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The four polynomials of an inversion, wiped when dropped.
///
/// F moves down through its buffer and V moves up, so neither is ever shifted. Coefficients are below q.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Steps {
    phi: Vec<u32>,
    f: Vec<u32>,
    v: Vec<u32>,
    s: Vec<u32>,
}

/// Replaces a nonzero polynomial by its inverse, and zero by zero. All coefficients must be below q, the divisor of
/// `by_q`. The coefficients of the inverse are below q, too.
///
/// Neither timing nor addresses depend on the polynomial.
pub(crate) fn invert(f: &mut [u32], by_q: Divisor, memory: &mut Steps) {
    let (n, q) = (f.len(), by_q.get());
    let steps = 2 * n - 1;
    let Steps { phi, f: low, v, s } = memory;
    for (polynomial, len) in
        [(&mut *phi, n + 1), (&mut *low, n + 1 + steps), (&mut *v, n + 1 + steps), (&mut *s, n + 1)]
    {
        polynomial.clear();
        polynomial.resize(len, 0);
    }
    (phi[0], phi[n - 1], phi[n]) = (1, q - 1, q - 1);
    low.iter_mut().zip(f.iter().rev()).for_each(|(low, f)| *low = *f);
    s[0] = 1;

    let mut delta = 1i32;
    for step in 0..steps {
        let (a, b) = (phi[0], low[step]);
        // all ones if delta is positive and b is not zero, else 0
        let swap = ((-delta & -(b as i32)) >> 31) as u32;
        delta = 1 + ((delta ^ swap as i32) - swap as i32);
        let choose = |yes: u32, no: u32| no ^ ((yes ^ no) & swap);
        let (a, b) = (choose(q - a, a), choose(b, q - b));

        // this and later steps read `reads` coefficients of Φ and F; after this step, `grown` coefficients of V and S
        // may be nonzero
        let (reads, grown) = ((steps - step).min(n) + 1, step.min(n) + 1);
        for (phi, low) in phi[..reads].iter_mut().zip(&mut low[step..]) {
            let next = by_q.remainder(a * *low + b * *phi);
            *phi = choose(*low, *phi);
            *low = next;
        }
        // coefficient 0 of V is v[steps - step]; x·V starts one entry earlier
        for (v, s) in v[steps - step - 1..][..grown].iter_mut().zip(&mut s[..grown]) {
            let next = by_q.remainder(a * *s + b * *v);
            *v = choose(*s, *v);
            *s = next;
        }
    }
    let unit = power(phi[0], q - 2, by_q);
    for (f, v) in f.iter_mut().zip(v[..n].iter().rev()) {
        *f = by_q.remainder(unit * *v);
    }
}

/// Returns x^exponent mod q. The time depends on the exponent only.
fn power(x: u32, exponent: u32, by_q: Divisor) -> u32 {
    let bits = u32::BITS - exponent.leading_zeros();
    (0..bits).rev().fold(1, |power, bit| {
        let square = by_q.remainder(power * power);
        if exponent >> bit & 1 == 1 { by_q.remainder(square * x) } else { square }
    })
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use ringforge_testkit::{Random, seed};

    use super::*;
    use crate::naive::product;
    use crate::params::SETS;

    #[test]
    fn inverses_invert() {
        let mut random = Random::new(seed());
        for set in &SETS {
            let (n, q) = (set.n, set.q);
            for kind in 0..6 {
                let mut f: Vec<u32> = match kind {
                    0 => (0..n).map(|i| u32::from(i == 0)).collect(),
                    1 => (0..n).map(|i| u32::from(i == n - 1) * (q - 1)).collect(),
                    2 => vec![q - 1; n],
                    _ => (0..n).map(|_| random.below(q as usize) as u32).collect(),
                };
                let signed = |x: &[u32]| x.iter().map(|&x| x.into()).collect::<Vec<i64>>();
                let before = signed(&f);
                invert(&mut f, Divisor::new(q), &mut Steps::default());
                assert!(f.iter().all(|x| *x < q));
                let product = product(&before, &signed(&f));
                let one = product.iter().enumerate().all(|(i, x)| x.rem_euclid(q.into()) == i64::from(i == 0));
                assert!(one, "{}, {kind}", set.name);
            }
            let mut zero = vec![0; n];
            invert(&mut zero, Divisor::new(q), &mut Steps::default());
            assert_eq!(zero, vec![0; n]);
        }
    }
}
