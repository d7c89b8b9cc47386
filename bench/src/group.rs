//! Several devices together: batches on all devices compared with one device, and transforms of one vector that is
//! distributed over all devices.
//!
//! If the bench's device is a GPU, all GPUs take part. If it is the CPU, two CPU devices take part.

use std::sync::Barrier;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ark_bls12_381::Fr;
use ark_ff::Field;
use ringforge::run::{LongNtt, LongPlan, LongVector, Placement, Span};
use ringforge::{Buffer, Device, Engine, Job, Modulus, Op, Order, PolyType, Ring, Stream};
use ringforge_sm2::{Mode, Signer, Verifier, batch_status};
use ringforge_testkit::{Named, Random, residues};

use crate::msm::groth16::{self, FROM};
use crate::msm::{self, KINDS};
use crate::proofs;
use crate::zk::{are_of_one_polynomial, coset};
use ringforge_cli::measure::{self, Effort, Times};
use ringforge_cli::record::{Measurement, Memory, Step};
use ringforge_cli::sample;
use ringforge_cli::session::Bench;
use ringforge_cli::show;
use ringforge_cli::suite::{Case, Figure, Scope, Suite};
use ringforge_cli::suites::kems::{Operation, SETS, are_ok, ends_agree};
use ringforge_cli::work::{Work, slices};

pub(crate) static SUITE: Suite = Suite {
    name: "group",
    by_ranks: true,
    title: "Several devices",
    about: "All GPUs of one machine as a group, by the host's clock, beside one of them in the same run. Batches are on \
            the devices, each with the batch of the single GPU, or go from page-locked host memory to host memory and \
            are divided over the devices. A STARK proof has its trace on the first device. A long transform has one vector \
            that is distributed over all of them, in its native layout or in blocks of natural order. With --ranks, each \
            process has one device.",
    figure: Figure::Item,
    headline: Some(("BLS12-381 2^24", "forward")),
    cases,
    ..Suite::NONE
};

const FHE: &str = "FHE 2^16, 60 bits";
const FHE_PRIME: u64 = 1_152_921_504_606_584_833;

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    if !scope.ranks {
        let ring = PolyType::from(Ring::negacyclic(1 << scope.log_n(16), Modulus::new(FHE_PRIME)?)?);
        let rows = scope.batches(&[scope.either(1 << 13, 8)])[0];
        cases.push(Case::new(FHE, &["forward", "forward, host to host"], move |bench, _| rows_of(bench, &ring, rows)));
        let items = scope.batches(&[scope.either(1 << 18, 64)])[0];
        cases.push(Case::new("CTRU-768", &["Decaps"], move |bench, _| decapsulations(bench, items)));
        let items = scope.batches(&[scope.either(1 << 20, 64)])[0];
        cases.push(Case::new("SM2", &["verify"], move |bench, _| verifications(bench, items)));
        let log_n = scope.log_n(scope.either(24, 10));
        let name = format!("BN254 G1 2^{log_n}");
        cases.push(Case::new(name.clone(), &[KINDS[0]], move |bench, _| {
            Ok(vec![msm::sum_on_all(bench, &name, 1 << log_n, &devices(&bench.device)?)?])
        }));
        let name = format!("Groth16 BN254 2^{log_n}");
        cases.push(Case::new(name.clone(), &[FROM[0]], move |bench, _| {
            Ok(vec![groth16::on_all(bench, &name, 1 << log_n, &devices(&bench.device)?)?])
        }));
        let (log_n, columns) = scope.either((22, 400), (8, 4));
        let (name, size) = (format!("KoalaBear 2^{log_n} x {columns}"), (scope.log_n(log_n), columns));
        cases.push(Case::new(name.clone(), &[proofs::ON_DEVICE], move |bench, _| {
            Ok(vec![proofs::on_all(bench, &name, size, &devices(&bench.device)?)?])
        }));
    }
    for (log_n, quick) in [(24, true), (26, false), (28, false)] {
        if scope.wants(quick) && (quick || !scope.cpu) {
            let log_n = scope.log_n(scope.either(log_n, 16));
            let ring = coset(1 << log_n, Fr::ONE)?;
            let operations = ["forward", "inverse", "forward, blocks", "inverse, blocks"];
            let name = format!("BLS12-381 2^{log_n}");
            cases.push(Case::new(name.clone(), &operations, move |bench, _| long(bench, &name, &ring)));
        }
    }
    Ok(cases)
}

