//! Tests that a driver or NVRTC library that lacks functions, such as the stub libraries in containers, leads to an
//! error and not to a panic.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use ringforge::cuda::Bundle;
use ringforge::{Device, Engine, Error, Job, Limits, NoDevice, Op, Plan, Planner, PolyType};
use ringforge_runtime::cuda::symbols::{COMPILER, DRIVER, LATER};

/// Environment variable that marks the child process, which loads stub libraries. It names the function that the
/// child's error must report as missing.
const CHILD: &str = "RINGFORGE_TEST_STUBS";
const NONE: &str = "no compiler of C";

#[test]
fn missing_symbols_of_stubs_are_reported() {
    let Ok(expected) = env::var(CHILD) else { return };
    let found = Device::cuda(0);
    let refused = match &found {
        Err(Error::NoDevice(NoDevice::NoSymbol { symbol })) => *symbol,
        Err(Error::NoDevice(NoDevice::NoSuchDevice { .. })) => "",
        other => panic!("{other:?}"),
    };
    assert_eq!(refused, expected, "{found:?}");
    let poly: PolyType = "17:x^4+1".parse().expect("a ring");
    let product = Engine::best().mul(&poly, &[1u16, 2, 3, 4], &[1u16, 0, 0, 0]).expect("a product on the CPU");
    assert_eq!(product, [1, 2, 3, 4]);
    // a stub library of NVRTC must not be used as a compiler either
    let limits = Limits::h200();
    let plan: Plan = Planner::new(limits.clone()).plan(&Job::new(&poly, Op::Mul)).expect("a plan");
    let compiled = Bundle::default().compile(&[plan], &limits);
    assert!(matches!(compiled, Err(Error::NoCompiler { .. })), "{compiled:?}");
}

/// Builds stub libraries of the driver and of NVRTC with these functions. All functions but `cuDriverGetVersion` return
/// 100, "no device".
fn stubs(folder: &Path, driver: &[&str], compiler: &[&str]) {
    for (library, functions) in
        [("libcuda.so.1", driver), ("libcuda.so", driver), ("libnvrtc.so.13", compiler), ("libnvrtc.so", compiler)]
    {
        let version = "int cuDriverGetVersion(int* version) { *version = 13000; return 0; }\n";
        let text = |name: &&str| match *name {
            "cuDriverGetVersion" => version.to_owned(),
            name => format!("int {name}() {{ return 100; }}\n"),
        };
        let source = folder.join("stub.c");
        fs::write(&source, functions.iter().map(text).collect::<String>()).expect("a file");
        let library = folder.join(library);
        let made = Command::new("cc").args(["-shared", "-w", "-o"]).args([&library, &source]).status();
        assert!(made.expect(NONE).success(), "{}", library.display());
    }
}

#[test]
fn stubs_do_not_end_the_process() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: {NONE}");
        return;
    }
    let all = || DRIVER.into_iter().chain(LATER.map(|(_, name)| name));
    let without = |name: &str| all().filter(|other| *other != name).collect::<Vec<_>>();
    let cases = [
        (vec![], DRIVER[0]),
        (vec!["cuInit"], DRIVER[0]),
        (without("cuDeviceGet"), "cuDeviceGet"),
        (without("cuEventElapsedTime_v2"), "cuEventElapsedTime_v2"),
        (all().collect(), ""),
    ];
    for (driver, expected) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        stubs(folder.path(), &driver, &COMPILER[1..]);
        let test = "symbols::missing_symbols_of_stubs_are_reported";
        let mut child = Command::new(env::current_exe().expect("this program"));
        child.args(["--exact", test, "--nocapture"]).env(CHILD, expected).env("LD_LIBRARY_PATH", folder.path());
        let output = child.output().expect("a child");
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success() && said.contains("1 passed"), "without {expected:?}: {said}");
    }
}
