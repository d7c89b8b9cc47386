//! Output for the user: tables, JSON, progress bars, numbers with units.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use anyhow::{Error, Result};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// Prints a line of text. If the reader has closed the output, the error is a [closed pipe](is_closed_pipe).
pub fn print(text: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Returns true if an error means that the reader has closed the output. The command then exits without a message.
pub fn is_closed_pipe(error: &Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// An empty table with these headings. `numbers` are the indices of the columns that hold numbers.
pub fn table(headings: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(headings);
    for &column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A progress bar on standard error, which shows nothing unless standard error is a terminal.
pub fn progress(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len}  {elapsed} of about {duration}  {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Formats a number with three digits and a unit prefix, such as `1.23 M`.
pub fn short(x: f64) -> String {
    let (scale, prefix) = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
        .into_iter()
        .find(|(scale, _)| x >= 0.9995 * scale)
        .unwrap_or((1.0, ""));
    let x = x / scale;
    let digits = if x >= 99.95 { 0 } else { usize::from(x < 9.995) + 1 };
    format!("{x:.digits$} {prefix}")
}

/// Formats a time with three digits and a unit.
pub fn time(seconds: f64) -> String {
    let (scale, unit) = if seconds >= 0.9995 {
        (1.0, "s")
    } else if seconds >= 0.9995e-3 {
        (1e3, "ms")
    } else if seconds >= 0.9995e-6 {
        (1e6, "µs")
    } else {
        (1e9, "ns")
    };
    format!("{}{unit}", short(seconds * scale))
}

/// Formats whether a result is right; `NO` is in capitals to stand out.
pub fn yes_or_no(right: bool) -> String {
    if right { "yes" } else { "NO" }.into()
}

/// Shortens a long modulus in a printed ring.
pub fn ring(text: &str) -> String {
    let digits = text.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let end = text[digits..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| digits + end);
    match end - digits {
        ..=24 => text.to_string(),
        _ => format!("{}…{}", &text[..digits + 6], &text[end - 6..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let found = [0.0, 1.0, 999.0, 1000.0, 12_345.0, 2.0e9, 123.4e6].map(short);
        assert_eq!(found, ["0.00 ", "1.00 ", "999 ", "1.00 k", "12.3 k", "2.00 G", "123 M"]);
        assert_eq!([1.5, 0.25, 3.0e-6, 8.0e-7].map(time), ["1.50 s", "250 ms", "3.00 µs", "800 ns"]);
    }

    #[test]
    fn long_moduli_are_cut_short() {
        assert_eq!(ring("Z_3329[x]/(x^256 + 1)"), "Z_3329[x]/(x^256 + 1)");
        assert_eq!(ring("Z_123456789012345678901234567890[x]/(x - 1)"), "Z_123456…567890[x]/(x - 1)");
    }
}
