//! Operations on ring elements in host memory, where elements are bytes.

use ringforge::factorization::Factorization;
use ringforge::{Engine, Error, Job, Op, Order, Pipeline, PolyType, Program, Result, Value};

use crate::process::may_work;

/// The order of evaluations, and the number of layers of the transform that makes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Evaluations {
    /// The order of the evaluations.
    pub order: Order,
    /// The number of layers. `None` requires a complete transform, whose evaluations are numbers instead of
    /// polynomials.
    pub depth: Option<u32>,
}

impl From<Order> for Evaluations {
    fn from(order: Order) -> Self {
        Self { order, depth: None }
    }
}

/// An operation on ring elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Forward NTT, from coefficients to these evaluations.
    Forward(Evaluations),
    /// Inverse NTT, from these evaluations to coefficients.
    Inverse(Evaluations),
    /// Product of elements; inputs and output are coefficients.
    Mul,
    /// Pointwise product of these evaluations.
    PointMul(Evaluations),
    /// Sum of elements, as coefficients or as equal evaluations.
    Add,
    /// Difference of elements, as coefficients or as equal evaluations.
    Sub,
    /// Image under x → x^k, of coefficients or of evaluations.
    Automorphism(u64),
}

impl Operation {
    /// The names of the inputs.
    #[must_use]
    pub fn inputs(self) -> &'static [&'static str] {
        match self {
            Self::Forward(_) | Self::Inverse(_) | Self::Automorphism(_) => &["from"],
            Self::Mul | Self::PointMul(_) | Self::Add | Self::Sub => &["a", "b"],
        }
    }

    /// Returns an error unless the operation takes this number of inputs.
    pub(crate) fn takes(self, ring: &PolyType, count: usize) -> Result<()> {
        let right = self.inputs().len();
        if count == right {
            return Ok(());
        }
        let why = format!("takes {right} input(s), got {count}");
        Err(Error::Arguments { plan: format!("{self:?} in {ring}"), why })
    }

    /// The name of the output.
    pub(crate) fn output(self) -> &'static str {
        match self {
            Self::Mul | Self::PointMul(_) => "product",
            _ => "to",
        }
    }

    /// Returns the program, compiled on first use. A transform in place has one argument, `data`. `of` is the type of the
    /// inputs, which counts where the operation does not say it.
    pub(crate) fn program(self, engine: &Engine, of: &PolyType, in_place: bool) -> Result<Program> {
        let ring = &of.coefficients();
        // the plan of an operation that the engine has no job for
        let made = |result: &dyn for<'p> Fn(&'p Pipeline) -> Value<'p>| {
            if in_place {
                let why = "only transforms are in place".into();
                return Err(Error::Unsupported { job: format!("{self:?} in {ring}"), why });
            }
            engine.program_of(&(self, of.clone()), |planner| {
                let p = planner.pipeline(format!("{self:?} in {of}"));
                p.output(self.output(), result(&p));
                p.build()
            })
        };
        let (op, evaluations) = match self {
            Self::Add => return made(&|p| p.elements("a", of.clone()) + p.elements("b", of.clone())),
            Self::Sub => return made(&|p| p.elements("a", of.clone()) - p.elements("b", of.clone())),
            Self::Automorphism(k) => return made(&|p| p.elements("from", of.clone()).automorphism(k)),
            Self::Forward(evaluations) => (Op::Forward, Some(evaluations)),
            Self::Inverse(evaluations) => (Op::Inverse, Some(evaluations)),
            Self::Mul => (Op::Mul, None),
            Self::PointMul(evaluations) => (Op::PointMul, Some(evaluations)),
        };
        let job = evaluations.iter().fold(Job::new(ring, op), |job, of| job.order(of.order));
        let job = if in_place { job.in_place() } else { job };
        match evaluations.map(|of| of.depth) {
            // the key is not the job alone, so that a program cached without the check `ends_at_numbers` is not reused
            Some(None) => engine.program_of(&(job.clone(), "to numbers"), |planner| {
                ends_at_numbers(ring)?;
                planner.plan(&job)
            }),
            Some(Some(depth)) => engine.program(&job.depth(depth)),
            None => engine.program(&job),
        }
    }

    /// Runs the operation on contiguous elements in host memory. Inputs and output have the same size. Residues are
    /// checked.
    ///
    /// # Errors
    /// [`Error::Argument`] with the input's name if an input has incomplete elements or a residue that is not below its
    /// modulus; [`Error::Arguments`] for a wrong number of inputs; [`Error::Unsupported`] in a forked process (see
    /// [`may_work`]), and for an incomplete transform without a depth; also the errors of [`Engine::program`] and
    /// [`HostCall::run`](ringforge::run::HostCall::run).
    pub fn run(self, engine: &Engine, ring: &PolyType, inputs: &[&[u8]], output: &mut [u8]) -> Result<()> {
        may_work()?;
        self.takes(ring, inputs.len())?;
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
    /// The errors of [`Operation::run`]; [`Error::Unsupported`] for a product.
    pub fn run_in_place(self, engine: &Engine, ring: &PolyType, elements: &mut [u8]) -> Result<()> {
        may_work()?;
        ring.check(elements).map_err(|error| Error::Argument { name: "elements", error: Box::new(error) })?;
        let program = self.program(engine, ring, true)?;
        program.on_host(elements.len() / ring.bytes()).output("data", elements).run()
    }
}

