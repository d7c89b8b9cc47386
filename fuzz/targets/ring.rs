//! Fuzzes the parsing of rings: the text of a parsed ring must parse as the same ring.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringforge::PolyType;

fuzz_target!(|text: &str| {
    if let Ok(poly) = text.parse::<PolyType>() {
        let written = format!("{poly:#}");
        assert_eq!(written.parse::<PolyType>().as_ref(), Ok(&poly), "{written}");
    }
});
