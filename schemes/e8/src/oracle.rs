//! Common part of the test oracles of the CTRU family: slow code that follows the specifications bit by bit, with
//! polynomials over the integers. It shares only item sizes and errors with the code under test. It does not protect
//! secrets.

use ringforge::{Plan, RandomKey};
use ringforge_batch::{ENCAPSULATION_SEED, KEY_SEED, OK, Operation, status};
use ringforge_testkit::{Named, bytes};
use sha3::{Digest, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

use crate::error::KeyError;
use crate::kem::{Encryption, EncryptionSizes, Kem, Seed};

/// Coefficients of a polynomial, constant term first.
pub type Polynomial = Vec<i64>;

/// Outputs of a plan, by name.
pub type Outputs = Vec<(&'static str, Vec<u8>)>;

/// Outputs of one item, or its error.
type Made<const N: usize> = Result<[Vec<u8>; N], KeyError>;

/// Oracle of one parameter set: the encryption, implemented directly from its specification, and the KEM built from it.
pub trait Oracle: Copy {
    /// Sizes of the encryption.
    fn sizes(self) -> EncryptionSizes;

    /// Returns the public key and the decryption key for a seed d.
    ///
    /// # Errors
    /// Fails if the seed yields no key.
    fn key_pair(self, d: &[u8]) -> Made<2>;

    /// Encrypts a message with coins from a seed.
    ///
    /// # Errors
    /// Fails if the public key is invalid.
    fn encrypt(self, public_key: &[u8], message: &[u8], seed: &[u8]) -> Result<Vec<u8>, KeyError>;

    /// Decrypts a ciphertext.
    ///
    /// # Errors
    /// Fails if the decryption key is invalid.
    fn decrypt(self, pke_key: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, KeyError>;

    /// Checks a public key.
    ///
    /// # Errors
    /// Fails if the public key is invalid.
    fn check_public(self, public_key: &[u8]) -> Result<(), KeyError>;

    /// Checks the decryption key in a secret key.
    ///
    /// # Errors
    /// Fails if the decryption key is invalid.
    fn check_pke_key(self, pke_key: &[u8]) -> Result<(), KeyError>;

    /// Returns the expected outputs of a plan of this operation, restricted to the outputs that the plan has.
    fn outputs(self, plan: &Plan, operation: Operation, batch: usize, inputs: &Named) -> Outputs {
        let (parts, sizes) = (self.sizes(), self.sizes().kem());
        let items = |name: &str, size| inputs[name].chunks(size);
        let public_keys = || items("public keys", sizes.public_key);
        let secret_keys = || items("secret keys", sizes.secret_key);
        let mut outputs = match operation {
            Operation::Generate(_) => {
                let outputs = [("public keys", sizes.public_key), ("secret keys", sizes.secret_key)];
                let seeds = seeds(batch, inputs, KEY_SEED);
                let keys = seeds.chunks(KEY_SEED).enumerate().map(|(item, seed)| self.generate(item, seed, inputs));
                columns(outputs, keys)
            }
            Operation::Encapsulate(_) => {
                let seeds = seeds(batch, inputs, ENCAPSULATION_SEED);
                let items = public_keys().zip(seeds.chunks(ENCAPSULATION_SEED));
                let made = items.map(|(public_key, seed)| self.encapsulate(public_key, &xof(seed, parts.message)));
                columns([("ciphertexts", sizes.ciphertext), ("shared keys", sizes.shared_key)], made)
            }
            Operation::Decapsulate => {
                let items = secret_keys().zip(items("ciphertexts", sizes.ciphertext));
                let made = items.map(|(secret_key, ciphertext)| self.decapsulate(secret_key, ciphertext));
                columns([("shared keys", sizes.shared_key)], made)
            }
            Operation::CheckPublicKeys => columns([], public_keys().map(|key| self.check_public(key).map(|()| []))),
            Operation::CheckSecretKeys => {
                let [pke_keys, public_keys] = [0, 1].map(|part| secret_keys().map(move |key| parts.parts(key)[part]));
                let checked = pke_keys.zip(public_keys);
                let made =
                    checked.map(|(pke_key, key)| self.check_pke_key(pke_key).and_then(|()| self.check_public(key)));
                columns([], made.map(|fine| fine.map(|()| [])))
            }
        };
        outputs.retain(|(name, _)| plan.arg(name).is_some());
        outputs
    }

    /// Returns the key pair of an item for its seed d ‖ z. If d yields no key, tries the blocks of `random_key`, if
    /// given, for attempts 1 to 15. If the inputs contain statuses, an item whose status is ok keeps the keys in the
    /// inputs.
    fn generate(self, item: usize, seed: &[u8], inputs: &Named) -> Made<2> {
        let (d, z) = seed.split_at(32);
        let part = |name: &str, size: usize| inputs[name][item * size..][..size].to_vec();
        let key_pair = |d: &[u8]| {
            let [public_key, pke_key] = self.key_pair(d)?;
            let secret_key = [&pke_key, &public_key, z].concat();
            Ok([public_key, secret_key])
        };
        let sizes = self.sizes().kem();
        if inputs.contains_key("statuses") && part("statuses", 4) == OK.to_le_bytes() {
            return Ok([part("public keys", sizes.public_key), part("secret keys", sizes.secret_key)]);
        }
        let attempt = |attempt| match inputs.get("random_key") {
            Some(random_key) if attempt > 0 => key_pair(&draw(random_key, item, attempt)[..32]),
            _ => key_pair(d),
        };
        // If the inputs contain statuses, an earlier step has made attempt 0.
        let first = u32::from(inputs.contains_key("statuses"));
        let last = if inputs.contains_key("random_key") { 16 } else { 1 };
        (first + 1..last).fold(attempt(first), |made, next| made.or_else(|_| attempt(next)))
    }

    /// Encrypts a message under a public key. Returns the ciphertext and the shared key.
    ///
    /// # Errors
    /// Fails if the public key is invalid.
    fn encapsulate(self, public_key: &[u8], message: &[u8]) -> Made<2> {
        let hash = hash(&[&public_key[..33], message]);
        Ok([self.encrypt(public_key, message, &hash[32..])?, hash[..32].to_vec()])
    }

    /// Returns the shared key of a ciphertext: agreed, or rejected if re-encryption gives a different ciphertext.
    ///
    /// # Errors
    /// Fails if the decryption key or the public key in the secret key is invalid.
    fn decapsulate(self, secret_key: &[u8], ciphertext: &[u8]) -> Made<1> {
        let [pke_key, public_key, z] = self.sizes().parts(secret_key);
        let message = self.decrypt(pke_key, ciphertext)?;
        let [again, agreed] = self.encapsulate(public_key, &message)?;
        Ok([if again == ciphertext { agreed } else { hash(&[&public_key[..33], z, ciphertext])[..32].to_vec() }])
    }
}

/// Concatenates the outputs of all items, with zeros for items with an error, and appends the statuses.
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

/// Returns public keys, secret keys and ciphertexts as test inputs, made from random seeds.
///
/// Items are of five kinds, 0 to 4, in rotation. Items of kind 2 have random bytes for keys and ciphertext, and items
/// of kind 1 only for the ciphertext. Then `spoil` is called for each item, with its kind, and may change its public
/// key, secret key and ciphertext. Batches of 1, 2 and 3 items together contain all kinds.
///
/// # Panics
/// Panics if key generation or encapsulation fails.
pub fn samples<E: Encryption>(
    kem: &Kem<E>,
    seed: u64,
    batch: usize,
    spoil: impl Fn(usize, [&mut [u8]; 3]),
) -> [(&'static str, Vec<u8>); 3] {
    let (sizes, mut memory) = (kem.pke.sizes().kem(), kem.memory());
    // All buffers start with random bytes, which most items overwrite.
    let mut public_keys = bytes(seed, batch * sizes.public_key);
    let mut secret_keys = bytes(seed ^ 1, batch * sizes.secret_key);
    let mut ciphertexts = bytes(seed ^ 2, batch * sizes.ciphertext);
    let keys = public_keys.chunks_mut(sizes.public_key).zip(secret_keys.chunks_mut(sizes.secret_key));
    let items = keys.zip(ciphertexts.chunks_mut(sizes.ciphertext));
    for (i, ((public_key, secret_key), ciphertext)) in items.enumerate() {
        let (kind, seed) = ((batch + i) % 5, bytes(seed ^ 3 ^ (i as u64) << 32, 32));
        let seed: &Seed = seed.as_slice().try_into().expect("a seed has 32 bytes");
        if kind != 2 {
            kem.key_pair(seed, public_key, secret_key, &mut memory).expect("lengths match the parameter set");
        }
        if kind != 1 && kind != 2 {
            kem.encapsulate(public_key, seed, ciphertext, &mut Seed::default(), &mut memory)
                .expect("lengths match the parameter set");
        }
        spoil(kind, [public_key, secret_key, ciphertext]);
    }
    [("public keys", public_keys), ("secret keys", secret_keys), ("ciphertexts", ciphertexts)]
}

/// Returns the codeword of a nibble: the sum modulo 2 of the generator rows selected by its bits.
#[must_use]
pub fn encode(nibble: i64) -> [i64; 8] {
    const ROWS: [[i64; 8]; 4] =
        [[1, 0, 1, 0, 1, 0, 1, 0], [1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]];
    core::array::from_fn(|j| (0..4).filter(|i| nibble >> i & 1 == 1).map(|i| ROWS[i][j]).sum::<i64>() % 2)
}

/// Returns the nibble of the nearest codeword for eight numbers below q2, with squared distances, by section 2.8 of the
/// specification of CTRU. Ties are resolved as specified.
#[must_use]
pub fn decode(v: &[i64], q2: i64) -> i64 {
    let zero = |x: i64| x.min(q2 - x).pow(2);
    let one = |x: i64| (x - q2 / 2).pow(2);
    let coset = |t: i64| {
        let mut cost = 0;
        let (mut y, mut d) = ([0; 4], [0; 4]);
        for i in 0..4 {
            let (a, b) = (v[2 * i], v[2 * i + 1]);
            let (c0, c1) =
                if t == 0 { (zero(a) + zero(b), one(a) + one(b)) } else { (one(a) + zero(b), zero(a) + one(b)) };
            y[i] = i64::from(c1 < c0);
            cost += c0.min(c1);
            d[i] = (c1 - c0).abs();
        }
        if y.iter().sum::<i64>() % 2 == 1 {
            let first = (0..4).min_by_key(|&i| d[i]).unwrap_or(0);
            y[first] ^= 1;
            cost += d[first];
        }
        (cost, t | y[0] << 1 | (y[0] ^ y[1]) << 2 | y[3] << 3)
    };
    let (even, odd) = (coset(0), coset(1));
    if odd.0 < even.0 { odd.1 } else { even.1 }
}

/// Returns the squared distances of eight coordinates modulo q2 from the sixteen codewords.
#[cfg(test)]
pub(crate) fn distances(v: &[i64], q2: i64) -> [i64; 16] {
    core::array::from_fn(|nibble| {
        let distance = |(x, one): (&i64, i64)| {
            let y = (x - one * (q2 / 2)).rem_euclid(q2);
            y.min(q2 - y).pow(2)
        };
        v.iter().zip(encode(nibble as i64)).map(distance).sum()
    })
}

/// Samples centred binomial coefficients from consecutive bits of `bytes`: the sum of `eta` bits minus that of the next
/// `eta`.
#[must_use]
pub fn sample(eta: u32, bytes: &[u8]) -> Polynomial {
    let ones = |bits: &[i64]| bits.iter().sum::<i64>();
    let bits = unpack(1, bytes);
    bits.chunks_exact(2 * eta as usize)
        .map(|bits| bits.split_at(eta as usize))
        .map(|(a, b)| ones(a) - ones(b))
        .collect()
}

/// Packs numbers of `width` bits into bytes, least significant bit first.
#[must_use]
pub fn pack(width: u32, numbers: impl IntoIterator<Item = i64>) -> Vec<u8> {
    let bits: Vec<i64> = numbers.into_iter().flat_map(|number| (0..width).map(move |bit| number >> bit & 1)).collect();
    bits.chunks(8).map(|bits| number(bits) as u8).collect()
}

/// Unpacks all numbers of `width` bits from bytes; the last one takes the remaining bits.
#[must_use]
pub fn unpack(width: u32, bytes: &[u8]) -> Vec<i64> {
    let bits: Vec<i64> = bytes.iter().flat_map(|byte| (0..8).map(move |bit| i64::from(byte >> bit & 1))).collect();
    bits.chunks(width as usize).map(number).collect()
}

fn number(bits: &[i64]) -> i64 {
    bits.iter().rev().fold(0, |number, bit| 2 * number + bit)
}

/// Product a·b over the integers, modulo a polynomial of degree n, where n is the length of `a`. `powers` defines that
/// polynomial: x^n is the sum of c·x^k over the pairs (k, c) in `powers`.
#[must_use]
pub fn product(a: &[i64], b: &[i64], powers: [(usize, i64); 2]) -> Polynomial {
    let n = a.len();
    let mut product = vec![0; 2 * n];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            product[i + j] += a * b;
        }
    }
    for k in (n..2 * n).rev() {
        let top = product[k];
        powers.into_iter().for_each(|(power, multiple)| product[k - n + power] += multiple * top);
    }
    product.truncate(n);
    product
}

/// Inverse of f modulo a prime q and the polynomial that `powers` defines (see [`product`]). Uses Euclid's extended
/// algorithm; returns `None` if f and the polynomial have a common factor.
#[must_use]
pub fn inverse(f: &[i64], q: i64, powers: [(usize, i64); 2]) -> Option<Polynomial> {
    let n = f.len();
    let zeros = vec![0; n + 1];
    // Invariant of a and of b, as pairs (first, second): second · f = first, modulo q and the polynomial.
    let mut a = [zeros.clone(), zeros.clone()];
    let mut b = [zeros.clone(), zeros];
    a[0][n] = 1;
    powers.into_iter().for_each(|(power, multiple)| a[0][power] = (-multiple).rem_euclid(q));
    b[0][..n].copy_from_slice(&f.iter().map(|f| f.rem_euclid(q)).collect::<Polynomial>());
    b[1][0] = 1;
    let degree = |a: &[i64]| a.iter().rposition(|&x| x != 0);
    while let Some(low) = degree(&b[0]) {
        let unit = reciprocal(b[0][low], q);
        while let Some(high) = degree(&a[0]).filter(|&high| high >= low) {
            let factor = a[0][high] * unit % q;
            for (a, b) in a.iter_mut().zip(&b) {
                (high - low..=n).for_each(|k| a[k] = (a[k] - factor * b[k - (high - low)]).rem_euclid(q));
            }
        }
        core::mem::swap(&mut a, &mut b);
    }
    let [gcd, inverse] = a;
    (degree(&gcd) == Some(0)).then(|| inverse[..n].iter().map(|x| x * reciprocal(gcd[0], q) % q).collect())
}

/// 1/x modulo a prime q, by exhaustive search.
///
/// # Panics
/// Panics if x is 0 modulo q, or if q is not prime.
#[must_use]
pub fn reciprocal(x: i64, q: i64) -> i64 {
    (1..q).find(|y| x * y % q == 1).expect("q is prime, and x is not 0")
}

/// SHAKE-256 of a seed, `length` bytes.
#[must_use]
pub fn xof(seed: &[u8], length: usize) -> Vec<u8> {
    Shake256::default().chain(seed).finalize_xof().read_boxed(length).into()
}

/// SHA3-512 of the concatenated parts.
#[must_use]
pub fn hash(parts: &[&[u8]]) -> Vec<u8> {
    Sha3_512::digest(parts.concat()).to_vec()
}

/// Returns the seeds of all items, `size` bytes each: those in the inputs or, if there are none, those derived from
/// `random_key`.
#[must_use]
pub fn seeds(batch: usize, inputs: &Named, size: usize) -> Vec<u8> {
    let drawn = || (0..batch).flat_map(|item| draw(&inputs["random_key"], item, 0)[..size].to_vec()).collect();
    inputs.get("seeds").cloned().unwrap_or_else(drawn)
}

/// Returns the random block of an item for an attempt number.
///
/// # Panics
/// Panics unless `random_key` has the length of a [`RandomKey`].
#[must_use]
pub fn draw(random_key: &[u8], item: usize, attempt: u32) -> [u8; 64] {
    RandomKey::from_bytes(random_key).expect("draws have a fixed number of bytes").block(item as u64, attempt)
}
