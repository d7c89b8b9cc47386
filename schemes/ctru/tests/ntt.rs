//! Tests NTTs and products against the vectors in `kat/ntt.json`, on every device. Evaluations have the order of public
//! keys.

use std::path::Path;

use ringforge::kernels::KernelLayout;
use ringforge::words::Transform;
use ringforge::{Device, Job, Limits, Modulus, Op, Result, Ring, U256};
use ringforge_testkit::{Compiled, Named, NamedPlan, devices};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    beta: Vec<u16>,
    vectors: Vec<Vector>,
    q7681: Auxiliary,
}

#[derive(Deserialize)]
struct Vector {
    n: usize,
    a: Vec<u16>,
    b: Vec<u16>,
    ntt_a: Vec<u16>,
    ab: Vec<u16>,
    /// The evaluations after a further layer, of radix 3, which exists for n = 768 only.
    ntt_r3_a: Option<Vec<u16>>,
}

#[derive(Deserialize)]
struct Auxiliary {
    vectors: Vec<Product>,
}

/// A product c·f over the integers.
#[derive(Deserialize)]
struct Product {
    n: usize,
    c: Vec<u32>,
    f: Vec<i64>,
    prod: Vec<i64>,
}

fn file() -> File {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kat/ntt.json");
    let file: File = serde_json::from_slice(&std::fs::read(path).expect("the file")).expect("its vectors");
    assert!(!file.vectors.is_empty() && !file.q7681.vectors.is_empty());
    file
}

fn bytes<T: Copy + Into<u64>>(words: &[T], size: usize) -> Vec<u8> {
    words.iter().flat_map(|&word| word.into().to_le_bytes()[..size].to_vec()).collect()
}

/// Runs a job on one item and returns its output.
fn run(job: &Job, device: &Device, inputs: Named) -> Result<Vec<u8>> {
    let named = NamedPlan::of_job(job, device.limits())?;
    Ok(Compiled::new(&named, device)?.run(1, &inputs)?.into_values().collect::<Vec<_>>().concat())
}

/// Returns the ring x^n − x^(n/2) + 1 modulo 3457, with the root for which seven layers give the order of public keys.
fn ring(n: usize) -> Result<Ring> {
    Ring::trinomial(n, Modulus::new(3457u32)?)?.with_root(if n == 768 { 3438u32 } else { 55 })
}

#[test]
fn transforms_and_products_match_the_vectors() -> Result<()> {
    for device in devices() {
        for Vector { n, a, b, ntt_a, ab, ntt_r3_a } in file().vectors {
            let ring = ring(n)?;
            let run = |job: &Job, inputs: &[(&str, &[u16])]| {
                let inputs = inputs.iter().map(|(name, input)| (String::from(*name), bytes(input, 2)));
                run(job, &device, inputs.collect())
            };
            let forward = Job::new(&ring, Op::Forward);
            assert_eq!(run(&forward.clone().depth(7), &[("from", &a)])?, bytes(&ntt_a, 2), "{n} on {device}");
            if let Some(deeper) = ntt_r3_a {
                assert_eq!(run(&forward, &[("from", &a)])?, bytes(&deeper, 2), "{n} on {device}");
            }
            let inverse = Job::new(&ring, Op::Inverse).depth(7);
            assert_eq!(run(&inverse, &[("from", &ntt_a)])?, bytes(&a, 2), "{n} on {device}");
            assert_eq!(run(&Job::new(&ring, Op::Mul), &[("a", &a), ("b", &b)])?, bytes(&ab, 2), "{n} on {device}");
        }
    }
    Ok(())
}

#[test]
fn leaves_match_the_vectors() -> Result<()> {
    let file = file();
    for Vector { n, a, b, ntt_a, ab, .. } in file.vectors {
        let rows = KernelLayout::of(&ring(n)?, &Limits::cpu())?.depth(7)?;
        let leaves = (0..rows.factorization().leaves()).filter_map(|leaf| rows.factorization().leaf_constant(0, leaf));
        assert!(leaves.eq(file.beta.iter().map(|&beta| U256::from(beta))));

        let transform = Transform::<u32>::of(&rows, 0)?;
        let [mut a, mut b, ntt_a, ab] = [a, b, ntt_a, ab].map(|row| row.into_iter().map(u32::from).collect::<Vec<_>>());
        transform.forward(&mut a)?;
        assert_eq!(a, ntt_a);
        transform.forward(&mut b)?;
        transform.multiply(&mut a, &b)?;
        let mut product = a.clone();
        transform.inverse(&mut product)?;
        assert_eq!(product, ab);
        assert!(transform.invert(&mut b)?);
        transform.multiply(&mut a, &b)?;
        assert_eq!(a, ntt_a);
    }
    Ok(())
}

/// Tests products over the integers modulo a single prime. The vectors come from an implementation with two primes,
/// 3457 and 7681.
#[test]
fn integer_products_match_the_vectors() -> Result<()> {
    const P: u32 = 25_178_113;
    for device in devices() {
        for Product { n, c, f, prod } in file().q7681.vectors {
            let residues = |x: &[i64]| x.iter().map(|x| x.rem_euclid(P.into()) as u32).collect::<Vec<_>>();
            let job = Job::new(&Ring::trinomial(n, Modulus::new(P)?)?, Op::Mul);
            let inputs = [("a".into(), bytes(&c, 4)), ("b".into(), bytes(&residues(&f), 4))];
            let product = run(&job, &device, inputs.into())?;
            assert!(prod.iter().all(|x| x.unsigned_abs() < u64::from(P) / 2));
            assert_eq!(product, bytes(&residues(&prod), 4), "{n} on {device}");
        }
    }
    Ok(())
}
