//! Mixed-radix packing of public keys, as a direct implementation of its recursive definition.

/// Encodes pairs (number, modulus) as bytes: merges adjacent pairs until a single one is left.
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

/// Decodes one number below each of these moduli.
pub(super) fn decode(bytes: &[u8], moduli: &[i64]) -> Vec<i64> {
    // returns the number of bytes that a number below m emits, and the modulus of the rest
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
