//! Modulus types (classes of the CUDA headers for arithmetic modulo q), one file each, and the choice among them for a
//! ring.

mod descriptor;
mod digits;

use crypto_bigint::U256;
use ringforge_cpu::Limbs;

use ringforge_math::factorization::Factorization;
use ringforge_math::modulus::{Modulus, limbs, value};
use ringforge_math::poly::PolyType;
use ringforge_runtime::limits::Limits;

pub use descriptor::Cost;
use descriptor::{Descriptor, Given, Serves};

/// Declares the modulus types: the name, file and documentation of each. A ring uses the first of the `general` types
/// that serves it, and CPUs compute in that type. Kernels for GPUs may use a type of `on_gpus` instead.
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
            /// All modulus types.
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
        /// q < 2^16 in 32-bit words: Shoup and Barrett; sums are reduced only where they could overflow.
        Mod16 = mod16,
        /// Odd q < 2^30 in 32-bit words: Shoup and Montgomery, lazy reduction.
        Mod32 = mod32,
        /// Odd q < 2^31 in 32-bit words: Shoup and Montgomery; residues stay below 2q.
        Mod31 = mod31,
        /// Odd q < 2^62 in 64-bit words: Shoup and Montgomery, lazy reduction.
        Mod64 = mod64,
        /// q = 2^64 − 2^32 + 1 (Goldilocks): reduction uses the form of q; residues are canonical.
        Goldilocks = goldilocks,
        /// Odd q < 2^64 in 64-bit words: Montgomery; residues are canonical.
        Mod64Full = mod64_full,
        /// Odd q < 2^256 on eight 32-bit limbs: Montgomery; residues are canonical.
        Mod256 = mod256,
    }
    on_gpus {
        /// Odd q < 2^50 in doubles: signed residues, lazy reduction; fast where [`Limits::has_fast_doubles`].
        Mod50 = mod50,
        /// Primes q = 1 mod 2^32 below 2^61 in 64-bit words, lazy reduction (see [`Modulus::friendly_ntt_primes`]).
        /// Shoup multiplication computes the quotient with three partial products, and the quotient times q with half a
        /// product.
        Mod64Friendly = mod64_friendly,
        /// Odd q < 2^61 in 64-bit words, lazy reduction: Shoup multiplication with three partial products for the
        /// quotient.
        Mod61 = mod61,
        /// Odd q < 2^255 − 2^230 on eight 32-bit limbs, for transforms: Shoup; residues stay below 2q within a kernel.
        Mod255 = mod255,
    }
}

impl Arithmetic {
    /// The first general type (one that CPUs also implement) that serves every modulus of the ring and the width of its
    /// stored residues. [`Arithmetic::Mod256`] if no type does. The result does not depend on how the ring factors.
    #[must_use]
    pub fn of(poly: impl Into<PolyType>) -> Self {
        let poly = &poly.into().coefficients();
        let serves = |arithmetic: &Self| match arithmetic.descriptor().serves {
            Serves::Rings { serves, .. } => serves(poly),
            Serves::Binary { .. } => false,
        };
        Self::ALL.iter().copied().find(serves).unwrap_or(Self::Mod256)
    }

    /// Whether the CPU backend implements this type.
    pub(crate) fn is_on_cpu(self) -> bool {
        matches!(self.descriptor().serves, Serves::Rings { .. })
    }

    /// The type that the CPU computes in: this one if the CPU implements it, else the general type that serves the
    /// ring.
    pub(crate) fn on_cpu(self, poly: &PolyType) -> Self {
        if self.is_on_cpu() { self } else { Self::of(poly) }
    }

