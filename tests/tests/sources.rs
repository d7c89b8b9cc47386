//! The source files of this workspace, for tests that read them.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders of library crates.
const LIBRARIES: [&str; 4] = ["engine", "schemes", "adapters", "bindings"];

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the names and contents of all files of libraries and of `kernels` with this extension, without tests,
/// benches and examples.
pub(crate) fn with_extension(extension: &str) -> io::Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for folder in LIBRARIES.into_iter().chain(["kernels"]) {
        collect(folder, extension, &mut all)?;
    }
    all.sort();
    Ok(all)
}

/// Names and contents of the Rust sources of libraries.
pub(crate) fn libraries() -> io::Result<Vec<(String, String)>> {
    let mut all = with_extension("rs")?;
    all.retain(|(name, _)| !name.starts_with("kernels/") && !name.ends_with("tests.rs"));
    Ok(all)
}

/// Names and contents of all Markdown pages of the repository.
pub(crate) fn pages() -> io::Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for folder in LIBRARIES.into_iter().chain(["kernels", "cli", "bench", "docs", "fuzz"]) {
        collect(folder, "md", &mut all)?;
    }
    for entry in fs::read_dir(root())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            let page = fs::read_to_string(root().join(&name))?;
            all.push((name, page));
        }
    }
    Ok(all)
}

fn collect(folder: &str, extension: &str, all: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(root().join(folder))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = format!("{folder}/{name}");
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            if !["tests", "benches", "examples", "target"].contains(&name.as_str()) {
                collect(&file, extension, all)?;
            }
        } else if path.extension().is_some_and(|own| own == extension) {
            all.push((file, fs::read_to_string(path)?));
        }
    }
    Ok(())
}
