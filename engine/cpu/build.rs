//! Sets `cfg(ringforge_unoptimised)` when the crate is compiled at optimisation level 0.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(ringforge_unoptimised)");
    if std::env::var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        println!("cargo::rustc-cfg=ringforge_unoptimised");
    }
}
