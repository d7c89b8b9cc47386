//! Checks that the shared library exports exactly the functions that the header documents.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::library::Installed;

#[test]
fn only_documented_symbols_are_exported() {
    let Some(installed) = Installed::new() else { return };
    let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(installed.file("lib/libringforge.so")).output();
    let Ok(listed) = listed else { return };
    let listed = String::from_utf8(listed.stdout).unwrap();
    let symbols: BTreeSet<&str> = listed.lines().filter_map(|line| line.split_whitespace().next_back()).collect();

    let header = fs::read_to_string(installed.file("include/ringforge.h")).unwrap();
    let lines: Vec<&str> = header.lines().collect();
    let mut declared = BTreeSet::new();
    for (before, line) in lines.iter().zip(&lines[1..]) {
        let is_code = |line: &str| !line.starts_with([' ', '#', '/']);
        let name = line.split('(').next().unwrap_or_default().rsplit([' ', '*']).next().unwrap_or_default();
        if is_code(line) && line.contains('(') && name.starts_with("ringforge_") {
            assert_eq!(*before, " */", "{name} has no documentation");
            declared.insert(name);
        }
    }
    assert_eq!(symbols, declared);
}
