//! Tests the subcommands and suites that this command adds to `ringforge`: the papers' experiments, the peak rates, and
//! the report of a record.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

fn ringforge(arguments: &[&str], folder: &Path) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringforge-bench"));
    command.args(arguments).current_dir(folder).output().context("starting the command")
}

/// Returns the standard output of a run, which must succeed.
fn run(arguments: &[&str]) -> Result<String> {
    let output = ringforge(arguments, Path::new("."))?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the standard error of a run, which must be rejected (exit status 2).
fn refused(arguments: &[&str]) -> Result<String> {
    let output = ringforge(arguments, Path::new("."))?;
    ensure!(output.status.code() == Some(2), "{arguments:?} was not refused");
    Ok(String::from_utf8(output.stderr)?)
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

#[test]
fn rates_need_a_gpu() -> Result<()> {
    let why = refused(&["bench", "rates", "--device", "cpu"])?;
    assert!(why.contains("bench rates is not supported: it measures the pipes of a GPU"), "{why}");
    Ok(())
}

#[test]
fn batches_beyond_memory_are_refused() -> Result<()> {
    let usual = ["FHE 2^16", "zk host stream"].map(|filter| vec!["bench", "--filter", filter]);
    let suites = ["CTRU paper, 4.3.2", "CTRU paper, table 4", "CTRU-Prime paper, table 4", "SM2 paper, table 4"]
        .map(|filter| vec!["bench", "papers", "--filter", filter]);
    // a batch that exceeds the memory, and the largest number that the option accepts
    let batches = ["100000000000", "18446744073709551615"].into_iter().cycle();
    for (line, batch) in usual.iter().chain(&suites).zip(batches) {
        let why = refused(&[&line[..], &["--quick", "--device", "cpu", "--batch", batch]].concat())?;
        assert!(why.contains("the memory for a batch is too large"), "{line:?}: {why}");
    }
    Ok(())
}

#[test]
fn a_page_needs_no_checkout() -> Result<()> {
    let folder = tempfile::tempdir()?;
    assert_eq!(ringforge(&["report"], folder.path())?.status.code(), Some(2));
    let mine = folder.path().join("mine.json");
    let ring = ["bench", "998244353:x^64-1", "forward", "--quick", "--device", "cpu", "--batch", "8", "--out"];
    run(&[&ring[..], &[&mine.to_string_lossy()]].concat())?;
    let own = ringforge(&["report", "mine.json"], folder.path())?;
    assert!(own.status.success(), "{}", String::from_utf8_lossy(&own.stderr));
    assert!(String::from_utf8(own.stdout)?.starts_with("1 records, none of a checkout"));
    assert!(fs::read_to_string(folder.path().join("ringforge-report.html"))?.contains("998244353:x^64-1"));
    Ok(())
}
