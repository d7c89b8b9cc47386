//! Runs every plan of every parameter set on every target, and compares the outputs with the crate `ml-dsa`.

ringforge_testkit::suite!(crate::sets::Sets);
