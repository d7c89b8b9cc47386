//! Multiplies many pairs of polynomials on the best device of this machine.
//!
//! `cargo run --release -p ringforge --example 01-multiply`

use ringforge::{Engine, Job, Modulus, Op, Result, Ring};

fn main() -> Result<()> {
    // the ring of ML-KEM: polynomials below degree 256 modulo 3329, with x^256 = −1
    let ring = Ring::negacyclic(256, Modulus::new(3329u32)?)?;

    let engine = Engine::best();
    println!("on {}", engine.device());
    if let Some(why) = engine.no_gpu() {
        println!("{why}");
    }

    // 1000 pairs (x^i, x^255) with i = item mod 256; each polynomial is stored as 256 coefficients, constant term first
    let n = ring.degree();
    let (mut a, mut b) = (vec![0u16; 1000 * n], vec![0u16; 1000 * n]);
    for item in 0..1000 {
        a[item * n + item % n] = 1;
        b[item * n + 255] = 1;
    }
    let products = engine.mul(&ring, &a, &b)?;

    // with i = item mod 256: x^i · x^255 = −x^(i−1) for i > 0, and x^255 for i = 0
    for (item, c) in products.chunks(n).enumerate() {
        match item % n {
            0 => assert_eq!(c[255], 1),
            i => assert_eq!(c[i - 1], 3328),
        }
    }

    // prints the plan, which lists the kernels that ran
    println!("{}", engine.program(&Job::new(&ring, Op::Mul))?.plan());
    Ok(())
}
