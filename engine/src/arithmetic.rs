//! Which device arithmetic serves a ring, and the constants it needs.

mod digits;

use crypto_bigint::{NonZero, U256};

use crate::limits::Limits;
use crate::modulus::{Modulus, Width, low_u64};
use crate::ring::Ring;

/// A modulus type of the CUDA headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// q < 2^16 in 32-bit words: Shoup and Barrett, sums reduced only where they could overflow.
    Mod16,
    /// Odd q < 2^30 in 32-bit words: Shoup and Montgomery, lazy.
    Mod32,
    /// Odd q < 2^50 in doubles: residues of either sign, lazy; fast where [`Limits::has_fast_doubles`].
    Mod50,
    /// Odd q < 2^62 in 64-bit words: Shoup and Montgomery, lazy.
    Mod64,
    /// Odd q < 2^64: Montgomery, canonical.
    Mod64Full,
    /// Odd q < 2^255 − 2^230: Shoup on eight 32-bit limbs, for transforms, residues below 2q in a kernel.
    Mod255,
    /// Odd q < 2^256: Montgomery on eight 32-bit limbs, canonical.
    Mod256,
}

impl Arithmetic {
    pub(crate) const ALL: [Self; 7] =
        [Self::Mod16, Self::Mod32, Self::Mod50, Self::Mod64, Self::Mod64Full, Self::Mod255, Self::Mod256];

    /// The fastest that serves every modulus of the ring at the ring's width.
    #[must_use]
    pub fn of(ring: &Ring) -> Self {
        let bits = ring.basis().iter().map(Modulus::bits).max().unwrap_or(0);
        match (ring.width(), bits) {
            (Width::W16, _) => Self::Mod16,
            (_, ..=30) => Self::Mod32,
            (_, ..=62) => Self::Mod64,
            (_, ..=64) => Self::Mod64Full,
            _ => Self::Mod256,
        }
    }

    /// The fastest for kernels that transform rows of the ring on a device with these limits. Tables, and what kernels
    /// leave in device memory, are then those of that type: factors differ, residues do not.
    ///
    /// [`Arithmetic::Mod50`] takes the place of [`Arithmetic::Mod64`] where the moduli allow it and the device multiplies
    /// doubles at full rate, and [`Arithmetic::Mod255`] that of [`Arithmetic::Mod256`] on a GPU for a single modulus in
    /// its range, if the table, twice as large, takes no more than a quarter of the device's memory.
    ///
    /// It serves rings that split by layers of two down to degree 1. Rings that accept any word take no doubles, into which
    /// not every word of 64 bits fits.
    #[must_use]
    pub fn of_device(ring: &Ring, limits: &Limits) -> Self {
        Self::all_of_device(ring, limits).next().unwrap_or(Self::of(ring))
    }

    /// All that serve such kernels on such a device, the fastest first as far as can be known without measuring.
    pub fn all_of_device(ring: &Ring, limits: &Limits) -> impl Iterator<Item = Self> + use<> {
        let general = Self::of(ring);
        let small = ring.width() == Width::W64 && ring.basis().iter().all(|q| q.bits() <= 50);
        let small = small && !ring.accepts_any_word();
        let table = 2 * ring.degree() as u64 * Self::Mod255.twiddle_bytes() as u64;
        let (other, is_faster) = match (general, ring.moduli()) {
            (Self::Mod64, _) if small => (Some(Self::Mod50), limits.has_fast_doubles()),
            (Self::Mod256, [q]) if table <= limits.memory_bytes / 4 && digits::in_range(q) => {
                (Some(Self::Mod255), !limits.is_cpu())
            }
            _ => (None, false),
        };
        let (first, last) = if is_faster { (other, None) } else { (None, other) };
        first.into_iter().chain([general]).chain(last)
    }

    /// The type for a modulus in the headers: its name, and for [`Arithmetic::Mod255`] the pattern of the modulus.
    #[must_use]
    pub fn type_name(self, q: &Modulus) -> String {
        match self {
            Self::Mod255 => format!("Mod255<{}u>", digits::pattern(q)),
            _ => self.name().into(),
        }
    }

