//! Fuzzes the parsing of tuning files. The text printed for a parsed tuning must parse as an equal tuning.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringforge::Limits;
use ringforge::tuning::Tuning;

fuzz_target!(|text: &str| {
    let limits = Limits::h200();
    // every tuning file contains the device's name, which the fuzzer is unlikely to guess
    let text = format!("device = {:?}\n{text}", limits.name);
    if let Ok(tuning) = Tuning::from_text(&text, &limits) {
        let written = tuning.to_text(&limits);
        assert_eq!(Tuning::from_text(&written, &limits).as_ref(), Ok(&tuning), "{written}");
    }
});
