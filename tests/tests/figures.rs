//! Every row of figures in the README is what the records in `bench/results/` say.

use std::path::PathBuf;
use std::{fs, io};

use serde_json::Value;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Lines of a record of one kind.
struct Record(Vec<Value>);

impl Record {
    fn read(name: &str, kind: &str) -> io::Result<Self> {
        let text = fs::read_to_string(root().join("bench/results").join(name))?;
        let record: Value = serde_json::from_str(&text)?;
        Ok(Self(record[kind].as_array().cloned().unwrap_or_default()))
    }

    /// The field of the line that has these values.
    fn get(&self, has: &[(&str, Value)], field: &str) -> f64 {
        self.find(has, field).unwrap_or_else(|| panic!("{has:?}: no {field}"))
    }

    /// The same where the line may not have the field.
    fn find(&self, has: &[(&str, Value)], field: &str) -> Option<f64> {
        let mut found = self.0.iter().filter(|line| has.iter().all(|(key, value)| line[key] == *value));
        let (Some(line), None) = (found.next(), found.next()) else { panic!("no line or several have {has:?}") };
        assert!(line["right"] == true, "{has:?} is not known to be right");
        field.split('.').fold(line, |value, key| &value[key]).as_f64()
    }
}

/// Three digits that count, as people write them.
fn digits(x: f64) -> String {
    let before = x.abs().log10().floor() as i32 + 1;
    // values below 0.1 keep as many digits
    format!("{x:.*}", (3 - before).max(0) as usize)
}

fn cells<const N: usize>(label: &str, cells: [String; N]) -> String {
    format!("| {label} | {} |", cells.join(" | "))
}

fn foundation() -> io::Result<Vec<String>> {
    let record = Record::read("2026-11-21-h200-foundation.json", "lines")?;
    let row = |label: &str, name: &str, op: &str, log_batch: u32| {
        let has = [("name", name.into()), ("op", op.into()), ("batch", (1u64 << log_batch).into())];
        let rate = record.get(&has, "items_per_second");
        let rate = if rate < 1e9 { digits(rate / 1e6) + " M" } else { digits(rate / 1e9) + " G" };
        let share = record.get(&has, "percent_of_floor");
        cells(label, [format!("2^{log_batch}"), rate, format!("{share:.0} %")])
    };
    Ok(vec![
        row("forward, n = 256, q = 3329", "ML-KEM", "forward", 20),
        row("forward, n = 1024, 30-bit prime", "30-bit prime", "forward", 17),
        row("product, x^768 − x^384 + 1, q = 3457", "CTRU-768", "mul", 17),
        row("forward, n = 4096, 60-bit prime", "60-bit prime", "forward", 14),
        row("forward, n = 512, BLS12-381 Fr", "BLS12-381 Fr", "forward", 15),
    ])
}

fn fhe() -> io::Result<Vec<String>> {
    let record = Record::read("2026-11-21-h200-fhe.json", "fhe_lines")?;
    let row = |label: &str, name: &str, unit_ns: f64, after: &str| {
        let both = |field: &str, unit: f64, digits: usize| -> Option<String> {
            let values =
                ["forward", "inverse"].map(|op| record.find(&[("name", name.into()), ("op", op.into())], field));
            let [Some(forward), Some(inverse)] = values.map(|value| Some(value? / unit)) else { return None };
            Some(format!("{forward:.digits$} / {inverse:.digits$}"))
        };
        let digits = if unit_ns > 1.0 { 1 } else { 0 };
        let own = both("unit_ns", unit_ns, digits).unwrap_or_default();
        let peer = both("peer", unit_ns, digits).map_or("–".into(), |peer| peer + after);
        let share = both("percent_of_floor", 1.0, 0).unwrap_or_default();
        let in_all = if after.is_empty() { String::new() } else { format!("{after} in all") };
        cells(label, [own + &in_all, peer, share + " %"])
    };
    let shapes = ["2^12, 60 bits", "2^13, 60 bits", "2^14, 60 bits", "2^15, 60 bits", "2^16, 60 bits", "2^17, 60 bits"];
    let mut rows: Vec<String> = shapes.iter().map(|shape| row(shape, &format!("FHE {shape}"), 1.0, "")).collect();
    rows.push(row("2^16, 49 bits (doubles)", "FHE 2^16, 49 bits", 1.0, ""));
    let bound = "2^16, 60 bits, one polynomial of 32 rows in place, bound";
    rows.push(row(bound, "FHE 2^16, one polynomial, bound", 1e3, " µs"));
    Ok(rows)
}

