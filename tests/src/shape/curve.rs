//! A kernel without any ring: scalar times point on the SM2 curve, an item a thread.

use core::ops::Range;

use num_bigint::BigUint;
use ringforge::kernels::{Args, Arithmetic, Built, Kernel, Launch, Port, Source};
use ringforge::testkit::{Named, NamedPlan, Random};
use ringforge::{Limits, Modulus, Result, U256};

use super::{from_bytes, to_bytes};
use crate::one_step;

/// The prime of the curve y² = x³ − 3x + b.
pub const P: &str = "fffffffeffffffffffffffffffffffffffffffff00000000ffffffffffffffff";
/// The number of its points.
pub const ORDER: &str = "fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123";
/// The base point.
pub const BASE: [&str; 2] = [
    "32c4ae2c1f1981195f9904466a39c9948fe30bbff2660be1715a4589334c74c7",
    "bc3736a2f4f6779c59bdcee36b692153d0a9877cc62a474002df32e52139f0a0",
];

const PORTS: &[Port] = &[Port::input(32), Port::input(64), Port::output(64)];

/// Scalars in (plain), points in and out: x and y in Montgomery form, both zero at infinity.
#[derive(Debug)]
pub struct Curve {
    q: Modulus,
}

/// None is the point at infinity.
type Point = Option<(U256, U256)>;

impl Curve {
    fn add(&self, a: &Point, b: &Point) -> Point {
        let q = &self.q;
        let (Some((x, y)), Some((u, v))) = (a, b) else { return a.or(*b) };
        let (rise, run) = match (x == u, y == v) {
            (true, true) => {
                let xx = q.mul(x, x);
                let three = q.sub(&q.add(&xx, &q.add(&xx, &xx)), &U256::from(3u32));
                (three, q.add(y, y))
            }
            _ => (q.sub(v, y), q.sub(u, x)),
        };
        let slope = q.mul(&rise, &q.inverse(&run)?);
        let sum = q.sub(&q.sub(&q.mul(&slope, &slope), x), u);
        Some((sum, q.sub(&q.mul(&slope, &q.sub(x, &sum)), y)))
    }

    fn multiply(&self, scalar: &U256, point: &Point) -> Point {
        (0..scalar.bits_vartime()).rev().fold(None, |sum, bit| {
            let double = self.add(&sum, &sum);
            if scalar.bit_vartime(bit) { self.add(&double, point) } else { double }
        })
    }
}

