//! Transforms that several kernels share out, at small sizes: planned as if thread blocks were tiny.

use ringforge::testkit::{NamedPlan, Scheme};
use ringforge::{Device, HostArg, Job, Limits, Modulus, Op, Order, Planner, Program, Quotient, Result, Ring};

/// A device whose blocks hold few coefficients.
fn tiny(threads: u32, shared_bytes: u32) -> Limits {
    let mut limits = Limits::of_capability(90);
    limits.block_threads = Some(threads);
    limits.block_shared_bytes = shared_bytes;
    limits
}

/// Rings of every arithmetic that a kernel can hand on in, each with blocks that are too small for a row.
fn rings() -> Result<Vec<(Ring, Limits)>> {
    let q = |q: u64| Modulus::new(q);
    let bls12_381 = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")?;
    let wide = [q(1_152_921_504_606_584_833)?, q(1_152_921_504_598_720_513)?, q(1_152_921_504_592_429_057)?];
    Ok(vec![
        (Ring::rns(1024, &wide)?, tiny(16, 8 << 10)),                // two kernels
        (Ring::rns(2048, &wide[..1])?, tiny(4, 1 << 10)),            // three
        (Ring::negacyclic(256, q(998_244_353)?)?, tiny(8, 1 << 10)), // 32 bits
        (Ring::trinomial(768, q(3457)?)?, tiny(8, 1 << 10)),         // 16 bits, leaves of degree 2
        (Ring::new(&[q(0xffff_ffff_0000_0001)?], Quotient::Cyclic { n: 256 })?, tiny(4, 1 << 10)),
        (Ring::cyclic(256, bls12_381)?, tiny(8, 4 << 10)),
        (Ring::cyclic(1458, q(1_073_738_269)?)?, tiny(2, 4 << 10)), // radix 3
    ])
}

/// The same job in one piece, on the CPU.
fn whole(job: &Job) -> Result<Program> {
    let device = Device::cpu();
    device.compile(&Planner::new(device.limits().clone()).plan(job)?)
}

/// Transforms in several kernels, out of place and in place, values in both orders.
#[derive(Debug)]
pub struct SharedOut;

impl Scheme for SharedOut {
    const NAME: &'static str = "shared out";

    fn plans(_: &Limits) -> Result<Vec<NamedPlan>> {
        let mut plans = Vec::new();
        for (ring, limits) in rings()? {
            for (op, order) in [
                (Op::Forward, Order::Any),
                (Op::Inverse, Order::Any),
                (Op::Forward, Order::Natural),
                (Op::Inverse, Order::Natural),
            ] {
                for job in [Job::new(&ring, op).order(order), Job::new(&ring, op).order(order).in_place()] {
                    let program = whole(&job)?;
                    let named = NamedPlan::of_job(&job, &limits)?;
                    assert!(named.plan.steps().len() > 1, "{}", named.plan);
                    plans.push(named.expecting(move |batch, inputs| {
                        let mut out = inputs[0].clone();
                        let mut args = vec![HostArg::Out(&mut out)];
                        if program.plan().args().len() > 1 {
                            args.insert(0, HostArg::In(&inputs[0]));
                        }
                        program.run_host(batch, &mut args).expect("the CPU runs it in one piece");
                        vec![out]
                    }));
                }
            }
            plans.push(NamedPlan::of_job(&Job::new(&ring, Op::Mul), &limits)?);
        }
        Ok(plans)
    }
}
