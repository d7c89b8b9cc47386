//! Key encapsulation from host memory to host memory, beside what the device and the copies allow.

use anyhow::Result;
use ringforge::{Device, PinnedBuffer};

use crate::bench::Bench;
use crate::bench::suites::Wanted;
use crate::floor::Floor;
use crate::kems::{Operation, Set};
use crate::measure::{self, Effort};
use crate::memory;
use crate::record::{Measurement, Memory};

/// A set's operations with a key for each item, from page-locked memory; `resident` are those with everything on the
/// device.
pub(super) fn lines(
    bench: &Bench,
    wanted: &Wanted,
    set: &Set,
    batch: usize,
    resident: &[Measurement],
) -> Result<Vec<Measurement>> {
    let device = &bench.device;
    let kem = (set.on)(device)?;
    let sizes = kem.sizes();
    memory::fits(batch, sizes.public_key + sizes.secret_key + sizes.ciphertext + 2 * sizes.shared_key)?;
    let pinned = |size| device.pinned(batch * size);
    let (mut public_keys, mut secret_keys) = (pinned(sizes.public_key)?, pinned(sizes.secret_key)?);
    let (mut ciphertexts, mut sent) = (pinned(sizes.ciphertext)?, pinned(sizes.shared_key)?);
    let mut received = pinned(sizes.shared_key)?;
    let effort = |operation: Operation| {
        if wanted.has(&operation.to_string()) { bench.effort } else { Effort::LEAST }
    };
    let times = [
        measure::wall(effort(Operation::KeyGen), || kem.generate(&mut public_keys, &mut secret_keys))?,
        measure::wall(effort(Operation::Encaps), || kem.encapsulate(&public_keys, &mut ciphertexts, &mut sent))?,
        measure::wall(effort(Operation::Decaps), || kem.decapsulate(&secret_keys, &ciphertexts, &mut received))?,
    ];
    let right = sent[..] == received[..];
    let mut lines = Vec::new();
    for (operation, times) in Operation::EACH.into_iter().zip(times) {
        let line = Measurement::new(set.parameters.name(), operation, batch, times);
        let Some(resident) = resident.iter().find(|resident| resident.operation == line.operation) else { continue };
        let (up, down): (Vec<&PinnedBuffer>, Vec<&mut PinnedBuffer>) = match operation {
            Operation::KeyGen => (vec![], vec![&mut public_keys, &mut secret_keys]),
            Operation::Encaps => (vec![&public_keys], vec![&mut ciphertexts, &mut sent]),
            _ => (vec![&secret_keys, &ciphertexts], vec![&mut received]),
        };
        let bytes = up.iter().map(|bytes| bytes.len()).chain(down.iter().map(|bytes| bytes.len())).sum::<usize>();
        let copies = copies(device, &up, down, effort(operation))? / batch as f64;
        let floor = Floor::of_host(bytes / batch, copies, 1.0 / resident.items_per_second);
        let line = Measurement { memory: Memory::Pinned, ring: resident.ring.clone(), ..line };
        lines.push(line.above(floor).checked("both ends agree for every item", right));
    }
    Ok(lines)
}

/// Seconds of copying these buffers to the device or these from it, whatever takes longer; what they hold stays.
fn copies(device: &Device, up: &[&PinnedBuffer], mut down: Vec<&mut PinnedBuffer>, effort: Effort) -> Result<f64> {
    let stream = device.stream()?;
    let upload = |bytes: &PinnedBuffer| stream.upload::<u8>(bytes);
    let mut buffers = up.iter().map(|bytes| upload(bytes)).collect::<ringforge::Result<Vec<_>>>()?;
    let up_times = measure::wall(effort, || {
        buffers.iter_mut().zip(up).try_for_each(|(buffer, bytes)| stream.write::<u8>(buffer, bytes))?;
        Ok(stream.synchronize()?)
    })?;
    let buffers = down.iter().map(|bytes| upload(bytes)).collect::<ringforge::Result<Vec<_>>>()?;
    let down_times = measure::wall(effort, || {
        buffers.iter().zip(&mut down).try_for_each(|(buffer, bytes)| stream.read::<u8>(buffer, bytes))?;
        Ok(stream.synchronize()?)
    })?;
    Ok(up_times.median_seconds.max(down_times.median_seconds))
}
