//! Curves as data.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use crate::error::{MsmError, elements};
use crate::field::{Field, Prime, Quadratic};
use crate::group::Group;

/// A short Weierstrass curve y² = x³ + a x + b with the order of its points.
///
/// The field is prime, with an odd prime of up to 384 bits, or a quadratic extension of such a field.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Curve(Arc<Data>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Data {
    name: String,
    /// The prime, in four or six limbs.
    prime: Vec<u64>,
    /// −u² for an element c0 + c1 u of the quadratic extension.
    minus_beta: Option<u32>,
    /// The coefficients, with one or two coordinates each, in plain form.
    a: Vec<u64>,
    b: Vec<u64>,
    order: [u64; 4],
    prime_order: bool,
}

/// The group of a curve, by its field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AnyGroup {
    Prime4(Group<Prime<4>>),
    Prime6(Group<Prime<6>>),
    Quadratic4(Group<Quadratic<4>>),
    Quadratic6(Group<Quadratic<6>>),
}

/// Evaluates an expression for the [`Group`] in an [`AnyGroup`].
macro_rules! with_group {
    ($any:expr, $group:ident => $body:expr) => {
        match $any {
            $crate::curve::AnyGroup::Prime4($group) => $body,
            $crate::curve::AnyGroup::Prime6($group) => $body,
            $crate::curve::AnyGroup::Quadratic4($group) => $body,
            $crate::curve::AnyGroup::Quadratic6($group) => $body,
        }
    };
}
pub(crate) use with_group;

/// Returns the number with these hexadecimal digits, in `limbs` limbs.
fn hex(digits: &str, limbs: usize) -> Vec<u64> {
    let mut number = vec![0; limbs];
    for (i, digit) in digits.bytes().rev().enumerate() {
        let value = char::from(digit).to_digit(16).unwrap_or(0);
        if let Some(limb) = number.get_mut(i / 16) {
            *limb |= u64::from(value) << (4 * (i % 16));
        }
    }
    number
}

fn fixed<const L: usize>(limbs: &[u64]) -> [u64; L] {
    core::array::from_fn(|i| limbs.get(i).copied().unwrap_or(0))
}

const BN254: [&str; 2] = [
    "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47",
    "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001",
];
const BLS12_381: [&str; 2] = [
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab",
    "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001",
];
const BLS12_377: [&str; 2] = [
    "1ae3a4617c510eac63b05c06ca1493b1a22d9f300f5138f1ef3622fba094800170b5d44300000008508c00000000001",
    "12ab655e9a2ca55660b44d1e5c37b00159aa76fed00000010a11800000000001",
];
const PASTA: [&str; 2] = [
    "40000000000000000000000000000000224698fc094cf91b992d30ed00000001",
    "40000000000000000000000000000000224698fc0994a8dd8c46eb2100000001",
];

impl Curve {
    /// A curve with coefficients of `a.len()` coordinates, one or two, in hexadecimal.
    fn named(
        name: &str,
        [prime, order]: [&str; 2],
        beta: Option<u32>,
        a: &[&str],
        b: &[&str],
        prime_order: bool,
    ) -> Self {
        let limbs = if prime.trim_start_matches('0').len() <= 64 { 4 } else { 6 };
        let coordinates = |of: &[&str]| of.iter().flat_map(|digits| hex(digits, limbs)).collect();
        Self(Arc::new(Data {
            name: name.into(),
            prime: hex(prime, limbs),
            minus_beta: beta,
            a: coordinates(a),
            b: coordinates(b),
            order: fixed(&hex(order, 4)),
            prime_order,
        }))
    }

    /// A curve y² = x³ + a x + b over a prime field, or over its extension by a root u of −`minus_beta`. Numbers are in
    /// limbs of 64 bits, from the lowest. `a` and `b` are in plain form; over an extension, the limbs of the coordinate c1
    /// follow those of c0. `order` is the order r of the points, and `prime_order` tells that all points have it.
    ///
    /// # Errors
    /// [`MsmError::Curve`] unless the prime is odd and has four or six limbs, and r is odd and above 1. The coordinates of
    /// `a` and `b` must have as many limbs and be below the prime. Whether the numbers are prime is not checked.
    pub fn new(
        name: &str,
        prime: &[u64],
        minus_beta: Option<u32>,
        [a, b]: [&[u64]; 2],
        order: [u64; 4],
        prime_order: bool,
    ) -> Result<Self, MsmError> {
        let limbs = prime.len();
        let coordinates = if minus_beta.is_some() { 2 } else { 1 };
        let is_below = |of: &[u64]| {
            of.len() == coordinates * limbs && of.chunks(limbs).all(|x| x.iter().rev().lt(prime.iter().rev()))
        };
        let why = match () {
            () if !matches!(limbs, 4 | 6) => "its prime must have four or six limbs",
            () if prime[0].is_multiple_of(2) => "its prime must be odd",
            () if minus_beta.is_some_and(|beta| !(1..16).contains(&beta)) => "u² must be between −15 and −1",
            () if !is_below(a) || !is_below(b) => "its coefficients must be below the prime, in as many limbs",
            () if order[0].is_multiple_of(2) || order == [1, 0, 0, 0] => "its order must be odd and above 1",
            () => {
                let (prime, [a, b]) = (prime.to_vec(), [a, b].map(<[u64]>::to_vec));
                return Ok(Self(Arc::new(Data { name: name.into(), prime, minus_beta, a, b, order, prime_order })));
            }
        };
        Err(MsmError::Curve { name: name.into(), why })
    }

