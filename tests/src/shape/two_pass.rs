//! A cyclic transform over the scalar field of BLS12-381 in two passes over a matrix, with factors between them.

use core::ops::Range;
use std::sync::Arc;

use num_bigint::BigUint;
use ringforge::testkit::NamedPlan;
use ringforge::{
    Args, Arithmetic, Built, Content, Kernel, Launch, Limits, Modulus, Order, Plan, Port, Result, Ring, Rows, Slot,
    Step, Table, U256,
};

use super::{from_bytes, to_bytes};

const R: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";
const ROWS: usize = 16;
const COLUMNS: usize = 32;
const N: usize = ROWS * COLUMNS;
const BYTES: usize = 32 * N;

/// Which of the three kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// An item is an entry of the table of factors.
    Factors,
    /// Columns, then factors.
    Columns,
    /// Rows.
    Rows,
}

/// One of the three kernels.
#[derive(Clone)]
pub struct TwoPass {
    part: Part,
    q: Modulus,
    root: U256,
    /// The columns or rows.
    rows: Rows,
    ports: Vec<Port>,
}

impl core::fmt::Debug for TwoPass {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "TwoPass({:?}, {ROWS} x {COLUMNS}, {:?}, {:?})", self.part, self.q, self.root)
    }
}

impl TwoPass {
    fn new(part: Part, q: Modulus, root: U256, limits: &Limits) -> Result<Self> {
        let (length, other) = if part == Part::Rows { (COLUMNS, ROWS) } else { (ROWS, COLUMNS) };
        let ring = Ring::cyclic(length, q)?.with_root(q.pow(&root, &U256::from(other as u64)))?;
        let rows = Rows::of(&ring, limits)?.per_item(other);
        let twiddles = rows.table_port();
        let ports = match part {
            Part::Factors => vec![Port::shared(32 * N.ilog2() as usize), Port::output(32)],
            Part::Columns => vec![Port::input(BYTES), Port::output(BYTES), twiddles, Port::shared(BYTES)],
            Part::Rows => vec![Port::input(BYTES), Port::output(BYTES), twiddles],
        };
        Ok(Self { part, q, root, rows, ports })
    }

    fn power(&self, e: usize) -> U256 {
        self.q.pow(&self.root, &U256::from(e as u64))
    }

    /// Σ x^(i k) from[i stride] for all k, x being root^step.
    fn transform(&self, from: impl Fn(usize) -> U256, length: usize, step: usize) -> Vec<U256> {
        let values = (0..length).map(|k| {
            let x = self.power(step * k);
            (0..length).rev().fold(U256::ZERO, |sum, i| self.q.add(&self.q.mul(&sum, &x), &from(i)))
        });
        values.collect()
    }
}

