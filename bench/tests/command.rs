//! The command from outside: tuning files are written, read, and refused for another device; rates need a GPU.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

fn ringforge(args: &[&str]) -> Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_ringforge")).args(args).output().context("starting the command")
}

/// What it prints where it succeeds.
fn printed(args: &[&str]) -> Result<String> {
    let output = ringforge(args)?;
    ensure!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// What it complains about where it fails.
fn refused(args: &[&str]) -> Result<String> {
    let output = ringforge(args)?;
    ensure!(output.status.code() == Some(2), "{args:?} was not refused");
    Ok(String::from_utf8(output.stderr)?)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

#[test]
fn tuning_goes_through_a_file() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tuning.toml");
    let file = text(&path);
    // one job has two ways on a CPU, the other one has no other
    let quick = ["--quick", "--device", "cpu", "--filter"];
    let tuned = printed(&[&["tune", "--out", file][..], &quick, &["x^256 + 1"]].concat())?;
    assert!(tuned.contains("usual") && tuned.contains("in one way only on this device"), "{tuned}");
    let record = printed(&[&["tune", "--out", file, "--json"][..], &quick, &["x^65536 - 1"]].concat())?;
    let record: serde_json::Value = serde_json::from_str(&record)?;
    let ways = record["tune_lines"][0]["alternatives"].as_array().context("ways")?;
    assert_eq!(ways.len(), 2, "{record}");

    let written = std::fs::read_to_string(&path)?;
    assert!(written.contains("device = \"CPU\""), "{written}");
    printed(&["check", "--quick", "--device", "cpu", "--filter", "ML-KEM", "--tuning", file])?;
    printed(&["bench", "--quick", "--device", "cpu", "--filter", "ML-KEM 3329:x^256+1 forward", "--tuning", file])?;

    // a choice of one's own changes a plan
    let ring = "562949950537729:x^65536+1";
    let h200 = ["plan", ring, "forward", "--target", "h200"];
    let choice = "\n[[choice]]\nop = \"forward\"\nbits = 50\nn = 65536\nkernels = 3\n";
    let own = folder.path().join("own.toml");
    std::fs::write(&own, format!("device = \"NVIDIA H200\"\n{choice}"))?;
    let with = printed(&[&h200[..], &["--tuning", text(&own)]].concat())?;
    assert!(with.matches("layers").count() == 3 && printed(&h200)?.matches("layers").count() == 2, "{with}");

    // that of another device, and one that says nonsense, are refused
    let foreign = refused(&[&h200[..], &["--tuning", file]].concat())?;
    assert!(foreign.contains("expected NVIDIA H200, got CPU"), "{foreign}");
    std::fs::write(&own, "device = \"NVIDIA H200\"\nspeed = 9\n")?;
    let nonsense = refused(&[&h200[..], &["--tuning", text(&own)]].concat())?;
    assert!(nonsense.contains("own.toml") && nonsense.contains("unknown field `speed`"), "{nonsense}");
    Ok(())
}

#[test]
fn rates_need_a_gpu() -> Result<()> {
    let why = refused(&["bench", "rates", "--device", "cpu"])?;
    assert!(why.contains("bench rates is not supported: it measures the pipes of a GPU"), "{why}");
    Ok(())
}
