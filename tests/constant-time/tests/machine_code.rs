//! Checks that code that handles secrets runs in constant time, by inspecting its machine code.
//!
//! - The functions in [`NAMED`] and all their callees must not divide secrets in hardware, because the time of a
//!   division depends on its operands. Each division is traced to its source line, through inlined functions, and this
//!   line must be known to divide public values such as lengths.
//! - Valgrind runs the program with secrets marked as uninitialised and must not find a branch or an address that
//!   depends on them. This covers the schemes once. It covers transforms, products and conversions of every arithmetic
//!   twice, for the baseline instruction set and for AVX2 with ADX.
//! - Valgrind does not support AVX-512. Instead, SIMD butterflies must not contain instructions that move the contents
//!   of vectors to flags, general registers or addresses.
//! - Transforms of zeros must take about as long as those of random residues.
//!
//! Needs valgrind, `objdump` and `addr2line` (binutils), and compiles the engine once more. The tests are skipped
//! unless `RINGFORGE_MACHINE_CODE=1` is set; with it, a missing tool is a failure. `RINGFORGE_MACHINE_CODE=all` also
//! checks the optimisation levels s and z.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod support;

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Finding, Program, run, sources};

/// Functions that handle secrets and must not divide them.
const NAMED: &[&str] = &[
    "ringforge_e8::kem::Kem<E>::key_pair", // of CTRU and of CTRU-Prime
    "ringforge_e8::kem::Kem<E>::encapsulate",
    "ringforge_e8::kem::Kem<E>::decapsulate",
    "ringforge_ctru::pke::Pke::bad_field",
    "ringforge_ctru_prime::pke::Pke::bad_field",
    "ringforge_sm2::key::PrivateKey::sign_with",
    "ringforge::kernels::sample::uniform::Uniform::row",
    "ringforge::kernels::sample::small::Small::element",
    "ringforge::kernels::sample::weight::Places::draw",
    "ringforge::kernels::sample::weight::Weight::magnitude",
    "ringforge::kernels::sample::weight::Weight::store",
    "ringforge::kernels::digits::Digits<T>::row",
    // the transforms of every arithmetic
    "<ringforge_cpu::transform::Row<F> as ringforge_cpu::transform::Transform>::forward",
    "<ringforge_cpu::transform::Row<F> as ringforge_cpu::transform::Transform>::inverse",
    "<ringforge_cpu::transform::Row<F> as ringforge_cpu::transform::Transform>::multiply",
    "<ringforge_cpu::transform::Row<F> as ringforge_cpu::transform::Transform>::multiply_matrix",
    "<ringforge_cpu::transform::Row<F> as ringforge_cpu::transform::Transform>::invert",
];

/// The SIMD butterflies, for every kind of vectors, and the permutations of SHAKE.
const VECTORS: &[&str] = &[
    "ringforge_cpu::simd::keccak::with_eight",
    "ringforge_cpu::simd::residues::<impl ringforge_cpu::simd::vectors::VectorKind for L>::halves",
    "ringforge_cpu::simd::residues::<impl ringforge_cpu::simd::vectors::VectorKind for L>::nodes",
    "ringforge_cpu::simd::residues::<impl ringforge_cpu::simd::vectors::VectorKind for L>::quarters",
    "ringforge_cpu::simd::residues::<impl ringforge_cpu::simd::vectors::VectorKind for L>::within",
];

/// End of the name of the function that contains the AVX-512 butterflies for 256-bit residues.
const LIMBS: &str = "simd::limbs::with_limbs";

/// Maximum ratio between the transform times of zeros and of random residues, in either direction.
const MOST_APART: f64 = 1.2;

/// Source files of the standard library and of other crates whose divisions have a length as dividend.
const LENGTHS: &[&str] =
    &["/core/src/slice/iter.rs", "/core/src/slice/iter/macros.rs", "/core/src/ptr/const_ptr.rs", "/inout_buf.rs"];

