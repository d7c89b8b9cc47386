//! Points of the curve, in affine coordinates and in Jacobian coordinates (X/Z², Y/Z³), where Z = 0 is infinity.

use bytemuck::{Pod, Zeroable};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

use crate::field::Fp;
use crate::params;

/// A point other than infinity, in affine coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Affine {
    pub(crate) x: Fp,
    pub(crate) y: Fp,
}

/// Any point, in Jacobian coordinates.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Jacobian {
    pub(crate) x: Fp,
    pub(crate) y: Fp,
    pub(crate) z: Fp,
}

impl Affine {
    pub(crate) const G: Self = Self { x: params::G[0], y: params::G[1] };

    /// Decodes big-endian coordinates x ‖ y. Returns `None` unless both are below the field prime p and the point is on
    /// the curve. Every point on the curve except infinity has order n, the order of the group.
    pub(crate) fn from_bytes(bytes: &[u8; 64]) -> Option<Self> {
        let (halves, _) = bytes.as_chunks::<32>();
        let point = Self { x: Fp::from_bytes(&halves[0])?, y: Fp::from_bytes(&halves[1])? };
        point.is_on_curve().then_some(point)
    }

    /// Returns the big-endian coordinates x ‖ y.
    pub(crate) fn to_bytes(self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&self.x.to_bytes());
        bytes[32..].copy_from_slice(&self.y.to_bytes());
        bytes
    }

    /// Returns the point with this x coordinate whose y is odd if `odd` is true, else even. Returns `None` if there is
    /// no such point.
    pub(crate) fn with_x(x: Fp, odd: bool) -> Option<Self> {
        let y = root(right_side(x))?;
        Some(Self { x, y: if (y.plain()[0] & 1 == 1) == odd { y } else { -y } })
    }

    fn is_on_curve(&self) -> bool {
        self.y.square() == right_side(self.x)
    }

    pub(crate) fn negate_if(self, choice: Choice) -> Self {
        Self { x: self.x, y: Fp::conditional_select(&self.y, &-self.y, choice) }
    }
}

/// Returns x³ − 3x + b, the right side of the curve equation.
fn right_side(x: Fp) -> Fp {
    x.square() * x - (x.double() + x) + params::B
}

/// Returns a square root, if there is one.
fn root(square: Fp) -> Option<Fp> {
    // p = 3 mod 4, so square^((p + 1) / 4) is a square root of `square` or of its negative
    let root =
        square.power([0x4000_0000_0000_0000, 0xffff_ffff_c000_0000, 0xffff_ffff_ffff_ffff, 0x3fff_ffff_bfff_ffff]);
    (root.square() == square).then_some(root)
}

impl Jacobian {
    pub(crate) const INFINITY: Self = Self { x: Fp::ONE, y: Fp::ONE, z: Fp::ZERO };

    /// Doubles the point with 4 products and 4 squares. Infinity gives infinity.
    ///
    /// The new Z is YZ instead of the usual 2YZ, so the usual factors of two become a single factor 1/2 in the slope:
    /// 3(X − Z²)(X + Z²)/2.
    pub(crate) fn double(&self) -> Self {
        let Self { x, y, z } = *self;
        let (delta, gamma) = (z.square(), y.square());
        let beta = x * gamma;
        let slope = (x - delta) * (x + delta);
        let slope = slope + slope.half();
        let x3 = slope.square() - beta - beta;
        Self { x: x3, y: slope * (beta - x3) - gamma.square(), z: y * z }
    }

    /// Incomplete mixed addition with 8 products and 3 squares. Opposite points give infinity. If both points are
    /// equal, or `self` is infinity, the result is wrong and has Z = 0.
    pub(crate) fn add_different(&self, other: &Affine) -> Self {
        let zz = self.z.square();
        let h = other.x * zz - self.x;
        let r = other.y * zz * self.z - self.y;
        let hh = h.square();
        let (hhh, v) = (hh * h, self.x * hh);
        let x = r.square() - hhh - v - v;
        Self { x, y: r * (v - x) - self.y * hhh, z: self.z * h }
    }

    /// Complete addition. It branches on the exceptional cases, so it is only for public points.
    pub(crate) fn add(&self, other: &Affine) -> Self {
        if bool::from(self.z.is_zero()) {
            return Self::from(*other);
        }
        let sum = self.add_different(other);
        // Z = 0 if the points are equal or opposite; opposite points differ in y
        if bool::from(sum.z.is_zero()) && self.y == other.y * self.z.square() * self.z { self.double() } else { sum }
    }

    /// Constant-time addition: like [`Self::add`], but selects the doubling by a mask. Neither point may be infinity.
    pub(crate) fn add_masked(&self, other: &Affine) -> Self {
        let sum = self.add_different(other);
        let same = sum.z.is_zero() & self.y.ct_eq(&(other.y * self.z.square() * self.z));
        Self::conditional_select(&sum, &self.double(), same)
    }

    /// Converts to affine coordinates; infinity gives (0, 0).
    pub(crate) fn to_affine(self) -> Affine {
        self.to_affine_by(self.z.inverse())
    }

    /// Converts to affine coordinates, given 1/Z.
    pub(crate) fn to_affine_by(self, inverse: Fp) -> Affine {
        let square = inverse.square();
        Affine { x: self.x * square, y: self.y * square * inverse }
    }
}

impl From<Affine> for Jacobian {
    fn from(point: Affine) -> Self {
        Self { x: point.x, y: point.y, z: Fp::ONE }
    }
}

impl ConditionallySelectable for Affine {
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        Self { x: Fp::conditional_select(&a.x, &b.x, choice), y: Fp::conditional_select(&a.y, &b.y, choice) }
    }
}

impl ConditionallySelectable for Jacobian {
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        let select = |a, b| Fp::conditional_select(a, b, choice);
        Self { x: select(&a.x, &b.x), y: select(&a.y, &b.y), z: select(&a.z, &b.z) }
    }
}

impl Zeroize for Jacobian {
    fn zeroize(&mut self) {
        [&mut self.x, &mut self.y, &mut self.z].into_iter().for_each(Zeroize::zeroize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal points are doubled, and opposite points give infinity. Points with one y coordinate are added as any two.
    #[test]
    fn exceptional_sums_are_right() {
        let (g, minus_g) = (Affine::G, Affine::G.negate_if(Choice::from(1)));
        // (x, y) and (x', y): x' is a root of x² + x x' + x'² − 3, which exists for some multiple of G
        let mut point = Jacobian::from(g);
        let pair = loop {
            let p = point.to_affine();
            let three = Fp::ONE + Fp::ONE + Fp::ONE;
            // the discriminant is 12 − 3 x²
            let other = root(three * (three + Fp::ONE - p.x.square())).map(|root| (root - p.x).half());
            if let Some(x) = other.filter(|x| *x != p.x) {
                break [p, Affine { x, y: p.y }];
            }
            point = point.add(&g);
        };
        assert!(pair.iter().all(Affine::is_on_curve));
        // points of one y lie on a horizontal line, whose third point is −(P + Q)
        let third = Affine { x: -(pair[0].x + pair[1].x), y: -pair[0].y };
        for add in [Jacobian::add as fn(&Jacobian, &Affine) -> _, Jacobian::add_masked] {
            for scaled in [Jacobian::from(g), Jacobian::from(g).double().add(&minus_g)] {
                assert!(add(&scaled, &g).to_affine() == Jacobian::from(g).double().to_affine());
                assert!(bool::from(add(&scaled, &minus_g).z.is_zero()));
            }
            assert!(add(&pair[0].into(), &pair[1]).to_affine() == third);
        }
    }
}
