use core::ops::Range;
use core::time::Duration;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::turn::{Side, To};
use super::*;
use crate::job::Op;
use crate::long::Placement;
use ringforge_math::poly::PolyType;
use ringforge_runtime::backend::cpu::Cpu;
use ringforge_runtime::backend::{Backend, BackendStream, Binding, Loaded};
use ringforge_runtime::communicator::Loopback;
use ringforge_runtime::device::Device;
use ringforge_runtime::kernel::Kernel;
use ringforge_runtime::launch::Rank;
use ringforge_runtime::limits::Limits;
use ringforge_runtime::memory::{Memory, Read, Write};
use ringforge_runtime::tiles::Shape;

/// If a device fails before or after it sends, the transform ends at once on the other devices. The vector is then
/// unreadable, and a new `LongNtt` reconnects the devices.
#[test]
fn a_device_that_fails_ends_the_others() -> Result<()> {
    let poly: PolyType = "998244353 : x^4096 - 1".parse()?;
    let engine = Engine::group(&[Device::cpu(), Device::cpu(), Device::cpu(), Device::cpu()])?;
    let coefficients: Vec<u32> = (0..4096).collect();
    let failure = || Error::OutOfMemory { bytes: 7 };
    for after in [0, 1] {
        let (ntt, start) =
            (LongNtt::of(&engine, &LongPlan::new(engine.planner(), &poly, 4)?.rows_each(2)?)?, Instant::now());
        let mut vector = ntt.upload(&coefficients)?;
        let outcome = ntt.run(&mut vector, [Holds::Coefficients, Holds::Values], false, |turn| {
            turn.all().try_for_each(|part| turn.work_on(Side::Columns, Op::Forward, part))?;
            turn.all().try_for_each(|row| match (turn.member.rank, row >= after) {
                (2, true) => Err(failure()),
                _ => turn.exchange(To::Rows, Side::Columns, turn.all(), row..row + 1),
            })
        });
        assert_eq!(outcome, Err(failure()), "the cause, not that it was heard of");
        assert!(start.elapsed() < Rank::TIMEOUT / 2, "nobody waited");
        assert!(matches!(ntt.download::<u32>(&vector), Err(Error::Unwritten { .. })));
        assert!(matches!(ntt.forward(&mut vector), Err(Error::Unwritten { .. })));
        let mut vector = ntt.upload(&coefficients)?;
        assert!(matches!(ntt.forward(&mut vector), Err(Error::Rank { .. })), "these connections are of no more use");
        let ntt = engine.long_ntt(&poly)?;
        let mut vector = ntt.upload(&coefficients)?;
        ntt.forward(&mut vector)?;
        assert!(ntt.download::<u32>(&vector)? == engine.ntt(&poly)?.evaluate(&coefficients)?);
    }
    Ok(())
}

/// If one device is late by more than the timeout, the transform returns an error on every device, and no device waits
/// for much longer than the timeout.
#[test]
fn a_link_that_stalls_ends_the_transform_in_time() -> Result<()> {
    let poly: PolyType = "998244353 : x^4096 - 1".parse()?;
    let timeout = Duration::from_millis(300);
    let engine = Engine::group(&[Device::cpu(), Device::cpu(), Device::cpu(), Device::cpu()])?;
    let engine = engine.with_timeout(timeout);
    let plan = LongPlan::new(engine.planner(), &poly, 4)?.rows_each(2)?;
    let (ntt, start) = (LongNtt::of(&engine, &plan)?, Instant::now());
    let mut vector = ntt.upload(&[1u32; 4096])?;
    let outcome = ntt.run(&mut vector, [Holds::Coefficients, Holds::Values], false, |turn| {
        if turn.member.rank == 1 {
            std::thread::sleep(2 * timeout);
        }
        let waited = Instant::now();
        let outcome = turn.forward();
        assert!(outcome.is_err() && waited.elapsed() < 2 * timeout, "{outcome:?}");
        outcome
    });
    assert!(matches!(outcome, Err(Error::Rank { .. })), "{outcome:?}");
    assert!(start.elapsed() < 4 * timeout);
    assert!(matches!(ntt.download::<u32>(&vector), Err(Error::Unwritten { .. })));
    Ok(())
}

/// A CPU backend on which the given number of allocations succeed and all later ones fail.
#[derive(Debug)]
struct Tight(Cpu, AtomicUsize);

impl Backend for Tight {
    fn limits(&self) -> &Limits {
        self.0.limits()
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        let less = |left: usize| left.checked_sub(1);
        match self.1.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
            Ok(_) => self.0.allocate(bytes),
            Err(_) => Err(Error::OutOfMemory { bytes }),
        }
    }

    fn queue(&self) -> Result<BackendStream> {
        self.0.queue()
    }

    fn upload_shape(&self, queue: &BackendStream, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()> {
        self.0.upload_shape(queue, from, shape, to)
    }

    fn download(&self, queue: &BackendStream, from: Read<'_>, to: &mut [u8]) -> Result<()> {
        self.0.download(queue, from, to)
    }

    fn copy(&self, queue: &BackendStream, from: Read<'_>, to: Write<'_>) -> Result<()> {
        self.0.copy(queue, from, to)
    }

    fn wipe(&self, queue: &BackendStream, memory: Write<'_>) -> Result<()> {
        self.0.wipe(queue, memory)
    }

    fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>> {
        self.0.load(kernels)
    }

    fn launch(
        &self,
        queue: &BackendStream,
        kernel: &Loaded,
        items: Range<usize>,
        ports: Vec<Binding<'_>>,
    ) -> Result<()> {
        self.0.launch(queue, kernel, items, ports)
    }

    fn synchronize(&self, queue: &BackendStream) -> Result<()> {
        self.0.synchronize(queue)
    }

    fn is_host(&self) -> bool {
        true
    }
}

