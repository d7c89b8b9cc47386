//! Sparse matrices on the device, and their products with vectors.

use core::any::TypeId;
use std::collections::HashMap;

use rayon::prelude::*;
use ringforge::kernels::{Built, CustomKernel, Launch, Port};
use ringforge::{Buffer, Engine, Error, Plan, Planner, Program, Result, Stream};
use ringforge_msm::prime_source;

use crate::field::{EngineField, WORD};

/// Terms that one thread multiplies. Longer rows are divided.
const PART: usize = 32;
const THREADS: u32 = 128;

/// A [`Sparse`] matrix on a device.
#[derive(Debug)]
pub(crate) struct DeviceMatrix {
    program: Program,
    /// For each part of a row, its first term.
    parts: Buffer,
    terms: Buffer,
    coefficients: Buffer,
    /// For each row, its first part.
    rows: Buffer,
}

/// The sizes of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Sizes {
    rows: usize,
    columns: usize,
    parts: usize,
    terms: usize,
    coefficients: usize,
    /// Elements of a product: the rows, then zeros.
    padded: usize,
}

/// A matrix by rows, as it is copied to a device: compressed sparse rows, with each coefficient stored once.
#[derive(Debug)]
pub(crate) struct Sparse {
    sizes: Sizes,
    /// For each part of a row, its first term; then the number of terms.
    parts: Vec<u32>,
    /// For each term, its column and the number of its coefficient.
    terms: Vec<[u32; 2]>,
    coefficients: Vec<[u64; 4]>,
    /// For each row, its first part; then the number of parts.
    rows: Vec<u32>,
}

impl Sparse {
    /// Rows of coefficients and their columns. Products have `padded` elements.
    pub(crate) fn new<'a, F: EngineField>(
        matrix: impl Iterator<Item = &'a [(F, usize)]>,
        columns: usize,
        padded: usize,
    ) -> Result<Self> {
        let mut numbers = HashMap::from([(F::ONE, 0), (-F::ONE, 1)]);
        let mut coefficients = vec![F::ONE.limbs(), (-F::ONE).limbs()];
        let (mut parts, mut rows, mut terms) = (vec![0], vec![0], Vec::new());
        for row in matrix {
            for part in row.chunks(PART) {
                for (coefficient, column) in part {
                    let number = *numbers.entry(*coefficient).or_insert_with(|| {
                        coefficients.push(coefficient.limbs());
                        coefficients.len() as u32 - 1
                    });
                    terms.push([*column as u32, number]);
                }
                parts.push(terms.len() as u32);
            }
            rows.push(parts.len() as u32 - 1);
        }
        let most = terms.len().max(columns).max(padded);
        if u32::try_from(most).is_err() {
            return Err(Error::TooLarge { what: "a constraint matrix", limit: u32::MAX as usize, got: most });
        }
        // ports have no size 0
        if terms.is_empty() {
            terms.push([0, 0]);
            parts.push(0);
        }
        let sizes = Sizes {
            rows: rows.len() - 1,
            columns,
            parts: parts.len() - 1,
            terms: terms.len(),
            coefficients: coefficients.len(),
            padded,
        };
        Ok(Self { sizes, parts, terms, coefficients, rows })
    }

    /// The memory that the matrix takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        4 * (self.parts.len() + self.rows.len()) + 8 * self.terms.len() + WORD * self.coefficients.len()
    }

    /// Copies the matrix to the device of `engine`.
    pub(crate) fn upload<F: EngineField>(&self, engine: &Engine) -> Result<DeviceMatrix> {
        let sizes = self.sizes;
        let program = engine.program_of(&(TypeId::of::<F>(), sizes), |planner| plan::<F>(planner, sizes))?;
        let stream = engine.stream()?;
        Ok(DeviceMatrix {
            program,
            parts: stream.upload(&self.parts)?,
            terms: stream.upload(&self.terms)?,
            coefficients: stream.upload(&self.coefficients)?,
            rows: stream.upload(&self.rows)?,
        })
    }
}

