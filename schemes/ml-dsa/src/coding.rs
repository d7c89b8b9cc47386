//! Encodings, samplers and rounding of FIPS 204, section 7, for one polynomial. Residues are in [0, q).

use ringforge::words::{sub_once, unpack_bits};
use shake::{ExtendableOutput, Shake128, Shake256, Update, XofReader};
use zeroize::Zeroizing;

use crate::params::{DROPPED, N, Parameters, Q};

/// A polynomial, wiped on drop.
pub(crate) type Poly = Zeroizing<Vec<u32>>;

/// `SimpleBitUnpack` of FIPS 204: 256 numbers of `bits` bits.
pub(crate) fn unpack(bits: usize, bytes: &[u8]) -> Poly {
    let mut values = Zeroizing::new(vec![0; N]);
    unpack_bits(bits, bytes, &mut values);
    values
}

/// The residues of `most` − x for packed numbers x.
pub(crate) fn unpack_below(bits: usize, most: u32, bytes: &[u8]) -> Poly {
    let mut values = unpack(bits, bytes);
    values.iter_mut().for_each(|value| *value = sub_once(Q + most - *value, Q));
    values
}

/// y − x modulo q, for residues.
pub(crate) fn minus(y: u32, x: u32) -> u32 {
    sub_once(y + Q - x, Q)
}

/// Whether the representative of x in (−q/2, q/2] has an absolute value of at least `bound`.
pub(crate) fn is_large(x: u32, bound: u32) -> bool {
    (x >= bound) & (Q - x >= bound)
}

/// `Power2Round` of FIPS 204: t = t1 2^13 + t0 gives t1 and 2^12 − t0.
pub(crate) fn split(t: u32) -> (u32, u32) {
    let half = 1 << (DROPPED - 1);
    let high = (t + half - 1) >> DROPPED;
    (high, half + (high << DROPPED) - t)
}

impl Parameters {
    /// `HighBits` of FIPS 204: the nearest multiple of 2 γ2, divided by 2 γ2, modulo (q − 1) / (2 γ2). Multiplies by the
    /// reciprocal, since division is not constant-time: first by 2^-7, rounded up, then by 2^7 / (2 γ2).
    pub(crate) fn high(&self, x: u32) -> u32 {
        let y = (x + 127) >> 7;
        let high = match self.high_values() {
            16 => (y * 1025 + (1 << 21)) >> 22,
            _ => (y * 11275 + (1 << 23)) >> 24,
        };
        sub_once(high, self.high_values())
    }

    /// `LowBits` of FIPS 204, as a residue, for a residue with these high bits.
    pub(crate) fn low(&self, x: u32, high: u32) -> u32 {
        minus(x, high * (2 * self.gamma2))
    }

    /// `UseHint` of FIPS 204: the high bits, or if `hint`, the next ones in the direction of the low bits.
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

    /// `HintBitPack` of FIPS 204, for hints as a mask of 256 bits for each polynomial.
    pub(crate) fn pack_hints(&self, hints: &[[u32; N / 32]], out: &mut [u8]) {
        out.fill(0);
        let mut at = 0;
        for (i, row) in hints.iter().enumerate() {
            for place in (0..N).filter(|place| row[place / 32] >> (place % 32) & 1 == 1) {
                out[at] = place as u8;
                at += 1;
            }
            out[self.omega + i] = at as u8;
        }
    }
}

/// `RejNTTPoly` of FIPS 204: 256 evaluations, from rho, a column and a row.
pub(crate) fn sample_values(rho: &[u8], [column, row]: [u8; 2], out: &mut [u32]) {
    let mut xof = Shake128::default().chain(rho).chain([column, row]).finalize_xof();
    let (mut out, mut bytes) = (out.iter_mut().peekable(), [0; 4]);
    while out.peek().is_some() {
        xof.read(&mut bytes[..3]);
        let value = u32::from_le_bytes(bytes) & 0x7f_ffff;
        if value < Q
            && let Some(place) = out.next()
        {
            *place = value;
        }
    }
}

/// The hash H of FIPS 204: SHAKE-256 of the parts.
pub(crate) fn h(parts: &[&[u8]], out: &mut [u8]) {
    let mut hash = Shake256::default();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize_xof().read(out);
}
