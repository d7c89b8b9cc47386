//! Every plan of every parameter set on every target, against the crate `ml-kem`.

ringforge_testkit::suite!(crate::sets::Sets);
