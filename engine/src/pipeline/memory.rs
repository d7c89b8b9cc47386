//! Memory planning: which values share memory, and which of them are in the memory of an argument.

use core::ops::Range;

use ringforge_runtime::kernel::{Port, Role, Sharing};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::plan::{self, Home, Plan, PlanArg, Slot, Temp};

use super::graph::{self, Binding, Graph, Id, Origin, Refused, ValueInfo, check_table, meet};

/// The plan of a graph, with its values assigned to arguments and temporaries.
pub(super) fn plan(title: &str, graph: &Graph, limits: &Limits) -> Result<Plan, Refused> {
    let mut memory = Memory::new(graph)?;
    memory.keep_places()?;
    memory.take_places()?;
    if !limits.is_cpu() {
        // a CPU kernel that does not work word by word copies what it overwrites, so running in place gains nothing
        memory.work_in_place();
    }
    let (places, args, temps) = memory.assign();
    let step = |step: &graph::Step| {
        let kernel =
            graph.on_views(step).ok_or_else(|| format!("{} does not support its views", step.kernel.name()))?;
        let slot = |(number, (bound, port)): (usize, (&Binding, &Port))| match bound {
            Binding::Table(table) => {
                // a kernel that was adapted to views may have another table
                let table = kernel.table(number).unwrap_or_else(|| table.clone());
                check_table(kernel.name(), port, &table).map(|()| Slot::Table(table))
            }
            _ if port.tables > 0 => {
                Err(format!("{} has pointers to tables at a port that is bound to a value", kernel.name()))
            }
            Binding::Reads(id) | Binding::Writes(id) | Binding::Updates(_, id) => {
                let (root, first) = graph.home(*id);
                Ok(Slot::Memory(places[root], first))
            }
        };
        let slots = step.bound.iter().zip(kernel.ports()).enumerate().map(slot).collect::<Result<_, Refused>>()?;
        Ok(plan::Step { slots, kernel, once: step.once, elements: step.elements })
    };
    let steps = graph.steps.iter().map(step).collect::<Result<_, Refused>>()?;
    Ok(Plan { title: title.into(), steps, args, temps })
}

/// A read of some bytes of a value, by this step through this port. Reads by the caller after a run have the step
/// `usize::MAX`.
struct Read {
    step: usize,
    port: usize,
    bytes: Range<usize>,
}

