//! `ringforge bench papers`: the experiments of the documents that the engine came from, a suite for each of their tables and
//! figures, with their sizes and batches and their own figures beside ours.

pub(super) mod kems;
pub(super) mod rings;
pub(super) mod sm2;
pub(super) mod streams;

use super::suites::Scope;

/// Batches of the sources: 1 to 1024, and those of their rates and of their kernels' times; some of them in a hurry, and
/// those of a CPU.
const BATCHES: [&[usize]; 3] =
    [&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1024, 10_000], &[1, 32, 1024, 10_000], &[1, 16, 256]];
/// The batch of the sources' kernels, and what stands for it on a CPU.
const LARGE: usize = 10_000;
const CPU_LARGE: usize = 32;

/// Batches from one item on.
fn batches(scope: &Scope) -> Vec<usize> {
    scope.batches(if scope.cpu { BATCHES[2] } else { BATCHES[usize::from(scope.quick)] })
}

/// One batch of this size on a GPU.
fn large(scope: &Scope, batch: usize) -> Vec<usize> {
    scope.batches(&[scope.either(batch, CPU_LARGE)])
}

/// Sizes as powers of two: all of them, some in a hurry, and those of a CPU.
fn sizes(scope: &Scope, [all, quick, cpu]: [&[u32]; 3]) -> Vec<u32> {
    let sizes = match (scope.cpu, scope.quick) {
        (true, _) => cpu,
        (false, true) => quick,
        _ => all,
    };
    sizes.to_vec()
}
