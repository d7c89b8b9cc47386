//! `ringforge bench seeds` and the report of its record, as a user runs them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

fn run(arguments: &[&str]) -> Result<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_ringforge")).args(arguments).output()?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// The record of some suites.
fn record(filter: &str, path: &Path) -> Result<Value> {
    let out = path.to_string_lossy();
    run(&["bench", "seeds", "--quick", "--device", "cpu", "--batch", "4", "--filter", filter, "--out", &out])?;
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

fn lines<'a>(record: &'a Value, kind: &str) -> &'a [Value] {
    record[kind].as_array().map_or(&[], Vec::as_slice)
}

/// All lines have these fields.
fn check(lines: &[Value], fields: &[&str]) {
    assert!(!lines.is_empty());
    for line in lines {
        for field in fields {
            assert!(!line[field].is_null(), "{field} in {line}");
        }
    }
}

#[test]
fn a_record_has_its_fields_and_makes_a_page() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("seeds.json");
    let record = record("schemes", &path)?;
    check(std::slice::from_ref(&record), &["device", "cpu", "date", "version", "copy_bytes_per_second"]);
    check(lines(&record, "seed_suites"), &["name", "source", "note"]);
    let timed = ["suite", "name", "op", "batch", "median_seconds", "p95_seconds", "items_per_second", "right"];
    check(lines(&record, "seed_lines"), &timed);
    let launch = ["suite", "name", "op", "batch", "kernel", "median_seconds", "percent_of_time"];
    check(lines(&record, "seed_launches"), &launch);
    let scheme = ["name", "by", "public_key_bytes", "secret_key_bytes", "ciphertext_bytes", "rates", "ratios", "right"];
    check(lines(&record, "seed_schemes"), &scheme);
    let ours: Vec<_> = lines(&record, "seed_schemes").iter().filter(|line| line["batch"] == 4).collect();
    let names: Vec<_> = ours.iter().filter_map(|line| line["name"].as_str()).collect();
    assert_eq!(names, ["ML-KEM-768", "CTRU-768", "CNTR-768", "CTRU-Prime-761"]);
    assert_eq!(ours[0]["ratios"]["decapsulation"], 1.0);
    assert!(lines(&record, "seed_lines").iter().all(|line| line["right"] == true));

    let empty = folder.path().join("results");
    fs::create_dir(&empty)?;
    let page = folder.path().join("page.html");
    let [record, empty, to] = [&path, &empty, &page].map(|path| path.to_string_lossy().into_owned());
    run(&["report", &record, "--results", &empty, "--out", &to])?;
    let page = fs::read_to_string(page)?;
    for expected in ["Schemes beside one another", "CTRU-Prime-761", "ctru_decrypt", "CTRU paper, table 5"] {
        assert!(page.contains(expected), "{expected}");
    }
    Ok(())
}

#[test]
fn tables_are_told_by_size_and_unknown_suites_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = record("zk tables", &folder.path().join("tables.json"))?;
    let fields = ["table_bytes", "table_seconds", "transform_seconds", "percent_of_first", "percent_of_proof", "right"];
    check(lines(&record, "seed_tables"), &fields);
    assert!(lines(&record, "seed_lines").is_empty());
    assert!(run(&["bench", "seeds", "--device", "cpu", "--filter", "no such suite"]).is_err());
    Ok(())
}
