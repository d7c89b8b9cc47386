//! The graph of a pipeline: values and steps, each with an index.

mod plans;
mod views;

use core::ops::Range;
use std::collections::BTreeSet;
use std::sync::Arc;

use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Kernel, Port, Role, Sharing, Table};
use ringforge_runtime::random::RandomKey;

pub(super) use views::meet;

/// The index of a value.
pub(super) type Id = usize;
/// The reason why an operation is rejected, as part of an error message.
pub(super) type Refused = String;

/// Size and properties of a value. An input has them once a step reads it.
#[derive(Debug, Clone)]
pub(super) struct ValueInfo {
    /// Bytes of an element.
    pub(super) bytes: usize,
    /// Number of elements of an item, between which the memory of the item is divided evenly. 1 unless the value is
    /// divided into [elements](Graph::each).
    pub(super) elements: usize,
    pub(super) sharing: Sharing,
    pub(super) secret: bool,
    /// The fields `status`, `batch_dependent` and `random_key` are those of the [`Port`] that defines the value.
    pub(super) status: bool,
    pub(super) batch_dependent: bool,
    pub(super) random_key: bool,
}

/// The origin of a value.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    Input,
    /// The value is written by the step with this index.
    Step(usize),
    /// The value is a byte range of each item, or of each element, of another value. It starts at this offset in the
    /// item or in the first element. The other value is not a view itself.
    View(Id, usize),
    /// The value is the concatenation of these values.
    Join(Vec<Id>),
}

#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The name of an input, or of the kernel that writes the value.
    name: String,
    pub(super) kind: Option<ValueInfo>,
    pub(super) content: Option<PolyType>,
    pub(super) origin: Origin,
    /// The value in whose memory this one is placed, and its byte offset there; `None` if it has its own memory.
    within: Option<(Id, usize)>,
}

/// The binding of a step's port.
#[derive(Debug, Clone)]
pub(super) enum Binding {
    Reads(Id),
    Writes(Id),
    /// Updated in place: reads the first value and overwrites it with the second.
    Updates(Id, Id),
    Table(Table),
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) kernel: Arc<dyn Kernel>,
    pub(super) bound: Vec<Binding>,
    /// Whether the step runs once per run, on values that all items share.
    pub(super) once: bool,
    /// The number of elements into which the step's values are divided.
    pub(super) elements: usize,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) steps: Vec<Step>,
    /// Names and values of the inputs, and of the outputs.
    pub(super) inputs: Vec<(String, Id)>,
    pub(super) outputs: Vec<(String, Id)>,
    /// Bytes of inputs and step outputs that were overwritten, and the index of the step that overwrote them.
    overwritten: Vec<(Id, Range<usize>, usize)>,
    /// For byte ranges of keys, the stream ids that steps use with these keys.
    stream_ids: Vec<(Id, Range<usize>, u32)>,
    /// Pairs of a value and its copy.
    copies: Vec<(Id, Id)>,
    /// Secret values whose secrecy extends to everything derived from them.
    secrets: Vec<Id>,
    /// All values that were marked secret, including inputs whose size was unknown at that time.
    kept_secret: BTreeSet<Id>,
}

impl ValueInfo {
    fn of(port: &Port) -> Self {
        let Port { bytes, sharing, secret, status, batch_dependent, random_key, .. } = *port;
        Self { bytes, elements: 1, sharing, secret, status, batch_dependent, random_key }
    }

    /// Bytes of an item.
    pub(super) fn item_bytes(&self) -> usize {
        self.bytes * self.elements
    }
}

impl Node {
    /// Turns this value into a view of another one.
    pub(super) fn become_view(&mut self, of: Id) {
        (self.origin, self.within) = (Origin::View(of, 0), None);
    }
}

