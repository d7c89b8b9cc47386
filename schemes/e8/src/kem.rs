//! KEM built from a public-key encryption by the Fujisaki–Okamoto transform with implicit rejection. Hashes take a
//! prefix of the public key in place of the whole key.

use core::fmt::Debug;
use std::sync::OnceLock;

use ringforge::{Error, Result};
use ringforge_batch::Sizes;
use sha3::{Digest, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::select::select;

/// 32 bytes: a seed, the rejection secret z, or a shared key.
pub type Seed = [u8; 32];

/// Length in bytes of the prefix of a public key that is hashed in place of the key.
pub const ID_BYTES: usize = 33;

/// Number of stack bytes to wipe after hashing and sampling, with a margin; NTTs wipe their own stack.
pub const STACK: usize = 0x2000;

/// Sizes of an [`Encryption`], in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncryptionSizes {
    /// A public key.
    pub public_key: usize,
    /// The decryption key. A secret key consists of the decryption key, the public key and the rejection secret z.
    pub pke_key: usize,
    /// A message.
    pub message: usize,
    /// A ciphertext.
    pub ciphertext: usize,
    /// Random bytes (coins) for one polynomial; a key pair uses twice as many.
    pub polynomial_coins: usize,
    /// Random bytes (coins) for an encryption.
    pub encryption_coins: usize,
}

impl EncryptionSizes {
    /// Sizes of the KEM built from this encryption.
    #[must_use]
    pub const fn kem(&self) -> Sizes {
        let Self { public_key, ciphertext, .. } = *self;
        let shared_key = size_of::<Seed>();
        Sizes { public_key, secret_key: self.pke_key + public_key + shared_key, ciphertext, shared_key }
    }

    /// Splits a secret key into the decryption key, the public key and the rejection secret z.
    #[must_use]
    pub fn parts<'a>(&self, secret_key: &'a [u8]) -> [&'a [u8]; 3] {
        let (pke_key, rest) = secret_key.split_at(self.pke_key);
        let (public_key, z) = rest.split_at(self.public_key);
        [pke_key, public_key, z]
    }
}

/// The underlying public-key encryption (PKE), one item at a time. All slices must have exactly the lengths in
/// [`Encryption::sizes`]. Timing and memory addresses do not depend on secrets, except on whether coins yield a key.
pub trait Encryption {
    /// Working memory for the polynomials of one item.
    type Polynomials: Zeroize;

    /// Sizes of the keys, messages, ciphertexts and coins.
    fn sizes(&self) -> EncryptionSizes;

    /// Allocates the working memory of one item.
    fn polynomials(&self) -> Self::Polynomials;

    /// Generates a key pair from the coins of its polynomials f and g. Returns `false` if the coins yield no key; the
    /// outputs are then unusable.
    ///
    /// # Errors
    /// Fails only if a slice has the wrong length.
    fn key_pair(
        &self,
        coins: [&[u8]; 2],
        public_key: &mut [u8],
        pke_key: &mut [u8],
        memory: &mut Self::Polynomials,
    ) -> Result<bool>;

    /// Encrypts under a public key that has been checked.
    ///
    /// # Errors
    /// Fails only if a slice has the wrong length.
    fn encrypt(
        &self,
        public_key: &[u8],
        message: &[u8],
        coins: &[u8],
        ciphertext: &mut [u8],
        memory: &mut Self::Polynomials,
    ) -> Result<()>;

    /// Decrypts any ciphertext, with a key that has been checked.
    ///
    /// # Errors
    /// Fails only if a slice has the wrong length.
    fn decrypt(
        &self,
        pke_key: &[u8],
        ciphertext: &[u8],
        message: &mut [u8],
        memory: &mut Self::Polynomials,
    ) -> Result<()>;
}

/// KEM built from an [`Encryption`], one item at a time. Slices and keys must meet the requirements of [`Encryption`].
#[derive(Debug)]
pub struct Kem<E> {
    /// The underlying encryption.
    pub pke: E,
}

