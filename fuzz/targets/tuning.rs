//! Fuzzes the parsing of tuning files: the text of parsed choices must parse as the same choices.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringforge::Limits;
use ringforge::tuning::Tuning;

fuzz_target!(|text: &str| {
    let limits = Limits::h200();
    // every file contains the device's name, which fuzzing would hardly guess
    let text = format!("device = {:?}\n{text}", limits.name);
    if let Ok(tuning) = Tuning::from_text(&text, &limits) {
        let written = tuning.to_text(&limits);
        assert_eq!(Tuning::from_text(&written, &limits).as_ref(), Ok(&tuning), "{written}");
    }
});
