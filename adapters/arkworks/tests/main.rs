//! Tests of arkworks' transforms and witness maps on the engine.

mod circom;
mod domain;
mod groth16;
mod kzg;
mod prover;
