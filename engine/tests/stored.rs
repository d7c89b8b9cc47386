//! Rings that store residues in other forms than the default, in many arithmetics: slow reference code, the CPU and the
//! CUDA source agree.

use rayon::prelude::*;
use ringforge::factorization::Factorization;
use ringforge::{Device, Engine, Error, Form, Job, Limits, Op, Order, Planner, PolyType, Result};
use ringforge_testkit::naive;
use ringforge_testkit::run;
use ringforge_testkit::{Target, residues, seed};

/// The order of the scalar field of BLS12-381, and the largest prime below 2^256 that is 1 modulo 64.
const WIDE: [&str; 2] = [
    "0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001",
    "0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff3c1",
];

/// Rings that have an NTT, in many arithmetics: leaf degree 1 and higher; one modulus or several; duplicate limbs.
fn splitting() -> Vec<String> {
    let narrow = [
        "3329:x^16+1",                // Mod16
        "65521:x^56-1",               // sums of products overflow
        "97:x^24-1",                  // leaf degree 3
        "998244353:x^32+1",           // Mod32
        "469762049:x^40-1",           // leaf degree 5
        "1073740609:x^96-x^48+1",     // the first layer is `Layer::Sixth`
        "2013265921:x^32-1",          // Mod31
        "2013265921:x^4-11",          // a single leaf
        "2147483647:x^9-1",           // the largest 31-bit modulus, radix 3
        "4293918721:x^32-1",          // Mod64, stored in 32 bits
        "1125899906826241:x^32+1",    // Mod50 where doubles are fast
        "1152921504606830593:x^32+1", // Mod64
        "1152921504606830593:x^40-1",
        "18446744069414584321:x^32+1", // Goldilocks
        "18446744069414584321:x^40-1",
        "18446744073692774401:x^32+1", // Mod64Full
        "18446744073692774401:x^48-1",
        "18446744069414584321,12289,18433:x^32+1",
        "1152921504606830593,12289,97#0,1,0,2,2:x^16+1",
    ];
    let wide = WIDE.iter().flat_map(|q| ["x^32-1", "x^12-1"].map(|f| format!("{q}:{f}")));
    let mixed = format!("{},18446744069414584321,12289:x^8+1", WIDE[0]);
    narrow.iter().map(ToString::to_string).chain(wide).chain([mixed]).collect()
}

/// Rings whose products use a larger NTT, with and without reduction modulo f, including rings with even moduli.
fn lifted() -> Vec<String> {
    let even = format!("{}:x^10-3*x^8+x^7+5", "0x8000000000000000000000000000000000000000000000000000000000000000");
    let ones = format!("0x{}:x^9-x-1", "f".repeat(64));
    let narrow = [
        "8192:x^16+1",
        "4591:x^17-x-1",
        "4294967296:x^8+1",
        "4294967295:x^9-x-1",
        "18446744073709551615:x^9-3x^8+5",
        "18446744073709551615,4591:x^9-x-1",
    ];
    narrow.iter().map(ToString::to_string).chain([even, ones]).collect()
}

/// A ring in every stored form except the default.
fn ways(text: &str) -> Vec<PolyType> {
    let all = ["any word", "montgomery", "montgomery, any word", "plain", "plain, any word"];
    let mut rings: Vec<PolyType> = vec![text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))];
    for ring in all.iter().filter_map(|how| format!("{text}:{how}").parse().ok()) {
        if !rings.contains(&ring) {
            rings.push(ring);
        }
    }
    // 16-bit and even moduli have only the plain form; all others have both
    assert!(matches!(rings.len(), 2 | 4), "{text}: {rings:?}");
    rings.split_off(1)
}

fn check_transforms(device: &Device, ring: &PolyType, order: Order, seed: u64) {
    let factorization = Factorization::of(ring, None).unwrap_or_else(|e| panic!("{ring}: {e}"));
    let samples = [1, 2, 3].map(|number| residues(ring, seed.wrapping_add(number), 3));
    let [a, b, c] = samples.each_ref().map(|bytes| naive::to_plain(ring, bytes));
    let job = |op| Job::new(ring, op).order(order);
    let check = |op: Op, inputs: &[&[u8]], wanted: &[ringforge::U256]| {
        let found = run(device, &job(op), 3, inputs);
        assert!(found == naive::to_stored(ring, wanted), "{op} {ring} {order} on {device}");
    };
    let [x, y, z] = samples.each_ref().map(|bytes| &**bytes);
    check(Op::Forward, &[x], &naive::forward(ring, &factorization, order, &a));
    let product = naive::point_mul(ring, &factorization, order, &a, &b);
    check(Op::PointMul, &[x, y], &product);
    check(Op::MulAdd, &[x, y, z], &naive::add(ring, &product, &c));
    // checks the inverse transform of arbitrary words by a forward transform of its result
    let back = naive::to_plain(ring, &run(device, &job(Op::Inverse), 3, &[x]));
    assert!(naive::forward(ring, &factorization, order, &back) == a, "inverse {ring} {order} on {device}");
    check(Op::Inverse, &[x], &back);
}

