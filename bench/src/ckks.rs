//! Operations of RNS-CKKS (eprint 2018/931), at the parameter sizes of measurements of other libraries.

pub(crate) mod roofline;

use anyhow::Result;
use ringforge::{Pipeline, Planner};
use ringforge_ckks::{Level, Parameters};
use ringforge_testkit::Random;

use crate::operations;
use ringforge_cli::record::Measurement;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Quoted, Scope, Suite};

use roofline::{Multiplied, Primes};

pub(crate) static SUITE: Suite = Suite {
    name: "CKKS",
    title: "Homomorphic arithmetic: RNS-CKKS",
    about: "Operations on ciphertexts at the top level, with keys and ciphertexts on the device. One ciphertext is \
            captured once and replayed, partly from the L2 cache; eight different ones are launched kernel by kernel. \
            Encoding and decoding work on numbers on the device, 64 items at a time. A \
            case names the degree, the primes of Q with their bits, and the number of primes of P, which is also that of \
            a key-switching digit. Shapes marked as insecure exceed 128-bit security, because other implementations were \
            measured on them. The roofline bound moves ciphertexts and keys once, or multiplies what transforms, \
            conversions and products multiply, whichever takes longer.",
    figure: Figure::Item,
    headline: Some(("2^16, 24 x 50 bits, 6", "multiply, relinearise")),
    quoted: QUOTED,
    cases,
    ..Suite::NONE
};

/// A parameter set of RNS-CKKS with ciphertext modulus Q and special modulus P: name; log2 of the degree N; number of
/// primes of Q, and the bits of all but the first; bits of the first; number and bits of the primes of P; number of
/// primes that a rescaling drops; operations to measure.
type Shape = (&'static str, u32, (usize, u32), u32, (usize, u32), usize, &'static [Operation]);

const SHAPES: &[Shape] = &[
    ("2^16, 24 x 50 bits, 6", 16, (24, 50), 50, (6, 50), 1, &OPERATIONS),
    ("2^15, 16 x 50 bits, 4, insecure", 15, (16, 50), 50, (4, 50), 1, &[MULTIPLY, RESCALE, ROTATE]),
    ("2^15, 13 x 50 bits, 4", 15, (13, 50), 50, (4, 50), 1, &[MULTIPLY]),
    ("2^16, 40 x 30 bits, 10", 16, (40, 30), 30, (10, 30), 2, &[MULTIPLY, RESCALE, ROTATE]),
    ("2^14, 8 x 45-60 bits, 2, insecure", 14, (8, 45), 60, (2, 60), 1, &[MULTIPLY]),
    ("2^14, 6 x 45-60 bits, 2", 14, (6, 45), 60, (2, 60), 1, &[MULTIPLY]),
];

/// An operation: a function that builds its outputs in a pipeline.
#[derive(Clone, Copy)]
struct Operation {
    name: &'static str,
    make: for<'p> fn(&'p Pipeline, &Level),
    /// The level; `None` for the top level.
    level: Option<usize>,
    /// Items per batch.
    batch: usize,
}

