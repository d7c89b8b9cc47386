//! CPU reference of each stage (the work of one kernel) for one item, by FIPS 204, section 6. A stage takes a tuple with
//! the item's bytes at each port of the kernel, in the order of the ports. Evaluations and masks are 32-bit words.
#![allow(clippy::type_complexity, reason = "the tuples are the ports")]

use ringforge::run::AGAIN;
use ringforge::words::{Transform, pack_bits, sub_once};
use ringforge::{Limits, Result};
use ringforge_batch::{HALF_DONE, OK, PENDING, status as status_of};
use zeroize::Zeroizing;

use crate::coding::{Poly, h, is_large, minus, sample_values, split, unpack, unpack_below};
use crate::error::SignatureError;
use crate::params::{DROPPED, HEAD, N, Parameters, Q, SEED, packed, rows};

/// A parameter set, with the NTT of its ring.
pub(crate) struct Scheme {
    pub(crate) parameters: Parameters,
    transform: Transform<u32>,
}

impl Scheme {
    pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
        Ok(Self { parameters: *parameters, transform: Transform::of(&rows(&Limits::cpu())?, 0)? })
    }

    /// Expands a seed to rho, the seed rho' of the secret vectors, and K.
    pub(crate) fn seed(&self, (seed, rho, secret, key): (&[u8], &mut [u8], &mut [u8], &mut [u8])) -> Result<()> {
        let Parameters { k, l, .. } = self.parameters;
        let mut all = Zeroizing::new([0; 128]);
        h(&[seed, &[k as u8, l as u8]], &mut *all);
        rho.copy_from_slice(&all[..SEED]);
        secret.copy_from_slice(&all[SEED..96]);
        key.copy_from_slice(&all[96..]);
        Ok(())
    }

    /// Samples the matrix A (`ExpandA`).
    pub(crate) fn matrix(&self, (rho, matrix): (&[u8], &mut [u32])) -> Result<()> {
        for (place, values) in matrix.chunks_exact_mut(N).enumerate() {
            let (row, column) = (place / self.parameters.l, place % self.parameters.l);
            sample_values(rho, [column as u8, row as u8], values);
        }
        Ok(())
    }

    /// Samples η − s for s1 and s2 (`ExpandS`).
    pub(crate) fn secrets(&self, (seed, small): (&[u8], &mut [u8])) -> Result<()> {
        (0..).zip(small.chunks_exact_mut(N)).for_each(|(i, out)| self.parameters.sample_small(seed, i, out));
        Ok(())
    }

    /// Computes a key pair, with zeros in place of tr in the secret key, and the evaluations of s1.
    pub(crate) fn generate(
        &self,
        (rho, key, matrix, small, values, public_key, secret_key): (
            &[u8],
            &[u8],
            &[u32],
            &[u8],
            &mut [u32],
            &mut [u8],
            &mut [u8],
        ),
    ) -> Result<()> {
        let Parameters { k, l, eta, .. } = self.parameters;
        let residue = |&below: &u8| sub_once(Q + eta - u32::from(below), Q);
        for (out, s) in values.chunks_exact_mut(N).zip(small.chunks_exact(N)) {
            self.store_values(Zeroizing::new(s.iter().map(residue).collect()), out)?;
        }
        let (head, vectors) = secret_key.split_at_mut(HEAD);
        head.fill(0);
        head[..SEED].copy_from_slice(rho);
        head[SEED..2 * SEED].copy_from_slice(key);
        let row = packed(self.parameters.small_bits());
        let (of_small, of_dropped) = vectors.split_at_mut((k + l) * row);
        for (out, s) in of_small.chunks_exact_mut(row).zip(small.chunks_exact(N)) {
            pack_bits(self.parameters.small_bits(), s.iter().map(|&below| below.into()), out);
        }
        public_key[..SEED].copy_from_slice(rho);
        let outs = public_key[SEED..].chunks_exact_mut(packed(10)).zip(of_dropped.chunks_exact_mut(packed(DROPPED)));
        for ((a, s2), (high, low)) in matrix.chunks_exact(l * N).zip(small[l * N..].chunks_exact(N)).zip(outs) {
            let mut t = self.dot(a, values)?;
            t.iter_mut().zip(s2).for_each(|(t, below)| *t = sub_once(*t + residue(below), Q));
            pack_bits(10, t.iter().map(|&t| split(t).0), high);
            pack_bits(DROPPED, t.iter().map(|&t| split(t).1), low);
        }
        Ok(())
    }

    /// Writes tr, the hash of the public key, into the secret key.
    pub(crate) fn finish(&self, (public_key, secret_key): (&[u8], &mut [u8])) -> Result<()> {
        h(&[public_key], &mut secret_key[2 * SEED..HEAD]);
        Ok(())
    }

    /// Computes tr, the hash of a public key.
    pub(crate) fn hash_key(&self, (public_key, tr): (&[u8], &mut [u8])) -> Result<()> {
        h(&[public_key], tr);
        Ok(())
    }

    /// Computes mu from tr and a slot: the message's length, and the message.
    pub(crate) fn message(&self, (tr, slot, mu): (&[u8], &[u8], &mut [u8])) -> Result<()> {
        let (length, message) = slot.split_at(8);
        let length = length.iter().take(4).rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
        h(&[tr, &message[..length.min(message.len())]], mu);
        Ok(())
    }

    /// Derives the seed rho'' of the masks.
    pub(crate) fn begin(&self, (secret_key, random, mu, seed): (&[u8], &[u8], &[u8], &mut [u8])) -> Result<()> {
        h(&[&secret_key[SEED..2 * SEED], random, mu], seed);
        Ok(())
    }

    /// Samples the masks of an attempt (`ExpandMask`).
    pub(crate) fn mask(&self, (seed, attempt, masks): (&[u8], &u32, &mut [u8])) -> Result<()> {
        let Parameters { l, .. } = self.parameters;
        let numbers = (0..).map(|i| (*attempt as u16).wrapping_mul(l as u16).wrapping_add(i));
        for (number, out) in numbers.zip(masks.chunks_exact_mut(packed(self.parameters.mask_bits()))) {
            h(&[seed, &number.to_le_bytes()], out);
        }
        Ok(())
    }

    /// Computes the evaluations of the masks y, w = A y, and the high bits of w.
    pub(crate) fn commit(
        &self,
        (matrix, masks, values, commitments, high): (&[u32], &[u8], &mut [u32], &mut [u32], &mut [u8]),
    ) -> Result<()> {
        let p = &self.parameters;
        for (y, out) in masks.chunks_exact(packed(p.mask_bits())).zip(values.chunks_exact_mut(N)) {
            self.store_values(unpack_below(p.mask_bits(), 1 << p.log_gamma1, y), out)?;
        }
        let outs = commitments.chunks_exact_mut(N).zip(high.chunks_exact_mut(packed(p.high_bits())));
        for (a, (w, high)) in matrix.chunks_exact(p.l * N).zip(outs) {
            w.copy_from_slice(&self.dot(a, values)?);
            pack_bits(p.high_bits(), w.iter().map(|&w| p.high(w)), high);
        }
        Ok(())
    }

    /// Computes the hash of mu and the high bits, and its challenge.
    pub(crate) fn challenge(&self, (mu, high, hash, challenge): (&[u8], &[u8], &mut [u8], &mut [u32])) -> Result<()> {
        h(&[mu, high], hash);
        challenge.copy_from_slice(self.parameters.sample_in_ball(hash).as_flattened());
        Ok(())
    }

    /// Computes the signature of an attempt: zeros and [`AGAIN`] unless all bounds hold.
    pub(crate) fn respond(
        &self,
        (keys, masks, commitments, hash, challenge, signature, status): (
            &[u32],
            &[u8],
            &[u32],
            &[u8],
            &[u32],
            &mut [u8],
            &mut u32,
        ),
    ) -> Result<()> {
        let p = &self.parameters;
        let (bits, gamma1) = (p.mask_bits(), 1 << p.log_gamma1);
        let challenge = self.challenge_values(challenge)?;
        let (s1, rest) = keys.split_at(p.l * N);
        let (s2, t0) = rest.split_at(p.k * N);
        signature.fill(0);
        let (to_hash, rest) = signature.split_at_mut(p.challenge());
        let (to_z, to_hints) = rest.split_at_mut(p.l * packed(bits));
        let mut is_bad = false;
        let outs = to_z.chunks_exact_mut(packed(bits)).zip(masks.chunks_exact(packed(bits)));
        for (s1, (out, y)) in s1.chunks_exact(N).zip(outs) {
            let mut z = self.dot(&challenge, s1)?;
            z.iter_mut().zip(&*unpack_below(bits, gamma1, y)).for_each(|(z, y)| *z = sub_once(*z + y, Q));
            is_bad |= z.iter().fold(false, |bad, &z| bad | is_large(z, gamma1 - p.beta()));
            pack_bits(bits, z.iter().map(|&z| minus(gamma1, z) & ((1 << bits) - 1)), out);
        }
        let mut hints = vec![[0; N / 32]; p.k];
        let rows = s2.chunks_exact(N).zip(t0.chunks_exact(N)).zip(commitments.chunks_exact(N));
        for (((s2, t0), w), hints) in rows.zip(&mut hints) {
            let (cs2, ct0) = (self.dot(&challenge, s2)?, self.dot(&challenge, t0)?);
            for (i, ((w, cs2), ct0)) in w.iter().zip(&*cs2).zip(&*ct0).enumerate() {
                let r = minus(*w, *cs2);
                let high = p.high(r);
                is_bad |= is_large(p.low(r, high), p.gamma2 - p.beta()) | is_large(*ct0, p.gamma2);
                hints[i / 32] |= u32::from(p.high(sub_once(r + ct0, Q)) != high) << (i % 32);
            }
        }
        is_bad |= hints.as_flattened().iter().map(|word| word.count_ones() as usize).sum::<usize>() > p.omega;
        *status = if is_bad { AGAIN } else { OK };
        // a rejected attempt leaves nothing, because its z would tell about the key
        if is_bad {
            signature.fill(0);
        } else {
            to_hash.copy_from_slice(hash);
            p.pack_hints(&hints, &mut to_hints[..p.omega + p.k]);
        }
        Ok(())
    }

    /// Computes the evaluations of s1, s2 and t0 from a secret key.
    pub(crate) fn expand_key(&self, (secret_key, keys): (&[u8], &mut [u32])) -> Result<()> {
        let p = &self.parameters;
        let row = packed(p.small_bits());
        let (small, dropped) = secret_key[HEAD..].split_at((p.k + p.l) * row);
        let small = small.chunks_exact(row).map(|bytes| unpack_below(p.small_bits(), p.eta, bytes));
        let dropped =
            dropped.chunks_exact(packed(DROPPED)).map(|bytes| unpack_below(DROPPED, 1 << (DROPPED - 1), bytes));
        small.chain(dropped).zip(keys.chunks_exact_mut(N)).try_for_each(|(poly, out)| self.store_values(poly, out))
    }

    /// Computes the evaluations of −t1 2^13 from a public key.
    pub(crate) fn key_values(&self, (public_key, values): (&[u8], &mut [u32])) -> Result<()> {
        for (bytes, out) in public_key[SEED..].chunks_exact(packed(10)).zip(values.chunks_exact_mut(N)) {
            let mut t = unpack(10, bytes);
            t.iter_mut().for_each(|t| *t = minus(0, *t << DROPPED));
            self.store_values(t, out)?;
        }
        Ok(())
    }

    /// Computes the evaluations of −t1 2^13 from those of a secret key.
    pub(crate) fn public_values(&self, (matrix, keys, values): (&[u32], &[u32], &mut [u32])) -> Result<()> {
        let Parameters { l, .. } = self.parameters;
        let (s1, s2) = keys.split_at(l * N);
        for ((a, s2), out) in matrix.chunks_exact(l * N).zip(s2.chunks_exact(N)).zip(values.chunks_exact_mut(N)) {
            let mut error: Poly = Zeroizing::new(s2.to_vec());
            self.transform.inverse(&mut error)?;
            let mut t = self.dot(a, s1)?;
            t.iter_mut().zip(&*error).for_each(|(t, e)| *t = minus(0, split(sub_once(*t + e, Q)).0 << DROPPED));
            self.store_values(t, out)?;
        }
        Ok(())
    }

    /// Copies a signature to its slot.
    pub(crate) fn open(&self, (signature, slot): (&[u8], &mut [u8])) -> Result<()> {
        slot.fill(0);
        slot[..signature.len()].copy_from_slice(signature);
        Ok(())
    }

    /// Decodes the challenge and the hints of a signature. Writes [`PENDING`], or an error for invalid hints.
    pub(crate) fn decode(
        &self,
        (slot, challenge, hints, status): (&[u8], &mut [u32], &mut [u32], &mut u32),
    ) -> Result<()> {
        let p = &self.parameters;
        challenge.copy_from_slice(p.sample_in_ball(&slot[..p.challenge()]).as_flattened());
        let at = p.challenge() + p.l * packed(p.mask_bits());
        let is_valid = p.unpack_hints(&slot[at..][..p.omega + p.k], hints);
        *status = if is_valid { PENDING } else { status_of(Some(SignatureError::Invalid)) };
        Ok(())
    }

    /// Computes the evaluations of z, and the high bits of the commitment A z − c t1 2^13, corrected by the hints. Turns
    /// [`PENDING`] into [`HALF_DONE`], or into an error for a z that is too large.
    pub(crate) fn reconstruct(
        &self,
        (matrix, keys, slot, challenge, hints, values, high, status): (
            &[u32],
            &[u32],
            &[u8],
            &[u32],
            &[u32],
            &mut [u32],
            &mut [u8],
            &mut u32,
        ),
    ) -> Result<()> {
        let p = &self.parameters;
        let challenge = self.challenge_values(challenge)?;
        let (row, gamma1, mut is_bad) = (packed(p.mask_bits()), 1 << p.log_gamma1, false);
        for (z, out) in slot[p.challenge()..].chunks_exact(row).zip(values.chunks_exact_mut(N)) {
            let z = unpack_below(p.mask_bits(), gamma1, z);
            is_bad |= z.iter().any(|&z| is_large(z, gamma1 - p.beta()));
            self.store_values(z, out)?;
        }
        let rows = matrix.chunks_exact(p.l * N).zip(keys.chunks_exact(N));
        let outs = hints.chunks_exact(N / 32).zip(high.chunks_exact_mut(packed(p.high_bits())));
        for ((a, key), (hints, high)) in rows.zip(outs) {
            let mut w = self.dot(a, values)?;
            let ct1 = self.dot(&challenge, key)?;
            w.iter_mut().zip(&*ct1).for_each(|(w, t)| *w = sub_once(*w + t, Q));
            let hint = |i: usize| hints[i / 32] >> (i % 32) & 1 == 1;
            pack_bits(p.high_bits(), w.iter().enumerate().map(|(i, &w)| p.corrected(w, hint(i))), high);
        }
        if *status == PENDING {
            *status = if is_bad { status_of(Some(SignatureError::Invalid)) } else { HALF_DONE };
        }
        Ok(())
    }

    /// Compares the challenge of a signature with the hash of mu and the high bits. Turns [`HALF_DONE`] into the final
    /// status.
    pub(crate) fn compare(&self, (mu, high, slot, status): (&[u8], &[u8], &[u8], &mut u32)) -> Result<()> {
        let mut hash = vec![0; self.parameters.challenge()];
        h(&[mu, high], &mut hash);
        if *status == HALF_DONE {
            *status = status_of((!slot.starts_with(&hash)).then_some(SignatureError::Invalid));
        }
        Ok(())
    }

    /// Copies the signature of an item from its slot if its attempt succeeded and it was verified; otherwise writes zeros.
    pub(crate) fn release(
        &self,
        (slot, attempted, verified, signature, status): (&[u8], &u32, &u32, &mut [u8], &mut u32),
    ) -> Result<()> {
        *status = if *attempted == OK { *verified } else { *attempted };
        match *status {
            OK => signature.copy_from_slice(&slot[..signature.len()]),
            _ => signature.fill(0),
        }
        Ok(())
    }

    /// Transforms coefficients to evaluations.
    fn store_values(&self, mut poly: Poly, out: &mut [u32]) -> Result<()> {
        self.transform.forward(&mut poly)?;
        out.copy_from_slice(&poly);
        Ok(())
    }

    /// The evaluations of a challenge.
    fn challenge_values(&self, masks: &[u32]) -> Result<Poly> {
        let bit = |i: usize| masks[i / 32] >> (i % 32) & 1;
        let mut c: Poly = Zeroizing::new((0..N).map(|i| bit(i) + bit(N + i) * (Q - 2)).collect());
        self.transform.forward(&mut c)?;
        Ok(c)
    }

    /// The coefficients of the inner product of two vectors of polynomials, from their evaluations.
    fn dot(&self, a: &[u32], b: &[u32]) -> Result<Poly> {
        let mut sum = Zeroizing::new(vec![0; N]);
        for (a, b) in a.chunks_exact(N).zip(b.chunks_exact(N)) {
            let mut product = Zeroizing::new(a.to_vec());
            self.transform.multiply(&mut product, b)?;
            sum.iter_mut().zip(&*product).for_each(|(sum, x)| *sum = sub_once(*sum + x, Q));
        }
        self.transform.inverse(&mut sum)?;
        Ok(sum)
    }
}
