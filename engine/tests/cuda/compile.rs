//! Compilation: target architectures, invalid sources, and the check of kernel parameters against ports.

use core::ops::Range;

use ringforge::cuda::{Bundle, BundleFault, compile_check};
use ringforge::kernels::{Args, Built, Header, Kernel, Launch, Port, Source};
use ringforge::{Device, Error, Job, Limits, Op, Plan, Planner, PolyType, Result};

use super::support::{Affine, WORDS, expected, gpu, has_compiler, one_step, run, words};

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
    // architectures too old and too new for the compiler
    for capability in [10, 999] {
        let outcome = compile_check(&Affine::new(3), &Limits::of_capability(capability), false);
        assert!(matches!(outcome, Err(Error::Unsupported { .. })), "{outcome:?}");
    }
}

/// Plans with twiddle tables, for GPUs with these limits.
fn transforms(limits: &Limits) -> Vec<Plan> {
    let bls12_381 = "0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001:x^4096-1";
    let job = |ring: &str, op| Job::new(ring.parse::<PolyType>().unwrap(), op);
    let jobs = [job(bls12_381, Op::Forward), job("3329:x^256+1", Op::Forward), job("3329:x^256+1", Op::Mul)];
    jobs.iter().map(|job| Planner::new(limits.clone()).plan(job).unwrap()).collect()
}

#[test]
fn bundles_are_written_without_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels.bundle");
    let mut bundle = Bundle::default();
    let on_cpu = bundle.compile(&transforms(&Limits::cpu()), &Limits::cpu());
    assert!(matches!(on_cpu, Err(Error::Unsupported { .. })), "{on_cpu:?}");
    if !has_compiler() {
        let limits = Limits::of_capability(90);
        let outcome = bundle.compile(&transforms(&limits), &limits);
        assert!(matches!(outcome, Err(Error::NoCompiler { bundle: None, .. })), "{outcome:?}");
        return;
    }
    for capability in [80, 90] {
        let limits = Limits::of_capability(capability);
        bundle.compile(&transforms(&limits), &limits).unwrap();
    }
    bundle.save(&path).unwrap();
    let loaded = Bundle::load(&path).unwrap();
    assert_eq!(loaded.architectures().collect::<Vec<_>>(), [80, 90]);
    for capability in [80, 90] {
        let kernels = loaded.kernels(capability);
        for name in ["forward", "ring_mul"] {
            assert!(kernels.contains(&name), "{name} is not among {kernels:?}");
        }
        assert_eq!(kernels, bundle.kernels(capability));
    }
    // the limits of an actual GPU need only kernels that the bundle already has for its architecture
    let before = loaded.kernels(90).len();
    bundle.compile(&transforms(&Limits::h200()), &Limits::h200()).unwrap();
    assert_eq!(bundle.kernels(90).len(), before);
    // an architecture too new for the compiler adds nothing to the bundle
    let limits = Limits::of_capability(999);
    let outcome = bundle.compile(&[transforms(&limits).remove(1)], &limits);
    assert!(matches!(outcome, Err(Error::Unsupported { .. })), "{outcome:?}");
    assert_eq!(bundle.architectures().collect::<Vec<_>>(), [80, 90]);
    let refused = Device::cpu().use_bundle(&loaded);
    assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
}

#[test]
fn a_gpu_runs_kernels_of_a_bundle() {
    let Some(device) = gpu() else { return };
    if !has_compiler() {
        return;
    }
    let limits = device.limits().clone();
    let mut bundle = Bundle::default();
    bundle.compile(&[one_step(Affine::new(77), false)], &Limits::of_capability(limits.capability)).unwrap();
    device.use_bundle(&bundle).unwrap();
    let program = device.compile(&one_step(Affine::new(77), false)).unwrap();
    let x = words(5 * WORDS);
    assert_eq!(run(&program, &x, 3), expected(program.plan(), &x, 3));
    // kernels that are not in the bundle are compiled
    let program = device.compile(&one_step(Affine::new(78), false)).unwrap();
    assert_eq!(run(&program, &x, 3), expected(program.plan(), &x, 3));
    let mut other = Bundle::default();
    let foreign = Limits::of_capability(if limits.capability == 80 { 90 } else { 80 });
    other.compile(&[one_step(Affine::new(77), false)], &foreign).unwrap();
    let refused = device.use_bundle(&other);
    assert!(matches!(refused, Err(Error::Bundle { fault: BundleFault::Architecture { .. }, .. })), "{refused:?}");
}

/// A kernel with an arbitrary CUDA source.
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
fn broken_source_is_an_error() {
    let check = |text, headers| compile_check(&Text(text, headers), &Limits::of_capability(90), false);
    // a header with the same name as a header of the engine
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
    // no entry point of this name; an include of a file in the working directory; a zero byte
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
        let p = Planner::default().pipeline("text");
        let [] = p.step(Text(text, &[]), &[]);
        device.compile(&p.build().unwrap()).map(|_| ())
    };
    let fits = "extern \"C\" __global__ void text(unsigned long long first, unsigned long long end) {}";
    assert_eq!(load(fits), Ok(()));
    // launches would read the third and fourth parameters beyond the end of the host's parameter list
    let more = "extern \"C\" __global__ void text(int* a, int* b, unsigned long long first, unsigned long long end) {}";
    let narrow = "extern \"C\" __global__ void text(unsigned first, unsigned long long end) {}";
    for text in [more, narrow] {
        assert!(matches!(load(text), Err(Error::Kernel { kernel, .. }) if kernel == "text"));
    }
}

#[test]
fn kernels_that_do_not_fit_are_refused() {
    let mut kernel = Affine { shared_bytes: 200 << 10, ..Affine::new(1) };
    let check = |kernel: &Affine, limits| compile_check(kernel, &limits, false);
    assert!(matches!(check(&kernel, Limits::of_capability(75)), Err(Error::Unsupported { .. })));
    kernel.shared_bytes = 0;
    assert!(matches!(check(&kernel, Limits::cpu()), Err(Error::Unsupported { .. })));
}
