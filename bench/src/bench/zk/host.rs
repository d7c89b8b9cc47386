//! Large transforms from host memory to host memory, in natural order. All values are compared with the CPU's, bit for bit;
//! an inverse transform of these must give back all inputs.

use anyhow::Result;
use ark_bls12_381::Fr;
use ark_ff::Field;
use ringforge::testkit::Random;
use ringforge::{Device, Job, Op, Order};

use super::field;
use crate::bench::Bench;
use crate::bench::suites::{Case, Scope};
use crate::measure;
use crate::record::{Measurement, Memory};
use crate::sample;
use crate::work::Work;

/// Points of a transform on a GPU, with `--quick`, and on a CPU, as powers of two.
const LOG_N: [u32; 3] = [24, 20, 16];

/// A name, transforms of a call, and where they lie.
const CASES: &[(&str, usize, Memory)] =
    &[("host", 1, Memory::Pinned), ("host", 1, Memory::Pageable), ("host stream", 8, Memory::Pinned)];

pub(super) fn cases(scope: &Scope) -> Vec<Case> {
    let log_n = if scope.cpu { LOG_N[2] } else { LOG_N[usize::from(scope.quick)] };
    let mut cases = Vec::new();
    for &(name, batch, memory) in CASES {
        let batches = if batch == 1 { vec![1] } else { scope.batches(&[batch]) };
        for op in [Op::Forward, Op::Inverse] {
            let n = 1 << scope.log_n(log_n);
            let run = move |bench: &Bench, batch| line(bench, n, batch, memory, op, format!("{name} 2^{log_n}"));
            cases.push(Case::of_batches(format!("{name} 2^{log_n}"), op, batches.clone(), run));
        }
    }
    cases
}

fn line(bench: &Bench, n: usize, batch: usize, memory: Memory, op: Op, name: String) -> Result<Measurement> {
    let ring = field::coset(n, Fr::ONE)?;
    let inputs = sample::elements(&ring, Random::new(bench.seed).bits(), 1, batch)?;
    let job = |op| Job::new(&ring, op).order(Order::Natural).batch_hint(batch);
    let mut values = vec![0; inputs.len()];
    let cpu = Work::new(&Device::cpu(), &job(Op::Forward))?.program;
    cpu.on_host(batch).input("from", &inputs).output("to", &mut values).run()?;
    let (from, expected) = if op == Op::Forward { (&inputs, &values) } else { (&values, &inputs) };

    let program = bench.work(&job(op))?.program;
    let run = |from: &[u8], out: &mut [u8]| {
        let call = |out: &mut [u8]| Ok(program.on_host(batch).input("from", from).output("to", out).run()?);
        let times = measure::wall(bench.effort, || call(out))?;
        // once more over other bytes, so that none of these is left from before
        out.fill(0xa5);
        call(out)?;
        anyhow::Ok((times, out == &expected[..]))
    };
    let (times, right) = if memory == Memory::Pinned {
        let (mut pinned, mut out) = (bench.device.pinned(from.len())?, bench.device.pinned(from.len())?);
        pinned.copy_from_slice(from);
        run(&pinned, &mut out)?
    } else {
        run(from, &mut vec![0; from.len()])?
    };
    let line = Measurement::new(name, op, batch, times).in_ring(&ring).by(program.plan());
    Ok(Measurement { memory, ..line.checked("all values bit for bit with the CPU's", right) })
}
