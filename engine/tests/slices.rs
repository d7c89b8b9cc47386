//! Slices of buffers: runs and copies access only the bytes of the slice.

use ringforge::{Device, Error, Job, Modulus, Op, Planner, PolyType, Program, Ring};
use ringforge_testkit::{devices, residues};

/// The number of elements in a buffer. Slices hold fewer.
const ALL: usize = 5;

fn ring() -> PolyType {
    PolyType::from(Ring::negacyclic(64, Modulus::new(12289u32).expect("a modulus")).expect("a ring"))
}

/// Bytes as 16-bit residues.
fn words(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
}

fn program(device: &Device, op: Op) -> Program {
    let plan = Planner::new(device.limits().clone()).plan(&Job::new(ring(), op)).expect("a plan");
    device.compile(&plan).expect("a program")
}

#[test]
fn runs_work_on_slices() {
    let ring = ring();
    let bytes = ring.bytes();
    let (x, old) = (residues(&ring, 1, ALL), residues(&ring, 2, ALL));
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let product = program(&device, Op::Mul);
        let mut wanted = old.clone();
        let (a, b) = (&x[bytes..4 * bytes], &x[2 * bytes..]);
        let call = product.on_host(3).input("a", a).input("b", b);
        call.output("product", &mut wanted[bytes..4 * bytes]).run().expect("a run");

        let x = stream.upload_elements(&ring, &words(&x)).expect("a buffer");
        let mut out = stream.upload_elements(&ring, &words(&old)).expect("a buffer");
        for budget in [0, usize::MAX] {
            let (a, b) = (x.slice(bytes..4 * bytes).expect("a slice"), x.slice(2 * bytes..5 * bytes).expect("a slice"));
            let to = out.slice_mut(bytes..4 * bytes).expect("a slice");
            product
                .on(&stream, 3)
                .input("a", a)
                .input("b", b)
                .output("product", to)
                .within(budget)
                .run()
                .expect("a run");
            assert_eq!(stream.download::<u8>(&out).expect("bytes"), wanted, "{device}");
            assert_eq!(out.content(), Some(&ring), "whole elements of what was there");
        }
        // after this run, the buffer holds two types of elements
        let forward = program(&device, Op::Forward);
        let from = x.slice(0..bytes).expect("a slice");
        let to = out.slice_mut(0..bytes).expect("a slice");
        forward.on(&stream, 1).input("from", from).output("to", to).run().expect("a run");
        assert_eq!(out.content(), None, "{device}");
        assert_eq!(stream.download::<u8>(&out).expect("bytes")[bytes..], wanted[bytes..], "{device}");
    }
}

#[test]
fn copies_and_clones_are_of_slices() {
    let ring = ring();
    let bytes = ring.bytes();
    let x = residues(&ring, 3, ALL);
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let from = stream.upload_elements(&ring, &words(&x)).expect("a buffer");
        let mut to = device.buffer(ALL * bytes).expect("a buffer");
        let part = |start, end| from.slice(start..end).expect("a slice");
        let refused = stream.copy(part(0, bytes), to.slice_mut(0..bytes).expect("a slice"));
        assert!(matches!(refused, Err(Error::Unwritten { .. })), "{device}: the rest would be readable");
        stream.copy(&from, &mut to).expect("a copy");
        assert_eq!(to.content(), from.content());
        // copies of any bytes, across the boundaries of elements
        stream.copy(part(3, 3 + 2 * bytes), to.slice_mut(bytes + 1..3 * bytes + 1).expect("a slice")).expect("a copy");
        let mut wanted = x.clone();
        wanted[bytes + 1..3 * bytes + 1].copy_from_slice(&x[3..3 + 2 * bytes]);
        assert_eq!(stream.download::<u8>(&to).expect("bytes"), wanted, "{device}");
        assert_eq!(to.content(), None, "{device}: no elements");
        stream.write(to.slice_mut(7..9).expect("a slice"), &[1u8, 2]).expect("a write");
        wanted[7..9].copy_from_slice(&[1, 2]);
        assert_eq!(stream.download::<u8>(to.slice(5..99).expect("a slice")).expect("bytes"), wanted[5..99], "{device}");

        let clone = stream.duplicate(part(bytes, 3 * bytes)).expect("a clone");
        assert_eq!(stream.download::<u8>(&clone).expect("bytes"), x[bytes..3 * bytes], "{device}");
        assert_eq!(clone.content(), from.content(), "{device}: whole elements");
        assert_eq!(stream.duplicate(part(0, 1)).expect("a clone").content(), None, "{device}");
    }
}

