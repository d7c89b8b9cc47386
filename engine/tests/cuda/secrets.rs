//! Freed memory holds no secrets.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ringforge::kernels::Port;
use ringforge::{Buffer, Error, Program, Result, Stream};
use ringforge_testkit::kept_memory;

use super::support::{Affine, BYTES, WORDS, gpu, one_step, run_host, steps, words};

fn run(program: &Program, stream: &Stream, batch: usize, x: &Buffer, key: &Buffer, out: &mut Buffer) -> Result<()> {
    program.on(stream, batch).input("x", x).input("key", key).output("out", out).run()
}

/// Once the work in progress is done, neither freed device memory in the pool nor freed staging memory on the host
/// holds secrets. The caller needs to do nothing for this.
#[test]
fn memory_goes_back_without_secrets() {
    let Some(device) = gpu() else { return };
    // the first step adds 0 to item 0, so the temporary holds the secret unchanged
    let secret = vec![0x5ec2_e7a1u32; 64 * WORDS];
    // public data stays in freed memory, which the driver may hand out again, so it must differ from the secret
    let open = vec![0x09e4_0b13u32; 64 * WORDS];
    let found_of = |what: &str, words: &[u32]| {
        let kept = kept_memory(&device).unwrap();
        assert!(!kept.is_empty(), "{what}: nothing went back");
        let pattern: &[u8] = bytemuck::cast_slice(&words[..4]);
        kept.iter().filter(|bytes| bytes.chunks_exact(16).any(|chunk| chunk == pattern)).count()
    };
    let found = |what: &str| found_of(what, &secret);
    let stream = device.stream().unwrap();
    let zero = stream.upload(&[0u32]).unwrap();

    // positive control: public data is found in freed memory, which is not wiped; first in the memory of a buffer, then
    // in the device and staging memory of at least one argument and one result
    drop(stream.upload(&open).unwrap());
    assert!(found_of("a buffer that is not secret", &open) >= 1);
    device.trim();
    let kernel = Affine { ports: [Port::input(BYTES), Port::shared(4), Port::output(BYTES)], ..Affine::new(1) };
    run_host(&device.compile(&one_step(kernel, false)).unwrap(), &open[..WORDS], 0, &mut [0; WORDS]).unwrap();
    assert!(found_of("arguments that are not secret", &open) >= 4);
    let one = &secret[..WORDS];

    // an upload that no code waits for, queued after slow work
    {
        let slow = device.compile(&one_step(Affine::slow(), false)).unwrap();
        let x = stream.upload(&words(500 * WORDS)).unwrap();
        let mut out = device.buffer(500 * BYTES).unwrap();
        run(&slow, &stream, 500, &x, &zero, &mut out).unwrap();
        drop(stream.upload_secret(&secret).unwrap());
    }
    assert_eq!(found("an upload behind other work"), 0);

    // each item adds its index to the secret, so item 0 holds the secret unchanged
    let works = device.compile(&steps("secrets", [Affine::new(1), Affine::new(3)])).unwrap();
    let mut out = vec![0; secret.len()];
    run_host(&works, &secret, 0, &mut out).unwrap();
    assert_eq!(found("success over host memory"), 0);
    {
        let from = stream.upload_secret(&secret).unwrap();
        let mut to = stream.secret_buffer(4 * secret.len()).unwrap();
        run(&works, &stream, 64, &from, &zero, &mut to).unwrap();
    }
    assert_eq!(found("success on buffers"), 0);

    // runs that fail for lack of memory, with the secret uploaded as a shared argument or stored in buffers
    let of_sizes = |from, to| {
        let shared = Port::shared(4 * secret.len()).secret();
        Affine { ports: [Port::input(from).secret(), shared, Port::output(to).secret()], ..Affine::new(1) }
    };
    let fails = device.compile(&steps("too much", [of_sizes(BYTES, 1 << 44), of_sizes(1 << 44, BYTES)])).unwrap();
    let call = fails.on_host(1).input("x", one).input("key", &secret).output("out", &mut out[..WORDS]);
    assert!(matches!(call.run(), Err(Error::OutOfMemory { .. })));
    assert_eq!(found("out of memory over host memory"), 0);
    {
        let (from, shared) = (stream.upload_secret(one).unwrap(), stream.upload_secret(&secret).unwrap());
        let mut to = stream.secret_buffer(BYTES).unwrap();
        let outcome = run(&fails, &stream, 1, &from, &shared, &mut to);
        assert!(matches!(outcome, Err(Error::OutOfMemory { .. })));
    }
    assert_eq!(found("out of memory on buffers"), 0);

    // a panic while buffers are in use
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let from = stream.upload_secret(&secret).unwrap();
        let mut to = stream.secret_buffer(4 * secret.len()).unwrap();
        run(&works, &stream, 64, &from, &zero, &mut to).unwrap();
        panic!("as it was told");
    }));
    assert!(unwound.is_err());
    assert_eq!(found("a panic"), 0);
}
