//! The kernels that do every operation of the device's arithmetic headers, for comparison with big integers.

pub mod wanted;

use core::ops::Range;

use ringforge::kernels::{Args, Arithmetic, Built, Kernel, Launch, Port, Source};
use ringforge::{Error, Limits, Modulus, Result};
use ringforge_testkit::NamedPlan;

use crate::one_step;

const TEXT: &str = include_str!("arithmetic.cu");
const PORTABLE_TEXT: &str = concat!("#define RF_PORTABLE 1\n", include_str!("arithmetic.cu"));

/// What is probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// The words themselves: `word.cuh`.
    Words,
    /// A modulus type.
    Type(Arithmetic),
}

impl Which {
    /// The modulus type; words have none, and take the simplest.
    #[must_use]
    pub const fn arithmetic(self) -> Arithmetic {
        match self {
            Self::Words => Arithmetic::Mod16,
            Self::Type(arithmetic) => arithmetic,
        }
    }

    /// Bytes of one word of the inputs and outputs.
    #[must_use]
    pub const fn word_bytes(self) -> usize {
        match self {
            Self::Words => 8,
            _ => self.arithmetic().word_bytes(),
        }
    }

    /// Whether residues may grow beyond q.
    #[must_use]
    pub const fn is_lazy(self) -> bool {
        matches!(
            self,
            Self::Type(
                Arithmetic::Mod16
                    | Arithmetic::Mod32
                    | Arithmetic::Mod64
                    | Arithmetic::Mod61
                    | Arithmetic::Mod64Friendly
            )
        )
    }

    /// Whether a word holds a sum of two residues and no more.
    #[must_use]
    pub const fn is_tight(self) -> bool {
        matches!(self, Self::Type(Arithmetic::Mod31))
    }

    /// Whether products lie below 3q.
    #[must_use]
    pub const fn is_loose(self) -> bool {
        matches!(self, Self::Type(Arithmetic::Mod61 | Arithmetic::Mod64Friendly))
    }

    /// Whether factors are stored by their negatives.
    #[must_use]
    pub const fn is_friendly(self) -> bool {
        matches!(self, Self::Type(Arithmetic::Mod64Friendly))
    }

    /// Whether words are doubles.
    #[must_use]
    pub const fn is_doubles(self) -> bool {
        matches!(self, Self::Type(Arithmetic::Mod50))
    }

    /// Whether factors of 256 bits come with quotients, and residues lie below 2q.
    #[must_use]
    pub const fn is_shoup256(self) -> bool {
        matches!(self, Self::Type(Arithmetic::Mod255))
    }

    /// Words that an item writes.
    #[must_use]
    pub const fn outputs(self) -> usize {
        match self {
            Self::Words => 59,
            _ if self.is_doubles() => 18,
            _ if self.is_lazy() => 25,
            _ if self.is_shoup256() => 15,
            _ if self.is_tight() => 20,
            _ => 12,
        }
    }

    /// A modulus as a kernel reads it from memory.
    #[must_use]
    pub fn fields(self, modulus: &Modulus) -> Vec<u8> {
        self.arithmetic().constants(modulus).into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// The multiple of q up to which residues are tried.
    #[must_use]
    pub fn bound(self, q: &Modulus) -> u64 {
        if self.is_shoup256() { 2 } else { self.arithmetic().capacity(q) }
    }

    /// How many products of two residues below 2q, up to 3, are summed in one accumulator; 0 where not even one fits.
    #[must_use]
    pub fn products(self, q: &Modulus) -> u64 {
        match self {
            Self::Type(Arithmetic::Mod16) => {
                let most = 2 * q.value_u64().unwrap_or(u64::MAX / 2) - 1;
                (u64::from(u32::MAX) / most.saturating_mul(most)).min(3)
            }
            _ if self.is_lazy() => 3,
            _ => 1,
        }
    }
}

/// A kernel that does every operation. `arithmetic.cu` has its outputs.
#[derive(Debug)]
pub struct Probe {
    which: Which,
    modulus: Modulus,
    portable: bool,
    as_argument: bool,
    ports: Vec<Port>,
}

impl Probe {
    /// The operations with a constant modulus (words do not use it).
    #[must_use]
    pub fn constant(which: Which, modulus: Modulus) -> Self {
        let word = which.word_bytes();
        let ports = vec![Port::input(word), Port::input(word), Port::output(which.outputs() * word)];
        Self { which, modulus, portable: false, as_argument: false, ports }
    }

    /// The operations with a modulus read from memory: [`Which::fields`] of any one up to `largest`.
    #[must_use]
    pub fn argument(which: Which, largest: Modulus) -> Self {
        let mut probe = Self::constant(which, largest);
        probe.as_argument = true;
        probe.ports.insert(0, Port::shared(which.fields(&largest).len()));
        probe
    }

    /// The same with the portable twins of PTX functions.
    #[must_use]
    pub fn portable(mut self) -> Self {
        self.portable = true;
        self
    }

    /// The plan of this kernel alone: from the modulus `q`, if that is an argument, and the words `a` and `b` to `results`.
    ///
    /// # Errors
    /// What makes the plan fail.
    pub fn plan(self) -> Result<NamedPlan> {
        let name = format!("{} {} {}", self.name(), self.which.arithmetic().name(), self.modulus);
        let names = &["q", "a", "b", "results"][usize::from(!self.as_argument)..];
        Ok(NamedPlan::new(name, one_step(self, names)?))
    }
}

impl Kernel for Probe {
    fn name(&self) -> &'static str {
        match (self.which, self.as_argument) {
            (Which::Words, _) => "arithmetic_words",
            (_, false) => "arithmetic",
            (_, true) => "arithmetic_argument",
        }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let Self { which, modulus, .. } = self;
        let (bound, products) = (which.bound(modulus), which.products(modulus));
        let name = which.arithmetic().type_name(modulus);
        let fields = which.arithmetic().initializer(modulus);
        let fields = fields.trim_start_matches(|c| c != '{');
        let prelude = format!(
            "#pragma once\n\
             namespace rf {{\n\
             using M = {name};\n\
             RF_CONST M modulus() {{ return M{fields}; }}\n\
             constexpr u32 bound = {bound}u;\n\
             constexpr u32 products = {products}u;\n\
             }}\n"
        );
        let built = Built { prelude, launch: Launch::thread_per_item(128) };
        // SAFETY: a thread of either text reads the operands of its item and writes its results.
        Ok(unsafe { Source::new(self, if self.portable { PORTABLE_TEXT } else { TEXT }, &[], built) })
    }

    /// Lazy results are some residues of a range: which ones, only the text says.
    fn on_cpu(&self, _: Range<usize>, _: &mut Args<'_>) -> Result<()> {
        let why = "only ranges are promised of its results, so they are judged and not repeated";
        Err(Error::Unsupported { job: self.name().into(), why: why.into() })
    }
}
