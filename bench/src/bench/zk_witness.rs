//! Lines about witness maps as a Groth16 prover has them: seven transforms of BLS12-381's scalar field and what lies
//! between them, with all data on the device.
//!
//! Every sample runs on fresh copies of random values a and b, and c = a·b. Of what the last one leaves, the quotient h,
//! h·(x^n − 1) = a·b − c is checked at a random x, with polynomials a, b and c that arkworks interpolates.

use anyhow::{Context, Result};
use ark_bls12_381::Fr;
use ark_ff::{Field, One};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use rayon::prelude::*;
use ringforge::testkit::Random;
use ringforge::{Device, Engine, Ring};
use ringforge_arkworks::{Backend, Reduction};
use serde::Serialize;

use super::zk::{bytes, element, evaluate, modulus};
use super::{Bench, Options, is_reference};
use crate::measure::Times;
use crate::{sample, show};

/// Samples of a line; one more warms up.
const SAMPLES: usize = 9;
/// Points on a GPU, with the milliseconds of seven transforms and what lies between them that are wanted at most on an
/// H200: 7.8 times those of a plain transform.
const SHAPES: [(u32, f64); 2] = [(20, 7.8 * 0.22), (22, 7.8 * 0.90)];
/// Points on a CPU.
const CPU_LOG_N: u32 = 14;

/// A domain of this many points, as a power of two.
pub(super) struct Task {
    log_n: u32,
    bar: Option<f64>,
}

/// One measurement, by the device's clock.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    name: String,
    log_n: u32,
    #[serde(flatten)]
    times: Times,
    /// What is wanted at most; on an H200 only.
    bar_seconds: Option<f64>,
    pub(super) right: bool,
}

/// What is to be measured.
pub(super) fn tasks(options: &Options, device: &Device) -> Vec<Task> {
    let of = |(log_n, bar): &(u32, f64)| Task { log_n: *log_n, bar: Some(*bar) };
    let tasks = match device.limits().is_cpu() {
        true => vec![Task { log_n: CPU_LOG_N, bar: None }],
        false => SHAPES.iter().filter(|(log_n, _)| *log_n == 20 || !options.quick).map(of).collect(),
    };
    tasks.into_iter().filter(|task| task.title().contains(&options.filter)).collect()
}

impl Task {
    pub(super) fn title(&self) -> String {
        format!("zk witness map 2^{}", self.log_n)
    }

    pub(super) fn line(&self, bench: &Bench) -> Result<Line> {
        let n = 1 << self.log_n;
        let ring = Ring::cyclic(n, modulus()?)?;
        let mut random = Random::new(std::process::id().into());
        let values = sample::elements(&ring, random.bits(), 0, 2)?;
        let (a, b) = values.split_at(ring.bytes());
        let products = a.par_chunks_exact(32).zip(b.par_chunks_exact(32));
        let c: Vec<[[u8; 8]; 4]> = products.map(|(a, b)| bytes(&(element(a) * element(b)))).collect();
        let c = c.as_flattened().as_flattened();

        let map = Backend::new(&Engine::on(bench.device.clone())).witness_map::<Fr>(Reduction::Libsnark, n)?;
        let stream = bench.device.stream()?;
        let mut seconds = Vec::new();
        let mut quotient = Vec::new();
        for _ in 0..=SAMPLES {
            let [mut a, mut b, mut c] = [stream.upload(a)?, stream.upload(b)?, stream.upload(c)?];
            let before = stream.mark()?;
            map.run(&stream, &mut a, &mut b, &mut c)?;
            let after = stream.mark()?;
            quotient = stream.download::<u8>(&c)?;
            seconds.push(after.seconds_since(&before)?);
        }
        let right = is_quotient(&quotient, [a, b, c], &mut random)?;
        let bar = self.bar.filter(|_| is_reference(bench.device.limits())).map(|ms| 1e-3 * ms);
        let times = Times::of(seconds.split_off(1), 1, 1);
        Ok(Line { name: self.title(), log_n: self.log_n, times, bar_seconds: bar, right })
    }
}

/// Whether h·(x^n − 1) = a·b − c at a random x, for coefficients of h and values of a, b and c.
fn is_quotient(h: &[u8], values: [&[u8]; 3], random: &mut Random) -> Result<bool> {
    let n = h.len() / 32;
    let domain = Radix2EvaluationDomain::<Fr>::new(n).context("arkworks has such a domain")?;
    let x = Fr::from(random.bits());
    let [a, b, c] = values.map(|values| {
        let values: Vec<Fr> = values.par_chunks_exact(32).map(element).collect();
        let coefficients = domain.ifft(&values);
        evaluate(coefficients.par_iter().flat_map_iter(bytes).collect::<Vec<_>>().as_flattened(), x)
    });
    Ok(evaluate(h, x) * (x.pow([n as u64]) - Fr::one()) == a * b - c)
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let mut table = show::table(&["name", "median", "p95", "bar", "right"], &[1, 2, 3]);
    for Line { name, times, bar_seconds, right, .. } in lines {
        table.add_row([
            name.clone(),
            show::time(times.median_seconds),
            show::time(times.p95_seconds),
            bar_seconds.map_or("–".into(), show::time),
            show::yes_or_no(*right),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_right_and_wrong_quotients_noticed() -> Result<()> {
        let bench = Bench::of_cpu();
        let line = Task { log_n: 6, bar: Some(1.0) }.line(&bench)?;
        assert!(line.right && line.bar_seconds.is_none());
        // 0 = 1·1 − 1, and nothing else
        let (zeros, ones) = ([0; 64], [bytes(&Fr::one()); 2]);
        let ones = ones.as_flattened().as_flattened();
        assert!(is_quotient(&zeros, [ones, ones, ones], &mut Random::new(1))?);
        assert!(!is_quotient(&zeros, [ones, ones, &zeros], &mut Random::new(1))?);
        assert!(!is_quotient(ones, [ones, ones, ones], &mut Random::new(1))?);
        Ok(())
    }
}
