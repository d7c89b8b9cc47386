//! A custom kernel after the engine's product: one plan, with the same result on a CPU and on a GPU.
//!
//! `cargo run --release -p ringforge --example 03-own-kernel`

use core::ops::Range;

use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Source};
use ringforge::{Engine, Limits, Result, Ring};

/// The CUDA source: one entry point with one pointer for each port, then the range of items. It usually has a file of
/// its own.
const TEXT: &str = r#"
#include "word.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void round_residues(const u16* in, u16* out, u64 first, u64 end) {
    const u64 item = first + blockIdx.x;
    if (item >= end) return;
    for (u32 i = threadIdx.x; i < N; i += blockDim.x) {
        const u32 x = in[item * N + i];
        out[item * N + i] = (u16)((x * P + Q / 2) / Q % P);
    }
}
"#;

/// Rounds residues modulo q to residues modulo p, y = ⌊x·p / q + 1/2⌋ mod p, as in learning with rounding (LWR).
#[derive(Debug)]
struct Round {
    n: usize,
    q: u32,
    p: u32,
    ports: [Port; 2],
}

impl Round {
    fn new(n: usize, q: u32, p: u32) -> Self {
        Self { n, q, p, ports: [Port::input(2 * n), Port::output(2 * n)] }
    }
}

impl Kernel for Round {
    fn name(&self) -> &'static str {
        "round_residues"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    // the CUDA source with its constants and launch shape (one block per item): the only unsafe part of a kernel
    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let Self { n, q, p, .. } = self;
        let prelude = format!("#pragma once\nconstexpr unsigned N = {n}, Q = {q}, P = {p};\n");
        let launch = Launch { items_per_block: 1, ..Launch::thread_per_item(128) };
        let built = Built { prelude, launch };
        // SAFETY: a block reads and writes the N residues of its own item, as the ports declare.
        Ok(unsafe { Source::new(self, TEXT, &[], built) })
    }

    // the CPU reference implementation, which is also what a CPU device runs
    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        for x in args.transform::<u16>(0, 1)? {
            *x = ((u32::from(*x) * self.p + self.q / 2) / self.q % self.p) as u16;
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("{} -> {}", self.q, self.p)
    }
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
        let [rounded] = p.step(Round::new(n, 3457, 1024), &[x * y]);
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
