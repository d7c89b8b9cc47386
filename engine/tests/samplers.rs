//! Samplers: all devices compute the samples that the definition gives, samples have the right distribution, and no two
//! samplers use the same random block.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use ringforge::kernels::Distribution::{self, Binomial, FixedWeight, Gaussian, Ternary, Uniform};
use ringforge::{
    Device, Error, Form, Limits, Modulus, Pipeline, Plan, Planner, PolyType, Quotient, RandomKey, Result, Ring, Value,
};
use ringforge_testkit::{bytes, devices};

/// The order of BLS12-381's scalar field.
const BLS12_381: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

/// Rings of every width, in plain and in Montgomery form, with duplicate, tiny and even moduli.
fn rings() -> Result<Vec<PolyType>> {
    let q = |q: u64| Modulus::new(q);
    let rows = |moduli: &[Modulus], map: &[usize], n: usize| {
        Ring::new(moduli, Quotient::Cyclic { n }).and_then(|ring| PolyType::from(ring).with_limbs(map))
    };
    Ok(vec![
        rows(&[q(2)?, q(97)?, q(65_521)?], &[0, 1, 2, 1], 13)?,
        rows(&[q(2_013_265_921)?, q(u64::from(u32::MAX))?], &[0, 1], 16)?.with_form(Form::Montgomery)?,
        rows(&[q(1_152_921_504_606_830_593)?, q(12_289)?, q(3)?, q(1 << 63)?], &[2, 0, 1, 0, 3], 33)?,
        rows(&[q(u64::MAX)?], &[0], 1)?.with_form(Form::Montgomery)?,
        rows(&[Modulus::from_hex(BLS12_381)?, q(5)?, q(1 << 40)?], &[1, 0, 2], 7)?,
        rows(&[Modulus::from_hex(BLS12_381)?], &[0], 9)?.with_form(Form::Plain)?,
    ])
}

fn plan(limits: &Limits, make: impl FnOnce(&Pipeline)) -> Result<Plan> {
    let p = Planner::new(limits.clone()).pipeline("samples");
    make(&p);
    p.build()
}

/// The output of one sampler with this random key.
fn sampled(
    device: &Device,
    ring: &PolyType,
    distribution: Distribution,
    random_key: &[u8],
    batch: usize,
) -> Result<Vec<u8>> {
    let plan = plan(device.limits(), |p| p.output("sample", p.sample(ring, distribution, p.input("random_key"))))?;
    let mut out = vec![0; batch * ring.bytes()];
    device.compile(&plan)?.on_host(batch).input("random_key", random_key).output("sample", &mut out).run()?;
    Ok(out)
}

/// Stored residues converted to plain residues, limb after limb.
fn values(ring: &PolyType, element: &[u8]) -> Vec<Vec<BigUint>> {
    let width = ring.width().bytes();
    let rows = element.chunks_exact(ring.degree() * width).zip(ring.basis());
    rows.map(|(row, q)| row.chunks_exact(width).map(|x| BigUint::from_bytes_le(x) * unit(ring, q) % big(q)).collect())
        .collect()
}

fn big(q: &Modulus) -> BigUint {
    BigUint::from_bytes_le(q.value().to_le_bytes().as_ref())
}

/// The factor that converts a stored residue to a plain one.
fn unit(ring: &PolyType, q: &Modulus) -> BigUint {
    let is_plain = ring.form() == Form::Plain || !q.is_odd();
    let radix = if is_plain { BigUint::from(1u32) } else { BigUint::from(1u32) << (8 * ring.width().bytes()) };
    radix.modinv(&big(q)).unwrap_or_default()
}

