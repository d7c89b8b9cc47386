//! Runs one launch twice with variations that must not affect the result: the order of threads, the division into
//! launches, and the initial contents of memory.
//!
//! A kernel that declares the tiles of its blocks may also run slab by slab (some blocks of an item at a time), with
//! only that slab's bytes in memory. If the division separates items that a block processes together, lazy residues
//! (not fully reduced) may differ by multiples of their modulus. Nothing else may differ.

use core::ops::Range;

use ringforge_math::error::Result;
use ringforge_runtime::backend::cpu::{host_read, host_write};
use ringforge_runtime::backend::{Binding, Loaded, To};
use ringforge_runtime::kernel::{Port, Role, Sharing};
use ringforge_runtime::tiles::{Shape, Tiles};

use super::process::{Contents, Part, Runner};

/// The memory that one or more ports (pointer parameters) are bound to.
struct Place<'a> {
    /// The first port that is bound to this memory.
    first: usize,
    /// The contents before the launch.
    before: Vec<u8>,
    /// The number of leading bytes that are missing in the caller's memory, because it does not begin with item 0.
    skipped: usize,
    /// The caller's memory for the result. `None` if no port writes it.
    result: Option<&'a mut [u8]>,
    /// The bytes of each port that is bound to this memory.
    windows: Vec<Window>,
    /// If the memory is a list of pointers to tables, the contents of the tables.
    list: Option<Vec<Vec<u8>>>,
}

/// The bytes of one port in its memory: a part of each item, or bytes that all items share.
struct Window {
    port: Port,
    /// The byte at which item 0 begins.
    first: usize,
    /// Whether the port's items are filled with a poison value before each run, because they are written but not read.
    /// Always false for statuses.
    fresh: bool,
}

/// The work of one run of a kernel: a range of items, or a slab (some blocks) of a single item.
struct Task<'a> {
    items: Range<usize>,
    slab: Option<&'a Slab>,
}

/// Some blocks of an item, and for each memory the bytes of the item that only these blocks access, if the kernel
/// declares them.
struct Slab {
    blocks: Range<usize>,
    shapes: Vec<Option<Shape>>,
}

/// Indices of the schedules that a launch runs: the first one, and another that depends on its number of items.
fn rounds(schedules: usize, items: usize) -> impl Iterator<Item = usize> {
    core::iter::once(0).chain((schedules > 1).then(|| 1 + items % (schedules - 1)))
}

/// Runs a kernel for a range of items in two of the schedules (orders of threads), checks that the results are equal,
/// and stores them in the caller's memory.
pub(super) fn run(
    runner: &Runner,
    Loaded { ports, shares, .. }: &Loaded,
    schedules: &[u64],
    items: Range<usize>,
    bound: Vec<Binding<'_>>,
) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let firsts: Vec<usize> = bound.iter().map(|bound| bound.first).collect();
    let (mut places, place_of) = places(runner, ports, items.end, bound)?;
    let slabs = slabs(ports, shares, &place_of, places.len());
    let batch_dependent = ports.iter().any(|port| port.batch_dependent);
    let mut reference: Option<Vec<Vec<u8>>> = None;
    for round in rounds(schedules.len(), items.len()) {
        let schedule = schedules[round];
        let mut images: Vec<Vec<u8>> = places.iter().map(|place| poisoned(place, &items, round)).collect();
        let cut = if batch_dependent { items.start } else { items.start + round % items.len() };
        let tasks: Vec<Task<'_>> = if round % 2 == 1 && !slabs.is_empty() {
            let slabs_of = |item: usize| slabs.iter().map(move |slab| Task { items: item..item + 1, slab: Some(slab) });
            items.clone().flat_map(slabs_of).collect()
        } else {
            [items.start..cut, cut..items.end].into_iter().map(|items| Task { items, slab: None }).collect()
        };
        for task in tasks.iter().filter(|task| !task.items.is_empty()) {
            images = run_once(runner, (round, schedule), task, &places, (&place_of, &firsts), images)?;
        }
        let cut_apart = items.len() > 1 && tasks.iter().all(|task| task.slab.is_some() || task.items != items);
        let lax = cut_apart && runner.takes_items_together();
        match &reference {
            None => reference = Some(images),
            Some(reference) => same(runner, (&places, lax), reference, &images, (round, schedule))?,
        }
    }
    for (place, image) in places.iter_mut().zip(reference.unwrap_or_default()) {
        if let Some(result) = &mut place.result {
            result.copy_from_slice(&image[place.skipped..]);
        }
    }
    Ok(())
}

