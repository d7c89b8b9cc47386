//! The shared suite on a scheme that stands for those of third parties: one kernel, with an oracle of its own.

use ringforge::{Limits, Result};
use ringforge_testkit::{NamedPlan, Scheme};
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
