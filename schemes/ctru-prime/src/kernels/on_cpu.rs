//! CPU reference, for one item, of the kernels that read or write keys. A key is either encoded, or converted to an
//! operand of products and followed by the encoded key.

use ringforge::Result;
use ringforge_batch::{OK, PENDING, status as status_of};

use super::Keys;
use super::tensor::TensorRows;
use crate::kernels::PrimeSteps;
use crate::pke::Polynomials;
use crate::product::Way;
use ringforge_e8::KeyError;

impl PrimeSteps {
    pub(super) fn prepare_public(&self, key: &[u8], prepared: &mut [u8], memory: &mut Polynomials) -> Result<()> {
        let p = self.parameters();
        self.kem.pke.transform_public(key, memory)?;
        let (factor, rest) = prepared.split_at_mut(self.way.large_bytes(p));
        match self.way {
            Way::Transform => put_values(&memory.factors.left, factor),
            Way::Tensor => TensorRows::of_degree(p.n).prepare_large(&memory.large, factor),
        }
        padded(rest, key.len()).copy_from_slice(key);
        Ok(())
    }

    pub(super) fn prepare_secret(&self, key: &[u8], prepared: &mut [u8], memory: &mut Polynomials) -> Result<()> {
        let p = self.parameters();
        self.kem.pke.transform_secret(p.sizes().parts(key)[0], memory)?;
        let (factor, rest) = prepared.split_at_mut(self.way.small_bytes(p));
        match self.way {
            Way::Transform => put_values(&memory.factors.left, factor),
            Way::Tensor => padded(factor, p.n).iter_mut().zip(&memory.small).for_each(|(to, &x)| *to = x as u8),
        }
        padded(rest, key.len()).copy_from_slice(key);
        Ok(())
    }

    /// Loads a public key, encoded or already converted to an operand, as the left operand of the next product.
    fn take_public(&self, key: &[u8], memory: &mut Polynomials) -> Result<()> {
        let (p, pke) = (self.parameters(), &self.kem.pke);
        match (self.keys, self.way) {
            (Keys::One, Way::Transform) => take_values(&key[..self.way.large_bytes(p)], memory),
            (Keys::One, Way::Tensor) => {
                TensorRows::of_degree(p.n).take_large(key, &mut memory.large);
                pke.transform_large(memory)?;
            }
            _ => pke.transform_public(key, memory)?,
        }
        Ok(())
    }

    /// Loads a secret key as the left operand of the next product. Returns the encoded key, and sets the status: an
    /// error if an encoded key is invalid, else `PENDING`. A key that is already converted to an operand is not
    /// checked.
    pub(super) fn take_secret<'a>(
        &self,
        key: &'a [u8],
        status: &mut u32,
        memory: &mut Polynomials,
    ) -> Result<&'a [u8]> {
        let (p, pke) = (self.parameters(), &self.kem.pke);
        if self.keys != Keys::One {
            self.check_secret(key, status, memory)?;
            go_on(status, OK, PENDING)?;
            pke.transform_secret(p.sizes().parts(key)[0], memory)?;
            return Ok(key);
        }
        *status = PENDING;
        let (factor, key) = key.split_at(self.way.small_bytes(p));
        match self.way {
            Way::Transform => take_values(factor, memory),
            Way::Tensor => {
                memory.small.iter_mut().zip(factor).for_each(|(to, &byte)| *to = i16::from(byte as i8));
                pke.transform_small(memory)?;
            }
        }
        Ok(&key[..p.sizes().kem().secret_key])
    }

    pub(super) fn check_secret(&self, key: &[u8], status: &mut u32, memory: &mut Polynomials) -> Result<()> {
        let place = self.kem.pke.bad_field(self.parameters().sizes().parts(key)[0], memory)?;
        *status = status_of(place.map(|coefficient| KeyError::InvalidSecretKey { coefficient }));
        Ok(())
    }

    pub(super) fn encrypt(
        &self,
        key: &[u8],
        message: &[u8],
        coins: &[u8],
        ciphertext: &mut [u8],
        memory: &mut Polynomials,
    ) -> Result<()> {
        let sizes = self.parameters().sizes();
        self.take_public(key, memory)?;
        let (message, coins) = (&message[..sizes.message], &coins[..sizes.polynomial_coins]);
        self.kem.pke.encrypt_to_values(message, coins, ciphertext, memory)
    }
}

fn take_values(factor: &[u8], memory: &mut Polynomials) {
    let values = &mut memory.factors.left;
    values.clear();
    values.extend(factor.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)));
}

fn put_values(values: &[u32], factor: &mut [u8]) {
    factor.as_chunks_mut().0.iter_mut().zip(values).for_each(|(to, x)| *to = x.to_le_bytes());
}

/// Returns the first `len` bytes, and sets the rest to zero.
pub(super) fn padded(bytes: &mut [u8], len: usize) -> &mut [u8] {
    bytes[len..].fill(0);
    &mut bytes[..len]
}

/// Sets a status to `next` if it equals `before`, which the previous kernel writes on success. Otherwise keeps it.
pub(super) fn go_on(status: &mut u32, before: u32, next: u32) -> Result<()> {
    *status = if *status == before { next } else { *status };
    Ok(())
}