/// Returns the number of layers of a ring's deepest transform, or `None` without a transform.
#[must_use]
pub fn depth(ring: &PolyType) -> Option<u32> {
    Factorization::of(ring, None).map(|split| split.depth()).ok()
}

/// Returns an error for a ring with an incomplete transform, whose polynomials a caller might mistake for numbers.
fn ends_at_numbers(ring: &PolyType) -> Result<()> {
    let split = Factorization::of(ring, None)?;
    let (degree, depth) = (split.leaf_degree() / ring.columns(), split.depth());
    if degree == 1 {
        return Ok(());
    }
    let why = format!(
        "the ring's deepest NTT has {depth} layers, and its evaluations are polynomials with {degree} coefficients: \
         pass depth {depth} to use it"
    );
    Err(Error::Unsupported { job: format!("a complete NTT in {ring}"), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_transforms_need_a_depth() {
        let engine = Engine::cpu();
        for (text, depth, degree) in [("11 : x^5 - 1", 0, 5), ("3329 : x^256 + 1", 7, 2)] {
            let ring: PolyType = text.parse().unwrap();
            assert_eq!(super::depth(&ring), Some(depth));
            let from: Vec<u8> = (0..ring.degree() as u16).flat_map(|i| (i % 11).to_ne_bytes()).collect();
            let mut to = vec![0; ring.bytes()];
            let run = |depth, to: &mut [u8]| {
                Operation::Forward(Evaluations { order: Order::DigitReversed, depth }).run(&engine, &ring, &[&from], to)
            };
            let refused = run(None, &mut to);
            let names = |why: &str| why.contains(&format!("with {degree} coefficients"));
            assert!(matches!(&refused, Err(Error::Unsupported { why, .. }) if names(why)), "{refused:?}");
            run(Some(depth), &mut to).unwrap();
            assert!(run(Some(depth + 1), &mut to).is_err());
            let whole = Evaluations { order: Order::DigitReversed, depth: Some(depth) };
            Operation::Inverse(whole).run_in_place(&engine, &ring, &mut to).unwrap();
            assert_eq!(to, from);
        }
    }

    #[test]
    fn direct_and_pointwise_products_agree() {
        let (engine, ring) = (Engine::cpu(), "17 : x^4 + 1".parse::<PolyType>().unwrap());
        let a: Vec<u8> = [1u16, 2, 3, 4, 0, 0, 0, 16].iter().flat_map(|x| x.to_ne_bytes()).collect();
        let (mut product, mut values, mut squares) = (vec![0; 16], a.clone(), vec![0; 16]);
        Operation::Mul.run(&engine, &ring, &[&a, &a], &mut product).unwrap();
        Operation::Forward(Order::Natural.into()).run_in_place(&engine, &ring, &mut values).unwrap();
        Operation::PointMul(Order::Natural.into()).run(&engine, &ring, &[&values, &values], &mut squares).unwrap();
        Operation::Inverse(Order::Natural.into()).run(&engine, &ring, &[&squares], &mut values).unwrap();
        assert_eq!(product, values);
        assert_eq!(product[..2], 10u16.to_ne_bytes());
    }

    #[test]
    fn bad_arguments_are_named() {
        let (engine, ring) = (Engine::cpu(), "17 : x^4 + 1".parse::<PolyType>().unwrap());
        let refused = Operation::Mul.run(&engine, &ring, &[&[0; 8], &[17, 0, 0, 0, 0, 0, 0, 0]], &mut [0; 8]);
        assert_eq!(refused.unwrap_err().to_string(), "b: the value at index 0 is not below the modulus 17");
        for count in [1, 3] {
            let refused = Operation::Mul.run(&engine, &ring, &vec![&[0; 8][..]; count], &mut [0; 8]);
            assert!(matches!(refused, Err(Error::Arguments { .. })), "{refused:?}");
        }
        assert!(Operation::Mul.run(&engine, &ring, &[&[0; 8], &[0; 16]], &mut [0; 8]).is_err());
        assert!(Operation::Mul.run_in_place(&engine, &ring, &mut [0; 8]).is_err());
    }

    #[test]
    fn sums_and_automorphisms() {
        let (engine, ring) = (Engine::cpu(), "17 : x^4 + 1".parse::<PolyType>().unwrap());
        let bytes = |x: [u16; 4]| x.map(u16::to_ne_bytes).concat();
        let (a, b) = (bytes([1, 2, 3, 16]), bytes([16, 0, 15, 16]));
        let run = |operation: Operation, inputs: &[&[u8]]| {
            let mut to = vec![0; ring.bytes()];
            operation.run(&engine, &ring, inputs, &mut to).map(|()| to)
        };
        assert_eq!(run(Operation::Add, &[&a, &b]).unwrap(), bytes([0, 2, 1, 15]));
        assert_eq!(run(Operation::Sub, &[&a, &b]).unwrap(), bytes([2, 2, 5, 0]));
        // 1 + 2x^3 + 3x^6 + 16x^9, where x^4 = -1
        assert_eq!(run(Operation::Automorphism(3), &[&a]).unwrap(), bytes([1, 16, 14, 2]));
        assert!(run(Operation::Automorphism(2), &[&a]).is_err());
        assert!(Operation::Add.run_in_place(&engine, &ring, &mut a.clone()).is_err());
    }
}
