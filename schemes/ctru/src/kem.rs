//! The key encapsulation: hashing around the encryption inside, and the choice that ends a decapsulation.

use std::sync::OnceLock;

use ringforge::{Error, Result};
use ringforge_e8::select;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::params::{ID_BYTES, Parameters, SEED_BYTES, SETS};
use crate::pke::{Pke, Polynomials};

/// Bytes of the stack that hashes and samplers take, with a margin; transforms wipe their own.
pub(crate) const STACK: usize = 0x2000;

/// A seed, a z, or a shared key.
pub(crate) type Seed = [u8; SEED_BYTES];

/// Key encapsulation of one parameter set, one item at a time.
///
/// All slices have exactly the lengths that [`Parameters`] gives, and keys were checked when they came in.
#[derive(Debug)]
pub(crate) struct Kem {
    pub(crate) pke: Pke,
}

/// One item at work, wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Memory {
    pub(crate) polynomials: Polynomials,
    pub(crate) coins: Vec<u8>,
    message: Vec<u8>,
    pub(crate) ciphertext: Vec<u8>,
    /// Shared keys to choose from.
    keys: [Seed; 2],
}

impl Memory {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Self {
            polynomials: Polynomials::new(parameters.n),
            coins: vec![0; parameters.key_pair_coins_bytes()],
            message: vec![0; parameters.message_bytes()],
            ciphertext: vec![0; parameters.ciphertext_bytes()],
            keys: Default::default(),
        }
    }
}

impl Kem {
    /// The one of this set, made at the first call.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for numbers that are no set of this crate.
    pub(crate) fn of(parameters: &Parameters) -> Result<&'static Self> {
        static ALL: [OnceLock<Kem>; SETS.len()] = [const { OnceLock::new() }; SETS.len()];
        let place = SETS.iter().position(|set| set == parameters).ok_or_else(|| Error::Unsupported {
            job: format!("key encapsulation with {parameters:?}"),
            why: "this is no parameter set of the crate".into(),
        })?;
        if let Some(kem) = ALL[place].get() {
            return Ok(kem);
        }
        let kem = Self { pke: Pke::new(parameters)? };
        Ok(ALL[place].get_or_init(|| kem))
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        &self.pke.parameters
    }

    /// A key pair but for z, the last bytes of the secret key; `false` where the seed gives none, and then the keys are
    /// useless.
    #[inline(never)] // the test of its machine code names it
    pub(crate) fn key_pair(
        &self,
        seed: &Seed,
        public_key: &mut [u8],
        secret_key: &mut [u8],
        memory: &mut Memory,
    ) -> Result<bool> {
        let Memory { polynomials, coins, .. } = memory;
        self.expand(seed, coins);
        self.key_pair_from(coins, public_key, secret_key, polynomials)
    }

    /// The same from coins.
    pub(crate) fn key_pair_from(
        &self,
        coins: &[u8],
        public_key: &mut [u8],
        secret_key: &mut [u8],
        memory: &mut Polynomials,
    ) -> Result<bool> {
        let (pke_key, rest) = secret_key.split_at_mut(self.parameters().pke_key_bytes());
        let invertible = self.pke.key_pair(coins, public_key, pke_key, memory)?;
        rest[..public_key.len()].copy_from_slice(public_key);
        Ok(invertible)
    }

    /// A ciphertext and the shared key in it, from 32 random bytes.
    #[inline(never)] // the test of its machine code names it
    pub(crate) fn encapsulate(
        &self,
        public_key: &[u8],
        seed: &Seed,
        ciphertext: &mut [u8],
        shared_key: &mut Seed,
        memory: &mut Memory,
    ) -> Result<()> {
        let Memory { polynomials, coins, message, .. } = memory;
        let coins = &mut coins[..self.parameters().encryption_coins_bytes()];
        self.hash_seed(public_key, seed, message, shared_key, coins);
        self.pke.encrypt(public_key, message, coins, ciphertext, polynomials)
    }

    /// The shared key of a ciphertext: for one that no encapsulation made, a hash of z and the ciphertext.
    #[inline(never)] // the test of its machine code names it
    pub(crate) fn decapsulate(
        &self,
        secret_key: &[u8],
        ciphertext: &[u8],
        shared_key: &mut Seed,
        memory: &mut Memory,
    ) -> Result<()> {
        let [pke_key, public_key, _] = self.parameters().parts(secret_key);
        let Memory { polynomials, coins, message, ciphertext: again, keys } = memory;
        let coins = &mut coins[..self.parameters().encryption_coins_bytes()];
        self.pke.decrypt(pke_key, ciphertext, message, polynomials)?;
        self.hash_message(secret_key, ciphertext, message, keys, coins);
        self.pke.encrypt(public_key, message, coins, again, polynomials)?;
        *shared_key = select(ciphertext.ct_eq(again), &keys[0], &keys[1]);
        Ok(())
    }

    /// The coins of a key pair.
    pub(crate) fn expand(&self, seed: &Seed, coins: &mut [u8]) {
        self.parameters().profile.xof(seed, coins);
    }

    /// From the seed of an encapsulation to its message, shared key and coins. `id`: at least the public key's beginning.
    pub(crate) fn hash_seed(
        &self,
        id: &[u8],
        seed: &Seed,
        message: &mut [u8],
        shared_key: &mut Seed,
        coins: &mut [u8],
    ) {
        self.parameters().profile.xof(seed, message);
        self.derive(id, message, shared_key, coins);
    }

    /// From a decrypted message to the coins, the shared key if they give the ciphertext again, and the one if not.
    pub(crate) fn hash_message(
        &self,
        secret_key: &[u8],
        ciphertext: &[u8],
        message: &[u8],
        [agreed, rejected]: &mut [Seed; 2],
        coins: &mut [u8],
    ) {
        let [_, public_key, z] = self.parameters().parts(secret_key);
        self.derive(public_key, message, agreed, coins);
        *rejected = self.parameters().profile.hash(&[&public_key[..ID_BYTES], z, ciphertext])[0];
    }

    fn derive(&self, id: &[u8], message: &[u8], shared_key: &mut Seed, coins: &mut [u8]) {
        let profile = self.parameters().profile;
        let hash = profile.hash(&[&id[..ID_BYTES], message]);
        *shared_key = hash[0];
        profile.xof(&hash[1], coins);
    }
}