/// Source lines that divide public values only, each as a file and a part of the line.
const PUBLIC: &[(&str, &str)] = &[
    // divisions of sizes and node indices
    ("engine/src/transform.rs", "rows.len()"),
    ("engine/cpu/src/tree.rs", "self.shape.n / self.shape.nodes("),
    ("engine/cpu/src/tree.rs", "size / kind.radix()"),
    ("engine/cpu/src/tree.rs", "self.shape.nodes(l) / above"),
    ("engine/cpu/src/tree.rs", "words.len() / radix"),
    ("engine/cpu/src/tree/parts.rs", "words.len() / "),
    ("engine/cpu/src/tree/tile.rs", "self.shape.n / self.shape.nodes("),
    ("engine/cpu/src/tree/tile.rs", "shape.n / nodes"),
    ("engine/cpu/src/tree/tile.rs", "words.len() / size"),
    ("engine/cpu/src/tree/tile.rs", "size / kind.radix()"),
    ("engine/cpu/src/tree/tile.rs", "rows.len() / size"),
    ("engine/cpu/src/base.rs", "out.len() / "),
    ("engine/cpu/src/shape.rs", "self.n / self.base"),
    ("engine/cpu/src/transform.rs", "BLOCK / self.base"),
    // divisions of the digits of public keys
    ("schemes/ctru-prime/src/radix.rs", "number(&bytes[level.offset..]) % level.last"),
    ("schemes/ctru-prime/src/radix.rs", "r % level.modulus"),
    ("schemes/ctru-prime/src/radix.rs", "r / level.modulus"),
];

/// Source lines that may depend on a secret, because they reveal only what becomes public anyway: whether there is a
/// key or a signature.
const OUTCOMES: &[(&str, &str)] = &[
    ("schemes/ctru/src/rustcrypto.rs", "there.then_some(key)"),
    ("schemes/ctru/src/rustcrypto.rs", "Self::attempt(&seed)"),
    ("schemes/e8/src/select.rs", "match numbers.clone().fold(0, |any, x| any | x)"),
    ("schemes/sm2/src/field.rs", "sub_limbs(x, M::Q).1.then("),
    ("schemes/sm2/src/item.rs", "if bool::from(refused)"),
    ("schemes/sm2/src/item.rs", "if bool::from(k.is_zero())"),
    ("schemes/sm2/src/key.rs", "(!bool::from(refused)).then_some("),
];

/// Source files that may call through pointers or jump tables. They call known functions, or select one by public
/// values such as the kind of a layer.
const POINTERS: &[&str] =
    &["engine/src/transform.rs", "engine/cpu/src/simd/vectors.rs", "engine/cpu/src/simd/residues.rs"];

/// Name prefixes of functions that are not inspected, and whose callees are not followed: panics, formatting, threads.
const ENDS: &[&str] = &[
    "core::panicking",
    "core::slice::index::slice_",
    "core::slice::copy_from_slice",
    "core::fmt",
    "<core::fmt",
    "alloc::fmt",
    "std::panicking",
    "std::thread",
    "std::sys",
    "ringforge_cpu::threads::start",
    "rayon_core",
    "<rayon_core",
    "crossbeam",
    "<crossbeam",
];

/// Functions with deliberate defects, each with the kind of defect that must be found.
const PLANTED: [(&str, Finding); 6] = [
    ("ringforge_constant_time::planted::leaves", Finding::Leaving),
    ("ringforge_constant_time::planted::divides", Finding::Division),
    ("ringforge_constant_time::planted::divides_wide", Finding::Division),
    ("ringforge_constant_time::planted::divides_double", Finding::Division),
    ("ringforge_constant_time::planted::divides_within", Finding::Division),
    ("ringforge_constant_time::planted::divides_somewhere", Finding::Pointer),
];

/// Builds the program at an optimisation level and returns its path. All levels share a target folder, so crates with
/// the same settings are compiled only once.
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
    for package in ["", "-cpu", "-e8", "-batch", "-ctru", "-ctru-prime", "-sm2", "-constant-time"] {
        for setting in [format!("opt-level={level}"), "debug='line-tables-only'".into()] {
            cargo.args(["--config", &format!("profile.release.package.ringforge{package}.{setting}")]);
        }
    }
    // built as users build it, without the CI's settings
    for variable in ["RUSTFLAGS", "CARGO_PROFILE_RELEASE_LTO"] {
        cargo.env_remove(variable);
    }
    run(cargo.env("CARGO_TARGET_DIR", &folder), "")?;
    Ok(folder.join("release").join(env!("CARGO_PKG_NAME")))
}

