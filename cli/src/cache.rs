//! `ringforge cache`: shows where compiled code is cached and how much space it takes.

use anyhow::Result;
use clap::{Args, Subcommand};
use ringforge::kernels::Cache;
use serde_json::json;

use crate::show;

/// Options of `ringforge cache`.
#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Remove all compiled code; it is compiled again when needed.
    Clear,
}

/// Runs `ringforge cache`: clears the caches if asked to, then prints what they contain.
pub(crate) fn main(options: &Options) -> Result<()> {
    let caches = Cache::all()?;
    if let Some(Action::Clear) = options.action {
        caches.iter().try_for_each(Cache::clear)?;
    }
    let used = caches.iter().map(|cache| Ok((cache, cache.usage()?))).collect::<Result<Vec<_>>>()?;
    if options.json {
        let lines = used.iter().map(|(cache, (entries, bytes))| {
            json!({
                "name": cache.name(), "folder": cache.folder().to_string_lossy(), "entries": entries, "bytes": bytes,
                "most_bytes": cache.most_bytes(),
            })
        });
        return show::print_json(&json!({ "caches": lines.collect::<Vec<_>>() }));
    }
    let mut table = show::table(&["cache", "folder", "entries", "bytes", "at most"], &[2, 3, 4]);
    for (cache, (entries, bytes)) in used {
        table.add_row([
            cache.name().into(),
            cache.folder().display().to_string(),
            entries.to_string(),
            show::short(bytes as f64) + "B",
            format!("{} MiB", cache.most_bytes() >> 20),
        ]);
    }
    show::print(&table.to_string())
}
