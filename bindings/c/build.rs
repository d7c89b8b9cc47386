//! Sets the soname of the shared library to `libringforge.so.MAJOR.MINOR`, because all versions 0.1.x are compatible.
//! cargo-c sets the soname itself.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let of = |name: &str| env::var(name).unwrap_or_default();
    if of("CARGO_CFG_TARGET_OS") == "linux" && env::var_os("CARGO_FEATURE_CAPI").is_none() {
        let (major, minor) = (of("CARGO_PKG_VERSION_MAJOR"), of("CARGO_PKG_VERSION_MINOR"));
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libringforge.so.{major}.{minor}");
    }
}
