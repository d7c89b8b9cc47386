//! Custom rings: any modulus, any sparse quotient, several moduli at once, a chosen root of unity.
//!
//! `cargo run --release -p ringforge --example 02-own-ring`

use ringforge::{Engine, Error, Job, Modulus, Op, Order, Quotient, Result, Ring};

fn main() -> Result<()> {
    let engine = Engine::best();
    let planner = engine.planner();

    // a modulus without roots of unity, and f = x^100 − 3x^4 + 2: the product goes through a larger NTT, exactly
    let quotient = Quotient::Sparse { n: 100, terms: vec![(4, -3), (0, 2)] };
    let ring = Ring::new(&[Modulus::new(8000u32)?], quotient)?;
    println!("{}\n", planner.plan(&Job::new(&ring, Op::Mul))?);
    // smaller operands need fewer auxiliary primes; operands beyond these bounds would give wrong products
    println!("{}\n", planner.plan(&Job::new(&ring, Op::Mul).bounds(1, 4000))?);

    // this ring has no NTT, so planning a transform returns an error
    match planner.plan(&Job::new(&ring, Op::Forward)) {
        Err(error @ (Error::Unsupported { .. } | Error::NotPrime { .. })) => println!("forward: {error}\n"),
        other => println!("forward: {other:?}\n"),
    }

    // a ring can be parsed from a string; these three moduli are an RNS basis of a 90-bit modulus
    let ring: Ring = "1073479681, 1072496641, 1071513601 : x^1024 + 1".parse()?;
    println!("{}\n", planner.plan(&Job::new(&ring, Op::Mul))?);

    // the root fixes the evaluation points: in natural order, evaluation i is a(root^(2i+1))
    let ring: Ring = "17 : x^4 + 1 @ 9".parse()?;
    let values = engine.upload(&ring, &[0u16, 1, 0, 0])?.forward_to(Order::Natural)?;
    let found: Vec<u16> = values.download()?;
    println!("x at the odd powers of 9 modulo 17: {found:?}");
    assert_eq!(found, [9, 15, 8, 2]);

    // elements carry their type, so evaluations cannot be mistaken for coefficients
    let refused = values.forward();
    println!("transforming them again: {}", refused.err().map_or("no error".into(), |error| error.to_string()));
    Ok(())
}
