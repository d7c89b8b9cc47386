//! Transforms, products and conversions of secret residue polynomials in every arithmetic, and timings of transforms.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use rand_core::TryRng;
use ringforge::kernels::{KernelLayout, Role};
use ringforge::words::{Transform, Word, shake128, shake256};
use ringforge::{Engine, Form, Job, Limits, Op, Order, Plan, Planner, PolyType, U256};
use ringforge_cpu::level::{self, Level};

use crate::secrets::{Bytes, Told, opened, tell};

type Outcome = Result<(), Box<dyn Error>>;

/// Rings whose residues are computed in 4-byte words: every arithmetic of at most 31 bits, with leaf degree 1 and
/// higher.
const OF_32_BITS: &[&str] = &[
    "3329 : x^256 + 1",
    "12289 : x^1024 + 1",
    "65521 : x^56 - 1",
    "998244353 : x^1024 + 1",
    "1073741689 : x^56 - 1",
    "2013265921 : x^1024 - 1",
    "163 : x^54 - 1",
];
/// Rings whose residues are computed in 8-byte words: moduli of up to 62 bits, of 64 bits, and Goldilocks.
const OF_64_BITS: &[&str] = &[
    "4293918721 : x^1024 + 1",
    "1125899906826241 : x^1024 + 1",
    "1152921504606830593 : x^1024 + 1",
    "18446744069414584321 : x^1024 - 1",
    "18446744073692774401 : x^1024 + 1",
];
/// Rings whose residues are computed in 32-byte words, with and without a spare bit above the modulus.
const OF_256_BITS: &[&str] = &[
    "52435875175126190479447740508185965837690552500527637822603658699938581184513 : x^256 - 1",
    "115792089237316195423570985008687907853269984665640564039457584007913129636801 : x^32 - 1",
];

/// Rings without an NTT; their products are computed via a larger NTT.
const LIFTED: &[&str] = &[
    "4591 : x^17 - x - 1",
    "8192 : x^64 + 1",
    "18446744073709551615 : x^9 - 3x^8 + 5",
    "57896044618658097711785492504343953926634992332820282019728792003956564819949 : x^9 - x - 1",
];

/// Rings whose residue polynomials exceed 32 KiB, the size of the nearest cache.
const LONG: &[&str] = &[
    "2013265921 : x^16384 - 1",
    "1152921504606830593 : x^8192 + 1",
    "18446744069414584321 : x^8192 - 1",
    "52435875175126190479447740508185965837690552500527637822603658699938581184513 : x^2048 - 1",
];

/// RNS rings for pipelines: with moduli of 30 bits, with moduli of 60 bits, and with both sizes.
const PIPELINES: &[&str] = &[
    "998244353,1004535809,469762049 : x^32 + 1",
    "1152921504606830593,1152921504606748673,1152921504606683137 : x^32 + 1",
    "1152921504606830593,12289,1152921504606748673 : x^32 + 1",
];

/// RNS rings for conversions between bases.
const BASES: &[&str] = &[
    "12289, 18433, 1152921504606830593 : x^32 + 1",
    "4, 3, 25, 49, 121 : x^32 + 1",
    "1152921504606830593, 1152921504606748673, 1152921504606683137 : x^32 + 1",
    "256, 81 : x^32 + 1",
    // moduli too large for the code path for few small moduli
    "2305843009213693951, 18446744073709551615, 97 : x^32 + 1",
];

/// Sets the instruction set of this process: `detected`, `baseline` or `avx2`.
pub(crate) fn choose(level: &str) -> Outcome {
    let level = match level {
        "detected" => Level::Detected,
        "baseline" => Level::Baseline,
        "avx2" => Level::Avx2,
        other => return Err(format!("unknown level {other}: use detected, baseline or avx2").into()),
    };
    // SAFETY: the test requests AVX2 only if the CPU has it.
    #[allow(unsafe_code)]
    unsafe {
        level::set(level);
    }
    Ok(())
}

fn rings(texts: &[&str]) -> impl Iterator<Item = Result<PolyType, Box<dyn Error>>> {
    texts.iter().map(|text| Ok(text.parse()?))
}

