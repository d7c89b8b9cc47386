//! SM2 signatures of digests.

use ringforge::{Device, Engine, Result};
use ringforge_batch::BatchStatus;
use ringforge_sm2::{Mode, Signer, Sm2Error, Verifier};

use super::{all_ok, parts};
use crate::operation::{Inputs, Operation, Part, Shape};

/// Bytes of private keys, digests and coordinates.
const WORD: usize = 32;

/// Signing by SM2: private key of 32 bytes, digest of 32 bytes → signature of 64 bytes, r ‖ s.
#[derive(Debug)]
pub struct SignSm2(Signer);

impl SignSm2 {
    /// The operation on an engine.
    ///
    /// # Errors
    /// The errors of [`Signer::new`].
    pub fn new(engine: &Engine, mode: Mode) -> Result<Self> {
        Signer::new(engine, mode).map(Self)
    }
}

/// Verification by SM2: public key of 64 bytes, x ‖ y, digest of 32 bytes, signature of 64 bytes → an answer without parts if
/// the signature is valid, else the item's error.
#[derive(Debug)]
pub struct VerifySm2(Verifier);

impl VerifySm2 {
    /// The operation on an engine.
    ///
    /// # Errors
    /// The errors of [`Verifier::new`].
    pub fn new(engine: &Engine) -> Result<Self> {
        Verifier::new(engine).map(Self)
    }
}

impl Operation for SignSm2 {
    type Error = Sm2Error;

    fn shape(&self) -> Shape {
        Shape {
            name: "SM2 signing".into(),
            inputs: vec![Part::new(WORD).secret(), Part::new(WORD)],
            outputs: vec![Part::new(2 * WORD)],
            powers_of_two: false,
        }
    }

    fn device(&self) -> &Device {
        self.0.device()
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        let (mut private_key, mut public_key) = (vec![0; WORD], [0; 2 * WORD]);
        all_ok(self.0.generate(&mut private_key, &mut public_key)?)?;
        Ok(vec![private_key, vec![0; WORD]])
    }

    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<Sm2Error>> {
        let [signatures] = parts(outputs)?;
        self.0.sign(batch.bytes(0), batch.bytes(1), signatures)
    }
}

impl Operation for VerifySm2 {
    type Error = Sm2Error;

    fn shape(&self) -> Shape {
        Shape {
            name: "SM2 verification".into(),
            inputs: vec![Part::new(2 * WORD), Part::new(WORD), Part::new(2 * WORD)],
            outputs: vec![],
            powers_of_two: false,
        }
    }

    fn device(&self) -> &Device {
        self.0.device()
    }

    fn example(&self) -> Result<Vec<Vec<u8>>> {
        let signer = Signer::new(&Engine::cpu(), Mode::Scan)?;
        let (mut private_key, mut public_key, mut signature) = ([0; WORD], vec![0; 2 * WORD], vec![0; 2 * WORD]);
        all_ok(signer.generate(&mut private_key, &mut public_key)?)?;
        all_ok(signer.sign(&private_key, &[0; WORD], &mut signature)?)?;
        Ok(vec![public_key, vec![0; WORD], signature])
    }

    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<Sm2Error>> {
        let [] = parts(outputs)?;
        self.0.verify(batch.bytes(0), batch.bytes(1), batch.bytes(2))
    }
}
