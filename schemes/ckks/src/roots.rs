//! Complex roots of unity, computed from integers, so that they have the same bits on every machine.

use num_complex::Complex64;

/// Fractional bits of fixed-point numbers from 0 to below 4.
pub(crate) const BITS: u32 = 126;
/// π.
const PI: u128 = 0xc90f_daa2_2168_c234_c4c6_628b_80dc_1cd1;

/// The first quarter of the roots of unity of order 2N, for N a power of two of at least 4: e^(iπt/N) for t from 0 to
/// N/2. Their parts are rounded to nearest.
pub(crate) fn quarter(degree: usize) -> Vec<Complex64> {
    let double = |x: u128| x as f64 / (1u128 << BITS) as f64;
    fixed_quarter(degree).into_iter().map(|[cos, sin]| Complex64::new(double(cos), double(sin))).collect()
}

/// The same roots in fixed point, with an error of some units of the last bit.
pub(crate) fn fixed_quarter(degree: usize) -> Vec<[u128; 2]> {
    let eighth = degree / 4;
    let first: Vec<[u128; 2]> = (0..=eighth).map(|t| point(angle(t, degree))).collect();
    let swapped = first[..eighth].iter().rev().map(|[cos, sin]| [*sin, *cos]);
    first.iter().copied().chain(swapped).collect()
}

/// πt/N, for t ≤ N/4.
fn angle(t: usize, degree: usize) -> u128 {
    mul(PI, (t as u128) << (BITS - degree.ilog2()))
}

/// cos x and sin x, for x ≤ π/4, by their power series.
fn point(x: u128) -> [u128; 2] {
    let (mut cos, mut sin, mut term) = (0u128, 0u128, 1u128 << BITS);
    for power in 0u128.. {
        let part = if power % 2 == 0 { &mut cos } else { &mut sin };
        *part = if power % 4 < 2 { *part + term } else { *part - term };
        term = mul(term, x) / (power + 1);
        if term == 0 {
            break;
        }
    }
    [cos, sin]
}

/// The product of fixed-point numbers, rounded down.
pub(crate) fn mul(a: u128, b: u128) -> u128 {
    let halves = |x: u128| [x & u128::from(u64::MAX), x >> 64];
    let ([a0, a1], [b0, b1]) = (halves(a), halves(b));
    let (low, cross, other) = (a0 * b0, a0 * b1, a1 * b0);
    let middle = (low >> 64) + halves(cross)[0] + halves(other)[0];
    let high = a1 * b1 + (cross >> 64) + (other >> 64) + (middle >> 64);
    high << (128 - BITS) | halves(middle)[0] >> (BITS - 64)
}

#[cfg(test)]
mod tests {
    use shake::{ExtendableOutput, Shake128, Update, XofReader};

    use super::*;

    #[test]
    fn roots_are_close_to_those_of_the_standard_library() {
        for degree in [4, 8, 1 << 10, 1 << 17] {
            let roots = quarter(degree);
            assert_eq!(roots.len(), degree / 2 + 1);
            assert_eq!((roots[0], roots[degree / 2]), (Complex64::new(1.0, 0.0), Complex64::new(0.0, 1.0)));
            for (t, root) in roots.iter().enumerate() {
                let wanted = Complex64::cis(core::f64::consts::PI * t as f64 / degree as f64);
                assert!((root - wanted).norm() < 4e-16, "{t} of {degree}: {root} and {wanted}");
            }
        }
    }

    /// The bits of all roots are part of the format of plaintexts.
    #[test]
    fn roots_have_the_same_bits_everywhere() {
        let mut hash = Shake128::default();
        for root in quarter(1 << 17) {
            hash.update(&root.re.to_le_bytes());
            hash.update(&root.im.to_le_bytes());
        }
        let mut digest = [0; 8];
        hash.finalize_xof().read(&mut digest);
        // also the digest of roots computed with 200 bits
        assert_eq!(u64::from_be_bytes(digest), 18_167_940_793_428_202_750);
    }
}