/// Returns the transform of a ring's first modulus, and a residue polynomial of zeros.
fn row<W: Word>(ring: &PolyType) -> Result<(Transform<W>, Vec<W>), Box<dyn Error>> {
    let transform = Transform::of(&KernelLayout::of(ring, &Limits::cpu())?, 0)?;
    Ok((transform, vec![W::zeroed(); ring.degree()]))
}

/// Runs every operation of [`Transform`] on a secret residue polynomial of each ring.
fn transforms<W: Word>(texts: &[&str], rng: &mut Bytes) -> Outcome {
    for ring in rings(texts) {
        let (transform, mut a) = row::<W>(&ring?)?;
        rng.try_fill_bytes(bytemuck::cast_slice_mut(&mut a))?;
        transform.forward(&mut a)?;
        let b = a.clone();
        transform.multiply(&mut a, &b)?;
        let (matrix, vector, mut product) = ([&*a, &*b].concat(), [&*b, &*a].concat(), a.clone());
        transform.multiply_matrix(&matrix, &vector, &mut product)?;
        black_box(product);
        // fails for leaves of degree 7, which cannot be inverted
        black_box(transform.invert(&mut a).is_ok());
        transform.inverse(&mut a)?;
        tell(bytemuck::cast_slice_mut(&mut a), Told::Public);
    }
    Ok(())
}

/// Hashes secret inputs, one alone and several at once.
fn hashes(rng: &mut Bytes) -> Outcome {
    for count in [1, 3, 4] {
        let (mut inputs, mut out) = (vec![0; count * 34], vec![0; count * 200]);
        rng.try_fill_bytes(&mut inputs)?;
        shake128(count, &inputs, &mut out)?;
        shake256(count, &inputs, &mut out)?;
        tell(&mut out, Told::Public);
    }
    Ok(())
}

/// Plans a job and runs it on secret inputs.
fn job(job: &Job, rng: &mut Bytes) -> Outcome {
    run(&Planner::new(Limits::cpu()).plan(job)?, rng)
}

/// Runs a plan on secret inputs.
fn run(plan: &Plan, rng: &mut Bytes) -> Outcome {
    let program = Engine::cpu().device().compile(plan)?;
    let mut args: Vec<_> = program.plan().args().iter().map(|arg| (arg.clone(), vec![0; arg.bytes])).collect();
    let mut call = program.on_host(1);
    for (arg, bytes) in &mut args {
        if arg.role != Role::Out {
            rng.try_fill_bytes(bytes)?;
        }
        call = match arg.role {
            Role::In => call.input(&arg.name, bytes),
            _ => call.output(&arg.name, bytes),
        };
    }
    call.run()?;
    args.into_iter().for_each(|(_, bytes)| drop(opened(bytes)));
    Ok(())
}

/// Runs pipelines on secret elements of RNS rings: sums, products, automorphisms, inner products with keys, quotients,
/// digits, and conversions to other rings.
fn pipelines(rng: &mut Bytes) -> Outcome {
    for text in PIPELINES {
        let engine = Engine::cpu();
        let ring: PolyType = text.parse()?;
        let two = ring.vector(2)?;
        let p = engine.pipeline("operations on secrets");
        let [a, b] = ["a", "b"].map(|name| p.coefficients(name, &ring));
        let keys = p.evaluations("keys", &ring.vector(4)?, Order::DigitReversed);
        p.output("sum", a + b - a.scale(&[U256::from(5u32)]));
        p.output("turned", b.automorphism(3));
        p.output("turned values", b.forward().automorphism(5).inverse());
        let pair = p.evaluations("pair", &two, Order::DigitReversed);
        p.output("inner products", pair.inner_product(&ring, keys, 2).inverse());
        p.output("quotient", a.divide_round(1));
        p.output("raised", a.limbs(0..1).raise(1, &ring).vector());
        let [tensor, square] = pair.tensor(pair);
        p.output("tensor product", tensor.inverse());
        p.output("square", square.inverse());
        p.output("digits", a.digits(7, &ring));
        p.output("product and sum", a.forward().mul_add(b.forward(), (a + b).forward()).inverse());
        run(&p.build()?, rng)?;
    }
    let [short, long]: [PolyType; 2] = ["2013265921:x^64-1".parse()?, "2013265921:x^128-1".parse()?];
    let p = Engine::cpu().pipeline("an extension of a secret");
    p.output("values", p.coefficients("a", &short).extend(&long).forward_to(Order::Natural));
    run(&p.build()?, rng)
}

