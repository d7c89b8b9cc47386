//! Lines about SM2: signing and verification of digests and messages on the device.

use anyhow::{Context, Result};
use ringforge::{Buffer, Device, Engine};
use ringforge_sm2::{DEFAULT_ID, Digests, Identities, Mode, Signer, Verifier, batch_status};
use serde::Serialize;

use super::{Bench, Options, is_reference};
use crate::floor::Floor;
use crate::floor::sm2::Operation;
use crate::measure::{self, Times};
use crate::{environment, memory, sample, show};

/// Batches on a GPU; the first one is what bars are set for, the others tell how long few items take.
const GPU_BATCHES: [usize; 3] = [1 << 20, 1 << 12, 1 << 6];
/// Items of a CPU's batch for each thread.
const ITEMS_PER_THREAD: usize = 1 << 10;
/// Keys that are cached.
const CACHED: usize = 256;
/// Bytes of a message.
const MESSAGE: usize = 64;
/// Bytes of both keys.
const KEY_PAIR: usize = 32 + 64;
/// Bytes of a digest, a signature and a status.
const SIGNED: usize = 32 + 64 + 4;

/// What is measured, with the millions a second that are wanted at least on an H200.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Sign(Mode),
    Verify,
    VerifyCached,
    SignMessages,
    VerifyMessages,
}

impl What {
    fn floor(self, bench: &Bench) -> Floor {
        let (digest, pair, word) = (32, 64, 4);
        let (operation, bytes) = match self {
            Self::Sign(_) | Self::SignMessages => (Operation::Sign, digest + pair + word),
            Self::Verify | Self::VerifyMessages => (Operation::Verify, digest + 2 * pair + word),
            Self::VerifyCached => (Operation::VerifyCached, digest + pair + 2 * word),
        };
        // blocks of a text and its padding
        let blocks = |bytes: usize| (bytes + 8) / 64 + 1;
        let (message, identity) = (blocks(digest + MESSAGE), blocks(2 + DEFAULT_ID.len() + 4 * 32 + pair));
        let (blocks, text) = match self {
            Self::SignMessages => (message, MESSAGE + word),
            Self::VerifyMessages => (identity + message, MESSAGE + word),
            _ => (0, 0),
        };
        Floor::of_sm2(operation, blocks, bytes + text, &bench.ceilings)
    }
}

const ALL: [(&str, What, Option<f64>); 6] = [
    ("SM2 sign, one key", What::Sign(Mode::Throughput), Some(180.0)),
    ("SM2 sign, one key, scan", What::Sign(Mode::Scan), None),
    ("SM2 verify", What::Verify, Some(18.0)),
    ("SM2 verify, cached keys", What::VerifyCached, Some(80.0)),
    ("SM2 sign messages of 64 bytes", What::SignMessages, Some(0.8 * 180.0)),
    ("SM2 verify messages of 64 bytes", What::VerifyMessages, Some(0.8 * 18.0)),
];

/// An operation and a batch.
pub(super) struct Task {
    name: &'static str,
    what: What,
    batch: usize,
    bar: Option<f64>,
}

/// One measurement, by the device's clock.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    name: String,
    batch: usize,
    median_seconds: f64,
    p95_seconds: f64,
    items_per_second: f64,
    floor: Floor,
    /// Share of the floor's speed that was reached.
    percent_of_floor: f64,
    /// What is wanted at least; on an H200 only.
    bar: Option<f64>,
    pub(super) right: bool,
}

/// What is to be measured.
pub(super) fn tasks(options: &Options, device: &Device) -> Vec<Task> {
    let batches = options.batches(|| match device.limits().is_cpu() {
        true => vec![ITEMS_PER_THREAD * environment::threads()],
        false if options.quick => GPU_BATCHES[..1].to_vec(),
        false => GPU_BATCHES.to_vec(),
    });
    let wanted = ALL.iter().filter(|(name, ..)| name.contains(&options.filter));
    let tasks = wanted.flat_map(|&(name, what, bar)| {
        batches.clone().into_iter().map(move |batch| {
            let bar = bar.filter(|_| batch == GPU_BATCHES[0]).map(|millions| 1e6 * millions);
            Task { name, what, batch, bar }
        })
    });
    tasks.collect()
}

impl Task {
    pub(super) fn title(&self) -> String {
        self.name.into()
    }

    pub(super) fn lines(&self, bench: &Bench) -> Result<Vec<Line>> {
        let (times, right) = self.measure(bench)?;
        let Times { median_seconds, p95_seconds, .. } = times;
        let items_per_second = self.batch as f64 / median_seconds;
        let floor = self.what.floor(bench);
        Ok(vec![Line {
            name: self.title(),
            batch: self.batch,
            median_seconds,
            p95_seconds,
            items_per_second,
            floor,
            percent_of_floor: 100.0 * floor.limit().0 * items_per_second,
            bar: self.bar.filter(|_| is_reference(bench.device.limits())),
            right,
        }])
    }

