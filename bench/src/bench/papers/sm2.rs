//! SM2 against the batch, and against the size of blocks.

use anyhow::Result;
use ringforge::Draws;
use ringforge::testkit::bytes;
use ringforge_sm2::{PrivateKey, plans_in_blocks};

use super::{batches, large};
use crate::bench::Bench;
use crate::bench::kems::are_fine;
use crate::bench::runs::Runs;
use crate::bench::suites::{Case, Kind, Quoted, Suite};
use crate::record::Measurement;
use crate::sample;
use crate::work::Work;

pub(in crate::bench) static THROUGHPUT: Suite = Suite {
    name: "sm2 throughput",
    kind: Kind::Paper,
    title: "SM2 paper, table 4",
    about: "Signatures with one key and verification against the batch. The source's rates are those of a Hygon DCU with 480 \
            blocks of 512 threads, an item each; that batch is the last one here.",
    quoted: &[Quoted {
        case: "SM2",
        peer: "the paper's",
        source: "SM2 paper, table 4: a Hygon DCU",
        device: None,
        seconds: &[("sign", 1.0 / 6.816e6), ("verify", 1.0 / 1.385e6)],
    }],
    cases: |scope| {
        let mut batches = [batches(scope), large(scope, BATCH)].concat();
        batches.sort_unstable();
        batches.dedup();
        Ok(vec![Case::new("SM2", &OPERATIONS, move |bench, _| {
            Ok(batches.iter().map(|&batch| trip(bench, OWN, batch)).collect::<Result<Vec<_>>>()?.concat())
        })])
    },
    ..Suite::NONE
};

pub(in crate::bench) static BLOCKS: Suite = Suite {
    name: "sm2 blocks",
    kind: Kind::Paper,
    title: "SM2 paper, the tuning of blocks",
    about: "The source is fastest with blocks of 512 threads, and slower from 640 on, by spilled registers. Up to 512, as many \
            blocks are resident as make 512 threads. A thread signs 16 items with one inversion, so large blocks are few. A \
            CPU has no blocks.",
    cases: |scope| {
        let sizes: &[u32] = match (scope.cpu, scope.quick) {
            (true, _) => &[OWN],
            (_, true) => &[OWN, PAPERS],
            _ => &SIZES,
        };
        let batches = large(scope, BATCH);
        Ok(vec![Case::new("SM2", &OPERATIONS, move |bench, _| {
            let mut lines = Vec::new();
            for (&threads, &batch) in sizes.iter().flat_map(|threads| batches.iter().map(move |batch| (threads, batch)))
            {
                let trip = trip(&bench.with_steps(), threads, batch)?;
                lines.extend(trip.into_iter().map(|line| line.varied(format!("blocks of {threads}"))));
            }
            Ok(lines)
        })])
    },
    ..Suite::NONE
};

const OPERATIONS: [&str; 2] = ["sign", "verify"];
/// Threads of a block, around those of the engine's own choice and of the paper's, and beyond.
const SIZES: [u32; 6] = [64, 128, 256, 512, 640, 1024];
/// The engine's own choice, and the paper's.
const OWN: u32 = 128;
const PAPERS: u32 = 512;
/// Items of the paper's launch: 480 blocks.
const BATCH: usize = 480 * PAPERS as usize;

/// Signs digests with one key, and verifies all signatures; then once more with one that is spoilt, which must show.
fn trip(bench: &Bench, threads: u32, batch: usize) -> Result<Vec<Measurement>> {
    const KEY: [u8; 32] = [0x42; 32];
    let [prepare, sign, verify] = &plans_in_blocks(bench.device.limits(), threads)?;
    let digests = sample::bytes(1, 32, batch)?;
    let public_keys = PrivateKey::from_bytes(&KEY)?.public_key().to_bytes().repeat(batch);
    let key = Work::of_plan(&bench.device, prepare)?.run(1, &[("private keys", &KEY)])?;
    let inputs = [("prepared keys", &key[..]), ("digests", &digests), ("draws", &bytes(2, Draws::BYTES))];
    let signed = Runs::new(sign, batch, &inputs).measure(bench, bench.effort)?;
    let (signatures, made) = (&signed.results["signatures"], &signed.results["statuses"]);
    let signed_by = |signatures| [("public keys", &public_keys[..]), ("digests", &digests), ("signatures", signatures)];
    let verified = Runs::new(verify, batch, &signed_by(signatures)).measure(bench, bench.effort)?;
    let all_fine = [made, &verified.results["statuses"]].map(|statuses| are_fine(statuses) == vec![true; batch]);

    let mut spoilt = signatures.clone();
    spoilt[64 * (batch / 2) + 50] ^= 4;
    let found = Work::of_plan(&bench.device, verify)?.run(batch, &signed_by(&spoilt))?;
    let noticed = are_fine(&found) == (0..batch).map(|item| item != batch / 2).collect::<Vec<_>>();
    let right = noticed && all_fine == [true; 2] && signed.alike && verified.alike;
    let lines = [("sign", &signed, sign), ("verify", &verified, verify)];
    let checked = "every signature verified, and one that is spoilt refused, it alone";
    Ok(lines.map(|(op, outcome, plan)| outcome.line("SM2", op, batch).by(plan).checked(checked, right)).into())
}
