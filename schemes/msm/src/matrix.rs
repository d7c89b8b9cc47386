//! Sparse matrices on a device, and their products with vectors.

use std::collections::HashMap;

use rayon::prelude::*;
use ringforge::kernels::{Built, CustomKernel, Launch, Port};
use ringforge::{Buffer, Engine, Error, Modulus, Plan, Planner, Program, Result, Stream};

use crate::curve::prime_source;
use crate::field::{Field, Prime};
use crate::kernels::{constant, kernel, launch, prelude};
use crate::vectors::{ELEMENT, prime};

/// Terms that one thread multiplies. Longer rows are divided.
const PART: usize = 32;
const THREADS: u32 = 128;

/// A sparse matrix over a prime field in host memory, by rows. Elements have the form of [`Vectors`](crate::Vectors).
///
/// ```
/// use ringforge::{Engine, Modulus, U256};
/// use ringforge_msm::SparseMatrix;
///
/// let q = Modulus::from_hex("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001")?; // BN254's scalars
/// let words = |x: U256| bytemuck::pod_read_unaligned::<[u64; 4]>(x.to_le_bytes().as_ref());
/// let montgomery = |x: u32| words(q.to_montgomery(&U256::from(x)));
/// let rows = [vec![(montgomery(5), 0), (montgomery(2), 2)], vec![], vec![(montgomery(1), 1)]];
/// let engine = Engine::best();
/// let matrix = SparseMatrix::new(&q, rows, 3, 3)?.upload(&engine)?;
/// let stream = engine.stream()?;
/// let vector = stream.upload(&[10, 20, 30].map(montgomery))?;
/// let mut product = stream.secret_buffer(3 * 32)?;
/// matrix.times(stream, &vector, &mut product)?;
/// assert_eq!(stream.download::<[u64; 4]>(&product)?, [110, 0, 20].map(montgomery));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug)]
pub struct SparseMatrix {
    shape: Shape,
    /// For each part of a row, its first term; then the number of terms.
    parts: Vec<u32>,
    /// For each term, its column and the number of its coefficient.
    terms: Vec<[u32; 2]>,
    /// The different coefficients.
    coefficients: Vec<[u64; 4]>,
    /// For each row, its first part; then the number of parts.
    rows: Vec<u32>,
}

/// A [`SparseMatrix`] on a device.
#[derive(Debug)]
pub struct DeviceMatrix {
    program: Program,
    parts: Buffer,
    terms: Buffer,
    coefficients: Buffer,
    rows: Buffer,
}

/// The field of a matrix, and its sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shape {
    field: Prime<4>,
    rows: usize,
    columns: usize,
    parts: usize,
    terms: usize,
    coefficients: usize,
    /// Elements of a product: the rows, then zeros.
    padded: usize,
}

impl SparseMatrix {
    /// A matrix modulo q of rows, each of which has coefficients and their columns. A column may occur several times.
    /// Products have `padded` elements, with zeros after those of the rows.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless q is a prime of 193 to 256 bits; [`Error::TooLarge`] for a column that is not below
    /// `columns`, for more rows than `padded`, or if there are more than 2^32 − 1 terms, columns or elements of a product.
    pub fn new(
        q: &Modulus,
        rows: impl IntoIterator<Item: IntoIterator<Item = ([u64; 4], usize)>>,
        columns: usize,
        padded: usize,
    ) -> Result<Self> {
        let field = prime(q)?;
        let mut coefficients = vec![field.one, field.negate(field.one)];
        let mut numbers: HashMap<_, _> = coefficients.iter().copied().zip(0..).collect();
        let (mut parts, mut starts, mut terms) = (vec![0], vec![0], Vec::new());
        for row in rows {
            let begin = terms.len();
            for (coefficient, column) in row {
                if terms.len() > begin && (terms.len() - begin).is_multiple_of(PART) {
                    parts.push(terms.len() as u32);
                }
                if column >= columns {
                    return Err(Error::TooLarge { what: "a column", limit: columns.saturating_sub(1), got: column });
                }
                let number = *numbers.entry(coefficient).or_insert_with(|| {
                    coefficients.push(coefficient);
                    coefficients.len() as u32 - 1
                });
                terms.push([column as u32, number]);
            }
            if terms.len() > begin {
                parts.push(terms.len() as u32);
            }
            starts.push(parts.len() as u32 - 1);
        }
        let most = terms.len().max(columns).max(padded);
        if u32::try_from(most).is_err() {
            return Err(Error::TooLarge { what: "a sparse matrix", limit: u32::MAX as usize, got: most });
        }
        let rows = starts.len() - 1;
        if rows > padded {
            return Err(Error::TooLarge { what: "the rows of a sparse matrix", limit: padded, got: rows });
        }
        // ports have no size 0
        if terms.is_empty() {
            terms.push([0, 0]);
            parts.push(0);
        }
        let shape = Shape {
            field,
            rows,
            columns: columns.max(1),
            parts: parts.len() - 1,
            terms: terms.len(),
            coefficients: coefficients.len(),
            padded: padded.max(1),
        };
        Ok(Self { shape, parts, terms, coefficients, rows: starts })
    }

