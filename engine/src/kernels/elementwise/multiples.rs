//! The moduli and scales of a chain of stages, as a table for GPUs and as values for CPUs (`multiples.cuh`). A stage is
//! one linear combination, and its scale is a known factor that multiplies the result.

use core::marker::PhantomData;
use std::sync::Arc;

use crypto_bigint::U256;

use crate::kernels::target::{Row, Target};
use ringforge_math::modulus::{Modulus, low_u64};
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::Table;

/// The moduli and scales of a chain of stages. A stage has one scale per limb, or none.
pub(super) struct Multiples<'a, S: Row> {
    poly: &'a PolyType,
    scales: Vec<Option<&'a [U256]>>,
    stored: PhantomData<S>,
}

type Residue<S> = <<S as Row>::Target as Target>::Residue;
type Factor<S> = <<S as Row>::Target as Target>::Factor;

impl<'a, S: Row> Multiples<'a, S> {
    pub(super) fn new(poly: &'a PolyType, scales: impl Iterator<Item = Option<&'a [U256]>>) -> Self {
        Self { poly, scales: scales.collect(), stored: PhantomData }
    }

    /// The bits of the words in which products use Shoup's method: the remainders are below 2q and must fit a word.
    /// `None` if that is impossible.
    fn shoup_bits(&self) -> Option<u32> {
        let bits = self.poly.basis().iter().map(Modulus::bits).max()?;
        [32, 64].into_iter().find(|&word| bits < word && size_of::<S>() * 8 <= word as usize)
    }

    /// The table for a GPU: for each limb the modulus, the factor 1 if inputs must be reduced (by a product with 1),
    /// and the scales of the stages.
    pub(super) fn table(&self) -> Table {
        let limb = |(limb, q): (usize, &Modulus)| {
            let scales = self.scales.iter().filter_map(|scale| Some(scale.as_ref()?[limb]));
            let scales = self.poly.accepts_any_word().then_some(U256::ONE).into_iter().chain(scales);
            if let Some(bits) = self.shoup_bits() {
                let q = low_u64(&q.value());
                let factor = |c: u64| {
                    let quotient = ((u128::from(c) << bits) / u128::from(q)) as u64;
                    if bits == 32 { vec![quotient << 32 | c] } else { vec![c, quotient] }
                };
                let factors = scales.map(|scale| low_u64(&scale)).flat_map(factor);
                return core::iter::once(q).chain(factors).collect::<Vec<_>>();
            }
            let words = scales.flat_map(|scale| bytemuck::cast_slice(&[S::Target::factor(q, &scale)]).to_vec());
            S::Target::new(q).words().into_iter().chain(words).collect()
        };
        let words: Vec<u64> = self.poly.basis().iter().enumerate().flat_map(limb).collect();
        Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&words)))
    }

    /// The members of a generated struct that the C++ template `Multiples` reads.
    pub(super) fn members(&self) -> String {
        let has_factor: String = self.scales.iter().map(|scale| format!("{}, ", scale.is_some())).collect();
        format!(
            "\x20   using Store = {};\n\
             \x20   using Q = {};\n\
             \x20   static constexpr rf::u32 stages = {};\n\
             \x20   static constexpr bool reduces = {};\n\
             \x20   RF_CONST bool factor(rf::u32 i) {{\n\
             \x20       constexpr bool is[] = {{{has_factor}false}};\n\
             \x20       return is[i];\n\
             \x20   }}\n",
            S::NAME,
            match self.shoup_bits() {
                Some(bits) => format!("rf::Divisor{}", bits - 1),
                None => S::Target::new(&self.poly.basis()[0]).type_name(),
            },
            self.scales.len(),
            self.poly.accepts_any_word(),
        )
    }

    /// The modulus and scales of one limb, for a CPU.
    pub(super) fn of_limb(&self, limb: usize) -> OfLimb<S> {
        let q = &self.poly.basis()[limb];
        let factor = |scale: &U256| S::Target::factor(q, scale);
        OfLimb {
            q: S::Target::new(q),
            one: self.poly.accepts_any_word().then(|| factor(&U256::ONE)),
            scales: self.scales.iter().map(|scale| scale.map(|scale| factor(&scale[limb]))).collect(),
        }
    }
}

/// The modulus of one limb and its scales in all stages.
pub(super) struct OfLimb<S: Row> {
    pub(super) q: S::Target,
    /// The factor 1, by which inputs are multiplied if they must be reduced.
    one: Option<Factor<S>>,
    scales: Vec<Option<Factor<S>>>,
}

impl<S: Row> OfLimb<S> {
    /// Returns a function that reduces an input word to a canonical residue.
    pub(super) fn reduction(&self) -> impl Fn(S) -> Residue<S> + use<S> {
        let (q, one) = (self.q, self.one);
        move |x| one.as_ref().map_or(x.get(), |one| q.mul_any(x.get(), one))
    }

    /// Returns a function that multiplies a residue by the scale of this stage, or leaves it unchanged if there is
    /// none.
    pub(super) fn scaling(&self, stage: usize) -> impl Fn(Residue<S>) -> S + use<S> {
        let (q, scale) = (self.q, self.scales[stage]);
        move |x| S::put(scale.as_ref().map_or(x, |scale| q.mul(x, scale)))
    }
}
