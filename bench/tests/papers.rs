//! `ringforge bench papers` and the report of its record, as a user runs them.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

fn run(arguments: &[&str]) -> Result<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_ringforge")).args(arguments).output()?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn a_record_has_its_fields_and_makes_a_page() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("papers.json");
    let cpu = ["--quick", "--device", "cpu", "--batch", "4"];
    let out = path.to_string_lossy();
    let bench = [&["bench", "papers"][..], &cpu, &["--filter", "CTRU paper, table 3", "--out", &out]].concat();
    assert!(run(&bench)?.contains("registers"));
    let record: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    for field in ["device", "cpu", "date", "version", "copy_bytes_per_second"] {
        assert!(!record[field].is_null(), "{field} in {record}");
    }
    let lines = record["measurements"].as_array().context("measurements")?;
    assert_eq!(lines.len(), 6);
    for line in lines {
        assert!(line["right"] == true && line["batch"] == 4 && line["suite"] == "papers", "{line}");
        assert!(line["checked"].as_str().is_some_and(|checked| checked.contains("both ends")), "{line}");
        for field in ["median_seconds", "p95_seconds", "items_per_second", "percent_of_floor"] {
            assert!(line[field].as_f64() > Some(0.0), "{field} in {line}");
        }
        let kernels = line["steps"].as_array().context("kernels")?;
        assert!(!kernels.is_empty() && kernels.iter().all(|step| step["median_seconds"].as_f64() > Some(0.0)));
    }

    let (empty, page) = (folder.path().join("results"), folder.path().join("page.html"));
    fs::create_dir(&empty)?;
    let [record, empty, to] = [&path, &empty, &page].map(|path| path.to_string_lossy().into_owned());
    run(&["report", &record, "--results", &empty, "--out", &to])?;
    let page = fs::read_to_string(page)?;
    for expected in ["Experiments of the papers", "CTRU paper, table 3: CNTR-768", "ctru_decrypt"] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(run(&[&["bench", "papers", "--filter", "no such suite"][..], &cpu].concat()).is_err());
    Ok(())
}