impl Kernel for TwoPass {
    fn name(&self) -> &'static str {
        match self.part {
            Part::Factors => "two_pass_factors",
            Part::Columns => "two_pass_columns",
            Part::Rows => "two_pass_rows",
        }
    }

    fn source(&self) -> &'static str {
        match self.part {
            Part::Factors => include_str!("two_pass_factors.cu"),
            Part::Columns => include_str!("two_pass_columns.cu"),
            Part::Rows => include_str!("two_pass_rows.cu"),
        }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn build(&self, limits: &Limits) -> Result<Built> {
        if self.part == Part::Factors {
            let field = Arithmetic::Mod256.initializer(&self.q);
            let header = Arithmetic::Mod256.header();
            let task = format!(
                "struct Task {{\n    static constexpr rf::u32 columns = {COLUMNS};\n    \
                 static RF_METHOD rf::Mod256 field() {{ return {field}; }}\n}};\n"
            );
            let prelude = format!("#pragma once\n#include \"{header}\"\n{task}");
            return Ok(Built { prelude, launch: Launch::thread_per_item(64) });
        }
        self.rows.build(limits, "")
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        if self.part == Part::Factors {
            for (item, to) in items.zip(args.output::<u8>(1)?.chunks_exact_mut(32)) {
                let power = self.power(item / COLUMNS * (item % COLUMNS));
                to.copy_from_slice(&to_bytes(&self.q.to_montgomery(&power)));
            }
            return Ok(());
        }
        // residues in Montgomery form times plain factors are residues in Montgomery form
        let from = args.input::<u8>(0)?.chunks_exact(BYTES);
        for (from, to) in from.zip(args.output::<u8>(1)?.chunks_exact_mut(BYTES)) {
            let at = |row: usize, column: usize| from_bytes(&from[32 * (row * COLUMNS + column)..][..32]);
            let mut put = |place: usize, x: &U256| to[32 * place..][..32].copy_from_slice(&to_bytes(x));
            if self.part == Part::Columns {
                for column in 0..COLUMNS {
                    let values = self.transform(|row| at(row, column), ROWS, COLUMNS);
                    for (k, value) in values.iter().enumerate() {
                        put(k * COLUMNS + column, &self.q.mul(value, &self.power(k * column)));
                    }
                }
            } else {
                for row in 0..ROWS {
                    let values = self.transform(|column| at(row, column), COLUMNS, ROWS);
                    values.iter().enumerate().for_each(|(k, value)| put(k * ROWS + row, value));
                }
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("{ROWS} x {COLUMNS}")
    }
}

/// The plan, with an oracle that evaluates polynomials at all powers of the root.
///
/// # Errors
/// What makes the plan fail.
pub fn plan(limits: &Limits) -> Result<NamedPlan> {
    let q = Modulus::from_hex(R)?;
    let ring = Ring::cyclic(N, q)?;
    let root = q.root(N as u64).ok_or(ringforge::Error::NoRoot { q: q.value(), order: N as u64 })?;
    let [factors, columns, rows] =
        [Part::Factors, Part::Columns, Part::Rows].map(|part| TwoPass::new(part, q, root, limits));
    let (factors, columns, rows) = (factors?, columns?, rows?);
    let squares = (0..N.ilog2()).flat_map(|bit| to_bytes(&q.to_montgomery(&factors.power(1 << bit))));
    let squares = Table::Bytes(squares.collect());
    let factors = Table::Made { kernel: Arc::new(factors), items: N, inputs: vec![squares] };
    let first = vec![Slot::Arg(0), Slot::Temp(0), columns.rows.table_slot(), Slot::Table(factors)];
    let second = vec![Slot::Temp(0), Slot::Arg(1), rows.rows.table_slot()];
    let steps = vec![Step { kernel: Arc::new(columns), slots: first }, Step { kernel: Arc::new(rows), slots: second }];
    let depth = Rows::of(&ring, limits)?.split().depth();
    let values = Content::Values { ring: ring.clone(), depth, order: Order::Natural };
    let plan = Plan::new("two_pass", steps)?.with_contents(vec![Some(Content::Coefficients(ring)), Some(values)])?;
    let big = |x: &U256| BigUint::from_bytes_le(&to_bytes(x));
    let (r, root) = (big(&q.value()), big(&root));
    Ok(NamedPlan::new("two_pass", plan).expecting(move |_, inputs| {
        let evaluate = |item: &[u8]| {
            let coefficients: Vec<BigUint> = item.chunks_exact(32).map(BigUint::from_bytes_le).collect();
            let mut out = Vec::with_capacity(BYTES);
            let mut x = BigUint::from(1u32);
            for _ in 0..N {
                let value = coefficients.iter().rev().fold(BigUint::ZERO, |sum, c| (sum * &x + c) % &r);
                let mut bytes = value.to_bytes_le();
                bytes.resize(32, 0);
                out.extend(bytes);
                x = x * &root % &r;
            }
            out
        };
        vec![inputs[0].chunks_exact(BYTES).flat_map(evaluate).collect()]
    }))
}
