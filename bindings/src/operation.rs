//! Transforms and products of ring elements, as bytes.

use ringforge::{Engine, Error, Job, Op, Order, Program, Result, Ring};

use crate::process::may_work;

/// What is done to ring elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// From coefficients to evaluations in this order.
    Forward(Order),
    /// From evaluations in this order to coefficients.
    Inverse(Order),
    /// Products, from coefficients to coefficients.
    Mul,
    /// Products of evaluations in this order.
    PointMul(Order),
}

impl Operation {
    /// What the inputs are called.
    #[must_use]
    pub fn inputs(self) -> &'static [&'static str] {
        match self {
            Self::Forward(_) | Self::Inverse(_) => &["from"],
            Self::Mul | Self::PointMul(_) => &["a", "b"],
        }
    }

    /// What the output is called.
    pub(crate) fn output(self) -> &'static str {
        match self {
            Self::Forward(_) | Self::Inverse(_) => "to",
            Self::Mul | Self::PointMul(_) => "product",
        }
    }

    /// The program, made the first time; a transform's may overwrite its input, which is `data` then.
    pub(crate) fn program(self, engine: &Engine, ring: &Ring, in_place: bool) -> Result<Program> {
        let job = match self {
            Self::Forward(order) => Job::new(ring, Op::Forward).order(order),
            Self::Inverse(order) => Job::new(ring, Op::Inverse).order(order),
            Self::Mul => Job::new(ring, Op::Mul),
            Self::PointMul(order) => Job::new(ring, Op::PointMul).order(order),
        };
        engine.program(&if in_place { job.in_place() } else { job })
    }

    /// Does it to elements in host memory, one after another, into memory of the same size. Residues are checked.
    ///
    /// # Errors
    /// [`Error::Argument`] with the argument's name, as [`Engine::mul`]; as [`Engine::program`] and
    /// [`HostCall::run`](ringforge::run::HostCall::run); [`Error::Arguments`] for another number of inputs.
    pub fn run(self, engine: &Engine, ring: &Ring, inputs: &[&[u8]], output: &mut [u8]) -> Result<()> {
        may_work()?;
        let named = || self.inputs().iter().zip(inputs);
        for (name, input) in named() {
            ring.check(input).map_err(|error| Error::Argument { name, error: Box::new(error) })?;
        }
        let batch = output.len() / ring.bytes();
        let program = self.program(engine, ring, false)?;
        let call = named().fold(program.on_host(batch), |call, (name, input)| call.input(name, input));
        call.output(self.output(), output).run()
    }

    /// Transforms elements in host memory in place. Residues are checked.
    ///
    /// # Errors
    /// As [`Operation::run`]; [`Error::Arguments`] for a product.
    pub fn run_in_place(self, engine: &Engine, ring: &Ring, elements: &mut [u8]) -> Result<()> {
        may_work()?;
        ring.check(elements).map_err(|error| Error::Argument { name: "elements", error: Box::new(error) })?;
        let program = self.program(engine, ring, true)?;
        program.on_host(elements.len() / ring.bytes()).output("data", elements).run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_by_both_ways_are_the_same() {
        let (engine, ring) = (Engine::cpu(), "17 : x^4 + 1".parse::<Ring>().unwrap());
        let a: Vec<u8> = [1u16, 2, 3, 4, 0, 0, 0, 16].iter().flat_map(|x| x.to_ne_bytes()).collect();
        let (mut product, mut values, mut squares) = (vec![0; 16], a.clone(), vec![0; 16]);
        Operation::Mul.run(&engine, &ring, &[&a, &a], &mut product).unwrap();
        Operation::Forward(Order::Natural).run_in_place(&engine, &ring, &mut values).unwrap();
        Operation::PointMul(Order::Natural).run(&engine, &ring, &[&values, &values], &mut squares).unwrap();
        Operation::Inverse(Order::Natural).run(&engine, &ring, &[&squares], &mut values).unwrap();
        assert_eq!(product, values);
        assert_eq!(product[..2], 10u16.to_ne_bytes());
    }

    #[test]
    fn bad_arguments_are_named() {
        let (engine, ring) = (Engine::cpu(), "17 : x^4 + 1".parse::<Ring>().unwrap());
        let refused = Operation::Mul.run(&engine, &ring, &[&[0; 8], &[17, 0, 0, 0, 0, 0, 0, 0]], &mut [0; 8]);
        assert_eq!(refused.unwrap_err().to_string(), "b: value 0 is not below the modulus 17");
        assert!(Operation::Mul.run(&engine, &ring, &[&[0; 8]], &mut [0; 8]).is_err());
        assert!(Operation::Mul.run(&engine, &ring, &[&[0; 8], &[0; 16]], &mut [0; 8]).is_err());
        assert!(Operation::Mul.run_in_place(&engine, &ring, &mut [0; 8]).is_err());
    }
}
