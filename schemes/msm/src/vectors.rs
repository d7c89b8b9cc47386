//! Vectors of field elements on a device: what a prover computes between multiplications.

use ringforge::kernels::{Built, CustomKernel, Launch, Port};
use ringforge::{Error, Modulus, Pipeline, Result, Value, Width};

use crate::curve::prime_source;
use crate::field::{Field, Prime};
use crate::kernels::{INVERSION, constant, flag, inversion_shared, kernel, launch, prelude};

/// Size in bytes of an element.
pub(crate) const ELEMENT: usize = 32;

/// Operations on vectors of elements of a prime field, as steps of a [`Pipeline`].
///
/// An element is four 64-bit limbs in Montgomery form, as 2^256 times the number modulo the prime, least significant limb
/// first and below the prime. This is the form of a [`Ring`](ringforge::Ring)'s elements over such a prime, so a value that
/// [holds](Value::holding) such elements can be transformed, added and multiplied. A vector has the same number of elements
/// in every operation, and each item of a batch has its own vectors.
///
/// ```
/// use ringforge::{Engine, Modulus, U256};
/// use ringforge_msm::Vectors;
///
/// let q = Modulus::from_hex("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001")?; // BN254's scalars
/// let engine = Engine::best();
/// let p = engine.pipeline("division by x − z");
/// let vectors = Vectors::new(&p, &q, 4)?;
/// p.output("quotient", vectors.divide(vectors.input("polynomial"), p.input("z")));
/// let program = engine.compile(p)?;
/// let words = |x: U256| bytemuck::pod_read_unaligned::<[u64; 4]>(x.to_le_bytes().as_ref());
/// let montgomery = |x: u32| words(q.to_montgomery(&U256::from(x)));
/// let polynomial = [7, 5, 3, 1].map(montgomery); // 7 + 5x + 3x² + x³ = (x − 2) (x² + 5x + 15) + 37
/// let (z, mut quotient) = (montgomery(2), [[0; 4]; 4]);
/// let call = program.on_host(1).input("polynomial", &polynomial).input("z", &z);
/// call.output("quotient", &mut quotient).run()?;
/// assert_eq!(quotient, [37, 15, 5, 1].map(montgomery));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Vectors<'p> {
    pipeline: &'p Pipeline,
    field: Prime<4>,
    count: usize,
    threads: u32,
    /// Elements that a thread computes one after another.
    elements: usize,
}

/// Vectors that one step combines.
const TERMS: usize = 4;

/// A recurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recurrence {
    Horner,
    Products,
    /// Products from the first element on.
    ForwardProducts,
}

/// A permutation of the elements.
#[derive(Debug, Clone, Copy)]
enum Permutation {
    /// By this number of elements.
    Rotation(usize),
    /// Of indices of this many bits.
    BitReversal(u32),
}

/// The results that a launch computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// The first result of each tile, as if nothing came after the tile.
    Heads,
    /// All results of a tile per block, from the carries.
    Tiles,
    /// All results, by one block.
    Alone,
}

impl<'p> Vectors<'p> {
    /// Vectors of `count` elements modulo q.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless q is a prime of 193 to 256 bits and `count` is at least one; [`Error::TooLarge`] for
    /// more than 2^31 elements.
    pub fn new(pipeline: &'p Pipeline, q: &Modulus, count: usize) -> Result<Self> {
        let field = prime(q)?;
        if count == 0 {
            let job = "vectors".into();
            return Err(Error::Unsupported { job, why: "they must have at least one element".into() });
        }
        if count > MOST {
            return Err(Error::TooLarge { what: "a vector", limit: MOST, got: count });
        }
        Ok(Self { pipeline, field, count, threads: 128, elements: 16 })
    }

    /// The same vectors with small blocks, so that few elements are several tiles.
    #[cfg(feature = "testkit")]
    pub(crate) fn of_few_threads(self) -> Self {
        Self { threads: 4, elements: 2, ..self }
    }

