//! A kernel and a plan for each piece of this crate's CUDA text, for tests; schemes fuse the text into their kernels.

pub(crate) mod oracle;
mod plans;

use core::fmt;
use core::ops::Range;

use ringforge::{Args, Built, Kernel, Launch, Limits, Port, Result, Source};

use crate::{E8, PACK, SAMPLE};

#[cfg(test)]
pub(crate) use plans::coordinates;
pub use plans::{Components, plan};

/// Threads of a block.
const THREADS: u32 = 32;

/// A piece of text, run with a thread for each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Component {
    /// A byte, low nibble first, to two codewords.
    Encode,
    /// Eight coordinates modulo q2, as u16, to a nibble in a byte.
    Decode {
        /// The modulus.
        q2: u16,
    },
    /// 4·eta bytes to 16 coefficients, as i16.
    Sample {
        /// The bound of coefficients.
        eta: u32,
    },
    /// 8, 16 or 32 numbers, as u16, to whole words.
    Pack {
        /// Bits of a number.
        width: u32,
    },
    /// Whole words to 8, 16 or 32 numbers, as u16.
    Unpack {
        /// Bits of a number.
        width: u32,
    },
}

/// The kernel of a component. Ports: what it reads, what it writes.
pub struct ComponentKernel {
    component: Component,
    name: &'static str,
    text: &'static str,
    /// What the text names.
    constant: String,
    ports: [Port; 2],
}

impl ComponentKernel {
    /// The kernel.
    #[must_use]
    pub fn new(component: Component) -> Self {
        macro_rules! text {
            ($name:literal) => {
                ($name, include_str!(concat!("kernels/", $name, ".cu")))
            };
        }
        let number = |name: &str, value: u32| format!("constexpr rf::u32 {name} = {value};\n");
        let packed = |width| crate::packed_bytes(width, unit(width));
        let ((name, text), constant, from, to) = match component {
            Component::Encode => (text!("e8_encode_bytes"), String::new(), 1, 2),
            Component::Decode { q2 } => (text!("e8_decode_blocks"), number("Q2", q2.into()), 16, 1),
            Component::Sample { eta } => (text!("sample_blocks"), number("Eta", eta), 4 * eta as usize, 32),
            Component::Pack { width } => (text!("pack_units"), number("Width", width), 2 * unit(width), packed(width)),
            Component::Unpack { width } => {
                (text!("unpack_units"), number("Width", width), packed(width), 2 * unit(width))
            }
        };
        Self { component, name, text, constant, ports: [Port::input(from), Port::output(to)] }
    }
}

/// How many numbers of so many bits make whole words: `pack_unit` in `pack.cuh`.
const fn unit(width: u32) -> usize {
    match width % 4 {
        0 => 8,
        2 => 16,
        _ => 32,
    }
}

impl Kernel for ComponentKernel {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let prelude = format!("#pragma once\n{}", self.constant);
        let built = Built { prelude, launch: Launch::thread_per_item(THREADS) };
        // SAFETY: a thread of each text reads its own item, of the bytes that `new` gives the port, and writes it.
        Ok(unsafe { Source::new(self, self.text, &[E8, SAMPLE, PACK], built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        match self.component {
            Component::Encode => args.each(items, |_, (byte, codewords): (&u8, &mut [u8; 2])| {
                *codewords = [byte & 15, byte >> 4].map(crate::encode);
                Ok(())
            }),
            Component::Decode { q2 } => args.each(items, |_, (v, nibble): (&[u16; 8], &mut u8)| {
                *nibble = crate::decode(v, q2);
                Ok(())
            }),
            Component::Sample { eta } => args.each(items, |_, (from, to)| crate::centred_binomial(eta, from, to)),
            Component::Pack { width } => args.each(items, |_, (from, to)| crate::pack(width, from, to)),
            Component::Unpack { width } => args.each(items, |_, (from, to)| crate::unpack(width, from, to)),
        }
    }

    fn describe(&self) -> String {
        format!("{:?}", self.component)
    }
}

impl fmt::Debug for ComponentKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.component)
    }
}