/// Working memory of one item, wiped on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
#[expect(missing_debug_implementations, reason = "it is secret")]
pub struct Memory<P: Zeroize> {
    /// Working memory of the encryption.
    pub polynomials: P,
    /// Coins of a key pair; encryption uses a prefix.
    pub coins: Vec<u8>,
    message: Vec<u8>,
    /// The re-encrypted ciphertext.
    pub ciphertext: Vec<u8>,
    /// The two candidates for the shared key: agreed and rejected.
    keys: [Seed; 2],
}

impl<E: Encryption> Kem<E> {
    /// Returns the KEM of a parameter set in `sets`. The first call makes the KEM and caches it in `places`, at the
    /// index of the set.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the parameters are not in `sets`; the errors of `make`.
    pub fn of<P: PartialEq + Debug>(
        parameters: &P,
        sets: &[P],
        places: &'static [OnceLock<Self>],
        make: impl FnOnce(&P) -> Result<E>,
    ) -> Result<&'static Self> {
        let place = sets.iter().zip(places).find(|(set, _)| *set == parameters).map(|(_, place)| place);
        let place = place.ok_or_else(|| Error::Unsupported {
            job: format!("key encapsulation with {parameters:?}"),
            why: "this is not one of the crate's parameter sets".into(),
        })?;
        if let Some(kem) = place.get() {
            return Ok(kem);
        }
        let kem = Self { pke: make(parameters)? };
        Ok(place.get_or_init(|| kem))
    }

    /// Allocates working memory for one item.
    pub fn memory(&self) -> Memory<E::Polynomials> {
        let EncryptionSizes { message, ciphertext, polynomial_coins, .. } = self.pke.sizes();
        Memory {
            polynomials: self.pke.polynomials(),
            coins: vec![0; 2 * polynomial_coins],
            message: vec![0; message],
            ciphertext: vec![0; ciphertext],
            keys: Default::default(),
        }
    }

    /// Generates a key pair from a seed. Does not write the rejection secret z, the last 32 bytes of the secret key.
    /// Returns `false` if the seed yields no key; the outputs are then unusable.
    ///
    /// # Errors
    /// The errors of [`Encryption::key_pair`].
    #[inline(never)] // the machine-code test finds it by name
    pub fn key_pair(
        &self,
        seed: &Seed,
        public_key: &mut [u8],
        secret_key: &mut [u8],
        memory: &mut Memory<E::Polynomials>,
    ) -> Result<bool> {
        let Memory { polynomials, coins, .. } = memory;
        xof(seed, [&mut coins[..]]);
        self.key_pair_from(
            coins.split_at(self.pke.sizes().polynomial_coins).into(),
            public_key,
            secret_key,
            polynomials,
        )
    }

    /// Generates a key pair like [`Kem::key_pair`], but from the coins of its polynomials f and g.
    ///
    /// # Errors
    /// The errors of [`Encryption::key_pair`].
    pub fn key_pair_from(
        &self,
        coins: [&[u8]; 2],
        public_key: &mut [u8],
        secret_key: &mut [u8],
        memory: &mut E::Polynomials,
    ) -> Result<bool> {
        let (pke_key, rest) = secret_key.split_at_mut(self.pke.sizes().pke_key);
        let invertible = self.pke.key_pair(coins, public_key, pke_key, memory)?;
        rest[..public_key.len()].copy_from_slice(public_key);
        Ok(invertible)
    }

    /// Encapsulates: writes a ciphertext and its shared key, both derived from a 32-byte seed and the public key.
    ///
    /// # Errors
    /// The errors of [`Encryption::encrypt`].
    #[inline(never)] // the machine-code test finds it by name
    pub fn encapsulate(
        &self,
        public_key: &[u8],
        seed: &Seed,
        ciphertext: &mut [u8],
        shared_key: &mut Seed,
        memory: &mut Memory<E::Polynomials>,
    ) -> Result<()> {
        let Memory { polynomials, coins, message, .. } = memory;
        let coins = &mut coins[..self.pke.sizes().encryption_coins];
        self.hash_seed(public_key, seed, message, shared_key, coins);
        self.pke.encrypt(public_key, message, coins, ciphertext, polynomials)
    }

    /// Decapsulates the shared key of a ciphertext. If re-encryption gives a different ciphertext, the shared key is a
    /// hash of the public key's prefix, the rejection secret z and the received ciphertext (implicit rejection).
    ///
    /// # Errors
    /// The errors of [`Encryption::decrypt`] and [`Encryption::encrypt`].
    #[inline(never)] // the machine-code test finds it by name
    pub fn decapsulate(
        &self,
        secret_key: &[u8],
        ciphertext: &[u8],
        shared_key: &mut Seed,
        memory: &mut Memory<E::Polynomials>,
    ) -> Result<()> {
        let [pke_key, public_key, z] = self.pke.sizes().parts(secret_key);
        let Memory { polynomials, coins, message, ciphertext: again, keys } = memory;
        let coins = &mut coins[..self.pke.sizes().encryption_coins];
        self.pke.decrypt(pke_key, ciphertext, message, polynomials)?;
        self.hash_message(public_key, &[z, ciphertext], message, keys, coins);
        self.pke.encrypt(public_key, message, coins, again, polynomials)?;
        *shared_key = choose(keys, ciphertext, again);
        Ok(())
    }

    /// Derives message, shared key and coins from the seed of an encapsulation. `id` starts with the prefix of the
    /// public key.
    pub fn hash_seed(&self, id: &[u8], seed: &Seed, message: &mut [u8], shared_key: &mut Seed, coins: &mut [u8]) {
        xof(seed, [&mut *message]);
        self.derive(id, message, shared_key, coins);
    }

    /// Derives both shared keys, agreed and rejected, and the coins from a decrypted message. `id` starts with the
    /// prefix of the public key; `rest` is the rejection secret z and the ciphertext.
    pub fn hash_message(
        &self,
        id: &[u8],
        rest: &[&[u8]],
        message: &[u8],
        [agreed, rejected]: &mut [Seed; 2],
        coins: &mut [u8],
    ) {
        self.derive(id, message, agreed, coins);
        *rejected = digest::<Sha3_512>(&[&[&id[..ID_BYTES]], rest].concat())[0];
    }

    fn derive(&self, id: &[u8], message: &[u8], shared_key: &mut Seed, coins: &mut [u8]) {
        let hash = digest::<Sha3_512>(&[&id[..ID_BYTES], message]);
        *shared_key = hash[0];
        xof(&hash[1], [coins]);
    }
}

/// Selects the agreed key if the re-encrypted ciphertext `again` equals `ciphertext`, else the rejected key.
/// Constant-time.
#[must_use]
pub fn choose([agreed, rejected]: &[Seed; 2], ciphertext: &[u8], again: &[u8]) -> Seed {
    select(ciphertext.ct_eq(again), agreed, rejected)
}

/// SHAKE-256: expands a seed into these slices, in order.
pub fn xof<'a>(seed: &Seed, parts: impl IntoIterator<Item = &'a mut [u8]>) {
    let mut shake = Shake256::default();
    Update::update(&mut shake, seed);
    let mut stream = shake.finalize_xof();
    parts.into_iter().for_each(|part| stream.read(part));
}

/// Hashes the concatenated parts with `D` to 64 bytes, returned in two halves.
pub fn digest<D: Digest<OutputSize = hybrid_array::sizes::U64>>(parts: &[&[u8]]) -> Zeroizing<[Seed; 2]> {
    let mut out = Zeroizing::new([Seed::default(); 2]);
    let digest = parts.iter().fold(D::new(), |digest, part| digest.chain_update(part));
    digest.finalize_into(bytemuck::cast_mut::<[Seed; 2], [u8; 64]>(&mut out).into());
    out
}
