//! SM2 in batches: what is signed is valid, each spoilt item is found and no other, all devices give the same bytes.

use anyhow::Result;
use ringforge::Engine;
use ringforge::testkit::{Random, bytes};
use ringforge_sm2::{Mode, Signer, Verifier};

use super::{Found, Means};

/// One item in so many is spoilt.
const SPOILT: usize = 7;

/// What is to be found about a mode of signing.
pub(super) fn check(mode: Mode, means: &Means) -> Result<Found> {
    let (batch, compared, seed) = (means.items(), means.compared(), means.seed);
    let engine = Engine::on(means.device.clone());
    let (signer, verifier) = (Signer::new(&engine, mode)?, Verifier::new(&engine)?);
    let mut wrong = Vec::new();
    let (mut private, mut public) = (vec![0; 32 * batch], vec![0; 64 * batch]);
    signer.generate(&mut private, &mut public)?.into_result()?;
    let (digests, mut signatures) = (bytes(seed, 32 * batch), vec![0; 64 * batch]);
    signer.sign(&private, &digests, &mut signatures)?.into_result()?;
    if verifier.verify(&public, &digests, &signatures)?.into_result().is_err() {
        wrong.push("round trip");
    }
    let mut random = Random::new(seed);
    for signature in signatures.chunks_exact_mut(64).step_by(SPOILT) {
        let bit = random.below(512);
        signature[bit / 8] ^= 1 << (bit % 8);
    }
    let found = verifier.verify(&public, &digests, &signatures)?;
    if !found.errors().iter().map(|error| error.item).eq((0..batch).step_by(SPOILT)) {
        wrong.push("spoilt signatures");
    }
    let cpu = Engine::cpu();
    if compared > 0 {
        let mut again = vec![0; 64 * compared];
        Signer::new(&cpu, mode)?.public_keys(&private[..32 * compared], &mut again)?.into_result()?;
        if again != public[..64 * compared] {
            wrong.push("public keys");
        }
        let part = (&public[..64 * compared], &digests[..32 * compared], &signatures[..64 * compared]);
        let again = Verifier::new(&cpu)?.verify(part.0, part.1, part.2)?;
        if !found.errors().iter().take_while(|error| error.item < compared).eq(again.errors()) {
            wrong.push("the CPU's verdicts");
        }
    }
    Ok(Found { note: None, batch, compared, wrong })
}
