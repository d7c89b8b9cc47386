//! An RNS transform: many polynomials in one launch, each modulo the modulus that an index map names.

use core::ops::Range;
use std::sync::Arc;

use ringforge::testkit::{NamedPlan, Random};
use ringforge::{Args, Built, Kernel, Limits, Modulus, Plan, Port, Result, Ring, Rows, Slot, Step, Table};

use super::broken;
use super::slow::{Tree, residues};

const N: usize = 256;
const MODULI: [u32; 3] = [998_244_353, 754_974_721, 469_762_049];
/// Of the polynomials of an item: two ciphertext parts of which the second has dropped a modulus, and a repeated one.
const MAP: [u32; 6] = [0, 1, 2, 0, 2, 2];

/// Polynomials in, values out.
#[derive(Debug, Clone)]
pub struct RnsMap {
    rows: Rows,
    map: Vec<u32>,
    ports: [Port; 5],
}

impl RnsMap {
    /// The kernel for these moduli and this map, on a device with these limits.
    ///
    /// # Errors
    /// What makes the ring fail; [`Error::Kernel`](ringforge::Error::Kernel) for an index beyond the moduli.
    pub fn new(basis: &[Modulus], map: &[u32], limits: &Limits) -> Result<Self> {
        let rows = Rows::of(&Ring::rns(N, basis)?, limits)?.per_item(map.len());
        if map.iter().any(|&index| index as usize >= basis.len()) {
            return Err(broken("rns_map", "the map names a modulus that is not there"));
        }
        let (input, output) = (Port::input(rows.item_bytes()), Port::output(rows.item_bytes()));
        let ports = [input, output, Port::shared(4 * map.len()), rows.table_port(), rows.moduli_port()];
        Ok(Self { rows, map: map.to_vec(), ports })
    }

    /// The step from polynomials to values.
    #[must_use]
    pub fn step(self, from: Slot, to: Slot) -> Step {
        let map = Table::Bytes(self.map.iter().flat_map(|index| index.to_le_bytes()).collect());
        let slots = vec![from, to, Slot::Table(map), self.rows.table_slot(), self.rows.moduli_slot()];
        Step { kernel: Arc::new(self), slots }
    }
}

impl Kernel for RnsMap {
    fn name(&self) -> &'static str {
        "rns_map"
    }

    fn source(&self) -> &'static str {
        include_str!("rns_map.cu")
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn build(&self, limits: &Limits) -> Result<Built> {
        self.rows.build(limits, "")
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let trees = (0..self.rows.ring().basis().len())
            .map(|row| Tree::new(self.rows.split(), row))
            .collect::<Option<Vec<_>>>();
        let trees = trees.ok_or_else(|| broken("rns_map", "a modulus is too large"))?;
        let rows = args.input::<u32>(0)?.chunks_exact(N).zip(args.output::<u32>(1)?.chunks_exact_mut(N));
        for ((from, to), &index) in rows.zip(self.map.iter().cycle()) {
            let mut x: Vec<u64> = from.iter().map(|&x| x.into()).collect();
            trees[index as usize].forward(&mut x);
            to.iter_mut().zip(x).for_each(|(to, x)| *to = x as u32);
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("split {} moduli {:?}", self.rows.split(), self.map)
    }
}

/// The plan, with an oracle that evaluates polynomials.
///
/// # Errors
/// What makes the plan fail.
pub fn plan(limits: &Limits) -> Result<NamedPlan> {
    let basis = MODULI.map(Modulus::new).into_iter().collect::<Result<Vec<_>>>()?;
    let kernel = RnsMap::new(&basis, &MAP, limits)?;
    let split = kernel.rows.split().clone();
    let plan = Plan::new("rns_map", vec![kernel.step(Slot::Arg(0), Slot::Arg(1))])?;
    let sample = move |seed, batch| {
        let mut random = Random::new(seed);
        let q = |row: usize| MODULI[MAP[row % MAP.len()] as usize] as usize;
        let residue = |i: usize| if i.is_multiple_of(97) { q(i / N) - 1 } else { random.below(q(i / N)) };
        vec![(0..batch * MAP.len() * N).map(residue).flat_map(|x| (x as u32).to_le_bytes()).collect()]
    };
    Ok(NamedPlan::new("rns_map", plan).sampled(sample).expecting(move |_, inputs| {
        let words: Vec<u64> =
            inputs[0].chunks_exact(4).map(|b| b.iter().rev().fold(0, |x, &byte| x << 8 | u64::from(byte))).collect();
        let rows = words.chunks_exact(N).zip(MAP.iter().cycle());
        let values = rows.flat_map(|(row, &index)| residues(&split, index as usize, row));
        vec![values.flat_map(|x| (x as u32).to_le_bytes()).collect()]
    }))
}
