//! Fuzzes the parsing of polynomial types, which includes rings. The text printed for a parsed type must parse as an
//! equal type.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringforge::PolyType;

fuzz_target!(|text: &str| {
    if let Ok(poly) = text.parse::<PolyType>() {
        let written = format!("{poly:#}");
        assert_eq!(written.parse::<PolyType>().as_ref(), Ok(&poly), "{written}");
    }
});
