//! Values and steps, numbered.

mod plans;
mod views;

use core::ops::Range;
use std::collections::BTreeSet;
use std::sync::Arc;

use ringforge_math::poly::PolyType;
use ringforge_runtime::draws::Draws;
use ringforge_runtime::kernel::{Kernel, Port, Role, Sharing, Table};

pub(super) use views::meet;

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

#[derive(Debug, Clone)]
pub(super) struct Node {
    /// An input's name, else that of the kernel that writes it.
    name: String,
    pub(super) kind: Option<Kind>,
    pub(super) content: Option<PolyType>,
    pub(super) origin: Origin,
    /// The value in whose memory it lies, if not in its own, and its first byte there.
    within: Option<(Id, usize)>,
}

/// What a port of a step is bound to.
#[derive(Debug, Clone)]
pub(super) enum Bound {
    Reads(Id),
    Writes(Id),
    /// Reads one value, and leaves the other in its place.
    Turns(Id, Id),
    Table(Table),
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) kernel: Arc<dyn Kernel>,
    pub(super) bound: Vec<Bound>,
    /// Whether it runs once, on what all items share.
    pub(super) once: bool,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) steps: Vec<Step>,
    /// Names and values of inputs and of outputs.
    pub(super) inputs: Vec<(String, Id)>,
    pub(super) outputs: Vec<(String, Id)>,
    /// Bytes of inputs and steps' outputs that were written over, and by which step.
    overwritten: Vec<(Id, Range<usize>, usize)>,
    /// Bytes that are keys, and the series of blocks that steps take under them.
    series: Vec<(Id, Range<usize>, u32)>,
    /// Values and their copies.
    copies: Vec<(Id, Id)>,
    /// Values that are secret, and so is all that is made of them.
    secrets: Vec<Id>,
    /// Values that are secret themselves, whether or not it was known what they hold when that was said.
    kept_secret: BTreeSet<Id>,
}

impl Kind {
    fn of(port: &Port) -> Self {
        let Port { bytes, sharing, secret, status, joint, draws, .. } = *port;
        Self { bytes, sharing, secret, status, joint, draws }
    }
}

impl Node {
    /// The value is another one.
    pub(super) fn become_view(&mut self, of: Id) {
        (self.origin, self.within) = (Origin::View(of, 0), None);
    }
}

