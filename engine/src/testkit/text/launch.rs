//! One launch, run several times so that what must not matter shows: order, cuts, and what memory held before.

use core::ops::Range;

use crate::backend::Bound;
use crate::cpu::{host_read, host_write};
use crate::error::Result;
use crate::kernel::{Kernel, Per, Port, Role};

use super::process::{Part, Runner};

/// Memory behind one port or several.
struct Place<'a> {
    /// The first port that it is bound to.
    first: usize,
    /// What the launch starts from.
    before: Vec<u8>,
    /// Where its result goes, for a written place.
    result: Option<&'a mut [u8]>,
    /// Bytes of an item, where it is not shared.
    item: Option<usize>,
    /// Whether its items are written without being read, so that the runs fill them with something first.
    fresh: bool,
}

/// Runs a kernel for a range of items under every schedule.
pub(super) fn run(
    runner: &Runner,
    kernel: &dyn Kernel,
    schedules: &[u64],
    items: Range<usize>,
    bound: Vec<Bound<'_>>,
) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let (mut places, place_of) = places(runner, kernel.ports(), items.end, bound)?;
    let mut reference: Option<Vec<Vec<u8>>> = None;
    for (round, &schedule) in schedules.iter().enumerate() {
        let mut images: Vec<Vec<u8>> = places.iter().map(|place| poisoned(place, &items, round)).collect();
        let cut = items.start + round % items.len();
        for part in [items.start..cut, cut..items.end].into_iter().filter(|part| !part.is_empty()) {
            images = run_once(runner, schedule, &part, &places, &place_of, images)?;
        }
        match &reference {
            None => reference = Some(images),
            Some(reference) => same(runner, &places, reference, &images, (round, schedule))?,
        }
    }
    for (place, image) in places.iter_mut().zip(reference.unwrap_or_default()) {
        if let Some(result) = &mut place.result {
            result.copy_from_slice(&image);
        }
    }
    Ok(())
}

/// The memory of the ports, and which port has which.
fn places<'a>(
    runner: &Runner,
    ports: &[Port],
    end: usize,
    bound: Vec<Bound<'a>>,
) -> Result<(Vec<Place<'a>>, Vec<usize>)> {
    let mut places: Vec<Place<'a>> = Vec::new();
    let mut of = vec![usize::MAX; ports.len()];
    let mut aliases = Vec::new();
    for (p, (bound, port)) in bound.into_iter().zip(ports).enumerate() {
        let item = (port.per == Per::Item).then_some(port.bytes);
        let bytes = item.map_or(port.bytes, |bytes| bytes * end);
        let short = || runner.error(format!("port {p} is shorter than its items"));
        let (before, result) = match bound {
            Bound::Read(memory) => (host_read(memory)?.get(..bytes).ok_or_else(short)?.to_vec(), None),
            Bound::Write(memory) => {
                let memory = host_write(memory)?.get_mut(..bytes).ok_or_else(short)?;
                (memory.to_vec(), Some(memory))
            }
            Bound::SameAs(output) => {
                aliases.push((p, output));
                continue;
            }
        };
        of[p] = places.len();
        places.push(Place { first: p, before, result, item, fresh: port.role == Role::Out });
    }
    for (p, output) in aliases {
        let place = of.get(output).and_then(|&place| places.get_mut(place));
        let place = place.ok_or_else(|| runner.error(format!("port {p} is the same as no port")))?;
        place.first = place.first.min(p);
        place.fresh = false;
        of[p] = of[output];
    }
    Ok((places, of))
}

/// What a place holds before a round: its output filled with a byte of the round's own.
fn poisoned(place: &Place<'_>, items: &Range<usize>, round: usize) -> Vec<u8> {
    let mut image = place.before.clone();
    if let (true, Some(bytes)) = (place.fresh, place.item) {
        image[items.start * bytes..items.end * bytes].fill(poison(round));
    }
    image
}

fn poison(round: usize) -> u8 {
    0xa5u8.wrapping_add(0x3b_u8.wrapping_mul(round as u8))
}

/// Runs the kernel once; returns what the places then hold.
fn run_once(
    runner: &Runner,
    schedule: u64,
    items: &Range<usize>,
    places: &[Place<'_>],
    place_of: &[usize],
    mut images: Vec<Vec<u8>>,
) -> Result<Vec<Vec<u8>>> {
    let before = images.clone();
    let parts: Vec<Part> = place_of
        .iter()
        .enumerate()
        .map(|(p, &place)| match places[place].first {
            first if first == p => Part::Own(core::mem::take(&mut images[place])),
            port => Part::Alias { port, length: before[place].len() },
        })
        .collect();
    let mut after = runner.run(schedule, items.clone(), &parts)?;
    if after.len() != parts.len() {
        return Err(runner.error("its runner answered for another number of ports".into()));
    }
    let mut images = Vec::with_capacity(places.len());
    for (place, before) in places.iter().zip(before) {
        let image = core::mem::take(&mut after[place.first]);
        if image.len() != before.len() {
            return Err(runner.error("its runner answered with another length".into()));
        }
        let launched = match (&place.result, place.item) {
            (Some(_), Some(bytes)) => items.start * bytes..items.end * bytes,
            _ => 0..0,
        };
        let stray = (0..image.len()).find(|byte| !launched.contains(byte) && image[*byte] != before[*byte]);
        if let Some(byte) = stray {
            let what = if place.result.is_some() { "outside the items it was launched for" } else { "to an input" };
            let at = format!("port {}, byte {byte} (schedule {schedule}, items {items:?})", place.first);
            return Err(runner.error(format!("writes {what}: {at}")));
        }
        images.push(image);
    }
    Ok(images)
}

/// Whether a round left what the first one did.
fn same(
    runner: &Runner,
    places: &[Place<'_>],
    first: &[Vec<u8>],
    now: &[Vec<u8>],
    (round, schedule): (usize, u64),
) -> Result<()> {
    for (place, (first, now)) in places.iter().zip(first.iter().zip(now)) {
        let Some(byte) = (0..now.len()).find(|&byte| first[byte] != now[byte]) else { continue };
        let (a, b, at) = (first[byte], now[byte], format!("port {}, byte {byte}", place.first));
        let unwritten = place.fresh && (a, b) == (poison(0), poison(round));
        return Err(runner.error(if unwritten {
            format!("leaves its output unwritten: {at}")
        } else {
            format!("gives two results: {at} is {a:#04x} first and {b:#04x} under schedule {schedule}")
        }));
    }
    Ok(())
}