    /// The fastest type for kernels that transform limbs of the ring on a device with these limits. The choice changes
    /// the encoding of twiddle tables; stored residues are the same in every arithmetic.
    ///
    /// The general type ([`Arithmetic::of`]) is replaced by the first of these types that serves the ring:
    ///
    /// - [`Arithmetic::Mod50`] for moduli of up to 50 bits, where [`Limits::has_fast_doubles`]. Rings that accept any
    ///   word never use it, because a double cannot hold every 64-bit word.
    /// - [`Arithmetic::Mod64Friendly`] for its primes.
    /// - [`Arithmetic::Mod61`] on a GPU, for moduli of up to 61 bits in 64-bit words.
    /// - [`Arithmetic::Mod255`] on a GPU, for a single modulus in its range, if the twiddle table takes at most a
    ///   quarter of the device's memory.
    ///
    /// Use the result only for rings that factor by radix-2 layers down to degree 1.
    #[must_use]
    pub fn of_device(poly: impl Into<PolyType>, limits: &Limits) -> Self {
        let poly = &poly.into().coefficients();
        Self::all_of_device(poly, limits).next().unwrap_or(Self::of(poly))
    }

    /// All types for kernels that transform limbs of the ring on a device with these limits. They are ordered by
    /// estimated speed, fastest first.
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

    /// The C++ type for a modulus: [`Arithmetic::name`]. [`Arithmetic::Mod255`] also gets a template argument, which
    /// encodes the base-2^32 digits of −q that are 0, 1 or −1.
    #[must_use]
    pub fn type_name(self, q: &Modulus) -> String {
        match (self.descriptor().template)(q) {
            Some(argument) => format!("{}<{argument}u>", self.name()),
            None => self.name().into(),
        }
    }