/// The samples of a distribution by its definition, in big integers: plain residues from these random blocks, limb
/// after limb.
fn defined(ring: &PolyType, distribution: Distribution, block: impl Fn(u32) -> [u8; 64]) -> Vec<Vec<BigUint>> {
    let n = ring.degree();
    if distribution == Uniform {
        let (each, bits) = if ring.width().bytes() == 32 { (1, 434) } else { (2, 192) };
        let groups = n.div_ceil(each);
        let residue = |row: usize, i: usize, q: &Modulus| {
            let block = block((row * groups + i / each) as u32);
            let number = BigUint::from_bytes_le(&block[24 * (i % each)..]);
            (number % (BigUint::from(1u32) << bits)) % big(q)
        };
        let rows = ring.basis().iter().enumerate();
        return rows.map(|(row, q)| (0..n).map(|i| residue(row, i, q)).collect()).collect();
    }
    let one = BigUint::from(1u32) << 128;
    let small = |i: usize| {
        let bits = u128::from_le_bytes(block(i as u32 / 4).as_chunks().0[i % 4]);
        let magnitude = match distribution {
            // of all 128-bit numbers, the largest P(|x| > m)·2^128 give a magnitude above m
            Ternary => usize::from(BigUint::from(bits) * 3u32 >= one),
            Binomial { eta } => {
                let ways = |k: u32| (0..k).fold(BigUint::from(1u32), |ways, j| ways * (2 * eta - j) / (j + 1));
                let at_most = |m: u32| (eta - m..=eta + m).map(ways).sum::<BigUint>() << (128 - 2 * eta);
                (0..eta).filter(|m| BigUint::from(bits) >= at_most(*m)).count()
            }
            _ => unreachable!("no other is defined here"),
        };
        if bits % 2 == 1 { -(magnitude as i64) } else { magnitude as i64 }
    };
    let small: Vec<i64> = match distribution {
        FixedWeight { weight } => of_weight(n, weight, &block),
        _ => (0..n).map(small).collect(),
    };
    let residue = |q: &Modulus, x: i64| BigUint::from_bytes_le(q.reduce_i64(x).to_le_bytes().as_ref());
    ring.basis().iter().map(|q| small.iter().map(|x| residue(q, *x)).collect()).collect()
}

/// Ternary integers of fixed weight. The random indices are those of the zeros or of the non-zeros, whichever are
/// fewer; the sign bits are in later blocks.
fn of_weight(n: usize, weight: usize, block: impl Fn(u32) -> [u8; 64]) -> Vec<i64> {
    let count = weight.min(n - weight);
    let mut places = BTreeSet::new();
    for i in (0..count).rev() {
        let bits = u128::from_le_bytes(block(i as u32 / 4).as_chunks().0[i % 4]);
        let place = (BigUint::from(bits) * (n - i)) >> 128u32;
        let place = i + usize::try_from(place).unwrap_or(n);
        if !places.insert(place) {
            places.insert(i);
        }
    }
    let sign = |i: usize| block((count.div_ceil(4) + i / 512) as u32)[i % 512 / 8] >> (i % 8) & 1;
    let is_chosen = |i: &usize| places.contains(i) == (weight <= n / 2);
    (0..n).map(|i| if is_chosen(&i) { 1 - 2 * i64::from(sign(i)) } else { 0 }).collect()
}

#[test]
fn elements_match_their_blocks() -> Result<()> {
    const BATCH: usize = 5;
    let keys = bytes(1, 2 * BATCH * RandomKey::BYTES);
    let (random_key, seeds) = keys.split_at(RandomKey::BYTES * BATCH);
    let random_key = &random_key[..RandomKey::BYTES];
    let own = |item: usize| RandomKey::from_bytes(&seeds[item * RandomKey::BYTES..][..RandomKey::BYTES]);
    for device in devices() {
        for ring in rings()? {
            let weight = ring.degree().div_ceil(3);
            for distribution in [Uniform, Ternary, FixedWeight { weight }, Binomial { eta: 2 }, Binomial { eta: 32 }] {
                let about = format!("{distribution} in {ring} on {device}");
                let all = sampled(&device, &ring, distribution, random_key, BATCH)?;
                for (item, found) in all.chunks_exact(ring.bytes()).enumerate() {
                    ring.check(found)?;
                    let random_key = RandomKey::from_bytes(random_key)?;
                    let block = |number| random_key.block_of_stream(1, item as u64, number);
                    assert_eq!(values(&ring, found), defined(&ring, distribution, block), "{about}, item {item}");
                }
                // a separate seed for each item, given as a view; and one seed shared by all items
                let plan = plan(device.limits(), |p| {
                    let pairs = p.bytes("pairs", 2 * RandomKey::BYTES);
                    p.output("own", p.sample(&ring, distribution, pairs.part(RandomKey::BYTES..2 * RandomKey::BYTES)));
                    let one = p.sample(&ring, distribution, p.shared("seed", RandomKey::BYTES));
                    p.output("one", one);
                })?;
                let pairs: Vec<u8> =
                    seeds.chunks_exact(RandomKey::BYTES).flat_map(|seed| [&[9; 32], seed].concat()).collect();
                let (mut each, mut one) = (vec![0; BATCH * ring.bytes()], vec![0; ring.bytes()]);
                let program = device.compile(&plan)?;
                let call = program.on_host(BATCH).input("pairs", &pairs).input("seed", &seeds[..RandomKey::BYTES]);
                call.output("own", &mut each).output("one", &mut one).run()?;
                assert_eq!(one, each[..ring.bytes()], "{about}");
                for (item, found) in each.chunks_exact(ring.bytes()).enumerate() {
                    let random_key = own(item)?;
                    let block = |number| random_key.block_of_stream(1, 0, number);
                    assert_eq!(values(&ring, found), defined(&ring, distribution, block), "{about}, seed {item}");
                }
            }
        }
    }
    Ok(())
}

