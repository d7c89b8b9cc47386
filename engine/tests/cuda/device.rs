//! The GPU as a device: missing GPUs and excessive requests, memory and streams shared with other code, timing and
//! occupancy.

use ringforge::cuda::{compile_check, is_compiler_present};
use ringforge::{Device, Error, Job, Limits, Op, Planner, PolyType};

use super::support::{Affine, BYTES, WORDS, expected, gpu, one_step, run, words};

#[test]
fn missing_devices_and_compilers_are_errors() {
    assert!(matches!(Device::cuda(1_000_000), Err(Error::NoDevice(_))));
    assert!(matches!(Device::cuda(usize::MAX), Err(Error::NoDevice(_))));
    if !is_compiler_present() {
        let outcome = compile_check(&Affine::new(3), &Limits::of_capability(90), false);
        assert_eq!(outcome, Err(Error::NoCompiler { kernel: "affine".into(), bundle: None }));
    }
}

#[test]
#[allow(unsafe_code)]
fn other_code_shares_memory_and_streams() {
    use cudarc::driver::result::memset_d8_async;

    let Some(device) = gpu() else { return };
    let stream = device.stream().unwrap();
    let program = device.compile(&one_step(Affine::new(3), false)).unwrap();
    let mut theirs = device.buffer(30 * BYTES).unwrap();
    let (pointer, handle) = (theirs.device_pointer().unwrap(), stream.raw_handle().unwrap());
    // SAFETY: `memset_d8_async` writes all of the memory, on the stream that reads it next.
    unsafe {
        theirs.assume_written().unwrap();
        memset_d8_async(pointer, 0x11, theirs.len(), handle.cast()).unwrap();
    }
    let x = vec![0x1111_1111; 30 * WORDS];
    assert!(stream.download::<u32>(&theirs).unwrap() == x);

    // SAFETY: `theirs` has this many bytes at `pointer`, and no other code uses them until `foreign` is dropped and the
    // work that uses it is done.
    let mut foreign = unsafe { device.buffer_from_raw(pointer, theirs.len()) }.unwrap();
    assert_eq!((foreign.device_pointer(), foreign.content()), (Some(pointer), None));
    let (key, source) = (stream.upload(&[3u32]).unwrap(), stream.upload(&x).unwrap());
    let call = || program.on(&stream, 30).input("key", &key);
    call().input("x", &foreign).output("out", &mut device.buffer(30 * BYTES).unwrap()).run().unwrap();
    call().input("x", &source).output("out", &mut foreign).run().unwrap();
    stream.synchronize().unwrap();
    drop(foreign);
    assert!(stream.download::<u32>(&theirs).unwrap() == expected(&one_step(Affine::new(3), false), &x, 3));

    for (pointer, bytes) in [(pointer + 8, 16), (0, 16), (u64::MAX - 15, 32)] {
        // SAFETY: the call returns an error before it uses the address.
        assert!(unsafe { device.buffer_from_raw(pointer, bytes) }.is_err(), "{pointer} {bytes}");
    }
    assert_eq!(device.buffer(0).unwrap().device_pointer(), None);
}