fn check_products(device: &Device, ring: &PolyType, seed: u64) {
    let [a, b] = [4, 5].map(|number| residues(ring, seed.wrapping_add(number), 3));
    let wanted = naive::mul(ring, &naive::to_plain(ring, &a), &naive::to_plain(ring, &b));
    let found = run(device, &Job::new(ring, Op::Mul), 3, &[&a, &b]);
    assert!(found == naive::to_stored(ring, &wanted), "mul {ring} on {device}");
}

/// The stored forms in which each ring is tested: all of them, or a single one. The index of the single one advances
/// from ring to ring, starting at this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ways {
    All,
    InTurn(usize),
}

impl Ways {
    fn of(self, texts: &[String]) -> Vec<PolyType> {
        let chosen = |(i, text): (usize, &String)| match (self, ways(text)) {
            (Self::All, rings) => rings,
            (Self::InTurn(first), rings) => vec![rings[(first + i) % rings.len()].clone()],
        };
        texts.iter().enumerate().flat_map(chosen).collect()
    }
}

fn check(target: Target, ways: Ways) {
    let Some(device) = target.device() else { return };
    let seed = seed();
    let rings = ways.of(&splitting());
    rings.par_iter().for_each(|ring| {
        check_transforms(&device, ring, Order::DigitReversed, seed);
        check_products(&device, ring, seed);
        if target == Target::Cpu {
            check_transforms(&device, ring, Order::Natural, seed);
        }
    });
    let rings = ways.of(&lifted());
    rings.par_iter().for_each(|ring| check_products(&device, ring, seed));
}

#[test]
fn cpu() {
    check(Target::Cpu, Ways::All);
}

#[test]
fn emulator() {
    check(Target::Emulator, Ways::InTurn(0));
}

#[test]
fn emulator_sanitized() {
    check(Target::EmulatorSanitized, Ways::InTurn(1));
}

#[test]
fn cuda() {
    check(Target::Cuda, Ways::All);
}

/// 50-bit primes in Montgomery form use doubles; rings that accept any word do not.
#[test]
fn every_arithmetic_is_covered() -> Result<()> {
    let limits = Limits::of_capability(90);
    let arithmetic = |text: &str| -> Result<ringforge::kernels::Arithmetic> {
        Ok(ringforge::kernels::Arithmetic::of_device(text.parse::<PolyType>()?, &limits))
    };
    use ringforge::kernels::Arithmetic::{Mod50, Mod61, Mod255, Mod256};
    assert_eq!(arithmetic("1125899906826241:x^32+1:montgomery")?, Mod50);
    assert_eq!(arithmetic("1125899906826241:x^32+1:any word")?, Mod61);
    assert_eq!(arithmetic(&format!("{}:x^32-1:plain, any word", WIDE[0]))?, Mod255);
    assert_eq!(arithmetic(&format!("{}:x^32-1:plain, any word", WIDE[1]))?, Mod256);
    Ok(())
}

/// Bounds on operands save auxiliary primes if residues are plain. In other forms bounds are ignored, and products are
/// still correct.
#[test]
fn bounds_are_for_plain_residues() -> Result<()> {
    for how in ["plain", "montgomery", "plain, any word", "montgomery, any word"] {
        let ring: PolyType = format!("4294967295:x^9-x-1:{how}").parse()?;
        let small: Vec<_> = (0..9u32).map(|i| ringforge::U256::from(i % 4)).collect();
        let stored = naive::to_stored(&ring, &small);
        let job = Job::new(&ring, Op::Mul).bounds(3, 3);
        let wanted = naive::to_stored(&ring, &naive::mul(&ring, &small, &small));
        assert!(run(&Device::cpu(), &job, 1, &[&stored, &stored]) == wanted, "{how}");
    }
    Ok(())
}

#[test]
fn mismatched_storage_is_named() -> Result<()> {
    let rings: [PolyType; 3] =
        ["2013265921:x^8-1".parse()?, "2013265921:x^8-1:montgomery".parse()?, "2013265921:x^8-1:any word".parse()?];
    let engine = Engine::cpu();
    let elements = rings.iter().map(|ring| engine.upload(ring, &[1u32; 8])).collect::<Result<Vec<_>>>()?;
    let p = Planner::default().pipeline("mixed");
    for (i, ring) in rings.iter().enumerate() {
        for (j, other) in rings.iter().enumerate().filter(|(j, _)| *j != i) {
            let why = elements[i].mul(&elements[j]).expect_err("another ring").to_string();
            assert!(why.contains(&ring.to_string()) && why.contains(&other.to_string()), "{why}");
        }
    }
    p.output("product", p.coefficients("a", &rings[0]) * p.coefficients("b", &rings[1]));
    let why = p.build().expect_err("another ring").to_string();
    assert!(why.contains("Montgomery form"), "{why}");
    // reduced residues are required only by rings that do not accept any word
    assert!(matches!(engine.upload(&rings[1], &[u32::MAX; 8]), Err(Error::Argument { .. } | Error::NotReduced { .. })));
    engine.upload(&rings[2], &[u32::MAX; 8])?;
    rings[2].check(&[u32::MAX; 8])?;
    assert!(matches!(rings[2].check(&[u32::MAX; 7]), Err(Error::Length { .. })));
    let sixteen: PolyType = "3329:x^256+1".parse()?;
    assert!(matches!(sixteen.with_form(Form::Montgomery), Err(Error::Ring { .. })));
    Ok(())
}