    /// The memory that the matrix takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        4 * (self.parts.len() + self.rows.len()) + 8 * self.terms.len() + ELEMENT * self.coefficients.len()
    }

    /// Copies the matrix to the device of an engine.
    ///
    /// # Errors
    /// The errors of [`Engine::program_of`]; those of the device if memory runs out or a driver call fails.
    pub fn upload(&self, engine: &Engine) -> Result<DeviceMatrix> {
        let shape = self.shape;
        let program = engine.program_of(&shape, |planner| shape.plan(planner))?;
        let stream = engine.stream()?;
        Ok(DeviceMatrix {
            program,
            parts: stream.upload(&self.parts)?,
            terms: stream.upload(&self.terms)?,
            coefficients: stream.upload(&self.coefficients)?,
            rows: stream.upload(&self.rows)?,
        })
    }

    /// The plan of a product.
    #[cfg(feature = "testkit")]
    pub(crate) fn plan(&self, planner: &Planner) -> Result<Plan> {
        self.shape.plan(planner)
    }

    /// The names and contents of the plan's arguments other than the vector.
    #[cfg(feature = "testkit")]
    pub(crate) fn tables(&self) -> Vec<(&'static str, Vec<u8>)> {
        let Self { parts, terms, coefficients, rows, .. } = self;
        let (parts, rows) = (bytemuck::cast_slice(parts), bytemuck::cast_slice(rows));
        let (terms, coefficients) = (bytemuck::cast_slice(terms), bytemuck::cast_slice(coefficients));
        [("parts", parts), ("terms", terms), ("coefficients", coefficients), ("rows", rows)]
            .map(|(name, bytes): (_, &[u8])| (name, bytes.to_vec()))
            .to_vec()
    }

    /// The plan of a product. Its kernels have the sources of products of matrices of any size modulo q, so it serves to
    /// compile them into a [`Bundle`](ringforge::cuda::Bundle).
    ///
    /// # Errors
    /// As [`SparseMatrix::new`].
    pub fn sample_plan(planner: &Planner, q: &Modulus) -> Result<Plan> {
        Self::new(q, [[]], 1, 1)?.shape.plan(planner)
    }
}

impl DeviceMatrix {
    /// The device memory that the matrix takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        [&self.parts, &self.terms, &self.coefficients, &self.rows].map(Buffer::len).iter().sum()
    }

    /// Enqueues the product of the matrix and a vector on a stream; on a GPU the call returns before the work is done.
    ///
    /// # Errors
    /// The errors of [`Call::run`](ringforge::run::Call::run), such as buffers of other sizes.
    pub fn times(&self, stream: &Stream, vector: &Buffer, product: &mut Buffer) -> Result<()> {
        let call = self.program.on(stream, 1).input("parts", &self.parts).input("terms", &self.terms);
        let call = call.input("coefficients", &self.coefficients).input("rows", &self.rows);
        call.input("vector", vector).output("product", product).run()
    }
}