    /// The times, and whether all signatures are valid and one that is spoilt is not.
    fn measure(&self, Bench { device, effort, .. }: &Bench) -> Result<(Times, bool)> {
        let (batch, stream) = (self.batch, device.stream()?);
        let mode = if let What::Sign(mode) = self.what { mode } else { Mode::Throughput };
        let signer = Signer::new(&Engine::on(device.clone()), mode)?;
        let keys = if matches!(self.what, What::Verify | What::VerifyMessages) { batch } else { CACHED.min(batch) };
        memory::fits(batch, KEY_PAIR + MESSAGE + SIGNED)?;
        let (mut private, mut public) = (vec![0; 32 * keys], vec![0; 64 * keys]);
        signer.generate(&mut private, &mut public)?.into_result()?;
        let by_one = matches!(self.what, What::Sign(_) | What::SignMessages);
        let repeated = |keys: &[u8], size: usize| -> Vec<u8> {
            let period = if by_one { &keys[..size] } else { keys };
            period.iter().copied().cycle().take(batch * size).collect()
        };
        let prepared =
            signer.prepare(&stream, &if by_one { private[..32].to_vec() } else { repeated(&private, 32) })?;
        let all_public = stream.upload(&repeated(&public, 64))?;

        // Z_A: once for one key, with each message for unknown ones
        let identify = Identities::new(&Engine::on(device.clone()), DEFAULT_ID.len())?;
        let (id, id_length) = (stream.upload(DEFAULT_ID)?, stream.upload(&[DEFAULT_ID.len() as u32])?);
        let named = if by_one { 1 } else { batch };
        let signers = stream.upload(&repeated(&public, 64)[..64 * named])?;
        let mut identities = device.buffer(32 * named)?;
        identify.identify_on(&stream, &id, &id_length, &signers, &mut identities)?;

        let hash = Digests::new(&Engine::on(device.clone()), MESSAGE)?;
        let messages = stream.upload(&sample::bytes(8, MESSAGE, batch)?)?;
        let lengths = stream.upload(&vec![MESSAGE as u32; batch])?;
        let mut digests = device.buffer(32 * batch)?;
        hash.digest_on(&stream, &identities, &messages, &lengths, &mut digests)?;

        let (mut signatures, mut statuses) = (device.buffer(64 * batch)?, device.buffer(4 * batch)?);
        signer.sign_on(&stream, &prepared, &digests, &mut signatures, &mut statuses)?;
        batch_status(&stream, &statuses)?.into_result()?;
        let verifier = Verifier::new(&Engine::on(device.clone()))?;
        let cached_keys = CACHED.min(keys);
        let cached = verifier.cache(&stream, &public[..64 * cached_keys], usize::MAX)?;
        let cached = cached.ok().context("keys that were made are keys")?;
        let numbers = stream.upload(&(0..batch as u32).map(|i| i % cached_keys as u32).collect::<Vec<_>>())?;

        let mut sets = [(digests, signatures, statuses)];
        let times = measure::runs(&stream, &mut sets, *effort, |(digests, signatures, statuses)| {
            if self.what == What::VerifyMessages {
                identify.identify_on(&stream, &id, &id_length, &signers, &mut identities)?;
            }
            if matches!(self.what, What::SignMessages | What::VerifyMessages) {
                hash.digest_on(&stream, &identities, &messages, &lengths, digests)?;
            }
            match self.what {
                What::Sign(_) | What::SignMessages => {
                    signer.sign_on(&stream, &prepared, digests, signatures, statuses)?;
                }
                What::VerifyCached => cached.verify_on(&stream, &numbers, digests, signatures, statuses)?,
                _ => verifier.verify_on(&stream, &all_public, digests, signatures, statuses)?,
            }
            Ok(())
        })?;
        let [(digests, mut signatures, mut statuses)] = sets;
        let mut verify = |signatures: &Buffer| {
            match self.what {
                What::VerifyCached => cached.verify_on(&stream, &numbers, &digests, signatures, &mut statuses)?,
                _ => verifier.verify_on(&stream, &all_public, &digests, signatures, &mut statuses)?,
            }
            batch_status(&stream, &statuses)
        };
        let fine = verify(&signatures)?.into_result().is_ok();
        let mut spoilt = stream.download::<u8>(&signatures)?;
        spoilt[64 * (batch / 2) + 50] ^= 4;
        stream.write(&mut signatures, &spoilt)?;
        let found = verify(&signatures)?;
        Ok((times, fine && matches!(found.errors(), [error] if error.item == batch / 2)))
    }
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let mut table =
        show::table(&["name", "batch", "median", "p95", "items/s", "% of floor", "bar", "right"], &[1, 2, 3, 4, 5, 6]);
    for line in lines {
        table.add_row([
            line.name.clone(),
            line.batch.to_string(),
            show::time(line.median_seconds),
            show::time(line.p95_seconds),
            show::short(line.items_per_second),
            format!("{:.0}", line.percent_of_floor),
            line.bar.map_or("–".into(), show::short),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_right() -> Result<()> {
        let bench = Bench::of_cpu();
        for (name, what, bar) in ALL {
            let lines = Task { name, what, batch: 9, bar }.lines(&bench)?;
            assert!(!lines.is_empty() && lines.iter().all(|line| line.right && line.bar.is_none()), "{name}");
        }
        Ok(())
    }
}
