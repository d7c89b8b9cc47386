//! The programs of the scheme. Each operation at a level is a pipeline, which is planned and compiled on first use.

use core::cell::Cell;
use core::fmt::Debug;

use ringforge::{Pipeline, Plan, Planner, Program, Value};

use crate::error::{Error, Result};
use crate::scheme::Ckks;

/// An operation that has its own program at each level.
pub(crate) trait Programmed: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// Adds the operation at a level to a pipeline, with its inputs and outputs.
    fn build(&self, ckks: &Ckks, level: usize, p: &Pipeline) -> Result<()>;
}

/// The operations of the scheme, but for those that have a module of their own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operation {
    /// Encoding modulo Q or, if extended, modulo Q·P.
    Encode {
        extended: bool,
    },
    /// The transform of encoded coefficients.
    Transform,
    Constant,
    /// Decryption with flooding noise, one Gaussian layer for each of these multipliers. No noise if the list is empty.
    Decrypt(Vec<u128>),
    Add,
    Sub,
    Negate,
    AddPlain {
        shared: bool,
    },
    SubPlain {
        shared: bool,
    },
    MultiplyPlain {
        shared: bool,
    },
    /// Inner product of ciphertexts with plaintexts, with this many terms.
    InnerPlain {
        terms: usize,
    },
    Multiply {
        square: bool,
        rescaled: bool,
    },
    Rescale,
    Drop {
        to: usize,
    },
    /// Automorphisms x → x^k, and the number of primes of their keys.
    Automorphisms(Vec<(u64, usize)>),
}

/// Name of argument i in a group of similar arguments, for example `key0`.
pub(crate) fn numbered(what: &str, i: usize) -> String {
    format!("{what}{i}")
}

impl Ckks {
    /// Returns the program of an operation at a level, compiled on first use. Each operation has at most two programs
    /// per level: for small and for large batches.
    pub(crate) fn program(&self, operation: impl Programmed, level: usize, batch: usize) -> Result<Program> {
        let items = self.keys().planned_items(batch);
        let key = (operation, level, self.shared_parameters().clone(), items);
        let failed = Cell::new(None);
        let program = self.engine().program_of(&key, |planner| {
            self.plan(&key.0, level, &planner.clone().for_batch(items)).map_err(|error| match error {
                Error::Engine(error) => error,
                other => {
                    let refused = ringforge::Error::Plan { plan: format!("CKKS {:?}", key.0), why: other.to_string() };
                    failed.set(Some(other));
                    refused
                }
            })
        });
        program.map_err(|error| failed.take().unwrap_or(Error::Engine(error)))
    }

    /// Plans an operation at a level. Allocates no device memory.
    pub(crate) fn plan(&self, operation: &impl Programmed, level: usize, planner: &Planner) -> Result<Plan> {
        let p = planner.pipeline(format!("CKKS {operation:?} at level {level}"));
        operation.build(self, level, &p)?;
        Ok(p.build()?)
    }
}

impl Programmed for Operation {
    fn build(&self, ckks: &Ckks, level: usize, p: &Pipeline) -> Result<()> {
        let steps = ckks.level(level)?;
        let parts = |name: &str| {
            let ciphertext = steps.ciphertext(p, name);
            [0, 1].map(|part| ciphertext.element(part))
        };
        let joined = |parts: [Value<'_>; 2]| p.join(steps.ciphertext_type(), &parts);
        match *self {
            Operation::Encode { extended } => {
                let ring = if extended { steps.extended_type() } else { steps.plaintext_type() };
                let [plaintext, statuses] =
                    steps.encode_to(p, steps.numbers(p, "numbers"), steps.scale(p, "scale"), ring);
                p.output("plaintext", plaintext);
                p.output("statuses", statuses);
            }
            Operation::Transform => {
                p.output("plaintext", p.coefficients("coefficients", steps.plaintext_type()).secret().forward());
            }
            Operation::Constant => {
                let residues = p.shared("residues", steps.plaintext_type().basis().len() * size_of::<u64>());
                p.output("plaintext", steps.constant(p, residues.secret()));
            }
            Operation::Decrypt(ref noise) => steps.decrypt(p, noise),
            Operation::Add | Operation::Sub => {
                let [a, b] = ["a", "b"].map(|name| p.elements(name, steps.ciphertext_type()));
                p.output("to", if *self == Operation::Sub { a - b } else { a + b });
            }
            Operation::AddPlain { shared } | Operation::SubPlain { shared } => {
                let ([c0, c1], plain) = (parts("a"), steps.plaintext(p, "b", shared));
                let subtracts = matches!(self, Operation::SubPlain { .. });
                p.output("to", joined([if subtracts { c0 - plain } else { c0 + plain }, c1]));
            }
            Operation::MultiplyPlain { shared } => {
                let (a, plain) = (parts("a"), steps.plaintext(p, "b", shared));
                p.output("to", joined(a.map(|part| part * plain)));
            }
            Operation::InnerPlain { terms } => {
                let term = |i| (parts(&numbered("c", i)), steps.plaintext(p, &numbered("p", i), true));
                let (c, plain) = term(0);
                let sum = (1..terms).fold(c.map(|part| part * plain), |[s0, s1], i| {
                    let ([c0, c1], plain) = term(i);
                    [c0.mul_add(plain, s0), c1.mul_add(plain, s1)]
                });
                p.output("to", joined(sum));
            }
            Operation::Multiply { square, rescaled } => {
                let (a, key) = (steps.ciphertext(p, "a"), steps.switching_key(p, "key"));
                let b = if square { a } else { steps.ciphertext(p, "b") };
                let product = match rescaled {
                    true => steps.multiply_rescaled(a, b, key),
                    false => steps.multiply(a, b, key),
                };
                p.output("to", product);
            }
            Operation::Negate => p.output("to", -p.elements("a", steps.ciphertext_type())),
            Operation::Rescale => p.output("to", steps.rescaled(steps.ciphertext(p, "a"))),
            Operation::Drop { to } => {
                let below = ckks.level(to)?;
                let limbs = below.plaintext_type().basis().len();
                p.output("to", p.join(below.ciphertext_type(), &parts("a").map(|part| part.limbs(0..limbs))));
            }
            Operation::Automorphisms(ref powers) => {
                let [c0, c1] = parts("a");
                let digits = steps.raised(c1);
                for (i, &(k, limbs)) in powers.iter().enumerate() {
                    let key = ckks.keys().basis(limbs)?.trimmed_key(p, &numbered("key", i))?;
                    p.output(&numbered("to", i), steps.automorphism(k, c0, &digits, key));
                }
            }
        }
        Ok(())
    }
}
