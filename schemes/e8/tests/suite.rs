//! Runs the CUDA source of each component on every target, and compares the results with oracles on the CPU.

ringforge_testkit::suite!(ringforge_e8::kernels::Components);
