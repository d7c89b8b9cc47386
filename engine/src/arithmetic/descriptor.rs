//! Descriptors of the modulus types of the CUDA headers.

use crypto_bigint::{NonZero, U256};

use ringforge_math::modulus::{Modulus, Width};
use ringforge_math::poly::PolyType;
use ringforge_runtime::limits::Limits;

/// Describes one modulus type. Each modulus type has a file in this directory with its descriptor.
pub(crate) struct Descriptor {
    /// The type's name in the header that defines it.
    pub(super) name: &'static str,
    pub(super) header: &'static str,
    /// The type's template argument for a modulus, if it has one.
    pub(super) template: fn(&Modulus) -> Option<u32>,
    pub(super) serves: Serves,
    /// The type of a residue in a register.
    pub(super) word: Word,
    /// Bytes of a twiddle factor in a table.
    pub(super) twiddle_bytes: usize,
    /// Size of the C++ struct in bytes.
    pub(super) bytes: usize,
    pub(super) fields: fn(&Modulus) -> Vec<Value>,
    pub(super) given: Given,
    /// Bounds of lazy residues: with `(bits, k)` they stay below 2^bits and below k·q. `None` where every residue is
    /// canonical.
    pub(super) lazy: Option<(u32, u64)>,
    /// Whether a kernel that computes only some layers of a transform leaves residues unreduced (lazy) for the next
    /// kernel. This applies only if residues are stored in words as wide as the register type.
    pub(super) leaves_lazy: bool,
    /// The exponent e of the power of two 2^e by which reduction divides a product of two words; 0 without Montgomery
    /// reduction.
    pub(super) product_bits: u32,
    /// Whether kernels keep every residue in Montgomery form.
    pub(super) is_montgomery: bool,
    /// How radix-2 layers merge into radix-2^k passes, if products by some roots of unity are shifts.
    pub(super) groups: Option<Groups>,
    pub(super) cost: Cost,
}

/// Radix-2 layers merged into one radix-2^k pass, with roots of unity that are powers of two (`rotations.cuh`).
pub(super) struct Groups {
    /// The largest k of a radix-2^k pass.
    pub(super) layers: usize,
    /// The exponent e with 2^e = root, for a root of unity whose order divides 2^`layers`.
    pub(super) exponent: fn(&Modulus, &U256) -> u32,
}

/// Which rings a type serves.
pub(super) enum Serves {
    /// A general type, which serves rings however they factor. A ring uses the first such type for which `serves`
    /// returns true.
    Rings {
        serves: fn(&PolyType) -> bool,
        /// The CPU arithmetic for a ring that this type serves.
        on_cpu: fn(&PolyType) -> &'static dyn ringforge_cpu::Arithmetic,
    },
    /// A type that can replace the general type on rings that factor by radix-2 layers down to degree 1.
    Binary {
        /// Whether the type is faster than the general type on this device, by estimate. `None` if it does not serve
        /// the ring.
        is_faster: fn(&PolyType, &Limits) -> Option<bool>,
        /// Encodes a plain value below q as a twiddle factor of a table.
        factor: fn(&Modulus, &U256) -> Vec<u8>,
    },
}

/// The type of a residue in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    U32,
    U64,
    Double,
    U256,
}

impl Word {
    /// The type's name in the CUDA headers.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::U32 => "rf::u32",
            Self::U64 => "rf::u64",
            Self::Double => "double",
            Self::U256 => "rf::u256",
        }
    }

    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::U32 => 4,
            Self::U64 | Self::Double => 8,
            Self::U256 => 32,
        }
    }
}

/// How the engine's kernels receive the moduli of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// As compile-time constants only.
    Text,
    /// A single modulus as a compile-time constant, several as run-time constants.
    TextOfOne,
    /// As run-time constants, so that many rings share one compiled kernel.
    Launch,
    /// A single modulus as a kernel argument, because constant limbs make the compiled code slower; several as run-time
    /// constants.
    Argument,
}

/// The value of a field of the C++ struct of a modulus type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    U32(u32),
    U64(u64),
    Double(f64),
    Limbs([u32; 8]),
    /// A base class, or a member that is a struct.
    Struct(Vec<Self>),
}

impl Value {
    /// The value as 32-bit words, least significant first.
    pub(super) fn words(&self) -> Vec<u32> {
        let pair = |bits: u64| vec![bits as u32, (bits >> 32) as u32];
        match self {
            Self::U32(word) => vec![*word],
            Self::U64(bits) => pair(*bits),
            Self::Double(value) => pair(value.to_bits()),
            Self::Limbs(limbs) => limbs.to_vec(),
            Self::Struct(fields) => fields.iter().flat_map(Self::words).collect(),
        }
    }

    /// The value as a C++ initializer.
    pub(super) fn text(&self) -> String {
        match self {
            Self::U32(word) => format!("{word}u"),
            Self::U64(bits) => format!("{bits}ull"),
            Self::Double(value) => double(value.to_bits()),
            Self::Limbs(limbs) => format!("{{{}}}", join(limbs.iter().map(|word| format!("{word}u")))),
            Self::Struct(fields) => format!("{{{}}}", join(fields.iter().map(Self::text))),
        }
    }

    pub(super) fn limbs(value: &U256) -> Self {
        let bytes = value.to_le_bytes();
        let mut limbs = [0; 8];
        for (limb, bytes) in limbs.iter_mut().zip(bytes.as_ref().chunks_exact(4)) {
            *limb = bytes.iter().rev().fold(0, |limb, &byte| limb << 8 | u32::from(byte));
        }
        Self::Limbs(limbs)
    }
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// A positive normal double as a hexadecimal C++ literal: its full significand and a power of two.
fn double(bits: u64) -> String {
    let fraction = 52;
    format!("{:#x}p{}", bits & ((1 << fraction) - 1) | 1 << fraction, (bits >> fraction) as i64 - 1023 - fraction)
}

/// Cost of modular operations in the fastest known GPU implementation, in issue slots of a 32-bit multiply-add; a
/// 64-bit product of two 32-bit words takes two slots. Arithmetic in doubles counts slots of the double-precision pipe,
/// by the throughput measured on an H200.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// A product of a residue by a known factor (twiddle factor).
    pub product: f64,
    /// A product of two variables, including its addition to an unreduced sum.
    pub term: f64,
    /// The reduction of a sum of products.
    pub reduction: f64,
}

/// The template argument of a type that has none: always `None`.
pub(super) fn none(_: &Modulus) -> Option<u32> {
    None
}

/// Whether every modulus has at most `bits` bits.
pub(super) fn up_to(poly: &PolyType, bits: u32) -> bool {
    poly.basis().iter().all(|q| q.bits() <= bits)
}

/// Whether every modulus has at most `bits` bits and residues are stored in words of at most `width`.
pub(super) fn up_to_in(width: Width, poly: &PolyType, bits: u32) -> bool {
    poly.width() <= width && up_to(poly, bits)
}

/// floor(2^bits / q).
pub(super) fn ratio(q: &Modulus, bits: u32) -> U256 {
    let power = U256::ONE.wrapping_shl_vartime(bits);
    NonZero::new(q.value()).into_option().map_or(U256::ZERO, |q| power.div_rem_vartime(&q).0)
}

/// 2^e mod q.
pub(super) fn power_of_two(q: &Modulus, e: u32) -> U256 {
    q.pow(&q.reduce(&U256::from(2u32)), &U256::from(e))
}
