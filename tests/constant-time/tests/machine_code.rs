//! What handles secrets takes the same time whatever they are, as machine code at optimisation levels 3, s and z.
//!
//! The named functions, and all that they call, divide nothing by hardware, whose time tells of its operands. Lengths and
//! other public numbers are divided, so each division is looked up: the source function that it comes from, inlined or
//! not, must be one that divides what is public. And where there is valgrind, it runs the program with secrets that count
//! as not initialised, and finds no branch and no address that depends on them.
//!
//! Needs `objdump` and `addr2line` (binutils), and compiles the engine three times: skipped without
//! `RINGFORGE_MACHINE_CODE=1`.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{Finding, Program, run, sources};

/// What handles secrets.
const NAMED: &[&str] = &[
    "ringforge_ctru::kem::Kem::key_pair",
    "ringforge_ctru::kem::Kem::encapsulate",
    "ringforge_ctru::kem::Kem::decapsulate",
    "ringforge_ctru::pke::Pke::bad_field",
    "ringforge_ctru_prime::kem::Kem::key_pair",
    "ringforge_ctru_prime::kem::Kem::encapsulate",
    "ringforge_ctru_prime::kem::Kem::decapsulate",
    "ringforge_ctru_prime::pke::Pke::bad_field",
    "ringforge_sm2::key::PrivateKey::sign_with",
    // of every arithmetic
    "<ringforge::transform::Parts<F> as ringforge::transform::Row<<F as ringforge::field::Field>::Word>>::forward",
    "<ringforge::transform::Parts<F> as ringforge::transform::Row<<F as ringforge::field::Field>::Word>>::inverse",
    "<ringforge::transform::Parts<F> as ringforge::transform::Row<<F as ringforge::field::Field>::Word>>::multiply",
    "<ringforge::transform::Parts<F> as ringforge::transform::Row<<F as ringforge::field::Field>::Word>>::invert",
];

/// Source functions that divide what is public, by how their names begin.
const PUBLIC: &[&str] = &[];

/// Source functions that call by pointers what is named, or what knows no secret.
const POINTERS: &[&str] = &[];

/// Functions beyond which nobody looks: panics, threads, memory.
const ENDS: &[&str] = &[];

/// Functions that must be found out.
const PLANTED: [(&str, Finding); 4] = [
    ("ringforge_constant_time::planted::divides", Finding::Division),
    ("ringforge_constant_time::planted::divides_wide", Finding::Division),
    ("ringforge_constant_time::planted::divides_double", Finding::Division),
    ("ringforge_constant_time::planted::divides_somewhere", Finding::Pointer),
];

/// The program, compiled at this level; what it shares with other levels is compiled once.
fn program(level: &str) -> Result<PathBuf, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/machine-code");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--locked",
        "--release",
        "-p",
        env!("CARGO_PKG_NAME"),
        "--config",
        "profile.release.strip='none'",
    ]);
    for package in ["", "-e8", "-batch", "-ctru", "-ctru-prime", "-sm2", "-constant-time"] {
        for setting in [format!("opt-level={level}"), "debug='line-tables-only'".into()] {
            cargo.args(["--config", &format!("profile.release.package.ringforge{package}.{setting}")]);
        }
    }
    run(cargo.env("CARGO_TARGET_DIR", &folder).env_remove("RUSTFLAGS"), "")?;
    Ok(folder.join("release").join(env!("CARGO_PKG_NAME")))
}

/// What is found in this function and beyond, but for what is known to be public: the source functions of each.
fn faults(program: &Program, path: &Path, name: &str) -> Result<BTreeMap<(u64, Finding), Vec<String>>, Box<dyn Error>> {
    let found = program.find(name, ENDS)?;
    let mut sources = sources(path, &found.iter().map(|(at, _)| *at).collect())?;
    let named = found.into_iter().map(|(at, finding)| ((at, finding), sources.remove(&at).unwrap_or_default()));
    let is_known = |finding: Finding, sources: &[String]| {
        let known = if finding == Finding::Division { PUBLIC } else { POINTERS };
        sources.first().is_some_and(|source| known.iter().any(|known| source.starts_with(known)))
    };
    Ok(named.filter(|((_, finding), sources)| !is_known(*finding, sources)).collect())
}

/// Whether valgrind complains of the program.
fn complains(path: &Path, arguments: &[&str]) -> Result<bool, Box<dyn Error>> {
    let told = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/told.supp");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--error-exitcode=9", "--num-callers=30"])
        .arg(format!("--suppressions={}", told.display()));
    let status = valgrind.arg(path).args(arguments).stdout(Stdio::null()).status()?;
    match status.code() {
        Some(0) => Ok(false),
        Some(9) => Ok(true),
        _ => Err(format!("valgrind: {status}").into()),
    }
}

#[test]
fn time_tells_nothing_of_secrets() -> Result<(), Box<dyn Error>> {
    if std::env::var_os("RINGFORGE_MACHINE_CODE").is_none_or(|value| value != "1") {
        eprintln!("skipped: compiles the engine three times; RINGFORGE_MACHINE_CODE=1 does it");
        return Ok(());
    }
    let has_valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_valgrind {
        eprintln!("skipped: branches, for want of valgrind");
    }
    let mut wrong = BTreeSet::new();
    for level in ["3", "'s'", "'z'"] {
        let path = program(level)?;
        let program = Program::read(&path)?;
        for name in NAMED {
            for ((at, finding), sources) in faults(&program, &path, name)? {
                wrong.insert(format!("{level}: {name}: {finding:?} at {at:#x}: {}", sources.join(" < ")));
            }
        }
        for (name, finding) in PLANTED {
            let found = faults(&program, &path, name)?;
            assert!(found.keys().any(|(_, found)| *found == finding), "{level}: nothing is found in {name}");
        }
        assert!(program.find("ringforge_constant_time::planted::missing", ENDS).is_err());
        if has_valgrind {
            if complains(&path, &[])? {
                wrong.insert(format!("{level}: valgrind found what depends on secrets"));
            }
            assert!(complains(&path, &["branch"])?, "{level}: valgrind does not find a branch");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    Ok(())
}