impl Operation {
    const fn new(name: &'static str, make: for<'p> fn(&'p Pipeline, &Level)) -> Self {
        Self { name, make, level: None, batch: 8 }
    }
}

const MULTIPLY: Operation = Operation::new("multiply, relinearise", |p, level| {
    let [a, b] = ["a", "b"].map(|name| level.ciphertext(p, name));
    p.output("to", level.multiply(a, b, level.switching_key(p, "key")));
});
const RESCALE: Operation = Operation::new("rescale", |p, level| {
    p.output("to", level.rescaled(level.ciphertext(p, "a")));
});
const ROTATE: Operation = Operation::new("rotate", |p, level| rotations(p, level, &[5]));
const ENCODE: Operation = Operation {
    batch: 64,
    ..Operation::new("encode", |p, level| {
        let [plaintext, statuses] = level.encode(p, level.numbers(p, NUMBERS), level.scale(p, SCALE));
        p.output("to", plaintext);
        p.output("statuses", statuses);
    })
};
const DECODE: Operation = Operation {
    level: Some(1),
    batch: 64,
    ..Operation::new("decode from two limbs", |p, level| {
        let message = p.elements("message", level.plaintext_type()).inverse();
        p.output("to", level.decode(p, message, level.scale(p, SCALE)));
    })
};
const OPERATIONS: [Operation; 8] = [
    MULTIPLY,
    Operation::new("multiply, relinearise, rescale", |p, level| {
        let [a, b] = ["a", "b"].map(|name| level.ciphertext(p, name));
        p.output("to", level.multiply_rescaled(a, b, level.switching_key(p, "key")));
    }),
    ROTATE,
    RESCALE,
    Operation::new("add", |p, level| {
        let [a, b] = ["a", "b"].map(|name| p.elements(name, level.ciphertext_type()));
        p.output("to", a + b);
    }),
    // powers of the Galois automorphisms: 5, 5^2, … modulo 2^17
    Operation::new("eight rotations", |p, level| {
        rotations(p, level, &[5, 25, 125, 625, 3125, 15_625, 78_125, 128_481]);
    }),
    ENCODE,
    DECODE,
];

/// Arguments that are doubles: numbers of at most 1 in absolute value, and the scale 2^40.
const NUMBERS: &str = "numbers";
const SCALE: &str = "scale";

/// Returns the contents of an argument of this many bytes if it holds doubles.
fn doubles(name: &str, bytes: usize, random: &mut Random) -> Option<Vec<u8>> {
    let mut number = || match name {
        NUMBERS => Some((random.bits() as i64 as f64) * f64::exp2(-63.0)),
        SCALE => Some(f64::exp2(40.0)),
        _ => None,
    };
    let numbers = (0..bytes / size_of::<f64>()).map(|_| number().map(f64::to_le_bytes));
    numbers.collect::<Option<Vec<_>>>().map(|numbers| numbers.concat())
}

fn rotations(p: &Pipeline, level: &Level, powers: &[u64]) {
    let a = level.ciphertext(p, "a");
    let digits = level.raised(a.element(1));
    for (i, &k) in powers.iter().enumerate() {
        let key = level.switching_key(p, &format!("key{i}"));
        p.output(&format!("to{i}"), level.automorphism(k, a.element(0), &digits, key));
    }
}

const SOURCE: &str = "rebuilt and run by us on an H200, driver 580.159.04, 2026-11-22; results decrypted and checked";

const fn quoted(case: &'static str, peer: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
    Quoted { case, peer, source: SOURCE, device: Some("H200"), seconds }
}

/// Quoted times of other implementations, each in its best mode: one operation after another, or several threads at
/// once.
const QUOTED: &[Quoted] = &[
    quoted(
        "2^16, 24 x 50 bits, 6",
        "Cheddar",
        &[
            (MULTIPLY.name, 524e-6),
            ("multiply, relinearise, rescale", 535e-6),
            (ROTATE.name, 503e-6),
            (RESCALE.name, 115e-6),
            ("add", 19e-6),
        ],
    ),
    quoted(
        "2^15, 16 x 50 bits, 4, insecure",
        "Cheddar",
        &[(MULTIPLY.name, 277e-6), (RESCALE.name, 72e-6), (ROTATE.name, 271e-6)],
    ),
    quoted(
        "2^16, 40 x 30 bits, 10",
        "Cheddar",
        &[(MULTIPLY.name, 270e-6), (RESCALE.name, 52e-6), (ROTATE.name, 258e-6)],
    ),
    quoted("2^14, 8 x 45-60 bits, 2, insecure", "Phantom, one thread", &[(MULTIPLY.name, 121e-6)]),
    quoted("2^14, 8 x 45-60 bits, 2, insecure", "Phantom, eight threads", &[(MULTIPLY.name, 95e-6)]),
];

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for &(name, log_n, (count, bits), first, (special, special_bits), drop, operations) in SHAPES {
        // a CPU measures only the smaller shapes
        if scope.cpu && log_n > 14 && scope.most_log_n.is_none() {
            continue;
        }
        let q: Vec<u32> = core::iter::once(first).chain(core::iter::repeat_n(bits, count - 1)).collect();
        let (log_n, p) = (scope.log_n(log_n), vec![special_bits; special]);
        for &Operation { name: operation, make, level, batch } in operations {
            for captured in [true, false] {
                let batches = if captured { vec![1] } else { scope.batches(&[batch]) };
                let (q, p) = (q.clone(), p.clone());
                let run = move |bench: &Bench, batch: usize| -> Result<Measurement> {
                    let parameters = Parameters::insecure(log_n, &q, &p)?.rescaling_by(drop)?;
                    let level = Level::new(&parameters, level.unwrap_or(parameters.top_level()))?;
                    let plan = |planner: &Planner| {
                        let p = planner.pipeline(format!("CKKS: {operation}"));
                        make(&p, &level);
                        Ok(p.build()?)
                    };
                    let primes = Primes { q: level.plaintext_type().basis().len(), p: special, dropped: drop };
                    let words = Multiplied::of(operation, primes).words(level.plaintext_type(), bench.device.limits());
                    let (line, floor) = operations::line(bench, &plan, &words, doubles, captured, batch)?;
                    let line = Measurement {
                        case: name.into(),
                        operation: operation.into(),
                        ..line.in_ring(level.plaintext_type())
                    };
                    Ok(line.above(floor).varied(if captured { "captured" } else { "" }))
                };
                cases.push(Case::of_batches(name, operation, batches, run));
            }
        }
    }
    Ok(cases)
}
