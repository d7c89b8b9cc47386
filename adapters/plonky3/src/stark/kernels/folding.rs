//! The kernel that folds FRI's functions, and the same on the host.

use p3_field::ExtensionField;
use rayon::prelude::*;
use ringforge::kernels::{Args, Table};
use ringforge::{Plan, Planner, Result};

use super::{Grid, Kernels, THREADS, Words, WordsMut, input, one_step, output, shared};
use crate::field::{EngineField, elements, elements_mut, words};
use crate::stark::elements::{canonical, exts, put};

/// log2 of the most elements that are folded to one.
pub(in crate::stark) const MOST_LOG_ARITY: usize = 4;

impl<F: EngineField, EF: ExtensionField<F>> Kernels<F, EF> {
    /// The plan that folds 2^log_rows rows of 2^log_arity elements to one element each. If a function `joins`, it is added
    /// to the result, times the last challenge.
    pub(in crate::stark) fn folded(
        self,
        planner: &Planner,
        log_rows: usize,
        log_arity: usize,
        joins: bool,
    ) -> Result<Plan> {
        let (degree, rows) = (EF::DIMENSION, 1usize << log_rows);
        let factors = fold_factors::<F>(log_rows + log_arity - 1);
        let ports = [
            input::<F>((rows << log_arity) * degree),
            shared::<F>((log_arity + 1) * degree),
            shared::<F>(factors.len()),
            input::<F>(if joins { rows * degree } else { degree }),
            output::<F>(rows * degree),
        ];
        let bytes = words(&factors).iter().flat_map(bytemuck::bytes_of).copied().collect::<Vec<u8>>();
        let on_cpu = move |items, args: &mut Args<'_>| {
            type Ports<'a, F> = (Words<'a, F>, Words<'a, F>, Words<'a, F>, Words<'a, F>, WordsMut<'a, F>);
            args.each(items, |_, (from, challenges, factors, joined, to): Ports<'_, F>| {
                let [from, challenges, joined] = [from, challenges, joined].map(exts::<F, EF>);
                let joined = joins.then_some(&joined[..]);
                put(elements_mut(to), fold_rows(&from, rows, &challenges, elements::<F>(factors), joined));
                Ok(())
            })
        };
        let blocks = rows.div_ceil(THREADS as usize);
        let text = ("stark_folded", include_str!("../../kernels/stark_folded.cu"));
        let task = [("most", MOST_LOG_ARITY), ("joins", joins.into())];
        let kernel = self.kernel(text, ports, &task, "", Grid::of(blocks), [rows, log_arity, blocks], on_cpu);
        let kernel = kernel.with_table(2, Table::Bytes(bytes.into())).described(format!(
            "modulo {}, {} factors",
            F::ORDER_U64,
            factors.len()
        ));
        one_step(
            planner,
            format!("folding of 2^{log_rows} rows of 2^{log_arity}"),
            &["elements", "challenges", "joined"],
            kernel,
            "folded",
        )
    }
}

/// For each bit of the index of a pair, its factor of 1 / x, where x is the first point of the pair.
pub(in crate::stark) fn fold_factors<F: EngineField>(bits: usize) -> Vec<F> {
    // ports have no size 0
    (0..bits.max(1)).map(|bit| canonical(F::two_adic_generator(bit + 2).inverse())).collect()
}

/// Folds rows by challenges, one for each halving, to one element each. A function that joins is added, times a last
/// challenge.
pub(in crate::stark) fn fold_rows<F: EngineField, EF: ExtensionField<F>>(
    values: &[EF],
    rows: usize,
    challenges: &[EF],
    factors: &[F],
    joined: Option<&[EF]>,
) -> Vec<EF> {
    let Some((last, challenges)) = challenges.split_last() else { return Vec::new() };
    let row = |r: usize| {
        let mut x = values[r << challenges.len()..(r + 1) << challenges.len()].to_vec();
        for challenge in challenges {
            let width = x.len() / 2;
            let pair = |i: usize| {
                let bits = factors.iter().enumerate().filter(|(bit, _)| (r * width + i) >> bit & 1 == 1);
                let factor = bits.fold(F::ONE.halve(), |product, (_, factor)| product * *factor);
                let (low, high) = (x[2 * i], x[2 * i + 1]);
                (low + high).halve() + (low - high) * *challenge * factor
            };
            x = (0..width).map(pair).collect();
        }
        joined.map_or(x[0], |joined| x[0] + *last * joined[r])
    };
    ringforge_cpu::threads::start();
    // to wake other threads for few rows takes longer than to fold them
    (0..rows).into_par_iter().with_min_len(1 << 9).map(row).collect()
}
