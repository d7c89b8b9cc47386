//! `ringforge tune`: measures what the planner could do otherwise, and writes what was faster into a file that it reads.
//!
//! Every alternative must leave the bytes that the usual plan leaves; one that does not is an error. The gain is measured
//! in a second run, by the file.

mod contest;
mod file;
mod search;
mod subjects;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;
use ringforge::tuning::Tuning;
use ringforge::{Device, Error, Planner};
use serde::Serialize;

use crate::devices::Choice;
use crate::environment::Environment;
use crate::measure::Effort;
use crate::show;

use contest::Contest;
pub(crate) use file::TuningFile;
use search::Alternative;
use subjects::Subject;

/// Options of `ringforge tune`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only jobs whose "ring op" contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Fewer jobs and shorter measurements.
    #[arg(long)]
    quick: bool,
    /// Write the choices to this file.
    #[arg(long, value_name = "FILE", default_value = "ringforge-tuning.toml")]
    out: PathBuf,
}

/// What was found about a job.
#[derive(Debug, Serialize)]
struct Line {
    job: String,
    batch: usize,
    /// The first one is the usual one.
    alternatives: Vec<Alternative>,
    chosen: String,
    /// By the file, where it says something about the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    second_run: Option<SecondRun>,
}

/// The usual plan and that by the file, measured again.
#[derive(Debug, Serialize)]
struct SecondRun {
    usual_seconds: f64,
    chosen_seconds: f64,
    gain_percent: f64,
}

#[derive(Debug, Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    environment: Environment,
    file: &'a Path,
    tune_lines: Vec<Line>,
    /// Jobs that this device does not support, and why.
    unsupported: Vec<String>,
}

/// `ringforge tune`.
pub(crate) fn main(options: &Options, choice: Choice, json: bool) -> Result<()> {
    let device = choice.open()?.device;
    let (samples, total_seconds) = if options.quick { (15, 0.1) } else { (40, 0.2) };
    let effort = Effort { samples, sample_seconds: 0.002, total_seconds };
    let subjects = subjects::all(&options.filter, options.quick, device.limits())?;
    ensure!(!subjects.is_empty(), "no job contains {:?}", options.filter);
    let (mut tuning, mut lines, mut unsupported) = (Tuning::default(), Vec::new(), Vec::new());
    let bar = show::progress(subjects.len());
    for subject in &subjects {
        bar.set_message(subject.job.to_string());
        match line(subject, &device, effort, &mut tuning) {
            Ok(line) => lines.push((subject, line)),
            Err(error) => match error.downcast_ref::<Error>() {
                Some(Error::Unsupported { .. }) => unsupported.push(error.to_string()),
                _ => return Err(error.context(subject.job.to_string())),
            },
        }
        // what is done stays, whatever happens to the rest
        tuning.save(&options.out, device.limits())?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let planner = Planner::new(device.limits().clone()).tuned(Tuning::load(&options.out, device.limits())?);
    for (subject, line) in lines.iter_mut().filter(|(_, line)| line.chosen != line.alternatives[0].name) {
        line.second_run = Some(second_run(subject, &device, effort, &planner)?);
    }
    let tune_lines = lines.into_iter().map(|(_, line)| line).collect();
    let record = Record { environment: Environment::of(&device), file: &options.out, tune_lines, unsupported };
    if json { show::print_json(&record) } else { print(&record) }
}

/// Measures the ways of a job, and chooses one.
fn line(subject: &Subject, device: &Device, effort: Effort, tuning: &mut Tuning) -> Result<Line> {
    let Subject { job, batch } = subject;
    let mut contest = Contest::new(device, *batch, subject.inputs()?, effort);
    let (choice, alternatives) = search::fastest(job, &mut contest)?;
    tuning.choose(job, choice);
    Ok(Line { job: job.to_string(), batch: *batch, alternatives, chosen: search::name(choice), second_run: None })
}

/// Measures the usual plan and this planner's.
fn second_run(subject: &Subject, device: &Device, effort: Effort, planner: &Planner) -> Result<SecondRun> {
    let Subject { job, batch } = subject;
    let mut contest = Contest::new(device, *batch, subject.inputs()?, effort);
    let usual = contest.enter("usual", &Planner::new(device.limits().clone()).plan(job)?)?.median_seconds;
    let chosen = contest.enter("chosen", &planner.plan(job)?)?.median_seconds;
    Ok(SecondRun { usual_seconds: usual, chosen_seconds: chosen, gain_percent: 100.0 * (usual / chosen - 1.0) })
}

fn print(record: &Record<'_>) -> Result<()> {
    let Environment { device, cpu, cpu_threads, .. } = &record.environment;
    show::print(&format!("{device} ({cpu}, {cpu_threads} threads)"))?;
    let mut table = show::table(&["job", "batch", "way", "median", "second run", "gain"], &[1, 3, 4, 5]);
    for line in &record.tune_lines {
        for (i, alternative) in line.alternatives.iter().enumerate() {
            let is_chosen = alternative.name == line.chosen;
            let second = line.second_run.as_ref().filter(|_| is_chosen || i == 0);
            let again = second.map_or(String::new(), |second| {
                show::time(if is_chosen { second.chosen_seconds } else { second.usual_seconds })
            });
            let gain =
                second.filter(|_| is_chosen).map_or(String::new(), |second| format!("{:+.1} %", second.gain_percent));
            table.add_row([
                if i == 0 { show::ring(&line.job) } else { String::new() },
                if i == 0 { line.batch.to_string() } else { String::new() },
                format!("{} {}", if is_chosen { "→" } else { " " }, alternative.name),
                show::time(alternative.times.median_seconds),
                again,
                gain,
            ]);
        }
    }
    show::print(&table.to_string())?;
    record.unsupported.iter().try_for_each(|line| show::print(line))?;
    let with_choice = record.tune_lines.iter().filter(|line| line.alternatives.len() > 1).count();
    let changed = record.tune_lines.iter().filter(|line| line.second_run.is_some()).count();
    let (jobs, file) = (record.tune_lines.len(), record.file.display());
    if with_choice < jobs {
        show::print(&format!("{} of {jobs} jobs can be done in one way only on this device", jobs - with_choice))?;
    }
    show::print(&format!(
        "{changed} of {jobs} jobs are to be done otherwise than usual: {file}, for plan, check and bench with --tuning"
    ))
}

#[cfg(test)]
mod tests {
    use ringforge::Limits;

    use super::*;

    #[test]
    fn a_file_is_written_on_a_cpu() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let out = folder.path().join("tuning.toml");
        let options = Options { filter: "x^256 + 1".into(), quick: true, out: out.clone() };
        main(&options, Choice::Cpu, false)?;
        assert_eq!(Tuning::load(&out, &Limits::cpu())?, Tuning::default());
        assert!(main(&Options { filter: "no such".into(), ..options }, Choice::Cpu, false).is_err());
        Ok(())
    }
}
