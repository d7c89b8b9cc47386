//! Packing of public keys in mixed radix (the `Encode` of NTRU Prime): digits below q are merged in pairs, level by
//! level.
//!
//! A level merges each pair of adjacent digits into a number with a larger modulus. It emits the number's low bytes
//! until the modulus is below 2^14. The rest is a digit of the next level. All pairs of a level have the same modulus,
//! except possibly the last pair.

use ringforge::{Error, Result};

/// The upper limit of the moduli of digits.
const LIMIT: u32 = 1 << 14;

/// A level of the packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    /// The number of digits.
    pub(crate) len: usize,
    /// The modulus of all digits but the last one.
    pub(crate) modulus: u32,
    /// The modulus of the last digit.
    pub(crate) last: u32,
    /// The offset of the level's first byte in the packed key.
    pub(crate) offset: usize,
}

impl Level {
    /// The first level for keys of n digits below q.
    pub(crate) const fn first(n: usize, q: u32) -> Self {
        Self { len: n, modulus: q, last: q, offset: 0 }
    }

    /// The number of pairs. If the number of digits is odd, the last digit passes to the next level unchanged.
    pub(crate) const fn pairs(&self) -> usize {
        self.len / 2
    }

    /// The modulus of digit i.
    const fn modulus_of(&self, i: usize) -> u32 {
        if i + 1 == self.len { self.last } else { self.modulus }
    }

    /// Returns the number of bytes that pair k emits, and the modulus of the remaining number.
    const fn pair(&self, k: usize) -> (usize, u32) {
        shrink(self.modulus_of(2 * k) * self.modulus_of(2 * k + 1), LIMIT)
    }

    /// The number of bytes that each pair except the last emits, and the number that the last pair emits.
    pub(crate) const fn bytes(&self) -> [usize; 2] {
        [self.pair(0).0, self.pair(self.pairs() - 1).0]
    }

    /// The offset of the first byte of pair k.
    const fn place(&self, k: usize) -> usize {
        self.offset + k * self.pair(0).0
    }

    /// The next level. The last level has a single digit.
    pub(crate) const fn next(&self) -> Self {
        let last_pair = self.pairs() - 1;
        let (last_bytes, last_modulus) = self.pair(last_pair);
        Self {
            len: self.len.div_ceil(2),
            modulus: self.pair(0).1,
            last: if self.len % 2 == 1 { self.last } else { last_modulus },
            offset: self.place(last_pair) + last_bytes,
        }
    }
}

/// Returns how many bytes a number below `modulus` emits until its modulus is below `limit`, and this final modulus.
const fn shrink(mut modulus: u32, limit: u32) -> (usize, u32) {
    let mut bytes = 0;
    while modulus >= limit {
        modulus = modulus.div_ceil(256);
        bytes += 1;
    }
    (bytes, modulus)
}

/// The size in bytes of n packed digits below q, for n of at least 2.
pub(crate) const fn encoded_bytes(n: usize, q: u32) -> usize {
    let mut level = Level::first(n, q);
    while level.len > 1 {
        level = level.next();
    }
    level.offset + shrink(level.last, 2).0
}

/// Returns the levels for n digits below q, from the first. The last level has a single digit.
pub(crate) fn levels(n: usize, q: u32) -> Vec<Level> {
    let mut levels = vec![Level::first(n, q)];
    while let Some(level) = levels.last().filter(|level| level.len > 1) {
        levels.push(level.next());
    }
    levels
}

/// Packs digits below q and overwrites them. The time depends on their number only.
///
/// # Errors
/// [`Error::Length`] unless the length of `bytes` is [`encoded_bytes`].
pub(crate) fn encode(digits: &mut [u32], q: u32, bytes: &mut [u8]) -> Result<()> {
    check(digits, q, bytes)?;
    let mut level = Level::first(digits.len(), q);
    while level.len > 1 {
        for k in 0..level.pairs() {
            let count = level.pair(k).0;
            let r = digits[2 * k] + level.modulus * digits[2 * k + 1];
            bytes[level.place(k)..][..count].copy_from_slice(&r.to_le_bytes()[..count]);
            digits[k] = r >> (8 * count);
        }
        if level.len % 2 == 1 {
            digits[level.pairs()] = digits[level.len - 1];
        }
        level = level.next();
    }
    let count = bytes.len() - level.offset;
    bytes[level.offset..].copy_from_slice(&digits[0].to_le_bytes()[..count]);
    Ok(())
}