impl DeviceMatrix {
    /// The plan of a product. Its kernels have the sources of products of any size.
    pub(crate) fn sample_plan<F: EngineField>(planner: &Planner) -> Result<Plan> {
        plan::<F>(planner, Sizes { rows: 1, columns: 1, parts: 1, terms: 1, coefficients: 2, padded: 1 })
    }

    /// The device memory that the matrix takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        [&self.parts, &self.terms, &self.coefficients, &self.rows].map(Buffer::len).iter().sum()
    }

    /// Enqueues the product of the matrix and a vector, both in Montgomery form.
    pub(crate) fn times(&self, stream: &Stream, vector: &Buffer, product: &mut Buffer) -> Result<()> {
        let call = self.program.on(stream, 1).input("parts", &self.parts).input("terms", &self.terms);
        let call = call.input("coefficients", &self.coefficients).input("rows", &self.rows);
        call.input("vector", vector).output("product", product).run()
    }
}

fn plan<F: EngineField>(planner: &Planner, sizes: Sizes) -> Result<Plan> {
    let p = planner.pipeline("sparse matrix times vector");
    let [sums] = p.step(
        sparse_rows::<F>(sizes),
        &[
            p.shared("parts", 4 * (sizes.parts + 1)),
            p.shared("terms", 8 * sizes.terms),
            p.shared("coefficients", WORD * sizes.coefficients),
            p.input("vector"),
        ],
    );
    let [product] = p.step(sum_parts::<F>(sizes), &[p.shared("rows", 4 * (sizes.rows + 1)), sums]);
    p.output("product", product);
    p.build()
}

/// The launch of one thread for each of `count` elements of an item, with the field F in the prelude.
fn built<F: EngineField>(count: usize) -> Built {
    let blocks = count.div_ceil(THREADS as usize);
    let launch = Launch {
        items_per_block: 1,
        blocks_per_item: u32::try_from(blocks).unwrap_or(u32::MAX),
        ..Launch::thread_per_item(THREADS)
    };
    let task = format!("struct Task {{\n    static constexpr rf::u32 threads = {THREADS};\n}};\n");
    Built::new(launch).lines(&(prime_source::<4>("Q", &F::MODULUS.0) + &task))
}

fn sparse_rows<F: EngineField>(sizes: Sizes) -> CustomKernel {
    let Sizes { columns, parts, terms, coefficients, .. } = sizes;
    let ports = [
        Port::shared(4 * (parts + 1)),
        Port::shared(8 * terms),
        Port::shared(WORD * coefficients),
        Port::input(WORD * columns).secret(),
        Port::output(WORD * parts).secret(),
    ];
    let blocks = parts.div_ceil(THREADS as usize);
    let numbers = [parts, terms, columns, coefficients, blocks].map(|number| number as u64);
    // SAFETY: A thread writes the sum of its own part. What it reads as an index is limited to the array.
    #[allow(unsafe_code)]
    let kernel = unsafe {
        CustomKernel::new(
            ("sparse_rows", include_str!("kernels/sparse_rows.cu"), &[]),
            ports,
            move |_| Ok(built::<F>(parts)),
            move |items, args| {
                type Ports<'a> = (&'a [u32], &'a [[u32; 2]], &'a [[u64; 4]], &'a [[u64; 4]], &'a mut [[u64; 4]]);
                args.each(items, |_, (starts, terms, coefficients, vector, sums): Ports<'_>| {
                    ringforge_cpu::threads::start();
                    sums.par_iter_mut().zip(starts.par_windows(2)).for_each(|(sum, bounds)| {
                        let own = &terms[bounds[0] as usize..bounds[1] as usize];
                        let of = |[column, number]: &[u32; 2]| {
                            let x = F::from_limbs(vector[*column as usize]);
                            match number {
                                0 => x,
                                1 => -x,
                                number => x * F::from_limbs(coefficients[*number as usize]),
                            }
                        };
                        *sum = own.iter().map(of).sum::<F>().limbs();
                    });
                    Ok(())
                })
            },
        )
        .with_numbers(numbers)
    };
    kernel
}

