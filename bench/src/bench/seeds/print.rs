//! Suites as people read them.

use anyhow::Result;

use super::kems::{Rates, SchemeLine};
use super::tables::TableLine;
use super::{LaunchLine, Line, Of, Report, Suite};
use crate::environment::Environment;
use crate::show;

/// All suites, each with its note and its tables.
pub(super) fn report(report: &Report) -> Result<()> {
    let Environment { device, cpu, cpu_threads, date, .. } = &report.environment;
    show::print(&format!("{device} ({cpu}, {cpu_threads} threads), {date}"))?;
    for suite in &report.seed_suites {
        show::print(&format!("\n{}\n{}", suite.title(), suite.note))?;
        let tables = [
            table(suite, &report.seed_schemes, schemes),
            table(suite, &report.seed_lines, lines),
            table(suite, &report.seed_launches, launches),
            table(suite, &report.seed_tables, tables),
        ];
        tables.into_iter().flatten().try_for_each(|table| show::print(&table))?;
    }
    report.unsupported.iter().try_for_each(|line| show::print(line))
}

/// The table of a suite's lines of one kind, if it has any.
fn table<T>(suite: &Suite, all: &[Of<T>], table: fn(&[&T]) -> String) -> Option<String> {
    let lines: Vec<&T> = all.iter().filter(|of| of.suite == suite.name).map(|of| &of.line).collect();
    (!lines.is_empty()).then(|| table(&lines))
}

fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or("–".into(), show)
}

fn operation(op: &str, variant: Option<&str>) -> String {
    variant.map_or(op.into(), |variant| format!("{op}, {variant}"))
}

fn lines(lines: &[&Line]) -> String {
    let headings =
        ["name", "operation", "batch", "median", "p95", "items/s", "source", "% of floor", "memory", "power", "right"];
    let mut table = show::table(&headings, &[2, 3, 4, 5, 6, 7, 8, 9]);
    for line in lines {
        table.add_row([
            line.name.clone(),
            operation(&line.op, line.variant.as_deref()),
            line.batch.to_string(),
            show::time(line.times.median_seconds),
            show::time(line.times.p95_seconds),
            show::short(line.items_per_second),
            or_dash(line.source_items_per_second, show::short),
            or_dash(line.percent_of_floor, |percent| format!("{percent:.0}")),
            or_dash(line.memory_bytes, |bytes| format!("{}B", show::short(bytes as f64))),
            or_dash(line.watts, |watts| format!("{watts:.0} W")),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}

fn launches(lines: &[&LaunchLine]) -> String {
    let headings = [
        "name",
        "operation",
        "batch",
        "kernel",
        "median",
        "% of time",
        "source",
        "threads",
        "registers",
        "local",
        "shared",
        "occupancy",
    ];
    let mut table = show::table(&headings, &[2, 4, 5, 6, 7, 8, 9, 10, 11]);
    for LaunchLine { name, op, variant, batch, launch, source_seconds } in lines {
        let resources = launch.resources.as_ref();
        table.add_row([
            name.clone(),
            operation(op, variant.as_deref()),
            batch.to_string(),
            launch.kernel.into(),
            show::time(launch.median_seconds),
            format!("{:.0}", launch.percent_of_time),
            or_dash(*source_seconds, show::time),
            or_dash(resources, |resources| resources.threads.to_string()),
            or_dash(resources, |resources| resources.registers.to_string()),
            or_dash(resources, |resources| resources.local_bytes.to_string()),
            or_dash(resources, |resources| {
                (resources.static_shared_bytes + resources.dynamic_shared_bytes).to_string()
            }),
            or_dash(resources, |resources| format!("{:.0} %", resources.occupancy_percent)),
        ]);
    }
    table.to_string()
}

fn tables(lines: &[&TableLine]) -> String {
    let headings =
        ["name", "bytes", "tables", "transform", "% of both", "% of a proof", "copy of inputs", "hidden", "right"];
    let mut table = show::table(&headings, &[1, 2, 3, 4, 5, 6]);
    for line in lines {
        table.add_row([
            line.name.clone(),
            show::short(line.table_bytes as f64),
            show::time(line.table_seconds),
            show::time(line.transform_seconds),
            format!("{:.0}", line.percent_of_first),
            format!("{:.0}", line.percent_of_proof),
            or_dash(line.upload_seconds, show::time),
            or_dash(line.hidden, |hidden| if hidden { "yes" } else { "no" }.into()),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}

fn schemes(lines: &[&SchemeLine]) -> String {
    let headings = [
        "name",
        "by",
        "batch",
        "public key",
        "secret key",
        "ciphertext",
        "KeyGen, Encaps, Decaps /s",
        "over ML-KEM-768",
        "source's ratios",
        "right",
    ];
    let mut table = show::table(&headings, &[2, 3, 4, 5, 6, 7, 8]);
    let each = |rates: &Rates, show: &dyn Fn(f64) -> String| {
        [rates.key_generation, rates.encapsulation, rates.decapsulation].map(show).join(", ")
    };
    let ratio = |ratio: f64| format!("{ratio:.2}");
    for line in lines {
        table.add_row([
            line.name.into(),
            line.by.clone(),
            line.batch.to_string(),
            line.public_key_bytes.to_string(),
            line.secret_key_bytes.to_string(),
            line.ciphertext_bytes.to_string(),
            each(&line.rates, &show::short),
            each(&line.ratios, &ratio),
            or_dash(line.source_ratios.as_ref(), |ratios| each(ratios, &ratio)),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}