    /// The type's name in the CUDA headers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// The header that defines the type.
    #[must_use]
    pub const fn header(self) -> &'static str {
        self.descriptor().header
    }

    /// Bytes of a residue in a register.
    #[must_use]
    pub const fn word_bytes(self) -> usize {
        self.descriptor().word.bytes()
    }

    /// The C++ type of a residue in a register.
    pub(crate) const fn word_type(self) -> &'static str {
        self.descriptor().word.name()
    }

    /// Bytes of a twiddle factor in a table.
    #[must_use]
    pub const fn twiddle_bytes(self) -> usize {
        self.descriptor().twiddle_bytes
    }

    /// The cost of products and reductions on a GPU.
    #[must_use]
    pub const fn cost(self) -> Cost {
        self.descriptor().cost
    }

    /// The largest k for which lazy residues below k·q fit a word, capped at a value that depends on the type. The
    /// result is 1 where residues are always canonical, and for a modulus that the type does not serve.
    #[must_use]
    pub fn capacity(self, q: &Modulus) -> u64 {
        let (Some((bits, most)), Some(q)) = (self.descriptor().lazy, q.value_u64()) else { return 1 };
        ((((1u128 << bits) - 1) / u128::from(q)) as u64).clamp(1, most)
    }

    /// Whether a kernel that computes only some layers of the ring's transform leaves residues unreduced (lazy) for the
    /// next kernel.
    pub(crate) fn leaves_lazy(self, poly: &PolyType) -> bool {
        self.descriptor().leaves_lazy && poly.width().bytes() == self.word_bytes()
    }

    /// Whether kernels receive the moduli as run-time constants. `several` says that the ring has more than one
    /// modulus.
    pub(crate) fn by_launch(self, several: bool) -> bool {
        match self.descriptor().given {
            Given::Text => false,
            Given::Launch => true,
            Given::TextOfOne | Given::Argument => several,
        }
    }

    /// Whether kernels can receive the moduli as run-time constants.
    pub(crate) fn can_be_by_launch(self) -> bool {
        self.descriptor().given != Given::Text
    }

    /// Whether a single modulus that is not a run-time constant is a compile-time constant. If false, it is a kernel
    /// argument.
    pub(crate) fn is_in_text(self) -> bool {
        self.descriptor().given != Given::Argument
    }

    /// The number of radix-2 layers that one radix-2^k pass merges at most, that is, the largest k.
    pub(crate) fn most_together(self) -> usize {
        self.descriptor().groups.as_ref().map_or(1, |groups| groups.layers)
    }

    /// Products by twiddle factors per coefficient and radix-2 layer: one half, or less in a radix-2^k pass, where
    /// products by the roots of unity inside the pass are shifts.
    #[must_use]
    pub fn products_of_layer(self) -> f64 {
        let layers = self.most_together();
        let points = f64::from(1_u32 << layers);
        (points - 1.0) / (points * layers as f64)
    }

    /// The exponent e for which 2^e is a root of unity of order 16 whose powers include the roots of unity of a
    /// radix-2^k pass. `None` if the type has no radix-2^k passes.
    pub(crate) fn sixteenth(self, factorization: &Factorization) -> Option<u32> {
        let (groups, roots) = (self.descriptor().groups.as_ref()?, factorization.roots().first()?);
        let t = factorization.tree_leaves();
        let twos = (t.trailing_zeros() as usize).min(groups.layers);
        let root = roots.q.pow(&roots.step, &U256::from((t >> twos) as u64));
        Some((groups.exponent)(&roots.q, &root) >> (groups.layers - twos))
    }

    /// The CPU implementation of the type [`Arithmetic::on_cpu`], for the ring.
    pub(crate) fn of_cpu(self, poly: &PolyType) -> &'static dyn ringforge_cpu::Arithmetic {
        match self.on_cpu(poly).descriptor().serves {
            Serves::Rings { on_cpu, .. } => on_cpu(poly),
            Serves::Binary { .. } => ringforge_cpu::MOD256,
        }
    }

    /// Encodes a plain value below q as a CPU word, in the same form (plain or Montgomery) as the kernels' words.
    pub(crate) fn word(self, q: &Modulus, x: &U256) -> Limbs {
        limbs(&if self.is_montgomery() { q.to_montgomery(x) } else { *x })
    }

    /// The modulus as the CPU's arithmetic represents it.
    pub(crate) fn modulus(self, q: &Modulus) -> ringforge_cpu::Modulus {
        ringforge_cpu::Modulus { q: limbs(&q.value()), one: self.word(q, &U256::ONE) }
    }

    /// Encodes twiddle factors, given as CPU words, as the bytes of a twiddle table.
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

    /// Whether kernels keep every residue in Montgomery form.
    pub(crate) fn is_montgomery(self) -> bool {
        self.descriptor().is_montgomery
    }

    /// The factor that corrects a product of two stored residues: D/R mod q, as a plain value. Residues are stored
    /// times R, and kernels reduce a product by dividing it by D (Montgomery), so (a·R)·(b·R)/D is too large by R/D.
    #[must_use]
    pub fn product_factor(self, poly: impl Into<PolyType>, q: &Modulus) -> U256 {
        let poly = &poly.into().coefficients();
        let divisor = descriptor::power_of_two(q, self.descriptor().product_bits);
        // R is invertible modulo q: it is a power of two for odd q, and 1 for even q
        let inverse = q.inverse(&poly.radix(q)).unwrap_or(U256::ONE);
        q.mul(&divisor, &q.reduce(&inverse))
    }

    /// Whether `product_factor` differs from 1.
    pub(crate) fn has_product_factor(self, poly: &PolyType) -> bool {
        self.descriptor().product_bits != poly.radix_bits()
    }

    /// Size in bytes of the C++ struct, which holds the constants of one modulus.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.descriptor().bytes
    }

    /// The fields of the C++ struct for a modulus, as 32-bit words. Longer fields have their least significant word
    /// first.
    #[must_use]
    pub fn constants(self, q: &Modulus) -> Vec<u32> {
        (self.descriptor().fields)(q).iter().flat_map(descriptor::Value::words).collect()
    }

    /// A C++ initializer of the struct for a modulus.
    #[must_use]
    pub fn initializer(self, q: &Modulus) -> String {
        let fields: Vec<String> = (self.descriptor().fields)(q).iter().map(descriptor::Value::text).collect();
        format!("rf::{}{{{}}}", self.type_name(q), fields.join(", "))
    }
}
