//! Where values lie: which of them share memory, and what of it is an argument's.

use core::ops::Range;

use ringforge_runtime::kernel::{Port, Role, Sharing};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::plan::{self, Home, Plan, PlanArg, Slot, Temp};

use super::graph::{self, Bound, Graph, Id, Kind, Origin, Refused, check_table, meet};

/// The plan of a graph: its values put into arguments and temporaries.
pub(super) fn plan(title: &str, graph: &Graph, limits: &Limits) -> Result<Plan, Refused> {
    let mut memory = Memory::new(graph)?;
    memory.keep_places()?;
    memory.take_places()?;
    if !limits.is_cpu() {
        // what a CPU's kernel overwrites it copies first, where it does not work word by word
        memory.work_in_place();
    }
    let (places, args, temps) = memory.assign();
    let step = |step: &graph::Step| {
        let kernel = graph.on_views(step).ok_or_else(|| format!("{} does not take its views", step.kernel.name()))?;
        let slot = |(number, (bound, port)): (usize, (&Bound, &Port))| match bound {
            Bound::Table(table) => {
                // of a kernel on views, the table that goes with it
                let table = kernel.table(number).unwrap_or_else(|| table.clone());
                check_table(kernel.name(), port, &table).map(|()| Slot::Table(table))
            }
            _ if port.tables > 0 => Err(format!("{} has pointers to tables for a value's port", kernel.name())),
            Bound::Reads(id) | Bound::Writes(id) | Bound::Turns(_, id) => {
                let (root, first) = graph.home(*id);
                Ok(Slot::Memory(places[root], first))
            }
        };
        let slots = step.bound.iter().zip(kernel.ports()).enumerate().map(slot).collect::<Result<_, Refused>>()?;
        Ok(plan::Step { slots, kernel, once: step.once })
    };
    let steps = graph.steps.iter().map(step).collect::<Result<_, Refused>>()?;
    Ok(Plan { title: title.into(), steps, args, temps })
}

/// Some bytes of a value that a step reads through a port of this number.
struct Read {
    step: usize,
    port: usize,
    bytes: Range<usize>,
}

/// Values in classes that share memory.
struct Memory<'a> {
    graph: &'a Graph,
    /// The class of each value, where it begins there, and the values of each class.
    class: Vec<usize>,
    first: Vec<usize>,
    classes: Vec<Vec<Id>>,
    /// What is read of each input and each output of a step, and the last step that does; of those that are output, one
    /// after all.
    reads: Vec<Vec<Read>>,
    last: Vec<usize>,
    /// The name under which each class is an argument.
    names: Vec<Option<String>>,
}

impl<'a> Memory<'a> {
    fn new(graph: &'a Graph) -> Result<Self, Refused> {
        let count = graph.nodes.len();
        let mut reads: Vec<Vec<Read>> = (0..count).map(|_| Vec::new()).collect();
        let mut read = |id: Id, step: usize, port: usize| {
            graph
                .all_sources(id)
                .into_iter()
                .for_each(|(source, bytes)| reads[source].push(Read { step, port, bytes }));
        };
        for (number, step) in graph.steps.iter().enumerate() {
            for (port, bound) in step.bound.iter().enumerate() {
                if let Bound::Reads(id) | Bound::Turns(id, _) = *bound {
                    read(id, number, port);
                }
            }
        }
        graph.outputs.iter().for_each(|(_, id)| read(*id, usize::MAX, 0));
        if let Some((name, _)) = graph.inputs.iter().find(|(_, id)| reads[*id].is_empty()) {
            return Err(format!("no step takes the input {name}"));
        }
        let mut names = vec![None; count];
        for (name, id) in &graph.outputs {
            names[graph.home(*id).0] = Some(name.clone());
        }
        for (name, id) in &graph.inputs {
            // the caller keeps what is not output under the same name
            if graph.outputs.iter().all(|(other, _)| other != name) {
                let bytes = 0..graph.nodes[*id].kind.as_ref().map_or(0, |kind| kind.bytes);
                reads[*id].push(Read { step: usize::MAX, port: 0, bytes });
            }
            names[*id] = Some(name.clone());
        }
        let born = |id: Id| if let Origin::Step(step) = graph.nodes[id].origin { step } else { 0 };
        let last = (0..count).map(|id| reads[id].iter().map(|read| read.step).max().unwrap_or(born(id))).collect();
        let (class, first): (Vec<usize>, Vec<usize>) = (0..count).map(|id| graph.home(id)).unzip();
        let mut classes = vec![Vec::new(); count];
        class.iter().enumerate().for_each(|(id, &class)| classes[class].push(id));
        Ok(Self { graph, class, first, classes, reads, last, names })
    }

