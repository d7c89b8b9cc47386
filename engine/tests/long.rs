//! Transforms over several devices equal those of one device, for any number of devices, ring and placement.

use bytemuck::Pod;
use ringforge::run::{LongNtt, LongPlan, Placement, Rank};
use ringforge::{Device, Engine, Error, Form, Modulus, Order, PolyType, Result, Ring, U256};
use ringforge_testkit::{Target, residues};

fn group(count: usize) -> Engine {
    Engine::group(&(0..count).map(|_| Device::cpu()).collect::<Vec<_>>()).expect("a group")
}

/// Rings modulo x^n − c with residues of 32, 64 and 256 bits, and for small n of 16 bits. Some evaluate on a coset.
fn rings(n: usize) -> Result<Vec<PolyType>> {
    let bls = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";
    let q = |q: u64| Modulus::new(q);
    let goldilocks = q(0xffff_ffff_0000_0001)?;
    let mut rings = vec![
        PolyType::from(Ring::cyclic(n, q(998_244_353)?)?),
        PolyType::from(Ring::negacyclic(n, q(998_244_353)?)?),
        PolyType::from(Ring::cyclic(n, q(2_013_265_921)?)?).with_form(Form::Montgomery)?,
        PolyType::from(Ring::negacyclic(n, q(562_949_952_798_721)?)?),
        PolyType::from(Ring::negacyclic(n, q(1_152_921_504_606_584_833)?)?),
        PolyType::from(Ring::cyclic(n, goldilocks)?).accepting_any_word(),
        PolyType::from(Ring::coset(n, goldilocks, 7u32, goldilocks.root(n as u64).expect("a root"))?),
        PolyType::from(Ring::cyclic(n, Modulus::from_hex(bls)?)?),
        PolyType::from(Ring::coset(
            n,
            Modulus::from_hex(bls)?,
            7u32,
            Modulus::from_hex(bls)?.root(n as u64).expect("a root"),
        )?),
    ];
    if n <= 256 {
        rings.push(PolyType::from(Ring::negacyclic(n, q(3329)?)?)); // leaf degree 2
        rings.push(PolyType::from(Ring::cyclic(n, q(12289)?)?));
    }
    Ok(rings)
}

/// The evaluations computed by one device, in natural order.
fn values<T: Pod>(ring: &PolyType, coefficients: &[T]) -> Result<Vec<T>> {
    Engine::cpu().ntt(ring)?.order(Order::Natural).evaluate(coefficients)
}

fn check<T: Pod + Send + Sync + PartialEq>(engine: &Engine, plan: &LongPlan, seed: u64) -> Result<()> {
    let ring = plan.poly();
    let ntt = LongNtt::of(engine, plan)?;
    let reduced = |x: Vec<T>| -> Result<Vec<T>> { Engine::cpu().ntt(ring)?.interpolate(&values(ring, &x)?) };
    let a: Vec<T> = residues(ring, seed, 1).chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
    let wanted = values(ring, &a)?;
    let mut vector = ntt.upload(&a)?;
    assert!(ntt.download::<T>(&vector)? == a, "coefficients stay what they are: {plan}");
    ntt.forward(&mut vector)?;
    assert!(ntt.download::<T>(&vector)? == wanted, "forward: {plan}");
    assert!(matches!(ntt.forward(&mut vector), Err(Error::Mismatch { .. })));
    ntt.inverse(&mut vector)?;
    assert!(ntt.download::<T>(&vector)? == reduced(a)?, "inverse: {plan}");
    let mut vector = ntt.upload_evaluations(&wanted)?;
    assert!(ntt.download::<T>(&vector)? == wanted, "values stay what they are: {plan}");
    ntt.inverse(&mut vector)?;
    ntt.forward(&mut vector)?;
    assert!(ntt.download::<T>(&vector)? == wanted, "forward undoes inverse: {plan}");
    Ok(())
}

fn check_ring(engine: &Engine, plan: &LongPlan, seed: u64) -> Result<()> {
    match plan.poly().width().bytes() {
        2 => check::<u16>(engine, plan, seed),
        4 => check::<u32>(engine, plan, seed),
        8 => check::<u64>(engine, plan, seed),
        _ => check::<[u64; 4]>(engine, plan, seed),
    }
}

