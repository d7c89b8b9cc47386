//! Random blocks: every device computes those of ChaCha20, and no block occurs twice.

use ringforge::kernels::RandomBlock;
use ringforge::{Device, Error, Program, RandomKey, Result};
use ringforge_testkit::one_step;
use ringforge_testkit::{Target, devices};

fn program(device: &Device, bytes: usize, attempt: u32) -> Result<Program> {
    device.compile(&one_step(RandomBlock::new(bytes, attempt)?, &["random_key", "blocks"])?)
}

fn draw_on_host(program: &Program, random_key: &RandomKey, items: usize) -> Result<Vec<u8>> {
    let mut out = vec![0u8; items * program.plan().args()[1].bytes];
    program.on_host(items).input("random_key", random_key.as_bytes()).output("blocks", &mut out).run()?;
    Ok(out)
}

/// The test vector of RFC 8439, section 2.3.2. The standard's 32-bit counter and the first word of its nonce form
/// Ringforge's 64-bit counter, which is the item's index. The other two words of the nonce are the attempt and stream
/// id 0.
#[test]
fn blocks_match_the_standard() -> Result<()> {
    let random_key = RandomKey::from_bytes(&core::array::from_fn::<u8, { RandomKey::BYTES }, _>(|i| i as u8))?;
    let (item, attempt) = (0x0900_0000_0000_0001, u32::from_le_bytes([0, 0, 0, 0x4a]));
    let block = "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e\
                 d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e";
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&random_key.block(item, attempt)), block);
    for device in devices() {
        for bytes in [32, 64] {
            let drawn = draw_on_host(&program(&device, bytes, attempt)?, &random_key, 3)?;
            let blocks = (0..3).flat_map(|item| random_key.block(item, attempt)[..bytes].to_vec());
            assert!(blocks.eq(drawn), "{device}, {bytes} bytes");
        }
    }
    Ok(())
}

/// No two items get the same block. There are enough items that a GPU run over host memory is cut into chunks.
#[test]
fn no_block_is_drawn_twice() -> Result<()> {
    let targets =
        [(Target::Cpu, 20_000), (Target::Emulator, 2_000), (Target::EmulatorSanitized, 300), (Target::Cuda, 1 << 20)];
    for (target, items) in targets {
        let Some(device) = target.device() else { continue };
        let stream = device.stream()?;
        let mut all = Vec::new();
        for attempt in [0, 1, u32::MAX] {
            let program = program(&device, 32, attempt)?;
            for _ in 0..2 {
                let random_key = RandomKey::from_os()?;
                let found = draw_on_host(&program, &random_key, items)?;
                for (item, block) in found.chunks_exact(32).enumerate() {
                    assert_eq!(block, &random_key.block(item as u64, attempt)[..32], "{device}, item {item}");
                }
                all.extend(found);
            }
            let found = stream.with_random_key(|random_key| {
                let mut out = device.buffer(32 * items)?;
                program.on(&stream, items).input("random_key", random_key).output("blocks", &mut out).run()?;
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

#[test]
fn keys_come_from_the_system_and_stay_hidden() -> Result<()> {
    let (one, other) = (RandomKey::from_os()?, RandomKey::from_os()?);
    assert_ne!(one.as_bytes(), other.as_bytes());
    assert_ne!(one.as_bytes(), [0; RandomKey::BYTES]);
    assert_eq!(format!("{one:?}"), "RandomKey(..)");
    assert!(matches!(RandomKey::from_bytes(&[0; 33]), Err(Error::Length { expected: 32, got: 33, .. })));
    assert!(matches!(RandomBlock::new(48, 0), Err(Error::Unsupported { .. })));
    Ok(())
}
