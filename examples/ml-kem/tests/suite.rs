//! Every plan of every set on every target, against the crate `ml-kem`.

mod sets;
mod support;

ringforge::suite!(sets::Sets);