/// The small integers of an element, from its first limb, whose modulus is large enough to hold them. Also checks that
/// all limbs hold the same integers.
fn integers(ring: &PolyType, element: &[u8]) -> Vec<i64> {
    let rows = values(ring, element);
    let (first, q) = (&rows[0], big(&ring.basis()[0]));
    let centred = |x: &BigUint| {
        let (x, minus) = (x.clone(), &q - x);
        if x < minus { i64::try_from(x) } else { i64::try_from(minus).map(|x| -x) }.unwrap_or(i64::MAX)
    };
    let integers: Vec<i64> = first.iter().map(centred).collect();
    for (row, q) in rows.iter().zip(ring.basis()) {
        let residues = integers.iter().map(|x| BigUint::from_bytes_le(q.reduce_i64(*x).to_le_bytes().as_ref()));
        assert!(row.iter().cloned().eq(residues), "rows of {ring} hold other integers");
    }
    integers
}

/// The coefficients of `batch` elements, sampled from a fixed seed on the CPU.
fn many(distribution: Distribution, batch: usize) -> Result<Vec<Vec<i64>>> {
    let moduli = [65_521u32, 12_289, 97].map(Modulus::new).into_iter().collect::<Result<Vec<_>>>()?;
    let ring = PolyType::from(Ring::rns(1024, &moduli)?);
    let all = sampled(&Device::cpu(), &ring, distribution, &[0x5a; RandomKey::BYTES], batch)?;
    Ok(all.chunks_exact(ring.bytes()).map(|element| integers(&ring, element)).collect())
}

/// A χ² test that fails beyond six standard deviations above the mean.
fn check_counts(about: &str, counts: &[f64], wanted: &[f64]) {
    let squares = counts.iter().zip(wanted).map(|(count, wanted)| (count - wanted) * (count - wanted) / wanted);
    let (sum, degrees) = (squares.sum::<f64>(), counts.len() as f64 - 1.0);
    assert!(sum < degrees + 6.0 * (2.0 * degrees).sqrt() + 6.0, "{about}: {sum} for {degrees}");
}

/// The probability of an integer x under a rounded Gaussian, by numerical integration of the density.
fn gaussian(sigma: f64, x: i64) -> f64 {
    let density = |t: f64| (-t * t / (2.0 * sigma * sigma)).exp() / (sigma * std::f64::consts::TAU.sqrt());
    (0..100).map(|i| density(x as f64 - 0.5 + (f64::from(i) + 0.5) / 100.0)).sum::<f64>() / 100.0
}