/// If any one allocation fails on one device, the transform returns exactly that error, and no device keeps waiting.
#[test]
fn a_device_without_memory_ends_the_others() -> Result<()> {
    let poly: PolyType = "998244353 : x^4096 - 1".parse()?;
    let coefficients: Vec<u32> = (0..4096).collect();
    let wanted = Engine::cpu().ntt(&poly)?.evaluate(&coefficients)?;
    let start = Instant::now();
    for pieces in 0.. {
        let tight = Device::new(Tight(Cpu::default(), AtomicUsize::new(pieces)));
        let engine = Engine::group(&[Device::cpu(), tight])?;
        let outcome = engine.long_ntt(&poly).and_then(|ntt| {
            let mut vector = ntt.upload(&coefficients)?;
            let done = ntt.forward(&mut vector);
            assert_eq!(ntt.download::<u32>(&vector).is_ok(), done.is_ok());
            done.and_then(|()| ntt.download::<u32>(&vector))
        });
        match outcome {
            Ok(values) => {
                assert!(pieces > 2 && values == wanted, "{pieces}");
                break;
            }
            Err(error) => assert!(matches!(error, Error::OutOfMemory { .. }), "{pieces}: {error}"),
        }
    }
    assert!(start.elapsed() < Rank::TIMEOUT / 2, "nobody waited");
    Ok(())
}

/// Runs one engine per rank, as separate processes would: each rank uploads and downloads only its own part. The
/// results match those of one device.
#[test]
fn ranks_with_their_own_parts_match_one_device() -> Result<()> {
    let poly: PolyType = "998244353 : x^4096 + 1".parse()?;
    let coefficients: Vec<u32> = (0..4096).map(|i| i * 7919).collect();
    let values: Vec<u32> = Engine::cpu().ntt(&poly)?.evaluate(&coefficients)?;
    for (size, placement) in [(1, Placement::Native), (2, Placement::Native), (4, Placement::Blocks)] {
        let plan = LongPlan::new(Engine::cpu().planner(), &poly, size)?.rows_each(2)?.placed(placement, placement);
        let run = |rank: usize, end: Loopback| -> Result<()> {
            let engine = Engine::join(&Device::cpu(), Rank::new(rank, size, "")?);
            let member = Member { engine: Engine::cpu(), rank, communicator: Some(Box::new(end)) };
            let links = Links { members: vec![member], ranks: size, turn: Mutex::default() };
            *engine.0.links.lock().unwrap() = Some(Arc::new(links));
            let ntt = LongNtt::of(&engine, &plan)?;
            let cut = |holds, all: &[u32]| Cut::of(&plan, holds, size).part(all, rank).to_vec();
            let own = [cut(Holds::Coefficients, &coefficients), cut(Holds::Values, &values)];
            let mut vector = ntt.upload_part(&own[0])?;
            ntt.forward(&mut vector)?;
            assert!(ntt.download_part::<u32>(&vector)? == own[1], "{rank} of {size}");
            let mut vector = ntt.upload_evaluations_part(&own[1])?;
            ntt.inverse(&mut vector)?;
            assert!(ntt.download_part::<u32>(&vector)? == own[0], "{rank} of {size}");
            assert_eq!(ntt.download::<u32>(&ntt.upload(&coefficients)?).is_ok(), size == 1);
            assert!(matches!(ntt.upload_part(&coefficients[1..]), Err(Error::Length { .. })));
            assert!(matches!(ntt.upload_part(&vec![u32::MAX; 4096 / size]), Err(Error::Argument { .. })));
            Ok(())
        };
        let (run, ends) = (&run, Loopback::ends(size, Rank::TIMEOUT).into_iter().enumerate());
        let outcomes = threads::each_on_its_own(ends.map(|(rank, end)| move || run(rank, end)).collect())?;
        outcomes.into_iter().collect::<Result<Vec<_>>>()?;
    }
    Ok(())
}

/// A transform over two processes returns an error if their devices are CPUs. A launch with a single process works.
#[test]
fn several_processes_need_gpus() -> Result<()> {
    let poly: PolyType = "998244353 : x^4096 + 1".parse()?;
    let alone = Engine::join(&Device::cpu(), Rank::new(0, 1, "")?);
    let ntt = alone.long_ntt(&poly)?;
    assert_eq!(ntt.download::<u32>(&ntt.upload(&[1u32; 4096])?)?, [1; 4096]);
    let two = Engine::join(&Device::cpu(), Rank::new(0, 2, "127.0.0.1:1")?);
    assert!(matches!(two.long_ntt(&poly), Err(Error::Unsupported { .. })));
    Ok(())
}
