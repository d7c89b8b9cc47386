//! Tests the hashes' kernels on every target.

ringforge_testkit::suite!(ringforge_plonky3::testkit::Hashes);