/// Returns all GPUs if this device is a GPU, else two CPU devices.
fn devices(device: &Device) -> Result<Vec<Device>> {
    if device.limits().is_cpu() {
        return Ok(vec![Device::cpu(), Device::cpu()]);
    }
    let others = (1..16).map_while(|ordinal| Device::cuda(ordinal).ok());
    Ok(core::iter::once(device.clone()).chain(others).collect())
}

/// Work that a device repeats, and the stream that it runs on.
struct Task<'a> {
    start: Box<dyn FnMut() -> Result<()> + Send + 'a>,
    stream: Stream,
}

/// Measures runs in which all devices do their tasks once, at the same time.
fn times(mut tasks: Vec<Task<'_>>, effort: Effort) -> Result<Times> {
    let once = tasks.iter_mut().map(|task| {
        (task.start)()?;
        task.stream.synchronize()?;
        let start = Instant::now();
        (task.start)()?;
        task.stream.synchronize()?;
        anyhow::Ok(start.elapsed().as_secs_f64())
    });
    let once = once.collect::<Result<Vec<_>>>()?.into_iter().fold(0.0, f64::max);
    let runs = ((effort.sample_seconds / once).ceil() as usize).clamp(1, 1000);
    let samples = effort.samples.clamp(1, 9);
    let barrier = Barrier::new(tasks.len());
    let all = std::thread::scope(|scope| {
        let started = tasks.iter_mut().map(|task| {
            let barrier = &barrier;
            scope.spawn(move || {
                let mut seconds = Vec::new();
                let mut outcome = Ok(());
                for _ in 0..samples {
                    barrier.wait();
                    let start = Instant::now();
                    for _ in 0..runs {
                        outcome = outcome.and_then(|()| (task.start)());
                    }
                    outcome = outcome.and(task.stream.synchronize().map_err(Into::into));
                    barrier.wait();
                    seconds.push(start.elapsed().as_secs_f64() / runs as f64);
                }
                outcome.map(|()| seconds)
            })
        });
        let started: Vec<_> = started.collect();
        let ended =
            started.into_iter().map(|thread| thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?);
        ended.collect::<Result<Vec<_>>>()
    })?;
    Ok(Times::of(all.into_iter().next().context("there is no device")?, runs, 1))
}

/// Measures a task on all devices at once and, for comparison, on the first device alone. Each device's task has
/// `items` items.
fn beside_one<'a>(
    bench: &Bench,
    [case, operation]: [&str; 2],
    items: usize,
    task: impl Fn(&Device) -> Result<Task<'a>>,
) -> Result<Measurement> {
    let devices = devices(&bench.device)?;
    let make = |devices: &[Device]| devices.iter().map(&task).collect::<Result<Vec<_>>>();
    let one = times(make(&devices[..1])?, bench.effort)?;
    let all = times(make(&devices)?, bench.effort)?;
    let line = Measurement::new(case, operation, items * devices.len(), all);
    Ok(line.varied(format!("{} devices", devices.len())).beside("one of them", one.median_seconds / items as f64))
}

