//! Values and steps, numbered.

use core::ops::Range;
use std::sync::Arc;

use crate::kernel::{Kernel, Port, Role, Sharing};
use crate::kernels::copy::Copy;
use crate::plan::{Content, Plan, Slot};
use crate::table::Table;

/// A value's number.
pub(super) type Id = usize;
/// Why something cannot be.
pub(super) type Refused = String;

/// What a value is. Inputs know it when a step takes them.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    pub(super) bytes: usize,
    pub(super) sharing: Sharing,
    pub(super) secret: bool,
    /// What an output port says of it.
    pub(super) status: bool,
    pub(super) joint: bool,
    pub(super) draws: bool,
}

/// Where a value comes from.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    Input,
    /// The step that writes it.
    Step(usize),
    /// It is those bytes of each item of another value, which is no view, that begin with this one.
    View(Id, usize),
    /// It is these values, one after another.
    Join(Vec<Id>),
}

#[derive(Debug)]
pub(super) struct Node {
    /// An input's name, else that of the kernel that writes it.
    name: String,
    pub(super) kind: Option<Kind>,
    pub(super) content: Option<Content>,
    pub(super) origin: Origin,
    /// The value in whose memory it lies, if not in its own, and its first byte there.
    within: Option<(Id, usize)>,
}

/// What a port of a step is bound to.
#[derive(Debug)]
pub(super) enum Bound {
    Reads(Id),
    Writes(Id),
    /// Reads one value, and leaves the other in its place.
    Turns(Id, Id),
    Table(Table),
}

#[derive(Debug)]
pub(super) struct Step {
    pub(super) kernel: Arc<dyn Kernel>,
    pub(super) bound: Vec<Bound>,
    /// Whether it runs once, on what all items share.
    pub(super) once: bool,
}

#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) steps: Vec<Step>,
    /// Names and values of inputs and of outputs.
    pub(super) inputs: Vec<(String, Id)>,
    pub(super) outputs: Vec<(String, Id)>,
    /// Bytes of inputs and steps' outputs that were written over, and by which step.
    overwritten: Vec<(Id, Range<usize>, usize)>,
    /// Values and their copies.
    copies: Vec<(Id, Id)>,
}

impl Kind {
    fn of(port: &Port) -> Self {
        let Port { bytes, sharing, secret, status, joint, draws, .. } = *port;
        Self { bytes, sharing, secret, status, joint, draws }
    }
}

impl Graph {
    pub(super) fn input(&mut self, name: &str, content: Option<Content>) -> Result<Id, Refused> {
        if self.inputs.iter().any(|(other, _)| other == name) {
            return Err(format!("a second input has the name {name}"));
        }
        let kind = content.as_ref().map(|content| Kind::of(&Port::input(content.ring().bytes())));
        let id = self.node(name, Origin::Input, kind, content);
        self.inputs.push((name.into(), id));
        Ok(id)
    }

    pub(super) fn sized_input(&mut self, name: &str, port: &Port) -> Result<Id, Refused> {
        let id = self.input(name, None)?;
        self.nodes[id].kind = Some(Kind::of(port));
        Ok(id)
    }

    pub(super) fn output(&mut self, name: &str, id: Id) -> Result<(), Refused> {
        if self.outputs.iter().any(|(other, _)| other == name) {
            return Err(format!("a second output has the name {name}"));
        }
        let value = self.name(id);
        self.readable(id)?;
        let node = &self.nodes[id];
        if matches!(node.origin, Origin::Input) {
            return Err(format!("no step writes {value}, which is to be output as {name}"));
        }
        if node.kind.as_ref().is_some_and(|kind| kind.joint) {
            return Err(format!("{value} depends on its neighbours, so it cannot be output as {name}"));
        }
        if let Some((other, _)) = self.outputs.iter().find(|(_, other)| *other == id) {
            return Err(format!("{value} is output already, as {other}"));
        }
        // its memory is an argument's: of its own size, and nobody else's
        let (root, _) = self.home(id);
        let inputs = self.inputs.iter().filter(|(other, _)| other != name);
        let others = inputs.chain(&self.outputs).any(|(_, other)| self.home(*other).0 == root);
        let id = if others || self.bytes(root) != self.bytes(id) { self.copy(id, false)? } else { id };
        self.outputs.push((name.into(), id));
        Ok(())
    }

