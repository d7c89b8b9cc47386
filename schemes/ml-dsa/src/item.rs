//! CPU reference of each stage (the work of one kernel) for one item, by FIPS 204, section 6. A stage takes a tuple with
//! the item's bytes at each port of the kernel, in the order of the ports. Evaluations and masks are 32-bit words.
#![allow(clippy::type_complexity, reason = "the tuples are the ports")]

use ringforge::run::AGAIN;
use ringforge::words::{Transform, pack_bits, shake128, shake256, sub_once, unpack_bits};
use ringforge::{Limits, Result};
use ringforge_batch::{HALF_DONE, OK, PENDING, status as status_of};
use zeroize::Zeroizing;

use crate::coding::{Poly, STREAM, h, is_large, minus, sample_values, split, unpack_below};
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
    #[inline(always)]
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
    #[inline(always)]
    pub(crate) fn matrix(&self, (rho, matrix): (&[u8], &mut [u32])) -> Result<()> {
        let Parameters { k, l, .. } = self.parameters;
        let places = (0..k as u8).flat_map(|row| (0..l as u8).map(move |column| [column, row]));
        let inputs: Vec<u8> = places.flat_map(|place| rho.iter().copied().chain(place)).collect();
        let mut streams = vec![0; k * l * STREAM];
        shake128(k * l, &inputs, &mut streams)?;
        let inputs = inputs.chunks_exact(rho.len() + 2);
        let polynomials = matrix.chunks_exact_mut(N).zip(streams.chunks_exact(STREAM)).zip(inputs);
        polynomials.for_each(|((values, stream), input)| sample_values(stream, input, values));
        Ok(())
    }

    /// Samples η − s for s1 and s2 (`ExpandS`).
    #[inline(always)]
    pub(crate) fn secrets(&self, (seed, small): (&[u8], &mut [u8])) -> Result<()> {
        (0..).zip(small.chunks_exact_mut(N)).for_each(|(i, out)| self.parameters.sample_small(seed, i, out));
        Ok(())
    }

    /// Computes a key pair, with zeros in place of tr in the secret key, and the evaluations of s1.
    #[inline(always)]
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
        values.iter_mut().zip(small).for_each(|(value, below)| *value = residue(below));
        self.transform.forward(values)?;
        let (head, vectors) = secret_key.split_at_mut(HEAD);
        head.fill(0);
        head[..SEED].copy_from_slice(rho);
        head[SEED..2 * SEED].copy_from_slice(key);
        let bits = self.parameters.small_bits();
        let (of_small, of_dropped) = vectors.split_at_mut((k + l) * packed(bits));
        pack_bits(bits, small.iter().map(|&below| below.into()), of_small);
        let mut t = self.product(matrix, values, k)?;
        t.iter_mut().zip(&small[l * N..]).for_each(|(t, below)| *t = sub_once(*t + residue(below), Q));
        public_key[..SEED].copy_from_slice(rho);
        pack_bits(10, t.iter().map(|&t| split(t).0), &mut public_key[SEED..]);
        pack_bits(DROPPED, t.iter().map(|&t| split(t).1), of_dropped);
        Ok(())
    }

    /// Writes tr, the hash of the public key, into the secret key.
    #[inline(always)]
    pub(crate) fn finish(&self, (public_key, secret_key): (&[u8], &mut [u8])) -> Result<()> {
        h(&[public_key], &mut secret_key[2 * SEED..HEAD]);
        Ok(())
    }

    /// Computes tr, the hash of a public key.
    #[inline(always)]
    pub(crate) fn hash_key(&self, (public_key, tr): (&[u8], &mut [u8])) -> Result<()> {
        h(&[public_key], tr);
        Ok(())
    }

    /// Computes mu from tr and a slot: the message's length, and the message.
    #[inline(always)]
    pub(crate) fn message(&self, (tr, slot, mu): (&[u8], &[u8], &mut [u8])) -> Result<()> {
        let (length, message) = slot.split_at(8);
        let length = length.iter().take(4).rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
        h(&[tr, &message[..length.min(message.len())]], mu);
        Ok(())
    }

    /// Derives the seed rho'' of the masks.
    #[inline(always)]
    pub(crate) fn begin(&self, (secret_key, random, mu, seed): (&[u8], &[u8], &[u8], &mut [u8])) -> Result<()> {
        h(&[&secret_key[SEED..2 * SEED], random, mu], seed);
        Ok(())
    }

    /// Samples the masks of an attempt (`ExpandMask`).
    #[inline(always)]
    pub(crate) fn mask(&self, (seed, attempt, masks): (&[u8], &u32, &mut [u8])) -> Result<()> {
        let Parameters { l, .. } = self.parameters;
        let first = (*attempt as u16).wrapping_mul(l as u16);
        // of its final size, because a block that a vector outgrows is not wiped
        let mut inputs = Zeroizing::new(vec![0; l * (seed.len() + 2)]);
        for (i, input) in (0..).zip(inputs.chunks_exact_mut(seed.len() + 2)) {
            input[..seed.len()].copy_from_slice(seed);
            input[seed.len()..].copy_from_slice(&first.wrapping_add(i).to_le_bytes());
        }
        shake256(l, &inputs, masks)
    }

    /// Computes the evaluations of the masks y, w = A y, and the high bits of w.
    #[inline(always)]
    pub(crate) fn commit(
        &self,
        (matrix, masks, values, commitments, high): (&[u32], &[u8], &mut [u32], &mut [u32], &mut [u8]),
    ) -> Result<()> {
        let p = &self.parameters;
        unpack_below(p.mask_bits(), 1 << p.log_gamma1, masks, values);
        self.transform.forward(values)?;
        self.transform.multiply_matrix(matrix, values, commitments)?;
        self.transform.inverse(commitments)?;
        let mut highs: Poly = Zeroizing::new(commitments.to_vec());
        highs.iter_mut().for_each(|w| *w = p.high(*w));
        pack_bits(p.high_bits(), highs.iter().copied(), high);
        Ok(())
    }

    /// Computes the hash of mu and the high bits, and its challenge.
    #[inline(always)]
    pub(crate) fn challenge(&self, (mu, high, hash, challenge): (&[u8], &[u8], &mut [u8], &mut [u32])) -> Result<()> {
        h(&[mu, high], hash);
        challenge.copy_from_slice(self.parameters.sample_in_ball(hash).as_flattened());
        Ok(())
    }

    /// Computes the signature of an attempt: zeros and [`AGAIN`] unless all bounds hold.
    #[inline(always)]
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
        let mut products = self.product(keys, &self.challenge_values(challenge)?, 2 * p.k + p.l)?;
        let (z, rest) = products.split_at_mut(p.l * N);
        let (cs2, ct0) = rest.split_at_mut(p.k * N);
        let mut y: Poly = Zeroizing::new(vec![0; p.l * N]);
        unpack_below(bits, gamma1, masks, &mut y);
        let mut is_bad = false;
        for (z, y) in z.iter_mut().zip(&*y) {
            *z = sub_once(*z + y, Q);
            is_bad |= is_large(*z, gamma1 - p.beta());
            *z = minus(gamma1, *z) & ((1 << bits) - 1);
        }
        // each ct0 is replaced by its hint
        for ((ct0, cs2), w) in ct0.iter_mut().zip(cs2).zip(commitments) {
            let r = minus(*w, *cs2);
            let high = p.high(r);
            is_bad |= is_large(p.low(r, high), p.gamma2 - p.beta()) | is_large(*ct0, p.gamma2);
            *ct0 = u32::from(p.high(sub_once(r + *ct0, Q)) != high);
        }
        is_bad |= ct0.iter().sum::<u32>() as usize > p.omega;
        *status = if is_bad { AGAIN } else { OK };
        // a rejected attempt leaves nothing, because its z would tell about the key
        signature.fill(0);
        if !is_bad {
            let (to_hash, rest) = signature.split_at_mut(p.challenge());
            let (to_z, to_hints) = rest.split_at_mut(p.l * packed(bits));
            to_hash.copy_from_slice(hash);
            pack_bits(bits, z.iter().copied(), to_z);
            p.pack_hints(ct0, &mut to_hints[..p.omega + p.k]);
        }
        Ok(())
    }

    /// Computes the evaluations of s1, s2 and t0 from a secret key.
    #[inline(always)]
    pub(crate) fn expand_key(&self, (secret_key, keys): (&[u8], &mut [u32])) -> Result<()> {
        let p = &self.parameters;
        let (small, dropped) = secret_key[HEAD..].split_at((p.k + p.l) * packed(p.small_bits()));
        let (of_small, of_dropped) = keys.split_at_mut((p.k + p.l) * N);
        unpack_below(p.small_bits(), p.eta, small, of_small);
        unpack_below(DROPPED, 1 << (DROPPED - 1), dropped, of_dropped);
        self.transform.forward(keys)
    }

    /// Computes the evaluations of −t1 2^13 from a public key.
    #[inline(always)]
    pub(crate) fn key_values(&self, (public_key, values): (&[u8], &mut [u32])) -> Result<()> {
        unpack_bits(10, &public_key[SEED..], values);
        values.iter_mut().for_each(|t| *t = minus(0, *t << DROPPED));
        self.transform.forward(values)
    }

    /// Computes the evaluations of −t1 2^13 from those of a secret key.
    #[inline(always)]
    pub(crate) fn public_values(&self, (matrix, keys, values): (&[u32], &[u32], &mut [u32])) -> Result<()> {
        let Parameters { k, l, .. } = self.parameters;
        let (s1, rest) = keys.split_at(l * N);
        let mut t: Poly = Zeroizing::new(vec![0; k * N]);
        self.transform.multiply_matrix(matrix, s1, &mut t)?;
        t.iter_mut().zip(rest).for_each(|(t, s2)| *t = sub_once(*t + s2, Q));
        self.transform.inverse(&mut t)?;
        values.iter_mut().zip(&*t).for_each(|(value, t)| *value = minus(0, split(*t).0 << DROPPED));
        self.transform.forward(values)
    }

    /// Copies a signature to its slot.
    #[inline(always)]
    pub(crate) fn open(&self, (signature, slot): (&[u8], &mut [u8])) -> Result<()> {
        slot.fill(0);
        slot[..signature.len()].copy_from_slice(signature);
        Ok(())
    }

    /// Decodes the challenge and the hints of a signature. Writes [`PENDING`], or an error for invalid hints.
    #[inline(always)]
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
    #[inline(always)]
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
        let gamma1 = 1 << p.log_gamma1;
        let of_z = p.l * packed(p.mask_bits());
        unpack_below(p.mask_bits(), gamma1, &slot[p.challenge()..][..of_z], values);
        let is_bad = values.iter().fold(false, |bad, &z| bad | is_large(z, gamma1 - p.beta()));
        self.transform.forward(values)?;
        let mut w: Poly = Zeroizing::new(vec![0; p.k * N]);
        let mut of_key: Poly = Zeroizing::new(vec![0; p.k * N]);
        self.transform.multiply_matrix(matrix, values, &mut w)?;
        self.transform.multiply_matrix(keys, &self.challenge_values(challenge)?, &mut of_key)?;
        w.iter_mut().zip(&*of_key).for_each(|(w, t)| *w = sub_once(*w + t, Q));
        self.transform.inverse(&mut w)?;
        let hints = hints.iter().flat_map(|word| (0..32).map(move |i| word >> i & 1 == 1));
        w.iter_mut().zip(hints).for_each(|(w, hint)| *w = p.corrected(*w, hint));
        pack_bits(p.high_bits(), w.iter().copied(), high);
        if *status == PENDING {
            *status = if is_bad { status_of(Some(SignatureError::Invalid)) } else { HALF_DONE };
        }
        Ok(())
    }

    /// Compares the challenge of a signature with the hash of mu and the high bits. Turns [`HALF_DONE`] into the final
    /// status.
    #[inline(always)]
    pub(crate) fn compare(&self, (mu, high, slot, status): (&[u8], &[u8], &[u8], &mut u32)) -> Result<()> {
        let mut hash = vec![0; self.parameters.challenge()];
        h(&[mu, high], &mut hash);
        if *status == HALF_DONE {
            *status = status_of((!slot.starts_with(&hash)).then_some(SignatureError::Invalid));
        }
        Ok(())
    }

    /// Copies the signature of an item from its slot if its attempt succeeded and it was verified; otherwise writes zeros.
    #[inline(always)]
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

    /// The evaluations of a challenge.
    fn challenge_values(&self, masks: &[u32]) -> Result<Poly> {
        let bit = |i: usize| masks[i / 32] >> (i % 32) & 1;
        let mut c: Poly = Zeroizing::new((0..N).map(|i| bit(i) + bit(N + i) * (Q - 2)).collect());
        self.transform.forward(&mut c)?;
        Ok(c)
    }

    /// The coefficients of the product of a matrix with this many rows and a vector, from their evaluations.
    fn product(&self, matrix: &[u32], vector: &[u32], rows: usize) -> Result<Poly> {
        let mut product = Zeroizing::new(vec![0; rows * N]);
        self.transform.multiply_matrix(matrix, vector, &mut product)?;
        self.transform.inverse(&mut product)?;
        Ok(product)
    }
}
