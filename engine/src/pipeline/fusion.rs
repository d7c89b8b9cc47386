//! Kernel fusion. A linear combination is fused into the step that writes one of its terms, if nothing else reads
//! that term. A pointwise product is fused into the inverse transform that reads it, if nothing else does.

use core::ops::Range;
use std::sync::Arc;

use ringforge_runtime::kernel::Kernel;

use super::graph::{Binding, Graph, Id, Origin, Step, meet};

/// A step that can be fused into a later one.
struct Found {
    step: usize,
    /// The value that the step writes. Only the later step reads it.
    value: Id,
    /// The fused kernel. Its ports are those of the earlier step, then a table if a linear combination was fused, then
    /// one port for each of `operands`.
    kernel: Arc<dyn Kernel>,
    /// The operands of the later step, without `value`.
    operands: Vec<Id>,
}

impl Graph {
    /// Fuses all steps for which this is possible. A fused step takes the position of the later step, because all its
    /// operands are available there.
    pub(super) fn fuse(&mut self) {
        let mut gone = Vec::new();
        for step in 0..self.steps.len() {
            let Some(found) = self.find(step).or_else(|| self.find_product(step)) else { continue };
            let Some(fused) = self.fused(step, &found) else { continue };
            self.steps[step] = fused;
            gone.push(found.step);
        }
        self.steps_left(|step| !gone.contains(&step));
    }

    /// The fusion of the linear combination in step `number` with the latest of the steps that can take it as an
    /// epilogue. `None` if there is no such step, or if step `number` is not a linear combination.
    fn find(&self, number: usize) -> Option<Found> {
        let step = &self.steps[number];
        step.kernel.combination()?;
        let reads = |bound: &Binding| if let Binding::Reads(id) = *bound { Some(id) } else { None };
        let values: Vec<Id> = step.bound.iter().filter_map(reads).collect();
        let found = values.iter().enumerate().filter_map(|(term, &id)| {
            let (value, writer) = self.written_for(id, number)?;
            let kernel = self.steps[writer].kernel.with_epilogue(&step.kernel, term)?;
            let operands = values.iter().copied().filter(|&other| other != id).collect();
            Some(Found { step: writer, value, kernel, operands })
        });
        found.max_by_key(|found| found.step)
    }

    /// The fusion of step `number` with the pointwise product that it reads through its first port. `None` if there is
    /// no such product, or if it cannot be fused.
    fn find_product(&self, number: usize) -> Option<Found> {
        let Binding::Reads(id) = *self.steps[number].bound.first()? else { return None };
        let (value, writer) = self.written_for(id, number)?;
        let kernel = self.steps[number].kernel.taking_product(self.steps[writer].kernel.product()?)?;
        Some(Found { step: writer, value, kernel, operands: Vec::new() })
    }

    /// Returns the value that `id` is a complete view of, and the step that writes this value. `None` unless step
    /// `number` is its only reader and the writing step can run as late as step `number`.
    fn written_for(&self, id: Id, number: usize) -> Option<(Id, usize)> {
        let value = self.whole(id)?;
        let Origin::Step(writer) = self.nodes[value].origin else { return None };
        let runs = |step: usize| (self.steps[step].once, self.steps[step].elements);
        let suits = self.is_for(value, number) && runs(writer) == runs(number);
        (suits && !self.is_overwritten(writer, number)).then_some((value, writer))
    }

    /// The single value that `id` is a complete view of. This value may be a part of a concatenated value.
    fn whole(&self, id: Id) -> Option<Id> {
        match &self.all_sources(id)[..] {
            [(value, bytes)] if self.all_sources(*value) == [(*value, bytes.clone())] => Some(*value),
            _ => None,
        }
    }

    /// Whether `step` is the only reader of a value.
    pub(super) fn is_for(&self, value: Id, step: usize) -> bool {
        let takes = |id: Id| self.all_sources(id).iter().any(|(source, _)| *source == value);
        let reads = self
            .steps
            .iter()
            .enumerate()
            .flat_map(|(number, step)| step.bound.iter().map(move |bound| (number, bound)));
        let mut readers = reads.filter_map(|(number, bound)| match *bound {
            Binding::Reads(id) | Binding::Updates(id, _) if takes(id) => Some(number),
            _ => None,
        });
        readers.next() == Some(step) && readers.next().is_none() && !self.outputs.iter().any(|(_, id)| takes(*id))
    }

    /// Whether a step between `step` and `other` overwrites bytes that `step` reads.
    fn is_overwritten(&self, step: usize, other: usize) -> bool {
        let sources = |id: Id| self.all_sources(id);
        let reads = self.steps[step].bound.iter().filter_map(|bound| match *bound {
            Binding::Reads(id) | Binding::Updates(id, _) => Some(id),
            _ => None,
        });
        let reads: Vec<(Id, Range<usize>)> = reads.flat_map(sources).collect();
        let turned = self.steps[step + 1..other].iter().flat_map(|step| &step.bound).filter_map(|bound| match *bound {
            Binding::Updates(old, _) => Some(old),
            _ => None,
        });
        turned.flat_map(sources).any(|(id, bytes)| reads.iter().any(|(other, own)| *other == id && meet(own, &bytes)))
    }

    /// The fused step, which writes the output of the later step `other`.
    fn fused(&mut self, other: usize, found: &Found) -> Option<Step> {
        let written = |step: &Step| {
            step.bound.iter().find_map(|bound| if let Binding::Writes(id) = *bound { Some(id) } else { None })
        };
        let result = written(&self.steps[other])?;
        let Step { bound, once, elements, .. } = &self.steps[found.step];
        // ports of the earlier step, then the table of the linear combination if there is one, then the operands
        let operands = found.operands.iter().map(|&id| Binding::Reads(id));
        let own = bound.iter().cloned().map(Some).chain([None]).take(found.kernel.ports().len() - found.operands.len());
        let all = own.chain(operands.map(Some)).enumerate().map(|(port, bound)| match bound {
            Some(Binding::Writes(id)) if id == found.value => Some(Binding::Writes(result)),
            Some(Binding::Table(_)) | None => found.kernel.table(port).map(Binding::Table),
            bound => bound,
        });
        let bound = all.collect::<Option<Vec<_>>>()?;
        let step = Step { kernel: found.kernel.clone(), bound, once: *once, elements: *elements };
        self.on_views(&step)?;
        // nothing reads the intermediate value, so it needs no memory
        self.nodes[found.value].become_view(result);
        Some(step)
    }
}
