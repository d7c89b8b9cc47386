//! Operations of BFV (eprint 2012/144), at the parameter sizes of measurements of other libraries.

use anyhow::Result;
use ringforge::{Pipeline, Planner};
use ringforge_bfv::{Parameters, Steps};

use crate::ckks::roofline::{Multiplied, Primes};
use crate::operations;
use ringforge_cli::record::Measurement;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Quoted, Scope, Suite};

pub(crate) static SUITE: Suite = Suite {
    name: "BFV",
    title: "Homomorphic arithmetic: BFV",
    about: "Operations on ciphertexts with a plaintext modulus of 20 bits, with keys and ciphertexts on the device. One \
            ciphertext is captured once and replayed, partly from the L2 cache; eight different ones are launched kernel by \
            kernel. A case names the degree, the primes of Q with their bits, and the number of primes of P, which is also \
            that of a key-switching digit. The roofline bound moves ciphertexts and keys once, or multiplies what \
            transforms, conversions and products multiply, whichever takes longer.",
    figure: Figure::Item,
    headline: Some(("2^16, 24 x 50 bits, 6", MULTIPLY)),
    quoted: QUOTED,
    cases,
    ..Suite::NONE
};

const SOURCE: &str = "commit 1f4a198, the fastest of its four algorithms, built and run by us in the same hour on the same H200, \
                      2026-11-30, one operation after another; decrypted and checked";

const QUOTED: &[Quoted] =
    &[quoted("2^14, 6 x 50 bits, 2", &[(MULTIPLY, 326e-6)]), quoted("2^16, 24 x 50 bits, 6", &[(MULTIPLY, 2091e-6)])];

const fn quoted(case: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
    Quoted { case, peer: "Phantom", source: SOURCE, device: Some("H200"), seconds }
}

const MULTIPLY: &str = "multiply, relinearise";
const ROTATE: &str = "rotate";

/// A case: name, log2 of the degree, and number of primes of Q and of P, all of 50 bits.
const SHAPES: [(&str, u32, usize, usize); 3] =
    [("2^14, 6 x 50 bits, 2", 14, 6, 2), ("2^15, 13 x 50 bits, 4", 15, 13, 4), ("2^16, 24 x 50 bits, 6", 16, 24, 6)];

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for (name, log_n, q, p) in SHAPES {
        // a CPU measures only the smallest shape
        if scope.cpu && log_n > 14 && scope.most_log_n.is_none() {
            continue;
        }
        let log_n = scope.log_n(log_n);
        for operation in [MULTIPLY, ROTATE] {
            for captured in [true, false] {
                let batches = if captured { vec![1] } else { scope.batches(&[8]) };
                let run = move |bench: &Bench, batch: usize| -> Result<Measurement> {
                    let t = Parameters::plain_modulus(log_n, 20)?;
                    let parameters = Parameters::insecure(log_n, t, &vec![50; q], &vec![50; p])?;
                    let steps = Steps::new(&parameters)?;
                    let plan = |planner: &Planner| {
                        let pipeline = planner.pipeline(format!("BFV: {operation}"));
                        make(&pipeline, &steps, operation)?;
                        Ok(pipeline.build()?)
                    };
                    let primes = Primes { q, p, dropped: 0 };
                    let of = if operation == MULTIPLY {
                        Multiplied::of_bfv(primes, parameters.auxiliary())
                    } else {
                        Multiplied::of(ROTATE, primes)
                    };
                    let words = of.words(steps.plaintext_type(), bench.device.limits());
                    let (line, floor) = operations::line(bench, &plan, &words, |_, _, _| None, captured, batch)?;
                    let line = Measurement { case: name.into(), operation: operation.into(), ..line };
                    Ok(line.in_ring(steps.plaintext_type()).above(floor).varied(if captured { "captured" } else { "" }))
                };
                cases.push(Case::of_batches(name, operation, batches, run));
            }
        }
    }
    Ok(cases)
}

fn make(p: &Pipeline, steps: &Steps, operation: &str) -> Result<()> {
    let (a, key) = (steps.ciphertext(p, "a"), steps.switching_key(p, "key"));
    let to = match operation {
        MULTIPLY => steps.multiply(p, a, Some(steps.ciphertext(p, "b")), key)?,
        _ => steps.automorphism(5, a.element(0), &steps.raised(a.element(1)), key),
    };
    p.output("to", to);
    Ok(())
}