impl Kernel for Curve {
    fn name(&self) -> &'static str {
        "curve"
    }

    fn ports(&self) -> &[Port] {
        PORTS
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let header = Arithmetic::Mod256.header();
        let field = Arithmetic::Mod256.initializer(&self.q);
        let a = to_bytes(&self.q.to_montgomery(&self.q.reduce_i64(-3)));
        let a: Vec<String> = a
            .chunks_exact(4)
            .map(|b| format!("{}u", b.iter().rev().fold(0, |x: u32, &byte| x << 8 | u32::from(byte))))
            .collect();
        let prelude = format!(
            "#pragma once\n#include \"{header}\"\nstruct Task {{\n    \
             static RF_METHOD rf::Mod256 field() {{ return {field}; }}\n    \
             static RF_METHOD rf::u256 a() {{ return {{{{{}}}}}; }}\n}};\n",
            a.join(", ")
        );
        let built = Built { prelude, launch: Launch::thread_per_item(32) };
        // SAFETY: a thread of curve.cu reads and writes the points of its own item.
        Ok(unsafe { Source::new(self, include_str!("curve.cu"), &[], built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let q = &self.q;
        // from Montgomery form: times 2^-256
        let back = q.from_montgomery(&U256::ONE).unwrap_or(U256::ONE);
        let plain = |bytes: &[u8]| q.mul(&from_bytes(bytes), &back);
        args.each(items, |_, (scalar, point, out): (&[u8], &[u8], &mut [u8])| {
            let point = point.iter().any(|&byte| byte != 0).then(|| (plain(&point[..32]), plain(&point[32..])));
            let (x, y) = self.multiply(&from_bytes(scalar), &point).unwrap_or_default();
            out[..32].copy_from_slice(&to_bytes(&q.to_montgomery(&x)));
            out[32..].copy_from_slice(&to_bytes(&q.to_montgomery(&y)));
            Ok(())
        })
    }
}

/// The same in big integers, from the lowest bit of the scalar up.
#[derive(Debug, Clone)]
pub struct Oracle {
    p: BigUint,
    order: BigUint,
    base: (BigUint, BigUint),
    /// 2^256 and its inverse mod p.
    form: [BigUint; 2],
}

type BigPoint = Option<(BigUint, BigUint)>;

impl Default for Oracle {
    fn default() -> Self {
        let number = |digits: &str| BigUint::parse_bytes(digits.as_bytes(), 16).unwrap_or_default();
        let p = number(P);
        let r: BigUint = (BigUint::from(1u32) << 256u32) % &p;
        let form = [r.clone(), invert(&r, &p)];
        Self { form, p, order: number(ORDER), base: (number(BASE[0]), number(BASE[1])) }
    }
}

fn invert(x: &BigUint, p: &BigUint) -> BigUint {
    x.modpow(&(p - 2u32), p)
}

impl Oracle {
    fn add(&self, a: &BigPoint, b: &BigPoint) -> BigPoint {
        let p = &self.p;
        let (Some((x, y)), Some((u, v))) = (a, b) else { return a.clone().or_else(|| b.clone()) };
        if x == u && ((y + v) % p) == BigUint::ZERO {
            return None;
        }
        let slope = if x == u {
            (x * x * 3u32 + p - 3u32) * invert(&(y * 2u32), p)
        } else {
            (v + p - y) * invert(&(u + p - x), p)
        };
        let slope = slope % p;
        let sum = (&slope * &slope + p * 2u32 - x - u) % p;
        let height = (slope * (x + p - &sum) + p - y) % p;
        Some((sum, height))
    }

    /// Scalar times point.
    #[must_use]
    pub fn multiply(&self, scalar: &BigUint, point: &BigPoint) -> BigPoint {
        let (mut sum, mut double) = (None, point.clone());
        for bit in 0..scalar.bits() {
            if scalar.bit(bit) {
                sum = self.add(&sum, &double);
            }
            double = self.add(&double, &double);
        }
        sum
    }

    fn bytes(&self, point: &BigPoint) -> Vec<u8> {
        let (x, y) = point.clone().unwrap_or_default();
        let stored = |x: BigUint| {
            let mut bytes = (x * &self.form[0] % &self.p).to_bytes_le();
            bytes.resize(32, 0);
            bytes
        };
        [stored(x), stored(y)].concat()
    }

    fn point(&self, bytes: &[u8]) -> BigPoint {
        let plain = |bytes: &[u8]| BigUint::from_bytes_le(bytes) * &self.form[1] % &self.p;
        bytes.iter().any(|&byte| byte != 0).then(|| (plain(&bytes[..32]), plain(&bytes[32..])))
    }

    /// Scalars at which additions meet infinity, the point itself or its negative; then random ones. Points: few
    /// multiples of the base, infinity among them.
    fn sample(&self, seed: u64, batch: usize) -> Vec<(&'static str, Vec<u8>)> {
        let mut random = Random::new(seed);
        let edges: Vec<BigUint> = [0u32, 1, 2, 3]
            .into_iter()
            .flat_map(|x| [BigUint::from(x), (&self.order + 1u32) - x, (BigUint::from(1u32) << 256u32) - 1u32 - x])
            .collect();
        let mut points: Vec<Vec<u8>> = (0..6u32)
            .map(|_| self.bytes(&self.multiply(&BigUint::from(random.bits()), &Some(self.base.clone()))))
            .collect();
        points.push(vec![0; 64]);
        let (mut scalars, mut chosen) = (Vec::new(), Vec::new());
        for item in 0..batch {
            let scalar = match item % 2 {
                0 => edges[random.below(edges.len())].to_bytes_le(),
                _ => (0..4).flat_map(|_| random.bits().to_le_bytes()).collect(),
            };
            scalars.extend(scalar.iter().copied().chain(core::iter::repeat(0)).take(32));
            chosen.extend_from_slice(&points[random.below(points.len())]);
        }
        vec![("scalars", scalars), ("points", chosen)]
    }
}

/// The plan, with an oracle in big integers.
///
/// # Errors
/// What makes the plan fail.
pub fn plan() -> Result<NamedPlan> {
    let plan = one_step(Curve { q: Modulus::from_hex(P)? }, &["scalars", "points", "products"])?;
    let (oracle, sampler) = (Oracle::default(), Oracle::default());
    let expected = move |_, inputs: &Named| {
        let items = inputs["scalars"].chunks_exact(32).zip(inputs["points"].chunks_exact(64));
        let product = |(scalar, point): (&[u8], &[u8])| {
            oracle.bytes(&oracle.multiply(&BigUint::from_bytes_le(scalar), &oracle.point(point)))
        };
        vec![("products", items.flat_map(product).collect())]
    };
    Ok(NamedPlan::new("curve", plan).sampled(move |seed, batch| sampler.sample(seed, batch)).expecting(expected))
}
