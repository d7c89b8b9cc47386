//! Encodings, samplers and rounding of FIPS 204, section 7, on the CPU. Residues are in [0, q).

use ringforge::words::{sub_once, unpack_bits};
use shake::{ExtendableOutput, Shake128, Shake256, Update, XofReader};
use zeroize::Zeroizing;

use crate::params::{DROPPED, N, Parameters, Q};

/// Polynomials one after another, wiped on drop.
pub(crate) type Poly = Zeroizing<Vec<u32>>;

/// `BitUnpack` of FIPS 204: the residues of `most` − x for packed numbers x.
#[inline(always)]
pub(crate) fn unpack_below(bits: usize, most: u32, bytes: &[u8], values: &mut [u32]) {
    unpack_bits(bits, bytes, values);
    values.iter_mut().for_each(|value| *value = sub_once(Q + most - *value, Q));
}

/// y − x modulo q, for residues.
#[inline(always)]
pub(crate) fn minus(y: u32, x: u32) -> u32 {
    sub_once(y + Q - x, Q)
}

/// Whether the representative of x in (−q/2, q/2] has an absolute value of at least `bound`.
#[inline(always)]
pub(crate) fn is_large(x: u32, bound: u32) -> bool {
    (x >= bound) & (Q - x >= bound)
}

/// `Power2Round` of FIPS 204: t = t1 2^13 + t0 gives t1 and 2^12 − t0.
#[inline(always)]
pub(crate) fn split(t: u32) -> (u32, u32) {
    let half = 1 << (DROPPED - 1);
    let high = (t + half - 1) >> DROPPED;
    (high, half + (high << DROPPED) - t)
}

impl Parameters {
    /// `HighBits` of FIPS 204: the nearest multiple of 2 γ2, divided by 2 γ2, modulo (q − 1) / (2 γ2). Multiplies by the
    /// reciprocal, since division is not constant-time: first by 2^-7, rounded up, then by 2^7 / (2 γ2).
    #[inline(always)]
    pub(crate) fn high(&self, x: u32) -> u32 {
        let y = (x + 127) >> 7;
        let high = match self.high_values() {
            16 => (y * 1025 + (1 << 21)) >> 22,
            _ => (y * 11275 + (1 << 23)) >> 24,
        };
        sub_once(high, self.high_values())
    }

    /// `LowBits` of FIPS 204, as a residue, for a residue with these high bits.
    #[inline(always)]
    pub(crate) fn low(&self, x: u32, high: u32) -> u32 {
        minus(x, high * (2 * self.gamma2))
    }

    /// `UseHint` of FIPS 204: the high bits, or if `hint`, the next ones in the direction of the low bits.
    #[inline(always)]
    pub(crate) fn corrected(&self, x: u32, hint: bool) -> u32 {
        let (high, count) = (self.high(x), self.high_values());
        let low = self.low(x, high);
        match (hint, low > 0 && low < Q / 2) {
            (false, _) => high,
            (true, true) => sub_once(high + 1, count),
            (true, false) => sub_once(high + count - 1, count),
        }
    }

    /// `RejBoundedPoly` of FIPS 204: 256 numbers η − s for the secret coefficients s.
    pub(crate) fn sample_small(&self, seed: &[u8], number: u16, out: &mut [u8]) {
        let mut xof = Shake256::default().chain(seed).chain(number.to_le_bytes()).finalize_xof();
        let (mut out, mut byte) = (out.iter_mut().peekable(), [0]);
        while out.peek().is_some() {
            xof.read(&mut byte);
            for half in [byte[0] & 15, byte[0] >> 4] {
                let accepted = if self.eta == 2 { half < 15 } else { half < 9 };
                if accepted && let Some(place) = out.next() {
                    // the remainder modulo 5 if η = 2
                    *place = if self.eta == 2 { half - ((u32::from(half) * 52) >> 8) as u8 * 5 } else { half };
                }
            }
        }
    }