impl Graph {
    pub(super) fn input(&mut self, name: &str, content: Option<PolyType>) -> Result<Id, Refused> {
        if self.inputs.iter().any(|(other, _)| other == name) {
            return Err(format!("two inputs have the name {name}: names must be unique"));
        }
        let kind = content.as_ref().map(|content| ValueInfo::of(&Port::input(content.bytes())));
        let id = self.node(name, Origin::Input, kind, content);
        self.inputs.push((name.into(), id));
        Ok(id)
    }

    pub(super) fn sized_input(&mut self, name: &str, port: &Port) -> Result<Id, Refused> {
        let id = self.input(name, None)?;
        self.nodes[id].kind = Some(ValueInfo::of(port));
        Ok(id)
    }

    pub(super) fn output(&mut self, name: &str, id: Id) -> Result<(), Refused> {
        if self.outputs.iter().any(|(other, _)| other == name) {
            return Err(format!("two outputs have the name {name}: names must be unique"));
        }
        let value = self.name(id);
        self.readable(id)?;
        let node = &self.nodes[id];
        if matches!(node.origin, Origin::Input) {
            return Err(format!("{value} cannot be output as {name}: no step writes it"));
        }
        if self.elements(id) > 1 {
            return Err(format!("{value} cannot be output as {name}: it is divided into elements, so call `together`"));
        }
        if node.kind.as_ref().is_some_and(|kind| kind.batch_dependent) {
            return Err(format!("{value} cannot be output as {name}: it is batch-dependent"));
        }
        if let Some((other, _)) = self.outputs.iter().find(|(_, other)| *other == id) {
            return Err(format!("{value} is already output as {other}"));
        }
        // an output is an argument: its memory has exactly its size, and belongs to no other argument
        let (root, _) = self.home(id);
        let inputs = self.inputs.iter().filter(|(other, _)| other != name);
        let others = inputs.chain(&self.outputs).any(|(_, other)| self.home(*other).0 == root);
        let id = if others || self.item_bytes(root) != self.bytes(id) { self.copy(id, false)? } else { id };
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
                return Err(format!("{name} has {} bytes, but {content} have {bytes}", kind.bytes));
            }
            Some(_) => {}
            None => node.kind = Some(ValueInfo::of(&Port::input(bytes))),
        }
        node.content = Some(content);
        Ok(id)
    }

    pub(super) fn content(&self, id: Id) -> Option<&PolyType> {
        self.nodes[id].content.as_ref()
    }

    /// The description of a value in error messages.
    pub(super) fn name(&self, id: Id) -> String {
        let name = &self.nodes[id].name;
        match &self.nodes[id].origin {
            Origin::Input => format!("the input {name}"),
            Origin::Step(_) => format!("the output of {name}"),
            Origin::View(of, first) => format!("{}[{first}..{}]", self.name(*of), first + self.bytes(id)),
            Origin::Join(_) => "the concatenated value".into(),
        }
    }

    fn kind(&self, id: Id) -> Result<ValueInfo, Refused> {
        let unknown = || format!("the size of {} is not known: give it with `bytes` or `elements`", self.name(id));
        self.nodes[id].kind.clone().ok_or_else(unknown)
    }

    fn bytes(&self, id: Id) -> usize {
        self.nodes[id].kind.as_ref().map_or(0, |kind| kind.bytes)
    }

    pub(super) fn elements(&self, id: Id) -> usize {
        self.nodes[id].kind.as_ref().map_or(1, |kind| kind.elements)
    }

    pub(super) fn item_bytes(&self, id: Id) -> usize {
        self.nodes[id].kind.as_ref().map_or(0, ValueInfo::item_bytes)
    }

    /// Adds a step with inputs in the order of the ports that read, and returns the values that it writes.
    pub(super) fn step(&mut self, kernel: Arc<dyn Kernel>, inputs: &[Id]) -> Result<Vec<Id>, Refused> {
        let ports = kernel.ports().to_vec();
        let tables: Vec<Option<Table>> = (0..ports.len()).map(|port| kernel.table(port)).collect();
        let takes = |(port, table): (&Port, &Option<Table>)| port.role != Role::Out && table.is_none();
        let wanted = ports.iter().zip(&tables).filter(|pair| takes(*pair)).count();
        if wanted != inputs.len() {
            return Err(format!("{} takes {wanted} values, but got {}", kernel.name(), inputs.len()));
        }
        let mut inputs = inputs.iter().copied();
        let ids = ports.iter().zip(&tables).map(|pair| takes(pair).then(|| inputs.next()).flatten()).collect();
        self.bind(kernel, ports, tables, ids)
    }

    /// Adds a step with the value that each port reads and the table that each port is bound to, and returns the values
    /// that it writes.
    fn bind(
        &mut self,
        kernel: Arc<dyn Kernel>,
        ports: Vec<Port>,
        tables: Vec<Option<Table>>,
        mut inputs: Vec<Option<Id>>,
    ) -> Result<Vec<Id>, Refused> {
        let once = self.runs_once(&inputs);
        let elements = inputs.iter().flatten().map(|&id| self.elements(id)).max().unwrap_or(1);
        if elements > 1 && ports.iter().any(|port| port.status || port.batch_dependent) {
            return Err(format!("{} needs whole items: it has statuses, or is batch-dependent", kernel.name()));
        }
        let kind = |port: &Port| ValueInfo {
            sharing: if once { Sharing::Shared } else { port.sharing },
            elements,
            ..ValueInfo::of(port)
        };
        // check all inputs first, because a step reads before it writes
        for (port, id) in ports.iter().zip(&inputs) {
            if let Some(id) = *id {
                self.take(kernel.name(), port, id, (once, elements))?;
            }
        }
        self.apart(kernel.name(), &ports, &inputs)?;
        self.take_stream_ids(kernel.name(), &ports, &inputs)?;
        let originals = inputs.clone();
        self.copy_views(&kernel, &ports, &mut inputs, once)?;
        let step = self.steps.len();
        let mut outputs = Vec::new();
        let mut bound = Vec::with_capacity(ports.len());
        for (((port, table), id), original) in ports.iter().zip(tables).zip(inputs).zip(originals) {
            if port.sharing == Sharing::Shared && port.role != Role::In {
                return Err(format!("{} writes to a shared port: outputs must be per item", kernel.name()));
            }
            bound.push(match (port.role, table, id) {
                (Role::In, Some(table), _) => {
                    check_table(kernel.name(), port, &table)?;
                    Binding::Table(table)
                }
                (Role::In, None, Some(id)) if port.tables == 0 => Binding::Reads(id),
                (Role::Out, None, _) => {
                    let id = self.node(kernel.name(), Origin::Step(step), Some(kind(port)), None);
                    outputs.push(id);
                    Binding::Writes(id)
                }
                (Role::InOut, None, Some(old)) => {
                    let secret = self.is_secret(old);
                    let kind = ValueInfo { secret, ..kind(port) };
                    let id = self.node(kernel.name(), Origin::Step(step), Some(kind), None);
                    self.nodes[id].within = Some(self.home(old)).filter(|place| *place != (old, 0));
                    // even if only a copy is overwritten, the original cannot be read again, so that it makes no
                    // difference whether a kernel needs a copy
                    let gone =
                        self.all_sources(original.unwrap_or(old)).into_iter().map(|(id, bytes)| (id, bytes, step));
                    self.overwritten.extend(gone.collect::<Vec<_>>());
                    outputs.push(id);
                    Binding::Updates(old, id)
                }
                _ => {
                    return Err(format!(
                        "{} has a table for a port that it writes, or no table for a port that needs one",
                        kernel.name()
                    ));
                }
            });
        }
        self.steps.push(Step { kernel, bound, once, elements });
        Ok(outputs)
    }

    /// The port through which a sampler reads this key, with an unused stream id. An input of unknown size is read as a
    /// [`RandomKey`].
    pub(super) fn key_port(&self, key: Id) -> Port {
        let port = match &self.nodes[key].kind {
            Some(kind) if !kind.random_key => {
                let port = Port::input(RandomKey::BYTES);
                if kind.secret { port.secret() } else { port }
            }
            _ => Port::random_key(),
        };
        port.with_stream_id(self.stream_ids_of(key).max().unwrap_or(0).saturating_add(1))
    }

    /// The stream ids that steps already use with a key.
    fn stream_ids_of(&self, key: Id) -> impl Iterator<Item = u32> {
        let sources = self.all_sources(key);
        let is_key = move |id, bytes| sources.iter().any(|(source, own)| *source == id && meet(own, bytes));
        self.stream_ids.iter().filter(move |(id, bytes, _)| is_key(*id, bytes)).map(|(.., stream_id)| *stream_id)
    }

    /// Records the stream ids of a step's ports. Returns an error if another step uses one of them with the same key.
    fn take_stream_ids(&mut self, kernel: &str, ports: &[Port], inputs: &[Option<Id>]) -> Result<(), Refused> {
        for (port, key) in ports.iter().zip(inputs).filter(|(port, _)| port.stream_id > 0) {
            let Some(key) = *key else { continue };
            if self.stream_ids_of(key).any(|stream_id| stream_id == port.stream_id) {
                let name = self.name(key);
                return Err(format!(
                    "{kernel} uses stream id {} of {name}, which another step already uses",
                    port.stream_id
                ));
            }
            let taken = self.all_sources(key).into_iter().map(|(id, bytes)| (id, bytes, port.stream_id));
            self.stream_ids.extend(taken.collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Whether a step runs once: it has inputs, all of them are shared, and none is a [`RandomKey`], whose blocks
    /// differ from item to item.
    fn runs_once(&self, inputs: &[Option<Id>]) -> bool {
        let mut kinds = inputs.iter().flatten().map(|&id| self.nodes[id].kind.as_ref());
        let shared =
            |kind: Option<&ValueInfo>| kind.is_some_and(|kind| kind.sharing == Sharing::Shared && !kind.random_key);
        inputs.iter().any(Option::is_some) && kinds.all(shared)
    }

    /// Checks that a port can read a value. The first port that reads an input of unknown size determines its size and
    /// properties. A secret port makes the value secret.
    fn take(&mut self, kernel: &str, port: &Port, id: Id, (once, elements): (bool, usize)) -> Result<(), Refused> {
        self.readable(id)?;
        let name = self.name(id);
        let node = &mut self.nodes[id];
        let Some(kind) = &mut node.kind else {
            // the caller provides an input and any statuses in it, so the port's `status` and `batch_dependent` do not apply
            node.kind = Some(ValueInfo { status: false, batch_dependent: false, ..ValueInfo::of(port) });
            return Ok(());
        };
        let broadcast = kind.sharing == Sharing::Shared && port.role == Role::In && !kind.random_key;
        if kind.bytes != port.bytes || (kind.sharing != port.sharing && !once && !broadcast) {
            return Err(format!(
                "{kernel} needs {}, but {name} has {}",
                size(port.bytes, port.sharing),
                size(kind.bytes, kind.sharing)
            ));
        }
        let for_all =
            kind.sharing == Sharing::Shared && kind.elements == 1 && (port.sharing == Sharing::Shared || !once);
        if !for_all && (kind.elements != elements || (kind.sharing == Sharing::Shared && !once && elements > 1)) {
            let own = kind.elements;
            return Err(format!("{kernel} works on {elements} elements of an item, but {name} has {own}"));
        }
        if port.random_key != kind.random_key {
            let (random_key, other) = if port.random_key { (kernel, &*name) } else { (&*name, kernel) };
            return Err(format!("{random_key} is for `RandomKey`, but {other} is not"));
        }
        if port.secret {
            self.keep_secret(id);
        }
        Ok(())
    }

    /// Marks a value secret, together with everything that steps derive from it.
    pub(super) fn mark_secret(&mut self, id: Id) {
        self.keep_secret(id);
        self.secrets.push(id);
    }

    /// Marks the outputs of steps secret if the steps read a value derived from marked values, or sample from a secret
    /// key. A key is secret if it or a view of it was marked secret, or is read through a secret port.
    fn keep_derived_secret(&mut self) {
        // the kind of an input may have become known after a view of it was marked secret
        self.kept_secret.clone().into_iter().for_each(|id| self.keep_secret(id));
        let roots = |graph: &Self, id: Id| graph.all_sources(id).into_iter().map(|(id, _)| id).chain([id]);
        let mut secrets: BTreeSet<Id> = self.secrets.iter().flat_map(|&id| roots(self, id)).collect();
        // a marked concatenation may contain copies, whose originals are secret too
        for &(id, copy) in self.copies.iter().rev() {
            if secrets.contains(&copy) {
                secrets.extend(roots(self, id));
            }
        }
        for step in 0..self.steps.len() {
            let Step { kernel, bound, .. } = &self.steps[step];
            let reads = kernel.ports().iter().zip(bound).filter_map(|(port, bound)| match *bound {
                Binding::Reads(id) | Binding::Updates(id, _) => Some((port, id)),
                Binding::Writes(_) | Binding::Table(_) => None,
            });
            let (mut is_derived, mut is_drawn) = (false, false);
            for (port, id) in reads {
                is_derived |= roots(self, id).any(|id| secrets.contains(&id));
                is_drawn |= port.stream_id > 0 && roots(self, id).any(|id| self.is_secret(id));
            }
            if !is_derived && !is_drawn {
                continue;
            }
            let written = |bound: &Binding| match *bound {
                Binding::Writes(id) | Binding::Updates(_, id) => Some(id),
                Binding::Reads(_) | Binding::Table(_) => None,
            };
            for id in bound.iter().filter_map(written).collect::<Vec<_>>() {
                self.keep_secret(id);
                if is_derived {
                    secrets.insert(id);
                }
            }
        }
    }

    /// Propagates secrecy to derived values, copies and originals of copies, until nothing changes.
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

    /// Marks a value secret, together with its sources and the memory that holds it.
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
            Some(step) => Err(format!("{} cannot be used after {} overwrote it", self.name(id), step.kernel.name())),
            None => Ok(()),
        }
    }

    /// Moves the steps that run once to the beginning.
    pub(super) fn once_first(&mut self) {
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_by_key(|&step| !self.steps[step].once);
        self.reorder(&order);
    }

    /// Keeps only the steps for which `stays` holds.
    pub(super) fn steps_left(&mut self, stays: impl Fn(usize) -> bool) {
        let order: Vec<usize> = (0..self.steps.len()).filter(|&step| stays(step)).collect();
        self.reorder(&order);
    }

    /// Puts the steps into the order of these indices, and drops steps whose index is missing.
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

    fn node(&mut self, name: &str, origin: Origin, kind: Option<ValueInfo>, content: Option<PolyType>) -> Id {
        self.nodes.push(Node { name: name.into(), kind, content, origin, within: None });
        self.nodes.len() - 1
    }
}

/// Checks that a kernel's port can be bound to a table.
pub(super) fn check_table(kernel: &str, port: &Port, table: &Table) -> Result<(), Refused> {
    table.check()?;
    if table.fits(port) {
        return Ok(());
    }
    Err(format!("{kernel} has no shared input port that fits its table of {} bytes", table.bytes()))
}

fn size(bytes: usize, sharing: Sharing) -> String {
    match sharing {
        Sharing::PerItem => format!("{bytes} bytes per item"),
        Sharing::Shared => format!("{bytes} bytes shared by all items"),
    }
}