/// Classes of values that share memory.
struct Memory<'a> {
    graph: &'a Graph,
    /// For each value its class and its byte offset in the class's memory; for each class its values.
    class: Vec<usize>,
    first: Vec<usize>,
    classes: Vec<Vec<Id>>,
    /// For each input and step output, its reads and the last step that reads it. That is `usize::MAX` for outputs,
    /// which the caller reads.
    reads: Vec<Vec<Read>>,
    last: Vec<usize>,
    /// For each class that is an argument, the argument's name.
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
                if let Binding::Reads(id) | Binding::Updates(id, _) = *bound {
                    read(id, number, port);
                }
            }
        }
        graph.outputs.iter().for_each(|(_, id)| read(*id, usize::MAX, 0));
        if let Some((name, _)) = graph.inputs.iter().find(|(_, id)| reads[*id].is_empty()) {
            return Err(format!("no step reads the input {name}: remove it"));
        }
        let mut names = vec![None; count];
        for (name, id) in &graph.outputs {
            names[graph.home(*id).0] = Some(name.clone());
        }
        for (name, id) in &graph.inputs {
            // the caller may read an input after the run, unless an output with the same name overwrites it
            if graph.outputs.iter().all(|(other, _)| other != name) {
                let bytes = 0..graph.item_bytes(*id);
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

    fn kind(&self, id: Id) -> Option<&'a ValueInfo> {
        self.graph.nodes[id].kind.as_ref()
    }

    /// Merges the classes of the two values of each in-out port. Returns an error if the overwritten value is still
    /// needed.
    fn keep_places(&mut self) -> Result<(), Refused> {
        for step in &self.graph.steps {
            for bound in &step.bound {
                let Binding::Updates(old, new) = *bound else { continue };
                let (kernel, name) = (step.kernel.name(), self.graph.name(old));
                if self.graph.all_sources(old).iter().any(|(source, bytes)| self.is_kept(*source, bytes)) {
                    return Err(format!("{kernel} overwrites {name}, which must be preserved"));
                }
                if !self.merge(self.graph.home(old).0, new) || !self.is_sound(new) {
                    return Err(format!("{kernel} overwrites {name}, which is read later"));
                }
            }
        }
        Ok(())
    }

    /// Whether the caller reads some of these bytes of a value after the run.
    fn is_kept(&self, id: Id, bytes: &Range<usize>) -> bool {
        self.reads[id].iter().any(|read| read.step == usize::MAX && meet(&read.bytes, bytes))
    }

    /// Whether no other value in the class of `new` is still needed when `new` is written.
    fn is_sound(&self, new: Id) -> bool {
        self.classes[self.class[new]].iter().all(|&other| other == new || self.follow(other, new))
    }

    /// Merges the class of an output with that of the input of the same name. Returns an error if that input is still
    /// needed.
    fn take_places(&mut self) -> Result<(), Refused> {
        for (name, new) in &self.graph.outputs {
            let Some((_, old)) = self.graph.inputs.iter().find(|(other, _)| other == name) else { continue };
            let (Some(before), Some(after)) = (self.kind(*old), self.kind(*new)) else { continue };
            if (before.item_bytes(), before.sharing) != (after.item_bytes(), after.sharing) {
                return Err(format!("the output {name} and the input of that name must have the same size"));
            }
            let new = self.graph.home(*new).0;
            if self.class[*old] != self.class[new] && !self.merge(*old, new) {
                return Err(format!("the input {name} is still needed when the output of that name overwrites it"));
            }
        }
        Ok(())
    }

    /// Lets kernels run in place if they can, from the last step to the first, so that the steps that lead to an output
    /// work in its memory.
    fn work_in_place(&mut self) {
        for step in self.graph.steps.iter().rev() {
            for (output, written) in step.bound.iter().enumerate() {
                let Binding::Writes(new) = *written else { continue };
                for (input, read) in step.bound.iter().enumerate() {
                    if let Binding::Reads(old) = *read
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

    /// Whether two values may share memory: each has memory of its own, of equal size, and neither is a status. If one
    /// of them is an argument, both must be secret or neither.
    fn are_alike(&self, old: Id, new: Id) -> bool {
        let secret =
            |id: Id| self.classes[self.class[id]].iter().any(|&id| self.kind(id).is_some_and(|kind| kind.secret));
        let is_arg = self.names[self.class[new]].is_some() || self.names[self.class[old]].is_some();
        let bytes = |id: Id| self.graph.item_bytes(id);
        let own = |id: Id| self.first[id] == 0 && bytes(self.class[id]) == bytes(id);
        match (self.kind(old), self.kind(new)) {
            (Some(a), Some(b)) => {
                let same = (bytes(old), a.sharing) == (bytes(new), b.sharing) && !a.status && !b.status;
                let other = self.class[old] != self.class[new] && own(old) && own(new);
                same && other && (!is_arg || secret(old) == secret(new))
            }
            _ => false,
        }
    }

    /// Merges the classes of two values and returns true. If a value of one class is still needed when a value of the
    /// other class overwrites it, returns false and merges nothing; likewise if both classes are arguments, with
    /// different names.
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

    /// Whether two values can share memory: the value written earlier is no longer needed when the other one is
    /// written.
    fn follow(&self, a: Id, b: Id) -> bool {
        let born = |id: Id| match self.graph.nodes[id].origin {
            Origin::Input => Some(None),
            Origin::Step(step) => Some(Some(step)),
            // views and concatenations have no memory of their own
            _ => None,
        };
        let (Some(born_a), Some(born_b)) = (born(a), born(b)) else { return true };
        let ((a, born_a), (b, born_b)) =
            if born_a <= born_b { ((a, born_a), (b, born_b)) } else { ((b, born_b), (a, born_a)) };
        let at = |id: Id| self.first[id]..self.first[id] + self.span(id);
        if !meet(&at(a), &at(b)) {
            return true;
        }
        let Some(step) = born_b.filter(|_| born_a != born_b) else { return false };
        self.reads[a].iter().all(|read| {
            // elements at a distance from each other count as read as a whole
            let whole = read.bytes == (0..self.graph.item_bytes(a));
            let (bytes, is_exact) = match self.span(a) == self.graph.item_bytes(a) {
                true => (self.first[a] + read.bytes.start..self.first[a] + read.bytes.end, true),
                false => (at(a), whole),
            };
            let same = is_exact && bytes == at(b) && self.graph.item_bytes(b) == read.bytes.len();
            read.step < step || !meet(&bytes, &at(b)) || (read.step == step && self.hands_over(read, same, b))
        })
    }

    /// Bytes from the beginning of a value's first element to the end of its last one.
    fn span(&self, id: Id) -> usize {
        let Some(kind) = self.kind(id) else { return 0 };
        let apart = self.graph.item_bytes(self.graph.home(id).0) / kind.elements;
        (kind.elements - 1) * apart + kind.bytes
    }

    /// Whether the reading step may write `new` over the bytes that it reads: through the same port, or in place if
    /// `same`. `same` says that the byte ranges read and written are equal.
    fn hands_over(&self, read: &Read, same: bool, new: Id) -> bool {
        let step = &self.graph.steps[read.step];
        let output = step
            .bound
            .iter()
            .position(|bound| matches!(bound, Binding::Writes(id) | Binding::Updates(_, id) if *id == new));
        output.is_some_and(|output| output == read.port || (same && step.kernel.in_place(read.port, output)))
    }

    /// Assigns an argument or a temporary to every value.
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
        // leaves out classes in the memory of arguments, and classes that no step writes
        rest.retain(|class| matches!(places[class[0]], Home::Temp(_)) && self.born(class).is_some());
        rest.sort_by_key(|class| self.born(class));
        for class in rest {
            let kinds = || class.iter().filter_map(|&id| self.kind(id));
            let temp = Temp {
                bytes: kinds().map(ValueInfo::item_bytes).max().unwrap_or(0),
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
            // statuses must be 0 from the start of a run, and shared values must stay until all chunks of a batch are
            // done
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
            bytes: kind.map_or(0, ValueInfo::item_bytes),
            secret: class.iter().any(|&id| self.kind(id).is_some_and(|kind| kind.secret)),
            random_key: kind.is_some_and(|kind| kind.random_key),
            status: role == Role::Out && first.is_some_and(|kind| kind.status),
            before: content(input),
            after: content(output),
        }
    }
}
