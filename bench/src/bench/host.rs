//! Lines about key encapsulation from host memory to host memory, beside what the device and the copies allow.

use anyhow::Result;
use ringforge::{Device, PinnedBuffer};
use serde::Serialize;

use super::{Bench, What, kems};
use crate::kems::Operation;
use crate::measure::{self, Effort, Times};
use crate::{memory, show};

/// One measurement, by the wall's clock, with page-locked memory on a GPU.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    #[serde(flatten)]
    what: What,
    batch: usize,
    #[serde(flatten)]
    times: Times,
    items_per_second: f64,
    /// On a GPU.
    limits: Option<Limits>,
    /// Share of the smaller limit that was reached; 75 are wanted.
    pub(super) percent_of_limit: Option<f64>,
    /// Whether both ends get the same keys for all items.
    pub(super) right: bool,
}

/// What no run over host memory can exceed.
#[derive(Debug, Serialize)]
struct Limits {
    /// With all arguments on the device.
    resident_items_per_second: f64,
    /// Copies of what goes in and what comes out, both at once.
    copied_items_per_second: f64,
    up_bytes_per_item: usize,
    down_bytes_per_item: usize,
    /// Copies of a batch to the device alone, and from it.
    up_seconds: f64,
    down_seconds: f64,
}

/// Measures a task's lines; `resident` are those with all arguments on the device.
pub(super) fn lines(task: &kems::Task, bench: &Bench, resident: &[super::Line]) -> Result<Vec<Line>> {
    let (device, batch) = (&bench.device, task.batch);
    let kem = (task.set.on)(device)?;
    let sizes = kem.sizes();
    memory::fits(batch, sizes.public_key + sizes.secret_key + sizes.ciphertext + 2 * sizes.shared_key)?;
    let pinned = |size| device.pinned(batch * size);
    let (mut public_keys, mut secret_keys) = (pinned(sizes.public_key)?, pinned(sizes.secret_key)?);
    let (mut ciphertexts, mut sent) = (pinned(sizes.ciphertext)?, pinned(sizes.shared_key)?);
    let mut received = pinned(sizes.shared_key)?;
    let effort = |operation| task.effort(operation, bench);
    let times = [
        measure::wall(effort(Operation::KeyGen), || kem.generate(&mut public_keys, &mut secret_keys))?,
        measure::wall(effort(Operation::Encaps), || kem.encapsulate(&public_keys, &mut ciphertexts, &mut sent))?,
        measure::wall(effort(Operation::Decaps), || kem.decapsulate(&secret_keys, &ciphertexts, &mut received))?,
    ];
    let right = sent[..] == received[..];
    let mut lines = Vec::new();
    for (operation, times) in Operation::EACH.into_iter().zip(times) {
        if !task.wants(operation) {
            continue;
        }
        let what = task.what(operation);
        let items_per_second = batch as f64 / times.median_seconds;
        let resident = resident.iter().find(|line| line.what.op == what.op);
        let limits = resident.map(|resident| {
            let (up, down): (Vec<&PinnedBuffer>, Vec<&mut PinnedBuffer>) = match operation {
                Operation::KeyGen => (vec![], vec![&mut public_keys, &mut secret_keys]),
                Operation::Encaps => (vec![&public_keys], vec![&mut ciphertexts, &mut sent]),
                _ => (vec![&secret_keys, &ciphertexts], vec![&mut received]),
            };
            Limits::new(device, batch, resident.items_per_second, up, down, bench.effort)
        });
        let limits = limits.transpose()?;
        let percent_of_limit = limits.as_ref().map(|limits| 100.0 * items_per_second / limits.least());
        lines.push(Line { what, batch, times, items_per_second, limits, percent_of_limit, right });
    }
    Ok(lines)
}

impl Limits {
    /// Measures copies of these buffers to the device, and to these from it; what they hold stays.
    fn new(
        device: &Device,
        batch: usize,
        resident_items_per_second: f64,
        up: Vec<&PinnedBuffer>,
        mut down: Vec<&mut PinnedBuffer>,
        effort: Effort,
    ) -> Result<Self> {
        let stream = device.stream()?;
        let upload = |bytes: &PinnedBuffer| stream.upload::<u8>(bytes);
        let mut buffers = up.iter().map(|bytes| upload(bytes)).collect::<ringforge::Result<Vec<_>>>()?;
        let up_times = measure::wall(effort, || {
            buffers.iter_mut().zip(&up).try_for_each(|(buffer, bytes)| stream.write::<u8>(buffer, bytes))?;
            Ok(stream.synchronize()?)
        })?;
        let buffers = down.iter().map(|bytes| upload(bytes)).collect::<ringforge::Result<Vec<_>>>()?;
        let down_times = measure::wall(effort, || {
            buffers.iter().zip(&mut down).try_for_each(|(buffer, bytes)| stream.read::<u8>(buffer, bytes))?;
            Ok(stream.synchronize()?)
        })?;
        let (up_seconds, down_seconds) = (up_times.median_seconds, down_times.median_seconds);
        Ok(Self {
            resident_items_per_second,
            copied_items_per_second: batch as f64 / up_seconds.max(down_seconds),
            up_bytes_per_item: up.iter().map(|bytes| bytes.len()).sum::<usize>() / batch,
            down_bytes_per_item: down.iter().map(|bytes| bytes.len()).sum::<usize>() / batch,
            up_seconds,
            down_seconds,
        })
    }

    fn least(&self) -> f64 {
        self.resident_items_per_second.min(self.copied_items_per_second)
    }
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let headings =
        ["name", "operation", "batch", "median", "p95", "items/s", "resident", "copies", "% of limit", "right"];
    let mut table = show::table(&headings, &[2, 3, 4, 5, 6, 7, 8]);
    for line in lines {
        let limit =
            |rate: fn(&Limits) -> f64| line.limits.as_ref().map_or("–".into(), |limits| show::short(rate(limits)));
        table.add_row([
            line.what.name.into(),
            line.what.op.clone(),
            line.batch.to_string(),
            show::time(line.times.median_seconds),
            show::time(line.times.p95_seconds),
            show::short(line.items_per_second),
            limit(|limits| limits.resident_items_per_second),
            limit(|limits| limits.copied_items_per_second),
            line.percent_of_limit.map_or("–".into(), |percent| format!("{percent:.0}")),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}