#[test]
fn small_integers_are_distributed_as_named() -> Result<()> {
    let choices = |n: u32, k: u32| (0..k).fold(1.0, |ways, j| ways * f64::from(n - j) / f64::from(j + 1));
    let binomial = |eta: u32| move |x: i64| choices(2 * eta, (i64::from(eta) + x) as u32) / 2f64.powi(2 * eta as i32);
    type Probability = Box<dyn Fn(i64) -> f64>;
    let all: [(Distribution, i64, f64, Probability); 6] = [
        (Ternary, 1, 2.0 / 3.0, Box::new(|_| 1.0 / 3.0)),
        (Binomial { eta: 1 }, 1, 0.5, Box::new(binomial(1))),
        (Binomial { eta: 21 }, 21, 10.5, Box::new(binomial(21))),
        (Gaussian { sigma: 0.5 }, 7, 0.25 + 1.0 / 12.0, Box::new(|x| gaussian(0.5, x))),
        (Gaussian { sigma: 3.2 }, 43, 3.2 * 3.2 + 1.0 / 12.0, Box::new(|x| gaussian(3.2, x))),
        (Gaussian { sigma: 64.0 }, 900, 64.0 * 64.0 + 1.0 / 12.0, Box::new(|x| gaussian(64.0, x))),
    ];
    for (distribution, most, variance, probability) in all {
        let samples: Vec<i64> = many(distribution, 40)?.concat();
        assert!(samples.iter().all(|x| x.abs() <= most), "{distribution}");
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<i64>() as f64 / count;
        let squares = samples.iter().map(|x| (x * x) as f64).sum::<f64>() / count;
        assert!(mean.abs() < 5.0 * (variance / count).sqrt(), "{distribution}: mean {mean}");
        assert!((squares / variance - 1.0).abs() < 0.05, "{distribution}: variance {squares}");
        // one class for each frequent integer, and one class for all others
        let often: Vec<i64> = (-most..=most).filter(|x| probability(*x) * count > 10.0).collect();
        let seen = |x: i64| samples.iter().filter(|sample| **sample == x).count() as f64;
        let (mut counts, mut wanted): (Vec<f64>, Vec<f64>) =
            often.iter().map(|x| (seen(*x), probability(*x) * count)).unzip();
        let rest = count - wanted.iter().sum::<f64>();
        if rest > 10.0 {
            counts.push(count - counts.iter().sum::<f64>());
            wanted.push(rest);
        }
        check_counts(&distribution.to_string(), &counts, &wanted);
    }
    Ok(())
}

