//! Errors as exceptions of the package, with the engine's error message.

use pyo3::prelude::*;
use ringforge::Error;
use ringforge_bindings::{ErrorKind, Fault};

/// Converts an error to an exception of the class for its kind in the package's `_errors.py`, with the error message.
pub(crate) fn exception(error: &Error) -> PyErr {
    let class = match ErrorKind::of(error) {
        ErrorKind::Argument | ErrorKind::NotReduced => "ArgumentError",
        ErrorKind::Ring => "RingError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::NoDevice => "NoDeviceError",
        ErrorKind::OutOfMemory => "OutOfMemoryError",
        ErrorKind::Compiler | ErrorKind::Driver | ErrorKind::Internal => "Error",
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
