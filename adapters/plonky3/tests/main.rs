//! Tests of Plonky3's transforms, trees and proofs on the engine.

mod batch;
mod bundle;
#[cfg(feature = "cuda")]
mod compile;
mod dft;
mod guide;
mod merkle;
mod prove;
mod resident;
mod soak;
mod stark;
mod suite;
mod threads;
