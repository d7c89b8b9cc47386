//! Key encapsulation from host memory to host memory, with a roofline bound from the device's time and the copies.

use anyhow::Result;
use ringforge::{Device, Engine, PinnedBuffer};
use ringforge_batch::{Batch, KemScheme};

use super::Operation;
use crate::measure::{self, Effort};
use crate::memory;
use crate::record::{Measurement, Memory};
use crate::roofline::Roofline;
use crate::session::Bench;
use crate::suite::Wanted;

/// A function that measures a KEM's operations from host memory, with one key per item. The last argument has the
/// measurements of these operations with data on the device.
pub(super) type Lines = fn(&Bench, &Wanted, usize, &[Measurement]) -> Result<Vec<Measurement>>;

/// Measures a KEM's operations from page-locked host memory; a function of type [`Lines`].
pub(super) fn lines<M: KemScheme>(
    bench: &Bench,
    wanted: &Wanted,
    batch: usize,
    resident: &[Measurement],
) -> Result<Vec<Measurement>> {
    let (device, sizes) = (&bench.device, M::SIZES);
    let kem = Batch::<M>::new(&Engine::on(device.clone()))?;
    memory::fits(batch, sizes.public_key + sizes.secret_key + sizes.ciphertext + 2 * sizes.shared_key)?;
    let pinned = |size| device.pinned(batch * size);
    let (mut public, mut secret) = (pinned(sizes.public_key)?, pinned(sizes.secret_key)?);
    let (mut ciphertexts, mut sent) = (pinned(sizes.ciphertext)?, pinned(sizes.shared_key)?);
    let mut received = pinned(sizes.shared_key)?;
    let effort = |operation: Operation| wanted.effort(operation, bench);
    let times = [
        measure::wall(effort(Operation::KeyGen), || Ok(kem.generate(&mut public, &mut secret)?.into_result()?))?,
        measure::wall(effort(Operation::Encaps), || {
            Ok(kem.encapsulate(&public, &mut ciphertexts, &mut sent)?.into_result()?)
        })?,
        measure::wall(effort(Operation::Decaps), || {
            Ok(kem.decapsulate(&secret, &ciphertexts, &mut received)?.into_result()?)
        })?,
    ];
    let right = sent[..] == received[..];
    let mut lines = Vec::new();
    for (resident, times) in resident.iter().zip(times) {
        let (operation, up, mut down) = match resident.operation.as_str() {
            "KeyGen" => (Operation::KeyGen, vec![], vec![&mut public, &mut secret]),
            "Encaps" => (Operation::Encaps, vec![&*public], vec![&mut ciphertexts, &mut sent]),
            _ => (Operation::Decaps, vec![&*secret, &*ciphertexts], vec![&mut received]),
        };
        let bytes: usize = up.iter().map(|bytes| bytes.len()).chain(down.iter().map(|bytes| bytes.len())).sum();
        let copies = copies(device, &up, &mut down, effort(operation))? / batch as f64;
        let floor = Roofline::of_host(bytes / batch, copies, 1.0 / resident.items_per_second);
        let line = Measurement::new(M::NAME, operation, batch, times).above(floor);
        let line = Measurement { memory: Memory::Pinned, ring: resident.ring.clone(), ..line };
        lines.push(line.checked("both ends agree for every item", right));
    }
    Ok(lines)
}

/// Measures copies of `up` to the device and of `down` from the device, and returns the longer of the two times in
/// seconds. The contents of the host buffers do not change.
fn copies(device: &Device, up: &[&[u8]], down: &mut [&mut PinnedBuffer], effort: Effort) -> Result<f64> {
    let stream = device.stream()?;
    let mut buffers = up.iter().map(|bytes| stream.upload::<u8>(bytes)).collect::<ringforge::Result<Vec<_>>>()?;
    let up_times = measure::wall(effort, || {
        buffers.iter_mut().zip(up).try_for_each(|(buffer, bytes)| stream.write::<u8>(buffer, bytes))?;
        Ok(stream.synchronize()?)
    })?;
    let buffers = down.iter().map(|bytes| stream.upload::<u8>(bytes)).collect::<ringforge::Result<Vec<_>>>()?;
    let down_times = measure::wall(effort, || {
        buffers.iter().zip(&mut *down).try_for_each(|(buffer, bytes)| stream.read::<u8>(buffer, bytes))?;
        Ok(stream.synchronize()?)
    })?;
    Ok(up_times.median_seconds.max(down_times.median_seconds))
}
