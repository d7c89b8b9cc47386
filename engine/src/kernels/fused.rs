//! Kernels to which element-wise steps are fused: what they are about to store is combined with other elements first.

use crate::source::with_epilogue;
use core::fmt::{self, Write};
use core::marker::PhantomData;
use core::ops::Range;
use std::sync::Arc;

use ringforge_cpu::Limbs;

use crate::kernels::linear::{multiples, multiples_text};
use crate::kernels::target::Row;
use ringforge_math::error::Result;
use ringforge_math::modulus::Width;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Combination, Copies, Kernel, Port, Sharing, Slice, Source, Table};
use ringforge_runtime::limits::Limits;

/// The most operands of an epilogue, and the most steps: what the kernels have registers for.
const MOST_OPERANDS: usize = 2;
const MOST_STAGES: usize = 4;

/// A kernel whose text stores residues through an `Epilogue` (`epilogue.cuh`), with steps fused to it. It means what the
/// kernel means, and then the steps.
///
/// Ports: the kernel's, the moduli and factors of the steps ([`Kernel::table`]), their operands (in).
#[derive(Debug, Clone)]
struct Fused<S: Row> {
    kernel: Arc<dyn Kernel>,
    /// The port at which it stores elements of the ring.
    output: usize,
    poly: PolyType,
    stages: Vec<Stage>,
    ports: Vec<Port>,
    stored: PhantomData<S>,
}

/// A step: the combination that this kernel makes, of which one term is what was there before.
#[derive(Debug, Clone)]
struct Stage {
    step: Arc<dyn Kernel>,
    combination: Combination,
    term: usize,
}

/// The kernel, which stores elements of the ring at an output, with a step after it that takes them as one of its terms;
/// nothing where that cannot be.
pub(super) fn fused(
    kernel: Arc<dyn Kernel>,
    output: usize,
    poly: &PolyType,
    then: &Arc<dyn Kernel>,
    term: usize,
) -> Option<Arc<dyn Kernel>> {
    match poly.width() {
        Width::W16 => Fused::<u16>::new(kernel, output, poly).then(then, term),
        Width::W32 => Fused::<u32>::new(kernel, output, poly).then(then, term),
        Width::W64 => Fused::<u64>::new(kernel, output, poly).then(then, term),
        Width::W256 => Fused::<Limbs>::new(kernel, output, poly).then(then, term),
    }
}

impl<S: Row> Fused<S> {
    fn new(kernel: Arc<dyn Kernel>, output: usize, poly: &PolyType) -> Self {
        let mut ports = kernel.ports().to_vec();
        ports.push(Port::shared(0));
        Self { kernel, output, poly: poly.clone(), stages: Vec::new(), ports, stored: PhantomData }
    }

    fn then(mut self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        let (poly, combination) = then.combination()?;
        let alike = |poly: &PolyType| (poly.degree(), poly.width(), poly.accepts_any_word());
        if alike(poly) != alike(&self.poly) || poly.basis() != self.poly.basis() {
            return None;
        }
        let operands = combination.minus.len() - 1;
        self.ports.extend(vec![Port::input(poly.bytes()); operands]);
        self.stages.push(Stage { step: then.clone(), combination: combination.clone(), term });
        let table = self.table_port();
        self.ports[table].bytes = multiples::<S>(&self.poly, &self.combinations()).bytes();
        let fits = self.operands() <= MOST_OPERANDS && self.stages.len() <= MOST_STAGES;
        fits.then(|| Arc::new(self) as Arc<dyn Kernel>)
    }

    /// The first port that is not the kernel's own.
    fn table_port(&self) -> usize {
        self.kernel.ports().len()
    }

    fn operands(&self) -> usize {
        self.ports.len() - self.table_port() - 1
    }

    fn combinations(&self) -> Vec<&Combination> {
        self.stages.iter().map(|stage| &stage.combination).collect()
    }

