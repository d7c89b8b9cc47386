//! Shared parts of the built-in kernels on limbs of a ring: ports, tables, source and CPU reference.

use crate::source::{of_engine, with};
use ringforge_cpu::{Factors, Kernels};

use crate::layout::KernelLayout;
use crate::layout::block::Block;
use crate::layout::twiddles::Prime;
use ringforge_math::error::{Error, Result};
use ringforge_math::factorization::Roots;
use ringforge_math::poly::Order;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

impl KernelLayout {
    /// The ports of a kernel: these element ports, then the ports of the twiddle tables and of the constants.
    pub(crate) fn ports<const N: usize>(&self, ports: [fn(usize) -> Port; N]) -> Vec<Port> {
        let elements = ports.into_iter().map(|port| port(self.item_bytes()));
        elements.chain([self.table_port(), self.constants_port()]).collect()
    }

    /// The table that port `port` is bound to, in a kernel with `ports` ports, of which the last two are tables. `None`
    /// for the other ports.
    pub(crate) fn table_of(&self, ports: usize, port: usize) -> Option<Table> {
        match ports - port {
            2 => Some(self.table()),
            1 => Some(self.constants()),
            _ => None,
        }
    }

    /// The source of a transform or product with this layout. `text` is one of the engine's CUDA sources.
    pub(crate) fn source(&self, kernel: &dyn Kernel, text: &'static str, limits: &Limits) -> Result<Source> {
        if self.is_natural() {
            self.factorization.check_degree("evaluations in natural order")?;
        }
        let source = of_engine(kernel, text, self.build_part(limits)?, self.numbers(kernel.ports()));
        // the CUDA classes `Row` and `Leaf` wait for the preceding launch, so this one may start early (programmatic
        // dependent launch); kernels on 64-bit words are slower with it:
        // bench/results/profiles/2026-11-25-h200-rows.txt
        Ok(with(source, |source| source.follows = self.arithmetic.word_bytes() != 8))
    }

    pub(crate) fn describe(&self) -> String {
        match self.order {
            Order::Natural => format!("radices {} natural order", self.factorization),
            Order::DigitReversed => format!("radices {}", self.factorization),
        }
    }

    /// Describes a kernel that may compute only some layers.
    pub(crate) fn describe_part(&self) -> String {
        let mut text = self.describe();
        if !self.is_whole() {
            text += &format!(" layers {}..{}", self.part.start, self.part.end);
        }
        text + &self.describe_choice()
    }

    /// Describes how the kernel differs from the default choice.
    pub(crate) fn describe_choice(&self) -> String {
        let mut text = String::new();
        if self.choice.arithmetic == Some(self.arithmetic) {
            text += &format!(" in {}", self.arithmetic.name());
        }
        let Some(block) = Block::of(self, &self.limits) else { return text };
        if self.choice.per_thread == Some(block.per_thread()) {
            text += &format!(" with {} a thread", block.per_thread());
        }
        if self.cluster > 1 {
            text += &format!(" in clusters of {} blocks", self.cluster);
        }
        if block.shuffles(self) {
            text += " by shuffles";
        }
        text
    }

    /// The port `port`, changed for residues that one kernel of a transform leaves for the next. If the arithmetic
    /// leaves residues lazy, they are below k·q for the least capacity k of all moduli, else below q.
    pub(crate) fn between(&self, port: Port) -> Port {
        let capacity = self.poly.moduli().iter().map(|q| self.arithmetic.capacity(q)).min().unwrap_or(1);
        if self.arithmetic.leaves_lazy(&self.poly) { port.below(capacity as u32) } else { port }
    }

    /// The CPU reference of a kernel with this layout. `tables` and `constants` are the indices of the ports of the
    /// twiddle tables and of the constants; `tables` is `None` for products modulo leaves of degree 1. If the tables
    /// are for a GPU-only arithmetic, this function computes the twiddle factors.
    pub(crate) fn on_cpu<'a>(
        &'a self,
        args: &Args<'a>,
        tables: Option<usize>,
        constants: usize,
    ) -> Result<Box<dyn Kernels + 'a>> {
        let Self { poly, factorization, arithmetic, layout, .. } = self;
        let broken = |why: &str| Error::Kernel { kernel: args.kernel.into(), why: why.into() };
        let (is_on_cpu, needs_tables) = (arithmetic.is_on_cpu(), tables.is_some());
        let tables: Option<Vec<&[u8]>> = match tables.filter(|_| is_on_cpu) {
            Some(port) if self.has_several() => Some(args.tables(port)?),
            Some(port) => Some(vec![args.input(port)?]),
            None => None,
        };
        let bytes = layout.len * arithmetic.twiddle_bytes();
        if tables.iter().flatten().any(|table| table.len() != bytes || !is_aligned(table, TABLE_ALIGNMENT)) {
            return Err(broken("its table has the wrong size or alignment"));
        }
        let constants: &[u8] = args.input(constants)?;
        if constants.len() != self.constants_port().bytes {
            return Err(broken("its constants have the wrong size"));
        }
        let general = arithmetic.on_cpu(poly);
        let modulus = |(modulus, roots): (usize, &Roots)| {
            let row = poly.limb_moduli().iter().position(|&of_row| of_row == modulus).unwrap_or(0);
            let own = || Prime::new(factorization, modulus, general).of_cpu(factorization, general, &self.scale);
            let given = |header| Factors::Given { header, table: tables.as_ref().map(|tables| tables[row]) };
            let factors = match (is_on_cpu, needs_tables) {
                (true, _) => given(self.header(constants, row).into()),
                (false, true) => Factors::Made(own().into()),
                (false, false) => given(general.factors(poly, &roots.q, &own().header).into()),
            };
            (general.modulus(&roots.q), factors)
        };
        Ok(general.of_cpu(poly).kernels(ringforge_cpu::ElementLayout {
            shape: factorization.shape(),
            layout,
            moduli: factorization.roots().iter().enumerate().map(modulus).collect(),
            of_row: poly.limb_moduli(),
            any_word: poly.accepts_any_word(),
            restore: self.restores(),
            natural: self.is_natural(),
            part: self.part.clone(),
        }))
    }

    /// Whether the CPU must multiply reduced products by `Arithmetic::product_factor`, because that factor is not 1.
    pub(crate) fn restores(&self) -> bool {
        self.arithmetic.on_cpu(&self.poly).has_product_factor(&self.poly)
    }

    /// The first two inputs, or an error unless they are aligned for residues.
    pub(crate) fn operands<'a, const N: usize>(&self, args: &Args<'a>) -> Result<[&'a [u8]; N]> {
        let mut operands = [&[][..]; N];
        for (port, operand) in operands.iter_mut().enumerate() {
            *operand = self.aligned(args.input::<u8>(port)?)?;
        }
        Ok(operands)
    }

    /// Returns the bytes, or an error unless they are aligned for residues.
    pub(crate) fn aligned<B: AsRef<[u8]>>(&self, bytes: B) -> Result<B> {
        let needed = self.poly.width().bytes().min(align_of::<u64>());
        match is_aligned(bytes.as_ref(), needed) {
            true => Ok(bytes),
            false => Err(Error::Alignment { what: "host memory of an argument", needed }),
        }
    }
}

/// Alignment of a twiddle table in bytes.
const TABLE_ALIGNMENT: usize = 16;

fn is_aligned(bytes: &[u8], to: usize) -> bool {
    bytes.as_ptr().addr().is_multiple_of(to)
}
