//! Groups of devices: each item goes to one of the devices, and the results equal those of a single device.

use bytemuck::cast_slice;
use rayon::prelude::*;
use ringforge::kernels::Distribution;
use ringforge::{Device, Engine, Error, Job, Limits, Op, Order, Plan, Planner, PolyType, RandomKey, Result};
use ringforge_testkit::{bytes, devices, residues};

/// Groups of each device with a CPU, of several CPUs, and of all GPUs.
fn groups() -> Vec<Engine> {
    let gpus: Vec<Device> = (0..).map_while(|ordinal| Device::cuda(ordinal).ok()).collect();
    let cpus = [1, 2, 3, 8].map(|count| (0..count).map(|_| Device::cpu()).collect::<Vec<_>>());
    let kinds = devices().into_iter().map(|device| vec![device, Device::cpu()]).chain(cpus).chain([gpus]);
    kinds.filter(|devices| !devices.is_empty()).map(|devices| Engine::group(&devices).expect("a group")).collect()
}

fn samples(planner: &Planner, ring: &PolyType) -> Result<Plan> {
    let p = planner.pipeline("samples and products");
    let sample = p.sample(ring, Distribution::Uniform, p.input("random_key"));
    p.output("samples", sample);
    p.output("products", sample * p.coefficients("factors", ring));
    p.build()
}

/// Samplers depend on the index of an item in the whole batch, so the second device must not repeat the random blocks
/// of the first.
#[test]
fn draws_of_a_group_match_one_device() -> Result<()> {
    let ring: PolyType = "3329 : x^256 + 1".parse()?;
    let (random_key, factors) = (bytes(1, RandomKey::BYTES), residues(&ring, 2, 1000));
    let run = |engine: &Engine, batch: usize| {
        let program = engine.program_of(&"samples", |planner| samples(planner, &ring))?;
        let mut out = [vec![0u8; batch * ring.bytes()], vec![0; batch * ring.bytes()]];
        let [samples, products] = &mut out;
        let call =
            program.on_host(batch).input("random_key", &random_key).input("factors", &factors[..batch * ring.bytes()]);
        call.output("samples", samples).output("products", products).run().map(|()| out)
    };
    let one = Engine::cpu();
    for group in groups() {
        for batch in [0, 1, 2, 7, 1000] {
            assert!(run(&group, batch)? == run(&one, batch)?, "{batch} on {group:?}");
        }
    }
    let [samples, _] = run(&one, 2)?;
    assert_ne!(samples[..ring.bytes()], samples[ring.bytes()..], "items differ, so the test can fail");
    Ok(())
}

#[test]
fn programs_run_on_streams_of_every_device() -> Result<()> {
    let ring: PolyType = "998244353 : x^64 + 1".parse()?;
    let bytes = residues(&ring, 3, 5);
    let a: &[u32] = cast_slice(&bytes);
    let job = Job::new(&ring, Op::Forward).order(Order::Natural);
    let wanted = Engine::cpu().ntt(&ring)?.evaluate(a)?;
    for group in groups() {
        let program = group.program(&job)?;
        for device in group.devices() {
            let stream = device.stream()?;
            let (from, mut to) = (stream.upload(a)?, device.buffer(bytes.len())?);
            program.on(&stream, 5).input("from", &from).output("to", &mut to).run()?;
            assert!(stream.download::<u32>(&to)? == wanted, "{device} of {group:?}");
        }
        let elsewhere = Device::cpu().stream()?;
        let (from, mut to) = (elsewhere.upload(a)?, elsewhere.device().buffer(bytes.len())?);
        let foreign = program.on(&elsewhere, 5).input("from", &from).output("to", &mut to).run();
        assert!(matches!(foreign, Err(Error::ForeignDevice { .. })), "{foreign:?}");
        let elements = group.upload(&ring, a)?;
        assert!(matches!(elements.add(&Engine::cpu().upload(&ring, a)?), Err(Error::ForeignDevice { .. })));
        assert_eq!(elements.buffers().len(), group.devices().count());
    }
    Ok(())
}

/// Copies are ordered across devices, also where memory is freed while another device still reads it.
#[test]
fn buffers_are_copied_between_devices() -> Result<()> {
    const COUNT: usize = 1 << 18;
    let bytes = COUNT * size_of::<u32>();
    let mut pairs = vec![[Device::cpu(), Device::cpu()]];
    if let Ok(gpu) = Device::cuda(0) {
        // a second handle of the GPU is another device
        let other = Device::cuda(1).or_else(|_| Device::cuda(0))?;
        let (on_cpu, stream) = (Device::cpu().stream()?.zeros(bytes)?, gpu.stream()?);
        let refused = stream.copy(&on_cpu, &mut gpu.buffer(bytes)?);
        assert!(matches!(refused, Err(Error::ForeignDevice { .. })), "{refused:?}");
        pairs.push([gpu, other]);
    }
    for [a, b] in pairs {
        let [on_a, on_b] = [a.stream()?, b.stream()?];
        let numbers: Vec<u32> = (0..COUNT as u32).collect();
        let (mut here, mut there) = (on_a.upload(&numbers)?, b.buffer(bytes)?);
        for _ in 0..20 {
            on_b.copy(&here, &mut there)?;
            on_a.wipe(&mut here)?;
            on_a.copy(&there, &mut here)?;
            on_b.wipe(&mut there)?;
        }
        assert!(on_a.download::<u32>(&here)? == numbers, "{a} and {b}");
        let mut all = on_b.zeros(20 * bytes)?;
        for i in 0..20 {
            let part = on_a.upload(&vec![i as u32; COUNT])?;
            on_b.copy(&part, all.slice_mut(i * bytes..(i + 1) * bytes)?)?;
        }
        let found = on_b.download::<u32>(&all)?;
        assert!(found.iter().enumerate().all(|(i, x)| *x as usize == i / COUNT), "{a} and {b}");
    }
    Ok(())
}

