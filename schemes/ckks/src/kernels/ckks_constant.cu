// A constant polynomial as evaluations: all evaluations of a limb are one residue. One thread per evaluation.
#include "prelude.cuh"

#include "spread.cuh"
using namespace rf;

// residues: one of each limb
extern "C" __global__ void __launch_bounds__(Task::threads)
    ckks_constant(const u64* residues, Store* evaluations, u64 limbs, u64 first, u64 end) {
    const Units<Task::threads> at(first, end, (u32)limbs * (2 * Task::slots));
    if (!at.live) return;
    const u64 residue = residues[at.unit / (2 * Task::slots)];
    evaluations[at.item * limbs * (2 * Task::slots) + at.unit] = (Store)residue;
}
