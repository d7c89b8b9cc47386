//! Which device arithmetic serves a ring: the modulus types of the CUDA headers, a file each.

mod descriptor;
mod digits;

use crypto_bigint::U256;
use ringforge_cpu::Limbs;

use ringforge_math::modulus::{Modulus, limbs, value};
use ringforge_math::poly::PolyType;
use ringforge_math::split::Split;
use ringforge_runtime::limits::Limits;

pub use descriptor::Cost;
use descriptor::{Descriptor, Given, Serves};

/// Registers modulus types: for each its name, its file, and what it is. Of those in general the first that serves a ring is
/// taken; they are also the arithmetic of a CPU.
macro_rules! modulus_types {
    (
        general { $($(#[$about:meta])* $name:ident = $file:ident),* $(,)? }
        on_gpus { $($(#[$about_other:meta])* $other:ident = $other_file:ident),* $(,)? }
    ) => {
        $(mod $file;)*
        $(mod $other_file;)*

        /// A modulus type of the CUDA headers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Arithmetic {
            $($(#[$about])* $name,)*
            $($(#[$about_other])* $other,)*
        }

        impl Arithmetic {
            /// Every type.
            pub const ALL: &[Self] = &[$(Self::$name,)* $(Self::$other),*];

            const fn descriptor(self) -> &'static Descriptor {
                match self {
                    $(Self::$name => &$file::DESCRIPTOR,)*
                    $(Self::$other => &$other_file::DESCRIPTOR,)*
                }
            }
        }
    };
}

modulus_types! {
    general {
        /// q < 2^16 in 32-bit words: Shoup and Barrett, sums reduced only where they could overflow.
        Mod16 = mod16,
        /// Odd q < 2^30 in 32-bit words: Shoup and Montgomery, lazy.
        Mod32 = mod32,
        /// Odd q < 2^31 in 32-bit words: Shoup and Montgomery, residues below 2q.
        Mod31 = mod31,
        /// Odd q < 2^62 in 64-bit words: Shoup and Montgomery, lazy.
        Mod64 = mod64,
        /// q = 2^64 − 2^32 + 1: reduced by its form, canonical.
        Goldilocks = goldilocks,
        /// Odd q < 2^64: Montgomery, canonical.
        Mod64Full = mod64_full,
        /// Odd q < 2^256: Montgomery on eight 32-bit limbs, canonical.
        Mod256 = mod256,
    }
    on_gpus {
        /// Odd q < 2^50 in doubles: residues of either sign, lazy; fast where [`Limits::has_fast_doubles`].
        Mod50 = mod50,
        /// Primes q = 1 mod 2^32 below 2^61 in 64-bit words: Shoup by three products for the quotient and half a product for
        /// its multiple of q, lazy ([`Modulus::friendly_ntt_primes`]).
        Mod64Friendly = mod64_friendly,
        /// Odd q < 2^61 in 64-bit words: Shoup by three products for the quotient, lazy.
        Mod61 = mod61,
        /// Odd q < 2^255 − 2^230: Shoup on eight 32-bit limbs, for transforms, residues below 2q in a kernel.
        Mod255 = mod255,
    }
}

impl Arithmetic {
    /// The fastest that serves every modulus of the ring at the ring's width, whatever it splits into.
    #[must_use]
    pub fn of(poly: impl Into<PolyType>) -> Self {
        let poly = &poly.into().coefficients();
        let serves = |arithmetic: &Self| match arithmetic.descriptor().serves {
            Serves::Rings { serves, .. } => serves(poly),
            Serves::Binary { .. } => false,
        };
        Self::ALL.iter().copied().find(serves).unwrap_or(Self::Mod256)
    }

    /// Whether it is one of the CPU too.
    pub(crate) fn is_on_cpu(self) -> bool {
        matches!(self.descriptor().serves, Serves::Rings { .. })
    }

    /// What it is on the CPU: one for GPUs alone gives way to what serves the ring in general.
    pub(crate) fn on_cpu(self, poly: &PolyType) -> Self {
        if self.is_on_cpu() { self } else { Self::of(poly) }
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
    pub fn of_device(poly: impl Into<PolyType>, limits: &Limits) -> Self {
        let poly = &poly.into().coefficients();
        Self::all_of_device(poly, limits).next().unwrap_or(Self::of(poly))
    }

    /// All that serve such kernels on such a device, the fastest first as far as can be known without measuring.
    pub fn all_of_device(poly: &PolyType, limits: &Limits) -> impl Iterator<Item = Self> + use<> {
        let others = |faster: bool| {
            let serves = move |arithmetic: &Self| match arithmetic.descriptor().serves {
                Serves::Binary { is_faster, .. } => is_faster(poly, limits) == Some(faster),
                Serves::Rings { .. } => false,
            };
            Self::ALL.iter().copied().filter(serves).collect::<Vec<_>>()
        };
        others(true).into_iter().chain([Self::of(poly)]).chain(others(false))
    }

    /// The type for a modulus in the headers: its name, and for [`Arithmetic::Mod255`] the pattern of the modulus.
    #[must_use]
    pub fn type_name(self, q: &Modulus) -> String {
        match (self.descriptor().template)(q) {
            Some(argument) => format!("{}<{argument}u>", self.name()),
            None => self.name().into(),
        }
    }

    /// The type's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// The header that defines it.
    #[must_use]
    pub const fn header(self) -> &'static str {
        self.descriptor().header
    }

    /// Bytes of a residue in a register.
    #[must_use]
    pub const fn word_bytes(self) -> usize {
        self.descriptor().word.bytes()
    }

    /// The type of a residue in a register.
    pub(crate) const fn word_type(self) -> &'static str {
        self.descriptor().word.name()
    }

    /// Bytes of a twiddle factor in a table.
    #[must_use]
    pub const fn twiddle_bytes(self) -> usize {
        self.descriptor().twiddle_bytes
    }

    /// What it takes of a GPU.
    #[must_use]
    pub const fn cost(self) -> Cost {
        self.descriptor().cost
    }

    /// The multiple of q that lazy residues may reach: what fits a word, at most 2^31 in 32 bits and 64 in 64; 1 where
    /// residues are always canonical, and for a modulus that the type does not serve.
    #[must_use]
    pub fn capacity(self, q: &Modulus) -> u64 {
        let (Some((bits, most)), Some(q)) = (self.descriptor().lazy, q.value_u64()) else { return 1 };
        ((((1u128 << bits) - 1) / u128::from(q)) as u64).clamp(1, most)
    }

    /// Whether a kernel of some of the layers of this ring leaves residues as they are for the next one.
    pub(crate) fn hands_on(self, poly: &PolyType) -> bool {
        self.descriptor().hands_on && poly.width().bytes() == self.word_bytes()
    }

    /// Whether kernels have the moduli as data of the launch, and not in their text, where the ring has several or not.
    pub(crate) fn by_launch(self, several: bool) -> bool {
        match self.descriptor().given {
            Given::Text => false,
            Given::Launch => true,
            Given::TextOfOne | Given::Argument => several,
        }
    }

    /// Whether kernels can have the moduli as data of the launch.
    pub(crate) fn can_be_by_launch(self) -> bool {
        self.descriptor().given != Given::Text
    }

    /// Whether a single modulus that is not data of the launch is in the text.
    pub(crate) fn is_in_text(self) -> bool {
        self.descriptor().given != Given::Argument
    }

    /// The most layers of two that go together.
    pub(crate) fn most_together(self) -> usize {
        self.descriptor().groups.as_ref().map_or(1, |groups| groups.layers)
    }

    /// Products by known factors for each coefficient of a layer of two: a half, and fewer where layers go together, since products
    /// by the roots of unity within are shifts.
    #[must_use]
    pub fn products_of_layer(self) -> f64 {
        let layers = self.most_together();
        let points = f64::from(1_u32 << layers);
        (points - 1.0) / (points * layers as f64)
    }

    /// Where layers go together, the exponent of two in the tree's root of unity of order 16; if the tree has none, in one of which
    /// its roots of lower orders are powers.
    pub(crate) fn sixteenth(self, split: &Split) -> Option<u32> {
        let (groups, roots) = (self.descriptor().groups.as_ref()?, split.roots().first()?);
        let t = split.tree_leaves();
        let twos = (t.trailing_zeros() as usize).min(groups.layers);
        let root = roots.q.pow(&roots.step, &U256::from((t >> twos) as u64));
        Some((groups.exponent)(&roots.q, &root) >> (groups.layers - twos))
    }

    /// What a CPU computes with in the ring.
    pub(crate) fn of_cpu(self, poly: &PolyType) -> &'static dyn ringforge_cpu::Arithmetic {
        match self.on_cpu(poly).descriptor().serves {
            Serves::Rings { on_cpu, .. } => on_cpu(poly),
            Serves::Binary { .. } => ringforge_cpu::MOD256,
        }
    }

    /// A plain value below q as a word of a CPU, which has the form that the kernels' words have.
    pub(crate) fn word(self, q: &Modulus, x: &U256) -> Limbs {
        limbs(&if self.is_montgomery() { q.to_montgomery(x) } else { *x })
    }

    /// A modulus as a CPU has it.
    pub(crate) fn modulus(self, q: &Modulus) -> ringforge_cpu::Modulus {
        ringforge_cpu::Modulus { q: limbs(&q.value()), one: self.word(q, &U256::ONE) }
    }

    /// The bytes of known factors in a table, from the words of a CPU.
    pub(crate) fn factors(self, poly: &PolyType, q: &Modulus, words: &[Limbs]) -> Vec<u8> {
        let Serves::Binary { factor, .. } = self.descriptor().serves else {
            return self.of_cpu(poly).factors(&self.modulus(q), words);
        };
        let plain = |word: &Limbs| {
            let value = value(word);
            if self.is_montgomery() { q.from_montgomery(&value).unwrap_or(value) } else { value }
        };
        words.iter().flat_map(|word| factor(q, &plain(word))).collect()
    }

    /// Whether kernels have every value in Montgomery form.
    pub(crate) fn is_montgomery(self) -> bool {
        self.descriptor().is_montgomery
    }

    /// The factor by which a reduced product of two of the ring's residues comes out too small modulo one of its moduli, as
    /// a plain value. The reduction divides by a power of two (Montgomery); a product of residues that are stored times R
    /// has one R too many.
    #[must_use]
    pub fn product_factor(self, poly: impl Into<PolyType>, q: &Modulus) -> U256 {
        let poly = &poly.into().coefficients();
        let divisor = descriptor::power_of_two(q, self.descriptor().product_bits);
        // R is a power of two where q is odd, and else 1
        let inverse = q.inverse(&poly.radix(q)).unwrap_or(U256::ONE);
        q.mul(&divisor, &q.reduce(&inverse))
    }

    /// Whether that factor is not 1.
    pub(crate) fn has_product_factor(self, poly: &PolyType) -> bool {
        self.descriptor().product_bits != poly.radix_bits()
    }

    /// Bytes of the type's fields.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.descriptor().bytes
    }

    /// The type's fields for a modulus, as 32-bit words (least significant first where a field is longer).
    #[must_use]
    pub fn constants(self, q: &Modulus) -> Vec<u32> {
        (self.descriptor().fields)(q).iter().flat_map(descriptor::Value::words).collect()
    }

    /// A C++ initializer of the type for a modulus.
    #[must_use]
    pub fn initializer(self, q: &Modulus) -> String {
        let fields: Vec<String> = (self.descriptor().fields)(q).iter().map(descriptor::Value::text).collect();
        format!("rf::{}{{{}}}", self.type_name(q), fields.join(", "))
    }
}
