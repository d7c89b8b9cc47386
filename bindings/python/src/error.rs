//! Errors as exceptions of the package, with the engine's error message.

use pyo3::prelude::*;
use ringforge::Error;
use ringforge_bindings::{Fault, Kind};

/// Converts an error to an exception of the class for its kind in the package's `_errors.py`, with the error message.
pub(crate) fn exception(error: &Error) -> PyErr {
    let class = match Kind::of(error) {
        Kind::Argument | Kind::NotReduced => "ArgumentError",
        Kind::Ring => "RingError",
        Kind::Unsupported => "UnsupportedError",
        Kind::NoDevice => "NoDeviceError",
        Kind::OutOfMemory => "OutOfMemoryError",
        Kind::Compiler | Kind::Driver | Kind::Internal => "Error",
    };
    named(class, error.to_string())
}

/// An exception of the class with this name in the package's `_errors.py`.
pub(crate) fn named(class: &str, message: String) -> PyErr {
    Python::attach(|py| {
        let made = || py.import("pyringforge._errors")?.getattr(class)?.call1((&message,));
        made().map_or_else(|failed| failed, PyErr::from_value)
    })
}

/// Index and error message of each failed item.
pub(crate) type Faults = Vec<(usize, String)>;

pub(crate) fn faults(faults: &[Fault]) -> Faults {
    faults.iter().map(|fault| (fault.item, fault.message())).collect()
}
