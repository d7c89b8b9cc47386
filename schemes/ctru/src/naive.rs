//! The oracle: the scheme written from its specification, to test everything else against.
//!
//! Slow and obvious: bit by bit, and with polynomials over the integers. It shares nothing with the rest of the crate but
//! the parameter sets, and with other oracles what `ringforge_e8` has of them; takes SHAKE-256 and SHA3-512 for the hash functions, and keeps no secrets.

mod ring;

use ringforge::testkit::Named;
use ringforge_batch::{ENCAPSULATION_SEED, FINE, KEY_SEED, Operation, status};
use ringforge_e8::oracle::{
    Polynomial, decode, draw, encode, hash, inverse, pack, product, reciprocal, sample, seeds, unpack, xof,
};

use crate::error::KeyError;
use crate::params::Parameters;

use ring::{Q, coefficients, values};

/// What is made of an item, or why nothing is.
type Made<const N: usize> = Result<[Vec<u8>; N], KeyError>;

/// What a plan makes, by names.
type Outputs = Vec<(&'static str, Vec<u8>)>;

/// One parameter set.
#[derive(Clone, Copy)]
pub(crate) struct Naive(pub(crate) Parameters);

impl Naive {
    /// What a plan of an operation should make of its inputs.
    pub(crate) fn outputs(self, operation: Operation, batch: usize, inputs: &Named) -> Outputs {
        let sizes = self.0.sizes();
        let items = |name: &str, size| inputs[name].chunks(size);
        let public_keys = || items("public keys", sizes.public_key);
        let secret_keys = || items("secret keys", sizes.secret_key);
        match operation {
            Operation::Generate(_) => {
                let outputs = [("public keys", sizes.public_key), ("secret keys", sizes.secret_key)];
                let seeds = seeds(batch, inputs, KEY_SEED);
                let keys = seeds.chunks(KEY_SEED).enumerate().map(|(item, seed)| self.generate(item, seed, inputs));
                columns(outputs, keys)
            }
            Operation::Encapsulate(_) => {
                let seeds = seeds(batch, inputs, ENCAPSULATION_SEED);
                let items = public_keys().zip(seeds.chunks(ENCAPSULATION_SEED));
                let made = items.map(|(public_key, seed)| self.encapsulate(public_key, &xof(seed, self.0.n / 16)));
                columns([("ciphertexts", sizes.ciphertext), ("shared keys", sizes.shared_key)], made)
            }
            Operation::Decapsulate => {
                let items = secret_keys().zip(items("ciphertexts", sizes.ciphertext));
                let made = items.map(|(secret_key, ciphertext)| self.decapsulate(secret_key, ciphertext));
                columns([("shared keys", sizes.shared_key)], made)
            }
            Operation::CheckPublicKeys => columns([], public_keys().map(|key| wire_values(key).map(|_| []))),
            Operation::CheckSecretKeys => columns([], secret_keys().map(|key| self.check_secret(key))),
        }
    }

    /// A key pair from d ‖ z, else from draws; where keys are given, those that are fine stay.
    fn generate(self, item: usize, seed: &[u8], inputs: &Named) -> Made<2> {
        let (d, z) = seed.split_at(32);
        let part = |name: &str, size: usize| inputs[name][item * size..][..size].to_vec();
        let first = match inputs.contains_key("statuses") {
            false => self.key_pair(d, z),
            true if part("statuses", 4) != FINE.to_le_bytes() => None,
            true => {
                Some([part("public keys", self.0.public_key_bytes()), part("secret keys", self.0.secret_key_bytes())])
            }
        };
        let again = |attempt| self.key_pair(&draw(inputs.get("draws")?, item, attempt)[..32], z);
        first.or_else(|| (1..16).find_map(again)).ok_or(KeyError::NotInvertible)
    }

    fn decapsulate(self, secret_key: &[u8], ciphertext: &[u8]) -> Made<1> {
        let [pke_key, public_key, z] = self.0.parts(secret_key);
        let message = self.decrypt(pke_key, ciphertext)?;
        let [again, agreed] = self.encapsulate(public_key, &message)?;
        Ok([if again == ciphertext { agreed } else { hash(&[&public_key[..33], z, ciphertext])[..32].to_vec() }])
    }

    fn check_secret(self, secret_key: &[u8]) -> Made<0> {
        let [pke_key, public_key, _] = self.0.parts(secret_key);
        self.fields(pke_key)?;
        wire_values(public_key).map(|_| [])
    }

    fn key_pair(self, d: &[u8], z: &[u8]) -> Option<[Vec<u8>; 2]> {
        let eta = i64::from(self.0.eta);
        let [mut f, g] = self.small(d);
        f.iter_mut().for_each(|f| *f *= 2);
        f[0] += 1;
        let h = product(&g, &inverse(&f, Q, self.powers())?, self.powers());
        let public_key = pack(12, values(&h).map(|value| value * (1 << 16) % Q));
        let pke_key = pack(self.0.key_width(), f.iter().map(|f| 2 * eta + 1 - f));
        let secret_key = [&pke_key, &public_key, z].concat();
        Some([public_key, secret_key])
    }

    /// The ciphertext and the shared key of a message.
    fn encapsulate(self, public_key: &[u8], message: &[u8]) -> Made<2> {
        let hash = hash(&[&public_key[..33], message]);
        Ok([self.encrypt(public_key, message, &hash[32..])?, hash[..32].to_vec()])
    }

    fn encrypt(self, public_key: &[u8], message: &[u8], seed: &[u8]) -> Result<Vec<u8>, KeyError> {
        let values = wire_values(public_key)?;
        let h = coefficients(&values.iter().map(|value| value * reciprocal(1 << 16, Q) % Q).collect::<Polynomial>());
        let [r, e] = self.small(seed);
        let codewords = unpack(4, message).into_iter().flat_map(encode);
        let q2 = i64::from(self.0.q2());
        let c = product(&h, &r, self.powers()).into_iter().zip(e).zip(codewords).map(|((hr, e), bit)| {
            if self.0.noise {
                (((hr + e).rem_euclid(Q) + bit * (Q + 1) / 2) * q2 + (Q - 1) / 2) / Q % q2
            } else {
                ((hr.rem_euclid(Q) * q2 + (Q - 1) / 2) / Q + bit * q2 / 2) % q2
            }
        });
        Ok(pack(self.0.q2_bits, c))
    }

    fn decrypt(self, pke_key: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, KeyError> {
        let (eta, q2) = (i64::from(self.0.eta), i64::from(self.0.q2()));
        let f: Polynomial = self.fields(pke_key)?.iter().map(|field| 2 * eta + 1 - field).collect();
        let c = unpack(self.0.q2_bits, ciphertext);
        let v: Polynomial = product(&c, &f, self.powers()).iter().map(|v| v.rem_euclid(q2)).collect();
        Ok(pack(4, v.chunks(8).map(|block| decode(block, q2))))
    }

    /// The packed numbers of the secret key f.
    fn fields(self, pke_key: &[u8]) -> Result<Vec<i64>, KeyError> {
        let fields = below(4 * i64::from(self.0.eta) + 2, unpack(self.0.key_width(), pke_key));
        fields.map_err(|coefficient| KeyError::InvalidSecretKey { coefficient })
    }

    /// Two polynomials from the centred binomial distribution.
    fn small(self, seed: &[u8]) -> [Polynomial; 2] {
        let n = self.0.n;
        let mut first = sample(self.0.eta, &xof(seed, n * self.0.eta as usize / 2));
        let second = first.split_off(n);
        [first, second]
    }

    /// x^n = x^(n/2) − 1.
    const fn powers(self) -> [(usize, i64); 2] {
        [(self.0.n / 2, 1), (0, -1)]
    }
}

/// What is made of all items, each output with the size of an item: zeros where there is a status instead; and the statuses.
fn columns<const N: usize>(outputs: [(&'static str, usize); N], made: impl Iterator<Item = Made<N>>) -> Outputs {
    let names = outputs.iter().map(|(name, _)| *name).chain(["statuses"]);
    let mut columns: Outputs = names.map(|name| (name, Vec::new())).collect();
    for made in made {
        let status = status(made.as_ref().err().copied());
        let made = made.unwrap_or(outputs.map(|(_, size)| vec![0; size]));
        let made = made.into_iter().chain([status.to_le_bytes().into()]);
        columns.iter_mut().zip(made).for_each(|((_, all), one)| all.extend(one));
    }
    columns
}

/// The numbers of a public key.
fn wire_values(public_key: &[u8]) -> Result<Vec<i64>, KeyError> {
    below(Q, unpack(12, public_key)).map_err(|coefficient| KeyError::InvalidPublicKey { coefficient })
}

/// These numbers, or the place of the first that is not below the bound.
fn below(bound: i64, numbers: Vec<i64>) -> Result<Vec<i64>, usize> {
    numbers.iter().position(|&number| number >= bound).map_or(Ok(numbers), Err)
}