    fn kind(&self, id: Id) -> Option<&'a Kind> {
        self.graph.nodes[id].kind.as_ref()
    }

    /// What a step reads and writes in one port stays where it is, and what lies in another value's memory stays there.
    fn keep_places(&mut self) -> Result<(), Refused> {
        for step in &self.graph.steps {
            for bound in &step.bound {
                let Bound::Turns(old, new) = *bound else { continue };
                let (kernel, name) = (step.kernel.name(), self.graph.name(old));
                if self.graph.all_sources(old).iter().any(|(source, bytes)| self.is_kept(*source, bytes)) {
                    return Err(format!("{kernel} writes over {name}, which must stay as it is"));
                }
                if !self.merge(self.graph.home(old).0, new) || !self.is_sound(new) {
                    return Err(format!("{kernel} writes over {name}, which is read after that"));
                }
            }
        }
        Ok(())
    }

    /// Whether some of these bytes of a value are there for the caller.
    fn is_kept(&self, id: Id, bytes: &Range<usize>) -> bool {
        self.reads[id].iter().any(|read| read.step == usize::MAX && meet(&read.bytes, bytes))
    }

    /// Whether nothing in its memory is needed when a value is written.
    fn is_sound(&self, new: Id) -> bool {
        self.classes[self.class[new]].iter().all(|&other| other == new || self.follow(other, new))
    }

    /// An output under the name of an input takes its place.
    fn take_places(&mut self) -> Result<(), Refused> {
        for (name, new) in &self.graph.outputs {
            let Some((_, old)) = self.graph.inputs.iter().find(|(other, _)| other == name) else { continue };
            let (Some(before), Some(after)) = (self.kind(*old), self.kind(*new)) else { continue };
            if (before.bytes, before.sharing) != (after.bytes, after.sharing) {
                return Err(format!("the output {name} has another size than the input of that name"));
            }
            let new = self.graph.home(*new).0;
            if self.class[*old] != self.class[new] && !self.merge(*old, new) {
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

    /// Whether two values have memory of their own of the same size, neither is a status, and memory that is nobody's secret
    /// does not become one.
    fn are_alike(&self, old: Id, new: Id) -> bool {
        let secret =
            |id: Id| self.classes[self.class[id]].iter().any(|&id| self.kind(id).is_some_and(|kind| kind.secret));
        let is_arg = self.names[self.class[new]].is_some() || self.names[self.class[old]].is_some();
        let bytes = |id: Id| self.kind(id).map(|kind| kind.bytes);
        let own = |id: Id| self.first[id] == 0 && bytes(self.class[id]) == bytes(id);
        match (self.kind(old), self.kind(new)) {
            (Some(a), Some(b)) => {
                let same = (a.bytes, a.sharing) == (b.bytes, b.sharing) && !a.status && !b.status;
                let other = self.class[old] != self.class[new] && own(old) && own(new);
                same && other && (!is_arg || secret(old) == secret(new))
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

    /// Whether one of two values in the same memory is needed no more where the other is written.
    fn follow(&self, a: Id, b: Id) -> bool {
        let born = |id: Id| match self.graph.nodes[id].origin {
            Origin::Input => Some(None),
            Origin::Step(step) => Some(Some(step)),
            // what others are is theirs
            _ => None,
        };
        let (Some(born_a), Some(born_b)) = (born(a), born(b)) else { return true };
        let ((a, born_a), (b, born_b)) =
            if born_a <= born_b { ((a, born_a), (b, born_b)) } else { ((b, born_b), (a, born_a)) };
        let at = |id: Id| self.first[id]..self.first[id] + self.kind(id).map_or(0, |kind| kind.bytes);
        if !meet(&at(a), &at(b)) {
            return true;
        }
        let Some(step) = born_b.filter(|_| born_a != born_b) else { return false };
        self.reads[a].iter().all(|read| {
            let bytes = self.first[a] + read.bytes.start..self.first[a] + read.bytes.end;
            read.step < step || !meet(&bytes, &at(b)) || (read.step == step && self.hands_over(read, bytes == at(b), b))
        })
    }

    /// Whether a step may write a value where it reads, in the same bytes or not.
    fn hands_over(&self, read: &Read, same: bool, new: Id) -> bool {
        let step = &self.graph.steps[read.step];
        let output =
            step.bound.iter().position(|bound| matches!(bound, Bound::Writes(id) | Bound::Turns(_, id) if *id == new));
        output.is_some_and(|output| output == read.port || (same && step.kernel.in_place(read.port, output)))
    }

    /// The memory of each value, the arguments, and the temporaries.
    fn assign(&self) -> (Vec<Home>, Vec<PlanArg>, Vec<Temp>) {
        let mut places = vec![Home::Temp(usize::MAX); self.class.len()];
        let mut args = Vec::new();
        for (name, id) in self.graph.inputs.iter().chain(&self.graph.outputs) {
            if !args.iter().any(|arg: &PlanArg| arg.name == *name) {
                let class = &self.classes[self.class[*id]];
                class.iter().for_each(|&id| places[id] = Home::Arg(args.len()));
                args.push(self.arg(name, class));
            }
        }
        let mut temps: Vec<(Temp, usize)> = Vec::new();
        let mut rest: Vec<&Vec<Id>> = self.classes.iter().filter(|class| !class.is_empty()).collect();
        // parts of what was joined may have become others'
        rest.retain(|class| matches!(places[class[0]], Home::Temp(_)) && self.born(class).is_some());
        rest.sort_by_key(|class| self.born(class));
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
            let born = self.born(class).unwrap_or(0);
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
            class.iter().for_each(|&id| places[id] = Home::Temp(i));
        }
        (places, args, temps.into_iter().map(|(temp, _)| temp).collect())
    }

    /// The first step that writes to a class.
    fn born(&self, class: &[Id]) -> Option<usize> {
        class.iter().filter_map(|&id| self.step(id)).min()
    }

    fn step(&self, id: Id) -> Option<usize> {
        if let Origin::Step(step) = self.graph.nodes[id].origin { Some(step) } else { None }
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
        let first = class.iter().min_by_key(|&&id| self.step(id)).and_then(|&id| self.kind(id));
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
