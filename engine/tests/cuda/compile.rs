//! Compilation: for which architectures, what is refused, and that parameters fit ports.

use core::ops::Range;

use ringforge::cuda::compile_check;
use ringforge::kernels::{Args, Built, Header, Kernel, Launch, Port, Source};
use ringforge::{Error, Limits, Pipeline, Planner, Result};

use crate::support::{Affine, gpu, has_compiler};

#[test]
fn compiles_for_every_architecture() {
    if !has_compiler() {
        return;
    }
    for capability in [75, 80, 86, 89, 90, 100, 120] {
        for portable in [false, true] {
            let resources = compile_check(&Affine::new(3), &Limits::of_capability(capability), portable).unwrap();
            assert!((4..=64).contains(&resources.registers), "{resources:?}");
            assert_eq!((resources.spill_stores, resources.stack, resources.shared), (0, 0, 0));
            assert!(resources.cubin_bytes > 500);
        }
    }
    // too old for the compiler, and too new
    for capability in [10, 999] {
        let outcome = compile_check(&Affine::new(3), &Limits::of_capability(capability), false);
        assert!(matches!(outcome, Err(Error::Unsupported { .. })), "{outcome:?}");
    }
}

/// A kernel with any text.
#[derive(Debug)]
struct Text(&'static str, &'static [Header]);

impl Kernel for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn ports(&self) -> &[Port] {
        &[]
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let built = Built { prelude: String::new(), launch: Launch::thread_per_item(32) };
        // SAFETY: never run, only compiled.
        Ok(unsafe { Source::new(self, self.0, self.1, built) })
    }

    fn on_cpu(&self, _: Range<usize>, _: &mut Args<'_>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn broken_text_is_an_error() {
    let check = |text, headers| compile_check(&Text(text, headers), &Limits::of_capability(90), false);
    // a header that would stand in for one of the engine
    let foreign: &[Header] = &[Header { name: "word.cuh", text: "// mine" }];
    assert!(matches!(check("", foreign), Err(Error::Kernel { .. })));
    if !has_compiler() {
        return;
    }
    let Err(Error::Compile { kernel, log }) = check("extern \"C\" __global__ void text(int* x) { *x = y; }", &[])
    else {
        panic!("compiled");
    };
    assert!(kernel == "text" && log.contains("\"y\" is undefined"), "{log}");
    // no such entry point; a file of the working folder, which is no header; a zero byte
    assert!(matches!(check("__global__ void other() {}", &[]), Err(Error::Compile { .. })));
    assert!(
        matches!(check("#include \"Cargo.toml\"\n", &[]), Err(Error::Compile { log, .. }) if log.contains("cannot open"))
    );
    assert!(matches!(check("\0", &[]), Err(Error::Kernel { .. })));
}

#[test]
fn parameters_are_compared_with_ports() {
    let Some(device) = gpu() else { return };
    let load = |text| {
        let p = Pipeline::new("text", &Planner::default());
        let [] = p.step(Text(text, &[]), &[]);
        device.compile(&p.build().unwrap()).map(|_| ())
    };
    let fits = "extern \"C\" __global__ void text(unsigned long long first, unsigned long long end) {}";
    assert_eq!(load(fits), Ok(()));
    // a launch would read a third and a fourth parameter from beyond the host's list
    let more = "extern \"C\" __global__ void text(int* a, int* b, unsigned long long first, unsigned long long end) {}";
    let narrow = "extern \"C\" __global__ void text(unsigned first, unsigned long long end) {}";
    for text in [more, narrow] {
        assert!(matches!(load(text), Err(Error::Kernel { kernel, .. }) if kernel == "text"));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut kernel = Affine { shared_bytes: 200 << 10, ..Affine::new(1) };
    let check = |kernel: &Affine, limits| compile_check(kernel, &limits, false);
    assert!(matches!(check(&kernel, Limits::of_capability(75)), Err(Error::Unsupported { .. })));
    kernel.shared_bytes = 0;
    assert!(matches!(check(&kernel, Limits::cpu()), Err(Error::Unsupported { .. })));
}
