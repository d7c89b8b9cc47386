//! Resources that a kernel uses on a multiprocessor, as reported by the assembler.

use crate::cuda::nvrtc;
use crate::cuda::text::Unit;
use crate::kernel::Kernel;
use crate::limits::Limits;
use ringforge_math::error::{Error, Result};

/// Resources of a compiled kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Resources {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of spill stores per thread.
    pub spill_stores: u32,
    /// Bytes of spill loads per thread.
    pub spill_loads: u32,
    /// Bytes of stack frame per thread.
    pub stack: u32,
    /// Bytes of static shared memory per block. The dynamic shared memory of a launch is not included.
    pub shared: u32,
    /// Size of the machine code file in bytes.
    pub cubin_bytes: usize,
}

/// Compiles a kernel to machine code for a device with these limits, and returns the resources that it uses. Needs no
/// device and does not use the kernel cache. If `portable`, header functions that use PTX are replaced by portable
/// versions.
///
/// # Errors
/// [`Error::NoCompiler`] without NVRTC; [`Error::Compile`] if NVRTC rejects the source or reports no resources;
/// [`Error::Unsupported`] if the kernel does not fit the device or NVRTC does not know the architecture;
/// [`Error::Kernel`] if the source or a header is malformed; [`Error::Driver`] if another call of NVRTC fails.
pub fn compile_check(kernel: &dyn Kernel, limits: &Limits, portable: bool) -> Result<Resources> {
    let mut unit = Unit::new(kernel, limits, portable)?;
    unit.options.extend(nvrtc::has_own_cache().then_some("--no-cache")); // results from NVRTC's cache have no report
    let compiled = nvrtc::compile(&unit)?;
    let nvrtc::Image::Cubin(cubin) = &compiled.image else {
        let why =
            format!("{} cannot generate machine code for sm_{}: use a newer NVRTC", compiled.compiler, unit.capability);
        return Err(Error::Unsupported { job: unit.entry, why });
    };
    let resources = parse(&compiled.log, &unit.entry);
    let resources = resources.ok_or_else(|| Error::Compile {
        kernel: unit.entry.clone(),
        log: format!("the log has no report on the entry point {}:\n{}", unit.entry, compiled.log),
    })?;
    Ok(Resources { cubin_bytes: cubin.len(), ..resources })
}

/// Whether NVRTC is on this machine, so that kernels can be compiled.
#[must_use]
pub fn is_compiler_present() -> bool {
    nvrtc::is_present()
}

/// Parses the assembler's report on one entry point; `None` if the log has none. The report looks like this:
///
/// ```text
/// ptxas info    : Compiling entry function 'k' for 'sm_90'
/// ptxas info    : Function properties for k
/// ptxas         .     1768 bytes stack frame, 4200 bytes spill stores, 4200 bytes spill loads
/// ptxas info    : Used 32 registers, used 1 barriers, 1768 bytes cumulative stack size, 64 bytes smem
/// ```
fn parse(log: &str, entry: &str) -> Option<Resources> {
    let start = format!("Compiling entry function '{entry}'");
    let mut found: Option<Resources> = None;
    let mut inside = false;
    for line in log.lines() {
        if line.contains("Compiling entry function") {
            inside = line.contains(&start);
        }
        if !inside {
            continue;
        }
        if line.contains("bytes stack frame") && found.is_none() {
            let resources = found.get_or_insert_default();
            resources.stack = before(line, " bytes stack frame")?;
            resources.spill_stores = before(line, " bytes spill stores")?;
            resources.spill_loads = before(line, " bytes spill loads")?;
        } else if line.contains(": Used ") {
            let resources = found.as_mut()?;
            resources.registers = before(line, " registers")?;
            resources.shared = before(line, " bytes smem").unwrap_or(0);
            return found;
        }
    }
    None
}

/// The number directly before `phrase` in a line. `None` if there is none.
fn before(line: &str, phrase: &str) -> Option<u32> {
    let head = &line[..line.find(phrase)?];
    head.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_report() {
        let log = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'other' for 'sm_90'\n\
            ptxas info    : Function properties for other\n\
            ptxas         .     8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 8 registers, used 0 barriers\n\
            ptxas info    : Compiling entry function 'k' for 'sm_90'\n\
            ptxas info    : Function properties for k\n\
            ptxas         .     1768 bytes stack frame, 4200 bytes spill stores, 4204 bytes spill loads\n\
            ptxas info    : Used 32 registers, used 1 barriers, 1768 bytes cumulative stack size, 64 bytes smem\n\
            ptxas info    : Compile time = 66.315 ms\n";
        let expected =
            Resources { registers: 32, spill_stores: 4200, spill_loads: 4204, stack: 1768, shared: 64, cubin_bytes: 0 };
        assert_eq!(parse(log, "k"), Some(expected));
        assert_eq!(parse(log, "none"), None);
        assert_eq!(parse("", "k"), None);
    }
}
