//! Where values lie: which of them share memory, and what of it is an argument's.

use crate::kernel::{Role, Sharing};
use crate::limits::Limits;
use crate::plan::{self, Plan, PlanArg, Slot, Temp};

use super::graph::{Bound, Graph, Id, Kind, Refused};

/// The plan of a graph: its values put into arguments and temporaries.
pub(super) fn plan(title: &str, mut graph: Graph, limits: &Limits) -> Result<Plan, Refused> {
    graph.once_first();
    if let Some((name, _)) = graph.inputs.iter().find(|(_, id)| graph.nodes[*id].readers.is_empty()) {
        return Err(format!("no step takes the input {name}"));
    }
    let mut memory = Memory::new(&graph);
    memory.keep_places()?;
    memory.take_places()?;
    if !limits.is_cpu() {
        // what a CPU's kernel overwrites it copies first, where it does not work word by word
        memory.work_in_place();
    }
    let (places, args, temps) = memory.assign();
    let steps = graph.steps.into_iter().map(|step| {
        let slots = step.bound.into_iter().map(|bound| match bound {
            Bound::Table(table) => Slot::Table(table),
            Bound::Reads(id) | Bound::Writes(id) | Bound::Turns(_, id) => places[id].clone(),
        });
        plan::Step { kernel: step.kernel, slots: slots.collect(), once: step.once }
    });
    Ok(Plan { title: title.into(), steps: steps.collect(), args, temps })
}

/// Values in classes that share memory.
struct Memory<'a> {
    graph: &'a Graph,
    /// The class of each value, and the values of each class.
    class: Vec<usize>,
    classes: Vec<Vec<Id>>,
    /// The last step that reads each value; of those that are output, one after all.
    last: Vec<usize>,
    /// The name under which each class is an argument.
    names: Vec<Option<String>>,
}

impl<'a> Memory<'a> {
    fn new(graph: &'a Graph) -> Self {
        let count = graph.nodes.len();
        let node_last = graph.nodes.iter().map(|node| node.readers.iter().copied().max().or(node.step).unwrap_or(0));
        let mut last: Vec<usize> = node_last.collect();
        let mut names = vec![None; count];
        for (name, id) in &graph.outputs {
            last[*id] = usize::MAX;
            names[*id] = Some(name.clone());
        }
        for (name, id) in &graph.inputs {
            // the caller keeps what is not output under the same name
            if graph.outputs.iter().all(|(other, _)| other != name) {
                last[*id] = usize::MAX;
            }
            names[*id] = Some(name.clone());
        }
        Self { graph, class: (0..count).collect(), classes: (0..count).map(|id| vec![id]).collect(), last, names }
    }