fn ctru() -> io::Result<Vec<String>> {
    let name = "2026-11-21-h200-ctru.json";
    let (resident, host) = (Record::read(name, "lines")?, Record::read(name, "host_lines")?);
    let row = |set: &str| {
        let has = |op: &str, log_batch: u32| {
            [("name", Value::from(set)), ("op", op.into()), ("batch", (1u64 << log_batch).into())]
        };
        let rates = ["KeyGen", "Encaps", "Decaps"].map(|op| {
            let [small, large] = [16, 18].map(|log| resident.get(&has(op, log), "items_per_second") / 1e6);
            format!("{small:.0} / {large:.0}")
        });
        let copied = ["KeyGen", "Encaps", "Decaps"].map(|op| {
            let rate = host.get(&has(op, 18), "items_per_second") / 1e6;
            let limit = host.get(&has(op, 18), "limits.copied_items_per_second") / 1e6;
            format!("{rate:.0} ({limit:.0})")
        });
        let [g, e, d] = rates;
        cells(set, [g, e, d, copied.join(", ")])
    };
    Ok(["CTRU-512", "CTRU-768", "CTRU-1024", "CNTR-512", "CNTR-768", "CNTR-1024"].map(row).into())
}

fn proofs() -> io::Result<Vec<String>> {
    let record = Record::read("2026-11-21-h200-zk.json", "zk_lines")?;
    let row = |label: &str, op: &str, field: &str, show: fn(f64) -> String| {
        let column = |log_n: u32| {
            show(record.get(&[("log_n", log_n.into()), ("op", op.into()), ("coset", false.into())], field))
        };
        cells(label, [16, 18, 20, 22, 24, 26].map(column))
    };
    let milliseconds = |seconds: f64| digits(1e3 * seconds);
    let share = |percent: f64| format!("{percent:.0} %");
    Ok(vec![
        row("forward", "forward", "median_seconds", milliseconds),
        row("inverse", "inverse", "median_seconds", milliseconds),
        row("sppark 0.1.16, forward", "forward", "peer_seconds", milliseconds),
        row("of the multiply floor, forward", "forward", "percent_of_floor", share),
    ])
}

fn ml_kem() -> io::Result<Vec<String>> {
    let record = Record::read("2026-11-21-h200-seeds.json", "seed_schemes")?;
    let row = |set: &str| {
        let has = [("name", set.into()), ("by", "Ringforge, NVIDIA H200".into()), ("batch", (1u64 << 16).into())];
        let operations = ["key_generation", "encapsulation", "decapsulation"];
        cells(set, operations.map(|op| format!("{:.1}", record.get(&has, &format!("rates.{op}")) / 1e6)))
    };
    Ok(vec![row("ML-KEM-768")])
}

fn ctru_prime() -> io::Result<Vec<String>> {
    let record = Record::read("2026-11-21-h200-ctru-prime.json", "lines")?;
    let row = |set: &str| {
        let operations = ["KeyGen", "Encaps", "Decaps", "EncapsOne", "DecapsOne"];
        let has = |op: &str| [("name", Value::from(set)), ("op", op.into()), ("batch", (1u64 << 15).into())];
        let rate = |op: &str| record.get(&has(op), "items_per_second") / 1e6;
        cells(set, operations.map(|op| digits(rate(op))))
    };
    Ok(["CTRU-Prime-653", "CTRU-Prime-761", "CTRU-Prime-1277"].map(row).into())
}

