//! Polynomials modulo x^n − x^(n/2) + 1, as schoolbooks have them.

pub(super) const Q: i64 = 3457;
/// Leaves of the transform on the wire, x^(n/128) − β.
const LEAVES: usize = 128;

/// Coefficients, from that of 1 on.
pub(super) type Polynomial = Vec<i64>;

/// a·b modulo x^n − x^(n/2) + 1, over the integers.
pub(super) fn product(a: &[i64], b: &[i64]) -> Polynomial {
    let n = a.len();
    let mut product = vec![0; 2 * n];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            product[i + j] += a * b;
        }
    }
    for k in (n..2 * n).rev() {
        let top = product[k];
        product[k - n / 2] += top;
        product[k - n] -= top;
    }
    product.truncate(n);
    product
}

/// The inverse of f modulo q and x^n − x^(n/2) + 1, by Euclid's algorithm; none where the two have a common factor.
pub(super) fn inverse(f: &[i64]) -> Option<Polynomial> {
    let n = f.len();
    let zeros = vec![0; n + 1];
    // in each pair, the second polynomial times f is the first
    let mut a = [zeros.clone(), zeros.clone()];
    let mut b = [zeros.clone(), zeros];
    (a[0][0], a[0][n / 2], a[0][n]) = (1, Q - 1, 1);
    b[0][..n].copy_from_slice(&f.iter().map(|f| f.rem_euclid(Q)).collect::<Polynomial>());
    b[1][0] = 1;
    let degree = |a: &[i64]| a.iter().rposition(|&x| x != 0);
    while let Some(low) = degree(&b[0]) {
        let unit = reciprocal(b[0][low]);
        while let Some(high) = degree(&a[0]).filter(|&high| high >= low) {
            let factor = a[0][high] * unit % Q;
            for (a, b) in a.iter_mut().zip(&b) {
                (high - low..=n).for_each(|k| a[k] = (a[k] - factor * b[k - (high - low)]).rem_euclid(Q));
            }
        }
        core::mem::swap(&mut a, &mut b);
    }
    let [gcd, inverse] = a;
    (degree(&gcd) == Some(0)).then(|| inverse[..n].iter().map(|x| x * reciprocal(gcd[0]) % Q).collect())
}

/// 1/x modulo q, for x that is not 0.
pub(super) fn reciprocal(x: i64) -> i64 {
    (1..Q).find(|y| x * y % Q == 1).expect("q is prime")
}

/// β of each leaf, in the order of the wire.
fn leaves() -> Vec<i64> {
    let split = |exponents: Vec<usize>, _| exponents.into_iter().flat_map(|e| [e / 2, e / 2 + 192]).collect();
    let exponents = (0..6).fold(vec![64, 320], split);
    exponents.into_iter().map(|e| (0..e).fold(1, |power, _| power * 55 % Q)).collect()
}

/// Residues modulo each leaf, as they are on the wire.
pub(super) fn values(h: &[i64]) -> impl Iterator<Item = i64> {
    let d = h.len() / LEAVES;
    leaves().into_iter().flat_map(move |beta| {
        (0..d).map(move |j| (0..LEAVES).rev().fold(0, |sum, k| (sum * beta + h[k * d + j]).rem_euclid(Q)))
    })
}

/// The polynomial with these residues: with y for x^d, Lagrange's interpolation at the zeros β of y^128 − y^64 + 1.
pub(super) fn coefficients(values: &[i64]) -> Polynomial {
    let d = values.len() / LEAVES;
    let mut h = vec![0; values.len()];
    for (value, beta) in values.chunks(d).zip(leaves()) {
        // that polynomial divided by y − β, from the top
        let mut basis = [1; LEAVES];
        for k in (0..LEAVES - 1).rev() {
            basis[k] = (beta * basis[k + 1] - i64::from(k + 1 == LEAVES / 2)).rem_euclid(Q);
        }
        let unit = reciprocal(basis.iter().rev().fold(0, |sum, b| (sum * beta + b) % Q));
        for (h, b) in h.chunks_mut(d).zip(basis) {
            h.iter_mut().zip(value).for_each(|(h, value)| *h = (*h + value * b % Q * unit) % Q);
        }
    }
    h
}