/// Runs pipelines, transforms, products (with an NTT in the ring or via a larger NTT) and conversions between bases on
/// secrets.
pub(crate) fn all(rng: &mut Bytes) -> Outcome {
    pipelines(rng)?;
    // residue polynomials that exceed the nearest cache
    for ring in rings(LONG) {
        let ring = ring?;
        for op in [Op::Forward, Op::Inverse, Op::Mul] {
            job(&Job::new(&ring, op), rng)?;
        }
        job(&Job::new(&ring, Op::Forward).order(Order::Natural), rng)?;
    }
    hashes(rng)?;
    transforms::<u32>(OF_32_BITS, rng)?;
    transforms::<u64>(OF_64_BITS, rng)?;
    transforms::<[u64; 4]>(OF_256_BITS, rng)?;
    for ring in [OF_32_BITS, OF_64_BITS, OF_256_BITS].into_iter().flat_map(rings) {
        let ring = ring?;
        for op in [Op::Forward, Op::Inverse, Op::PointMul, Op::MulAdd, Op::Mul] {
            if Planner::new(Limits::cpu()).plan(&Job::new(&ring, op)).is_ok() {
                job(&Job::new(&ring, op), rng)?;
            }
        }
        // also in natural order, if the ring supports it, and with other input ranges and forms
        let natural = Job::new(&ring, Op::Forward).order(Order::Natural);
        if Planner::new(Limits::cpu()).plan(&natural).is_ok() {
            job(&natural, rng)?;
        }
        job(&Job::new(ring.clone().accepting_any_word(), Op::Forward), rng)?;
        if let Ok(ring) = ring.with_form(Form::Montgomery) {
            job(&Job::new(&ring, Op::Mul), rng)?;
        }
    }
    for ring in rings(LIFTED) {
        job(&Job::new(&ring?, Op::Mul), rng)?;
    }
    let bases = rings(BASES).collect::<Result<Vec<_>, _>>()?;
    for from in &bases {
        job(&Job::new(from, Op::Compose), rng)?;
        job(&Job::new(from, Op::Decompose), rng)?;
        for to in bases.iter().filter(|to| *to != from) {
            for op in [Op::Convert, Op::ConvertCentred, Op::ConvertFast] {
                job(&Job::new(from, op).to(to), rng)?;
            }
        }
    }
    Ok(())
}

/// Returns the median times of transforms of a residue polynomial of zeros and of a random one, measured alternately.
fn medians<W: Word>(ring: &PolyType) -> Result<[f64; 2], Box<dyn Error>> {
    const RUNS: usize = 201;
    let (transform, zeros) = row::<W>(ring)?;
    let mut random = zeros.clone();
    let mut state = 1u64;
    for byte in bytemuck::cast_slice_mut::<W, u8>(&mut random) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = (state >> 56) as u8;
    }
    // a forward transform reduces the random words below q
    transform.forward(&mut random)?;
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..RUNS {
        for (times, row) in times.iter_mut().zip([&zeros, &random]) {
            let mut row = row.clone();
            let start = Instant::now();
            transform.forward(&mut row)?;
            transform.inverse(black_box(&mut row))?;
            times.push(start.elapsed().as_secs_f64());
            black_box(row);
        }
    }
    Ok(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[RUNS / 2]
    }))
}

/// Prints one line per ring: the median transform time of zeros, that of random residues, both in microseconds, and the
/// ring.
pub(crate) fn times() -> Outcome {
    for (bytes, texts) in [(4, OF_32_BITS), (8, OF_64_BITS), (32, OF_256_BITS)] {
        for ring in rings(texts) {
            let ring = ring?;
            let [zeros, random] = match bytes {
                4 => medians::<u32>(&ring)?,
                8 => medians::<u64>(&ring)?,
                _ => medians::<[u64; 4]>(&ring)?,
            };
            println!("{} {} {ring}", 1e6 * zeros, 1e6 * random);
        }
    }
    Ok(())
}
