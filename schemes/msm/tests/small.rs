//! Tests all sums of two multiples on a small curve, against its addition table.

use ringforge::Engine;
use ringforge_msm::{Bases, Check, Curve, MsmError, ScalarForm};
use ringforge_testkit::Target;

const Q: u64 = 13;

/// A point of the curve; `None` for infinity.
type Point = Option<(u64, u64)>;

fn power(x: u64, e: u64) -> u64 {
    (0..e).fold(1, |product, _| product * x % Q)
}

/// Returns p + q on the curve with this coefficient a.
fn add(a: u64, p: Point, q: Point) -> Point {
    let (Some((x1, y1)), Some((x2, y2))) = (p, q) else { return p.or(q) };
    let (rise, run) = match x1 == x2 {
        true if (y1 + y2) % Q == 0 => return None,
        true => (3 * x1 * x1 + a, 2 * y1),
        false => (y2 + Q - y1, x2 + Q - x1),
    };
    let slope = rise % Q * power(run % Q, Q - 2) % Q;
    let x = (slope * slope + 2 * Q - x1 - x2) % Q;
    Some((x, (slope * (x1 + Q - x) + Q - y1) % Q))
}

fn points(a: u64, b: u64) -> Vec<Point> {
    let on_curve = |(x, y): &(u64, u64)| y * y % Q == (x * x * x + a * x + b) % Q;
    let all = (0..Q).flat_map(|x| (0..Q).map(move |y| (x, y))).filter(on_curve).map(Some);
    [None].into_iter().chain(all).collect()
}

/// Checks every sum s P + t R on the curve, for all points P and R and all s and t below its order.
fn check(engine: &Engine, a: u64, b: u64) {
    let points = points(a, b);
    let order = points.len() as u64;
    let limb = |x: u64| [x, 0, 0, 0];
    let curve = Curve::new("small", &limb(Q), None, [&limb(a), &limb(b)], limb(order), false).expect("a curve");
    let bytes = |point: Point| point.map_or(vec![0xff; 64], |(x, y)| curve.point(&[x], &[y]));
    let scalars: Vec<[u64; 4]> = (0..order).flat_map(|s| (0..order).flat_map(move |t| [limb(s), limb(t)])).collect();
    let multiples = |point: Point| {
        core::iter::successors(Some(None), |multiple| Some(add(a, *multiple, point)))
            .take(order as usize)
            .collect::<Vec<Point>>()
    };
    for &p in &points {
        for &r in &points {
            let bases = Bases::upload(engine, &curve, &[bytes(p), bytes(r)].concat(), Check::OnCurve).expect("points");
            let batch = (order * order) as usize;
            let sums = bases.msm_batch(bytemuck::cast_slice(&scalars), ScalarForm::Plain, batch).expect("sums");
            let (p, r) = (multiples(p), multiples(r));
            let expected = p.iter().flat_map(|p| r.iter().flat_map(|r| bytes(add(a, *p, *r))));
            assert!(sums == expected.collect::<Vec<u8>>(), "y² = x³ + {a} x + {b}");
        }
    }
}

#[test]
fn every_sum_on_small_curves() {
    for device in [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device) {
        let engine = Engine::on(device);
        // curves of prime order, with a = 0 and with another a
        let curves = (0..Q).flat_map(|a| (1..Q).map(move |b| (a, b)));
        let mut prime = curves.filter(|&(a, b)| matches!(points(a, b).len(), 7 | 11));
        let first = prime.find(|(a, _)| *a == 0).or_else(|| prime.next());
        let second = prime.find(|(a, _)| *a != 0);
        for (a, b) in first.into_iter().chain(second) {
            check(&engine, a, b);
        }
        assert!(first.is_some() && second.is_some(), "there are curves");
    }
}

#[test]
fn curves_are_found_by_their_names() {
    let named = [Curve::bn254(), Curve::bn254_g2(), Curve::bls12_381(), Curve::bls12_381_g2(), Curve::bls12_377()];
    for curve in named.into_iter().chain([Curve::pallas(), Curve::vesta(), Curve::secp256k1(), Curve::sm2()]) {
        assert_eq!(curve.name().parse(), Ok(curve));
    }
    assert!(matches!("bn256".parse::<Curve>(), Err(MsmError::Curve { .. })));
}

/// Checks the numbers of the named curves that arkworks' crates do not cover: (r − 1) G + G is infinity.
#[test]
fn generators_have_the_order_of_their_curve() {
    let limbs = |digits: &str| -> Vec<u64> {
        (0..4).rev().map(|i| u64::from_str_radix(&digits[16 * i..16 * (i + 1)], 16).expect("digits")).collect()
    };
    let secp256k1 = [
        "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
        "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8",
    ];
    let sm2 = [
        "32c4ae2c1f1981195f9904466a39c9948fe30bbff2660be1715a4589334c74c7",
        "bc3736a2f4f6779c59bdcee36b692153d0a9877cc62a474002df32e52139f0a0",
    ];
    for device in [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device) {
        let engine = Engine::on(device);
        for (curve, generator) in [(Curve::secp256k1(), secp256k1), (Curve::sm2(), sm2)] {
            let [x, y] = generator.map(limbs);
            let points = curve.point(&x, &y).repeat(2);
            let bases = Bases::upload(&engine, &curve, &points, Check::OnCurve).expect("the generator is on the curve");
            let [low, rest @ ..] = curve.order();
            let sum = |first: u64| {
                let scalars = [[first, rest[0], rest[1], rest[2]], [1, 0, 0, 0]];
                bases.msm(bytemuck::cast_slice(&scalars), ScalarForm::Plain).expect("a sum")
            };
            assert_eq!(sum(low - 1), vec![0xff; 64], "{curve:?}");
            assert_ne!(sum(low - 2), vec![0xff; 64], "{curve:?}");
        }
    }
}
