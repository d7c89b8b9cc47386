//! Operations on vectors of scalars of BN254 on the device.

use anyhow::Result;
use ark_bn254::Fr;
use ark_ff::{Field, UniformRand};
use ark_std::rand::{SeedableRng, rngs::StdRng};
use ringforge::{Engine, Modulus, Pipeline, Value};
use ringforge_arkworks::EngineField;
use ringforge_cli::measure;
use ringforge_cli::record::Measurement;
use ringforge_cli::roofline::Roofline;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Scope};
use ringforge_msm::Vectors;

const LOG_N: u32 = 22;
const CPU_LOG_N: u32 = 12;

/// An operation on a vector v, an element z, and the factors 1, z, z², z³.
struct Operation {
    name: &'static str,
    /// Products of an element, and elements that it reads and writes.
    products: f64,
    elements: usize,
    step: for<'p> fn(&Vectors<'p>, &'p Pipeline, Value<'p>) -> Value<'p>,
    expected: fn(&[Fr], Fr) -> Vec<Fr>,
}

static OPERATIONS: [Operation; 4] = [
    Operation {
        name: "division by x − z",
        products: 2.0,
        elements: 3,
        step: |vectors, p, v| vectors.divide(v, p.input("z")),
        expected: |v, z| {
            let mut all = v.to_vec();
            for i in (0..v.len() - 1).rev() {
                all[i] = v[i] + z * all[i + 1];
            }
            all
        },
    },
    Operation {
        name: "running products",
        products: 2.0,
        elements: 3,
        step: |vectors, _, v| vectors.running_products(v),
        expected: |v, _| {
            let mut all = v.to_vec();
            for i in 1..v.len() {
                all[i] = all[i - 1] * v[i];
            }
            all
        },
    },
    Operation {
        name: "inverses",
        products: 4.0,
        elements: 2,
        step: |vectors, _, v| vectors.inverses(v),
        expected: |v, _| {
            let mut all = v.to_vec();
            ark_ff::batch_inversion(&mut all);
            all
        },
    },
    Operation {
        name: "combination of four",
        products: 4.0,
        elements: 2,
        step: |vectors, p, v| vectors.combination(&[v; 4], p.input("factors")),
        expected: |v, z| {
            let factor = Fr::ONE + z + z.square() + z.pow([3]);
            v.iter().map(|x| factor * x).collect()
        },
    },
];

pub(super) fn cases(scope: &Scope) -> Vec<Case> {
    let log_n = if scope.cpu { CPU_LOG_N } else { LOG_N };
    let (name, n) = (format!("vectors BN254 2^{log_n}"), 1 << scope.log_n(log_n));
    let names: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
    let case = Case::new(name.clone(), &names, move |bench, wanted| {
        let wanted = OPERATIONS.iter().filter(|operation| wanted.has(operation.name));
        wanted.map(|operation| operation.measured(bench, &name, n)).collect()
    });
    vec![case]
}

impl Operation {
    fn measured(&self, bench: &Bench, name: &str, n: usize) -> Result<Measurement> {
        let mut rng = StdRng::seed_from_u64(bench.seed);
        let v: Vec<Fr> = (0..n).map(|_| Fr::rand(&mut rng)).collect();
        let z = Fr::rand(&mut rng);
        let engine = Engine::on(bench.device.clone());
        let q = Modulus::from_hex("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001")?;
        let p = engine.pipeline(self.name);
        let vectors = Vectors::new(&p, &q, n)?;
        p.output("result", (self.step)(&vectors, &p, vectors.input("v")));
        let program = engine.compile(p)?;
        let stream = engine.stream()?;
        let words = |elements: &[Fr]| elements.iter().map(Fr::limbs).collect::<Vec<_>>();
        let factors = [Fr::ONE, z, z.square(), z.pow([3])];
        let given = [("v", words(&v)), ("z", words(&[z])), ("factors", words(&factors))];
        let given = given.iter().map(|(name, words)| Ok((*name, stream.upload(words)?))).collect::<Result<Vec<_>>>()?;
        let mut results = [stream.zeros(32 * n)?];
        let times = measure::runs(stream, &mut results, bench.effort, |result| {
            let mut call = program.on(stream, 1).output("result", result);
            for (name, buffer) in given.iter().filter(|(name, _)| program.plan().arg(name).is_some()) {
                call = call.input(name, buffer);
            }
            Ok(call.run()?)
        })?;
        let found: Vec<[u64; 4]> = stream.download(&results[0])?;
        let right = found == words(&(self.expected)(&v, z));
        let slots = 132.0 * self.products * n as f64;
        let floor = Roofline::new(Some(slots), None, 32 * self.elements * n, &bench.peaks);
        Ok(Measurement::new(name, self.name, 1, times).above(floor).checked("arkworks' arithmetic", right))
    }
}
