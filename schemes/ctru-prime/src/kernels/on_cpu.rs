//! What the kernels mean on the CPU: the functions of the scheme, item by item.
#![allow(clippy::type_complexity, reason = "the tuples are the ports")]

use ringforge::Result;
use ringforge_batch::{FINE, HALFWAY, PENDING, status as status_of};
use ringforge_e8::{ID_BYTES, Seed, choose, xof};
use zeroize::Zeroizing;

use super::tensor::TensorRows;
use super::{Keys, Task};
use crate::error::KeyError;
use crate::kem::Memory;
use crate::params::SEED_BYTES;
use crate::pke::Polynomials;
use crate::product::Way;

impl Task {
    pub(super) fn expand(&self, ([d, _], coins): (&[Seed; 2], &mut [u8]), _: &mut Memory) -> Result<()> {
        let p = self.parameters();
        let (f, g) = coins.split_at_mut(p.coins_pitch());
        xof(d, [f, g].map(|coins| padded(coins, p.sizes().polynomial_coins)));
        Ok(())
    }

    /// On the CPU keys are made one by one.
    pub(super) fn gather(&self, (_, a, b): (&[u8], &mut [u8], &mut [u8]), _: &mut Memory) -> Result<()> {
        a.fill(0);
        b.fill(0);
        Ok(())
    }

    pub(super) fn invert(&self, (_, inverse): (&[u8], &mut [u8]), _: &mut Memory) -> Result<()> {
        inverse.fill(0);
        Ok(())
    }

    pub(super) fn generate(
        &self,
        ([_, z], coins, _, _, public_key, secret_key): (&[Seed; 2], &[u8], &[u8], &[u8], &mut [u8], &mut [u8]),
        memory: &mut Memory,
    ) -> Result<()> {
        let p = self.parameters();
        let (f, g) = coins.split_at(p.coins_pitch());
        let coins = [f, g].map(|coins| &coins[..p.sizes().polynomial_coins]);
        let z_at = secret_key.len() - SEED_BYTES;
        secret_key[z_at..].copy_from_slice(z);
        self.kem.key_pair_from(coins, public_key, secret_key, &mut memory.polynomials).map(drop)
    }

    pub(super) fn prepare_public(&self, (key, prepared): (&[u8], &mut [u8]), memory: &mut Memory) -> Result<()> {
        let (p, memory) = (self.parameters(), &mut memory.polynomials);
        self.kem.pke.transform_public(key, memory)?;
        let (factor, rest) = prepared.split_at_mut(self.way.large_bytes(p));
        match self.way {
            Way::Transform => put_values(&memory.factors.left, factor),
            Way::Tensor => TensorRows::of_degree(p.n).prepare_large(&memory.large, factor),
        }
        padded(rest, key.len()).copy_from_slice(key);
        Ok(())
    }

    pub(super) fn prepare_secret(&self, (key, prepared): (&[u8], &mut [u8]), memory: &mut Memory) -> Result<()> {
        let (p, memory) = (self.parameters(), &mut memory.polynomials);
        self.kem.pke.transform_secret(p.sizes().parts(key)[0], memory)?;
        let (factor, rest) = prepared.split_at_mut(self.way.small_bytes(p));
        match self.way {
            Way::Transform => put_values(&memory.factors.left, factor),
            Way::Tensor => padded(factor, p.n).iter_mut().zip(&memory.small).for_each(|(to, &x)| *to = x as u8),
        }
        padded(rest, key.len()).copy_from_slice(key);
        Ok(())
    }

    /// Takes a public key as a factor.
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

    /// The same for a secret key from what is prepared of it.
    fn take_prepared_secret(&self, factor: &[u8], memory: &mut Polynomials) -> Result<()> {
        match self.way {
            Way::Transform => take_values(factor, memory),
            Way::Tensor => {
                memory.small.iter_mut().zip(factor).for_each(|(to, &byte)| *to = i16::from(byte as i8));
                self.kem.pke.transform_small(memory)?;
            }
        }
        Ok(())
    }

    pub(super) fn check_secret(&self, (key, status): (&[u8], &mut u32), memory: &mut Memory) -> Result<()> {
        let place = self.kem.pke.bad_field(self.parameters().sizes().parts(key)[0], &mut memory.polynomials)?;
        *status = status_of(place.map(|coefficient| KeyError::InvalidSecretKey { coefficient }));
        Ok(())
    }

