//! Runs the test kit's suite on a stand-in for a third-party scheme: one kernel whose expected outputs are computed in
//! this file.

use ringforge::{Limits, Result};
use ringforge_testkit::{Named, NamedPlan, Scheme, Target, check_scheme};
use ringforge_tests::mix::{self, Mix, N};

struct Mixing;

impl Scheme for Mixing {
    const NAME: &'static str = "mixing";

    fn plans(_: &Limits) -> Result<Vec<NamedPlan>> {
        Ok(vec![mix::plan(Mix)?.expecting(|_, inputs| vec![("mixed", expected(&inputs["words"]))])])
    }
}

fn expected(input: &[u8]) -> Vec<u8> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |x, &byte| x << 8 | u32::from(byte));
    let words: Vec<u32> = input.chunks(4).map(word).collect();
    let mut out = Vec::new();
    for item in words.chunks(N) {
        let scaled: Vec<u32> = item.iter().zip(1u32..).map(|(x, i)| x.wrapping_mul(i * i + 1)).collect();
        let moved: Vec<u32> = (0..N).map(|t| scaled[(t + N / 2 + 5) % N]).collect();
        for pair in moved.chunks(2) {
            out.extend(pair[0].wrapping_add(pair[1].wrapping_mul(3)).to_le_bytes());
            out.extend(pair[1].wrapping_add(pair[0].wrapping_mul(3)).to_le_bytes());
        }
    }
    out
}

ringforge_testkit::suite!(Mixing);

/// A scheme with five kinds of sample items, whose expected output is wrong for the fifth kind.
struct WrongForOne;

impl Scheme for WrongForOne {
    const NAME: &'static str = "wrong for one kind of sample";

    fn plans(_: &Limits) -> Result<Vec<NamedPlan>> {
        let kinds = |batch| (0..batch).flat_map(|item| [(item % 5) as u8; 4 * N]).collect();
        let spoilt = |inputs: &Named| {
            let mut mixed = expected(&inputs["words"]);
            let items = mixed.chunks_mut(4 * N).zip(inputs["words"].chunks(4 * N));
            items.filter(|(_, words)| words[0] == 4).for_each(|(mixed, _)| mixed[0] ^= 1);
            vec![("mixed", mixed)]
        };
        Ok(vec![
            mix::plan(Mix)?
                .sampled(move |_, batch| vec![("words", kinds(batch))])
                .expecting(move |_, inputs| spoilt(inputs)),
        ])
    }
}

#[test]
#[should_panic(expected = "mixed")]
fn every_kind_of_sample_is_compared() {
    check_scheme::<WrongForOne>(Target::Cpu);
}
