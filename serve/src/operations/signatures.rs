//! Signatures.

use ringforge::{Device, Engine, Result};
use ringforge_batch::{BatchStatus, Messages, SignatureScheme, Signatures};

use super::{all_ok, parts};
use crate::operation::{Inputs, Operation, Part, Shape};

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

/// Signing: secret key, message → signature. Hedged, and verified before it is handed out.
#[derive(Debug)]
pub struct Sign<M: SignatureScheme> {
    scheme: Signatures<M>,
    longest: usize,
}

/// Verification: public key, message, signature → an answer without parts if the signature is valid, else the item's
/// error.
#[derive(Debug)]
pub struct Verify<M: SignatureScheme> {
    scheme: Signatures<M>,
    longest: usize,
}

macro_rules! new {
    ($($type:ident)*) => {
        $(impl<M: SignatureScheme> $type<M> {
            /// The operation on an engine, for messages of up to `longest` bytes.
            ///
            /// # Errors
            /// The errors of [`Signatures::new`].
            pub fn new(engine: &Engine, longest: usize) -> Result<Self> {
                Ok(Self { scheme: Signatures::new(engine)?, longest })
            }
        })*
    };
}
new!(Sign Verify);

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
            inputs: vec![Part::new(M::SIZES.secret_key).secret(), Part::up_to(self.longest)],
            outputs: vec![Part::new(M::SIZES.signature)],
            powers_of_two: true, // the programs of a repetition are compiled for a number of items
        }
    }

    fn device(&self) -> &Device {
        self.scheme.device()
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        Ok(vec![key_pair(&self.scheme)?.1, Vec::new()])
    }

    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<M::Error>> {
        let [signatures] = parts(outputs)?;
        self.scheme.sign(batch.bytes(0), &messages(batch), signatures)
    }
}

impl<M: SignatureScheme> Operation for Verify<M> {
    type Error = M::Error;

    fn shape(&self) -> Shape {
        Shape {
            name: format!("{} verification", M::NAME),
            inputs: vec![Part::new(M::SIZES.public_key), Part::up_to(self.longest), Part::new(M::SIZES.signature)],
            outputs: vec![],
            powers_of_two: false,
        }
    }

    fn device(&self) -> &Device {
        self.scheme.device()
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        let (public_key, secret_key) = key_pair(&self.scheme)?;
        let mut signature = vec![0; M::SIZES.signature];
        all_ok(self.scheme.sign(&secret_key, &Messages::new(&[b""]), &mut signature)?)?;
        Ok(vec![public_key, Vec::new(), signature])
    }

    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<M::Error>> {
        let [] = parts(outputs)?;
        self.scheme.verify(batch.bytes(0), &messages(batch), batch.bytes(2))
    }
}

/// The messages of a batch, which are part 1.
fn messages<'a>(batch: &Inputs<'a>) -> Messages<'a> {
    Messages::new(&batch.items(1).collect::<Vec<_>>())
}

fn key_pair<M: SignatureScheme>(scheme: &Signatures<M>) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut public, mut secret) = (vec![0; M::SIZES.public_key], vec![0; M::SIZES.secret_key]);
    all_ok(scheme.generate(&mut public, &mut secret)?)?;
    Ok((public, secret))
}
