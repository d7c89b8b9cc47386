//! Points of short Weierstrass curves y² = x³ + a x + b over any field, and their sums, for all points. The
//! representation and the formulas are those of `points.cuh`.

use bytemuck::Zeroable;

use crate::field::Field;

/// An affine point x, y. Infinity has all bits set, which no residue has.
pub(crate) type Affine<F> = [<F as Field>::Word; 2];
/// The point (X / ZZ, Y / ZZZ) with ZZ³ = ZZZ², or infinity if ZZ = 0.
pub(crate) type Xyzz<F> = [<F as Field>::Word; 4];

/// The group of a curve over a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group<F: Field> {
    pub(crate) field: F,
    /// The coefficients a and b, in Montgomery form.
    pub(crate) a: F::Word,
    pub(crate) b: F::Word,
}

impl<F: Field> Group<F> {
    pub(crate) fn infinity() -> Affine<F> {
        let mut point = [F::Word::zeroed(); 2];
        bytemuck::cast_slice_mut::<_, u8>(&mut point).fill(0xff);
        point
    }

    pub(crate) fn is_infinity(point: &Affine<F>) -> bool {
        bytemuck::bytes_of(&point[0]).iter().all(|byte| *byte == 0xff)
    }

    pub(crate) fn negate_if(&self, negative: bool, point: Affine<F>) -> Affine<F> {
        if negative && !Self::is_infinity(&point) { [point[0], self.field.negate(point[1])] } else { point }
    }

    /// Whether a point is infinity, or has canonical coordinates and is on the curve.
    pub(crate) fn holds(&self, point: &Affine<F>) -> bool {
        let (f, [x, y]) = (&self.field, *point);
        let cubic = || f.add(f.mul(f.add(f.square(x), self.a), x), self.b);
        Self::is_infinity(point) || f.is_canonical(x) && f.is_canonical(y) && f.square(y) == cubic()
    }

    /// Returns p + q for affine points.
    pub(crate) fn add_affine(&self, p: &Affine<F>, q: &Affine<F>) -> Affine<F> {
        let f = &self.field;
        let (rise, run) = match (Self::is_infinity(p), Self::is_infinity(q)) {
            (true, _) => return *q,
            (_, true) => return *p,
            _ if p[0] != q[0] => (f.sub(q[1], p[1]), f.sub(q[0], p[0])),
            _ if p[1] != q[1] || f.is_zero(p[1]) => return Self::infinity(),
            _ => {
                let square = f.square(p[0]);
                (f.add(f.add(f.add(square, square), square), self.a), f.add(p[1], p[1]))
            }
        };
        let slope = f.mul(rise, f.inverse(run));
        let x = f.sub(f.sub(f.square(slope), p[0]), q[0]);
        [x, f.sub(f.mul(slope, f.sub(p[0], x)), p[1])]
    }

    pub(crate) fn zero(&self) -> Xyzz<F> {
        [self.field.zero(); 4]
    }

    pub(crate) fn xyzz(&self, point: &Affine<F>) -> Xyzz<F> {
        match Self::is_infinity(point) {
            true => self.zero(),
            false => [point[0], point[1], self.field.one(), self.field.one()],
        }
    }

    pub(crate) fn to_affine(self, point: &Xyzz<F>) -> Affine<F> {
        let (f, [x, y, zz, zzz]) = (&self.field, *point);
        if f.is_zero(zz) {
            return Self::infinity();
        }
        let inverse = f.inverse(zzz);
        let z = f.mul(inverse, zz);
        [f.mul(x, f.square(z)), f.mul(y, inverse)]
    }

    pub(crate) fn double(&self, point: &Xyzz<F>) -> Xyzz<F> {
        let (f, [x, y, zz, zzz]) = (&self.field, *point);
        let u = f.add(y, y);
        let v = f.square(u);
        let (w, s, square) = (f.mul(u, v), f.mul(x, v), f.square(x));
        let mut m = f.add(f.add(square, square), square);
        if !f.is_zero(self.a) {
            m = f.add(m, f.mul(self.a, f.square(zz)));
        }
        let x = f.sub(f.sub(f.square(m), s), s);
        [x, f.sub(f.mul(m, f.sub(s, x)), f.mul(w, y)), f.mul(v, zz), f.mul(w, zzz)]
    }

