//! Plans as parts of other plans.

use core::ops::Range;

use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Port, Role, Sharing};
use ringforge_runtime::plan::{Plan, Slot};

use super::{Graph, Id, Refused};

/// The contents of a plan's argument or temporary: byte ranges, each with the value stored there and its first byte
/// within that value.
type Pieces = Vec<(Range<usize>, Id, usize)>;

impl Graph {
    /// Adds the steps of a plan, and returns the values that it writes. `inputs` has the plan's inputs in reverse
    /// order. Values that are secret in the plan become secret in this graph.
    pub(in crate::pipeline) fn steps_of(&mut self, plan: &Plan, mut inputs: Vec<Id>) -> Result<Vec<Id>, Refused> {
        let mut places: Vec<Pieces> = Vec::new();
        for arg in &plan.args {
            let id = if arg.role == Role::Out { None } else { inputs.pop() };
            if let Some(id) = id {
                self.fits(plan, &arg.name, arg.before.as_ref(), id)?;
                if arg.secret {
                    self.mark_secret(id);
                }
            }
            places.push(id.map(|id| (0..arg.bytes, id, 0)).into_iter().collect());
        }
        places.resize(plan.args.len() + plan.temps.len(), Vec::new());
        let secret: Vec<bool> =
            plan.args.iter().map(|arg| arg.secret).chain(plan.temps.iter().map(|temp| temp.secret)).collect();
        for step in &plan.steps {
            let ports = step.kernel.ports().to_vec();
            let (mut tables, mut ids) = (Vec::new(), Vec::new());
            for (port, slot) in ports.iter().zip(&step.slots) {
                ids.push(match slot {
                    Slot::Memory(_, first) if port.role != Role::Out => match slot.number(plan.args.len()) {
                        Some(place) => self.read(&places[place], port, *first, step.elements)?,
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
                    if secret[place] {
                        self.keep_secret(id);
                    }
                    for (bytes, id) in self.written(id, port, *first, step.elements)? {
                        replace(&mut places[place], &bytes, id);
                    }
                }
            }
        }
        let mut outputs = Vec::new();
        for (arg, pieces) in plan.args.iter().zip(&places).filter(|(arg, _)| arg.role != Role::In) {
            if let Some(id) = self.gather(pieces, 0..arg.bytes)? {
                self.nodes[id].content = arg.after.clone();
                if arg.secret {
                    self.mark_secret(id);
                }
                outputs.push(id);
            }
        }
        Ok(outputs)
    }

    /// The value that a port of a step reads from byte `first` on, divided into as many elements as the step's values.
    fn read(&mut self, pieces: &Pieces, port: &Port, first: usize, elements: usize) -> Result<Option<Id>, Refused> {
        // all elements share a value at a distance of 0
        if elements == 1 || port.sharing == Sharing::Shared || port.stride() == 0 {
            return self.gather(pieces, first..first + port.bytes);
        }
        let Some(all) = self.gather(pieces, 0..elements * port.stride())? else { return Ok(None) };
        let all = self.divided(all, elements, None)?;
        self.view(all, first..first + port.bytes, None).map(Some)
    }

    /// The byte ranges to which a step writes the elements of a value through a port, from byte `first` on.
    fn written(
        &mut self,
        id: Id,
        port: &Port,
        first: usize,
        elements: usize,
    ) -> Result<Vec<(Range<usize>, Id)>, Refused> {
        if elements == 1 {
            return Ok(vec![(first..first + port.bytes, id)]);
        }
        let all = self.divided(id, 1, None)?;
        if port.is_dense() {
            return Ok(vec![(first..first + elements * port.bytes, all)]);
        }
        let element = |i: usize| {
            let own = self.view(all, i * port.bytes..(i + 1) * port.bytes, None)?;
            let start = first + i * port.stride();
            Ok((start..start + port.bytes, own))
        };
        (0..elements).map(element).collect()
    }

    /// The value stored at these bytes, which may be a new view or a new concatenation. `None` if no value is stored
    /// there.
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

    /// Checks that a value holds the type that an argument of a plan requires. An input of unknown size gets this type.
    fn fits(&mut self, plan: &Plan, arg: &str, wanted: Option<&PolyType>, id: Id) -> Result<(), Refused> {
        let (Some(wanted), Some(got)) = (wanted, self.content(id)) else {
            if let (Some(wanted), true) = (wanted, self.nodes[id].kind.is_none()) {
                self.holding(id, wanted.clone())?;
            }
            return Ok(());
        };
        if wanted != got {
            let (wanted, got) = (wanted.described(), got.described());
            return Err(format!("{arg} of {} must be {wanted}, but {} holds {got}", plan.title, self.name(id)));
        }
        Ok(())
    }
}

/// Records that a value is stored at these bytes, in place of earlier values.
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
