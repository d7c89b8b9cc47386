//! `ringforge bundle`: writes compiled kernels to a file, for machines that have no NVRTC or should not spend time on
//! compilation.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use ringforge::cuda::Bundle;
use ringforge::{Error, Job, Limits, Op, Order, Plan, Planner, PolyType};
use serde_json::json;

use crate::show;
use crate::suites;

/// Operations that are compiled for a ring named without an operation.
const USUAL: [Op; 5] = [Op::Forward, Op::Inverse, Op::PointMul, Op::MulAdd, Op::Mul];

/// Options of `ringforge bundle`.
#[derive(Debug, Args)]
pub struct Options {
    /// GPU architectures, such as sm_80,sm_90,sm_120.
    #[arg(long, value_delimiter = ',', required = true, value_name = "ARCH", value_parser = capability)]
    arch: Vec<u32>,
    /// The kernels to compile: a ring with an operation, such as "3329:x^256+1 mul", optionally followed by natural or
    /// in_place; a ring alone, for its usual operations in both orders, in place or not; a scheme, such as CTRU-768 or
    /// SM2; schemes, for all schemes; Groth16 proofs over a curve, as groth16:bls12-381 or groth16:bn254; or a file with one of these per line. May be given several times.
    #[arg(long = "for", required = true, value_name = "WHAT")]
    wanted: Vec<String>,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

fn capability(text: &str) -> Result<u32, String> {
    match text.trim().strip_prefix("sm_").map(str::parse) {
        Some(Ok(capability @ 50..200)) => Ok(capability),
        _ => Err("expected compute capabilities from sm_50 on, such as sm_90".into()),
    }
}

/// One entry of `--for`.
#[derive(Debug, PartialEq)]
enum Wanted {
    Job(Job),
    PolyType(PolyType),
    /// Schemes and provers by name.
    Schemes(Vec<&'static str>),
}

impl Wanted {
    fn parse(text: &str) -> Result<Self> {
        let all = suites::schemes();
        if text.eq_ignore_ascii_case("schemes") {
            return Ok(Self::Schemes(all));
        }
        if let Some(name) = all.iter().chain(suites::PROVERS).find(|name| name.eq_ignore_ascii_case(text)) {
            return Ok(Self::Schemes(vec![name]));
        }
        // a ring may contain spaces, so the operation and its options are parsed from the end of the text
        let (mut rest, mut order, mut in_place) = (text, Order::DigitReversed, false);
        while let Some((before, last)) = rest.trim_end().rsplit_once(char::is_whitespace) {
            match last {
                "natural" => order = Order::Natural,
                "in_place" => in_place = true,
                _ => {
                    let Ok(op) = last.parse() else { break };
                    let job = Job::new(before.parse::<PolyType>()?, op).order(order);
                    return Ok(Self::Job(if in_place { job.in_place() } else { job }));
                }
            }
            rest = before;
        }
        let wanted = "neither a scheme, a prover nor a ring, with or without an operation";
        let ring = text.parse().with_context(|| format!("{text:?} is {wanted}"))?;
        Ok(Self::PolyType(ring))
    }

    fn plans(&self, limits: &Limits) -> Result<Vec<Plan>> {
        let planner = Planner::new(limits.clone());
        match self {
            Self::Job(job) => Ok(vec![planner.plan(job)?]),
            Self::PolyType(ring) => {
                let mut plans = Vec::new();
                for op in USUAL {
                    for order in [Order::DigitReversed, Order::Natural] {
                        let job = Job::new(ring, op).order(order);
                        for job in [job.clone(), job.in_place()] {
                            match planner.plan(&job) {
                                Ok(plan) => plans.push(plan),
                                // a ring without an NTT still supports products, so this error only skips the operation
                                Err(Error::Unsupported { .. } | Error::NotPrime { .. } | Error::NoRoot { .. }) => {}
                                Err(error) => return Err(error.into()),
                            }
                        }
                    }
                }
                ensure!(!plans.is_empty(), "no operation of {ring} can be planned for {}", limits.name);
                Ok(plans)
            }
            Self::Schemes(names) => {
                Ok(names.iter().map(|name| suites::plans(name, limits)).collect::<Result<Vec<_>>>()?.concat())
            }
        }
    }
}

/// Parses the entries of `--for`. An entry that names a file is read line by line.
fn wanted(texts: &[String]) -> Result<Vec<Wanted>> {
    let mut all = Vec::new();
    for text in texts {
        if !std::path::Path::new(text).is_file() {
            all.push(Wanted::parse(text.trim())?);
            continue;
        }
        let lines = fs::read_to_string(text).with_context(|| text.clone())?;
        for (number, line) in lines.lines().map(str::trim).enumerate() {
            if !line.is_empty() && !line.starts_with('#') {
                all.push(Wanted::parse(line).with_context(|| format!("{text}, line {}", number + 1))?);
            }
        }
    }
    if all.is_empty() {
        bail!("the files named by --for have no entries");
    }
    Ok(all)
}

/// Runs `ringforge bundle`.
pub(crate) fn main(options: &Options) -> Result<()> {
    let (wanted, mut bundle) = (wanted(&options.wanted)?, Bundle::default());
    for &capability in &options.arch {
        let limits = Limits::of_capability(capability);
        let plans = wanted.iter().map(|wanted| wanted.plans(&limits)).collect::<Result<Vec<_>>>()?.concat();
        bundle.compile(&plans, &limits)?;
    }
    bundle.save(&options.out)?;
    let bytes = fs::metadata(&options.out)?.len();
    if options.json {
        let of =
            |capability| json!({ "architecture": format!("sm_{capability}"), "kernels": bundle.kernels(capability) });
        let architectures: Vec<_> = bundle.architectures().map(of).collect();
        return show::print_json(&json!({ "file": options.out, "bytes": bytes, "architectures": architectures }));
    }
    for capability in bundle.architectures() {
        show::print(&format!("sm_{capability}: {} kernels", bundle.kernels(capability).len()))?;
    }
    show::print(&format!("{}: {}B", options.out.display(), show::short(bytes as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_parsed() -> Result<()> {
        let ring: PolyType = "3457 : x^768 - x^384 + 1".parse()?;
        let job = |op| Job::new(&ring, op);
        let cases = [
            ("3457 : x^768 - x^384 + 1", Wanted::PolyType(ring.clone())),
            ("3457 : x^768 - x^384 + 1 mul", Wanted::Job(job(Op::Mul))),
            ("3457:x^768-x^384+1 forward natural", Wanted::Job(job(Op::Forward).order(Order::Natural))),
            ("3457:x^768-x^384+1 inverse in_place", Wanted::Job(job(Op::Inverse).in_place())),
            ("ctru-768", Wanted::Schemes(vec!["CTRU-768"])),
            ("sm2", Wanted::Schemes(vec!["SM2"])),
            ("groth16:BN254", Wanted::Schemes(vec!["groth16:bn254"])),
        ];
        for (text, expected) in cases {
            assert_eq!(Wanted::parse(text)?, expected, "{text}");
        }
        for text in ["", "mul", "3457:x^768-x^384+1 divide", "3457:x^768-x^384+1 natural"] {
            assert!(Wanted::parse(text).is_err(), "{text}");
        }
        Ok(())
    }
}