/// Measures transforms of one vector that is distributed over all devices.
fn long(bench: &Bench, case: &str, ring: &PolyType) -> Result<Vec<Measurement>> {
    let one = Engine::on(bench.device.clone());
    let (engine, count, kind) = match &bench.launch {
        Some(launch) => (Engine::join(&bench.device, launch.clone()), launch.size(), "processes"),
        None => {
            let devices = devices(&bench.device)?;
            (Engine::group(&devices)?, devices.len(), "devices")
        }
    };
    let data = vector(ring, bench.seed)?;
    let (wanted, alone) = {
        let stream = one.device().stream()?;
        let mut buffer = stream.upload_elements(ring, &data)?;
        let program = |op| one.program(&Job::new(ring, op).order(Order::Natural).in_place());
        let both = [program(Op::Forward)?, program(Op::Inverse)?];
        let run = |program: &ringforge::Program, buffer: &mut Buffer| {
            program.on(&stream, 1).output("data", buffer).run()?;
            stream.synchronize()
        };
        run(&both[0], &mut buffer)?;
        let wanted = stream.download::<[u8; 32]>(&buffer)?;
        let times = alternately(bench.effort, |turn| Ok(run(&both[1 - turn], &mut buffer)?))?;
        (wanted, [times[1].median_seconds, times[0].median_seconds])
    };
    let mut random = Random::new(bench.seed);
    let is_right = are_of_one_polynomial(wanted.as_flattened(), data.as_flattened(), Fr::ONE, &mut random)?;
    one.trim();
    let mut lines = Vec::new();
    for (placement, blocks) in [(Placement::Native, ""), (Placement::Blocks, ", blocks")] {
        let plan = LongPlan::new(engine.planner(), ring, count)?.placed(placement, placement);
        let ntt = LongNtt::of(&engine, &plan)?;
        let part = |vector: &LongVector| ntt.download_part::<[u8; 32]>(vector);
        let values = part(&ntt.upload_evaluations(&wanted)?)?;
        let mut vector = ntt.upload(&data)?;
        ntt.forward(&mut vector)?;
        let forward = is_right && part(&vector)? == values;
        ntt.inverse(&mut vector)?;
        ntt.forward(&mut vector)?;
        // the inverse is right if a forward transform of its output gives the expected evaluations again
        let inverse = is_right && part(&vector)? == values;
        ntt.inverse(&mut vector)?;
        let times = alternately(bench.effort, |turn| {
            Ok(if turn == 0 { ntt.forward(&mut vector) } else { ntt.inverse(&mut vector) }?)
        })?;
        for (i, (name, right)) in [("forward", forward), ("inverse", inverse)].into_iter().enumerate() {
            let line = Measurement::new(case, format!("{name}{blocks}"), 1, times[i]);
            let line = line.varied(format!("{count} {kind}, {} rows", plan.rows()));
            let steps = if bench.steps { steps(&ntt.timeline(&mut vector)?) } else { Vec::new() };
            let line = Measurement { steps, ..line.in_ring(ring).beside("one of them", alone[i]) };
            let checked = "all values are those of one device, and with the coefficients of one polynomial by arkworks, at a \
                           random point";
            lines.push(line.checked(checked, right));
        }
        drop((vector, ntt));
        engine.trim();
    }
    Ok(lines)
}

/// Random residues of one element, with edge cases among the first 2^16.
fn vector(ring: &PolyType, seed: u64) -> Result<Vec<[u8; 32]>> {
    let (mut bytes, few) = (sample::elements(ring, seed, 0, 1)?, coset(ring.degree().min(1 << 16), Fr::ONE)?);
    bytes[..few.bytes()].copy_from_slice(&residues(&few, seed, 1));
    Ok(bytes.chunks_exact(32).map(bytemuck::pod_read_unaligned).collect())
}

/// Converts the timeline of the first device to steps.
fn steps(spans: &[Span]) -> Vec<Step> {
    let of_first = spans.iter().filter(|span| Some(span.rank) == spans.first().map(|first| first.rank));
    let step = |span: &Span| {
        let [asked, start, end] = [span.asked, span.start, span.end].map(|seconds| show::time(seconds.max(0.0)));
        let about = format!("{start} to {end}, asked for at {asked}");
        Step { kernel: span.what.clone(), about, median_seconds: span.end - span.start, ..Step::default() }
    };
    of_first.map(step).collect()
}