    pub(super) fn holding(&mut self, id: Id, content: Content) -> Result<Id, Refused> {
        let name = self.name(id);
        let node = &mut self.nodes[id];
        let bytes = content.ring().bytes();
        match &node.kind {
            Some(kind) if kind.bytes != bytes => {
                return Err(format!("{name} has {} bytes, and {content} have {bytes}", kind.bytes));
            }
            Some(_) => {}
            None => node.kind = Some(Kind::of(&Port::input(bytes))),
        }
        node.content = Some(content);
        Ok(id)
    }

    pub(super) fn content(&self, id: Id) -> Option<&Content> {
        self.nodes[id].content.as_ref()
    }

    /// What a value is called in errors.
    pub(super) fn name(&self, id: Id) -> String {
        let name = &self.nodes[id].name;
        match &self.nodes[id].origin {
            Origin::Input => format!("the input {name}"),
            Origin::Step(_) => format!("what {name} writes"),
            Origin::View(of, first) => format!("{}[{first}..{}]", self.name(*of), first + self.bytes(id)),
            Origin::Join(_) => "what was joined".into(),
        }
    }

    fn kind(&self, id: Id) -> Result<Kind, Refused> {
        let unknown = || format!("it is not known how many bytes {} has", self.name(id));
        self.nodes[id].kind.clone().ok_or_else(unknown)
    }

    fn bytes(&self, id: Id) -> usize {
        self.nodes[id].kind.as_ref().map_or(0, |kind| kind.bytes)
    }

    /// The value in whose memory one lies, and its first byte there.
    pub(super) fn home(&self, id: Id) -> (Id, usize) {
        match (&self.nodes[id].origin, self.nodes[id].within) {
            (_, Some(place)) => place,
            (Origin::View(of, first), None) => {
                let (root, start) = self.home(*of);
                (root, start + first)
            }
            _ => (id, 0),
        }
    }

    /// The bytes of inputs and of steps' outputs that these bytes of a value are.
    pub(super) fn sources(&self, id: Id, bytes: Range<usize>) -> Vec<(Id, Range<usize>)> {
        match &self.nodes[id].origin {
            Origin::View(of, first) => self.sources(*of, first + bytes.start..first + bytes.end),
            Origin::Join(parts) => {
                let (mut at, mut all) = (0, Vec::new());
                for &part in parts {
                    let (start, len) = (at, self.bytes(part));
                    at += len;
                    let within = bytes.start.max(start)..bytes.end.min(at);
                    if !within.is_empty() {
                        all.extend(self.sources(part, within.start - start..within.end - start));
                    }
                }
                all
            }
            _ => vec![(id, bytes)],
        }
    }

    /// The same of all of a value.
    pub(super) fn all_sources(&self, id: Id) -> Vec<(Id, Range<usize>)> {
        self.sources(id, 0..self.bytes(id))
    }

    /// Bytes of each item of a value, as a value.
    pub(super) fn view(&mut self, id: Id, bytes: Range<usize>, content: Option<Content>) -> Result<Id, Refused> {
        let name = self.name(id);
        let (of, first) = match self.nodes[id].origin {
            Origin::View(of, first) => (of, first),
            _ => (id, 0),
        };
        let kind = self.kind(id)?;
        if kind.joint || kind.status || kind.draws {
            return Err(format!("{name} has no views: it depends on its neighbours, or holds statuses or draws"));
        }
        if bytes.is_empty() || bytes.end > kind.bytes {
            return Err(format!("{name} has {} bytes, and a view is of {bytes:?}", kind.bytes));
        }
        let kind = Kind { bytes: bytes.len(), ..kind };
        Ok(self.node("", Origin::View(of, first + bytes.start), Some(kind), content))
    }

