//! The functions of the driver and of NVRTC that are called here, directly or by cudarc, which panics where a library lacks one:
//! drivers that are too old, and stubs in containers. All are looked up before the first call.

use cudarc::{driver, nvrtc};

/// Of every driver that is old enough.
const DRIVER: [&str; 50] = [
    "cuCtxDestroy_v2",
    "cuCtxGetCurrent",
    "cuCtxGetStreamPriorityRange",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphExecUpdate_v2",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphNodeGetType",
    "cuInit",
    "cuLaunchKernelEx",
    "cuMemAlloc_v2",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemcpy2DAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoH_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamCreateWithPriority",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

/// Of drivers from a version on, which is asked for before they are called.
const LATER: [(i32, &str); 5] = [
    (super::queue::CHOOSES_DEPENDENCIES, "cuStreamGetCaptureInfo_v3"),
    (super::queue::CHOOSES_DEPENDENCIES, "cuStreamUpdateCaptureDependencies_v2"),
    (super::code::TELLS_PARAMETERS, "cuFuncGetParamInfo"),
    (super::queue::CONTEXT_EVENTS, "cuCtxRecordEvent"),
    (super::queue::TELLS_TIME, "cuEventElapsedTime_v2"),
];

/// Of NVRTC.
const COMPILER: [&str; 12] = [
    "nvrtcCompileProgram",
    "nvrtcCreateProgram",
    "nvrtcDestroyProgram",
    "nvrtcGetCUBIN",
    "nvrtcGetCUBINSize",
    "nvrtcGetNumSupportedArchs",
    "nvrtcGetPTX",
    "nvrtcGetPTXSize",
    "nvrtcGetProgramLog",
    "nvrtcGetProgramLogSize",
    "nvrtcGetSupportedArchs",
    "nvrtcVersion",
];

/// A function that the driver's library lacks, if there is one, of those that every driver has.
///
/// The library must be [there](driver::sys::is_culib_present).
pub(super) fn missing_in_driver() -> Option<&'static str> {
    DRIVER.into_iter().find(|name| !is_in_driver(name))
}

/// The same of those that a driver of this version has besides.
pub(super) fn missing_in_driver_of(version: i32) -> Option<&'static str> {
    LATER.into_iter().find(|(since, name)| version >= *since && !is_in_driver(name)).map(|(_, name)| name)
}

/// A function that NVRTC's library lacks, if there is one. The library must be [there](nvrtc::sys::is_culib_present).
pub(super) fn missing_in_compiler() -> Option<&'static str> {
    // SAFETY: the library is there; its functions are looked up, and not called.
    COMPILER
        .into_iter()
        .find(|name| unsafe { nvrtc::sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err())
}

fn is_in_driver(name: &str) -> bool {
    // SAFETY: as above.
    unsafe { driver::sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;
    use std::process::Command;
    use std::{env, fs};

    use super::*;
    use crate::error::{Error, NoDevice};
    use crate::{Device, Engine, Job, Limits, Op, Plan, Planner, PolyType};

    /// Set in the child, which finds stubs in place of the libraries.
    const CHILD: &str = "RINGFORGE_TEST_STUBS";
    const NONE: &str = "no compiler of C";

    #[test]
    fn what_stubs_lack_is_told() {
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
        // nor is a compiler used that is none
        let limits = Limits::h200();
        let plan: Plan = Planner::new(limits.clone()).plan(&Job::new(&poly, Op::Mul)).expect("a plan");
        let compiled = crate::cuda::Bundle::default().compile(&[plan], &limits);
        assert!(matches!(compiled, Err(Error::NoCompiler { .. })), "{compiled:?}");
    }

    /// Libraries with these functions, each of which says that there is no device.
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
    fn stubs_are_no_end_of_the_process() {
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
            let test = "cuda::symbols::tests::what_stubs_lack_is_told";
            let mut child = Command::new(env::current_exe().expect("this program"));
            child.args(["--exact", test, "--nocapture"]).env(CHILD, expected).env("LD_LIBRARY_PATH", folder.path());
            let output = child.output().expect("a child");
            let said =
                [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
            assert!(output.status.success() && said.contains("1 passed"), "without {expected:?}: {said}");
        }
    }
}
