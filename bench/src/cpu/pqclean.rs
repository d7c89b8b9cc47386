//! Compares CTRU-768 with PQClean's ML-KEM-768, whose C code the `pqclean` feature compiles.

use anyhow::{Result, ensure};
use kem::{Decapsulate, Encapsulate, Kem};
use pqcrypto_mlkem::mlkem768;
use rand::SeedableRng;
use rand::rngs::StdRng;
use ringforge_ctru::Ctru768;

use super::{each, line};
use ringforge_cli::measure::Effort;
use ringforge_cli::record::Measurement;

/// Compares CTRU-768 with ML-KEM-768, which has the same claimed strength, because no other crate implements CTRU.
pub(super) fn ml_kem(effort: Effort) -> Result<Vec<Measurement>> {
    let mut rng = StdRng::seed_from_u64(3);
    let (key, public_key) = Ctru768::generate_keypair_from_rng(&mut rng);
    let (ciphertext, sent) = public_key.encapsulate_with_rng(&mut rng);
    let (peer_public, peer_key) = mlkem768::keypair();
    let (peer_sent, peer_ciphertext) = mlkem768::encapsulate(&peer_public);
    ensure!(key.decapsulate(&ciphertext) == sent, "the two ends have different keys");
    ensure!(mlkem768::decapsulate(&peer_ciphertext, &peer_key) == peer_sent, "the peer's two ends have different keys");
    let times = [
        each(effort, |_| Ok(Ctru768::generate_keypair_from_rng(&mut rng)))?,
        each(effort, |_| Ok(public_key.encapsulate_with_rng(&mut rng)))?,
        each(effort, |_| Ok(key.decapsulate(&ciphertext)))?,
    ];
    let peer_times = [
        each(effort, |_| Ok(mlkem768::keypair()))?,
        each(effort, |_| Ok(mlkem768::encapsulate(&peer_public)))?,
        each(effort, |_| Ok(mlkem768::decapsulate(&peer_ciphertext, &peer_key)))?,
    ];
    let line = |(operation, (ours, theirs))| {
        let peer = ("ML-KEM-768 of PQClean, pqcrypto-mlkem 0.1.1", theirs);
        line(operation, ours, peer, ("both ends of either scheme agree", true))
    };
    Ok(["KeyGen", "Encaps", "Decaps"].into_iter().zip(times.into_iter().zip(peer_times)).map(line).collect())
}
