//! The components once more, slowly and as the specification words them: squares, single bits, no tricks.

/// A codeword: the sum of the rows of the generator that a nibble's bits choose.
pub(crate) fn encode(nibble: u8) -> [bool; 8] {
    const ROWS: [[u8; 8]; 4] =
        [[1, 0, 1, 0, 1, 0, 1, 0], [1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]];
    core::array::from_fn(|j| (0..4).filter(|i| nibble >> i & 1 == 1).map(|i| ROWS[i][j]).sum::<u8>() % 2 == 1)
}

/// Section 2.8 of the specification, on squared distances.
pub(crate) fn decode(v: &[u16; 8], q2: u16) -> u8 {
    let v = v.map(i64::from);
    let q2 = i64::from(q2);
    let zero = |x: i64| x.min(q2 - x).pow(2);
    let one = |x: i64| (x - q2 / 2).pow(2);
    let coset = |t: u8| {
        let mut cost = 0;
        let (mut y, mut d) = ([0u8; 4], [0; 4]);
        for i in 0..4 {
            let (a, b) = (v[2 * i], v[2 * i + 1]);
            let (c0, c1) =
                if t == 0 { (zero(a) + zero(b), one(a) + one(b)) } else { (one(a) + zero(b), zero(a) + one(b)) };
            y[i] = u8::from(c1 < c0);
            cost += c0.min(c1);
            d[i] = (c1 - c0).abs();
        }
        if y.iter().sum::<u8>() % 2 == 1 {
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
pub(crate) fn distances(v: &[u16; 8], q2: u16) -> [i64; 16] {
    core::array::from_fn(|nibble| {
        let distance = |(x, one): (&u16, bool)| {
            let y = (i64::from(*x) - i64::from(one) * i64::from(q2 / 2)).rem_euclid(i64::from(q2));
            y.min(i64::from(q2) - y).pow(2)
        };
        v.iter().zip(encode(nibble as u8)).map(distance).sum()
    })
}

/// Coefficients, bit by bit.
pub(crate) fn sample(eta: u32, bytes: &[u8]) -> Vec<i16> {
    let bits: Vec<i16> = bits(bytes).map(i16::from).collect();
    let sum = |bits: &[i16]| bits.iter().sum::<i16>();
    bits.chunks_exact(2 * eta as usize).map(|bits| bits.split_at(eta as usize)).map(|(a, b)| sum(a) - sum(b)).collect()
}

/// Packed numbers, bit by bit.
pub(crate) fn pack(width: u32, values: &[u16]) -> Vec<u8> {
    let bits: Vec<u8> = values.iter().flat_map(|x| (0..width).map(move |j| (x >> j & 1) as u8)).collect();
    bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit)).collect()
}

/// Unpacked numbers, bit by bit.
pub(crate) fn unpack(width: u32, bytes: &[u8]) -> Vec<u16> {
    let bits: Vec<u8> = bits(bytes).collect();
    let number = |bits: &[u8]| bits.iter().rev().fold(0, |number, bit| number << 1 | u16::from(*bit));
    bits.chunks_exact(width as usize).map(number).collect()
}

fn bits(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.iter().flat_map(|byte| (0..8).map(move |j| byte >> j & 1))
}
