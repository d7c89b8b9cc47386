//! The programs of the scheme. Each operation at a level is a pipeline, which is planned and compiled on first use.

use core::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

use ringforge::{Pipeline, Plan, Planner, Program, Value};
use ringforge_rlwe::conjugation;

use crate::bootstrapping::Raising;
use crate::error::{Error, Result};
use crate::evaluation::Term;
use crate::linear::Steps;
use crate::polynomial::Polynomial;
use crate::scheme::Ckks;

/// Operation of the scheme that has its own program at each level.
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
    /// A polynomial of a ciphertext, with the scales of the input, of powers and of the result.
    Evaluate {
        polynomial: Polynomial,
        scales: [f64; 3],
    },
    Drop {
        to: usize,
    },
    /// Automorphisms x → x^k, and the number of primes of their keys.
    Automorphisms(Vec<(u64, usize)>),
    /// A linear map, with the automorphisms of its steps, and the number of primes of their keys.
    Linear(Steps<u64>, BTreeMap<u64, usize>),
    /// The keys of [`Operation::Raise`].
    RaisingKeys,
    /// From level 0 to the top level.
    Raise,
    /// The real parts of slots and, unless they are real, the imaginary parts: twice as many ciphertexts. With the
    /// number of primes of the key for conjugation.
    Split {
        real: bool,
        key: usize,
    },
    /// Ciphertexts with such real and imaginary parts.
    Unite,
}

/// Name of argument i in a group of similar arguments, for example `key0`.
pub(crate) fn numbered(what: &str, i: usize) -> String {
    format!("{what}{i}")
}

impl Ckks {
    /// Returns the program of an operation at a level, compiled on first use. Each operation has at most two programs
    /// per level: for small and for large batches.
    pub(crate) fn program(&self, operation: Operation, level: usize, batch: usize) -> Result<Program> {
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
    pub(crate) fn plan(&self, operation: &Operation, level: usize, planner: &Planner) -> Result<Plan> {
        let p = planner.pipeline(format!("CKKS {operation:?} at level {level}"));
        self.build(operation, level, &p)?;
        Ok(p.build()?)
    }

    fn build(&self, operation: &Operation, level: usize, p: &Pipeline) -> Result<()> {
        let steps = self.level(level)?;
        let errors = self.parameters().rlwe().errors().distribution();
        let parts = |name: &str| {
            let ciphertext = steps.ciphertext(p, name);
            [0, 1].map(|part| ciphertext.element(part))
        };
        let joined = |parts: [Value<'_>; 2]| p.join(steps.ciphertext_type(), &parts);
        match *operation {
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
                p.output("to", if *operation == Operation::Sub { a - b } else { a + b });
            }
            Operation::AddPlain { shared } | Operation::SubPlain { shared } => {
                let ([c0, c1], plain) = (parts("a"), steps.plaintext(p, "b", shared));
                let subtracts = matches!(operation, Operation::SubPlain { .. });
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
            Operation::Evaluate { ref polynomial, scales: [scale, own, to] } => {
                let (value, key) = (steps.ciphertext(p, "a"), OnceCell::new());
                let key = || *key.get_or_init(|| steps.switching_key(p, "key"));
                p.output("to", self.evaluated(p, polynomial, Term { value, level, scale }, [own, to], &key)?);
            }
            Operation::Drop { to } => {
                let below = self.level(to)?;
                let limbs = below.plaintext_type().basis().len();
                p.output("to", p.join(below.ciphertext_type(), &parts("a").map(|part| part.limbs(0..limbs))));
            }
            Operation::Automorphisms(ref powers) => {
                let [c0, c1] = parts("a");
                let digits = steps.raised(c1);
                for (i, &(k, limbs)) in powers.iter().enumerate() {
                    let key = self.keys().basis(limbs)?.trimmed_key(p, &numbered("key", i))?;
                    p.output(&numbered("to", i), steps.automorphism(k, c0, &digits, key));
                }
            }
            Operation::Linear(ref automorphisms, ref limbs) => {
                let key = |(&k, &limbs): (&u64, &usize)| {
                    Ok((k, self.keys().basis(limbs)?.trimmed_key(p, &numbered("key", k as usize))?))
                };
                let keys = limbs.iter().map(key).collect::<Result<_>>()?;
                let diagonals = p.shared("diagonals", steps.diagonals_type(automorphisms)?.bytes());
                let diagonals = diagonals.holding(steps.diagonals_type(automorphisms)?);
                p.output("to", steps.linear(p, steps.ciphertext(p, "a"), automorphisms, diagonals, &keys)?);
            }
            Operation::RaisingKeys => Raising::new(self)?.make_keys(p, errors)?,
            Operation::Raise => p.output("to", Raising::new(self)?.raised(p, steps.ciphertext(p, "a"))?),
            Operation::Split { real, key } => {
                let key = self.keys().basis(key)?.trimmed_key(p, "key")?;
                let i = (!real).then(|| steps.plaintext(p, "i", true));
                let conjugation = conjugation(self.parameters().rlwe());
                p.output("to", steps.split(p, steps.ciphertext(p, "a"), (conjugation, key), i)?);
            }
            Operation::Unite => {
                let both = p.elements("a", steps.plaintext_type().vector(4)?);
                p.output("to", steps.united(p, both, steps.plaintext(p, "i", true)));
            }
        }
        Ok(())
    }
}
