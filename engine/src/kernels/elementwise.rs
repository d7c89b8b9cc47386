//! The element-wise kernel: `out[i] = expression(in[map(i)], operand[i], …)` on residues modulo any q.
//!
//! The index map is the identity or a permutation of each limb. The expression is a chain of linear combinations.
//! Either the kernel loads its first element from memory, or another kernel computes that element. In the second case
//! the chain is the other kernel's epilogue, which costs no pass over memory (kernel fusion).

mod multiples;

use core::fmt::{self, Write};
use core::marker::PhantomData;
use core::ops::Range;
use std::sync::Arc;

use crate::kernels::spread;
use crate::kernels::target::{Row, Target, for_row};
use crate::layout::{lanes, set_strides};
use crate::source::{fusable, of_engine, with_epilogue};
use multiples::{Multiples, OfLimb};
use ringforge_math::error::{Error, Result};
use ringforge_math::modulus::{Modulus, Width};
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Built, Combination, Kernel, Port, Sharing, Slice, Source, Table};
use ringforge_runtime::limits::Limits;

/// Threads per block.
const THREADS: usize = 256;

/// Maximum numbers of operands and of stages in an epilogue: with more of them, registers spill. A kernel that loads
/// its first element from memory may have one more of each.
const MOST_OPERANDS: usize = 2;
const MOST_STAGES: usize = 4;

/// Number of residues that a CPU thread takes through all stages at a time, so that they stay in its L1 cache.
const CHUNK: usize = 1024;

/// The bit of a permutation entry that is set if the residue is negated.
const NEGATED: u32 = 1 << 31;

/// An entry of a permutation: the index of the source residue in its limb, and whether the residue is negated.
pub(crate) fn place(from: usize, negated: bool) -> u32 {
    from as u32 | if negated { NEGATED } else { 0 }
}

/// A chain of linear combinations, applied to an element before it is stored.
///
/// Ports: those of the producer, the moduli and scales of all stages ([`Kernel::table`]), the operands (in).
#[derive(Debug, Clone)]
struct Elementwise<S: Row> {
    producer: Producer,
    poly: PolyType,
    stages: Vec<Stage>,
    ports: Vec<Port>,
    stored: PhantomData<S>,
}

/// The source of the first element.
#[derive(Debug, Clone)]
enum Producer {
    /// The element is loaded from memory, each limb through the same permutation. Ports: the element (in), the
    /// permutation if there is one, the result (out).
    Input { permutation: Option<Arc<[u32]>>, lanes: usize },
    /// The element is computed by a kernel that stores it at port `output`, through the `Epilogue` of its CUDA source
    /// (`epilogue.cuh`).
    Kernel { kernel: Arc<dyn Kernel>, output: usize },
}

/// A linear combination of the chain's current element and at most one operand.
#[derive(Debug, Clone)]
struct Stage {
    combination: Combination,
    /// The index of the current element among the terms of the combination.
    term: usize,
}

/// Returns the kernel for a linear combination of one or two elements.
///
/// # Errors
/// [`Error::Unsupported`] for residues stored in 256 bits whose moduli differ in bit length, if the kernel multiplies
/// by numbers or accepts any word.
pub(crate) fn combine(poly: &PolyType, combination: Combination) -> Result<Arc<dyn Kernel>> {
    let bits: Vec<u32> = poly.basis().iter().map(Modulus::bits).collect();
    // words that are not below q are reduced by a product with 1
    let multiplies = poly.accepts_any_word() || combination.factor.is_some();
    if poly.width() == Width::W256 && multiplies && bits.iter().any(|other| *other != bits[0]) {
        return Err(Error::unsupported(
            "multiples",
            poly,
            "moduli stored in 256 bits must all have the same bit length",
        ));
    }
    let lanes = lanes(poly.degree(), poly);
    let ports = vec![Port::input(poly.bytes()), Port::output(poly.bytes())];
    let stage = Stage { combination, term: 0 };
    Ok(for_row!(poly, S => {
        let mut kernel = Elementwise::<S>::new(Producer::Input { permutation: None, lanes }, ports, poly);
        kernel.push(stage);
        Arc::new(kernel)
    }))
}