    pub(super) fn encapsulate(
        &self,
        (key, seed, message, coins, shared_key): (&[u8], &Seed, &mut [u8], &mut [u8], &mut Seed),
        _: &mut Memory,
    ) -> Result<()> {
        let p = self.parameters();
        let id = if self.keys == Keys::One { &key[self.way.large_bytes(p)..] } else { key };
        let (message, coins) = (padded(message, p.sizes().message), padded(coins, p.sizes().polynomial_coins));
        self.kem.hash_seed(id, seed, message, shared_key, coins);
        Ok(())
    }

    pub(super) fn encrypt(&self, parts: (&[u8], &[u8], &[u8], &mut [u8]), memory: &mut Memory) -> Result<()> {
        self.encrypt_in(parts, &mut memory.polynomials)
    }

    fn encrypt_in(
        &self,
        (key, message, coins, ciphertext): (&[u8], &[u8], &[u8], &mut [u8]),
        memory: &mut Polynomials,
    ) -> Result<()> {
        let p = self.parameters();
        self.take_public(key, memory)?;
        let (message, coins) = (&message[..p.sizes().message], &coins[..p.sizes().polynomial_coins]);
        self.kem.pke.encrypt_to_values(message, coins, ciphertext, memory)
    }

    pub(super) fn decrypt(
        &self,
        (key, ciphertext, message, rejection, status): (&[u8], &[u8], &mut [u8], &mut [u8], &mut u32),
        memory: &mut Memory,
    ) -> Result<()> {
        let p = self.parameters();
        let secret_key = if self.keys == Keys::One {
            let (factor, secret_key) = key.split_at(self.way.small_bytes(p));
            *status = PENDING;
            self.take_prepared_secret(factor, &mut memory.polynomials)?;
            &secret_key[..p.sizes().kem().secret_key]
        } else {
            self.check_secret((key, status), memory)?;
            if *status == FINE {
                *status = PENDING;
            }
            self.kem.pke.transform_secret(p.sizes().parts(key)[0], &mut memory.polynomials)?;
            key
        };
        let [_, public_key, z] = p.sizes().parts(secret_key);
        let message = padded(message, p.sizes().message);
        self.kem.pke.decrypt_with_values(ciphertext, message, &mut memory.polynomials)?;
        let hashed = Zeroizing::new([&public_key[..ID_BYTES], z, ciphertext].concat());
        padded(rejection, hashed.len()).copy_from_slice(&hashed);
        Ok(())
    }

    pub(super) fn decapsulate(
        &self,
        (message, rejection, keys, coins, status): (&[u8], &[u8], &mut [Seed; 2], &mut [u8], &mut u32),
        _: &mut Memory,
    ) -> Result<()> {
        let p = self.parameters();
        let rest = &rejection[ID_BYTES..][..SEED_BYTES + p.sizes().ciphertext];
        let (message, coins) = (&message[..p.sizes().message], padded(coins, p.sizes().polynomial_coins));
        self.kem.hash_message(rejection, &[rest], message, keys, coins);
        if *status == PENDING {
            *status = HALFWAY;
        }
        Ok(())
    }

    pub(super) fn compare(
        &self,
        (key, ciphertext, message, coins, keys, status, shared_key): (
            &[u8],
            &[u8],
            &[u8],
            &[u8],
            &[Seed; 2],
            &mut u32,
            &mut Seed,
        ),
        memory: &mut Memory,
    ) -> Result<()> {
        let Memory { polynomials, ciphertext: again, .. } = memory;
        let public_key = if self.keys == Keys::One { key } else { self.parameters().sizes().parts(key)[1] };
        self.encrypt_in((public_key, message, coins, again), polynomials)?;
        // the public key may be any bytes
        if *status == HALFWAY {
            *status = FINE;
        }
        *shared_key = if *status == FINE { choose(keys, ciphertext, again) } else { Seed::default() };
        Ok(())
    }

    #[cfg(feature = "testkit")]
    pub(super) fn multiply(
        &self,
        (large, small, out): (&[u16], &[i16], &mut [u16]),
        memory: &mut Memory,
    ) -> Result<()> {
        self.kem.pke.multiply(large, small, out, &mut memory.polynomials)
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

/// So many bytes, with zeros behind them.
fn padded(bytes: &mut [u8], len: usize) -> &mut [u8] {
    bytes[len..].fill(0);
    &mut bytes[..len]
}
