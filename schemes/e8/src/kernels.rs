//! A kernel and a plan for each piece of this crate's CUDA text, for tests; schemes fuse the text into their kernels.

mod plans;

use ringforge::kernels::{Args, Built, CustomKernel, Port};

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

impl Component {
    /// The kernel. Ports: what it reads, what it writes.
    #[must_use]
    #[allow(unsafe_code)]
    pub fn kernel(self) -> CustomKernel {
        macro_rules! kernel {
            ($name:literal, $constant:expr, $from:expr => $to:expr, $on_cpu:expr) => {{
                let text = ($name, include_str!(concat!("kernels/", $name, ".cu")), &[E8, SAMPLE, PACK][..]);
                let (constant, ports): (String, _) = ($constant, [Port::input($from), Port::output($to)]);
                let built = move |_: &_| Ok(Built::thread_per_item(THREADS, &constant));
                // SAFETY: a thread of each text reads its own item, of the bytes of the port, and writes it.
                unsafe {
                    CustomKernel::new(text, ports, built, move |items, args: &mut Args<'_>| args.each(items, $on_cpu))
                }
            }};
        }
        let number = |name: &str, value: u32| format!("constexpr rf::u32 {name} = {value};\n");
        let packed = |width| crate::packed_bytes(width, unit(width));
        let kernel = match self {
            Self::Encode => {
                kernel!("e8_encode_bytes", String::new(), 1 => 2, |_, (byte, codewords): (&u8, &mut [u8; 2])| {
                    *codewords = [byte & 15, byte >> 4].map(crate::encode);
                    Ok(())
                })
            }
            Self::Decode { q2 } => {
                kernel!("e8_decode_blocks", number("Q2", q2.into()), 16 => 1, |_, (v, nibble): (&[u16; 8], &mut u8)| {
                    *nibble = crate::decode(v, q2);
                    Ok(())
                })
            }
            Self::Sample { eta } => {
                kernel!("sample_blocks", number("Eta", eta), 4 * eta as usize => 32, |_, (from, to)| {
                    crate::centred_binomial(eta, from, to)
                })
            }
            Self::Pack { width } => {
                kernel!("pack_units", number("Width", width), 2 * unit(width) => packed(width), |_, (from, to)| {
                    crate::pack(width, from, to)
                })
            }
            Self::Unpack { width } => {
                kernel!("unpack_units", number("Width", width), packed(width) => 2 * unit(width), |_, (from, to)| {
                    crate::unpack(width, from, to)
                })
            }
        };
        kernel.described(format!("{self:?}"))
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
