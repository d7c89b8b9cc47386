//! Tests the kernels on every target.

mod hashes {
    ringforge_testkit::suite!(ringforge_plonky3::testkit::Hashes);
}
mod proofs {
    ringforge_testkit::suite!(ringforge_plonky3::testkit::Proofs);
}
