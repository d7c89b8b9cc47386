//! The oracle: the scheme written from its specification, to test everything else against.
//!
//! Slow and obvious: bit by bit, and with polynomials over the integers. It shares nothing with the rest of the crate but
//! the parameter sets, takes SHAKE-256 and SHA3-512 for the hash functions, and keeps no secrets.

mod ring;

use ringforge::Draws;
use ringforge_batch::Reason;
use sha3::{Digest, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

use crate::params::Parameters;

use ring::{Polynomial, Q, coefficients, inverse, product, reciprocal, values};

/// Codewords of the messages 1, 2, 4 and 8.
const CODE: [i64; 4] = [0x55, 0x0f, 0x3c, 0xf0];

/// What is made of an item, or why nothing is.
type Made<const N: usize> = Result<[Vec<u8>; N], Reason>;

/// One parameter set. Each function says what a plan should make of its inputs.
#[derive(Clone, Copy)]
pub(crate) struct Naive(pub(crate) Parameters);

impl Naive {
    /// in: d ‖ z of each item
    pub(crate) fn generate_from(self, seeds: &[u8]) -> Vec<Vec<u8>> {
        let keys = |seed: &[u8]| self.key_pair(&seed[..32], &seed[32..]).ok_or(Reason::NotInvertible);
        columns(self.key_sizes(), seeds.chunks(64).map(keys))
    }

    pub(crate) fn generate(self, batch: usize, draws: &[u8]) -> Vec<Vec<u8>> {
        let seeds: Vec<u8> = (0..batch).flat_map(|item| draw(draws, item, 0)).collect();
        self.retry(&[vec![draws.to_vec(), seeds.clone()], self.generate_from(&seeds)].concat())
    }

    /// in: draws, d ‖ z of each item, what [`Naive::generate_from`] makes
    pub(crate) fn retry(self, inputs: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let [draws, seeds, public_keys, secret_keys, statuses] = inputs else { panic!("five arguments") };
        let [public_key, secret_key] = self.key_sizes();
        let keys = public_keys.chunks(public_key).zip(secret_keys.chunks(secret_key));
        let items = keys.zip(seeds.chunks(64)).zip(statuses.chunks(4)).enumerate();
        let keys = items.map(|(item, (((public_key, secret_key), seed), status))| {
            if status == Reason::FINE.to_le_bytes() {
                return Ok([public_key.to_vec(), secret_key.to_vec()]);
            }
            let again = (1..).find_map(|attempt| self.key_pair(&draw(draws, item, attempt)[..32], &seed[32..]));
            Ok(again.expect("some draw gives a key"))
        });
        columns([public_key, secret_key], keys)
    }

    /// in: u of each item
    pub(crate) fn encapsulate_from(self, public_keys: &[u8], seeds: &[u8]) -> Vec<Vec<u8>> {
        let items = public_keys.chunks(self.0.public_key_bytes()).zip(seeds.chunks(32));
        let made = items.map(|(public_key, seed)| self.encapsulate_message(public_key, &xof(seed, self.0.n / 16)));
        columns([self.0.ciphertext_bytes(), 32], made)
    }

    pub(crate) fn encapsulate(self, batch: usize, public_keys: &[u8], draws: &[u8]) -> Vec<Vec<u8>> {
        let seeds: Vec<u8> = (0..batch).flat_map(|item| draw(draws, item, 0)[..32].to_vec()).collect();
        self.encapsulate_from(public_keys, &seeds)
    }

    pub(crate) fn decapsulate(self, secret_keys: &[u8], ciphertexts: &[u8]) -> Vec<Vec<u8>> {
        let ciphertexts = ciphertexts.chunks(self.0.ciphertext_bytes());
        let made = secret_keys.chunks(self.0.secret_key_bytes()).zip(ciphertexts).map(|(secret_key, ciphertext)| {
            let [pke_key, public_key, z] = self.0.parts(secret_key);
            let message = self.decrypt(pke_key, ciphertext)?;
            let [again, agreed] = self.encapsulate_message(public_key, &message)?;
            Ok([if again == ciphertext { agreed } else { hash(&[&public_key[..33], z, ciphertext])[..32].to_vec() }])
        });
        columns([32], made)
    }

    pub(crate) fn check_public(self, public_keys: &[u8]) -> Vec<Vec<u8>> {
        let keys = public_keys.chunks(self.0.public_key_bytes());
        columns([], keys.map(|public_key| wire_values(public_key).map(|_| [])))
    }

    pub(crate) fn check_secret(self, secret_keys: &[u8]) -> Vec<Vec<u8>> {
        let keys = secret_keys.chunks(self.0.secret_key_bytes()).map(|secret_key| {
            let [pke_key, public_key, _] = self.0.parts(secret_key);
            self.fields(pke_key)?;
            wire_values(public_key).map(|_| [])
        });
        columns([], keys)
    }

    fn key_sizes(self) -> [usize; 2] {
        [self.0.public_key_bytes(), self.0.secret_key_bytes()]
    }

    fn key_pair(self, d: &[u8], z: &[u8]) -> Option<[Vec<u8>; 2]> {
        let eta = i64::from(self.0.eta);
        let [mut f, g] = self.small(d);
        f.iter_mut().for_each(|f| *f *= 2);
        f[0] += 1;
        let h = product(&g, &inverse(&f)?);
        let public_key = pack(12, values(&h).map(|value| value * (1 << 16) % Q));
        let pke_key = pack(self.0.key_width(), f.iter().map(|f| 2 * eta + 1 - f));
        let secret_key = [&pke_key, &public_key, z].concat();
        Some([public_key, secret_key])
    }

    /// The ciphertext and the shared key of a message.
    fn encapsulate_message(self, public_key: &[u8], message: &[u8]) -> Made<2> {
        let hash = hash(&[&public_key[..33], message]);
        Ok([self.encrypt(public_key, message, &hash[32..])?, hash[..32].to_vec()])
    }

    fn encrypt(self, public_key: &[u8], message: &[u8], seed: &[u8]) -> Result<Vec<u8>, Reason> {
        let values = wire_values(public_key)?;
        let h = coefficients(&values.iter().map(|value| value * reciprocal(1 << 16) % Q).collect::<Polynomial>());
        let [r, e] = self.small(seed);
        let codewords = unpack(4, message).into_iter().flat_map(|nibble| {
            let word = (0..4).filter(|i| nibble >> i & 1 == 1).fold(0, |word, i| word ^ CODE[i]);
            (0..8).map(move |j| word >> j & 1)
        });
        let q2 = i64::from(self.0.q2());
        let c = product(&h, &r).into_iter().zip(e).zip(codewords).map(|((hr, e), bit)| {
            if self.0.noise {
                (((hr + e).rem_euclid(Q) + bit * (Q + 1) / 2) * q2 + (Q - 1) / 2) / Q % q2
            } else {
                ((hr.rem_euclid(Q) * q2 + (Q - 1) / 2) / Q + bit * q2 / 2) % q2
            }
        });
        Ok(pack(self.0.q2_bits, c))
    }

    fn decrypt(self, pke_key: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, Reason> {
        let (eta, q2) = (i64::from(self.0.eta), i64::from(self.0.q2()));
        let f: Polynomial = self.fields(pke_key)?.iter().map(|field| 2 * eta + 1 - field).collect();
        let v: Polynomial = product(&unpack(self.0.q2_bits, ciphertext), &f).iter().map(|v| v.rem_euclid(q2)).collect();
        Ok(pack(4, v.chunks(8).map(|block| nearest(block, q2))))
    }

    /// The packed numbers of the secret key f.
    fn fields(self, pke_key: &[u8]) -> Result<Vec<i64>, Reason> {
        let fields = below(4 * i64::from(self.0.eta) + 2, unpack(self.0.key_width(), pke_key));
        fields.map_err(|coefficient| Reason::InvalidSecretKey { coefficient })
    }

    /// Two polynomials from the centred binomial distribution.
    fn small(self, seed: &[u8]) -> [Polynomial; 2] {
        let (n, eta) = (self.0.n, self.0.eta as usize);
        let bits = unpack(1, &xof(seed, n * eta / 2));
        let ones = |bits: &[i64]| bits.iter().sum::<i64>();
        let mut first: Polynomial = bits.chunks(2 * eta).map(|bits| ones(&bits[..eta]) - ones(&bits[eta..])).collect();
        let second = first.split_off(n);
        [first, second]
    }
}

/// What is made of all items, one vector for each argument: zeros where there is a status instead, and the statuses.
fn columns<const N: usize>(sizes: [usize; N], made: impl Iterator<Item = Made<N>>) -> Vec<Vec<u8>> {
    let mut columns = vec![Vec::new(); N + 1];
    for made in made {
        let status = Reason::status(made.as_ref().err().copied());
        let made = made.unwrap_or(sizes.map(|size| vec![0; size]));
        let made = made.into_iter().chain([status.to_le_bytes().into()]);
        columns.iter_mut().zip(made).for_each(|(all, one)| all.extend(one));
    }
    columns
}

/// The numbers of a public key.
fn wire_values(public_key: &[u8]) -> Result<Vec<i64>, Reason> {
    below(Q, unpack(12, public_key)).map_err(|coefficient| Reason::InvalidPublicKey { coefficient })
}

/// These numbers, or the place of the first that is not below the bound.
fn below(bound: i64, numbers: Vec<i64>) -> Result<Vec<i64>, usize> {
    numbers.iter().position(|&number| number >= bound).map_or(Ok(numbers), Err)
}

fn draw(draws: &[u8], item: usize, attempt: u32) -> [u8; 64] {
    Draws::from_bytes(draws).expect("the bytes of draws").block(item as u64, attempt)
}

fn xof(seed: &[u8], length: usize) -> Vec<u8> {
    Shake256::default().chain(seed).finalize_xof().read_boxed(length).into()
}

fn hash(parts: &[&[u8]]) -> Vec<u8> {
    Sha3_512::digest(parts.concat()).to_vec()
}

/// Numbers of this many bits, least first.
fn unpack(width: u32, bytes: &[u8]) -> Vec<i64> {
    let bits: Vec<i64> = bytes.iter().flat_map(|byte| (0..8).map(move |bit| i64::from(byte >> bit & 1))).collect();
    bits.chunks(width as usize).map(number).collect()
}

fn pack(width: u32, numbers: impl Iterator<Item = i64>) -> Vec<u8> {
    let bits: Vec<i64> = numbers.flat_map(|number| (0..width).map(move |bit| number >> bit & 1)).collect();
    bits.chunks(8).map(|bits| number(bits) as u8).collect()
}

fn number(bits: &[i64]) -> i64 {
    bits.iter().rev().fold(0, |number, bit| 2 * number + bit)
}

/// The message of the codeword nearest to eight numbers below q2; of two as near, the one that the specification says.
fn nearest(v: &[i64], q2: i64) -> i64 {
    let distance = |x: i64, bit: i64| if bit == 0 { x.min(q2 - x).pow(2) } else { (x - q2 / 2).pow(2) };
    let [zero, one] = [0, 1].map(|t| {
        let costs: [[i64; 2]; 4] =
            core::array::from_fn(|i| [0, 1].map(|y| distance(v[2 * i], y ^ t) + distance(v[2 * i + 1], y)));
        let mut y = costs.map(|[c0, c1]| i64::from(c1 < c0));
        let mut cost: i64 = costs.iter().flat_map(|c| c.iter().min()).sum();
        if y.iter().sum::<i64>() % 2 == 1 {
            let loss = |i: usize| (costs[i][1] - costs[i][0]).abs();
            let first = (1..4).fold(0, |first, i| if loss(i) < loss(first) { i } else { first });
            y[first] ^= 1;
            cost += loss(first);
        }
        (cost, t | y[0] << 1 | (y[0] ^ y[1]) << 2 | y[3] << 3)
    });
    if one.0 < zero.0 { one.1 } else { zero.1 }
}
