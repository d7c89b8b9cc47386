//! The test oracle: a direct implementation of the specification.
//!
//! It is slow and simple, works bit by bit, and multiplies polynomials over the integers. It shares only the parameter
//! sets with the rest of the crate; helpers and the key encapsulation come from `ringforge_e8::oracle`. Hash functions
//! are SHAKE-256 and SHA3-512. It does not protect secrets.

mod ring;

use ringforge_e8::oracle::{
    Oracle, Polynomial, decode, encode, inverse, pack, product, reciprocal, sample, unpack, xof,
};
use ringforge_e8::{EncryptionSizes, KeyError};

use crate::params::Parameters;

use ring::{Q, coefficients, values};

/// The oracle of one parameter set.
#[derive(Clone, Copy)]
pub(crate) struct Naive(pub(crate) Parameters);

impl Oracle for Naive {
    fn sizes(self) -> EncryptionSizes {
        self.0.sizes()
    }

    fn key_pair(self, d: &[u8]) -> Result<[Vec<u8>; 2], KeyError> {
        let eta = i64::from(self.0.eta);
        let [mut f, g] = self.small(d);
        f.iter_mut().for_each(|f| *f *= 2);
        f[0] += 1;
        let inverse = inverse(&f, Q, self.powers()).ok_or(KeyError::NotInvertible)?;
        let h = product(&g, &inverse, self.powers());
        let public_key = pack(12, values(&h).map(|value| value * (1 << 16) % Q));
        Ok([public_key, pack(self.0.key_width(), f.iter().map(|f| 2 * eta + 1 - f))])
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

    fn check_public(self, public_key: &[u8]) -> Result<(), KeyError> {
        wire_values(public_key).map(drop)
    }

    fn check_pke_key(self, pke_key: &[u8]) -> Result<(), KeyError> {
        self.fields(pke_key).map(drop)
    }
}

impl Naive {
    /// Unpacks a secret key to fields 2η + 1 − f for its coefficients f. Fails if a field is above 4η + 1.
    fn fields(self, pke_key: &[u8]) -> Result<Vec<i64>, KeyError> {
        let fields = below(4 * i64::from(self.0.eta) + 2, unpack(self.0.key_width(), pke_key));
        fields.map_err(|coefficient| KeyError::InvalidSecretKey { coefficient })
    }

    /// Samples two polynomials from the centred binomial distribution, with SHAKE-256 of the seed as randomness.
    fn small(self, seed: &[u8]) -> [Polynomial; 2] {
        let n = self.0.n;
        let mut first = sample(self.0.eta, &xof(seed, n * self.0.eta as usize / 2));
        let second = first.split_off(n);
        [first, second]
    }

    /// The reduction rule x^n = x^(n/2) − 1, as pairs of exponent and coefficient.
    const fn powers(self) -> [(usize, i64); 2] {
        [(self.0.n / 2, 1), (0, -1)]
    }
}

/// Unpacks the evaluations of a public key. Fails if an evaluation is not below q.
fn wire_values(public_key: &[u8]) -> Result<Vec<i64>, KeyError> {
    below(Q, unpack(12, public_key)).map_err(|coefficient| KeyError::InvalidPublicKey { coefficient })
}

/// Returns the numbers if all are below `bound`, else the index of the first that is not.
fn below(bound: i64, numbers: Vec<i64>) -> Result<Vec<i64>, usize> {
    numbers.iter().position(|&number| number >= bound).map_or(Ok(numbers), Err)
}
