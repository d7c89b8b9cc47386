//! Code that handles secrets takes the same time whatever they are: checks of the machine code.
//!
//! The named functions, and all that they call, divide nothing by hardware, whose time tells of its operands. Lengths and
//! other public numbers are divided, so each division is looked up: the source function that it comes from, inlined or
//! not, must be one that divides what is public. And valgrind runs the program with secrets that count as not initialised,
//! and finds no branch and no address that depends on them: schemes once, transforms, products and conversions of every
//! arithmetic in the code for any CPU and in that for AVX2 and ADX. Valgrind knows no AVX-512, so steps in vectors have no
//! instruction that takes what a vector holds to flags, general registers or addresses. And transforms of zeros take as long
//! as those of random rows.
//!
//! Needs valgrind, and `objdump` and `addr2line` (binutils), and compiles the engine once more: skipped without
//! `RINGFORGE_MACHINE_CODE=1`, and with it a missing tool is a failure. `RINGFORGE_MACHINE_CODE=all` looks at optimisation
//! levels s and z besides 3.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod support;

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Finding, Program, run, sources};

/// What handles secrets.
const NAMED: &[&str] = &[
    "ringforge_e8::kem::Kem<E>::key_pair", // of both schemes
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
    // of every arithmetic
    "<ringforge_cpu::transform::Row<F> as ringforge_cpu::transform::Transform>::forward",
    "<ringforge_cpu::transform::Row<F> as ringforge_cpu::transform::Transform>::inverse",
    "<ringforge_cpu::transform::Row<F> as ringforge_cpu::transform::Transform>::multiply",
    "<ringforge_cpu::transform::Row<F> as ringforge_cpu::transform::Transform>::invert",
];

/// Steps in vectors of every kind.
const VECTORS: &[&str] = &[
    "ringforge_cpu::simd::residues::<impl ringforge_cpu::simd::vectors::Kind for L>::halves",
    "ringforge_cpu::simd::residues::<impl ringforge_cpu::simd::vectors::Kind for L>::nodes",
    "ringforge_cpu::simd::residues::<impl ringforge_cpu::simd::vectors::Kind for L>::quarters",
    "ringforge_cpu::simd::residues::<impl ringforge_cpu::simd::vectors::Kind for L>::within",
];

/// The function of steps on 256 bits in AVX-512.
const LIMBS: &str = "simd::limbs::with_limbs";

/// How much longer transforms of random rows may take than those of zeros, or the other way round. Before masks, it was up to
/// six times.
const MOST_APART: f64 = 1.2;

/// Sources of the standard library and of others that divide lengths: by chunks, by sizes of items.
const LENGTHS: &[&str] = &["/core/src/slice/iter.rs", "/core/src/ptr/const_ptr.rs", "/inout_buf.rs"];

/// Lines that divide what is public, by their file and what they say.
const PUBLIC: &[(&str, &str)] = &[
    // sizes and numbers of nodes
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
    // digits of public keys
    ("schemes/ctru-prime/src/radix.rs", "number(&bytes[level.offset..]) % level.last"),
    ("schemes/ctru-prime/src/radix.rs", "r % level.modulus"),
    ("schemes/ctru-prime/src/radix.rs", "r / level.modulus"),
];

/// Lines that may depend on a secret, as they tell what will be known: whether there is a key or a signature.
const OUTCOMES: &[(&str, &str)] = &[
    ("schemes/ctru/src/rustcrypto.rs", "there.then_some(key)"),
    ("schemes/ctru/src/rustcrypto.rs", "Self::attempt(&seed)"),
    ("schemes/e8/src/select.rs", "match numbers.clone().fold(0, |any, x| any | x)"),
    ("schemes/sm2/src/field.rs", "sub_limbs(x, M::Q).1.then("),
    ("schemes/sm2/src/item.rs", "if bool::from(refused)"),
    ("schemes/sm2/src/item.rs", "if bool::from(k.is_zero())"),
    ("schemes/sm2/src/key.rs", "(!bool::from(refused)).then_some("),
];

/// Sources that call by pointers, or jump by a table: to what is named, or as what is public says, such as a step's kind.
const POINTERS: &[&str] =
    &["engine/src/transform.rs", "engine/cpu/src/simd/vectors.rs", "engine/cpu/src/simd/residues.rs"];

/// Functions beyond which nobody looks, by how names begin: panics, messages, threads.
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

