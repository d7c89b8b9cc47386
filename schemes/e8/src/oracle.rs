//! What the oracles of the family's schemes have in common, slowly and as the specifications word it: bit by bit, and with
//! polynomials over the integers. It shares nothing with the rest of the crate, and keeps no secrets.

use ringforge::Draws;
use ringforge::testkit::Named;
use sha3::{Digest, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

/// Coefficients, from that of 1 on.
pub type Polynomial = Vec<i64>;

/// A codeword: the sum of the rows of the generator that a nibble's bits choose.
#[must_use]
pub fn encode(nibble: i64) -> [i64; 8] {
    const ROWS: [[i64; 8]; 4] =
        [[1, 0, 1, 0, 1, 0, 1, 0], [1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]];
    core::array::from_fn(|j| (0..4).filter(|i| nibble >> i & 1 == 1).map(|i| ROWS[i][j]).sum::<i64>() % 2)
}

/// The nibble of the codeword nearest to eight numbers below q2, by section 2.8 of the specification, on squared distances; of
/// two as near, the one that it says.
#[must_use]
pub fn decode(v: &[i64], q2: i64) -> i64 {
    let zero = |x: i64| x.min(q2 - x).pow(2);
    let one = |x: i64| (x - q2 / 2).pow(2);
    let coset = |t: i64| {
        let mut cost = 0;
        let (mut y, mut d) = ([0; 4], [0; 4]);
        for i in 0..4 {
            let (a, b) = (v[2 * i], v[2 * i + 1]);
            let (c0, c1) =
                if t == 0 { (zero(a) + zero(b), one(a) + one(b)) } else { (one(a) + zero(b), zero(a) + one(b)) };
            y[i] = i64::from(c1 < c0);
            cost += c0.min(c1);
            d[i] = (c1 - c0).abs();
        }
        if y.iter().sum::<i64>() % 2 == 1 {
            let first = (0..4).min_by_key(|&i| d[i]).unwrap_or(0);
            y[first] ^= 1;
            cost += d[first];
        }
        (cost, t | y[0] << 1 | (y[0] ^ y[1]) << 2 | y[3] << 3)
    };
    let (even, odd) = (coset(0), coset(1));
    if odd.0 < even.0 { odd.1 } else { even.1 }
}

/// Squared distances of eight coordinates from all sixteen codewords, modulo q2.
#[cfg(test)]
pub(crate) fn distances(v: &[i64], q2: i64) -> [i64; 16] {
    core::array::from_fn(|nibble| {
        let distance = |(x, one): (&i64, i64)| {
            let y = (x - one * (q2 / 2)).rem_euclid(q2);
            y.min(q2 - y).pow(2)
        };
        v.iter().zip(encode(nibble as i64)).map(distance).sum()
    })
}

/// Coefficients from the centred binomial distribution, from bits in turn.
#[must_use]
pub fn sample(eta: u32, bytes: &[u8]) -> Polynomial {
    let ones = |bits: &[i64]| bits.iter().sum::<i64>();
    let bits = unpack(1, bytes);
    bits.chunks_exact(2 * eta as usize)
        .map(|bits| bits.split_at(eta as usize))
        .map(|(a, b)| ones(a) - ones(b))
        .collect()
}

/// Numbers of this many bits to bytes, least bit first.
#[must_use]
pub fn pack(width: u32, numbers: impl IntoIterator<Item = i64>) -> Vec<u8> {
    let bits: Vec<i64> = numbers.into_iter().flat_map(|number| (0..width).map(move |bit| number >> bit & 1)).collect();
    bits.chunks(8).map(|bits| number(bits) as u8).collect()
}

/// The numbers of this many bits in bytes, the last of what is left.
#[must_use]
pub fn unpack(width: u32, bytes: &[u8]) -> Vec<i64> {
    let bits: Vec<i64> = bytes.iter().flat_map(|byte| (0..8).map(move |bit| i64::from(byte >> bit & 1))).collect();
    bits.chunks(width as usize).map(number).collect()
}

fn number(bits: &[i64]) -> i64 {
    bits.iter().rev().fold(0, |number, bit| 2 * number + bit)
}

/// a·b modulo a polynomial, over the integers: x^n is the sum of these multiples of powers.
#[must_use]
pub fn product(a: &[i64], b: &[i64], powers: [(usize, i64); 2]) -> Polynomial {
    let n = a.len();
    let mut product = vec![0; 2 * n];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            product[i + j] += a * b;
        }
    }
    for k in (n..2 * n).rev() {
        let top = product[k];
        powers.into_iter().for_each(|(power, multiple)| product[k - n + power] += multiple * top);
    }
    product.truncate(n);
    product
}

/// The inverse of f modulo a prime q and such a polynomial, by Euclid's algorithm; none where the two have a common factor.
#[must_use]
pub fn inverse(f: &[i64], q: i64, powers: [(usize, i64); 2]) -> Option<Polynomial> {
    let n = f.len();
    let zeros = vec![0; n + 1];
    // in each pair, the second polynomial times f is the first
    let mut a = [zeros.clone(), zeros.clone()];
    let mut b = [zeros.clone(), zeros];
    a[0][n] = 1;
    powers.into_iter().for_each(|(power, multiple)| a[0][power] = (-multiple).rem_euclid(q));
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
    (degree(&gcd) == Some(0)).then(|| inverse[..n].iter().map(|x| x * reciprocal(gcd[0], q) % q).collect())
}

/// 1/x modulo a prime q, for x that is not 0.
///
/// # Panics
/// For another q or x.
#[must_use]
pub fn reciprocal(x: i64, q: i64) -> i64 {
    (1..q).find(|y| x * y % q == 1).expect("q is prime, and x is not 0")
}

/// SHAKE-256.
#[must_use]
pub fn xof(seed: &[u8], length: usize) -> Vec<u8> {
    Shake256::default().chain(seed).finalize_xof().read_boxed(length).into()
}

/// SHA3-512 of these parts, one after another.
#[must_use]
pub fn hash(parts: &[&[u8]]) -> Vec<u8> {
    Sha3_512::digest(parts.concat()).to_vec()
}

/// The seeds of all items of a plan: as they are given, or drawn.
#[must_use]
pub fn seeds(batch: usize, inputs: &Named, size: usize) -> Vec<u8> {
    let drawn = || (0..batch).flat_map(|item| draw(&inputs["draws"], item, 0)[..size].to_vec()).collect();
    inputs.get("seeds").cloned().unwrap_or_else(drawn)
}

/// What an item draws at an attempt.
///
/// # Panics
/// Unless these are the bytes of draws.
#[must_use]
pub fn draw(draws: &[u8], item: usize, attempt: u32) -> [u8; 64] {
    Draws::from_bytes(draws).expect("the bytes of draws").block(item as u64, attempt)
}