    /// Values one after another, as one. Those that cannot lie there from the start are copied.
    pub(super) fn side_by_side(&mut self, parts: &[Id], content: Option<Content>) -> Result<Id, Refused> {
        let mut kind: Option<Kind> = None;
        for &part in parts {
            self.readable(part)?;
            let (name, part) = (self.name(part), self.kind(part)?);
            if part.joint || part.status || part.draws {
                return Err(format!(
                    "{name} cannot be joined: it depends on its neighbours, or holds statuses or draws"
                ));
            }
            let Kind { bytes, secret, sharing, .. } = kind.take().unwrap_or(Kind { bytes: 0, ..part.clone() });
            if sharing != part.sharing {
                return Err(format!("all items share {name}, or have their own, unlike what it is joined with"));
            }
            kind = Some(Kind { bytes: bytes + part.bytes, secret: secret | part.secret, ..part });
        }
        let kind = kind.ok_or("nothing is joined")?;
        let id = self.node("", Origin::Join(parts.to_vec()), Some(kind), content);
        // all of one value's memory already
        let (root, _) = self.home(parts[0]);
        let mut at = 0;
        let stay = parts.iter().all(|&part| {
            let first = at;
            at += self.bytes(part);
            self.home(part) == (root, first)
        });
        if stay && self.bytes(root) == at {
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

    /// Has a step's output lie in the memory of another value, if all steps that work on it can do that.
    fn put(&mut self, id: Id, root: Id, first: usize) -> bool {
        let node = &self.nodes[id];
        let free = matches!(node.origin, Origin::Step(_)) && node.within.is_none();
        let is_output = self.outputs.iter().any(|(_, other)| *other == id);
        if !free || is_output || self.overwritten.iter().any(|(other, ..)| *other == id) {
            return false;
        }
        self.nodes[id].within = Some((root, first));
        let works_on = |step: &Step| {
            step.bound.iter().any(|bound| match *bound {
                Bound::Reads(other) | Bound::Writes(other) => self.home(other).0 == root,
                Bound::Turns(old, new) => [old, new].iter().any(|&other| self.home(other).0 == root),
                Bound::Table(_) => false,
            })
        };
        let fits = self.steps.iter().all(|step| {
            let turned = step.bound.iter().any(|bound| matches!(bound, Bound::Turns(_, new) if *new == id));
            !turned && (!works_on(step) || self.on_views(step).is_some())
        });
        if !fits {
            self.nodes[id].within = None;
        }
        fits
    }

    /// The kernel of a step, for where the values lie that it is bound to; nothing if it does not work there.
    pub(super) fn on_views(&self, step: &Step) -> Option<Arc<dyn Kernel>> {
        let ports = step.kernel.ports();
        let places: Vec<(usize, usize)> = step
            .bound
            .iter()
            .zip(ports)
            .map(|(bound, port)| match *bound {
                Bound::Reads(id) | Bound::Writes(id) | Bound::Turns(_, id) => self.place(id, port, step.once),
                Bound::Table(_) => (0, port.distance()),
            })
            .collect();
        takes(&step.kernel, ports, &places)
    }

    /// Where a port has a value: the first byte in its memory, and the distance from item to item.
    fn place(&self, id: Id, port: &Port, once: bool) -> (usize, usize) {
        let (root, first) = self.home(id);
        let shared = self.nodes[id].kind.as_ref().is_some_and(|kind| kind.sharing == Sharing::Shared);
        let distance = match (port.sharing, shared) {
            (Sharing::Shared, _) => port.distance(),
            _ if once => port.bytes,
            (_, true) => 0,
            _ => self.bytes(root),
        };
        (first, distance)
    }

    /// A copy of a value; of one that all items share, for each item if so wanted.
    fn copy(&mut self, id: Id, for_each: bool) -> Result<Id, Refused> {
        let kind = self.kind(id)?;
        let once = kind.sharing == Sharing::Shared && !for_each;
        let kernel: Arc<dyn Kernel> = Arc::new(Copy::new(kind.bytes, kind.secret));
        let sharing = if once { Sharing::Shared } else { Sharing::PerItem };
        let (step, content) = (self.steps.len(), self.nodes[id].content.clone());
        let new = self.node(kernel.name(), Origin::Step(step), Some(Kind { sharing, ..kind }), content);
        self.steps.push(Step { kernel, bound: vec![Bound::Reads(id), Bound::Writes(new)], once });
        self.copies.push((id, new));
        Ok(new)
    }

    /// A step, its inputs in the order of the ports that read. Gives what it writes.
    pub(super) fn step(&mut self, kernel: Arc<dyn Kernel>, inputs: &[Id]) -> Result<Vec<Id>, Refused> {
        let ports = kernel.ports().to_vec();
        let tables: Vec<Option<Table>> = (0..ports.len()).map(|port| kernel.table(port)).collect();
        let takes = |(port, table): (&Port, &Option<Table>)| port.role != Role::Out && table.is_none();
        let wanted = ports.iter().zip(&tables).filter(|pair| takes(*pair)).count();
        if wanted != inputs.len() {
            return Err(format!("{} takes {wanted} values, and got {}", kernel.name(), inputs.len()));
        }
        let mut inputs = inputs.iter().copied();
        let ids = ports.iter().zip(&tables).map(|pair| takes(pair).then(|| inputs.next()).flatten()).collect();
        self.bind(kernel, ports, tables, ids)
    }

    /// A step with the value that each port reads and the table that each is bound to.
    fn bind(
        &mut self,
        kernel: Arc<dyn Kernel>,
        ports: Vec<Port>,
        tables: Vec<Option<Table>>,
        mut inputs: Vec<Option<Id>>,
    ) -> Result<Vec<Id>, Refused> {
        let once = self.runs_once(&inputs);
        let kind = |port: &Port| Kind { sharing: if once { Sharing::Shared } else { port.sharing }, ..Kind::of(port) };
        // all that is read first: a step reads before it writes
        for (port, id) in ports.iter().zip(&inputs) {
            if let Some(id) = *id {
                self.take(kernel.name(), port, id, once)?;
            }
        }
        self.apart(kernel.name(), &ports, &inputs)?;
        let originals = inputs.clone();
        self.copy_views(&kernel, &ports, &mut inputs, once)?;
        let step = self.steps.len();
        let mut outputs = Vec::new();
        let mut bound = Vec::with_capacity(ports.len());
        for (((port, table), id), original) in ports.iter().zip(tables).zip(inputs).zip(originals) {
            if port.sharing == Sharing::Shared && port.role != Role::In {
                return Err(format!("{} writes to a shared port", kernel.name()));
            }
            bound.push(match (port.role, table, id) {
                (Role::In, Some(table), _) => {
                    check_table(kernel.name(), port, &table)?;
                    Bound::Table(table)
                }
                (Role::In, None, Some(id)) if port.tables == 0 => Bound::Reads(id),
                (Role::Out, None, _) => {
                    let id = self.node(kernel.name(), Origin::Step(step), Some(kind(port)), None);
                    outputs.push(id);
                    Bound::Writes(id)
                }
                (Role::InOut, None, Some(old)) => {
                    let secret = self.nodes[old].kind.as_ref().is_some_and(|kind| kind.secret);
                    let kind = Kind { secret, ..kind(port) };
                    let id = self.node(kernel.name(), Origin::Step(step), Some(kind), None);
                    self.nodes[id].within = Some(self.home(old)).filter(|place| *place != (old, 0));
                    // also where a copy is written over: what is gone is no kernel's choice
                    let gone =
                        self.all_sources(original.unwrap_or(old)).into_iter().map(|(id, bytes)| (id, bytes, step));
                    self.overwritten.extend(gone.collect::<Vec<_>>());
                    outputs.push(id);
                    Bound::Turns(old, id)
                }
                _ => {
                    return Err(format!("{} has a table for a port that it writes, or nothing to read", kernel.name()));
                }
            });
        }
        self.steps.push(Step { kernel, bound, once });
        Ok(outputs)
    }

    /// Whether what a step writes over is apart from all else that it takes of the same value.
    fn apart(&self, kernel: &str, ports: &[Port], inputs: &[Option<Id>]) -> Result<(), Refused> {
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
                    return Err(format!("{kernel} writes twice over {name}"));
                }
                if a != b {
                    return Err(format!("{kernel} writes over {name}, which overlaps {other}"));
                }
            }
        }
        Ok(())
    }

    /// Puts copies in the place of views that a kernel does not take.
    fn copy_views(
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
        for ((port, id), (first, distance)) in ports.iter().zip(inputs).zip(places) {
            if let (Some(id), true) = (id, first > 0 || distance != port.bytes && port.sharing == Sharing::PerItem) {
                *id = self.copy(*id, distance == 0)?;
            }
        }
        let dense: Vec<_> = ports.iter().map(|port| (0, port.bytes)).collect();
        let copied = takes(kernel, ports, &dense).map(|_| ());
        copied.ok_or_else(|| format!("{} is for items that lie apart, and for no others", kernel.name()))
    }

    /// Whether a step with these inputs runs once: all items share them, and they are no draws, of which each item has its own.
    fn runs_once(&self, inputs: &[Option<Id>]) -> bool {
        let mut kinds = inputs.iter().flatten().map(|&id| self.nodes[id].kind.as_ref());
        let shared = |kind: Option<&Kind>| kind.is_some_and(|kind| kind.sharing == Sharing::Shared && !kind.draws);
        inputs.iter().any(Option::is_some) && kinds.all(shared)
    }

    /// Whether a value can be what a port reads.
    fn take(&mut self, kernel: &str, port: &Port, id: Id, once: bool) -> Result<(), Refused> {
        self.readable(id)?;
        let name = self.name(id);
        let node = &mut self.nodes[id];
        let Some(kind) = &mut node.kind else {
            // an input that others read as well: its statuses are the caller's
            node.kind = Some(Kind { status: false, joint: false, ..Kind::of(port) });
            return Ok(());
        };
        let broadcast = kind.sharing == Sharing::Shared && port.role == Role::In && !kind.draws;
        if kind.bytes != port.bytes || (kind.sharing != port.sharing && !once && !broadcast) {
            return Err(format!(
                "{kernel} wants {}, and {name} has {}",
                size(port.bytes, port.sharing),
                size(kind.bytes, kind.sharing)
            ));
        }
        if port.draws != kind.draws {
            let (draws, other) = if port.draws { (kernel, &*name) } else { (&*name, kernel) };
            return Err(format!("{draws} is for draws, and {other} is not"));
        }
        if port.secret {
            self.keep_secret(id);
        }
        Ok(())
    }

    /// What a value holds is secret, and so is the memory that it is in.
    fn keep_secret(&mut self, id: Id) {
        let sources = self.all_sources(id).into_iter().map(|(source, _)| source);
        for id in sources.chain([id, self.home(id).0]).collect::<Vec<_>>() {
            self.nodes[id].kind.iter_mut().for_each(|kind| kind.secret = true);
        }
    }

    /// Copies of what turned out to be secret are secret, and so is what they are copies of.
    pub(super) fn keep_copies_secret(&mut self) {
        let is_secret = |graph: &Self, id: Id| graph.nodes[id].kind.as_ref().is_some_and(|kind| kind.secret);
        let copies = core::mem::take(&mut self.copies);
        for &(id, copy) in copies.iter().rev() {
            if is_secret(self, copy) {
                self.keep_secret(id);
            }
        }
        for &(id, copy) in &copies {
            if self.all_sources(id).iter().any(|(source, _)| is_secret(self, *source)) {
                self.keep_secret(copy);
            }
        }
    }

    fn readable(&self, id: Id) -> Result<(), Refused> {
        let sources = self.all_sources(id);
        let is_gone = |(old, range, _): &&(Id, Range<usize>, usize)| {
            sources.iter().any(|(source, bytes)| source == old && (bytes.is_empty() || meet(bytes, range)))
        };
        match self.overwritten.iter().find(is_gone).and_then(|(.., step)| self.steps.get(*step)) {
            Some(step) => Err(format!("{} is gone: {} wrote over it", self.name(id), step.kernel.name())),
            None => Ok(()),
        }
    }

    /// The steps of a plan; `inputs` are popped from the end. Gives what it writes.
    pub(super) fn steps_of(&mut self, plan: &Plan, mut inputs: Vec<Id>) -> Result<Vec<Id>, Refused> {
        let mut places: Vec<Pieces> = Vec::new();
        for arg in &plan.args {
            let id = if arg.role == Role::Out { None } else { inputs.pop() };
            if let Some(id) = id {
                self.fits(plan, &arg.name, arg.before.as_ref(), id)?;
            }
            places.push(id.map(|id| (0..arg.bytes, id, 0)).into_iter().collect());
        }
        places.resize(plan.args.len() + plan.temps.len(), Vec::new());
        for step in &plan.steps {
            let ports = step.kernel.ports().to_vec();
            let (mut tables, mut ids) = (Vec::new(), Vec::new());
            for (port, slot) in ports.iter().zip(&step.slots) {
                ids.push(match slot {
                    Slot::Memory(_, first) if port.role != Role::Out => match slot.number(plan.args.len()) {
                        Some(place) => self.gather(&places[place], *first..first + port.bytes)?,
                        None => None,
                    },
                    _ => None,
                });
                tables.push(if let Slot::Table(table) = slot { Some(table.clone()) } else { None });
            }
            let mut written = self.bind(step.kernel.clone(), ports.clone(), tables, ids)?.into_iter();
            for (port, slot) in ports.iter().zip(&step.slots) {
                if let (Slot::Memory(_, first), Some(place), true) =
                    (slot, slot.number(plan.args.len()), port.role != Role::In)
                    && let Some(id) = written.next()
                {
                    replace(&mut places[place], &(*first..first + port.bytes), id);
                }
            }
        }
        let mut outputs = Vec::new();
        for (arg, pieces) in plan.args.iter().zip(&places).filter(|(arg, _)| arg.role != Role::In) {
            if let Some(id) = self.gather(pieces, 0..arg.bytes)? {
                self.nodes[id].content = arg.after.clone();
                outputs.push(id);
            }
        }
        Ok(outputs)
    }

    /// The value that lies at these bytes.
    fn gather(&mut self, pieces: &Pieces, bytes: Range<usize>) -> Result<Option<Id>, Refused> {
        let mut found = Vec::new();
        for (piece, id, first) in pieces {
            let within = bytes.start.max(piece.start)..bytes.end.min(piece.end);
            if within == *piece && *first == 0 && self.bytes(*id) <= piece.len() {
                found.push(*id);
            } else if !within.is_empty() {
                let first = first + within.start - piece.start;
                found.push(self.view(*id, first..first + within.len(), None)?);
            }
        }
        Ok(match found[..] {
            [] => None,
            [id] => Some(id),
            _ => Some(self.side_by_side(&found, None)?),
        })
    }

    /// Whether a value holds what an argument of a plan should.
    fn fits(&mut self, plan: &Plan, arg: &str, wanted: Option<&Content>, id: Id) -> Result<(), Refused> {
        let (Some(wanted), Some(got)) = (wanted, self.content(id)) else {
            if let (Some(wanted), true) = (wanted, self.nodes[id].kind.is_none()) {
                self.holding(id, wanted.clone())?;
            }
            return Ok(());
        };
        if wanted != got {
            return Err(format!("{arg} of {} is to be {wanted}, and {} are {got}", plan.title, self.name(id)));
        }
        Ok(())
    }

    /// Puts the steps that run once before the others.
    pub(super) fn once_first(&mut self) {
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_by_key(|&step| !self.steps[step].once);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        for node in &mut self.nodes {
            if let Origin::Step(step) = &mut node.origin {
                *step = place[*step];
            }
        }
        let mut steps: Vec<(usize, Step)> = place.into_iter().zip(core::mem::take(&mut self.steps)).collect();
        steps.sort_by_key(|(place, _)| *place);
        self.steps = steps.into_iter().map(|(_, step)| step).collect();
    }

    fn node(&mut self, name: &str, origin: Origin, kind: Option<Kind>, content: Option<Content>) -> Id {
        self.nodes.push(Node { name: name.into(), kind, content, origin, within: None });
        self.nodes.len() - 1
    }
}

