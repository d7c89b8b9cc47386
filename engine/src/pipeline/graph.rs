//! Values and steps, numbered.

use std::sync::Arc;

use crate::kernel::{Kernel, Port, Role, Sharing};
use crate::plan::{Content, Plan};
use crate::table::Table;

use super::place;

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

#[derive(Debug)]
pub(super) struct Node {
    /// An input's name, else that of the kernel that writes it.
    name: String,
    pub(super) kind: Option<Kind>,
    pub(super) content: Option<Content>,
    /// The step that writes it; none for an input.
    pub(super) step: Option<usize>,
    /// Steps that read it.
    pub(super) readers: Vec<usize>,
    /// The step that wrote over it.
    overwritten: Option<usize>,
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
        let id = self.node(name, None, kind, content);
        self.inputs.push((name.into(), id));
        Ok(id)
    }

    pub(super) fn shared_input(&mut self, name: &str, bytes: usize) -> Result<Id, Refused> {
        let id = self.input(name, None)?;
        self.nodes[id].kind = Some(Kind::of(&Port::shared(bytes)));
        Ok(id)
    }

    pub(super) fn output(&mut self, name: &str, id: Id) -> Result<(), Refused> {
        if self.outputs.iter().any(|(other, _)| other == name) {
            return Err(format!("a second output has the name {name}"));
        }
        let value = self.name(id);
        self.readable(id)?;
        let node = &self.nodes[id];
        if node.step.is_none() {
            return Err(format!("no step writes {value}, which is to be output as {name}"));
        }
        if node.kind.as_ref().is_some_and(|kind| kind.joint) {
            return Err(format!("{value} depends on its neighbours, so it cannot be output as {name}"));
        }
        if let Some((other, _)) = self.outputs.iter().find(|(_, other)| *other == id) {
            return Err(format!("{value} is output already, as {other}"));
        }
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
        let node = &self.nodes[id];
        if node.step.is_some() { format!("what {} writes", node.name) } else { format!("the input {}", node.name) }
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
        inputs: Vec<Option<Id>>,
    ) -> Result<Vec<Id>, Refused> {
        let step = self.steps.len();
        let once = self.runs_once(&inputs);
        let kind = |port: &Port| Kind { sharing: if once { Sharing::Shared } else { port.sharing }, ..Kind::of(port) };
        // all that is read first: a step reads before it writes
        for (port, id) in ports.iter().zip(&inputs) {
            if let Some(id) = *id {
                self.take(kernel.name(), port, id, once)?;
            }
        }
        let mut outputs = Vec::new();
        let mut bound = Vec::with_capacity(ports.len());
        for ((port, table), id) in ports.iter().zip(tables).zip(inputs) {
            if port.sharing == Sharing::Shared && port.role != Role::In {
                return Err(format!("{} writes to a shared port", kernel.name()));
            }
            bound.push(match (port.role, table, id) {
                (Role::In, Some(table), _) => {
                    table.check()?;
                    if !table.fits(port) {
                        let bytes = table.bytes();
                        return Err(format!("{} has no shared input for its table of {bytes} bytes", kernel.name()));
                    }
                    Bound::Table(table)
                }
                (Role::In, None, Some(id)) if port.tables == 0 => {
                    self.nodes[id].readers.push(step);
                    Bound::Reads(id)
                }
                (Role::Out, None, _) => {
                    let id = self.node(kernel.name(), Some(step), Some(kind(port)), None);
                    outputs.push(id);
                    Bound::Writes(id)
                }
                (Role::InOut, None, Some(old)) => {
                    if let Some(other) = self.nodes[old].overwritten.replace(step).filter(|&other| other == step) {
                        let name = self.name(old);
                        return Err(format!("{} writes twice over {name}", self.kernel_name(other, &kernel)));
                    }
                    let secret = self.nodes[old].kind.as_ref().is_some_and(|kind| kind.secret);
                    let id = self.node(kernel.name(), Some(step), Some(Kind { secret, ..kind(port) }), None);
                    outputs.push(id);
                    self.nodes[old].readers.push(step);
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

    fn kernel_name(&self, step: usize, new: &Arc<dyn Kernel>) -> &'static str {
        self.steps.get(step).map_or(new.name(), |step| step.kernel.name())
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
        if kind.bytes != port.bytes || (kind.sharing != port.sharing && !once) {
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
        kind.secret |= port.secret;
        Ok(())
    }

    fn readable(&self, id: Id) -> Result<(), Refused> {
        match self.nodes[id].overwritten.and_then(|step| self.steps.get(step)) {
            Some(step) => Err(format!("{} is gone: {} wrote over it", self.name(id), step.kernel.name())),
            None => Ok(()),
        }
    }

    /// The steps of a plan; `inputs` are popped from the end. Gives what it writes.
    pub(super) fn join(&mut self, plan: &Plan, mut inputs: Vec<Id>) -> Result<Vec<Id>, Refused> {
        let mut places: Vec<Option<Id>> = Vec::new();
        for arg in &plan.args {
            let id = if arg.role == Role::Out { None } else { inputs.pop() };
            if let Some(id) = id {
                self.fits(plan, &arg.name, arg.before.as_ref(), id)?;
            }
            places.push(id);
        }
        places.resize(plan.args.len() + plan.temps.len(), None);
        for step in &plan.steps {
            let ports = step.kernel.ports().to_vec();
            let (mut tables, mut ids) = (Vec::new(), Vec::new());
            for (port, slot) in ports.iter().zip(&step.slots) {
                let at = place(plan, slot).filter(|_| port.role != Role::Out);
                ids.push(at.and_then(|at| places[at]));
                tables.push(if let crate::plan::Slot::Table(table) = slot { Some(table.clone()) } else { None });
            }
            let mut written = self.bind(step.kernel.clone(), ports.clone(), tables, ids)?.into_iter();
            for (port, slot) in ports.iter().zip(&step.slots) {
                if let (Some(at), true) = (place(plan, slot), port.role != Role::In) {
                    places[at] = written.next();
                }
            }
        }
        let outputs = plan.args.iter().zip(&places).filter(|(arg, _)| arg.role != Role::In);
        let outputs = outputs.filter_map(|(arg, id)| {
            let id = (*id)?;
            self.nodes[id].content = arg.after.clone();
            Some(id)
        });
        Ok(outputs.collect())
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
            node.step
                .iter_mut()
                .chain(&mut node.readers)
                .chain(&mut node.overwritten)
                .for_each(|step| *step = place[*step]);
        }
        let mut steps: Vec<(usize, Step)> = place.into_iter().zip(core::mem::take(&mut self.steps)).collect();
        steps.sort_by_key(|(place, _)| *place);
        self.steps = steps.into_iter().map(|(_, step)| step).collect();
    }

    fn node(&mut self, name: &str, step: Option<usize>, kind: Option<Kind>, content: Option<Content>) -> Id {
        let (name, readers) = (name.into(), Vec::new());
        self.nodes.push(Node { name, kind, content, step, readers, overwritten: None });
        self.nodes.len() - 1
    }
}

fn size(bytes: usize, sharing: Sharing) -> String {
    match sharing {
        Sharing::PerItem => format!("{bytes} bytes an item"),
        Sharing::Shared => format!("{bytes} bytes that all items share"),
    }
}
