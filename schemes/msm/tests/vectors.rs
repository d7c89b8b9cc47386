//! Compares operations on vectors and products with sparse matrices with their definitions, over arkworks' fields.

use ark_bn254::Fr;
use ark_ff::{AdditiveGroup, BigInt, Field, PrimeField, UniformRand};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use ringforge::{Device, Engine, Error, Modulus, Result};
use ringforge_msm::{SparseMatrix, Vectors};
use ringforge_testkit::{Target, seed};

const Q: &str = "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001";

fn words(elements: &[Fr]) -> Vec<[u64; 4]> {
    elements.iter().map(|x| x.0.0).collect()
}

fn elements(words: Vec<[u64; 4]>) -> Vec<Fr> {
    words.into_iter().map(|limbs| Fr::new_unchecked(BigInt(limbs))).collect()
}

/// Random elements, some of which are zero.
fn random(rng: &mut StdRng, count: usize) -> Vec<Fr> {
    (0..count).map(|_| if rng.gen_range(0..8) == 0 { Fr::ZERO } else { Fr::rand(rng) }).collect()
}

/// The names of operations, and their results for values v and a point z.
fn expected(v: &[Fr], z: Fr) -> [(&'static str, Vec<Fr>); 8] {
    let mut divided = v.to_vec();
    for i in (0..v.len() - 1).rev() {
        divided[i] = v[i] + z * divided[i + 1];
    }
    let mut products = v.to_vec();
    for i in 1..v.len() {
        products[i] = products[i - 1] * v[i];
    }
    let mut powers = vec![Fr::ONE; v.len()];
    for i in 1..v.len() {
        powers[i] = powers[i - 1] * z;
    }
    let mut inverses = v.to_vec();
    ark_ff::batch_inversion(&mut inverses);
    let rotated = |by: usize| v[by..].iter().chain(&v[..by]).copied().collect::<Vec<_>>();
    let back = rotated(v.len() - 1);
    // factors 1, z, z², … for v, its rotation, and v again: five vectors take two steps
    let combination =
        v.iter().zip(&back).map(|(x, y)| *x + z * y + z.square() * x + z.pow([3]) * y + z.pow([4]) * x).collect();
    [
        ("value", vec![divided[0]]),
        ("divided", divided),
        ("products", products),
        ("powers", powers),
        ("inverses", inverses),
        ("rotated", back),
        ("reversed", if v.len().is_power_of_two() { reversed(v) } else { v.to_vec() }),
        ("combination", combination),
    ]
}

fn reversed(v: &[Fr]) -> Vec<Fr> {
    let bits = v.len().ilog2();
    (0..v.len()).map(|i| (0..bits).fold(0, |to, bit| to | (i >> bit & 1) << (bits - 1 - bit))).map(|i| v[i]).collect()
}

fn check(device: &Device, count: usize, batch: usize) -> Result<()> {
    let (engine, q) = (Engine::on(device.clone()), Modulus::from_hex(Q)?);
    let p = engine.pipeline("vectors");
    let vectors = Vectors::new(&p, &q, count)?;
    let (v, z, factors) = (vectors.input("v"), p.input("z"), p.bytes("factors", 5 * 32));
    let back = vectors.rotate(v, -1);
    p.output("value", vectors.evaluate(v, z));
    p.output("divided", vectors.divide(v, z));
    p.output("products", vectors.running_products(v));
    p.output("powers", vectors.powers(z));
    p.output("inverses", vectors.inverses(v));
    p.output("rotated", back);
    p.output("reversed", if count.is_power_of_two() { vectors.bit_reversed(v) } else { vectors.rotate(v, 0) });
    p.output("combination", vectors.combination(&[v, back, v, back, v], factors));
    let program = engine.compile(p)?;

    let mut rng = StdRng::seed_from_u64(seed());
    let items: Vec<(Vec<Fr>, Fr)> = (0..batch)
        .map(|item| (random(&mut rng, count), if item == 1 { Fr::ZERO } else { Fr::rand(&mut rng) }))
        .collect();
    let stream = engine.stream()?;
    let v = stream.upload(&items.iter().flat_map(|(v, _)| words(v)).collect::<Vec<_>>())?;
    let z = stream.upload(&items.iter().map(|(_, z)| z.0.0).collect::<Vec<_>>())?;
    let factors = items.iter().flat_map(|(_, z)| (0..5).map(|i| z.pow([i]).0.0)).collect::<Vec<_>>();
    let factors = stream.upload(&factors)?;
    let expected: Vec<_> = items.iter().map(|(v, z)| expected(v, *z)).collect();
    let names = expected[0].each_ref().map(|(name, result)| (*name, result.len()));
    let mut results = names.map(|(name, length)| (name, stream.zeros(32 * length * batch)));
    let mut call = program.on(stream, batch).input("v", &v).input("z", &z).input("factors", &factors);
    for (name, buffer) in &mut results {
        call = call.output(name, buffer.as_mut().map_err(|error| error.clone())?);
    }
    call.run()?;
    for (number, (name, buffer)) in results.into_iter().enumerate() {
        let found = elements(stream.download(&buffer?)?);
        let length = found.len() / batch;
        for (expected, found) in expected.iter().zip(found.chunks(length)) {
            assert!(found == expected[number].1, "{name}, {count} on {engine:?}");
        }
    }
    Ok(())
}

#[test]
fn operations_follow_their_definitions() -> Result<()> {
    for target in [Target::Cpu, Target::EmulatorSanitized, Target::Cuda] {
        let Some(device) = target.device() else { continue };
        for (count, batch) in [(1, 1), (2, 3), (9, 1), (2048, 1), (2049, 2), (2 * 2048 + 3, 1)] {
            check(&device, count, batch)?;
        }
        if target == Target::Cuda {
            // more tiles than a tile has elements
            check(&device, (1 << 22) + 5, 1)?;
        }
    }
    Ok(())
}

#[test]
fn other_vectors_are_refused() -> Result<()> {
    let (engine, q) = (Engine::cpu(), Modulus::from_hex(Q)?);
    let p = engine.pipeline("vectors");
    for q in [Modulus::new(97u64)?, Modulus::from_hex(&format!("f{}", "0".repeat(50)))?] {
        let refused = Vectors::new(&p, &q, 4);
        assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
    }
    assert!(matches!(Vectors::new(&p, &q, 0), Err(Error::Unsupported { .. })));
    assert!(matches!(Vectors::new(&p, &q, (1 << 31) + 1), Err(Error::TooLarge { .. })));
    let vectors = Vectors::new(&p, &q, 4)?;
    p.output("sum", vectors.combination(&[], p.input("factors")));
    let refused = engine.compile(p);
    assert!(matches!(refused, Err(Error::Plan { .. })), "{refused:?}");
    let p = engine.pipeline("bit reversal");
    let vectors = Vectors::new(&p, &q, 6)?;
    p.output("reversed", vectors.bit_reversed(vectors.input("v")));
    let refused = engine.compile(p);
    assert!(matches!(refused, Err(Error::Plan { .. })), "{refused:?}");
    Ok(())
}

#[test]
fn products_with_sparse_matrices_follow_their_definition() -> Result<()> {
    let q = Modulus::from_hex(Q)?;
    let mut rng = StdRng::seed_from_u64(seed());
    for target in [Target::Cpu, Target::EmulatorSanitized, Target::Cuda] {
        let Some(device) = target.device() else { continue };
        let engine = Engine::on(device);
        let stream = engine.stream()?;
        for lengths in [&[][..], &[0, 0], &[1, 0, 3, 64, 65, 0]] {
            let columns = 7;
            let vector = random(&mut rng, columns);
            let mut term = || {
                let factors = [Fr::ZERO, Fr::ONE, -Fr::ONE, Fr::from(5), Fr::rand(&mut rng)];
                (factors[rng.gen_range(0..5)], rng.gen_range(0..columns))
            };
            let rows: Vec<Vec<(Fr, usize)>> =
                lengths.iter().map(|length| (0..*length).map(|_| term()).collect()).collect();
            let of_words = rows.iter().map(|row| row.iter().map(|(x, column)| (x.0.0, *column)));
            let sparse = SparseMatrix::new(&q, of_words, columns, 8)?;
            let on_device = sparse.upload(&engine)?;
            assert_eq!(on_device.bytes(), sparse.bytes());
            let mut product = stream.zeros(8 * 32)?;
            on_device.times(stream, &stream.upload(&words(&vector))?, &mut product)?;
            let mut expected: Vec<Fr> =
                rows.iter().map(|row| row.iter().map(|(x, column)| *x * vector[*column]).sum()).collect();
            expected.resize(8, Fr::ZERO);
            assert_eq!(elements(stream.download(&product)?), expected, "{engine:?}");
        }
    }
    let one = Fr::ONE.0.0;
    let refused = SparseMatrix::new(&q, [[(one, 3)]], 3, 1);
    assert!(matches!(refused, Err(Error::TooLarge { limit: 2, got: 3, .. })), "{refused:?}");
    let refused = SparseMatrix::new(&q, [[(one, 0)], [(one, 1)]], 3, 1);
    assert!(matches!(refused, Err(Error::TooLarge { limit: 1, got: 2, .. })), "{refused:?}");
    assert!(Fr::MODULUS.0[0] == 0x43e1_f593_f000_0001, "the prime is that of arkworks");
    Ok(())
}
