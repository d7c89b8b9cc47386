//! Packs numbers of a few bits into bytes, least significant bit first, and unpacks them.

use ringforge::{Error, Result};

/// Number of bytes for `count` numbers of `width` bits; the last byte is padded with zeros.
#[must_use]
pub const fn packed_bytes(width: u32, count: usize) -> usize {
    (width as usize * count).div_ceil(8)
}

/// Calls the instance of a generic function for a width, which `check` must have accepted.
macro_rules! of_width {
    ($width:expr, $all:ident($from:expr, $to:expr)) => {
        match $width {
            4 => $all::<4>($from, $to),
            5 => $all::<5>($from, $to),
            10 => $all::<10>($from, $to),
            11 => $all::<11>($from, $to),
            _ => $all::<12>($from, $to),
        }
    };
}

/// Packs numbers of 4, 5, 10, 11 or 12 bits; higher bits of `values` are ignored.
///
/// # Errors
/// [`Error::Unsupported`] for any other width; [`Error::Length`] unless `bytes` has the length given by
/// [`packed_bytes`].
pub fn pack(width: u32, values: &[u16], bytes: &mut [u8]) -> Result<()> {
    check(width, values.len(), bytes.len())?;
    of_width!(width, pack_all(values, bytes));
    Ok(())
}

/// Unpacks numbers of 4, 5, 10, 11 or 12 bits; surplus bits of the last byte are ignored.
///
/// # Errors
/// The errors of [`pack`].
pub fn unpack(width: u32, bytes: &[u8], values: &mut [u16]) -> Result<()> {
    check(width, values.len(), bytes.len())?;
    of_width!(width, unpack_all(bytes, values));
    Ok(())
}

fn check(width: u32, count: usize, got: usize) -> Result<()> {
    if !matches!(width, 4 | 5 | 10 | 11 | 12) {
        let job = format!("packing numbers of {width} bits");
        return Err(Error::Unsupported { job, why: "the width must be 4, 5, 10, 11 or 12".into() });
    }
    let expected = packed_bytes(width, count);
    if got == expected { Ok(()) } else { Err(Error::Length { what: "packed bytes", expected, got }) }
}

/// Packs eight numbers into `WIDTH` bytes at a time. Fewer than eight numbers at the end take only the bytes that they
/// need.
fn pack_all<const WIDTH: usize>(values: &[u16], bytes: &mut [u8]) {
    let (values, last) = values.as_chunks();
    let (bytes, last_bytes) = bytes.split_at_mut(values.len() * WIDTH);
    for (values, bytes) in values.iter().zip(bytes.as_chunks_mut().0) {
        *bytes = pack_eight::<WIDTH>(values);
    }
    let mut padded = [0; 8];
    padded[..last.len()].copy_from_slice(last);
    last_bytes.copy_from_slice(&pack_eight::<WIDTH>(&padded)[..last_bytes.len()]);
}

fn unpack_all<const WIDTH: usize>(bytes: &[u8], values: &mut [u16]) {
    let (values, last) = values.as_chunks_mut();
    let (bytes, last_bytes) = bytes.split_at(values.len() * WIDTH);
    for (bytes, values) in bytes.as_chunks().0.iter().zip(values) {
        *values = unpack_eight::<WIDTH>(bytes);
    }
    let mut padded = [0; WIDTH];
    padded[..last_bytes.len()].copy_from_slice(last_bytes);
    last.copy_from_slice(&unpack_eight(&padded)[..last.len()]);
}

/// Packs eight numbers: each half, four numbers, is combined in a 64-bit word.
fn pack_eight<const WIDTH: usize>(values: &[u16; 8]) -> [u8; WIDTH] {
    let half = |from: usize| {
        (0..4).fold(0u64, |word, i| word | (u64::from(values[from + i]) & mask::<WIDTH>()) << (WIDTH * i))
    };
    let all = u128::from(half(0)) | u128::from(half(4)) << (4 * WIDTH);
    let mut bytes = [0; WIDTH];
    bytes.copy_from_slice(&all.to_le_bytes()[..WIDTH]);
    bytes
}

fn unpack_eight<const WIDTH: usize>(bytes: &[u8; WIDTH]) -> [u16; 8] {
    let mut all = [0; 16];
    all[..WIDTH].copy_from_slice(bytes);
    let all = u128::from_le_bytes(all);
    let halves = [all as u64, (all >> (4 * WIDTH)) as u64];
    core::array::from_fn(|i| (halves[i / 4] >> (WIDTH * (i % 4)) & mask::<WIDTH>()) as u16)
}

const fn mask<const WIDTH: usize>() -> u64 {
    (1 << WIDTH) - 1
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use ringforge_testkit::{bytes, seed};

    use super::*;
    use crate::oracle;

    #[test]
    fn any_count_of_numbers_is_packed() {
        for width in [4, 5, 10, 11, 12] {
            for count in [0, 1, 7, 8, 9, 653, 1024] {
                let values: Vec<u16> = bytes(seed(), count).into_iter().map(|x| u16::from(x) * 257).collect();
                let mut packed = vec![0xAA; packed_bytes(width, count)];
                pack(width, &values, &mut packed).unwrap();
                assert_eq!(packed, oracle::pack(width, values.iter().map(|&x| x.into())), "{width} bits");
                let mut unpacked = vec![9; count];
                unpack(width, &packed, &mut unpacked).unwrap();
                assert!(unpacked.iter().zip(&values).all(|(y, x)| *y == x & ((1 << width) - 1)), "{width} bits");
            }
        }
    }

    #[test]
    fn other_widths_and_lengths_are_refused() {
        assert!(matches!(pack(6, &[0; 8], &mut [0; 6]), Err(Error::Unsupported { .. })));
        assert!(matches!(unpack(17, &[0; 17], &mut [0; 8]), Err(Error::Unsupported { .. })));
        let wrong = Err(Error::Length { what: "packed bytes", expected: 12, got: 13 });
        assert_eq!(pack(12, &[0; 8], &mut [0; 13]), wrong);
        assert_eq!(unpack(12, &[0; 13], &mut [0; 8]), wrong);
    }
}