impl Graph {
    pub(super) fn input(&mut self, name: &str, content: Option<PolyType>) -> Result<Id, Refused> {
        if self.inputs.iter().any(|(other, _)| other == name) {
            return Err(format!("a second input has the name {name}"));
        }
        let kind = content.as_ref().map(|content| Kind::of(&Port::input(content.bytes())));
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

    pub(super) fn holding(&mut self, id: Id, content: PolyType) -> Result<Id, Refused> {
        let name = self.name(id);
        let node = &mut self.nodes[id];
        let bytes = content.bytes();
        match &node.kind {
            Some(kind) if kind.bytes != bytes => {
                let content = content.described();
                return Err(format!("{name} has {} bytes, and {content} have {bytes}", kind.bytes));
            }
            Some(_) => {}
            None => node.kind = Some(Kind::of(&Port::input(bytes))),
        }
        node.content = Some(content);
        Ok(id)
    }

    pub(super) fn content(&self, id: Id) -> Option<&PolyType> {
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
        self.take_series(kernel.name(), &ports, &inputs)?;
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
                    let secret = self.is_secret(old);
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

    /// The port of a sampler for this key, an input of draws where nothing is known of it: in a series that is free.
    pub(super) fn key_port(&self, key: Id) -> Port {
        let port = match &self.nodes[key].kind {
            Some(kind) if !kind.draws => {
                let port = Port::input(Draws::BYTES);
                if kind.secret { port.secret() } else { port }
            }
            _ => Port::draws(),
        };
        port.of_series(self.series_of(key).max().unwrap_or(0).saturating_add(1))
    }

    /// The series that steps take under a key so far.
    fn series_of(&self, key: Id) -> impl Iterator<Item = u32> {
        let sources = self.all_sources(key);
        let is_key = move |id, bytes| sources.iter().any(|(source, own)| *source == id && meet(own, bytes));
        self.series.iter().filter(move |(id, bytes, _)| is_key(*id, bytes)).map(|(.., series)| *series)
    }

    /// No two steps take the same blocks.
    fn take_series(&mut self, kernel: &str, ports: &[Port], inputs: &[Option<Id>]) -> Result<(), Refused> {
        for (port, key) in ports.iter().zip(inputs).filter(|(port, _)| port.series > 0) {
            let Some(key) = *key else { continue };
            if self.series_of(key).any(|series| series == port.series) {
                let name = self.name(key);
                return Err(format!("{kernel} takes series {} of {name}, as another step does", port.series));
            }
            let taken = self.all_sources(key).into_iter().map(|(id, bytes)| (id, bytes, port.series));
            self.series.extend(taken.collect::<Vec<_>>());
        }
        Ok(())
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

    /// A value is secret, and so will be all that steps make of it.
    pub(super) fn mark_secret(&mut self, id: Id) {
        self.keep_secret(id);
        self.secrets.push(id);
    }

    /// What steps made of values that were marked is secret, and so is what they drew from secret keys, whichever step or view
    /// of a key says that it is.
    fn keep_derived_secret(&mut self) {
        // what an input holds may have become known after a view of it was said to be secret
        self.kept_secret.clone().into_iter().for_each(|id| self.keep_secret(id));
        let roots = |graph: &Self, id: Id| graph.all_sources(id).into_iter().map(|(id, _)| id).chain([id]);
        let mut secrets: BTreeSet<Id> = self.secrets.iter().flat_map(|&id| roots(self, id)).collect();
        // a join that was marked may hold copies: what they are copies of is as secret
        for &(id, copy) in self.copies.iter().rev() {
            if secrets.contains(&copy) {
                secrets.extend(roots(self, id));
            }
        }
        for step in 0..self.steps.len() {
            let Step { kernel, bound, .. } = &self.steps[step];
            let reads = kernel.ports().iter().zip(bound).filter_map(|(port, bound)| match *bound {
                Bound::Reads(id) | Bound::Turns(id, _) => Some((port, id)),
                Bound::Writes(_) | Bound::Table(_) => None,
            });
            let (mut is_derived, mut is_drawn) = (false, false);
            for (port, id) in reads {
                is_derived |= roots(self, id).any(|id| secrets.contains(&id));
                is_drawn |= port.series > 0 && roots(self, id).any(|id| self.is_secret(id));
            }
            if !is_derived && !is_drawn {
                continue;
            }
            let written = |bound: &Bound| match *bound {
                Bound::Writes(id) | Bound::Turns(_, id) => Some(id),
                Bound::Reads(_) | Bound::Table(_) => None,
            };
            for id in bound.iter().filter_map(written).collect::<Vec<_>>() {
                self.keep_secret(id);
                if is_derived {
                    secrets.insert(id);
                }
            }
        }
    }

    /// Marks what is made of secrets and what they are copies of, until nothing more is.
    pub(super) fn keep_secrets(&mut self) {
        let secrets = |graph: &Self| (0..graph.nodes.len()).filter(|&id| graph.is_secret(id)).count();
        let mut before = None;
        while before != Some(secrets(self)) {
            before = Some(secrets(self));
            self.keep_derived_secret();
            self.keep_copies_secret();
        }
    }

    fn is_secret(&self, id: Id) -> bool {
        self.nodes[id].kind.as_ref().is_some_and(|kind| kind.secret)
    }

    /// What a value holds is secret, and so is the memory that it is in.
    fn keep_secret(&mut self, id: Id) {
        self.kept_secret.insert(id);
        let sources = self.all_sources(id).into_iter().map(|(source, _)| source);
        for id in sources.chain([id, self.home(id).0]).collect::<Vec<_>>() {
            self.nodes[id].kind.iter_mut().for_each(|kind| kind.secret = true);
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

    /// Puts the steps that run once before the others.
    pub(super) fn once_first(&mut self) {
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_by_key(|&step| !self.steps[step].once);
        self.reorder(&order);
    }

    /// Leaves out steps that write nothing for anyone.
    pub(super) fn steps_left(&mut self, stays: impl Fn(usize) -> bool) {
        let order: Vec<usize> = (0..self.steps.len()).filter(|&step| stays(step)).collect();
        self.reorder(&order);
    }

    /// Puts the steps of these numbers into this order.
    fn reorder(&mut self, order: &[usize]) {
        let mut place = vec![None; self.steps.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = Some(new));
        for node in &mut self.nodes {
            if let Origin::Step(step) = &mut node.origin {
                *step = place[*step].unwrap_or(*step);
            }
        }
        let steps = core::mem::take(&mut self.steps).into_iter().zip(place);
        let mut steps: Vec<(usize, Step)> = steps.filter_map(|(step, place)| Some((place?, step))).collect();
        steps.sort_by_key(|(place, _)| *place);
        self.steps = steps.into_iter().map(|(_, step)| step).collect();
    }

    fn node(&mut self, name: &str, origin: Origin, kind: Option<Kind>, content: Option<PolyType>) -> Id {
        self.nodes.push(Node { name: name.into(), kind, content, origin, within: None });
        self.nodes.len() - 1
    }
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
