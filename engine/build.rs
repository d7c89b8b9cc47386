//! Sets `cfg(ringforge_unoptimised)` below optimisation level 2: unoptimised code uses more stack, all of which must
//! be wiped.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(ringforge_unoptimised)");
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    if !["2", "3"].contains(&level.as_str()) {
        println!("cargo::rustc-cfg=ringforge_unoptimised");
    }
}
