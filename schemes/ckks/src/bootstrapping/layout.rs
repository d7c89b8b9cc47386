//! Levels, scales and linear maps of bootstrapping, and the memory that they take.

use std::collections::{BTreeMap, BTreeSet};

use num_complex::Complex64;
use ringforge_rlwe::{KeyOperation, Switch, bits, rotation};

use super::raising::{Raising, RaisingOperation};
use super::{BootstrapPlan, SlotOperation, automorphisms, cosine, stages};
use crate::error::{Error, Result};
use crate::evaluation::Evaluate;
use crate::linear::{Linear, Steps};
use crate::memory::{Memory, count};
use crate::params::refused;
use crate::polynomial::Polynomial;
use crate::scheme::Ckks;

/// A linear map before it is encoded.
pub(super) struct Stage {
    pub(super) level: usize,
    pub(super) scale: f64,
    pub(super) diagonals: Vec<(i64, Vec<Complex64>)>,
}

pub(super) struct Layout {
    pub(super) to_coefficients: Vec<Stage>,
    pub(super) to_slots: Vec<Stage>,
    pub(super) cosine: Polynomial,
    /// The level before the sine, and the level after it.
    pub(super) sine: usize,
    pub(super) output: usize,
    /// Scales of the sine's powers, and of its result.
    pub(super) scales: [f64; 2],
}

impl Layout {
    /// # Errors
    /// [`Parameters`](crate::rlwe::Error::Parameters) if the plan does not fit the parameters.
    pub(super) fn new(ckks: &Ckks, plan: BootstrapPlan) -> Result<Self> {
        let (parameters, top) = (ckks.parameters(), ckks.top_level());
        Raising::new(ckks)?;
        let cosine = cosine::polynomial()?;
        let BootstrapPlan { slots_to_coefficients: down, coefficients_to_slots: up, log_ratio } = plan;
        let spent = up + cosine.levels();
        let output = top.checked_sub(spent).filter(|output| *output >= down);
        let layers = parameters.slots().ilog2() as usize;
        let (Some(output), true, true) = (output, (1..=layers).contains(&down), (1..=layers).contains(&up)) else {
            let why = format!(
                "bootstrapping with {down} and {up} linear maps of 1 to {layers} takes {spent} levels and leaves at least \
                 {down}, but the top level is {top}"
            );
            return refused(why);
        };
        // products of the primes that rescaling drops at a level, and of those of level 0
        let dropped = |level: usize| ckks.below(level, 1.0).map(|(_, rest)| 1.0 / rest);
        let q0 = bits(&parameters.q()[..parameters.limbs(0)]).exp2();
        let ratio = f64::from(log_ratio).exp2();
        let (own, scale) = (dropped(top - up)?, parameters.scale());
        let stage = |level, changed: f64, diagonals| Ok(Stage { level, scale: changed * dropped(level)?, diagonals });
        // the last map leaves the scale Δ_0
        let to_coefficients = (1..=down).rev().zip(stages::to_coefficients(ckks, down, 1.0));
        let to_coefficients = to_coefficients
            .map(|(level, diagonals)| stage(level, if level == 1 { q0 / ratio / scale } else { 1.0 }, diagonals));
        // half of x, in the interval of the polynomial; the first map takes the scale q_0
        let to_slots = (0..=top).rev().zip(stages::to_slots(ckks, up, 0.5 / cosine::WIDTH));
        let to_slots =
            to_slots.map(|(level, diagonals)| stage(level, if level == top { own / q0 } else { 1.0 }, diagonals));
        Ok(Self {
            to_coefficients: to_coefficients.collect::<Result<_>>()?,
            to_slots: to_slots.collect::<Result<_>>()?,
            cosine,
            sine: top - up,
            output,
            // slots that hold 2π·z/r at this scale hold z at the scale of the parameters
            scales: [own, scale * ratio / core::f64::consts::TAU],
        })
    }

