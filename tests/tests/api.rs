//! The public interface of each library crate is what it was: a file of `golden/api/` for each, one line an item.
//! `RINGFORGE_BLESS=1` writes them.
//!
//! The sources are read, not the compiler's mind: since `unreachable_pub` is denied, what says `pub` is public, and since
//! rustfmt has been over it, an item begins on a line of its own and ends at its indentation. What macros make is not
//! seen, except by the names that are exported.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Crates by their folders.
const CRATES: [(&str, &str); 11] = [
    ("ringforge", "engine"),
    ("ringforge-cpu", "cpu"),
    ("ringforge-kernels", "kernels"),
    ("ringforge-batch", "schemes/batch"),
    ("ringforge-e8", "schemes/e8"),
    ("ringforge-ctru", "schemes/ctru"),
    ("ringforge-ctru-prime", "schemes/ctru-prime"),
    ("ringforge-arkworks", "schemes/arkworks"),
    ("ringforge-sm2", "schemes/sm2"),
    ("ringforge-ckks", "schemes/ckks"),
    ("ringforge-plonky3", "schemes/plonky3"),
];

/// Attributes that say something to users.
const TOLD: [&str; 5] = ["#[cfg", "#[derive", "#[must_use", "#[non_exhaustive", "#[macro_export"];

/// The lines of a file yet to be read.
struct Reader<'a> {
    lines: std::str::Lines<'a>,
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

impl Reader<'_> {
    /// This line and those after it up to one that ends so, as one, without comments.
    fn join(&mut self, first: &str, ends: &[char]) -> String {
        let mut text = first.trim().to_owned();
        while !text.ends_with(ends) {
            let Some(line) = self.lines.next() else { break };
            let line = line.split(" // ").next().unwrap_or_default().trim();
            if !line.starts_with("//") {
                if !text.ends_with(['(', '[', '<']) && !line.starts_with([')', ']', '>', '.']) {
                    text.push(' ');
                }
                text += line;
            }
        }
        text.replace(",)", ")").replace(",>", ">")
    }

    /// Leaves out what is left of a block that began at this indentation.
    fn skip_block(&mut self, indent: usize) {
        self.lines.find(|line| indentation(line) == indent && line.trim_start().starts_with('}'));
    }

    /// The lines of a block that began at this indentation, without comments and attributes.
    fn block(&mut self, indent: usize) -> String {
        let lines = self.lines.by_ref().take_while(|line| line.trim().is_empty() || indentation(line) > indent);
        let kept = lines.map(str::trim).filter(|line| !line.starts_with("//") && !line.starts_with("#["));
        kept.collect::<Vec<_>>().join(" ")
    }
}

