//! The traits fit a mechanism: a toy without any security, whose keys above 250 are invalid.

use std::error::Error;

use ringforge::{Device, Result, Stream};
use ringforge_batch::{BatchKem, BatchStatus, ErrorKind, ItemError, Resident, SchemeError, Sizes, batch_of};

struct Toy(Device);

type Status = BatchStatus<InvalidKey>;

/// Items of a byte, None where they have an error.
struct Bytes(Vec<Option<u8>>);

/// A key above 250.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key is above 250")]
struct InvalidKey;

impl SchemeError for InvalidKey {
    fn word(self) -> u32 {
        ringforge_batch::word(2, 0)
    }

    fn from_word(code: u8, number: usize) -> Option<Self> {
        ((code, number) == (2, 0)).then_some(Self)
    }
}

const WHY: ErrorKind<InvalidKey> = ErrorKind::Scheme(InvalidKey);

impl Bytes {
    fn import(bytes: &[u8], most: u8) -> Self {
        Self(bytes.iter().map(|byte| (*byte <= most).then_some(*byte)).collect())
    }

    fn map(&self, f: impl Fn(u8) -> u8) -> Self {
        Self(self.0.iter().map(|byte| byte.map(&f)).collect())
    }
}

impl Resident for Bytes {
    type Error = InvalidKey;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn status(&self, _: &Stream) -> Result<Status> {
        let faulty = self.0.iter().enumerate().filter(|(_, byte)| byte.is_none());
        Ok(BatchStatus::new(faulty.map(|(item, _)| ItemError { item, kind: WHY }).collect()))
    }

    fn export(&self, stream: &Stream, to: &mut [u8]) -> Result<Status> {
        to.iter_mut().zip(&self.0).for_each(|(to, byte)| *to = byte.unwrap_or(0));
        self.status(stream)
    }
}

impl BatchKem for Toy {
    type Error = InvalidKey;
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

    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Status> {
        let batch = self.sizes().generations(public_keys, secret_keys)?;
        let stream = self.0.stream()?;
        let (public, secret) = self.generate_on(&stream, batch)?;
        let _ = public.export(&stream, public_keys)?;
        secret.export(&stream, secret_keys)
    }

    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<Status> {
        self.sizes().encapsulations(public_keys, ciphertexts, shared_keys)?;
        let stream = self.0.stream()?;
        let (sent, keys) = self.encapsulate_on(&stream, &self.import_public_keys(&stream, public_keys)?)?;
        let _ = sent.export(&stream, ciphertexts)?;
        keys.export(&stream, shared_keys)
    }

    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Status> {
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
    kem.generate(&mut public_keys, &mut secret_keys)?.into_result()?;
    let (mut ciphertexts, mut sent) = (vec![0; batch * sizes.ciphertext], vec![0; batch * sizes.shared_key]);
    kem.encapsulate(&public_keys, &mut ciphertexts, &mut sent)?.into_result()?;
    let mut received = vec![0; batch * sizes.shared_key];
    kem.decapsulate(&secret_keys, &ciphertexts, &mut received)?.into_result()?;
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
fn errors_stay_with_their_item() {
    let (mut ciphertexts, mut shared_keys) = ([9; 4], [9; 4]);
    let status = Toy(Device::cpu()).encapsulate(&[1, 255, 3, 254], &mut ciphertexts, &mut shared_keys).unwrap();
    assert_eq!(status.errors(), [1, 3].map(|item| ItemError { item, kind: WHY }));
    assert_eq!((ciphertexts, shared_keys), ([0x5B, 0, 0x59, 0], [0x5A, 0, 0x5A, 0]));
}
