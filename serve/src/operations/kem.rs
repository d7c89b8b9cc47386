//! Key encapsulation.

use ringforge::{Device, Engine, Result};
use ringforge_batch::{Batch, BatchStatus, KemScheme};

use super::{all_ok, parts};
use crate::operation::{Inputs, Operation, Part, Shape};

/// Key generation of a KEM. A request has no parts; an answer has a public key and a secret key.
#[derive(Debug)]
pub struct Generate<M: KemScheme>(Batch<M>);

/// Encapsulation: public key → ciphertext, shared key.
#[derive(Debug)]
pub struct Encapsulate<M: KemScheme>(Batch<M>);

/// Decapsulation: secret key, ciphertext → shared key. A rejected ciphertext gives a pseudorandom key, as in the scheme.
#[derive(Debug)]
pub struct Decapsulate<M: KemScheme>(Batch<M>);

macro_rules! new {
    ($($type:ident)*) => {
        $(impl<M: KemScheme> $type<M> {
            /// The operation on an engine.
            ///
            /// # Errors
            /// The errors of [`Batch::new`].
            pub fn new(engine: &Engine) -> Result<Self> {
                Batch::new(engine).map(Self)
            }
        })*
    };
}
new!(Generate Encapsulate Decapsulate);

impl<M: KemScheme> Operation for Generate<M> {
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

impl<M: KemScheme> Operation for Encapsulate<M> {
    type Error = M::Error;

    fn shape(&self) -> Shape {
        Shape {
            name: format!("{} encapsulation", M::NAME),
            inputs: vec![Part::new(M::SIZES.public_key)],
            outputs: vec![Part::new(M::SIZES.ciphertext), Part::new(M::SIZES.shared_key).secret()],
            powers_of_two: false,
        }
    }

    fn device(&self) -> &Device {
        self.0.device()
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        Ok(vec![key_pair(&self.0)?.0])
    }

    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<M::Error>> {
        let [ciphertexts, shared_keys] = parts(outputs)?;
        self.0.encapsulate(batch.bytes(0), ciphertexts, shared_keys)
    }
}

impl<M: KemScheme> Operation for Decapsulate<M> {
    type Error = M::Error;

    fn shape(&self) -> Shape {
        Shape {
            name: format!("{} decapsulation", M::NAME),
            inputs: vec![Part::new(M::SIZES.secret_key).secret(), Part::new(M::SIZES.ciphertext)],
            outputs: vec![Part::new(M::SIZES.shared_key).secret()],
            powers_of_two: false,
        }
    }

    fn device(&self) -> &Device {
        self.0.device()
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        let (public_key, secret_key) = key_pair(&self.0)?;
        let (mut ciphertext, mut shared) = (vec![0; M::SIZES.ciphertext], vec![0; M::SIZES.shared_key]);
        all_ok(self.0.encapsulate(&public_key, &mut ciphertext, &mut shared)?)?;
        Ok(vec![secret_key, ciphertext])
    }

    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<M::Error>> {
        let [shared_keys] = parts(outputs)?;
        self.0.decapsulate(batch.bytes(0), batch.bytes(1), shared_keys)
    }
}

fn key_pair<M: KemScheme>(kem: &Batch<M>) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut public, mut secret) = (vec![0; M::SIZES.public_key], vec![0; M::SIZES.secret_key]);
    all_ok(kem.generate(&mut public, &mut secret)?)?;
    Ok((public, secret))
}
