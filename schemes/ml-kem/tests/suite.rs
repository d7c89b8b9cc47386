//! Every plan of every set on every target, against the crate `ml-kem`.

ringforge_testkit::suite!(crate::sets::Sets);
