//! Benchmarks of the CPU backend's hot paths, and of other implementations of the same transforms.

use std::hint::black_box;

use ark_bls12_381::Fr;
use ark_ff::{BigInt, PrimeField};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use criterion::{Criterion, criterion_group, criterion_main};
use ringforge::{Device, Job, Modulus, Op, Order, Planner, PolyType, Program, Result, Ring, U256};
use ringforge_testkit::residues;

/// The largest primes of 50, 60 and 62 bits that are 1 modulo 2^17.
const MODULI: [u64; 3] = [1_125_899_903_827_969, 1_152_921_504_606_584_833, 4_611_686_018_425_815_041];

fn program(job: &Job) -> Result<Program> {
    let device = Device::cpu();
    device.compile(&Planner::new(device.limits().clone()).plan(job)?)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|bytes| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))).collect()
}

/// Times a transform that runs repeatedly in place, on its own output.
fn transform(bench: &mut Criterion, name: &str, job: &Job, batch: usize) -> Result<()> {
    let program = program(job)?;
    let mut data = residues(&job.poly, 1, batch);
    bench.bench_function(name, |bencher| {
        bencher.iter(|| program.on_host(batch).output("data", black_box(&mut data)).run());
    });
    Ok(())
}

fn small(bench: &mut Criterion) -> Result<()> {
    let kyber = PolyType::from(Ring::negacyclic(256, Modulus::new(3329u32)?)?);
    transform(bench, "forward n=256 q=3329, 64 items", &Job::new(&kyber, Op::Forward).in_place(), 64)?;
    let ring = PolyType::from(Ring::trinomial(768, Modulus::new(3457u32)?)?);
    let program = program(&Job::new(&ring, Op::Mul))?;
    let (a, b) = (residues(&ring, 1, 16), residues(&ring, 2, 16));
    let mut product = vec![0; a.len()];
    bench.bench_function("mul x^768 - x^384 + 1 q=3457, 16 items", |bencher| {
        bencher.iter(|| {
            program
                .on_host(16)
                .input("a", black_box(&a))
                .input("b", black_box(&b))
                .output("product", &mut product)
                .run()
        });
    });
    Ok(())
}

/// Benchmarks forward and inverse transforms at the sizes of homomorphic encryption, by the engine and by tfhe-ntt. The
/// inverse of tfhe-ntt leaves out the scale 1/n; the engine's includes it.
fn against_tfhe_ntt(bench: &mut Criterion) -> Result<()> {
    for (q, n) in MODULI.into_iter().flat_map(|q| (12..=16).map(move |log| (q, 1 << log))) {
        let ring = PolyType::from(Ring::negacyclic(n, Modulus::new(q)?)?);
        let Some(plan) = tfhe_ntt::prime64::Plan::try_new(n, q) else { continue };
        let mut data = words(&residues(&ring, 1, 1));
        let sides = [
            (Op::Forward, "forward", tfhe_ntt::prime64::Plan::fwd as fn(&_, &mut [u64])),
            (Op::Inverse, "inverse", tfhe_ntt::prime64::Plan::inv),
        ];
        for (op, side, peer) in sides {
            let name = format!("{side} n={n}, {} bits", q.ilog2() + 1);
            transform(bench, &name, &Job::new(&ring, op).in_place(), 1)?;
            bench.bench_function(&format!("{name}: tfhe-ntt"), |bencher| {
                bencher.iter(|| peer(&plan, black_box(&mut data)));
            });
        }
    }
    Ok(())
}

fn against_ark_poly(bench: &mut Criterion) -> Result<()> {
    let n = 1 << 16;
    let Some(domain) = Radix2EvaluationDomain::<Fr>::new(n) else { return Ok(()) };
    let plain = |limbs: [u64; 4]| U256::from_le_slice(limbs.map(u64::to_le_bytes).as_flattened());
    let root = plain(domain.group_gen().into_bigint().0);
    let ring = PolyType::from(Ring::cyclic(n, Modulus::new(plain(Fr::MODULUS.0))?)?.with_root(root)?);
    let job = Job::new(&ring, Op::Forward).order(Order::Natural).in_place();
    transform(bench, "forward n=65536, BLS12-381", &job, 1)?;
    let limbs = words(&residues(&ring, 1, 1));
    let element = |limbs: &[u64]| Fr::new_unchecked(BigInt([limbs[0], limbs[1], limbs[2], limbs[3]]));
    let mut data: Vec<Fr> = limbs.chunks_exact(4).map(element).collect();
    bench.bench_function("forward n=65536, BLS12-381: ark-poly", |bencher| {
        bencher.iter(|| domain.fft_in_place(black_box(&mut data)));
    });
    Ok(())
}

fn all(bench: &mut Criterion) {
    let outcome = small(bench).and_then(|()| against_tfhe_ntt(bench)).and_then(|()| against_ark_poly(bench));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

criterion_group! {
    name = cpu;
    config = Criterion::default().sample_size(20);
    targets = all
}
criterion_main!(cpu);
