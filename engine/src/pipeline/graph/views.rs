//! Placement of values: in memory of their own, or within the memory of another value.

use core::ops::Range;
use std::sync::Arc;

use crate::kernels::copy::Copy;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Kernel, Port, Role, Sharing};

use super::{Binding, Graph, Id, Origin, Refused, Step, ValueInfo};

impl Graph {
    /// The value in whose memory `id` is placed, and its byte offset in an item there. Elements of `id` are at equal
    /// distances in the item, and the offset is that of the first one.
    pub(in crate::pipeline) fn home(&self, id: Id) -> (Id, usize) {
        match (&self.nodes[id].origin, self.nodes[id].within) {
            (_, Some(place)) => place,
            (Origin::View(of, first), None) => {
                let (root, start) = self.home(*of);
                (root, start + first)
            }
            _ => (id, 0),
        }
    }

    /// The bytes of inputs and step outputs from which these bytes of an item are composed. The elements of a value
    /// count as contiguous here, regardless of their placement.
    pub(in crate::pipeline) fn sources(&self, id: Id, bytes: Range<usize>) -> Vec<(Id, Range<usize>)> {
        let node = &self.nodes[id];
        let own = self.bytes(id).max(1);
        let mut all = Vec::new();
        // the bytes of each element, counted from its start
        let elements = (bytes.start / own..bytes.end.div_ceil(own)).map(|element| {
            let start = element * own;
            (element, bytes.start.max(start) - start..bytes.end.min(start + own) - start)
        });
        match &node.origin {
            Origin::View(of, first) => {
                let apart = self.item_bytes(*of) / self.elements(id);
                for (element, bytes) in elements {
                    let start = element * apart + first;
                    all.extend(self.sources(*of, start + bytes.start..start + bytes.end));
                }
            }
            Origin::Join(parts) => {
                for (element, bytes) in elements {
                    let mut at = 0;
                    for &part in parts {
                        let (start, len) = (at, self.bytes(part));
                        at += len;
                        let within = bytes.start.max(start)..bytes.end.min(at);
                        if !within.is_empty() {
                            let first = element * len;
                            all.extend(self.sources(part, first + within.start - start..first + within.end - start));
                        }
                    }
                }
            }
            _ => all.push((id, bytes)),
        }
        all
    }

    /// The bytes of inputs and step outputs from which a whole value is composed.
    pub(in crate::pipeline) fn all_sources(&self, id: Id) -> Vec<(Id, Range<usize>)> {
        let mut all: Vec<(Id, Range<usize>)> = Vec::new();
        for (source, bytes) in self.sources(id, 0..self.item_bytes(id)) {
            match all.last_mut() {
                Some((last, before)) if *last == source && before.end == bytes.start => before.end = bytes.end,
                _ => all.push((source, bytes)),
            }
        }
        all
    }

    /// The same value, with its items divided into `elements` elements of this content. Steps then work on each element.
    /// A value that is not the whole memory of another one is copied.
    pub(in crate::pipeline) fn divided(
        &mut self,
        id: Id,
        elements: usize,
        content: Option<PolyType>,
    ) -> Result<Id, Refused> {
        self.readable(id)?;
        let kind = self.kind(id)?;
        if elements > 1 && kind.elements > 1 {
            return Err(format!("{} is divided into elements already", self.name(id)));
        }
        if kind.batch_dependent || kind.status || kind.random_key {
            let name = self.name(id);
            return Err(format!("{name} has no elements: it is batch-dependent, or holds statuses or random keys"));
        }
        let (root, first) = self.home(id);
        let whole = first == 0 && self.item_bytes(root) == kind.item_bytes();
        let id = if whole { id } else { self.copy(id, false)? };
        let (of, first) = match self.nodes[id].origin {
            Origin::View(of, first) => (of, first),
            _ => (id, 0),
        };
        let kind = ValueInfo { bytes: kind.item_bytes() / elements, elements, ..kind };
        Ok(self.node("", Origin::View(of, first), Some(kind), content))
    }