impl Shape {
    fn plan(self, planner: &Planner) -> Result<Plan> {
        let p = planner.pipeline("sparse matrix times vector");
        let inputs = [
            p.shared("parts", 4 * (self.parts + 1)),
            p.shared("terms", 8 * self.terms),
            p.shared("coefficients", ELEMENT * self.coefficients),
            p.input("vector"),
        ];
        let [sums] = p.step(self.products(), &inputs);
        let [product] = p.step(self.sums(), &[p.shared("rows", 4 * (self.rows + 1)), sums]);
        p.output("product", product);
        p.build()
    }

    /// The prelude, and the launch of one thread for each of `count` elements of an item.
    fn launched(self, count: usize) -> (String, Launch, usize) {
        let blocks = count.div_ceil(THREADS as usize);
        let prelude = prelude(&prime_source::<4>("Q", &self.field.q), &constant("threads", THREADS as usize));
        (prelude, launch(THREADS, blocks, 0), blocks)
    }

    /// Parts of rows and a vector → the sum of each part.
    fn products(self) -> CustomKernel {
        let Self { field, columns, parts, terms, coefficients, .. } = self;
        let (prelude, launch, blocks) = self.launched(parts);
        kernel!(
            "sparse_rows",
            &[],
            [
                Port::shared(4 * (parts + 1)),
                Port::shared(8 * terms),
                Port::shared(ELEMENT * coefficients),
                Port::input(ELEMENT * columns).secret(),
                Port::output(ELEMENT * parts).secret()
            ],
            prelude,
            launch,
            [parts, terms, columns, coefficients, blocks],
            String::new(),
            move |items, args| {
                type Ports<'a> = (&'a [u32], &'a [[u32; 2]], &'a [[u64; 4]], &'a [[u64; 4]], &'a mut [[u64; 4]]);
                args.each(items, |_, (starts, terms, coefficients, vector, sums): Ports<'_>| {
                    ringforge_cpu::threads::start();
                    sums.par_iter_mut().zip(starts.par_windows(2)).for_each(|(sum, bounds)| {
                        *sum = terms[within(bounds, terms.len())].iter().fold([0; 4], |sum, [column, number]| {
                            let x = vector[(*column as usize).min(columns - 1)];
                            match number {
                                0 => field.add(sum, x),
                                1 => field.sub(sum, x),
                                number => {
                                    let coefficient = coefficients[(*number as usize).min(coefficients.len() - 1)];
                                    field.add(sum, field.mul(coefficient, x))
                                }
                            }
                        });
                    });
                    Ok(())
                })
            }
        )
    }

    /// The sums of parts of rows → the product.
    fn sums(self) -> CustomKernel {
        let Self { field, rows, parts, padded, .. } = self;
        let (prelude, launch, blocks) = self.launched(padded);
        kernel!(
            "sum_parts",
            &[],
            [
                Port::shared(4 * (rows + 1)),
                Port::input(ELEMENT * parts).secret(),
                Port::output(ELEMENT * padded).secret()
            ],
            prelude,
            launch,
            [rows, parts, padded, blocks],
            String::new(),
            move |items, args| {
                args.each(items, |_, (starts, parts, rows): (&[u32], &[[u64; 4]], &mut [[u64; 4]])| {
                    rows.fill([0; 4]);
                    for (row, bounds) in rows.iter_mut().zip(starts.windows(2)) {
                        let own = &parts[within(bounds, parts.len())];
                        *row = own.iter().fold([0; 4], |sum, part| field.add(sum, *part));
                    }
                    Ok(())
                })
            }
        )
    }
}

/// The range between two indices, as far as it is within an array of this length.
fn within(bounds: &[u32], length: usize) -> core::ops::Range<usize> {
    let end = (bounds[1] as usize).min(length);
    (bounds[0] as usize).min(end)..end
}