    /// BN254's group G1 (also called alt_bn128), of prime order.
    #[must_use]
    pub fn bn254() -> Self {
        Self::named("bn254:g1", BN254, None, &["0"], &["3"], true)
    }

    /// BN254's group G2, over the extension with u² = −1.
    #[must_use]
    pub fn bn254_g2() -> Self {
        let b = [
            "2b149d40ceb8aaae81be18991be06ac3b5b4c5e559dbefa33267e6dc24a138e5",
            "009713b03af0fed4cd2cafadeed8fdf4a74fa084e52d1852e4a2bd0685c315d2",
        ];
        Self::named("bn254:g2", BN254, Some(1), &["0", "0"], &b, false)
    }

    /// BLS12-381's group G1.
    #[must_use]
    pub fn bls12_381() -> Self {
        Self::named("bls12-381:g1", BLS12_381, None, &["0"], &["4"], false)
    }

    /// BLS12-381's group G2, over the extension with u² = −1.
    #[must_use]
    pub fn bls12_381_g2() -> Self {
        Self::named("bls12-381:g2", BLS12_381, Some(1), &["0", "0"], &["4", "4"], false)
    }

    /// BLS12-377's group G1.
    #[must_use]
    pub fn bls12_377() -> Self {
        Self::named("bls12-377:g1", BLS12_377, None, &["0"], &["1"], false)
    }

    /// Pallas, of prime order.
    #[must_use]
    pub fn pallas() -> Self {
        Self::named("pallas", PASTA, None, &["0"], &["5"], true)
    }

    /// Vesta, of prime order.
    #[must_use]
    pub fn vesta() -> Self {
        Self::named("vesta", [PASTA[1], PASTA[0]], None, &["0"], &["5"], true)
    }

    /// The curve secp256k1, of prime order (SEC 2).
    #[must_use]
    pub fn secp256k1() -> Self {
        let numbers = [
            "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f",
            "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
        ];
        Self::named("secp256k1", numbers, None, &["0"], &["7"], true)
    }

    /// The curve of SM2, sm2p256v1, of prime order (GB/T 32918.5).
    #[must_use]
    pub fn sm2() -> Self {
        let numbers = [
            "fffffffeffffffffffffffffffffffffffffffff00000000ffffffffffffffff",
            "fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123",
        ];
        let a = "fffffffeffffffffffffffffffffffffffffffff00000000fffffffffffffffc";
        let b = "28e9fa9e9d9f5e344d5a9e4bcf6509a7f39789f515ab8f92ddbcbd414d940e93";
        Self::named("sm2", numbers, None, &[a], &[b], true)
    }

    /// The name: "bn254:g1", "bls12-381:g2".
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether all points have the order [`Curve::order`], because the curve has no other points.
    #[must_use]
    pub fn has_prime_order(&self) -> bool {
        self.0.prime_order
    }

    /// The order r of the points, in limbs of 64 bits from the lowest.
    #[must_use]
    pub fn order(&self) -> [u64; 4] {
        self.0.order
    }

    /// Size in bytes of an affine point: 64 for a prime of up to 256 bits, 96 for one of up to 384 bits, twice that
    /// over an extension.
    #[must_use]
    pub fn point_bytes(&self) -> usize {
        let Data { prime, minus_beta, .. } = &*self.0;
        prime.len() * 8 * 2 * if minus_beta.is_some() { 2 } else { 1 }
    }

    /// Returns a point in the form of [`Bases`](crate::Bases), from the limbs of its coordinates in plain form, from the
    /// lowest. Missing limbs are 0. For a coordinate c0 + c1 u, the limbs of c1 follow those of c0.
    #[must_use]
    pub fn point(&self, x: &[u64], y: &[u64]) -> Vec<u8> {
        fn words<const L: usize>(prime: &[u64], size: usize, of: &[u64]) -> Vec<u8> {
            let field = Prime::<L>::new(fixed(prime));
            let limbs = (0..size).map(|i| field.to_montgomery(fixed(of.get(i * L..).unwrap_or(&[]))));
            limbs.flat_map(|word| bytemuck::cast_slice(&word).to_vec()).collect()
        }
        let Data { prime, minus_beta, .. } = &*self.0;
        let size = if minus_beta.is_some() { 2 } else { 1 };
        let of = |limbs| if prime.len() == 4 { words::<4>(prime, size, limbs) } else { words::<6>(prime, size, limbs) };
        [of(x), of(y)].concat()
    }

