//! Signing and verification of one digest: the equations of GB/T 32918.2, and all checks of the inputs.

use std::sync::LazyLock;

use ringforge::words::{Limbs, add_limbs, sub_limbs};
use subtle::Choice;

use crate::error::Sm2Error;
use crate::field::{Scalar, from_be};
use crate::params::{N, P};
use crate::point::{Affine, Jacobian};
use crate::windows::{Mode, Windows};

/// A digest e: any 256-bit number, big-endian.
pub(crate) type Digest = [u8; 32];

/// Windows of 5 bits, for tables that are scanned ([`Mode::Scan`]) and for points without a cached table.
pub(crate) const NARROW: Windows = Windows::of_width(5);
/// Windows of 8 bits, for public multiples of the base point on the CPU.
const WIDE: Windows = Windows::of_width(8);

static NARROW_BASE: LazyLock<Vec<Affine>> = LazyLock::new(|| NARROW.table(Affine::G));
static WIDE_BASE: LazyLock<Vec<Affine>> = LazyLock::new(|| WIDE.table(Affine::G));

/// Returns k G for a secret k, in constant time.
pub(crate) fn base_multiple(k: &Scalar) -> Jacobian {
    NARROW.multiply(&NARROW_BASE, k, Mode::Scan)
}

/// Decodes a private key d. Returns [`Sm2Error::PrivateKeyRange`] unless d is from 1 to n − 2, where n is the order of
/// the group.
pub(crate) fn private_scalar(bytes: &[u8; 32]) -> Result<Scalar, Sm2Error> {
    let d = Scalar::from_bytes(bytes).ok_or(Sm2Error::PrivateKeyRange)?;
    let refused = d.is_zero() | (d + Scalar::ONE).is_zero();
    if bool::from(refused) { Err(Sm2Error::PrivateKeyRange) } else { Ok(d) }
}

/// Decodes a nonce k. Returns [`Sm2Error::NonceRefused`] unless k is from 1 to n − 1, where n is the order of the
/// group.
pub(crate) fn nonce(bytes: &[u8; 32]) -> Result<Scalar, Sm2Error> {
    let k = Scalar::from_bytes(bytes).ok_or(Sm2Error::NonceRefused)?;
    if bool::from(k.is_zero()) { Err(Sm2Error::NonceRefused) } else { Ok(k) }
}

/// Computes the signature r ‖ s of a digest e. `inverse` is (1 + d)^-1 for the private key d, k is the nonce, and x is
/// the x coordinate of k G. The returned choice is true if the nonce must be rejected: r = 0, r + k = n or s = 0.
pub(crate) fn sign(inverse: &Scalar, e: &Digest, k: &Scalar, x: Limbs) -> ([u8; 64], Choice) {
    let r = Scalar::reduced(from_be(e)) + Scalar::reduced(x);
    let s = *inverse * (*k + r) - r;
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&r.to_bytes());
    signature[32..].copy_from_slice(&s.to_bytes());
    (signature, r.is_zero() | (r + *k).is_zero() | s.is_zero())
}

/// Verifies a signature r ‖ s of a digest e.
pub(crate) fn verify(key: &Affine, e: &Digest, signature: &[u8; 64]) -> Result<(), Sm2Error> {
    verify_by(e, signature, |s, t| {
        let row = NARROW.lowest_row().table(*key);
        WIDE.add_public(NARROW.multiply_public(&row, t), &WIDE_BASE, s)
    })
}

/// Like [`verify`], but `sum` computes s G + t P from s and t = r + s mod n, where P is the public key.
pub(crate) fn verify_by(
    e: &Digest,
    signature: &[u8; 64],
    sum: impl FnOnce(&Scalar, &Scalar) -> Jacobian,
) -> Result<(), Sm2Error> {
    let (halves, _) = signature.as_chunks::<32>();
    let scalar = |bytes| Scalar::from_bytes(bytes).filter(|x| !bool::from(x.is_zero()));
    let (r, s) = scalar(&halves[0]).zip(scalar(&halves[1])).ok_or(Sm2Error::SignatureRange)?;
    let t = r + s;
    if bool::from(t.is_zero()) {
        return Err(Sm2Error::SignatureWrong);
    }
    let sum = sum(&s, &t);
    // Infinity has no x coordinate. The comparison below would reject it too, because its X is nonzero; this check does
    // not rely on that.
    if bool::from(sum.z.is_zero()) {
        return Err(Sm2Error::SignatureWrong);
    }
    // the x coordinate of the sum must be c = r − e mod n, or c + n if c + n is below p; comparing X with c Z² or (c +
    // n) Z² needs no inversion
    let c = (r - Scalar::reduced(from_be(e))).plain();
    let zz = sum.z.square();
    let is_x = |c| crate::field::Fp::reduced(c) * zz == sum.x;
    let (other, carry) = add_limbs(c, N);
    let right = is_x(c) || !carry && sub_limbs(other, P).1 && is_x(other);
    if right { Ok(()) } else { Err(Sm2Error::SignatureWrong) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Fp;

    /// r = 3, s = 4, and the digest e with r − e = c mod n.
    fn signed(c: Limbs) -> (Digest, [u8; 64]) {
        let number = |x: u64| Scalar::reduced([x, 0, 0, 0]);
        let signature = [number(3).to_bytes(), number(4).to_bytes()].concat();
        ((number(3) - Scalar::reduced(c)).to_bytes(), signature.try_into().unwrap_or([0; 64]))
    }

    /// A point whose x coordinate is the first one from `x` on.
    fn point_from(mut x: Limbs) -> (Limbs, Jacobian) {
        loop {
            if let Some(point) = Affine::with_x(Fp::reduced(x), false) {
                return (x, point.into());
            }
            x = add_limbs(x, [1, 0, 0, 0]).0;
        }
    }

    /// The x coordinate of the sum must be c or, if that is below p, c + n. Digests are chosen so that c is at the
    /// borders.
    #[test]
    fn coordinates_are_compared_at_the_borders() {
        let verified = |c, sum: Jacobian| {
            let (e, signature) = signed(c);
            verify_by(&e, &signature, |_, _| sum)
        };
        let (small, low) = point_from([1, 0, 0, 0]);
        assert_eq!(verified(small, low), Ok(()));
        let (large, high) = point_from(add_limbs(N, [1, 0, 0, 0]).0);
        assert_eq!(verified(sub_limbs(large, N).0, high), Ok(()));
        // c + n is p + x, which is not below p
        let beyond = sub_limbs(add_limbs(small, P).0, N).0;
        assert_eq!(verified(beyond, low), Err(Sm2Error::SignatureWrong));
        // c + n is below p, and neither it nor c is the coordinate
        for c in [0, 1, 2, 9] {
            let (_, other) = point_from([100, 0, 0, 0]);
            assert_eq!(verified([c, 0, 0, 0], other), Err(Sm2Error::SignatureWrong));
        }
    }
}
