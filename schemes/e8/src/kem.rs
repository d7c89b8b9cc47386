//! The key encapsulation around a public-key encryption: the Fujisaki–Okamoto transform with implicit rejection, hashing the
//! beginning of a public key for the whole.

use core::fmt::Debug;
use std::sync::OnceLock;

use ringforge::{Error, Result};
use ringforge_batch::Sizes;
use sha3::{Digest, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::select::select;

/// A seed, a z, or a shared key.
pub type Seed = [u8; 32];

/// Bytes of a public key that stand for it in hashes.
pub const ID_BYTES: usize = 33;

/// Bytes of the stack that hashes and samplers take, with a margin; transforms wipe their own.
pub const STACK: usize = 0x2000;

/// Sizes of an [`Encryption`], in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncryptionSizes {
    /// A public key.
    pub public_key: usize,
    /// A key that decrypts: a secret key is that, the public key and z.
    pub pke_key: usize,
    /// A message.
    pub message: usize,
    /// A ciphertext.
    pub ciphertext: usize,
    /// The coins of a polynomial: a key pair takes those of two.
    pub polynomial_coins: usize,
    /// The coins of an encryption.
    pub encryption_coins: usize,
}

impl EncryptionSizes {
    /// Sizes of the key encapsulation around it.
    #[must_use]
    pub const fn kem(&self) -> Sizes {
        let Self { public_key, ciphertext, .. } = *self;
        let shared_key = size_of::<Seed>();
        Sizes { public_key, secret_key: self.pke_key + public_key + shared_key, ciphertext, shared_key }
    }

    /// A secret key's parts: what decrypts, the public key, z.
    #[must_use]
    pub fn parts<'a>(&self, secret_key: &'a [u8]) -> [&'a [u8]; 3] {
        let (pke_key, rest) = secret_key.split_at(self.pke_key);
        let (public_key, z) = rest.split_at(self.public_key);
        [pke_key, public_key, z]
    }
}

/// The public-key encryption inside, one item at a time. All slices have exactly the lengths of [`Encryption::sizes`]; neither
/// time nor addresses depend on secrets, but for whether coins give a key.
pub trait Encryption {
    /// Polynomials of one item at work.
    type Polynomials: Zeroize;

    /// Its sizes.
    fn sizes(&self) -> EncryptionSizes;

    /// Room for an item's polynomials.
    fn polynomials(&self) -> Self::Polynomials;

    /// A key pair from the coins of f and of g; `false` where they give none, and then the keys are useless.
    ///
    /// # Errors
    /// Nothing where lengths are right, as for all others.
    fn key_pair(
        &self,
        coins: [&[u8]; 2],
        public_key: &mut [u8],
        pke_key: &mut [u8],
        memory: &mut Self::Polynomials,
    ) -> Result<bool>;

    /// Encrypts under a public key that was checked.
    ///
    /// # Errors
    /// Nothing where lengths are right.
    fn encrypt(
        &self,
        public_key: &[u8],
        message: &[u8],
        coins: &[u8],
        ciphertext: &mut [u8],
        memory: &mut Self::Polynomials,
    ) -> Result<()>;

    /// Decrypts any ciphertext, with a key that was checked.
    ///
    /// # Errors
    /// Nothing where lengths are right.
    fn decrypt(
        &self,
        pke_key: &[u8],
        ciphertext: &[u8],
        message: &mut [u8],
        memory: &mut Self::Polynomials,
    ) -> Result<()>;
}

/// Key encapsulation by an encryption, one item at a time; slices and keys as there.
#[derive(Debug)]
pub struct Kem<E> {
    /// The encryption inside.
    pub pke: E,
}

/// One item at work, wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
#[expect(missing_debug_implementations, reason = "it is secret")]
pub struct Memory<P: Zeroize> {
    /// Polynomials.
    pub polynomials: P,
    /// Coins of a key pair, or of an encryption at their beginning.
    pub coins: Vec<u8>,
    message: Vec<u8>,
    /// A ciphertext that is made again.
    pub ciphertext: Vec<u8>,
    /// Shared keys to choose from.
    keys: [Seed; 2],
}

impl<E: Encryption> Kem<E> {
    /// The one of these parameters, one of `sets`: made at the first call, into its place.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other parameters; as `make`.
    pub fn of<P: PartialEq + Debug>(
        parameters: &P,
        sets: &[P],
        places: &'static [OnceLock<Self>],
        make: impl FnOnce(&P) -> Result<E>,
    ) -> Result<&'static Self> {
        let place = sets.iter().zip(places).find(|(set, _)| *set == parameters).map(|(_, place)| place);
        let place = place.ok_or_else(|| Error::Unsupported {
            job: format!("key encapsulation with {parameters:?}"),
            why: "this is no parameter set of the crate".into(),
        })?;
        if let Some(kem) = place.get() {
            return Ok(kem);
        }
        let kem = Self { pke: make(parameters)? };
        Ok(place.get_or_init(|| kem))
    }

    /// Room for an item.
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

    /// A key pair but for z, the last bytes of the secret key; `false` where the seed gives none, and then the keys are
    /// useless.
    ///
    /// # Errors
    /// As [`Encryption::key_pair`].
    #[inline(never)] // the test of its machine code names it
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

    /// The same from the coins of f and of g.
    ///
    /// # Errors
    /// As [`Encryption::key_pair`].
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

    /// A ciphertext and the shared key in it, from 32 random bytes.
    ///
    /// # Errors
    /// As [`Encryption::encrypt`].
    #[inline(never)] // the test of its machine code names it
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

    /// The shared key of a ciphertext: for one that no encapsulation made, a hash of z and the ciphertext.
    ///
    /// # Errors
    /// As [`Encryption::decrypt`].
    #[inline(never)] // the test of its machine code names it
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

    /// From the seed of an encapsulation to its message, shared key and coins. `id`: at least the public key's beginning.
    pub fn hash_seed(&self, id: &[u8], seed: &Seed, message: &mut [u8], shared_key: &mut Seed, coins: &mut [u8]) {
        xof(seed, [&mut *message]);
        self.derive(id, message, shared_key, coins);
    }

    /// From a decrypted message to the shared keys, if the ciphertext comes out again and if not, and the coins. `id`: at
    /// least the public key's beginning; `rest`: z and the ciphertext.
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

/// Of these shared keys the one that it is, whether or not the ciphertext came out again.
#[must_use]
pub fn choose([agreed, rejected]: &[Seed; 2], ciphertext: &[u8], again: &[u8]) -> Seed {
    select(ciphertext.ct_eq(again), agreed, rejected)
}

/// SHAKE-256: stretches a seed over these parts, one after another.
pub fn xof<'a>(seed: &Seed, parts: impl IntoIterator<Item = &'a mut [u8]>) {
    let mut shake = Shake256::default();
    Update::update(&mut shake, seed);
    let mut stream = shake.finalize_xof();
    parts.into_iter().for_each(|part| stream.read(part));
}

/// A hash of 64 bytes of these parts, one after another, in two halves.
pub fn digest<D: Digest<OutputSize = hybrid_array::sizes::U64>>(parts: &[&[u8]]) -> Zeroizing<[Seed; 2]> {
    let mut out = Zeroizing::new([Seed::default(); 2]);
    let digest = parts.iter().fold(D::new(), |digest, part| digest.chain_update(part));
    digest.finalize_into(bytemuck::cast_mut::<[Seed; 2], [u8; 64]>(&mut out).into());
    out
}
