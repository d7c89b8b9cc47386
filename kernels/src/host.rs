//! The shim with which a C++ compiler turns a kernel's text into a program for the CPU, as data.

use crate::Header;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(Header { name: $name, text: include_str!(concat!("../host/", $name)) }),*]
    };
}

/// All files of the shim. `runner.cpp` is the one to compile; its head says how, and what the program reads and writes.
pub const FILES: &[Header] = files![
    "arithmetic.hpp",
    "asan.hpp",
    "block.hpp",
    "fiber.hpp",
    "grid.hpp",
    "launch.hpp",
    "memory.hpp",
    "outcome.hpp",
    "request.hpp",
    "runner.cpp",
    "schedule.hpp",
    "shim.hpp",
    "warp.hpp",
];