    /// Returns the sum of points in the form of [`Bases`](crate::Bases), computed on the CPU. It adds up the parts of a
    /// multiplication that was divided, for example over several devices.
    ///
    /// # Errors
    /// [`MsmError::Length`] unless `points` holds whole points.
    pub fn sum(&self, points: &[u8]) -> Result<Vec<u8>, MsmError> {
        elements("points", points, self.point_bytes())?;
        Ok(with_group!(self.group(), group => {
            let points = points.chunks_exact(self.point_bytes()).map(bytemuck::pod_read_unaligned);
            let sum = points.fold(group.zero(), |sum, point| group.add_mixed(&sum, &point));
            bytemuck::bytes_of(&group.to_affine(&sum)).to_vec()
        }))
    }

    pub(crate) fn group(&self) -> AnyGroup {
        let Data { prime, minus_beta, a, b, .. } = &*self.0;
        fn over_prime<const L: usize>(prime: &[u64], a: &[u64], b: &[u64]) -> Group<Prime<L>> {
            let field = Prime::new(fixed(prime));
            let word = |of: &[u64]| field.to_montgomery(fixed(of));
            Group { field, a: word(a), b: word(b) }
        }
        fn over_quadratic<const L: usize>(prime: &[u64], minus_beta: u32, a: &[u64], b: &[u64]) -> Group<Quadratic<L>> {
            let base = Prime::new(fixed(prime));
            let word = |of: &[u64]| [&of[..L], &of[L..]].map(|of| base.to_montgomery(fixed(of)));
            Group { field: Quadratic { base, minus_beta }, a: word(a), b: word(b) }
        }
        match (prime.len(), *minus_beta) {
            (4, None) => AnyGroup::Prime4(over_prime(prime, a, b)),
            (_, None) => AnyGroup::Prime6(over_prime(prime, a, b)),
            (4, Some(beta)) => AnyGroup::Quadratic4(over_quadratic(prime, beta, a, b)),
            (_, Some(beta)) => AnyGroup::Quadratic6(over_quadratic(prime, beta, a, b)),
        }
    }

    /// The CUDA source of the curve, as `struct Curve`, for `points.cuh`.
    pub(crate) fn source(&self) -> String {
        let Data { prime, minus_beta, .. } = &*self.0;
        let field = if prime.len() == 4 { prime_source::<4>("Q", prime) } else { prime_source::<6>("Q", prime) };
        let over = match minus_beta {
            None => "rf::Field<Q>".to_owned(),
            Some(beta) => format!("rf::Quadratic<rf::Field<Q>, {beta}>"),
        };
        let (a, is_zero) = with_group!(self.group(), group => {
            let words: &[u64] = bytemuck::cast_slice(core::slice::from_ref(&group.a));
            (words.to_vec(), group.field.is_zero(group.a))
        });
        let coordinates: Vec<_> = a.chunks(prime.len()).map(|limbs| format!("{{{{{}}}}}", list(limbs))).collect();
        let a = if minus_beta.is_some() { format!("{{{}}}", coordinates.join(", ")) } else { coordinates.concat() };
        format!(
            "{field}struct Curve {{\n    using F = {over};\n    static constexpr bool a_is_zero = {is_zero};\n    \
             RF_METHOD static F::Word a() {{ return {a}; }}\n}};\n"
        )
    }
}

fn list(limbs: &[u64]) -> String {
    let halves = limbs.iter().flat_map(|limb| [*limb as u32, (limb >> 32) as u32]);
    halves.map(|half| format!("{half:#x}u")).collect::<Vec<_>>().join(", ")
}

/// The CUDA source that describes a prime, for `Field` of `field.cuh`.
pub(crate) fn prime_source<const L: usize>(name: &str, prime: &[u64]) -> String {
    let field = Prime::<L>::new(fixed(prime));
    let limbs = 2 * L;
    let function = |name: &str, of: &[u64]| {
        format!(
            "    RF_CONST rf::u32 {name}(rf::u32 i) {{\n        const rf::u32 limbs[{limbs}] = {{{}}};\n        \
             return limbs[i];\n    }}\n",
            list(of)
        )
    };
    let inverse = field.inverse_u32();
    format!(
        "struct {name} {{\n    static constexpr rf::u32 limbs = {limbs}, inverse = {inverse:#x}u;\n{}{}{}}};\n",
        function("limb", &field.q),
        function("one", &field.one),
        function("r2", &field.r2),
    )
}

/// A named curve, by its [name](Curve::name).
impl FromStr for Curve {
    type Err = MsmError;

    fn from_str(name: &str) -> Result<Self, MsmError> {
        let bn254 = [Self::bn254(), Self::bn254_g2()];
        let bls12 = [Self::bls12_381(), Self::bls12_381_g2(), Self::bls12_377()];
        let others = [Self::pallas(), Self::vesta(), Self::secp256k1(), Self::sm2()];
        let found = bn254.into_iter().chain(bls12).chain(others).find(|curve| curve.name() == name);
        found.ok_or_else(|| MsmError::Curve { name: name.into(), why: "there is no curve of this name" })
    }
}

impl fmt::Debug for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
