//! Modules of the engine use those above them in the table of `docs/architecture.md`, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The line of each module in the table, by its path.
fn lines(page: &str) -> BTreeMap<String, usize> {
    let table = page.lines().skip_while(|line| !line.starts_with("| modules |")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|')).enumerate();
    let named = rows.flat_map(|(number, line)| {
        let cell = line.split('|').nth(1).unwrap_or_default();
        cell.split('`').skip(1).step_by(2).map(move |module| (module.to_owned(), number))
    });
    named.collect()
}

/// The longest path of the table that this one begins with.
fn module<'t>(table: &'t BTreeMap<String, usize>, path: &[&str]) -> Option<(&'t str, usize)> {
    let prefixes = (1..=path.len()).rev().map(|length| path[..length].join("/"));
    prefixes.filter_map(|path| table.get_key_value(&path)).map(|(path, line)| (&**path, *line)).next()
}

/// Paths from the root of the crate that a file names outside its tests and comments.
fn uses(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let code = text.split("\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    // what a macro says of the crate, its user's crate says
    let lines = lines.filter(|line| !line.contains("$crate::"));
    lines.flat_map(|line| line.split("crate::").skip(1)).map(|path| {
        let path = path.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next().unwrap_or_default();
        path.split("::").filter(|part| !part.is_empty()).collect()
    })
}

/// The modules of what the root exports, by name.
fn exports(root: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut exports = BTreeMap::new();
    for (path, names) in root.split("pub use ").skip(1).filter_map(|text| text.split(';').next()?.rsplit_once("::")) {
        let names = names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty());
        exports.extend(names.map(|name| (name, path.split("::").collect())));
    }
    exports
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else if !path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("tests.rs")) {
            files.push(path);
        }
    }
    Ok(())
}

#[test]
fn modules_use_what_is_above_them() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (folder, page) = (root.join("engine/src"), fs::read_to_string(root.join("docs/architecture.md"))?);
    let table = lines(&page);
    let crate_root = fs::read_to_string(folder.join("lib.rs"))?;
    let exports = exports(&crate_root);
    let mut files = Vec::new();
    sources(&folder, &mut files)?;
    let (mut seen, mut wrong) = (BTreeSet::new(), BTreeSet::new());
    for file in files.iter().filter(|file| !file.ends_with("lib.rs")) {
        let relative = file.strip_prefix(&folder).unwrap_or(file).with_extension("");
        let path: Vec<_> = relative.iter().map(|part| part.to_str().unwrap_or_default()).collect();
        let Some((user, line)) = module(&table, &path) else {
            wrong.insert(format!("{} is not in the table", relative.display()));
            continue;
        };
        seen.insert(user);
        let text = fs::read_to_string(file)?;
        for used in uses(&text) {
            let exported = used.first().and_then(|name| exports.get(name));
            match module(&table, exported.unwrap_or(&used)) {
                Some((_, above)) if above <= line => {}
                Some((below, _)) => drop(wrong.insert(format!("{} uses {below}, which is below", relative.display()))),
                None => drop(wrong.insert(format!("{} uses {}: what is that?", relative.display(), used.join("::")))),
            }
        }
    }
    let missing = table.keys().filter(|module| !seen.contains(module.as_str()));
    wrong.extend(missing.map(|module| format!("the table has {module}, the engine has not")));
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    Ok(())
}
