//! What goes back holds no secrets.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ringforge::testkit::kept_memory;
use ringforge::{Error, HostArg, Plan, Port, Slot, Step};

use crate::support::{Affine, BYTES, WORDS, gpu, one_step, run_host, words};

/// Memory that went back holds no secrets once the work that was started is done, with nothing more from the caller: device
/// memory in the pool, and staging memory on the host.
#[test]
fn memory_goes_back_without_secrets() {
    let Some(device) = gpu() else { return };
    // the first step adds 0, so that the temporary holds the secret itself
    let secret = vec![0x5ec2_e7a1u32; 64 * WORDS];
    // what is not secret stays in memory that the driver gives once more, so it looks otherwise
    let open = vec![0x09e4_0b13u32; 64 * WORDS];
    let found_of = |what: &str, words: &[u32]| {
        let kept = kept_memory(&device).unwrap();
        assert!(!kept.is_empty(), "{what}: nothing went back");
        let pattern: &[u8] = bytemuck::cast_slice(&words[..4]);
        kept.iter().filter(|bytes| bytes.chunks_exact(16).any(|chunk| chunk == pattern)).count()
    };
    let found = |what: &str| found_of(what, &secret);
    let plan = |last| {
        let slots = [[Slot::Arg(0), Slot::Arg(1), Slot::Temp(0)], [Slot::Temp(0), Slot::Arg(1), Slot::Arg(2)]];
        let steps = [Affine::new(1), last].into_iter().zip(slots);
        let steps = steps.map(|(kernel, slots): (Arc<Affine>, _)| Step { kernel, slots: slots.into() });
        Plan::new("secrets", steps.collect()).unwrap()
    };
    let stream = device.stream().unwrap();
    let zero = stream.upload(&[0u32]).unwrap();

    // the hook sees what is not wiped: a buffer, then memory and staging memory of an argument and a result at least
    drop(stream.upload(&open).unwrap());
    assert!(found_of("a buffer that is not secret", &open) >= 1);
    device.trim();
    let ports = [Port::input(BYTES), Port::shared(4), Port::output(BYTES)];
    let kernel = Arc::new(Affine { factor: 1, rounds: 1, shared_bytes: 0, ports });
    run_host(&device.compile(&one_step(kernel, false)).unwrap(), &open[..WORDS], 0, &mut [0; WORDS]).unwrap();
    assert!(found_of("arguments that are not secret", &open) >= 4);
    let one = &secret[..WORDS];

    // an upload that nobody waits for, behind work that takes a while
    {
        let slow = device.compile(&one_step(Affine::slow(), false)).unwrap();
        let x = stream.upload(&words(500 * WORDS)).unwrap();
        let mut out = device.buffer(500 * BYTES).unwrap();
        slow.run(&stream, 500, &mut [(&x).into(), (&zero).into(), (&mut out).into()]).unwrap();
        drop(stream.upload_secret(&secret).unwrap());
    }
    assert_eq!(found("an upload behind other work"), 0);

    // items that differ from the secret by their number; item 0 has it
    let works = device.compile(&plan(Affine::new(3))).unwrap();
    let mut out = vec![0; secret.len()];
    run_host(&works, &secret, 0, &mut out).unwrap();
    assert_eq!(found("success over host memory"), 0);
    {
        let from = stream.upload_secret(&secret).unwrap();
        let mut to = stream.secret_buffer(4 * secret.len()).unwrap();
        works.run(&stream, 64, &mut [(&from).into(), (&zero).into(), (&mut to).into()]).unwrap();
    }
    assert_eq!(found("success on buffers"), 0);

    // out of memory, with the secret uploaded as what all items share, or in buffers
    let beyond = Arc::new(Affine {
        factor: 1,
        rounds: 1,
        shared_bytes: 0,
        ports: [Port::input(1 << 44).secret(), Port::shared(4 * secret.len()).secret(), Port::output(BYTES).secret()],
    });
    let first = Arc::new(Affine {
        factor: 1,
        rounds: 1,
        shared_bytes: 0,
        ports: [Port::input(BYTES).secret(), Port::shared(4 * secret.len()).secret(), Port::output(1 << 44).secret()],
    });
    let step = |kernel, slots: [Slot; 3]| Step { kernel, slots: slots.into() };
    let steps = vec![
        step(first, [Slot::Arg(0), Slot::Arg(1), Slot::Temp(0)]),
        step(beyond, [Slot::Temp(0), Slot::Arg(1), Slot::Arg(2)]),
    ];
    let fails = device.compile(&Plan::new("too much", steps).unwrap()).unwrap();
    let args = &mut [HostArg::from(one), HostArg::from(&secret[..]), HostArg::from(&mut out[..WORDS])];
    assert!(matches!(fails.run_host(1, args), Err(Error::OutOfMemory { .. })));
    assert_eq!(found("out of memory over host memory"), 0);
    {
        let (from, shared) = (stream.upload_secret(one).unwrap(), stream.upload_secret(&secret).unwrap());
        let mut to = stream.secret_buffer(BYTES).unwrap();
        let outcome = fails.run(&stream, 1, &mut [(&from).into(), (&shared).into(), (&mut to).into()]);
        assert!(matches!(outcome, Err(Error::OutOfMemory { .. })));
    }
    assert_eq!(found("out of memory on buffers"), 0);

    // a panic while buffers are at work
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let from = stream.upload_secret(&secret).unwrap();
        let mut to = stream.secret_buffer(4 * secret.len()).unwrap();
        works.run(&stream, 64, &mut [(&from).into(), (&zero).into(), (&mut to).into()]).unwrap();
        panic!("as it was told");
    }));
    assert!(unwound.is_err());
    assert_eq!(found("a panic"), 0);
}
