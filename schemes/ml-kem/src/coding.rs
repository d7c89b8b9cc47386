//! Encodings, samplers and hash functions of FIPS 203, section 4, for one polynomial on the CPU.

use ringforge::words::{Divisor, sub_once, unpack_bits};
use sha3::{Digest, Sha3_256, Sha3_512};
use shake::{ExtendableOutput, Shake128, Shake256, Update, XofReader};
use zeroize::Zeroizing;

use crate::params::{N, Q, ROW, SEED, stream};

/// The 256 coefficients of a polynomial, or its evaluations; wiped on drop.
pub(crate) type Poly = Zeroizing<Vec<u32>>;

/// Constant-time division by q.
const BY_Q: Divisor = Divisor::new(Q);

/// `Compress_d` of FIPS 203: x · 2^d / q, rounded, modulo 2^d, for x below 2^19.
pub(crate) fn compress(d: usize, x: u32) -> u32 {
    BY_Q.quotient((x << d) + Q / 2) & ((1 << d) - 1)
}

/// `Decompress_d` of FIPS 203: y · q / 2^d, rounded.
pub(crate) fn decompress(d: usize, y: u32) -> u32 {
    (y * Q + (1 << (d - 1))) >> d
}

/// `ByteDecode_d` of FIPS 203 without reduction: unpacks 256 numbers of d bits. Numbers of 12 bits may be q or more.
pub(crate) fn unpack(d: usize, bytes: &[u8]) -> Poly {
    let mut values = Zeroizing::new(vec![0; N]);
    unpack_bits(d, bytes, &mut values);
    values
}

/// `ByteDecode_12` of FIPS 203: unpacks 256 numbers of 12 bits, reduced modulo q.
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

/// `SamplePolyCBD_eta` of FIPS 203: samples 256 coefficients. Each is the sum of eta bits minus the sum of the next eta
/// bits, as a residue in [0, q).
pub(crate) fn sample_noise(eta: usize, stream: &[u8]) -> Poly {
    let mut values = unpack(2 * eta, stream);
    for value in values.iter_mut() {
        let (plus, minus) = (*value & ((1 << eta) - 1), *value >> eta);
        *value = sub_once(Q + plus.count_ones() - minus.count_ones(), Q);
    }
    values
}

/// `SampleNTT` of FIPS 203: samples a polynomial from rho and two indices. Writes its evaluations in [0, q) as 16-bit
/// little-endian words.
pub(crate) fn sample_values(rho: &[u8], numbers: [u8; 2], out: &mut [u8]) {
    let mut xof = Shake128::default().chain(rho).chain(numbers).finalize_xof();
    let (out, _) = out.as_chunks_mut::<2>();
    let (mut out, mut bytes) = (out.iter_mut().peekable(), [0; 3]);
    while out.peek().is_some() {
        xof.read(&mut bytes);
        let [a, b, c] = bytes.map(u16::from);
        for value in [a | (b & 15) << 8, b >> 4 | c << 4] {
            if u32::from(value) < Q
                && let Some(place) = out.next()
            {
                *place = value.to_le_bytes();
            }
        }
    }
}

/// `PRF` of FIPS 203: writes one noise stream to `out` for each noise bound in `etas`, with counter bytes from 0.
pub(crate) fn prf(seed: &[u8], etas: impl Iterator<Item = usize>, mut out: &mut [u8]) {
    for (number, eta) in etas.enumerate() {
        let (now, rest) = out.split_at_mut(stream(eta));
        Shake256::default().chain(seed).chain([number as u8]).finalize_xof().read(now);
        out = rest;
    }
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
