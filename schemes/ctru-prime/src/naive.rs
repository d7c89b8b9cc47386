//! The oracle: the scheme written from its specification, to test everything else against.
//!
//! Slow and obvious: bit by bit, and with polynomials over the integers. It shares nothing with the rest of the crate but
//! the parameter sets and the statuses, and with other oracles what `ringforge_e8` has of them, and keeps no secrets.

mod radix;

use ringforge::testkit::Named;
use ringforge_batch::status;
use ringforge_e8::oracle::{Polynomial, decode, encode, hash, inverse, pack, sample, seeds, unpack, xof};

use crate::error::KeyError;
use crate::params::Parameters;

/// x^n = x + 1.
const POWERS: [(usize, i64); 2] = [(1, 1), (0, 1)];

/// What outputs of these names should hold.
type Outputs = Vec<(&'static str, Vec<u8>)>;

/// One parameter set. Each function says what a plan should make of its inputs.
#[derive(Clone, Copy)]
pub(crate) struct Naive(pub(crate) Parameters);

impl Naive {
    pub(crate) fn generate(self, batch: usize, inputs: &Named) -> Outputs {
        let seeds = seeds(batch, inputs, 64);
        columns(["public keys", "secret keys"], seeds.chunks(64).map(|seed| self.key_pair(&seed[..32], &seed[32..])))
    }

    pub(crate) fn encapsulate(self, batch: usize, public_keys: &[u8], inputs: &Named) -> Outputs {
        let seeds = seeds(batch, inputs, 32);
        let items = public_keys.chunks(self.0.public_key_bytes()).zip(seeds.chunks(32));
        let sent = items.map(|(key, seed)| self.encapsulate_message(key, &xof(seed, self.0.n / 16)));
        columns(["ciphertexts", "shared keys"], sent)
    }

    pub(crate) fn decapsulate(self, secret_keys: &[u8], inputs: &Named) -> Outputs {
        let ciphertexts = inputs["ciphertexts"].chunks(self.0.ciphertext_bytes());
        let items = secret_keys.chunks(self.0.secret_key_bytes()).zip(ciphertexts);
        let received = items.map(|(secret_key, ciphertext)| {
            let [pke_key, public_key, z] = self.0.parts(secret_key);
            let place = self.bad_place(pke_key);
            let status = told(place);
            if place.is_some() {
                return [vec![0; 32], status];
            }
            let message = self.decrypt(pke_key, ciphertext);
            let [again, agreed] = self.encapsulate_message(public_key, &message);
            let rejected = || hash(&[&public_key[..33], z, ciphertext])[..32].to_vec();
            [if again == ciphertext { agreed } else { rejected() }, status]
        });
        columns(["shared keys", "statuses"], received)
    }

    pub(crate) fn check_secret(self, inputs: &Named) -> Outputs {
        let keys = inputs["secret keys"].chunks(self.0.secret_key_bytes());
        columns(["statuses"], keys.map(|key| [told(self.bad_place(self.0.parts(key)[0]))]))
    }

    /// Products of residues modulo q by numbers from −η to η, both as words of 16 bits.
    pub(crate) fn multiply(self, inputs: &Named) -> Outputs {
        let [large, small] = ["large", "small"].map(|name| -> Polynomial {
            inputs[name].as_chunks().0.iter().map(|word| i16::from_le_bytes(*word).into()).collect()
        });
        let products = large.chunks(self.0.n).zip(small.chunks(self.0.n)).flat_map(|(a, b)| product(a, b));
        let bytes = products.flat_map(|x| (x.rem_euclid(self.0.q.into()) as u16).to_le_bytes());
        vec![("product", bytes.collect())]
    }

    fn key_pair(self, d: &[u8], z: &[u8]) -> [Vec<u8>; 2] {
        let (eta, q, bytes) = (i64::from(self.0.eta), i64::from(self.0.q), self.0.polynomial_coins_bytes());
        let coins = xof(d, 2 * bytes);
        let mut f: Polynomial = self.small(&coins[..bytes]).iter().map(|f| 2 * f).collect();
        f[0] += 1;
        let h = product(&self.small(&coins[bytes..]), &inverse(&f, q, POWERS).expect("a field has all inverses"));
        let public_key = radix::encode(h.iter().map(|h| (h.rem_euclid(q), q)).collect());
        let pke_key = pack(4, f.iter().map(|f| 2 * eta + 1 - f));
        let secret_key = [&pke_key, &public_key, z].concat();
        [public_key, secret_key]
    }

    /// The ciphertext and the shared key of a message.
    fn encapsulate_message(self, public_key: &[u8], message: &[u8]) -> [Vec<u8>; 2] {
        let hash = hash(&[&public_key[..33], message]);
        [self.encrypt(public_key, message, &hash[32..]), hash[..32].to_vec()]
    }

    fn encrypt(self, public_key: &[u8], message: &[u8], seed: &[u8]) -> Vec<u8> {
        let (q, q2) = (i64::from(self.0.q), i64::from(self.0.q2()));
        let h = radix::decode(public_key, &vec![q; self.0.n]);
        let r = self.small(&xof(seed, self.0.polynomial_coins_bytes()));
        let codewords = unpack(4, message).into_iter().flat_map(encode);
        let sigma = product(&h, &r);
        let c = sigma
            .iter()
            .zip(codewords.chain([0; 16]))
            .map(|(sigma, bit)| ((sigma.rem_euclid(q) * q2 + (q - 1) / 2) / q + bit * q2 / 2) % q2);
        pack(self.0.q2_bits, c)
    }

    fn decrypt(self, pke_key: &[u8], ciphertext: &[u8]) -> Vec<u8> {
        let (eta, q2, n) = (i64::from(self.0.eta), i64::from(self.0.q2()), self.0.n);
        let f: Polynomial = unpack(4, pke_key)[..n].iter().map(|field| 2 * eta + 1 - field).collect();
        let c = &unpack(self.0.q2_bits, ciphertext)[..n];
        let v: Polynomial = product(c, &f).iter().map(|v| v.rem_euclid(q2)).collect();
        pack(4, v.chunks_exact(8).take(n / 16 * 2).map(|block| decode(block, q2)))
    }

    /// The first coefficient of f, or the padding behind it, that is not as key generation makes it.
    fn bad_place(self, pke_key: &[u8]) -> Option<usize> {
        let eta = i64::from(self.0.eta);
        let fields = unpack(4, pke_key);
        (0..fields.len()).find(|&i| {
            let f = 2 * eta + 1 - fields[i];
            let legal = if i == 0 { (-eta..=eta).any(|x| f == 2 * x + 1) } else { (-eta..=eta).any(|x| f == 2 * x) };
            if i == self.0.n { fields[i] != 0 } else { !legal }
        })
    }

    /// A polynomial from the centred binomial distribution.
    fn small(self, coins: &[u8]) -> Polynomial {
        let mut small = sample(self.0.eta, coins);
        small.truncate(self.0.n);
        small
    }
}

/// a·b modulo x^n − x − 1, over the integers.
pub(crate) fn product(a: &[i64], b: &[i64]) -> Polynomial {
    ringforge_e8::oracle::product(a, b, POWERS)
}

/// What is made of all items, a vector for each output.
fn columns<const N: usize>(names: [&'static str; N], made: impl Iterator<Item = [Vec<u8>; N]>) -> Outputs {
    let mut columns = names.map(|name| (name, Vec::new()));
    made.for_each(|made| columns.iter_mut().zip(made).for_each(|((_, all), one)| all.extend(one)));
    columns.into()
}

fn told(place: Option<usize>) -> Vec<u8> {
    status(place.map(|coefficient| KeyError::InvalidSecretKey { coefficient })).to_le_bytes().to_vec()
}