    fn kind(&self, id: Id) -> Option<&'a Kind> {
        self.graph.nodes[id].kind.as_ref()
    }

    /// What a step reads and writes in one port stays where it is.
    fn keep_places(&mut self) -> Result<(), Refused> {
        for step in &self.graph.steps {
            for bound in &step.bound {
                let Bound::Turns(old, new) = *bound else { continue };
                if self.last[old] == usize::MAX {
                    let (kernel, name) = (step.kernel.name(), self.graph.name(old));
                    return Err(format!("{kernel} writes over {name}, which must stay as it is"));
                }
                if !self.merge(old, new) {
                    let (kernel, name) = (step.kernel.name(), self.graph.name(old));
                    return Err(format!("{kernel} writes over {name}, which is read after that"));
                }
            }
        }
        Ok(())
    }

    /// An output under the name of an input takes its place.
    fn take_places(&mut self) -> Result<(), Refused> {
        for (name, new) in &self.graph.outputs {
            let Some((_, old)) = self.graph.inputs.iter().find(|(other, _)| other == name) else { continue };
            let (Some(before), Some(after)) = (self.kind(*old), self.kind(*new)) else { continue };
            if (before.bytes, before.sharing) != (after.bytes, after.sharing) {
                return Err(format!("the output {name} has another size than the input of that name"));
            }
            if self.class[*old] != self.class[*new] && !self.merge(*old, *new) {
                return Err(format!("the input {name} is needed when the output of that name is written"));
            }
        }
        Ok(())
    }

    /// Kernels that can run in place do so, the last ones first: what leads to an output then works in its memory.
    fn work_in_place(&mut self) {
        for step in self.graph.steps.iter().rev() {
            for (output, written) in step.bound.iter().enumerate() {
                let Bound::Writes(new) = *written else { continue };
                for (input, read) in step.bound.iter().enumerate() {
                    if let Bound::Reads(old) = *read
                        && step.kernel.in_place(input, output)
                        && self.are_alike(old, new)
                        && self.merge(old, new)
                    {
                        break;
                    }
                }
            }
        }
    }

    /// Whether two values have the same size, neither is a status, and memory that is nobody's secret does not become one.
    fn are_alike(&self, old: Id, new: Id) -> bool {
        let secret =
            |id: Id| self.classes[self.class[id]].iter().any(|&id| self.kind(id).is_some_and(|kind| kind.secret));
        let is_arg = self.names[self.class[new]].is_some() || self.names[self.class[old]].is_some();
        match (self.kind(old), self.kind(new)) {
            (Some(a), Some(b)) => {
                let same = (a.bytes, a.sharing) == (b.bytes, b.sharing) && !a.status && !b.status;
                same && self.class[old] != self.class[new] && (!is_arg || secret(old) == secret(new))
            }
            _ => false,
        }
    }

    /// Makes two classes one, if no value of theirs is needed when another is written over it.
    fn merge(&mut self, old: Id, new: Id) -> bool {
        let (from, to) = (self.class[old], self.class[new]);
        let one_name = match (&self.names[from], &self.names[to]) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        let pairs = |&a: &Id| self.classes[to].iter().all(|&b| self.follow(a, b));
        if from == to || !one_name || !self.classes[from].iter().all(pairs) {
            return from == to;
        }
        let moved = core::mem::take(&mut self.classes[from]);
        moved.iter().for_each(|&id| self.class[id] = to);
        self.classes[to].extend(moved);
        let name = self.names[from].take();
        self.names[to] = self.names[to].take().or(name);
        true
    }

    /// Whether one of two values is needed no more when the other is written.
    fn follow(&self, a: Id, b: Id) -> bool {
        let born = |id: Id| self.graph.nodes[id].step;
        let (a, b) = if born(a) <= born(b) { (a, b) } else { (b, a) };
        let Some(step) = born(b) else { return false };
        match self.last[a].cmp(&step) {
            core::cmp::Ordering::Less => born(a) != Some(step),
            core::cmp::Ordering::Greater => false,
            core::cmp::Ordering::Equal => born(a) != Some(step) && self.hands_over(step, a, b),
        }
    }

    /// Whether a step may write one value where it reads the other.
    fn hands_over(&self, step: usize, a: Id, b: Id) -> bool {
        let step = &self.graph.steps[step];
        let output =
            step.bound.iter().position(|bound| matches!(bound, Bound::Writes(id) | Bound::Turns(_, id) if *id == b));
        let Some(output) = output else { return false };
        step.bound.iter().enumerate().all(|(port, bound)| match *bound {
            Bound::Reads(id) if id == a => step.kernel.in_place(port, output),
            Bound::Turns(old, new) if old == a => new == b,
            _ => true,
        })
    }

    /// The place of each value, the arguments, and the temporaries.
    fn assign(&self) -> (Vec<Slot>, Vec<PlanArg>, Vec<Temp>) {
        let mut places = vec![Slot::Temp(usize::MAX); self.class.len()];
        let mut args = Vec::new();
        for (name, id) in self.graph.inputs.iter().chain(&self.graph.outputs) {
            if !args.iter().any(|arg: &PlanArg| arg.name == *name) {
                let class = &self.classes[self.class[*id]];
                class.iter().for_each(|&id| places[id] = Slot::Arg(args.len()));
                args.push(self.arg(name, class));
            }
        }
        let mut temps: Vec<(Temp, usize)> = Vec::new();
        let mut rest: Vec<&Vec<Id>> = self.classes.iter().filter(|class| !class.is_empty()).collect();
        rest.retain(|class| matches!(places[class[0]], Slot::Temp(_)));
        rest.sort_by_key(|class| self.first(class).and_then(|id| self.graph.nodes[id].step));
        for class in rest {
            let kinds = || class.iter().filter_map(|&id| self.kind(id));
            let temp = Temp {
                bytes: kinds().map(|kind| kind.bytes).max().unwrap_or(0),
                sharing: if kinds().any(|kind| kind.sharing == Sharing::Shared) {
                    Sharing::Shared
                } else {
                    Sharing::PerItem
                },
                secret: kinds().any(|kind| kind.secret),
                status: kinds().any(|kind| kind.status),
            };
            let born = self.first(class).and_then(|id| self.graph.nodes[id].step).unwrap_or(0);
            let ends = class.iter().map(|&id| self.last[id]).max().unwrap_or(0);
            // statuses are 0 from the start of a run on, and what is shared is there for all chunks
            let own = |temp: &Temp| temp.status || temp.sharing == Sharing::Shared;
            let free = |(_, (other, until)): &(usize, &(Temp, usize))| *until < born && !own(other) && !own(&temp);
            let free = temps.iter().enumerate().filter(free);
            let fitting = free.min_by_key(|(_, (other, _))| other.bytes.abs_diff(temp.bytes)).map(|(i, _)| i);
            let i = fitting.unwrap_or(temps.len());
            match temps.get_mut(i) {
                Some((other, until)) => {
                    *other = Temp { bytes: other.bytes.max(temp.bytes), secret: other.secret | temp.secret, ..*other };
                    *until = ends;
                }
                None => temps.push((temp, ends)),
            }
            class.iter().for_each(|&id| places[id] = Slot::Temp(i));
        }
        (places, args, temps.into_iter().map(|(temp, _)| temp).collect())
    }

    fn first(&self, class: &[Id]) -> Option<Id> {
        class.iter().copied().min_by_key(|&id| self.graph.nodes[id].step)
    }

    fn arg(&self, name: &str, class: &[Id]) -> PlanArg {
        let input = self.graph.inputs.iter().find(|(other, _)| other == name).map(|(_, id)| *id);
        let output = self.graph.outputs.iter().find(|(other, _)| other == name).map(|(_, id)| *id);
        let content = |id: Option<Id>| id.and_then(|id| self.graph.nodes[id].content.clone());
        let kind = input.or(output).and_then(|id| self.kind(id));
        let role = match (input, output) {
            (Some(_), Some(_)) => Role::InOut,
            (Some(_), None) => Role::In,
            (None, _) => Role::Out,
        };
        let first = self.first(class).and_then(|id| self.kind(id));
        PlanArg {
            name: name.into(),
            role,
            sharing: kind.map_or(Sharing::PerItem, |kind| kind.sharing),
            bytes: kind.map_or(0, |kind| kind.bytes),
            secret: class.iter().any(|&id| self.kind(id).is_some_and(|kind| kind.secret)),
            draws: kind.is_some_and(|kind| kind.draws),
            status: role == Role::Out && first.is_some_and(|kind| kind.status),
            before: content(input),
            after: content(output),
        }
    }
}
