//! A kernel and a plan for each piece of this crate's CUDA text, for tests; schemes fuse the text into their kernels.

pub(crate) mod oracle;
mod plans;

use core::ops::Range;

use ringforge::{Args, Built, Error, Kernel, Launch, Limits, Port, Result, Source};

use crate::{E8, PACK, SAMPLE};

#[cfg(test)]
pub(crate) use plans::coordinates;
pub use plans::{Components, plan};

/// Threads of a block.
const THREADS: u32 = 32;

/// Coefficients that an item samples.
const SAMPLED: usize = 16;

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
#[derive(Debug)]
pub struct ComponentKernel {
    component: Component,
    ports: [Port; 2],
}

impl ComponentKernel {
    /// The kernel.
    #[must_use]
    pub fn new(component: Component) -> Self {
        let (from, to) = match component {
            Component::Encode => (1, 2),
            Component::Decode { .. } => (16, 1),
            Component::Sample { eta } => (crate::sampled_bytes(eta, SAMPLED), 2 * SAMPLED),
            Component::Pack { width } => (2 * unit(width), crate::packed_bytes(width, unit(width))),
            Component::Unpack { width } => (crate::packed_bytes(width, unit(width)), 2 * unit(width)),
        };
        Self { component, ports: [Port::input(from), Port::output(to)] }
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
        match self.component {
            Component::Encode => "e8_encode_bytes",
            Component::Decode { .. } => "e8_decode_blocks",
            Component::Sample { .. } => "sample_blocks",
            Component::Pack { .. } => "pack_units",
            Component::Unpack { .. } => "unpack_units",
        }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let text = match self.component {
            Component::Encode => include_str!("kernels/e8_encode_bytes.cu"),
            Component::Decode { .. } => include_str!("kernels/e8_decode_blocks.cu"),
            Component::Sample { .. } => include_str!("kernels/sample_blocks.cu"),
            Component::Pack { .. } => include_str!("kernels/pack_units.cu"),
            Component::Unpack { .. } => include_str!("kernels/unpack_units.cu"),
        };
        let constant = match self.component {
            Component::Encode => String::new(),
            Component::Decode { q2 } => format!("constexpr rf::u32 Q2 = {q2};\n"),
            Component::Sample { eta } => format!("constexpr rf::u32 Eta = {eta}, Count = {SAMPLED};\n"),
            Component::Pack { width } | Component::Unpack { width } => format!("constexpr rf::u32 Width = {width};\n"),
        };
        let built = Built { prelude: format!("#pragma once\n{constant}"), launch: Launch::thread_per_item(THREADS) };
        // SAFETY: a thread of each text reads its own item, of the bytes that `Components` gives the port, and writes it.
        Ok(unsafe { Source::new(self, text, &[E8, SAMPLE, PACK], built) })
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        match self.component {
            Component::Encode => {
                let codewords = args.output::<[u8; 2]>(1)?;
                for (to, byte) in codewords.iter_mut().zip(args.input::<u8>(0)?) {
                    *to = [crate::encode(byte & 15), crate::encode(byte >> 4)];
                }
                Ok(())
            }
            Component::Decode { q2 } => {
                let nibbles = args.output::<u8>(1)?;
                for (to, v) in nibbles.iter_mut().zip(args.input::<[u16; 8]>(0)?) {
                    *to = crate::decode(v, q2);
                }
                Ok(())
            }
            Component::Sample { eta } => crate::centred_binomial(eta, args.input(0)?, args.output(1)?),
            Component::Pack { width } => crate::pack(width, args.input(0)?, args.output(1)?),
            Component::Unpack { width } => crate::unpack(width, args.input(0)?, args.output(1)?),
        }
        .map_err(|error: Error| Error::Kernel { kernel: self.name().into(), why: error.to_string() })
    }

    fn describe(&self) -> String {
        format!("{:?}", self.component)
    }
}
