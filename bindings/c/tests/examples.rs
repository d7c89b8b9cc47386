//! Checks that the examples compile with the system's compiler, link against only the installed library, and run under
//! the address and undefined-behaviour sanitizers.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::library::Installed;

#[test]
fn examples_run() {
    let Some(installed) = Installed::new() else { return };
    let [include, libraries] = ["include", "lib"].map(|name| installed.file(name).display().to_string());
    let rpath = format!("-Wl,-rpath,{libraries}");
    for example in ["scheme", "fhe", "zk", "kem", "sm2", "msm", "groth16", "device"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{example}.c"));
        for linked in [&["-lringforge"][..], &["-l:libringforge.a", "-lm"]] {
            let program = installed.file(example);
            let flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"];
            let mut compiler = Command::new("cc");
            compiler.args(flags).args(["-I", &include, "-L", &libraries, &rpath]);
            compiler.arg(&source).arg("-o").arg(&program).args(linked);
            assert!(compiler.status().unwrap().success(), "{example} does not compile: {compiler:?}");
            let output = Command::new(&program).env("UBSAN_OPTIONS", "halt_on_error=1").output().unwrap();
            let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success() && !said.is_empty() && wrong.is_empty(), "{example}: {said}{wrong}");
        }
    }
}

#[test]
fn header_is_valid_cpp() {
    let Some(installed) = Installed::new() else { return };
    let source = installed.file("header.cpp");
    fs::write(&source, "#include <ringforge.h>\nint main() { return ringforge_message() == nullptr; }\n").unwrap();
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]);
    compiler.arg(installed.file("include")).arg(&source);
    // skipped without a C++ compiler
    if let Ok(status) = compiler.status() {
        assert!(status.success());
    }
}

#[test]
fn pkg_config_file_has_prefix_and_version() {
    let Some(installed) = Installed::new() else { return };
    let page = fs::read_to_string(installed.file("lib/pkgconfig/ringforge.pc")).unwrap();
    assert!(
        page.contains(&format!("prefix={}\n", installed.file("").display().to_string().trim_end_matches('/'))),
        "{page}"
    );
    assert!(page.contains(&format!("Version: {}\n", env!("CARGO_PKG_VERSION"))), "{page}");
}