fn sm2() -> io::Result<Vec<String>> {
    let record = Record::read("2026-11-22-h200-sm2.json", "sm2_lines")?;
    let row = |label: &str, name: &str| {
        let get = |batch: u64, field: &str| record.get(&[("name", name.into()), ("batch", batch.into())], field);
        let latency = |batch: u64| match get(batch, "median_seconds") {
            seconds if seconds < 1e-3 => digits(1e6 * seconds) + " µs",
            seconds => digits(1e3 * seconds) + " ms",
        };
        let rate = digits(get(1 << 20, "items_per_second") / 1e6);
        let share = format!("{:.0} %", get(1 << 20, "percent_of_floor"));
        cells(label, [rate, share, latency(1 << 12), latency(1 << 6)])
    };
    Ok(vec![
        row("sign, one key, by table addresses that depend on nonces", "SM2 sign, one key"),
        row("the same without secret-dependent addresses", "SM2 sign, one key, scan"),
        row("verify, unknown keys", "SM2 verify"),
        row("verify, 256 cached keys", "SM2 verify, cached keys"),
        row("sign messages, likewise", "SM2 sign messages of 64 bytes"),
        row("verify messages, unknown keys", "SM2 verify messages of 64 bytes"),
    ])
}

fn cpu() -> io::Result<Vec<String>> {
    let record = Record::read("2026-11-21-xeon-cpu-peers.json", "peer_lines")?;
    let row = |label: &str, name: &str, op: &str, peer: &str| {
        let get = |field: &str| record.get(&[("name", name.into()), ("op", op.into())], field);
        let time = |seconds: f64| match seconds < 1e-3 {
            true => digits(1e6 * seconds) + " µs",
            false => digits(1e3 * seconds) + " ms",
        };
        let [ours, theirs] = ["median_seconds", "peer_median_seconds"].map(|field| time(get(field)));
        cells(label, [get("threads").to_string(), ours, peer.into(), theirs, format!("{:.2}", get("ratio"))])
    };
    let (ark, tfhe, sm2, ml_kem) = ("ark-poly 0.6", "tfhe-ntt 0.7", "sm2 0.14", "ml-kem 0.3, ML-KEM-768");
    Ok(vec![
        row("forward, BLS12-381 Fr, 2^16", "CPU BLS12-381 Fr 2^16", "forward", ark),
        row("forward, BLS12-381 Fr, 2^20", "CPU BLS12-381 Fr 2^20", "forward", ark),
        row("forward, 60-bit prime, 2^12", "CPU x^n + 1, 60 bits, 2^12", "forward", tfhe),
        row("forward, 60-bit prime, 2^16", "CPU x^n + 1, 60 bits, 2^16", "forward", tfhe),
        row("SM2 sign", "CPU SM2", "sign", sm2),
        row("SM2 verify", "CPU SM2", "verify", sm2),
        row("CTRU-768 KeyGen", "CPU CTRU-768", "KeyGen", ml_kem),
        row("CTRU-768 Encaps", "CPU CTRU-768", "Encaps", ml_kem),
        row("CTRU-768 Decaps", "CPU CTRU-768", "Decaps", ml_kem),
    ])
}

/// Rows of the tables of a text, without headings.
fn rows(text: &str) -> Vec<String> {
    let mut rows = Vec::new();
    let mut in_table = false;
    for line in text.lines() {
        in_table = line.starts_with("| ---") || in_table && line.starts_with('|');
        if in_table && !line.starts_with("| ---") {
            rows.push(line.to_owned());
        }
    }
    rows
}

#[test]
fn figures_of_the_readme_are_those_of_the_records() -> io::Result<()> {
    let readme = fs::read_to_string(root().join("README.md"))?;
    let speed = readme.split("\n## ").find(|part| part.starts_with("Speed\n")).unwrap_or_default();
    assert_eq!(
        rows(speed),
        [foundation()?, fhe()?, proofs()?, ctru()?, ml_kem()?, ctru_prime()?, sm2()?, cpu()?].concat()
    );
    Ok(())
}
