//! The functions of the driver and of NVRTC that this crate or cudarc calls. cudarc panics if a library lacks one, as
//! old drivers and the stub libraries in containers do. Therefore the functions are looked up before the first call.

use cudarc::{driver, nvrtc};

/// Functions that every supported driver has.
pub const DRIVER: [&str; 52] = [
    "cuCtxDestroy_v2",
    "cuCtxEnablePeerAccess",
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
    "cuMemcpyPeerAsync",
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

/// Functions that not every supported driver has, with the driver version that introduced them. This version is checked
/// before they are called.
pub const LATER: [(i32, &str); 5] = [
    (super::queue::CHOOSES_DEPENDENCIES, "cuStreamGetCaptureInfo_v3"),
    (super::queue::CHOOSES_DEPENDENCIES, "cuStreamUpdateCaptureDependencies_v2"),
    (super::code::TELLS_PARAMETERS, "cuFuncGetParamInfo"),
    (super::queue::CONTEXT_EVENTS, "cuCtxRecordEvent"),
    (super::queue::TELLS_TIME, "cuEventElapsedTime_v2"),
];

/// The functions of NVRTC that are called.
pub const COMPILER: [&str; 12] = [
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

/// Returns a function of [`DRIVER`] that the driver's library lacks, or `None` if it has all of them.
///
/// The library must be [present](driver::sys::is_culib_present).
pub(super) fn missing_in_driver() -> Option<&'static str> {
    DRIVER.into_iter().find(|name| !is_in_driver(name))
}

/// Returns a function of [`LATER`] that a driver of this version should have and lacks, or `None`.
pub(super) fn missing_in_driver_of(version: i32) -> Option<&'static str> {
    LATER.into_iter().find(|(since, name)| version >= *since && !is_in_driver(name)).map(|(_, name)| name)
}

/// Returns a function of [`COMPILER`] that NVRTC's library lacks, or `None` if it has all of them. The library must be
/// [present](nvrtc::sys::is_culib_present).
pub(super) fn missing_in_compiler() -> Option<&'static str> {
    // SAFETY: the library is present; its functions are only looked up, not called.
    COMPILER
        .into_iter()
        .find(|name| unsafe { nvrtc::sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err())
}

fn is_in_driver(name: &str) -> bool {
    // SAFETY: the library is present; the function is only looked up, not called.
    unsafe { driver::sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_ok()
}
