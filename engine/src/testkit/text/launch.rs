//! One launch, run several times so that what must not matter shows: order, cuts, and what memory held before.
//!
//! A kernel that tells its columns also runs slab by slab, each time with just its own bytes of the slab in memory.

use core::ops::Range;

use crate::backend::{Bound, Loaded};
use crate::columns::{Shape, Shares};
use crate::cpu::{host_read, host_write};
use crate::error::Result;
use crate::kernel::{Port, Role, Sharing};

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
    /// The tables that it has pointers to, where it is a list of them.
    list: Option<Vec<Vec<u8>>>,
}

/// What one run is of: items, or a slab of the one item that there is.
struct Task<'a> {
    items: Range<usize>,
    slab: Option<&'a Slab>,
}

/// Some blocks of an item, and for each place the bytes of the item that they have to themselves.
struct Slab {
    blocks: Range<usize>,
    shapes: Vec<Option<Shape>>,
}

/// Runs a kernel for a range of items under every schedule.
pub(super) fn run(
    runner: &Runner,
    Loaded { ports, shares, .. }: &Loaded,
    schedules: &[u64],
    items: Range<usize>,
    bound: Vec<Bound<'_>>,
) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let (mut places, place_of) = places(runner, ports, items.end, bound)?;
    let slabs = slabs(ports, shares, &place_of, places.len());
    let joint = ports.iter().any(|port| port.joint);
    let mut reference: Option<Vec<Vec<u8>>> = None;
    for (round, &schedule) in schedules.iter().enumerate() {
        let mut images: Vec<Vec<u8>> = places.iter().map(|place| poisoned(place, &items, round)).collect();
        let cut = if joint { items.start } else { items.start + round % items.len() };
        let tasks: Vec<Task<'_>> = if round % 2 == 1 && !slabs.is_empty() {
            let slabs_of = |item: usize| slabs.iter().map(move |slab| Task { items: item..item + 1, slab: Some(slab) });
            items.clone().flat_map(slabs_of).collect()
        } else {
            [items.start..cut, cut..items.end].into_iter().map(|items| Task { items, slab: None }).collect()
        };
        for task in tasks.iter().filter(|task| !task.items.is_empty()) {
            images = run_once(runner, (round, schedule), task, &places, &place_of, images)?;
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

/// The slabs of an item where some place has columns that all its ports agree on, else none.
fn slabs(ports: &[Port], shares: &Shares, place_of: &[usize], places: usize) -> Vec<Slab> {
    let Some(first) = (0..place_of.len()).find_map(|port| shares.of(port)) else { return Vec::new() };
    let shape = |place: usize, cut: &Range<usize>| {
        let mut same = (0..place_of.len()).filter(|&port| place_of[port] == place);
        let shape = |port: usize| shares.of(port)?.shape(ports[port].bytes, shares.blocks, cut);
        let found = same.next().and_then(shape)?;
        same.all(|port| shape(port) == Some(found)).then_some(found)
    };
    let slab = |blocks: Range<usize>| Slab { shapes: (0..places).map(|place| shape(place, &blocks)).collect(), blocks };
    first.cut(shares.blocks, 3).into_iter().map(slab).collect()
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
        let item = (port.sharing == Sharing::PerItem).then_some(port.bytes);
        let bytes = item.map_or(port.bytes, |bytes| bytes * end);
        let short = || runner.error(format!("port {p} is shorter than its items"));
        let mut list = None;
        let (before, result) = match bound {
            Bound::Read(memory) => (host_read(memory)?.get(..bytes).ok_or_else(short)?.to_vec(), None),
            Bound::Write(memory) => {
                let memory = host_write(memory)?.get_mut(..bytes).ok_or_else(short)?;
                (memory.to_vec(), Some(memory))
            }
            Bound::List(_, tables) => {
                let tables = tables.into_iter().map(|table| Ok(host_read(table)?.to_vec()));
                list = Some(tables.collect::<Result<_>>()?);
                (Vec::new(), None)
            }
            Bound::SameAs(output) => {
                aliases.push((p, output));
                continue;
            }
        };
        of[p] = places.len();
        // statuses are 0 where nothing is written, which the engine promises
        let fresh = port.role == Role::Out && !port.status;
        places.push(Place { first: p, before, result, item, fresh, list });
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
    (round, schedule): (usize, u64),
    task: &Task<'_>,
    places: &[Place<'_>],
    place_of: &[usize],
    images: Vec<Vec<u8>>,
) -> Result<Vec<Vec<u8>>> {
    let items = &task.items;
    let shown = |place: usize, byte: usize| task.shows(place, places[place].item, byte);
    // of what is shared out, a slab sees its own part only
    let mut before = images.clone();
    for (place, image) in before.iter_mut().enumerate().filter(|_| task.slab.is_some()) {
        image.iter_mut().enumerate().filter(|(i, _)| !shown(place, *i)).for_each(|(_, byte)| *byte = poison(round));
    }
    let parts: Vec<Part> = place_of
        .iter()
        .enumerate()
        .map(|(p, &place)| match places[place].first {
            first if first == p => {
                places[place].list.clone().map_or_else(|| Part::Own(before[place].clone()), Part::List)
            }
            port => Part::Alias { port, length: before[place].len() },
        })
        .collect();
    let mut after = runner.run(schedule, items, task.slab.map(|slab| &slab.blocks), &parts)?;
    if after.len() != parts.len() {
        return Err(runner.error("its runner answered for another number of ports".into()));
    }
    let mut left = Vec::with_capacity(places.len());
    for (number, (place, image)) in places.iter().zip(images).enumerate() {
        let (before, after) = (&before[number], core::mem::take(&mut after[place.first]));
        if after.len() != image.len() {
            return Err(runner.error("its runner answered with another length".into()));
        }
        let launched = match (&place.result, place.item) {
            (Some(_), Some(bytes)) => items.start * bytes..items.end * bytes,
            _ => 0..0,
        };
        let may_change = |byte: usize| launched.contains(&byte) && shown(number, byte);
        let stray = (0..after.len()).find(|&byte| after[byte] != before[byte] && !may_change(byte));
        if let Some(byte) = stray {
            let what = match (&place.result, task.slab) {
                (None, _) => "to an input",
                (_, None) => "outside the items it was launched for",
                (_, Some(_)) => "outside the blocks it was launched for",
            };
            let at = format!("port {}, byte {byte} (schedule {schedule}, items {items:?})", place.first);
            return Err(runner.error(format!("writes {what}: {at}")));
        }
        let mut now = after;
        if task.slab.is_some() {
            now.iter_mut()
                .zip(image)
                .enumerate()
                .filter(|(i, _)| !shown(number, *i))
                .for_each(|(_, (now, old))| *now = old);
        }
        left.push(now);
    }
    Ok(left)
}

impl Task<'_> {
    /// Whether a byte of a place is there for this run.
    fn shows(&self, place: usize, item: Option<usize>, byte: usize) -> bool {
        let shape = self.slab.and_then(|slab| slab.shapes[place]);
        let (Some(shape), Some(item)) = (shape, item) else { return true };
        byte.checked_sub(self.items.start * item).is_some_and(|byte| shape.contains(byte))
    }
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