/// What lies in memory of a plan: for bytes of it, a value and the first of its bytes that lies there.
type Pieces = Vec<(Range<usize>, Id, usize)>;

/// Puts a value at these bytes.
fn replace(pieces: &mut Pieces, bytes: &Range<usize>, id: Id) {
    let mut left = vec![(bytes.clone(), id, 0)];
    for (piece, old, first) in core::mem::take(pieces) {
        for rest in [piece.start..piece.end.min(bytes.start), piece.start.max(bytes.end)..piece.end] {
            if !rest.is_empty() {
                left.push((rest.clone(), old, first + rest.start - piece.start));
            }
        }
    }
    left.sort_by_key(|(bytes, ..)| bytes.start);
    *pieces = left;
}

/// The kernel for ports at these places, each the first byte of item 0 and the distance from item to item.
fn takes(kernel: &Arc<dyn Kernel>, ports: &[Port], places: &[(usize, usize)]) -> Option<Arc<dyn Kernel>> {
    if ports.iter().zip(places).all(|(port, place)| *place == (0, port.distance())) {
        return Some(kernel.clone());
    }
    let (firsts, distances): (Vec<usize>, Vec<usize>) = places.iter().copied().unzip();
    let alike = |(new, (old, distance)): (&Port, (&Port, &usize))| {
        let same = (new.role, new.sharing) == (old.role, old.sharing);
        same && (old.sharing == Sharing::Shared || (new.bytes, new.distance()) == (old.bytes, *distance))
    };
    let same = |new: &Arc<dyn Kernel>| {
        new.ports().len() == ports.len() && new.ports().iter().zip(ports.iter().zip(&distances)).all(alike)
    };
    kernel.on_views(&firsts, &distances).filter(same)
}

/// Whether two ranges of bytes have one in common.
pub(super) fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

/// Whether a kernel's port can be bound to a table.
pub(super) fn check_table(kernel: &str, port: &Port, table: &Table) -> Result<(), Refused> {
    table.check()?;
    if table.fits(port) {
        return Ok(());
    }
    Err(format!("{kernel} has no shared input for its table of {} bytes", table.bytes()))
}

fn size(bytes: usize, sharing: Sharing) -> String {
    match sharing {
        Sharing::PerItem => format!("{bytes} bytes an item"),
        Sharing::Shared => format!("{bytes} bytes that all items share"),
    }
}
