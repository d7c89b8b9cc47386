//! Tests that secrets are wiped where requests and answers are.

#![allow(unsafe_code)]

use core::task::{Poll, Waker};

use ringforge::Device;
use ringforge_batch::SchemeError;

use crate::operation::{Part, Shape};
use crate::page::{Answers, Page, Secret};
use crate::reply::Outcome;
use crate::worker::Buffers;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no error")]
struct NoError;

impl SchemeError for NoError {
    fn word(self) -> u32 {
        1
    }

    fn all(_: usize) -> impl IntoIterator<Item = Self> {
        []
    }
}

/// The memory of bytes, also behind their end.
fn memory(secret: &Secret) -> Vec<u8> {
    // SAFETY: the tests have written all of the capacity.
    unsafe { core::slice::from_raw_parts(secret.bytes.as_ptr(), secret.bytes.capacity()) }.to_vec()
}

/// A page of two requests of a secret and a public byte, with the answers 10 and 20.
fn answers() -> Outcome<NoError> {
    let part = |is_secret| (1, Secret { bytes: vec![10, 20], is_secret });
    Outcome { parts: vec![part(true), part(false)], ..Outcome::default() }
}

#[test]
fn requests_are_wiped_when_they_are_given_up_and_when_they_have_been_taken() {
    let page = std::sync::Arc::new(Page::<Outcome<NoError>>::new(&[(2, true), (2, false)], 2));
    let add = |value: u8| page.add(|parts| parts.iter_mut().for_each(|part| part.bytes.extend([value; 2])));
    let (first, mut second) = (add(7), add(9));
    drop(first);
    let job = page.clone().job();
    let taken = job.start().expect("a request");
    assert_eq!((taken.count, taken.given_up), (2, 1));
    assert_eq!(memory(&taken.parts[0]), [0, 0, 9, 9]);
    assert_eq!(memory(&taken.parts[1]), [7, 7, 9, 9], "it is not secret");
    let (secret, public) = (taken.parts[0].bytes.as_ptr(), taken.parts[1].bytes.as_ptr());
    job.give_back(taken.parts);
    // SAFETY: the page keeps this memory.
    let kept = [secret, public].map(|bytes| unsafe { core::slice::from_raw_parts(bytes, 4) }.to_vec());
    assert_eq!(kept, [[0; 4], [7, 7, 9, 9]]);
    job.answer(|to| *to = answers());
    let Poll::Ready(Some(Ok(reply))) = second.poll(Waker::noop()) else { panic!("an answer") };
    assert_eq!([reply.part(0), reply.part(1), reply.part(2)], [Some(&[20][..]), Some(&[20]), None]);
}

#[test]
fn answers_are_wiped_when_they_are_taken() {
    let mut outcome = answers();
    drop(outcome.take(1));
    assert_eq!([&outcome.parts[0].1, &outcome.parts[1].1].map(memory), [[10, 0], [10, 20]]);
}

#[test]
fn page_locked_memory_is_wiped_after_each_batch() {
    let (inputs, outputs) = (vec![Part::new(2).secret(), Part::new(3)], vec![Part::new(1).secret()]);
    let shape = Shape { name: String::new(), inputs, outputs, powers_of_two: false };
    let mut buffers = Buffers::new(&Device::cpu(), &shape, 4).expect("memory");
    let Buffers { inputs, outputs, used } = &mut buffers;
    inputs.iter_mut().chain(outputs).for_each(|bytes| bytes.fill(7));
    *used = 3;
    buffers.wipe(&shape);
    let zeros = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == 0).count();
    assert_eq!([zeros(&buffers.inputs[0]), zeros(&buffers.inputs[1]), zeros(&buffers.outputs[0])], [6, 0, 3]);
}

#[test]
fn a_page_whose_callers_have_all_given_up_does_not_run() {
    let page = std::sync::Arc::new(Page::<Outcome<NoError>>::new(&[(1, true)], 2));
    drop(page.add(|parts| parts[0].bytes.push(7)));
    assert!(page.clone().job().start().is_none());
}
