//! Encodings, samplers and hash functions of FIPS 203, section 4, on the CPU.

use ringforge::Result;
use ringforge::words::{Divisor, shake256, sub_once, unpack_bits};
use sha3::{Digest, Sha3_256, Sha3_512};
use shake::{ExtendableOutput, Shake128, Shake256, Update, XofReader};
use zeroize::Zeroizing;

use crate::params::{N, Q, ROW, SEED};

/// The coefficients or evaluations of polynomials, one after another; wiped on drop.
pub(crate) type Poly = Zeroizing<Vec<u32>>;

/// Constant-time division by q.
const BY_Q: Divisor = Divisor::new(Q);

/// `Compress_d` of FIPS 203: x · 2^d / q, rounded, modulo 2^d, for x below 2^19.
#[inline(always)]
pub(crate) fn compress(d: usize, x: u32) -> u32 {
    BY_Q.quotient((x << d) + Q / 2) & ((1 << d) - 1)
}

/// `Decompress_d` of FIPS 203: y · q / 2^d, rounded.
#[inline(always)]
pub(crate) fn decompress(d: usize, y: u32) -> u32 {
    (y * Q + (1 << (d - 1))) >> d
}

/// `ByteDecode_d` of FIPS 203 without reduction: unpacks numbers of d bits, 256 for each polynomial. Numbers of 12 bits
/// may be q or more.
#[inline(always)]
pub(crate) fn unpack(d: usize, bytes: &[u8]) -> Poly {
    let mut values = Zeroizing::new(vec![0; 8 * bytes.len() / d]);
    unpack_bits(d, bytes, &mut values);
    values
}

/// `ByteDecode_12` of FIPS 203: unpacks numbers of 12 bits, reduced modulo q.
#[inline(always)]
pub(crate) fn unpack_values(bytes: &[u8]) -> Poly {
    let mut values = unpack(12, bytes);
    values.iter_mut().for_each(|value| *value = sub_once(*value, Q));
    values
}

/// The modulus check of FIPS 203, section 7.2: whether all coefficients of a public key of any parameter set are below q.
/// Key generation produces no other encodings.
#[must_use]
pub fn is_canonical(public_key: &[u8]) -> bool {
    first_too_large(public_key).is_none()
}

/// Index of the first coefficient of a public key that is not below q.
pub(crate) fn first_too_large(public_key: &[u8]) -> Option<usize> {
    public_key.chunks_exact(ROW).flat_map(|row| unpack(12, row).to_vec()).position(|value| value >= Q)
}

/// `SamplePolyCBD_eta` of FIPS 203: samples 256 coefficients for each polynomial. Each is the sum of eta bits minus the
/// sum of the next eta bits, as a residue in [0, q).
#[inline(always)]
pub(crate) fn sample_noise(eta: usize, stream: &[u8]) -> Poly {
    let mut values = unpack(2 * eta, stream);
    for value in values.iter_mut() {
        let (plus, minus) = (*value & ((1 << eta) - 1), *value >> eta);
        *value = sub_once(Q + plus.count_ones() - minus.count_ones(), Q);
    }
    values
}

/// Bytes of a stream from which evaluations are sampled: four blocks of SHAKE128, 448 candidates.
pub(crate) const STREAM: usize = 4 * 168;

/// `SampleNTT` of FIPS 203: 256 evaluations in [0, q) from a stream, as 16-bit little-endian words. If it has too few
/// candidates below q, which happens to one stream in 2^105, a longer one is computed from the stream's input.
pub(crate) fn sample_values(stream: &[u8], input: &[u8], out: &mut [u8]) {
    let (candidates, _) = stream.as_chunks::<3>();
    let candidates = candidates.iter().flat_map(|bytes| {
        let [a, b, c] = bytes.map(u16::from);
        [a | (b & 15) << 8, b >> 4 | c << 4]
    });
    let values = candidates.filter(|&value| u32::from(value) < Q);
    let (places, _) = out.as_chunks_mut::<2>();
    let found = places.iter_mut().zip(values).map(|(place, value)| *place = value.to_le_bytes()).count();
    if found < N {
        let mut longer = vec![0; 2 * stream.len()];
        Shake128::default().chain(input).finalize_xof().read(&mut longer);
        sample_values(&longer, input, out);
    }
}

/// `PRF` of FIPS 203: fills `out` with `count` noise streams of equal length, with counter bytes from `first` on.
pub(crate) fn prf(seed: &[u8], first: u8, count: usize, out: &mut [u8]) -> Result<()> {
    // of its final size, because a block that a vector outgrows is not wiped
    let mut inputs = Zeroizing::new(vec![0; count * (seed.len() + 1)]);
    for (number, input) in (first..).zip(inputs.chunks_exact_mut(seed.len() + 1)) {
        input[..seed.len()].copy_from_slice(seed);
        input[seed.len()] = number;
    }
    shake256(count, &inputs, out)
}

/// The hash function H of FIPS 203: SHA3-256.
pub(crate) fn h(bytes: &[u8]) -> [u8; SEED] {
    Sha3_256::digest(bytes).into()
}

/// The hash function G of FIPS 203: SHA3-512 of a ‖ b, returned in two halves.
pub(crate) fn g(a: &[u8], b: &[u8]) -> Zeroizing<[[u8; SEED]; 2]> {
    let mut out = Zeroizing::new([[0; SEED]; 2]);
    let halves: &mut [u8; 2 * SEED] = bytemuck::cast_mut(&mut *out);
    Sha3_512::new().chain_update(a).chain_update(b).finalize_into(halves.into());
    out
}

/// The hash function J of FIPS 203: SHAKE-256 of z ‖ ciphertext.
pub(crate) fn j(z: &[u8], ciphertext: &[u8], out: &mut [u8]) {
    Shake256::default().chain(z).chain(ciphertext).finalize_xof().read(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream with too few candidates is replaced by a longer one from its input.
    #[test]
    fn short_streams_are_continued() {
        let mut stream = [0; STREAM];
        Shake128::default().chain([7; 34]).finalize_xof().read(&mut stream);
        let (mut expected, mut values) = ([0; 2 * N], [1; 2 * N]);
        sample_values(&stream, &[7; 34], &mut expected);
        for bad in [&[0xff; STREAM][..], &stream[..3 * N / 2 - 3]] {
            sample_values(bad, &[7; 34], &mut values);
            assert_eq!(values, expected);
        }
        assert!(unpack(16, &expected).iter().all(|&value| value < Q) && expected[..2] != expected[2..4]);
    }
}