#[test]
#[allow(unsafe_code)]
fn work_follows_the_order_of_foreign_streams() {
    use cudarc::driver::result::memset_d8_async;

    let Some(device) = gpu() else { return };
    // the engine does not know what the memset does with the memory
    let (stream, theirs) = (device.stream().unwrap(), device.stream().unwrap());
    let handle = theirs.raw_handle().unwrap();
    let long = device.compile(&one_step(Affine { rounds: 100_000, ..Affine::new(3) }, false)).unwrap();
    let (x, key) = (theirs.upload(&words(1000 * WORDS)).unwrap(), theirs.upload(&[1u32]).unwrap());
    let mut out = device.buffer(1000 * BYTES).unwrap();
    let mut memory = device.buffer(30 * BYTES).unwrap();
    let pointer = memory.device_pointer().unwrap();
    // SAFETY: the memset writes all bytes before they are read.
    unsafe { memory.assume_written() }.unwrap();
    for byte in 0..100u8 {
        long.on(&theirs, 1000).input("x", &x).input("key", &key).output("out", &mut out).run().unwrap();
        // SAFETY: the memory and the stream exist, and reads of the memory wait for these writes.
        unsafe {
            memset_d8_async(pointer, byte, memory.len(), handle.cast()).unwrap();
            // waits for the stream of the memset, or for all streams
            if byte % 2 == 0 { stream.wait_for_raw(handle) } else { stream.wait_for_all() }.unwrap();
        }
        let copy = stream.duplicate(&memory).unwrap();
        // SAFETY: the stream exists, and its next memset waits for the copy.
        unsafe {
            stream.raw_waits(handle).unwrap();
            memset_d8_async(pointer, 0xff, memory.len(), handle.cast()).unwrap();
        }
        assert!(stream.download::<u8>(&copy).unwrap().iter().all(|got| *got == byte), "{byte}");
    }
}

#[test]
fn too_large_buffers_are_errors() {
    let Some(device) = gpu() else { return };
    for bytes in [1 << 46, usize::MAX / 2, usize::MAX] {
        assert_eq!(device.buffer(bytes).err(), Some(Error::OutOfMemory { bytes }));
    }
    let program = device.compile(&one_step(Affine::new(1), false)).unwrap();
    let x = words(WORDS);
    assert!(run(&program, &x, 0) == x, "the device still works");
}

/// A program can be made on any thread: the first thread loads the kernels, and the second finds them loaded.
#[test]
fn programs_are_made_on_any_thread() {
    let Some(device) = gpu() else { return };
    let ring: PolyType = "12289:x^1024+1".parse().unwrap();
    let plan = Planner::new(device.limits().clone()).plan(&Job::new(&ring, Op::Forward)).unwrap();
    let program = std::sync::Mutex::new(None);
    for _ in 0..2 {
        let make = || *program.lock().unwrap() = Some(device.compile(&plan).unwrap());
        std::thread::scope(|scope| scope.spawn(make).join().unwrap());
    }
    let program = program.into_inner().unwrap().unwrap();
    std::thread::spawn(move || program.occupancy().unwrap()).join().unwrap();
}

#[test]
fn time_and_occupancy_are_reported() {
    let Some(device) = gpu() else { return };
    let kernel = Affine { rounds: 1000, shared_bytes: 64 << 10, ..Affine::new(3) };
    let program = device.compile(&one_step(kernel, false)).unwrap();
    let [occupancy] = &program.occupancy().unwrap()[..] else { panic!("one step") };
    assert!(occupancy.registers > 0 && occupancy.local_bytes == 0 && occupancy.blocks_per_multiprocessor > 0);
    assert!(occupancy.static_shared_bytes < 1024 && occupancy.share() > 0.0 && occupancy.share() <= 1.0);
    let stream = device.stream().unwrap();
    let (x, key) = (stream.upload(&words(1000 * WORDS)).unwrap(), stream.upload(&[1u32]).unwrap());
    let mut out = device.buffer(1000 * BYTES).unwrap();
    let before = stream.mark().unwrap();
    let call = || program.on(&stream, 1000).input("x", &x).input("key", &key);
    call().output("out", &mut out).run().unwrap();
    let seconds = stream.mark().unwrap().seconds_since(&before).unwrap();
    assert!((1e-6..1.0).contains(&seconds), "{seconds}");
    let steps = call().output("out", &mut out).run_timed().unwrap();
    assert!(steps.len() == 1 && (1e-6..1.0).contains(&steps[0]), "{steps:?}");
    assert!(device.held_bytes().is_some_and(|bytes| bytes >= 2 * 1000 * BYTES));
    eprintln!("{occupancy:?}, {:.1} µs", 1e6 * seconds);
}
