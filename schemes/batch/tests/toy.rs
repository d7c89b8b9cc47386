//! The traits fit a mechanism: a toy without any security, whose keys above 250 are invalid.

use std::error::Error;

use ringforge::{Device, Result, Stream};
use ringforge_batch::{BatchKem, Fault, Outcome, Reason, Resident, Sizes, batch_of};

struct Toy(Device);

/// Items of a byte, None where they have a fault.
struct Bytes(Vec<Option<u8>>);

const WHY: Reason = Reason::InvalidPublicKey { coefficient: 0 };

impl Bytes {
    fn import(bytes: &[u8], most: u8) -> Self {
        Self(bytes.iter().map(|byte| (*byte <= most).then_some(*byte)).collect())
    }

    fn map(&self, f: impl Fn(u8) -> u8) -> Self {
        Self(self.0.iter().map(|byte| byte.map(&f)).collect())
    }
}

impl Resident for Bytes {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn outcome(&self, _: &Stream) -> Result<Outcome> {
        let faulty = self.0.iter().enumerate().filter(|(_, byte)| byte.is_none());
        Ok(Outcome::new(faulty.map(|(item, _)| Fault { item, why: WHY }).collect()))
    }

    fn export(&self, stream: &Stream, to: &mut [u8]) -> Result<Outcome> {
        to.iter_mut().zip(&self.0).for_each(|(to, byte)| *to = byte.unwrap_or(0));
        self.outcome(stream)
    }
}

impl BatchKem for Toy {
    type PublicKeys = Bytes;
    type SecretKeys = Bytes;
    type Ciphertexts = Bytes;
    type SharedKeys = Bytes;

    fn sizes(&self) -> Sizes {
        Sizes { public_key: 1, secret_key: 1, ciphertext: 1, shared_key: 1 }
    }

    fn device(&self) -> &Device {
        &self.0
    }

    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Outcome> {
        let batch = self.sizes().generations(public_keys, secret_keys)?;
        let stream = self.0.stream()?;
        let (public, secret) = self.generate_on(&stream, batch)?;
        let _ = public.export(&stream, public_keys)?;
        secret.export(&stream, secret_keys)
    }

    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<Outcome> {
        self.sizes().encapsulations(public_keys, ciphertexts, shared_keys)?;
        let stream = self.0.stream()?;
        let (sent, keys) = self.encapsulate_on(&stream, &self.import_public_keys(&stream, public_keys)?)?;
        let _ = sent.export(&stream, ciphertexts)?;
        keys.export(&stream, shared_keys)
    }

    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Outcome> {
        self.sizes().decapsulations(secret_keys, ciphertexts, shared_keys)?;
        let stream = self.0.stream()?;
        let secret = self.import_secret_keys(&stream, secret_keys)?;
        let sent = self.import_ciphertexts(&stream, ciphertexts)?;
        self.decapsulate_on(&stream, &secret, &sent)?.export(&stream, shared_keys)
    }

    fn import_public_keys(&self, _: &Stream, bytes: &[u8]) -> Result<Bytes> {
        batch_of("bytes of public keys", bytes.len(), 1)?;
        Ok(Bytes::import(bytes, 250))
    }

    fn import_secret_keys(&self, _: &Stream, bytes: &[u8]) -> Result<Bytes> {
        Ok(Bytes::import(bytes, 250))
    }

    fn import_ciphertexts(&self, _: &Stream, bytes: &[u8]) -> Result<Bytes> {
        Ok(Bytes::import(bytes, u8::MAX))
    }

    fn generate_on(&self, _: &Stream, batch: usize) -> Result<(Bytes, Bytes)> {
        let keys: Vec<u8> = (0..batch).map(|i| i as u8 % 251).collect();
        Ok((Bytes::import(&keys, 250), Bytes::import(&keys, 250)))
    }

    fn encapsulate_on(&self, _: &Stream, public_keys: &Bytes) -> Result<(Bytes, Bytes)> {
        Ok((public_keys.map(|key| key ^ 0x5A), public_keys.map(|_| 0x5A)))
    }

    fn decapsulate_on(&self, _: &Stream, secret_keys: &Bytes, ciphertexts: &Bytes) -> Result<Bytes> {
        let items = secret_keys.0.iter().zip(&ciphertexts.0);
        Ok(Bytes(items.map(|(key, sent)| Some((*key)? ^ (*sent)?)).collect()))
    }
}

fn agree<K: BatchKem>(kem: &K, batch: usize) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let sizes = kem.sizes();
    let (mut public_keys, mut secret_keys) = (vec![0; batch * sizes.public_key], vec![0; batch * sizes.secret_key]);
    kem.generate(&mut public_keys, &mut secret_keys)?.all()?;
    let (mut ciphertexts, mut sent) = (vec![0; batch * sizes.ciphertext], vec![0; batch * sizes.shared_key]);
    kem.encapsulate(&public_keys, &mut ciphertexts, &mut sent)?.all()?;
    let mut received = vec![0; batch * sizes.shared_key];
    kem.decapsulate(&secret_keys, &ciphertexts, &mut received)?.all()?;
    Ok((sent, received))
}

#[test]
fn a_generic_caller_agrees_on_keys() {
    for batch in [0, 1, 300] {
        let (sent, received) = agree(&Toy(Device::cpu()), batch).unwrap();
        assert_eq!((sent.len(), &sent), (batch, &received));
    }
}

#[test]
fn faults_stay_with_their_item() {
    let (mut ciphertexts, mut shared_keys) = ([9; 4], [9; 4]);
    let outcome = Toy(Device::cpu()).encapsulate(&[1, 255, 3, 254], &mut ciphertexts, &mut shared_keys).unwrap();
    assert_eq!(outcome.faults(), [1, 3].map(|item| Fault { item, why: WHY }));
    assert_eq!((ciphertexts, shared_keys), ([0x5B, 0, 0x59, 0], [0x5A, 0, 0x5A, 0]));
}
