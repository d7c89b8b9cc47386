//! Texts of rings: what is read is written as a text of the same ring.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringforge::Ring;

fuzz_target!(|text: &str| {
    if let Ok(ring) = text.parse::<Ring>() {
        let written = format!("{ring:#}");
        assert_eq!(written.parse::<Ring>().as_ref(), Ok(&ring), "{written}");
    }
});