const PLACED: [Placement; 2] = [Placement::Native, Placement::Blocks];

/// Checks all combinations of length (from 2^4), ring, number of devices, number of rows, and placement.
#[test]
fn transforms_over_groups_match_one_device() -> Result<()> {
    let (mut checked, mut refused) = (0, 0);
    for devices in [1, 2, 4, 8] {
        let engine = group(devices);
        for log in [4, 5, 6, 7, 8, 10, 13, 16] {
            for ring in rings(1 << log)? {
                for rows in [1, 2, 4] {
                    let plan = LongPlan::new(engine.planner(), &ring, devices).and_then(|plan| plan.rows_each(rows));
                    let plan = match plan {
                        Ok(plan) => plan,
                        Err(Error::Unsupported { .. }) if log < 10 || rows * devices > 16 => {
                            refused += 1;
                            continue;
                        }
                        Err(error) => return Err(error),
                    };
                    for coefficients in PLACED {
                        for values in PLACED {
                            if log < 13 || coefficients == values {
                                check_ring(&engine, &plan.clone().placed(coefficients, values), log)?;
                                checked += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(checked > 1000 && refused > 0, "{checked} {refused}");
    Ok(())
}

/// Runs the CUDA source on the emulator, and on GPUs if there are any.
#[test]
fn kernels_of_long_transforms() -> Result<()> {
    for target in [Target::Emulator, Target::Cuda] {
        let Some(device) = target.device() else { continue };
        let engine = Engine::on(device);
        for (ring, rows) in rings(1 << 10)?.into_iter().step_by(2).zip([2, 16, 4, 8, 4]) {
            let plan = LongPlan::new(engine.planner(), &ring, 1)?.rows_each(rows)?;
            check_ring(&engine, &plan.placed(Placement::Blocks, Placement::Blocks), 6)?;
        }
    }
    Ok(())
}

/// Several GPUs that exchange data: two GPUs, and the largest available number that is a power of two.
#[test]
fn several_gpus() -> Result<()> {
    let gpus: Vec<Device> = (0..16).map_while(|ordinal| Device::cuda(ordinal).ok()).collect();
    if gpus.len() < 2 {
        assert!(std::env::var_os("RINGFORGE_REQUIRE_GPUS").is_none(), "there are {} GPUs", gpus.len());
        eprintln!("skipped: there are {} GPUs", gpus.len());
        return Ok(());
    }
    let mut counts = vec![2, 1 << gpus.len().ilog2()];
    counts.dedup();
    for count in counts {
        let engine = Engine::group(&gpus[..count])?;
        for log in [10, 16, 20] {
            let rings = if log < 20 {
                rings(1 << log)?
            } else {
                vec![PolyType::from(Ring::cyclic(1 << log, Modulus::new(2_013_265_921u64)?)?)]
            };
            for (i, ring) in rings.into_iter().enumerate() {
                let plan = LongPlan::new(engine.planner(), &ring, count)?.rows_each([1, 2, 4][(i + log) % 3])?;
                check_ring(&engine, &plan, 5)?;
                check_ring(&engine, &plan.placed(PLACED[i % 2], Placement::Blocks), 6)?;
            }
        }
    }
    Ok(())
}

/// Several processes hold the parts of one transform, each with a separate GPU, or sharing one GPU as if on hosts
/// connected only by sockets. If one process exits or is killed midway, the other ends with an error.
#[test]
fn several_processes() -> Result<()> {
    let Ok(gpu) = Device::cuda(0) else {
        eprintln!("skipped: no GPU");
        return Ok(());
    };
    if std::env::var_os("RINGFORGE_REQUIRE_NCCL").is_none() {
        eprintln!("skipped: RINGFORGE_REQUIRE_NCCL is not set");
        return Ok(());
    }
    drop(gpu);
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    let one = Device::cuda(1).is_err();
    for (what, hosts) in [("transforms", true), ("transforms", one), ("ends", true), ("is killed", one)] {
        let start = |rank: usize| {
            let mut command = std::process::Command::new(std::env::current_exe().expect("this test"));
            command.args(["--exact", "long::one_process_of_several", "--ignored", "--nocapture"]);
            command.env("RINGFORGE_RENDEZVOUS", port.to_string()).env("RINGFORGE_TEST", what);
            command.env("RANK", rank.to_string()).env("WORLD_SIZE", "2").env("LOCAL_RANK", rank.to_string());
            if hosts {
                command.env("NCCL_HOSTID", format!("host {rank}")).env("NCCL_SOCKET_IFNAME", "lo");
                command.env("NCCL_P2P_DISABLE", "1").env("NCCL_SHM_DISABLE", "1").env("NCCL_IB_DISABLE", "1");
            }
            command.spawn().expect("a process")
        };
        let processes = [start(0), start(1)];
        for (rank, mut process) in processes.into_iter().enumerate() {
            let end = process.wait().expect("an end");
            assert!(end.success() || (what, rank) == ("is killed", 1), "{what}, rank {rank}, hosts {hosts}: {end}");
        }
    }
    Ok(())
}

#[test]
#[ignore = "started by several_processes"]
fn one_process_of_several() -> Result<()> {
    let launch = Rank::from_env()?;
    let device = Device::cuda(launch.local_rank()).or_else(|_| Device::cuda(0))?;
    let timeout = core::time::Duration::from_secs(30);
    let engine = Engine::join(&device, launch.clone().with_timeout(timeout));
    let n = 1 << 16;
    for (i, ring) in rings(n)?.into_iter().enumerate().filter(|(_, ring)| ring.width().bytes() == 4) {
        let a: Vec<u32> = residues(&ring, 3, 1).chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        let wanted = values(&ring, &a)?;
        let placement = PLACED[i % 2];
        let plan = LongPlan::new(engine.planner(), &ring, 2)?.rows_each(2)?.placed(placement, placement);
        let ntt = LongNtt::of(&engine, &plan)?;
        let mut vector = ntt.upload(&a)?;
        let what = std::env::var("RINGFORGE_TEST");
        if what.as_deref() != Ok("transforms") {
            let start = std::time::Instant::now();
            let dies = (launch.rank() == 1).then(|| match what.as_deref() {
                Ok("ends") => std::process::exit(0),
                _ => std::thread::spawn(|| {
                    std::thread::sleep(core::time::Duration::from_millis(500));
                    // kills this process by SIGKILL in the middle of a transform
                    std::process::Command::new("kill").args(["-9", &std::process::id().to_string()]).status()
                }),
            });
            let mut transforms =
                (0..).map(|i| if i % 2 == 0 { ntt.forward(&mut vector) } else { ntt.inverse(&mut vector) });
            let outcome = transforms.find(|outcome| outcome.is_err() || start.elapsed() > timeout);
            assert!(dies.is_none(), "it has died");
            assert!(matches!(outcome, Some(Err(Error::Rank { rank: 1, .. } | Error::Nccl { .. }))), "{outcome:?}");
            assert!(start.elapsed() < timeout / 2, "nobody waited");
            eprintln!("{} after {:?}", outcome.and_then(Result::err).expect("an error"), start.elapsed());
            drop(transforms);
            assert!(matches!(ntt.download_part::<u32>(&vector), Err(Error::Unwritten { .. })));
            return Ok(());
        }
        let [own, values] = [ntt.download_part::<u32>(&vector)?, ntt.download_part(&ntt.upload_evaluations(&wanted)?)?];
        ntt.forward(&mut vector)?;
        assert!(ntt.download_part::<u32>(&vector)? == values, "forward: {plan}");
        ntt.inverse(&mut vector)?;
        assert!(ntt.download_part::<u32>(&vector)? == own, "inverse: {plan}");
    }
    // all ranks must use the same ring
    let ring: PolyType =
        if launch.rank() == 0 { "998244353 : x^4096 - 1" } else { "998244353 : x^4096 + 1" }.parse()?;
    assert!(matches!(engine.long_ntt(&ring), Err(Error::Rank { .. })));
    Ok(())
}

#[test]
fn rings_that_cannot_be_cut_are_refused() -> Result<()> {
    let engine = Engine::cpu();
    let refused = |ring: &str, devices| {
        let plan = LongPlan::new(engine.planner(), ring.parse::<PolyType>().expect("a ring"), devices);
        assert!(matches!(plan, Err(Error::Unsupported { .. })), "{ring} over {devices}: {plan:?}");
        plan.expect_err("refused").to_string()
    };
    assert!(refused("998244353 : x^1024 - 1", 3).contains("power of two"));
    assert!(refused("998244353 : x^1024 - 1", 32).contains("power of two"));
    assert!(refused("998244353 : x^1024 - 1", 0).contains("power of two"));
    assert!(refused("998244353 : x^16 - 1", 4).contains("too short"));
    assert!(refused("3457 : x^768 - x^384 + 1", 2).contains("x^n - c"));
    assert!(refused("998244353, 1004535809 : x^1024 + 1", 2).contains("several moduli"));
    refused("4591 : x^761 - x - 1", 2);
    assert!(matches!(group(3).long_ntt("998244353 : x^1024 - 1".parse::<Ring>()?), Err(Error::Unsupported { .. })));
    let ring: PolyType = "998244353 : x^1024 - 1".parse()?;
    let plan = LongPlan::new(engine.planner(), &ring, 2)?;
    for rows in [0, 3, 16, usize::MAX / 2 + 1, usize::MAX] {
        assert!(matches!(plan.clone().rows_each(rows), Err(Error::Unsupported { .. })), "{rows}");
    }
    assert!(matches!(plan.row_type(2), Err(Error::TooLarge { limit: 1, got: 2, .. })));
    // a plan for another number of devices, and a vector of another ring
    let two = group(2);
    let other = LongNtt::of(&group(4), &plan);
    assert!(matches!(other, Err(Error::Mismatch { .. })), "{other:?}");
    let ntt = two.long_ntt(&ring)?;
    let mut foreign = two
        .long_ntt(ring.ring().clone().with_root(ring.moduli()[0].pow(&U256::from(3u32), &U256::from(974_848u32)))?)?
        .upload(&[1u32; 1024])?;
    assert!(matches!(ntt.forward(&mut foreign), Err(Error::Mismatch { .. })));
    assert!(matches!(ntt.upload(&[1u32; 1023]), Err(Error::Argument { .. })));
    assert!(matches!(ntt.upload(&[1u32; 2048]), Err(Error::Length { .. })));
    assert!(matches!(ntt.upload(&[998_244_353u32; 1024]), Err(Error::Argument { .. })));
    assert!(matches!(ntt.download::<u64>(&ntt.upload(&[1u32; 1024])?), Err(Error::Argument { .. })));
    Ok(())
}

/// Each row of evaluations is an element of a separate ring: with four rows, row r has the evaluations at positions
/// r + 4·j.
#[test]
fn rows_have_rings() -> Result<()> {
    let ring: PolyType = "998244353 : x^1024 - 1".parse()?;
    let plan = LongPlan::new(Engine::cpu().planner(), &ring, 4)?;
    let a: Vec<u32> = residues(&ring, 1, 1).chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
    let all = values(&ring, &a)?;
    for row in 0..4 {
        let of_row = plan.row_type(row)?;
        let q = &of_row.moduli()[0];
        let (start, step) = (of_row.ring().roots()[0], of_row.ring().steps()[0]);
        for place in [0, 1, 255] {
            let x = q.mul(&start, &q.pow(&step, &U256::from(place as u64)));
            let value = a.iter().rev().fold(U256::ZERO, |sum, a| q.add(&q.mul(&sum, &x), &U256::from(*a)));
            assert_eq!(value, U256::from(all[row + 4 * place]));
        }
    }
    assert!(plan.to_string().contains("768 bytes leave"), "{plan}");
    assert_eq!((plan.sent_bytes(), plan.share_bytes()), (768, 1024));
    let blocks = plan.placed(Placement::Blocks, Placement::Blocks);
    assert!(blocks.to_string().contains("blocks become columns") && blocks.sent_bytes() == 3 * 768, "{blocks}");
    Ok(())
}
