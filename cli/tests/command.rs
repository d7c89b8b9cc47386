//! Tests the command as a user runs it. It must write and read tuning files, reject tuning files of another device and
//! invalid arguments, and show and clear caches.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringforge"));
    command.args(args);
    command
}

fn ringforge(args: &[&str]) -> Result<Output> {
    command(args).output().context("starting the command")
}

/// Returns the standard output of a run, which must succeed.
fn printed(args: &[&str]) -> Result<String> {
    let output = ringforge(args)?;
    ensure!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the standard error of a run, which must be rejected (exit status 2).
fn refused(args: &[&str]) -> Result<String> {
    let output = ringforge(args)?;
    ensure!(output.status.code() == Some(2), "{args:?} was not refused");
    Ok(String::from_utf8(output.stderr)?)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

#[test]
fn tuning_files_are_written_and_read() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tuning.toml");
    let file = text(&path);
    // on a CPU, the first job has no alternative and the second has one
    let quick = ["--quick", "--device", "cpu", "--filter"];
    let tuned = printed(&[&["tune", "--out", file][..], &quick, &["x^256 + 1"]].concat())?;
    assert!(tuned.contains("usual") && tuned.contains("are in one way only on this device"), "{tuned}");
    let record = printed(&[&["tune", "--out", file, "--json"][..], &quick, &["x^65536 - 1"]].concat())?;
    let record: serde_json::Value = serde_json::from_str(&record)?;
    let ways = record["measurements"].as_array().context("ways")?;
    let named = |way: &str| ways.iter().filter(|line| line["variant"] == way).count();
    assert!(named("usual") == 2 && named("Mod255") == 2 && ways.iter().all(|line| line["right"] == true), "{record}");

    let written = std::fs::read_to_string(&path)?;
    assert!(written.contains("device = \"CPU\""), "{written}");
    printed(&["check", "--device", "cpu", "--filter", "ML-KEM", "--tuning", file])?;
    printed(&["bench", "--quick", "--device", "cpu", "--filter", "ML-KEM 3329:x^256+1 forward", "--tuning", file])?;

    // a choice that was written by hand changes a plan
    let ring = "562949950537729:x^65536+1";
    let h200 = ["plan", ring, "forward", "--target", "h200"];
    let choice = "\n[[choice]]\nop = \"forward\"\nbits = 50\nn = 65536\nkernels = 3\n";
    let own = folder.path().join("own.toml");
    std::fs::write(&own, format!("device = \"NVIDIA H200\"\n{choice}"))?;
    let with = printed(&[&h200[..], &["--tuning", text(&own)]].concat())?;
    assert!(with.matches("layers").count() == 3 && printed(&h200)?.matches("layers").count() == 2, "{with}");

    // tuning files for another device or with an unknown field are rejected
    let foreign = refused(&[&h200[..], &["--tuning", file]].concat())?;
    assert!(foreign.contains("expected NVIDIA H200, got CPU"), "{foreign}");
    std::fs::write(&own, "device = \"NVIDIA H200\"\nspeed = 9\n")?;
    let nonsense = refused(&[&h200[..], &["--tuning", text(&own)]].concat())?;
    assert!(nonsense.contains("own.toml") && nonsense.contains("unknown field `speed`"), "{nonsense}");
    Ok(())
}

#[test]
fn commands_without_a_device_reject_the_option() -> Result<()> {
    for command in ["devices", "cache"] {
        let why = refused(&[command, "--device", "cuda"])?;
        assert!(why.contains("unexpected argument '--device'"), "{command}: {why}");
    }
    assert!(printed(&["devices", "--json"])?.contains("\"cpu\""));
    Ok(())
}

#[test]
fn a_ring_is_measured_or_refused() -> Result<()> {
    let ring = ["bench", "998244353:x^64-1", "forward", "--order", "natural", "--in-place"];
    let line = printed(&[&ring[..], &["--quick", "--device", "cpu", "--batch", "8"]].concat())?;
    assert!(line.contains("yes") && line.contains("% (memory)") && line.contains("natural order, in place"), "{line}");
    assert!(refused(&["bench", "998244353:x^64-1"])?.contains("needs an operation"));
    assert!(refused(&["bench", "998244353", "forward"])?.contains("is not a ring"));
    assert!(refused(&["bench", "papers"])?.contains("ringforge-bench"));
    let usual = ["ML-KEM 3329:x^256+1 forward", "CTRU-768 KeyGen", "SM2 verify"];
    for (line, batch) in usual.into_iter().zip(["100000000000", "18446744073709551615"].into_iter().cycle()) {
        let why = refused(&["bench", "--filter", line, "--quick", "--device", "cpu", "--batch", batch])?;
        assert!(why.contains("the memory for a batch is too large"), "{line}: {why}");
    }
    Ok(())
}

#[test]
fn kernels_are_profiled() -> Result<()> {
    let cpu = ["--device", "cpu", "--batch", "8"];
    let jobs = [["3329:x^256+1", "mul"], ["1152921504606584833:x^4096+1", "forward"], ["ctru-768", "encaps"]];
    for (job, kernel) in jobs.into_iter().zip(["ring_mul", "forward", "ctru_encrypt"]) {
        let profile = printed(&[&["profile"][..], &job, &cpu].concat())?;
        assert!(profile.contains(kernel) && profile.contains("yes"), "{profile}");
        let record: serde_json::Value =
            serde_json::from_str(&printed(&[&["profile", "--json"][..], &job, &cpu].concat())?)?;
        let steps = record["measurements"][0]["steps"].as_array().context("kernels")?;
        for step in steps {
            assert!(step["median_seconds"].as_f64() > Some(0.0) && step["bytes"].as_u64() > Some(0), "{step}");
            assert!(step["limited_by"].as_str().is_some_and(|words| !words.is_empty()), "{step}");
        }
    }
    assert!(refused(&[&["profile", "ctru-768", "sign"][..], &cpu].concat())?.contains("no suite has a case"));
    Ok(())
}

#[test]
fn a_closed_pipe_ends_quietly() -> Result<()> {
    let mut child = command(&["devices"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    drop(child.stdout.take());
    let output = child.wait_with_output()?;
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
fn caches_are_shown_and_cleared() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let entry = folder.path().join("text/0123.ringforge");
    std::fs::create_dir(folder.path().join("text"))?;
    std::fs::write(&entry, [0; 1000])?;
    let cache = |args: &[&str]| {
        let mut command = command(&[&["cache"], args].concat());
        command.env("RINGFORGE_CACHE_DIR", folder.path()).env("RINGFORGE_CACHE_MIB", "much").output()
    };
    let text = |args: &[&str]| -> Result<serde_json::Value> {
        let shown: serde_json::Value = serde_json::from_slice(&cache(args)?.stdout)?;
        let text = shown["caches"].as_array().and_then(|caches| caches.iter().find(|cache| cache["name"] == "text"));
        text.cloned().context("there is a cache of texts")
    };
    let shown = text(&["--json"])?;
    assert_eq!([&shown["entries"], &shown["bytes"], &shown["most_bytes"]], [1, 1000, 1 << 30]);
    let shown = cache(&[])?;
    assert!(String::from_utf8(shown.stdout)?.contains("1.00 kB"));
    // the command prints the engine's warnings
    assert!(String::from_utf8(shown.stderr)?.contains("warn: RINGFORGE_CACHE_MIB=much is not a number"));
    assert_eq!(text(&["--json", "clear"])?["entries"], 0);
    assert!(!entry.exists());
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_cache_writable_by_others_is_rejected() -> Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("text"))?;
    std::fs::set_permissions(folder.path().join("text"), std::fs::Permissions::from_mode(0o777))?;
    let output = command(&["cache"]).env("RINGFORGE_CACHE_DIR", folder.path()).output()?;
    let why = String::from_utf8(output.stderr)?;
    assert!(output.status.code() == Some(2) && why.contains("text can be written by other users"), "{why}");
    Ok(())
}

#[cfg(feature = "cuda")]
#[test]
fn kernels_are_bundled() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (file, list) = (folder.path().join("kernels.bundle"), folder.path().join("wanted"));
    std::fs::write(&list, "# of ML-KEM\n\n3329:x^256+1 mul\n3329 : x^256 + 1 forward natural in_place\n")?;
    let bundle = ["bundle", "--arch", "sm_80,sm_90", "--out", text(&file), "--json", "--for"];
    let neither = "neither a scheme, a prover nor a ring";
    for (wanted, why) in [("3329:x^256+1 divide", neither), ("", neither)] {
        let complaint = refused(&[&bundle[..], &[wanted]].concat())?;
        assert!(complaint.contains(why), "{complaint}");
    }
    assert!(refused(&["bundle", "--arch", "90x", "--out", text(&file), "--for", "SM2"])?.contains("such as sm_90"));
    let with = [&bundle[..], &[text(&list)]].concat();
    if !ringforge::cuda::is_compiler_present() {
        ensure!(std::env::var_os("RINGFORGE_REQUIRE_NVRTC").is_none_or(|value| value != "1"), "NVRTC is required");
        let why = refused(&with)?;
        assert!(why.contains("NVRTC is not on this machine") && !file.exists(), "{why}");
        return Ok(());
    }
    let written: serde_json::Value = serde_json::from_str(&printed(&with)?)?;
    let architectures = written["architectures"].as_array().context("architectures")?;
    assert_eq!(architectures.len(), 2);
    for architecture in architectures {
        let kernels = architecture["kernels"].as_array().context("kernels")?;
        assert!(["forward", "ring_mul"].iter().all(|name| kernels.iter().any(|kernel| kernel == name)), "{written}");
    }
    let loaded = ringforge::cuda::Bundle::load(&file)?;
    assert_eq!(loaded.architectures().collect::<Vec<_>>(), [80, 90]);
    Ok(())
}

#[test]
fn a_start_is_timed() -> Result<()> {
    let start = ["start", "3329:x^256+1", "forward", "--device", "cpu"];
    assert!(printed(&start)?.contains("the result is that of the CPU"));
    let told: serde_json::Value = serde_json::from_str(&printed(&[&start[..], &["--json", "--batch", "3"]].concat())?)?;
    let at = |what: &str| told["seconds_to"][what].as_f64().unwrap_or_default();
    assert!(at("first result in host memory") > at("device open") && told["right"] == true, "{told}");
    assert!(refused(&[&start[..], &["--batch", "0"]].concat())?.contains("--batch must be at least 1"));
    Ok(())
}