    /// The type's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mod16 => "Mod16",
            Self::Mod32 => "Mod32",
            Self::Mod50 => "Mod50",
            Self::Mod64 => "Mod64",
            Self::Mod64Full => "Mod64Full",
            Self::Mod255 => "Mod255",
            Self::Mod256 => "Mod256",
        }
    }

    /// The header that defines it.
    #[must_use]
    pub const fn header(self) -> &'static str {
        match self {
            Self::Mod16 => "mod16.cuh",
            Self::Mod32 => "mod32.cuh",
            Self::Mod50 => "mod50.cuh",
            Self::Mod64 | Self::Mod64Full => "mod64.cuh",
            Self::Mod255 => "mod255.cuh",
            Self::Mod256 => "mod256.cuh",
        }
    }

    /// Bytes of a residue in a register.
    #[must_use]
    pub const fn word_bytes(self) -> usize {
        match self {
            Self::Mod16 | Self::Mod32 => 4,
            Self::Mod50 | Self::Mod64 | Self::Mod64Full => 8,
            Self::Mod255 | Self::Mod256 => 32,
        }
    }

    /// Bytes of a twiddle factor in a table.
    #[must_use]
    pub const fn twiddle_bytes(self) -> usize {
        match self {
            Self::Mod16 | Self::Mod32 | Self::Mod64Full => 8,
            Self::Mod50 | Self::Mod64 => 16,
            Self::Mod255 => 64,
            Self::Mod256 => 32,
        }
    }

    /// The multiple of q that lazy residues may reach: what fits a word, at most 2^31 in 32 bits and 64 in 64; 1 where
    /// residues are always canonical, and for a modulus that the type does not serve.
    #[must_use]
    pub fn capacity(self, q: &Modulus) -> u64 {
        let (word_bits, most) = match self {
            Self::Mod16 | Self::Mod32 => (32, 1 << 31),
            Self::Mod50 => (52, 1 << 31), // products of doubles up to 2^52 are exact, q does not divide that
            Self::Mod64 => (64, 64),
            Self::Mod64Full | Self::Mod255 | Self::Mod256 => return 1,
        };
        let Some(q) = q.value_u64() else { return 1 };
        ((((1u128 << word_bits) - 1) / u128::from(q)) as u64).clamp(1, most)
    }

    /// The factor by which a reduced product of two of the ring's residues comes out too small modulo one of its moduli, as
    /// a plain value. The reduction divides by a power of two (Montgomery); a product of residues that are stored times R
    /// has one R too many.
    #[must_use]
    pub fn product_factor(self, ring: &Ring, q: &Modulus) -> U256 {
        let divisor = q.pow(&q.reduce(&U256::from(2u32)), &U256::from(self.product_bits()));
        // R is a power of two where q is odd, and else 1
        let inverse = q.inverse(&ring.radix(q)).unwrap_or(U256::ONE);
        q.mul(&divisor, &q.reduce(&inverse))
    }

    /// Whether that factor is not 1.
    pub(crate) fn has_product_factor(self, ring: &Ring) -> bool {
        self.product_bits() != ring.radix_bits()
    }

    /// The power of two by which reduction divides a product of two words.
    const fn product_bits(self) -> u32 {
        match self {
            Self::Mod16 | Self::Mod50 => 0,
            Self::Mod32 => 32,
            Self::Mod64 | Self::Mod64Full => 64,
            Self::Mod255 | Self::Mod256 => 256,
        }
    }

    /// Bytes of the type's fields.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Mod16 => 8,
            Self::Mod32 | Self::Mod50 => 16,
            Self::Mod64 | Self::Mod64Full => 32,
            Self::Mod256 => 100,
            Self::Mod255 => 196,
        }
    }

    /// The type's fields for a modulus, as 32-bit words (least significant first where a field is longer).
    #[must_use]
    pub fn constants(self, q: &Modulus) -> Vec<u32> {
        let value = q.value();
        let two = q.reduce(&U256::from(2u32));
        let power = |e: u32| q.pow(&two, &U256::from(e));
        match self {
            Self::Mod16 => words(&[&value, &ratio(q, 32)], 1),
            Self::Mod32 => words(&[&value, &ratio(q, 32), &q.inverse_mod_word(), &power(64)], 1),
            Self::Mod50 => {
                let value = low_u64(&value) as f64;
                let bits = [value, value.recip()].map(f64::to_bits);
                bits.into_iter().flat_map(|bits| [bits as u32, (bits >> 32) as u32]).collect()
            }
            Self::Mod64 | Self::Mod64Full => {
                // the quotient of x by q is about ratio · ⌊2^shift x / 2^32⌋ / 2^57
                let shift = 58u32.saturating_sub(q.bits());
                let ratio = ratio(q, 89 - shift).wrapping_add(&U256::from(u64::from(shift) << 32));
                words(&[&value, &ratio, &q.inverse_mod_word(), &power(128)], 2)
            }
            Self::Mod255 => {
                let mut fields = Self::Mod256.constants(q);
                fields.extend(digits::of(q).map(|digit| digit.unwrap_or(0)));
                fields.extend(words(
                    &[&value.wrapping_shl_vartime(1), &U256::ZERO.wrapping_sub(&q.inverse_mod_word())],
                    8,
                ));
                fields
            }
            Self::Mod256 => {
                let mut fields = words(&[&value], 8);
                fields.push(0u32.wrapping_sub(low_u64(&q.inverse_mod_word()) as u32));
                fields.extend(words(&[&power(256), &power(512)], 8));
                fields
            }
        }
    }

    /// A C++ initializer of the type for a modulus.
    #[must_use]
    pub fn initializer(self, q: &Modulus) -> String {
        let words = self.constants(q);
        let list = |words: &[u32]| join(words, |w| format!("{w}u"));
        let lists = |words: &[u32]| join(&words.chunks(8).collect::<Vec<_>>(), |words| format!("{{{}}}", list(words)));
        let montgomery = |words: &[u32]| format!("{}, {}u, {}", lists(&words[..8]), words[8], lists(&words[9..25]));
        let fields = match self {
            Self::Mod16 | Self::Mod32 => list(&words),
            Self::Mod50 => join(&pairs(&words), |&bits| double(bits)),
            Self::Mod64 | Self::Mod64Full => {
                let pairs = pairs(&words);
                let [ratio, shift] = [words[2], words[3]];
                format!("{}ull, {ratio}u, {shift}u, {}ull, {}ull", pairs[0], pairs[2], pairs[3])
            }
            Self::Mod255 => format!("{{{}}}, {}", montgomery(&words), lists(&words[25..])),
            Self::Mod256 => montgomery(&words),
        };
        format!("rf::{}{{{fields}}}", self.type_name(q))
    }
}

fn join<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn pairs(words: &[u32]) -> Vec<u64> {
    words.chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect()
}

/// A positive normal double as a literal of C++: its whole significand and the power of two.
fn double(bits: u64) -> String {
    let fraction = 52;
    format!("{:#x}p{}", bits & ((1 << fraction) - 1) | 1 << fraction, (bits >> fraction) as i64 - 1023 - fraction)
}

fn words(values: &[&U256], each: usize) -> Vec<u32> {
    let mut words = Vec::with_capacity(values.len() * each);
    for value in values {
        let bytes = value.to_le_bytes();
        words.extend(bytes.as_ref().chunks_exact(4).take(each).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
    }
    words
}

/// floor(2^bits / q).
fn ratio(q: &Modulus, bits: u32) -> U256 {
    let power = U256::ONE.wrapping_shl_vartime(bits);
    NonZero::new(q.value()).into_option().map_or(U256::ZERO, |q| power.div_rem_vartime(&q).0)
}
