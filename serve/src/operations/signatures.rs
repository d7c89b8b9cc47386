//! Signatures.

use core::fmt;

use ringforge::{Device, Engine, Error, Result};
use ringforge_batch::{BatchStatus, Messages, SignatureScheme, Signatures};

use super::{all_ok, parts};
use crate::operation::{Inputs, Operation, Part, Shape};
use crate::page::Secret;

/// Key generation of a signature scheme. A request has no parts; an answer has a public key and a secret key.
#[derive(Debug)]
pub struct GenerateSigningKeys<M: SignatureScheme>(Signatures<M>);

impl<M: SignatureScheme> GenerateSigningKeys<M> {
    /// The operation on an engine.
    ///
    /// # Errors
    /// The errors of [`Signatures::new`].
    pub fn new(engine: &Engine) -> Result<Self> {
        Signatures::new(engine).map(Self)
    }
}

/// Signing: secret key, message → signature. Hedged, and verified before it is handed out. [With a key](Sign::with_key), a
/// request is a message.
#[derive(Debug)]
pub struct Sign<M: SignatureScheme>(Common<M>);

/// Verification: public key, message, signature → an answer without parts if the signature is valid, else the item's
/// error. [With a key](Verify::with_key), a request is a message and a signature.
#[derive(Debug)]
pub struct Verify<M: SignatureScheme>(Common<M>);

/// The data of signing or verification.
struct Common<M: SignatureScheme> {
    scheme: Signatures<M>,
    /// Bytes of the longest message.
    longest: usize,
    /// The key of all requests; `None` if each has its own.
    key: Option<Secret>,
}

impl<M: SignatureScheme> Common<M> {
    fn new(engine: &Engine, longest: usize, key: Option<(&[u8], usize)>) -> Result<Self> {
        if let Some((key, expected)) = key.filter(|(key, size)| key.len() != *size) {
            return Err(Error::Length { what: "bytes of a key", expected, got: key.len() });
        }
        let key = key.map(|(key, _)| Secret { bytes: key.to_vec(), is_secret: true });
        Ok(Self { scheme: Signatures::new(engine)?, longest, key })
    }

    /// The parts of a request: its key, if it has one, the message, and the others.
    fn inputs(&self, key: Part, others: &[Part]) -> Vec<Part> {
        let own = self.key.is_none().then_some(key);
        own.into_iter().chain([Part::up_to(self.longest)]).chain(others.iter().copied()).collect()
    }

    /// The keys of a batch, its messages, and the number of the part that follows.
    fn requests<'a>(&'a self, batch: &Inputs<'a>) -> (&'a [u8], Messages<'a>, usize) {
        let (keys, message) = self.key.as_ref().map_or_else(|| (batch.bytes(0), 1), |key| (&key.bytes[..], 0));
        (keys, Messages::new(&batch.items(message).collect::<Vec<_>>()), message + 1)
    }
}

impl<M: SignatureScheme> fmt::Debug for Common<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, messages of up to {} bytes", self.scheme, self.longest) // the key may be secret
    }
}

impl<M: SignatureScheme> Sign<M> {
    /// The operation on an engine, for messages of up to `longest` bytes.
    ///
    /// # Errors
    /// The errors of [`Signatures::new`].
    pub fn new(engine: &Engine, longest: usize) -> Result<Self> {
        Common::new(engine, longest, None).map(Self)
    }

    /// The operation with one secret key, which is expanded once for each batch. The copy of the key is wiped on drop.
    ///
    /// # Errors
    /// [`Error::Length`] for a key of a wrong size; the errors of [`Signatures::new`].
    pub fn with_key(engine: &Engine, longest: usize, secret_key: &[u8]) -> Result<Self> {
        Common::new(engine, longest, Some((secret_key, M::SIZES.secret_key))).map(Self)
    }
}

impl<M: SignatureScheme> Verify<M> {
    /// The operation on an engine, for messages of up to `longest` bytes.
    ///
    /// # Errors
    /// The errors of [`Signatures::new`].
    pub fn new(engine: &Engine, longest: usize) -> Result<Self> {
        Common::new(engine, longest, None).map(Self)
    }

    /// The operation with one public key, which is expanded once for each batch.
    ///
    /// # Errors
    /// [`Error::Length`] for a key of a wrong size; the errors of [`Signatures::new`].
    pub fn with_key(engine: &Engine, longest: usize, public_key: &[u8]) -> Result<Self> {
        Common::new(engine, longest, Some((public_key, M::SIZES.public_key))).map(Self)
    }
}

impl<M: SignatureScheme> Operation for GenerateSigningKeys<M> {
    type Error = M::Error;

    fn shape(&self) -> Shape {
        Shape {
            name: format!("{} key generation", M::NAME),
            inputs: vec![],
            outputs: vec![Part::new(M::SIZES.public_key), Part::new(M::SIZES.secret_key).secret()],
            powers_of_two: false,
        }
    }

    fn device(&self) -> &Device {
        self.0.device()
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    fn run(&self, _: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<M::Error>> {
        let [public_keys, secret_keys] = parts(outputs)?;
        self.0.generate(public_keys, secret_keys)
    }
}

impl<M: SignatureScheme> Operation for Sign<M> {
    type Error = M::Error;

    fn shape(&self) -> Shape {
        Shape {
            name: format!("{} signing", M::NAME),
            inputs: self.0.inputs(Part::new(M::SIZES.secret_key).secret(), &[]),
            outputs: vec![Part::new(M::SIZES.signature)],
            powers_of_two: true, // the programs of a repetition are compiled for a number of items
        }
    }

    fn device(&self) -> &Device {
        self.0.scheme.device()
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        let own = self.0.key.is_none().then(|| Ok::<_, Error>(key_pair(&self.0.scheme)?.1)).transpose()?;
        Ok(own.into_iter().chain([Vec::new()]).collect())
    }

    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<M::Error>> {
        let [signatures] = parts(outputs)?;
        let (keys, messages, _) = self.0.requests(batch);
        self.0.scheme.sign(keys, &messages, signatures)
    }
}

impl<M: SignatureScheme> Operation for Verify<M> {
    type Error = M::Error;

    fn shape(&self) -> Shape {
        Shape {
            name: format!("{} verification", M::NAME),
            inputs: self.0.inputs(Part::new(M::SIZES.public_key), &[Part::new(M::SIZES.signature)]),
            outputs: vec![],
            powers_of_two: false,
        }
    }

    fn device(&self) -> &Device {
        self.0.scheme.device()
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        let (public_key, secret_key) = key_pair(&self.0.scheme)?;
        let mut signature = vec![0; M::SIZES.signature];
        all_ok(self.0.scheme.sign(&secret_key, &Messages::new(&[b""]), &mut signature)?)?;
        // with a key, the signature is wrong, which takes as long
        Ok(self.0.key.is_none().then_some(public_key).into_iter().chain([Vec::new(), signature]).collect())
    }

    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<M::Error>> {
        let [] = parts(outputs)?;
        let (keys, messages, signatures) = self.0.requests(batch);
        self.0.scheme.verify(keys, &messages, batch.bytes(signatures))
    }
}

fn key_pair<M: SignatureScheme>(scheme: &Signatures<M>) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut public, mut secret) = (vec![0; M::SIZES.public_key], vec![0; M::SIZES.secret_key]);
    all_ok(scheme.generate(&mut public, &mut secret)?)?;
    Ok((public, secret))
}