/// Returns the kernel that permutes every limb, with one [`place`] per residue, as automorphisms x → x^k do.
pub(crate) fn permute(poly: &PolyType, places: Vec<u32>) -> Arc<dyn Kernel> {
    let lanes = lanes(poly.degree(), poly);
    let ports = vec![Port::input(poly.bytes()), Port::shared(size_of_val(&places[..])), Port::output(poly.bytes())];
    let producer = Producer::Input { permutation: Some(Arc::from(places)), lanes };
    for_row!(poly, S => Arc::new(Elementwise::<S>::new(producer, ports, poly)))
}

/// Fuses the linear combination of the kernel `then` to a kernel that stores elements of the ring at port `output`.
/// These elements become the term with index `term`. Returns `None` if `then` is no linear combination over the same
/// ring, or if the epilogue would have too many operands or stages.
pub(super) fn fused(
    kernel: Arc<dyn Kernel>,
    output: usize,
    poly: &PolyType,
    then: &Arc<dyn Kernel>,
    term: usize,
) -> Option<Arc<dyn Kernel>> {
    let ports = kernel.ports().to_vec();
    let producer = Producer::Kernel { kernel, output };
    for_row!(poly, S => Elementwise::<S>::new(producer, ports, poly).with_epilogue(then, term))
}

impl<S: Row> Elementwise<S> {
    fn new(producer: Producer, mut ports: Vec<Port>, poly: &PolyType) -> Self {
        ports.push(Port::shared(0));
        let mut kernel = Self { producer, poly: poly.clone(), stages: Vec::new(), ports, stored: PhantomData };
        kernel.size_table();
        kernel
    }

    fn push(&mut self, stage: Stage) {
        let operands = stage.combination.minus.len() - 1;
        self.ports.extend(vec![Port::input(self.poly.bytes()); operands]);
        self.stages.push(stage);
        self.size_table();
    }

    fn size_table(&mut self) {
        let table = self.table_port();
        self.ports[table].bytes = self.multiples().table().bytes();
    }

    /// The port of the table with the moduli and scales, the first one after the producer's ports.
    fn table_port(&self) -> usize {
        match &self.producer {
            Producer::Kernel { kernel, .. } => kernel.ports().len(),
            Producer::Input { permutation, .. } => 2 + usize::from(permutation.is_some()),
        }
    }

    fn output(&self) -> usize {
        match self.producer {
            Producer::Kernel { output, .. } => output,
            Producer::Input { .. } => self.table_port() - 1,
        }
    }

    fn is_input(&self) -> bool {
        matches!(self.producer, Producer::Input { .. })
    }

    fn operands(&self) -> usize {
        self.ports.len() - self.table_port() - 1
    }

    fn multiples(&self) -> Multiples<'_, S> {
        Multiples::new(&self.poly, self.stages.iter().map(|stage| stage.combination.factor.as_deref()))
    }

    /// The CUDA source of the producer.
    fn producer(&self, limits: &Limits) -> Result<Source> {
        let (permutation, lanes) = match &self.producer {
            Producer::Kernel { kernel, .. } => return kernel.source(limits),
            Producer::Input { permutation, lanes } => (permutation, lanes),
        };
        let units = self.poly.basis().len() * self.poly.degree() / lanes;
        let prelude = format!(
            "#pragma once\n#include \"elementwise.cuh\"\nstruct Elements {{\n\
             \x20   static constexpr rf::u32 n = {}, lanes = {lanes}, threads = {THREADS};\n}};\n",
            self.poly.degree(),
        );
        let source = match permutation {
            Some(_) => ringforge_kernels::PERMUTE,
            None => ringforge_kernels::COMBINE,
        };
        let built = Built { prelude, launch: spread::launch(units, THREADS)? };
        let numbers = vec![units as u64, self.stride(0), self.stride(self.output())];
        Ok(fusable(of_engine(self, source, built, numbers)))
    }

    /// The stride between items at a port, in residues.
    fn stride(&self, port: usize) -> u64 {
        (self.ports[port].stride() / size_of::<S>()) as u64
    }

    /// The generated C++ struct `Epilogue`: its pointers and strides, and the operations of all stages.
    fn epilogue(&self) -> String {
        let operands = self.operands();
        // for each stage, whether it negates the current element, or the operand if `of_operand` is true; then one more
        // false
        let signs = |of_operand: bool| {
            let sign = |stage: &Stage| {
                let term = if of_operand { 1 - stage.term } else { stage.term };
                format!("{}, ", stage.combination.minus.get(term).is_some_and(|minus| *minus))
            };
            self.stages.iter().map(sign).collect::<String>() + "false"
        };
        let adds: String = self.stages.iter().map(|stage| format!("{}, ", stage.combination.minus.len() > 1)).collect();
        let members = match operands {
            0 => String::new(),
            _ => format!("\x20   const Store* operand[{operands}];\n\x20   rf::u64 distance[{operands}];\n"),
        };
        format!(
            "#include \"epilogue.cuh\"\nstruct Epilogue {{\n{}\
             \x20   static constexpr rf::u32 operands = {operands};\n\
             \x20   RF_CONST bool adds(rf::u32 i) {{\n\
             \x20       constexpr bool is[] = {{{adds}false}};\n\
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
            self.multiples().members(),
            self.stages.len() + 1,
            signs(false),
            signs(true),
        )
    }
}

