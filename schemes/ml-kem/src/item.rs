//! CPU reference of each stage (the work of one kernel) for one item, by FIPS 203, sections 5 and 6. A stage takes a
//! tuple with the item's bytes at each port of the kernel, in the order of the ports. Here rho is the public seed of
//! the matrix, and noise streams are the random bytes from which noise polynomials are sampled.
#![allow(clippy::type_complexity, reason = "the tuples are the ports")]

use core::iter::repeat_n;

use ringforge::words::{Transform, pack_bits, sub_once};
use ringforge::{Limits, Result};
use ringforge_batch::status as status_of;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::coding::{
    Poly, compress, decompress, first_too_large, g, h, j, prf, sample_noise, sample_values, unpack, unpack_values,
};
use crate::error::KeyError;
use crate::params::{ETA2, N, Parameters, Q, ROW, SEED, rows, stream};

/// A parameter set, with the NTT of its ring.
pub(crate) struct Scheme {
    pub(crate) parameters: Parameters,
    transform: Transform<u32>,
}

/// Splits a secret key into the secret vector, the public key, the hash of the public key, and the rejection secret z.
pub(crate) fn parts<'a>(p: &Parameters, secret_key: &'a [u8]) -> [&'a [u8]; 4] {
    let (vector, rest) = secret_key.split_at(ROW * p.k);
    let (public_key, rest) = rest.split_at(p.sizes().public_key);
    let (hash, z) = rest.split_at(SEED);
    [vector, public_key, hash, z]
}

