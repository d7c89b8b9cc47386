//! The hashes' kernels on every target.

ringforge::suite!(ringforge_plonky3::testkit::Hashes);