    pub(super) fn memory(&self, ckks: &Ckks, batch: usize) -> Result<Memory> {
        let (parameters, top) = (ckks.parameters(), ckks.top_level());
        let maps = self.to_coefficients.iter().chain(&self.to_slots);
        let maps = maps.map(|stage| Ok((stage.level, ckks.gathered(&stage.diagonals)?.1)));
        let maps: Vec<(usize, Steps<i64>)> = maps.collect::<Result<_>>()?;
        let slots = parameters.slots();
        let turns = automorphisms(ckks, self.sine, maps.iter().map(|(level, steps)| (*level, steps.rotations(slots))));

        let mut keys = parameters.rlwe().switching_key_bytes();
        let all = parameters.limbs(top);
        let mut on_keys = BTreeSet::from([(all, None), (all, Some(Switch::Square))]);
        for (&k, &limbs) in &turns {
            keys += ckks.keys().basis(limbs)?.trimmed_key_type()?.bytes();
            on_keys.extend([(limbs, None), (limbs, Some(Switch::Automorphism(k)))]);
        }
        let of_keys = on_keys.into_iter().map(|(limbs, source)| {
            let operation = source.map_or(KeyOperation::SwitchingKey, KeyOperation::SourceOfSwitch);
            (ckks.keys().plan(operation, limbs, 1).map_err(Error::from), 1)
        });
        let planner = |batch| ckks.engine().planner().clone().for_batch(ckks.keys().planned_items(batch));
        let (on_batch, of_halves) = (planner(batch), planner(2 * batch));
        let split = SlotOperation::Split { real: false, key: parameters.limbs(self.sine) };
        let sine = Evaluate { polynomial: self.cosine.clone(), scales: [self.scales[0]; 3] };
        let mut operations = vec![
            (ckks.plan(&RaisingOperation::Raise, 0, &on_batch), batch),
            (ckks.plan(&split, self.sine, &on_batch), batch),
            (ckks.plan(&sine, self.sine, &of_halves), 2 * batch),
            (ckks.plan(&SlotOperation::Unite, self.output, &on_batch), batch),
        ];
        let mut tables = BTreeMap::new();
        let mut encoded = 0;
        for (level, steps) in &maps {
            encoded += ckks.level(*level)?.diagonals_type(steps)?.bytes();
            let of_map = steps.each(|steps| rotation(parameters.rlwe(), *steps).1);
            let levels = steps.rotations(slots).into_iter().map(|steps| rotation(parameters.rlwe(), steps).1);
            let levels = levels.filter_map(|k| Some((k, *turns.get(&k)?))).collect();
            operations.push((ckks.plan(&Linear(of_map, levels), *level, &on_batch), batch));
        }
        let raising = ckks.plan(&RaisingOperation::Keys, top, &planner(1))?;
        keys += ["down", "up"].iter().filter_map(|name| raising.arg(name)).map(|arg| arg.bytes).sum::<usize>();
        let mut temporaries = 0;
        for (plan, batch) in of_keys.chain([(Ok(raising), 1)]).chain(operations) {
            let plan = plan?;
            let source = plan.arg("from").map_or(0, |arg| arg.bytes);
            temporaries = temporaries.max(plan.temporary_bytes(batch) + source);
            plan.tables().for_each(|table| count(table, &mut tables));
        }
        for level in [self.sine, self.output] {
            encoded += ckks.level(level)?.plaintext_type().bytes();
        }
        // an operand; then the ciphertexts of two levels, or those around the sine
        let bytes = |level: usize| parameters.ciphertext_bytes(level);
        let most = (2 * bytes(top)).max(3 * bytes(self.sine) + 3 * bytes(self.output));
        let ciphertexts = batch.saturating_mul(bytes(self.to_coefficients.len()) + bytes(0) + most);
        Ok(Memory { keys, ciphertexts, temporaries, tables: encoded + tables.values().sum::<usize>() })
    }
}