impl Scheme {
    pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
        Ok(Self { parameters: *parameters, transform: Transform::of(&rows(&Limits::cpu())?, 0)? })
    }

    /// Expands the seed d to rho and the noise streams of a key pair.
    pub(crate) fn seed(&self, (seeds, rho, noise): (&[u8], &mut [u8], &mut [u8])) -> Result<()> {
        let Parameters { k, eta1, .. } = self.parameters;
        let hash = g(&seeds[..SEED], &[k as u8]);
        rho.copy_from_slice(&hash[0]);
        prf(&hash[1], repeat_n(eta1, 2 * k), noise);
        Ok(())
    }

    /// Samples the matrix, or its transpose if `transposed`, from rho. Writes it in row-major order.
    pub(crate) fn matrix(&self, (rho, matrix): (&[u8], &mut [u8]), transposed: bool) -> Result<()> {
        let k = self.parameters.k;
        for (place, values) in matrix.chunks_exact_mut(2 * N).enumerate() {
            let (row, column) = ((place / k) as u8, (place % k) as u8);
            let numbers = if transposed { [row, column] } else { [column, row] };
            sample_values(rho, numbers, values);
        }
        Ok(())
    }

    /// Computes a key pair (`K-PKE.KeyGen`), with zeros in place of the hash in the secret key.
    pub(crate) fn generate(
        &self,
        (seeds, rho, matrix, noise, public_key, secret_key): (&[u8], &[u8], &[u8], &[u8], &mut [u8], &mut [u8]),
    ) -> Result<()> {
        let Parameters { k, eta1, .. } = self.parameters;
        let mut noise = noise.chunks_exact(stream(eta1)).map(|stream| self.values(sample_noise(eta1, stream)));
        let secret = noise.by_ref().take(k).collect::<Result<Vec<_>>>()?;
        let (vector, rest) = secret_key.split_at_mut(ROW * k);
        vector
            .chunks_exact_mut(ROW)
            .zip(&secret)
            .for_each(|(bytes, values)| pack_bits(12, values.iter().copied(), bytes));
        for ((row, error), bytes) in matrix.chunks_exact(2 * N * k).zip(noise).zip(public_key.chunks_exact_mut(ROW)) {
            let mut sum = error?;
            self.add_dot(&mut sum, row.chunks_exact(2 * N).map(halves), &secret)?;
            pack_bits(12, sum.iter().copied(), bytes);
        }
        public_key[ROW * k..].copy_from_slice(rho);
        let (copy, rest) = rest.split_at_mut(public_key.len());
        copy.copy_from_slice(public_key);
        rest[..SEED].fill(0);
        rest[SEED..].copy_from_slice(&seeds[SEED..]);
        Ok(())
    }

    /// Writes the hash of the public key into the secret key.
    pub(crate) fn finish(&self, (public_key, secret_key): (&[u8], &mut [u8])) -> Result<()> {
        let place = secret_key.len() - 2 * SEED;
        secret_key[place..][..SEED].copy_from_slice(&h(public_key));
        Ok(())
    }

    /// Derives the shared key and the noise streams of the ciphertext from a message and a public key. Copies rho from
    /// the public key.
    pub(crate) fn encapsulate(
        &self,
        (public_key, message, shared_key, rho, noise): (&[u8], &[u8], &mut [u8], &mut [u8], &mut [u8]),
    ) -> Result<()> {
        rho.copy_from_slice(&public_key[ROW * self.parameters.k..]);
        self.derive(message, &h(public_key), shared_key, noise);
        Ok(())
    }

    /// Derives the agreed shared key and the noise streams of the ciphertext from a decrypted message and the hash in
    /// the secret key. Writes the rejected shared key after the agreed one, and copies rho from the secret key.
    pub(crate) fn decapsulate(
        &self,
        (secret_key, ciphertext, message, keys, rho, noise): (&[u8], &[u8], &[u8], &mut [u8], &mut [u8], &mut [u8]),
    ) -> Result<()> {
        let [_, public_key, hash, z] = parts(&self.parameters, secret_key);
        let (agreed, rejected) = keys.split_at_mut(SEED);
        rho.copy_from_slice(&public_key[ROW * self.parameters.k..]);
        self.derive(message, hash, agreed, noise);
        j(z, ciphertext, rejected);
        Ok(())
    }

    fn derive(&self, message: &[u8], hash: &[u8], shared_key: &mut [u8], noise: &mut [u8]) {
        let Parameters { k, eta1, .. } = self.parameters;
        let hash = g(message, hash);
        shared_key.copy_from_slice(&hash[0]);
        prf(&hash[1], repeat_n(eta1, k).chain(repeat_n(ETA2, k + 1)), noise);
    }

    /// Encrypts a message (`K-PKE.Encrypt`).
    pub(crate) fn encrypt(
        &self,
        (public_key, message, matrix, noise, ciphertext): (&[u8], &[u8], &[u8], &[u8], &mut [u8]),
    ) -> Result<()> {
        let Parameters { k, eta1, du, dv, .. } = self.parameters;
        let (first, second) = noise.split_at(k * stream(eta1));
        let r = first.chunks_exact(stream(eta1)).map(|stream| self.values(sample_noise(eta1, stream)));
        let r = r.collect::<Result<Vec<_>>>()?;
        let errors: Vec<Poly> = second.chunks_exact(stream(ETA2)).map(|stream| sample_noise(ETA2, stream)).collect();
        let (u, v) = ciphertext.split_at_mut(N / 8 * du * k);
        for ((row, error), bytes) in matrix.chunks_exact(2 * N * k).zip(&errors).zip(u.chunks_exact_mut(N / 8 * du)) {
            let mut sum = self.dot(row.chunks_exact(2 * N).map(halves), &r)?;
            sum.iter_mut().zip(error.iter()).for_each(|(x, e)| *x = compress(du, *x + e));
            pack_bits(du, sum.iter().copied(), bytes);
        }
        let mut sum = self.dot(public_key.chunks_exact(ROW).map(unpack_values), &r)?;
        let message = unpack(1, message);
        for ((x, error), bit) in sum.iter_mut().zip(errors.iter().skip(k).flat_map(|error| error.iter())).zip(&*message)
        {
            *x = compress(dv, *x + error + decompress(1, *bit));
        }
        pack_bits(dv, sum.iter().copied(), v);
        Ok(())
    }

    /// Decrypts a ciphertext (`K-PKE.Decrypt`).
    pub(crate) fn decrypt(&self, (secret_key, ciphertext, message): (&[u8], &[u8], &mut [u8])) -> Result<()> {
        let Parameters { k, du, dv, .. } = self.parameters;
        let (u, v) = ciphertext.split_at(N / 8 * du * k);
        let u = u.chunks_exact(N / 8 * du).map(|bytes| {
            let mut values = unpack(du, bytes);
            values.iter_mut().for_each(|y| *y = decompress(du, *y));
            self.values(values)
        });
        let u = u.collect::<Result<Vec<_>>>()?;
        let mut sum = self.dot(secret_key.chunks_exact(ROW).map(unpack_values), &u)?;
        let v = unpack(dv, v);
        sum.iter_mut().zip(&*v).for_each(|(x, y)| *x = compress(1, Q + decompress(dv, *y) - *x));
        pack_bits(1, sum.iter().copied(), message);
        Ok(())
    }

    /// Re-encrypts a decrypted message and selects the shared key: the agreed one if the result equals the received
    /// ciphertext, else the rejected one.
    pub(crate) fn compare(
        &self,
        (secret_key, sent, message, matrix, noise, keys, out): (&[u8], &[u8], &[u8], &[u8], &[u8], &[u8], &mut [u8]),
    ) -> Result<()> {
        let mut again = Zeroizing::new(vec![0; sent.len()]);
        let [_, public_key, ..] = parts(&self.parameters, secret_key);
        self.encrypt((public_key, message, matrix, noise, &mut again))?;
        let is_same = again.ct_eq(sent);
        let (agreed, rejected) = keys.split_at(SEED);
        for ((out, yes), no) in out.iter_mut().zip(agreed).zip(rejected) {
            *out = u8::conditional_select(no, yes, is_same);
        }
        Ok(())
    }

    /// Writes the status of a public key: ok, or an error with the index of the first coefficient that is not below q.
    pub(crate) fn check_public(&self, (public_key, status): (&[u8], &mut u32)) -> Result<()> {
        let bad = first_too_large(public_key).map(|coefficient| KeyError::InvalidPublicKey { coefficient });
        *status = status_of(bad);
        Ok(())
    }

    /// Writes the status of a secret key: ok if the hash in the key is that of the public key in it, else an error.
    pub(crate) fn check_secret(&self, (secret_key, status): (&[u8], &mut u32)) -> Result<()> {
        let [_, public_key, hash, _] = parts(&self.parameters, secret_key);
        let is_whole: bool = h(public_key).ct_eq(hash).into();
        *status = status_of((!is_whole).then_some(KeyError::WrongHash));
        Ok(())
    }

    /// Transforms coefficients to evaluations (forward NTT).
    fn values(&self, mut poly: Poly) -> Result<Poly> {
        self.transform.forward(&mut poly)?;
        Ok(poly)
    }

    /// Adds the inner product of two vectors of polynomials to `sum`; all are evaluations.
    fn add_dot(&self, sum: &mut Poly, a: impl Iterator<Item = Poly>, b: &[Poly]) -> Result<()> {
        for (mut a, b) in a.zip(b) {
            self.transform.multiply(&mut a, b)?;
            sum.iter_mut().zip(&*a).for_each(|(sum, x)| *sum = sub_once(*sum + x, Q));
        }
        Ok(())
    }

    /// Returns the inner product of two vectors of polynomials. Takes evaluations and returns coefficients.
    fn dot(&self, a: impl Iterator<Item = Poly>, b: &[Poly]) -> Result<Poly> {
        let mut sum = Zeroizing::new(vec![0; N]);
        self.add_dot(&mut sum, a, b)?;
        self.transform.inverse(&mut sum)?;
        Ok(sum)
    }
}

/// Reads a polynomial from 16-bit little-endian words.
fn halves(bytes: &[u8]) -> Poly {
    let (halves, _) = bytes.as_chunks();
    Zeroizing::new(halves.iter().map(|half| u32::from(u16::from_le_bytes(*half))).collect())
}
