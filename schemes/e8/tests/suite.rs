//! The components' CUDA source on every target, against oracles on the CPU.

ringforge_testkit::suite!(ringforge_e8::kernels::Components);
