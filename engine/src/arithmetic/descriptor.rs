//! What there is to know of a modulus type of the CUDA headers.

use crypto_bigint::{NonZero, U256};

use ringforge_math::modulus::{Modulus, Width};
use ringforge_math::poly::PolyType;
use ringforge_runtime::limits::Limits;

/// A modulus type: each of the files beside this one describes one.
pub(crate) struct Descriptor {
    /// The type's name in the header that defines it.
    pub(super) name: &'static str,
    pub(super) header: &'static str,
    /// Its template arguments for a modulus.
    pub(super) template: fn(&Modulus) -> Option<u32>,
    pub(super) serves: Serves,
    /// The type of a residue in a register.
    pub(super) word: Word,
    /// Bytes of a known factor in a table.
    pub(super) twiddle_bytes: usize,
    /// Bytes of the type's fields.
    pub(super) bytes: usize,
    pub(super) fields: fn(&Modulus) -> Vec<Value>,
    pub(super) given: Given,
    /// Lazy residues stay below 2 to the power of these bits, and below so many times q; none where every residue is
    /// canonical.
    pub(super) lazy: Option<(u32, u64)>,
    /// Whether a kernel of some of the layers leaves residues as they are for the next one, where they are stored as words.
    pub(super) hands_on: bool,
    /// The power of two by which reduction divides a product of two words.
    pub(super) product_bits: u32,
    /// Whether kernels have every value in Montgomery form.
    pub(super) is_montgomery: bool,
    /// Which of a ring's layers go together, if the type has roots of unity by which products are little work.
    pub(super) groups: Option<Groups>,
    pub(super) cost: Cost,
}

/// Layers of two that one pass does at once, under roots of unity that are powers of two (`rotations.cuh`).
pub(super) struct Groups {
    /// The most that go together.
    pub(super) layers: usize,
    /// The exponent of two in a root of unity of an order up to 2 to the power of as many.
    pub(super) exponent: fn(&Modulus, &U256) -> u32,
}

/// Which rings a type serves.
pub(super) enum Serves {
    /// Those that no type before it in the registry serves, whatever they split into.
    Rings {
        serves: fn(&PolyType) -> bool,
        /// What a CPU computes with there.
        on_cpu: fn(&PolyType) -> &'static dyn ringforge_cpu::Arithmetic,
    },
    /// Those that split down to degree 1 by layers of two, in place of the type that serves them in general.
    Binary {
        /// Whether it is faster than that one on this device as far as is known without measuring, if it serves the ring.
        is_faster: fn(&PolyType, &Limits) -> Option<bool>,
        /// A plain value below q as a known factor in a table.
        factor: fn(&Modulus, &U256) -> Vec<u8>,
    },
}

/// A residue in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    U32,
    U64,
    Double,
    U256,
}

impl Word {
    /// Its type in the CUDA headers.
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

/// How kernels of the engine know the moduli of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// By their text alone.
    Text,
    /// A single one by the text, several by data of the launch.
    TextOfOne,
    /// By data of the launch, so that many rings have one text.
    Launch,
    /// A single one by an argument, since the compiler makes more of known limbs than is good; several by the launch.
    Argument,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    U32(u32),
    U64(u64),
    Double(f64),
    Limbs([u32; 8]),
    /// A base, or a member that is a struct.
    Struct(Vec<Self>),
}

impl Value {
    /// As 32-bit words, least significant first.
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

    /// As an initializer of C++.
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

/// A positive normal double as a literal of C++: its whole significand and the power of two.
fn double(bits: u64) -> String {
    let fraction = 52;
    format!("{:#x}p{}", bits & ((1 << fraction) - 1) | 1 << fraction, (bits >> fraction) as i64 - 1023 - fraction)
}

/// What the best known arithmetic takes on a GPU, in slots of a 32-bit multiply-add: a wide product takes two. Doubles have
/// a pipe of their own as wide as that: its slots, by the rate measured on an H200.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// A product by a known factor.
    pub product: f64,
    /// A product of two variables that is added up before it is reduced.
    pub term: f64,
    /// The reduction of a sum of such products.
    pub reduction: f64,
}

/// No template arguments.
pub(super) fn none(_: &Modulus) -> Option<u32> {
    None
}

/// Whether all moduli have at most so many bits.
pub(super) fn up_to(poly: &PolyType, bits: u32) -> bool {
    poly.basis().iter().all(|q| q.bits() <= bits)
}

/// The same for rings whose residues are stored in no more bits than a word has.
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
