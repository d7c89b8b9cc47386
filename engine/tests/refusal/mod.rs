//! Invalid input causes a typed error, in release builds too, and never a panic. Most tests name the error's variant.

mod absurd;
mod in_place;
mod kernels;
mod launches;
mod plans;
mod rings;
mod runs;
mod texts;

/// Asserts that a result is an error that matches this pattern.
macro_rules! refused {
    ($result:expr, $pattern:pat $(if $guard:expr)?) => {
        match $result {
            Err($pattern) $(if $guard)? => {}
            Err(other) => panic!("another error: {other:?}"),
            Ok(_) => panic!("not refused: {}", stringify!($result)),
        }
    };
}

use refused;
