//! Tables of recorded measurements.

use maud::{Markup, html};
use serde_json::Value;

use super::record::{Record, at};
use crate::show;

/// How a value is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Text,
    Ring,
    Count,
    YesNo,
    Right,
    Seconds,
    Milliseconds,
    Nanoseconds,
    Rate,
    Percent,
    Ratio,
}

/// A heading, and where its values stand in a line.
type Column = (&'static str, &'static str, Show);

/// A kind of lines, its title, its columns. Columns that no line has are left out.
const KINDS: [(&str, &str, &[Column]); 16] = [
    (
        "rate_lines",
        "What the chip's pipes do at best",
        &[
            ("name", "name", Show::Text),
            ("what is counted", "unit", Show::Text),
            ("a second", "per_second", Show::Rate),
            ("a clock and multiprocessor", "per_processor_and_clock", Show::Ratio),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "lines",
        "On the device",
        &[
            ("name", "name", Show::Text),
            ("ring", "ring", Show::Ring),
            ("operation", "op", Show::Text),
            ("batch", "batch", Show::Count),
            ("median", "median_seconds", Show::Seconds),
            ("p95", "p95_seconds", Show::Seconds),
            ("items/s", "items_per_second", Show::Rate),
            ("of the floor", "percent_of_floor", Show::Percent),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "kem_rates",
        "Operations a second, on the device",
        &[
            ("name", "name", Show::Text),
            ("batch", "batch", Show::Count),
            ("KeyGen", "key_generation", Show::Rate),
            ("Encaps", "encapsulation", Show::Rate),
            ("Decaps", "decapsulation", Show::Rate),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "fhe_lines",
        "Transforms as FHE has them",
        &[
            ("shape", "name", Show::Text),
            ("operation", "op", Show::Text),
            ("of one", "unit", Show::Text),
            ("time", "unit_ns", Show::Nanoseconds),
            ("best peer", "peer", Show::Nanoseconds),
            ("wanted", "bar", Show::Nanoseconds),
            ("of the floor", "percent_of_floor", Show::Percent),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "zk_lines",
        "Transforms of BLS12-381 Fr, natural order",
        &[
            ("log n", "log_n", Show::Count),
            ("operation", "op", Show::Text),
            ("coset", "coset", Show::YesNo),
            ("median", "median_seconds", Show::Seconds),
            ("p95", "p95_seconds", Show::Seconds),
            ("sppark", "peer_seconds", Show::Seconds),
            ("wanted", "bar_seconds", Show::Seconds),
            ("of the floor", "percent_of_floor", Show::Percent),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "zk_witness_lines",
        "Groth16 witness maps of BLS12-381 Fr",
        &[
            ("log n", "log_n", Show::Count),
            ("median", "median_seconds", Show::Seconds),
            ("wanted", "bar_seconds", Show::Seconds),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "zk_host_lines",
        "Transforms of BLS12-381 Fr from host memory to host memory",
        &[
            ("what", "name", Show::Text),
            ("operation", "op", Show::Text),
            ("log n", "log_n", Show::Count),
            ("a transform", "milliseconds_per_transform", Show::Milliseconds),
            ("wanted", "bar_milliseconds", Show::Milliseconds),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "host_lines",
        "From host memory to host memory",
        &[
            ("name", "name", Show::Text),
            ("operation", "op", Show::Text),
            ("batch", "batch", Show::Count),
            ("items/s", "items_per_second", Show::Rate),
            ("copies alone", "limits.copied_items_per_second", Show::Rate),
            ("of the limit", "percent_of_limit", Show::Percent),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "sm2_lines",
        "SM2",
        &[
            ("what", "name", Show::Text),
            ("batch", "batch", Show::Count),
            ("median", "median_seconds", Show::Seconds),
            ("p95", "p95_seconds", Show::Seconds),
            ("items/s", "items_per_second", Show::Rate),
            ("of the floor", "percent_of_floor", Show::Percent),
            ("wanted", "bar", Show::Rate),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "way_lines",
        "CTRU-Prime, products by transforms and on tensor cores",
        &[
            ("operation", "name", Show::Text),
            ("batch", "batch", Show::Count),
            ("transforms", "transform.median_seconds", Show::Seconds),
            ("tensor cores", "tensor.median_seconds", Show::Seconds),
            ("times as fast", "ratio", Show::Ratio),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "peer_lines",
        "The CPU beside other crates",
        &[
            ("what", "name", Show::Text),
            ("operation", "op", Show::Text),
            ("threads", "threads", Show::Count),
            ("ours", "median_seconds", Show::Seconds),
            ("peer", "peer", Show::Text),
            ("takes", "peer_median_seconds", Show::Seconds),
            ("ratio", "ratio", Show::Ratio),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "seed_suites",
        "The sources' experiments",
        &[("suite", "name", Show::Text), ("source", "source", Show::Text), ("note", "note", Show::Text)],
    ),
    (
        "seed_schemes",
        "Schemes beside one another, on the device",
        &[
            ("name", "name", Show::Text),
            ("by", "by", Show::Text),
            ("batch", "batch", Show::Count),
            ("public key", "public_key_bytes", Show::Count),
            ("secret key", "secret_key_bytes", Show::Count),
            ("ciphertext", "ciphertext_bytes", Show::Count),
            ("KeyGen /s", "rates.key_generation", Show::Rate),
            ("Encaps /s", "rates.encapsulation", Show::Rate),
            ("Decaps /s", "rates.decapsulation", Show::Rate),
            ("over ML-KEM-768: KeyGen", "ratios.key_generation", Show::Ratio),
            ("Encaps", "ratios.encapsulation", Show::Ratio),
            ("Decaps", "ratios.decapsulation", Show::Ratio),
            ("the source's: KeyGen", "source_ratios.key_generation", Show::Ratio),
            ("Encaps", "source_ratios.encapsulation", Show::Ratio),
            ("Decaps", "source_ratios.decapsulation", Show::Ratio),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "seed_lines",
        "The sources' experiments: operations",
        &[
            ("suite", "suite", Show::Text),
            ("name", "name", Show::Text),
            ("operation", "op", Show::Text),
            ("variant", "variant", Show::Text),
            ("batch", "batch", Show::Count),
            ("median", "median_seconds", Show::Seconds),
            ("p95", "p95_seconds", Show::Seconds),
            ("items/s", "items_per_second", Show::Rate),
            ("the source's", "source_items_per_second", Show::Rate),
            ("of the floor", "percent_of_floor", Show::Percent),
            ("memory, bytes", "memory_bytes", Show::Rate),
            ("watts", "watts", Show::Rate),
            ("right", "right", Show::Right),
        ],
    ),
    (
        "seed_launches",
        "The sources' experiments: launches",
        &[
            ("suite", "suite", Show::Text),
            ("name", "name", Show::Text),
            ("operation", "op", Show::Text),
            ("variant", "variant", Show::Text),
            ("batch", "batch", Show::Count),
            ("kernel", "kernel", Show::Text),
            ("median", "median_seconds", Show::Seconds),
            ("of the time", "percent_of_time", Show::Percent),
            ("the source's", "source_seconds", Show::Seconds),
            ("threads", "threads", Show::Count),
            ("registers", "registers", Show::Count),
            ("local bytes", "local_bytes", Show::Count),
            ("shared bytes, static", "static_shared_bytes", Show::Count),
            ("dynamic", "dynamic_shared_bytes", Show::Count),
            ("occupancy", "occupancy_percent", Show::Percent),
        ],
    ),
    (
        "seed_tables",
        "The sources' experiments: making tables",
        &[
            ("suite", "suite", Show::Text),
            ("name", "name", Show::Text),
            ("bytes", "table_bytes", Show::Rate),
            ("tables", "table_seconds", Show::Seconds),
            ("transform", "transform_seconds", Show::Seconds),
            ("of the first transform", "percent_of_first", Show::Percent),
            ("of the first proof", "percent_of_proof", Show::Percent),
            ("copy of the inputs", "upload_seconds", Show::Seconds),
            ("hidden behind it", "hidden", Show::YesNo),
            ("right", "right", Show::Right),
        ],
    ),
];

/// The kinds of lines that there are tables of.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(kind, ..)| *kind)
}

/// The tables of a record, each with its title.
pub(super) fn of(record: &Record) -> Vec<(&'static str, Markup)> {
    let with_lines = KINDS.iter().filter(|(kind, ..)| !record.lines(kind).is_empty());
    with_lines.map(|(kind, title, columns)| (*title, table(record.lines(kind), columns))).collect()
}

fn table(lines: &[Value], columns: &[Column]) -> Markup {
    let known = |(_, path, _): &&Column| lines.iter().any(|line| !at(line, path).is_null());
    let columns: Vec<&Column> = columns.iter().filter(known).collect();
    html! {
        table {
            thead { tr { @for (heading, _, show) in &columns { th.number[is_number(*show)] { (heading) } } } }
            tbody {
                @for line in lines {
                    tr { @for (_, path, show) in &columns { (cell(at(line, path), *show)) } }
                }
            }
        }
    }
}

fn is_number(show: Show) -> bool {
    !matches!(show, Show::Text | Show::Ring | Show::YesNo | Show::Right)
}

fn cell(value: &Value, how: Show) -> Markup {
    let wrong = how == Show::Right && *value == false;
    html! { td.number[is_number(how)].wrong[wrong] { (text(value, how)) } }
}

/// The value as people read it; a dash where there is none.
fn text(value: &Value, how: Show) -> String {
    let number = |show: &dyn Fn(f64) -> String| value.as_f64().map(show);
    let text = match how {
        Show::Text => value.as_str().map(str::to_owned),
        Show::Ring => value.as_str().map(show::ring),
        Show::YesNo | Show::Right => value.as_bool().map(show::yes_or_no),
        Show::Count => value.as_u64().map(|count| count.to_string()),
        Show::Seconds => number(&show::time),
        Show::Milliseconds => number(&|x| show::time(x * 1e-3)),
        Show::Nanoseconds => number(&|x| format!("{x:.0} ns")),
        Show::Rate => number(&show::short),
        Show::Percent => number(&|x| format!("{x:.0} %")),
        Show::Ratio => number(&|x| format!("{x:.2}")),
    };
    text.unwrap_or_else(|| "–".into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rates_make_a_table() {
        let line = json!({ "name": "multiply", "unit": "IMAD", "per_second": 16.4e12, "right": true });
        let record = Record { name: "rates".into(), value: json!({ "rate_lines": [line] }) };
        let tables = of(&record);
        assert_eq!(tables.len(), 1);
        let (title, table) = &tables[0];
        assert!(title.contains("pipes") && table.0.contains("16.4 T") && !table.0.contains("clock"));
    }
}