#[test]
fn slices_that_do_not_fit_are_refused() {
    let ring = ring();
    let bytes = ring.bytes();
    let device = Device::cpu();
    let stream = device.stream().expect("a stream");
    let mut buffer = stream.upload_elements(&ring, &words(&residues(&ring, 4, ALL))).expect("a buffer");
    for (start, end) in [(0, ALL * bytes + 1), (ALL * bytes + 1, ALL * bytes + 1), (2, 1), (usize::MAX, 0)] {
        assert!(matches!(buffer.slice(start..end), Err(Error::Length { .. })), "{start}..{end}");
        assert!(matches!(buffer.slice_mut(start..end), Err(Error::Length { .. })), "{start}..{end}");
    }
    let forward = program(&device, Op::Forward);
    let mut new = device.buffer(ALL * bytes).expect("a buffer");
    let mut run = |start, end, to| {
        let (from, to) = (buffer.slice(start..end).expect("a slice"), new.slice_mut(to).expect("a slice"));
        forward.on(&stream, 1).input("from", from).output("to", to).run()
    };
    assert!(matches!(run(0, bytes, 0..bytes), Err(Error::Unwritten { .. })));
    assert!(matches!(run(0, bytes - 1, 0..bytes), Err(Error::ArgumentSize { .. })));
    assert!(matches!(run(8, bytes + 8, 0..bytes), Err(Error::Alignment { .. })), "kernels read sixteen bytes at once");
    let (from, to) = (device.buffer(bytes).expect("a buffer"), buffer.slice_mut(0..bytes).expect("a slice"));
    let unwritten = forward.on(&stream, 1).input("from", &from).output("to", to).run();
    assert!(matches!(unwritten, Err(Error::Unwritten { .. })));
    assert_eq!(buffer.content(), Some(&ring), "nothing is lost");
}

/// Strided copies from pageable memory, which is staged in several pieces if it is large, and from page-locked memory.
#[test]
fn columns_of_rows_are_copied() {
    for device in devices() {
        let stream = device.stream().expect("a stream");
        for (rows, width, columns) in [
            (1, 1, 0..1),
            (7, 5, 1..4),
            (7, 5, 4..5),
            (3, 4, 2..2),
            (0, 3, 0..3),
            (3001, 700, 13..690),
            (2, 3 << 20, 1..(3 << 20)),
        ] {
            let mut pinned = device.pinned(4 * rows * width).expect("memory");
            let matrix = pinned.elements_mut::<u32>().expect("whole words");
            matrix.iter_mut().zip(0..).for_each(|(word, i)| *word = i);
            let wanted: Vec<u32> = matrix.chunks_exact(width).flat_map(|row| &row[columns.clone()]).copied().collect();
            for from in [&matrix.to_vec()[..], matrix] {
                let mut copied = device.buffer(4 * wanted.len()).expect("a buffer");
                stream.write_columns(&mut copied, from, width, columns.clone()).expect("a copy");
                assert!(stream.download::<u32>(&copied).expect("words") == wanted, "{rows} {width} {columns:?}");
            }
        }
        let mut buffer = device.buffer(4).expect("a buffer");
        let mut write = |len, width, columns| stream.write_columns(&mut buffer, &vec![0u8; len], width, columns);
        assert!(matches!(write(6, 3, 1..4), Err(Error::Length { expected: 3, got: 4, .. })));
        assert!(matches!(write(7, 3, 1..2), Err(Error::Length { expected: 9, got: 7, .. })));
        assert!(matches!(write(6, 0, 0..0), Err(Error::Length { .. })));
        assert!(matches!(write(6, 3, 0..1), Err(Error::Length { expected: 4, got: 2, .. })));
        #[allow(clippy::reversed_empty_ranges)]
        let backwards = 2..1;
        assert!(matches!(write(6, 3, backwards), Err(Error::Length { .. })));
        assert_eq!(write(6, 3, 1..3), Ok(()));
        let zeros = stream.zeros(33).expect("zeros");
        assert_eq!(stream.download::<u8>(&zeros).expect("bytes"), [0; 33]);
    }
}