/// Unpacks digits below q. Any bytes unpack to some digits, but packing these digits gives the same bytes only if
/// [`encode`] produced the bytes.
///
/// # Errors
/// [`Error::Length`] unless the length of `bytes` is [`encoded_bytes`].
pub(crate) fn decode(bytes: &[u8], q: u32, digits: &mut [u32]) -> Result<()> {
    check(digits, q, bytes)?;
    let levels = levels(digits.len(), q);
    for level in levels.iter().rev() {
        if level.len == 1 {
            digits[0] = number(&bytes[level.offset..]) % level.last;
            continue;
        }
        if level.len % 2 == 1 {
            digits[level.len - 1] = digits[level.pairs()];
        }
        for k in (0..level.pairs()).rev() {
            let count = level.pair(k).0;
            let r = digits[k] << (8 * count) | number(&bytes[level.place(k)..][..count]);
            digits[2 * k] = r % level.modulus;
            digits[2 * k + 1] = r / level.modulus % level.modulus_of(2 * k + 1);
        }
    }
    Ok(())
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn check(digits: &[u32], q: u32, bytes: &[u8]) -> Result<()> {
    let (expected, got) = (encoded_bytes(digits.len(), q), bytes.len());
    if got == expected { Ok(()) } else { Err(Error::Length { what: "bytes of a public key", expected, got }) }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use ringforge_testkit::{Random, bytes, seed};

    use super::*;
    use crate::params::SETS;

    /// Tests the levels against the tables of the specification: number of digits, two moduli, bytes of a pair and of
    /// the last pair, offset.
    #[test]
    fn levels_match_the_tables() {
        let row = |level: &Level| {
            let [each, last] = if level.len > 1 { level.bytes() } else { [0; 2] };
            (level.len, level.modulus, level.last, each, last, level.offset)
        };
        let found: Vec<_> = levels(653, 4621).iter().map(row).collect();
        let expected = [
            (653, 4621, 4621, 2, 2, 0),
            (327, 326, 4621, 1, 1, 652),
            (164, 416, 4621, 1, 1, 815),
            (82, 676, 7510, 1, 2, 897),
            (41, 1786, 78, 1, 1, 939),
            (21, 12461, 78, 2, 2, 959),
            (11, 2370, 78, 2, 2, 979),
            (6, 86, 78, 0, 0, 989),
            (3, 7396, 6708, 2, 2, 989),
            (2, 835, 6708, 2, 2, 991),
        ];
        assert_eq!(found[..10], expected);
        assert_eq!((found[10].2, found[10].5), (86, 993));
        let found: Vec<_> = levels(1277, 7879).iter().map(row).collect();
        assert_eq!(found[3], (160, 189, 423, 1, 1, 1915));
        assert_eq!(found[5], (40, 77, 172, 0, 0, 2035));
        assert_eq!(found[10], (2, 376, 2516, 1, 1, 2064));
        let found: Vec<_> = levels(761, 4591).iter().map(row).collect();
        assert_eq!(found[8], (3, 1557, 11127, 1, 1, 1153));
        assert_eq!((found[10].2, found[10].5), (1608, 1156));
    }

    #[test]
    fn digits_round_trip() {
        let mut random = Random::new(seed());
        for set in &SETS {
            let mut packed = vec![0; set.sizes().public_key];
            for kind in 0..100 {
                let digit = |_| match kind {
                    0 => 0,
                    1 => set.q - 1,
                    _ => random.below(set.q as usize) as u32,
                };
                let digits: Vec<u32> = (0..set.n).map(digit).collect();
                encode(&mut digits.clone(), set.q, &mut packed).unwrap();
                let mut found = vec![9; set.n];
                decode(&packed, set.q, &mut found).unwrap();
                assert_eq!(found, digits, "{}", set.name);
            }
        }
    }

    /// Tests that any bytes unpack to digits below q, and that packing these digits gives bytes that do not change when
    /// they are unpacked and packed again.
    #[test]
    fn decoding_is_total() {
        let mut random = Random::new(seed());
        for set in &SETS {
            let size = set.sizes().public_key;
            let mut canonical = 0;
            for kind in 0..1000 {
                let packed = match kind {
                    0 => vec![0; size],
                    1 => vec![0xff; size],
                    _ => bytes(random.bits(), size),
                };
                let (mut digits, mut again, mut twice) = (vec![0; set.n], vec![0; size], vec![0; size]);
                decode(&packed, set.q, &mut digits).unwrap();
                assert!(digits.iter().all(|digit| *digit < set.q), "{}", set.name);
                encode(&mut digits.clone(), set.q, &mut again).unwrap();
                canonical += u32::from(again == packed);
                decode(&again, set.q, &mut digits).unwrap();
                encode(&mut digits, set.q, &mut twice).unwrap();
                assert_eq!(again, twice, "{}", set.name);
            }
            assert!(canonical < 400, "{}: {canonical}", set.name);
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        let wrong = Err(Error::Length { what: "bytes of a public key", expected: 1158, got: 1157 });
        assert_eq!(encode(&mut [0; 761], 4591, &mut [0; 1157]), wrong);
        assert_eq!(decode(&[0; 1157], 4591, &mut [0; 761]), wrong);
    }
}
