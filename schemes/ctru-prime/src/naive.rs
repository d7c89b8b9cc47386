//! The test oracle: a direct implementation of the specification.
//!
//! It is slow and simple, works bit by bit, and multiplies polynomials over the integers. It shares only the parameter
//! sets with the rest of the crate; helpers and the key encapsulation come from `ringforge_e8::oracle`. It does not
//! protect secrets.

mod radix;

use ringforge_e8::oracle::{Oracle, Outputs, Polynomial, decode, encode, inverse, pack, sample, unpack, xof};
use ringforge_e8::{EncryptionSizes, KeyError};
use ringforge_testkit::Named;

use crate::params::Parameters;

/// The reduction rule x^n = x + 1, as pairs of exponent and coefficient.
const POWERS: [(usize, i64); 2] = [(1, 1), (0, 1)];

/// The oracle of one parameter set.
#[derive(Clone, Copy)]
pub(crate) struct Naive(pub(crate) Parameters);

impl Oracle for Naive {
    fn sizes(self) -> EncryptionSizes {
        self.0.sizes()
    }

    fn key_pair(self, d: &[u8]) -> Result<[Vec<u8>; 2], KeyError> {
        let (eta, q, bytes) = (i64::from(self.0.eta), i64::from(self.0.q), self.0.sizes().polynomial_coins);
        let coins = xof(d, 2 * bytes);
        let mut f: Polynomial = self.small(&coins[..bytes]).iter().map(|f| 2 * f).collect();
        f[0] += 1;
        let h = product(&self.small(&coins[bytes..]), &inverse(&f, q, POWERS).expect("a field has all inverses"));
        let public_key = radix::encode(h.iter().map(|h| (h.rem_euclid(q), q)).collect());
        Ok([public_key, pack(4, f.iter().map(|f| 2 * eta + 1 - f))])
    }

    fn encrypt(self, public_key: &[u8], message: &[u8], seed: &[u8]) -> Result<Vec<u8>, KeyError> {
        let (q, q2) = (i64::from(self.0.q), i64::from(self.0.q2()));
        let h = radix::decode(public_key, &vec![q; self.0.n]);
        let r = self.small(&xof(seed, self.0.sizes().polynomial_coins));
        let codewords = unpack(4, message).into_iter().flat_map(encode);
        let sigma = product(&h, &r);
        let c = sigma
            .iter()
            .zip(codewords.chain([0; 16]))
            .map(|(sigma, bit)| ((sigma.rem_euclid(q) * q2 + (q - 1) / 2) / q + bit * q2 / 2) % q2);
        Ok(pack(self.0.q2_bits, c))
    }

    fn decrypt(self, pke_key: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.check_pke_key(pke_key)?;
        let (eta, q2, n) = (i64::from(self.0.eta), i64::from(self.0.q2()), self.0.n);
        let f: Polynomial = unpack(4, pke_key)[..n].iter().map(|field| 2 * eta + 1 - field).collect();
        let c = &unpack(self.0.q2_bits, ciphertext)[..n];
        let v: Polynomial = product(c, &f).iter().map(|v| v.rem_euclid(q2)).collect();
        Ok(pack(4, v.chunks_exact(8).take(n / 16 * 2).map(|block| decode(block, q2))))
    }

    /// Returns no error, because any bytes are a valid public key.
    fn check_public(self, _: &[u8]) -> Result<(), KeyError> {
        Ok(())
    }

    /// Reports the first coefficient of f that key generation never produces, or index n if the padding is not zero.
    fn check_pke_key(self, pke_key: &[u8]) -> Result<(), KeyError> {
        let eta = i64::from(self.0.eta);
        let fields = unpack(4, pke_key);
        let bad = (0..fields.len()).find(|&i| {
            let f = 2 * eta + 1 - fields[i];
            let legal = if i == 0 { (-eta..=eta).any(|x| f == 2 * x + 1) } else { (-eta..=eta).any(|x| f == 2 * x) };
            if i == self.0.n { fields[i] != 0 } else { !legal }
        });
        bad.map_or(Ok(()), |coefficient| Err(KeyError::InvalidSecretKey { coefficient }))
    }
}

impl Naive {
    /// The oracle of the plan `multiply`: products of residues modulo q and numbers from −η to η, both as 16-bit words.
    pub(crate) fn multiply(self, inputs: &Named) -> Outputs {
        let [large, small] = ["large", "small"].map(|name| -> Polynomial {
            inputs[name].as_chunks().0.iter().map(|word| i16::from_le_bytes(*word).into()).collect()
        });
        let products = large.chunks(self.0.n).zip(small.chunks(self.0.n)).flat_map(|(a, b)| product(a, b));
        let bytes = products.flat_map(|x| (x.rem_euclid(self.0.q.into()) as u16).to_le_bytes());
        vec![("product", bytes.collect())]
    }

    /// Samples a polynomial from the centred binomial distribution.
    fn small(self, coins: &[u8]) -> Polynomial {
        let mut small = sample(self.0.eta, coins);
        small.truncate(self.0.n);
        small
    }
}

/// Returns a·b modulo x^n − x − 1, over the integers.
pub(crate) fn product(a: &[i64], b: &[i64]) -> Polynomial {
    ringforge_e8::oracle::product(a, b, POWERS)
}
