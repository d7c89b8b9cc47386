//! Transforms on threads with a small stack. While a thread waits for half of a polynomial that another thread took, it
//! steals halves of other polynomials, whose work runs on top of its stack.

use rayon::ThreadPoolBuilder;
use ringforge::{Device, Job, Modulus, Op, Order, Planner, PolyType, Result, Ring};

/// Stack size of a thread in bytes, an eighth of the default of rayon's threads.
const STACK_BYTES: usize = 256 << 10;
/// The number of threads, which exceeds that of polynomials, so that halves are stolen.
const THREADS: usize = 16;
const ROWS: usize = 8;

#[test]
fn large_rows_need_little_stack() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let q = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")?;
    let ring = PolyType::from(Ring::cyclic(1 << 16, q)?);
    let cpu = Device::cpu();
    let run = |op, from: &[u8]| -> Result<Vec<u8>> {
        let plan = Planner::new(cpu.limits().clone()).plan(&Job::new(&ring, op).order(Order::Natural))?;
        let mut to = vec![0; from.len()];
        cpu.compile(&plan)?.on_host(ROWS).input("from", from).output("to", &mut to).run()?;
        Ok(to)
    };
    let from = ringforge_testkit::residues(&ring, 1, ROWS);
    let pool = ThreadPoolBuilder::new().num_threads(THREADS).stack_size(STACK_BYTES).build()?;
    for _ in 0..4 {
        let back = pool.install(|| run(Op::Inverse, &run(Op::Forward, &from)?))?;
        assert_eq!(back, from);
    }
    Ok(())
}