/// Divides an item into slabs by the tiles of the first port that has declared tiles. Empty if there is no such port. A
/// slab's bytes in a memory are known only if all ports bound to that memory declare the same bytes.
fn slabs(ports: &[Port], shares: &Tiles, place_of: &[usize], places: usize) -> Vec<Slab> {
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

/// Groups the ports by the memory that they are bound to. Returns each memory once, and for each port the index of its
/// memory.
fn places<'a>(
    runner: &Runner,
    ports: &[Port],
    end: usize,
    bound: Vec<Binding<'a>>,
) -> Result<(Vec<Place<'a>>, Vec<usize>)> {
    let mut places: Vec<Place<'a>> = Vec::new();
    let mut of = vec![usize::MAX; ports.len()];
    let (mut aliases, mut windows) = (Vec::new(), Vec::new());
    for (p, (Binding { to, first, skipped }, port)) in bound.into_iter().zip(ports).enumerate() {
        // statuses are not poisoned: the engine guarantees that they are 0 where no kernel writes them
        windows.push(Window { port: *port, first, fresh: port.role == Role::Out && !port.status });
        let mut list = None;
        let (before, result) = match to {
            To::Read(memory) => (host_read(memory)?.to_vec(), None),
            To::Write(memory) => {
                let memory = host_write(memory)?;
                (memory.to_vec(), Some(memory))
            }
            To::List(_, tables) => {
                let tables = tables.into_iter().map(|table| Ok(host_read(table)?.to_vec()));
                list = Some(tables.collect::<Result<_>>()?);
                (Vec::new(), None)
            }
            To::SameAs(output) => {
                aliases.push((p, output));
                continue;
            }
        };
        // poison values take the place of items that are missing in the memory
        let skipped = if port.sharing == Sharing::PerItem { skipped * port.stride() } else { 0 };
        let before = [vec![poison(0); skipped], before].concat();
        of[p] = places.len();
        places.push(Place { first: p, before, skipped, result, windows: Vec::new(), list });
    }
    for (p, output) in aliases {
        let place = of.get(output).and_then(|&place| places.get_mut(place));
        let place =
            place.ok_or_else(|| runner.error(format!("port {p} shares memory with a port that does not exist")))?;
        place.first = place.first.min(p);
        of[p] = of[output];
    }
    for (p, window) in windows.into_iter().enumerate() {
        places[of[p]].windows.push(window);
    }
    for Place { first, before, skipped, result, windows, list } in &mut places {
        let read: Vec<Range<usize>> =
            windows.iter().filter(|window| window.port.role != Role::Out).map(|window| window.bytes_of(0)).collect();
        windows.iter_mut().for_each(|window| window.fresh &= !read.contains(&window.bytes_of(0)));
        // cut off the memory of items after the launched ones
        let needed = windows.iter().map(|window| window.bytes_of(end - 1).end).max().unwrap_or(0);
        if needed > before.len() && list.is_none() {
            return Err(runner.error(format!("the memory of port {first} is too short for its items")));
        }
        before.truncate(needed);
        *result = result.take().and_then(|memory| memory.get_mut(..needed - *skipped));
    }
    Ok((places, of))
}

impl Window {
    /// The byte range of an item.
    fn bytes_of(&self, item: usize) -> Range<usize> {
        self.port.bytes_of(item, self.first)
    }

    /// The item that the byte with this index belongs to, or item 0 for bytes that all items share. `None` if the byte
    /// belongs to no item.
    fn item_of(&self, byte: usize) -> Option<usize> {
        let shared = self.port.sharing == Sharing::Shared || self.port.stride() == 0;
        let item = if shared { 0 } else { byte.checked_sub(self.first)? / self.port.stride() };
        self.bytes_of(item).contains(&byte).then_some(item)
    }
}

impl Place<'_> {
    /// Whether a byte of this memory belongs to an item of a port.
    fn has(&self, byte: usize) -> bool {
        self.windows.iter().any(|window| window.item_of(byte).is_some())
    }

    /// Whether some bytes of this memory may belong to no item.
    fn has_gaps(&self) -> bool {
        self.windows.iter().any(|window| window.first > 0 || !window.port.is_dense())
    }

    /// Whether a port writes this byte for one of these items. If `fresh`, only ports count whose items are filled with
    /// a poison value before the run.
    fn writes(&self, byte: usize, items: &Range<usize>, fresh: bool) -> bool {
        let writes = |window: &Window| if fresh { window.fresh } else { window.port.role != Role::In };
        let is_written = |item: usize| items.contains(&item);
        self.windows.iter().any(|window| writes(window) && window.item_of(byte).is_some_and(is_written))
    }
}

