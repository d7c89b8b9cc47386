//! `ringforge-bench report`: makes a page from records. The page is HTML with plots and tables, which needs no network,
//! or Markdown.

mod areas;
mod chart;
mod markdown;
mod plot;
mod style;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use areas::{Area, Part};
use ringforge_cli::record::{self, Record};
use ringforge_cli::show;
use ringforge_cli::table;

/// Options of `ringforge-bench report`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Records to show first, as written by `ringforge bench --out`.
    #[arg(value_name = "FILE")]
    records: Vec<PathBuf>,
    /// Folder with more records; by default bench/results in the working directory.
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
    /// Write the page to this file; by default ringforge-report.html, docs/performance.md with --markdown, or docs/speed.svg with
    /// --svg.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the tables of all suites in Markdown.
    #[arg(long)]
    markdown: bool,
    /// Write the overview chart as SVG.
    #[arg(long, conflicts_with = "markdown")]
    svg: bool,
}

/// Folder of the records in a checkout of this repository.
const RECORDED: &str = "bench/results";

/// Maximum characters per line of the page's tables.
const WIDTH: u16 = 200;

/// A record with the name of its file.
pub(crate) type Named = (String, Record);

/// Runs `ringforge-bench report`.
pub(crate) fn main(options: &Options) -> Result<()> {
    let read = |path: &PathBuf| Ok((record::name(path), Record::read(path)?));
    let own = options.records.iter().map(read).collect::<Result<Vec<_>>>()?;
    let recorded = options.results.as_deref().or_else(|| Some(Path::new(RECORDED)).filter(|folder| folder.is_dir()));
    let records = [own, recorded.map(Record::all).transpose()?.unwrap_or_default()].concat();
    ensure!(!records.is_empty(), "there are no records: name a file, or a folder with --results");
    let (page, usual) = match (options.markdown, options.svg) {
        (true, _) => (markdown::page(&records), "docs/performance.md"),
        (_, true) => (chart::file(&Area::all(&records)), "docs/speed.svg"),
        _ => (page(&records).into_string(), "ringforge-report.html"),
    };
    let out = options.out.clone().unwrap_or_else(|| usual.into());
    std::fs::write(&out, page).with_context(|| format!("writing {}", out.display()))?;
    let rest = if recorded.is_none() { ", none of a checkout: there is no bench/results here" } else { "" };
    show::print(&format!("{} records{rest}; {}", records.len(), out.display()))
}

fn page(records: &[Named]) -> Markup {
    let areas = Area::all(records);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Ringforge: measurements" }
                style { (PreEscaped(style::STYLE)) }
            }
            body {
                h1 { "Ringforge: measurements" }
                div { (chart::of(&areas)) }
                @if let [(own, _), (other, _), ..] = records { div { (chart::against(&areas, own, other)) } }
                p {
                    "Medians of repeated runs, by the device's own clock on a GPU, with results checked in the same run. "
                    "The roofline bound is the least time that bytes in and out, multiplications, or logic allow, by the "
                    "job's own formula. Quoted figures were not measured in the same run; each has its source."
                }
                ul { @for area in &areas { li { a href=(format!("#{}", area.anchor())) { (area.suite.title) } } } }
                @for area in &areas {
                    h2 id=(area.anchor()) { (area.suite.title) }
                    p { (area.suite.about) }
                    @for part in &area.parts { (section(area, part)) }
                }
                script { (PreEscaped(style::SCRIPT)) }
            }
        }
    }
}

fn section(area: &Area<'_>, part: &Part<'_>) -> Markup {
    html! {
        p.source { "From " code { (part.name) } ": " (part.provenance()) (part.rotation()) }
        div.figures { @for plot in plot::all(area.suite, &part.lines) { figure { (plot) } } }
        details {
            summary { (part.lines.len()) " lines" }
            div.table { (measurements(area, part)) }
            @let profiles = table::profiles(&part.lines, Some(WIDTH));
            @if !profiles.is_empty() { pre { (profiles) } }
            @for source in part.sources() { p.source { i { (source) } } }
        }
    }
}