impl<S: Row> Kernel for Elementwise<S> {
    fn name(&self) -> &str {
        match &self.producer {
            Producer::Kernel { kernel, .. } => kernel.name(),
            Producer::Input { permutation: Some(_), .. } => "permute",
            Producer::Input { permutation: None, .. } => "combine",
        }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let strides = (self.table_port() + 1..self.ports.len()).map(|port| self.stride(port)).collect();
        Ok(with_epilogue(self.producer(limits)?, self, self.operands() + 1, &self.epilogue(), strides))
    }

    /// An operand may share memory with the output, because a thread reads operands at the positions that it writes
    /// afterwards. So may the first element, if it is loaded without a permutation or the producing kernel allows it.
    fn in_place(&self, input: usize, output: usize) -> bool {
        output == self.output()
            && (input > self.table_port()
                || match &self.producer {
                    Producer::Kernel { kernel, .. } => kernel.in_place(input, output),
                    Producer::Input { permutation, .. } => permutation.is_none() && input == 0,
                })
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let (own, mut kernel) = (self.table_port(), self.clone());
        set_strides(&mut kernel.ports, strides);
        // the bitwise or of the offsets and strides of the per-item ports from port `skip` on, to test their alignment
        let places = |skip: usize| {
            let all = self.ports.iter().zip(firsts.iter().zip(strides)).skip(skip);
            let own = all.filter(|(port, _)| port.sharing == Sharing::PerItem);
            own.fold(0, |places, (_, (first, stride))| places | first | stride)
        };
        match &mut kernel.producer {
            Producer::Input { lanes: vector, .. } => {
                let places = places(0);
                if !places.is_multiple_of(size_of::<S>()) {
                    return None;
                }
                *vector = lanes(self.poly.degree() | (places / size_of::<S>()), &self.poly);
            }
            Producer::Kernel { kernel: producer, .. } => {
                // operands are read in the vectors in which the producer stores a limb, so operands must begin at whole
                // limbs
                if !places(own).is_multiple_of(self.poly.degree() * size_of::<S>()) {
                    return None;
                }
                let stays = |(port, place): (&Port, (&usize, &usize))| place == (&0, &port.stride());
                // needed even if only an operand is placed elsewhere: the producer's source may have the strides of its
                // own ports as constants
                if !self.ports.iter().zip(firsts.iter().zip(strides)).all(stays) {
                    *producer = producer.on_views(&firsts[..own], &strides[..own])?;
                }
                kernel.ports[..own].copy_from_slice(producer.ports());
            }
        }
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        match &self.producer {
            _ if port == self.table_port() => Some(self.multiples().table()),
            Producer::Kernel { kernel, .. } => kernel.table(port),
            Producer::Input { permutation: Some(places), .. } if port == 1 => {
                Some(Table::Bytes(Arc::from(bytemuck::cast_slice::<u32, u8>(places))))
            }
            Producer::Input { .. } => None,
        }
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let operands = (self.table_port() + 1..self.ports.len()).map(|port| args.input::<S>(port));
        let operands = operands.collect::<Result<Vec<_>>>()?;
        let input = if self.is_input() { Some(args.input::<S>(0)?) } else { None };
        let out = args.output::<S>(self.output())?;
        if let Producer::Kernel { kernel, output } = &self.producer {
            let written = [(*output, Slice::Out(bytemuck::cast_slice_mut(out)))];
            args.lend(&**kernel, written, |args| kernel.on_cpu(items, args))?;
        }
        let (n, limbs) = (self.poly.degree(), self.poly.basis().len());
        let multiples = self.multiples();
        ringforge_cpu::threads::rows(out, n, &|row, out| {
            let multiples = multiples.of_limb(row % limbs);
            for (chunk, out) in out.chunks_mut(CHUNK).enumerate() {
                let (start, len) = (chunk * CHUNK, out.len());
                if let Some(input) = input {
                    self.load(&multiples, &input[row * n..][..n], start, out);
                }
                let mut operands = operands.iter();
                for (number, stage) in self.stages.iter().enumerate() {
                    let operand = operands.by_ref().take(stage.combination.minus.len() - 1).next();
                    stage.apply(&multiples, number, out, operand.map(|operand| &operand[row * n + start..][..len]));
                }
            }
        });
        Ok(())
    }

