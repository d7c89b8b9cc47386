//! Polynomials modulo x^n − x − 1 as schoolbooks have them, and numbers in mixed radix.

/// Coefficients, from that of 1 on.
pub(super) type Polynomial = Vec<i64>;

/// a·b modulo x^n − x − 1, over the integers.
pub(crate) fn product(a: &[i64], b: &[i64]) -> Polynomial {
    let n = a.len();
    let mut product = vec![0; 2 * n];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            product[i + j] += a * b;
        }
    }
    for k in (n..2 * n).rev() {
        let top = product[k];
        product[k - n + 1] += top;
        product[k - n] += top;
    }
    product.truncate(n);
    product
}

/// The inverse of f modulo q and x^n − x − 1, by Euclid's algorithm.
pub(super) fn inverse(f: &[i64], q: i64) -> Polynomial {
    let n = f.len();
    let zeros = vec![0; n + 1];
    // in each pair, the second polynomial times f is the first
    let mut a = [zeros.clone(), zeros.clone()];
    let mut b = [zeros.clone(), zeros];
    (a[0][0], a[0][1], a[0][n]) = (q - 1, q - 1, 1);
    b[0][..n].copy_from_slice(&f.iter().map(|f| f.rem_euclid(q)).collect::<Polynomial>());
    b[1][0] = 1;
    let degree = |a: &[i64]| a.iter().rposition(|&x| x != 0);
    while let Some(low) = degree(&b[0]) {
        let unit = reciprocal(b[0][low], q);
        while let Some(high) = degree(&a[0]).filter(|&high| high >= low) {
            let factor = a[0][high] * unit % q;
            for (a, b) in a.iter_mut().zip(&b) {
                (high - low..=n).for_each(|k| a[k] = (a[k] - factor * b[k - (high - low)]).rem_euclid(q));
            }
        }
        core::mem::swap(&mut a, &mut b);
    }
    let [gcd, inverse] = a;
    let unit = reciprocal(gcd[0], q);
    inverse[..n].iter().map(|x| x * unit % q).collect()
}

/// 1/x modulo q, for x that is not 0.
fn reciprocal(x: i64, q: i64) -> i64 {
    (1..q).find(|y| x * y % q == 1).expect("q is prime")
}

/// Numbers with their moduli to bytes, pair by pair until one is left.
pub(super) fn encode(mut numbers: Vec<(i64, i64)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut shrink = |(mut r, mut m): (i64, i64), limit: i64| {
        while m >= limit {
            bytes.push((r % 256) as u8);
            (r, m) = (r / 256, (m + 255) / 256);
        }
        (r, m)
    };
    while numbers.len() > 1 {
        let pair = |pair: &[(i64, i64)]| match pair {
            [(r0, m0), (r1, m1)] => shrink((r0 + m0 * r1, m0 * m1), 16384),
            one => one[0],
        };
        numbers = numbers.chunks(2).map(pair).collect();
    }
    shrink(numbers[0], 2);
    bytes
}

/// The numbers below these moduli that bytes stand for.
pub(super) fn decode(bytes: &[u8], moduli: &[i64]) -> Vec<i64> {
    // what a pair lets go of, and the modulus that is left
    let shrink = |mut m: i64, limit: i64| {
        let mut count = 0u32;
        while m >= limit {
            (m, count) = ((m + 255) / 256, count + 1);
        }
        (count, m)
    };
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| 256 * number + i64::from(*byte));
    if let [m] = moduli {
        return vec![number(&bytes[..shrink(*m, 2).0 as usize]) % m];
    }
    let (mut at, mut below, mut next) = (0, Vec::new(), Vec::new());
    for pair in moduli.chunks(2) {
        let (count, m) = if pair.len() == 2 { shrink(pair[0] * pair[1], 16384) } else { (0, pair[0]) };
        below.push((number(&bytes[at..at + count as usize]), 256i64.pow(count)));
        at += count as usize;
        next.push(m);
    }
    let above = decode(&bytes[at..], &next);
    let pairs = moduli.chunks(2).zip(below).zip(above);
    pairs
        .flat_map(|((moduli, (low, shift)), high)| match moduli {
            [m0, m1] => vec![(low + shift * high) % m0, (low + shift * high) / m0 % m1],
            _ => vec![high],
        })
        .collect()
}
