//! `ringforge report`: one page of plots and tables made from recorded measurements, readable without a network.

mod curves;
mod plot;
mod record;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::show;
use record::Record;

/// Options of `ringforge report`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Records to begin with, as `ringforge bench --out` writes them.
    #[arg(value_name = "FILE")]
    records: Vec<PathBuf>,
    /// Folder with more records; if not given, those of the checkout that this is run in.
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
    /// Write the page to this file.
    #[arg(long, value_name = "FILE", default_value = "ringforge-report.html")]
    out: PathBuf,
}

/// Where a checkout has records.
const RECORDED: &str = "bench/results";

const STYLE: &str = "
    body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1c2330; }
    h1, h2, h3 { line-height: 1.2; }
    h2 { margin-top: 2.5rem; border-top: 1px solid #d5dae3; padding-top: 1.5rem; }
    .about, .source { color: #5a6475; }
    .figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(26rem, 1fr)); gap: 1rem; }
    figure { margin: 0; }
    figure svg { width: 100%; height: auto; }
    table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums; }
    th, td { padding: .2rem .7rem; border-bottom: 1px solid #e4e8ef; text-align: left; }
    .number { text-align: right; }
    .wrong { color: #fff; background: #b3261e; }
    summary { cursor: pointer; font-weight: 600; }
    .wide { overflow-x: auto; }
";

/// `ringforge report`.
pub(crate) fn main(options: &Options) -> Result<()> {
    let own = options.records.iter().map(|path| Record::read(path)).collect::<Result<Vec<_>>>()?;
    let recorded = options.results.as_deref().or_else(|| Some(Path::new(RECORDED)).filter(|folder| folder.is_dir()));
    let records = [own, recorded.map(Record::all).transpose()?.unwrap_or_default()].concat();
    ensure!(!records.is_empty(), "there are no records: name a file, or a folder by --results");
    let page = page(&records)?.into_string();
    std::fs::write(&options.out, page).with_context(|| format!("writing {}", options.out.display()))?;
    let rest = if recorded.is_none() { ", none of a checkout: there is no bench/results here" } else { "" };
    show::print(&format!("{} records{rest}; {}", records.len(), options.out.display()))
}

fn page(records: &[Record]) -> Result<Markup> {
    let sections = records.iter().map(section).collect::<Result<Vec<_>>>()?;
    Ok(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Ringforge: measurements" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Ringforge: measurements" }
                p {
                    "Medians of repeated runs, by the device's own clock on a GPU, with results checked in the same run. "
                    "A floor is the least time that bytes in and out, multiplications, or logic allow, by the job's own "
                    "formula, whatever the kernels do. Made by " code { "ringforge report" } " from the files that each "
                    "part names."
                }
                ul { @for record in records { li { a href=(format!("#{}", record.name)) { (record.title()) } } } }
                @for section in &sections { (section) }
            }
        }
    })
}

fn section(record: &Record) -> Result<Markup> {
    let figures = curves::of(record).iter().map(plot::svg).collect::<Result<Vec<_>>>()?;
    Ok(html! {
        h2 id=(record.name) { (record.title()) }
        p.about { (record.about()) }
        p.source { "From " code { (record.name) ".json" } }
        div.figures { @for figure in &figures { figure { (PreEscaped(figure)) } } }
        @for (title, table) in tables::of(record) {
            details open[figures.is_empty()] {
                summary { (title) }
                div.wide { (table) }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn recorded_results_make_a_page() -> Result<()> {
        let records = Record::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("results"))?;
        let page = page(&records)?.into_string();
        for record in &records {
            assert!(page.contains(&format!("id=\"{}\"", record.name)), "{} is missing", record.name);
            assert!(!tables::of(record).is_empty(), "{} has no table", record.name);
        }
        assert!(page.contains("<svg") && page.contains("sppark"));
        assert!(!page.contains("src=") && !page.contains("http-equiv"), "the page asks for other files");
        Ok(())
    }

    /// `RINGFORGE_BLESS=1` writes the page anew.
    #[test]
    fn the_page_in_docs_is_of_these_records() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = page(&Record::all(&root.join("results"))?)?.into_string();
        let path = root.join("../docs/report.html");
        if std::env::var_os("RINGFORGE_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(&path, &page)?;
        }
        assert!(std::fs::read_to_string(path)? == page, "docs/report.html is of other records");
        Ok(())
    }

    #[test]
    fn what_is_no_record_is_refused_by_name() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let not_records = [r#"{"device": "CPU""#, "null", "[]", "{}", r#"{"device": "CPU"}"#, r#"{"lines": []}"#];
        for text in not_records.into_iter().chain([r#"{"device": "CPU", "lines": 7}"#]) {
            std::fs::write(folder.path().join("torn.json"), text)?;
            let error = Record::all(folder.path()).err().map(|error| format!("{error:#}")).unwrap_or_default();
            assert!(error.contains("torn.json"), "{text}: {error}");
        }
        assert!(Record::all(&folder.path().join("absent")).is_err());
        Ok(())
    }

    #[test]
    fn what_no_measurement_gives_is_not_drawn() -> Result<()> {
        let line = |batch: f64, rate: f64| serde_json::json!({"name": "own", "op": "mul", "batch": batch, "items_per_second": rate, "right": true});
        let page = |odd: serde_json::Value| {
            let lines = [line(1.0, 1e6), odd];
            page(&[Record { name: "own".into(), value: serde_json::json!({"device": "CPU", "lines": lines}) }])
        };
        assert!(page(line(2.0, 2e6))?.into_string().contains("<svg"));
        for odd in [line(2.0, 1e308), line(2.0, 1e-320), line(1e308, 2e6), line(1e-320, 2e6), line(2.0, 0.0)] {
            assert!(!page(odd)?.into_string().contains("<svg"));
        }
        Ok(())
    }

    #[test]
    fn text_of_records_is_no_markup() -> Result<()> {
        let lines =
            serde_json::json!([{"name": "<script>", "ring": "Z_3[x]/(x)", "op": "mul", "batch": 1, "right": false}]);
        let record = Record { name: "own".into(), value: serde_json::json!({"device": "<b>", "lines": lines}) };
        let page = page(&[record])?.into_string();
        assert!(page.contains("&lt;script&gt;") && page.contains("&lt;b&gt;") && !page.contains("<script"));
        assert!(page.contains("wrong"), "a wrong result stands out");
        Ok(())
    }
}
