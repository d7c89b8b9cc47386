//! Runs kernels on the CPU, one item at a time, if a port is bound to a view. A view is memory in which the items are
//! not contiguous or begin at an offset.

use core::ops::Range;
use std::sync::Arc;

use crate::backend::{Binding, Loaded, To};
use crate::kernel::{Args, Copies, Port, Role, Slice};
use ringforge_math::error::{Error, Result};

use super::{GRAIN_BYTES, host_read, host_write};

/// The part of a memory that a range of items uses. One or more ports are bound to that memory. `Write` also holds the
/// offset of the slice in the whole memory, because halving the range cuts bytes off the front.
enum Strip<'a> {
    Read(&'a [u8]),
    Write(usize, &'a mut [u8]),
}

/// The memory to which a port is bound, and the position of the port's items in it.
#[derive(Default)]
struct View<'a> {
    /// Index of the memory ([`Strip`]) that the port is bound to. In that memory, item `skipped` begins at byte
    /// `first`. `None` for a list of tables.
    strip: Option<usize>,
    first: usize,
    skipped: usize,
    tables: Option<Arc<[&'a [u8]]>>,
}

/// Returns true if the items of any port are not contiguous, or do not begin at byte 0 of their memory.
pub(super) fn needed(ports: &[Port], bound: &[Binding<'_>]) -> bool {
    ports.iter().zip(bound).any(|(port, bound)| bound.first > 0 || !port.is_dense())
}

/// Runs a kernel, whose ports may be bound to views, on a range of items.
pub(super) fn run(loaded: &Loaded, items: Range<usize>, bound: Vec<Binding<'_>>) -> Result<()> {
    let (mut strips, mut views, mut same) = (Vec::new(), Vec::new(), Vec::new());
    for (port, Binding { to, first, skipped }) in bound.into_iter().enumerate() {
        let mut view = View { strip: Some(strips.len()), first, skipped, tables: None };
        match to {
            To::Read(memory) => strips.push(Strip::Read(host_read(memory)?)),
            To::Write(memory) => strips.push(Strip::Write(0, host_write(memory)?)),
            To::SameAs(owner) => same.push((port, owner)),
            To::List(_, tables) => {
                let tables = tables.into_iter().map(host_read).collect::<Result<_>>()?;
                view = View { tables: Some(tables), ..View::default() };
            }
        }
        views.push(view);
    }
    for (port, owner) in same {
        views[port].strip = views.get(owner).and_then(|view| view.strip);
    }
    run_items(loaded, items, strips, &views)
}

/// Runs a kernel on a range of items by halving the range recursively down to single items. The halves of a range of
/// more than [`GRAIN_BYTES`] bytes run as parallel rayon tasks.
fn run_items(loaded: &Loaded, items: Range<usize>, strips: Vec<Strip<'_>>, views: &[View<'_>]) -> Result<()> {
    match items.len() {
        0 => return Ok(()),
        1 => return run_item(loaded, items.start, strips, views),
        _ => {}
    }
    let middle = items.start + items.len() / 2;
    // the number of bytes of the whole memory that belong to items before `middle`
    let before = |strip: usize| {
        let mut ports = loaded.ports.iter().zip(views).filter(|(_, view)| view.strip == Some(strip));
        ports.next().map_or(0, |(port, view)| port.stride() * (middle - view.skipped))
    };
    let halves = strips.into_iter().enumerate().map(|(number, strip)| match strip {
        Strip::Read(bytes) => Ok((Strip::Read(bytes), Strip::Read(bytes))),
        Strip::Write(start, bytes) => {
            let at = before(number).saturating_sub(start);
            let (left, right) = bytes.split_at_mut_checked(at).ok_or_else(|| broken(loaded, "is too short"))?;
            Ok((Strip::Write(start, left), Strip::Write(start + at, right)))
        }
    });
    let (left, right): (Vec<_>, Vec<_>) = halves.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let run_left = || run_items(loaded, items.start..middle, left, views);
    let run_right = || run_items(loaded, middle..items.end, right, views);
    let item_bytes: usize = loaded.ports.iter().map(|port| port.bytes).sum();
    let (left, right) = match items.len() * item_bytes > GRAIN_BYTES {
        true => ringforge_cpu::threads::join(run_left, run_right),
        false => (run_left(), run_right()),
    };
    left.and(right)
}

fn run_item(loaded: &Loaded, item: usize, strips: Vec<Strip<'_>>, views: &[View<'_>]) -> Result<()> {
    let Loaded { kernel, ports, .. } = loaded;
    let short = || broken(loaded, "is too short for its items");
    let tables = views.iter().map(|view| view.tables.clone().map_or(Slice::Taken, Slice::List));
    let mut slices: Vec<Slice<'_>> = tables.collect();
    for (number, strip) in strips.into_iter().enumerate() {
        let views = ports.iter().zip(views).enumerate().filter(|(_, (_, view))| view.strip == Some(number));
        let windows = views.map(|(p, (port, view))| (port.bytes_of(item - view.skipped, view.first), p));
        let mut windows: Vec<(Range<usize>, usize)> = windows.collect();
        match strip {
            Strip::Read(bytes) => {
                for (window, port) in windows {
                    slices[port] = Slice::In(bytes.get(window).ok_or_else(short)?);
                }
            }
            Strip::Write(mut start, mut rest) => {
                // a port that writes comes before the ports that read the same bytes; these become aliases of the
                // writing port
                windows.sort_by_key(|(window, port)| (window.start, ports[*port].role == Role::In));
                let mut last = (0..0, 0);
                for (window, port) in windows {
                    if last.0 == window {
                        slices[port] = match (&slices[last.1], ports[port].role) {
                            (Slice::In(bytes), Role::In) => Slice::In(bytes),
                            (Slice::Out(_), Role::In) => Slice::SameAs(last.1),
                            _ => return Err(broken(loaded, "is written by two ports")),
                        };
                        continue;
                    }
                    let skipped =
                        window.start.checked_sub(start).ok_or_else(|| broken(loaded, "overlaps another port"))?;
                    rest.split_off_mut(..skipped).ok_or_else(short)?;
                    let bytes = rest.split_off_mut(..window.len()).ok_or_else(short)?;
                    start = window.end;
                    slices[port] = if ports[port].role == Role::In { Slice::In(bytes) } else { Slice::Out(bytes) };
                    last = (window, port);
                }
            }
        }
    }
    let copies = Copies::new(slices.len());
    kernel.on_cpu(item..item + 1, &mut Args::new(kernel.name(), ports, slices, &copies))
}

fn broken(loaded: &Loaded, why: &str) -> Error {
    Error::Kernel { kernel: loaded.kernel.name().into(), why: format!("a port on a view {why}") }
}