    /// `SampleInBall` of FIPS 204: the masks of the coefficients that are not 0, and of those that are −1.
    pub(crate) fn sample_in_ball(&self, hash: &[u8]) -> [[u32; N / 32]; 2] {
        let mut xof = Shake256::default().chain(hash).finalize_xof();
        let (mut signs, mut byte) = ([0; 8], [0]);
        xof.read(&mut signs);
        let (mut signs, mut c) = (u64::from_le_bytes(signs), [0i8; N]);
        for i in N - self.tau as usize..N {
            let j = loop {
                xof.read(&mut byte);
                if usize::from(byte[0]) <= i {
                    break usize::from(byte[0]);
                }
            };
            c[i] = c[j];
            c[j] = if signs & 1 == 1 { -1 } else { 1 };
            signs >>= 1;
        }
        let mut masks = [[0; N / 32]; 2];
        for (i, c) in c.into_iter().enumerate() {
            masks[0][i / 32] |= u32::from(c != 0) << (i % 32);
            masks[1][i / 32] |= u32::from(c < 0) << (i % 32);
        }
        masks
    }

    /// `HintBitUnpack` of FIPS 204: a mask of 256 bits for each polynomial, and whether the encoding is valid. Places
    /// after the first fault are not read.
    pub(crate) fn unpack_hints(&self, bytes: &[u8], out: &mut [u32]) -> bool {
        out.fill(0);
        let (places, ends) = bytes.split_at(self.omega);
        let (mut at, mut valid) = (0, true);
        for (end, row) in ends.iter().zip(out.chunks_exact_mut(N / 32)) {
            let end = usize::from(*end);
            valid &= end >= at && end <= self.omega;
            let own = if valid { &places[at..end] } else { &[] };
            valid &= own.is_sorted_by(|a, b| a < b);
            own.iter().for_each(|&place| row[usize::from(place) / 32] |= 1 << (place % 32));
            at += own.len();
        }
        valid & places[at..].iter().all(|&place| place == 0)
    }

    /// `HintBitPack` of FIPS 204, for hints that are 0 or 1.
    pub(crate) fn pack_hints(&self, hints: &[u32], out: &mut [u8]) {
        out.fill(0);
        let mut at = 0;
        for (i, row) in hints.chunks_exact(N).enumerate() {
            for place in (0..N).filter(|&place| row[place] == 1) {
                out[at] = place as u8;
                at += 1;
            }
            out[self.omega + i] = at as u8;
        }
    }
}

/// Bytes of a stream from which evaluations are sampled: five blocks of SHAKE128, 280 candidates.
pub(crate) const STREAM: usize = 5 * 168;

/// `RejNTTPoly` of FIPS 204: 256 evaluations from a stream. If it has too few candidates below q, which happens to one
/// stream in 2^132, a longer one is computed from the stream's input.
pub(crate) fn sample_values(stream: &[u8], input: &[u8], out: &mut [u32]) {
    let (candidates, _) = stream.as_chunks::<3>();
    let values = candidates.iter().map(|&[a, b, c]| u32::from_le_bytes([a, b, c & 0x7f, 0])).filter(|&value| value < Q);
    let found = out.iter_mut().zip(values).map(|(place, value)| *place = value).count();
    if found < out.len() {
        let mut longer = vec![0; 2 * stream.len()];
        Shake128::default().chain(input).finalize_xof().read(&mut longer);
        sample_values(&longer, input, out);
    }
}

/// The hash H of FIPS 204: SHAKE-256 of the parts.
pub(crate) fn h(parts: &[&[u8]], out: &mut [u8]) {
    let mut hash = Shake256::default();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize_xof().read(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream with too few candidates is replaced by a longer one from its input.
    #[test]
    fn short_streams_are_continued() {
        let mut stream = [0; STREAM];
        Shake128::default().chain([7; 34]).finalize_xof().read(&mut stream);
        let (mut expected, mut values) = ([0; N], [1; N]);
        sample_values(&stream, &[7; 34], &mut expected);
        for bad in [&[0xff; STREAM][..], &stream[..3 * (N - 1)]] {
            sample_values(bad, &[7; 34], &mut values);
            assert_eq!(values, expected);
        }
        assert!(expected.iter().all(|&value| value < Q) && expected[0] != expected[1]);
    }
}
