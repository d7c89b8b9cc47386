//! Deterministic nonces from key and digest: RFC 6979 (HMAC-DRBG) with HMAC-SM3. No Chinese standard defines this.

use hmac::{Hmac, KeyInit, Mac};
use sm3::Sm3;
use zeroize::Zeroizing;

use crate::field::{Scalar, from_be};
use crate::item::{Digest, nonce};

/// The nonce generator of RFC 6979, section 3.2: an endless sequence of candidates for one private key and digest.
pub(crate) struct Nonces {
    key: Zeroizing<[u8; 32]>,
    value: Zeroizing<[u8; 32]>,
}

impl Nonces {
    /// Starts the generator for the private key d and the digest e. `extra` is additional data (section 3.6 of RFC
    /// 6979); it is empty for deterministic signatures.
    pub(crate) fn new(d: &Scalar, e: &Digest, extra: &[u8]) -> Self {
        let mut nonces = Self { key: Zeroizing::new([0; 32]), value: Zeroizing::new([1; 32]) };
        let (d, e) = (Zeroizing::new(d.to_bytes()), Scalar::reduced(from_be(e)).to_bytes());
        nonces.update(0, [&*d, &e, extra]);
        nonces.update(1, [&*d, &e, extra]);
        nonces
    }

    /// Returns the next candidate from 1 to n − 1, where n is the order of the group.
    pub(crate) fn next(&mut self) -> Scalar {
        loop {
            self.value = mac(&self.key, &[&*self.value]);
            let k = nonce(&self.value);
            self.update(0, [&[]; 3]);
            if let Ok(k) = k {
                return k;
            }
        }
    }

    fn update(&mut self, tag: u8, parts: [&[u8]; 3]) {
        let [a, b, c] = parts;
        self.key = mac(&self.key, &[&*self.value, &[tag], a, b, c]);
        self.value = mac(&self.key, &[&*self.value]);
    }
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let mut block = Zeroizing::new([0; 64]);
    block[..32].copy_from_slice(key);
    let start = Hmac::<Sm3>::new((&*block).into());
    let mac = parts.iter().fold(start, |mac, part| mac.chain_update(part));
    Zeroizing::new(mac.finalize().into_bytes().into())
}

/// Asserts at compile time that hash states are wiped when dropped, since they process keys and nonces. An `Hmac`
/// consists of two hash states and a hash buffer.
const _: () = {
    const fn is_wiped<T: zeroize::ZeroizeOnDrop>() {}
    is_wiped::<Sm3>();
};