/// Groups can be used on rayon's threads, because other threads wait for the devices.
#[test]
fn groups_work_on_the_threads_of_rayon() -> Result<()> {
    let ring: PolyType = "998244353 : x^4096 + 1".parse()?;
    let bytes = residues(&ring, 4, 9);
    let a: &[u32] = cast_slice(&bytes);
    let group = Engine::group(&[Device::cpu(), Device::cpu(), Device::cpu()])?;
    let wanted = Engine::cpu().mul(&ring, a, a)?;
    let products: Vec<_> = (0..16).into_par_iter().map(|_| group.mul(&ring, a, a)).collect();
    products.into_iter().try_for_each(|product| product.map(|product| assert!(product == wanted)))
}

#[test]
fn invalid_groups_are_refused() -> Result<()> {
    let (a, b) = (Device::cpu(), Device::cpu());
    assert!(matches!(Engine::group(&[]), Err(Error::Length { expected: 1, got: 0, .. })));
    let twice = Engine::group(&[a.clone(), b.clone(), a.clone()]);
    assert!(matches!(twice, Err(Error::Mismatch { .. })), "{twice:?}");
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let group = Engine::group_by_rate(&[(a.clone(), 1.0), (b.clone(), rate)]);
        assert!(matches!(group, Err(Error::Mismatch { .. })), "{rate}: {group:?}");
    }
    assert_eq!(Engine::group(std::slice::from_ref(&a))?.devices().count(), 1);
    // compiling for one device of a group is rejected, because the program would not use the other devices
    let group = Engine::group(&[a.clone(), b])?;
    let plan = group.planner().plan(&Job::new("17:x^4+1".parse::<PolyType>()?, Op::Mul))?;
    let refused = group.device().compile(&plan);
    assert!(matches!(&refused, Err(Error::Unsupported { why, .. }) if why.contains("Engine::compile")), "{refused:?}");
    // a pipeline planned for devices that are not in the group
    let other = Planner::new(Limits::h200()).pipeline("planned for a GPU");
    let refused = group.compile(other);
    assert!(matches!(&refused, Err(Error::Unsupported { why, .. }) if why.contains("program_of")), "{refused:?}");
    for device in group.devices().chain([&a, Engine::group(std::slice::from_ref(&a))?.device()]) {
        device.compile(&plan)?;
    }
    Engine::on(group.device().clone()).device().compile(&plan)?;
    assert!(Engine::all().devices().count() >= 1);
    Ok(())
}

/// A pipeline is compiled for all devices of a group.
#[test]
fn pipelines_run_on_all_devices() -> Result<()> {
    let ring: PolyType = "3329 : x^256 + 1".parse()?;
    let square = |engine: &Engine| {
        let p = engine.pipeline("squares");
        let a = p.coefficients("a", &ring).forward();
        p.output("squares", (a * a).inverse());
        engine.compile(p)
    };
    let a = residues(&ring, 1, 7);
    let [mut wanted, mut found] = [0, 0].map(|_| vec![0u8; a.len()]);
    square(&Engine::cpu())?.on_host(7).input("a", &a).output("squares", &mut wanted).run()?;
    let program = square(&Engine::group(&[Device::cpu(), Device::cpu()])?)?;
    program.on_host(7).input("a", &a).output("squares", &mut found).run()?;
    assert!(found == wanted);
    Ok(())
}

/// If devices of a group fail, the results of all its devices are cleared.
#[test]
fn nothing_is_left_where_one_device_fails() -> Result<()> {
    let ring: PolyType = "3329 : x^256 + 1".parse()?;
    let group = Engine::group(&[Device::cpu(), Device::cpu()])?;
    let program = group.program(&Job::new(&ring, Op::Mul))?;
    // the output is misaligned for 16-bit residues, which a CPU rejects, because it works directly on the caller's
    // memory
    let (a, mut out) = (vec![1u8; 2 * ring.bytes() + 1], vec![7u8; 2 * ring.bytes() + 1]);
    let odd = usize::from((out.as_ptr() as usize).is_multiple_of(2));
    let a = &a[odd..][..2 * ring.bytes()];
    let to = &mut out[odd..][..2 * ring.bytes()];
    let refused = program.on_host(2).input("a", a).input("b", a).output("product", to).run();
    assert!(matches!(refused, Err(Error::Alignment { .. })), "{refused:?}");
    assert!(to.iter().all(|byte| *byte == 0));
    Ok(())
}