    /// Creates a view: a byte range of each item, or of each element, of a value, as a value.
    pub(in crate::pipeline) fn view(
        &mut self,
        id: Id,
        bytes: Range<usize>,
        content: Option<PolyType>,
    ) -> Result<Id, Refused> {
        let name = self.name(id);
        let (of, first) = match self.nodes[id].origin {
            Origin::View(of, first) => (of, first),
            _ => (id, 0),
        };
        let kind = self.kind(id)?;
        if kind.batch_dependent || kind.status || kind.random_key {
            return Err(format!("{name} has no views: it is batch-dependent, or holds statuses or random keys"));
        }
        if bytes.is_empty() || bytes.end > kind.bytes {
            return Err(format!("{name} has {} bytes, so the view {bytes:?} is empty or out of range", kind.bytes));
        }
        let kind = ValueInfo { bytes: bytes.len(), ..kind };
        Ok(self.node("", Origin::View(of, first + bytes.start), Some(kind), content))
    }

    /// Creates the concatenation of values. Parts that a step cannot write directly to their position are copied.
    pub(in crate::pipeline) fn side_by_side(&mut self, parts: &[Id], content: Option<PolyType>) -> Result<Id, Refused> {
        let mut kind: Option<ValueInfo> = None;
        for &part in parts {
            self.readable(part)?;
            let (name, part) = (self.name(part), self.kind(part)?);
            if part.batch_dependent || part.status || part.random_key {
                return Err(format!(
                    "{name} cannot be joined: it is batch-dependent, or holds statuses or random keys"
                ));
            }
            let ValueInfo { bytes, elements, secret, sharing, .. } =
                kind.take().unwrap_or(ValueInfo { bytes: 0, ..part.clone() });
            if elements != part.elements {
                return Err(format!(
                    "{name} cannot be joined: it has {} elements of an item, but another part has {elements}",
                    part.elements
                ));
            }
            if sharing != part.sharing {
                return Err(format!(
                    "{name} cannot be joined: all parts must be per item, or all must be shared by the items"
                ));
            }
            kind = Some(ValueInfo { bytes: bytes + part.bytes, secret: secret | part.secret, ..part });
        }
        let kind = kind.ok_or("there are no values to join")?;
        let id = self.node("", Origin::Join(parts.to_vec()), Some(kind), content);
        // nothing is copied if the parts, in this order, already are the whole memory of one value
        let (root, _) = self.home(parts[0]);
        let mut at = 0;
        let stay = parts.iter().all(|&part| {
            let first = at;
            at += self.bytes(part);
            self.home(part) == (root, first)
        });
        if stay && self.item_bytes(root) == at * self.elements(id) {
            self.nodes[id].within = Some((root, 0));
            return Ok(id);
        }
        let (mut at, mut placed) = (0, Vec::new());
        for &part in parts {
            let part = if self.put(part, id, at) { part } else { self.copy(part, false)? };
            self.nodes[part].within = Some((id, at));
            placed.push(part);
            at += self.bytes(part);
        }
        self.nodes[id].origin = Origin::Join(placed);
        Ok(id)
    }

    /// Tries to place a step's output in the memory of `root` at byte `first`. Returns true if all steps that work on
    /// that memory support this, else changes nothing and returns false.
    fn put(&mut self, id: Id, root: Id, first: usize) -> bool {
        let node = &self.nodes[id];
        let free = matches!(node.origin, Origin::Step(_)) && node.within.is_none();
        let is_output = self.outputs.iter().any(|(_, other)| self.home(*other).0 == id);
        if !free
            || is_output
            || self.is_divided_otherwise(id)
            || self.overwritten.iter().any(|(other, ..)| *other == id)
        {
            return false;
        }
        self.nodes[id].within = Some((root, first));
        let works_on = |step: &Step| {
            step.bound.iter().any(|bound| match *bound {
                Binding::Reads(other) | Binding::Writes(other) => self.home(other).0 == root,
                Binding::Updates(old, new) => [old, new].iter().any(|&other| self.home(other).0 == root),
                Binding::Table(_) => false,
            })
        };
        let fits = self.steps.iter().all(|step| {
            let turned = step.bound.iter().any(|bound| matches!(bound, Binding::Updates(_, new) if *new == id));
            !turned && (!works_on(step) || self.on_views(step).is_some())
        });
        if !fits {
            self.nodes[id].within = None;
        }
        fits
    }

    /// Whether there are views of a value that divide it into another number of elements. The value must then keep its
    /// own memory, since its elements would not be at equal distances elsewhere.
    fn is_divided_otherwise(&self, id: Id) -> bool {
        self.nodes.iter().enumerate().any(|(view, node)| {
            matches!(node.origin, Origin::View(of, _) if of == id) && self.elements(view) != self.elements(id)
        })
    }

