//! The plans of the hashes, for the engine's tests. These compare the CUDA kernels with the CPU reference, Plonky3's
//! own code.

use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_baby_bear::BabyBear;
use p3_field::PrimeCharacteristicRing;
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::RowMajorMatrix;
use p3_poseidon2::ExternalLayerConstants;
use ringforge::{Limits, Planner, Result};
use ringforge_testkit::{NamedPlan, Random, Scheme};

use crate::field::EngineField;
use crate::gather;
use crate::hash::HashField;
use crate::layout::Layout;
use crate::permutation::Permutes;
use crate::poseidon2::{Columns, Poseidon2};
pub use crate::stark::samples::plans_of;
use crate::transpose;

/// The plans of Poseidon2 over all fields.
#[derive(Debug)]
pub struct Hashes;

impl Scheme for Hashes {
    const NAME: &'static str = "Poseidon2";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let planner = Planner::new(limits.clone());
        let mut random = Random::new(23);
        Ok([
            plans::<BabyBear, 16, 32>("BabyBear", 13, 30, &mut random, &planner)?,
            plans::<KoalaBear, 16, 32>("KoalaBear", 20, 31, &mut random, &planner)?,
            plans::<Goldilocks, 8, 16>("Goldilocks", 22, 22, &mut random, &planner)?,
        ]
        .concat())
    }
}

/// The plans of the kernels of [`stark::Prover`](crate::stark::Prover).
#[derive(Debug)]
pub struct Proofs;

impl Scheme for Proofs {
    const NAME: &'static str = "STARK proofs";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        crate::stark::samples::plans(limits)
    }
}

/// The AIR of independent Fibonacci sequences, each in a pair of columns, whose number is even.
#[derive(Debug, Clone, Copy)]
pub struct Sequences {
    /// The number of columns.
    pub columns: usize,
}

impl Sequences {
    /// A trace of this number of rows.
    #[must_use]
    pub fn trace<F: PrimeCharacteristicRing + Send + Sync>(&self, rows: usize) -> RowMajorMatrix<F> {
        let mut row: Vec<F> = (0..self.columns).map(F::from_usize).collect();
        let mut values = Vec::with_capacity(rows * self.columns);
        for _ in 0..rows {
            values.extend_from_slice(&row);
            for pair in row.chunks_exact_mut(2) {
                let sum = pair[0].clone() + pair[1].clone();
                pair[0] = core::mem::replace(&mut pair[1], sum);
            }
        }
        RowMajorMatrix::new(values, self.columns)
    }
}

impl<F> BaseAir<F> for Sequences {
    fn width(&self) -> usize {
        self.columns
    }
}

impl<AB: AirBuilder> Air<AB> for Sequences {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let (local, next): (&[AB::Var], &[AB::Var]) = (main.current_slice(), main.next_slice());
        let mut transition = builder.when_transition();
        for pair in (0..self.columns).step_by(2) {
            transition.assert_eq(local[pair + 1], next[pair]);
            transition.assert_eq(local[pair] + local[pair + 1], next[pair + 1]);
        }
    }
}

/// A logger that panics if Plonky3's code takes over from an engine. The correct results of Plonky3's code would hide
/// the engine's failure from tests.
#[derive(Debug)]
struct NoStock;

impl log::Log for NoStock {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() == log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = record.args().to_string();
        assert!(!line.contains("falls back to Plonky3's code"), "{line}");
    }

    fn flush(&self) {}
}

/// Makes the process panic from now on if an engine fails and Plonky3's code takes over. Sets the global logger.
pub fn refuse_stock() {
    // another test may have set the logger already
    let _ = log::set_logger(&NoStock);
    log::set_max_level(log::LevelFilter::Warn);
}

