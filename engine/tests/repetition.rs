//! Repetition: each item gets the result of its first attempt that succeeds, on every device and in every batch.

use ringforge::kernels::{Args, Built, CustomKernel, Port};
use ringforge::run::{AGAIN, Repetition};
use ringforge::{Engine, Error, Pipeline, Result};
use ringforge_testkit::{bytes, devices};

/// The status of an attempt that succeeds, and a status that is an error.
const DONE: u32 = 7;
const BAD: u32 = 9;
/// Words of an item at the input, and at the wide output. Neither is a multiple of the words that a warp moves at once.
const IN: usize = 3;
const OUT: usize = 37;

const SOURCE: &str = r#"
#include "prelude.cuh"
using namespace rf;
extern "C" __global__ void attempt(const u32* seeds, const u32* attempts, const u32* addend, u32* wide, u32* number,
                                   u32* statuses, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u32* seed = seeds + item * Task::in;
    const u32 mixed = (seed[0] + seed[2] * attempts[item] + *addend) * 2654435761u >> 16;
    number[item] = attempts[item];
    for (u32 i = 0; i < Task::out; i++) wide[item * Task::out + i] = mixed + i;
    // the second word is one in how many attempts succeeds; 0: the item is never reached; above 1000: it is bad
    const u32 rate = seed[1];
    if (rate == 0) return;
    statuses[item] = rate > 1000 ? Task::bad : mixed % rate == 0 ? Task::done : Task::again;
}
"#;

/// The outputs of an attempt: the first word of the wide output, and the status.
fn attempt(seed: &[u32], number: u32, addend: u32) -> (u32, u32) {
    let mixed =
        seed[0].wrapping_add(seed[2].wrapping_mul(number)).wrapping_add(addend).wrapping_mul(2_654_435_761) >> 16;
    let status = match seed[1] {
        0 => 0,
        1001.. => BAD,
        rate if mixed.is_multiple_of(rate) => DONE,
        _ => AGAIN,
    };
    (mixed, status)
}

#[allow(unsafe_code)]
fn kernel() -> CustomKernel {
    let on_cpu = |items, args: &mut Args<'_>| {
        type Item<'a> = (&'a [u32], &'a u32, &'a u32, &'a mut [u32], &'a mut u32, &'a mut u32);
        args.each(items, |_, (seed, number, addend, wide, told, status): Item<'_>| {
            let (mixed, is) = attempt(seed, *number, *addend);
            (0u32..).zip(wide).for_each(|(i, word)| *word = mixed + i);
            (*told, *status) = (*number, is);
            Ok(())
        })
    };
    let task: [(&str, &dyn core::fmt::Display); 5] =
        [("in", &IN), ("out", &OUT), ("done", &DONE), ("bad", &BAD), ("again", &AGAIN)];
    let built = Built::thread_per_item(64).constants("Task", &task);
    let ports = [
        Port::input(4 * IN).secret(),
        Port::input(4),
        Port::shared(4),
        Port::output(4 * OUT).secret(),
        Port::output(4),
        Port::status(),
    ];
    // SAFETY: each thread accesses only its own item and the shared word.
    unsafe { CustomKernel::new(("attempt", SOURCE, &[]), ports, move |_| Ok(built.clone()), on_cpu) }
}

fn pipeline(engine: &Engine) -> Pipeline {
    let p = engine.pipeline("attempt");
    let inputs = ["seeds", "attempt", "addend"].map(|name| p.input(name));
    let [wide, number, statuses] = p.step(kernel(), &inputs);
    p.output("wide", wide);
    p.output("number", number);
    p.output("statuses", statuses);
    p
}