/// A location in the workspace's sources.
struct Place {
    /// Path relative to the workspace root.
    file: String,
    /// Line number, starting at 1; 0 if the compiler has merged several lines.
    number: usize,
    /// Text of the line.
    text: String,
}

impl Place {
    /// Returns the location, or `None` if the file is outside the workspace.
    fn of(file: &str, number: usize) -> Result<Option<Self>, Box<dyn Error>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let Ok(own) = Path::new(file).strip_prefix(&root) else { return Ok(None) };
        let text = fs::read_to_string(file)?;
        let line = number.checked_sub(1).and_then(|line| text.lines().nth(line)).unwrap_or_default();
        Ok(Some(Self { file: own.display().to_string(), number, text: line.trim().to_owned() }))
    }

    /// Returns true if the list contains this file together with a part of this line.
    fn is_in(&self, list: &[(&str, &str)]) -> bool {
        list.iter().any(|(file, text)| self.file == *file && self.text.contains(text))
    }

    /// Returns true if the compiler has merged several lines into this location, and all divisions in the file are
    /// known to divide public values.
    fn is_merged(&self) -> Result<bool, Box<dyn Error>> {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&self.file))?;
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        let mut divides =
            code.filter(|line| [" / ", " % ", " /= ", " %= "].iter().any(|operator| line.contains(operator)));
        let is_public = |line: &str| PUBLIC.iter().any(|(file, text)| self.file == *file && line.contains(text));
        Ok(self.number == 0 && divides.all(is_public))
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.number, self.text)
    }
}

/// Returns the findings in a function and its callees that are not known to be harmless, each with a description of its
/// source location.
fn faults(program: &Program, path: &Path, name: &str) -> Result<Vec<(Finding, String)>, Box<dyn Error>> {
    let found = program.find(name, ENDS)?;
    let sources = sources(path, &found.keys().copied().collect::<Vec<_>>())?;
    let leaving = found.values().filter(|(finding, _)| *finding == Finding::Leaving).count();
    let mut faults = Vec::new();
    for (at, (finding, function)) in found {
        // Integer division is inlined from the core library, so the line that calls it is the location of interest.
        let places = sources.get(&at).into_iter().flatten().filter(|(file, _)| !file.contains("/core/src/num/"));
        let places: Vec<_> = places.collect();
        // The standard library handles no secrets, and a division in a callback has another location. Division of
        // integers wider than a register is in the library `compiler-builtins`, which does count.
        let is_std = |file: &str| file.starts_with("/rustc/") && !file.contains("compiler-builtins");
        if !places.is_empty() && places.iter().all(|(file, _)| is_std(file)) {
            continue;
        }
        let (file, number) = places.first().map_or(("", 0), |(file, number)| (&**file, *number));
        let place = Place::of(file, number)?;
        let is_known = match finding {
            Finding::Division => {
                let divides_lengths = LENGTHS.iter().any(|lengths| file.ends_with(lengths));
                let is_merged = place.as_ref().map_or(Ok(false), Place::is_merged)?;
                divides_lengths || is_merged || place.as_ref().is_some_and(|place| place.is_in(PUBLIC))
            }
            Finding::Pointer => place.as_ref().is_some_and(|place| POINTERS.contains(&&*place.file)),
            // A move out of a vector matters only in SIMD butterflies: in other functions, words reach registers
            // through memory anyway. The butterflies of 256-bit residues move one value out of a vector: the reciprocal
            // of the modulus.
            Finding::Leaving if VECTORS.contains(&name) => function.ends_with(LIMBS) && leaving == 1,
            Finding::Leaving => !name.contains("::planted::"),
        };
        if !is_known {
            let place = place.map_or_else(|| format!("{file}:{number}"), |place| place.to_string());
            faults.push((finding, format!("{finding:?} in {function}, {place}")));
        }
    }
    Ok(faults)
}