/// A hash with random constants and `internal` internal rounds.
///
/// # Errors
/// Never fails, because the numbers of constants are valid.
pub fn random<F, const WIDTH: usize>(random: &mut Random, internal: usize) -> Result<Poseidon2<F>>
where
    F: HashField + Permutes<WIDTH, Permutation = <F as HashField>::Permutation>,
{
    let (external, internal) = constants::<F, WIDTH>(random, internal);
    Poseidon2::new(&external, &internal)
}

/// Makes a hash combine four digests at a time, by a permutation with random constants and `internal` internal rounds.
///
/// # Errors
/// Never fails, because the numbers of constants are valid.
pub fn of_arity_4<F, const WIDE: usize>(
    hash: Poseidon2<F>,
    random: &mut Random,
    internal: usize,
) -> Result<Poseidon2<F>>
where
    F: HashField + Permutes<WIDE, Permutation = <F as HashField>::Wide>,
{
    let (external, internal) = constants::<F, WIDE>(random, internal);
    hash.of_arity_4(&external, &internal)
}

/// Random constants for eight external rounds and `internal` internal ones.
fn constants<F: EngineField, const WIDTH: usize>(
    random: &mut Random,
    internal: usize,
) -> (ExternalLayerConstants<F, WIDTH>, Vec<F>) {
    let mut element = || F::from_u64(random.bits());
    let mut half = || (0..4).map(|_| core::array::from_fn(|_| element())).collect();
    let external = ExternalLayerConstants::new(half(), half());
    (external, (0..internal).map(|_| element()).collect())
}

fn plans<F, const WIDTH: usize, const WIDE: usize>(
    field: &str,
    internal: usize,
    internal_of_wide: usize,
    random: &mut Random,
    planner: &Planner,
) -> Result<Vec<NamedPlan>>
where
    F: HashField
        + Permutes<WIDTH, Permutation = <F as HashField>::Permutation>
        + Permutes<WIDE, Permutation = <F as HashField>::Wide>,
{
    let hash = self::random::<F, WIDTH>(random, internal)?;
    let wide = of_arity_4::<F, WIDE>(hash.clone(), random, internal_of_wide)?;
    let digest = F::DIGEST;
    let pairs = [("children", 2 * digest)];
    let state = residues::<F>(random, hash.width());
    let ground = NamedPlan::new(format!("{field} proof of work"), hash.ground(planner)?).sampled(move |seed, _| {
        let search = [seed % 1000, seed % digest as u64, 7];
        vec![("state", state.clone()), ("search", search.iter().flat_map(|word| word.to_ne_bytes()).collect())]
    });
    let mut plans = vec![
        ground,
        sampled::<F>(format!("{field} pairs"), &pairs, hash.nodes(planner, 2)?),
        sampled::<F>(format!("{field} injected"), &[pairs[0], ("rows", digest)], hash.injected(planner, 2)?),
    ];
    for children in [2, 4] {
        let (nodes, injected) = (wide.nodes(planner, children)?, wide.injected(planner, children)?);
        let children_of = ("children", children * digest);
        plans.push(sampled::<F>(format!("{field} nodes of {children} of 4"), &[children_of], nodes));
        let inputs = [children_of, ("rows", digest)];
        plans.push(sampled::<F>(format!("{field} injected above {children} of 4"), &inputs, injected));
    }
    for (each, count, layers) in [(2, 16, 4), (2, 96, 3), (2, 1024, 2), (4, 64, 3)] {
        let of = if each == 2 { &hash } else { &wide };
        let (name, children) = (format!("{field} {layers} layers above {count}"), ("children", count * digest));
        plans.push(sampled::<F>(name, &[children], of.climbed(planner, each, count, layers)?));
    }
    for columns in [1, 8, 13, 16, 31] {
        plans.push(sampled::<F>(
            format!("{field} rows of {columns}"),
            &[("rows", columns)],
            hash.rows(planner, columns)?,
        ));
    }
    for (height, columns) in [(4, 1), (32, 13), (1, 16)] {
        let (name, shared) = (format!("{field} {columns} columns of {height}"), height * columns);
        let layout = Layout::Columns { stride: height };
        let plan =
            hash.columns(planner, Columns { height, count: columns, layout, skipped: 0, before: None, ends: true })?;
        plans.push(shared_by_rows::<F>(name, ("columns", shared), &[], plan));
    }
    // first, middle and last parts of the columns, which begin and end at block boundaries of the sponge or within
    // blocks
    for (height, layout, count, before, ends) in [
        (5, Layout::Columns { stride: 5 }, 8, None, false),
        (3, Layout::Rows, 9, None, false),
        (4, Layout::Columns { stride: 7 }, 7, Some(1), false),
        (32, Layout::Columns { stride: 32 }, 16, Some(0), false),
        (6, Layout::Rows, 13, Some(2), true),
        (7, Layout::Columns { stride: 7 }, 5, Some(3), true),
    ] {
        let plan = hash.columns(planner, Columns { height, count, layout, skipped: 0, before, ends })?;
        let states = [("states", WIDTH)];
        let states = if before.is_some() { &states[..] } else { &[] };
        let name = format!("{field} {count} columns of {height}, {layout:?}, {before:?} before, {ends}");
        plans.push(shared_by_rows::<F>(name, ("columns", layout.elements(height, count)), states, plan));
    }
    let [nine, four] = [10, 4].map(|stride| Layout::Columns { stride });
    for (layout, rows, columns) in [(Layout::Rows, 5, 8), (nine, 9, 3), (four, 4, 300)] {
        let plan = gather::plan::<F>(planner, layout, rows, columns)?;
        let name = format!("{field} some of {rows} rows of {columns}, {layout:?}");
        plans.push(shared_by_rows::<F>(
            name,
            ("from", layout.elements(rows, columns)),
            &[("numbers", 8 / size_of::<F>())],
            plan,
        ));
    }
    for (rows, columns) in [(1, 1), (33, 7), (64, 65)] {
        let name = format!("{field} transpose of {rows} by {columns}");
        let plan = transpose::plan::<F>(planner, rows, columns)?;
        plans.push(shared_by_rows::<F>(name, ("from", rows * columns), &[], plan));
    }
    Ok(plans)
}