    /// Lets steps work in place inside a concatenated value. If a step can run in place and writes a part of such a
    /// value, its input is placed in the same bytes, unless another step reads that input. The input then needs no
    /// temporary, and the steps of different parts share none.
    pub(in crate::pipeline) fn work_where_joined(&mut self) {
        for step in (0..self.steps.len()).rev() {
            let Step { kernel, bound, .. } = &self.steps[step];
            let turned = bound.iter().enumerate().filter_map(|(output, written)| {
                let Binding::Writes(new) = *written else { return None };
                let place = self.nodes[new].within.filter(|(root, _)| self.is_own(*root))?;
                let old = bound.iter().enumerate().find_map(|(input, read)| match *read {
                    Binding::Reads(old) if kernel.in_place(input, output) && self.can_lie(old, new, step) => Some(old),
                    _ => None,
                });
                Some((old?, place))
            });
            for (old, place) in turned.collect::<Vec<_>>() {
                self.nodes[old].within = Some(place);
                let binds = |step: &Step| {
                    step.bound
                        .iter()
                        .any(|bound| matches!(*bound, Binding::Reads(id) | Binding::Writes(id) if id == old))
                };
                if self.steps.iter().any(|step| binds(step) && self.on_views(step).is_none()) {
                    self.nodes[old].within = None;
                }
            }
        }
    }

    /// Whether the memory of `root` belongs neither to an input nor to an output that overwrites an input.
    fn is_own(&self, root: Id) -> bool {
        let is_input = |name: &String| self.inputs.iter().any(|(other, _)| other == name);
        !matches!(self.nodes[root].origin, Origin::Input)
            && !self.outputs.iter().any(|(name, id)| self.home(*id).0 == root && is_input(name))
    }

    /// Whether `old` can be placed where `step`, its only reader, writes `new`.
    fn can_lie(&self, old: Id, new: Id, step: usize) -> bool {
        let Origin::Step(writer) = self.nodes[old].origin else { return false };
        // a value that its step updates in place must stay in the memory that the step read
        let is_new = self.steps[writer].bound.iter().any(|bound| matches!(*bound, Binding::Writes(id) if id == old));
        let free = is_new && self.nodes[old].within.is_none();
        let alike = match (&self.nodes[old].kind, &self.nodes[new].kind) {
            (Some(a), Some(b)) => {
                let same = (a.bytes, a.elements, a.sharing) == (b.bytes, b.elements, b.sharing);
                same && !a.status && !a.batch_dependent && (b.secret || !a.secret)
            }
            _ => false,
        };
        free && alike && !self.is_divided_otherwise(old) && self.is_for(old, step)
    }

    /// The kernel of a step, adapted to the placement of its values. `None` if the kernel does not support this
    /// placement.
    pub(in crate::pipeline) fn on_views(&self, step: &Step) -> Option<Arc<dyn Kernel>> {
        let ports = step.kernel.ports();
        let places: Vec<(usize, usize)> = step
            .bound
            .iter()
            .zip(ports)
            .map(|(bound, port)| match *bound {
                Binding::Reads(id) | Binding::Writes(id) | Binding::Updates(_, id) => self.place(id, port, step.once),
                Binding::Table(_) => (0, port.stride()),
            })
            .collect();
        takes(&step.kernel, ports, &places)
    }

    /// The placement of a port's value: its byte offset in the memory that holds it, and the stride between items in
    /// bytes.
    fn place(&self, id: Id, port: &Port, once: bool) -> (usize, usize) {
        let (root, first) = self.home(id);
        let shared = self.nodes[id].kind.as_ref().is_some_and(|kind| kind.sharing == Sharing::Shared);
        let elements = self.elements(id);
        let stride = match (port.sharing, shared) {
            (Sharing::Shared, _) => port.stride(),
            _ if once && elements == 1 => port.bytes,
            (_, true) if !once => 0,
            _ => self.item_bytes(root) / elements,
        };
        (first, stride)
    }

    /// Adds a step that copies a value, and returns the copy. If `for_each` is true, a shared value is copied for each
    /// item.
    pub(super) fn copy(&mut self, id: Id, for_each: bool) -> Result<Id, Refused> {
        let kind = self.kind(id)?;
        let once = kind.sharing == Sharing::Shared && !for_each;
        let kernel: Arc<dyn Kernel> = Arc::new(Copy::of(kind.bytes, kind.secret));
        let sharing = if once { Sharing::Shared } else { Sharing::PerItem };
        let (step, content) = (self.steps.len(), self.nodes[id].content.clone());
        let copied = ValueInfo { sharing, ..kind.clone() };
        let new = self.node(kernel.name(), Origin::Step(step), Some(copied), content);
        let elements = kind.elements;
        let bound = vec![Binding::Reads(id), Binding::Writes(new)];
        self.steps.push(Step { kernel, bound, once, elements });
        self.copies.push((id, new));
        Ok(new)
    }

