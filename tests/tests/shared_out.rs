//! Transforms that several kernels share out agree with the oracle, and on every device with each other.

use ringforge::testkit::{Target, check_scheme};
use ringforge_tests::shared_out::{Addressing, SharedOut};

#[test]
fn cpu() {
    check_scheme::<SharedOut>(Target::Cpu);
}

#[test]
fn text() {
    check_scheme::<SharedOut>(Target::Text);
}

/// Where sanitizers have something to say: arithmetic is the same as in one piece.
#[test]
fn text_sanitized() {
    check_scheme::<Addressing>(Target::TextSanitized);
}

#[test]
fn cuda() {
    check_scheme::<SharedOut>(Target::Cuda);
}
