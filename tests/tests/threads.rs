//! Checks that library functions call `threads::start` before they give work to rayon. Without this call, rayon panics
//! if the system cannot start a thread.

use std::path::{Path, PathBuf};
use std::{fs, io};

const CRATES: [&str; 4] = ["engine", "schemes", "adapters", "bindings"];
const USES: [&str; 5] = [".par_", ".into_par_iter(", "rayon::join(", "rayon::scope(", "rayon::current_num_threads("];

/// Collects the Rust source files of libraries below a folder, without tests, benchmarks and examples.
fn sources(folder: &Path, all: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "benches", "examples"].contains(&name.as_str()) {
            sources(&path, all)?;
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            all.push(path);
        }
    }
    Ok(())
}

/// Returns the lines that give work to rayon without an earlier call of `threads::start` in the same function.
fn forgotten(text: &str) -> Vec<&str> {
    let code = text.split("\nmod tests {").next().unwrap_or_default();
    let mut started = false;
    let lines = code.lines().filter(|line| {
        let line = line.trim_start();
        if line.contains("fn ") {
            started = false;
        }
        started |= line.contains("threads::start()");
        !started && !line.starts_with("//") && USES.iter().any(|found| line.contains(found))
    });
    lines.collect()
}

#[test]
fn rayon_is_started_before_it_is_used() -> io::Result<()> {
    assert_eq!(forgotten("fn a() {\n    x.par_iter();\n}"), ["    x.par_iter();"]);
    assert!(forgotten("fn a() {\n    threads::start();\n    x.par_iter();\n}").is_empty());
    let (root, mut all) = (Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), Vec::new());
    for folder in CRATES {
        sources(&root.join(folder), &mut all)?;
    }
    assert!(all.len() > 200, "{} files", all.len());
    for path in all.iter().filter(|path| !path.ends_with("engine/cpu/src/threads.rs")) {
        let text = fs::read_to_string(path)?;
        assert!(forgotten(&text).is_empty(), "{}: {:?}", path.display(), forgotten(&text));
    }
    Ok(())
}