    /// Returns an error if a step updates a value in place and another of its ports updates overlapping bytes, or reads
    /// bytes that overlap without being the same.
    pub(super) fn apart(&self, kernel: &str, ports: &[Port], inputs: &[Option<Id>]) -> Result<(), Refused> {
        let place = |id: Id| {
            let (root, first) = self.home(id);
            (root, first..first + self.bytes(id))
        };
        for (p, old) in inputs.iter().enumerate().filter(|(p, _)| ports[*p].role == Role::InOut) {
            for (q, other) in inputs.iter().enumerate().filter(|(q, _)| *q != p) {
                let (Some(old), Some(other)) = (*old, *other) else { continue };
                let ((root, a), (other_root, b)) = (place(old), place(other));
                if root != other_root || !meet(&a, &b) {
                    continue;
                }
                let (name, other) = (self.name(old), self.name(other));
                if ports[q].role == Role::InOut {
                    return Err(format!("{kernel} overwrites {name} twice"));
                }
                if a != b {
                    return Err(format!("{kernel} overwrites {name}, which overlaps {other}"));
                }
            }
        }
        Ok(())
    }

    /// Replaces inputs by contiguous copies if the kernel does not support their placement. Returns an error if it does
    /// not support contiguous items either.
    pub(super) fn copy_views(
        &mut self,
        kernel: &Arc<dyn Kernel>,
        ports: &[Port],
        inputs: &mut [Option<Id>],
        once: bool,
    ) -> Result<(), Refused> {
        let place = |(port, id): (&Port, &Option<Id>)| id.map_or((0, port.bytes), |id| self.place(id, port, once));
        let places: Vec<_> = ports.iter().zip(&*inputs).map(place).collect();
        if takes(kernel, ports, &places).is_some() {
            return Ok(());
        }
        for ((port, id), (first, stride)) in ports.iter().zip(inputs).zip(places) {
            if let (Some(id), true) = (id, first > 0 || stride != port.bytes && port.sharing == Sharing::PerItem) {
                *id = self.copy(*id, stride == 0)?;
            }
        }
        let dense: Vec<_> = ports.iter().map(|port| (0, port.bytes)).collect();
        let copied = takes(kernel, ports, &dense).map(|_| ());
        copied.ok_or_else(|| format!("{} only works on items with a stride, not on contiguous ones", kernel.name()))
    }

    /// Makes the copies of secret values secret, and the originals of secret copies.
    pub(in crate::pipeline) fn keep_copies_secret(&mut self) {
        let copies = self.copies.clone();
        for &(id, copy) in copies.iter().rev() {
            if self.is_secret(copy) {
                self.keep_secret(id);
            }
        }
        for &(id, copy) in &copies {
            if self.all_sources(id).iter().any(|(source, _)| self.is_secret(*source)) {
                self.keep_secret(copy);
            }
        }
    }
}

/// The kernel for these placements of its ports: for each port the byte offset of item 0, and the byte stride between
/// items. `None` if the kernel does not support them.
fn takes(kernel: &Arc<dyn Kernel>, ports: &[Port], places: &[(usize, usize)]) -> Option<Arc<dyn Kernel>> {
    if ports.iter().zip(places).all(|(port, place)| *place == (0, port.stride())) {
        return Some(kernel.clone());
    }
    let (firsts, strides): (Vec<usize>, Vec<usize>) = places.iter().copied().unzip();
    let alike = |(new, (old, stride)): (&Port, (&Port, &usize))| {
        let same = (new.role, new.sharing) == (old.role, old.sharing);
        same && (old.sharing == Sharing::Shared || (new.bytes, new.stride()) == (old.bytes, *stride))
    };
    let same = |new: &Arc<dyn Kernel>| {
        new.ports().len() == ports.len() && new.ports().iter().zip(ports.iter().zip(&strides)).all(alike)
    };
    kernel.on_views(&firsts, &strides).filter(same)
}

/// Whether two byte ranges overlap.
pub(in crate::pipeline) fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}