/// The public items of a file, a line each, and its implementations of traits with the types that they are for.
fn read(text: &str) -> (Vec<String>, Vec<(String, String)>) {
    let (mut items, mut impls) = (Vec::new(), Vec::new());
    let mut reader = Reader { lines: text.lines() };
    let mut inside: Vec<(usize, String)> = Vec::new();
    let mut attributes = String::new();
    while let Some(line) = reader.lines.next() {
        let (indent, line) = (indentation(line), line.trim());
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        if line.starts_with("#[") {
            let attribute = reader.join(line, &[']']);
            if TOLD.iter().any(|told| attribute.starts_with(told)) {
                attributes += &(attribute + " ");
            }
            continue;
        }
        let attributes = std::mem::take(&mut attributes);
        if inside.last().is_some_and(|(outer, _)| *outer == indent) && line.starts_with('}') {
            inside.pop();
            continue;
        }
        let (outer, context) = inside.last().map_or(("", String::new()), |(_, head)| (&**head, format!("{head}: ")));
        let item = match line.strip_prefix("pub ") {
            Some(item) => item,
            None if outer.starts_with("trait") && ["fn ", "const ", "type "].iter().any(|k| line.starts_with(k)) => {
                line
            }
            None if line.starts_with("impl") && line.ends_with(['{', '}', '>']) => {
                let head = reader.join(line, &['{', '}']);
                let name = head.trim_end_matches(['{', '}', ' ']).to_owned();
                if let Some((_, of)) = name.split_once(" for ") {
                    let of = of.split(['<', ' ']).next().unwrap_or_default();
                    impls.push((of.rsplit("::").next().unwrap_or_default().to_owned(), attributes + &name));
                    if head.ends_with('{') {
                        reader.skip_block(indent);
                    }
                } else if head.ends_with('{') {
                    inside.push((indent, name));
                }
                continue;
            }
            None => {
                if let (Some(name), true) = (line.strip_prefix("macro_rules! "), attributes.contains("macro_export")) {
                    items.push(format!("macro {}", name.trim_end_matches(" {")));
                }
                let head = if line.contains("fn ") { reader.join(line, &['{', ';', '}']) } else { line.into() };
                if head.ends_with('{') {
                    reader.skip_block(indent);
                }
                continue;
            }
        };
        let words = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
        match words(item).as_str() {
            "use" => {
                let path = reader.join(item, &[';']);
                let names = path.trim_end_matches(';').split(['{', '}', ',']).map(str::trim);
                let names = names.filter(|name| !name.is_empty() && !name.ends_with("::"));
                items.extend(names.map(|name| format!("use {}", name.rsplit("::").next().unwrap_or(name))));
            }
            "enum" => {
                let head = item.trim_end_matches(" {");
                items.push(format!("{attributes}{head} {{ {} }}", reader.block(indent).trim_end_matches(',')));
            }
            "struct" | "trait" => {
                let head = reader.join(item, &['{', ';', '}']);
                let name = head.trim_end_matches(['{', '}', ';', ' ']);
                // the types of fields that are not public are nobody's business
                let shown = match name.split_once('(') {
                    Some((name, fields)) if !fields.contains("pub ") => format!("{name}(..)"),
                    _ => name.into(),
                };
                items.push(format!("{attributes}{shown}"));
                if head.ends_with('{') {
                    inside.push((indent, name.into()));
                }
            }
            word => {
                let ends: &[char] = if outer.starts_with("struct") { &[','] } else { &['{', ';', '}'] };
                let head = reader.join(item, ends);
                if head.ends_with('{') {
                    reader.skip_block(indent);
                }
                let value = if word == "const" { head.find(" = ") } else { None };
                let head = head[..value.unwrap_or(head.len())].trim_end_matches(['{', '}', ';', ',', ' ']);
                let head = if word == "mod" { head.split(" {").next().unwrap_or_default() } else { head };
                items.push(format!("{context}{attributes}{head}"));
            }
        }
    }
    (items, impls)
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The public interface of a crate, sorted.
fn interface(folder: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    sources(&folder.join("src"), &mut files)?;
    let (mut items, mut impls) = (BTreeSet::new(), Vec::new());
    for file in files {
        let text = fs::read_to_string(file)?;
        // tests come last in a file
        let text = text.split("\nmod tests {").next().unwrap_or_default();
        let (more_items, more_impls) = read(text);
        items.extend(more_items);
        impls.extend(more_impls);
    }
    let is_public = |of: &String| {
        let named = |kind: &str| format!("{kind} {of}");
        items.iter().any(|item| {
            ["struct", "enum", "trait"].iter().any(|kind| {
                let at = item.find(&named(kind)).map(|at| at + named(kind).len());
                at.is_some_and(|at| !item[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            })
        })
    };
    let of_public: Vec<String> =
        impls.into_iter().filter(|(of, _)| is_public(of)).map(|(_, implementation)| implementation).collect();
    items.extend(of_public);
    Ok(items.into_iter().map(|item| item + "\n").collect())
}

#[test]
fn public_interfaces_are_known() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut changes = String::new();
    for (name, folder) in CRATES {
        let file = here.join("golden/api").join(name).with_extension("txt");
        let new = interface(&here.join("..").join(folder))?;
        if env::var_os("RINGFORGE_BLESS").is_some_and(|value| value == "1") {
            fs::write(&file, new)?;
            continue;
        }
        let old = fs::read_to_string(&file)?;
        let (before, after): (BTreeSet<&str>, BTreeSet<&str>) = (old.lines().collect(), new.lines().collect());
        changes.extend(before.difference(&after).map(|line| format!("{name} - {line}\n")));
        changes.extend(after.difference(&before).map(|line| format!("{name} + {line}\n")));
    }
    assert!(changes.is_empty(), "the public interface is another (RINGFORGE_BLESS=1 writes it):\n{changes}");
    Ok(())
}

#[test]
fn items_are_found() {
    let (items, impls) = read(
        "pub use a::{B, c::D};\n/// Doc.\n#[derive(Debug)]\npub struct S {\n    /// f\n    pub f: u8,\n    g: u8,\n}\n\nimpl S {\n    \
         /// m\n    #[must_use]\n    pub fn m(\n        &self,\n        x: u8,\n    ) -> u8 {\n        pub_fn(x)\n    }\n\n    \
         pub(crate) fn hidden() {\n        x;\n    }\n}\n\nimpl Clone for S {\n    fn clone(&self) -> Self {\n    }\n}\n\n\
         pub enum E {\n    /// v\n    V(u8),\n    W,\n}\n\npub trait T {\n    fn need(&self);\n    fn given(&self) {\n    }\n}\n\n\
         pub const N: usize = 3;\nfn private() {}\n",
    );
    let wanted = [
        "use B",
        "use D",
        "#[derive(Debug)] struct S",
        "struct S: f: u8",
        "impl S: #[must_use] fn m(&self, x: u8) -> u8",
        "enum E { V(u8), W }",
        "trait T",
        "trait T: fn need(&self)",
        "trait T: fn given(&self)",
        "const N: usize",
    ];
    assert_eq!(items, wanted);
    assert_eq!(impls, [("S".to_owned(), "impl Clone for S".to_owned())]);
}

/// What somebody meets first is no more than a page: types and modules at the engine's root.
#[test]
fn the_root_has_few_names() -> io::Result<()> {
    let root = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src/lib.rs"))?;
    let names = |line: &'_ str| -> Vec<String> {
        let names = line.rsplit_once("::").map_or(line, |(_, names)| names);
        let words = names.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|word| !["", "pub", "mod"].contains(word)).map(Into::into).collect()
    };
    let names: BTreeSet<String> = root.lines().filter(|line| line.starts_with("pub ")).flat_map(names).collect();
    assert!(names.contains("Ring") && names.contains("kernels") && names.len() <= 35, "{}: {names:?}", names.len());
    Ok(())
}
