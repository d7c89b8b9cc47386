//! Timing of many runs over rotating buffers by the device's clock, and of whole calls by the wall clock.

use std::time::Instant;

use anyhow::Result;
use ringforge::{Buffer, Stream};
use ringforge_testkit::Named;
use serde::{Deserialize, Serialize};

use crate::work::{Work, bytes, slices};

/// Minimum bytes of all buffers of a measurement on a GPU: more than its caches hold.
pub const ROTATED_BYTES: usize = 256 << 20;
/// Minimum bytes of all buffers of a measurement on a CPU.
const ROTATED_BYTES_CPU: usize = 64 << 20;

/// Minimum number of samples.
const LEAST_SAMPLES: usize = 5;
/// Items of the short run that estimates the time per item.
const FEW: usize = 16;

/// How many samples to take, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Maximum number of timed samples. Fewer are taken if this many would exceed `total_seconds`.
    pub samples: usize,
    /// Approximate seconds per sample, from which the number of runs per sample is derived.
    pub sample_seconds: f64,
    /// Approximate seconds of all samples together.
    pub total_seconds: f64,
}

impl Effort {
    /// A single run, for its result only, not its time.
    pub const NONE: Self = Self { samples: 0, sample_seconds: 0.0, total_seconds: 0.0 };

    /// The number of samples to take if one sample takes `seconds`.
    fn samples(self, seconds: f64) -> usize {
        let most = self.samples;
        ((self.total_seconds / seconds) as usize).clamp(LEAST_SAMPLES.min(most), most)
    }
}

/// Time per run, summarised over samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Median of the samples, in seconds per run.
    pub median_seconds: f64,
    /// 95th percentile of the samples; 0 if unknown, like the fields below.
    #[serde(default)]
    pub p95_seconds: f64,
    /// Number of samples.
    #[serde(default)]
    pub samples: usize,
    /// Runs per sample.
    #[serde(default)]
    pub runs_per_sample: usize,
    /// Number of buffer sets that the runs rotate through.
    #[serde(default)]
    pub buffer_sets: usize,
    /// Bytes of all buffer sets together.
    #[serde(default)]
    pub buffer_bytes: usize,
}

impl Times {
    /// Summarises samples, each in seconds per run.
    pub fn of(mut seconds: Vec<f64>, runs_per_sample: usize, buffer_sets: usize) -> Self {
        seconds.sort_by(f64::total_cmp);
        let at = |share: f64| seconds[((seconds.len() - 1) as f64 * share).round() as usize];
        let (median_seconds, p95_seconds, samples) = (at(0.5), at(0.95), seconds.len());
        Self { median_seconds, p95_seconds, samples, runs_per_sample, buffer_sets, buffer_bytes: 0 }
    }
}

/// Number of buffer sets that a measurement of this work rotates through, at most 64. Together they should exceed the
/// caches; a single set is enough if it exceeds them alone.
pub fn sets(work: &Work, batch: usize) -> usize {
    let rotated = if work.device().limits().is_cpu() { ROTATED_BYTES_CPU } else { ROTATED_BYTES };
    rotated.div_ceil(work.bytes(batch).max(1)).clamp(1, 64)
}

/// Estimates the seconds per item with a short run on zeros.
pub fn estimate_item(work: &Work) -> Result<f64> {
    let args = work.program.plan().args().iter();
    let zeros: Named = args.map(|arg| (arg.name.clone(), vec![0; bytes(arg, FEW)])).collect();
    let mut buffers = work.buffers(FEW, &slices(&zeros))?;
    // the first run warms up
    work.start(FEW, &mut buffers)?;
    Ok(timed(&work.stream, || work.start(FEW, &mut buffers))? / FEW as f64)
}

/// Measures runs of a program that rotate through these buffer sets.
pub fn measure(work: &Work, batch: usize, sets: &mut [Vec<Buffer>], effort: Effort) -> Result<Times> {
    runs(&work.stream, sets, effort, |buffers| work.start(batch, buffers))
}

/// Measures runs that `start` enqueues on a stream, rotating through `sets`.
pub fn runs<S>(
    stream: &Stream,
    sets: &mut [S],
    effort: Effort,
    mut start: impl FnMut(&mut S) -> Result<()>,
) -> Result<Times> {
    let mut once = 0.0;
    for set in sets.iter_mut() {
        if effort.samples > 0 {
            start(set)?;
        }
        once = timed(stream, || start(set))?;
    }
    if effort.samples == 0 {
        return Ok(Times::of(vec![once], 1, sets.len()));
    }
    let runs = ((effort.sample_seconds / once).ceil() as usize).clamp(1, 10_000);
    let samples = effort.samples(once * runs as f64);
    let mut marks = vec![stream.mark()?];
    let mut turn = 0;
    for _ in 0..samples {
        for _ in 0..runs {
            let set = turn % sets.len();
            start(&mut sets[set])?;
            turn += 1;
        }
        marks.push(stream.mark()?);
    }
    stream.synchronize()?;
    let mut seconds = Vec::with_capacity(samples);
    for pair in marks.windows(2) {
        seconds.push(pair[1].seconds_since(&pair[0])? / runs as f64);
    }
    Ok(Times::of(seconds, runs, sets.len()))
}

/// Returns the seconds that the work enqueued by `start` takes, by the device's clock.
fn timed(stream: &Stream, start: impl FnOnce() -> Result<()>) -> Result<f64> {
    let before = stream.mark()?;
    start()?;
    Ok(stream.mark()?.seconds_since(&before)?.max(1e-7))
}

/// Measures synchronous calls by the wall clock, after a first call that warms up.
pub fn wall(effort: Effort, mut call: impl FnMut() -> Result<()>) -> Result<Times> {
    let mut once = || {
        let before = Instant::now();
        call()?;
        anyhow::Ok(before.elapsed().as_secs_f64())
    };
    let mut seconds = vec![once()?];
    if effort.samples > 0 {
        seconds = (0..effort.samples(once()?)).map(|_| once()).collect::<Result<_>>()?;
    }
    Ok(Times::of(seconds, 1, 1))
}