/// Functions that must be found out.
const PLANTED: [(&str, Finding); 6] = [
    ("ringforge_constant_time::planted::leaves", Finding::Leaving),
    ("ringforge_constant_time::planted::divides", Finding::Division),
    ("ringforge_constant_time::planted::divides_wide", Finding::Division),
    ("ringforge_constant_time::planted::divides_double", Finding::Division),
    ("ringforge_constant_time::planted::divides_within", Finding::Division),
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
    for package in ["", "-cpu", "-e8", "-batch", "-ctru", "-ctru-prime", "-sm2", "-constant-time"] {
        for setting in [format!("opt-level={level}"), "debug='line-tables-only'".into()] {
            cargo.args(["--config", &format!("profile.release.package.ringforge{package}.{setting}")]);
        }
    }
    // as users build it, whatever CI does
    for variable in ["RUSTFLAGS", "CARGO_PROFILE_RELEASE_LTO"] {
        cargo.env_remove(variable);
    }
    run(cargo.env("CARGO_TARGET_DIR", &folder), "")?;
    Ok(folder.join("release").join(env!("CARGO_PKG_NAME")))
}

/// A place in a source of this workspace.
struct Place {
    /// From its root.
    file: String,
    /// From 1; 0 where the compiler has merged lines.
    number: usize,
    /// What the line says.
    text: String,
}

impl Place {
    /// The place, unless it is in other sources.
    fn of(file: &str, number: usize) -> Result<Option<Self>, Box<dyn Error>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let Ok(own) = Path::new(file).strip_prefix(&root) else { return Ok(None) };
        let text = fs::read_to_string(file)?;
        let line = number.checked_sub(1).and_then(|line| text.lines().nth(line)).unwrap_or_default();
        Ok(Some(Self { file: own.display().to_string(), number, text: line.trim().to_owned() }))
    }

    /// Whether it is listed, by its file and what it says.
    fn is_in(&self, list: &[(&str, &str)]) -> bool {
        list.iter().any(|(file, text)| self.file == *file && self.text.contains(text))
    }

    /// Whether it is one of several lines of a file that divides nothing but what is public.
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

/// What is found in this function and beyond, but for what is known to be public: each with the place it comes from.
fn faults(program: &Program, path: &Path, name: &str) -> Result<Vec<(Finding, String)>, Box<dyn Error>> {
    let found = program.find(name, ENDS)?;
    let sources = sources(path, &found.keys().copied().collect::<Vec<_>>())?;
    let leaving = found.values().filter(|(finding, _)| *finding == Finding::Leaving).count();
    let mut faults = Vec::new();
    for (at, (finding, function)) in found {
        // what divides numbers is not the place: who calls it is
        let places = sources.get(&at).into_iter().flatten().filter(|(file, _)| !file.contains("/core/src/num/"));
        let places: Vec<_> = places.collect();
        // the standard library knows no secrets; of what it calls back, there would be a place elsewhere. Division of
        // numbers that are longer than a register is the compiler's own code
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
            // elsewhere words come from vectors as from memory; in limbs, the reciprocal of a modulus does
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

/// The places where valgrind sees that the program depends on secrets, but for known outcomes.
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
        // the innermost function, from which those that called it follow
        is_placed &= !line.contains("   at 0x");
        let place = line.rsplit_once('(').and_then(|(_, place)| place.trim_end_matches(')').rsplit_once(':'));
        if let Some((file, number)) = place.filter(|_| !is_placed)
            && let Some(place) = Place::of(file, number.parse().unwrap_or(0))?
        {
            is_placed = true;
            if !place.is_in(OUTCOMES) {
                wrong.push(format!("what is done depends on a secret, {place}"));
            }
        }
    }
    Ok(wrong)
}

/// The levels of optimisation to look at.
fn levels() -> &'static [&'static str] {
    match std::env::var("RINGFORGE_MACHINE_CODE").as_deref() {
        Ok("all") => &["3", "'s'", "'z'"],
        Ok("1") => &["3"],
        _ => {
            eprintln!("skipped: compiles the engine once more; RINGFORGE_MACHINE_CODE=1 does it");
            &[]
        }
    }
}

/// The instructions that valgrind can run here.
fn instructions() -> impl Iterator<Item = &'static str> {
    let has_avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("adx");
    ["baseline"].into_iter().chain(has_avx2.then_some("avx2"))
}

/// Lines of a ring whose transform takes another time on zeros than on random rows.
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
            // other work on this machine may come between, but not three times
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
fn time_tells_nothing_of_secrets() -> Result<(), Box<dyn Error>> {
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
            assert!(found.iter().any(|(found, _)| *found == finding), "{level}: nothing is found in {name}");
        }
        assert!(program.find("ringforge_constant_time::planted::missing", ENDS).is_err());
        wrong.extend(complaints(&path, &[])?.into_iter().map(|complaint| format!("{level}: {complaint}")));
        for instructions in instructions() {
            let complaints = complaints(&path, &["rows", instructions])?;
            wrong.extend(complaints.into_iter().map(|complaint| format!("{level}, {instructions}: {complaint}")));
        }
        let planted = complaints(&path, &["branch"])?;
        assert!(planted.iter().any(|place| place.contains("if secret == 1")), "{level}: a branch is not found");
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    Ok(())
}
