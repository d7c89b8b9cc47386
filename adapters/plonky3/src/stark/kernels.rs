//! The kernels of a prover, with their CPU references. Elements of the extension are D words each, lowest coefficient
//! first.

mod constraints;
mod folding;
mod lookups;
mod openings;

use core::marker::PhantomData;
use core::ops::Range;
use std::fmt::Write;

use p3_field::ExtensionField;
use ringforge::kernels::{Args, Built, CustomKernel, Header, Launch, Port};
use ringforge::{Limits, Plan, Planner, Result};

pub(super) use self::constraints::Domain;
pub(super) use self::folding::{MOST_LOG_ARITY, fold_factors, fold_rows};
pub(super) use self::lookups::SUMMED;
pub(super) use self::openings::point_of;
use super::elements::word;
use super::unsupported;
use crate::field::{EngineField, inverse_of_modulus};
use crate::layout::Layout;
use crate::resident::Matrix;

const HEADERS: &[Header] = &[
    Header { name: "stark.cuh", text: include_str!("../stark.cuh") },
    Header { name: "stark_interpreter.cuh", text: include_str!("../stark_interpreter.cuh") },
];
const THREADS: u32 = 128;
/// Elements that share an inversion.
const INVERTED: usize = 8;

/// The kernels over a field and its extension F\[x\]/(x^D − W).
#[derive(Debug)]
pub(super) struct Kernels<F, EF> {
    /// W of the extension F\[x\]/(x^D − W).
    pub(super) nonresidue: F,
    extension: PhantomData<fn() -> EF>,
}

impl<F: Copy, EF> Copy for Kernels<F, EF> {}
impl<F: Copy, EF> Clone for Kernels<F, EF> {
    fn clone(&self) -> Self {
        *self
    }
}

/// The size and the layout of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) layout: Layout,
}

impl Shape {
    pub(super) fn of<F: EngineField>(matrix: &Matrix<F>) -> Self {
        Self { rows: matrix.height(), columns: matrix.width(), layout: matrix.layout() }
    }

    /// That of a matrix without columns.
    pub(super) fn none(rows: usize) -> Self {
        Self { rows, columns: 0, layout: Layout::Columns { stride: rows } }
    }

    fn elements(self) -> usize {
        self.layout.elements(self.rows, self.columns)
    }

    pub(super) fn strides(self) -> [usize; 2] {
        self.layout.strides(self.columns)
    }
}

type Words<'a, F> = &'a [<F as EngineField>::Word];
type WordsMut<'a, F> = &'a mut [<F as EngineField>::Word];

impl<F: EngineField, EF: ExtensionField<F>> Kernels<F, EF> {
    /// # Errors
    /// [`Error::Unsupported`] unless the extension is by a root of x^D − W with D = 2 or 4.
    pub(super) fn new() -> Result<Self> {
        let power = EF::ith_basis_element(1).map(|x| x.exp_u64(EF::DIMENSION as u64)).unwrap_or_default();
        match power.as_basis_coefficients_slice() {
            [nonresidue, rest @ ..] if matches!(EF::DIMENSION, 2 | 4) && rest.iter().all(F::is_zero) => {
                Ok(Self { nonresidue: *nonresidue, extension: PhantomData })
            }
            _ => {
                let why = format!("its extension of degree {} is not by a root of x^2 − W or x^4 − W", EF::DIMENSION);
                Err(unsupported(why))
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn kernel<const N: usize>(
        self,
        (name, text): (&'static str, &'static str),
        ports: impl Into<Vec<Port>>,
        task: &[(&str, usize)],
        code: &str,
        grid: Grid,
        numbers: [usize; N],
        on_cpu: impl Fn(Range<usize>, &mut Args<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> CustomKernel {
        let q = F::ORDER_U64;
        let [one, nonresidue] = [F::ONE, self.nonresidue].map(word);
        let field = match size_of::<F>() {
            4 => format!("stark::Field31<{q}u, {}u, {one}u>", inverse_of_modulus::<F>()),
            _ => "stark::Goldilocks64".into(),
        };
        let mut prelude = format!(
            "#pragma once\n#include \"stark.cuh\"\nusing namespace rf;\nusing F = {field};\nusing Word = F::Word;\n\
             constexpr u32 E_DEGREE = {};\nusing E = stark::Extension<F, E_DEGREE, {nonresidue}ull>;\n\
             struct Task {{\n    static constexpr u32 threads = {THREADS}",
            EF::DIMENSION
        );
        for (name, value) in task {
            let _ = write!(prelude, ", {name} = {value}");
        }
        prelude += ";\n};\n";
        prelude += code;
        let launch = Launch {
            items_per_block: 1,
            blocks_per_item: u32::try_from(grid.blocks).unwrap_or(u32::MAX),
            shared_bytes: grid.shared_bytes as u32,
            ..Launch::thread_per_item(grid.threads)
        };
        let build = move |_: &Limits| Ok(Built { prelude: prelude.clone(), launch });
        let numbers = numbers.map(|number| number as u64);
        // SAFETY: a thread reads its own row of the inputs, or those that a block shares, and writes its own elements. The
        // numbers of columns in generated code are below the matrix's, as `Prover` checks.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new((name, text, HEADERS), ports, build, on_cpu).with_numbers(numbers) };
        kernel
    }
}

/// The blocks of a launch for one item.
#[derive(Debug, Clone, Copy)]
struct Grid {
    blocks: usize,
    threads: u32,
    shared_bytes: usize,
}

impl Grid {
    fn of(blocks: usize) -> Self {
        Self { blocks, threads: THREADS, shared_bytes: 0 }
    }

    /// A thread for each row.
    fn of_rows(rows: usize) -> Self {
        Self::of(rows.div_ceil(THREADS as usize))
    }
}

fn one_step(planner: &Planner, title: String, inputs: &[&str], kernel: CustomKernel, output: &str) -> Result<Plan> {
    let p = planner.pipeline(title);
    let [value] = p.step(kernel, &inputs.iter().map(|name| p.input(name)).collect::<Vec<_>>());
    p.output(output, value);
    p.build()
}

fn shared<F>(elements: usize) -> Port {
    Port::shared(elements * size_of::<F>())
}

fn input<F>(elements: usize) -> Port {
    Port::input(elements * size_of::<F>())
}

fn in_out<F>(elements: usize) -> Port {
    Port::in_out(elements * size_of::<F>())
}

fn output<F>(elements: usize) -> Port {
    Port::output(elements * size_of::<F>())
}