    /// Declares an input of one vector per item.
    #[track_caller]
    pub fn input(&self, name: &str) -> Value<'p> {
        self.pipeline.bytes(name, ELEMENT * self.count)
    }

    /// The value at z of the polynomial with these coefficients, constant term first: one element.
    #[must_use]
    #[track_caller]
    pub fn evaluate(&self, coefficients: Value<'p>, z: Value<'p>) -> Value<'p> {
        let heads = self.scan(Recurrence::Horner, Pass::Heads, [coefficients, z, coefficients]);
        if self.tiles() == 1 { heads } else { self.carries(Recurrence::Horner, heads, z).part(0..ELEMENT) }
    }

    /// The value at z of a polynomial p with these coefficients, and then the coefficients of (p(x) − p(z)) / (x − z):
    /// together as many elements as p has.
    #[must_use]
    #[track_caller]
    pub fn divide(&self, coefficients: Value<'p>, z: Value<'p>) -> Value<'p> {
        self.recurrence(Recurrence::Horner, coefficients, z)
    }

    /// Running products: element i is the product of elements 0 to i.
    #[must_use]
    #[track_caller]
    pub fn running_products(&self, values: Value<'p>) -> Value<'p> {
        self.recurrence(Recurrence::ForwardProducts, values, values)
    }

    /// The inverses of the elements, with 0 for 0.
    #[must_use]
    #[track_caller]
    pub fn inverses(&self, values: Value<'p>) -> Value<'p> {
        let field = self.field;
        let kernel = kernel!(
            "vector_inverses",
            &[INVERSION],
            [self.port(), self.result(self.count)],
            self.prelude(""),
            launch(self.threads, self.tiles(), inversion_shared(self.threads, ELEMENT)),
            [self.count, self.tiles()],
            String::new(),
            move |items, args| {
                args.each(items, |_, (values, results)| {
                    inverses(field, values, results);
                    Ok(())
                })
            }
        );
        let [inverses] = self.pipeline.step(kernel, &[values]);
        inverses
    }

    /// The powers 1, z, z², … of an element.
    #[must_use]
    #[track_caller]
    pub fn powers(&self, z: Value<'p>) -> Value<'p> {
        let field = self.field;
        let kernel = kernel!(
            "vector_powers",
            &[],
            [Port::input(ELEMENT), Port::output(ELEMENT * self.count)],
            self.prelude(""),
            launch(self.threads, self.tiles(), 0),
            [self.count, self.tiles()],
            String::new(),
            move |items, args| {
                args.each(items, |_, (z, results): (&[u64; 4], &mut [[u64; 4]])| {
                    let mut power = field.one;
                    for result in results {
                        *result = power;
                        power = field.mul(power, *z);
                    }
                    Ok(())
                })
            }
        );
        let [powers] = self.pipeline.step(kernel, &[z]);
        powers
    }

    /// The linear combination Σ f_j v_j of vectors v_0, v_1, …, at least one. `factors` has the elements f_0, f_1, …, one
    /// for each vector. Without vectors, [`Pipeline::build`] returns an error.
    #[must_use]
    #[track_caller]
    pub fn combination(&self, vectors: &[Value<'p>], factors: Value<'p>) -> Value<'p> {
        let (mut sum, mut from) = (factors, 0);
        for some in vectors.chunks(TERMS) {
            let kernel = self.combined(vectors.len(), from, some.len());
            let at = |i: usize| some[i.min(some.len() - 1)];
            let before = if from == 0 { at(0) } else { sum };
            [sum] = self.pipeline.step(kernel, &[factors, at(0), at(1), at(2), at(3), before]);
            from += some.len();
        }
        if vectors.is_empty() {
            // refused for want of an input
            [sum] = self.pipeline.step(self.combined(1, 0, 1), &[]);
        }
        sum
    }

    /// The rotation by a number of elements: element i of the result is element i + `by` of the vector, modulo the
    /// number of elements. For evaluations of p(x) at the powers of ω in natural order, these are the evaluations of
    /// p(ω^by x).
    #[must_use]
    #[track_caller]
    pub fn rotate(&self, values: Value<'p>, by: isize) -> Value<'p> {
        self.permuted(Permutation::Rotation(by.rem_euclid(self.count as isize) as usize), &[values])
    }

    /// The elements in bit-reversed order, as gnark keeps them: element i of the result is the element whose number has
    /// the bits of i in reverse. Their number must be a power of two; otherwise [`Pipeline::build`] returns an error.
    #[must_use]
    #[track_caller]
    pub fn bit_reversed(&self, values: Value<'p>) -> Value<'p> {
        match self.count {
            1 => self.permuted(Permutation::Rotation(0), &[values]),
            count if count.is_power_of_two() => self.permuted(Permutation::BitReversal(count.ilog2()), &[values]),
            // refused for want of an input
            count => self.permuted(Permutation::BitReversal(count.ilog2()), &[]),
        }
    }

    #[track_caller]
    fn permuted(&self, permutation: Permutation, values: &[Value<'p>]) -> Value<'p> {
        let count = self.count;
        let number = match permutation {
            Permutation::Rotation(by) => by,
            Permutation::BitReversal(bits) => bits as usize,
        };
        let kernel = kernel!(
            "vector_permutation",
            &[],
            [self.port(), self.result(self.count)],
            self.prelude(&flag("reverses", matches!(permutation, Permutation::BitReversal(_)))),
            launch(self.threads, self.lines(), 0),
            [count, number, self.lines()],
            format!("{permutation:?}"),
            move |items, args| {
                args.each(items, |_, (values, results): (&[[u64; 4]], &mut [[u64; 4]])| {
                    for (i, result) in results.iter_mut().enumerate() {
                        *result = values[match permutation {
                            Permutation::Rotation(by) => (i + by) % count,
                            Permutation::BitReversal(bits) => i.reverse_bits() >> (usize::BITS - bits),
                        }];
                    }
                    Ok(())
                })
            }
        );
        let [permuted] = self.pipeline.step(kernel, values);
        permuted
    }

    /// The kernel that adds `terms` vectors times their factors, from number `from` of `all` on. After the first ones, it
    /// also adds the sum of those before.
    fn combined(&self, all: usize, from: usize, terms: usize) -> CustomKernel {
        let (field, continues) = (self.field, from > 0);
        let mut ports = vec![Port::input(ELEMENT * all)];
        ports.extend((0..=TERMS).map(|_| self.port()));
        ports.push(self.result(self.count));
        kernel!(
            "vector_combination",
            &[],
            ports,
            self.prelude(&(constant("terms", terms) + &flag("continues", continues))),
            launch(self.threads, self.lines(), 0),
            [self.count, all, from, self.lines()],
            String::new(),
            move |items, args| {
                type In<'a> = &'a [[u64; 4]];
                args.each(items, |_, (f, v0, v1, v2, v3, before, sums): (In, In, In, In, In, In, &mut [[u64; 4]])| {
                    for (i, sum) in sums.iter_mut().enumerate() {
                        let start = if continues { before[i] } else { [0; 4] };
                        let terms = [v0, v1, v2, v3].into_iter().zip(&f[from..from + terms]);
                        *sum = terms.fold(start, |sum, (v, f)| field.add(sum, field.mul(*f, v[i])));
                    }
                    Ok(())
                })
            }
        )
    }

    /// All results of a recurrence.
    #[track_caller]
    fn recurrence(&self, of: Recurrence, values: Value<'p>, z: Value<'p>) -> Value<'p> {
        if self.tiles() == 1 {
            return self.scan(of, Pass::Alone, [values, z, values]);
        }
        let heads = self.scan(of, Pass::Heads, [values, z, values]);
        let carries = self.carries(of, heads, z);
        self.scan(of, Pass::Tiles, [values, z, carries])
    }

    /// The first results of all tiles, from those of each tile alone.
    #[track_caller]
    fn carries(&self, of: Recurrence, heads: Value<'p>, z: Value<'p>) -> Value<'p> {
        let (carries, z_to_tile) = (Self { count: self.tiles(), ..*self }, self.tile().ilog2());
        let of = if of == Recurrence::Horner { of } else { Recurrence::Products };
        let z = if of == Recurrence::Horner { z } else { heads };
        carries.scan_with(of, Pass::Alone, z_to_tile, [heads, z, heads])
    }

    #[track_caller]
    fn scan(&self, of: Recurrence, pass: Pass, inputs: [Value<'p>; 3]) -> Value<'p> {
        self.scan_with(of, pass, 0, inputs)
    }

    /// A pass of a recurrence, with z^(2^log) in place of z.
    #[track_caller]
    fn scan_with(&self, of: Recurrence, pass: Pass, log: u32, inputs: [Value<'p>; 3]) -> Value<'p> {
        let (field, count, tile, tiles) = (self.field, self.count, self.tile(), self.tiles());
        let z = if of == Recurrence::Horner { Port::input(ELEMENT) } else { self.port() };
        let carries = if pass == Pass::Tiles { tiles } else { count };
        let results = self.result(if pass == Pass::Heads { tiles } else { count });
        let products = of != Recurrence::Horner;
        // a sum for each thread, and a power for each step of the scan
        let shared = (self.threads as usize + self.threads.ilog2() as usize) * ELEMENT;
        let task = flag("products", products)
            + &flag("forward", of == Recurrence::ForwardProducts)
            + &flag("heads", pass == Pass::Heads)
            + &flag("alone", pass == Pass::Alone);
        let kernel = kernel!(
            "vector_scan",
            &[],
            [self.port(), z, Port::input(ELEMENT * carries).secret(), results],
            self.prelude(&task),
            launch(self.threads, if pass == Pass::Alone { 1 } else { tiles }, shared),
            [count, tiles, log as usize],
            format!("{of:?}, {pass:?}"),
            move |items, args| {
                type In<'a> = &'a [[u64; 4]];
                args.each(items, |_, (values, z, carries, results): (In, In, In, &mut [[u64; 4]])| {
                    let y = (0..log).fold(z[0], |y, _| field.square(y));
                    let before_all = if products { field.one } else { [0; 4] };
                    let mut run = before_all;
                    for i in (0..count).rev() {
                        let at = if of == Recurrence::ForwardProducts { count - 1 - i } else { i };
                        if i % tile == tile - 1 && pass != Pass::Alone {
                            let next = carries.get(i / tile + 1).filter(|_| pass == Pass::Tiles);
                            run = next.copied().unwrap_or(before_all);
                        }
                        run = match products {
                            true => field.mul(run, values[at]),
                            false => field.add(field.mul(run, y), values[at]),
                        };
                        match pass {
                            Pass::Heads if i % tile == 0 => results[i / tile] = run,
                            Pass::Heads => {}
                            Pass::Tiles | Pass::Alone => results[at] = run,
                        }
                    }
                    Ok(())
                })
            }
        );
        let [results] = self.pipeline.step(kernel, &inputs);
        results
    }

    fn port(&self) -> Port {
        Port::input(ELEMENT * self.count).secret()
    }

    fn result(&self, count: usize) -> Port {
        Port::output(ELEMENT * count).secret()
    }

    /// Elements that a block computes at once, if a thread computes several.
    fn tile(&self) -> usize {
        self.threads as usize * self.elements
    }

    fn tiles(&self) -> usize {
        self.count.div_ceil(self.tile())
    }

    /// Blocks if a thread computes one element.
    fn lines(&self) -> usize {
        self.count.div_ceil(self.threads as usize)
    }

    fn prelude(&self, constants: &str) -> String {
        let sizes = constant("threads", self.threads as usize) + &constant("elements", self.elements);
        prelude(&prime_source::<4>("Q", &self.field.q), &(sizes + constants))
    }
}

/// The most elements of a vector.
const MOST: usize = 1 << 31;

/// The field of a modulus.
pub(crate) fn prime(q: &Modulus) -> Result<Prime<4>> {
    if !q.is_prime() || q.width() != Width::W256 {
        let (job, why) = (format!("vectors modulo {q}"), "it is not a prime of 193 to 256 bits".into());
        return Err(Error::Unsupported { job, why });
    }
    Ok(Prime::new(bytemuck::pod_read_unaligned(q.value().to_le_bytes().as_ref())))
}

/// Montgomery's trick: one inversion for all elements.
fn inverses(field: Prime<4>, values: &[[u64; 4]], results: &mut [[u64; 4]]) {
    let factor = |x: [u64; 4]| if field.is_zero(x) { field.one } else { x };
    let mut product = field.one;
    for (result, value) in results.iter_mut().zip(values) {
        *result = product;
        product = field.mul(product, factor(*value));
    }
    let mut inverse = field.inverse(product);
    for (result, value) in results.iter_mut().zip(values).rev() {
        *result = if field.is_zero(*value) { *value } else { field.mul(*result, inverse) };
        inverse = field.mul(inverse, factor(*value));
    }
}
