//! The generator of random blocks: reservations never overlap, and every device draws the blocks of the published cipher.

use std::collections::BTreeSet;
use std::thread;

use ringforge::kernels::Draw;
use ringforge::testkit::{Target, devices, seed};
use ringforge::{Arg, Device, Draws, Drbg, Error, Plan, Program, Result, Slot};

fn program(device: &Device, bytes: usize, attempt: u32) -> Result<Program> {
    device.compile(&Plan::new("draw", vec![Draw::new(bytes, attempt)?.step(Slot::Arg(0), Slot::Arg(1))])?)
}

fn generator() -> Drbg {
    let mut key = [7; 32];
    key[..8].copy_from_slice(&seed().to_le_bytes());
    Drbg::from_key(key)
}

fn draw_on_host(program: &Program, draws: &Draws, items: usize) -> Result<Vec<u8>> {
    let mut out = vec![0u8; items * program.plan().args()[1].bytes];
    program.run_host(items, &mut [draws.as_bytes().into(), out.as_mut_slice().into()])?;
    Ok(out)
}

/// RFC 8439, section 2.3.2: its 32-bit counter and first word of the nonce make our counter, its other words the attempt.
#[test]
fn blocks_are_those_of_the_standard() -> Result<()> {
    let mut bytes = [0; Draws::BYTES];
    (0..32).for_each(|i| bytes[i] = i as u8);
    bytes[32..40].copy_from_slice(&0x0900_0000_0000_0001_u64.to_le_bytes());
    let draws = Draws::from_bytes(&bytes)?;
    let attempt = u32::from_le_bytes([0, 0, 0, 0x4a]);
    let block = "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e\
                 d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e";
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&draws.block(0, attempt)), block);
    for device in devices() {
        assert_eq!(hex(&draw_on_host(&program(&device, 64, attempt)?, &draws, 1)?), block, "{device}");
        assert_eq!(hex(&draw_on_host(&program(&device, 32, attempt)?, &draws, 1)?), block[..64], "{device}");
    }
    Ok(())
}

/// Items enough that run_host cuts them into chunks on a GPU.
#[test]
fn no_block_is_drawn_twice() -> Result<()> {
    let targets = [(Target::Cpu, 20_000), (Target::Text, 2_000), (Target::TextSanitized, 300), (Target::Cuda, 1 << 20)];
    for (target, items) in targets {
        let Some(device) = target.device() else { continue };
        let (drbg, stream) = (generator(), device.stream()?);
        let mut all = Vec::new();
        for attempt in [0, 1, u32::MAX] {
            let program = program(&device, 32, attempt)?;
            for _ in 0..2 {
                let draws = drbg.reserve(items as u64)?;
                let found = draw_on_host(&program, &draws, items)?;
                for (item, block) in found.chunks_exact(32).enumerate() {
                    assert_eq!(block, &draws.block(item as u64, attempt)[..32], "{device}, item {item}");
                }
                all.extend(found);
            }
            let found = drbg.with_draws(&stream, items as u64, |draws| {
                let mut out = device.buffer(32 * items)?;
                program.run(&stream, items, &mut [draws.into(), Arg::Out(&mut out)])?;
                Ok(out)
            });
            all.extend(stream.download::<u8>(&found?)?);
        }
        let mut blocks: Vec<&[u8]> = all.chunks_exact(32).collect();
        blocks.sort_unstable();
        assert_eq!(blocks.len(), 9 * items);
        assert!(blocks.is_sorted_by(|a, b| a < b), "{device} draws a block twice");
    }
    Ok(())
}

fn first(draws: &Draws) -> u64 {
    draws.as_bytes()[32..40].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

#[test]
fn threads_get_ranges_apart() -> Result<()> {
    let drbg = generator();
    let reserve = |items: u64| (0..1000).map(|_| Ok((first(&drbg.reserve(items)?), items))).collect::<Result<Vec<_>>>();
    let ranges = thread::scope(|scope| {
        let threads: Vec<_> = (1..=4).map(|items| scope.spawn(move || reserve(items))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Result<Vec<_>>>()
    })?;
    let ranges: BTreeSet<(u64, u64)> = ranges.into_iter().flatten().collect();
    let end = ranges.iter().fold(0, |end, &(first, items)| {
        assert_eq!(first, end);
        first + items
    });
    assert_eq!(end, 1000 * (1 + 2 + 3 + 4));
    Ok(())
}

#[test]
fn counters_run_out() -> Result<()> {
    let drbg = generator();
    assert_eq!(first(&drbg.reserve(u64::MAX - 5)?), 0);
    assert!(matches!(drbg.reserve(6), Err(Error::TooLarge { limit: 5, got: 6, .. })));
    assert_eq!(first(&drbg.reserve(5)?), u64::MAX - 5);
    assert!(drbg.reserve(1).is_err());
    assert!(drbg.reserve(0).is_ok());
    Ok(())
}

#[test]
fn keys_are_the_systems_and_stay_hidden() -> Result<()> {
    let (one, other) = (Drbg::from_os()?.reserve(1)?, Drbg::from_os()?.reserve(1)?);
    assert_ne!(one.as_bytes(), other.as_bytes());
    assert_ne!(one.as_bytes()[..32], [0; 32]);
    assert_eq!(format!("{:?} {one:?}", Drbg::from_os()?), "Drbg(..) Draws(..)");
    assert!(matches!(Draws::from_bytes(&[0; 47]), Err(Error::Length { expected: 48, got: 47, .. })));
    assert!(matches!(Draw::new(48, 0), Err(Error::Unsupported { .. })));
    Ok(())
}
