//! Tuning files: what is read is written as a text of the same choices.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringforge::Limits;
use ringforge::tuning::Tuning;

fuzz_target!(|text: &str| {
    let limits = Limits::h200();
    // a device's name is in every file, and hard to guess
    let text = format!("device = {:?}\n{text}", limits.name);
    if let Ok(tuning) = Tuning::from_text(&text, &limits) {
        let written = tuning.to_text(&limits);
        assert_eq!(Tuning::from_text(&written, &limits).as_ref(), Ok(&tuning), "{written}");
    }
});
