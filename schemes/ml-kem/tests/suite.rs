//! Every plan of every set on every target, against the crate `ml-kem`.

ringforge::suite!(crate::sets::Sets);