/// Runs the program under valgrind. Returns the source locations where a branch or address depends on secrets, except
/// for those in [`OUTCOMES`].
fn complaints(path: &Path, arguments: &[&str]) -> Result<Vec<String>, Box<dyn Error>> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=9", "--error-limit=no", "--fullpath-after=", "--num-callers=60"]);
    let output = valgrind.arg(path).args(arguments).output().map_err(|error| format!("valgrind: {error}"))?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !matches!(output.status.code(), Some(0 | 9)) {
        return Err(format!("valgrind: {}\n{report}", output.status).into());
    }
    let mut wrong = Vec::new();
    let mut is_placed = true;
    for line in report.lines() {
        // a line with "at" starts a report with the innermost function; lines with its callers follow
        is_placed &= !line.contains("   at 0x");
        let place = line.rsplit_once('(').and_then(|(_, place)| place.trim_end_matches(')').rsplit_once(':'));
        if let Some((file, number)) = place.filter(|_| !is_placed)
            && let Some(place) = Place::of(file, number.parse().unwrap_or(0))?
        {
            is_placed = true;
            if !place.is_in(OUTCOMES) {
                wrong.push(format!("a branch or an address depends on a secret: {place}"));
            }
        }
    }
    Ok(wrong)
}

/// The optimisation levels to check; none if the tests are to be skipped.
fn levels() -> &'static [&'static str] {
    match std::env::var("RINGFORGE_MACHINE_CODE").as_deref() {
        Ok("all") => &["3", "'s'", "'z'"],
        Ok("1") => &["3"],
        _ => {
            eprintln!("skipped: set RINGFORGE_MACHINE_CODE=1 to compile the engine once more and check it");
            &[]
        }
    }
}

/// The instruction sets that valgrind supports and this machine has.
fn instructions() -> impl Iterator<Item = &'static str> {
    let has_avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("adx");
    ["baseline"].into_iter().chain(has_avx2.then_some("avx2"))
}

/// Measures transforms and returns the rings for which zeros and random residues take different times.
fn uneven(path: &Path, instructions: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let mut uneven = BTreeSet::new();
    for line in run(Command::new(path).args(["times", instructions]), "")?.lines() {
        let mut words = line.splitn(3, ' ');
        let mut number = || words.next().and_then(|word| word.parse::<f64>().ok()).ok_or("no time");
        let (zeros, random) = (number()?, number()?);
        let ring = words.next().unwrap_or_default();
        println!("{instructions}: {zeros:.2} and {random:.2} us, {ring}");
        if zeros.max(random) > MOST_APART * zeros.min(random) {
            uneven.insert(ring.to_owned());
        }
    }
    Ok(uneven)
}

#[test]
fn zeros_take_as_long_as_random_rows() -> Result<(), Box<dyn Error>> {
    for level in levels() {
        let path = program(level)?;
        for instructions in instructions().chain(["detected"]) {
            // Other work on the machine may disturb a measurement, but hardly that of the same ring three times in a
            // row.
            let mut found = uneven(&path, instructions)?;
            for _ in 0..2 {
                if !found.is_empty() {
                    found = &found & &uneven(&path, instructions)?;
                }
            }
            assert!(found.is_empty(), "level {level}, {instructions}: {found:?}");
        }
    }
    Ok(())
}

#[test]
fn time_does_not_depend_on_secrets() -> Result<(), Box<dyn Error>> {
    let mut wrong = BTreeSet::new();
    for level in levels() {
        let path = program(level)?;
        let program = Program::read(&path)?;
        for name in NAMED.iter().chain(VECTORS) {
            wrong.extend(
                faults(&program, &path, name)?.into_iter().map(|(_, fault)| format!("{level}: {name}: {fault}")),
            );
        }
        for (name, finding) in PLANTED {
            let found = faults(&program, &path, name)?;
            assert!(found.iter().any(|(found, _)| *found == finding), "{level}: no fault was found in {name}");
        }
        assert!(program.find("ringforge_constant_time::planted::missing", ENDS).is_err());
        wrong.extend(complaints(&path, &[])?.into_iter().map(|complaint| format!("{level}: {complaint}")));
        for instructions in instructions() {
            let complaints = complaints(&path, &["rows", instructions])?;
            wrong.extend(complaints.into_iter().map(|complaint| format!("{level}, {instructions}: {complaint}")));
        }
        let planted = complaints(&path, &["branch"])?;
        assert!(
            planted.iter().any(|place| place.contains("if secret == 1")),
            "{level}: the planted branch was not found"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    Ok(())
}
