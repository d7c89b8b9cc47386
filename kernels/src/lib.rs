//! CUDA text of Ringforge: headers and thin kernels, as data. No logic, no dependencies.
//!
//! `README.md` in this folder describes the layers and what each header promises.

/// A header that kernels include by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// The name in `#include "…"`.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
}

macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$(Header { name: $name, text: include_str!(concat!("../include/", $name)) }),*]
    };
}

/// The headers that every kernel may include.
pub const HEADERS: &[Header] =
    headers!["word.cuh", "mod16.cuh", "mod32.cuh", "mod64.cuh", "mod256.cuh", "ntt.cuh", "poly.cuh"];
