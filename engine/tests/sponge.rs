//! The Keccak sponges of `keccak.cuh` equal those of the crates `shake` and `sha3`, and compile without register
//! spills.

use crate::fixtures::sponge::Sponges;

ringforge_testkit::suite!(Sponges);

#[cfg(feature = "cuda")]
#[test]
fn sponges_compile_without_spills() -> ringforge::Result<()> {
    use ringforge::Limits;
    use ringforge::cuda::{compile_check, is_compiler_present};
    use ringforge_testkit::Scheme;

    if !is_compiler_present() {
        eprintln!("skipped: NVRTC is not on this machine");
        return Ok(());
    }
    for capability in [80, 90, 120] {
        let limits = Limits::of_capability(capability);
        for named in Sponges::plans(&limits)? {
            for kernel in named.plan.kernels() {
                let used = compile_check(&**kernel, &limits, false)?;
                println!("sm_{capability}, {}: {used:?}", named.name);
                assert_eq!((used.spill_stores, used.spill_loads), (0, 0), "sm_{capability}, {}", named.name);
            }
        }
    }
    Ok(())
}