/// Adds random sample inputs to a plan, with the given number of elements per item for each input. The samples include
/// the largest residues.
fn sampled<F: HashField>(name: String, inputs: &[(&'static str, usize)], plan: ringforge::Plan) -> NamedPlan {
    let inputs = inputs.to_vec();
    NamedPlan::new(name, plan).sampled(move |seed, batch| {
        let mut random = Random::new(seed);
        inputs.iter().map(|&(input, each)| (input, residues::<F>(&mut random, batch * each))).collect()
    })
}

/// Adds samples like `sampled`, with one more input of `all` elements that all items share.
fn shared_by_rows<F: HashField>(
    name: String,
    (shared, all): (&'static str, usize),
    inputs: &[(&'static str, usize)],
    plan: ringforge::Plan,
) -> NamedPlan {
    let inputs = inputs.to_vec();
    NamedPlan::new(name, plan).sampled(move |seed, batch| {
        let mut random = Random::new(seed);
        let of_items = inputs.iter().map(|&(input, each)| (input, batch * each));
        of_items.chain([(shared, all)]).map(|(input, count)| (input, residues::<F>(&mut random, count))).collect()
    })
}

/// Returns the bytes of random stored words, some with extreme values. Words of Goldilocks may exceed the modulus.
fn residues<F: HashField>(random: &mut Random, count: usize) -> Vec<u8> {
    let (bytes, q) = (size_of::<F>(), F::ORDER_U64);
    let most = if bytes == 8 { u64::MAX } else { q - 1 };
    let mut word = || match random.below(4) {
        0 => most,
        1 => q - 1,
        _ => random.bits() % most,
    };
    (0..count).flat_map(|_| word().to_le_bytes().into_iter().take(bytes)).collect()
}
