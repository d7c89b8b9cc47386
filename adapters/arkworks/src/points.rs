//! Points of arkworks' curves in the form of `ringforge-msm`.

use core::ops::Range;

use ark_ec::AffineRepr;
use ark_ec::short_weierstrass::{Affine, SWCurveConfig};
use ark_ff::{AdditiveGroup, Field, Fp, MontBackend, MontConfig, PrimeField, QuadExtConfig, QuadExtField};
use rayon::prelude::*;
use ringforge::Engine;
use ringforge_msm::{Bases, Check, Curve, MsmError};

/// A coordinate of a point: an element of a prime field with four or six limbs, or of its quadratic extension by a root
/// of a small negative integer. Words are limbs in Montgomery form, from the lowest; those of c1 follow those of c0.
pub trait Coordinate: Field {
    /// The limbs of the prime.
    fn prime() -> Vec<u64>;
    /// −u² for the extension by u; `None` for a prime field, and 0 if u² is not a small negative integer.
    fn minus_beta() -> Option<u32>;
    /// Appends the words of this element.
    fn write(&self, words: &mut Vec<u64>);
    /// Returns the element with these words.
    fn read(words: &[u64]) -> Self;
    /// Appends the limbs of this element in plain form.
    fn write_plain(&self, limbs: &mut Vec<u64>);
}

impl<C: MontConfig<L>, const L: usize> Coordinate for Fp<MontBackend<C, L>, L> {
    fn prime() -> Vec<u64> {
        Self::MODULUS.0.to_vec()
    }

    fn minus_beta() -> Option<u32> {
        None
    }

    fn write(&self, words: &mut Vec<u64>) {
        words.extend(self.0.0);
    }

    fn read(words: &[u64]) -> Self {
        let limbs = core::array::from_fn(|i| words.get(i).copied().unwrap_or(0));
        Self::new_unchecked(ark_ff::BigInt(limbs))
    }

    fn write_plain(&self, limbs: &mut Vec<u64>) {
        limbs.extend(self.into_bigint().0);
    }
}

impl<C: QuadExtConfig<BaseField: Coordinate>> Coordinate for QuadExtField<C> {
    fn prime() -> Vec<u64> {
        C::BaseField::prime()
    }

    fn minus_beta() -> Option<u32> {
        let mut limbs = Vec::new();
        (-C::NONRESIDUE).write_plain(&mut limbs);
        let small = limbs.iter().skip(1).all(|limb| *limb == 0);
        Some(limbs.first().and_then(|limb| u32::try_from(*limb).ok()).filter(|_| small).unwrap_or(0))
    }

    fn write(&self, words: &mut Vec<u64>) {
        self.c0.write(words);
        self.c1.write(words);
    }

    fn read(words: &[u64]) -> Self {
        let (c0, c1) = words.split_at(words.len() / 2);
        Self::new(C::BaseField::read(c0), C::BaseField::read(c1))
    }

    fn write_plain(&self, limbs: &mut Vec<u64>) {
        self.c0.write_plain(limbs);
        self.c1.write_plain(limbs);
    }
}

/// A point of a curve that the device can compute with. All of arkworks' short Weierstrass curves whose coordinates are
/// [`Coordinate`]s implement the trait.
pub trait DevicePoint: AffineRepr {
    /// The curve.
    ///
    /// # Errors
    /// [`MsmError::Curve`] for a curve that `ringforge-msm` does not support.
    fn curve() -> Result<Curve, MsmError>;
    /// Appends the point's words.
    fn write(&self, words: &mut Vec<u64>);
    /// Returns the point with these words.
    fn read(words: &[u64]) -> Self;
}

impl<P: SWCurveConfig<BaseField: Coordinate, ScalarField: PrimeField>> DevicePoint for Affine<P> {
    fn curve() -> Result<Curve, MsmError> {
        let plain = |x: P::BaseField| {
            let mut limbs = Vec::new();
            x.write_plain(&mut limbs);
            limbs
        };
        let order = P::ScalarField::MODULUS;
        let order = core::array::from_fn(|i| order.as_ref().get(i).copied().unwrap_or(0));
        let (prime, beta) = (P::BaseField::prime(), P::BaseField::minus_beta());
        let name = core::any::type_name::<P>();
        let coefficients = [plain(P::COEFF_A), plain(P::COEFF_B)];
        Curve::new(name, &prime, beta, coefficients.each_ref().map(|x| &x[..]), order, P::cofactor_is_one())
    }

    fn write(&self, words: &mut Vec<u64>) {
        match self.xy() {
            Some((x, y)) => {
                x.write(words);
                y.write(words);
            }
            None => {
                let start = words.len();
                P::BaseField::ZERO.write(words);
                P::BaseField::ZERO.write(words);
                words[start..].fill(u64::MAX);
            }
        }
    }

    fn read(words: &[u64]) -> Self {
        if words.iter().take(1).all(|word| *word == u64::MAX) && words.iter().all(|word| *word == u64::MAX) {
            return Self::identity();
        }
        let (x, y) = words.split_at(words.len() / 2);
        Self::new_unchecked(P::BaseField::read(x), P::BaseField::read(y))
    }
}

/// Copies a range of bases, with points of prime order, to the device of `engine`. The bases are `before` points at
/// infinity, then these points, then infinity again.
pub(crate) fn upload<G: DevicePoint>(
    engine: &Engine,
    range: Range<usize>,
    before: usize,
    points: &[G],
) -> Result<Bases, MsmError> {
    ringforge_cpu::threads::start();
    let base = |i: usize| i.checked_sub(before).and_then(|i| points.get(i)).copied().unwrap_or_else(G::zero);
    let words: Vec<Vec<u64>> = (range.start..range.end)
        .into_par_iter()
        .fold(Vec::new, |mut words, i| {
            base(i).write(&mut words);
            words
        })
        .collect();
    Ok(Bases::upload(engine, &G::curve()?, bytemuck::cast_slice(&words.concat()), Check::Trusted)?.in_subgroup())
}

/// Returns the point with these bytes.
pub(crate) fn point<G: DevicePoint>(bytes: &[u8]) -> G {
    G::read(&words(bytes))
}

/// Little-endian words of 64 bits.
pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}