/// A table that a click on a heading sorts.
fn measurements(area: &Area<'_>, part: &Part<'_>) -> Markup {
    html! {
        table {
            thead { tr { @for heading in table::headings(area.suite) { th { (heading) } } } }
            tbody {
                @for line in &part.lines {
                    tr {
                        @for (text, number) in table::cells(area.suite, line) {
                            @match number {
                                Some(number) => { td.number data-value=(number) { (text) } }
                                None => { td { (text) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::suites::SUITES;
    use ringforge_cli::measure::Times;
    use ringforge_cli::record::Measurement;
    use ringforge_cli::session::Bench;
    use ringforge_cli::suite::SuiteKind;

    fn recorded() -> Result<Vec<Named>> {
        Record::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("results"))
    }

    #[test]
    fn pages_cover_every_area() -> Result<()> {
        let records = recorded()?;
        let (page, markdown) = (page(&records).into_string(), markdown::page(&records));
        for suite in SUITES.iter().filter(|suite| suite.kind == SuiteKind::Area) {
            assert!(
                page.contains(&format!("<h2 id=\"{}\"", suite.name.replace(' ', "-"))),
                "{} is missing",
                suite.name
            );
            assert!(markdown.contains(&format!("\n## {}\n", suite.title)), "{} is missing", suite.name);
        }
        for (name, record) in &records {
            assert!(page.contains(name.as_str()), "{name} is missing");
            for line in &record.measurements {
                assert!(SUITES.iter().any(|suite| suite.name == line.suite), "{name}: no suite {}", line.suite);
            }
        }
        assert!(page.contains("<svg") && page.contains("sppark") && page.contains("(quoted)"));
        assert!(!page.contains("src=") && !page.contains("http-equiv"), "the page loads other files");
        Ok(())
    }

    /// Tests that `docs/performance.md` and the picture in the README match the records. With `RINGFORGE_BLESS=1`,
    /// rewrites them first.
    #[test]
    fn files_in_docs_are_up_to_date() -> Result<()> {
        let records = recorded()?;
        let pages = [("performance.md", markdown::page(&records)), ("speed.svg", chart::file(&Area::all(&records)))];
        for (name, page) in pages {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
            if std::env::var_os("RINGFORGE_BLESS").is_some_and(|value| value == "1") {
                std::fs::write(&path, &page)?;
            }
            let there = std::fs::read_to_string(path)?;
            assert!(there == page, "docs/{name} is out of date: RINGFORGE_BLESS=1 writes it");
        }
        Ok(())
    }

    #[test]
    fn a_record_is_compared_with_the_next_one() {
        let mut records = of(vec![line(1, 1e-6), line(2, 1e-6)]);
        assert!(!page(&records).into_string().contains("relative to theirs"));
        let mut theirs = of(vec![line(1, 4e-6), line(2, 1e-6)]);
        theirs[0].0 = "theirs.json".into();
        records.extend(theirs);
        let page = page(&records).into_string();
        assert!(page.contains("relative to theirs.json") && page.contains(">2.00<") && page.contains("2 measurements"));
    }

    /// A record that consists of these measurements.
    fn of(lines: Vec<Measurement>) -> Vec<Named> {
        vec![("mine.json".into(), Record { measurements: lines, ..Bench::of_cpu().record(None) })]
    }

    fn line(batch: usize, seconds: f64) -> Measurement {
        let line = Measurement::new("own", "mul", batch, Times::of(vec![seconds], 1, 1)).checked("all", true);
        Measurement { suite: "rings".into(), ..line }
    }

    #[test]
    fn plots_need_three_valid_batches() {
        let page = |odd: Measurement| page(&of(vec![line(1, 1e-6), line(2, 2e-6), odd])).into_string();
        assert!(page(line(4, 3e-6)).contains("own, by batch"));
        for odd in [line(2, 1e-6), line(4, 1e-320), line(4, 1e300)] {
            assert!(!page(odd).contains("own, by batch"));
        }
    }

    #[test]
    fn text_is_escaped_and_wrong_results_stand_out() {
        let odd = Measurement { case: "<script>".into(), right: false, ..line(1, 1e-6) };
        let records = of(vec![odd]);
        let page = page(&records).into_string();
        assert!(page.contains("&lt;script&gt;") && page.matches("<script").count() == 1);
        assert!(page.contains("NO") && markdown::page(&records).contains("**WRONG**"));
        // no text in a record may become markup
        let odd = "<img src=x>|a\n# [b](c) `d`";
        let mut line = Measurement { case: odd.into(), operation: odd.into(), ..line(1, 1e-6) };
        line.variant = odd.into();
        let mut records = of(vec![line]);
        records[0].0 = format!("{odd}.json");
        let environment = &mut records[0].1.environment;
        (environment.device, environment.commit, environment.date) = (odd.into(), Some(odd.into()), odd.into());
        let page = markdown::page(&records);
        let sound =
            !page.contains("<img") && !page.contains("\n# [b]") && !page.contains("[b](c)") && !page.contains("`d`");
        assert!(sound, "{page}");
    }

    #[test]
    fn rotation_is_described() {
        let with = |bytes: usize| {
            let mut line = line(1, 1e-6);
            line.times.buffer_bytes = bytes;
            let mut records = of(vec![line]);
            records[0].1.environment.device = "NVIDIA H200".into();
            Area::all(&records)[0].parts[0].rotation()
        };
        assert!(with(1 << 30).contains("more memory than the caches hold"));
        assert!(with(1 << 20).contains("the caches may hold") && with(0).is_empty());
    }
}