    /// The struct `Epilogue`: pointers and distances, and what is done with them.
    fn epilogue(&self) -> String {
        let operands = self.operands();
        // for each step: whether what was there changes its sign, whether there is an operand, and whether that does
        let signs = |term: usize| {
            let sign = |stage: &Stage| {
                let term = if term == 0 { stage.term } else { 1 - stage.term };
                stage.combination.minus.get(term).is_some_and(|minus| *minus).to_string()
            };
            self.stages.iter().map(sign).collect::<Vec<_>>().join(", ")
        };
        let adds: Vec<String> =
            self.stages.iter().map(|stage| (stage.combination.minus.len() > 1).to_string()).collect();
        let members = match operands {
            0 => String::new(),
            _ => format!("\x20   const Store* operand[{operands}];\n\x20   rf::u64 distance[{operands}];\n"),
        };
        format!(
            "#include \"epilogue.cuh\"\nstruct Epilogue {{\n{}\
             \x20   static constexpr rf::u32 operands = {operands};\n\
             \x20   RF_CONST bool adds(rf::u32 i) {{\n\
             \x20       constexpr bool is[] = {{{}}};\n\
             \x20       return is[i];\n\
             \x20   }}\n\
             \x20   RF_CONST bool minus(rf::u32 i, rf::u32 term) {{\n\
             \x20       constexpr bool is[2][{}] = {{{{{}}}, {{{}}}}};\n\
             \x20       return is[term][i];\n\
             \x20   }}\n\
             \x20   const rf::u64* table;\n{members}\
             \x20   template <class Offset>\n\
             \x20   RF_METHOD rf::Ending<Epilogue> of_row(rf::u32 row, Offset offset) const {{\n\
             \x20       return rf::Ending<Epilogue>(*this, row, offset);\n\
             \x20   }}\n}};\n",
            multiples_text::<S>(&self.poly, &self.combinations()),
            adds.join(", "),
            self.stages.len(),
            signs(0),
            signs(1),
        )
    }
}

impl<S: Row> Kernel for Fused<S> {
    fn name(&self) -> &str {
        self.kernel.name()
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let distances = self.ports[self.table_port() + 1..].iter();
        let distances = distances.map(|port| (port.distance() / self.poly.width().bytes()) as u64).collect();
        Ok(with_epilogue(self.kernel.source(limits)?, self, &self.epilogue(), distances))
    }

    /// A thread reads the operands where it then writes.
    fn in_place(&self, input: usize, output: usize) -> bool {
        output == self.output && (input > self.table_port() || self.kernel.in_place(input, output))
    }

    fn on_views(&self, firsts: &[usize], distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        let own = self.table_port();
        let mut kernel = self.clone();
        // also where an operand alone lies elsewhere: a text may have the distances of its own ports as constants
        let stays = |(port, place): (&Port, (&usize, &usize))| place == (&0, &port.distance());
        if !self.ports.iter().zip(firsts.iter().zip(distances)).all(stays) {
            kernel.kernel = self.kernel.on_views(&firsts[..own], &distances[..own])?;
        }
        kernel.ports[..own].copy_from_slice(kernel.kernel.ports());
        let row = self.poly.degree() * self.poly.width().bytes();
        for (port, (first, distance)) in kernel.ports.iter_mut().zip(firsts.iter().zip(distances)).skip(own) {
            if port.sharing == Sharing::PerItem {
                // vectors are read where a row's are written
                if !first.is_multiple_of(row) || !distance.is_multiple_of(row) {
                    return None;
                }
                port.apart = Some(*distance);
            }
        }
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        match port == self.table_port() {
            true => Some(multiples::<S>(&self.poly, &self.combinations())),
            false => self.kernel.table(port),
        }
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let operands = (self.table_port() + 1..self.ports.len()).map(|port| args.input::<u8>(port));
        let mut operands = operands.collect::<Result<Vec<_>>>()?.into_iter();
        let out = args.output::<u8>(self.output)?;
        args.lend(&*self.kernel, [(self.output, Slice::Out(out))], |args| self.kernel.on_cpu(items.clone(), args))?;
        for Stage { step, combination, term } in &self.stages {
            let operands = operands.by_ref().take(combination.minus.len() - 1);
            // the terms, the step's table, and what it makes of them
            let mut slices: Vec<Slice<'_>> = operands.map(Slice::In).collect();
            slices.insert(*term, Slice::SameAs(combination.minus.len() + 1));
            slices.extend([Slice::In(&[]), Slice::Out(out)]);
            let copies = Copies::new(slices.len());
            step.on_cpu(items.clone(), &mut Args::new(step.name(), step.ports(), slices, &copies))?;
        }
        Ok(())
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        self.clone().then(then, term)
    }

    fn describe(&self) -> String {
        let mut text = self.kernel.describe();
        for stage in &self.stages {
            // writing to a string does not fail
            let _ = write!(text, "; fused: {stage}");
        }
        text
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signs = &self.combination.minus;
        for (term, minus) in signs.iter().enumerate() {
            let name = if term == self.term { "this" } else { "operand" };
            f.write_str(match (term, minus) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            })?;
            f.write_str(name)?;
        }
        f.write_str(if self.combination.factor.is_some() { ", times a number each" } else { "" })
    }
}