/// The contents of a memory before a round: the items of `fresh` ports are filled with the round's poison value.
fn poisoned(place: &Place<'_>, items: &Range<usize>, round: usize) -> Vec<u8> {
    let mut image = place.before.clone();
    for window in place.windows.iter().filter(|window| window.fresh) {
        items.clone().for_each(|item| image[window.bytes_of(item)].fill(poison(round)));
    }
    image
}

fn poison(round: usize) -> u8 {
    0xa5u8.wrapping_add(0x3b_u8.wrapping_mul(round as u8))
}

/// Runs the kernel once and returns the contents of each memory afterwards. Returns an error if the kernel changed
/// bytes that it must not write.
fn run_once(
    runner: &Runner,
    (round, schedule): (usize, u64),
    task: &Task<'_>,
    places: &[Place<'_>],
    (place_of, firsts): (&[usize], &[usize]),
    images: Vec<Vec<u8>>,
) -> Result<Vec<Vec<u8>>> {
    let items = &task.items;
    let shown = |place: usize, byte: usize| {
        (!places[place].has_gaps() || places[place].has(byte)) && task.shows(place, &places[place], byte)
    };
    // a run must not see bytes that belong to no item, and a run of one slab must not see bytes of other slabs
    let mut before = images.clone();
    let hides = |place: usize| task.slab.is_some() || places[place].has_gaps();
    for (place, image) in before.iter_mut().enumerate().filter(|(place, _)| hides(*place)) {
        image.iter_mut().enumerate().filter(|(i, _)| !shown(place, *i)).for_each(|(_, byte)| *byte = poison(round));
    }
    let parts: Vec<Part> = place_of
        .iter()
        .enumerate()
        .map(|(p, &place)| match places[place].first {
            first if first == p => {
                places[place].list.clone().map_or_else(|| Contents::Own(before[place].clone()), Contents::List)
            }
            port => Contents::Alias { port, length: before[place].len() },
        })
        .zip(firsts)
        .map(|(memory, &first)| Part { memory, first })
        .collect();
    let mut after = runner.run(schedule, items, task.slab.map(|slab| &slab.blocks), &parts)?;
    if after.len() != parts.len() {
        return Err(runner.error("its runner returned the wrong number of ports".into()));
    }
    let mut left = Vec::with_capacity(places.len());
    for (number, (place, image)) in places.iter().zip(images).enumerate() {
        let (before, after) = (&before[number], core::mem::take(&mut after[place.first]));
        if after.len() != image.len() {
            return Err(runner.error("its runner returned contents of the wrong length".into()));
        }
        let may_change = |byte: usize| place.writes(byte, items, false) && shown(number, byte);
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
        if hides(number) {
            let hidden = now.iter_mut().zip(image).enumerate().filter(|(i, _)| !shown(number, *i));
            hidden.for_each(|(_, (now, old))| *now = old);
        }
        left.push(now);
    }
    Ok(left)
}

impl Task<'_> {
    /// Whether this run may see a byte of a memory.
    fn shows(&self, number: usize, place: &Place<'_>, byte: usize) -> bool {
        let shape = self.slab.and_then(|slab| slab.shapes[number]);
        let (Some(shape), Some(window)) = (shape, place.windows.first()) else { return true };
        byte.checked_sub(window.bytes_of(self.items.start).start).is_some_and(|byte| shape.contains(byte))
    }
}

/// Checks that a round left the same contents as the first round. If `lax`, memory with lazy residues is not compared.
fn same(
    runner: &Runner,
    (places, lax): (&[Place<'_>], bool),
    first: &[Vec<u8>],
    now: &[Vec<u8>],
    (round, schedule): (usize, u64),
) -> Result<()> {
    for (place, (first, now)) in places.iter().zip(first.iter().zip(now)) {
        if lax && place.windows.iter().any(|window| window.port.below > 1) {
            continue;
        }
        let Some(byte) = (0..now.len()).find(|&byte| first[byte] != now[byte]) else { continue };
        let (a, b, at) = (first[byte], now[byte], format!("port {}, byte {byte}", place.first));
        let unwritten = place.writes(byte, &(0..usize::MAX), true) && (a, b) == (poison(0), poison(round));
        return Err(runner.error(if unwritten {
            format!("leaves its output unwritten: {at}")
        } else {
            format!(
                "its result depends on the schedule: {at} is {a:#04x} first, but {b:#04x} under schedule {schedule}"
            )
        }));
    }
    Ok(())
}
