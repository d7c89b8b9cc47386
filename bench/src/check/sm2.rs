//! SM2 in batches: what is signed is valid, each spoilt item is found and no other, all devices give the same bytes.

use std::time::Instant;

use anyhow::Result;
use ringforge::testkit::{Random, bytes};
use ringforge::{Device, Engine};
use ringforge_sm2::{Mode, Signer, Verifier};
use serde::Serialize;

use crate::show;

/// The name that filters go by.
pub(super) const NAME: &str = "SM2";
/// Items of a batch in a hurry: odd, so that the last block is not full.
const QUICK_ITEMS: usize = 37;
/// Items of a batch otherwise.
const CPU_ITEMS: usize = 1024;
const GPU_ITEMS: usize = 1 << 16;
/// One item in so many is spoilt.
const SPOILT: usize = 7;
/// Items of a GPU's that the CPU makes too.
const COMPARED_ITEMS: usize = 1000;

/// What was found about a mode of signing.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    name: String,
    device: String,
    batch: usize,
    /// Signatures made and verified, from host memory to host memory. Measured unless in a hurry.
    trips_per_second: Option<f64>,
    pub(super) agrees: bool,
    /// What disagrees.
    wrong: Vec<&'static str>,
}

/// What is to be found, for both modes.
pub(super) fn check(device: &Device, seed: u64, quick: bool) -> Result<Vec<Line>> {
    [Mode::Throughput, Mode::Scan].into_iter().map(|mode| line(mode, device, seed, quick)).collect()
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let mut table = show::table(&["signatures", "device", "batch", "trips/s", "verdict"], &[2, 3]);
    for line in lines {
        let verdict = if line.agrees { "agrees".into() } else { format!("WRONG: {}", line.wrong.join(", ")) };
        let rate = line.trips_per_second.map_or("–".into(), show::short);
        table.add_row([line.name.clone(), line.device.clone(), line.batch.to_string(), rate, verdict]);
    }
    table.to_string()
}

fn line(mode: Mode, device: &Device, seed: u64, quick: bool) -> Result<Line> {
    let is_cpu = device.limits().is_cpu();
    let batch = match quick {
        true => QUICK_ITEMS,
        false if is_cpu => CPU_ITEMS,
        false => GPU_ITEMS,
    };
    let engine = Engine::on(device.clone());
    let (signer, verifier) = (Signer::new(&engine, mode)?, Verifier::new(&engine)?);
    let mut wrong = Vec::new();
    let (mut private, mut public) = (vec![0; 32 * batch], vec![0; 64 * batch]);
    signer.generate(&mut private, &mut public)?.into_result()?;
    let (digests, mut signatures) = (bytes(seed, 32 * batch), vec![0; 64 * batch]);
    let start = Instant::now();
    signer.sign(&private, &digests, &mut signatures)?.into_result()?;
    if verifier.verify(&public, &digests, &signatures)?.into_result().is_err() {
        wrong.push("round trip");
    }
    let seconds = start.elapsed().as_secs_f64();
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
    let compared = if is_cpu { 0 } else { batch.min(COMPARED_ITEMS) };
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
    Ok(Line {
        name: format!("{NAME}, {mode:?}"),
        device: device.to_string(),
        batch,
        trips_per_second: (!quick).then(|| batch as f64 / seconds),
        agrees: wrong.is_empty(),
        wrong,
    })
}
