//! The components' text on every target, against oracles on the CPU.

ringforge::suite!(ringforge_e8::kernels::Components);
