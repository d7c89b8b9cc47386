//! The programs of the scheme. Each operation is a pipeline, which is planned and compiled on first use.

use ringforge::{Pipeline, Plan, Planner, Program};

use crate::error::{Error, Result};
use crate::scheme::Bfv;

/// Operation of the scheme that has its own program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Encode,
    /// Plaintexts as factors of ciphertexts.
    Lift,
    /// Plaintexts as terms of ciphertexts.
    Scale,
    Decrypt,
    Add,
    Sub,
    Negate,
    /// Sum with plaintexts as terms.
    AddPlain {
        shared: bool,
    },
    SubPlain {
        shared: bool,
    },
    /// Product with plaintexts as factors.
    MultiplyPlain {
        shared: bool,
    },
    Multiply {
        square: bool,
    },
    /// Image under the automorphism x → x^k.
    Automorphism(u64),
}

impl Bfv {
    /// Returns the program of an operation, compiled on first use. Each operation has at most two programs: for small and
    /// for large batches.
    pub(crate) fn program(&self, operation: Operation, batch: usize) -> Result<Program> {
        let items = self.keys().planned_items(batch);
        let key = (operation, self.shared_parameters().clone(), items);
        let plan = |planner: &Planner| self.plan(&key.0, &planner.clone().for_batch(items));
        Ok(self.engine().program_of(&key, plan)?)
    }

    /// Plans an operation. Allocates no device memory.
    pub(crate) fn plan(&self, operation: &Operation, planner: &Planner) -> ringforge::Result<Plan> {
        let title = format!("BFV {operation:?}");
        let p = planner.pipeline(&title);
        self.build(operation, &p).map_err(|error| match error {
            Error::Engine(error) => error,
            other => ringforge::Error::Plan { plan: title, why: other.to_string() },
        })?;
        p.build()
    }

    fn build(&self, operation: &Operation, p: &Pipeline) -> Result<()> {
        let steps = self.steps();
        let plain = |shared| steps.plaintext(p, "b", shared);
        let sum_with = |shared, sum: &dyn Fn(_, _) -> _| {
            let a = steps.ciphertext(p, "a");
            p.join(steps.ciphertext_type(), &[sum(a.element(0), plain(shared)), a.element(1)])
        };
        match *operation {
            Operation::Encode => p.output("plaintext", steps.encode(p, "slots")),
            Operation::Lift => p.output("to", steps.lifted(p, p.elements("plaintext", &steps.plain).secret())),
            Operation::Scale => p.output("to", steps.scaled(p, p.elements("plaintext", &steps.plain).secret())),
            Operation::Decrypt => {
                let [slots, noise] = steps.decrypted(p, steps.ciphertext(p, "ciphertext"));
                p.output("slots", slots);
                p.output("noise", noise);
            }
            Operation::Add => p.output("to", steps.ciphertext(p, "a") + steps.ciphertext(p, "b")),
            Operation::Sub => p.output("to", steps.ciphertext(p, "a") - steps.ciphertext(p, "b")),
            Operation::Negate => p.output("to", -steps.ciphertext(p, "a")),
            Operation::AddPlain { shared } => p.output("to", sum_with(shared, &|a, b| a + b)),
            Operation::SubPlain { shared } => p.output("to", sum_with(shared, &|a, b| a - b)),
            Operation::MultiplyPlain { shared } => {
                let (a, plain) = (steps.ciphertext(p, "a"), plain(shared));
                p.output("to", p.join(steps.ciphertext_type(), &[0, 1].map(|part| a.element(part) * plain)));
            }
            Operation::Multiply { square } => {
                let (a, key) = (steps.ciphertext(p, "a"), steps.switching_key(p, "key"));
                let b = (!square).then(|| steps.ciphertext(p, "b"));
                p.output("to", steps.multiply(p, a, b, key)?);
            }
            Operation::Automorphism(k) => {
                let (a, key) = (steps.ciphertext(p, "a"), steps.switching_key(p, "key"));
                p.output("to", steps.automorphism(k, a.element(0), &steps.raised(a.element(1)), key));
            }
        }
        Ok(())
    }
}
