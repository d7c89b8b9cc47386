//! CPU reference of each stage (the work of one kernel) for one item, by FIPS 203, sections 5 and 6. A stage takes a
//! tuple with the item's bytes at each port of the kernel, in the order of the ports. Here rho is the public seed of
//! the matrix, and noise streams are the random bytes from which noise polynomials are sampled.
#![allow(clippy::type_complexity, reason = "the tuples are the ports")]

use ringforge::words::{Transform, pack_bits, shake128, sub_once};
use ringforge::{Limits, Result};
use ringforge_batch::status as status_of;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::coding::{
    Poly, STREAM, compress, decompress, first_too_large, g, h, j, prf, sample_noise, sample_values, unpack,
    unpack_values,
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
    #[inline(always)]
    pub(crate) fn seed(&self, (seeds, rho, noise): (&[u8], &mut [u8], &mut [u8])) -> Result<()> {
        let k = self.parameters.k;
        let hash = g(&seeds[..SEED], &[k as u8]);
        rho.copy_from_slice(&hash[0]);
        prf(&hash[1], 0, 2 * k, noise)
    }

    /// Samples the matrix, or its transpose if `transposed`, from rho. Writes it in row-major order.
    #[inline(always)]
    pub(crate) fn matrix(&self, (rho, matrix): (&[u8], &mut [u8]), transposed: bool) -> Result<()> {
        let k = self.parameters.k as u8;
        let places = (0..k).flat_map(|row| (0..k).map(move |column| [column, row]));
        let places = places.map(|[a, b]| if transposed { [b, a] } else { [a, b] });
        let inputs: Vec<u8> = places.flat_map(|place| rho.iter().copied().chain(place)).collect();
        let mut streams = vec![0; usize::from(k).pow(2) * STREAM];
        shake128(usize::from(k).pow(2), &inputs, &mut streams)?;
        let inputs = inputs.chunks_exact(SEED + 2);
        let polynomials = matrix.chunks_exact_mut(2 * N).zip(streams.chunks_exact(STREAM)).zip(inputs);
        polynomials.for_each(|((values, stream), input)| sample_values(stream, input, values));
        Ok(())
    }

    /// Computes a key pair (`K-PKE.KeyGen`), with zeros in place of the hash in the secret key.
    #[inline(always)]
    pub(crate) fn generate(
        &self,
        (seeds, rho, matrix, noise, public_key, secret_key): (&[u8], &[u8], &[u8], &[u8], &mut [u8], &mut [u8]),
    ) -> Result<()> {
        let Parameters { k, eta1, .. } = self.parameters;
        let mut vectors = sample_noise(eta1, noise);
        self.transform.forward(&mut vectors)?;
        let (secret, errors) = vectors.split_at(k * N);
        let (vector, rest) = secret_key.split_at_mut(ROW * k);
        pack_bits(12, secret.iter().copied(), vector);
        let mut t: Poly = Zeroizing::new(vec![0; k * N]);
        self.transform.multiply_matrix(&halves(matrix), secret, &mut t)?;
        t.iter_mut().zip(errors).for_each(|(t, error)| *t = sub_once(*t + error, Q));
        pack_bits(12, t.iter().copied(), &mut public_key[..ROW * k]);
        public_key[ROW * k..].copy_from_slice(rho);
        let (copy, rest) = rest.split_at_mut(public_key.len());
        copy.copy_from_slice(public_key);
        rest[..SEED].fill(0);
        rest[SEED..].copy_from_slice(&seeds[SEED..]);
        Ok(())
    }

    /// Writes the hash of the public key into the secret key.
    #[inline(always)]
    pub(crate) fn finish(&self, (public_key, secret_key): (&[u8], &mut [u8])) -> Result<()> {
        let place = secret_key.len() - 2 * SEED;
        secret_key[place..][..SEED].copy_from_slice(&h(public_key));
        Ok(())
    }

    /// Derives the shared key and the noise streams of the ciphertext from a message and a public key. Copies rho from
    /// the public key.
    #[inline(always)]
    pub(crate) fn encapsulate(
        &self,
        (public_key, message, shared_key, rho, noise): (&[u8], &[u8], &mut [u8], &mut [u8], &mut [u8]),
    ) -> Result<()> {
        rho.copy_from_slice(&public_key[ROW * self.parameters.k..]);
        self.derive(message, &h(public_key), shared_key, noise)
    }

    /// Derives the agreed shared key and the noise streams of the ciphertext from a decrypted message and the hash in
    /// the secret key. Writes the rejected shared key after the agreed one, and copies rho from the secret key.
    #[inline(always)]
    pub(crate) fn decapsulate(
        &self,
        (secret_key, ciphertext, message, keys, rho, noise): (&[u8], &[u8], &[u8], &mut [u8], &mut [u8], &mut [u8]),
    ) -> Result<()> {
        let [_, public_key, hash, z] = parts(&self.parameters, secret_key);
        let (agreed, rejected) = keys.split_at_mut(SEED);
        rho.copy_from_slice(&public_key[ROW * self.parameters.k..]);
        j(z, ciphertext, rejected);
        self.derive(message, hash, agreed, noise)
    }

    fn derive(&self, message: &[u8], hash: &[u8], shared_key: &mut [u8], noise: &mut [u8]) -> Result<()> {
        let Parameters { k, eta1, .. } = self.parameters;
        let hash = g(message, hash);
        shared_key.copy_from_slice(&hash[0]);
        let (first, second) = noise.split_at_mut(k * stream(eta1));
        prf(&hash[1], 0, k, first)?;
        prf(&hash[1], k as u8, k + 1, second)
    }

    /// Encrypts a message (`K-PKE.Encrypt`).
    #[inline(always)]
    pub(crate) fn encrypt(
        &self,
        (public_key, message, matrix, noise, ciphertext): (&[u8], &[u8], &[u8], &[u8], &mut [u8]),
    ) -> Result<()> {
        let Parameters { k, eta1, du, dv, .. } = self.parameters;
        let (first, second) = noise.split_at(k * stream(eta1));
        let mut r = sample_noise(eta1, first);
        self.transform.forward(&mut r)?;
        // the rows of the matrix, and the vector of the public key as one more
        let mut rows = halves(matrix);
        rows.extend_from_slice(&unpack_values(&public_key[..ROW * k]));
        let mut sums = self.product(&rows, &r, k + 1)?;
        let (u, v) = sums.split_at_mut(k * N);
        let errors = sample_noise(ETA2, second);
        let (of_u, of_v) = errors.split_at(k * N);
        u.iter_mut().zip(of_u).for_each(|(x, error)| *x = compress(du, *x + error));
        for ((x, error), bit) in v.iter_mut().zip(of_v).zip(&*unpack(1, message)) {
            *x = compress(dv, *x + error + decompress(1, *bit));
        }
        let (to_u, to_v) = ciphertext.split_at_mut(N / 8 * du * k);
        pack_bits(du, u.iter().copied(), to_u);
        pack_bits(dv, v.iter().copied(), to_v);
        Ok(())
    }

    /// Decrypts a ciphertext (`K-PKE.Decrypt`).
    #[inline(always)]
    pub(crate) fn decrypt(&self, (secret_key, ciphertext, message): (&[u8], &[u8], &mut [u8])) -> Result<()> {
        let Parameters { k, du, dv, .. } = self.parameters;
        let (u, v) = ciphertext.split_at(N / 8 * du * k);
        let mut u = unpack(du, u);
        u.iter_mut().for_each(|y| *y = decompress(du, *y));
        self.transform.forward(&mut u)?;
        let mut sum = self.product(&unpack_values(&secret_key[..ROW * k]), &u, 1)?;
        let v = unpack(dv, v);
        sum.iter_mut().zip(&*v).for_each(|(x, y)| *x = compress(1, Q + decompress(dv, *y) - *x));
        pack_bits(1, sum.iter().copied(), message);
        Ok(())
    }

    /// Re-encrypts a decrypted message and selects the shared key: the agreed one if the result equals the received
    /// ciphertext, else the rejected one.
    #[inline(always)]
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
    #[inline(always)]
    pub(crate) fn check_public(&self, (public_key, status): (&[u8], &mut u32)) -> Result<()> {
        let bad = first_too_large(public_key).map(|coefficient| KeyError::InvalidPublicKey { coefficient });
        *status = status_of(bad);
        Ok(())
    }

    /// Writes the status of a secret key: ok if the hash in the key is that of the public key in it, else an error.
    #[inline(always)]
    pub(crate) fn check_secret(&self, (secret_key, status): (&[u8], &mut u32)) -> Result<()> {
        let [_, public_key, hash, _] = parts(&self.parameters, secret_key);
        let is_whole: bool = h(public_key).ct_eq(hash).into();
        *status = status_of((!is_whole).then_some(KeyError::WrongHash));
        Ok(())
    }

    /// The coefficients of the product of a matrix with this many rows and a vector, from their evaluations.
    fn product(&self, matrix: &[u32], vector: &[u32], rows: usize) -> Result<Poly> {
        let mut product = Zeroizing::new(vec![0; rows * N]);
        self.transform.multiply_matrix(matrix, vector, &mut product)?;
        self.transform.inverse(&mut product)?;
        Ok(product)
    }
}

/// Reads polynomials from 16-bit little-endian words.
fn halves(bytes: &[u8]) -> Vec<u32> {
    let (halves, _) = bytes.as_chunks();
    halves.iter().map(|half| u32::from(u16::from_le_bytes(*half))).collect()
}
