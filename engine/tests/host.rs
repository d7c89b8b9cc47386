//! Programs that run in place over host memory, and their errors for arguments of the wrong size or name.

use ringforge::{Device, Error, Job, Modulus, Op, Order, Planner, Program, Result, Ring};

const N: usize = 1 << 10;

fn program(device: &Device, op: Op) -> Result<Program> {
    let r = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")?;
    let job = Job::new(Ring::cyclic(N, r)?, op).order(Order::Natural).in_place();
    device.compile(&Planner::new(device.limits().clone()).plan(&job)?)
}

#[test]
fn transforms_in_place_undo_each_other() -> Result<()> {
    for device in [Some(Device::cpu()), Device::cuda(0).ok()].into_iter().flatten() {
        let (forward, inverse) = (program(&device, Op::Forward)?, program(&device, Op::Inverse)?);
        let x: Vec<[u64; 4]> = (0..3 * N as u64).map(|i| [i, !i, i << 32, i]).collect();
        let mut data = x.clone();
        forward.on_host(3).output("data", &mut data).run()?;
        assert_ne!(data, x, "{device}");
        inverse.on_host(3).output("data", &mut data).run()?;
        assert_eq!(data, x, "{device}");
    }
    Ok(())
}

#[test]
fn arguments_that_do_not_fit_are_refused() -> Result<()> {
    for device in [Some(Device::cpu()), Device::cuda(0).ok()].into_iter().flatten() {
        let program = program(&device, Op::Forward)?;
        let x = vec![[1u64; 4]; 2 * N + 1];
        let mut data = x.clone();
        for len in [0, 1, N - 1, N, 2 * N + 1] {
            let (expected, got) = (64 * N, 32 * len);
            let refused = program.on_host(2).output("data", &mut data[..len]).run();
            assert_eq!(
                refused,
                Err(Error::ArgumentSize { argument: "data".into(), batch: 2, expected, got }),
                "{device}"
            );
        }
        let refused = program.on_host(2).input("data", &x[..2 * N]).run();
        assert!(matches!(refused, Err(Error::Mismatch { .. })), "{device}: {refused:?}");
        let (left, right) = data.split_at_mut(N);
        let refused = program.on_host(1).output("data", left).output("more", &mut right[..N]).run();
        assert!(matches!(refused, Err(Error::Arguments { .. })), "{device}: {refused:?}");
        let most = usize::MAX / (32 * N);
        let refused = program.on_host(most + 1).output("data", &mut data).run();
        assert!(matches!(refused, Err(Error::TooLarge { limit, .. }) if limit == most), "{device}: {refused:?}");
        program.on_host(0).output("data", &mut data[..0]).run()?;
        assert_eq!(data, x, "{device}: nothing was touched");
    }
    Ok(())
}