/// Measures `call(0)` and `call(1)`, which run alternately, and returns the times of each.
fn alternately(effort: Effort, mut call: impl FnMut(usize) -> Result<()>) -> Result<[Times; 2]> {
    let mut seconds = [Vec::new(), Vec::new()];
    for sample in 0..=effort.samples.clamp(1, 25) {
        for (turn, seconds) in seconds.iter_mut().enumerate() {
            let start = Instant::now();
            call(turn)?;
            // the first round warms up
            if sample > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
    }
    Ok(seconds.map(|seconds| Times::of(seconds, 1, 1)))
}

/// Measures batches of transforms on all devices, with data on the device and with data in host memory. An item is a
/// polynomial modulo one prime.
fn rows_of(bench: &Bench, ring: &PolyType, rows: usize) -> Result<Vec<Measurement>> {
    let job = Job::new(ring, Op::Forward).batch_hint(rows);
    let data = sample::elements(ring, bench.seed, 16, rows)?;
    let few = rows.min(4) * ring.bytes();
    let wanted =
        Work::new(&Device::cpu(), &Job::new(ring, Op::Forward))?.run(rows.min(4), &[("from", &data[..few])])?;
    let devices = devices(&bench.device)?;
    let mut right = true;
    for device in &devices {
        let work = Work::new(device, &Job::new(ring, Op::Forward))?;
        right &= work.run(rows.min(4), &[("from", &data[..few])])? == wanted;
    }
    let resident = beside_one(bench, [FHE, "forward"], rows, |device| {
        let work = Work::new(device, &job)?;
        let mut buffers = work.buffers(rows, &[("from", &data)])?;
        let stream = work.stream.clone();
        Ok(Task { start: Box::new(move || work.start(rows, &mut buffers)), stream })
    })?;
    let over_host = |engine: &Engine| {
        let program = engine.program(&job)?;
        let (mut from, mut to) = (engine.device().pinned(data.len())?, engine.device().pinned(data.len())?);
        from.copy_from_slice(&data);
        let times = measure::wall(bench.effort, || {
            Ok(program.on_host(rows).input("from", &from[..]).output("to", &mut to[..]).run()?)
        })?;
        anyhow::Ok((times, to.to_vec()))
    };
    let ((one, alone), (all, together)) =
        (over_host(&Engine::on(devices[0].clone()))?, over_host(&Engine::group(&devices)?)?);
    let host = Measurement::new(FHE, "forward, host to host", rows, all).varied(format!("{} devices", devices.len()));
    let host = Measurement { memory: Memory::Pinned, ..host.beside("one of them", one.median_seconds / rows as f64) };
    Ok(vec![
        resident.in_ring(ring).checked("the first rows of every device are the CPU's", right),
        host.in_ring(ring).checked("all rows are those of one device", alone == together && alone[..few] == wanted[..]),
    ])
}

/// Measures decapsulations on all devices at once.
fn decapsulations(bench: &Bench, items: usize) -> Result<Vec<Measurement>> {
    let set = SETS.iter().find(|set| set.parameters.name() == "CTRU-768");
    let (set, mut inputs, mut has_key) = (set.context("there is no parameter set CTRU-768")?, Named::new(), Vec::new());
    for operation in [Operation::KeyGen, Operation::Encaps] {
        let size = operation.seed().context("the operation takes no seeds")?;
        inputs.insert("seeds".into(), sample::bytes(bench.seed, size, items)?);
        let work = Work::of_plan(&bench.device, &set.plan(operation, bench.device.limits())?)?;
        let results = work.run_all(items, &slices(&inputs))?;
        if operation == Operation::KeyGen {
            has_key = results.get("statuses").map_or(vec![true; items], |statuses| are_ok(statuses));
        }
        inputs.extend(results);
    }
    let line = beside_one(bench, ["CTRU-768", "Decaps"], items, |device| {
        let work = Work::of_plan(device, &set.plan(Operation::Decaps, device.limits())?)?;
        let mut buffers = work.buffers(items, &slices(&inputs))?;
        work.start(items, &mut buffers)?;
        let agree = ends_agree(&has_key, &inputs["shared keys"], &work.results(&buffers)?["shared keys"]);
        ensure!(agree, "the two ends have different keys on {device}");
        let stream = work.stream.clone();
        Ok(Task { start: Box::new(move || work.start(items, &mut buffers)), stream })
    })?;
    Ok(vec![line.checked("shared keys of every device are those that were encapsulated", true)])
}

/// Measures verifications of SM2 signatures, with uncached keys, on all devices at once.
fn verifications(bench: &Bench, items: usize) -> Result<Vec<Measurement>> {
    let engine = Engine::on(bench.device.clone());
    let signer = Signer::new(&engine, Mode::Throughput)?;
    let (mut private, mut public) = (vec![0; 32 * items], vec![0; 64 * items]);
    signer.generate(&mut private, &mut public)?.into_result()?;
    let (digests, mut signatures) = (sample::bytes(bench.seed, 32, items)?, vec![0; 64 * items]);
    signer.sign(&private, &digests, &mut signatures)?.into_result()?;
    let line = beside_one(bench, ["SM2", "verify"], items, |device| {
        let (engine, stream) = (Engine::on(device.clone()), device.stream()?);
        let verifier = Verifier::new(&engine)?;
        let [keys, digests, signatures] = [&public, &digests, &signatures].map(|bytes| stream.upload(bytes));
        let (keys, digests, signatures, mut statuses) = (keys?, digests?, signatures?, device.buffer(4 * items)?);
        verifier.verify_on(&stream, &keys, &digests, &signatures, &mut statuses)?;
        batch_status(&stream, &statuses)?.into_result()?;
        let of_task = stream.clone();
        let start = move || Ok(verifier.verify_on(&of_task, &keys, &digests, &signatures, &mut statuses)?);
        Ok(Task { start: Box::new(start), stream })
    })?;
    Ok(vec![line.checked("every signature verified on every device", true)])
}
