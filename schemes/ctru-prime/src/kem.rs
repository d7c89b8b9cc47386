//! The key encapsulation: hashing around the encryption inside, and the choice that ends a decapsulation.

use std::sync::OnceLock;

use ringforge::{Error, Result};
use ringforge_e8::select;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::params::{ID_BYTES, Parameters, SEED_BYTES, SETS};
use crate::pke::{Pke, Polynomials};
use crate::radix;
use crate::symmetric::{hash, xof};

/// Bytes of the stack that hashes and samplers take, with a margin; transforms wipe their own.
pub(crate) const STACK: usize = 0x2000;

/// A seed, a z, or a shared key.
pub(crate) type Seed = [u8; SEED_BYTES];

/// Key encapsulation of one parameter set, one item at a time.
///
/// All slices have exactly the lengths that [`Parameters`] gives.
#[derive(Debug)]
pub(crate) struct Kem {
    pub(crate) pke: Pke,
}

/// One item at work, wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Memory {
    pub(crate) polynomials: Polynomials,
    coins: [Vec<u8>; 2],
    message: Vec<u8>,
    pub(crate) ciphertext: Vec<u8>,
}

impl Memory {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let coins = || vec![0; parameters.polynomial_coins_bytes()];
        Self {
            polynomials: Polynomials::new(parameters.n),
            coins: [coins(), coins()],
            message: vec![0; parameters.message_bytes()],
            ciphertext: vec![0; parameters.ciphertext_bytes()],
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

    /// A key pair but for z, the last bytes of the secret key.
    #[inline(never)] // the test of its machine code names it
    pub(crate) fn key_pair(
        &self,
        seed: &Seed,
        public_key: &mut [u8],
        secret_key: &mut [u8],
        memory: &mut Memory,
    ) -> Result<()> {
        let Memory { polynomials, coins, .. } = memory;
        let [f, g] = coins.each_mut().map(Vec::as_mut_slice);
        xof(seed, [&mut *f, &mut *g]);
        self.key_pair_of([f, g], public_key, secret_key, polynomials)
    }

    /// The same from the coins of f and of g.
    pub(crate) fn key_pair_of(
        &self,
        coins: [&[u8]; 2],
        public_key: &mut [u8],
        secret_key: &mut [u8],
        memory: &mut Polynomials,
    ) -> Result<()> {
        let (pke_key, rest) = secret_key.split_at_mut(self.parameters().pke_key_bytes());
        self.pke.key_pair(coins, public_key, pke_key, memory)?;
        rest[..public_key.len()].copy_from_slice(public_key);
        Ok(())
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
        let Memory { polynomials, coins: [coins, _], message, .. } = memory;
        hash_seed(public_key, seed, message, shared_key, coins);
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
        let [pke_key, public_key, z] = self.parameters().parts(secret_key);
        let Memory { polynomials, coins: [coins, _], message, ciphertext: again } = memory;
        self.pke.decrypt(pke_key, ciphertext, message, polynomials)?;
        let mut keys = Zeroizing::new([Seed::default(); 2]);
        hash_message(public_key, &[z, ciphertext], message, &mut keys, coins);
        self.pke.encrypt(public_key, message, coins, again, polynomials)?;
        *shared_key = choose(&keys, ciphertext, again);
        Ok(())
    }

    /// Whether a public key is packed as key generation does it: every key has one such packing, and others that unpack
    /// to it, which are accepted as well.
    pub(crate) fn is_canonical(&self, public_key: &[u8]) -> Result<bool> {
        let Parameters { n, q, .. } = *self.parameters();
        let (mut digits, mut again) = (vec![0; n], vec![0; public_key.len()]);
        radix::decode(public_key, q, &mut digits)?;
        radix::encode(&mut digits, q, &mut again)?;
        Ok(again == public_key)
    }
}

/// From the seed of an encapsulation to its message, shared key and coins. `id`: at least the public key's beginning.
pub(crate) fn hash_seed(id: &[u8], seed: &Seed, message: &mut [u8], shared_key: &mut Seed, coins: &mut [u8]) {
    xof(seed, [&mut *message]);
    derive(id, message, shared_key, coins);
}

/// From a decrypted message to the shared keys, if the ciphertext comes out again and if not, and the coins. `id`: at least
/// the public key's beginning; `rest`: z and the ciphertext.
pub(crate) fn hash_message(
    id: &[u8],
    rest: &[&[u8]],
    message: &[u8],
    [agreed, rejected]: &mut [Seed; 2],
    coins: &mut [u8],
) {
    derive(id, message, agreed, coins);
    *rejected = hash(&[&[&id[..ID_BYTES]], rest].concat())[0];
}

/// Of these shared keys the one that it is, whether or not the ciphertext came out again.
pub(crate) fn choose([agreed, rejected]: &[Seed; 2], ciphertext: &[u8], again: &[u8]) -> Seed {
    select(ciphertext.ct_eq(again), agreed, rejected)
}

fn derive(id: &[u8], message: &[u8], shared_key: &mut Seed, coins: &mut [u8]) {
    let hash = hash(&[&id[..ID_BYTES], message]);
    *shared_key = hash[0];
    xof(&hash[1], [coins]);
}
