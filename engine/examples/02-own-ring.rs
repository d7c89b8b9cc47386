//! Custom rings: any modulus, any sparse quotient, several moduli at once, a chosen root of unity.
//!
//! `cargo run --release -p ringforge --example 02-own-ring`

use ringforge::{Engine, Error, Job, Modulus, Op, Order, Quotient, Result, Ring};

fn main() -> Result<()> {
    let engine = Engine::best();
    let planner = engine.planner();

    // modulo 8000 and f = x^100 − 3x^4 + 2 there is no NTT, so the exact product is computed via a larger NTT
    let quotient = Quotient::Sparse { n: 100, terms: vec![(4, -3), (0, 2)] };
    let ring = Ring::new(&[Modulus::new(8000u32)?], quotient)?;
    println!("{}\n", planner.plan(&Job::new(&ring, Op::Mul))?);
    // operands with |a_i| ≤ 1 and |b_i| ≤ 4000 need fewer auxiliary primes; larger operands would give wrong products
    println!("{}\n", planner.plan(&Job::new(&ring, Op::Mul).bounds(1, 4000))?);

    // this ring has no NTT, so planning a forward transform returns an error
    match planner.plan(&Job::new(&ring, Op::Forward)) {
        Err(error @ (Error::Unsupported { .. } | Error::NotPrime { .. })) => println!("forward: {error}\n"),
        other => println!("forward: {other:?}\n"),
    }

    // a ring can be parsed from a string; the product of these three moduli has 90 bits, and they form an RNS basis
    let ring: Ring = "1073479681, 1072496641, 1071513601 : x^1024 + 1".parse()?;
    println!("{}\n", planner.plan(&Job::new(&ring, Op::Mul))?);

    // the root 9 fixes the evaluation points: in natural order, evaluation i of a polynomial a is a(9^(2i+1))
    let ring: Ring = "17 : x^4 + 1 @ 9".parse()?;
    let values = engine.upload(&ring, &[0u16, 1, 0, 0])?.forward_to(Order::Natural)?;
    let found: Vec<u16> = values.download()?;
    println!("x at the odd powers of 9 modulo 17: {found:?}");
    assert_eq!(found, [9, 15, 8, 2]);

    // each batch of elements carries its type, so evaluations cannot be mistaken for coefficients
    let refused = values.forward();
    println!("transforming them again: {}", refused.err().map_or("no error".into(), |error| error.to_string()));
    Ok(())
}