#[test]
fn elements_of_any_weight_match_their_blocks() -> Result<()> {
    const BATCH: usize = 3;
    let mut rings = rings()?;
    // a ring for which many indices must be replaced, and for which the threads of a block need several rounds
    rings.push(PolyType::from(Ring::new(&[Modulus::new(97u32)?], Quotient::Cyclic { n: 300 })?).with_limbs(&[0])?);
    let random_key = bytes(6, RandomKey::BYTES);
    for device in devices() {
        for ring in &rings {
            let n = ring.degree();
            for weight in BTreeSet::from([0, 1.min(n), n / 4, n / 2, (n / 2 + 1).min(n), n - 1, n]) {
                let found = sampled(&device, ring, FixedWeight { weight }, &random_key, BATCH)?;
                for (item, found) in found.chunks_exact(ring.bytes()).enumerate() {
                    let random_key = RandomKey::from_bytes(&random_key)?;
                    let block = |number| random_key.block_of_stream(1, item as u64, number);
                    let wanted = defined(ring, FixedWeight { weight }, block);
                    assert_eq!(values(ring, found), wanted, "weight {weight} in {ring} on {device}, item {item}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn weights_are_exact_and_places_uniform() -> Result<()> {
    const BATCH: usize = 400;
    const N: usize = 1024;
    for weight in [0, 1, 64, N / 2, 1000, N - 1, N] {
        let elements = many(FixedWeight { weight }, BATCH)?;
        let (mut places, mut signs) = (vec![0.0; N], [0.0; 2]);
        for element in &elements {
            assert!(element.iter().all(|x| x.abs() <= 1));
            assert_eq!(element.iter().filter(|x| **x != 0).count(), weight);
            element.iter().zip(&mut places).for_each(|(x, place)| *place += x.abs() as f64);
            element.iter().filter(|x| **x != 0).for_each(|x| signs[usize::from(*x < 0)] += 1.0);
        }
        if weight > 0 {
            check_counts(&format!("signs of {weight}"), &signs, &[(weight * BATCH) as f64 / 2.0; 2]);
        }
        if weight % N != 0 {
            // indices drawn without replacement have a variance that is smaller by this factor
            let share = weight as f64 / N as f64;
            let (wanted, smaller) = (share * BATCH as f64, 1.0 - share);
            let counts: Vec<f64> = places.iter().map(|x| wanted + (x - wanted) / smaller.sqrt()).collect();
            check_counts(&format!("places of {weight}"), &counts, &vec![wanted; N]);
        }
    }
    Ok(())
}

#[test]
fn all_sets_of_places_are_equally_likely() -> Result<()> {
    const BATCH: usize = 8000;
    let ring = PolyType::from(Ring::new(&[Modulus::new(97u32)?], Quotient::Cyclic { n: 6 })?).with_limbs(&[0])?;
    for (weight, sets) in [(1, 6), (2, 15), (3, 20), (4, 15), (5, 6)] {
        let all = sampled(&Device::cpu(), &ring, FixedWeight { weight }, &[7; RandomKey::BYTES], BATCH)?;
        let mut counts = BTreeMap::new();
        for element in all.chunks_exact(ring.bytes()) {
            let places: Vec<bool> = integers(&ring, element).iter().map(|x| *x != 0).collect();
            *counts.entry(places).or_insert(0.0) += 1.0;
        }
        let counts: Vec<f64> = counts.into_values().collect();
        check_counts(&format!("sets of {weight}"), &counts, &vec![BATCH as f64 / f64::from(sets); sets as usize]);
    }
    Ok(())
}

#[test]
fn uniform_residues_are_uniform_and_independent() -> Result<()> {
    let ring = PolyType::from(Ring::new(&[Modulus::new(97u32)?], Quotient::Cyclic { n: 1024 })?).with_limbs(&[0, 0])?;
    let wide = PolyType::from(Ring::new(
        &[Modulus::from_hex(BLS12_381)?, Modulus::new(97u32)?],
        Quotient::Cyclic { n: 1024 },
    )?);
    for (ring, row) in [(&ring, 0), (&ring, 1), (&wide, 1)] {
        let all = sampled(&Device::cpu(), ring, Uniform, &[3; RandomKey::BYTES], 30)?;
        let mut counts = vec![0.0; 97];
        let mut equal = 0;
        for element in all.chunks_exact(ring.bytes()) {
            let rows = values(ring, element);
            rows[row].iter().for_each(|x| counts[usize::try_from(x).unwrap_or(0)] += 1.0);
            equal += rows[0].iter().zip(&rows[1]).filter(|(a, b)| a == b).count();
        }
        check_counts(&format!("row {row} of {ring}"), &counts, &vec![30.0 * 1024.0 / 97.0; 97]);
        assert!(equal < 500, "{ring}: rows agree in {equal} places, and 317 are expected");
    }
    Ok(())
}

/// The stream ids of all ports of all steps, in order, except zeros.
fn stream_ids(plan: &Plan) -> Vec<u32> {
    plan.kernels().flat_map(|kernel| kernel.ports().iter().map(|port| port.stream_id).filter(|s| *s > 0)).collect()
}

#[test]
fn no_two_samplers_share_a_block() -> Result<()> {
    let ring: PolyType = "97:x^8+1".parse()?;
    let sample = |p: &Pipeline, name: &str, from: Value<'_>| {
        let sample = p.sample(&ring, Uniform, from);
        p.output(name, sample);
    };
    let limits = Limits::cpu();
    let two = plan(&limits, |p| {
        let (random_key, seeds) = (p.input("random_key"), p.bytes("seeds", 64));
        sample(p, "a", random_key);
        sample(p, "b", random_key);
        sample(p, "c", seeds.part(0..32));
        sample(p, "d", seeds.part(16..48));
        sample(p, "e", seeds.part(32..64));
        sample(p, "f", p.shared("seed", 32));
    })?;
    assert_eq!(stream_ids(&two), [1, 1, 2, 1, 2, 3], "the shared one first");
    let of_draws = plan(&limits, |p| {
        sample(p, "a", p.input("random_key"));
        sample(p, "b", p.input("other key"));
    })?;
    assert_eq!(stream_ids(&of_draws), [1, 1]);

    let random_key = bytes(4, RandomKey::BYTES);
    let [mut a, mut b] = [[0u16; 8]; 2];
    let both = plan(&limits, |p| {
        let random_key = p.input("random_key");
        sample(p, "a", random_key);
        sample(p, "b", random_key);
    })?;
    let program = Device::cpu().compile(&both)?;
    program.on_host(1).input("random_key", &random_key).output("a", &mut a).output("b", &mut b).run()?;
    assert_ne!(a, b);
    // a plan that samples with the key of a plan within it
    let twice = plan(&limits, |p| {
        let random_key = p.input("random_key");
        sample(p, "c", random_key);
        let [a, b] = p.plan(&both, &[random_key]);
        p.output("a", a);
        p.output("b", b);
    });
    assert!(matches!(&twice, Err(Error::Plan { why, .. }) if why.contains("stream id 1")), "{twice:?}");
    Ok(())
}

#[test]
fn a_batch_may_be_cut() -> Result<()> {
    const BATCH: usize = 11;
    let ring = PolyType::from(Ring::rns(16, &Modulus::ntt_primes(32, 50, 2)?)?);
    for device in devices() {
        let plan = plan(device.limits(), |p| {
            let random_key = p.input("random_key");
            let [a, b, c] =
                [Uniform, Gaussian { sigma: 3.2 }, FixedWeight { weight: 5 }].map(|d| p.sample(&ring, d, random_key));
            p.output("sum", a.forward().mul_add(c.forward(), b.forward()).inverse());
        })?;
        let (program, stream) = (device.compile(&plan)?, device.stream()?);
        let random_key = stream.upload_secret(&bytes(5, RandomKey::BYTES))?;
        let run = |budget: usize| -> Result<Vec<u8>> {
            let mut out = device.buffer(BATCH * ring.bytes())?;
            program.on(&stream, BATCH).within(budget).input("random_key", &random_key).output("sum", &mut out).run()?;
            stream.download(&out)
        };
        let whole = run(usize::MAX)?;
        for items in [1, 4] {
            assert_eq!(run(plan.temporary_bytes(items))?, whole, "{device}, {items} items at a time");
        }
    }
    Ok(())
}

#[test]
fn limbs_do_not_depend_on_later_ones() -> Result<()> {
    let moduli = Modulus::ntt_primes(32, 50, 3)?;
    let [few, all] = [PolyType::from(Ring::rns(16, &moduli[..2])?), PolyType::from(Ring::rns(16, &moduli)?)];
    let [few, all] = [few, all].map(|ring| sampled(&Device::cpu(), &ring, Uniform, &[1; RandomKey::BYTES], 1));
    assert!(all?.starts_with(&few?));
    Ok(())
}

#[test]
fn samples_are_secret() -> Result<()> {
    let ring: PolyType = "97:x^8+1".parse()?;
    let plan = plan(&Limits::cpu(), |p| {
        p.output("public", p.sample(&ring, Uniform, p.bytes("seeds", 32)));
        p.output("uniform", p.sample(&ring, Uniform, p.input("random_key")));
        p.output("small", p.sample(&ring, Ternary, p.bytes("secret seeds", 32)));
    })?;
    let secret = |name: &str| plan.arg(name).map(|arg| arg.secret);
    for (name, wanted) in [("public", false), ("uniform", true), ("small", true), ("seeds", false)] {
        assert_eq!(secret(name), Some(wanted), "{name}");
    }
    assert_eq!((secret("random_key"), secret("secret seeds")), (Some(true), Some(true)));
    Ok(())
}

#[test]
fn parameters_out_of_range_are_errors() -> Result<()> {
    let ring: PolyType = "97:x^8+1".parse()?;
    let sigmas = [f64::NAN, f64::INFINITY, -3.2, 0.0, 0.06, 1024.5].map(|sigma| Gaussian { sigma });
    let others = [Binomial { eta: 0 }, Binomial { eta: 33 }, FixedWeight { weight: 9 }];
    for distribution in sigmas.into_iter().chain(others) {
        let made = plan(&Limits::cpu(), |p| p.output("sample", p.sample(&ring, distribution, p.input("random_key"))));
        assert!(matches!(made, Err(Error::Unsupported { .. })), "{distribution}: {made:?}");
    }
    let long =
        PolyType::from(Ring::new(&[Modulus::new(3u32)?], Quotient::Cyclic { n: 1 << 28 })?).with_limbs(&[0; 33])?;
    let made = plan(&Limits::cpu(), |p| p.output("sample", p.sample(&long, Uniform, p.input("random_key"))));
    assert!(matches!(made, Err(Error::Unsupported { .. })), "{made:?}");
    let short = plan(&Limits::cpu(), |p| p.output("sample", p.sample(&ring, Ternary, p.bytes("seeds", 31))));
    assert!(matches!(short, Err(Error::Plan { .. })), "{short:?}");
    Ok(())
}
