//! Multiplies many pairs of polynomials on the best device of this machine.
//!
//! `cargo run --release -p ringforge --example 01-multiply`

use ringforge::{Device, HostArg, Job, Modulus, Op, Planner, Result, Ring};

fn main() -> Result<()> {
    // the ring of ML-KEM: polynomials below degree 256 modulo 3329, with x^256 = −1
    let ring = Ring::negacyclic(256, Modulus::new(3329u32)?)?;

    let (device, reason) = Device::best();
    println!("on {device}: {reason}");

    // what to do → how to do it → made ready on a device
    let plan = Planner::new(device.limits().clone()).plan(&Job::new(&ring, Op::Mul))?;
    println!("{plan}");
    let program = device.compile(&plan)?;

    // a thousand pairs (x^i, x^255), coefficients in ascending order, one polynomial after another
    let batch = 1000;
    let n = ring.degree();
    let (mut a, mut b, mut product) = (vec![0u16; batch * n], vec![0u16; batch * n], vec![0u16; batch * n]);
    for item in 0..batch {
        a[item * n + item % n] = 1;
        b[item * n + 255] = 1;
    }
    program.run_host(batch, &mut [HostArg::from(&a[..]), HostArg::from(&b[..]), HostArg::from(&mut product[..])])?;

    // x^i · x^255 = −x^(i−1), but x^255 for i = 0
    for item in 0..batch {
        let c = &product[item * n..][..n];
        match item % n {
            0 => assert_eq!(c[255], 1),
            i => assert_eq!(c[i - 1], 3328),
        }
    }
    println!("{batch} products are right");
    Ok(())
}
