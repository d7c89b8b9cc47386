//! What the kernels mean on the CPU: the functions of the scheme, item by item.

use core::ops::Range;

use ringforge::{Args, Result};
use ringforge_batch::{FINE, HALFWAY, PENDING, status};
use zeroize::Zeroizing;

use super::tensor::TensorRows;
use super::{Keys, PrimeKernel, Stage};
use crate::error::KeyError;
use crate::kem::{Memory, Seed, choose, hash_message, hash_seed};
use crate::params::{ID_BYTES, SEED_BYTES};
use crate::pke::Polynomials;
use crate::product::Way;
use crate::symmetric::xof;

/// Seeds, coins, polynomials that only a GPU takes, and a key pair.
type Generated<'a> = (&'a [Seed; 2], &'a [u8], &'a [u8], &'a [u8], &'a mut [u8], &'a mut [u8]);

/// A key, a ciphertext, a message, coins, both shared keys, the status, and the shared key that it is.
type Compared<'a> = (&'a [u8], &'a [u8], &'a [u8], &'a [u8], &'a [Seed; 2], &'a mut u32, &'a mut Seed);

impl PrimeKernel {
    /// Runs the stage on these items.
    pub(super) fn run(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let mut memory = Memory::new(self.parameters());
        let polynomials = &mut memory.polynomials;
        match self.stage {
            Stage::Expand => args.each(items, |_, parts| self.expand(parts)),
            // on the CPU keys are made one by one
            Stage::Gather => leave_empty(args, &[1, 2]),
            Stage::Invert => leave_empty(args, &[1]),
            Stage::Generate => args.each(items, |_, parts| self.generate(parts, polynomials)),
            Stage::PreparePublic => args.each(items, |_, parts| self.prepare_public(parts, polynomials)),
            Stage::PrepareSecret => args.each(items, |_, parts| self.prepare_secret(parts, polynomials)),
            Stage::CheckSecret => args.each(items, |_, (secret_key, status): (&[u8], &mut u32)| {
                *status = self.status(secret_key, polynomials)?;
                Ok(())
            }),
            Stage::Encapsulate => args.each(items, |_, parts| self.encapsulate(parts)),
            Stage::Encrypt => args.each(items, |_, parts| self.encrypt(parts, polynomials)),
            Stage::Decrypt => args.each(items, |_, parts| self.decrypt(parts, polynomials)),
            Stage::Decapsulate => args.each(items, |_, parts| self.decapsulate(parts)),
            Stage::Compare => args.each(items, |_, parts| self.compare(parts, &mut memory)),
            #[cfg(feature = "testkit")]
            Stage::Multiply => {
                args.each(items, |_, (large, small, out)| self.kem.pke.multiply(large, small, out, polynomials))
            }
        }
    }

    fn expand(&self, ([d, _], coins): (&[Seed; 2], &mut [u8])) -> Result<()> {
        let p = self.parameters();
        let (f, g) = coins.split_at_mut(p.coins_pitch());
        xof(d, [f, g].map(|coins| padded(coins, p.polynomial_coins_bytes())));
        Ok(())
    }

    fn generate(
        &self,
        ([_, z], coins, _, _, public_key, secret_key): Generated<'_>,
        memory: &mut Polynomials,
    ) -> Result<()> {
        let p = self.parameters();
        let (f, g) = coins.split_at(p.coins_pitch());
        let coins = [f, g].map(|coins| &coins[..p.polynomial_coins_bytes()]);
        let z_at = secret_key.len() - SEED_BYTES;
        secret_key[z_at..].copy_from_slice(z);
        self.kem.key_pair_of(coins, public_key, secret_key, memory)
    }

