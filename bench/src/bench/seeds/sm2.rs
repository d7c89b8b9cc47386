//! SM2 against the batch, and against the size of blocks.

use anyhow::Result;
use ringforge::testkit::bytes;
use ringforge::{Draws, Plan};
use ringforge_sm2::{PrivateKey, plans_in_blocks};

use super::probe::{Ask, Probe, probe};
use super::{LaunchLine, Line, Measured, Seeds};
use crate::bench::kems::are_fine;
use crate::sample;
use crate::work::Work;

/// Operations a second of the paper's table 4, on a Hygon DCU: signatures and verifications.
const TABLE_4: [f64; 2] = [6.816e6, 1.385e6];
/// Threads of a block, around those of the engine's own choice and of the paper's, and beyond.
const BLOCKS: [u32; 6] = [64, 128, 256, 512, 640, 1024];
/// The engine's own choice, and the paper's.
const OWN: u32 = 128;
const PAPERS: u32 = 512;
/// Items of the paper's launch: 480 blocks.
const BATCH: usize = 480 * PAPERS as usize;

/// One batch, signed and verified by plans with blocks of one size.
struct Trip {
    signed: Probe,
    verified: Probe,
    right: bool,
}

/// Throughput and latency of signatures with one key and of verification, against the batch.
pub(super) fn throughput(seeds: &Seeds) -> Result<Measured> {
    let mut measured = Measured::default();
    let plans = plans_in_blocks(seeds.bench.device.limits(), OWN)?;
    let largest = seeds.large_or(BATCH);
    let mut batches = [seeds.batches(), largest.clone()].concat();
    batches.sort_unstable();
    batches.dedup();
    for batch in batches {
        let ask = if largest.contains(&batch) { Ask::Power } else { Ask::Times };
        let trip = trip(seeds, &plans, batch, ask)?;
        for ((op, probe), rate) in trip.operations().into_iter().zip(TABLE_4) {
            measured.launches.extend(LaunchLine::all("SM2", op, batch, probe));
            let line = Line::new("SM2", op, batch, probe, trip.right);
            measured.lines.push(Line { source_items_per_second: Some(rate), ..line });
        }
    }
    Ok(measured)
}

/// The same for the paper's batch, with blocks of several sizes.
pub(super) fn blocks(seeds: &Seeds) -> Result<Measured> {
    let mut measured = Measured::default();
    let sizes = match (seeds.is_cpu(), seeds.quick) {
        (true, _) => &[OWN][..],
        (_, true) => &[OWN, PAPERS],
        _ => &BLOCKS,
    };
    for &threads in sizes {
        let plans = plans_in_blocks(seeds.bench.device.limits(), threads)?;
        for batch in seeds.large_or(BATCH) {
            let trip = trip(seeds, &plans, batch, Ask::Power)?;
            for (op, probe) in trip.operations() {
                let variant = format!("blocks of {threads}");
                measured.lines.push(Line::new("SM2", op, batch, probe, trip.right).varied(&variant));
                let launches = LaunchLine::all("SM2", op, batch, probe);
                measured.launches.extend(launches.map(|line| line.varied(&variant)));
            }
        }
    }
    Ok(measured)
}

impl Trip {
    fn operations(&self) -> [(&'static str, &Probe); 2] {
        [("sign", &self.signed), ("verify", &self.verified)]
    }
}

/// Signs digests with one key, and verifies all signatures; then once more with one that is spoilt, which must show.
fn trip(seeds: &Seeds, [prepare, sign, verify]: &[Plan; 3], batch: usize, ask: Ask) -> Result<Trip> {
    const KEY: [u8; 32] = [0x42; 32];
    let digests = sample::bytes(1, 32, batch)?;
    let public_keys = PrivateKey::from_bytes(&KEY)?.public_key().to_bytes().repeat(batch);
    let key = Work::of_plan(&seeds.bench.device, prepare)?.run(1, &[("private keys", &KEY)])?;
    let inputs = [("prepared keys", &key[..]), ("digests", &digests), ("draws", &bytes(2, Draws::BYTES))];
    let signed = probe(seeds, sign, batch, &inputs, ask)?;
    let (signatures, made) = (&signed.results["signatures"], &signed.results["statuses"]);
    let signed_by = |signatures| [("public keys", &public_keys[..]), ("digests", &digests), ("signatures", signatures)];
    let verified = probe(seeds, verify, batch, &signed_by(signatures), ask)?;
    let all_fine = [made, &verified.results["statuses"]].map(|statuses| are_fine(statuses) == vec![true; batch]);

    let mut spoilt = signatures.clone();
    spoilt[64 * (batch / 2) + 50] ^= 4;
    let found = Work::of_plan(&seeds.bench.device, verify)?.run(batch, &signed_by(&spoilt))?;
    let noticed = are_fine(&found) == (0..batch).map(|item| item != batch / 2).collect::<Vec<_>>();
    let right = noticed && all_fine == [true; 2];
    Ok(Trip { signed, verified, right })
}