    fn combination(&self) -> Option<(&PolyType, &Combination)> {
        match (&self.producer, &self.stages[..]) {
            (Producer::Input { permutation: None, .. }, [stage]) => Some((&self.poly, &stage.combination)),
            _ => None,
        }
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        let (poly, combination) = then.combination()?;
        let alike = |poly: &PolyType| (poly.degree(), poly.width(), poly.accepts_any_word());
        if alike(poly) != alike(&self.poly) || poly.basis() != self.poly.basis() {
            return None;
        }
        let mut kernel = self.clone();
        kernel.push(Stage { combination: combination.clone(), term });
        let more = usize::from(self.is_input());
        let fits = kernel.operands() <= MOST_OPERANDS + more && kernel.stages.len() <= MOST_STAGES + more;
        fits.then(|| Arc::new(kernel) as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        let mut text = match &self.producer {
            Producer::Kernel { kernel, .. } => kernel.describe(),
            Producer::Input { .. } => format!("{} moduli", self.poly.basis().len()),
        };
        for (number, stage) in self.stages.iter().enumerate() {
            let separator = if self.is_input() && number == 0 { ", " } else { "; fused: " };
            // writing to a string does not fail
            let _ = write!(text, "{separator}{stage}");
        }
        text
    }
}

impl<S: Row> Elementwise<S> {
    /// Loads residues of a limb of the input, from index `start` on, and reduces them to canonical form.
    fn load(&self, multiples: &OfLimb<S>, limb: &[S], start: usize, out: &mut [S]) {
        // local copies, because the compiler keeps them in registers during a loop
        let (q, reduced) = (multiples.q, multiples.reduction());
        match &self.producer {
            Producer::Input { permutation: Some(places), .. } => {
                for (out, place) in out.iter_mut().zip(&places[start..]) {
                    let x = reduced(limb[(place & !NEGATED) as usize]);
                    *out = S::put(if place & NEGATED == 0 { x } else { q.negate(x) });
                }
            }
            _ => out.iter_mut().zip(&limb[start..]).for_each(|(out, x)| *out = S::put(reduced(*x))),
        }
    }
}

impl Stage {
    /// Replaces the residues `x` by the stage's combination of `x` and the operand, times the stage's scale.
    fn apply<S: Row>(&self, multiples: &OfLimb<S>, number: usize, x: &mut [S], operand: Option<&[S]>) {
        let minus = |term: usize| self.combination.minus.get(term).is_some_and(|minus| *minus);
        let (q, reduced, times) = (multiples.q, multiples.reduction(), multiples.scaling(number));
        let [negated, operand_negated] = [self.term, 1 - self.term].map(minus);
        let signed = move |negated: bool, x| if negated { q.negate(x) } else { x };
        match operand {
            None => x.iter_mut().for_each(|x| *x = times(signed(negated, x.get()))),
            Some(operand) => x.iter_mut().zip(operand).for_each(|(x, y)| {
                *x = times(q.add(signed(negated, x.get()), signed(operand_negated, reduced(*y))));
            }),
        }
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