fn words(seed: u64, count: usize) -> Vec<u32> {
    bytes(seed, 4 * count).as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Runs a repetition for these items, and returns the outputs: wide, numbers, statuses, number of rounds.
fn run(repetition: &Repetition, engine: &Engine, seeds: &[u32]) -> Result<([Vec<u32>; 3], usize)> {
    let (stream, batch) = (engine.device().stream()?, seeds.len() / IN);
    let (seeds, addend) = (stream.upload_secret(seeds)?, stream.upload(&[5u32])?);
    let mut wide = stream.secret_buffer(4 * OUT * batch)?;
    let [mut number, mut statuses] = [engine.device().buffer(4 * batch)?, engine.device().buffer(4 * batch)?];
    let call = repetition.on(&stream, batch).input("seeds", &seeds).input("addend", &addend);
    let call = call.output("wide", &mut wide).output("number", &mut number).output("statuses", &mut statuses);
    let rounds = call.run()?;
    if batch == 0 {
        return Ok((Default::default(), rounds));
    }
    Ok(([stream.download(&wide)?, stream.download(&number)?, stream.download(&statuses)?], rounds))
}

#[test]
fn items_get_their_first_success() {
    for device in devices() {
        let engine = Engine::on(device);
        for (batch, most) in [(0, 9), (1, 1), (1, 300), (2, 300), (3, 2), (70, 40), (700, 300)] {
            let mut seeds: Vec<u32> = words(batch as u64 + 1, IN * batch);
            for (i, seed) in seeds.chunks_exact_mut(IN).enumerate() {
                // easy and hard items, hopeless ones, bad ones, and one in ten that no kernel reaches
                seed[1] = [1, 2, 5, 30, 900, 5, 5, 2000, 0, 5][(i + batch) % 10];
                seed[2] |= 1;
            }
            let repetition = engine.repeat(pipeline(&engine), most).unwrap();
            let ([wide, numbers, statuses], rounds) = run(&repetition, &engine, &seeds).unwrap();
            let mut last = 0;
            for (item, seed) in seeds.chunks_exact(IN).enumerate() {
                let number = (0..most).find(|&number| attempt(seed, number, 5).1 != AGAIN);
                let about = format!("item {item} of {batch} on {engine:?}, at most {most} attempts");
                let Some(number) = number else {
                    assert_eq!(statuses[item], AGAIN, "{about}");
                    last = most - 1;
                    continue;
                };
                let (mixed, status) = attempt(seed, number, 5);
                assert_eq!((numbers[item], statuses[item]), (number, status), "{about}");
                assert!(wide[item * OUT..][..OUT].iter().copied().eq(mixed..mixed + OUT as u32), "{about}");
                last = last.max(number);
            }
            if batch > 0 {
                let (fewest, most) = ((last as usize).div_ceil(16) + 1, last as usize + 1);
                assert!((fewest..=most).contains(&rounds), "{rounds} rounds, at most attempt {last}");
            }
        }
    }
}

#[test]
fn plans_that_cannot_be_repeated_are_refused() {
    let engine = Engine::cpu();
    let refusal = |p: Pipeline| match engine.repeat(p, 9) {
        Err(Error::Unsupported { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let of = |attempt: &str, statuses: &str, shared: bool| {
        let p = engine.pipeline("attempt");
        let seeds = if shared { p.shared("seeds", 4 * IN) } else { p.input("seeds") };
        let [wide, number, made] = p.step(kernel(), &[seeds, p.input(attempt), p.input("addend")]);
        p.output("wide", wide);
        p.output("number", number);
        p.output(statuses, made);
        p
    };
    assert!(refusal(of("try", "statuses", false)).contains("the input attempt"));
    assert!(refusal(of("attempt", "status", false)).contains("the output statuses"));
    assert!(refusal(of("attempt", "statuses", true)).contains("an input with a value for each item"));
}

#[test]
fn batches_that_are_too_large_are_refused() {
    let engine = Engine::cpu();
    let (repetition, stream) = (engine.repeat(pipeline(&engine), 9).unwrap(), engine.stream().unwrap());
    for batch in [(1 << 30) + 1, usize::MAX] {
        assert!(matches!(repetition.on(stream, batch).run(), Err(Error::TooLarge { .. })));
    }
}

#[test]
fn a_repetition_says_what_it_repeats() {
    let engine = Engine::cpu();
    let said = engine.repeat(pipeline(&engine), 814).unwrap().to_string();
    assert!(said.starts_with("at most 814 times, until each item is done: attempt\n"), "{said}");
}

/// Wherever the device fails, the run ends with an error, no output keeps an earlier one, and the next run is right.
#[test]
fn a_failing_device_leaves_no_outputs() {
    let (device, fault) = ringforge_testkit::failing::device();
    let engine = Engine::on(device);
    let repetition = engine.repeat(pipeline(&engine), 40).unwrap();
    let stream = engine.device().stream().unwrap();
    let mut seeds = words(1, IN * 9);
    seeds.chunks_exact_mut(IN).for_each(|seed| (seed[1], seed[2]) = (5, seed[2] | 1));
    let sound = run(&repetition, &engine, &seeds).unwrap();
    let (of_items, addend) = (stream.upload_secret(&seeds).unwrap(), stream.upload(&[5u32]).unwrap());
    for call in 1.. {
        let [mut wide, mut number, mut statuses] = [4 * OUT, 4, 4].map(|bytes| stream.zeros(bytes * 9).unwrap());
        fault.at(call);
        let rounds = repetition.on(&stream, 9).input("seeds", &of_items).input("addend", &addend);
        let outcome =
            rounds.output("wide", &mut wide).output("number", &mut number).output("statuses", &mut statuses).run();
        if !fault.happened() {
            fault.at(0);
            assert_eq!(outcome, Ok(sound.1));
            break;
        }
        match outcome {
            // the wipe of memory that is being freed cannot tell its failure
            Ok(rounds) => assert_eq!(rounds, sound.1),
            Err(Error::Driver { .. }) => {
                for output in [&wide, &number, &statuses] {
                    assert!(matches!(stream.download::<u32>(output), Err(Error::Unwritten { .. })), "call {call}");
                }
            }
            Err(error) => panic!("call {call}: {error:?}"),
        }
        assert_eq!(run(&repetition, &engine, &seeds).unwrap(), sound, "after call {call}");
    }
}