    /// Returns 2^`times`·p.
    ///
    /// If a = 0, a doubling takes seven products, as in Jacobian coordinates: ZZ and ZZZ are only multiplied at the end, by
    /// powers of the product of all 2 Y.
    pub(crate) fn double_times(&self, times: u32, p: &Xyzz<F>) -> Xyzz<F> {
        let f = &self.field;
        if times == 0 || !f.is_zero(self.a) {
            return (0..times).fold(*p, |p, _| self.double(&p));
        }
        let twice = |x| f.add(x, x);
        let ([mut x, mut y, zz, zzz], mut scale) = (*p, f.one());
        for _ in 0..times {
            let (xx, yy) = (f.square(x), f.square(y));
            let (s, m) = (twice(twice(f.mul(x, yy))), f.add(twice(xx), xx));
            scale = f.mul(scale, twice(y));
            x = f.sub(f.square(m), twice(s));
            y = f.sub(f.mul(m, f.sub(s, x)), twice(twice(twice(f.square(yy)))));
        }
        let square = f.square(scale);
        [x, y, f.mul(zz, square), f.mul(zzz, f.mul(scale, square))]
    }

    pub(crate) fn add(&self, p: &Xyzz<F>, q: &Xyzz<F>) -> Xyzz<F> {
        let f = &self.field;
        if f.is_zero(p[2]) {
            return *q;
        }
        if f.is_zero(q[2]) {
            return *p;
        }
        let (u, s) = (f.mul(p[0], q[2]), f.mul(p[1], q[3]));
        let (dx, dy) = (f.sub(f.mul(q[0], p[2]), u), f.sub(f.mul(q[1], p[3]), s));
        if f.is_zero(dx) {
            return if f.is_zero(dy) { self.double(p) } else { self.zero() };
        }
        let pp = f.square(dx);
        let (ppp, v) = (f.mul(dx, pp), f.mul(u, pp));
        let x = f.sub(f.sub(f.sub(f.square(dy), ppp), v), v);
        [x, f.sub(f.mul(dy, f.sub(v, x)), f.mul(s, ppp)), f.mul(f.mul(p[2], q[2]), pp), f.mul(f.mul(p[3], q[3]), ppp)]
    }

    /// Returns p + q for an affine q.
    #[inline]
    pub(crate) fn add_mixed(&self, p: &Xyzz<F>, q: &Affine<F>) -> Xyzz<F> {
        let f = &self.field;
        if Self::is_infinity(q) {
            return *p;
        }
        if f.is_zero(p[2]) {
            return self.xyzz(q);
        }
        let (dx, dy) = (f.sub(f.mul(q[0], p[2]), p[0]), f.sub(f.mul(q[1], p[3]), p[1]));
        if f.is_zero(dx) {
            return if f.is_zero(dy) { self.double(p) } else { self.zero() };
        }
        let pp = f.square(dx);
        let (ppp, v) = (f.mul(dx, pp), f.mul(p[0], pp));
        let x = f.sub(f.sub(f.sub(f.square(dy), ppp), v), v);
        [x, f.sub(f.mul(dy, f.sub(v, x)), f.mul(p[1], ppp)), f.mul(p[2], pp), f.mul(p[3], ppp)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Curve;
    use crate::curve::{AnyGroup, with_group};

    fn doublings_agree<F: Field>(group: &Group<F>) {
        let f = &group.field;
        let two = f.add(f.one(), f.one());
        // any coordinates will do: the formulas do not use b
        for point in
            [[two, f.one(), two, two], [f.one(), f.zero(), f.one(), f.one()], [f.one(), two, f.zero(), f.zero()]]
        {
            for times in 0..6 {
                let expected = (0..times).fold(point, |point, _| group.double(&point));
                assert_eq!(group.to_affine(&group.double_times(times, &point)), group.to_affine(&expected));
            }
        }
    }

    #[test]
    fn many_doublings_are_doublings() {
        for curve in [Curve::bn254(), Curve::bls12_381_g2(), Curve::sm2()] {
            with_group!(&curve.group(), group => doublings_agree(group));
        }
        let AnyGroup::Quadratic6(group) = Curve::bls12_381_g2().group() else { unreachable!() };
        let (f, q) = (&group.field, &group.field.base);
        let a = [q.r2, q.add(q.one, q.r2)];
        assert_eq!(f.square(a), f.mul(a, a));
        let f = crate::field::Quadratic { base: *q, minus_beta: 5 };
        assert_eq!(f.square(a), f.mul(a, a));
    }
}