    fn prepare_public(&self, (key, prepared): (&[u8], &mut [u8]), memory: &mut Polynomials) -> Result<()> {
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

    fn prepare_secret(&self, (key, prepared): (&[u8], &mut [u8]), memory: &mut Polynomials) -> Result<()> {
        let p = self.parameters();
        self.kem.pke.transform_secret(p.parts(key)[0], memory)?;
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

    /// The status of an item with this secret key.
    fn status(&self, secret_key: &[u8], memory: &mut Polynomials) -> Result<u32> {
        let place = self.kem.pke.bad_field(self.parameters().parts(secret_key)[0], memory)?;
        Ok(status(place.map(|coefficient| KeyError::InvalidSecretKey { coefficient })))
    }

    fn encapsulate(
        &self,
        (key, seed, message, coins, shared_key): (&[u8], &Seed, &mut [u8], &mut [u8], &mut Seed),
    ) -> Result<()> {
        let p = self.parameters();
        let id = if self.keys == Keys::One { &key[self.way.large_bytes(p)..] } else { key };
        let (message, coins) = (padded(message, p.message_bytes()), padded(coins, p.polynomial_coins_bytes()));
        hash_seed(id, seed, message, shared_key, coins);
        Ok(())
    }

    fn encrypt(
        &self,
        (key, message, coins, ciphertext): (&[u8], &[u8], &[u8], &mut [u8]),
        memory: &mut Polynomials,
    ) -> Result<()> {
        let p = self.parameters();
        self.take_public(key, memory)?;
        let (message, coins) = (&message[..p.message_bytes()], &coins[..p.polynomial_coins_bytes()]);
        self.kem.pke.encrypt_to_values(message, coins, ciphertext, memory)
    }

    fn decrypt(
        &self,
        (key, ciphertext, message, rejection, status): (&[u8], &[u8], &mut [u8], &mut [u8], &mut u32),
        memory: &mut Polynomials,
    ) -> Result<()> {
        let p = self.parameters();
        let secret_key = if self.keys == Keys::One {
            let (factor, secret_key) = key.split_at(self.way.small_bytes(p));
            *status = PENDING;
            self.take_prepared_secret(factor, memory)?;
            &secret_key[..p.secret_key_bytes()]
        } else {
            *status = match self.status(key, memory)? {
                FINE => PENDING,
                found => found,
            };
            self.kem.pke.transform_secret(p.parts(key)[0], memory)?;
            key
        };
        let [_, public_key, z] = p.parts(secret_key);
        self.kem.pke.decrypt_with_values(ciphertext, padded(message, p.message_bytes()), memory)?;
        let hashed = Zeroizing::new([&public_key[..ID_BYTES], z, ciphertext].concat());
        padded(rejection, hashed.len()).copy_from_slice(&hashed);
        Ok(())
    }

    fn decapsulate(
        &self,
        (message, rejection, keys, coins, status): (&[u8], &[u8], &mut [Seed; 2], &mut [u8], &mut u32),
    ) -> Result<()> {
        let p = self.parameters();
        let rest = &rejection[ID_BYTES..][..SEED_BYTES + p.ciphertext_bytes()];
        let (message, coins) = (&message[..p.message_bytes()], padded(coins, p.polynomial_coins_bytes()));
        hash_message(rejection, &[rest], message, keys, coins);
        if *status == PENDING {
            *status = HALFWAY;
        }
        Ok(())
    }

    fn compare(
        &self,
        (key, ciphertext, message, coins, keys, status, shared_key): Compared<'_>,
        memory: &mut Memory,
    ) -> Result<()> {
        let Memory { polynomials, ciphertext: again, .. } = memory;
        let public_key = if self.keys == Keys::One { key } else { self.parameters().parts(key)[1] };
        self.encrypt((public_key, message, coins, again), polynomials)?;
        // the public key may be any bytes
        if *status == HALFWAY {
            *status = FINE;
        }
        *shared_key = if *status == FINE { choose(keys, ciphertext, again) } else { Seed::default() };
        Ok(())
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

fn leave_empty(args: &mut Args<'_>, ports: &[usize]) -> Result<()> {
    ports.iter().try_for_each(|&port| args.output::<u8>(port).map(|bytes| bytes.fill(0)))
}
