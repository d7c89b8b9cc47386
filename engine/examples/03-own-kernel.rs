//! Appends a custom kernel to the engine's product, in one plan. The results on a CPU and on a GPU are equal.
//!
//! `cargo run --release -p ringforge --example 03-own-kernel`

use ringforge::kernels::{Built, CustomKernel, Port};
use ringforge::{Engine, Result, Ring};

/// The CUDA source of the kernel: its entry point takes one pointer per port, then the range of items. The source of a
/// larger kernel would be in a file of its own.
const SOURCE: &str = r#"
#include "word.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void round_residues(const u16* in, u16* out, u64 first, u64 end) {
    using R = Round;
    const u64 item = first + blockIdx.x;
    if (item >= end) return;
    for (u32 i = threadIdx.x; i < R::n; i += blockDim.x) {
        const u32 x = in[item * R::n + i];
        out[item * R::n + i] = (u16)((x * R::p + R::q / 2) / R::q % R::p);
    }
}
"#;

/// Rounds residues modulo q to residues modulo p, y = ⌊x·p / q + 1/2⌋ mod p, as in learning with rounding (LWR).
#[allow(unsafe_code)]
fn round(n: usize, q: u32, p: u32) -> CustomKernel {
    let element = 2 * n; // bytes
    let built = Built::block_per_item(128).constants("Round", &[("n", &n), ("q", &q), ("p", &p)]);
    // SAFETY: a block reads and writes the n residues of its own item, as the ports declare.
    let kernel = unsafe {
        CustomKernel::new(
            ("round_residues", SOURCE, &[]),
            [Port::input(element), Port::output(element)],
            move |_| Ok(built.clone()),
            // the CPU reference implementation, which also runs on a CPU device
            move |_, args| {
                for x in args.transform::<u16>(0, 1)? {
                    *x = ((u32::from(*x) * p + q / 2) / q % p) as u16;
                }
                Ok(())
            },
        )
    };
    kernel.described(format!("{q} -> {p}"))
}

fn main() -> Result<()> {
    let ring: Ring = "3457:x^768-x^384+1".parse()?;
    let n = ring.degree();
    let batch = 100;
    let a: Vec<u16> = (0..batch * n).map(|i| (i * i % 3457) as u16).collect();
    let b: Vec<u16> = (0..batch * n).map(|i| (i * 7 % 5) as u16).collect();

    let run = |engine: &Engine| {
        let p = engine.pipeline("rounded product");
        let [x, y] = ["a", "b"].map(|name| p.coefficients(name, &ring));
        let [rounded] = p.step(round(n, 3457, 1024), &[x * y]);
        p.output("rounded", rounded);
        let program = engine.compile(p)?;
        println!("on {}: {}", engine.device(), program.plan());
        let mut out = vec![0u16; batch * n];
        program.on_host(batch).input("a", &a).input("b", &b).output("rounded", &mut out).run()?;
        Result::Ok(out)
    };

    let expected = run(&Engine::cpu())?;
    assert!(expected.iter().all(|&y| y < 1024));
    match Engine::cuda(0) {
        Ok(gpu) => assert_eq!(run(&gpu)?, expected, "CPU and GPU agree bit for bit"),
        Err(why) => println!("not run on a GPU: {why}"),
    }
    println!("{batch} rounded products, the first begins {:?}", &expected[..4]);
    Ok(())
}
