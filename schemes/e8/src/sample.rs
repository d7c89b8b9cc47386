//! Centred binomial sampling: turns random bits into coefficients, several at a time in one word (SWAR).

use ringforge::{Error, Result};

use crate::pack::{pack, unpack};

/// Number of random bytes for `count` coefficients: 2·eta bits each, rounded up to whole bytes.
#[must_use]
pub const fn sampled_bytes(eta: u32, count: usize) -> usize {
    (2 * eta as usize * count).div_ceil(8)
}

/// Samples coefficients in [-eta, eta], for eta from 2 to 5. Each is the sum of eta bits of `bytes`, least significant
/// bit first, minus the sum of the next eta bits. Surplus bits of the last byte are ignored.
///
/// # Errors
/// [`Error::Unsupported`] for any other eta; [`Error::Length`] unless `bytes` has the length given by
/// [`sampled_bytes`].
pub fn centred_binomial(eta: u32, bytes: &[u8], out: &mut [i16]) -> Result<()> {
    if !(2..=5).contains(&eta) {
        let job = format!("the centred binomial distribution with eta = {eta}");
        return Err(Error::Unsupported { job, why: "eta must be 2, 3, 4 or 5".into() });
    }
    let expected = sampled_bytes(eta, out.len());
    if bytes.len() != expected {
        return Err(Error::Length { what: "bytes to sample from", expected, got: bytes.len() });
    }
    match eta {
        2 => words::<2, 16, 8>(bytes, out),
        3 => words::<3, 8, 6>(bytes, out),
        4 => words::<4, 8, 8>(bytes, out),
        _ => words::<5, 4, 5>(bytes, out),
    }
    Ok(())
}

/// Samples a secret key f = 2·f' + 1, where f' has the distribution of [`centred_binomial`]. Packs each coefficient c
/// of f as 2·eta + 1 − c, in `width` bits. `fields` receives the numbers to pack; those after the last coefficient are
/// 0.
///
/// # Errors
/// The errors of [`centred_binomial`] and [`pack`].
pub fn sample_key(
    eta: u32,
    coins: &[u8],
    f: &mut [i16],
    width: u32,
    fields: &mut [u16],
    packed: &mut [u8],
) -> Result<()> {
    centred_binomial(eta, coins, f)?;
    f.iter_mut().for_each(|f| *f *= 2);
    f[0] += 1;
    fields.fill(0);
    fields.iter_mut().zip(&*f).for_each(|(field, f)| *field = (2 * eta as i16 + 1 - f) as u16);
    pack(width, fields, packed)
}

/// Unpacks the secret key f that [`sample_key`] packed. `fields` receives the unpacked numbers.
///
/// # Errors
/// The errors of [`unpack`].
pub fn unpack_key(eta: u32, packed: &[u8], width: u32, fields: &mut [u16], f: &mut [i16]) -> Result<()> {
    unpack(width, packed, fields)?;
    f.iter_mut().zip(&*fields).for_each(|(f, field)| *f = 2 * eta as i16 + 1 - *field as i16);
    Ok(())
}

/// Unpacks numbers of `bits` bits, each as its signed representative in [-2^(bits - 1), 2^(bits - 1)). `fields`
/// receives the unsigned numbers.
///
/// # Errors
/// The errors of [`unpack`].
pub fn unpack_centred(bits: u32, packed: &[u8], fields: &mut [u16], out: &mut [i16]) -> Result<()> {
    unpack(bits, packed, fields)?;
    let unused = 16 - bits;
    out.iter_mut().zip(&*fields).for_each(|(c, field)| *c = ((field << unused) as i16) >> unused);
    Ok(())
}

/// Samples `COUNT` coefficients from every `BYTES` bytes, and the last coefficients from the remaining bytes.
fn words<const ETA: u32, const COUNT: usize, const BYTES: usize>(bytes: &[u8], out: &mut [i16]) {
    let (out, last) = out.as_chunks_mut::<COUNT>();
    let (bytes, last_bytes) = bytes.split_at(out.len() * BYTES);
    for (bytes, out) in bytes.as_chunks::<BYTES>().0.iter().zip(out) {
        *out = word::<ETA, COUNT>(load(bytes));
    }
    for (out, x) in last.iter_mut().zip(word::<ETA, COUNT>(load(last_bytes))) {
        *out = x;
    }
}

fn load(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Samples `COUNT` coefficients from one word: adds bits within groups of `ETA`, and subtracts adjacent groups within
/// fields of 2·`ETA` bits.
fn word<const ETA: u32, const COUNT: usize>(bits: u64) -> [i16; COUNT] {
    let field = 2 * ETA;
    let fields = COUNT as u32;
    let ones = every(ETA, 2 * fields);
    let firsts = every(field, fields) * ((1 << ETA) - 1);
    let signs = every(field, fields) << (field - 1);
    let sums = (0..ETA).fold(0, |sums, k| sums + (bits >> k & ones));
    // The sign bits keep borrows within their fields; each field becomes a two's complement number.
    let differences = (((sums & firsts) | signs) - (sums >> ETA & firsts)) ^ signs;
    core::array::from_fn(|i| ((differences << (64 - field * (i as u32 + 1))) as i64 >> (64 - field)) as i16)
}

/// Returns a word in which bits 0, `step`, 2·`step`, … are set, `fields` bits in all.
const fn every(step: u32, fields: u32) -> u64 {
    if fields == 0 { 0 } else { every(step, fields - 1) << step | 1 }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use ringforge_testkit::{bytes, seed};

    use super::*;
    use crate::oracle;

    #[test]
    fn any_count_of_coefficients_is_sampled() {
        for eta in 2..=5 {
            for count in [0, 1, 3, 4, 8, 15, 16, 17, 653, 761, 1024] {
                let bytes = bytes(seed(), sampled_bytes(eta, count));
                let mut found = vec![99; count];
                centred_binomial(eta, &bytes, &mut found).unwrap();
                assert!(
                    found.iter().map(|&x| i64::from(x)).eq(oracle::sample(eta, &bytes).into_iter().take(count)),
                    "eta {eta}"
                );
            }
        }
    }

    #[test]
    fn the_bounds_are_reached() {
        for eta in 2..=5 {
            let group = |bit: u32| (0..2 * eta * 8).map(|i| u8::from((i / eta) % 2 == bit)).collect::<Vec<u8>>();
            for (bits, bound) in [(group(0), eta as i16), (group(1), -(eta as i16))] {
                let bytes: Vec<u8> = bits.chunks(8).map(|b| b.iter().rev().fold(0, |x, bit| x << 1 | bit)).collect();
                let mut found = [0; 8];
                centred_binomial(eta, &bytes, &mut found).unwrap();
                assert_eq!(found, [bound; 8]);
            }
        }
    }

    #[test]
    fn other_etas_and_lengths_are_refused() {
        assert!(matches!(centred_binomial(6, &[], &mut []), Err(Error::Unsupported { .. })));
        let wrong = centred_binomial(3, &[0; 11], &mut [0; 16]);
        assert_eq!(wrong, Err(Error::Length { what: "bytes to sample from", expected: 12, got: 11 }));
    }
}
