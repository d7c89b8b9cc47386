//! The C++ shim with which a compiler turns a kernel's CUDA source into a program for the CPU, as data.

use crate::Header;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(Header { name: $name, text: include_str!(concat!("../host/", $name)) }),*]
    };
}

/// All files of the shim. The header comment of `runner.cpp` describes how to compile a runner, and its input and
/// output.
pub const FILES: &[Header] = files![
    "arithmetic.hpp",
    "asan.hpp",
    "block.cpp",
    "block.hpp",
    "fiber.hpp",
    "grid.hpp",
    "kernel.cpp",
    "kernel.hpp",
    "launch.hpp",
    "meeting.hpp",
    "memory.hpp",
    "outcome.hpp",
    "request.hpp",
    "runner.cpp",
    "schedule.hpp",
    "shim.hpp",
    "warp.hpp",
];