fn sum_parts<F: EngineField>(sizes: Sizes) -> CustomKernel {
    let Sizes { rows, parts, padded, .. } = sizes;
    let ports =
        [Port::shared(4 * (rows + 1)), Port::input(WORD * parts).secret(), Port::output(WORD * padded).secret()];
    let blocks = padded.div_ceil(THREADS as usize);
    let numbers = [rows, parts, padded, blocks].map(|number| number as u64);
    // SAFETY: A thread writes its own row. What it reads as an index is limited to the array.
    #[allow(unsafe_code)]
    let kernel = unsafe {
        CustomKernel::new(
            ("sum_parts", include_str!("kernels/sum_parts.cu"), &[]),
            ports,
            move |_| Ok(built::<F>(padded)),
            move |items, args| {
                args.each(items, |_, (starts, parts, rows): (&[u32], &[[u64; 4]], &mut [[u64; 4]])| {
                    rows.fill([0; 4]);
                    for (row, bounds) in rows.iter_mut().zip(starts.windows(2)) {
                        let own = &parts[bounds[0] as usize..bounds[1] as usize];
                        *row = own.iter().map(|limbs| F::from_limbs(*limbs)).sum::<F>().limbs();
                    }
                    Ok(())
                })
            },
        )
        .with_numbers(numbers)
    };
    kernel
}

#[cfg(test)]
mod tests {
    use ark_bn254::Fr;
    use ark_ff::{AdditiveGroup, Field, UniformRand};
    use ark_groth16::r1cs_to_qap::evaluate_constraint;
    use ark_relations::gr1cs::Matrix;
    use ark_std::rand::Rng;
    use ringforge_testkit::Target;

    use super::*;

    #[test]
    fn products_are_those_of_arkworks() {
        let mut rng = ark_std::test_rng();
        for device in [Target::Cpu, Target::EmulatorSanitized, Target::Cuda].into_iter().filter_map(Target::device) {
            let engine = Engine::on(device);
            let stream = engine.stream().unwrap();
            for lengths in [&[0usize, 0][..], &[1, 0, 3, 2 * PART, 2 * PART + 1, 0]] {
                let columns = 7;
                let vector: Vec<Fr> = (0..columns).map(|_| Fr::rand(&mut rng)).collect();
                let mut term = || {
                    let factors = [Fr::ZERO, Fr::ONE, -Fr::ONE, Fr::from(5), Fr::rand(&mut rng)];
                    (factors[rng.gen_range(0..5)], rng.gen_range(0..columns))
                };
                let matrix: Matrix<Fr> = lengths.iter().map(|length| (0..*length).map(|_| term()).collect()).collect();
                let sparse = Sparse::new(matrix.iter().map(Vec::as_slice), columns, 8).unwrap();
                let on_device = sparse.upload::<Fr>(&engine).unwrap();
                assert_eq!(on_device.bytes(), sparse.bytes());
                let words: Vec<[u64; 4]> = vector.iter().map(Fr::limbs).collect();
                let mut product = stream.zeros(8 * WORD).unwrap();
                on_device.times(stream, &stream.upload(&words).unwrap(), &mut product).unwrap();
                let found: Vec<[u64; 4]> = stream.download(&product).unwrap();
                let mut expected: Vec<Fr> = matrix.iter().map(|row| evaluate_constraint(row, &vector)).collect();
                expected.resize(8, Fr::ZERO);
                assert_eq!(found.into_iter().map(Fr::from_limbs).collect::<Vec<Fr>>(), expected, "{engine:?}");
            }
        }
    }
}
